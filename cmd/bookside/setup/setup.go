package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/wpdb"
	"github.com/bookside/bookside/wpdb/wpconfig"
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
	WordPress string // directory; "" to search for it
	Options
	Yes, DryRun bool

	configurations []configuration
	site           Site
	wordpress      wpconfig.Config
	prefix         string   // with the number of a site in a network
	home           *url.URL // of the site
	dsn            string   // for the service
	unrouted       bool     // the web server does not forward to Bookside
	continuing     bool     // the service was started by hand
	secret         string   // of the key that was created
	record         *record
	answers        *bufio.Reader
}

// Options are the options of the command that remain in effect until the setup is complete, even if another
// run continues it.
type Options struct {
	SiteID      int    `json:"site_id"`      // number of the site in a network
	Address     string `json:"address"`      // of the site; "" for WordPress's own
	Listen      string `json:"listen"`       // address of the API
	AdminListen string `json:"admin_listen"` // of probes, metrics and the console
	TLS         string `json:"db_tls"`       // to the database, as in wpdb.TLS; "" for auto
	WebServer   string `json:"web_server"`   // name; "" for the one that serves the site, None to change none
}

// None stands for no web server.
const None = "none"

// Error is a failure whose text is for the person who runs the program.
type Error struct {
	Text  string
	Usage bool // the command line is wrong
	Cause error
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Cause }

func errorf(format string, args ...any) error {
	return &Error{Text: fmt.Sprintf(format, args...)}
}

// Step is a part of setup that is confirmed as a whole.
type Step struct {
	Name    string   // the name under which it is recorded
	Title   string   // "" if there is nothing to say or do
	Notes   []string // what else to know before confirming
	Changes []Change
	// Optional says what happens if the step is declined; "" if setup is pointless without it.
	Optional string
	// Verify reports whether the changes took effect; nil if there is nothing to verify.
	Verify func(context.Context) error
	// Declined is called if the step is declined; nil if there is nothing to do.
	Declined func()
}

// Run sets Bookside up.
func (s *Setup) Run(ctx context.Context) error {
	s.answers = bufio.NewReader(s.In)
	if !s.Host.Privileged && !s.DryRun {
		return errorf("%s", unprivileged)
	}
	return s.alone(func() error { return s.run(ctx) })
}

// errRunning is the error of a concurrent run.
var errRunning = errorf("another bookside setup is running on this machine; wait until it has ended")

// alone does work while no other run does. A run that only shows its steps needs no lock.
func (s *Setup) alone(work func() error) (err error) {
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

func (s *Setup) run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.examine(ctx); err != nil {
		return err
	}
	// Anything that makes a step impossible is found before the first step is done.
	for _, plan := range s.plans() {
		step, err := plan(ctx)
		if err != nil {
			return err
		}
		if s.DryRun {
			s.show(step)
		}
	}
	if s.DryRun {
		s.say("\nNothing was done.\n")
		return nil
	}
	for _, plan := range s.plans() {
		if err := s.step(ctx, plan); err != nil {
			return err
		}
	}
	s.record.State = finished
	if err := s.record.save(ctx, s.Host); err != nil {
		return err
	}
	s.conclude()
	return nil
}

// unprivileged says what to do if setup lacks privileges.
const unprivileged = `setup needs root: it writes files below /etc, starts a service and reloads the web server.
Run it as "sudo bookside setup"; "bookside setup --dry-run" shows what it would do.

On shared hosting without root Bookside cannot run beside the site. Run it on a machine of yours that
may reach the site's database (ask the host for remote access to it), see "bookside help check", and
let WordPress forward the calls: "bookside companion zip bookside.zip" writes a plugin to upload in
wp-admin, which has a setting for the address of your machine.`

// plans returns the steps in order. Planning changes nothing, and depends on what was done before.
func (s *Setup) plans() []func(context.Context) (Step, error) {
	return []func(context.Context) (Step, error){s.planAccount, s.planConfiguration, s.planService, s.planWebServer, s.planSELinux, s.planKey}
}

