package availability_test

import (
	"testing"

	a "github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestOffers: extensions take starts away, and add starts off the grid and outside of working hours; what is booked is not
// offered, whatever they say.
func TestOffers(t *testing.T) {
	t.Parallel()
	day, _ := a.ParseDay("2031-03-03")
	r := a.Resource{Agent: 1, Service: 1, Location: 1}
	in := a.Input{
		Service: a.Service{ID: 1, Step: 60, CapacityMax: 2}, Resources: []a.Resource{r}, Deviations: a.DefaultDeviations,
		WorkPeriods: []a.WorkPeriod{{Weekday: day.Weekday(), Start: 600, End: 840}},
		Bookings: []a.Booking{{
			ID: 9, Agent: 1, Service: 2, Location: 1, Attendees: 1, Start: a.Moment{Day: day, Minutes: 720}, End: a.Moment{Day: day, Minutes: 780}, Duration: 60,
		}},
		Offers: a.Offers{r: {day: {{Start: 600, Capacity: 1}, {Start: 720, Capacity: 2}, {Start: 735, Capacity: 2}, {Start: 1200, Capacity: 2}, {Start: 1500, Capacity: 2}}}},
	}
	calendar := a.NewCalendar(in)
	request := a.Request{Duration: 60, Attendees: 1}
	want := []a.Slot{
		{Start: 600, Capacity: 1}, {Start: 660, Reason: a.NotOffered}, {Start: 720, Reason: a.Booked, Booking: 9}, {Start: 735, Reason: a.Booked, Booking: 9},
		{Start: 780, Reason: a.NotOffered}, {Start: 1200, Capacity: 2},
	}
	expect.Equal(t, want, calendar.Day(day, request))
	expect.Equal(t, 1, len(calendar.Free(a.Moment{Day: day, Minutes: 1200}, request)), "an added start")
	request.Own = &a.Moment{Day: day, Minutes: 660}
	expect.Equal(t, 1, len(calendar.Free(*request.Own, request)), "a start that is there")
	in.Offers = in.Offers.Without(a.Moment{Day: day, Minutes: 600})
	expect.Equal(t, 0, len(a.NewCalendar(in).Free(a.Moment{Day: day, Minutes: 600}, a.Request{Duration: 60, Attendees: 1})), "a start that was taken away")
}
