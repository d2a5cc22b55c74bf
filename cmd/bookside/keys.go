package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/wpdb"
)

const aboutKeysCreate = `Makes an API key and prints it. Only a hash of it is stored: it cannot be shown again. The tables
for keys are made first if they are not there.

A permission is read, write or delete, or one of them for a resource: bookings, customers, agents,
services, locations, payments, orders, coupons, availability; such as read,write_bookings.

With --networks the key is taken from these addresses only; from others it is refused as if it were
unknown, and the log tells its ID. Behind a proxy that needs server.trusted_proxies (help config).`

const aboutKeysList = `Lists all API keys, revoked and expired ones too. The keys themselves are not stored: only their
first and last characters are shown, at most a third of a key, and none of a very short one.`

const aboutKeysRestrict = `Changes the API key with this ID (see keys list) at once, for every server on this database: what
its flags name, and nothing else. The key itself stays the same, and a revoked one stays revoked.

  bookside keys restrict 3 --permissions read_bookings --networks 192.0.2.0/24,2001:db8::7
  bookside keys restrict 3 --networks any --expires never --per-minute default`

const aboutKeysRevoke = `Ends the API key with this ID (see keys list) at once, for every server on this database.`

const aboutKeysImport = `Reads a key that another program gave out from the standard input and stores its hash, so that
clients can keep it:

  bookside keys import --name shop --permissions read < key.txt

Any key of 16 to 255 printable characters without spaces will do. A shorter one can be guessed, and
so can one that has fewer than 6 different characters or repeats a shorter text. It is taken only
with --weak: give its clients a key of keys create soon, and revoke it.`

// openSite opens the database a configuration names, without waiting, and
// makes sure that a site with LatePoint is there. Where the configuration can be
// used, the target is told with any error.
func openSite(ctx context.Context, c config) (target, *wpdb.DB, error) {
	if err := c.validate(); err != nil {
		return target{}, nil, err
	}
	t, err := c.target()
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

// withSite opens the site and hands it to use.
func (p *program) withSite(ctx context.Context, given configFlags, use func(*wpdb.DB) error) (err error) {
	c, err := readConfig(p.env, given)
	if err != nil {
		return err
	}
	_, db, err := openSite(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := requireOwnColumns(ctx, db); err != nil {
		return err
	}
	return use(db)
}

// withOwnTables is withSite once our tables are there, of which one is needed.
func (p *program) withOwnTables(ctx context.Context, given configFlags, needed wpdb.Table, use func(*wpdb.DB) error) error {
	return p.withSite(ctx, given, func(db *wpdb.DB) error {
		missing, err := ensureOwnTables(ctx, db)
		switch {
		case err != nil:
			return err
		case slices.Contains(missing, needed):
			return failf(exitRefused, nil, "the database user may not create the table %s; use one that may for this command", db.FullName(needed))
		default:
			return use(db)
		}
	})
}

// withKeys opens the site and hands its keys to use.
func (p *program) withKeys(ctx context.Context, given configFlags, use func(*keys.Store) error) error {
	return p.withSite(ctx, given, func(db *wpdb.DB) error { return use(keys.NewStore(db, p.now, rand.Reader)) })
}

// withNewKeys is withKeys once the tables for keys are there.
func (p *program) withNewKeys(ctx context.Context, given configFlags, use func(*keys.Store) error) error {
	return p.withOwnTables(ctx, given, wpdb.APIKeys, func(db *wpdb.DB) error { return use(keys.NewStore(db, p.now, rand.Reader)) })
}

// keyFlags are the terms of a key, as written; nil where not given: an empty
// text is what a variable holds that happens to be unset, and no word for
// anything.
type keyFlags struct {
	name, permissions, kind, networks, expires, perMinute, perHour *string
}

// define defines the flags that both making and changing a key have.
func (k *keyFlags) define(flags *flag.FlagSet) {
	optional(flags, &k.name, "name", "`NAME` that tells the key from others, 1 to 190 characters; a new key needs one")
	optional(flags, &k.permissions, "permissions", "`LIST` of permissions, separated by commas; a new key needs some")
	optional(flags, &k.networks, "networks", "`LIST` of networks or addresses that the key is taken from, such as 192.0.2.0/24, or any; for a new key default any")
	optional(flags, &k.expires, "expires", "`WHEN` the key ends: 90d from now, after the day 2027-01-31 (UTC), or never; for a new key default never")
	optional(flags, &k.perMinute, "per-minute", "requests a minute, `N`, or default: as configured for the kind")
	optional(flags, &k.perHour, "per-hour", "requests an hour, `N`, or default: as configured for the kind")
}

// defineNew defines also what stays as it is for the life of a key.
func (k *keyFlags) defineNew(flags *flag.FlagSet) {
	k.define(flags)
	optional(flags, &k.kind, "kind", "`KIND` of the key, live or test, each with limits of its own (rate_limit in help config); default live")
}

// optional defines a flag that stays nil where it is not given.
func optional(flags *flag.FlagSet, into **string, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		*into = &text
		return nil
	})
}

