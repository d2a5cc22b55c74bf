// Package overlaps shows the bookings of an agent or an asset that overlap, on the timeline of their day. It imports the
// adapter's packages whose records it shows, and the console's page and words.
package overlaps

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

// Group is a group of an agent's or an asset's bookings on a day that overlap.
type Group struct {
	Whose, Date string
	BuffersOnly bool
	Start, End  int // full hours around all of them, in minutes after midnight
	Bookings    []booking
}

type booking struct {
	slots.ConflictingBooking
	ID       int64
	From, To int    // minutes after midnight of the overlap's day
	URL      string // on the site; "" if its address is not known
}

// Of groups pairs by agent or asset, and by day, in the order of the pairs. The address is that of wp-admin; "" if it is not known.
func Of(pairs []slots.Conflict, bookings map[int64]slots.ConflictingBooking, assets map[int64]string, address string) []Group {
	type place struct {
		agent, asset int64
		date         string
	}
	var all []Group
	at := map[place]int{}
	for _, pair := range pairs {
		first := bookings[pair.First]
		key := place{pair.Agent, pair.Asset, first.Date}
		if pair.Asset != 0 {
			key.agent = 0
		}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, Group{Whose: cmp.Or(assets[pair.Asset], first.Agent), Date: first.Date, BuffersOnly: true})
		}
		o := &all[i]
		o.BuffersOnly = o.BuffersOnly && pair.BuffersOnly
		for _, id := range []int64{pair.First, pair.Second} {
			if !slices.ContainsFunc(o.Bookings, func(b booking) bool { return b.ID == id }) {
				o.Bookings = append(o.Bookings, onDay(o.Date, id, bookings[id], address))
			}
		}
	}
	for i := range all {
		o := &all[i]
		slices.SortFunc(o.Bookings, func(a, b booking) int { return cmp.Or(a.From-b.From, int(a.ID-b.ID)) })
		o.Start, o.End = o.Bookings[0].From, o.Bookings[0].To
		for _, b := range o.Bookings {
			o.Start, o.End = min(o.Start, b.From), max(o.End, b.To)
		}
		o.Start, o.End = o.Start/60*60, (o.End+59)/60*60
	}
	return all
}

// onDay places a booking on the timeline of a day, which extends past midnight.
func onDay(date string, id int64, b slots.ConflictingBooking, address string) booking {
	placed := booking{ConflictingBooking: b, ID: id, From: b.Start, To: b.End}
	day, err := time.Parse(time.DateOnly, date)
	begin, failed := time.Parse(time.DateOnly, b.Date)
	if err == nil && failed == nil {
		later := int(begin.Sub(day)/(24*time.Hour)) * page.DayMinutes
		placed.From, placed.To = b.Start+later, b.End+later
	}
	if placed.To <= placed.From {
		placed.To += page.DayMinutes // it ends after midnight
	}
	if address != "" {
		placed.URL = slots.BookingURL(address, id)
	}
	return placed
}

// View shows groups, and how many more pairs there are.
func View(all []Group, more int) g.Node {
	return g.Group{
		g.Map(all, Group.view),
		g.If(more > 0, h.P(page.Textf("%s: see %s.", page.Count(more, "%d more pair", "%d more pairs"), h.Kbd(page.Code("bookside check --conflicts"))))),
	}
}

// view shows the bookings below each other on the timeline of a day.
func (o Group) view() g.Node {
	title := page.List(page.Name(o.Whose), words.Date(o.Date))
	return h.Div(h.Class("timeline"),
		h.H3(title, g.If(o.BuffersOnly, g.Group{g.Text(" "), page.Text("(buffers only)")})),
		h.Ul(g.Map(o.Bookings, func(b booking) g.Node {
			name := g.Node(page.Textf("booking %d", b.ID))
			if b.URL != "" {
				name = h.A(h.Href(b.URL), h.Rel("noreferrer"), name)
			}
			return h.Li(
				h.Span(h.Class("when"), h.Strong(g.Text(page.Clock(b.From)+"–"+page.Clock(b.To)))),
				h.Span(h.Class("what"), g.Text(b.Customer+", "+b.Service+", "), name),
				g.El("svg", g.Attr("viewBox", fmt.Sprintf("0 0 %d 10", o.End-o.Start)), g.Attr("preserveAspectRatio", "none"), h.Aria("hidden", "true"),
					o.hours(), page.Rect("first", float64(b.From-o.Start), 1, float64(b.To-b.From), 8)),
			)
		})),
		h.Div(h.Class("axis"), h.Aria("hidden", "true"), h.Span(g.Text(page.Clock(o.Start))), h.Span(g.Text(page.Clock(o.End)))),
	)
}

// hours draws a line at each full hour.
func (o Group) hours() g.Node {
	var lines g.Group
	for minute := o.Start; minute <= o.End; minute += 60 {
		lines = append(lines, g.El("path", h.Class("hour"), g.Attr("d", fmt.Sprintf("M%d 0v10", minute-o.Start)), g.Attr("vector-effect", "non-scaling-stroke")))
	}
	return lines
}
