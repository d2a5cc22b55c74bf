package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/slots"
)

// mark shows at a glance what a finding means.
type mark string

const (
	good   mark = "✓"
	minor  mark = "!"
	broken mark = "✗"
)

// marks are the marks of findings.
var marks = map[diagnose.Level]mark{diagnose.Good: good, diagnose.Minor: minor, diagnose.Broken: broken}

// colored returns the mark for a terminal.
func (m mark) colored() string {
	return map[mark]string{good: "\x1b[32m", minor: "\x1b[33m", broken: "\x1b[31m"}[m] + string(m) + "\x1b[0m"
}

// lines returns the findings, with the database's address in the first.
func (f findings) lines() []diagnose.Finding {
	lines := f.Findings()
	lines[0].Text = diagnose.Say("%s at %s", lines[0].Text, f.target.Address)
	for _, r := range f.rating {
		lines = append(lines, diagnose.Finding{Level: r.Level, Name: r.Name, Text: diagnose.Say("%s", r.Line())})
	}
	if f.server != nil {
		running := diagnose.Finding{Name: "running server", Text: diagnose.Say("the one at %s %s", f.server.address, f.server.site())}
		if f.server.foreign() {
			running.Level = diagnose.Minor
		}
		lines = append(lines, running)
	}
	return lines
}

// verdict is the last line of check for a site that can be served.
func (f findings) verdict() string {
	var hints []string
	if n := len(f.Warnings); n > 0 {
		hints = append(hints, "read the warnings above")
	}
	if f.show.unfinished {
		return "\n" + strings.Join(append([]string{"The site can be served"}, hints...), ", ") + "\n"
	}
	next := "bookside serve"
	if f.Keys == nil || f.Keys.Valid == 0 {
		next = "bookside keys create --name \"our app\" --permissions read"
	}
	hints = append(hints, "next: "+next)
	return "\nThe site can be served; " + strings.Join(hints, ", ") + "\n"
}

// text is the output of check for people, in color on a terminal.
func (f findings) text(color bool) string {
	var rows [][]string
	lines := f.lines()
	for _, l := range lines {
		rows = append(rows, []string{string(marks[l.Level]) + " " + l.Name, l.Text.String()})
	}
	text := columns(rows)
	if color {
		var colored strings.Builder
		i := 0
		for row := range strings.Lines(text) {
			colored.WriteString(marks[lines[i].Level].colored() + strings.TrimPrefix(row, string(marks[lines[i].Level])))
			i++
		}
		text = colored.String()
	}
	for _, warning := range f.Warnings {
		text += "warning: " + warning.String() + "\n"
	}
	if f.show.grants {
		text += allGrants(f.Grants)
	} else {
		text += statements(f.Grants.Missing)
	}
	if f.show.conflicts && f.Overlapping() {
		text += f.conflictTable()
	}
	if len(f.problems()) == 0 && !f.show.grants {
		text += f.verdict()
	}
	return text
}

// conflictTable is the output of check --conflicts: agent or asset, and day of each pair, and below them both
// bookings.
func (f findings) conflictTable() string {
	var b strings.Builder
	for _, c := range f.Conflicts.Conflicts {
		first := f.overlaps[c.First]
		who := cmp.Or(f.Conflicts.Assets[c.Asset], first.Agent, fmt.Sprintf("agent %d", c.Agent))
		fmt.Fprintf(&b, "\n%s, %s", who, first.Date)
		if c.BuffersOnly {
			b.WriteString(" (buffers only)")
		}
		b.WriteString("\n" + columns([][]string{f.overlapRow(c.First, first.Date), f.overlapRow(c.Second, first.Date)}))
	}
	return b.String()
}

// overlapRow describes a booking, with its date if that differs from the pair's.
func (f findings) overlapRow(id int64, date string) []string {
	booking := f.overlaps[id]
	when := clockOf(booking.Start) + "-" + clockOf(booking.End)
	if booking.Date != date {
		when = booking.Date + " " + when
	}
	row := []string{"  " + when, fmt.Sprintf("booking %d", id), booking.Service, booking.Customer}
	if f.address != "" {
		row = append(row, slots.BookingURL(f.address, id))
	}
	return row
}

// clockOf formats a minute of the day as a time.
func clockOf(minutes int) string {
	return time.Time{}.Add(time.Duration(minutes) * time.Minute).Format("15:04")
}

// allGrants returns SQL that can be run unchanged.
func allGrants(g diagnose.Grants) string {
	text := statements(g.Needed)
	if len(g.Optional) > 0 {
		text += "-- The site may lack these tables, which cannot be seen; a statement for a missing table fails:\n" + statements(g.Optional)
	}
	if g.Incomplete {
		text += "-- Run this again afterwards: what is needed depends on settings of LatePoint, which cannot be read yet.\n"
	}
	return text
}

func statements(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ";\n") + ";\n"
}
