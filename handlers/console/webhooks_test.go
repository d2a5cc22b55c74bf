package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestLifeOfAWebhook: a webhook is added, changed, tried, disabled, given another secret and deleted.
func TestLifeOfAWebhook(t *testing.T) {
	t.Parallel()
	k, database := serveSmall(t)
	k.visitor().open("/console/webhooks").leadsTo("/console/login")
	v := k.login()
	v.open("/console/webhooks").says(http.StatusOK, "There are no webhooks.")
	v.fill("/console/webhooks/new", url.Values{"url": {"http://169.254.169.254/"}, "events": {"booking.moved"}, "agents": {"x"}}).
		says(http.StatusUnprocessableEntity, "The address is not public", `"booking.moved" is not an event`, "One of these does not exist any more.", `value="booking.moved"`)
	added := v.fill("/console/webhooks/new", url.Values{"url": {"https://example.test/<b>?token=hush"}, "events": {"booking.*"}, "name": {"shop <i>"}, "agents": {"3"}, "locations": {""}}).
		says(http.StatusOK, "The webhook was added", "whsec_")
	expect.Equal(t, "no-store", added.header.Get("Cache-Control"), "Cache-Control")
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/]+=*`).FindString(added.text)
	list := v.open("/console/webhooks").says(http.StatusOK, "shop <i>", "?***", "booking.*", "enabled")
	shown := v.open("/console/webhooks/1").says(http.StatusOK, "of agent 3 ", "Nothing was sent yet.")
	for _, p := range []page{list, shown} {
		if strings.Contains(string(p.body), "<i>") || strings.Contains(p.text, "hush") || strings.Contains(p.text, secret) {
			t.Errorf("%s", p.body)
		}
	}
	form := v.open("/console/webhooks/1/edit").says(http.StatusOK, "?token=hush").form("/console/webhooks/1/edit")
	v.post("/console/webhooks/1/edit", merge(form, url.Values{"events": {"x"}, "locations": {"0"}})).says(http.StatusUnprocessableEntity, "is not an event", "Write ids such as 3 or 3,5.", `value="x"`)
	v.post("/console/webhooks/1/edit", merge(form, url.Values{"url": {"http://10.0.0.1/"}})).says(http.StatusUnprocessableEntity, "The address is not public")
	v.post("/console/webhooks/1/edit", merge(form, url.Values{"csrf": {"x"}, "name": {"typed"}})).says(http.StatusForbidden, `value="typed"`)
	v.post("/console/webhooks/1/edit", merge(form, url.Values{"name": {"shop 2"}, "events": {"booking.created,customer.*"}, "agents": {""}, "services": {"2,1"}, "record": {"1"}})).leadsTo("/console/webhooks/1")
	v.post("/console/webhooks/1/edit", form).says(http.StatusConflict, "Somebody else has changed this webhook")
	v.open("/console/webhooks/1").says(http.StatusOK, "shop 2", "booking.created, customer.*, of bookings only those of services 1 ", ", 2 ")
	v.open("/console/webhooks/9/edit").says(http.StatusNotFound, "no such webhook")
	do := func(action string) page {
		t.Helper()
		return v.post("/console/webhooks/1/"+action, v.open("/console/webhooks/1").form("/console/webhooks/1/"+action))
	}
	do("test").leadsTo("/console/webhooks/1")
	const withRecord = "Each try also sends the record as it is then"
	tested := v.open("/console/webhooks/1").says(http.StatusOK, "bookside.test", "waiting", `{"type":"bookside.test","timestamp":"2026-`, `"data":{"webhook_id":1}}`)
	expect.NoTexts(t, tested.text, withRecord)
	database.Execute(t, "UPDATE wp_bookside_webhook_deliveries SET event = 'booking.created'")
	v.open("/console/webhooks/1").says(http.StatusOK, withRecord)
	database.Execute(t, "UPDATE wp_bookside_webhook_deliveries SET event = 'bookside.test'")
	v.open("/console/webhooks").says(http.StatusOK, `class="status good"`)
	database.Execute(t, "UPDATE wp_bookside_webhooks SET failing_since = '2026-01-02 10:00:00', key_id = 1")
	v.open("/console/webhooks").says(http.StatusOK, `class="status minor"`, "failing since", `href="/console/keys/1" class="word">TestLifeOfAWebhook`)
	database.Execute(t, "UPDATE wp_bookside_webhook_deliveries SET status = 'failed', finished_at = created_at")
	do("replay").leadsTo("/console/webhooks/1")
	v.open("/console/webhooks/1").says(http.StatusOK, "waiting")
	since := func(value string) page {
		t.Helper()
		form := v.open("/console/webhooks/1").form("/console/webhooks/1/replay-since")
		form.Set("since", value)
		return v.post("/console/webhooks/1/replay-since", form)
	}
	database.Execute(t, "UPDATE wp_bookside_webhooks SET position = 7", "REPLACE INTO wp_bookside_change_positions (name, position) VALUES ('journal', 7)",
		"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin) VALUES (3, 'bookings', 1, 'created', '2026-01-02 10:00:00', 'found')")
	since("yesterday").says(http.StatusUnprocessableEntity, "Write the time as")
	since("2026-01-02T10:59").leadsTo("/console/webhooks/1")
	var position int64
	if err := database.SQL.QueryRowContext(t.Context(), "SELECT position FROM wp_bookside_webhooks").Scan(&position); err != nil || position != 2 {
		t.Errorf("position %d, %v", position, err)
	}
	do("disable").leadsTo("/console/webhooks/1")
	v.open("/console/webhooks").says(http.StatusOK, "disabled on the console")
	do("enable").leadsTo("/console/webhooks/1")
	rotate := v.open("/console/webhooks/1").form("/console/webhooks/1/rotate")
	v.post("/console/webhooks/1/rotate", rotate).says(http.StatusOK, "The secret was changed", "whsec_")
	again := v.post("/console/webhooks/1/rotate", rotate).says(http.StatusConflict, "This form was already submitted") // as after a reload
	expect.NoTexts(t, again.text, "whsec_")
	v.open("/console/webhooks/1/rotate").says(http.StatusNotFound, "There is no such page", `href="/console/webhooks"`)
	do("rotate").says(http.StatusOK, "The secret was changed")
	v.post("/console/webhooks/1/delete", url.Values{}).want(http.StatusForbidden) // without the token of the session
	v.open("/console/webhooks/1").says(http.StatusOK, `href="/console/webhooks/1/delete"`)
	asked := v.open("/console/webhooks/1/delete").says(http.StatusOK, "Delete webhook 1?", "shop 2", "the log of its deliveries is deleted")
	v.open("/console/webhooks/1").says(http.StatusOK, "shop 2")
	v.post("/console/webhooks/1/delete", asked.form("/console/webhooks/1/delete")).leadsTo("/console/webhooks")
	v.open("/console/webhooks/1/delete").says(http.StatusNotFound, "There is no such webhook")
	v.open("/console/webhooks/1").says(http.StatusNotFound, "There is no such webhook")
}

