package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Platform is a LatePoint installation in a WordPress database.
type Platform struct {
	DB     *wpdb.DB
	Now    domain.Clock
	Config Config
	// Random is the source of codes and keys. Pick returns a number below n, for sites
	// that choose any agent at random. NewPlatform sets both.
	Random io.Reader
	Pick   func(n int) int
	// Events tell the extensions of the site about changes; nil for none.
	Events *extensions.Relay
	// Asker asks WordPress about decisions of extensions that Bookside does not know; nil to never ask.
	Asker *extensions.Asker
	// Journal records the changes.
	Journal *journal.Journal
	// Languages are the site's translations of the plugin. NewPlatform finds them in the
	// site's wp-content, if it is known.
	Languages *text.Translations

	zones zones
	reads sharedReads
	asked askedFor
}

// Config is what the owner of a site decides about it.
type Config struct {
	// BookingMetaKeys are additional keys of booking meta to show, such as those of add-ons.
	BookingMetaKeys []string
	// RefuseIgnored refuses writes that an extension would decide about but that is not honoured.
	RefuseIgnored bool
	// DefaultStatusOfSite gives bookings that are sent without a status that of the service or the site in
	// place of approved.
	DefaultStatusOfSite bool
}

// NewPlatform returns the platform of a database.
func NewPlatform(db *wpdb.DB, now domain.Clock) *Platform {
	return &Platform{
		DB: db, Now: now, Random: rand.Reader, Pick: mathrand.IntN, Journal: journal.New(db, now), Languages: text.NewTranslations(db.Content()),
	}
}

// Session is one request's view of the platform: what is installed, the time zone and the
// time.
type Session struct {
	Platform *Platform
	DB       *wpdb.DB
	Schema   *wpdb.Schema
	Zone     Zone
	// Now stays the same throughout a request.
	Now     time.Time
	options domain.Options // as stored
	plugins wpdb.Plugins
	// Warnings are about the response, for the client.
	Warnings  []string
	caller    *keys.Key     // whose permissions apply; nil for the program itself
	asCaller  *Session      // the session of AsCaller; nil for this one
	NoSharing bool          // shares no statements with other requests
	Export    *ExportCursor // the lists return its chunks; nil for pages
}

// Warn adds a warning for whoever asked, once.
func (s *Session) Warn(text string) {
	if !slices.Contains(s.Warnings, text) {
		s.Warnings = append(s.Warnings, text)
	}
}

// RequirePermission returns a CodeForbidden if the caller lacks a permission beyond that of the
// request itself.
func (s *Session) RequirePermission(permission string) error {
	if s.caller == nil {
		return nil
	}
	return s.caller.Require(permission)
}

// Idempotency returns the store of responses to requests with an idempotency key.
func (s *Session) Idempotency() keys.ResponseStore {
	return keys.ResponseStore{DB: s.DB, Now: s.Now, Random: s.Platform.Random}
}

// pluginFile identifies the plugin, whatever its folder is called.
const pluginFile = "latepoint.php"

// minVersion is the database version of LatePoint 5.0, the first with orders.
const minVersion = "2.1.4"

// Session returns a view of the platform as it is now. If the plugin is inactive or tables are missing, it
// returns a CodeUnavailable; see IsUnavailable.
func (p *Platform) Session(ctx context.Context) (*Session, error) {
	options, err := p.DB.OptionValues(ctx, domain.OptionNames...)
	if errors.Is(err, wpdb.ErrSchema) {
		return p.session(ctx, nil)
	}
	if err != nil {
		return nil, err
	}
	return p.session(ctx, options)
}

func (p *Platform) session(ctx context.Context, options domain.Options) (*Session, error) {
	if options == nil {
		return nil, domain.SiteDown(domain.NoWordPress, "No WordPress tables under this prefix", nil)
	}
	plugins, err := p.DB.Plugins(ctx, options[domain.OptionActivePlugins], pluginFile)
	if err != nil {
		return nil, err
	}
	if plugins == nil {
		return nil, domain.SiteDown(domain.PluginInactive, "LatePoint is not active on this site", nil)
	}
	version := wpdb.PlainText(options["latepoint_db_version"])
	if !versionAtLeast(version, minVersion) {
		return nil, domain.SiteDown(domain.PluginTooOld, "LatePoint 5 is not installed on this site", fmt.Errorf("database version %q", version))
	}
	schema, err := p.DB.Schema(ctx, version)
	if err != nil {
		return nil, err
	}
	if missing := schema.Missing(); len(missing) > 0 {
		return nil, domain.SiteDown(domain.NoTables, "LatePoint tables are missing: "+strings.Join(p.DB.FullNames(missing), ", "), nil)
	}
	zone := p.zones.find(wpdb.PlainText(options["timezone_string"]), wpdb.PlainText(options["gmt_offset"]))
	return &Session{
		Platform: p, DB: p.DB, Schema: schema, Zone: zone, Now: p.Now(), options: options, plugins: plugins, NoSharing: true,
	}, nil
}