// term reads a flag that was given. The first one that is wrong is kept.
func term[T any](failed *error, name string, text *string, parse func(string) (T, error)) (value T) {
	if text == nil || *failed != nil {
		return value
	}
	value, err := parse(*text)
	if err != nil {
		*failed = misusef("--%s: %v", name, err)
	}
	return value
}

// newKey are the terms of a key that needs a name and permissions.
func (k keyFlags) newKey(now time.Time) (keys.NewKey, error) {
	live := string(keys.Live)
	k.name, k.permissions, k.kind = cmp.Or(k.name, new(string)), cmp.Or(k.permissions, new(string)), cmp.Or(k.kind, &live)
	return k.terms(now)
}

// terms reads the flags that were given.
func (k keyFlags) terms(now time.Time) (n keys.NewKey, err error) {
	expiry := func(text string) (*time.Time, error) { return keys.ParseExpiry(text, now) }
	n.Name = term(&err, "name", k.name, keys.ParseName)
	n.Permissions = term(&err, "permissions", k.permissions, keys.ParsePermissions)
	n.Kind = term(&err, "kind", k.kind, keys.ParseKind)
	n.Networks = term(&err, "networks", k.networks, keys.ParseNetworks)
	n.ExpiresAt = term(&err, "expires", k.expires, expiry)
	n.PerMinute = term(&err, "per-minute", k.perMinute, keys.ParseRequestLimit)
	n.PerHour = term(&err, "per-hour", k.perHour, keys.ParseRequestLimit)
	return n, err
}

// patch changes what was given.
func (k keyFlags) patch(now time.Time) (keys.Patch, error) {
	if k == (keyFlags{}) {
		return keys.Patch{}, misusef("say what to change, such as --networks 192.0.2.0/24")
	}
	n, err := k.terms(now)
	return keys.Patch{
		Name:        given(k.name, &n.Name),
		Permissions: n.Permissions,
		Networks:    given(k.networks, &n.Networks),
		ExpiresAt:   given(k.expires, cmp.Or(n.ExpiresAt, new(time.Time))),
		PerMinute:   given(k.perMinute, cmp.Or(n.PerMinute, new(int64))),
		PerHour:     given(k.perHour, cmp.Or(n.PerHour, new(int64))),
	}, err
}

// given is a value whose flag was given.
func given[T any](text *string, value *T) *T {
	if text == nil {
		return nil
	}
	return value
}

func (p *program) createKey(flags *flag.FlagSet) action {
	var given configFlags
	var wanted keyFlags
	given.define(flags)
	wanted.defineNew(flags)
	quiet := flags.Bool("quiet", false, "print the key and nothing else")
	return func(ctx context.Context, _ []string) error {
		n, err := wanted.newKey(p.now())
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, given, func(store *keys.Store) error {
			secret, key, err := store.Create(ctx, n)
			if err != nil {
				return err
			}
			if *quiet {
				return p.print(secret + "\n")
			}
			return p.print(secret + "\n\nThis is shown once: only a hash of it is stored.\n" + describeKey(key))
		})
	}
}

func (p *program) importKey(flags *flag.FlagSet) action {
	var given configFlags
	var wanted keyFlags
	given.define(flags)
	wanted.defineNew(flags)
	weak := flags.Bool("weak", false, "import the key even if it can be guessed")
	return func(ctx context.Context, _ []string) error {
		n, err := wanted.newKey(p.now())
		if err != nil {
			return err
		}
		secret, err := p.readSecret()
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, given, func(store *keys.Store) error {
			key, err := store.Import(ctx, secret, n, *weak)
			if errors.Is(err, keys.ErrWeakKey) {
				return fmt.Errorf("%w; make its clients a new one with keys create, or import it with --weak", err)
			}
			if err != nil {
				return err
			}
			text := "Imported.\n" + describeKey(key)
			if keys.WeakSecret(secret) {
				text += "It can be guessed: give its clients a key of keys create soon, and revoke it.\n"
			}
			return p.print(text)
		})
	}
}

// readSecret takes a key from the standard input: the arguments of a program
// can be seen by every user of the machine.
func (p *program) readSecret() (string, error) {
	const limit = 4096 // far beyond any key
	content, err := io.ReadAll(io.LimitReader(p.stdin, limit))
	if err != nil {
		return "", fmt.Errorf("read the key from the standard input: %w", err)
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", misusef("the standard input is empty; write the key there")
	}
	return secret, nil
}

// describeKey tells what may be known of a key.
func describeKey(k keys.Key) string {
	end := keys.NeverExpires
	if k.ExpiresAt != "" {
		end = string(k.ExpiresAt) + " UTC"
	}
	return fmt.Sprintf("ID %d, name %s, kind %s, permissions %s, networks %s, expires %s, requests a minute %s, an hour %s\n",
		k.ID, k.Name, k.Kind, strings.Join(k.Permissions, ","), keys.FormatNetworks(k.Networks), end, limitText(k.PerMinute), limitText(k.PerHour))
}

