package handlers_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestOpenAPI compares the document with the golden one, and requests it under every base path without a
// key.
func TestOpenAPI(t *testing.T) {
	s := apitest.Small(t)
	apitest.Golden(t, "openapi", s.Do(http.MethodGet, "/openapi.json", nil).Want(http.StatusOK).Body)
	for path, server := range map[string]string{"/v1": "/v1", "/wp-json/latepoint-api/v1": "/wp-json/latepoint-api/v1"} {
		a := s.Do(http.MethodGet, path+"/openapi.json", nil).Want(http.StatusOK)
		expect.Equal[any](t, server, a.At("servers", 0, "url"), fmt.Sprintf("%s: server", path))
		tag := a.Header.Get("ETag")
		if again := s.Do(http.MethodGet, path+"/openapi.json", http.Header{"If-None-Match": {tag}}).Want(http.StatusNotModified); len(again.Body) > 0 {
			t.Errorf("%s: a body with 304", path)
		}
	}
}

// TestDocsInABrowser enters a key and sends a read and a rehearsal, at two addresses. The page contacts only the
// server, and asks it to name every mistake.
func TestDocsInABrowser(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Site") != "" && r.Header.Get("X-Api-Key") != "" && r.Header.Get("Prefer") != "handling=strict" {
			t.Errorf("%s %s prefers %q", r.Method, r.URL.Path, r.Header.Get("Prefer"))
		}
		s.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	page := browser.New(t)
	s.Send(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {s.Key}}, "").Want(http.StatusOK) // the use of the key is noted
	before := s.Database.Snapshot(t)
	for _, path := range []string{"/docs", "/wp-json/latepoint-api/v1/docs/"} {
		traffic := browser.Watch(page, t)
		expect.NoError(t, chromedp.Do(page, chromedp.EmulateViewport(1200, 1000), chromedp.Navigate(server.URL+path)))
		for operation, method := range map[string]string{"bookings-listBookings": "get", "bookings-createBooking": "post"} {
			got, err := chromedp.Run(page, chromedp.Evaluate[executed](fmt.Sprintf(executeScript, s.Key, operation, method), chromedp.EvalAwaitPromise))
			if err != nil || got.Status != http.StatusOK || !strings.Contains(got.Body, `"booking_code"`) {
				t.Errorf("%s, %s: status %d, %v: %.500s", path, operation, got.Status, err, got.Body)
			}
		}
		for _, fault := range traffic.Faults(server.URL) {
			t.Error(fault)
		}
	}
	apitest.WantNoWrites(t, "a rehearsal", before)
}

// executed is a response shown on the page.
type executed struct {
	Status int
	Body   string
}

// executeScript enters the key unless the page has it, opens an operation and, when Swagger UI has resolved its
// references, presses Execute.
const executeScript = `(async () => {
	const until = async (what, look) => {
		for (let tries = 0; tries < 800; tries++) {
			const found = look();
			if (found) return found;
			await new Promise((again) => setTimeout(again, 25));
		}
		throw new Error("no " + what + " in " + document.body.textContent.slice(-700));
	};
	const find = (selector) => until(selector, () => document.querySelector(selector));
	const key = "%s", block = "#operations-%s ", method = "%s";
	const button = await find(".btn.authorize");
	if (button.classList.contains("unlocked")) {
		button.click();
		const field = await find(".auth-container input");
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, key);
		field.dispatchEvent(new Event("input", { bubbles: true }));
		(await find(".auth-btn-wrapper .authorize")).click();
		(await find(".auth-btn-wrapper .btn-done")).click();
	}
	(await find(block + ".opblock-summary-control")).click();
	const execute = await find(block + ".execute:enabled");
	await until("resolved operation", () => window.ui.specSelectors.specResolvedSubtree(["paths", "/bookings", method]));
	execute.click();
	const status = await find(block + ".live-responses-table .response .response-col_status");
	const body = document.querySelector(block + ".live-responses-table .response .microlight");
	return { Status: parseInt(status.textContent), Body: body ? body.textContent : "" };
})()`

// TestSwaggerUIMatchesItsChecksums compares the embedded Swagger UI with the
// checksums of the release.
func TestSwaggerUIMatchesItsChecksums(t *testing.T) {
	s := apitest.Small(t)
	sums, err := os.Open("openapi/swaggerui/SHA256SUMS")
	expect.NoError(t, err)
	defer sums.Close()
	files := 0
	for lines := bufio.NewScanner(sums); lines.Scan(); files++ {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		plain := s.Do(http.MethodGet, "/v1/docs/"+name, nil).Want(http.StatusOK)
		if got := sha256.Sum256(plain.Body); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s differs from its checksum", name)
		}
		zipped := s.Do(http.MethodGet, "/v1/docs/"+name, http.Header{"Accept-Encoding": {"gzip, br"}}).Want(http.StatusOK)
		r, err := gzip.NewReader(bytes.NewReader(zipped.Body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if content, err := io.ReadAll(r); err != nil || !bytes.Equal(content, plain.Body) {
			t.Errorf("%s differs when compressed: %v", name, err)
		}
	}
	expect.Equal(t, 2, files, "files with a checksum")
}

// TestDocsHeaders requests every file of the page, and files that do not belong to it.
func TestDocsHeaders(t *testing.T) {
	s := apitest.Small(t)
	for path, typ := range map[string]string{
		"/": "text/html", "/docs/docs.front.css": "text/css", "/docs": "text/html", "/v1/docs": "text/html", "/docs/docs.js": "text/javascript", "/v1/docs/swagger-ui.css": "text/css",
		"/docs/LICENSE": "text/plain", "/docs/NOTICE": "text/plain", "/docs/swagger-ui-bundle.js.LICENSE.txt": "text/plain",
	} {
		a := s.Do(http.MethodGet, path, nil).Want(http.StatusOK)
		if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, typ) {
			t.Errorf("%s: Content-Type %q", path, got)
		}
		policy := a.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: Content-Security-Policy %q", path, policy)
		}
	}
	for _, path := range []string{"/docs/renew", "/docs/nothing.js", "/docs/..%2Fapi.go", "/v1/docs/swaggerui/docs.js"} {
		s.Do(http.MethodGet, path, nil).Want(http.StatusNotFound)
	}
	a := s.Do(http.MethodGet, "/v1/docs/", nil).Want(http.StatusPermanentRedirect)
	expect.Equal(t, "../docs", a.Header.Get("Location"), "a trailing slash redirects to")
}

// TestFrontPageLeadsOn follows the links of the page at the root.
func TestFrontPageLeadsOn(t *testing.T) {
	s := apitest.Small(t)
	front := s.Do(http.MethodGet, "/", nil).Want(http.StatusOK)
	links := regexp.MustCompile(`href="([a-z][^":]*)"`).FindAllSubmatch(front.Body, -1)
	expect.Equal(t, 3, len(links), "links")
	for _, link := range links {
		s.Do(http.MethodGet, "/"+string(link[1]), nil).Want(http.StatusOK)
	}
	s.Do(http.MethodPost, "/", nil).Want(http.StatusNotFound)
}

// TestEveryFieldHasAText: each field and parameter of the document has a text, and each text in compat/texts is in the document.
func TestEveryFieldHasAText(t *testing.T) {
	document := apitest.Small(t).Do(http.MethodGet, "/openapi.json", nil).Want(http.StatusOK).Object()
	said := map[string]bool{}
	var read func(path string, value any)
	read = func(path string, value any) {
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				read(path, element)
			}
		case map[string]any:
			properties, _ := value["properties"].(map[string]any)
			for name, property := range properties {
				if property.(map[string]any)["description"] == nil {
					t.Errorf("%s: %s has no text", path, name)
				}
			}
			if value["in"] == "query" && value["description"] == nil {
				t.Errorf("%s: the parameter %v has no text", path, value["name"])
			}
			if text, ok := value["description"].(string); ok {
				said[text] = true
			}
			for key, inner := range value {
				if key != "examples" && key != "example" {
					read(path+"/"+key, inner)
				}
			}
		}
	}
	read("", document)
	files, err := filepath.Glob("../compat/texts/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	placeholder := regexp.MustCompile(`\\{\w+\\}`)
	documented := func(text string) bool {
		pattern := regexp.MustCompile("^" + placeholder.ReplaceAllString(regexp.QuoteMeta(strings.TrimSpace(text)), ".*"))
		return slices.ContainsFunc(slices.Collect(maps.Keys(said)), pattern.MatchString)
	}
	var look func(path string, value any)
	look = func(path string, value any) {
		for key, inner := range value.(map[string]any) {
			switch text := inner.(type) {
			case map[string]any:
				look(path+" "+key, text)
			case string:
				if key == "about" && !documented(text) {
					t.Errorf("%s: the document does not say %q", path, text)
				}
			}
		}
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		var texts map[string]any
		if err == nil {
			err = yaml.Unmarshal(content, &texts)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if filepath.Base(path) != "forms.yaml" {
			look(path, texts)
		}
	}
}
