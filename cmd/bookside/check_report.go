package main

import (
	"cmp"
	"fmt"
	"time"

	"bookside/adapter"
	"bookside/adapter/keys"
	"bookside/handlers/ratelimit"
	"bookside/wpdb"
)

// checkReport is what check --json prints. Keys are added to it, not taken away;
// lists are never null.
type checkReport struct {
	OK       bool     `json:"ok"` // check ends with 0
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
	Database struct {
		Version         string `json:"version"`
		Name            string `json:"name"`
		Address         string `json:"address"`
		Account         string `json:"account"` // quoted for SQL
		SQLMode         string `json:"sql_mode"`
		TimeZone        string `json:"time_zone"`
		ClockDifference *int64 `json:"clock_difference_seconds"` // the server's before ours; null where it was not told

		Cluster *clusterReport `json:"cluster"` // null where it was not told
	} `json:"database"`
	Prefix string `json:"prefix"`
	Rights struct {
		Summary    string              `json:"summary"`
		Unreadable []string            `json:"unreadable"`
		Lacking    map[string][]string `json:"lacking"` // tables by the rights beyond reading that are lacking
		grantsReport
	} `json:"rights"`
	Platform struct {
		State         string   `json:"state"` // active, or what is wrong
		Version       string   `json:"version"`
		MissingTables []string `json:"missing_tables"`
		Unwritable    []string `json:"unwritable"` // tables and why
		TimeZone      string   `json:"time_zone"`
		JobCron       *bool    `json:"job_cron"` // the site sends what is queued; null before it can be read
	} `json:"platform"`
	OwnTables struct {
		Missing    []string `json:"missing"`
		Statements []string `json:"statements"` // that add missing columns
	} `json:"own_tables"`
	Keys      string           `json:"keys"`
	WeakKeys  []int64          `json:"weak_keys"` // IDs of valid keys that can be guessed
	Conflicts *conflictsReport `json:"conflicts"` // null where they could not be looked for
}

type clusterReport struct {
	Kind         wpdb.ClusterKind `json:"kind"`          // none, galera, group_replication or replica
	Members      *int             `json:"members"`       // null where it is not known
	State        string           `json:"state"`         // of the server that answered; empty where it is not known
	Serving      bool             `json:"serving"`       // it takes statements
	MultiPrimary bool             `json:"multi_primary"` // several servers take writes
	ReadOnly     bool             `json:"read_only"`     // this one does not
	Balanced     bool             `json:"balanced"`      // connections lead to different servers
}

type conflictsReport struct {
	Bookings int            `json:"bookings"` // that were compared
	Cut      bool           `json:"cut"`      // there are more bookings or conflicts than are looked at
	Pairs    []conflictPair `json:"pairs"`
}

type conflictPair struct {
	Agent       int64    `json:"agent_id"`
	Bookings    [2]int64 `json:"booking_ids"`
	BuffersOnly bool     `json:"buffers_only"`
}

// grantsReport are statements.
type grantsReport struct {
	Needed   []string `json:"grants"`
	Missing  []string `json:"missing_grants"`  // those of them that change something
	Optional []string `json:"optional_grants"` // for tables that cannot be seen and that the site may lack
}

func (g grants) report() grantsReport {
	return grantsReport{list(g.needed), list(g.missing), list(g.optional)}
}

// clockTolerance is how far the clocks of two machines may differ unnoticed.
const clockTolerance = 30 * time.Second

// warnings are what is wrong although the site can be served.
func (f findings) warnings(db *wpdb.DB) []string {
	warnings := f.rights.warnings(db)
	for _, u := range f.unwritable {
		warnings = append(warnings, fmt.Sprintf("requests that write %s will be refused: %s", db.FullName(u.Table), u.Reason))
	}
	if f.serverTold && f.clockDifference.Abs() > clockTolerance {
		warnings = append(warnings, fmt.Sprintf("the clock of the database server differs by %v from that of this machine; set both by NTP", f.clockDifference.Round(time.Second)))
	}
	warnings = append(warnings, f.clusterWarnings()...)
	for _, key := range f.weakKeys {
		reason := "is too short or too simple and"
		if key.Weakness() == keys.MaybeWeak {
			reason = "was imported by an earlier version and has 15 to 17 characters: with 15 it"
		}
		warnings = append(warnings, fmt.Sprintf("the API key %d (%s) %s can be guessed; give its clients a key of keys create, and revoke it", key.ID, key.Name, reason))
	}
	if f.jobCron != nil && !*f.jobCron {
		warnings = append(warnings, "the site's cron does not know the plugin's jobs: it sends no notifications; see mail.enabled")
	}
	if f.redis != nil {
		warnings = append(warnings, "Redis does not count requests, each server counts by itself; see rate_limit.redis: "+ratelimit.RedisError(f.redis))
	}
	return warnings
}

