package handlers_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// TestDocsInABrowser sends from the page, as filled in, every GET of the demo's site except calendars, and
// a request that creates something from each that the GETs need. The page resolves its references with an
// excerpt of the document as with all of it, contacts only the server, can be used with a keyboard and a
// screen reader, and is not too high.
func TestDocsInABrowser(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), func(o *handlers.Options) { o.RateLimit = ratelimit.Options{} })
	s.database.Execute(t, exampleDayOff)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "" && r.Header.Get("Prefer") != "handling=strict" {
			t.Errorf("%s %s prefers %q", r.Method, r.URL.Path, r.Header.Get("Prefer"))
		}
		s.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	page := browser.New(t) // one for all pages, because it caches the compiled Swagger UI
	t.Run("/docs", func(t *testing.T) {
		traffic := browser.Watch(page, t)
		s.openDocs(page, t, server.URL+"/docs")
		for _, o := range inOrder(s.described()) {
			creates := o.method == http.MethodPost && slices.Contains([]string{"createBooking", "createHold", "createWebhook", "testWebhook"}, o.OperationID)
			if o.method != http.MethodGet && !creates || strings.HasSuffix(o.path, "/calendar.ics") { // calendars have their own keys
				continue
			}
			status, body := execute(page, t, o.Tags[0], o.OperationID)
			switch {
			case status >= http.StatusMultipleChoices || status < http.StatusOK:
				t.Errorf("%s: status %d: %.500s", o.OperationID, status, body)
			case o.path != "/status" && o.path != "/changes" && !findsRows([]byte(body)):
				t.Errorf("%s found nothing: %.500s", o.OperationID, body)
			}
		}
		differing, err := chromedp.Run(page, chromedp.Evaluate[[]string](excerptScript, chromedp.EvalAwaitPromise))
		if err != nil || len(differing) > 0 {
			t.Errorf("an excerpt of the document resolves otherwise than all of it: %q, %v", differing, err)
		}
		for _, fault := range traffic.Faults(server.URL) {
			t.Error(fault)
		}
	})
	for _, path := range []string{"/v1/docs", "/wp-json/latepoint-api/v1/docs/"} {
		t.Run(path, func(t *testing.T) {
			traffic := browser.Watch(page, t)
			s.openDocs(page, t, server.URL+path)
			if status, body := execute(page, t, "status", "status"); status != http.StatusOK || !strings.Contains(body, `"timezone"`) {
				t.Errorf("status %d: %s", status, body)
			}
			for _, fault := range traffic.Faults(server.URL) {
				t.Error(fault)
			}
		})
	}
}

// TestDocsLook opens the dialog for keys and operations, and checks their size and the findings of axe's
// rules, in light and dark mode.
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
			for _, operation := range []string{"bookings-listBookings", "bookings-createBooking"} {
				status, _ := execute(page, t, strings.Split(operation, "-")[0], strings.Split(operation, "-")[1])
				if status != http.StatusUnauthorized {
					t.Errorf("%s without a key: status %d", operation, status)
				}
				block := "#operations-" + operation
				height, err := chromedp.Run(page, chromedp.Evaluate[float64](`document.querySelector("`+block+`").getBoundingClientRect().height`))
				if err != nil || height > 3320 {
					t.Errorf("%s is %.0f pixels high, %v", operation, height, err)
				}
				do(chromedp.Click(chromedp.CSS(block+" .response-toggle")), chromedp.WaitVisible(chromedp.CSS(block+" .responses-table:not(.live-responses-table) .highlight-code")))
				browser.Accessible(page, t, operation)
				browser.Screenshot(page, t, "docs-"+operation+"-"+scheme)
				do(chromedp.Click(chromedp.CSS(block + " .opblock-summary-control")))
			}
		})
	}
}

// openDocs opens a page of the documentation and enters the key, as a person does.
func (s *server) openDocs(page context.Context, t *testing.T, address string) {
	t.Helper()
	// A click is sometimes lost while the page is still moving. Then start again, each time with more
	// patience for a slow machine.
	var err error
	for _, patience := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second} {
		attempt, cancel := context.WithTimeout(page, patience)
		err = chromedp.Do(attempt,
			chromedp.EmulateViewport(1200, 1000),
			chromedp.Navigate(address),
			chromedp.Click(chromedp.CSS(".btn.authorize")),
			chromedp.SendKeys(chromedp.CSS(".auth-container input"), s.key),
			chromedp.Click(chromedp.CSS(".auth-btn-wrapper .authorize")),
			chromedp.Click(chromedp.CSS(".auth-btn-wrapper .btn-done")),
		)
		cancel()
		if err == nil {
			return
		}
	}
	t.Fatal(err)
}

// execute opens an operation, presses Execute without filling anything in, and returns the response shown
// on the page. Only without a key does it leave the operation open, see TestDocsLook.
func execute(page context.Context, t *testing.T, tag, operation string) (status int, body string) {
	t.Helper()
	script := fmt.Sprintf(executeScript, "operations-"+tag+"-"+operation)
	got, err := chromedp.Run(page, chromedp.Evaluate[struct {
		Status int
		Body   string
	}](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return got.Status, got.Body
}

const executeScript = `(async () => {
	const block = "#%[1]s ";
	const until = async (what, look) => {
		for (let tries = 0; tries < 800; tries++) {
			const found = look();
			if (found) return found;
			await new Promise((again) => setTimeout(again, 25));
		}
		throw new Error("no " + what + " in " + document.querySelector(block).textContent.slice(-700));
	};
	const find = (selector) => until(selector, () => document.querySelector(block + selector));
	(await find(".opblock-summary-control")).click();
	await find(".execute");
	// A click while references are still being resolved fails, and so do all later ones.
	const place = ["paths", (await find("[data-path]")).dataset.path, (await find(".opblock-summary-method")).textContent.toLowerCase()];
	await until("resolved operation", () => window.ui.specSelectors.specResolvedSubtree(place));
	(await find(".execute")).click();
	const status = await find(".live-responses-table .response .response-col_status");
	const body = document.querySelector(block + ".live-responses-table .response .microlight");
	const got = { Status: parseInt(status.textContent), Body: body ? body.textContent : "" };
	if (got.Status !== 401) document.querySelector(block + ".opblock-summary-control").click();
	return got;
})()`

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
	if len(links) != 3 {
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
