package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestCalendarsAreManagedOnTheConsole: a calendar is created, its address shown once, listed with its
// requests, and revoked.
func TestCalendarsAreManagedOnTheConsole(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	k.visitor().open("/console/calendars").leadsTo("/console/login")
	v := k.login()
	v.open("/console/calendars").says(http.StatusOK, "There are no calendars.")
	v.fill("/console/calendars/new", url.Values{"details": {"all"}, "expires": {"2020-01-01"}, "name": {"kept"}}).
		says(http.StatusUnprocessableEntity, "Choose an agent or a location.", "Write busy, names or full.", "This day is in the past.", `value="kept"`)
	for _, none := range []string{"location 999", "agent x", "agent", "service 1", "1"} {
		v.fill("/console/calendars/new", url.Values{"subject": {none}}).says(http.StatusUnprocessableEntity, "Choose an agent or a location.", "location 1 Practice by the Park")
	}
	form := v.open("/console/calendars/new").form("/console/calendars/new")
	form.Set("subject", "agent 1")
	form.Set("details", "names")
	form.Set("name", "lobby <b>")
	v.post("/console/calendars/new", merge(form, url.Values{"csrf": {"x"}})).says(http.StatusForbidden, `value="lobby <b>"`)
	made := v.post("/console/calendars/new", form).says(http.StatusOK, "Calendar 2 was made", "the only time")
	address := regexp.MustCompile(`/agents/1/calendar\.ics\?api_key=lp_calendar_[0-9A-Za-z]{38}`).FindString(made.text)
	if address == "" || made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s", made.body)
	}
	v.post("/console/calendars/new", form).says(http.StatusConflict, "already submitted")
	k.get("/v1"+address, nil).want(http.StatusOK)
	k.get("/v1"+address, nil).want(http.StatusOK)
	secret := address[strings.LastIndex(address, "=")+1:]
	list := v.open("/console/calendars").says(http.StatusOK, "lobby <b>", "agent 1 Miriam Albers", "names", "active", "console")
	if !regexp.MustCompile(`data-label="Requests"[^>]*><div>2</div>`).Match(list.body) {
		t.Errorf("%s", list.body)
	}
	if strings.Contains(list.text, secret) || strings.Contains(string(list.body), "<b>") || strings.Contains(k.pages.String()+k.log.String(), secret) {
		t.Error("the secret is shown or logged, or a name is not escaped")
	}
	v.open("/console/keys").says(http.StatusOK, "API keys")
	v.open("/console/keys/2").want(http.StatusNotFound)
	v.open("/console/calendars/1/revoke").says(http.StatusNotFound, "no such calendar") // an API key
	revoke := v.open("/console/calendars/2/revoke").says(http.StatusOK, "lobby <b>").form("/console/calendars/2/revoke")
	v.post("/console/calendars/2/revoke", url.Values{}).want(http.StatusForbidden)
	k.get("/v1"+address, nil).want(http.StatusOK)
	v.post("/console/calendars/2/revoke", revoke).leadsTo("/console/calendars")
	k.get("/v1"+address, nil).want(http.StatusUnauthorized)
	v.open("/console/calendars").says(http.StatusOK, "revoked")
	v.open("/console/calendars/2/revoke").says(http.StatusNotFound, "no such calendar")
}
