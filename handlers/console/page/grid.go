package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// DayMinutes are the minutes of a day in a Grid.
const DayMinutes = 24 * 60

// gridStep is the height of a row of a grid, in minutes.
const gridStep = 5

// Grid shows the hours of a day for several people or things beside each other.
type Grid struct{ Columns []Column }

// Column is the day of one of them.
type Column struct {
	Title Phrase
	Open  []Span
	items []Item
}

// Span is a time of a day, in minutes after midnight.
type Span struct{ From, To int }

func (s Span) String() string {
	if s.To == DayMinutes {
		return Clock(s.From) + "–24:00"
	}
	return Clock(s.From) + "–" + Clock(s.To)
}

// OfDay reports whether a part of the time is on the day.
func (s Span) OfDay() bool { return s.To > 0 && s.From < DayMinutes }

func (s Span) overlaps(other Span) bool { return s.From < other.To && other.From < s.To }

// Item is something that takes time in a Column.
type Item struct {
	Span
	Class   string
	Behind  bool // whether others cover it
	Content func(Span) g.Node
}

// Add adds the part of an item that is on the day.
func (c *Column) Add(item Item) {
	if item.OfDay() {
		item.From, item.To = max(item.From, 0), min(item.To, DayMinutes)
		c.items = append(c.items, item)
	}
}

// room is the part of a column's width that an item has.
type room struct{ left, width, of int }

// arrange sorts items and puts those that overlap beside each other, each as wide as the time leaves room.
func arrange(items []Item) []room {
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	rooms := make([]room, len(items))
	var group []int // that overlap, directly or by others
	last := 0       // when they end
	for i, item := range items {
		if item.Behind {
			rooms[i] = room{0, 1, 1}
			continue
		}
		if item.From >= last {
			widen(items, rooms, group)
			group = nil
		}
		for slices.ContainsFunc(group, func(j int) bool { return rooms[j].left == rooms[i].left && items[j].overlaps(item.Span) }) {
			rooms[i].left++
		}
		group, last = append(group, i), max(last, item.To)
	}
	widen(items, rooms, group)
	return rooms
}

// widen gives each item of a group the width up to the next one that overlaps it.
func widen(items []Item, rooms []room, group []int) {
	of := 0
	for _, i := range group {
		of = max(of, rooms[i].left+1)
	}
	for _, i := range group {
		end := of
		for _, j := range group {
			if rooms[j].left > rooms[i].left && items[i].overlaps(items[j].Span) {
				end = min(end, rooms[j].left)
			}
		}
		rooms[i].width, rooms[i].of = end-rooms[i].left, of
	}
}

// hours returns the full hours around what is open and what is taken.
func (d Grid) hours() Span {
	shown := Span{DayMinutes, 0}
	for _, column := range d.Columns {
		for _, item := range column.items {
			if !item.Behind {
				shown.From, shown.To = min(shown.From, item.From), max(shown.To, item.To)
			}
		}
		for _, open := range column.Open {
			shown.From, shown.To = min(shown.From, open.From), max(shown.To, min(open.To, DayMinutes))
		}
	}
	if shown.From >= shown.To {
		return Span{8 * 60, 18 * 60}
	}
	return Span{shown.From / 60 * 60, (shown.To + 59) / 60 * 60}
}

// View shows a list for each column, and returns the rules that put its items beside the hours: pages have no styles in
// elements.
func (d Grid) View() (view g.Node, style string) {
	shown := d.hours()
	var rules strings.Builder
	places := 0
	place := func(s Span, r room) string {
		from, to := max(s.From, shown.From)-shown.From, min(s.To, shown.To)-shown.From
		row, end := from/gridStep, (to+gridStep-1)/gridStep
		places++
		fmt.Fprintf(&rules, ".agenda .at-%d{grid-row:%d/span %d;margin-left:%.4g%%;width:%.4g%%}\n", places, row+1, max(end-row, 1), float64(r.left)*100/float64(r.of), float64(r.width)*100/float64(r.of))
		return fmt.Sprintf(" at-%d", places)
	}
	whole := room{0, 1, 1}
	fmt.Fprintf(&rules, "@media (min-width: 48.01rem) {\n.agenda{grid-template-columns:3.25rem repeat(%d,minmax(8.5rem,1fr))}\n", len(d.Columns))
	var hours, columns g.Group
	for minute := shown.From; minute < shown.To; minute += 60 {
		hours = append(hours, h.Li(h.Class("hour"+place(Span{minute, minute + 60}, whole)), g.Text(Clock(minute))))
	}
	for _, c := range d.Columns {
		var open []string
		var list g.Group
		for _, span := range c.Open {
			open = append(open, span.String())
			list = append(list, h.Li(h.Class("open"+place(span, whole)), h.Aria("hidden", "true")))
		}
		text := Phrase(Text("closed"))
		if len(open) > 0 {
			text = Textf("open %s", strings.Join(open, ", "))
		}
		for i, r := range arrange(c.items) {
			item := c.items[i]
			list = append(list, h.Li(h.Class(item.Class+place(item.Span, r)), item.Content(item.Span)))
		}
		columns = append(columns, h.Section(
			h.H2(c.Title),
			h.P(h.Class("hint"), Attr("title", text), text, g.If(len(c.items) == 0, Text("; nothing is booked"))),
			h.Ol(list),
		))
	}
	rules.WriteString("}\n")
	head := h.Div(h.Class("hours"), h.Aria("hidden", "true"), h.P(g.Raw("&nbsp;")), h.P(h.Class("hint"), g.Raw("&nbsp;")), h.Ol(hours))
	return h.Div(h.Class("agenda"), head, columns), rules.String()
}
