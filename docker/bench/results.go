package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
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

// result is the best rate of all rounds.
type result struct {
	rate
	busy  int // answers that asked to retry
	taken int // slots that were taken meanwhile
}

// results are those of a run, in the order of Bookside's.
type results struct {
	order []measured
	best  map[measured]result
}

func (r *results) add(m measured, reached rate, busy, taken int) {
	if r.best == nil {
		r.best = map[measured]result{}
	}
	if m.system == bookside && !slices.Contains(r.order, m) {
		r.order = append(r.order, m)
	}
	if reached.perSecond > r.best[m].perSecond {
		r.best[m] = result{reached, busy, taken}
	}
}

// table prints a table in Markdown: requests per second and their times, beside those of PHP and of bare SQL.
func (r *results) table(out io.Writer) error {
	var text, notes strings.Builder
	text.WriteString("| Row | Bookings | Clients | Requests/s | Median, ms | 99 %, ms | PHP | Times PHP | Bare SQL | Of bare |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, m := range r.order {
		ours, other, bare := r.best[m], r.best[m.with(php)], r.best[m.with(bareSQL)]
		beside := " | "
		if other.requests > 0 {
			beside = fmt.Sprintf("%.0f | %.1f", other.perSecond, ours.perSecond/other.perSecond)
		}
		fmt.Fprintf(&text, "| %s | %d | %d | %.0f | %s | %s | %s | %.0f | %.0f %% |\n", m.row, m.bookings, m.clients, ours.perSecond,
			milliseconds(ours.median), milliseconds(ours.p99), beside, bare.perSecond, 100*ours.perSecond/bare.perSecond)
		if ours.busy+ours.taken > 0 {
			fmt.Fprintf(&notes, "%s with %d clients: %d of %d requests were told to come again, and %d found their slot taken\n", m.row, m.clients, ours.busy, ours.requests, ours.taken)
		}
	}
	_, err := fmt.Fprintf(out, "%s\n%s", text.String(), notes.String())
	return err
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}
