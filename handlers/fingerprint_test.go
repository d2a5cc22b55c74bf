package handlers_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestFingerprint: the probe and the index return the same fingerprint, without a key. It identifies one
// site: copies have others, whatever they share. Without an id, or a database, there is none.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	const id = "INSERT INTO wp_bookside_change_positions (name, signature) VALUES ('site', 'SECRETSECRETSECRETSECRETSE')"
	ask := func(s *server) string {
		t.Helper()
		admin := newAdmin()
		admin.Started(s.platform)
		var told struct{ Fingerprint string }
		if r := probe(t, admin, http.MethodGet, "/readyz"); json.Unmarshal(r.Body.Bytes(), &told) != nil {
			t.Fatalf("readyz: %s", r.Body)
		}
		probed := told.Fingerprint
		for _, path := range []string{"/v1", "/wp-json/latepoint-api/v1"} {
			recorder, body := s.exchange(t, http.MethodGet, path, "", "X-Api-Key", "")
			if err := json.Unmarshal([]byte(body), &told); err != nil || recorder.Code != http.StatusOK || told.Fingerprint != probed {
				t.Errorf("%s: status %d, fingerprint %q, %v; the probe says %q", path, recorder.Code, told.Fingerprint, err, probed)
			}
		}
		return probed
	}
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	wantEqual(t, "", ask(s), "without an id")
	database.Execute(t, id)
	first := ask(s)
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(first) || ask(s) != first {
		t.Errorf("fingerprint %q", first)
	}
	// The same id and address, in another database.
	copied := fixtures.New(t, fixtures.Small(now))
	c := newServer(t, copied)
	copied.Execute(t, id)
	if got := ask(c); got == first || got == "" {
		t.Errorf("the copy has %q, the site %q", got, first)
	}
	database.Execute(t, "UPDATE wp_options SET option_value = 'https://staging.example' WHERE option_name = 'siteurl'")
	moved := ask(s)
	if moved == first || moved == "" {
		t.Errorf("at another address %q", moved)
	}
	database.Execute(t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	wantEqual(t, moved, ask(s), "a site that is not ready has")
	database.Execute(t, "RENAME TABLE wp_bookside_change_positions TO elsewhere")
	wantEqual(t, "", ask(s), "without the table")
}
