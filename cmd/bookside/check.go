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
	"strings"
	"time"

	"bookside/adapter"
	"bookside/handlers"
	"bookside/wpdb"
)

const aboutCheck = `Opens the database and tells what it finds there: its version, the plugin, the tables, the time
zone, the API keys. It ends with 0 when the site can be served, else it says what to do.

With --live it asks the running server instead, at admin.listen, as a container's health check.`

func (p *program) check(flags *flag.FlagSet) action {
	var given configFlags
	given.define(flags)
	live := flags.Bool("live", false, "ask the running server whether it is ready")
	return func(ctx context.Context, _ []string) error {
		c, err := readConfig(p.env, given)
		if err != nil {
			return err
		}
		if *live {
			return p.checkLive(ctx, c.Admin.Listen)
		}
		return p.checkSite(ctx, c)
	}
}

func (p *program) checkSite(ctx context.Context, c config) (err error) {
	t, db, err := openSite(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f, err := look(ctx, db, p.now)
	if err != nil {
		return fmt.Errorf("look at the site: %w", err)
	}
	if err := p.print(f.report(t)); err != nil {
		return err
	}
	if len(f.todo) > 0 {
		return failf(exitFailure, nil, "the site cannot be served:\n  %s", strings.Join(f.todo, "\n  "))
	}
	return nil
}

// findings are what check tells about a site.
type findings struct {
	version         string // of the database server
	platformVersion string
	platform        string
	missing         []wpdb.Table
	clock           string
	ownTables       bool
	validKeys, keys int
	todo            []string
}

func look(ctx context.Context, db *wpdb.DB, now adapter.Clock) (findings, error) {
	f := findings{version: db.Version(), clock: "not known before the site can be served", platform: "active"}
	options, err := db.OptionValues(ctx, "latepoint_db_version")
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return f, err
	}
	f.platformVersion = options["latepoint_db_version"]
	schema, err := db.Schema(ctx, f.platformVersion)
	if err != nil {
		return f, err
	}
	f.missing = schema.Missing()
	if err := f.lookAtPlatform(ctx, adapter.NewPlatform(db, now)); err != nil {
		return f, err
	}
	return f, f.lookAtKeys(ctx, db, now)
}

func (f *findings) lookAtPlatform(ctx context.Context, platform *adapter.Platform) error {
	site, err := platform.Site(ctx)
	var known *adapter.Error
	switch {
	case err == nil:
		f.clock = site.Zone.Name + ", now " + site.Now.In(site.Zone.Location).Format(time.DateTime)
	case errors.As(err, &known) && known.Code == adapter.CodeUnavailable:
		f.platform = known.Message
		f.todo = append(f.todo, known.Message+": activate LatePoint 5 in the site's administration, so that it completes its tables")
	default:
		return err
	}
	return nil
}

func (f *findings) lookAtKeys(ctx context.Context, db *wpdb.DB, now adapter.Clock) error {
	present, err := hasOwnTables(ctx, db)
	if err != nil || !present {
		return err
	}
	f.ownTables = true
	keys, err := adapter.NewKeys(db, now, rand.Reader).List(ctx)
	if err != nil {
		return err
	}
	f.keys = len(keys)
	for _, key := range keys {
		if keyStatus(key, now()) == "active" {
			f.validKeys++
		}
	}
	return nil
}

func (f findings) report(t target) string {
	return columns([][]string{
		{"database", fmt.Sprintf("%s, %s at %s", f.version, t.database, t.address)},
		{"table prefix", t.config.Prefix},
		{"LatePoint", f.platform},
		{"its version", cmp.Or(f.platformVersion, "none")},
		{"its tables", f.tables(t.config.Prefix)},
		{"time zone", f.clock},
		{"own tables", f.own()},
		{"API keys", fmt.Sprintf("%d valid of %d", f.validKeys, f.keys)},
	})
}

func (f findings) tables(prefix string) string {
	if len(f.missing) == 0 {
		return "all there"
	}
	names := make([]string, len(f.missing))
	for i, table := range f.missing {
		names[i] = prefix + string(table)
	}
	return "missing " + strings.Join(names, ", ")
}

func (f findings) own() string {
	if f.ownTables {
		return "all there"
	}
	return "not there yet; serve and keys create make them"
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