func (s *Setup) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Out, format, args...) // there is nobody to report an error to
}

// begin looks for what an earlier run did.
func (s *Setup) begin(ctx context.Context) error {
	earlier, err := loadRecord(s.Host)
	if err != nil {
		return err
	}
	switch {
	case earlier == nil:
	case earlier.State == finished:
		return errorf("Bookside is set up for %s since %s; to take that back: bookside setup --undo", earlier.WordPress, earlier.Begun.Format(time.DateOnly))
	case earlier.State == waiting:
		s.say("Continuing with %s.\n", earlier.WordPress)
		s.record, s.WordPress, s.continuing = earlier, earlier.WordPress, true
		s.record.State = running
		s.Options = earlier.Options
		return nil
	case s.DryRun:
		s.say("An earlier run was interrupted; setup would take back first what that did.\n")
	default:
		s.say("An earlier run was interrupted. What it did is taken back first:\n")
		if agreed, err := s.agree(ctx); err != nil || !agreed {
			return errors.Join(err, errorf("nothing was done; bookside setup --undo takes back what the interrupted run did"))
		}
		if _, err := s.undo(ctx, earlier); err != nil {
			return err
		}
	}
	s.record = &record{Begun: s.Now().UTC(), State: running, Options: s.Options}
	return nil
}

// examine finds the site, its database and its address, and checks that it can be served.
func (s *Setup) examine(ctx context.Context) (err error) {
	s.configurations = parseConfigurations(s.Host.files())
	for _, c := range s.configurations {
		switch {
		case c.unreadable == nil:
		case s.WebServer != "" && !strings.EqualFold(s.WebServer, string(c.software)):
			s.say("The configuration of %s cannot be read; it is left alone: %v\n", c.software, c.unreadable)
		default:
			return errorf("the configuration of %s cannot be read: %v.\nCorrect it first, or leave the web server alone: --web-server none", c.software, c.unreadable)
		}
	}
	if s.site, err = s.choose(ctx); err != nil {
		return err
	}
	s.record.WordPress, s.record.Config = s.site.Dir, s.site.Config
	s.say("WordPress: %s\nIts settings: %s\n", s.site, s.site.Config)
	s.wordpress, err = wpconfig.Read(s.Host.path(s.site.Config))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return errorf("%v; only root may read it: run it with sudo", err)
	case err != nil:
		return errorf("%v.\nSetup cannot go on by itself: configure the service by hand, with db.dsn, as INSTALL.md tells", err)
	}
	if s.SiteID > 1 && !s.wordpress.Multisite {
		return &Error{Text: "--site-id: the site is not a network of sites", Usage: true}
	}
	if s.wordpress.Multisite && s.SiteID == 0 {
		s.say("It is a network of sites; this is its first one. For another one: --site-id NUMBER\n")
	}
	if tls := wpdb.TLS(s.TLS); tls != "" && tls != wpdb.TLSAuto {
		s.wordpress.TLS = tls
	}
	s.dsn, s.prefix = s.wordpress.FormatDSN(), wpdb.SitePrefix(s.wordpress.TablePrefix, s.SiteID)
	if dsn, exists, err := s.Host.read(dsnFile); err == nil && exists && s.has("configuration") {
		s.dsn = strings.TrimSpace(string(dsn))
	}
	s.say("\n")
	if err := s.Check(ctx, s.database(), s.has("configuration")); err != nil {
		return err
	}
	return s.findAddress(ctx)
}

func (s *Setup) database() Database {
	return Database{s.dsn, s.wordpress.TablePrefix, s.SiteID}
}

// has reports whether a step was done or declined.
func (s *Setup) has(step string) bool { return slices.Contains(s.record.Steps, step) }

