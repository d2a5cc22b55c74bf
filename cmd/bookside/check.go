package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/printable"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) check() *cobra.Command {
	command := &cobra.Command{
		Use:   "check",
		Short: "check the database and the site",
		Long: `Connects to the database and reports on the site and the work for it: what is well (✓), what somebody
should look at (!), and what is broken (✗), each with what to do about it. It changes nothing. It exits
with 0 if the site can be served and nothing is broken. It also tests Redis, if configured, and whether a
server that answers at admin.listen serves this site.

Missing privileges are printed as GRANT statements; --grants prints all that are needed, even for
a user that has none yet. --conflicts lists overlapping bookings of one agent from today on, with names and times,
and exits with 7 if there are any. --json prints the report for programs; its "ok" is true if check
exits with 0.

With --live it asks the running server at admin.listen whether it is ready, for the health check of
a container.`,
	}
	flags := p.configFlags(command)
	live := flags.Bool("live", false, "ask the running server whether it is ready")
	var show checkOutput
	flags.BoolVar(&show.json, "json", false, "print the report as JSON")
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
	unfinished              bool // setup is running check: no server works yet, and setup knows the next command
}

// findings are the report on a site and what check adds to it for output.
type findings struct {
	monitor.Report
	grants monitor.Grants
	show   checkOutput
}

// checkReport is the output of check --json.
type checkReport struct {
	OK     bool            `json:"ok"` // check exits with 0
	Report []monitor.Entry `json:"report"`
	Grants monitor.Grants  `json:"grants"`
}

