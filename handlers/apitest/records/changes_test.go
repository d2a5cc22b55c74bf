package records_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestChangesOfHoursAndTimeOff: whose times change is in the journal as changed, by the key that did it.
func TestChangesOfHoursAndTimeOff(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	secret, id := f.key("read", "write", "delete", "read_changes")
	const hours = `"hours":{"sunday":[{"start_time":"03:00","end_time":"04:00"}]}}`
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodPut, "/business-hours", `{"agent_id":1,` + hours, "agents 1"},
		{http.MethodPut, "/business-hours", `{"location_id":1,` + hours, "locations 1"},
		{http.MethodPut, "/business-hours", `{"service_id":2,` + hours, "services 2"},
		{http.MethodPut, "/business-hours", `{` + hours, "locations 1"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05","agent_id":1,"location_id":1}`, "agents 1"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05","location_id":1}`, "locations 1"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05","service_id":2}`, "services 2"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05"}`, "locations 1"},
	} {
		cursor := f.read("/changes", secret).Cursor
		response := f.request(t.Context(), c.method, c.path, secret, c.body)
		expect.NoError(t, response.Body.Close())
		if response.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s: %d", c.body, response.StatusCode)
		}
		change := f.wait("/changes?include=record", cursor, secret).Data[0]
		expect.Equal(t, c.want+fmt.Sprint("updated", "api", id), fmt.Sprint(change["resource"], " ", change["resource_id"], change["kind"], change["origin"], change["key_id"]), fmt.Sprintf("%s: %v", c.body, change))
	}
}

// feed is a server on a port, with a running journal.
type feed struct {
	t        *testing.T
	database *fixtures.Database
	url      string
	store    *keys.Store
	stop     func() // tells the server that it is about to stop
}

func newFeed(t *testing.T, change ...func(*handlers.Options)) *feed {
	t.Helper()
	f := &feed{t: t, database: fixtures.New(t, fixtures.SiteA().WithFewBookings())}
	db := apitest.OpenDatabase(t, f.database, 4, time.Minute)
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	stopping := make(chan struct{})
	f.stop = sync.OnceFunc(func() { close(stopping) })
	options := apitest.DefaultOptions()
	options.Stopping = stopping
	for _, c := range change {
		c(&options)
	}
	f.store = keys.NewStore(db, time.Now, rand.Reader)
	platform := session.NewPlatform(db, time.Now)
	log := slog.New(slog.DiscardHandler)
	server := httptest.NewServer(handlers.New(platform, f.store, time.Now, log, options))
	f.url = server.URL + "/v1"
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	work.Go(func() {
		platform.RunJournal(ctx, journal.Options{Interval: 100 * time.Millisecond, Share: 1, Sweep: time.Minute, Keep: time.Hour, Owner: "test"}, log)
	})
	f.settle()
	t.Cleanup(func() {
		f.stop()
		server.Close()
		cancel()
		work.Wait()
	})
	return f
}

// settle waits until all rows have been seen once: earlier changes are not found.
func (f *feed) settle() {
	f.t.Helper()
	for begun, waiting := 0, 1; begun == 0 || waiting > 0; {
		f.database.Scan(f.t, "SELECT COUNT(*), COALESCE(SUM(position <= floor), 0) FROM wp_bookside_change_positions WHERE name NOT IN ('journal', 'search', 'site')", &begun, &waiting)
	}
}

func (f *feed) key(permissions ...string) (secret string, id int64) {
	f.t.Helper()
	secret, key := apitest.CreateKey(f.t, f.store, keys.NewKey{Permissions: permissions})
	return secret, key.ID
}

// limitedKey creates a key that reads what agents have.
func (f *feed) limitedKey(agents ...int64) string {
	f.t.Helper()
	secret, _ := apitest.CreateKey(f.t, f.store, keys.NewKey{Permissions: []string{"read", "read_changes"}, Scope: domain.Scope{Agents: agents}})
	return secret
}

// request sends a request, whose response must be closed.
func (f *feed) request(ctx context.Context, method, path, key, body string, header ...string) *http.Response {
	f.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, f.url+path, strings.NewReader(body))
	expect.NoError(f.t, err)
	request.Header.Set("X-API-Key", key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	expect.NoError(f.t, err)
	return response
}

