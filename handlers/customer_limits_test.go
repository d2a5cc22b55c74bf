package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

const (
	tooManyBookings = `199 bookside "Customer 9 has as many future bookings as the site's form lets a customer have"`
	tooManyNoShows  = `199 bookside "Customer 9 has too many no-shows: the site's form would refuse the booking"`
	mustPay         = `199 bookside "Customer 9 has too many no-shows: on the site's form they would have to pay at once"`
)

// noFuture leaves customer 9 without bookings to come.
const noFuture = "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE customer_id = 9"

// TestWarningsAboutFutureBookings: a key books for a customer who has as many bookings as the site's form would let them have,
// and is told so, on a plain site too.
func TestWarningsAboutFutureBookings(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings(), withTools)
	s.database.Execute(t, setting("max_future_bookings_per_customer", "1"), noFuture)
	book := func(fields ...string) answer {
		t.Helper()
		return s.write(http.MethodPost, "/bookings", friday(fields...))
	}
	wants := func(title string, a answer, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, a.header.Values("Warning")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
	wants("the first booking", book().want(http.StatusCreated))
	wants("a dry run", book("start_time", `"13:00"`, "dry_run", `true`).want(http.StatusOK), tooManyBookings)
	wants("a booking that is refused", book("start_time", `"13:00"`, "status", `"no_show"`).want(http.StatusUnprocessableEntity))
	wants("a conflict", book().want(http.StatusConflict))
	wants("a new customer", book("start_time", `"13:00"`, "customer_id", "", "customer", newCustomer, "dry_run", `true`).want(http.StatusOK))
	wants("another customer", book("start_time", `"13:00"`, "customer_id", `8`, "dry_run", `true`).want(http.StatusOK))
	bulk := `[` + friday("start_time", `"13:00"`) + `,` + friday("start_time", `"15:00"`) + `,` + friday() + `]`
	wants("several", s.write(http.MethodPost, "/bookings/bulk", bulk).want(http.StatusMultiStatus), tooManyBookings)
	s.database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 50 WHERE id = 4", "UPDATE wp_latepoint_bookings SET status = 'completed', start_date = '2027-01-01'")
	var all []string
	for _, id := range rowsOf(t, s.database, "SELECT DISTINCT c.id FROM wp_latepoint_customers c JOIN wp_latepoint_bookings b ON b.customer_id = c.id WHERE c.status = 'active' ORDER BY c.id LIMIT 14") {
		all = append(all, friday("start_date", `"2027-02-12"`, "customer_id", id))
	}
	if a := s.write(http.MethodPost, "/bookings/bulk", "["+strings.Join(all, ",")+"]"); len(all) < 12 || len(a.header.Values("Warning")) != 10 {
		t.Errorf("%d customers: %d warnings, %s", len(all), len(a.header.Values("Warning")), a.body)
	}
	if told := s.agent(t, s.key).call("book", `{'idempotency_key':'limits-1','dry_run':true,'service_id':4,'agent_id':5,'location_id':1,'start_date':'2027-02-19','start_time':'10:00','customer_id':9}`).done(); fmt.Sprint(told.at("warnings")) != "[Customer 9 has as many future bookings as the site's form lets a customer have]" {
		t.Errorf("a tool: %s", told.body)
	}

	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'cancelled'", "UPDATE wp_latepoint_bookings SET status = 'approved', start_date = '2026-01-01' WHERE id = 9", "UPDATE wp_latepoint_bookings SET customer_id = 9 WHERE id = 9")
	wants("bookings that are over or cancelled", book("dry_run", `true`).want(http.StatusOK))
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = '2027-01-01' WHERE id = 9")
	wants("a booking to come", book("dry_run", `true`).want(http.StatusOK), tooManyBookings)
	for _, unlimited := range []string{"", "0", "many", "2"} {
		s.database.Execute(t, setting("max_future_bookings_per_customer", unlimited))
		wants("limit "+unlimited, book("dry_run", `true`).want(http.StatusOK))
	}
	s.database.Execute(t, setting("max_future_bookings_per_customer", "1"))
	s.key = s.newKey("write_bookings")
	wants("a key that reads no bookings", book().want(http.StatusCreated))
}

// TestWarningsAboutNoShows: a key books for a customer whom Pro Features restricts, and is told so.
func TestWarningsAboutNoShows(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	const count = "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'no_show_count', '3')"
	on, plain := setting("no_show_restrictions_enabled", "on"), activate(pluginFile)
	for _, step := range []struct {
		title, arrange string
		want           []string
	}{
		{"switched off", count, nil},
		{"as often as the default", on, []string{tooManyNoShows}},
		{"to pay at once", setting("no_show_restriction_action", "require_payment"), []string{mustPay}},
		{"another action", setting("no_show_restriction_action", "smile"), nil},
		{"blocked", setting("no_show_restriction_action", "block"), []string{tooManyNoShows}},
		{"less often than the threshold", setting("no_show_restriction_threshold", "4"), nil},
		{"as often as the threshold", setting("no_show_restriction_threshold", "3"), []string{tooManyNoShows}},
		{"both limits", "UPDATE wp_latepoint_bookings SET customer_id = 9, start_date = '2027-01-01', status = 'approved' WHERE id = 9", []string{tooManyNoShows}},
		{"both limits", setting("max_future_bookings_per_customer", "1"), []string{tooManyBookings, tooManyNoShows}},
		{"without the add-on", plain, []string{tooManyBookings}},
	} {
		s.database.Execute(t, step.arrange)
		if diff := cmp.Diff(step.want, s.write(http.MethodPost, "/bookings", friday("dry_run", `true`)).want(http.StatusOK).header.Values("Warning")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.title, diff)
		}
	}
}
