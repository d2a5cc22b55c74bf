package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/handlers"
	"bookside/wpdb"
)

const aboutCheck = `Opens the database and tells what it finds there: its version, the plugin, the tables, what the
database user may do with them, the time zone, the API keys. It changes nothing. It ends with 0
when the site can be served, else it says what to do. A Redis that is configured is tried too.

The GRANT statements that the database user lacks are printed; with --grants all that are needed,
also for one that may do nothing yet. --conflicts lists the overlapping bookings of one agent from
today on, and ends with 7 where there are some. --json prints all of this for a program; its ok is
true where check ends with 0.

With --live it asks the running server instead, at admin.listen, as a container's health check.`

func (p *program) check(flags *flag.FlagSet) action {
	var given configFlags
	given.define(flags)
	live := flags.Bool("live", false, "ask the running server whether it is ready")
	var show checkOutput
	flags.BoolVar(&show.json, "json", false, "print the findings as JSON")
	flags.BoolVar(&show.grants, "grants", false, "print all GRANT statements that are needed")
	flags.BoolVar(&show.conflicts, "conflicts", false, "list overlapping bookings")
	return func(ctx context.Context, _ []string) error {
		c, err := readConfig(p.env, given)
		if err != nil {
			return err
		}
		if *live {
			return p.checkLive(ctx, c.Admin.Listen)
		}
		return p.checkSite(ctx, c, show)
	}
}

// checkOutput is what check is asked to print.
type checkOutput struct{ json, grants, conflicts bool }