func (p *program) checkSite(ctx context.Context, c settings.Config, show checkOutput) (err error) {
	t, db, err := openSite(ctx, c)
	if err != nil {
		return p.checkFailed(ctx, t, show, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f := findings{show: show}
	switch err := f.examine(ctx, c, t, server.NewPlatform(c, db, p.now)); {
	case errors.Is(err, wpdb.ErrUnavailable) || errors.Is(err, wpdb.ErrSilent): // such as a cluster node that accepts connections but no queries
		return p.checkFailed(ctx, t, show, t.Explain(err))
	case err != nil:
		return p.checkFailed(ctx, t, show, fmt.Errorf("examine the site: %w", t.Explain(err)))
	}
	failure := f.failure()
	terminal := terminalOf(p.stdout)
	switch {
	case show.json:
		err = p.printJSON(checkReport{failure == nil, f.Entries, f.grants})
	case terminal != nil && mayColor(p.env):
		_, err = io.WriteString(terminal, f.colored(printable.Text(f.text())))
	default:
		err = p.print(f.text())
	}
	return cmp.Or(err, failure)
}

// examine adds to the report what a running server cannot know, or knows already.
func (f *findings) examine(ctx context.Context, c settings.Config, t server.Target, platform *session.Platform) error {
	account, database, err := t.Config.Account(ctx)
	if err != nil {
		return err
	}
	if f.Report, err = monitor.Examine(ctx, platform); err != nil {
		return err
	}
	f.grants = f.Privileges.Grants(platform.DB, database, account)
	f.Entries[0].Text = monitor.Say("%s at %s, account %s, %s", database, t.Address, account, f.Entries[0].Text)
	if err := server.TryRedis(ctx, c); err != nil {
		f.add(monitor.Entry{Code: monitor.Redis, Level: monitor.Minor, Do: monitor.Say("See rate_limit.redis."),
			Text: monitor.Say("does not count requests, so each server counts its own: %s", ratelimit.RedisError(err))})
	}
	if f.show.unfinished {
		return nil
	}
	if err := f.examineServer(ctx, c, platform); err != nil {
		return err
	}
	return f.tryLoopback(ctx, c, platform)
}

func (f *findings) add(e monitor.Entry) { f.Entries = append(f.Entries, e) }

// examineServer looks for the server that answers at admin.listen. Tables that may not be read are already reported.
func (f *findings) examineServer(ctx context.Context, c settings.Config, platform *session.Platform) error {
	own, err := platform.Fingerprint(ctx)
	if err != nil && !errors.Is(err, wpdb.ErrAccessDenied) {
		return err
	}
	running := findServer(ctx, c.Admin.Listen)
	if running == nil {
		return nil
	}
	found := monitor.Entry{Code: monitor.Server, Text: monitor.Say("the one at %s serves this site", c.Admin.Listen)}
	switch {
	case own == "" || running.Fingerprint == "":
		found.Text = monitor.Say("the one at %s does not say which site it serves", c.Admin.Listen)
	case own != running.Fingerprint:
		found.Level, found.Text = monitor.Minor, monitor.Say("the one at %s serves another site, or a copy of this one", c.Admin.Listen)
		found.Do = monitor.Say("Correct the database (db.dsn) or the address (admin.listen), or restart it if it was started with other settings.")
	}
	f.add(found)
	if found.Level == monitor.Good {
		for _, entry := range running.Report {
			if entry.Code == monitor.RestoredUnder { // only a server that ran meanwhile can know
				f.add(entry)
			}
		}
	}
	return nil
}

// tryLoopback asks WordPress something if it has to be asked, or told, what extensions do.
func (f *findings) tryLoopback(ctx context.Context, c settings.Config, platform *session.Platform) error {
	if slices.ContainsFunc(f.Entries, monitor.Entry.Stops) {
		return nil
	}
	site, err := platform.Session(ctx)
	if err != nil {
		return err
	}
	active, err := site.Extensions(ctx)
	if err != nil {
		return err
	}
	waits := "extensions of the site decide, and WordPress cannot be asked: %s"
	if len(extensions.AskedOf(active)) == 0 {
		if !extensions.Told(active) {
			return nil
		}
		waits = "extensions of the site are told about changes, and WordPress cannot be asked to: %s"
	}
	if err := server.NewAsker(c, platform).Try(ctx); err != nil {
		f.add(monitor.Unanswered(monitor.Say(waits, err)))
	}
	return nil
}

// checkFailed prints what is known about a site that could not be examined, and returns the reason.
func (p *program) checkFailed(ctx context.Context, t server.Target, show checkOutput, reason error) error {
	var grants monitor.Grants
	if errors.Is(reason, wpdb.ErrAccessDenied) {
		var err error
		grants, err = monitor.GrantsWithoutAccess(ctx, t.Config)
		reason = errors.Join(reason, err)
	}
	switch {
	case show.json:
		failed := monitor.Entry{Code: monitor.Database, Level: monitor.Broken, Text: monitor.Say("%s", reason.Error())}
		return errors.Join(reason, p.printJSON(checkReport{Report: []monitor.Entry{failed}, Grants: grants}))
	case show.grants:
		return errors.Join(reason, p.print(allGrants(grants)))
	default:
		return reason
	}
}

// failure returns the error that check ends with, or nil.
func (f findings) failure() error {
	code, summary := exit.Failure, "the site can be served, but not all is well"
	var broken []string
	for _, e := range f.Entries {
		if e.Level != monitor.Broken || f.show.unfinished && !e.Stops() {
			continue
		}
		broken = append(broken, e.Code.Words()+": "+e.String())
		if e.Stops() {
			summary = "the site cannot be served"
		}
		if e.Code == monitor.ReadsRefused {
			code = exit.Refused
		}
	}
	switch {
	case len(broken) > 0:
		return exit.Errorf(code, nil, "%s:\n  %s", summary, strings.Join(broken, "\n  "))
	case f.show.conflicts && len(f.Conflicts.Conflicts) > 0:
		return exit.Errorf(exit.Conflicts, nil, "%s", f.OverlapCount())
	default:
		return nil
	}
}

// marks show at a glance how good an entry is, and colors do in a terminal.
var (
	marks  = map[monitor.Level]string{monitor.Good: "✓", monitor.Minor: "!", monitor.Broken: "✗"}
	colors = map[monitor.Level]string{monitor.Good: "\x1b[32m", monitor.Minor: "\x1b[33m", monitor.Broken: "\x1b[31m"}
)

// text is the output of check for people. It begins with a line for each entry.
func (f findings) text() string {
	var rows [][]string
	for _, e := range f.Entries {
		rows = append(rows, []string{marks[e.Level] + " " + e.Code.Words(), e.String()})
	}
	text := columns(rows)
	if f.show.grants {
		return text + allGrants(f.grants)
	}
	text += statements(f.grants.Missing)
	if f.show.conflicts {
		text += f.conflictTable()
	}
	if f.failure() == nil {
		text += f.verdict()
	}
	return text
}

// colored colors the marks of a text, which may be printed.
func (f findings) colored(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, e := range f.Entries {
		lines[i] = colors[e.Level] + marks[e.Level] + "\x1b[0m" + strings.TrimPrefix(lines[i], marks[e.Level])
	}
	return strings.Join(lines, "")
}

// verdict is the last line of check for a site that can be served.
func (f findings) verdict() string {
	text := "\nThe site can be served"
	if slices.ContainsFunc(f.Entries, func(e monitor.Entry) bool { return e.Level == monitor.Minor && e.Do.Format != "" }) {
		text += "; read the lines with ! above"
	}
	if f.show.unfinished {
		return text + "\n"
	}
	if f.serverRuns() && f.keysExist() {
		return text + "\n"
	}
	next := "bookside keys create --name \"our app\" --permissions read"
	if f.keysExist() {
		next = "bookside serve"
	}
	return text + "; next: " + next + "\n"
}

func (f findings) keysExist() bool { return f.isGood(monitor.KeysGood) }

// serverRuns reports whether a server of this site answers.
func (f findings) serverRuns() bool { return f.isGood(monitor.Server) }

func (f findings) isGood(code monitor.Code) bool {
	return slices.ContainsFunc(f.Entries, func(e monitor.Entry) bool { return e.Code == code && e.Level == monitor.Good })
}

// conflictTable is the output of check --conflicts: agent or asset, and day of each pair, and below them both
// bookings.
func (f findings) conflictTable() string {
	var b strings.Builder
	for _, c := range f.Conflicts.Conflicts {
		first := f.Bookings[c.First]
		who := cmp.Or(f.Conflicts.Assets[c.Asset], first.Agent, fmt.Sprintf("agent %d", c.Agent))
		fmt.Fprintf(&b, "\n%s, %s", oneLine.Replace(who), first.Date)
		if c.BuffersOnly {
			b.WriteString(" (buffers only)")
		}
		b.WriteString("\n" + columns([][]string{f.overlapRow(c.First, first.Date), f.overlapRow(c.Second, first.Date)}))
	}
	return b.String()
}

// overlapRow describes a booking, with its date if that differs from the pair's.
func (f findings) overlapRow(id int64, date string) []string {
	booking := f.Bookings[id]
	when := clockOf(booking.Start) + "-" + clockOf(booking.End)
	if booking.Date != date {
		when = booking.Date + " " + when
	}
	row := []string{"  " + when, fmt.Sprintf("booking %d", id), booking.Service, booking.Customer}
	if f.Address != "" {
		row = append(row, slots.BookingURL(f.Address, id))
	}
	return row
}

// clockOf formats a minute of the day as a time.
func clockOf(minutes int) string {
	return time.Time{}.Add(time.Duration(minutes) * time.Minute).Format("15:04")
}

// allGrants returns SQL that can be run unchanged.
func allGrants(g monitor.Grants) string {
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