// changeList is a response of GET /changes.
type changeList struct {
	Success bool             `json:"success"`
	Data    []map[string]any `json:"data"`
	Cursor  string           `json:"cursor"`
	HasMore bool             `json:"has_more"`
}

func (f *feed) read(path, key string) (list changeList) {
	f.t.Helper()
	status, text := f.status(path, key)
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK || !list.Success {
		f.t.Fatalf("%s: %d %s %v", path, status, text, err)
	}
	return list
}

func (f *feed) status(path, key string, header ...string) (int, string) {
	f.t.Helper()
	response := f.request(f.t.Context(), http.MethodGet, path, key, "", header...)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	expect.NoError(f.t, err)
	return response.StatusCode, string(text)
}

func (f *feed) exec(statement string) {
	f.t.Helper()
	if _, err := f.database.SQL.ExecContext(context.Background(), statement); err != nil {
		f.t.Fatal(err)
	}
}

// enter enters a change of a record, as a write does.
func (f *feed) enter(resource string, id any) {
	f.t.Helper()
	f.exec(fmt.Sprintf("INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, at) VALUES ('%s', %v, 'updated', 'api', UTC_TIMESTAMP())", resource, id))
}

// enlarge gives a customer custom fields of 65,000 bytes each.
func (f *feed) enlarge(customer, fields int) {
	f.t.Helper()
	f.exec(fmt.Sprintf("INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) "+
		"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d) SELECT %d, CONCAT('cf_', n), REPEAT('y', 65000) FROM n", fields, customer))
}

// wait reads until there are changes, and returns them and the next cursor.
func (f *feed) wait(path, cursor, key string) changeList {
	f.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if list := f.read(path+"&wait=60&cursor="+cursor, key); len(list.Data) > 0 {
			return list
		}
	}
	f.t.Fatalf("no changes at %s", path)
	return changeList{}
}

// TestChangesOfBothSides: a waiting request gets changes by the API and by plain SQL, with the statuses of
// bookings, and the present record as the key may see it.
func TestChangesOfBothSides(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	reader, _ := f.key("read_changes", "read_bookings")
	writer, writerID := f.key("write", "read")
	start := f.read("/changes", reader)
	if len(start.Data) != 0 || start.HasMore || start.Cursor == "" {
		t.Fatalf("without a cursor: %+v", start)
	}
	response := f.request(t.Context(), http.MethodPut, "/bookings/2", writer, `{"status":"cancelled"}`)
	if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Fatalf("PUT: %d", response.StatusCode)
	}
	list := f.wait("/changes?include=record", start.Cursor, reader)
	c := list.Data[0]
	if c["resource"] != "bookings" || c["resource_id"] != 2.0 || c["kind"] != "updated" || c["origin"] != "api" || c["key_id"] != float64(writerID) || c["new_status"] != "cancelled" {
		t.Errorf("change by the API: %v", c)
	}
	if record, _ := c["record"].(map[string]any); record["id"] != 2.0 || record["status"] != "cancelled" {
		t.Errorf("record %v", c["record"])
	}
	if c["old_status"] == nil || c["old_status"] == "cancelled" {
		t.Errorf("old status %v", c["old_status"])
	}
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(c["at"])); err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("at %v", c["at"])
	}
	for _, change := range list.Data {
		expect.Equal(t, "bookings", change["resource"], fmt.Sprintf("a key with read_bookings alone got %v", change))
	}
	f.exec("UPDATE wp_latepoint_bookings SET status = 'approved' WHERE id = 2")
	list = f.wait("/changes?resources=bookings", list.Cursor, reader)
	c = list.Data[0]
	if c["origin"] != "found" || c["old_status"] != "cancelled" || c["new_status"] != "approved" || c["key_id"] != nil || c["record"] != nil {
		t.Errorf("change by plain SQL: %v", c)
	}
	f.exec("DELETE FROM wp_latepoint_bookings WHERE id = 2")
	list = f.wait("/changes?include=record", list.Cursor, reader)
	if c = list.Data[0]; c["kind"] != "deleted" || c["old_status"] != "approved" || c["new_status"] != nil || c["record"] != nil {
		t.Errorf("deletion by plain SQL: %v", c)
	}
}

