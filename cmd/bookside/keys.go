package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/session"
	"bookside/cmd/internal/exit"
	"bookside/cmd/internal/settings"
	"bookside/wpdb"
)

// openSite opens the configured database, without waiting for it, and checks that
// it contains a site with LatePoint. If the configuration is valid, it returns
// the target along with any error.
func openSite(ctx context.Context, c settings.Config) (target, *wpdb.DB, error) {
	if err := c.Validate(); err != nil {
		return target{}, nil, err
	}
	t, err := newTarget(c)
	if err != nil {
		return target{}, nil, err
	}
	db, err := t.open(ctx)
	if err != nil {
		return t, nil, err
	}
	if err := t.requireTables(ctx, db); err != nil {
		return t, nil, errors.Join(err, db.Close())
	}
	return t, db, nil
}

// open opens the configured site.
func (p *program) open(ctx context.Context) (settings.Config, target, *wpdb.DB, error) {
	c, err := p.config()
	if err != nil {
		return c, target{}, nil, err
	}
	t, db, err := openSite(ctx, c)
	return c, t, db, err
}

// newPlatform returns where the sessions of a configured site come from.
func newPlatform(c settings.Config, db *wpdb.DB, now domain.Clock) *session.Platform {
	platform := session.NewPlatform(db, now)
	platform.BookingMetaKeys = c.Compat.BookingMetaKeys
	return platform
}

// withSite calls use with the open site, in which the tables of Bookside that are needed are those of
// this version: others may wait for a migration.
func (p *program) withSite(ctx context.Context, needed wpdb.Table, use func(*wpdb.DB) error) (err error) {
	_, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := requireOwnColumns(ctx, db, needed); err != nil {
		return t.explainPrivilege(ctx, err)
	}
	return t.explainPrivilege(ctx, use(db))
}

// withOwnTables is withSite after creating our own tables; it fails without the
// needed one.
func (p *program) withOwnTables(ctx context.Context, needed wpdb.Table, use func(*wpdb.DB) error) error {
	return p.withSite(ctx, needed, func(db *wpdb.DB) error {
		missing, err := ensureOwnTables(ctx, db)
		switch {
		case err != nil:
			return err
		case slices.Contains(missing, needed):
			return exit.Errorf(exit.Refused, nil, "the database user may not create the table %s; run this command as one that may", db.FullName(needed))
		default:
			return use(db)
		}
	})
}

// keyStore is the keys of a site, and the database that they are in.
type keyStore struct {
	*keys.Store
	db *wpdb.DB
}

// withKeys calls use with the API keys of the site.
func (p *program) withKeys(ctx context.Context, use func(keyStore) error) error {
	return p.withSite(ctx, wpdb.APIKeys, func(db *wpdb.DB) error { return use(keyStore{keys.NewStore(db, p.now, rand.Reader), db}) })
}

// withNewKeys is withKeys after creating our own tables.
func (p *program) withNewKeys(ctx context.Context, use func(keyStore) error) error {
	return p.withOwnTables(ctx, wpdb.APIKeys, func(db *wpdb.DB) error { return use(keyStore{keys.NewStore(db, p.now, rand.Reader), db}) })
}

// keyFlags are the properties of a key as written on the command line, nil for
// flags that are not set. An empty text is not the same: a shell variable that
// happens to be unset must not change a key.
type keyFlags struct {
	name, permissions, kind, networks, expires, perMinute, perHour *string
	agents, services, locations                                    *string
	maskPersonal                                                   *bool
}

// define defines the flags for creating and for changing a key.
func (k *keyFlags) define(flags *pflag.FlagSet) {
	optional(flags, &k.name, "name", "`NAME` of the key, 1 to 190 characters; required for a new key")
	optional(flags, &k.permissions, "permissions", "comma-separated `LIST` of permissions; required for a new key")
	optional(flags, &k.networks, "networks", "comma-separated `LIST` of networks or addresses from which the key is accepted, such as 192.0.2.0/24, or any; default for a new key any")
	optional(flags, &k.expires, "expires", "`WHEN` the key expires: 90d from now, after the day 2027-01-31 (UTC), or never; default for a new key never")
	optional(flags, &k.perMinute, "per-minute", "maximum requests per minute, `N`, or default for the configured limit of the kind")
	optional(flags, &k.agents, "agents", "comma-separated `IDS` or names of the agents that the key is limited to, or any; default for a new key any")
	optional(flags, &k.services, "services", "comma-separated `IDS` or names of the services that the key is limited to, or any; default for a new key any")
	optional(flags, &k.locations, "locations", "comma-separated `IDS` or names of the locations that the key is limited to, or any; default for a new key any")
	flags.BoolFunc("mask-personal", "mask e-mail addresses, phone numbers, addresses and notes (--mask-personal=false for a key that has it)", func(text string) error {
		masked, err := strconv.ParseBool(text)
		k.maskPersonal = &masked
		return err
	})
	optional(flags, &k.perHour, "per-hour", "maximum requests per hour, `N`, or default for the configured limit of the kind")
}

// defineNew also defines the flags of properties that cannot be changed later.
func (k *keyFlags) defineNew(flags *pflag.FlagSet) {
	k.define(flags)
	optional(flags, &k.kind, "kind", "`KIND` of the key, live or test, each with its own limits (rate_limit in help config); default live, or test for an imported key that begins with lp_test_")
}

