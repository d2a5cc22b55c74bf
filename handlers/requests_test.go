package handlers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// keptServer is a server that keeps its requests for the console.
type keptServer struct {
	*apitest.Server
	kept *keys.RequestLog
}

func newKeptServer(t *testing.T, database *fixtures.Database, keep int) keptServer {
	t.Helper()
	s := apitest.NewServer(t, database)
	k := keptServer{s, keys.NewRequestLog(s.Platform.DB, func() time.Time { return s.Clock }, slog.New(slog.NewTextHandler(s.Log, nil)), keep)}
	options := apitest.DefaultOptions()
	options.Requests, options.QueryParameter = k.kept, "api_key"
	s.Handler = handlers.New(s.Platform, s.Keys, func() time.Time { return s.Clock }, slog.New(slog.NewJSONHandler(s.Log, nil)), options)
	return k
}

// list returns the entries that match a filter, the newest first.
func (k keptServer) list(f keys.RequestFilter) []keys.LogEntry {
	k.T.Helper()
	k.kept.Flush(k.T.Context())
	entries, err := keys.ListRequests(k.T.Context(), k.Platform.DB, f, 1000)
	expect.NoError(k.T, err)
	return entries
}

// TestRequestsAreKept: each request of a key becomes an entry that says what was asked and how it ended.
func TestRequestsAreKept(t *testing.T) {
	t.Parallel()
	k := newKeptServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), 1000)
	key := http.Header{"X-Api-Key": {k.Key}}
	limited := http.Header{"X-Api-Key": {k.NewKey("read_services")}, "X-Request-Id": {"forbidden-1"}}
	booking := k.Texts("SELECT MAX(id) FROM wp_latepoint_bookings WHERE status = 'approved'")[0]
	bookingID, _ := strconv.ParseInt(booking, 10, 64)
	for _, r := range []struct {
		method, path string
		header       http.Header
		body         string
		want         int
		entry        keys.LogEntry
	}{
		{"GET", "/v1/bookings?page=1&search=rita.neu%40example.test&whom=Rita", key, "", 200, keys.LogEntry{KeyID: 1, Method: "GET", Route: "/bookings", Status: 200}},
		{"GET", "/v1/bookings?page=x&date_from=rita%40example.test", key, "", 400,
			keys.LogEntry{KeyID: 1, Method: "GET", Route: "/bookings", Status: 400, Code: "invalid_parameters", Fields: []string{"date_from", "page"}}},
		{"GET", "/v1/bookings/12345", key, "", 404, keys.LogEntry{KeyID: 1, Method: "GET", Route: "/bookings/:id", RecordID: 12345, Status: 404, Code: "booking_not_found"}},
		{"GET", "/v1/bookings/-5", key, "", 404, keys.LogEntry{KeyID: 1, Method: "GET", Route: "/bookings/:id", Status: 404, Code: "rest_no_route"}},
		{"GET", "/v1/customers", limited, "", 403, keys.LogEntry{KeyID: 2, RequestID: "forbidden-1", Method: "GET", Route: "/customers", Status: 403, Code: "insufficient_permissions"}},
		{"GET", "/v1/bookings/493023125016", key, "", 404, keys.LogEntry{KeyID: 1, Method: "GET", Route: "/bookings/:id", Status: 404, Code: "booking_not_found"}},
		{"PUT", "/v1/bookings/" + booking, key, `{"status":"Theo Winter +49 30 1234567"}`, 422,
			keys.LogEntry{KeyID: 1, Method: "PUT", Route: "/bookings/:id", RecordID: bookingID, Status: 422, Code: "validation_failed", Fields: []string{"status"}}},
	} {
		if got := k.Send(r.method, r.path, r.header, r.body); got.Status != r.want {
			t.Fatalf("%s %s: %d %s", r.method, r.path, got.Status, got.Body)
		}
		got := k.list(keys.RequestFilter{})[0]
		if r.entry.Status < 400 && (got.Statements < 1 || !got.At.Equal(k.Clock) || got.RequestID == "") {
			t.Errorf("%+v", got)
		}
		ignore := cmpopts.IgnoreFields(keys.LogEntry{}, "ID", "At", "Took", "Statements", "RequestID")
		if diff := cmp.Diff(r.entry, got, ignore); diff != "" {
			t.Errorf("%s %s: %s", r.method, r.path, diff)
		}
	}
	for name, f := range map[string]struct {
		filter keys.RequestFilter
		want   int
	}{
		"key":           {keys.RequestFilter{KeyID: 2}, 1},
		"client errors": {keys.RequestFilter{Status: 4}, 6},
		"route":         {keys.RequestFilter{Route: "GET /bookings"}, 2},
		"record":        {keys.RequestFilter{Resource: "bookings", RecordID: 12345}, 1},
		"request":       {keys.RequestFilter{RequestID: "forbidden-1"}, 1},
		"before":        {keys.RequestFilter{Before: 2}, 1},
	} {
		expect.Equal(t, f.want, len(k.list(f.filter)), fmt.Sprintf("%s: entries", name))
	}
	routes, err := keys.RequestRoutes(t.Context(), k.Platform.DB)
	if want := []string{"GET /bookings", "GET /bookings/:id", "GET /customers", "PUT /bookings/:id"}; err != nil || !slices.Equal(routes, want) {
		t.Errorf("%v, %v", routes, err)
	}
	since := k.Clock.Truncate(time.Hour)
	if hours, err := keys.RequestHours(t.Context(), k.Platform.DB, since); err != nil || hours[since] != (keys.Hour{Done: 1, Refused: 6}) {
		t.Errorf("%v, %v", hours, err)
	}
	if counts, err := keys.RequestCounts(t.Context(), k.Platform.DB, since); err != nil || counts[1] != 6 || counts[2] != 1 {
		t.Errorf("%v, %v", counts, err)
	}
}

