package handlers_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// TestDocsInABrowser sends from the page, with ids as filled in, a list, a record and others of each kind of
// GET, and requests that write. What changes the site is asked about first, and what can be rehearsed is. The page resolves its references with an excerpt of the
// document as with all of it, and contacts only the server. Its programs do what they say.
func TestDocsInABrowser(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), func(o *handlers.Options) { o.RateLimit = ratelimit.Options{} })
	s.database.Execute(t, exampleDayOff)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if browsed := r.Header.Get("Sec-Fetch-Site") != ""; browsed && r.Header.Get("X-Api-Key") != "" && r.Header.Get("Prefer") != "handling=strict" {
			t.Errorf("%s %s prefers %q", r.Method, r.URL.Path, r.Header.Get("Prefer"))
		}
		s.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	page := browser.New(t) // one for all pages, because it caches the compiled Swagger UI
	t.Run("/docs", func(t *testing.T) {
		traffic := browser.Watch(page, t)
		s.openDocs(page, t, server.URL+"/docs")
		read, rehearsing, writing := []string{"status", "getAvailability", "listBookings", "getCoupon"}, []string{"createBooking"}, []string{"createHold", "deleteHold"}
		if fixtures.Thorough() {
			read = append(read, "getBooking", "getHold", "listCustomers", "getCustomer", "listServices", "listTransactions", "getInvoice", "getPayment", "getBusinessHours", "listChanges", "listWebhookDeliveries")
			rehearsing, writing = append(rehearsing, "updateBooking", "createTimeOff"), append(writing, "createWebhook", "testWebhook")
		}
		sent := 0
		for _, o := range inOrder(s.described()) {
			rehearsed, written := slices.Contains(rehearsing, o.OperationID), slices.Contains(writing, o.OperationID)
			if !rehearsed && !written && !slices.Contains(read, o.OperationID) {
				continue
			}
			sent++
			a := execute(page, t, o)
			switch {
			case a.Asked != written:
				t.Errorf("%s: asked whether to change the site: %t", o.OperationID, a.Asked)
			case a.Status >= http.StatusMultipleChoices || a.Status < http.StatusOK || rehearsed && a.Status != http.StatusOK:
				t.Errorf("%s: status %d: %.500s", o.OperationID, a.Status, a.Body)
			case o.path != "/status" && o.path != "/changes" && !written && !findsRows([]byte(a.Body)):
				t.Errorf("%s found nothing: %.500s", o.OperationID, a.Body)
			}
		}
		if all := len(read) + len(rehearsing) + len(writing); sent != all {
			t.Errorf("the page has %d of %d operations", sent, all)
		}
		differing, err := chromedp.Run(page, chromedp.Evaluate[[]string](excerptScript, chromedp.EvalAwaitPromise))
		if err != nil || len(differing) > 0 {
			t.Errorf("an excerpt of the document resolves otherwise than all of it: %q, %v", differing, err)
		}
		for _, fault := range traffic.Faults(server.URL) {
			t.Error(fault)
		}
	})
	t.Run("programs", func(t *testing.T) { s.runPrograms(page, t) })
	for _, path := range []string{"/wp-json/latepoint-api/v1/docs/"} {
		t.Run(path, func(t *testing.T) {
			traffic := browser.Watch(page, t)
			s.openDocs(page, t, server.URL+path)
			if a := execute(page, t, s.operation("/status", http.MethodGet)); a.Status != http.StatusOK || !strings.Contains(a.Body, `"timezone"`) {
				t.Errorf("status %d: %s", a.Status, a.Body)
			}
			for _, fault := range traffic.Faults(server.URL) {
				t.Error(fault)
			}
		})
	}
}

