package diagnose

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/indexes"
	"github.com/bookside/bookside/wpdb"
)

// Finding is a line of the report for people.
type Finding struct {
	Level Level
	Name  string
	Text  Sentence
}

// Level says how good a finding is.
type Level int

// The levels.
const (
	Good  Level = iota
	Minor       // it works, but somebody should look at it
	Broken
)

// String returns the name of a level, for programs.
func (l Level) String() string {
	return map[Level]string{Good: "good", Minor: "minor", Broken: "broken"}[l]
}

// levelIf returns Good if a condition holds, and otherwise another level.
func levelIf(holds bool, otherwise Level) Level {
	if holds {
		return Good
	}
	return otherwise
}

// unknown stands for facts that are known only once a site can be served.
var unknown = Say("not known before the site can be served")

// Findings returns the findings in words. The first is about the database.
func (r Report) Findings() []Finding {
	incomplete := Minor // serve completes them
	if len(r.Problems) > 0 {
		incomplete = Broken
	}
	return []Finding{
		{Good, "database", Say("%s, %s", r.db.Version(), r.Database)},
		{levelIf(r.Encryption != nil && (r.Encryption.Version != "" || r.Encryption.Local), Minor), "connection", encryptionLine(r.Encryption)},
		{levelIf(r.Server != nil && r.ClockDifference.Abs() <= clockTolerance, Minor), "server", r.serverLine()},
		durabilityFinding(r.Durability),
		{levelIf(r.Cluster != nil, Minor), "cluster", clusterLine(r.Cluster)},
		{Good, "table prefix", Say("%s", r.db.Prefix())},
		{r.privilegesLevel(), "privileges", r.Privileges.Summary()},
		{levelIf(r.Platform.State.String() == Active, Broken), "LatePoint", r.Platform.State},
		// This is not the plugin's version, which is numbered differently.
		{levelIf(r.Platform.Version != "", Minor), "its database", Say("version %s", cmp.Or(r.Platform.Version, "unknown"))},
		{levelIf(!r.Privileges.SiteUnreadable() && len(r.Platform.MissingTables) == 0, Broken), "its tables", r.tablesLine()},
		{levelIf(r.Platform.Clock != nil, Minor), "time zone", r.Platform.Clock.Summary()},
		{levelIf(r.Indexes != nil && len(r.MissingIndexes()) == 0, Minor), "indexes", r.indexesLine()},
		{levelIf(len(r.OwnTables.Missing)+len(r.OwnTables.Statements) == 0, incomplete), "own tables", r.ownTablesLine()},
		{levelIf(r.Keys != nil && r.Keys.Valid > 0, Minor), "API keys", r.Keys.Summary()},
		{levelIf(r.Platform.Companion != nil && !r.companionSilent(), Minor), "companion", r.companionLine()},
		{levelIf(r.Conflicts != nil && !r.Overlapping(), Minor), "overlaps", r.overlapsLine()},
	}
}

func (r Report) privilegesLevel() Level {
	switch {
	case len(r.Privileges.Unreadable) > 0:
		return Broken
	case len(r.Privileges.Lacking) > 0 || r.Privileges.Unknown:
		return Minor
	default:
		return Good
	}
}

func (r Report) serverLine() Sentence {
	if r.Server == nil {
		return Say("unknown")
	}
	return Say("time zone %s, clock %s from ours, sql_mode %s", r.Server.TimeZone, r.ClockDifference.Round(time.Second), cmp.Or(r.Server.SQLMode, "empty"))
}

func encryptionLine(e *wpdb.Encryption) Sentence {
	switch {
	case e == nil:
		return Say("unknown")
	case e.Version != "" && e.Verified:
		return Say("encrypted, %s, the server's certificate is verified", e.Version)
	case e.Version != "":
		return Say("encrypted, %s", e.Version)
	case e.Local:
		return Say("plain text, within this machine")
	default:
		return Say("plain text: anyone in between sees passwords and customers' data; see db.tls")
	}
}

func durabilityFinding(d *wpdb.Durability) Finding {
	f := Finding{Minor, "durability", Say("unknown")}
	switch {
	case d == nil:
	case d.Durable():
		f.Level, f.Text = Good, Say("what was confirmed survives a failure of the machine")
	case d.FlushLog != "1":
		f.Text = Say("bookings of the last second can be lost if the machine fails: innodb_flush_log_at_trx_commit is %s, in place of 1", d.FlushLog)
	default:
		f.Text = Say("replicas and restored backups can lack the last bookings if the machine fails: sync_binlog is %s, in place of 1", d.SyncBinlog)
	}
	return f
}

