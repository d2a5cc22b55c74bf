package page

import (
	"fmt"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Chart plots numbers over time. Its text is HTML, so that it keeps its size on a small screen while the
// picture stretches.
type Chart struct {
	ID     string
	Title  Text
	Series []Series
	Labels []string // of the columns, for tooltips and the table
	Axis   []Text   // evenly spread below the picture
	Format func(float64) string
	Lines  bool   // instead of stacked bars
	Mark   int    // the column to mark, for example today's; -1 for none
	Hint   Phrase // nil for none
}

// Series is a row of numbers, one for each column.
type Series struct {
	Name   Text
	Class  string // has the colour
	Values []float64
	Total  Phrase // for the legend; nil for none
}

const chartHeight = 100

// top returns the end of the scale: the largest value, rounded up to 1, 2 or 5 times a power
// of ten.
func (c Chart) top() float64 {
	var largest float64
	for i := range c.Labels {
		var sum float64
		for _, s := range c.Series {
			if c.Lines {
				sum = max(sum, s.Values[i])
			} else {
				sum += s.Values[i]
			}
		}
		largest = max(largest, sum)
	}
	return roundUp(largest)
}

func roundUp(value float64) float64 {
	if value <= 0 {
		return 1
	}
	for power := 1e-3; ; power *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if value <= step*power {
				return step * power
			}
		}
		if power > 1e12 {
			return value
		}
	}
}

// View shows the chart, and its numbers as a table.
func (c Chart) View() g.Node {
	top := c.top()
	return h.Figure(h.Class("chart"), h.Aria("labelledby", c.ID),
		h.FigCaption(h.H3(h.ID(c.ID), c.Title), c.legend()),
		h.Div(h.Class("plot"),
			h.Span(h.Class("scale"), g.Text(c.Format(top))),
			g.El("svg", g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", len(c.Labels)*10, chartHeight)), g.Attr("preserveAspectRatio", "none"), h.Aria("hidden", "true"),
				c.marked(), c.shapes(top), c.columns()),
		),
		h.Div(h.Class("axis"), h.Aria("hidden", "true"), g.Map(c.Axis, func(text Text) g.Node { return h.Span(text) })),
		g.If(c.Hint != nil, h.P(h.Class("hint"), c.Hint)),
		c.table(),
	)
}

func (c Chart) legend() g.Node {
	return h.Ul(h.Class("legend"), g.Map(c.Series, func(s Series) g.Node {
		return h.Li(h.Class(s.Class), s.Name, g.If(s.Total != nil, g.Group{g.Text(" "), h.Strong(s.Total)}))
	}))
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 32) }

// Rect is a rectangle of a picture.
func Rect(class string, x, y, width, height float64, inside ...g.Node) g.Node {
	return g.El("rect", h.Class(class), g.Attr("x", number(x)), g.Attr("y", number(y)), g.Attr("width", number(width)), g.Attr("height", number(height)), g.Group(inside))
}

// marked is the background of the marked column.
func (c Chart) marked() g.Node {
	return g.If(c.Mark >= 0, Rect("marked", float64(c.Mark*10), 0, 10, chartHeight))
}

func (c Chart) shapes(top float64) g.Node {
	if c.Lines {
		return g.Map(c.Series, func(s Series) g.Node { return line(s, top) })
	}
	var bars g.Group
	for i := range c.Labels {
		y := float64(chartHeight)
		for _, s := range c.Series {
			if s.Values[i] == 0 {
				continue
			}
			height := max(s.Values[i]/top*chartHeight, 1) // one among many must be visible
			y -= height
			bars = append(bars, Rect(s.Class, float64(i*10)+1, max(y, 0), 8, height))
		}
	}
	return bars
}

// line connects the values, with a gap where there is none.
func line(s Series, top float64) g.Node {
	path, drawing := "", false
	for i, value := range s.Values {
		if value == 0 {
			drawing = false
			continue
		}
		y := chartHeight - value/top*chartHeight
		if drawing {
			path += fmt.Sprintf("L%d %s", i*10+5, number(y))
		} else {
			path += fmt.Sprintf("M%d %sh1", i*10+4, number(y)) // a value by itself is a dot
		}
		drawing = true
	}
	return g.El("path", h.Class(s.Class), g.Attr("d", path), g.Attr("fill", "none"), g.Attr("vector-effect", "non-scaling-stroke"))
}

// columns shows the numbers of a column as a tooltip.
func (c Chart) columns() g.Node {
	var all g.Group
	for i, label := range c.Labels {
		text := Phrases{Name(label)}
		empty := true
		for _, s := range c.Series {
			if s.Values[i] != 0 {
				text = append(text, Name("\n"), s.Name, Name(": "+c.Format(s.Values[i])))
				empty = false
			}
		}
		if !empty {
			all = append(all, Rect("column", float64(i*10), 0, 10, chartHeight, g.El("title", text)))
		}
	}
	return all
}

// table has the same numbers for screen readers, without empty columns.
func (c Chart) table() g.Node {
	var rows g.Group
	for i, label := range c.Labels {
		empty := true
		cells := g.Group{h.Th(h.Scope("row"), g.Text(label))}
		for _, s := range c.Series {
			empty = empty && s.Values[i] == 0
			cells = append(cells, h.Td(g.Text(c.Format(s.Values[i]))))
		}
		if !empty {
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