// TestDocsLook opens the dialog for keys and operations, and checks their size and the findings of axe's
// rules, in light and dark mode, also on a phone.
func TestDocsLook(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	page := browser.New(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			emulated := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			if _, err := chromedp.Call(page, emulation.SetEmulatedMedia, emulated); err != nil {
				t.Fatal(err)
			}
			do := func(actions ...chromedp.Action[chromedp.Void]) {
				t.Helper()
				if err := chromedp.Do(page, actions...); err != nil {
					t.Fatal(err)
				}
			}
			do(chromedp.EmulateViewport(1200, 1000), chromedp.Navigate(server.URL+"/docs"), chromedp.Click(chromedp.CSS(".btn.authorize")), chromedp.WaitVisible(chromedp.CSS(".auth-container input")))
			fields, err := chromedp.Run(page, chromedp.Evaluate[[]bool](`[...document.querySelectorAll(".auth-container input")].map(field => field === document.activeElement)`))
			if err != nil || !slices.Equal(fields, []bool{true}) {
				t.Errorf("fields of the dialog, and whether the cursor is in them: %v, %v", fields, err)
			}
			background, err := chromedp.Run(page, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
			if dark := background == "rgb(28, 32, 34)"; err != nil || dark != (scheme == "dark") {
				t.Errorf("the background is %s, %v", background, err)
			}
			browser.Accessible(page, t, "dialog for the key")
			browser.Screenshot(page, t, "docs-key-"+scheme)
			do(chromedp.Click(chromedp.CSS(".auth-btn-wrapper .btn-done")))
			first, err := chromedp.Run(page, chromedp.Evaluate[docsPage](pageScript, chromedp.EvalAwaitPromise))
			if diff := cmp.Diff(docsPage{Rows: 16, Text: false, Webhooks: []int{0, 28}, Found: []string{"/availability"}, Focus: true, Types: "id or any"}, first); diff != "" || err != nil {
				t.Errorf("the first screen (-want +got):\n%s%v", diff, err)
			}
			operations := []placedOperation{s.operation("/bookings", http.MethodGet), s.operation("/bookings", http.MethodPost)}
			if scheme == "dark" && !fixtures.Thorough() {
				operations = operations[:1]
			}
			for _, operation := range operations {
				if a := execute(page, t, operation); a.Status != http.StatusUnauthorized {
					t.Errorf("%s without a key: status %d", operation.OperationID, a.Status)
				}
				block := operation.block()
				height, err := chromedp.Run(page, chromedp.Evaluate[float64](`document.querySelector("`+block+`").getBoundingClientRect().height`))
				if err != nil || height > 3320 {
					t.Errorf("%s is %.0f pixels high, %v", operation.OperationID, height, err)
				}
				do(chromedp.Click(chromedp.CSS(block+" .response-toggle")), chromedp.WaitVisible(chromedp.CSS(block+" .responses-table:not(.live-responses-table) .highlight-code")))
				if operation.method == http.MethodGet {
					do(chromedp.EmulateViewport(360, 740))
					cut, err := chromedp.Run(page, chromedp.Evaluate[[]string](cutScript))
					if err != nil || len(cut) > 0 {
						t.Errorf("on a phone, %s is wider than the screen: %q, %v", operation.OperationID, cut, err)
					}
				}
				browser.AccessibleWithin(page, t, block, operation.OperationID)
				browser.Screenshot(page, t, "docs-"+operation.OperationID+"-"+scheme)
				do(chromedp.EmulateViewport(1200, 1000), chromedp.Click(chromedp.CSS(block+" .opblock-summary-control")))
			}
		})
	}
}

