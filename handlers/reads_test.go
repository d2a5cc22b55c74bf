package handlers_test

import (
	"slices"
	"testing"

	"github.com/bookside/bookside/handlers"
)

// TestReadsSayWhatTheExtensionLacks: bookside compare learns from the declarations what only Bookside has.
func TestReadsSayWhatTheExtensionLacks(t *testing.T) {
	t.Parallel()
	var ours []string
	for _, r := range handlers.Reads() {
		if r.Ours {
			ours = append(ours, r.Path)
		}
		for _, p := range r.Parameters {
			if p.Ours {
				ours = append(ours, r.Path+"?"+p.Name)
			}
		}
	}
	for _, want := range []string{"/changes", "/holds/{id}", "/webhooks/{id}/deliveries", "/locations/{id}/calendar.ics", "/bookings?updated_from", "/customers?updated_to", "/availability?location_id", "/agents/availability?limit"} {
		if !slices.Contains(ours, want) {
			t.Errorf("%s is not marked as ours", want)
		}
	}
	for _, name := range []string{"/bookings", "/bookings?status", "/availability?service_id", "/agents/availability?location_id", "/coupons/{code}"} {
		if slices.Contains(ours, name) {
			t.Errorf("%s is marked as ours, though the extension has it", name)
		}
	}
}
