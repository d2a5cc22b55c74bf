package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"bookside/adapter"
	"bookside/adapter/diagnose"
	"bookside/adapter/indexes"
	"bookside/wpdb"
)

// unknown stands for what can be known only of a site that can be served.
const unknown = "not known before the site can be served"

// mark says at a glance what a finding means.
type mark string

const (
	good   mark = "✓"
	minor  mark = "!" // works, but somebody should look at it
	broken mark = "✗"
)

// markIf returns good if a condition holds, and otherwise another mark.
func markIf(holds bool, otherwise mark) mark {
	if holds {
		return good
	}
	return otherwise
}

// colored returns the mark for a terminal.
func (m mark) colored() string {
	return map[mark]string{good: "\x1b[32m", minor: "\x1b[33m", broken: "\x1b[31m"}[m] + string(m) + "\x1b[0m"
}

// line is a line of what check prints.
type line struct {
	mark       mark
	name, text string
}

func (f findings) lines() []line {
	incomplete := minor // serve completes them
	if len(f.Problems) > 0 {
		incomplete = broken
	}
	return []line{
		{good, "database", fmt.Sprintf("%s, %s at %s", f.db.Version(), f.target.database, f.target.address)},
		{markIf(f.Server != nil, minor), "server", f.serverLine()},
		{markIf(f.Cluster != nil, minor), "cluster", clusterLine(f.Cluster)},
		{good, "table prefix", f.db.Prefix()},
		{f.privilegesMark(), "privileges", privilegesLine(f.Privileges)},
		{markIf(f.Platform.State == diagnose.Active, broken), "LatePoint", f.Platform.State},
		{markIf(f.Platform.Version != "", minor), "its version", cmp.Or(f.Platform.Version, "none")},
		{markIf(!f.Privileges.SiteUnreadable() && len(f.Platform.MissingTables) == 0, broken), "its tables", f.tablesLine()},
		{markIf(f.Platform.Clock != nil, minor), "time zone", clockLine(f.Platform.Clock)},
		{markIf(f.Indexes != nil && len(f.missingIndexes()) == 0, minor), "indexes", f.indexesLine()},
		{markIf(len(f.OwnTables.Missing)+len(f.OwnTables.Statements) == 0, incomplete), "own tables", f.ownTablesLine()},
		{markIf(f.Keys != nil && f.Keys.Valid > 0, minor), "API keys", keysLine(f.Keys)},
		{markIf(f.Platform.RunsJobs != nil && *f.Platform.RunsJobs, minor), "jobs", jobsLine(f.Platform.RunsJobs)},
		{markIf(f.Platform.Companion != nil, minor), "companion", f.companionLine()},
		{markIf(f.Conflicts != nil && !f.overlapping(), minor), "overlaps", f.overlapsLine()},
	}
}

func (f findings) privilegesMark() mark {
	switch {
	case len(f.Privileges.Unreadable) > 0:
		return broken
	case len(f.Privileges.Lacking) > 0 || f.Privileges.Unknown:
		return minor
	default:
		return good
	}
}

// verdict ends what check prints of a site that can be served.
func (f findings) verdict() string {
	var hints []string
	if n := len(f.Warnings); n > 0 {
		hints = append(hints, "read the warnings above")
	}
	next := "bookside serve"
	if f.Keys == nil || f.Keys.Valid == 0 {
		next = "bookside keys create --name \"our app\" --permissions read"
	}
	hints = append(hints, "next: "+next)
	return "\nThe site can be served; " + strings.Join(hints, ", ") + "\n"
}

// text is what check prints for people, in a terminal with color.
func (f findings) text(color bool) string {
	var rows [][]string
	lines := f.lines()
	for _, l := range lines {
		rows = append(rows, []string{string(l.mark) + " " + l.name, l.text})
	}
	text := columns(rows)
	if color {
		var colored strings.Builder
		i := 0
		for row := range strings.Lines(text) {
			colored.WriteString(lines[i].mark.colored() + strings.TrimPrefix(row, string(lines[i].mark)))
			i++
		}
		text = colored.String()
	}
	for _, warning := range f.Warnings {
		text += "warning: " + warning + "\n"
	}
	if f.show.grants {
		text += allGrants(f.Grants)
	} else {
		text += statements(f.Grants.Missing)
	}
	if f.show.conflicts && f.overlapping() {
		text += f.conflictTable()
	}
	if len(f.problems()) == 0 && !f.show.grants {
		text += f.verdict()
	}
	return text
}

func (f findings) serverLine() string {
	if f.Server == nil {
		return "unknown"
	}
	return fmt.Sprintf("time zone %s, clock %v from ours, sql_mode %s", f.Server.TimeZone, f.ClockDifference.Round(time.Second), cmp.Or(f.Server.SQLMode, "empty"))
}

func clusterLine(c *wpdb.Cluster) string {
	if c == nil {
		return "unknown"
	}
	var parts []string
	switch c.Kind {
	case wpdb.Galera:
		parts = append(parts, "Galera")
	case wpdb.GroupReplication:
		mode := "multi-primary"
		if c.SinglePrimary {
			mode = "single-primary"
		}
		parts = append(parts, "MySQL Group Replication", mode)
	case wpdb.Replica:
		parts = append(parts, "replica of another server")
	default:
		parts = append(parts, "none")
	}
	if c.Kind != wpdb.Standalone && c.Members > 0 {
		parts = append(parts, fmt.Sprintf("members: %d", c.Members))
	}
	if c.State != "" {
		parts = append(parts, "state of this one: "+c.State)
	}
	if c.ReadOnly {
		parts = append(parts, "read-only")
	}
	if c.Balanced {
		parts = append(parts, "behind a load-balancing proxy")
	}
	return strings.Join(parts, ", ")
}