func clusterLine(c *wpdb.Cluster) Sentence {
	if c == nil {
		return Say("unknown")
	}
	var parts []Sentence
	switch c.Kind {
	case wpdb.Galera:
		parts = append(parts, Say("%s", "Galera"))
	case wpdb.GroupReplication:
		mode := Say("multi-primary")
		if c.SinglePrimary {
			mode = Say("single-primary")
		}
		parts = append(parts, Say("%s", "MySQL Group Replication"), mode)
	case wpdb.Replica:
		parts = append(parts, Say("replica of another server"))
	default:
		parts = append(parts, Say("not in a cluster"))
	}
	if c.Kind != wpdb.Standalone && c.Members > 0 {
		parts = append(parts, Say("members: %d", c.Members))
	}
	if c.State != "" {
		parts = append(parts, Say("state of this one: %s", c.State))
	}
	if c.ReadOnly {
		parts = append(parts, Say("read-only"))
	}
	if c.Balanced {
		parts = append(parts, Say("behind a load-balancing proxy"))
	}
	return list(parts)
}

func (r Report) companionSilent() bool {
	c, clock := r.Platform.Companion, r.Platform.Clock
	return c != nil && clock != nil && c.Silent(clock.Now)
}

func (r Report) companionLine() Sentence {
	switch c := r.Platform.Companion; {
	case r.Platform.RunsJobs == nil:
		return unknown
	case c == nil:
		return Say("none in WordPress, which therefore takes no locks; upload what bookside companion writes")
	case r.companionSilent():
		return Say("%s, not seen since %s: if it was removed, WordPress takes no locks; see wp-admin, Plugins", c.Version, c.Seen.UTC().Format(time.DateOnly))
	default:
		return Say("%s, last seen on %s", c.Version, c.Seen.UTC().Format(time.DateOnly))
	}
}

// Summary describes what the database user may do.
func (p Privileges) Summary() Sentence {
	switch {
	case len(p.Unreadable) > 0:
		return Say("not enough to read")
	case len(p.Lacking) > 0:
		return Say("to read, but not to write everything")
	case p.Unknown:
		return Say("to read; unknown whether to write")
	default:
		return Say("to read and to write")
	}
}

func (r Report) tablesLine() Sentence {
	switch {
	case r.Privileges.SiteUnreadable():
		return Say("cannot be read")
	case len(r.Platform.MissingTables) > 0:
		return Say("missing %s", names(r.db, r.Platform.MissingTables))
	default:
		return Say("complete")
	}
}

// indexesLine recommends indexes; a site can be served without them.
func (r Report) indexesLine() Sentence {
	switch {
	case r.Indexes == nil && r.Platform.RunsJobs == nil:
		return unknown
	case r.Indexes == nil:
		return Say("not known, because the server does not tell")
	}
	missing := r.MissingIndexes()
	if len(missing) == 0 {
		return Say("none missing")
	}
	return Say("%d missing, without which requests to large tables are slow, first of all %s; see bookside indexes", len(missing), missing[0])
}

// MissingIndexes returns the indexes that this site should have, the most useful first.
func (r Report) MissingIndexes() []string {
	missing := []string{}
	for _, i := range r.Indexes {
		if i.State == indexes.Missing {
			missing = append(missing, fmt.Sprintf("%s (%s)", r.db.FullName(i.Table), strings.Join(i.Columns, ", ")))
		}
	}
	return missing
}

// Summary returns the zone and its time.
func (c *Clock) Summary() Sentence {
	if c == nil {
		return unknown
	}
	return Say("%s, now %s", c.Zone, c.Now.Format(time.DateTime))
}

func (r Report) ownTablesLine() Sentence {
	switch missing := r.OwnTables.Missing; {
	case len(missing) == 0 && len(r.OwnTables.Statements) > 0:
		return Say("complete, but columns or indexes are missing")
	case len(missing) == 0:
		return Say("complete")
	case len(missing) == len(wpdb.OwnTables()):
		return Say("none yet; serve and keys create create them")
	default:
		return Say("missing %s; serve and keys create create them", names(r.db, missing))
	}
}

// Summary says how many keys there are.
func (k *Keys) Summary() Sentence {
	if k == nil {
		return Say("cannot be read")
	}
	return Say("%d valid of %d", k.Valid, k.Total)
}

func (r Report) overlapsLine() Sentence {
	if r.Conflicts == nil {
		return unknown
	}
	if !r.Overlapping() {
		return Say("none of %d bookings from today on", r.Conflicts.Bookings)
	}
	return Say("%s, of %d from today on", r.OverlapCount(), r.Conflicts.Bookings)
}

// Overlapping reports whether bookings overlap.
func (r Report) Overlapping() bool { return r.Conflicts != nil && len(r.Conflicts.Conflicts) > 0 }

// OverlapCount says how many bookings overlap.
func (r Report) OverlapCount() Sentence {
	switch n := len(r.Conflicts.Conflicts); {
	case r.Conflicts.Cut:
		return Say("%d or more pairs of bookings overlap", n)
	case n == 1:
		return Say("1 pair of bookings overlaps")
	default:
		return Say("%d pairs of bookings overlap", n)
	}
}
