package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestFieldsInTheQuery: as in WordPress, fields missing from a write's body are taken from its query.
func TestFieldsInTheQuery(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)))
	for _, c := range []struct {
		name, method, target, contentType, body string
		status                                  int
		contains                                []string
	}{
		{"no body", "PUT", "/v1/customers/1?first_name=Anna&last_name=Arndt", "", "", 200, []string{`"first_name":"Anna"`, `"last_name":"Arndt"`}},
		{"the body wins", "PUT", "/v1/customers/1?first_name=Berta&last_name=Blum", "application/json", `{"first_name":"Cora"}`, 200, []string{`"first_name":"Cora"`, `"last_name":"Blum"`}},
		{"null in the body counts as lacking", "PUT", "/v1/customers/1?first_name=Dora", "application/json", `{"first_name":null}`, 200, []string{`"first_name":"Dora"`}},
		{"beside a form", "PUT", "/v1/customers/1?last_name=Eich", "application/x-www-form-urlencoded", "first_name=Eva", 200, []string{`"first_name":"Eva"`, `"last_name":"Eich"`}},
		{"nested names", "PUT", "/v1/customers/1?custom_fields[cf_a]=yes", "", "", 200, []string{`"cf_a":"yes"`}},
		{"the id of the path wins", "PUT", "/v1/customers/1?id=2&first_name=Frieda", "", "", 200, []string{`"first_name":"Frieda"`}},
		{"creation", "POST", "/v1/customers?first_name=Gerda&last_name=Grau&email=gerda@example.test", "", "", 201, []string{`"first_name":"Gerda"`}},
		{"an error names the field", "PUT", "/v1/customers/1?email=nobody", "", "", 400, []string{`"email":`}},
		{"bad UTF-8", "PUT", "/v1/customers/1?first_name=%ff", "", "", 400, []string{"The query is not valid UTF-8"}},
		{"parameters that are no fields", "PUT", "/v1/customers/1?api_key=x&rest_route=y", "application/json", `{"first_name":"Hanna"}`, 200, []string{`"first_name":"Hanna"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder, body := s.exchange(t, c.method, c.target, c.body, "Content-Type", c.contentType)
			if recorder.Code != c.status {
				t.Errorf("status %d, want %d: %s", recorder.Code, c.status, body)
			}
			if c.method == http.MethodPut && recorder.Code == http.StatusOK {
				_, body = s.exchange(t, http.MethodGet, "/v1/customers/1", "")
			}
			for _, part := range c.contains {
				if !strings.Contains(body, part) {
					t.Errorf("body %s lacks %s", body, part)
				}
			}
		})
	}
	if log := s.log.String(); strings.Contains(log, "Gerda") || strings.Contains(log, "gerda") {
		t.Error("the query of a write was logged")
	}
}

// TestIdempotencyKeyWithQuery: another query under the same key makes it a different request; parameters
// that are not fields do not matter.
func TestIdempotencyKeyWithQuery(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)))
	first, created := s.exchange(t, "POST", "/v1/customers?first_name=Ida", `{"last_name":"Iser"}`, "Idempotency-Key", "one")
	if first.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", first.Code, created)
	}
	again, body := s.exchange(t, "POST", "/v1/customers?first_name=Ida&rest_route=", `{"last_name":"Iser"}`, "Idempotency-Key", "one")
	if again.Code != http.StatusCreated || body != created || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("status %d: %s", again.Code, body)
	}
	other, body := s.exchange(t, "POST", "/v1/customers?first_name=Jana", `{"last_name":"Iser"}`, "Idempotency-Key", "one")
	if other.Code != http.StatusUnprocessableEntity || !strings.Contains(body, "idempotency_key_reused") {
		t.Errorf("status %d: %s", other.Code, body)
	}
}

// TestJSONTextsInFields: clients that send forms send lists and objects as JSON texts.
func TestJSONTextsInFields(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)))
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		name, method, target, contentType, body string
		status                                  int
		contains                                string
	}{
		{"object in a form", "PUT", "/v1/customers/1", form, `custom_fields=%7B%22cf_a%22%3A%22yes%22%7D`, 200, `"cf_a":"yes"`},
		{"object in JSON", "PUT", "/v1/customers/1", "application/json", `{"custom_fields":"{\"cf_b\":\"no\"}"}`, 200, `"cf_b":"no"`},
		{"list in a form", "POST", "/v1/bookings/bulk", form, `bookings=%5B%7B%22notes%22%3A%22x%22%7D%5D`, 400, "Missing required field: service_id"},
		{"list of texts", "POST", "/v1/bookings/bulk", "application/json", `{"bookings":["{\"service_id\":1}"]}`, 400, "Missing required field: agent_id"},
		{"not JSON", "PUT", "/v1/customers/1", form, `custom_fields=%7B%22cf_a`, 400, `"custom_fields":"Must be an object"`},
		{"a text that looks like JSON", "PUT", "/v1/customers/1", "application/json", `{"notes":"{\"a\":1}"}`, 200, `"notes":"{\"a\":1}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder, body := s.exchange(t, c.method, c.target, c.body, "Content-Type", c.contentType)
			if c.method == http.MethodPut && recorder.Code == http.StatusOK {
				_, body = s.exchange(t, http.MethodGet, "/v1/customers/1", "")
			}
			if recorder.Code != c.status || !strings.Contains(body, c.contains) {
				t.Errorf("status %d, want %d; body %s lacks %s", recorder.Code, c.status, body, c.contains)
			}
		})
	}
}
