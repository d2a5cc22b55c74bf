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
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"bookside/adapter"
	"bookside/wpdb"
)

const aboutKeysCreate = `Makes an API key and prints it. Only a hash of it is stored: it cannot be shown again. The tables
for keys are made first if they are not there.

A permission is read, write or delete, or one of them for a resource: bookings, customers, agents,
services, locations, payments, orders, coupons, availability; such as read,write_bookings.`

const aboutKeysList = `Lists all API keys, revoked and expired ones too. The keys themselves are not stored: only their
first and last characters are shown, at most a third of a key, and none of a very short one.`

const aboutKeysRevoke = `Ends the API key with this ID (see keys list) at once, for every server on this database.`

const aboutKeysImport = `Reads a key that another program gave out from the standard input and stores its hash, so that
clients can keep it:

  bookside keys import --name shop --permissions read < key.txt

Any key of 1 to 255 printable characters without spaces will do. Replace a short one soon: it can
be guessed.`

// openSite opens the database a configuration names, without waiting, and
// makes sure that a site with LatePoint is there.
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
		return target{}, nil, err
	}
	if err := t.requireTables(ctx, db); err != nil {
		return target{}, nil, errors.Join(err, db.Close())
	}
	return t, db, nil
}

// withKeys opens the site and hands its keys to use.
func (p *program) withKeys(ctx context.Context, given configFlags, use func(*wpdb.DB, *adapter.Keys) error) (err error) {
	c, err := readConfig(p.env, given)
	if err != nil {
		return err
	}
	_, db, err := openSite(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(db, adapter.NewKeys(db, p.now, rand.Reader))
}

// withNewKeys is withKeys once the tables for keys are there.
func (p *program) withNewKeys(ctx context.Context, given configFlags, use func(*adapter.Keys) error) error {
	return p.withKeys(ctx, given, func(db *wpdb.DB, keys *adapter.Keys) error {
		missing, err := ensureOwnTables(ctx, db)
		switch {
		case err != nil:
			return err
		case slices.Contains(missing, wpdb.APIKeys):
			return failf(exitRefused, nil, "the database user may not create the table for API keys; use one that may for this command")
		default:
			return use(keys)
		}
	})
}

// keyFlags are what the maker of a key decides.
type keyFlags struct {
	name, permissions, kind, expires string
	perMinute, perHour               *string // as written; nil where not given
}

func (k *keyFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&k.name, "name", "", "`NAME` that tells the key from others, 1 to 190 characters; required")
	flags.StringVar(&k.permissions, "permissions", "", "`LIST` of permissions, separated by commas; required")
	flags.StringVar(&k.kind, "kind", string(adapter.LiveKey), "`KIND` of the key, live or test, each with limits of its own (rate_limit in help config); default live")
	flags.StringVar(&k.expires, "expires", "", "`WHEN` the key ends: 90d from now, or after the day 2027-01-31 (UTC); default never")
	// Kept as text: 0 is no way to say that there is no limit, or the default.
	optional(flags, &k.perMinute, "per-minute", "requests a minute, `N`; default as configured for the kind")
	optional(flags, &k.perHour, "per-hour", "requests an hour, `N`; default as configured for the kind")
}

// optional defines a flag that stays nil where it is not given.
func optional(flags *flag.FlagSet, into **string, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		*into = &text
		return nil
	})
}

func (k keyFlags) newKey(now time.Time) (adapter.NewKey, error) {
	n := adapter.NewKey{Name: strings.TrimSpace(k.name), Kind: adapter.KeyKind(k.kind)}
	if !validName(n.Name) {
		return n, misusef("--name: write 1 to 190 characters without line breaks")
	}
	if k.permissions == "" {
		return n, misusef("--permissions: write a list such as read or read,write_bookings")
	}
	var err error
	if n.Permissions, err = adapter.ParsePermissions(k.permissions); err != nil {
		return n, misusef("--permissions: %v", err)
	}
	if !slices.Contains(adapter.KeyKinds, n.Kind) {
		return n, misusef("--kind: write live or test")
	}
	if n.ExpiresAt, err = parseExpiry(k.expires, now); err != nil {
		return n, err
	}
	if n.PerMinute, err = requestLimit("--per-minute", k.perMinute); err != nil {
		return n, err
	}
	n.PerHour, err = requestLimit("--per-hour", k.perHour)
	return n, err
}

func validName(name string) bool {
	length := utf8.RuneCountInString(name)
	return length >= 1 && length <= 190 && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// requestLimit is nil where none is given, which leaves the limit to the
// configuration.
func requestLimit(name string, text *string) (*int64, error) {
	const most = 1_000_000_000
	if text == nil {
		return nil, nil
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil || n < 1 || n > most {
		return nil, misusef("%s: write a number from 1 to %d; without the flag the configured limit holds", name, most)
	}
	return &n, nil
}

// longestLife of a key is more than anybody means, and less than a DATETIME holds.
const longestLife = 36_500 // days

// parseExpiry reads a number of days from now, or the last day of the key in
// UTC. It is nil for an empty text.
func parseExpiry(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	var end time.Time
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > longestLife {
			return nil, misusef("--expires: write a number of days from 1 to %d, such as 90d", longestLife)
		}
		end = now.UTC().AddDate(0, 0, n)
	} else {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, misusef("--expires: write days such as 90d, or a date such as 2027-01-31")
		}
		end = day.AddDate(0, 0, 1)
	}
	switch {
	case !end.After(now):
		return nil, misusef("--expires: this day is over")
	case end.After(now.AddDate(0, 0, longestLife+1)):
		return nil, misusef("--expires: write a day within %d days", longestLife)
	}
	return &end, nil
}

