package console_test

import (
	"encoding/json"
	"net/http"
	"slices"
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
	v.open("/console/requests").says(http.StatusOK, "There are no requests yet. Every app")
	till, _, err := k.keys.Create(t.Context(), keys.NewKey{Name: "till <i>", Kind: keys.Live, Permissions: []string{"read_bookings"}})
	if err != nil {
		t.Fatal(err)
	}
	key := http.Header{"X-Api-Key": {k.key}}
	k.get("/v1/bookings?page=x&search=rita.neu@example.test&whom=1&agnet_id=2", key)
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
	v.open("/console/requests/1").says(http.StatusOK, "GET /bookings", "page=***&search=***&***=***&agnet_id=***", "Must be an integer.", "agnet_id", "TestRequestsAreShown")
	v.open("/console/requests/2").says(http.StatusOK, "till-1", "All requests about bookings/7")
	v.open("/console/requests/4").says(http.StatusOK, "This is the first of the requests without a valid key")
	v.open("/console/requests/99").says(http.StatusNotFound, "There is no such request")
	v.open("/console/requests/x").want(http.StatusNotFound)
	for query, found := range map[string]int{"key=2": 2, "status=4&key=1": 1, "status=403": 1, "route=GET+%2Fbookings": 2, "record=bookings%2F7": 1, "record=bookings+8": 0, "request=till-1": 1, "before=2": 1, "key=x": 4, "route=GET+%C3%BC": 0, "request=%C3%BC": 0} {
		if got := strings.Count(string(v.open("/console/requests?"+query).says(http.StatusOK).body), `href="/console/requests/`); got != found {
			t.Errorf("%s: %d requests, want %d", query, got, found)
		}
	}
	v.open("/console/requests?record=seventeen").says(http.StatusUnprocessableEntity, "Write a record as bookings/17.", `value="seventeen"`)
	v.open("/console/keys").says(http.StatusOK, `href="/console/requests?key=2"`)

	database.Execute(t, "REPLACE INTO wp_bookside_change_positions (name, position) VALUES ('journal', 1)",
		"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, origin, actor_id, at, request_id) VALUES (1, 'bookings', 9, 'updated', 'api', 2, '"+now.UTC().Format("2006-01-02 15:04:05")+"', 'move-1')",
		"INSERT INTO wp_bookside_requests SELECT 50, at, 'move-1', 2, 0, 0, 'POST', '/bookings/:id/cancel', 8, '', 200, '', 100, 1, '', '', '', 0, '{\"reason\":\"***\"}', 0 FROM wp_bookside_requests WHERE id = 2")
	v.open("/console/requests?record=bookings/9").says(http.StatusOK, "POST /bookings/8/cancel")
	v.open("/console/requests/50").says(http.StatusOK, "What it changed", "Booking 9 updated", `{"reason":"***"}`)
	v.open("/console/journal").says(http.StatusOK, "till <i>", `href="/console/requests?request=move-1"`)
	v.open("/console/requests?request=move-1").says(http.StatusOK, "POST /bookings/8/cancel")
	wantRequestsInWordPress(k, database)
}

// wantRequestsInWordPress: WordPress gets the requests since midnight on the site.
func wantRequestsInWordPress(k *consoleServer, database *fixtures.Database) {
	k.t.Helper()
	for id, arrived := range map[string]string{"60": "22:59:59', 7", "61": "23:00:00', 7", "62": "23:00:01', 0"} {
		database.Execute(k.t, "INSERT INTO wp_bookside_requests (id, at, user_id, request_id, key_id, from_console, method, route, record_id, tool, status, code, took_us, statements, query, fields, ignored, refused) "+
			"VALUES ("+id+", '2026-11-20 "+arrived+", 'x', 0, 0, 'GET', '/agents', 0, '', 200, '', 100, 1, '', '', '', 0)")
	}
	database.Execute(k.t, "UPDATE wp_bookside_requests SET dry_run = 1 WHERE id = 50")
	c := k.fromWordPress(database)
	var listed struct {
		Requests []struct{ ID int64 }
		Keys     map[string]string
		Statuses []string
		More     bool
	}
	body := c.ask(http.MethodGet, "/wordpress/requests", nil).contains(http.StatusOK,
		`"request_id":"till-1","caller":"key","key_id":2,"key":"till \u003ci\u003e","user_id":0,"method":"GET","path":"/bookings/7","route":"/bookings/:id"`, `"status":403,"code":"insufficient_permissions"`,
		`"caller":"none"`, `"refused":3`, `"caller":"user","key_id":0,"key":"","user_id":7`, `"caller":"visitor"`, `"off":false,"dropped":0`).body
	if err := json.Unmarshal(body, &listed); err != nil {
		k.t.Fatal(err)
	}
	if got := strings.Count(string(body), `"dry_run":true`); got != 1 {
		k.t.Errorf("%d dry runs in %s", got, body)
	}
	var ids []int64
	for _, r := range listed.Requests {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, []int64{62, 61, 50, 4, 3, 2, 1}) || listed.Keys["2"] != "till <i>" || listed.Statuses[0] != "2" || listed.More || strings.Contains(string(body), "rita") {
		k.t.Errorf("%s", body)
	}
	for query, found := range map[string]int{"?key=2": 3, "?status=4&key=1": 1, "?status=403": 1, "?before=3": 2, "?record=x": 0} {
		if got := strings.Count(string(c.ask(http.MethodGet, "/wordpress/requests"+query, nil).contains(http.StatusOK).body), `"id":`); got != found {
			k.t.Errorf("%s: %d requests, want %d", query, got, found)
		}
	}
	c.ask(http.MethodGet, "/wordpress/requests/1", nil).contains(http.StatusOK, `"query":"page=***\u0026search=***\u0026***=***\u0026agnet_id=***","body":"","fields":{"page":"Must be an integer`, `"ignored":["agnet_id","***"]`)
	c.ask(http.MethodGet, "/wordpress/requests/99", nil).contains(http.StatusNotFound, "There is no such request")
	database.Execute(k.t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	// Without the zone of the site, the day begins in UTC.
	if got := string(c.ask(http.MethodGet, "/wordpress/requests", nil).contains(http.StatusOK, `"id":50,`).body); strings.Contains(got, `"id":62,`) {
		k.t.Errorf("%s", got)
	}
}

// TestRequestsAreOff: the page says so, and works without the table.
func TestRequestsAreOff(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serveSite(t, database, func(s *console.Site) { s.Requests = nil })
	v := k.login()
	v.open("/console/requests").says(http.StatusOK, "This server keeps no requests", "requests.keep")
	database.Execute(t, "DROP TABLE wp_bookside_requests")
	v.open("/console/requests").says(http.StatusOK, "There are no such requests.")
	v.open("/console/requests/1").want(http.StatusNotFound)
	k.fromWordPress(database).ask(http.MethodGet, "/wordpress/requests", nil).contains(http.StatusOK, `{"requests":[],"keys":null,`, `"more":false,"off":true`)
}