// optional defines a flag whose value stays nil if it is not set.
func optional(flags *pflag.FlagSet, into **string, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		*into = &text
		return nil
	})
}

// parseFlag parses a flag that is set, and adds what is wrong with it to failed.
func parseFlag[T any](failed *error, name string, text *string, parse func(string) (T, error)) (value T) {
	if text == nil {
		return value
	}
	value, err := parse(*text)
	if err != nil {
		*failed = alsoWrong(*failed, "--%s: %v", name, err)
	}
	return value
}

// newKey returns the properties of a new key, which needs a name and permissions.
func (k keyFlags) newKey(now time.Time) (keys.NewKey, error) {
	k.name, k.permissions = cmp.Or(k.name, new(string)), cmp.Or(k.permissions, new(string))
	return k.parse(now)
}

// parse parses the flags that are set.
func (k keyFlags) parse(now time.Time) (n keys.NewKey, err error) {
	expiry := func(text string) (*time.Time, error) { return keys.ParseExpiry(text, now) }
	n.Name = parseFlag(&err, "name", k.name, keys.ParseName)
	n.Permissions = parseFlag(&err, "permissions", k.permissions, keys.ParsePermissions)
	n.Kind = parseFlag(&err, "kind", k.kind, keys.ParseKind)
	n.Networks = parseFlag(&err, "networks", k.networks, keys.ParseNetworks)
	n.ExpiresAt = parseFlag(&err, "expires", k.expires, expiry)
	for _, f := range k.choices() {
		parseFlag(&err, f.name, f.text, keys.ParseChoices)
	}
	n.MaskPersonal = k.maskPersonal != nil && *k.maskPersonal
	n.PerMinute = parseFlag(&err, "per-minute", k.perMinute, keys.ParseRequestLimit)
	n.PerHour = parseFlag(&err, "per-hour", k.perHour, keys.ParseRequestLimit)
	return n, err
}

// choices returns the flags of what the key is limited to.
func (k keyFlags) choices() []choiceFlag {
	return []choiceFlag{{"agents", domain.AgentResource, k.agents}, {"services", domain.ServiceResource, k.services}, {"locations", domain.LocationResource, k.locations}}
}

// scope returns what the flags limit the key to, which must exist.
func (k keyFlags) scope(ctx context.Context, p *program, db *wpdb.DB) (scope domain.Scope, err error) {
	if err := p.resolveChoices(ctx, db, k.choices()...); err != nil {
		return scope, err
	}
	scope.Agents = parseFlag(&err, "agents", k.agents, keys.ParseIDs)
	scope.Services = parseFlag(&err, "services", k.services, keys.ParseIDs)
	scope.Locations = parseFlag(&err, "locations", k.locations, keys.ParseIDs)
	return scope, err
}

// patch returns the changes of the flags that are set, but for what the key is limited to.
func (k keyFlags) patch(now time.Time) (keys.Patch, error) {
	if k == (keyFlags{}) {
		return keys.Patch{}, usageErrorf("name what to change, such as --networks 192.0.2.0/24")
	}
	n, err := k.parse(now)
	return keys.Patch{
		Name:         ifSet(k.name, &n.Name),
		Permissions:  n.Permissions,
		Networks:     ifSet(k.networks, &n.Networks),
		MaskPersonal: k.maskPersonal,
		ExpiresAt:    ifSet(k.expires, cmp.Or(n.ExpiresAt, new(time.Time))),
		PerMinute:    ifSet(k.perMinute, cmp.Or(n.PerMinute, new(int64))),
		PerHour:      ifSet(k.perHour, cmp.Or(n.PerHour, new(int64))),
	}, err
}

// ifSet returns value if its flag is set, and nil otherwise.
func ifSet[T any](text *string, value *T) *T {
	if text == nil {
		return nil
	}
	return value
}

// describeKey returns a line with all that is not secret about a key.
func describeKey(k keys.Key) string {
	end := keys.NeverExpires
	if k.ExpiresAt != "" {
		end = string(k.ExpiresAt) + " UTC"
	}
	return fmt.Sprintf("ID %d, name %s, kind %s, permissions %s, networks %s, expires %s, requests per minute %s, per hour %s%s\n",
		k.ID, k.Name, k.Kind, strings.Join(k.Permissions, ","), keys.FormatNetworks(k.Networks), end, limitText(k.PerMinute), limitText(k.PerHour), strings.Join(append([]string{""}, k.ScopeSummary(keys.IDsOnly)...), ", "))
}

func limitText(limit *int64) string {
	if limit == nil {
		return keys.DefaultLimit
	}
	return strconv.FormatInt(*limit, 10)
}

// keyID parses the operand ID.
func keyID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usageErrorf("ID: write the number that keys list shows")
	}
	return id, nil
}

func noSuchKey(id int64) error {
	return exit.Errorf(exit.Failure, nil, "there is no key with the ID %d; see keys list", id)
}

// person returns the name of the operating system's user who runs the program, also
// through sudo; "" if it is not known.
func (p *program) person() string {
	if name := settings.Lookup(p.env, "SUDO_USER"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// creator says who made a key.
func (p *program) creator() string {
	const place = "command line"
	if person := p.person(); person != "" {
		return person + ", " + place
	}
	return place
}

// instant returns nil for an empty timestamp.
func instant(t domain.Timestamp) *time.Time {
	moment, ok := t.Time()
	if !ok {
		return nil
	}
	return &moment
}