// TestRecordsOfChanges: each record in a change is the same as in its list.
func TestRecordsOfChanges(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	key, _ := f.key("read_changes", "read")
	cursor := f.read("/changes", key).Cursor
	for resource, list := range map[string]string{
		"bookings": "bookings?per_page=100", "customers": "customers?per_page=100", "orders": "orders?per_page=100", "payments": "payments?per_page=100",
		"services": "services?per_page=100", "agents": "agents?per_page=100", "locations": "locations?per_page=100",
	} {
		_, text := f.status("/"+list, key)
		var listed struct {
			Data []map[string]any `json:"data"`
		}
		if err := json.Unmarshal([]byte(text), &listed); err != nil || len(listed.Data) == 0 {
			t.Fatalf("%s: %v %.200s", resource, err, text)
		}
		want := listed.Data[0]
		f.enter(resource, want["id"])
		got := f.wait("/changes?include=record&resources="+resource, cursor, key)
		cursor = got.Cursor
		expect.Equal(t, fmt.Sprint(want), fmt.Sprint(got.Data[0]["record"]), fmt.Sprintf("%s: record of the list and of the change", resource))
	}
}

// TestTooLargeRecords: a customer that others have made too large for a response blocks nobody. Clients
// that follow the changes get past it, and so do webhooks.
func TestTooLargeRecords(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	key, _ := f.key("read_changes", "read", "write_customers")
	begin := f.read("/changes", key).Cursor
	f.enlarge(5, 300)
	for _, id := range []int{4, 6, 5, 7, 8} {
		f.enter("customers", id)
	}
	whole := map[float64]bool{}
	for cursor := begin; len(whole) < 5; {
		list := f.wait("/changes?resources=customers&include=record", cursor, key)
		for _, c := range list.Data {
			_, hasRecord := c["record"].(map[string]any)
			whole[c["resource_id"].(float64)] = hasRecord
		}
		cursor = list.Cursor
	}
	expect.Equal(t, map[float64]bool{4: true, 5: false, 6: true, 7: true, 8: true}, whole, "changes that have a record")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := f.request(ctx, http.MethodGet, "/changes?resources=customers&include=record&limit=1&cursor="+begin, key, "", "Accept", "text/event-stream")
	defer stream.Body.Close()
	events := 0
	for lines := bufio.NewScanner(stream.Body); events < len(whole) && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			events++
		}
	}
	if events < len(whole) {
		t.Errorf("the stream ended after %d changes of %d", events, len(whole))
	}
	options := handlers.WebhookOptions(session.NewPlatform(apitest.OpenDatabase(t, f.database, 2, time.Minute), time.Now), f.store, false)
	if _, _, err := options.Record(t.Context(), 0, jobs.HookFilter{}, journal.Customers, 5); !errors.Is(err, jobs.ErrTooLarge) {
		t.Errorf("record for a webhook: %v", err)
	}
	if _, found, err := options.Record(t.Context(), 0, jobs.HookFilter{}, journal.Customers, 6); !found || err != nil {
		t.Errorf("record of another customer for a webhook: found %v, error %v", found, err)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		response := f.request(t.Context(), method, "/customers/5", key, `{"notes":"none"}`)
		text, err := io.ReadAll(response.Body)
		if _ = response.Body.Close(); err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "too large") {
			t.Errorf("%s: %d %s, %v", method, response.StatusCode, text, err)
		}
	}
}

// TestPermissionsOfChanges: the feed needs its own permission, and those to read the requested resources.
func TestPermissionsOfChanges(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	all, _ := f.key("read", "write", "delete")
	some, _ := f.key("read_changes", "read_orders")
	for _, test := range []struct {
		key, path string
		header    []string
		status    int
		names     string
	}{
		{all, "/changes", nil, http.StatusForbidden, "read_changes"},
		{all, "/changes", []string{"Accept", "text/event-stream"}, http.StatusForbidden, "read_changes"},
		{some, "/changes?resources=orders,invoices", nil, http.StatusOK, ""},
		{some, "/changes?resources=orders,bookings", nil, http.StatusForbidden, "read_bookings"},
		{some, "/changes?resources=spells", nil, http.StatusBadRequest, "resources"},
		{some, "/changes?wait=61", nil, http.StatusBadRequest, "wait"},
		{some, "/changes?cursor=x", nil, http.StatusBadRequest, "cursor"},
		{some, "/changes?cursor=k3q7m2xa-0", nil, http.StatusGone, "cursor_expired"},
		{some, "/changes?cursor=k3q7m2xa-", nil, http.StatusBadRequest, "cursor of an earlier response"},
		{some, "/changes?cursor=999999", nil, http.StatusGone, "cursor_expired"},
		{some, "/changes?cursor=999999", []string{"Accept", "text/event-stream"}, http.StatusGone, "cursor_expired"},
		{some, "/changes", []string{"Accept", "text/event-stream", "Last-Event-ID", "x"}, http.StatusBadRequest, "cursor"},
	} {
		status, body := f.status(test.path, test.key, test.header...)
		if status != test.status || !strings.Contains(body, test.names) {
			t.Errorf("%s %s: %d %s, want %d and %q", test.path, test.header, status, body, test.status, test.names)
		}
	}
}

