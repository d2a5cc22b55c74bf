package page

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// DayMinutes are the minutes of a day in a Grid.
const DayMinutes = 24 * 60

const (
	gridStep    = 5 // the height of a row of a grid, in minutes
	gridLanes   = 6 // how many items are shown beside each other; more cover each other
	gridColumns = 7
)

// Grid shows the hours of days beside each other, at most gridColumns. It needs ServeGridStyle.
type Grid struct {
	Columns    []Column
	start, end int // full hours around everything, in minutes after midnight
}

// Column is a day in a Grid.
type Column struct {
	Title Phrase
	Path  string // of a page with more of it
	Today bool
	Open  []Span
	items []Item
	lanes int // beside each other
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

// Item is something that takes time in a Column.
type Item struct {
	Span
	Kind    string // the first class
	Classes string // the others
	Behind  bool   // whether others cover it
	Content func(Span) g.Node
	lane    int // from 1; 0 for the whole width
}

// Add adds the part of an item that is on the day.
func (c *Column) Add(item Item) {
	if item.OfDay() {
		item.From, item.To = max(item.From, 0), min(item.To, DayMinutes)
		c.items = append(c.items, item)
	}
}

// arrange puts items at the same time into lanes.
func (c *Column) arrange() {
	slices.SortStableFunc(c.items, func(a, b Item) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	c.lanes = 1
	var ends []int      // of the lanes
	var group, last int // where those that overlap begin, and when they end
	for i := range c.items {
		item := &c.items[i]
		if item.Behind {
			continue
		}
		if item.From >= last {
			group, ends = i, nil
		}
		lane := slices.IndexFunc(ends, func(end int) bool { return end <= item.From })
		if lane < 0 {
			lane, ends = len(ends), append(ends, 0)
		}
		ends[lane], last = item.To, max(last, item.To)
		if len(ends) == 1 {
			continue // the whole width, unless others follow
		}
		for j := group; j < i; j++ {
			if !c.items[j].Behind {
				c.items[j].lane = max(c.items[j].lane, 1)
			}
		}
		item.lane = min(lane+1, gridLanes)
		c.lanes = max(c.lanes, item.lane)
	}
}

// limitHours sets the first and the last hour that are shown: those around what is open and what is taken.
func (d *Grid) limitHours() {
	d.start, d.end = DayMinutes, 0
	include := func(s Span) { d.start, d.end = min(d.start, s.From), max(d.end, min(s.To, DayMinutes)) }
	for _, column := range d.Columns {
		for _, open := range column.Open {
			include(open)
		}
		for _, item := range column.items {
			if !item.Behind {
				include(item.Span)
			}
		}
	}
	if d.start >= d.end {
		d.start, d.end = 8*60, 18*60
	}
	d.start, d.end = d.start/60*60, (d.end+59)/60*60
}

// View shows a list for each column; the style sheet puts their items beside the hours.
func (d Grid) View() g.Node {
	d.limitHours()
	var hours g.Group
	for minute := d.start; minute < d.end; minute += 60 {
		hours = append(hours, h.Li(h.Class(d.place(Span{minute, minute + 60})), g.Text(Clock(minute))))
	}
	return h.Div(h.Class("agenda columns-"+strconv.Itoa(len(d.Columns))),
		h.Div(h.Class("hours"), h.Aria("hidden", "true"), h.P(g.Raw("&nbsp;")), h.P(h.Class("hint"), g.Raw("&nbsp;")), h.Ol(hours)),
		g.Map(d.Columns, d.column),
	)
}

// place returns the classes of a time.
func (d *Grid) place(s Span) string {
	row := (max(s.From, d.start) - d.start) / gridStep
	end := (min(s.To, d.end) - d.start + gridStep - 1) / gridStep
	return fmt.Sprintf("from-%d for-%d", row, max(end-row, 1))
}

func (d *Grid) column(c Column) g.Node {
	c.arrange()
	open := make([]string, len(c.Open))
	var shades g.Group
	for i, hours := range c.Open {
		open[i] = hours.String()
		shades = append(shades, h.Li(h.Class("open "+d.place(hours)), h.Aria("hidden", "true")))
	}
	text := Phrase(Text("closed"))
	if len(open) > 0 {
		text = Textf("open %s", strings.Join(open, ", "))
	}
	return h.Section(g.If(c.Today, h.Class("today")),
		h.H2(h.A(h.Href(c.Path), c.Title)),
		h.P(h.Class("hint"), Attr("title", text), text, g.If(len(c.items) == 0, Text("; nothing is booked"))),
		h.Ol(h.Class("lanes-"+strconv.Itoa(c.lanes)), shades, g.Map(c.items, d.item)),
	)
}

func (d *Grid) item(i Item) g.Node {
	class := i.Kind + " " + d.place(i.Span)
	if i.lane > 0 {
		class += " lane-" + strconv.Itoa(i.lane)
	}
	if i.Classes != "" {
		class += " " + i.Classes
	}
	return h.Li(h.Class(class), i.Content(i.Span))
}

// gridStyle places items by classes: a page may have no styles in elements.
var gridStyle = func() string {
	var css strings.Builder
	css.WriteString("@media (min-width: 48.01rem) {\n")
	for row := range DayMinutes / gridStep {
		fmt.Fprintf(&css, ".from-%d{grid-row-start:%d}.for-%d{grid-row-end:span %d}\n", row, row+1, row+1, row+1)
	}
	for n := 1; n <= gridColumns; n++ {
		fmt.Fprintf(&css, ".agenda .lane-%d{grid-column:%d}.lanes-%d{grid-template-columns:repeat(%d,minmax(0,1fr))}.columns-%d{grid-template-columns:3.25rem repeat(%d,minmax(8.5rem,1fr))}\n", n, n, n, n, n, n)
	}
	css.WriteString("}\n")
	return css.String()
}()

// ServeGridStyle serves the style sheet of grids.
func ServeGridStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "grid.css", time.Time{}, strings.NewReader(gridStyle))
}
