package availability

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bookside/bookside/fixtures/expect"
)

// at returns a booking of agent 1, service 1, location 1 with one seat.
func at(id int64, day Day, from, to Minutes) Booking {
	return Booking{ID: id, Agent: 1, Service: 1, Location: 1, Attendees: 1, Start: Moment{day, from}, End: Moment{day, to}}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	const day = Day(20_000)
	change := func(b Booking, change func(*Booking)) Booking {
		change(&b)
		return b
	}
	elsewhere := func(b *Booking) { b.Location = 2 }
	otherService := func(b *Booking) { b.Service = 2 }
	group := func(b *Booking) { b.Service = 3 }
	pair := func(first, second int64) []Conflict { return []Conflict{{Agent: 1, First: first, Second: second}} }
	for name, c := range map[string]struct {
		bookings []Booking
		rules    Rules
		want     []Conflict
	}{
		"apart":                 {bookings: []Booking{at(1, day, 540, 600), at(2, day, 660, 720)}},
		"one after the other":   {bookings: []Booking{at(1, day, 540, 600), at(2, day, 600, 660)}},
		"overlapping":           {bookings: []Booking{at(1, day, 570, 630), at(2, day, 540, 600)}, want: pair(2, 1)},
		"the same time":         {bookings: []Booking{at(2, day, 540, 600), at(1, day, 540, 600)}, want: pair(1, 2)},
		"other days":            {bookings: []Booking{at(1, day, 540, 600), at(2, day+1, 540, 600)}},
		"other agent":           {bookings: []Booking{at(1, day, 540, 600), change(at(2, day, 540, 600), func(b *Booking) { b.Agent = 2 })}},
		"past":                  {bookings: []Booking{at(1, day-1, 540, 600), at(2, day-1, 540, 600)}},
		"without times":         {bookings: []Booking{at(1, day, 540, 600), change(at(2, day, 540, 600), func(b *Booking) { b.Incomplete = true })}},
		"ends before it begins": {bookings: []Booking{at(1, day, 540, 600), at(2, day, 590, 550)}},
		"buffers": {bookings: []Booking{
			change(at(1, day, 540, 600), func(b *Booking) { b.BufferAfter = 10 }), change(at(2, day, 615, 660), func(b *Booking) { b.BufferBefore = 10 }),
		}, want: []Conflict{{Agent: 1, First: 1, Second: 2, BuffersOnly: true}}},
		"buffers that touch": {bookings: []Booking{
			change(at(1, day, 540, 600), func(b *Booking) { b.BufferAfter = 10 }), change(at(2, day, 620, 660), func(b *Booking) { b.BufferBefore = 10 }),
		}},
		"other service":           {bookings: []Booking{at(1, day, 540, 600), change(at(2, day, 570, 660), otherService)}, want: pair(1, 2)},
		"other service, allowed":  {bookings: []Booking{at(1, day, 540, 600), change(at(2, day, 570, 660), otherService)}, rules: Rules{MultipleServicesAtTime: true}},
		"elsewhere, allowed":      {bookings: []Booking{at(1, day, 540, 600), change(at(2, day, 570, 660), elsewhere)}},
		"elsewhere":               {bookings: []Booking{at(1, day, 540, 600), change(at(2, day, 570, 660), elsewhere)}, rules: Rules{OneLocationAtTime: true}, want: pair(1, 2)},
		"seats enough":            {bookings: []Booking{change(at(1, day, 540, 600), group), change(at(2, day, 540, 600), group), change(at(3, day, 570, 630), group)}},
		"seats for those at once": {bookings: []Booking{change(at(1, day, 540, 600), group), change(at(2, day, 540, 600), group), change(at(3, day, 600, 660), group), change(at(4, day, 570, 660), group)}},
		"too many seats":          {bookings: []Booking{change(at(1, day, 540, 600), group), change(at(2, day, 540, 600), func(b *Booking) { b.Service, b.Attendees = 3, 3 })}, want: pair(1, 2)},
		"buffers past midnight": {bookings: []Booking{
			change(at(1, day, 1380, 1430), func(b *Booking) { b.BufferAfter = 60 }), change(at(2, day+1, 10, 60), func(b *Booking) { b.BufferBefore = 60 }),
		}},
		"buffers after midnight": {bookings: []Booking{
			change(at(1, day, 1380, 10), func(b *Booking) { b.End.Day++; b.BufferAfter = 60 }), at(2, day+1, 30, 90),
		}, want: []Conflict{{Agent: 1, First: 1, Second: 2, BuffersOnly: true}}},
		"past midnight": {bookings: []Booking{
			change(at(1, day, 1380, 60), func(b *Booking) { b.End.Day++ }), at(2, day+1, 30, 90), at(3, day, 1400, 1440),
		}, want: []Conflict{{Agent: 1, First: 1, Second: 3}, {Agent: 1, First: 1, Second: 2}}},
		"until midnight": {bookings: []Booking{change(at(1, day, 1380, 1440), func(b *Booking) { b.End.Day++ }), at(2, day+1, 0, 60), at(3, day+1, 1380, 1440)}},
		"until midnight, yesterday": {bookings: []Booking{
			change(at(1, day-1, 1380, 1440), func(b *Booking) { b.End.Day++ }), change(at(2, day-1, 1380, 1440), func(b *Booking) { b.End.Day++ }),
		}},
		"of two days": {bookings: []Booking{change(at(1, day, 600, 600), func(b *Booking) { b.End.Day = day + 1 }), at(2, day+1, 540, 600)}, want: pair(1, 2)},
		"stored with an end many days later": {bookings: []Booking{
			change(at(1, day, 600, 600), func(b *Booking) { b.End.Day, b.Duration = LastDay, 60 }), at(2, day+1, 540, 600), at(3, day, 630, 690),
		}, want: pair(1, 3)},
		"stored with an end before its start": {bookings: []Booking{
			change(at(1, day, 600, 540), func(b *Booking) { b.Duration = 60 }), change(at(2, day, 630, 690), func(b *Booking) { b.End.Day, b.Duration = day-1, 60 }),
		}, want: pair(1, 2)},
	} {
		got := Conflicts(c.bookings, day, Clock{}, c.rules, map[int64]int{3: 3}, 100)
		expect.Equal(t, c.want, got, name)
	}
}

