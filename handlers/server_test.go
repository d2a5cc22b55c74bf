package handlers_test

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// exchange sends JSON with the server's key to a path or by a method that need not be in the document; headers are pairs of
// name and value, which replace others.
func exchange(s *apitest.Server, method, target, body string, headers ...string) apitest.Answer {
	request := httptest.NewRequestWithContext(s.T.Context(), method, target, strings.NewReader(body))
	request.Header.Set("X-Api-Key", s.Key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.Serve(request)
}
