package handlers_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// TestDocumentListsAllFieldsAndParameters sends every name in the document to every route, with a value
// that is never valid: the response changes if and only if the name is described for that route. Fields of
// a body may also be sent in the query.
func TestDocumentListsAllFieldsAndParameters(t *testing.T) {
	t.Parallel()
	fixtures.RequireTime(t)
	database := fixtures.New(t, fixtures.Small(now).WithProFeatures()) // so that extras, coupons and reasons are read
	database.Execute(t, askForReasons...)
	s := newServer(t, database)
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	parameters, fields := map[string]bool{}, map[string]bool{}
	for _, path := range c.document.Paths.Map() {
		for _, operation := range path.Operations() {
			for _, name := range queryNames(operation) {
				parameters[name] = true
			}
			for name := range bodyProperties(operation) {
				fields[name] = true
			}
		}
	}
	if len(parameters) < 40 || len(fields) < 60 {
		t.Fatalf("only %d parameters and %d fields", len(parameters), len(fields))
	}
	for _, path := range fixtures.Sample(slices.Sorted(maps.Keys(c.document.Paths.Map())), 2) {
		for method, operation := range c.document.Paths.Value(path).Operations() {
			at := s.withExistingIDs(path)
			if method == http.MethodDelete {
				at = strings.NewReplacer("{id}", "8000000", "{code}", "NOWHERE").Replace(path)
			}
			s.probeQuery(method, at, slices.AppendSeq(queryNames(operation), maps.Keys(bodyProperties(operation))), parameters)
			if operation.RequestBody != nil {
				s.probeBody(method, at, bodyProperties(operation), fields)
			}
		}
	}
}

// withExistingIDs fills in ids of records of the small site.
func (s *server) withExistingIDs(path string) string {
	first := func(of string, key string) string { return fmt.Sprint(s.get(of).at("data", 0, key)) }
	for list, key := range map[string]string{
		"/bookings": "id", "/customers": "id", "/agents": "id", "/services": "id", "/payments": "id", "/coupons": "code",
	} {
		if strings.HasPrefix(path, list+"/{") {
			return list + "/" + first(list, key) + path[strings.Index(path, "}")+1:]
		}
	}
	if !strings.Contains(path, "{invoice_id}") {
		return strings.NewReplacer("{id}", first("/orders", "id"), "{transaction_id}", "1").Replace(path)
	}
	for _, order := range s.get("/orders?per_page=100").records() {
		invoices := fmt.Sprintf("/orders/%v/invoices", order["id"])
		if all := s.get(invoices).records(); len(all) > 0 {
			return invoices + "/" + fmt.Sprint(all[0]["id"])
		}
	}
	s.t.Fatal("no order has an invoice")
	return ""
}

func queryNames(operation *openapi3.Operation) []string {
	var names []string
	for _, p := range operation.Parameters {
		if p.Value.In == "query" {
			names = append(names, p.Value.Name)
		}
	}
	return names
}

func bodyProperties(operation *openapi3.Operation) openapi3.Schemas {
	if operation.RequestBody == nil {
		return nil
	}
	return operation.RequestBody.Value.Content["application/json"].Schema.Value.Properties
}

// unknownField is what strict operations say of fields that they do not read.
var unknownField = []byte("Unknown field")

// ofServices are the routes that check extras and coupons by service.
var ofServices = []string{"POST/bookings", "POST/holds", "GET/availability"}

func (s *server) probeQuery(method, path string, described []string, all map[string]bool) {
	s.t.Helper()
	header := http.Header{"X-Api-Key": {s.key}}
	query := ""
	if method+path == "POST/payments" { // which reports only the first wrong field
		query = "&order_id=1&amount=5&receipt_number[]=1"
		delete(all, "receipt_number")
		defer func() { all["receipt_number"] = true }()
	}
	if slices.Contains(ofServices, method+path) {
		query = "&service_id=1"
		if method == http.MethodGet {
			query += "&agent_id=1&date=2026-11-24"
		}
	}
	usual := s.send(method, "/v1"+path+"?"+query, header, "")
	refused := strings.HasSuffix(path, ".ics") // needs the secret of a calendar, and reveals nothing without it
	for name := range all {
		got := s.send(method, "/v1"+path+"?"+strings.Replace(query, "&"+name+"=", "&", 1)+"&"+name+"[]=1", header, "")
		if read := !bytes.Equal(got.body, usual.body) && !bytes.Contains(got.body, unknownField); read != slices.Contains(described, name) {
			s.t.Errorf("%s %s reads the parameter %s: %v, described: %v", method, path, name, read, !read)
		} else if named := got.header.Get("X-Ignored-Parameters") == name; named == read && name != "dry_run" && !refused {
			s.t.Errorf("%s %s reads the parameter %s: %v, says that it ignores it: %v", method, path, name, read, named)
		}
	}
}

func (s *server) probeBody(method, path string, described openapi3.Schemas, all map[string]bool) {
	s.t.Helper()
	header := http.Header{"X-Api-Key": {s.key}, "Content-Type": {"application/json"}}
	usual := map[string]any{}
	if method+path == "POST/payments" { // which reports only the first wrong field
		usual = map[string]any{"order_id": 1, "amount": 5, "receipt_number": []int{1}}
		delete(all, "receipt_number")
		defer func() { all["receipt_number"] = true }()
	}
	if slices.Contains(ofServices, method+path) {
		usual["service_id"] = 1
	}
	send := func(change map[string]any) []byte {
		body := maps.Clone(usual)
		maps.Copy(body, change)
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		return s.send(method, "/v1"+path, header, string(text)).body
	}
	before := send(nil)
	for name := range all {
		_, ok := described[name]
		if name == "dry_run" && !ok {
			continue // refused, see TestNoDryRunIsCarriedOut
		}
		answer := send(map[string]any{name: [][]int{{1}}})
		if read := !bytes.Equal(answer, before) && !bytes.Contains(answer, unknownField); read != ok {
			s.t.Errorf("%s %s reads the field %s: %v, described: %v", method, path, name, read, ok)
		}
	}
	for name, property := range described {
		for inner := range property.Value.Properties {
			if bytes.Equal(send(map[string]any{name + "." + inner: []int{1}}), before) {
				s.t.Errorf("%s %s does not read the field %s.%s", method, path, name, inner)
			}
		}
	}
}

// TestRequiredFieldsAreDocumented compares the fields reported as missing from an empty POST with those
// that the document requires.
func TestRequiredFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range c.document.Paths.Map() {
		if item.Post == nil || item.Post.RequestBody == nil || strings.Contains(path, "{") {
			continue // no fields are sent, or there is no such record
		}
		schema := item.Post.RequestBody.Value.Content["application/json"].Schema.Value
		a := s.send(http.MethodPost, "/v1"+path, http.Header{"X-Api-Key": {s.key}}, "").want(http.StatusBadRequest)
		for _, name := range schema.Required {
			if !bytes.Contains(a.body, []byte(name)) {
				t.Errorf("POST %s does not report that %s is missing: %s", path, name, a.body)
			}
		}
		for name := range schema.Properties {
			required := bytes.Contains(a.body, []byte(`"`+name+`":"Required"`))
			// required only if customer_id, or hold_id, is not sent
			alternative := name == "customer" || schema.Properties["hold_id"] != nil && slices.Contains([]string{"service_id", "agent_id", "start_date", "start_time"}, name)
			if required && !alternative && !slices.Contains(schema.Required, name) {
				t.Errorf("POST %s requires %s, which the document does not require", path, name)
			}
		}
	}
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
