package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/wpdb"
)

// Database is a site's database, as the configuration names it.
type Database struct {
	DSN    string
	Prefix string // of the network's first site
	SiteID int
}

// Setup is one run of the command.
type Setup struct {
	Host *Host
	Now  func() time.Time
	In   io.Reader // the user's answers
	Out  io.Writer
	// Program is the path of the running program, used for the service.
	Program string
	// Check examines a site and returns an error if it cannot be served. If quiet, it prints nothing else.
	Check func(ctx context.Context, database Database, quiet bool) error

	// The options of the command.
	WordPress   string // directory; "" to search for it
	SiteID      int    // number of the site in a network
	Address     string // of the site; "" for WordPress's own
	Listen      string // address of the API
	AdminListen string // of probes, metrics and the console
	TLS         string // to the database, as in wpdb.TLS; "" for auto
	WebServer   string // name; "" for the one that serves the site
	Yes, DryRun bool
	NoWait      bool // for the line in the web server's configuration

	lines <-chan string // what the user enters
}

func errorf(format string, args ...any) error { return exit.Errorf(exit.Failure, nil, format, args...) }

func usageErrorf(format string, args ...any) error {
	return exit.Errorf(exit.Usage, nil, format, args...)
}

// Run sets Bookside up. Where it is set up already, it only checks that the API answers at the site's
// address.
func (s *Setup) Run(ctx context.Context) error {
	if !s.Host.Privileged && !s.DryRun {
		return errorf("%s", unprivileged)
	}
	return s.alone(func() error {
		earlier, err := loadRecord(s.Host)
		if err != nil {
			return err
		}
		if earlier != nil && earlier.Finished {
			s.say("Bookside is set up for %s since %s; to take that back: bookside setup --undo\n", earlier.WordPress, earlier.Begun.Format(time.DateOnly))
			if works, err := s.connect(ctx, earlier); err != nil || !works {
				return errors.Join(err, errorf("the API does not work at %s yet", earlier.api()))
			}
			return nil
		}
		if err := s.takeBackInterrupted(ctx, earlier); err != nil {
			return err
		}
		return s.install(ctx)
	})
}

// unprivileged says what to do if setup lacks privileges.
const unprivileged = `setup needs root: it writes files below /etc and starts a service.
Run it as "sudo bookside setup"; "bookside setup --dry-run" shows what it would do.

On shared hosting without root Bookside cannot run beside the site. Run it on a machine of yours that
may reach the site's database (ask the host for remote access to it), see "bookside help check", and
let WordPress forward the calls: "bookside companion bookside.zip" writes a plugin to upload in
wp-admin, which has a setting for the address of your machine.`

// errRunning is the error of a concurrent run.
var errRunning = errorf("another bookside setup is running on this machine; wait until it has ended")

// alone does work while no other run does. A run that only shows its steps needs no lock.
func (s *Setup) alone(work func() error) (err error) {
	s.lines = linesOf(s.In)
	if s.DryRun {
		return work()
	}
	unlock, err := s.Host.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return work()
}

// linesOf returns the lines that the user enters. A signal must not wait for them: the user may want to stop.
func linesOf(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			lines <- strings.TrimSpace(scanner.Text())
		}
	}()
	return lines
}

func (s *Setup) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Out, format, args...) // there is nobody to report an error to
}

// takeBackInterrupted undoes what a run did that was interrupted, if there is one.
func (s *Setup) takeBackInterrupted(ctx context.Context, interrupted *record) error {
	switch {
	case interrupted == nil:
		return nil
	case s.DryRun:
		s.say("An earlier run was interrupted; setup would take back first what that did.\n")
		return nil
	}
	s.say("An earlier run was interrupted. What it did is taken back first:\n")
	if agreed, err := s.agree(ctx); err != nil || !agreed {
		return errors.Join(err, errorf("nothing was done; bookside setup --undo takes back what the interrupted run did"))
	}
	_, err := s.undo(ctx, interrupted)
	return err
}

// install plans everything before it does the first step, so that what makes a step impossible is found in time. Then it
// waits for the web server.
func (s *Setup) install(ctx context.Context) error {
	i, err := s.examine(ctx)
	if err != nil {
		return err
	}
	actions, err := s.plan(ctx, i)
	if err != nil {
		return err
	}
	s.say("\nSetup will\n")
	for _, a := range actions {
		s.say("  - %s\n", a.what)
	}
	if s.DryRun {
		s.say("\n%s\nNothing was done.\n", s.instructions(i.web, i.home, s.Listen))
		return nil
	}
	if agreed, err := s.agree(ctx); err != nil || !agreed {
		return errors.Join(err, errorf("nothing was done"))
	}
	r := &record{
		WordPress: i.Dir, Prefix: i.prefix, Home: i.home.String(),
		Listen: s.Listen, AdminListen: s.AdminListen, WebServer: i.web.name, Begun: s.Now().UTC(),
	}
	if err := s.do(ctx, r, actions); err != nil { // the actions complete r, also with the key
		s.say("\nThat failed. Everything is taken back:\n")
		_, failed := s.undo(ctx, r)
		return errors.Join(err, failed)
	}
	s.say("\nBookside is set up. To take everything back: sudo bookside setup --undo\n\n"+
		"This is a key that may read. It is shown only once:\n\n  %s\n", r.secret)
	works, err := s.connect(ctx, r)
	if err != nil || !works {
		return err
	}
	s.say("\nTry it:\n\n  curl -H 'X-API-Key: %s' '%s/services'\n\nThe documentation, where requests can be tried: %[2]s/docs\n"+
		"More keys: sudo bookside keys create --name NAME --permissions read,write_bookings\n"+
		"With the companion in WordPress, compare the site's own answers with the API's: sudo bookside verify\n", r.secret, r.api())
	return nil
}