// TestLimitedKeysFollowTheirChanges: a limited key gets the changes of what it sees, even while it waits,
// and so does its webhook.
func TestLimitedKeysFollowTheirChanges(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	all, _ := f.key("read", "write", "read_changes")
	limited, key := apitest.CreateKey(t, f.store, keys.NewKey{Permissions: []string{"read", "read_changes", "write_webhooks"}, Scope: domain.Scope{Agents: []int64{5}}})
	begin := f.read("/changes", all).Cursor
	f.exec("UPDATE wp_latepoint_services SET name = CONCAT(name, '!') WHERE id NOT IN (SELECT service_id FROM wp_latepoint_agents_services WHERE agent_id = 5)")
	f.exec("UPDATE wp_latepoint_agents SET last_name = CONCAT(last_name, '!') WHERE id IN (1, 2, 5)")
	for f.read("/changes?cursor="+begin+"&resources=agents", all).Cursor == begin || len(f.read("/changes?cursor="+begin+"&resources=agents", all).Data) < 3 {
		f.wait("/changes?resources=agents", begin, all)
	}
	got := f.wait("/changes?include=record", begin, limited)
	if len(got.Data) != 1 || got.Data[0]["resource"] != "agents" || got.Data[0]["resource_id"] != float64(5) || got.Data[0]["record"] == nil {
		t.Errorf("%v", got.Data)
	}
	options := handlers.WebhookOptions(session.NewPlatform(apitest.OpenDatabase(t, f.database, 2, time.Minute), time.Now), f.store, false)
	booking := func(agent int64) *journal.BookingFacts {
		return &journal.BookingFacts{Assignment: journal.Assignment{AgentID: agent, ServiceID: 4, LocationID: 1}}
	}
	var told []int64
	for _, entry := range journal.Visible([]journal.Entry{
		{Number: 1, Resource: journal.Agents, ID: 1}, {Number: 2, Resource: journal.Agents, ID: 5}, {Number: 3, Resource: journal.Bookings, ID: 9, Booking: booking(1)},
		{Number: 4, Resource: journal.Bookings, ID: 9_999_999, Kind: journal.Deleted, Booking: booking(5)}, {Number: 5, Resource: journal.Bookings, ID: 7}, {Number: 6, Resource: journal.Coupons, ID: 1},
		{Number: 7, Resource: journal.Customers, ID: 1, Kind: journal.Deleted}, {Number: 8, Resource: journal.Orders, ID: 1, Kind: journal.Deleted}, {Number: 9, Resource: journal.Payments, ID: 1, Kind: journal.Deleted},
		{Number: 10, Resource: journal.Agents, ID: 5, Kind: journal.Deleted}, {Number: 11, Resource: journal.Agents, ID: 2, Kind: journal.Deleted}, {Number: 12, Resource: journal.Invoices, ID: 1, Kind: journal.Deleted},
	}, key.Scope) {
		told = append(told, entry.Number)
	}
	expect.Equal(t, []int64{2, 4, 10}, told, "visible")
	for id, want := range map[int64]bool{1: false, 5: true} {
		if _, found, err := options.Record(t.Context(), key.ID, jobs.HookFilter{}, journal.Agents, id); err != nil || found != want {
			t.Errorf("agent %d: found %t, %v", id, found, err)
		}
	}
}