// choose returns the site: the only one, or the one that the user picks.
func (s *Setup) choose(ctx context.Context) (Site, error) {
	sites, err := findSites(s.Host.files(), s.configurations, s.WordPress)
	if err != nil {
		return Site{}, err
	}
	if s.continuing {
		sites = slices.DeleteFunc(sites, func(site Site) bool { return site.Config != s.record.Config })
	}
	switch {
	case len(sites) == 1:
		return sites[0], nil
	case len(sites) == 0 && s.WordPress != "":
		return Site{}, errorf("there is no WordPress in %s, or it has no wp-config.php yet", s.WordPress)
	case len(sites) == 0:
		return Site{}, errorf("no WordPress was found in the usual places and in the directories of nginx, Apache and Caddy; name its directory: --wordpress DIRECTORY.\n" +
			"If it runs in a container or on another machine, run Bookside there, or configure it with db.dsn (INSTALL.md); on shared hosting, see WITHOUT-ROOT.md")
	}
	s.say("There are several sites:\n")
	for i, site := range sites {
		s.say("  %d  %s\n", i+1, site)
	}
	if s.Yes || s.DryRun {
		return Site{}, &Error{Text: "there are several sites; name the directory of one: --wordpress DIRECTORY, and with several in one directory --url ADDRESS", Usage: true}
	}
	for {
		s.say("Which one? [1-%d] ", len(sites))
		answer, err := s.answer(ctx)
		if err != nil {
			return Site{}, err
		}
		var number int
		if _, err := fmt.Sscan(answer, &number); err == nil && number >= 1 && number <= len(sites) {
			return sites[number-1], nil
		}
	}
}

// findAddress determines the site's address and the web server's part of it.
func (s *Setup) findAddress(ctx context.Context) (err error) {
	address := s.Address
	if address == "" {
		db, err := s.open(ctx)
		if err != nil {
			return err
		}
		options, err := db.OptionValues(ctx, "home", "siteurl")
		if err = errors.Join(err, db.Close()); err != nil {
			return err
		}
		address = cmp.Or(wpdb.PlainText(options["home"]), wpdb.PlainText(options["siteurl"]))
	}
	s.home, err = url.Parse(strings.TrimRight(address, "/"))
	if err != nil || !plainAddress(s.home) {
		return &Error{Text: fmt.Sprintf("the address of the site is %q; write it like --url https://example.com or https://example.com/blog", address), Usage: true}
	}
	s.say("\nThe address of the site: %s\n", s.home)
	return nil
}

