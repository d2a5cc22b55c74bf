package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) check() *cobra.Command {
	command := &cobra.Command{
		Use:   "check",
		Short: "check the database and the site",
		Long: `Connects to the database and reports what it finds: the server's version, the plugin, the tables,
the privileges of the database user, the time zone, the API keys, and indexes that would make a
large site faster. It changes nothing. It exits with 0 if the site can be served and
nothing is marked as broken, and otherwise says what to do. It also tests Redis, if configured, and
whether a server that answers at admin.listen serves this site. It rates background work: changes, jobs,
webhooks, mails and expiring keys.

Missing privileges are printed as GRANT statements; --grants prints all that are needed, even for
a user that has none yet. --conflicts lists overlapping bookings of one agent from today on, with names and times,
and exits with 7 if there are any. --json prints all of this for programs; its "ok" is true if check
exits with 0.

With --live it asks the running server at admin.listen whether it is ready, for the health check of
a container.`,
	}
	flags := p.configFlags(command)
	live := flags.Bool("live", false, "ask the running server whether it is ready")
	var show checkOutput
	flags.BoolVar(&show.json, "json", false, "print the findings as JSON")
	flags.BoolVar(&show.grants, "grants", false, "print all GRANT statements that are needed")
	flags.BoolVar(&show.conflicts, "conflicts", false, "list overlapping bookings")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		c, err := p.config()
		if err != nil {
			return err
		}
		if *live {
			return p.checkLive(ctx, c.Admin.Listen)
		}
		return p.checkSite(ctx, c, show)
	}
	return command
}

// checkOutput is the output requested from check.
type checkOutput struct {
	json, grants, conflicts bool
	unfinished              bool // setup is running check and knows the next command
}

// findings are a site's diagnosis and what check adds to it for output.
type findings struct {
	diagnose.Report
	target server.Target
	db     *wpdb.DB
	show   checkOutput
	// overlaps describes the overlapping bookings, if they are to be listed.
	overlaps map[int64]slots.ConflictingBooking
	address  string // of the site; "" if unknown
	// server is the server that answers at admin.listen, or nil.
	server *runningServer
	// work is the state of background work, and rating its assessment.
	work   upkeep.Work
	rating []diagnose.Rating
}

