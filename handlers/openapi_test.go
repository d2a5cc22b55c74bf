package handlers_test

import (
	"net/http"
	"testing"
)

// TestOpenAPI compares the document with the golden one, and asks for it under
// every base path without a key.
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