// TestFailedEventsAreToldAgain: the page shows what extensions were told, and tells them again.
func TestFailedEventsAreToldAgain(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	v := serve(t, database).login()
	v.open("/console/webhooks").says(http.StatusOK, "They were told nothing yet.")
	const columns = "INSERT INTO wp_bookside_events (id, event, record_id, status, tries, failure, due_at, created_at, finished_at) VALUES "
	database.Execute(t, columns+"(1, 'booking_created', 12, 'failed', 1, 'no <b>answer', '2026-11-20', '2026-11-20', '2026-11-20')",
		columns+"(2, 'transaction_created', 13, 'failed', 1, '', '2026-11-20', '2026-11-20', '2026-11-20')", columns+"(3, 'order_created', 14, 'done', 1, '', '2026-11-20', '2026-11-20', '2026-11-20')")
	shown := v.open("/console/webhooks").says(http.StatusOK, "booking_created", "transaction_created", "order_created")
	if strings.Contains(string(shown.body), "<b>") || strings.Count(string(shown.body), "Send again") != 1 {
		t.Errorf("%s", shown.body)
	}
	const again = "/console/webhooks/events/1/again"
	v.post(again, url.Values{}).want(http.StatusForbidden) // without the token of the session
	form := shown.form(again)
	v.post(again, form).leadsTo("/console/webhooks")
	v.post(again, form).says(http.StatusNotFound, "There is no such failed event")
	v.post("/console/webhooks/events/2/again", form).want(http.StatusNotFound)
	v.post("/console/webhooks/events/x/again", form).want(http.StatusNotFound)
}