func (f findings) companionLine() string {
	switch c := f.Platform.Companion; {
	case f.Platform.RunsJobs == nil:
		return unknown
	case c == nil:
		return "none in WordPress, which therefore takes no locks; see bookside companion install"
	default:
		return c.Version + ", last seen on " + c.Seen.UTC().Format(time.DateOnly)
	}
}

func privilegesLine(p diagnose.Privileges) string {
	switch {
	case len(p.Unreadable) > 0:
		return "not enough to read"
	case len(p.Lacking) > 0:
		return "to read, but not to write everything"
	case p.Unknown:
		return "to read; unknown whether to write"
	default:
		return "to read and to write"
	}
}

func (f findings) tablesLine() string {
	switch {
	case f.Privileges.SiteUnreadable():
		return "cannot be read"
	case len(f.Platform.MissingTables) > 0:
		return "missing " + f.names(f.Platform.MissingTables)
	default:
		return "complete"
	}
}

// indexesLine recommends indexes; a site can be served without them.
func (f findings) indexesLine() string {
	if f.Indexes == nil {
		return unknown
	}
	missing := f.missingIndexes()
	if len(missing) == 0 {
		return "none missing"
	}
	return fmt.Sprintf("%d missing, without which requests to large tables are slow, first of all %s; see bookside indexes", len(missing), missing[0])
}

// missingIndexes returns the indexes that this site should have, the most useful first.
func (f findings) missingIndexes() []string {
	missing := []string{}
	for _, i := range f.Indexes {
		if i.State == indexes.Missing {
			missing = append(missing, indexColumns(f.db, i.Index))
		}
	}
	return missing
}

func clockLine(c *diagnose.Clock) string {
	if c == nil {
		return unknown
	}
	return c.Zone + ", now " + c.Now.Format(time.DateTime)
}

func (f findings) ownTablesLine() string {
	const creators = "; serve and keys create create them"
	switch missing := f.OwnTables.Missing; {
	case len(missing) == 0 && len(f.OwnTables.Statements) > 0:
		return "complete, but columns are missing"
	case len(missing) == 0:
		return "complete"
	case len(missing) == len(wpdb.OwnTables()):
		return "none yet" + creators
	default:
		return "missing " + f.names(missing) + creators
	}
}

func keysLine(k *diagnose.Keys) string {
	if k == nil {
		return "cannot be read"
	}
	return fmt.Sprintf("%d valid of %d", k.Valid, k.Total)
}

func jobsLine(runs *bool) string {
	switch {
	case runs == nil:
		return unknown
	case *runs:
		return "run by the site"
	default:
		return "not run by the site"
	}
}

func (f findings) overlapsLine() string {
	if f.Conflicts == nil {
		return unknown
	}
	if !f.overlapping() {
		return fmt.Sprintf("none of %d bookings from today on", f.Conflicts.Bookings)
	}
	return fmt.Sprintf("%s, of %d from today on", overlapCount(*f.Conflicts), f.Conflicts.Bookings)
}

// conflictTable is printed by check --conflicts: for each pair the agent and the day, and below
// them both bookings.
func (f findings) conflictTable() string {
	var b strings.Builder
	for _, c := range f.Conflicts.Conflicts {
		first := f.overlaps[c.First]
		fmt.Fprintf(&b, "\n%s, %s", cmp.Or(first.Agent, fmt.Sprintf("agent %d", c.Agent)), first.Date)
		if c.BuffersOnly {
			b.WriteString(" (buffers only)")
		}
		b.WriteString("\n" + columns([][]string{f.overlapRow(c.First, first.Date), f.overlapRow(c.Second, first.Date)}))
	}
	return b.String()
}

// overlapRow describes a booking; its date is told if it is another one than that of the pair.
func (f findings) overlapRow(id int64, date string) []string {
	booking := f.overlaps[id]
	when := clockOf(booking.Start) + "-" + clockOf(booking.End)
	if booking.Date != date {
		when = booking.Date + " " + when
	}
	row := []string{"  " + when, fmt.Sprintf("booking %d", id), booking.Service, booking.Customer}
	if f.address != "" {
		row = append(row, adapter.BookingURL(f.address, id))
	}
	return row
}

// clockOf returns the time of a minute of the day.
func clockOf(minutes int) string {
	return time.Time{}.Add(time.Duration(minutes) * time.Minute).Format("15:04")
}

// allGrants returns SQL that can be run as it is.
func allGrants(g diagnose.Grants) string {
	text := statements(g.Needed)
	if len(g.Optional) > 0 {
		text += "-- The site may lack these tables, which cannot be seen; a statement for a missing table fails:\n" + statements(g.Optional)
	}
	return text
}

func statements(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ";\n") + ";\n"
}

func (f findings) names(tables []wpdb.Table) string {
	return strings.Join(f.db.FullNames(tables), ", ")
}
