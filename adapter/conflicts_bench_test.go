package adapter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// BenchmarkConflicts looks for conflicts on the recorded site, and on the same
// site with 100,000 future bookings.
func BenchmarkConflicts(b *testing.B) {
	database := fixtures.New(b, fixtures.SiteA())
	platform := session.NewPlatform(wpdbtest.Open(b, database, 2), fixtures.RecordedNow)
	look := func(b *testing.B) {
		for b.Loop() {
			report, err := slots.ConflictsNow(b.Context(), platform)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(report.Bookings), "bookings")
			b.ReportMetric(float64(len(report.Conflicts)), "conflicts")
		}
	}
	b.Run("site", look)
	for day := range 1000 {
		var rows []string
		for n := range 100 {
			rows = append(rows, fmt.Sprintf("(%d, 1, 1, 'approved', '2027-01-01' + INTERVAL %d DAY, %d, '2027-01-01' + INTERVAL %d DAY, %d, 0, 0, 1)", 100+n%10, day, 480+60*(n/10), day, 540+60*(n/10)))
		}
		statement := `INSERT INTO wp_latepoint_bookings (agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES ` + strings.Join(rows, ", ")
		if _, err := database.SQL.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("100000", look)
}
