package overlaps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/slots"
)

// TestOverlapsOfADay: pairs of an agent on a day share a timeline, which goes on after
// midnight.
func TestOverlapsOfADay(t *testing.T) {
	t.Parallel()
	at := func(date string, start, end int) slots.ConflictingBooking {
		return slots.ConflictingBooking{Agent: "Ada", Date: date, Start: start, End: end}
	}
	bookings := map[int64]slots.ConflictingBooking{
		1: at("2026-12-01", 9*60, 10*60), 2: at("2026-12-01", 9*60+30, 11*60), 3: at("2026-12-01", 10*60+50, 12*60+1),
		4: at("2026-12-02", 23*60, 30), 5: at("2026-12-03", 10, 60),
	}
	got := Of([]slots.Conflict{{Agent: 1, First: 1, Second: 2}, {Agent: 1, First: 2, Second: 3, BuffersOnly: true}, {Agent: 1, First: 4, Second: 5}, {Agent: 2, Asset: 7, First: 1, Second: 3}}, bookings, map[int64]string{7: "Sauna"}, "")
	placed := func(id int64, from, to int) booking {
		return booking{ConflictingBooking: bookings[id], ID: id, From: from, To: to}
	}
	want := []Group{
		{Whose: "Ada", Date: "2026-12-01", Start: 9 * 60, End: 13 * 60, Bookings: []booking{placed(1, 540, 600), placed(2, 570, 660), placed(3, 650, 721)}},
		{Whose: "Ada", Date: "2026-12-02", Start: 23 * 60, End: 25 * 60, Bookings: []booking{placed(4, 1380, 1470), placed(5, 1450, 1500)}},
		{Whose: "Sauna", Date: "2026-12-01", Start: 9 * 60, End: 13 * 60, Bookings: []booking{placed(1, 540, 600), placed(3, 650, 721)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
