package diagnose

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/indexes"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/wpdb"
)

// Active is the state of a platform that can be served.
const Active = "active"

// Report is the result of an examination. Fields that are nil are unknown.
type Report struct {
	Database        string                // its name
	Account         string                // the database user, quoted for GRANT
	Encryption      *wpdb.Encryption      // of the connections; nil for a pool from wpdb.New
	Server          *wpdb.ServerSettings  // nil if a proxy does not tell
	ClockDifference time.Duration         // the server's clock minus ours
	Durability      *wpdb.Durability      // nil if the server does not tell
	Cluster         *wpdb.Cluster         // nil if a proxy does not tell
	Privileges      Privileges            // of the database user
	Grants          Grants                // for the database user
	Platform        Platform              // WordPress and the plugin
	OwnTables       OwnTables             // Bookside's own
	Keys            *Keys                 // nil if the table cannot be read
	Conflicts       *slots.ConflictReport // overlapping bookings; nil if the site cannot be served
	WrongEnds       []int64               // bookings from yesterday on whose stored end cannot be right, up to one more than are named; nil likewise
	Indexes         []indexes.Index       // that help on large sites; nil if the site cannot be served, or the server does not tell

	// Problems are the reasons why the site cannot be served, each with its remedy.
	Problems []Sentence
	// Warnings describe what will not work although the site can be served.
	Warnings []Sentence

	db *wpdb.DB
}

// Platform is the state of WordPress and the plugin.
type Platform struct {
	State         Sentence     // Active, or what is wrong
	Version       string       // of the plugin's tables; empty if there is none
	MissingTables []wpdb.Table // of those that the plugin's version has
	Unwritable    []wpdb.UnwritableTable
	Clock         *Clock   // nil if the site cannot be served
	AgentOrder    string   // the site's any_agent_order if it is unknown
	Untranslated  Sentence // why texts that are stored or mailed are not in the site's language; empty if they are
	RunsJobs      *bool    // whether the site runs the plugin's jobs; nil if it cannot be served
	// Companion is the companion in WordPress; nil if there is none, or the site cannot be served.
	Companion *session.Companion
}

// Clock is the time at a site.
type Clock struct {
	Zone string // as WordPress names it
	Now  time.Time
}

// OwnTables is the state of our own tables.
type OwnTables struct {
	Missing    []wpdb.Table
	Statements []string // add missing columns to tables of an earlier version
}

// Keys counts API keys.
type Keys struct {
	Total, Valid int
	Weak         []keys.Key // valid ones that can be guessed
}

// examination is a report in progress.
type examination struct {
	Report
	now domain.Clock
}

// Examine examines the site of an open database. config is what the database was opened with. It returns an
// error only if the database does not answer; problems of the site are part of the report.
func Examine(ctx context.Context, config wpdb.Config, db *wpdb.DB, now domain.Clock) (Report, error) {
	e := examination{Report: Report{db: db, Encryption: db.Encryption()}, now: now}
	account, database, err := config.Account(ctx)
	if err != nil {
		return Report{}, err
	}
	e.Account, e.Database = account, database
	if e.Privileges, err = probe(ctx, db); err != nil {
		return Report{}, err
	}
	e.Grants = e.Privileges.grants(db, database, account)
	if err := e.examineServer(ctx); err != nil {
		return Report{}, err
	}
	if len(e.Privileges.Unreadable) > 0 {
		e.problem(Say("the database user may not read %s: grant it SELECT on them", names(db, e.Privileges.Unreadable)))
	}
	if e.Privileges.SiteUnreadable() {
		e.Platform.State = Say("not known before its tables can be read")
	} else if err := e.examinePlatform(ctx); err != nil {
		return Report{}, err
	}
	if err := e.examineOwnTables(ctx); err != nil {
		return Report{}, err
	}
	e.Warnings = e.warnings()
	return e.Report, nil
}

// stateOf says why a site cannot be served. Names of tables and columns are not translated.
func stateOf(err *domain.Error) Sentence {
	switch err.Down {
	case domain.NoWordPress:
		return Say("No WordPress tables under this prefix")
	case domain.PluginInactive:
		return Say("LatePoint is not active on this site")
	case domain.PluginTooOld:
		return Say("LatePoint 5 is not installed on this site")
	default:
		return Say("%s", err.Message)
	}
}

func (e *examination) problem(s Sentence) { e.Problems = append(e.Problems, s) }

// examineServer ignores errors, except that of a server that hangs: the site can be served without these
// facts, and some proxies do not report them.
func (e *examination) examineServer(ctx context.Context) error {
	server, err := e.db.ServerSettings(ctx)
	if err == nil {
		e.Server = &server
		e.ClockDifference = server.Now.Sub(e.now().Truncate(time.Second))
	}
	if errors.Is(err, wpdb.ErrSilent) {
		return err
	}
	durability, ok, err := e.db.Durability(ctx)
	if ok && err == nil {
		e.Durability = &durability
	}
	if errors.Is(err, wpdb.ErrSilent) {
		return err
	}
	cluster, err := e.db.Cluster(ctx)
	if err == nil {
		e.Cluster = &cluster
	}
	if errors.Is(err, wpdb.ErrSilent) {
		return err
	}
	return nil
}

