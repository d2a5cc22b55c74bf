package handlers_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestTooManyVariables: requests with more variables than PHP reads are
// rejected, in both kinds of forms and in queries, on every route.
func TestTooManyVariables(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	header := func(contentType string) http.Header {
		return http.Header{"X-Api-Key": {s.key}, "Content-Type": {contentType}}
	}
	const form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	deep := "notes" + strings.Repeat("[a]", 65)
	for name, c := range map[string]struct{ contentType, body, message string }{
		"variables of a form": {form, strings.Repeat("notes=a&", 1001), "The request body has more than 1000 variables"},
		"levels of a form":    {form, deep + "=1", "The name of a variable in the request body nests deeper than 64 levels"},
		"parts":               {parts, strings.Repeat("--x\r\nContent-Disposition: form-data; name=\"notes\"\r\n\r\na\r\n", 1001) + "--x--\r\n", "The request body has more than 1000 variables"},
		"values of JSON":      {jsonType, `{"notes":[` + strings.Repeat("1,", 20_000) + `1]}`, "The request body has more than 20000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, route := range []string{http.MethodPost + " /v1/bookings", http.MethodPost + " /v1/bookings/bulk", http.MethodPost + " /v1/payments", http.MethodPut + " /v1/customers/1"} {
				method, path, _ := strings.Cut(route, " ")
				a := s.send(method, path, header(c.contentType), c.body).want(http.StatusBadRequest)
				if want := `{"code":"rest_invalid_json","message":"` + c.message + `","data":{"status":400}}`; string(a.body) != want {
					t.Errorf("%s: %s, want %s", route, a.body, want)
				}
			}
		})
	}
	for name, c := range map[string]struct{ query, message string }{
		"variables": {strings.Repeat("a&", 1001), "The query has more than 1000 variables"},
		"levels":    {deep, "The name of a variable in the query nests deeper than 64 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range routesOf(t) {
				a := s.do(r.Method, "/v1"+r.Path+"?"+c.query, http.Header{"X-Api-Key": {s.key}}).want(http.StatusBadRequest)
				if want := `{"code":"rest_invalid_json","message":"` + c.message + `","data":{"status":400}}`; string(a.body) != want {
					t.Errorf("%s %s: %s, want %s", r.Method, r.Path, a.body, want)
				}
			}
		})
	}
	s.do(http.MethodGet, "/v1/bookings?"+strings.Repeat("a&", 999)+"page=1", http.Header{"X-Api-Key": {s.key}}).want(http.StatusOK)
}