// TestBookingsThatLeave: a client that follows an agent's bookings is told that one went to another agent, however that was done,
// nothing about what happens to it there, and that one of them was deleted. TestMovedBookings has who moved it.
func TestBookingsThatLeave(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	all, _ := f.key("read", "write", "delete", "read_changes")
	const bookings, path = "/changes?resources=bookings", "/changes?include=record&resources=bookings"
	before, after, both := f.limitedKey(5), f.limitedKey(1), f.limitedKey(1, 5)
	send := func(method, path, body string) {
		t.Helper()
		response := f.request(t.Context(), method, path, all, body)
		text, _ := io.ReadAll(response.Body)
		if _ = response.Body.Close(); response.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
		}
	}
	f.database.Execute(t, "INSERT IGNORE INTO wp_latepoint_agents_services (agent_id, service_id, location_id) VALUES (1, 4, 1)", "DELETE FROM wp_latepoint_work_periods")
	send(http.MethodPost, "/bookings", apitest.Friday())
	var id int64
	f.database.Scan(t, "SELECT MAX(id) FROM wp_latepoint_bookings", &id)
	booking, assign := fmt.Sprintf("/bookings/%d", id), fmt.Sprintf("UPDATE wp_latepoint_bookings SET agent_id = %%d WHERE id = %d", id)
	cursor := f.wait(bookings, f.read("/changes", all).Cursor, all).Cursor
	for origin, move := range map[string]func(){
		"api":   func() { send(http.MethodPut, booking, `{"agent_id":1}`) },
		"found": func() { f.exec(fmt.Sprintf(assign, 1)) },
	} {
		move()
		old := f.wait(path, cursor, before).Data[0]
		if old["kind"] != "deleted" || old["left"] != true || old["origin"] != origin || old["old_status"] == nil || old["new_status"] != nil || old["record"] != nil {
			t.Errorf("%s: the old side got %v", origin, old)
		}
		for _, key := range []string{after, both, all} {
			if got := f.wait(path, cursor, key).Data[0]; got["kind"] != "updated" || got["left"] != nil || got["record"] == nil {
				t.Errorf("%s: the new side got %v", origin, got)
			}
		}
		cursor = f.wait(bookings, cursor, all).Cursor
		f.exec(fmt.Sprintf(assign, 5))
		cursor = f.wait(bookings, cursor, all).Cursor
	}
	f.exec(fmt.Sprintf(assign, 1))
	cursor = f.wait(bookings, cursor, all).Cursor
	send(http.MethodDelete, booking+"?force=true", "")
	if got := f.wait(bookings, cursor, after).Data[0]; got["kind"] != "deleted" || got["left"] != nil {
		t.Errorf("the new side got %v", got)
	}
	expect.Equal(t, 0, len(f.read(bookings+"&cursor="+cursor, before).Data), "changes of the old side")
}

// TestWaitingForFewOfManyChanges: a limited key that waits behind many changes of others is told how far it
// has read, and gets there.
func TestWaitingForFewOfManyChanges(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	limited := f.limitedKey(5)
	first := f.read("/changes", limited).Cursor
	const hidden = 5000
	tx := apitest.Begin(t, f.database,
		fmt.Sprintf("UPDATE wp_bookside_change_positions SET position = position + %d WHERE name = 'journal'", hidden),
		"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin, agent_id, service_id, location_id) "+
			"SELECT p.position + 1 - n.n, 'bookings', 9, 'updated', UTC_TIMESTAMP(), 'site', IF(n.n = 1, 5, 1), 4, 1 FROM wp_bookside_change_positions p, "+
			fmt.Sprintf("(SELECT ROW_NUMBER() OVER () n FROM (SELECT 1 FROM wp_latepoint_bookings a, wp_latepoint_bookings b, wp_latepoint_bookings c LIMIT %d) many) n WHERE p.name = 'journal'", hidden))
	expect.NoError(t, tx.Commit())
	list, empty := f.read("/changes?wait=30&cursor="+first, limited), 0
	for len(list.Data) == 0 {
		if !list.HasMore {
			t.Fatalf("the end was reached without the change: %+v", list)
		}
		empty++
		list = f.read("/changes?wait=30&cursor="+list.Cursor, limited)
	}
	if empty != 1 || len(list.Data) != 1 {
		t.Errorf("%d empty pages before %v", empty, list.Data)
	}
}

