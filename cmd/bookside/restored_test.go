package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestRestored: after a backup was restored, old cursors have expired, and nothing that was queued in it is
// sent until somebody releases it.
func TestRestored(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	key := newKey(t, env, "--permissions", "read,read_changes,write_webhooks")
	first := serve(t, env)
	newWebhook(t, first.url, key, `{"url":"https://example.com/hooks","events":["booking.*"]}`)
	newWebhook(t, first.url, key, `{"url":"https://example.com/paused","events":["booking.*"]}`)
	expect.NoError(t, first.stop())
	db.Execute(t, "UPDATE wp_bookside_webhooks SET status = 'disabled' WHERE id = 2")
	run(t, env, "", "admin-token").want(t, exit.OK)
	cursorOf := func() string {
		s := serve(t, env)
		defer func() {
			expect.Succeeded(t, s.stop())
		}()
		_, body := get(t, s.url+"/v1/changes", key)
		var list struct{ Cursor string }
		if err := json.Unmarshal([]byte(body), &list); err != nil || list.Cursor == "" {
			t.Fatalf("%v: %s", err, body)
		}
		return list.Cursor
	}
	cursor := cursorOf()
	db.Execute(t, "INSERT INTO wp_bookside_holds (key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees, expires_at, created_at) VALUES (1, 1, 1, 1, '2026-12-01', '2026-12-01', 600, 660, 60, 0, 0, 1, '2099-01-01', '2026-11-01')")

	got := run(t, env, "", "restored").want(t, exit.OK).stdout
	expect.Texts(t, got, "1 holds and 1 logins of the console have ended.\n", "Webhook 1 is disabled: enable it on the console", "bookside keys list")
	if again := cursorOf(); again[:8] == cursor[:8] {
		t.Errorf("the cursor was %s and is %s", cursor, again)
	}
	s := serve(t, env)
	wantStatus(t, http.StatusGone, s.url+"/v1/changes?cursor="+cursor, key, "cursor of before")
}