// TestWritesLeadToTheirChanges: the journal names the request that made a change, so that a request leads to
// its changes, and a record to the requests that touched it.
func TestWritesLeadToTheirChanges(t *testing.T) {
	t.Parallel()
	k := newKeptServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), 1000)
	keepJournal(t, k.Server)
	header := http.Header{"X-Api-Key": {k.Key}, "X-Request-Id": {"change-1"}, "Content-Type": {apitest.JSONType}}
	booking := k.Texts("SELECT MAX(id) FROM wp_latepoint_bookings WHERE status <> 'cancelled'")[0]
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "/v1/bookings/" + booking, `{"status":"cancelled"}`},
		{"GET", "/v1/bookings", ""},
		{"POST", "/v1/customers", `{"first_name":"Rita","last_name":"Neumann","email":"rita.neu@example.test"}`},
	} {
		if got := k.Send(r.method, r.path, header, r.body); got.Status >= 300 {
			t.Fatalf("%s %s: %d %s", r.method, r.path, got.Status, got.Body)
		}
	}
	for route, resource := range map[string]journal.Resource{"PUT /bookings/:id": journal.Bookings, "POST /customers": journal.Customers} {
		entry := k.list(keys.RequestFilter{Route: route})[0]
		changes := k.changesOf(entry, resource)
		change := changes[0]
		if len(changes) != 1 || change.RequestID != "change-1" || change.Number == 0 || change.ActorID != entry.KeyID {
			t.Fatalf("%s: %+v", route, changes)
		}
		touched := k.list(keys.RequestFilter{Resource: string(resource), RecordID: change.ID})
		if !slices.ContainsFunc(touched, func(e keys.LogEntry) bool { return e.ID == entry.ID }) || slices.ContainsFunc(touched, func(e keys.LogEntry) bool { return e.Method == http.MethodGet }) {
			t.Errorf("%s: %+v", route, touched)
		}
	}
}

// changesOf waits for the changes of a resource that a request made.
func (k keptServer) changesOf(e keys.LogEntry, resource journal.Resource) []journal.Entry {
	k.T.Helper()
	for range 3000 {
		changes, err := k.Platform.Journal.OfRequest(k.T.Context(), e.RequestID, 100)
		expect.NoError(k.T, err)
		if changes = slices.DeleteFunc(changes, func(c journal.Entry) bool { return c.Resource != resource }); len(changes) > 0 {
			return changes
		}
		time.Sleep(10 * time.Millisecond)
	}
	k.T.Fatal("the changes did not appear")
	return nil
}

// TestRequestsWithoutKeyAreCounted: however many there are, the list has one entry a minute and status for them, and few in
// all, so that they cannot push out others.
func TestRequestsWithoutKeyAreCounted(t *testing.T) {
	t.Parallel()
	k := newKeptServer(t, fixtures.New(t, fixtures.Small(apitest.Now)), 20)
	k.Send("GET", "/v1/bookings", http.Header{"X-Api-Key": {k.Key}}, "")
	for range 5 {
		k.Clock = k.Clock.Add(time.Minute)
		for range 8 {
			k.Send("GET", "/v1/bookings/7?api_key=guess&search=rita.neu@example.test", nil, "")
			k.Send("GET", "/v1/rita.neu@example.test", nil, "")
			k.Send("GET", "/openapi.json", nil, "")
		}
		k.list(keys.RequestFilter{})
	}
	refused := k.list(keys.RequestFilter{Status: 401})
	if len(refused) > 4 || refused[0].Refused != 8 || refused[0].Route != "/bookings/:id" || refused[0].KeyID != 0 {
		t.Errorf("%+v", refused)
	}
	if all := k.list(keys.RequestFilter{}); len(all) > 6 {
		t.Errorf("%+v", all)
	}
}

