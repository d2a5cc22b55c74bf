package adapter

import (
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"bookside/fixtures"
	"bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// recordedNow returns the moment at which the recorded site was recorded.
func recordedNow() time.Time { return time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC) }

// insertBookings adds rows to the bookings of the small site: agent, service,
// location, status, dates and times.
func insertBookings(t *testing.T, database *fixtures.Database, rows ...string) {
	t.Helper()
	statement := "INSERT INTO " + database.Prefix + `latepoint_bookings (agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time,
		buffer_before, buffer_after, customer_id, total_attendees) VALUES (` + strings.Join(rows, "), (") + ")"
	arrange(t, database, statement)
}

func arrange(t *testing.T, database *fixtures.Database, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := database.SQL.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
