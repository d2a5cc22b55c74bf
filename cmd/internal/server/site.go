package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

// open opens the site, waiting for its database.
func (s *Server) open(ctx context.Context) (*wpdb.DB, *session.Platform, error) {
	db, err := wpdb.OpenWhenUp(ctx, s.target.Config, s.Config.Limits.ConnectWait, s.logWait)
	if err != nil {
		return nil, nil, s.target.Explain(err)
	}
	platform := NewPlatform(s.Config, db, s.Now)
	platform.Languages.Log = s.Log
	vault, err := NewVault(s.Config)
	if err == nil {
		s.webhooks = jobs.NewHookStore(db, s.Now, rand.Reader, vault, platform.Journal)
		s.webhooks.AllowPrivate = s.Config.Webhooks.AllowPrivate
		if s.reopened == nil { // otherwise the tables are as they were
			err = s.prepare(ctx, db, platform)
		}
	}
	platform.Events = extensions.NewRelay(db, s.Now, newCompanion(s.Config, platform), s.Log)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, platform, nil
}

func (s *Server) logWait(err error) {
	s.Log.Warn("waiting for the database", "address", s.target.Address, "error", reason(err))
}

// prepare checks the site and creates our own tables. A wrong table prefix is an error; an inactive plugin,
// or a read-only database, is not.
func (s *Server) prepare(ctx context.Context, db *wpdb.DB, platform *session.Platform) error {
	if err := s.target.RequireTables(ctx, db); err != nil {
		return err
	}
	site, err := platform.Session(ctx)
	if err == nil {
		err = session.CheckColumns(site)
	}
	switch {
	case domain.CodeOf(err) == domain.CodeUnavailable:
		s.Log.Warn("the site cannot be served yet; requests get 503 until it can", "error", err)
	case err != nil:
		return fmt.Errorf("examine the site: %w", err)
	}
	missing, err := EnsureOwnTables(ctx, db)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		s.Log.Warn("the database user may not create the tables of Bookside; run keys create as one that may", "missing", strings.Join(db.FullNames(missing), ", "))
	}
	return s.migrate(ctx, db)
}

// migrateInterval is how often to check whether another process has updated our own tables.
const migrateInterval = 2 * time.Second

// migrate updates our own tables to this version. If that is impossible now, requests get 503 until it
// succeeds or another process has done it: exiting would only get the program restarted.
func (s *Server) migrate(ctx context.Context, db *wpdb.DB) error {
	for told := false; ; told = true {
		done, err := db.MigrateOwnTables(ctx)
		s.logMigration(done)
		if !errors.Is(err, wpdb.ErrAccessDenied) && !errors.Is(err, wpdb.ErrReadOnly) && !errors.Is(err, wpdb.ErrConflict) && !errors.Is(err, wpdb.ErrTimeout) {
			return err
		}
		if !told {
			s.Log.Error("requests get 503 until tables of Bookside have the columns and indexes of this version: run bookside migrate as a user of the database who may add them", "error", err)
			s.probes.Waits("tables of Bookside wait for bookside migrate")
			s.notifySystemd(ctx, stateReady) // otherwise it would end the process, and with it the responses
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(migrateInterval):
			db.ForgetSchema()
		}
	}
}

// NewPlatform returns the platform of a configured site.
func NewPlatform(c settings.Config, db *wpdb.DB, now domain.Clock) *session.Platform {
	platform := session.NewPlatform(db, now)
	platform.Config = session.Config{
		BookingMetaKeys: c.Compat.BookingMetaKeys, RefuseIgnored: c.Extensions.Unknown == settings.RefuseUnknown,
		DefaultStatusOfSite: c.Bookings.DefaultStatus == settings.DefaultSite,
	}
	platform.Asker = NewAsker(c, platform)
	return platform
}

// NewAsker returns who asks WordPress what extensions of a site decide.
func NewAsker(c settings.Config, platform *session.Platform) *extensions.Asker {
	asker := extensions.NewAsker(newCompanion(c, platform), platform.Now)
	asker.Serve = c.Extensions.Unreachable == settings.ServeUnreachable
	return asker
}

// newCompanion returns the companion of a site, with a number of requests of its own.
func newCompanion(c settings.Config, platform *session.Platform) *extensions.Companion {
	wordpress := extensions.NewCompanion(platform.DB, platform.Now, platform.Fingerprint)
	wordpress.Loopback = c.WordPress.Loopback
	return wordpress
}

// NewVault requires a valid configuration.
func NewVault(c settings.Config) (jobs.Vault, error) {
	vault, err := jobs.NewVault(c.Webhooks.SecretKey)
	if err != nil {
		return vault, fmt.Errorf("%s: %w", settings.SecretKey, err)
	}
	return vault, nil
}
