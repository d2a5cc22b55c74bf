package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
)

// insertByPHP is the statement with which the site's PHP adds a booking.
const insertByPHP = "INSERT INTO wp_latepoint_bookings (start_date, start_time, end_time, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id) " +
	"SELECT start_date, start_time, end_time, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id FROM wp_latepoint_bookings WHERE id = 7"

// TestTotalsAreExact: a total has what others have written before the request.
func TestTotalsAreExact(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.SiteA()))
	for _, path := range []string{"/bookings?per_page=2", "/bookings?per_page=2&sort=status", "/customers?per_page=2", "/orders?per_page=2", "/payments?per_page=2"} {
		table := strings.Replace(strings.TrimPrefix(strings.Split(path, "?")[0], "/"), "payments", "transactions", 1)
		for range 2 {
			total := s.get(path).want(http.StatusOK).at("pagination", "total")
			if want := len(s.table(t, table)); fmt.Sprint(total) != fmt.Sprint(want) {
				t.Errorf("%s: total %v, want %d", path, total, want)
			}
			s.database.Execute(t, insertByPHP)
		}
	}
}

// TestTotalsInOtherScopes: a limited key is told how many bookings it may see.
func TestTotalsInOtherScopes(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	for _, scope := range []domain.Scope{{}, {Agents: []int64{1}}, {Agents: []int64{5}}, {Agents: []int64{1, 5}}, {Locations: []int64{1}}, {Agents: []int64{1}, Locations: []int64{1}}} {
		s.key = s.limitedKey(scope)
		total := s.get("/bookings?per_page=1").want(http.StatusOK).at("pagination", "total")
		if want := scalar[int](t, s, "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE "+withinSQL(scope)); fmt.Sprint(total) != fmt.Sprint(want) {
			t.Errorf("limits %v: total %v, want %d", scope, total, want)
		}
	}
}