// TestRequestsToNoRoute: with a valid key, they are requests of that key, beside those that had none.
func TestRequestsToNoRoute(t *testing.T) {
	t.Parallel()
	k := newKeptServer(t, fixtures.New(t, fixtures.Small(apitest.Now)), 20)
	k.Send("GET", "/v1/no-such-route?search=rita&page=2", http.Header{"X-Api-Key": {k.Key}}, "")
	for range 3 {
		k.Send("GET", "/v1/no-such-route", http.Header{"X-Api-Key": {"guess"}}, "")
		k.Send("GET", "/v1/bookings", http.Header{"X-Api-Key": {"guess"}}, "")
	}
	for status, want := range map[int][]keys.LogEntry{
		404: {{Status: 404, Code: "rest_no_route", Refused: 3}, {KeyID: 1, Status: 404, Code: "rest_no_route"}},
		401: {{Status: 401, Code: "rest_forbidden", Refused: 3}},
	} {
		ignore := cmpopts.IgnoreFields(keys.LogEntry{}, "ID", "At", "Took", "Statements", "RequestID", "Method", "Route")
		if diff := cmp.Diff(want, k.list(keys.RequestFilter{Status: status}), ignore); diff != "" {
			t.Errorf("%d: %s", status, diff)
		}
	}
}

// TestKeptRequestsAreBounded: in number, in bytes, and in age; two servers share the table.
func TestKeptRequestsAreBounded(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	k := newKeptServer(t, database, 100)
	other := newKeptServer(t, database, 100)
	other.Key = k.Key
	key := http.Header{"X-Api-Key": {k.Key}}
	exchange(k.Server, http.MethodGet, "/v1/bookings?api_key="+k.Key+"&search="+strings.Repeat("a", 60_000), "", "X-Api-Key", "").Want(http.StatusRequestURITooLong)
	if refused := k.list(keys.RequestFilter{Status: http.StatusRequestURITooLong}); len(refused) != 1 || refused[0].KeyID != 1 {
		t.Errorf("entries %+v", refused)
	}
	for range 15 {
		for range 10 {
			k.Send("GET", "/v1/status", key, "")
			other.Send("GET", "/v1/services", key, "")
		}
		k.list(keys.RequestFilter{})
		other.list(keys.RequestFilter{})
	}
	all := k.list(keys.RequestFilter{})
	if len(all) < 100 || len(all) > 120 || len(k.list(keys.RequestFilter{Route: "GET /status"})) < 45 || len(k.list(keys.RequestFilter{Route: "GET /services"})) < 45 {
		t.Errorf("%d entries", len(all))
	}
	sweeper := jobs.NewSweeper(k.Platform.DB, func() time.Time { return k.Clock }, slog.New(slog.DiscardHandler))
	k.Clock = k.Clock.Add(7*24*time.Hour + time.Minute)
	k.Send("GET", "/v1/status", key, "")
	k.list(keys.RequestFilter{})
	if _, err := sweeper.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, 1, len(k.list(keys.RequestFilter{})), "entries left")
}

// TestRequestsGoOnWithoutTheTable: requests neither wait nor fail if their entries cannot be written; those that
// fit into memory are written later, and the others are counted.
func TestRequestsGoOnWithoutTheTable(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	k := newKeptServer(t, database, 10_000)
	key := http.Header{"X-Api-Key": {k.Key}}
	database.Execute(t, "RENAME TABLE wp_bookside_requests TO wp_moved")
	const kept, more = 4000, 300
	for i := range kept + more {
		if got := k.Send("GET", "/v1/status", key, ""); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		if i%1000 == 0 {
			k.kept.Flush(t.Context())
		}
	}
	database.Execute(t, "RENAME TABLE wp_moved TO wp_bookside_requests")
	k.kept.Flush(t.Context())
	var written int64
	if err := database.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_bookside_requests").Scan(&written); err != nil || written != kept || k.kept.Dropped() != more {
		t.Errorf("%d written, %d dropped, %v", written, k.kept.Dropped(), err)
	}
	expect.Equal(t, 1, strings.Count(k.Log.String(), "requests cannot be written"), "warnings")
}

// TestRequestsAreWrittenAtTheEnd: a server that stops writes what waits.
func TestRequestsAreWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	k := newKeptServer(t, fixtures.New(t, fixtures.Small(apitest.Now)), 100)
	k.Send("GET", "/v1/status", http.Header{"X-Api-Key": {k.Key}}, "")
	k.Send("GET", "/v1/status", nil, "")
	ended, end := context.WithCancel(t.Context())
	end()
	k.kept.Run(ended)
	if written := k.Texts("SELECT route FROM wp_bookside_requests"); len(written) != 2 {
		t.Errorf("%q", written)
	}
}
