package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bookside/bookside/docker/load"
)

// measured identifies a measurement: a row, on a site with this many bookings, with this many clients of a
// system.
type measured struct {
	row               string
	bookings, clients int
	system            string
}

// with returns the same for another system.
func (m measured) with(system string) measured {
	m.system = system
	return m
}

// String names everything but the system.
func (m measured) String() string {
	text := fmt.Sprintf("%s, %d", m.row, m.clients)
	if m.bookings > 0 {
		text += fmt.Sprintf(", %d", m.bookings)
	}
	return text
}

// result is the best rate of all rounds.
type result struct {
	load.Rate
	busy  int // answers that asked to retry
	taken int // slots that were taken meanwhile
}

// results are those of a run, in the order of Bookside's.
type results struct {
	order []measured
	best  map[measured]result
}

func (r *results) add(m measured, rate load.Rate, busy, taken int) {
	if r.best == nil {
		r.best = map[measured]result{}
	}
	if m.system == bookside && !slices.Contains(r.order, m) {
		r.order = append(r.order, m)
	}
	if rate.PerSecond > r.best[m].PerSecond {
		r.best[m] = result{rate, busy, taken}
	}
}

// table prints requests per second and their times, beside those of PHP and of bare SQL.
func (r *results) table(out io.Writer) error {
	var text, notes strings.Builder
	text.WriteString("row, clients, bookings\treq/s\tmedian ms\tp99 ms\tPHP req/s\tmedian ms\ttimes PHP\tbare SQL/s\tof bare\t\n")
	for _, m := range r.order {
		ours, other, bare := r.best[m], r.best[m.with(php)], r.best[m.with(bareSQL)]
		beside := "\t\t"
		if other.Requests > 0 {
			beside = fmt.Sprintf("%.0f\t%s\t%.1f", other.PerSecond, milliseconds(other.Median), ours.PerSecond/other.PerSecond)
		}
		fmt.Fprintf(&text, "%s\t%.0f\t%s\t%s\t%s\t%.0f\t%.0f %%\t\n", m, ours.PerSecond, milliseconds(ours.Median), milliseconds(ours.P99), beside, bare.PerSecond, 100*ours.PerSecond/bare.PerSecond)
		if ours.busy+ours.taken > 0 {
			fmt.Fprintf(&notes, "%s: %d of %d requests were told to come again, and %d found their slot taken\n", m, ours.busy, ours.Requests, ours.taken)
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, notes.String())
	return err
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}

// colours are those of the bars, in order.
var colours = []struct{ system, colour string }{{bookside, "#1f6feb"}, {php, "#d1570a"}, {bareSQL, "#8c959f"}}

// picture draws the rates as bars on a logarithmic scale.
func (r *results) picture(title string) string {
	const width, left, rowSpace = 860, 250, 14
	var c strings.Builder
	y := 30
	label := func(x, y int, class, format string, args ...any) {
		fmt.Fprintf(&c, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, html.EscapeString(fmt.Sprintf(format, args...)))
	}
	bar := func(x, y, long int, colour string) {
		fmt.Fprintf(&c, `<rect x="%d" y="%d" width="%d" height="10" fill="%s"/>`+"\n", x, y, long, colour)
	}
	label(20, y, "dim", "%s", title)
	y += 28
	label(20, y, "", "row, clients, bookings")
	for i, s := range colours {
		bar(left+i*110, y-10, 10, s.colour)
		label(left+i*110+15, y, "", "%s", s.system)
	}
	low, high := math.Inf(1), 0.0
	for _, result := range r.best {
		low, high = min(low, result.PerSecond), max(high, result.PerSecond)
	}
	low = math.Pow(10, math.Floor(math.Log10(low)))
	y += 12
	for _, m := range r.order {
		top := y
		for _, s := range colours {
			if result := r.best[m.with(s.system)]; result.Requests > 0 {
				long := max(2, int(math.Log10(result.PerSecond/low)/math.Log10(high/low)*(width-left-170)))
				bar(left, y, long, s.colour)
				label(left+long+6, y+10, "dim", "%.0f, p99 %s ms", result.PerSecond, milliseconds(result.P99))
				y += rowSpace
			}
		}
		label(left-10, (top+y)/2+3, "end", "%s", m)
		y += 8
	}
	const style = `text{font:12px system-ui,sans-serif;fill:#1f2328}.end{text-anchor:end}.dim{fill:#656d76}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}}`
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img"><title>%s</title><style>%s</style>`+"\n%s</svg>\n",
		width, y+20, html.EscapeString(title), style, c.String())
}
