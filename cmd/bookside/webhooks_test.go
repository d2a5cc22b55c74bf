package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
)

// newWebhook creates a webhook by the API of a server.
func newWebhook(t *testing.T, url, key, body string) {
	t.Helper()
	if status, answer := write(t, http.MethodPost, url+"/v1/webhooks", key, body); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
}

// TestChangesArriveWhoeverMadeThem is changes through the API and by plain
// SQL both arrive at a receiver, although the server is killed while sending.
func TestChangesArriveWhoeverMadeThem(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db, "LIMIT_ChangesInterval=1s", "BOOKSIDE_WEBHOOKS__ALLOW_PRIVATE=true")
	key := newKey(t, env, "--permissions", "read,write,read_changes,write_webhooks")
	events, release := make(chan string), make(chan bool)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- string(body)
		<-release
	}))
	defer receiver.Close()
	defer close(release)
	server := startProcess(t, env)
	newWebhook(t, server.url, key, `{"url":"`+receiver.URL+`","events":["service.*","booking.*"],"include_record":true}`)
	next := func() string {
		t.Helper()
		select {
		case event := <-events:
			return event
		case <-time.After(time.Minute):
			t.Fatal("no event arrives")
			return ""
		}
	}
	if status, answer := write(t, http.MethodPut, server.url+"/v1/services/1", key, `{"name":"Renamed"}`); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	byAPI := []string{`"type":"service.updated"`, `"origin":"api"`, `"name":"Renamed"`}
	expect.Texts(t, next(), byAPI...)
	// Changes by others are found once the first pass has ended.
	for passed := 0; passed == 0; time.Sleep(5 * time.Millisecond) {
		db.Scan(t, "SELECT COUNT(*) FROM "+db.Prefix+"bookside_change_positions WHERE name = 'bookings' AND position > floor", &passed)
	}
	expect.NoError(t, server.Process.Kill())
	_ = server.Wait() // it was killed
	release <- true
	// While no server runs.
	db.Execute(t, "UPDATE "+db.Prefix+"latepoint_bookings SET status = 'cancelled' WHERE status <> 'cancelled' ORDER BY id LIMIT 1")
	db.Execute(t, "UPDATE "+db.Prefix+"bookside_webhook_deliveries SET due_at = created_at") // lets the claim run out
	db.Execute(t, "UPDATE "+db.Prefix+"bookside_change_positions SET expires_at = NULL")     // and the journal's lease
	server = startProcess(t, env)
	arrived := []string{next()}
	release <- true
	arrived = append(arrived, next())
	release <- true
	if !strings.Contains(arrived[0], byAPI[0]) { // events about different records have no order
		slices.Reverse(arrived)
	}
	expect.Texts(t, arrived[0], byAPI...)
	expect.Texts(t, arrived[1], `"type":"booking.status_changed"`, `"new_status":"cancelled"`, `"origin":"found"`, `"record":{"id":`)
	expect.NoError(t, server.Process.Signal(syscall.SIGTERM))
	if err := server.Wait(); err != nil {
		t.Errorf("the program ended with %v\n%s", err, server.stderr)
	}
	expect.Equal(t, "delivered", queryText(t, db, "SELECT GROUP_CONCAT(DISTINCT status) FROM "+db.Prefix+"bookside_webhook_deliveries"), "deliveries")
}

func TestWebhookSecretsAreEncryptedByTheProgram(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db, "BOOKSIDE_WEBHOOKS__SECRET_KEY="+strings.Repeat("k", 32))
	newWebhook(t, serve(t, env).url, newKey(t, env, "--permissions", "read,read_changes,write_webhooks"), `{"url":"https://example.com/","events":["booking.*"]}`)
	if stored := queryText(t, db, "SELECT secret FROM "+db.Prefix+"bookside_webhooks"); !strings.HasPrefix(stored, "gcm_") {
		t.Errorf("stored as %s", stored)
	}
	run(t, settingsFor(db, "BOOKSIDE_WEBHOOKS__SECRET_KEY=short"), "", "check").want(t, exit.Usage, "webhooks.secret_key: write at least 32 characters")
	masked := run(t, env, "", "serve", "--print-config").want(t, exit.OK).stdout
	if strings.Contains(masked, "kkkk") || !strings.Contains(masked, `secret_key: '***'`) {
		t.Errorf("%s", masked)
	}
}
