package availability

import (
	"testing"
	"time"
)

// practice returns a site of some agents and locations, all connected: weekly hours with a lunch break,
// eight bookings per day and agent, and a window.
func practice(agents, locations int64, days Day) Input {
	in := Input{
		Service:    Service{ID: 1, BufferBefore: 5, BufferAfter: 5, Step: 15, CapacityMin: 1, CapacityMax: 1},
		Rules:      Rules{OneLocationAtTime: true},
		Window:     NewWindow(time.Date(2026, 12, 7, 8, 0, 0, 0, time.UTC), Bounds{}, Bounds{Earliest: "+2 hours", Latest: "+3 months"}, DefaultDeviations),
		Deviations: DefaultDeviations,
	}
	for weekday := 1; weekday <= 7; weekday++ {
		in.WorkPeriods = append(in.WorkPeriods, WorkPeriod{Weekday: weekday, Start: 9 * 60, End: 12 * 60}, WorkPeriod{Weekday: weekday, Start: 13 * 60, End: 18 * 60})
	}
	for agent := int64(1); agent <= agents; agent++ {
		in.WorkPeriods = append(in.WorkPeriods, WorkPeriod{Scope: Scope{Agent: agent}, Weekday: 1, Start: 8 * 60, End: 17 * 60})
		for location := int64(1); location <= locations; location++ {
			in.Resources = append(in.Resources, Resource{Agent: agent, Service: 1, Location: location})
		}
		for day := monday; day < monday+days; day++ {
			for n := int64(0); n < 8; n++ {
				start := Moment{day, Minutes(9*60 + 60*n)}
				in.Bookings = append(in.Bookings, Booking{
					ID: int64(len(in.Bookings)) + 1, Agent: agent, Service: 1 + n%2, Location: 1,
					Start: start, End: Moment{day, start.Minutes + 30}, BufferAfter: 5, Attendees: 1,
				})
			}
		}
	}
	return in
}

func benchmarkDays(b *testing.B, agents, locations int64, days Day) {
	in := practice(agents, locations, days)
	q := Request{Duration: 30, BufferBefore: 5, BufferAfter: 5, Attendees: 1}
	b.ReportAllocs()
	offered := 0
	for b.Loop() {
		calendar := NewCalendar(in)
		for day := monday; day < monday+days; day++ {
			offered += len(calendar.Day(day, q))
		}
	}
	if offered == 0 {
		b.Fatal("no slots")
	}
}

// BenchmarkDay returns one agent's day, from rows to slots.
func BenchmarkDay(b *testing.B) { benchmarkDays(b, 1, 1, 1) }

// BenchmarkDayAny returns the day of any of eight agents at either of two locations.
func BenchmarkDayAny(b *testing.B) { benchmarkDays(b, 8, 2, 1) }

// Benchmark62Days returns two months of one agent.
func Benchmark62Days(b *testing.B) { benchmarkDays(b, 1, 1, 62) }
