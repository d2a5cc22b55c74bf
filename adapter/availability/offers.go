package availability

import "slices"

// Offers are the starts that the site offers where its extensions decide about them: of each resource by day. They take
// the place of grid and working hours; what is known to occupy a resource still does.
type Offers map[Resource]map[Day][]Slot

// appendOffered appends the starts of a resource on a day: those of the grid, and those that extensions add to it.
func (c *Calendar) appendOffered(grid []Slot, r Resource, day Day, q Request) []Slot {
	offered := c.Offers[r][day]
	seats := make(map[Minutes]int, len(offered))
	for _, s := range offered {
		seats[s.Start] = s.Capacity
	}
	plain := *c
	plain.Offers = nil
	own := plain.appendSlots(nil, r, day, q)
	for i := range own {
		s := &own[i]
		left, known := seats[s.Start]
		delete(seats, s.Start)
		switch {
		case known:
			s.Capacity = min(s.Capacity, left)
		case s.Reason == Free && (q.Own == nil || *q.Own != Moment{day, s.Start}): // a booking that moves may keep its start
			s.Capacity, s.Reason = 0, NotOffered
		}
	}
	occupied, missing := c.occupancyOn(day, r, q), c.missingHour(day)
	for _, s := range offered {
		left, added := seats[s.Start]
		if !added || s.Start >= dayEnd || missing.start <= s.Start && s.Start < missing.end || !c.Clock.storable(Moment{day, s.Start}, q.Duration) {
			continue
		}
		delete(seats, s.Start)
		slot := c.slot(Moment{day, s.Start}, q, occupied)
		slot.Capacity = min(slot.Capacity, left)
		own = append(own, slot)
	}
	return append(grid, own...)
}

// Without returns the offers without one start of all resources.
func (o Offers) Without(at Moment) Offers {
	left := make(Offers, len(o))
	for r, days := range o {
		left[r] = map[Day][]Slot{}
		for day, starts := range days {
			left[r][day] = slices.DeleteFunc(slices.Clone(starts), func(s Slot) bool { return Moment{day, s.Start} == at })
		}
	}
	return left
}
