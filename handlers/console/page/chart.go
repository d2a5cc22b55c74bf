package page

import (
	"fmt"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Chart stacks numbers over time. Its text is HTML, so that it keeps its size on a small screen while the
// picture stretches.
type Chart struct {
	ID     string
	Title  Text
	Series []Series
	Labels []string // of the columns, for tooltips and the table
	Axis   []Text   // evenly spread below the picture
	Mark   int      // the column to mark, for example today's; -1 for none
	Hint   Phrase   // nil for none
}

// Series is a row of numbers, one for each column.
type Series struct {
	Name   Text
	Class  string // has the colour
	Values []int
}

func (s Series) total() (sum int) {
	for _, value := range s.Values {
		sum += value
	}
	return sum
}

const chartHeight = 100

// top returns the end of the scale: the largest sum, rounded up to 1, 2 or 5 times a power of ten.
func (c Chart) top() int {
	largest := 1
	for i := range c.Labels {
		sum := 0
		for _, s := range c.Series {
			sum += s.Values[i]
		}
		largest = max(largest, sum)
	}
	for power := 1; ; power *= 10 {
		for _, step := range []int{1, 2, 5} {
			if largest <= step*power {
				return step * power
			}
		}
	}
}

// View shows the chart, and its numbers as a table.
func (c Chart) View() g.Node {
	top := c.top()
	return h.Figure(h.Class("chart"), h.Aria("labelledby", c.ID),
		h.FigCaption(h.H3(h.ID(c.ID), c.Title), h.Ul(h.Class("legend"), g.Map(c.Series, func(s Series) g.Node {
			return h.Li(h.Class(s.Class), s.Name, g.Text(" "), h.Strong(g.Text(strconv.Itoa(s.total()))))
		}))),
		h.Div(h.Class("plot"),
			h.Span(h.Class("scale"), g.Text(strconv.Itoa(top))),
			g.El("svg", g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", len(c.Labels)*10, chartHeight)), g.Attr("preserveAspectRatio", "none"), h.Aria("hidden", "true"),
				g.If(c.Mark >= 0, rect("marked", c.Mark*10, 0, 10, chartHeight)), c.bars(top), c.columns()),
		),
		h.Div(h.Class("axis"), h.Aria("hidden", "true"), g.Map(c.Axis, func(text Text) g.Node { return h.Span(text) })),
		g.If(c.Hint != nil, h.P(h.Class("hint"), c.Hint)),
		c.table(),
	)
}

func rect(class string, x int, y float64, width int, height float64, inside ...g.Node) g.Node {
	return g.El("rect", h.Class(class), g.Attr("x", strconv.Itoa(x)), g.Attr("y", fmt.Sprintf("%.4g", y)), g.Attr("width", strconv.Itoa(width)), g.Attr("height", fmt.Sprintf("%.4g", height)), g.Group(inside))
}

func (c Chart) bars(top int) g.Node {
	var bars g.Group
	for i := range c.Labels {
		y := float64(chartHeight)
		for _, s := range c.Series {
			if s.Values[i] == 0 {
				continue
			}
			height := max(float64(s.Values[i])/float64(top)*chartHeight, 1) // one among many must be visible
			y -= height
			bars = append(bars, rect(s.Class, i*10+1, max(y, 0), 8, height))
		}
	}
	return bars
}

// columns shows the numbers of a column as a tooltip.
func (c Chart) columns() g.Node {
	var all g.Group
	for i, label := range c.Labels {
		text := Phrases{Name(label)}
		for _, s := range c.Series {
			if s.Values[i] != 0 {
				text = append(text, Name("\n"), s.Name, Name(": "+strconv.Itoa(s.Values[i])))
			}
		}
		if len(text) > 1 {
			all = append(all, rect("column", i*10, 0, 10, chartHeight, g.El("title", text)))
		}
	}
	return all
}

// table has the same numbers for screen readers, without empty columns.
func (c Chart) table() g.Node {
	var rows g.Group
	for i, label := range c.Labels {
		sum, cells := 0, g.Group{h.Th(h.Scope("row"), g.Text(label))}
		for _, s := range c.Series {
			sum += s.Values[i]
			cells = append(cells, h.Td(g.Text(strconv.Itoa(s.Values[i]))))
		}
		if sum > 0 {
			rows = append(rows, h.Tr(cells))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return h.Details(h.Summary(Text("As a table"), ScreenReaderText(Phrases{Name(": "), c.Title})),
		h.Div(h.Class("numbers"), h.TabIndex("0"), h.Role("region"), h.Aria("labelledby", c.ID),
			h.Table(
				h.THead(h.Tr(h.Th(h.Scope("col"), Text("Time")), g.Map(c.Series, func(s Series) g.Node { return h.Th(h.Scope("col"), s.Name) }))),
				h.TBody(rows),
			),
		),
	)
}