func (p *program) checkSite(ctx context.Context, c settings.Config, show checkOutput) (err error) {
	t, db, err := openSite(ctx, c)
	if err != nil {
		return p.checkFailed(ctx, t, show, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	report, err := diagnose.Examine(ctx, t.Config, db, p.now)
	if errors.Is(err, wpdb.ErrUnavailable) || errors.Is(err, wpdb.ErrSilent) { // such as a cluster node that accepts connections but no queries
		return p.checkFailed(ctx, t, show, t.Explain(err))
	}
	if err != nil {
		return p.checkFailed(ctx, t, show, fmt.Errorf("examine the site: %w", err))
	}
	if err := server.TryRedis(ctx, c); err != nil {
		report.Warnings = append(report.Warnings, diagnose.Say("Redis does not count requests, so each server counts its own; see rate_limit.redis: %s", ratelimit.RedisError(err)))
	}
	f := findings{Report: report, target: t, db: db, show: show}
	if err := f.examineWork(ctx, c, p.now); err != nil {
		return p.checkFailed(ctx, t, show, fmt.Errorf("examine the site: %w", t.Explain(err)))
	}
	if show.conflicts && !show.json && f.Overlapping() {
		if err := f.describeOverlaps(ctx, p.now); err != nil {
			return t.ExplainPrivilege(ctx, err)
		}
	}
	if show.json {
		err = p.printJSON(f.json())
	} else {
		err = p.print(f.text(mayColor(p.stdout, p.env)))
	}
	return cmp.Or(err, f.failure())
}

// examineWork looks for the server that answers at admin.listen, and examines the site's work. Tables that
// may not be read are already listed as unreadable.
func (f *findings) examineWork(ctx context.Context, c settings.Config, now domain.Clock) error {
	platform := server.NewPlatform(c, f.db, now)
	if !f.show.unfinished {
		own, err := platform.Fingerprint(ctx)
		if err != nil && !errors.Is(err, wpdb.ErrAccessDenied) {
			return err
		}
		if f.server = findServer(ctx, c.Admin.Listen, own); f.server != nil && f.server.foreign() {
			f.Warnings = append(f.Warnings, diagnose.Say("the server that answers at %s %s", f.server.address, f.server.site()))
		}
	}
	if len(f.Privileges.Lacking) > 0 {
		if err := f.db.LookForRefusedWrites(ctx); err != nil {
			return err
		}
	}
	work, err := upkeep.LoadWork(ctx, platform)
	if err != nil {
		return err
	}
	work.Restored = f.server.restored() && !f.server.foreign()
	f.work, f.rating = work, diagnose.Rate(work)
	var waits string
	switch active := domain.ValueOr(work.Extensions, nil); {
	case len(extensions.AskedOf(active)) > 0:
		waits = "extensions of the site decide, and WordPress cannot be asked"
	case extensions.Told(active):
		waits = "extensions of the site are told about changes, and WordPress cannot be asked to"
	default:
		return nil
	}
	if err := server.NewAsker(c, platform).Try(ctx); err != nil {
		f.Warnings = append(f.Warnings, diagnose.Say("%s; see wordpress.loopback: %s", waits, err))
	}
	return nil
}

// checkFailed prints what is known about a site that could not be examined, and returns the reason.
func (p *program) checkFailed(ctx context.Context, t server.Target, show checkOutput, reason error) error {
	var grants diagnose.Grants
	if errors.Is(reason, wpdb.ErrAccessDenied) {
		var err error
		grants, err = diagnose.GrantsWithoutAccess(ctx, t.Config)
		reason = errors.Join(reason, err)
	}
	switch {
	case show.json:
		return errors.Join(reason, p.printJSON(struct {
			OK       bool       `json:"ok"`
			Problems []string   `json:"problems"`
			Rights   grantsJSON `json:"rights"`
		}{false, []string{reason.Error()}, newGrantsJSON(grants)}))
	case show.grants:
		return errors.Join(reason, p.print(allGrants(grants)))
	default:
		return reason
	}
}

// describeOverlaps reads what people need to know about the overlapping bookings.
func (f *findings) describeOverlaps(ctx context.Context, now domain.Clock) error {
	site, err := session.NewPlatform(f.db, now).Session(ctx)
	if err != nil {
		return err
	}
	if f.overlaps, err = slots.ConflictingBookings(ctx, site, f.Conflicts.Conflicts); err != nil {
		return err
	}
	f.address, err = slots.Address(ctx, site)
	return err
}

// problems returns why check fails.
func (f findings) problems() []string {
	if len(f.Problems) > 0 {
		return diagnose.Texts(f.Problems)
	}
	problems := f.brokenWork()
	if f.show.conflicts && f.Overlapping() {
		problems = append(problems, f.OverlapCount().String())
	}
	return problems
}

// brokenWork returns the work rated as broken on a site that can be served. Setup has yet to start the
// server that does the work.
func (f findings) brokenWork() (problems []string) {
	for _, r := range f.rating {
		if r.Level == diagnose.Broken && !f.show.unfinished {
			problems = append(problems, r.Name+": "+r.Line())
		}
	}
	return problems
}

// failure returns the error that check ends with, or nil.
func (f findings) failure() error {
	problems := f.problems()
	switch {
	case len(f.Privileges.Unreadable) > 0:
		return exit.Errorf(exit.Refused, nil, "the site cannot be served:\n  %s", strings.Join(problems, "\n  "))
	case len(f.Problems) > 0:
		return exit.Errorf(exit.Failure, nil, "the site cannot be served:\n  %s", strings.Join(problems, "\n  "))
	case len(f.brokenWork()) > 0:
		return exit.Errorf(exit.Failure, nil, "the site can be served, but not all is well:\n  %s", strings.Join(problems, "\n  "))
	case len(problems) > 0:
		return exit.Errorf(exit.Conflicts, nil, "%s", problems[0])
	default:
		return nil
	}
}