// Serve runs an admitted request's work on the site. If a table or column turns out to be
// unknown or different, because the plugin was just updated, it reads the schema again
// and runs the whole work a second time: the failed statement rolled back everything that
// the first run wrote.
func (p *Platform) Serve(ctx context.Context, principal keys.Principal, work func(*Session) error) error {
	site, err := p.session(ctx, principal.Options)
	if err == nil {
		site.NoSharing = false
		if err = restrict(site, &principal.Key); err == nil {
			err = work(site)
		}
	}
	if !schemaOutdated(err) {
		return err
	}
	p.DB.ForgetSchema()
	site, err = p.Session(ctx)
	if err != nil {
		return err
	}
	if err := restrict(site, &principal.Key); err != nil {
		return err
	}
	return work(site)
}

// Principal returns a key as Serve needs it, for requests of the program itself.
func (p *Platform) Principal(ctx context.Context, key keys.Key) (keys.Principal, error) {
	options, err := p.DB.OptionValues(ctx, domain.OptionNames...)
	if errors.Is(err, wpdb.ErrSchema) {
		return keys.Principal{Key: key}, nil // Serve reports the problem
	}
	return keys.Principal{Key: key, Options: options}, err
}

// SessionOf is like Session, as a key sees the site, for background work.
func (p *Platform) SessionOf(ctx context.Context, key *keys.Key) (*Session, error) {
	site, err := p.Session(ctx)
	if err != nil {
		return nil, err
	}
	if err := restrict(site, key); err != nil {
		return nil, err
	}
	return site, nil
}

// ServeBackground is like Serve, for background work. It does not run again on a changed schema, because
// the work is repeated soon anyway.
func ServeBackground[T any](ctx context.Context, p *Platform, work func(context.Context, *Session) (T, error)) (found T, err error) {
	site, err := p.Session(ctx)
	if err == nil {
		found, err = work(ctx, site)
	}
	if errors.Is(err, wpdb.ErrSchema) {
		p.DB.ForgetSchema()
	}
	return found, err
}

// PoolStats returns statistics of the database connections.
func (p *Platform) PoolStats() wpdb.PoolStats { return p.DB.Stats() }

// TransactionConflicts returns how many transactions failed because of concurrent ones,
// see wpdb.DB.TransactionConflicts.
func (p *Platform) TransactionConflicts() int64 { return p.DB.TransactionConflicts() }

// IsUnavailable reports whether an error means that the platform or its database cannot
// serve now but may later, so that a retry makes sense.
func IsUnavailable(err error) bool {
	if domain.CodeOf(err) == domain.CodeUnavailable {
		return true
	}
	for _, kind := range []error{wpdb.ErrUnavailable, wpdb.ErrBusy, wpdb.ErrConflict, wpdb.ErrOutcomeUnknown, context.DeadlineExceeded, wpdb.ErrAccessDenied, wpdb.ErrNoDatabase, wpdb.ErrSchema, wpdb.ErrReadOnly, wpdb.ErrTimeout, wpdb.ErrLinkLost, wpdb.ErrNoTLS, wpdb.ErrCertificate, wpdb.ErrTLSDemanded} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// LocalNow returns the request's instant in the site's zone.
func (s *Session) LocalNow() time.Time { return s.Now.In(s.Zone.Location) }

// Today returns the date in the site's zone.
func (s *Session) Today() Date { return Date(s.LocalNow().Format(time.DateOnly)) }

// MinuteOfDay returns the time of day in the site's zone.
func (s *Session) MinuteOfDay() Minutes { return availability.MomentOf(s.LocalNow()).Minutes }

// versionAtLeast compares dotted versions number by number.
func versionAtLeast(version, least string) bool {
	if version == "" {
		return false
	}
	have, want := strings.Split(version, "."), strings.Split(least, ".")
	for i := range want {
		if i == len(have) {
			return false
		}
		h, err := strconv.Atoi(have[i])
		if err != nil {
			return false
		}
		w, err := strconv.Atoi(want[i])
		if err != nil || h != w {
			return err == nil && h > w
		}
	}
	return true
}

// schemaOutdated reports whether a statement failed in the way it does when the tables have changed since
// the schema was read.
func schemaOutdated(err error) bool {
	return errors.Is(err, wpdb.ErrSchema) || errors.Is(err, wpdb.ErrBadValue) || errors.Is(err, wpdb.ErrRefused)
}

// ForUser reports whether WordPress asks for one of its users, whose rights it has checked.
func (s *Session) ForUser() bool { return s.caller != nil && s.caller.Kind == keys.User }

// CallerID returns the id of the caller's key, or 0 for a WordPress user and for the program itself.
func (s *Session) CallerID() int64 {
	if s.caller == nil {
		return 0
	}
	return s.caller.ID
}
