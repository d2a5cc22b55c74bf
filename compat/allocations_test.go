//go:build !race

// The race detector empties pools now and then, which costs allocations.

package compat

import (
	"encoding/json"
	"io"
	"testing"
)

// A body is created for every request, so it must stay cheap. Not parallel, so
// that the count is exact.
func TestAvailabilityAllocations(t *testing.T) {
	asked, answer := grid()
	encoder := json.NewEncoder(io.Discard)
	allocations := testing.AllocsPerRun(100, func() {
		if err := encoder.Encode(View{}.Availability(asked, answer, "Europe/Berlin")); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 80 {
		t.Errorf("%.0f allocations for a day of %d starts", allocations, len(answer.Days[0].Slots))
	}
}
