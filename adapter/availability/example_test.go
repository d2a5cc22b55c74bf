package availability_test

import (
	"fmt"
	"time"

	"github.com/bookside/bookside/adapter/availability"
)

// An agent works from 9 to 12 and has a booking from 10 to 11: hours at 9 and 11 are free.
func ExampleCalendar_Day() {
	day, _ := availability.ParseDay("2026-12-07")
	at := func(hour availability.Minutes) availability.Moment {
		return availability.Moment{Day: day, Minutes: hour * 60}
	}
	calendar := availability.NewCalendar(availability.Input{
		Service:     availability.Service{ID: 1, Step: 60, CapacityMax: 1},
		Resources:   []availability.Resource{{Agent: 7, Service: 1, Location: 3}},
		WorkPeriods: []availability.WorkPeriod{{Weekday: day.Weekday(), Start: 9 * 60, End: 12 * 60}},
		Bookings:    []availability.Booking{{ID: 42, Agent: 7, Service: 1, Location: 3, Start: at(10), End: at(11), Attendees: 1}},
		Deviations:  availability.DefaultDeviations,
	})
	for _, slot := range calendar.Day(day, availability.Request{Duration: 60, Attendees: 1}) {
		if slot.Reason == availability.Free {
			fmt.Printf("%02d:%02d free\n", slot.Start/60, slot.Start%60)
		} else {
			fmt.Printf("%02d:%02d %s by booking %d\n", slot.Start/60, slot.Start%60, slot.Reason, slot.Booking)
		}
	}
	// Output:
	// 09:00 free
	// 10:00 booked by booking 42
	// 11:00 free
}

// Both agents are free, and the site gives bookings for any agent to the one with the fewest bookings on
// the day.
func ExampleCalendar_Assign() {
	day, _ := availability.ParseDay("2026-12-07")
	calendar := availability.NewCalendar(availability.Input{
		Service:     availability.Service{ID: 1, Step: 30, CapacityMax: 1},
		Resources:   []availability.Resource{{Agent: 7, Service: 1, Location: 3}, {Agent: 8, Service: 1, Location: 3}},
		WorkPeriods: []availability.WorkPeriod{{Weekday: day.Weekday(), Start: 9 * 60, End: 17 * 60}},
	})
	chosen, ok := calendar.Assign(
		availability.Moment{Day: day, Minutes: 10 * 60},
		availability.Request{Duration: 60, Attendees: 1},
		availability.Choice{Order: availability.IdlestAgent, Load: map[int64]int{7: 4, 8: 1}},
	)
	fmt.Println(chosen.Agent, ok)
	// Output: 8 true
}

// Customers must book two hours ahead and by the end of the year.
func ExampleNewWindow() {
	now := time.Date(2026, time.December, 7, 9, 30, 0, 0, time.UTC)
	bounds := availability.Bounds{Earliest: "+2 hours", Latest: "2026-12-31 23:00"}
	window := availability.NewWindow(now, availability.Bounds{}, bounds, availability.DefaultDeviations)
	fmt.Println(window.Opens.Day, window.Opens.Minutes/60, window.Opens.Minutes%60)
	fmt.Println(window.Closes.Day, window.Closes.Minutes/60, window.Bounded)
	// Output:
	// 2026-12-07 11 30
	// 2026-12-31 23 true
}

// Two bookings of one agent conflict if they overlap, even if only with their buffers.
func ExampleConflicts() {
	day, _ := availability.ParseDay("2026-12-07")
	booking := func(id int64, from, to availability.Minutes) availability.Booking {
		return availability.Booking{
			ID: id, Agent: 7, Service: 1, Location: 3, Attendees: 1, BufferAfter: 15,
			Start: availability.Moment{Day: day, Minutes: from}, End: availability.Moment{Day: day, Minutes: to},
		}
	}
	bookings := []availability.Booking{booking(1, 540, 600), booking(2, 605, 660), booking(3, 700, 760)}
	for _, c := range availability.Conflicts(bookings, day, availability.Clock{}, availability.Rules{}, map[int64]int{1: 1}, 10) {
		fmt.Println(c.First, c.Second, c.BuffersOnly)
	}
	// Output: 1 2 true
}