func (p *program) checkSite(ctx context.Context, c config, show checkOutput) (err error) {
	t, db, err := openSite(ctx, c)
	if err != nil {
		return p.unchecked(ctx, t, show, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f, err := look(ctx, t, db, p.now)
	if errors.Is(err, wpdb.ErrUnavailable) { // such as a cluster's node, which lets everybody in and answers nothing
		return p.unchecked(ctx, t, show, t.explain(err))
	}
	if err != nil {
		return p.unchecked(ctx, t, show, fmt.Errorf("look at the site: %w", err))
	}
	f.redis = c.tryRedis(ctx)
	if show.json {
		err = p.printJSON(f.json(t, db, show))
	} else {
		err = p.print(f.text(t, db, show))
	}
	return cmp.Or(err, f.verdict(show))
}

// unchecked prints what can be told of a site that could not be looked at, and
// gives the reason back.
func (p *program) unchecked(ctx context.Context, t target, show checkOutput, reason error) error {
	var g grants
	if errors.Is(reason, wpdb.ErrAccessDenied) {
		account, database, err := t.config.Account(ctx)
		if err == nil {
			g = hiddenRights().grants(wpdb.New(nil, t.config.Prefix), database, account)
		}
		reason = errors.Join(reason, err)
	}
	switch {
	case show.json:
		return errors.Join(reason, p.printJSON(struct {
			OK       bool         `json:"ok"`
			Problems []string     `json:"problems"`
			Rights   grantsReport `json:"rights"`
		}{false, []string{reason.Error()}, g.report()}))
	case show.grants:
		return errors.Join(reason, p.print(g.all()))
	default:
		return reason
	}
}

// text is what check prints for people.
func (f findings) text(t target, db *wpdb.DB, show checkOutput) string {
	text := f.report(t, db)
	g := f.rights.grants(db, t.database, f.account)
	if show.grants {
		text += g.all()
	} else {
		text += lines(g.missing)
	}
	if show.conflicts && f.conflicting() {
		text += f.pairs()
	}
	return text
}

// conflicting tells whether bookings overlap.
func (f findings) conflicting() bool { return f.conflicts != nil && len(f.conflicts.Conflicts) > 0 }

// problems are what check fails for.
func (f findings) problems(show checkOutput) []string {
	if len(f.todo) == 0 && show.conflicts && f.conflicting() {
		return []string{countOf(*f.conflicts) + " pairs of bookings overlap"}
	}
	return f.todo
}

// verdict is the error that check ends with.
func (f findings) verdict(show checkOutput) error {
	problems := f.problems(show)
	switch {
	case len(f.rights.unreadable) > 0:
		return failf(exitRefused, nil, "the site cannot be served:\n  %s", strings.Join(problems, "\n  "))
	case len(f.todo) > 0:
		return failf(exitFailure, nil, "the site cannot be served:\n  %s", strings.Join(problems, "\n  "))
	case len(problems) > 0:
		return failf(exitConflicts, nil, "%s", problems[0])
	default:
		return nil
	}
}

// findings are what check tells about a site.
type findings struct {
	rights          rights
	platformVersion string
	platform        string
	missing         []wpdb.Table
	clock           string
	missingOwn      []wpdb.Table
	completing      []string // statements that add what tables of ours lack
	keys            string
	weakKeys        []keys.Key // that can be used and may be guessed
	todo            []string

	account         string // for GRANT
	server          wpdb.ServerSettings
	serverTold      bool
	clockDifference time.Duration // the server's before ours
	cluster         *wpdb.Cluster // nil where it was not told
	unwritable      []wpdb.UnwritableTable
	jobCron         *bool                   // nil where it is not known
	conflicts       *adapter.ConflictReport // nil where they could not be looked for
	redis           error                   // nil where it does as it should, or is not configured
}

// unknown is what only a site that can be served tells.
const unknown = "not known before the site can be served"

func look(ctx context.Context, t target, db *wpdb.DB, now domain.Clock) (f findings, err error) {
	f.clock, f.keys = unknown, "0 valid of 0"
	if f.rights, err = tryRights(ctx, db); err != nil {
		return f, err
	}
	if f.account, _, err = t.config.Account(ctx); err != nil {
		return f, err
	}
	f.lookAtServer(ctx, db, now)
	if cluster, err := db.Cluster(ctx); err == nil { // good to know; some proxies do not tell
		f.cluster = &cluster
	}
	if len(f.rights.unreadable) > 0 {
		f.todo = append(f.todo, fmt.Sprintf("the database user may not read %s: grant it SELECT on them", named(db, f.rights.unreadable)))
	}
	if f.rights.blind() {
		f.platform = "not known before its tables can be read"
	} else if err := f.lookAtPlatform(ctx, db, now); err != nil {
		return f, err
	}
	return f, f.lookAtKeys(ctx, db, now)
}

// lookAtServer asks for what is good to know; some proxies do not tell.
func (f *findings) lookAtServer(ctx context.Context, db *wpdb.DB, now domain.Clock) {
	server, err := db.ServerSettings(ctx)
	if err != nil {
		return
	}
	f.server, f.serverTold = server, true
	f.clockDifference = server.Now.Sub(now().Truncate(time.Second))
}

// lookAtSite looks at what is in the tables of a site that can be served.
func (f *findings) lookAtSite(ctx context.Context, site *adapter.Site) error {
	runs, err := site.RunsJobs(ctx)
	if err != nil {
		return err
	}
	conflicts, err := site.Conflicts(ctx)
	if err != nil {
		return err
	}
	f.jobCron, f.conflicts = &runs, &conflicts
	return nil
}

func (f *findings) lookAtPlatform(ctx context.Context, db *wpdb.DB, now domain.Clock) error {
	options, err := db.OptionValues(ctx, "latepoint_db_version")
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	f.platformVersion = wpdb.PlainText(options["latepoint_db_version"])
	schema, err := db.Schema(ctx, f.platformVersion)
	if err != nil {
		return err
	}
	f.missing, f.unwritable = schema.Missing(), schema.Unwritables()
	f.platform = "active"
	site, err := adapter.NewPlatform(db, now).Site(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) {
		f.hiddenNetwork(db)
		return nil
	}
	remedy := "activate LatePoint 5 in the site's administration, so that it completes its tables"
	if options == nil {
		remedy = "correct the prefix, db.prefix"
	}
	if err == nil {
		f.clock = site.Zone.Name + ", now " + site.Now.In(site.Zone.Location).Format(time.DateTime)
		err = site.CheckColumns()
		remedy = "deactivate LatePoint in the site's administration and activate it again, so that it completes its tables"
	}
	var known *domain.Error
	switch {
	case err == nil:
		return f.lookAtSite(ctx, site)
	case errors.As(err, &known) && known.Code == domain.CodeUnavailable:
		f.platform = known.Message
		f.todo = append(f.todo, known.Message+": "+remedy)
	default:
		return err
	}
	return nil
}

// hiddenNetwork notes a plugin that only a network's list can tell of, which
// cannot be read.
func (f *findings) hiddenNetwork(db *wpdb.DB) {
	f.platform = "not active on this site itself"
	f.todo = append(f.todo, fmt.Sprintf("LatePoint is not active on this site itself: activate it, or, where it is active for a whole network, grant the database user SELECT on %s",
		db.FullName(wpdb.Sitemeta)))
}

func (f *findings) lookAtKeys(ctx context.Context, db *wpdb.DB, now domain.Clock) (err error) {
	if f.missingOwn, err = missingOwnTables(ctx, db); err != nil {
		return err
	}
	if lost := f.lostTables(); len(lost) > 0 {
		f.todo = append(f.todo, fmt.Sprintf("tables of Bookside are missing, without which a running server is not ready: %s: restart serve, which creates them, empty", named(db, lost)))
	}
	if slices.Contains(f.missingOwn, wpdb.APIKeys) {
		return nil
	}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return err
	}
	if f.completing = db.MigrationStatements(schema); len(f.completing) > 0 {
		f.keys = "cannot be read"
		for _, statement := range f.completing {
			f.todo = append(f.todo, "a table of Bookside lacks a column of this version: run "+statement)
		}
		return nil
	}
	stored, err := keys.NewStore(db, now, rand.Reader).List(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) {
		f.keys = "cannot be read"
		return nil
	}
	valid := 0
	for _, key := range stored {
		if key.Status(now()) != keys.Active {
			continue
		}
		valid++
		if key.Weakness() != keys.Strong {
			f.weakKeys = append(f.weakKeys, key)
		}
	}
	f.keys = fmt.Sprintf("%d valid of %d", valid, len(stored))
	return err
}

// lostTables are the tables of ours that are missing although others are there.
// Where none is there, Bookside has not been started on this site yet. What may
// not be read is reported as that.
func (f findings) lostTables() []wpdb.Table {
	if len(f.missingOwn) == len(wpdb.OwnTables()) {
		return nil
	}
	unreadable := func(t wpdb.Table) bool { return slices.Contains(f.rights.unreadable, t) }
	return slices.DeleteFunc(slices.Clone(f.missingOwn), unreadable)
}

func (f findings) report(t target, db *wpdb.DB) string {
	table := columns([][]string{
		{"database", fmt.Sprintf("%s, %s at %s", db.Version(), t.database, t.address)},
		{"server", f.settings()},
		{"cluster", f.clusterLine()},
		{"table prefix", db.Prefix()},
		{"rights", f.rights.summary()},
		{"LatePoint", f.platform},
		{"its version", cmp.Or(f.platformVersion, "none")},
		{"its tables", f.tables(db)},
		{"time zone", f.clock},
		{"own tables", f.own(db)},
		{"API keys", f.keys},
		{"jobs", f.cron()},
		{"overlaps", f.overlaps()},
	})
	for _, warning := range f.warnings(db) {
		table += "warning: " + warning + "\n"
	}
	return table
}

func (f findings) tables(db *wpdb.DB) string {
	switch {
	case f.rights.blind():
		return "cannot be read"
	case len(f.missing) > 0:
		return "missing " + named(db, f.missing)
	default:
		return "all there"
	}
}

func (f findings) own(db *wpdb.DB) string {
	const makers = "; serve and keys create make them"
	switch missing := len(f.missingOwn); {
	case missing == 0 && len(f.completing) > 0:
		return "all there, but columns are missing"
	case missing == 0:
		return "all there"
	case missing == len(wpdb.OwnTables()):
		return "not there yet" + makers
	default:
		return "missing " + named(db, f.missingOwn) + makers
	}
}

// checkLive asks the running server; no database is needed.
func (p *program) checkLive(ctx context.Context, address string) error {
	if address == "" {
		return failf(exitFailure, nil, "admin.listen (%s) is empty: the server answers no probes", envName("admin.listen"))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	readiness, err := askReadiness(ctx, "http://"+dialable(address)+"/readyz")
	if err != nil {
		return failf(exitFailure, err, "the server does not answer probes at %s; see that it runs, and that admin.listen (%s) is the same here and there", address, envName("admin.listen"))
	}
	if readiness.Status != handlers.StatusReady {
		return failf(exitFailure, nil, "the server is %s: database %s, platform %s", readiness.Status, readiness.Database, readiness.Platform)
	}
	return p.print("ready\n")
}

func askReadiness(ctx context.Context, url string) (r handlers.Readiness, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return r, err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	return r, json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&r)
}

// dialable is where a listener's address can be reached from its own machine.
func dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return address
}