func TestConflictsStopAtTheLimit(t *testing.T) {
	t.Parallel()
	var bookings []Booking
	for id := range int64(10) {
		bookings = append(bookings, at(id+1, 100, 540, 600))
	}
	all := Conflicts(bookings, 0, Clock{}, Rules{}, nil, 1000)
	if len(all) != 45 {
		t.Fatalf("%d conflicts", len(all))
	}
	expect.Equal(t, all[:7], Conflicts(bookings, 0, Clock{}, Rules{}, nil, 7))
}

// naiveConflicts checks every minute of every pair, as a person would, without
// sorting or shortcuts.
func naiveConflicts(bookings []Booking, from Day, rules Rules, capacity map[int64]int) []Conflict {
	minutes := func(b Booking, buffers bool) map[int]bool {
		begin, end := int(b.Start.Day)*1440+int(b.Start.Minutes), int(b.End.Day)*1440+int(b.End.Minutes)
		if b.End.Day > b.Start.Day && b.End.Minutes == 1440 {
			end -= 1440
		}
		if b.End.Minutes == 0 || end <= begin || end > (int(b.Start.Day)+2)*1440 {
			end = begin + int(b.Duration)
		}
		if b.Incomplete || begin >= end || end <= int(from)*1440 {
			return nil
		}
		if buffers {
			day := begin / 1440 * 1440
			midnight := (end + 1439) / 1440 * 1440
			begin, end = max(day, begin-int(b.BufferBefore)), min(midnight, end+int(b.BufferAfter))
		}
		set := map[int]bool{}
		for m := begin; m < end; m++ {
			set[m] = true
		}
		return set
	}
	first := func(set map[int]bool) int {
		least := 1 << 40
		for m := range set {
			least = min(least, m)
		}
		return least
	}
	share := func(a, b map[int]bool) bool {
		for m := range a {
			if b[m] {
				return true
			}
		}
		return false
	}
	var found []Conflict
	for _, b := range bookings {
		busy := minutes(b, true)
		start := first(busy)
		for _, a := range bookings {
			earlier := minutes(a, true)
			if a.ID == b.ID || a.Agent != b.Agent || !share(earlier, busy) || cmp.Or(cmp.Compare(first(earlier), start), cmp.Compare(a.ID, b.ID)) > 0 {
				continue
			}
			conflict := a.Location != b.Location && rules.OneLocationAtTime || a.Location == b.Location && a.Service != b.Service && !rules.MultipleServicesAtTime
			if a.Location == b.Location && a.Service == b.Service {
				seats := 0
				for _, other := range bookings {
					if other.Agent == b.Agent && other.Location == b.Location && other.Service == b.Service {
						occupied := minutes(other, true)
						if other.ID == b.ID || occupied[start] && cmp.Or(cmp.Compare(first(occupied), start), cmp.Compare(other.ID, b.ID)) < 0 {
							seats += other.Attendees
						}
					}
				}
				conflict = seats > max(capacity[b.Service], 1)
			}
			if conflict {
				found = append(found, Conflict{Agent: b.Agent, First: a.ID, Second: b.ID, BuffersOnly: !share(minutes(a, false), minutes(b, false))})
			}
		}
	}
	return found
}