// do does the actions in turn, until one fails or the user interrupts it.
func (s *Setup) do(ctx context.Context, r *record, actions []action) error {
	for _, a := range actions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if a.do == nil { // a remark
			continue
		}
		if err := a.do(ctx, r); err != nil {
			return err
		}
	}
	r.Finished = true
	return r.save(ctx, s.Host)
}

// agree asks for confirmation.
func (s *Setup) agree(ctx context.Context) (bool, error) {
	for !s.Yes {
		s.say("Do it? [Y/n] ")
		select {
		case line, ok := <-s.lines:
			switch strings.ToLower(line) {
			case "y", "yes":
				return true, nil
			case "n", "no":
				return false, nil
			case "":
				if !ok {
					s.say("\n")
					return false, usageErrorf("nobody answers; with --yes setup asks nothing")
				}
				return true, nil
			}
		case <-ctx.Done():
			s.say("\n")
			return false, errorf("interrupted")
		}
	}
	return true, nil
}

// undo undoes what is recorded, even if the context ends because of a signal, until one change cannot be
// undone: what came before it may be needed to try again, as the account is to revoke the key. It reports
// whether there were notes.
func (s *Setup) undo(ctx context.Context, r *record) (notes bool, err error) {
	ctx = context.WithoutCancel(ctx)
	for _, u := range r.undoings() {
		s.say("  - %s\n", u.what)
		note, err := u.undo(ctx, s.Host)
		if err != nil {
			s.say("    ✗ %v\n", err)
			return notes, errorf("not everything could be taken back; when you have seen to it: bookside setup --undo")
		}
		if note != "" {
			notes = true
			s.say("    ! %s\n", note)
		}
	}
	return notes, s.Host.remove(recordFile)
}

// Undo undoes what an earlier run did.
func (s *Setup) Undo(ctx context.Context) error {
	if !s.Host.Privileged && !s.DryRun {
		return errorf(`setup --undo needs root; run it as "sudo bookside setup --undo"`)
	}
	return s.alone(func() error { return s.undoEarlier(ctx) })
}

func (s *Setup) undoEarlier(ctx context.Context) error {
	earlier, err := loadRecord(s.Host)
	if err != nil {
		return err
	}
	if earlier == nil {
		return errorf("there is nothing to take back: setup has not run here, or was taken back already")
	}
	if w := softwareOf(earlier.WebServer); w.line != "" {
		s.say("First remove this line from the configuration of %s, if it is there, and reload it; calls go to PHP again then:\n\n  %s\n\n", w.title, w.line)
	}
	if !earlier.Service {
		s.say("First stop what runs \"bookside serve\", too, because systemd does not.\n\n")
	}
	s.say("Setup for %s of %s, taken back from its end:\n", earlier.WordPress, earlier.Begun.Format(time.DateOnly))
	for _, u := range earlier.undoings() {
		s.say("  - %s\n", u.what)
	}
	s.say("What stays:\n  - the tables of Bookside with all keys, which this drops: %s\n", dropTables(earlier.Prefix))
	if s.Host.exists(path.Join(earlier.WordPress, "wp-content/plugins/bookside")) {
		s.say("  - the companion, among the plugins of WordPress\n")
	}
	if s.Host.exists(packagedProgram) {
		s.say("  - the package bookside, with its user\n")
	}
	if s.DryRun {
		s.say("\nNothing was done.\n")
		return nil
	}
	if agreed, err := s.agree(ctx); err != nil || !agreed {
		return errors.Join(err, errorf("nothing was done"))
	}
	switch notes, err := s.undo(ctx, earlier); {
	case err != nil:
		return err
	case notes:
		return errorf("setup is taken back, except for what is marked with ! above: see to that yourself")
	}
	s.say("Everything else is as it was.\n")
	return nil
}

// dropTables returns the statement that drops our own tables.
func dropTables(prefix string) string {
	var names []string
	for _, table := range wpdb.OwnTables() {
		names = append(names, "`"+prefix+string(table)+"`")
	}
	return "DROP TABLE IF EXISTS " + strings.Join(names, ", ")
}