func (p *program) createKey(flags *flag.FlagSet) action {
	var given configFlags
	var wanted keyFlags
	given.define(flags)
	wanted.define(flags)
	quiet := flags.Bool("quiet", false, "print the key and nothing else")
	return func(ctx context.Context, _ []string) error {
		n, err := wanted.newKey(p.now())
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, given, func(keys *adapter.Keys) error {
			secret, key, err := keys.Create(ctx, n)
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
	wanted.define(flags)
	return func(ctx context.Context, _ []string) error {
		n, err := wanted.newKey(p.now())
		if err != nil {
			return err
		}
		secret, err := p.readSecret()
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, given, func(keys *adapter.Keys) error {
			key, err := keys.Import(ctx, secret, n)
			if err != nil {
				return err
			}
			return p.print("Imported.\n" + describeKey(key) + warnOfLength(secret))
		})
	}
}

// safeLength is what a key needs at least so that nobody guesses it.
const safeLength = 16

func warnOfLength(secret string) string {
	if len(secret) >= safeLength {
		return ""
	}
	return fmt.Sprintf("It has fewer than %d characters and can be guessed: give its clients a key of keys create soon.\n", safeLength)
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
func describeKey(k adapter.Key) string {
	end := "never"
	if k.ExpiresAt != "" {
		end = string(k.ExpiresAt) + " UTC"
	}
	return fmt.Sprintf("ID %d, name %s, kind %s, permissions %s, expires %s\n", k.ID, k.Name, k.Kind, strings.Join(k.Permissions, ","), end)
}

func (p *program) revokeKey(flags *flag.FlagSet) action {
	var given configFlags
	given.define(flags)
	return func(ctx context.Context, operands []string) error {
		id, err := strconv.ParseInt(operands[0], 10, 64)
		if err != nil || id < 1 {
			return misusef("ID: write the number that keys list shows")
		}
		return p.withKeys(ctx, given, func(_ *wpdb.DB, keys *adapter.Keys) error {
			found, err := keys.Revoke(ctx, id)
			if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
				return err
			}
			if !found {
				return failf(exitFailure, nil, "there is no key with the ID %d; see keys list", id)
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
		return p.withKeys(ctx, given, func(_ *wpdb.DB, keys *adapter.Keys) error {
			list, err := keys.List(ctx)
			if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
				return err
			}
			text := keyTable(list, p.now())
			if *asJSON {
				text, err = keyJSON(list, p.now())
				if err != nil {
					return err
				}
			}
			return p.print(text)
		})
	}
}

// keyStatus is active, revoked or expired.
func keyStatus(k adapter.Key, now time.Time) string {
	end, expires := k.ExpiresAt.Time()
	switch {
	case k.Revoked:
		return "revoked"
	case expires && !now.Before(end):
		return "expired"
	default:
		return "active"
	}
}

func keyTable(keys []adapter.Key, now time.Time) string {
	if len(keys) == 0 {
		return "There are no keys; keys create makes one.\n"
	}
	rows := [][]string{{"ID", "NAME", "KIND", "KEY", "STATUS", "PERMISSIONS", "CREATED (UTC)", "LAST USED", "EXPIRES"}}
	for _, k := range keys {
		rows = append(rows, []string{
			strconv.FormatInt(k.ID, 10), k.Name, string(k.Kind), k.Start + "…" + k.LastFour, keyStatus(k, now), strings.Join(k.Permissions, ","),
			string(k.CreatedAt), cmp.Or(string(k.LastUsedAt), "never"), cmp.Or(string(k.ExpiresAt), "never"),
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
	CreatedAt   *time.Time `json:"created_at"`
	LastUsedAt  *time.Time `json:"last_used_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
	PerMinute   *int64     `json:"requests_per_minute"`
	PerHour     *int64     `json:"requests_per_hour"`
}

func keyJSON(keys []adapter.Key, now time.Time) (string, error) {
	records := make([]keyRecord, len(keys))
	for i, k := range keys {
		records[i] = keyRecord{
			ID: k.ID, Name: k.Name, Kind: string(k.Kind), Start: k.Start, LastFour: k.LastFour, Status: keyStatus(k, now), Permissions: k.Permissions,
			CreatedAt: instant(k.CreatedAt), LastUsedAt: instant(k.LastUsedAt), ExpiresAt: instant(k.ExpiresAt), PerMinute: k.PerMinute, PerHour: k.PerHour,
		}
	}
	text, err := json.MarshalIndent(records, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode keys: %w", err)
	}
	return string(text) + "\n", nil
}

// instant is nil where there is none.
func instant(t adapter.Timestamp) *time.Time {
	moment, ok := t.Time()
	if !ok {
		return nil
	}
	return &moment
}