func TestConflictsMatchModel(t *testing.T) {
	t.Parallel()
	const from = Day(100)
	small := func(t *rapid.T, most int, label string) int { return rapid.IntRange(0, most).Draw(t, label) }
	rapid.Check(t, func(t *rapid.T) {
		var bookings []Booking
		for id := range small(t, 14, "bookings") {
			start := Moment{from + Day(small(t, 3, "day")-1), Minutes(20 * small(t, 71, "start"))}
			length := Minutes(20 * small(t, 100, "length"))
			end := Moment{start.Day + Day((start.Minutes+length)/1440), (start.Minutes + length) % 1440}
			if end.Minutes == 0 && end.Day > start.Day && rapid.Bool().Draw(t, "midnight") {
				end.Minutes = 1440
			}
			bookings = append(bookings, Booking{
				ID: int64(id + 1), Agent: int64(small(t, 1, "agent")), Service: int64(small(t, 2, "service")), Location: int64(small(t, 1, "location")),
				Start: start, End: end, BufferBefore: Minutes(10 * small(t, 2, "before")), BufferAfter: Minutes(10 * small(t, 2, "after")),
				Duration: Minutes(20 * small(t, 20, "duration")), Attendees: 1 + small(t, 2, "attendees"), Incomplete: small(t, 20, "incomplete") == 0,
			})
		}
		rules := Rules{OneLocationAtTime: rapid.Bool().Draw(t, "one location"), MultipleServicesAtTime: rapid.Bool().Draw(t, "many services")}
		capacity := map[int64]int{1: 0, 2: 3}
		want := naiveConflicts(bookings, from, rules, capacity)
		got := Conflicts(bookings, from, Clock{}, rules, capacity, 1000)
		byIDs := func(a, b Conflict) int {
			return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second))
		}
		slices.SortFunc(want, byIDs)
		slices.SortFunc(got, byIDs)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

// TestAssetConflicts: bookings conflict that take more units of an asset than there are, while they last.
func TestAssetConflicts(t *testing.T) {
	t.Parallel()
	const day = Day(20_000)
	room, twins := TakenAsset{1, 1}, TakenAsset{2, 2}
	all := func(asset TakenAsset) map[int64][]TakenAsset {
		return map[int64][]TakenAsset{1: {asset}, 2: {asset}, 3: {asset}}
	}
	for name, c := range map[string]struct {
		bookings []Booking
		takes    map[int64][]TakenAsset
		want     []Conflict
	}{
		"one after the other":   {[]Booking{at(1, day, 540, 600), at(2, day, 600, 660)}, all(room), nil},
		"overlapping":           {[]Booking{at(1, day, 570, 630), at(2, day, 540, 600)}, all(room), []Conflict{{Agent: 1, Asset: 1, First: 2, Second: 1}}},
		"of several agents":     {[]Booking{at(1, day, 540, 600), {ID: 2, Agent: 5, Start: Moment{day, 570}, End: Moment{day, 630}}}, all(room), []Conflict{{Agent: 5, Asset: 1, First: 1, Second: 2}}},
		"another asset":         {[]Booking{at(1, day, 540, 600), at(2, day, 540, 600)}, map[int64][]TakenAsset{1: {room}, 2: {twins}}, nil},
		"none":                  {[]Booking{at(1, day, 540, 600), at(2, day, 540, 600)}, nil, nil},
		"two units":             {[]Booking{at(1, day, 540, 600), at(2, day, 540, 600)}, all(twins), nil},
		"two units, in turn":    {[]Booking{at(1, day, 540, 600), at(2, day, 570, 660), at(3, day, 600, 660)}, all(twins), nil},
		"two units, for three":  {[]Booking{at(1, day, 540, 600), at(2, day, 550, 660), at(3, day, 560, 570)}, all(twins), []Conflict{{Agent: 1, Asset: 2, First: 1, Second: 3}, {Agent: 1, Asset: 2, First: 2, Second: 3}}},
		"no unit counts as one": {[]Booking{at(1, day, 540, 600), at(2, day, 540, 600)}, all(TakenAsset{3, 0}), []Conflict{{Agent: 1, Asset: 3, First: 1, Second: 2}}},
		"buffers":               {[]Booking{{ID: 1, Start: Moment{day, 540}, End: Moment{day, 600}, BufferAfter: 30}, at(2, day, 610, 660)}, all(room), nil},
		"past midnight":         {[]Booking{{ID: 1, Start: Moment{day, 1400}, End: Moment{day + 1, 60}}, at(2, day+1, 0, 30)}, all(room), nil},
		"past":                  {[]Booking{at(1, day-1, 540, 600), at(2, day-1, 540, 600)}, all(room), nil},
	} {
		expect.Equal(t, c.want, AssetConflicts(c.bookings, day, Clock{}, c.takes, 10), name)
	}
	expect.Equal(t, 1, len(AssetConflicts([]Booking{at(1, day, 540, 600), at(2, day, 550, 660), at(3, day, 560, 570)}, day, Clock{}, all(twins), 1)), "pairs")
}
