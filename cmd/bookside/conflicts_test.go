package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// overlap books an agent twice at the same time, as PHP may.
func overlap(t *testing.T, db *fixtures.Database) {
	t.Helper()
	execute(t, db.SQL, `INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
		(7001, 1, 1, 1, 'approved', '2027-06-01', 540, '2027-06-01', 600, 0, 0, 1),
		(7002, 1, 1, 1, 'approved', '2027-06-01', 570, '2027-06-01', 630, 0, 0, 1)`)
}

// TestServeMetrics: a running server logs and counts overlaps, and serves metrics and
// profiles at the admin address.
func TestServeMetrics(t *testing.T) {
	t.Parallel()
	db := small(t)
	overlap(t, db)
	s := serve(t, settingsFor(db))
	admin := "http://" + s.admin()
	s.eventually("the first look for overlaps", func() bool {
		return strings.Contains(s.stderr.String(), `"msg":"bookings overlap","agent_id":1,"booking_ids":[7001,7002]`)
	})
	key := newKey(t, settingsFor(db))
	if status, _ := get(t, s.url+"/v1/agents", key); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	s.eventually("the figures", func() bool {
		_, body := get(t, admin+"/metrics", "")
		return strings.Contains(body, "\nbookside_overlaps_found_total 1\n") && strings.Contains(body, "\nbookside_overlaps 1\n") &&
			strings.Contains(body, "\nbookside_overlap_check_interval_seconds 300\n") &&
			strings.Contains(body, `bookside_requests_total{key_id="1",method="GET",route="/agents",status="200"} 1`) &&
			strings.Contains(body, "\nbookside_db_up 1\n")
	})
	if status, _ := get(t, admin+"/debug/pprof/heap", ""); status != http.StatusOK {
		t.Errorf("profile: status %d", status)
	}
}
