package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
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
	for asked, want := range map[string]string{s.admin(): "good the one at {} serves this site", another.admin(): "minor the one at {} serves another site, or a copy of this one. Correct ", "127.0.0.1:1": ""} {
		line := checkJSON(t, lastWins(settingsFor(db, "BOOKSIDE_ADMIN__LISTEN="+asked)), exit.OK).line(monitor.Server)
		if !strings.HasPrefix(line, strings.ReplaceAll(want, "{}", asked)) || line != "" && want == "" {
			t.Errorf("%s: %s, want %s", asked, line, want)
		}
	}
}

// TestCheckBesideAServer: check sends nobody to start a server that runs.
func TestCheckBesideAServer(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	s := serve(t, env)
	s.awaitFingerprint()
	beside := lastWins(settingsFor(db, "BOOKSIDE_ADMIN__LISTEN="+s.admin()))
	expect.Texts(t, run(t, beside, "", "check").want(t, exit.OK).stdout, "next: bookside keys create")
	newKey(t, env)
	expect.NoTexts(t, run(t, beside, "", "check").want(t, exit.OK).stdout, "next: ")
	expect.Texts(t, run(t, lastWins(settingsFor(db, "BOOKSIDE_ADMIN__LISTEN=127.0.0.1:1")), "", "check").want(t, exit.OK).stdout, "next: bookside serve")
}

// TestCheckAsksWhoSawIt: only a server that ran meanwhile knows that an older database was restored; one of
// another site is not trusted to know it about this site.
func TestCheckAsksWhoSawIt(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	newKey(t, env)
	s := serve(t, env)
	s.awaitFingerprint()
	const restored = `"report":[{"code":"restored_under","level":"broken","text":"an older database came back"}]}`
	for body, want := range map[string]string{
		`{"status":"ready","fingerprint":"` + findServer(t.Context(), s.admin()).Fingerprint + `",` + restored: "broken an older database came back",
		`{"status":"ready","fingerprint":"0123456789abcdef",` + restored:                                       "",
		`{"status":"ready",` + restored: "broken an older database came back",
		`<html>`:                        "",
	} {
		asked := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.String()
			_, _ = io.WriteString(w, body)
		}))
		code := exit.OK
		if want != "" {
			code = exit.Failure
		}
		got := checkJSON(t, lastWins(settingsFor(db, "BOOKSIDE_ADMIN__LISTEN="+server.Listener.Addr().String())), code)
		server.Close()
		if line := got.line(monitor.RestoredUnder); line != want || asked != "/readyz?verbose" {
			t.Errorf("asked %q: %q, want %q", asked, line, want)
		}
	}
}

// awaitFingerprint waits until the server has drawn the id of its site.
func (s *testServer) awaitFingerprint() {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if found := findServer(s.t.Context(), s.admin()); found != nil && found.Fingerprint != "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal("the server tells no fingerprint")
		}
	}
}

// oneSpaced returns a text with single spaces.
func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }
