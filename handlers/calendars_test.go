package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestCalendarSecretsOpenNothingElse: the secret of a calendar opens its own address and no other route, no
// API key opens a calendar, and a wrong secret reveals nothing.
func TestCalendarSecretsOpenNothingElse(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	agents, location := s.Calendar(keys.Full, domain.AgentResource, 1), s.Calendar(keys.Full, domain.LocationResource, 2)
	s.Read(agents).Want(http.StatusOK)
	s.Read(location).Want(http.StatusOK)
	secret := strings.TrimPrefix(agents.Query, "api_key=")
	denied := func(name string, a apitest.Answer) {
		t.Helper()
		expect.Equal(t, http.StatusUnauthorized, a.Status, fmt.Sprintf("%s: status: %.300s", name, a.Body))
	}
	for _, r := range handlers.Routes() {
		path := strings.NewReplacer(":invoice_id", "1", ":transaction_id", "1", ":id", "1", ":code", "1").Replace(r.Path)
		if path == agents.Path {
			continue
		}
		denied(path, s.Do(r.Method, "/v1"+path+"?api_key="+secret, nil))
		denied(path, s.Do(r.Method, "/v1"+path, http.Header{"X-Api-Key": {secret}}))
		denied(path, s.Do(r.Method, "/v1"+path, http.Header{"Authorization": {"Bearer " + secret}}))
	}
	for name, r := range map[string]apitest.Request{
		"another agent": {Path: "/agents/2/calendar.ics", Query: agents.Query}, "another location": {Path: "/locations/1/calendar.ics", Query: location.Query},
		"no agent": {Path: "/agents/x/calendar.ics", Query: agents.Query}, "an unknown agent": {Path: "/agents/99999999999999999999/calendar.ics", Query: agents.Query},
		"an API key": {Path: agents.Path, Query: "api_key=" + s.Key}, "no secret": {Path: agents.Path}, "misspelt": {Path: agents.Path, Query: agents.Query[:len(agents.Query)-1] + "_"},
		"another name": {Path: agents.Path, Query: "secret=" + secret},
	} {
		denied(name, s.Read(r))
	}
	denied("a key in a header", s.Do(http.MethodGet, "/v1"+agents.Path, http.Header{"X-Api-Key": {s.Key}}))

	all, err := s.Keys.Calendars(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%v: %d calendars", err, len(all))
	}
	for _, key := range all { // no command for API keys reaches a calendar
		if _, found, err := s.Keys.Find(t.Context(), key.ID); found || err != nil {
			t.Errorf("found %t, %v", found, err)
		}
		if found, err := s.Keys.Revoke(t.Context(), key.ID); found || err != nil {
			t.Errorf("revoked %t, %v", found, err)
		}
		if _, found, err := s.Keys.Restrict(t.Context(), key.ID, keys.Patch{Permissions: []string{"write"}}); found || err != nil {
			t.Errorf("restricted %t, %v", found, err)
		}
	}
	s.Read(agents).Want(http.StatusOK)
	if found, err := s.Keys.RevokeCalendar(t.Context(), all[0].ID); !found || err != nil {
		t.Fatalf("revoked %t, %v", found, err)
	}
	denied("revoked", s.Read(agents))
	s.Read(location).Want(http.StatusOK)
	s.Database.Execute(t, "UPDATE wp_bookside_api_keys SET expires_at = '2026-11-21 00:43:00' WHERE kind = 'calendar'")
	denied("expired", s.Read(location))
	if found, err := s.Keys.RevokeCalendar(t.Context(), 1); found || err != nil {
		t.Errorf("an API key was revoked as a calendar: %t, %v", found, err)
	}
	s.Get("/status").Want(http.StatusOK)
}
