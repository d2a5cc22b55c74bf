package bookings_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// writesOfASlot returns requests that need the slot of a body, by name; id is a booking to change.
func writesOfASlot(id, body, change string) map[string][3]string {
	return map[string][3]string{
		"a booking":       {http.MethodPost, "/bookings", body},
		"a dry run":       {http.MethodPost, "/bookings?dry_run=1", body},
		"a hold":          {http.MethodPost, "/holds", strings.Replace(body, `"customer_id":9,`, "", 1)},
		"a change":        {http.MethodPut, "/bookings/" + id, change},
		"a tried change":  {http.MethodPut, "/bookings/" + id + "?dry_run=1", change},
		"several at once": {http.MethodPost, "/bookings/bulk", "[" + body + "]"},
	}
}

// TestSlotIsTakenByBrokenRows: a booking whose stored end is missing or wrong has its time all the same.
func TestSlotIsTakenByBrokenRows(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	taken := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "duration", "120")).Want(http.StatusCreated).At("data", "id"))
	other := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	for name, stored := range map[string]string{
		"no end date":    "end_date = NULL",
		"zero end date":  "end_date = '0000-00-00'",
		"no end time":    "end_time = NULL",
		"no end":         "end_date = NULL, end_time = NULL",
		"minute 0":       "end_time = 0",
		"end before it":  "end_time = 60",
		"end at start":   "end_time = start_time",
		"no duration":    "end_time = start_time, duration = 0",
		"its service's":  "end_date = NULL, end_time = NULL, duration = NULL",
		"its service's2": "end_date = NULL, end_time = NULL, duration = 0",
	} {
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET end_date = start_date, end_time = 900, duration = 120 WHERE id = "+taken, "UPDATE wp_latepoint_bookings SET "+stored+" WHERE id = "+taken)
		before := s.Database.Snapshot(t)
		for what, w := range writesOfASlot(other, apitest.Friday("start_time", `"13:30"`), `{"start_time":"13:30"}`) {
			a := s.Write(w[0], w[1], w[2])
			if what == "several at once" {
				expect.Equal(t, "Time slot not available", a.Want(http.StatusBadRequest).At("results", "errors", 0, "error"), fmt.Sprintf("%s, %s: %s", name, what, a.Body))
			} else if a.Want(http.StatusConflict); what != "a hold" && fmt.Sprint(a.At("error", "details", "conflicting_booking_id")) != taken {
				t.Errorf("%s, %s: %s", name, what, a.Body)
			}
		}
		apitest.WantNoWrites(t, name, before, "bookside_api_keys", "bookside_locks")
	}
}

// TestServiceWithoutDuration: a service whose own duration is below 1 is booked for the duration that is sent, and not
// without one.
func TestServiceWithoutDuration(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	other := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("service_id", "2", "agent_id", "5", "start_time", `"08:30"`)).Want(http.StatusCreated).At("data", "id"))
	const message = "Required: the service has no duration of its own"
	for _, duration := range []string{"-5", "0"} {
		s.Database.Execute(t, "UPDATE wp_latepoint_services SET duration = "+duration+" WHERE id = 4")
		before := s.Database.Snapshot(t)
		for name, w := range writesOfASlot(other, apitest.Friday(), `{"service_id":4}`) {
			a := s.Write(w[0], w[1], w[2])
			if name == "several at once" {
				expect.Equal(t, "duration: "+message, a.Want(http.StatusBadRequest).At("results", "errors", 0, "error"), fmt.Sprintf("%s: %s", name, a.Body))
			} else if got := a.Want(http.StatusUnprocessableEntity).At("error", "details"); !cmp.Equal(got, any(map[string]any{"duration": message})) {
				t.Errorf("%s: %s", name, a.Body)
			}
		}
		for _, path := range []string{
			"/availability?service_id=4&agent_id=5&date=2027-02-05", "/availability?service_id=4&agent_id=any&date=2027-02-05&date_to=2027-02-08",
			"/agents/availability?service_id=4&date=2027-02-05&start_time=10:00", "/availability?service_id=4&booking_id=" + other + "&date=2027-02-05",
		} {
			expect.Equal(t, message, s.Get(path).Want(http.StatusUnprocessableEntity).At("error", "details", "duration"), path)
		}
		apitest.WantNoWrites(t, "without a duration", before, "bookside_api_keys", "bookside_locks")
	}
	for _, path := range []string{"/availability?service_id=4&agent_id=5&date=2027-02-05&duration=60&any_duration=1", "/agents/availability?service_id=4&date=2027-02-05&start_time=10:00&duration=60", "/agents/availability?service_id=4"} {
		s.Get(path).Want(http.StatusOK)
	}
	booked := s.Write(http.MethodPost, "/bookings", apitest.Friday("duration", "60")).Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("duration", "60")).Want(http.StatusConflict)
	moved := s.Write(http.MethodPut, fmt.Sprint("/bookings/", booked.At("data", "id")), `{"start_time":"13:00"}`).Want(http.StatusOK)
	expect.Equal(t, "14:00", moved.At("data", "end_time"), "its end after the move")
}

