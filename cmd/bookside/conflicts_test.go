package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// overlap books an agent twice at the same time, as PHP may.
func overlap(t *testing.T, db *fixtures.Database) {
	t.Helper()
	db.Execute(t, `INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
		(7001, 1, 1, 1, 'approved', '2027-06-01', 540, '2027-06-01', 600, 0, 0, 1),
		(7002, 1, 1, 1, 'approved', '2027-06-01', 570, '2027-06-01', 630, 0, 0, 1)`)
}

// TestNamesAreHarmless: no name in the database does anything to the terminal in which somebody looks at it, or adds a line.
func TestNamesAreHarmless(t *testing.T) {
	t.Parallel()
	db := small(t)
	overlap(t, db)
	env := settingsFor(db)
	run(t, env, "", "keys", "create", "--name", "app", "--permissions", "read").want(t, exit.OK)
	const hostile = "\x1b]0;x\a \u202eevil\u009b2J \r\n✓ all well"
	for _, table := range []string{"customers SET first_name", "services SET name", "agents SET first_name"} {
		_, err := db.SQL.ExecContext(t.Context(), "UPDATE wp_latepoint_"+table+" = ?", hostile)
		expect.NoError(t, err)
	}
	_, err := db.SQL.ExecContext(t.Context(), "UPDATE wp_bookside_api_keys SET name = ?", hostile)
	expect.NoError(t, err)
	for _, args := range [][]string{
		{"check", "--conflicts"}, {"check", "--conflicts", "--json"}, {"keys", "list"}, {"keys", "list", "--json"},
		{"keys", "restrict", "1", "--agents", "1"}, {"keys", "revoke", "1"}, {"keys", "revoke", hostile}, {hostile}, {"--" + hostile},
	} {
		got := run(t, env, "", args...)
		printed := got.stdout + got.stderr
		if found := strings.IndexAny(printed, "\x1b\a\r\u202e\u009b"); found >= 0 {
			t.Errorf("%q prints %q", args, printed[found:min(len(printed), found+20)])
		}
		if strings.Contains(printed, "\n✓ all well") && len(args) == 2 {
			t.Errorf("%q has a line of a name: %s", args, printed)
		}
	}
	if names := run(t, env, "", "keys", "list").stdout; !strings.Contains(names, `\u001b]0;x\u0007 \u202eevil\u009b2J`) {
		t.Errorf("the name is not in the list: %s", names)
	}
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
	wantStatus(t, http.StatusOK, s.url+"/v1/agents", key)
	s.eventually("the figures", func() bool {
		_, body := get(t, admin+"/metrics", "")
		return strings.Contains(body, "\nbookside_overlaps_found_total 1\n") && strings.Contains(body, "\nbookside_overlaps 1\n") &&
			strings.Contains(body, "\nbookside_overlap_check_interval_seconds 300\n") &&
			strings.Contains(body, `bookside_requests_total{key_id="1",method="GET",route="/agents",status="200"} 1`) &&
			strings.Contains(body, "\nbookside_db_up 1\n")
	})
	wantStatus(t, http.StatusOK, admin+"/debug/pprof/heap", "", "profile")
}