func (e *examination) examinePlatform(ctx context.Context) error {
	options, err := e.db.OptionValues(ctx, "latepoint_db_version")
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	e.Platform.Version = wpdb.PlainText(options["latepoint_db_version"])
	schema, err := e.db.Schema(ctx, e.Platform.Version)
	if err != nil {
		return err
	}
	e.Platform.MissingTables, e.Platform.Unwritable = schema.Missing(), schema.Unwritables()
	site, err := session.NewPlatform(e.db, e.now).Session(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) {
		e.Platform.State = Say("not active on this site itself")
		e.problem(Say("LatePoint is not active on this site itself: activate it, or, if it is active for a whole network, grant the database user SELECT on %s",
			e.db.FullName(wpdb.Sitemeta)))
		return nil
	}
	remedy := Say("activate LatePoint 5 in the site's administration, so that it creates its tables")
	if options == nil {
		remedy = Say("correct the table prefix, db.prefix")
	}
	if err == nil {
		e.Platform.Clock = &Clock{Zone: site.Zone.Name, Now: site.Now.In(site.Zone.Location)}
		err = upkeep.CheckColumns(site)
		remedy = Say("deactivate LatePoint in the site's administration and activate it again, so that it completes its tables")
	}
	var known *domain.Error
	switch {
	case err == nil:
		e.Platform.State = Say(Active)
		return e.examineSite(ctx, site)
	case errors.As(err, &known) && known.Code == domain.CodeUnavailable:
		e.Platform.State = stateOf(known)
		e.problem(Say("%s: %s", e.Platform.State, remedy))
		return nil
	default:
		return err
	}
}

func (e *examination) examineSite(ctx context.Context, site *session.Session) error {
	runs, err := upkeep.RunsJobs(ctx, site)
	if err != nil {
		return err
	}
	order, err := site.AgentOrder(ctx)
	if err != nil {
		return err
	}
	if !order.Known() {
		e.Platform.AgentOrder = string(order)
	}
	if e.Platform.Untranslated, err = untranslated(ctx, site); err != nil {
		return err
	}
	conflicts, err := slots.FindConflicts(ctx, site)
	if err != nil {
		return err
	}
	e.Platform.Companion = site.Companion()
	if e.WrongEnds, err = slots.WrongEnds(ctx, site, namedBookings+1); err != nil {
		return err
	}
	e.Platform.RunsJobs, e.Conflicts = &runs, &conflicts
	// The site can be served without indexes, so an error is ignored.
	if list, err := indexes.Survey(ctx, e.db); err == nil {
		e.Indexes = list
	}
	return nil
}

func (e *examination) examineOwnTables(ctx context.Context) (err error) {
	if e.OwnTables.Missing, err = e.db.MissingOwnTables(ctx); err != nil {
		return err
	}
	if lost := e.lostTables(); len(lost) > 0 {
		e.problem(Say("Bookside's own tables are missing: %s; a running server is not ready without them: restart serve, which creates them, empty", names(e.db, lost)))
	}
	if slices.Contains(e.OwnTables.Missing, wpdb.APIKeys) {
		e.Keys = &Keys{}
		return nil
	}
	if e.OwnTables.Statements, err = e.db.MigrationStatements(ctx); err != nil {
		return err
	}
	for _, statement := range e.OwnTables.Statements {
		e.problem(Say("a table of Bookside lacks a column or an index of this version: run bookside migrate, or %s", statement))
	}
	if len(e.OwnTables.Statements) > 0 {
		return nil
	}
	return e.examineKeys(ctx)
}

func (e *examination) examineKeys(ctx context.Context) error {
	stored, err := keys.NewStore(e.db, e.now, rand.Reader).List(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) {
		return nil // the table is among the unreadable ones
	}
	if err != nil {
		return err
	}
	e.Keys = &Keys{Total: len(stored)}
	for _, key := range stored {
		if key.Status(e.now()) != keys.Active {
			continue
		}
		e.Keys.Valid++
		if key.Weakness() != keys.Strong {
			e.Keys.Weak = append(e.Keys.Weak, key)
		}
	}
	return nil
}

// lostTables returns our own tables that are missing although others exist. If only the locks exist, which
// the companion creates too, this site was never served. Unreadable tables are reported as such.
func (e *examination) lostTables() []wpdb.Table {
	if none := append(slices.Clone(e.OwnTables.Missing), wpdb.Locks); len(slices.Compact(slices.Sorted(slices.Values(none)))) == len(wpdb.OwnTables()) {
		return nil
	}
	unreadable := func(t wpdb.Table) bool { return slices.Contains(e.Privileges.Unreadable, t) }
	return slices.DeleteFunc(slices.Clone(e.OwnTables.Missing), unreadable)
}

// names joins the full names of tables.
func names(db *wpdb.DB, tables []wpdb.Table) string { return strings.Join(db.FullNames(tables), ", ") }
