package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// companionSeen is what the companion stores once a day: its version and the time.
const companionSeen = "INSERT INTO %soptions (option_name, option_value) VALUES ('bookside_companion_seen', '%s %d')"

// TestCheckTriesTheLoopback: a wrong address of WordPress is found where extensions are only told about changes, too.
func TestCheckTriesTheLoopback(t *testing.T) {
	t.Parallel()
	db := small(t)
	db.Execute(t, fmt.Sprintf(companionSeen, db.Prefix, "0.2.0", now.Unix()))
	db.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('active_addons', '[\"latepoint-zoom\"]'), ('enable_zoom', 'on')")
	const warning = "extensions of the site are told about changes, and WordPress cannot be asked to: "
	env := settingsFor(db, "BOOKSIDE_WORDPRESS__LOOPBACK=http://127.0.0.1:1")
	expect.NoTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, warning)
	db.Execute(t, "INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'booking_created')")
	expect.Texts(t, run(t, env, "", "check").want(t, exit.OK).stdout, warning)
	db.Execute(t, "UPDATE wp_options SET option_value = '' WHERE option_name = 'bookside_companion_seen'")
	if text := run(t, env, "", "check").want(t, exit.OK).stdout; strings.Contains(text, warning) || !strings.Contains(text, "not honoured: Zoom: ") {
		t.Errorf("the companion was removed: %s", text)
	}
}

// TestSilentCompanionIsAsked: the server asks WordPress something if it has not loaded the companion for a day.
func TestSilentCompanionIsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ago  time.Duration
		want bool
	}{"it was seen today": {time.Hour, false}, "it was seen yesterday": {30 * time.Hour, true}, "it is silent": {30 * 24 * time.Hour, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 10)
			wordpress := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
			defer wordpress.Close()
			db := small(t)
			db.Execute(t, fmt.Sprintf(companionSeen, db.Prefix, "0.2.0", now.Add(-c.ago).Unix()))
			s := serve(t, settingsFor(db, "BOOKSIDE_WORDPRESS__LOOPBACK="+wordpress.URL))
			for waited := time.Duration(0); c.want && len(asked) == 0; waited += 10 * time.Millisecond {
				if waited > time.Minute {
					t.Fatal("it is not asked")
				}
				time.Sleep(10 * time.Millisecond)
			}
			expect.Succeeded(t, s.stop())
			if got := len(asked); got > 1 || got == 1 != c.want {
				t.Errorf("asked %d times", got)
			}
		})
	}
}

// TestCheckCluster: check reports the kind of cluster, and that WordPress's lock holds on one of its nodes.
func TestCheckCluster(t *testing.T) {
	t.Parallel()
	db := fixtures.NewGalera(t, fixtures.Small(now))
	env := settingsFor(db)
	db.Execute(t, fmt.Sprintf(companionSeen, db.Prefix, "0.2.0", time.Now().Unix()))
	expect.Texts(t, oneSpaced(run(t, env, "", "check").want(t, exit.OK).stdout), "✓ cluster Galera, members: 1, state of this one: Synced ", "! locks on one node WordPress's lock holds on one node of the cluster")
	// Like a node that is cut off from the others.
	db.Execute(t, "SET GLOBAL wsrep_reject_queries = 'ALL'")
	run(t, env, "", "check").want(t, exit.Unreachable, "or is a node that has lost its cluster")
}
