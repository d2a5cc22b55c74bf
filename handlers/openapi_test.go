package handlers_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
)

// TestOpenAPI compares the document with the golden one, and requests it under every base path without a
// key.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	golden(t, "openapi", s.do(http.MethodGet, "/openapi.json", nil).want(http.StatusOK).body)
	for path, server := range map[string]string{"/v1": "/v1", "/wp-json/latepoint-api/v1": "/wp-json/latepoint-api/v1"} {
		a := s.do(http.MethodGet, path+"/openapi.json", nil).want(http.StatusOK)
		if got := a.at("servers", 0, "url"); got != server {
			t.Errorf("%s: server %v", path, got)
		}
		tag := a.header.Get("ETag")
		if again := s.do(http.MethodGet, path+"/openapi.json", http.Header{"If-None-Match": {tag}}).want(http.StatusNotModified); len(again.body) > 0 {
			t.Errorf("%s: a body with 304", path)
		}
	}
}

func bodyProperties(operation *openapi3.Operation) openapi3.Schemas {
	if operation.RequestBody == nil {
		return nil
	}
	return operation.RequestBody.Value.Content["application/json"].Schema.Value.Properties
}

// TestDocsInABrowser enters a key and sends a read and a rehearsal, at two addresses. The page contacts only the
// server, and asks it to name every mistake.
func TestDocsInABrowser(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Site") != "" && r.Header.Get("X-Api-Key") != "" && r.Header.Get("Prefer") != "handling=strict" {
			t.Errorf("%s %s prefers %q", r.Method, r.URL.Path, r.Header.Get("Prefer"))
		}
		s.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	page := browser.New(t)
	s.send(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {s.key}}, "").want(http.StatusOK) // the use of the key is noted
	before := s.database.Snapshot(t)
	for _, path := range []string{"/docs", "/wp-json/latepoint-api/v1/docs/"} {
		traffic := browser.Watch(page, t)
		if err := chromedp.Do(page, chromedp.EmulateViewport(1200, 1000), chromedp.Navigate(server.URL+path)); err != nil {
			t.Fatal(err)
		}
		for operation, method := range map[string]string{"bookings-listBookings": "get", "bookings-createBooking": "post"} {
			got, err := chromedp.Run(page, chromedp.Evaluate[executed](fmt.Sprintf(executeScript, s.key, operation, method), chromedp.EvalAwaitPromise))
			if err != nil || got.Status != http.StatusOK || !strings.Contains(got.Body, `"booking_code"`) {
				t.Errorf("%s, %s: status %d, %v: %.500s", path, operation, got.Status, err, got.Body)
			}
		}
		for _, fault := range traffic.Faults(server.URL) {
			t.Error(fault)
		}
	}
	wantNoWrites(t, "a rehearsal", before)
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

// envelopes matches the names of responses.
var envelopes = regexp.MustCompile(`Result\d*$`)

// documentNames are the names of fields in the document. Schemas named …Body… are sent by clients.
type documentNames struct {
	records map[string]map[string]bool // of named schemas, by the name of the schema; "" for envelopes
	sent    map[string]bool
}

// namesInDocument walks through the document, and fails the test for a field without a text.
func namesInDocument(t *testing.T, document map[string]any) documentNames {
	names := documentNames{map[string]map[string]bool{"": {}}, map[string]bool{}}
	var walk func(path string, value any, into map[string]bool)
	walk = func(path string, value any, into map[string]bool) {
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				walk(path, element, into)
			}
		case map[string]any:
			properties, _ := value["properties"].(map[string]any)
			for name, property := range properties {
				into[name] = true
				if schema, _ := property.(map[string]any); schema["description"] == nil {
					t.Errorf("%s: %s has no text", path, name)
				}
			}
			if name, ok := value["name"].(string); ok && value["in"] == "query" {
				names.sent[name] = true
				if value["description"] == nil {
					t.Errorf("%s: the parameter %s has no text", path, name)
				}
			}
			for key, inner := range value {
				switch {
				case path == "/components" && key == "schemas":
					for record, schema := range inner.(map[string]any) {
						if strings.Contains(record, "Body") {
							walk(record, schema, names.sent)
							continue
						}
						if envelopes.MatchString(record) && record != "BulkResult" {
							walk(record, schema, names.records[""])
							continue
						}
						if schema.(map[string]any)["properties"] == nil {
							continue
						}
						names.records[record] = map[string]bool{}
						walk(record, schema, names.records[record])
					}
				case key != "examples" && key != "example":
					walk(path+"/"+key, inner, into)
				}
			}
		}
	}
	walk("", document, names.records[""])
	return names
}

// TestEveryFieldHasAText: and every text in compat/texts has a field in the document.
func TestEveryFieldHasAText(t *testing.T) {
	t.Parallel()
	server := newServer(t, small(t))
	names := namesInDocument(t, server.do(http.MethodGet, "/openapi.json", nil).want(http.StatusOK).object())
	type text struct{ About, Example, Form string }
	texts := map[string]map[string]text{}
	own := map[string]map[string]text{}
	files, err := filepath.Glob("../compat/texts/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		records, fields := map[string]struct {
			Noun, About string
			Fields      map[string]text
		}{}, map[string]text{}
		var into any = &records
		switch name {
		case "forms":
			continue
		case "fields", "sent":
			texts[name], into = fields, &fields
		}
		decoder := yaml.NewDecoder(bytes.NewReader(content))
		decoder.KnownFields(true)
		if err := decoder.Decode(into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for name, r := range records {
			if own[name] != nil {
				t.Errorf("%s: %s stands in two files", path, name)
			}
			own[name] = map[string]text{}
			named := names.records[name]
			if named == nil {
				named = names.records[""] // of an envelope
			}
			if (r.About == "") != (names.records[name] == nil) || (r.Noun == "") != (r.About == "") {
				t.Errorf("%s: %s has the noun %q and the text %q", path, name, r.Noun, r.About)
			}
			for field, text := range r.Fields {
				own[name][field] = text
				if !named[field] || text.About == "" {
					t.Errorf("%s: %s has no field %s with a text", path, name, field)
				}
			}
		}
	}
	used := map[string]bool{}
	for name := range names.sent {
		if _, ok := texts["sent"][name]; !ok {
			used[name] = true
		}
	}
	for record, fields := range names.records {
		if own[record] == nil && record != "" {
			t.Errorf("%s has no text", record)
		}
		for field := range fields {
			if _, ok := own[record][field]; !ok {
				used[field] = true
			}
		}
	}
	for name, text := range texts["sent"] {
		if !names.sent[name] || text.About == "" {
			t.Errorf("sent.yaml: nothing named %s is sent", name)
		}
	}
	for name, text := range texts["fields"] {
		if !used[name] || text.About == "" {
			t.Errorf("fields.yaml: no field is named %s, or each has a text of its own", name)
		}
	}
	for _, r := range journal.Resources {
		if !strings.Contains(own["Change"]["resource"].About, string(r)) {
			t.Errorf("the text of Change.resource lacks %s", r)
		}
	}
	if form := texts["fields"]["cursor"].Form; form != journal.CursorPattern {
		t.Errorf("cursors have the form %s", form)
	}
}