// plainPath matches a path that has no special meaning in the configuration of any web server.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// plainAddress reports whether an address is that of a site, and can be written into a web server's
// configuration and, in quotes, into a shell command.
func plainAddress(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.Contains(u.Host, "'") && u.User == nil &&
		plainPath.MatchString(u.EscapedPath()) && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

func (s *Setup) open(ctx context.Context) (*wpdb.DB, error) {
	return wpdb.Open(ctx, wpdb.Config{DSN: s.dsn, Prefix: s.prefix, Home: s.wordpress.Home, SiteURL: s.wordpress.SiteURL})
}

// step plans a step, asks for confirmation, and does it. If it fails, everything is undone.
func (s *Setup) step(ctx context.Context, plan func(context.Context) (Step, error)) error {
	step, err := plan(ctx)
	if err != nil {
		return s.takeBack(ctx, err)
	}
	if s.has(step.Name) {
		return nil
	}
	s.show(step)
	if len(step.Changes) > 0 {
		switch agreed, err := s.agree(ctx); {
		case err != nil:
			return s.takeBack(ctx, err)
		case !agreed && step.Optional == "":
			return s.takeBack(ctx, errorf("stopped"))
		case !agreed:
			s.say("Left out: %s\n", step.Optional)
			if step.Declined != nil {
				step.Declined()
			}
			s.record.Steps = append(s.record.Steps, step.Name)
			return nil
		}
	}
	for _, c := range step.Changes {
		if err := s.record.do(ctx, s.Host, c); err != nil {
			return s.takeBack(ctx, err)
		}
	}
	if step.Verify != nil {
		switch err := step.Verify(ctx); {
		case errors.Is(err, errWaiting):
			s.record.State = waiting
			return errors.Join(s.record.save(ctx, s.Host), s.startYourself())
		case err != nil:
			return s.takeBack(ctx, err)
		}
	}
	s.record.Steps = append(s.record.Steps, step.Name)
	return s.record.save(ctx, s.Host)
}

func (s *Setup) show(step Step) {
	if step.Title == "" {
		return
	}
	s.say("\n%s\n", step.Title)
	for _, c := range step.Changes {
		if text := c.Describe(); text != "" {
			s.say("  - %s\n", text)
		}
	}
	for _, note := range step.Notes {
		s.say("  %s\n", note)
	}
}

// agree asks for confirmation.
func (s *Setup) agree(ctx context.Context) (bool, error) {
	if s.Yes {
		return true, nil
	}
	for {
		s.say("Do it? [Y/n] ")
		answer, err := s.answer(ctx)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(answer) {
		case "", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// answer reads a line. A signal must not wait for it: the user may want to stop.
func (s *Setup) answer(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	answered := make(chan read, 1)
	go func() {
		line, err := s.answers.ReadString('\n')
		answered <- read{line, err}
	}()
	select {
	case r := <-answered:
		if r.err != nil {
			s.say("\n")
			return "", &Error{Text: "nobody answers; with --yes setup asks nothing", Usage: true}
		}
		return strings.TrimSpace(r.line), nil
	case <-ctx.Done():
		s.say("\n")
		return "", errorf("interrupted")
	}
}

// takeBack undoes everything after a failure.
func (s *Setup) takeBack(ctx context.Context, reason error) error {
	if len(s.record.Changes) == 0 {
		return reason
	}
	s.say("\nThat failed. Everything is taken back:\n")
	_, err := s.undo(ctx, s.record)
	return errors.Join(reason, err)
}

// undo undoes what is recorded, even if the context ends because of a signal. It reports whether there were
// notes.
func (s *Setup) undo(ctx context.Context, r *record) (notes bool, err error) {
	complete, err := r.undo(context.WithoutCancel(ctx), s.Host, func(change, note string, err error) {
		if change != "" {
			s.say("  - %s\n", change)
		}
		if note != "" {
			notes = true
			s.say("    ! %s\n", note)
		}
		if err != nil {
			s.say("    ✗ %v\n", err)
		}
	})
	if err == nil && !complete {
		err = errorf("not everything could be taken back; when you have seen to it: bookside setup --undo")
	}
	return notes, err
}

// Undo undoes what an earlier run did.
func (s *Setup) Undo(ctx context.Context) error {
	s.answers = bufio.NewReader(s.In)
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
	s.say("Setup for %s of %s, taken back from its end:\n", earlier.WordPress, earlier.Begun.Format(time.DateOnly))
	for i := len(earlier.Changes) - 1; i >= 0; i-- {
		c, err := earlier.Changes[i].change()
		if err != nil {
			return err
		}
		if text := c.DescribeUndo(); text != "" {
			s.say("  - %s\n", text)
		}
	}
	s.sayLeftovers(earlier)
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

// errWaiting is the error of a service that only the user can start.
var errWaiting = errors.New("the service does not run")

// startYourself ends a run until the user has started the service.
func (s *Setup) startYourself() error {
	return errorf("Bookside has to run before the web server can use it, and systemd does not run here.\n"+
		"Start it by whatever starts services here, as the user %s, and run setup again, which goes on from here:\n"+
		"  %s serve", serviceUser, s.Program)
}

// conclude prints what is installed now.
func (s *Setup) conclude() {
	api := s.apiURL()
	s.say("\nBookside is set up.\n")
	if s.secret != "" {
		s.say("\nThis is a key that may read. It is shown only once:\n\n  %s\n\nTry it:\n\n  curl -H 'X-API-Key: %[1]s' '%s/services'\n", s.secret, api)
	}
	s.say("\nThe documentation, where requests can be tried: %s/docs\n", api)
	s.say("More keys: sudo bookside keys create --name NAME --permissions read,write_bookings\n")
	s.say("With the companion in WordPress, compare the site's own answers with the API's: sudo bookside extensions verify\n")
	s.say("To take everything back: sudo bookside setup --undo\n")
}
