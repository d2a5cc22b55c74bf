package keyspage_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"bookside/fixtures"
)

func TestWebhooksAreManagedOnThePage(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := newKeysPage(t, database)
	k.visitor().open("/keys/webhooks").leadsTo("/keys/login")
	v := k.login()
	v.open("/keys/webhooks").says(http.StatusOK, "There are no webhooks.")
	v.fill("/keys/webhooks/new", url.Values{"url": {"http://169.254.169.254/"}, "events": {"booking.moved"}, "agents": {"x"}}).
		says(http.StatusUnprocessableEntity, "The address is not public", `"booking.moved" is not an event`, "Write ids such as 3", `value="booking.moved"`)
	added := v.fill("/keys/webhooks/new", url.Values{"url": {"https://example.test/<b>?token=hush"}, "events": {"booking.*"}, "name": {"shop <i>"}, "agents": {"3"}}).
		says(http.StatusOK, "The webhook was added", "whsec_")
	if cache := added.header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control %q", cache)
	}
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/]+=*`).FindString(added.text)
	list := v.open("/keys/webhooks").says(http.StatusOK, "shop <i>", "?***", "booking.*", "enabled")
	shown := v.open("/keys/webhooks/1").says(http.StatusOK, "of agents 3", "Nothing was sent yet.")
	for _, p := range []page{list, shown} {
		if strings.Contains(string(p.body), "<i>") || strings.Contains(p.text, "hush") || strings.Contains(p.text, secret) {
			t.Errorf("%s", p.body)
		}
	}
	do := func(action string) page {
		t.Helper()
		return v.post("/keys/webhooks/1/"+action, v.open("/keys/webhooks/1").form("/keys/webhooks/1/"+action))
	}
	do("test").leadsTo("/keys/webhooks/1")
	v.open("/keys/webhooks/1").says(http.StatusOK, "bookside.test", "waiting")
	execute(t, database, "UPDATE wp_bookside_webhook_deliveries SET status = 'failed', finished_at = created_at")
	do("replay").leadsTo("/keys/webhooks/1")
	v.open("/keys/webhooks/1").says(http.StatusOK, "waiting")
	do("disable").leadsTo("/keys/webhooks/1")
	v.open("/keys/webhooks").says(http.StatusOK, "disabled on the page")
	do("enable").leadsTo("/keys/webhooks/1")
	do("rotate").says(http.StatusOK, "The secret was changed", "whsec_")
	v.post("/keys/webhooks/1/delete", url.Values{}).want(http.StatusForbidden) // without the token of the session
	do("delete").leadsTo("/keys/webhooks")
	v.open("/keys/webhooks/1").says(http.StatusNotFound, "There is no such webhook")
}
