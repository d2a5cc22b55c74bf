package availability

import (
	"cmp"
	"slices"
)

// Asset is a room or a device of which each booking of the service takes a unit, whatever its attendees. It
// applies with an add-on only.
type Asset struct {
	ID       int64
	Quantity int     // at least one counts
	Agents   []int64 // with whom alone it is taken; none for all
}

// TakenBy reports whether bookings of an agent take the asset.
func (a Asset) TakenBy(agent int64) bool {
	return len(a.Agents) == 0 || slices.Contains(a.Agents, agent)
}

// AssetUse is a booking that takes a unit of an asset, of whatever service, by its times as they are stored.
type AssetUse struct {
	Asset, Booking            int64 // Booking is 0 for a hold, and for what is hidden from the caller
	Day                       Day   // on which it begins, and counts
	Start, End                Minutes
	BufferBefore, BufferAfter Minutes
}

// takenAsset is an asset with the times at which its units are taken on a day.
type takenAsset struct {
	quantity int
	times    []takenTime
}

// takenTime is when a booking takes a unit; booking is 0 as in AssetUse.
type takenTime struct {
	period
	booking int64
}

// addUses sorts the uses of assets by days.
func (c *Calendar) addUses() {
	if len(c.AssetUses) > 0 {
		c.uses = map[Day][]AssetUse{}
	}
	for _, u := range c.AssetUses {
		c.uses[u.Day] = append(c.uses[u.Day], u)
	}
}

// assetsOn returns the assets that a resource takes. As in the add-on, whose times know no next day, a booking that runs
// past midnight ends before it begins, and takes nothing.
func (c *Calendar) assetsOn(day Day, r Resource, exclude []int64) (taken []takenAsset) {
	gap := c.gap(day)
	for _, a := range c.Assets {
		if !a.TakenBy(r.Agent) {
			continue
		}
		t := takenAsset{quantity: max(a.Quantity, 1)}
		for _, u := range c.uses[day] {
			if u.Asset == a.ID && !slices.Contains(exclude, u.Booking) {
				t.times = append(t.times, takenTime{period{gap.elapsed(u.Start) - u.BufferBefore, gap.elapsed(u.End) + u.BufferAfter}, u.Booking})
			}
		}
		taken = append(taken, t)
	}
	return taken
}

// full reports whether no unit is left for a time, and the first booking that takes one. Its bookings count even if they do
// not overlap each other.
func (t takenAsset) full(wanted period) (booking int64, full bool) {
	overlapping := 0
	for _, time := range t.times {
		if time.overlaps(wanted) {
			overlapping++
			booking = cmp.Or(booking, time.booking)
		}
	}
	return booking, overlapping >= t.quantity
}
