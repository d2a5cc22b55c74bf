package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/routers"

	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestContractRejectsDeviations passes responses and requests with one deviation each to the contract's
// check.
func TestContractRejectsDeviations(t *testing.T) {
	s := apitest.Small(t)
	c := apitest.TheContract()
	const path = "/v1/customers?per_page=1"
	right := s.Get("/customers?per_page=1").Want(http.StatusOK)
	rejected := s.Get("/customers?page=0").Want(http.StatusBadRequest)
	for name, test := range map[string]struct {
		path   string
		answer apitest.Answer
		with   func(body string) string
		allow  bool
	}{
		"right":              {path, right, func(b string) string { return b }, true},
		"refused":            {"/v1/customers?page=0", rejected, func(b string) string { return b }, true},
		"another key":        {path, right, func(b string) string { return strings.Replace(b, `"id":`, `"spare":1,"id":`, 1) }, false},
		"missing key":        {path, right, func(b string) string { return strings.Replace(b, `"phone":`, `"fax":`, 1) }, false},
		"number for text":    {path, right, func(b string) string { return strings.Replace(b, `"is_guest":"1"`, `"is_guest":1`, 1) }, false},
		"timestamp":          {path, right, func(b string) string { return strings.Replace(b, `"created_at":"2026-`, `"created_at":"26-`, 1) }, false},
		"unknown code":       {"/v1/customers?page=0", rejected, func(b string) string { return strings.Replace(b, "invalid_parameters", "invalid_fields", 1) }, false},
		"parameter accepted": {"/v1/customers?per_page=200000", right, func(b string) string { return b }, false},
		"path not described": {"/v1/nothing", right, func(b string) string { return b }, false},
	} {
		shown := test.answer
		shown.Body = []byte(test.with(string(shown.Body)))
		if !test.allow && bytes.Equal(shown.Body, test.answer.Body) && strings.HasPrefix(test.path, path) {
			t.Errorf("%s: nothing was changed in %s", name, shown.Body)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		request.Header.Set("X-API-Key", s.Key)
		if err := c.Judge(request, nil, shown); (err == nil) != test.allow {
			t.Errorf("%s: %v", name, err)
		}
	}
	unsigned := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err := c.Judge(unsigned, nil, right); err == nil {
		t.Error("an answer without a key passes")
	}
	counted := right
	counted.Header = right.Header.Clone()
	counted.Header.Set("X-Total-Count", "many")
	signed := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	signed.Header.Set("X-API-Key", s.Key)
	if err := c.Judge(signed, nil, counted); err == nil || !strings.Contains(err.Error(), "the header X-Total-Count") {
		t.Errorf("a count that is no number: %v", err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/services", nil)
	request.Header.Set("X-API-Key", s.Key)
	request.Header.Set("Content-Type", "application/json")
	for _, body := range []string{`{}`, `{"name":"x","duration":"long"}`, `{"name":"x","status":"gone"}`} {
		if err := c.Judge(request, []byte(body), apitest.Answer{T: t, Status: http.StatusCreated, Header: right.Header}); err == nil || !strings.Contains(err.Error(), "the body") {
			t.Errorf("%s passes: %v", body, err)
		}
	}
}

// TestDocumentExamples compares every example with its schema.
func TestDocumentExamples(t *testing.T) {
	t.Parallel()
	c := apitest.TheContract()
	examples := 0
	check := func(place string, all ...any) {
		examples += len(all)
		for _, value := range all {
			text, err := json.Marshal(value)
			expect.NoError(t, err)
			if err := c.Check(place, text); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
	for path, item := range c.Document.Paths.Map() {
		for method, operation := range item.Operations() {
			place := apitest.PlaceOf(&routers.Route{Path: path, Method: method})
			for i, p := range operation.Parameters {
				all := p.Value.Schema.Value.Examples
				if p.Value.Example != nil {
					all = append(slices.Clone(all), p.Value.Example)
				}
				check(fmt.Sprintf("%s/parameters/%d/schema", place, i), all...)
			}
			if operation.RequestBody != nil {
				check(place+"/requestBody"+apitest.JSONSchema, operation.RequestBody.Value.Content["application/json"].Example)
			}
		}
	}
	for name, schema := range c.Document.Components.Schemas {
		for property, of := range schema.Value.Properties {
			if of.Ref == "" {
				check("#/components/schemas/"+name+"/properties/"+property, of.Value.Examples...)
			}
		}
	}
	if examples < 400 {
		t.Errorf("only %d examples", examples)
	}
}