// openDocs opens a page of the documentation and enters the key, as a person does.
func (s *server) openDocs(page context.Context, t *testing.T, address string) {
	t.Helper()
	if err := chromedp.Do(page, chromedp.EmulateViewport(1200, 1000), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(page, chromedp.Evaluate[bool](fmt.Sprintf(keyScript, s.key), chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
}

// executed is a response shown on the page, and whether the page asked before it sent the request.
type executed struct {
	Status int
	Body   string
	Asked  bool
}

// execute opens an operation, fills in the ids of its path as in the document, presses Execute, again if
// asked, and returns the response shown on the page. Only without a key does it leave the operation open,
// see TestDocsLook.
func execute(page context.Context, t *testing.T, o placedOperation) executed {
	t.Helper()
	ids := map[string]string{}
	for _, p := range o.Parameters {
		if p.Value.In == openapi3.ParameterInPath {
			ids[p.Value.Name] = fmt.Sprint(p.Value.Example)
		}
	}
	filled, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	defer func() { t.Logf("%s took %v", o.OperationID, time.Since(began)) }()
	got, err := chromedp.Run(page, chromedp.Evaluate[executed](fmt.Sprintf(executeScript, o.block(), filled), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", o.OperationID, err)
	}
	return got
}

// block returns the selector of an operation on the page.
func (o placedOperation) block() string { return "#operations-" + o.Tags[0] + "-" + o.OperationID }

// operation returns an operation of the document.
func (s *server) operation(path, method string) placedOperation {
	s.t.Helper()
	return placedOperation{s.described().Paths.Value(path).GetOperation(method), method, path}
}

// onPage are functions for scripts: find waits for an element, fill fills in a field as a person does.
const onPage = `
	const until = async (what, look) => {
		for (let tries = 0; tries < 800; tries++) {
			const found = look();
			if (found) return found;
			await new Promise((again) => setTimeout(again, 25));
		}
		throw new Error("no " + what + " in " + document.body.textContent.slice(-700));
	};
	const find = (selector) => until(selector, () => document.querySelector(selector));
	const fill = (field, value) => {
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, value);
		field.dispatchEvent(new Event("input", { bubbles: true }));
		field.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
	};
`

const keyScript = `(async () => {` + onPage + `
	(await find(".btn.authorize")).click();
	fill(await find(".auth-container input"), "%s");
	(await find(".auth-btn-wrapper .authorize")).click();
	(await find(".auth-btn-wrapper .btn-done")).click();
	await until("closed dialog", () => !document.querySelector(".auth-container"));
	return true;
})()`

const executeScript = `(async () => {` + onPage + `
	const block = "%s ", ids = %s;
	(await find(block + ".opblock-summary-control")).click();
	await find(block + ".execute:enabled"); // once the references are resolved
	for (const [name, id] of Object.entries(ids)) {
		const field = await find(block + "[data-param-name=" + name + "] input");
		if (field.value !== "") throw new Error(name + " is filled in with " + field.value);
		fill(field, id);
	}
	(await find(block + ".execute")).click();
	const answered = () => document.querySelector(block + ".live-responses-table .response .response-col_status");
	await until("response", () => answered() || document.querySelector(block + ".execute-asked"));
	const asked = !answered();
	if (asked) (await find(block + ".execute")).click();
	const status = await until("response", answered);
	const body = document.querySelector(block + ".live-responses-table .response .microlight");
	const got = { Status: parseInt(status.textContent), Body: body ? body.textContent : "", Asked: asked };
	if (got.Status !== 401) document.querySelector(block + ".opblock-summary-control").click();
	return got;
})()`

// docsPage is what the page shows before an operation is opened.
type docsPage struct {
	Rows     int      // operations on the first screen, if at least 16
	Text     bool     // whether the introduction is visible
	Webhooks []int    // requests to webhooks, before and after they are unfolded
	Focus    bool     // whether / goes to the search
	Found    []string // paths found by "free times"
	Types    string   // of the id of an agent that may be any
}

const pageScript = `(async () => {` + onPage + `
	await find(".opblock");
	const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
	const rows = shown(".opblock").filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length;
	const text = shown(".docs-about p").length > 0;
	const webhooks = [shown(".webhooks .opblock").length];
	(await find(".docs-webhooks summary")).click();
	await find(".webhooks .opblock");
	webhooks.push(shown(".webhooks .opblock").length);
	document.querySelector(".docs-webhooks summary").click();
	await until("folded webhooks", () => !document.querySelector(".webhooks"));
	document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
	const search = document.querySelector("#docs-search");
	const focus = document.activeElement === search;
	fill(search, "free times");
	await until("fewer operations", () => shown(".opblock").length < 5);
	const found = shown(".opblock-summary-path").map((path) => path.dataset.path);
	document.querySelector("#operations-availability-getAvailability .opblock-summary-control").click();
	const types = (await find("#operations-availability-getAvailability [data-param-name=agent_id] .parameter__type")).textContent;
	document.querySelector("#operations-availability-getAvailability .opblock-summary-control").click();
	fill(search, "");
	await until("all operations", () => shown(".opblock").length > 50);
	return { Rows: Math.min(rows, 16), Text: text, Webhooks: webhooks, Focus: focus, Found: found, Types: types };
})()`

// cutScript returns what is wider than the screen, except for what scrolls by itself.
const cutScript = `[...document.querySelectorAll("body *")]
	.filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest("pre, .highlight-code"))
	.map((element) => element.outerHTML.slice(0, 80))`

// excerptScript returns the methods of a path that the page's excerpt of the document resolves differently
// than the whole document, which is used if no method is given.
const excerptScript = `(async () => {
	const { fn, specSelectors } = window.ui.getSystem();
	const baseDoc = String(new URL(specSelectors.url(), document.baseURI));
	const resolve = async (...method) => {
		const { spec, errors } = await fn.resolveSubtree(specSelectors.specJson().toJS(), ["paths", "/bookings", ...method], { baseDoc });
		return { ...spec, errors };
	};
	const differing = [];
	const { errors, ...methods } = await resolve();
	for (const [method, whole] of Object.entries(methods)) {
		if (JSON.stringify(await resolve(method)) !== JSON.stringify({ ...whole, errors: [] })) differing.push(method);
	}
	return differing;
})()`

// TestSwaggerUIMatchesItsChecksums compares the embedded Swagger UI with the
// checksums of the release.
func TestSwaggerUIMatchesItsChecksums(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	sums, err := os.Open("openapi/swaggerui/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	files := 0
	for lines := bufio.NewScanner(sums); lines.Scan(); files++ {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		plain := s.do(http.MethodGet, "/v1/docs/"+name, nil).want(http.StatusOK)
		if got := sha256.Sum256(plain.body); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s differs from its checksum", name)
		}
		zipped := s.do(http.MethodGet, "/v1/docs/"+name, http.Header{"Accept-Encoding": {"gzip, br"}}).want(http.StatusOK)
		r, err := gzip.NewReader(bytes.NewReader(zipped.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if content, err := io.ReadAll(r); err != nil || !bytes.Equal(content, plain.body) {
			t.Errorf("%s differs when compressed: %v", name, err)
		}
	}
	if files != 2 {
		t.Errorf("%d files have a checksum, want 2", files)
	}
}

// TestDocsHeaders requests every file of the page, and files that do not belong to it.
func TestDocsHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	for path, typ := range map[string]string{
		"/": "text/html", "/docs/docs.front.css": "text/css", "/docs": "text/html", "/v1/docs": "text/html", "/docs/docs.js": "text/javascript", "/v1/docs/swagger-ui.css": "text/css",
		"/docs/LICENSE": "text/plain", "/docs/NOTICE": "text/plain", "/docs/swagger-ui-bundle.js.LICENSE.txt": "text/plain",
	} {
		t.Run(path, func(t *testing.T) {
			a := s.do(http.MethodGet, path, nil).want(http.StatusOK)
			if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, typ) {
				t.Errorf("%s: Content-Type %q", path, got)
			}
			policy := a.header.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
				t.Errorf("%s: Content-Security-Policy %q", path, policy)
			}
		})
	}
	for _, path := range []string{"/docs/renew", "/docs/nothing.js", "/docs/..%2Fapi.go", "/v1/docs/swaggerui/docs.js"} {
		s.do(http.MethodGet, path, nil).want(http.StatusNotFound)
	}
	a := s.do(http.MethodGet, "/v1/docs/", nil).want(http.StatusPermanentRedirect)
	if got := a.header.Get("Location"); got != "../docs" {
		t.Errorf("a trailing slash redirects to %q", got)
	}
}

// TestFrontPageLeadsOn follows the links of the page at the root.
func TestFrontPageLeadsOn(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	front := s.do(http.MethodGet, "/", nil).want(http.StatusOK)
	links := regexp.MustCompile(`href="([a-z][^":]*)"`).FindAllSubmatch(front.body, -1)
	if len(links) != 4 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		s.do(http.MethodGet, "/"+string(link[1]), nil).want(http.StatusOK)
	}
	s.do(http.MethodPost, "/", nil).want(http.StatusNotFound)
}

// TestDocsVaryByOrigin: a cached document of one origin is not used for
// another.
func TestDocsVaryByOrigin(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.AllowedOrigins = []string{"https://a.example", "https://b.example"} })
	for _, origin := range []string{"https://a.example", "https://b.example"} {
		a := s.do(http.MethodGet, "/v1/openapi.json", http.Header{"Origin": {origin}}).want(http.StatusOK)
		if got := a.header.Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("%s: allowed is %q", origin, got)
		}
		if vary := a.header.Values("Vary"); !slices.Contains(vary, "Origin") || !slices.Contains(vary, "Accept-Encoding") {
			t.Errorf("%s: Vary %q", origin, vary)
		}
	}
}
