package handlers_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// noShowsOf returns what is stored of a customer's no-shows.
func noShowsOf(t testing.TB, database *fixtures.Database, customer int) []string {
	t.Helper()
	return rowsOf(t, database, "SELECT meta_key, meta_value FROM wp_latepoint_customer_meta WHERE object_id = ? AND meta_key LIKE 'no_show%' ORDER BY meta_key", customer)
}

// TestNoShowsAreCounted: a customer who does not appear is counted, and no longer if that is taken back, as by the
// add-on's listener: for each booking once, and a count of 0 deletes its row.
func TestNoShowsAreCounted(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, setting("no_show_restrictions_enabled", "on"), "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id IN (7, 9)")
	status := func(booking, status string, want ...string) {
		t.Helper()
		s.write(http.MethodPut, "/bookings/"+booking, `{"status":"`+status+`"}`).want(http.StatusOK)
		if diff := cmp.Diff(want, noShowsOf(t, s.database, 2)); diff != "" {
			t.Errorf("%s of booking %s (-want +got):\n%s", status, booking, diff)
		}
	}
	s.write(http.MethodPut, "/bookings/7", `{"status":"no_show","dry_run":true}`).want(http.StatusOK)
	if got := noShowsOf(t, s.database, 2); len(got) != 0 {
		t.Errorf("after a dry run: %v", got)
	}
	status("7", "no_show", "no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on")
	status("7", "no_show", "no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on")
	status("9", "no_show", "no_show_booking_ids|[7,9]", "no_show_count|2", "no_show_flag|on")
	status("7", "approved", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")
	status("9", "cancelled", "no_show_booking_ids|[]", "no_show_flag|off")
	status("9", "approved", "no_show_booking_ids|[]", "no_show_flag|off")
	status("9", "no_show", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")

	// Whoever has counted it already, such as the add-on itself, it counts once.
	s.database.Execute(t, `UPDATE wp_latepoint_customer_meta SET meta_value = '["9",7]', updated_at = '2026-11-01 08:00:00' WHERE object_id = 2 AND meta_key = 'no_show_booking_ids'`)
	status("7", "no_show", `no_show_booking_ids|["9",7]`, "no_show_count|1", "no_show_flag|on")
	status("7", "approved", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")

	s.write(http.MethodDelete, "/bookings/9?force=true", "").want(http.StatusOK)
	if diff := cmp.Diff([]string{"no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on"}, noShowsOf(t, s.database, 2)); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// TestNoShowsWithoutCount: what was not counted when it happened is a count of 0 afterwards, as in the add-on, and no other
// change counts.
func TestNoShowsWithoutCount(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, setting("no_show_restrictions_enabled", "on"), "UPDATE wp_latepoint_bookings SET status = 'no_show', customer_id = 2 WHERE id = 7",
		"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (2, 'no_show_booking_ids', 'none')")
	s.write(http.MethodPut, "/bookings/7", `{"notes":"x"}`).want(http.StatusOK)
	if diff := cmp.Diff([]string{"no_show_booking_ids|none"}, noShowsOf(t, s.database, 2)); diff != "" {
		t.Errorf("another change (-want +got):\n%s", diff)
	}
	s.write(http.MethodPut, "/bookings/7", `{"status":"approved"}`).want(http.StatusOK)
	if diff := cmp.Diff([]string{"no_show_booking_ids|[]", "no_show_count|0", "no_show_flag|off"}, noShowsOf(t, s.database, 2)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}

	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET customer_id = 8000 WHERE id = 7")
	s.write(http.MethodPut, "/bookings/7", `{"status":"no_show"}`).want(http.StatusOK)
	if got := noShowsOf(t, s.database, 8000); len(got) != 0 {
		t.Errorf("of a customer who does not exist: %v", got)
	}
}

// TestNoShowsOfCustomerWhoGetsTheBooking: the customer whom the booking has then is counted.
func TestNoShowsOfCustomerWhoGetsTheBooking(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, setting("no_show_restrictions_enabled", "on"), "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id = 7")
	s.write(http.MethodPut, "/bookings/7", `{"status":"no_show","customer_id":9}`).want(http.StatusOK)
	if got, other := noShowsOf(t, s.database, 9), noShowsOf(t, s.database, 2); len(got) != 3 || len(other) != 0 {
		t.Errorf("counted %v, and of the one before %v", got, other)
	}
}

// TestNoShowsAreNotCounted: nothing is counted where the site does not.
func TestNoShowsAreNotCounted(t *testing.T) {
	t.Parallel()
	for title, site := range map[string]fixtures.Site{"a plain site": fixtures.SiteA().WithFewBookings(), "switched off": fixtures.SiteA().WithFewBookings().WithProFeatures()} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, site)
			if title == "a plain site" {
				s.database.Execute(t, setting("no_show_restrictions_enabled", "on"))
			}
			s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id = 7")
			s.write(http.MethodPut, "/bookings/7", `{"status":"no_show"}`).want(http.StatusOK)
			if got := noShowsOf(t, s.database, 2); len(got) != 0 {
				t.Errorf("counted %v", got)
			}
		})
	}
}