func (f findings) json(t target, db *wpdb.DB, show checkOutput) (r checkReport) {
	r.OK, r.Problems, r.Warnings = f.verdict(show) == nil, list(f.problems(show)), list(f.warnings(db))
	r.Database.Version, r.Database.Name, r.Database.Address, r.Database.Account = db.Version(), t.database, t.address, f.account
	r.Database.SQLMode, r.Database.TimeZone = f.server.SQLMode, f.server.TimeZone
	if f.serverTold {
		seconds := int64(f.clockDifference / time.Second)
		r.Database.ClockDifference = &seconds
	}
	r.Database.Cluster = f.clusterReport()
	r.Prefix = db.Prefix()
	r.Rights.Summary, r.Rights.Unreadable, r.Rights.Lacking = f.rights.summary(), db.FullNames(f.rights.unreadable), map[string][]string{}
	for rights, tables := range f.rights.lacking {
		r.Rights.Lacking[rights] = db.FullNames(tables)
	}
	r.Rights.grantsReport = f.rights.grants(db, t.database, f.account).report()
	r.Platform.State, r.Platform.Version, r.Platform.MissingTables = f.platform, f.platformVersion, db.FullNames(f.missing)
	r.Platform.Unwritable = []string{}
	for _, u := range f.unwritable {
		r.Platform.Unwritable = append(r.Platform.Unwritable, db.FullName(u.Table)+": "+u.Reason)
	}
	r.Platform.TimeZone, r.Platform.JobCron = f.clock, f.jobCron
	r.OwnTables.Missing, r.OwnTables.Statements = db.FullNames(f.missingOwn), list(f.completing)
	r.Keys, r.WeakKeys = f.keys, []int64{}
	for _, key := range f.weakKeys {
		r.WeakKeys = append(r.WeakKeys, key.ID)
	}
	if f.conflicts != nil {
		r.Conflicts = &conflictsReport{Bookings: f.conflicts.Bookings, Cut: f.conflicts.Cut, Pairs: []conflictPair{}}
		for _, c := range f.conflicts.Conflicts {
			r.Conflicts.Pairs = append(r.Conflicts.Pairs, conflictPair{c.Agent, [2]int64{c.First, c.Second}, c.BuffersOnly})
		}
	}
	return r
}

// list is never nil.
func list(texts []string) []string { return append([]string{}, texts...) }

// settings is a line about the server.
func (f findings) settings() string {
	if !f.serverTold {
		return "not told"
	}
	return fmt.Sprintf("time zone %s, clock %v from ours, sql_mode %s", f.server.TimeZone, f.clockDifference.Round(time.Second), cmp.Or(f.server.SQLMode, "empty"))
}

// cron is a line about the site's jobs.
func (f findings) cron() string {
	switch {
	case f.jobCron == nil:
		return unknown
	case *f.jobCron:
		return "run by the site"
	default:
		return "not run by the site"
	}
}

// overlaps is a line about conflicts.
func (f findings) overlaps() string {
	if f.conflicts == nil {
		return unknown
	}
	return fmt.Sprintf("%s pairs of %d bookings from today on", countOf(*f.conflicts), f.conflicts.Bookings)
}

func countOf(r adapter.ConflictReport) string {
	if r.Cut {
		return fmt.Sprintf("%d or more", len(r.Conflicts))
	}
	return fmt.Sprint(len(r.Conflicts))
}

// pairs are the lines of check --conflicts.
func (f findings) pairs() string {
	rows := [][]string{{"AGENT", "BOOKINGS", ""}}
	for _, c := range f.conflicts.Conflicts {
		note := ""
		if c.BuffersOnly {
			note = "buffers only"
		}
		rows = append(rows, []string{fmt.Sprint(c.Agent), fmt.Sprintf("%d %d", c.First, c.Second), note})
	}
	return columns(rows)
}
