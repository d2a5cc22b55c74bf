package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/fixtures"
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
