package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/console"
)

// TestRequestsAreShown: the list finds requests by key, status, route and record, and a request leads to what was
// refused and what it changed.
func TestRequestsAreShown(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	k.visitor().open("/console/requests").leadsTo("/console/login")
	v := k.login()
	v.open("/console/requests").says(http.StatusOK, "There are no such requests.")
	till, _, err := k.keys.Create(t.Context(), keys.NewKey{Name: "till <i>", Kind: keys.Live, Permissions: []string{"read_bookings"}})
	if err != nil {
		t.Fatal(err)
	}
	key := http.Header{"X-Api-Key": {k.key}}
	k.get("/v1/bookings?page=x&search=rita.neu@example.test&whom=1", key)
	k.get("/v1/bookings/7", http.Header{"X-Api-Key": {till}, "X-Request-Id": {"till-1"}})
	k.get("/v1/services", http.Header{"X-Api-Key": {till}})
	for range 3 {
		k.get("/v1/bookings", http.Header{"X-Api-Key": {"guess"}})
	}
	k.kept.Flush(t.Context())
	all := v.open("/console/requests").says(http.StatusOK, "GET /bookings/7", "till <i>", "invalid_parameters", "insufficient_permissions", "3 requests without a valid key")
	if strings.Contains(string(all.body), "<i>") || strings.Contains(all.text, "rita") {
		t.Errorf("%s", all.body)
	}
	v.open("/console/requests/1").says(http.StatusOK, "GET /bookings", "page=x&search=***&whom=***", "Must be an integer", "whom", "TestRequestsAreShown")
	v.open("/console/requests/2").says(http.StatusOK, "till-1", "All requests about bookings/7")
	v.open("/console/requests/4").says(http.StatusOK, "This is the first of the requests without a valid key")
	v.open("/console/requests/99").says(http.StatusNotFound, "There is no such request")
	v.open("/console/requests/x").want(http.StatusNotFound)
	for query, found := range map[string]int{"key=2": 2, "status=4&key=1": 1, "status=403": 1, "route=GET+%2Fbookings": 2, "record=bookings%2F7": 1, "record=bookings+8": 0, "request=till-1": 1, "before=2": 1, "key=x": 4} {
		if got := strings.Count(string(v.open("/console/requests?"+query).says(http.StatusOK).body), `href="/console/requests/`); got != found {
			t.Errorf("%s: %d requests, want %d", query, got, found)
		}
	}
	v.open("/console/requests?record=seventeen").says(http.StatusUnprocessableEntity, "Write a record as bookings/17.", `value="seventeen"`)
	v.open("/console/keys").says(http.StatusOK, `href="/console/requests?key=2"`)

	database.Execute(t, "REPLACE INTO wp_bookside_change_positions (name, position) VALUES ('journal', 1)",
		"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, origin, actor_id, at, request_id) VALUES (1, 'bookings', 9, 'updated', 'api', 2, '"+now.UTC().Format("2006-01-02 15:04:05")+"', 'move-1')",
		"INSERT INTO wp_bookside_requests SELECT 50, at, 'move-1', 2, 0, 0, 'POST', '/bookings/:id/cancel', 8, '', 200, '', 100, 1, '', '', '', 0, '{\"reason\":\"***\"}' FROM wp_bookside_requests WHERE id = 2")
	v.open("/console/requests?record=bookings/9").says(http.StatusOK, "POST /bookings/8/cancel")
	v.open("/console/requests/50").says(http.StatusOK, "What it changed", "bookings/9", `{"reason":"***"}`)
	v.open("/console/journal").says(http.StatusOK, "till <i>", `href="/console/requests?request=move-1"`)
	v.open("/console/requests?request=move-1").says(http.StatusOK, "POST /bookings/8/cancel")
}

// TestRequestsAreOff: the page says so, and works without the table.
func TestRequestsAreOff(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	v := serveSite(t, database, func(s *console.Site) { s.Requests = nil }).login()
	v.open("/console/requests").says(http.StatusOK, "This server keeps no requests", "requests.keep")
	database.Execute(t, "DROP TABLE wp_bookside_requests")
	v.open("/console/requests").says(http.StatusOK, "There are no such requests.")
	v.open("/console/requests/1").want(http.StatusNotFound)
}