// TestRevokedKeyWhileWaiting: a key that is revoked while its request waits gets nothing.
func TestRevokedKeyWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json", "text/event-stream"} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			f := newFeed(t)
			key, id := f.key("read_changes", "read")
			cursor := f.read("/changes", key).Cursor
			f.exec("UPDATE wp_bookside_api_keys SET last_used_at = NULL")
			type answer struct {
				status int
				body   string
			}
			answered := make(chan answer)
			go func() {
				status, body := f.status("/changes?wait=60&cursor="+cursor, key, "Accept", accept)
				answered <- answer{status, body}
			}()
			for waiting := 0; waiting == 0; { // until the request waits
				waiting = f.running()
			}
			f.exec(fmt.Sprintf("UPDATE wp_bookside_api_keys SET status = 'revoked' WHERE id = %d", id))
			f.exec("UPDATE wp_latepoint_customers SET notes = CONCAT(COALESCE(notes, ''), '.') WHERE id = 1")
			got := <-answered
			if accept == "application/json" && got.status != http.StatusUnauthorized || strings.Contains(got.body, `"number"`) {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

// running returns how many keys were used recently, that is, how many requests were admitted.
func (f *feed) running() (n int) {
	f.t.Helper()
	f.database.Scan(f.t, "SELECT COUNT(*) FROM wp_bookside_api_keys WHERE last_used_at IS NOT NULL", &n)
	return n
}

// TestEventStream: changes arrive as events, and the id of the last one continues the
// stream.
func TestEventStream(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	key, _ := f.key("read_changes", "read")
	start := f.read("/changes", key).Cursor
	// events returns the first n events and their ids, and the id that the stream began with.
	events := func(lastID string, n int) (begin string, ids []string, data []map[string]any) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		response := f.request(ctx, http.MethodGet, "/changes", key, "", "Accept", "text/event-stream", "Last-Event-ID", lastID)
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %v", response.StatusCode, response.Header)
		}
		lines := bufio.NewScanner(response.Body)
		last := ""
		for (begin == "" || len(data) < n) && lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				last = value
				if begin == "" {
					begin = value
				}
			case "data":
				ids = append(ids, last)
				var change map[string]any
				expect.NoError(t, json.Unmarshal([]byte(value), &change))
				data = append(data, change)
			}
		}
		return begin, ids, data
	}
	// A client that leaves before the first event does not miss later ones when it returns.
	if begin, _, _ := events("", 0); begin != start {
		t.Errorf("the stream began with the id %q, want %q", begin, start)
	}
	f.exec("UPDATE wp_latepoint_customers SET notes = 'one' WHERE id = 1")
	_, ids, data := events(start, 1)
	if data[0]["resource"] != "customers" || !strings.HasSuffix(ids[0], "-"+fmt.Sprint(data[0]["number"])) {
		t.Errorf("%v %v", ids, data)
	}
	f.exec("UPDATE wp_latepoint_customers SET notes = 'two' WHERE id IN (2, 3, 4)")
	_, ids, data = events(ids[0], 3)
	var changed []float64
	for _, d := range data {
		changed = append(changed, d["resource_id"].(float64))
	}
	slices.Sort(changed)
	if !slices.Equal(changed, []float64{2, 3, 4}) || len(ids) != 3 {
		t.Errorf("%v %v", ids, data)
	}
}

// waitersFull waits until no more requests may wait for changes.
func (f *feed) waitersFull(cursor, key string) {
	f.t.Helper()
	for body := ""; !strings.Contains(body, "Too many requests wait for changes"); {
		_, body = f.status("/changes?wait=1&cursor="+cursor, key)
		time.Sleep(5 * time.Millisecond) // lets the requests that should wait run
	}
}