// TestNeverBookable: what can never be booked is a mistake of the request, not a conflict, and names its field.
func TestNeverBookable(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "DELETE FROM wp_latepoint_agents_services WHERE service_id = 4 AND (agent_id <> 5 OR location_id <> 1)")
	other := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`)).Want(http.StatusCreated).At("data", "id"))
	for name, c := range map[string]struct {
		arrange, restore string
		fields           []string
		want             map[string]any
	}{
		"a disabled service": {"UPDATE wp_latepoint_services SET status = 'disabled' WHERE id = 4", "UPDATE wp_latepoint_services SET status = 'active' WHERE id = 4", nil, map[string]any{"service_id": "The service is not active"}},
		"a disabled agent":   {"UPDATE wp_latepoint_agents SET status = 'disabled' WHERE id = 5", "UPDATE wp_latepoint_agents SET status = 'active' WHERE id = 5", nil, map[string]any{"agent_id": "The agent is not active"}},
		"its only agent":     {"UPDATE wp_latepoint_agents SET status = 'disabled' WHERE id = 5", "UPDATE wp_latepoint_agents SET status = 'active' WHERE id = 5", []string{"agent_id", `"any"`, "location_id", `"any"`}, map[string]any{"service_id": "Nobody offers this service"}},
		"a closed location":  {"UPDATE wp_latepoint_locations SET status = 'disabled' WHERE id = 1", "UPDATE wp_latepoint_locations SET status = 'active' WHERE id = 1", nil, map[string]any{"location_id": "The location is not active"}},
		"all of them": {"UPDATE wp_latepoint_locations x, wp_latepoint_agents a, wp_latepoint_services s SET x.status = 'disabled', a.status = 'disabled', s.status = 'disabled' WHERE x.id = 1 AND a.id = 5 AND s.id = 4",
			"UPDATE wp_latepoint_locations x, wp_latepoint_agents a, wp_latepoint_services s SET x.status = 'active', a.status = 'active', s.status = 'active' WHERE x.id = 1 AND a.id = 5 AND s.id = 4",
			nil, map[string]any{"location_id": "The location is not active", "agent_id": "The agent is not active", "service_id": "The service is not active"}},
		"another agent's service": {"", "", []string{"agent_id", "1"}, map[string]any{"agent_id": "Does not offer this service there"}},
		"another location":        {"", "", []string{"agent_id", `"any"`, "location_id", "2"}, map[string]any{"location_id": "Nobody offers this service there"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Database.Execute(t, c.arrange)
			defer s.Database.Execute(t, c.restore)
			before := s.Database.Snapshot(t)
			change := `{"start_time":"10:00"}`
			if len(c.fields) > 0 {
				change = apitest.Friday(append([]string{"customer_id", "", "service_id", ""}, c.fields...)...)
			}
			for what, w := range writesOfASlot(other, apitest.Friday(c.fields...), change) {
				a := s.Write(w[0], w[1], w[2])
				if what != "several at once" {
					if diff := cmp.Diff(any(c.want), a.Want(http.StatusBadRequest).At("error", "details")); diff != "" || a.At("error", "code") != "invalid_request" {
						t.Errorf("%s (-want +got):\n%s", what, diff)
					}
					continue
				}
				text := fmt.Sprint(a.Want(http.StatusBadRequest).At("results", "errors", 0, "error"))
				field, message, _ := strings.Cut(text, ": ")
				expect.Equal[any](t, message, c.want[field], fmt.Sprintf("%s: %q", what, text))
			}
			apitest.WantNoWrites(t, name, before, "bookside_api_keys", "bookside_locks")
			s.Get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05").Want(http.StatusOK)
		})
	}
	s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	// Whoever wants nothing but a note for it is not asked for a slot.
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET status = 'disabled' WHERE id = 4")
	s.Write(http.MethodPut, "/bookings/"+other, `{"notes":"later","status":"cancelled"}`).Want(http.StatusOK)
}

// TestStatusesOfTheSite: bookings go to a status of the site's own and from it to any other, for a slot like any
// other.
func TestStatusesOfTheSite(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name IN ('additional_booking_statuses', 'timeslot_blocking_statuses')",
		"INSERT INTO wp_latepoint_settings (name, value) VALUES ('additional_booking_statuses', 'Running Late, On Ice, Waits For A Call From The Practice'), ('timeslot_blocking_statuses', 'approved,running_late')")
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	become := func(status string) apitest.Answer {
		t.Helper()
		return s.Write(http.MethodPut, "/bookings/"+id, `{"status":"`+status+`"}`)
	}
	for _, status := range []string{"running_late", "approved", "on_ice", "no_show", "running_late", "on_ice", "pending", "running_late", "completed"} {
		expect.Equal[any](t, status, become(status).Want(http.StatusOK).At("data", "status"), "status")
	}
	apitest.Unprocessable("status").Check(t, "between its own five", become("pending"))
	apitest.Unprocessable("status").Check(t, "no status of the site", become("running late"))
	apitest.Unprocessable("status").Check(t, "longer than its column", become("waits_for_a_call_from_the_practice"))
	apitest.Unprocessable("status").Check(t, "longer than its column, of a new booking", s.Write(http.MethodPost, "/bookings", apitest.Friday("status", `"waits_for_a_call_from_the_practice"`)))
	expect.Equal(t, "delete_bookings", s.As([]string{"read_bookings", "write_bookings"}, http.MethodPut, "/bookings/"+id, `{"status":"on_ice"}`).Want(http.StatusForbidden).At("error", "details", "required_permission"), "permission for what is completed")
	become("on_ice").Want(http.StatusOK)
	rival := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "10")).Want(http.StatusCreated).At("data", "id"))
	expect.Equal(t, rival, fmt.Sprint(become("running_late").Want(http.StatusConflict).At("error", "details", "conflicting_booking_id")), "the conflicting booking")
	become("pending").Want(http.StatusOK)
}

// TestDefaultStatus: a booking that is sent without a status is approved; if the owner wants the site's, it has
// that of its service, else that of the site.
func TestDefaultStatus(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		ofSite         bool
		service, site  string
		sent, expected string
	}{
		"the API's":              {false, "pending", "pending", "", "approved"},
		"the service's":          {true, "pending", "cancelled", "", "pending"},
		"the site's":             {true, "", "pending", "", "pending"},
		"no known one":           {true, "away", "gone", "", "approved"},
		"neither":                {true, "", "", "", "approved"},
		"the one that was sent":  {true, "pending", "pending", `"approved"`, "approved"},
		"one of the site's own":  {true, "in_review", "approved", "", "in_review"},
		"the site's, not listed": {true, "unknown", "pending", "", "pending"},
	} {
		s.Platform.Config.DefaultStatusOfSite = c.ofSite
		s.Database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_services SET override_default_booking_status = '%s' WHERE id = 4", c.service),
			"DELETE FROM wp_latepoint_settings WHERE name IN ('default_booking_status', 'additional_booking_statuses')",
			fmt.Sprintf("INSERT INTO wp_latepoint_settings (name, value) VALUES ('default_booking_status', '%s'), ('additional_booking_statuses', 'In Review')", c.site))
		booked := s.Write(http.MethodPost, "/bookings", apitest.Friday("status", c.sent)).Want(http.StatusCreated)
		expect.Equal[any](t, c.expected, booked.At("data", "status"), fmt.Sprintf("%s: status", name))
		before.Restore(t)
	}
}