func limitText(limit *int64) string {
	if limit == nil {
		return keys.DefaultLimit
	}
	return strconv.FormatInt(*limit, 10)
}

// keyID reads the operand ID.
func keyID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, misusef("ID: write the number that keys list shows")
	}
	return id, nil
}

func noSuchKey(id int64) error {
	return failf(exitFailure, nil, "there is no key with the ID %d; see keys list", id)
}

func (p *program) restrictKey(flags *flag.FlagSet) action {
	var given configFlags
	var wanted keyFlags
	given.define(flags)
	wanted.define(flags)
	return func(ctx context.Context, operands []string) error {
		id, err := keyID(operands[0])
		if err != nil {
			return err
		}
		patch, err := wanted.patch(p.now())
		if err != nil {
			return err
		}
		return p.withKeys(ctx, given, func(store *keys.Store) error {
			key, found, err := store.Restrict(ctx, id, patch)
			switch {
			case err != nil && !errors.Is(err, wpdb.ErrSchema): // without a table there are no keys
				return err
			case !found:
				return noSuchKey(id)
			default:
				return p.print("Changed.\n" + describeKey(key))
			}
		})
	}
}

func (p *program) revokeKey(flags *flag.FlagSet) action {
	var given configFlags
	given.define(flags)
	return func(ctx context.Context, operands []string) error {
		id, err := keyID(operands[0])
		if err != nil {
			return err
		}
		return p.withKeys(ctx, given, func(store *keys.Store) error {
			found, err := store.Revoke(ctx, id)
			if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
				return err
			}
			if !found {
				return noSuchKey(id)
			}
			return p.print(fmt.Sprintf("Key %d is revoked.\n", id))
		})
	}
}

func (p *program) listKeys(flags *flag.FlagSet) action {
	var given configFlags
	given.define(flags)
	asJSON := flags.Bool("json", false, "print a JSON array")
	return func(ctx context.Context, _ []string) error {
		return p.withKeys(ctx, given, func(store *keys.Store) error {
			list, err := store.List(ctx)
			if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
				return err
			}
			if *asJSON {
				return p.printJSON(keyRecords(list, p.now()))
			}
			return p.print(keyTable(list, p.now()))
		})
	}
}

func keyTable(list []keys.Key, now time.Time) string {
	if len(list) == 0 {
		return "There are no keys; keys create makes one.\n"
	}
	rows := [][]string{{"ID", "NAME", "KIND", "KEY", "STATUS", "PERMISSIONS", "NETWORKS", "CREATED (UTC)", "LAST USED", "EXPIRES"}}
	for _, k := range list {
		rows = append(rows, []string{
			strconv.FormatInt(k.ID, 10), k.Name, string(k.Kind), k.Start + "…" + k.LastFour, string(k.Status(now)), strings.Join(k.Permissions, ","), keys.FormatNetworks(k.Networks),
			string(k.CreatedAt), cmp.Or(string(k.LastUsedAt), "never"), cmp.Or(string(k.ExpiresAt), keys.NeverExpires),
		})
	}
	return columns(rows)
}

// keyRecord is a key in the output of keys list --json. Instants are RFC 3339.
type keyRecord struct {
	ID          int64      `json:"id"`
	Name        string     `json:"name"`
	Kind        string     `json:"kind"`
	Start       string     `json:"start"`
	LastFour    string     `json:"last_four"`
	Status      string     `json:"status"`
	Permissions []string   `json:"permissions"`
	Networks    []string   `json:"networks"` // empty for anywhere
	CreatedAt   *time.Time `json:"created_at"`
	LastUsedAt  *time.Time `json:"last_used_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
	PerMinute   *int64     `json:"requests_per_minute"`
	PerHour     *int64     `json:"requests_per_hour"`
}

func keyRecords(list []keys.Key, now time.Time) []keyRecord {
	records := make([]keyRecord, len(list))
	for i, k := range list {
		records[i] = keyRecord{
			ID: k.ID, Name: k.Name, Kind: string(k.Kind), Start: k.Start, LastFour: k.LastFour, Status: string(k.Status(now)), Permissions: k.Permissions,
			Networks: []string{}, CreatedAt: instant(k.CreatedAt), LastUsedAt: instant(k.LastUsedAt), ExpiresAt: instant(k.ExpiresAt), PerMinute: k.PerMinute, PerHour: k.PerHour,
		}
		for _, network := range k.Networks {
			records[i].Networks = append(records[i].Networks, network.String())
		}
	}
	return records
}

// instant is nil where there is none.
func instant(t domain.Timestamp) *time.Time {
	moment, ok := t.Time()
	if !ok {
		return nil
	}
	return &moment
}
