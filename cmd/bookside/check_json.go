package main

import (
	"time"

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/wpdb"
)

// checkReport is the output of check --json. Keys may be added but are never
// removed; lists are never null.
type checkReport struct {
	OK       bool     `json:"ok"` // check exits with 0
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
	Database struct {
		Version         string       `json:"version"`
		Name            string       `json:"name"`
		Address         string       `json:"address"`
		Account         string       `json:"account"` // quoted for SQL
		TLS             *tlsJSON     `json:"tls"`     // of the connections; null for plain text
		SQLMode         string       `json:"sql_mode"`
		TimeZone        string       `json:"time_zone"`
		ClockDifference *int64       `json:"clock_difference_seconds"` // the server's clock minus ours; null if unknown
		Durable         *bool        `json:"durable"`                  // confirmed writes survive a machine failure; null if unknown
		Cluster         *clusterJSON `json:"cluster"`                  // null if unknown
	} `json:"database"`
	Prefix string      `json:"prefix"`
	Server *serverJSON `json:"server"` // the server at admin.listen; null if none answers
	Rights struct {
		Summary    string              `json:"summary"`
		Unreadable []string            `json:"unreadable"`
		Lacking    map[string][]string `json:"lacking"` // tables by the missing write privileges
		grantsJSON
	} `json:"rights"`
	Platform struct {
		State         string   `json:"state"` // active, or what is wrong
		Version       string   `json:"version"`
		MissingTables []string `json:"missing_tables"`
		Unwritable    []string `json:"unwritable"` // tables and reasons
		TimeZone      string   `json:"time_zone"`
		JobCron       *bool    `json:"job_cron"`  // the site runs the plugin's jobs; null if unknown
		Companion     *string  `json:"companion"` // version of the companion in WordPress; null if there is none or it is unknown
	} `json:"platform"`
	OwnTables struct {
		Missing    []string `json:"missing"`
		Statements []string `json:"statements"` // that add missing columns
	} `json:"own_tables"`
	Work           []ratingJSON   `json:"work"`                    // background work
	ChangesWaiting *int64         `json:"changes_waiting_seconds"` // how long the oldest change has been waiting for its number; null if unknown
	MissingIndexes []string       `json:"missing_indexes"`         // of large tables; see indexes
	Keys           string         `json:"keys"`
	WeakKeys       []int64        `json:"weak_keys"` // IDs of valid keys that can be guessed
	Conflicts      *conflictsJSON `json:"conflicts"` // null if unknown
}

type serverJSON struct {
	Status   string `json:"status"`    // as in /readyz
	SameSite *bool  `json:"same_site"` // it serves this site; null if unknown
}

type ratingJSON struct {
	Code  diagnose.Code `json:"code"`
	Level string        `json:"level"` // good, minor or broken
	Text  string        `json:"text"`
}

type tlsJSON struct {
	Version  string `json:"version"`  // such as TLS 1.3
	Verified bool   `json:"verified"` // the server's certificate is verified
}

type clusterJSON struct {
	Kind         wpdb.ClusterKind `json:"kind"`          // none, galera, group_replication or replica
	Members      *int             `json:"members"`       // null if unknown
	State        string           `json:"state"`         // of the server that answered; empty if unknown
	Serving      bool             `json:"serving"`       // it accepts statements
	MultiPrimary bool             `json:"multi_primary"` // several servers accept writes
	ReadOnly     bool             `json:"read_only"`     // this one accepts no writes
	Balanced     bool             `json:"balanced"`      // connections lead to different servers
}

type conflictsJSON struct {
	Bookings int            `json:"bookings"` // compared bookings
	Cut      bool           `json:"cut"`      // there are more bookings or conflicts than were compared
	Pairs    []conflictPair `json:"pairs"`
}

type conflictPair struct {
	Agent       int64    `json:"agent_id"`
	Asset       int64    `json:"asset_id,omitempty"` // that is overbooked; otherwise the agent is
	Bookings    [2]int64 `json:"booking_ids"`
	BuffersOnly bool     `json:"buffers_only"`
}

type grantsJSON struct {
	Needed   []string `json:"grants"`
	Missing  []string `json:"missing_grants"`  // those that would change anything
	Optional []string `json:"optional_grants"` // for tables that cannot be seen and that the site may lack
}

