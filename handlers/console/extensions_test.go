package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestFailedEventsAreToldAgain: the page and WordPress show the events sent to extensions, and can send
// them again, also while LatePoint is inactive.
func TestFailedEventsAreToldAgain(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	k.visitor().open("/console/extensions").leadsTo("/console/login")
	v := k.login()
	v.open("/console/extensions").says(http.StatusOK, "There are no such events.")
	const columns = "INSERT INTO wp_bookside_events (id, event, record_id, status, tries, failure, due_at, created_at, finished_at) VALUES "
	database.Execute(t, columns+"(1, 'booking_created', 12, 'failed', 1, 'no <b>answer', '2026-11-20', '2026-11-20', '2026-11-20')",
		columns+"(2, 'transaction_created', 13, 'failed', 1, '', '2026-11-20', '2026-11-20', '2026-11-20')", columns+"(3, 'order_created', 14, 'done', 1, '', '2026-11-20', '2026-11-20', '2026-11-20')",
		columns+"(4, 'order_updated', 15, 'failed', 3, '', '2026-11-20', '2026-11-20', '2026-11-20')")
	shown := v.open("/console/extensions").says(http.StatusOK, "booking_created", "transaction_created", "order_created")
	if strings.Contains(string(shown.body), "<b>") || strings.Count(string(shown.body), "Send again") != 2 {
		t.Errorf("%s", shown.body)
	}
	if done := v.open("/console/extensions?state=done").says(http.StatusOK, "order_created"); strings.Contains(done.text, "booking_created") {
		t.Errorf("%s", done.text)
	}
	v.post("/console/extensions/1/again", url.Values{}).want(http.StatusForbidden) // without the token of the session
	form := shown.form("/console/extensions/1/again")
	v.post("/console/extensions/1/again", form).leadsTo("/console/extensions")
	v.post("/console/extensions/1/again", form).says(http.StatusNotFound, "There is no such failed event")
	v.post("/console/extensions/2/again", form).want(http.StatusNotFound)
	v.post("/console/extensions/x/again", form).want(http.StatusNotFound)

	database.Execute(t, `UPDATE wp_options SET option_value = 'a:2:{i:0;s:33:"latepoint-zoom/latepoint-zoom.php";i:1;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`)
	c := k.fromWordPress(database)
	c.ask(http.MethodGet, "/wordpress/extensions", nil).contains(http.StatusOK, `{"extensions":[{"title":"Zoom","parts":[{"subject":"pages","kind":"takes_no_part"}`, `"event":"order_updated","record_id":15,"state":"failed"`, `"repeatable":true`)
	if got := c.ask(http.MethodPost, "/wordpress/extensions/4/again", url.Values{}).contains(http.StatusOK, `"state":"waiting"`); strings.Contains(string(got.body), `"repeatable":true`) {
		t.Errorf("%s", got.body)
	}
	c.ask(http.MethodPost, "/wordpress/extensions/4/again", url.Values{}).contains(http.StatusNotFound, "There is no such failed event")

	database.Execute(t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'", columns+"(5, 'order_updated', 16, 'failed', 3, '', '2026-11-20', '2026-11-20', '2026-11-20')")
	c.ask(http.MethodGet, "/wordpress/extensions", nil).contains(http.StatusOK, `{"extensions":null,"events":[{"id":5,`)
	c.ask(http.MethodPost, "/wordpress/extensions/5/again", url.Values{}).contains(http.StatusOK, `{"id":5,"event":"order_updated","record_id":16,"state":"waiting"`)
}
