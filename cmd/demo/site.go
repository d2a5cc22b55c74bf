package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/sitefile"
)

// source says which site is loaded.
type source struct {
	files []string // fixtures; none for the small practice
	now   string   // its clock, as a fixture has it; "" for the fixture's
}

// bindNow adds the flag of the clock.
func (s *source) bindNow(command *cobra.Command) {
	command.Flags().StringVar(&s.now, "now", "", `the site's clock, such as "2027-01-11T08:00" or "today 08:00", instead of the fixture's`)
}

// site is a site to load, with its clock and what Bookside itself stores.
type site struct {
	fixtures.Site

	clock    *siteClock
	keys     []sitefile.Key
	webhooks []sitefile.Webhook
}

// read returns the site. If its clock is given, time passes from there on.
func (s source) read(ctx context.Context, now domain.Clock) (site, error) {
	dump, err := s.dump()
	if err != nil {
		return site{}, err
	}
	described, err := s.describe(ctx, dump)
	if err != nil {
		return site{}, err
	}
	if s.now != "" {
		if err := described.SetNow(s.now); err != nil {
			return site{}, fmt.Errorf("--now: %w", err)
		}
	}
	content, err := described.Build(now())
	if err := checkOwn(described, err); err != nil {
		return site{}, err
	}
	read := site{Site: content.Site(), clock: newClock(now, content.Now, described.Now.Text != ""), keys: content.Keys, webhooks: content.Webhooks}
	switch {
	case dump != "":
		read.Site = fixtures.Dumped(content.Prefix, dump)
	case len(s.files) == 0:
		read.Site = fixtures.Small(content.Now)
	}
	return read, nil
}

// dump returns the SQL that is loaded, if it is that.
func (s source) dump() (string, error) {
	isDump := func(file string) bool { return filepath.Ext(file) == ".sql" }
	if !slices.ContainsFunc(s.files, isDump) {
		return "", nil
	}
	if len(s.files) > 1 {
		return "", errors.New("a dump is loaded alone, without other fixtures")
	}
	text, err := os.ReadFile(s.files[0])
	return string(text), err
}

// headings are the lines of a dump that are a fixture: of its clock, zone and tables, and of keys that somebody adds.
var headings = regexp.MustCompile(`(?m)^-- ((?:now|site|keys|webhooks): .*)$`)

// heading returns the lines with which the dump of a site begins.
func heading(s site) string {
	now := s.clock.now()
	return fmt.Sprintf("-- now: %s\n-- site: {timezone: %q, prefix: %s}\n", now.UTC().Format(time.RFC3339), now.Location(), s.Prefix)
}

// describe reads the fixtures, or the heading of a dump. A pipe that ends late does not outlast the context.
func (s source) describe(ctx context.Context, dump string) (*sitefile.Site, error) {
	if len(s.files) == 0 {
		return sitefile.Parse("small", []byte("site: {timezone: Europe/Berlin}"))
	}
	if dump != "" {
		var text strings.Builder
		for _, line := range headings.FindAllStringSubmatch(dump, -1) {
			text.WriteString(line[1] + "\n")
		}
		return sitefile.Parse(s.files[0], []byte(text.String()))
	}
	var described *sitefile.Site
	done := make(chan error, 1)
	go func() {
		var err error
		described, err = sitefile.Read(s.files...)
		done <- err
	}()
	select {
	case err := <-done:
		return described, err
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // main says what it means
	}
}

// checkOwn adds the mistakes in what Bookside itself stores to those of the rest, if any.
func checkOwn(described *sitefile.Site, rest error) error {
	var mistakes sitefile.Errors
	mistakes.Join(sitefile.Place{}, rest)
	for _, key := range described.Keys {
		if key.Gives("key") {
			mistakes.Join(key.At("key"), keys.CheckSecret(key.Secret))
		}
		_, err := keys.ParsePermissions(permissionsOf(key))
		mistakes.Join(key.At("permissions"), err)
	}
	for _, hook := range described.Webhooks {
		_, err := jobs.ParseEvents(eventsOf(hook))
		mistakes.Join(hook.At("events"), err)
	}
	return mistakes.Err()
}

func permissionsOf(key sitefile.Key) string {
	return cmp.Or(strings.Join(key.Permissions, ","), "read,write")
}

func eventsOf(hook sitefile.Webhook) string {
	return cmp.Or(strings.Join(hook.Events, ","), jobs.AllEvents)
}

// store loads the site into a database, with Bookside's own tables, keys and jobs.
func (s site) store(ctx context.Context, c settings.Config, force bool) (err error) {
	err = fixtures.Replace(ctx, c.DB.DSN, s.Site, force)
	var others fixtures.OtherTablesError
	if errors.As(err, &others) {
		return fmt.Errorf("load the site: %w; --force replaces the tables of the site and leaves these", err)
	}
	if err != nil {
		return fmt.Errorf("load the site: %w", err)
	}
	target, err := server.NewTarget(c)
	if err != nil {
		return err
	}
	db, err := target.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.CreateOwnTables(ctx); err != nil {
		return err
	}
	store := keys.NewStore(db, s.clock.now, rand.Reader)
	for _, key := range s.keys {
		permissions, err := keys.ParsePermissions(permissionsOf(key))
		if err != nil {
			return fmt.Errorf("%s: %w", key.Place, err)
		}
		if _, err := store.Import(ctx, key.Secret, keys.NewKey{Name: key.Name, Permissions: permissions}, true); err != nil {
			return fmt.Errorf("%s: %w", key.Place, err)
		}
	}
	hooks := jobs.NewHookStore(db, s.clock.now, mathrand.NewChaCha8([32]byte{}), jobs.Vault{}, journal.New(db, s.clock.now)) // the same secrets each time
	for i, hook := range s.webhooks {
		events, err := jobs.ParseEvents(eventsOf(hook))
		if err != nil {
			return fmt.Errorf("%s: %w", hook.Place, err)
		}
		added := jobs.NewHook{Name: hook.Name, URL: hook.URL, Filter: jobs.HookFilter{Events: events}, Record: hook.Record, Private: true}
		if s.webhooks[i].Secret, _, err = hooks.Add(ctx, added); err != nil {
			return fmt.Errorf("%s: %w", hook.Place, err)
		}
	}
	return nil
}