func newGrantsJSON(g diagnose.Grants) grantsJSON {
	return grantsJSON{notNil(g.Needed), notNil(g.Missing), notNil(g.Optional)}
}

func (f findings) json() (r checkReport) {
	r.OK, r.Problems, r.Warnings = f.failure() == nil, notNil(f.problems()), diagnose.Texts(f.Warnings)
	r.Database.Version, r.Database.Name, r.Database.Address, r.Database.Account = f.db.Version(), f.target.Database, f.target.Address, f.Account
	if e := f.Encryption; e != nil && e.Version != "" {
		r.Database.TLS = &tlsJSON{e.Version, e.Verified}
	}
	if f.Server != nil {
		seconds := int64(f.ClockDifference / time.Second)
		r.Database.SQLMode, r.Database.TimeZone, r.Database.ClockDifference = f.Server.SQLMode, f.Server.TimeZone, &seconds
	}
	if f.Durability != nil {
		r.Database.Durable = new(f.Durability.Durable())
	}
	r.Database.Cluster = newClusterJSON(f.Cluster)
	r.Prefix = f.db.Prefix()
	if f.server != nil {
		r.Server = &serverJSON{Status: f.server.Status}
		if f.server.known() {
			r.Server.SameSite = new(!f.server.foreign())
		}
	}
	r.Rights.Summary, r.Rights.Unreadable, r.Rights.Lacking = f.Privileges.Summary().String(), f.db.FullNames(f.Privileges.Unreadable), map[string][]string{}
	for privileges, tables := range f.Privileges.Lacking {
		r.Rights.Lacking[privileges] = f.db.FullNames(tables)
	}
	r.Rights.grantsJSON = newGrantsJSON(f.Grants)
	r.Platform.State, r.Platform.Version, r.Platform.MissingTables = f.Platform.State.String(), f.Platform.Version, f.db.FullNames(f.Platform.MissingTables)
	r.Platform.Unwritable = []string{}
	for _, u := range f.Platform.Unwritable {
		r.Platform.Unwritable = append(r.Platform.Unwritable, f.db.FullName(u.Table)+": "+u.Reason)
	}
	r.Platform.TimeZone, r.Platform.JobCron = f.Platform.Clock.Summary().String(), f.Platform.RunsJobs
	if f.Platform.Companion != nil {
		r.Platform.Companion = &f.Platform.Companion.Version
	}
	r.OwnTables.Missing, r.OwnTables.Statements = f.db.FullNames(f.OwnTables.Missing), notNil(f.OwnTables.Statements)
	r.Work = []ratingJSON{}
	for _, rated := range f.rating {
		r.Work = append(r.Work, ratingJSON{rated.Code, rated.Level.String(), rated.Line()})
	}
	if f.work.ChangesWaiting != nil {
		seconds := int64(*f.work.ChangesWaiting / time.Second)
		r.ChangesWaiting = &seconds
	}
	r.MissingIndexes = f.MissingIndexes()
	r.Keys, r.WeakKeys = f.Keys.Summary().String(), []int64{}
	if f.Keys != nil {
		for _, key := range f.Keys.Weak {
			r.WeakKeys = append(r.WeakKeys, key.ID)
		}
	}
	if f.Conflicts != nil {
		r.Conflicts = &conflictsJSON{Bookings: f.Conflicts.Bookings, Cut: f.Conflicts.Cut, Pairs: []conflictPair{}}
		for _, c := range f.Conflicts.Conflicts {
			r.Conflicts.Pairs = append(r.Conflicts.Pairs, conflictPair{c.Agent, c.Asset, [2]int64{c.First, c.Second}, c.BuffersOnly})
		}
	}
	return r
}

func newClusterJSON(c *wpdb.Cluster) *clusterJSON {
	if c == nil {
		return nil
	}
	r := &clusterJSON{Kind: c.Kind, State: c.State, Serving: c.Serving, MultiPrimary: c.MultiPrimary(), ReadOnly: c.ReadOnly, Balanced: c.Balanced}
	if c.Members > 0 && c.Kind != wpdb.Standalone {
		members := c.Members
		r.Members = &members
	}
	return r
}