// TestManyWaiters: one change answers all waiting requests, even if they are far more than may be processed
// at the same time.
func TestManyWaiters(t *testing.T) {
	t.Parallel()
	const many = 50
	f := newFeed(t, func(o *handlers.Options) { o.MaxWaiting, o.MaxConcurrent = 2*many, 2 })
	key, _ := f.key("read_changes", "read")
	cursor := f.read("/changes", key).Cursor
	var changed atomic.Bool
	answers := make(chan string, many)
	for range many {
		go func() {
			for {
				status, body := f.status("/changes?resources=customers&wait=60&cursor="+cursor, key)
				if status != http.StatusServiceUnavailable || changed.Load() {
					answers <- fmt.Sprint(status, " ", body)
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	f.waitersFull(cursor, key)
	changed.Store(true)
	f.exec("UPDATE wp_latepoint_customers SET notes = 'one' WHERE id = 1")
	for range many {
		if answer := <-answers; !strings.HasPrefix(answer, "200 ") || !strings.Contains(answer, `"resource_id":1,`) {
			t.Errorf("%s", answer)
		}
	}
}

// TestWaitingIsShared: a key has at most half of the places for requests that wait.
func TestWaitingIsShared(t *testing.T) {
	t.Parallel()
	f := newFeed(t, func(o *handlers.Options) { o.MaxWaiting = 6 })
	greedy, _ := f.key("read_changes", "read")
	other, _ := f.key("read_changes", "read")
	cursor := f.read("/changes", greedy).Cursor
	ended := make(chan struct{}, 3)
	for range cap(ended) {
		go func() {
			for { // the request that checks whether all wait can come first
				if status, _ := f.status("/changes?wait=60&cursor="+cursor, greedy); status != http.StatusServiceUnavailable {
					ended <- struct{}{}
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	f.waitersFull(cursor, greedy)
	for range 3 {
		if status, body := f.status("/changes?wait=1&cursor="+cursor, other); status != http.StatusOK {
			t.Errorf("another key: %d %s", status, body)
		}
	}
	f.exec("UPDATE wp_latepoint_customers SET notes = 'one' WHERE id = 1")
	for range cap(ended) {
		<-ended
	}
	if status, body := f.status("/changes?wait=1&cursor="+f.read("/changes", greedy).Cursor, greedy); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, body)
	}
}

// TestWaitingEnds: a waiting request ends with an empty list when the server stops, and with 503 if too
// many wait. It is held longer than other requests may take.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	f := newFeed(t, func(o *handlers.Options) { o.MaxWaiting, o.RequestTimeout, o.MaxConcurrent = 1, 2*time.Second, 3 })
	key, _ := f.key("read_changes", "read")
	cursor := f.read("/changes", key).Cursor
	if list := f.read("/changes?wait=3&cursor="+cursor, key); len(list.Data) != 0 || list.Cursor != cursor {
		t.Errorf("after the time: %+v", list)
	}
	waited := make(chan string)
	go func() {
		for { // the request that checks whether all may wait can come first
			if status, body := f.status("/changes?wait=60&cursor="+cursor, key); status != http.StatusServiceUnavailable {
				waited <- body
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	f.waitersFull(cursor, key)
	if status, body := f.status("/bookings", key); status != http.StatusOK {
		t.Errorf("beside a waiting request: %d %s", status, body)
	}
	f.stop()
	apitest.WantContains(t, `"data":[]`, <-waited, "when the server stops")
}

// TestWaitForWhatIsThere: a request that may wait, but finds a change at once, has one time limit for
// finding and reading it.
func TestWaitForWhatIsThere(t *testing.T) {
	fixtures.RequireTime(t)
	f := newFeed(t)
	key, _ := f.key("read_changes", "read")
	cursor := f.read("/changes", key).Cursor
	f.exec("UPDATE wp_latepoint_customers SET first_name = 'Another'")
	f.wait("/changes?limit=1", cursor, key)
	direct := *f.database
	dsn, proxy := fixtures.NewFaultProxy(t, f.database.DSN)
	direct.DSN = dsn
	s := apitest.NewServerOver(t, &direct, 4, time.Second, func(o *handlers.Options) { o.RequestTimeout = apitest.HangingLimit })
	send := func() apitest.Answer {
		return s.Do(http.MethodGet, "/v1/changes?wait=30&cursor="+cursor, http.Header{"X-Api-Key": {key}})
	}
	send().Want(http.StatusOK)
	proxy.Set(fixtures.Weather{Delay: apitest.HangingLimit / 20}) // many times until the change is found
	time.AfterFunc(apitest.HangingLimit*8/10, func() { proxy.Set(fixtures.Weather{Silent: true}) })
	began := time.Now()
	a := send().Want(http.StatusServiceUnavailable)
	if took := time.Since(began); took > apitest.HangingLimit+apitest.BeyondLimit {
		t.Errorf("after %v: %s", took, a.Body)
	}
}
