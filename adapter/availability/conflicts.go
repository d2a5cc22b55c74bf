package availability

import (
	"cmp"
	"slices"
)

// Conflict is a pair of bookings that one agent, or one asset, cannot both have. First begins first.
type Conflict struct {
	Agent         int64 // of the second
	Asset         int64 // that has no unit for the second; 0 if the agent is the reason
	First, Second int64 // ids of bookings
	// BuffersOnly reports whether only the buffers overlap, and not the appointments
	// themselves.
	BuffersOnly bool
}

// stay is the time of a booking on a timeline, so that it can cross midnight.
type stay struct {
	daySpan
	end     Moment
	guarded period // with buffers
}

// stayOf returns the stay of a booking without its times. ok is false if the booking is incomplete, takes
// no time or ends before a day.
func stayOf(b *Booking, from Day, clock Clock) (s stay, ok bool) {
	if b.Incomplete {
		return s, false
	}
	s.booking, s.end = b, clock.StoredEnd(b.Start, b.End, b.Duration)
	return s, b.Start.Before(s.end) && Moment{from, 0}.Before(s.end)
}

// Conflicts returns at most limit pairs of bookings of one agent that the rules do not allow at the same
// time, buffers included, ordered by the start of the second. Bookings share the seats of a service at a
// location: one conflicts with those present when it begins if together they need more seats than the
// service's capacity. If bookings begin together, the one with the lower id was first. A service missing
// from capacity has one seat.
//
// Bookings that end before the day from are ignored. As in a calendar, which sees one day, buffers alone do
// not extend past midnight.
func Conflicts(bookings []Booking, from Day, clock Clock, rules Rules, capacity map[int64]int, limit int) []Conflict {
	gap := clock.gaps()
	// minute counts minutes continuously, leaving out those that the clock skips. The minutes then left
	// over at the end of the day belong to no booking.
	minute := func(at Moment) Minutes { return Minutes(at.Day)*dayEnd + gap(at.Day).elapsed(at.Minutes) }
	var stays []stay
	for i := range bookings {
		s, ok := stayOf(&bookings[i], from, clock)
		if !ok {
			continue
		}
		s.time = period{minute(s.booking.Start), minute(s.end)}
		s.guarded = s.withBuffers()
		s.guarded.start = max(s.guarded.start, minute(Moment{s.booking.Start.Day, 0}))
		s.guarded.end = min(s.guarded.end, minute(Moment{s.end.Day, dayEnd}))
		stays = append(stays, s)
	}
	slices.SortFunc(stays, func(a, b stay) int {
		return cmp.Or(cmp.Compare(a.guarded.start, b.guarded.start), cmp.Compare(a.booking.ID, b.booking.ID))
	})
	var found []Conflict
	present := map[int64][]stay{} // by agent: those that have not ended
	for _, s := range stays {
		agent := s.booking.Agent
		there := slices.DeleteFunc(present[agent], func(other stay) bool { return other.guarded.end <= s.guarded.start })
		found = append(found, s.conflicts(there, rules, capacity)...)
		if len(found) >= limit {
			return found[:limit]
		}
		present[agent] = append(there, s)
	}
	return found
}

// TakenAsset is an asset of which a booking takes one unit, and how many there are.
type TakenAsset struct {
	ID    int64
	Stock int64 // none counts as one
}

// AssetConflicts returns at most limit pairs of bookings that do not have enough units of an asset, ordered by the start of the
// second: a booking conflicts with those present when it begins if they already hold every unit. takes has what bookings take, by
// their ids. Buffers do not count, because those of the booking that was made last need not be free. As in the add-on, a booking
// that runs past midnight takes nothing, and those that end before the day from are ignored.
func AssetConflicts(bookings []Booking, from Day, clock Clock, takes map[int64][]TakenAsset, limit int) []Conflict {
	var stays []stay
	for i := range bookings {
		if s, ok := stayOf(&bookings[i], from, clock); ok && s.end.Day == s.booking.Start.Day { // it does not run past midnight
			stays = append(stays, s)
		}
	}
	slices.SortFunc(stays, func(a, b stay) int {
		return cmp.Or(cmp.Compare(a.booking.Start.Day, b.booking.Start.Day), cmp.Compare(a.booking.Start.Minutes, b.booking.Start.Minutes), cmp.Compare(a.booking.ID, b.booking.ID))
	})
	var found []Conflict
	present := map[int64][]stay{} // by asset: those that have not ended
	for _, s := range stays {
		for _, asset := range takes[s.booking.ID] {
			there := slices.DeleteFunc(present[asset.ID], func(other stay) bool { return !s.booking.Start.Before(other.end) })
			present[asset.ID] = append(there, s)
			if len(there) < int(max(asset.Stock, 1)) {
				continue
			}
			for _, other := range there {
				found = append(found, Conflict{Agent: s.booking.Agent, Asset: asset.ID, First: other.booking.ID, Second: s.booking.ID})
				if len(found) == limit {
					return found
				}
			}
		}
	}
	return found
}

// conflicts compares a booking with its agent's bookings that are present when it begins.
func (s stay) conflicts(there []stay, rules Rules, capacity map[int64]int) (found []Conflict) {
	seats := s.booking.Attendees
	for _, other := range there {
		if other.resource() == s.resource() {
			seats += other.booking.Attendees
		}
	}
	crowded := seats > max(capacity[s.booking.Service], 1)
	for _, other := range there {
		hold := rules.holds(other.booking, s.resource())
		if hold == holdsAll || hold == holdsSeats && crowded {
			found = append(found, Conflict{
				Agent: s.booking.Agent, First: other.booking.ID, Second: s.booking.ID, BuffersOnly: !other.time.overlaps(s.time),
			})
		}
	}
	return found
}

func (s stay) resource() Resource {
	return Resource{Agent: s.booking.Agent, Service: s.booking.Service, Location: s.booking.Location}
}
