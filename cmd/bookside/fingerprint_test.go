package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
)

// TestServerOfAnotherSite: check distinguishes a server that serves the site from one
// that serves another. They say nothing about a server that does not answer.
func TestServerOfAnotherSite(t *testing.T) {
	t.Parallel()
	db, other := small(t), small(t)
	s, another := serve(t, settingsFor(db)), serve(t, settingsFor(other))
	for _, server := range []*testServer{s, another} {
		server.awaitFingerprint()
	}
	for _, c := range []struct {
		asked, check, json string
	}{
		{s.admin(), "✓ running server the one at {} serves this site", `"same_site": true`},
		{another.admin(), "! running server the one at {} serves another site, ", `"same_site": false`},
		{"127.0.0.1:1", "", `"server": null`},
	} {
		env := lastWins(settingsFor(db, "BOOKSIDE_ADMIN__LISTEN="+c.asked))
		name := func(text string) string { return strings.ReplaceAll(text, "{}", c.asked) }
		checked := run(t, env, "", "check").want(t, exit.OK).stdout
		wantTexts(t, oneSpaced(checked), name(c.check))
		if foreign := strings.Contains(checked, "warning: the server that answers at "+c.asked+" serves another site"); foreign != (c.asked == another.admin()) {
			t.Errorf("%s: %s", c.asked, checked)
		}
		if c.check == "" && strings.Contains(checked, "running server") {
			t.Errorf("%s does not answer: %s", c.asked, checked)
		}
		wantTexts(t, run(t, env, "", "check", "--json").want(t, exit.OK).stdout, c.json)
	}
}

// TestCheckAsksWhoSawIt: only a server that ran meanwhile knows that an older database was restored; one of
// another site, or of an earlier version, is not trusted to know it about this site.
func TestCheckAsksWhoSawIt(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	newKey(t, env)
	execute(t, db.SQL, "INSERT INTO wp_bookside_change_positions (name, signature) VALUES ('site', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')")
	for body, want := range map[string]string{
		`{"status":"ready","rating":[{"code":"restored_under","level":"broken"}]}`:                                  "✗ changes an older database came back while the server ran: run bookside restored",
		`{"status":"ready","fingerprint":"0123456789abcdef","rating":[{"code":"restored_under","level":"broken"}]}`: "✓ changes none waits for its number",
		`{"status":"ready"}`: "✓ changes none waits for its number",
		`<html>`:             "✓ changes none waits for its number",
	} {
		asked := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.String()
			_, _ = io.WriteString(w, body)
		}))
		code := exit.OK
		if strings.HasPrefix(want, "✗") {
			code = exit.Failure
		}
		got := run(t, lastWins(settingsFor(db, "BOOKSIDE_ADMIN__LISTEN="+server.Listener.Addr().String())), "", "check").want(t, code).stdout
		server.Close()
		if wantTexts(t, oneSpaced(got), want); asked != "/readyz?verbose" {
			t.Errorf("asked %q", asked)
		}
	}
}

// awaitFingerprint waits until the server has drawn the id of its site.
func (s *testServer) awaitFingerprint() {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if found := findServer(s.t.Context(), s.admin(), ""); found != nil && found.Fingerprint != "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal("the server tells no fingerprint")
		}
	}
}

// oneSpaced returns a text with single spaces.
func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }
