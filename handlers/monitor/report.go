package monitor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// Report says how a site and the work for it are doing.
type Report struct {
	Entries    []Entry
	Privileges Privileges // of the database user

	// Conflicts are bookings that overlap, and Bookings describes them; none if the site cannot be served.
	Conflicts slots.ConflictReport
	Bookings  map[int64]slots.ConflictingBooking
	Address   string // of WordPress; "" if it is not known
}

// Examine examines a site once. It returns an error only if the database does not answer.
func Examine(ctx context.Context, p *session.Platform) (Report, error) {
	found, err := examine(ctx, p, Privileges{})
	if err != nil {
		return Report{}, err
	}
	work, err := examineWork(ctx, p)
	found.Entries = append(found.Entries, work...)
	return found, err
}

// Reports examine the site of a running server: the work for it each time, everything else as seldom as its readers allow.
type Reports struct {
	platform *session.Platform
	site     *Shared[Report]
	known    Privileges // probed once, and again only while something is missing
}

// NewReports returns the reports of a platform.
func NewReports(p *session.Platform) *Reports {
	r := &Reports{platform: p}
	r.site = NewShared(p.Now, time.Minute, func(ctx context.Context) (Report, error) {
		found, err := examine(ctx, r.platform, r.known)
		if err == nil {
			r.known = found.Privileges
		}
		return found, err
	})
	return r
}

// Report returns the report. What is not about work is at most as old as asked for, and as told. If that cannot be examined
// in time, the report that comes with the error has the rest.
func (r *Reports) Report(ctx context.Context, oldest time.Duration) (Report, time.Duration, error) {
	work, err := examineWork(ctx, r.platform)
	if err != nil {
		return Report{Entries: work}, 0, err
	}
	found, age, err := r.site.Within(ctx, oldest)
	found.Entries = slices.Concat(found.Entries, work)
	return found, age, err
}

// Forget makes the next reader examine everything again.
func (r *Reports) Forget() { r.site.Forget() }

// examination is a report in progress.
type examination struct {
	Report
	platform *session.Platform
	db       *wpdb.DB
	cluster  wpdb.Cluster
}

func (e *examination) add(entries ...Entry) { e.Entries = append(e.Entries, entries...) }

// examine examines everything but the work, whose entries come last. It probes the privileges if those that are known are not
// complete.
func examine(ctx context.Context, p *session.Platform, known Privileges) (Report, error) {
	e := examination{platform: p, db: p.DB, Report: Report{Privileges: known}}
	e.add(Entry{Code: Database, Text: Say("%s, table prefix %s", e.db.Version(), e.db.Prefix())}, connectionEntry(e.db.Encryption()))
	for _, step := range []func(context.Context) error{e.examineServer, e.examinePrivileges, e.examinePlugin, e.examineOwnTables} {
		if err := step(ctx); err != nil {
			return Report{}, err
		}
	}
	return e.Report, nil
}

func (e *examination) examinePrivileges(ctx context.Context) (err error) {
	if !e.Privileges.complete() {
		if e.Privileges, err = probe(ctx, e.db); err != nil {
			return err
		}
	}
	e.add(e.Privileges.entries(e.db)...)
	return nil
}

// ignorable returns nil for errors of questions without whose answers a site can be served, and that some
// proxies do not answer; not for that of a server that hangs.
func ignorable(err error) error {
	if errors.Is(err, wpdb.ErrSilent) {
		return err
	}
	return nil
}

// names joins the full names of tables.
func names(db *wpdb.DB, tables []wpdb.Table) string { return strings.Join(db.FullNames(tables), ", ") }
