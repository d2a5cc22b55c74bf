//go:build !race

package handlers_test

import (
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestAllocations bounds the allocations of requests, with a tenth to spare.
// Allocations cost more than anything else that the program itself does. It
// must not run in parallel, and the race detector allocates too.
func TestAllocations(t *testing.T) {
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	for path, most := range map[string]float64{
		"/status":                450,
		"/bookings?per_page=20":  3900,
		"/bookings?per_page=100": 13300,
		"/services":              1550,
		"/customers?per_page=20": 3050,
		"/orders":                1950,
		"/availability?service_id=6&agent_id=2&date=2027-01-12": 2630,
	} {
		t.Run(path, func(t *testing.T) {
			allocations := testing.AllocsPerRun(20, func() { s.serveGet(t, path) })
			if allocations > most {
				t.Errorf("%.0f allocations, want at most %.0f", allocations, most)
			}
		})
	}
}
