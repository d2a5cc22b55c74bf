package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/slots"
	"bookside/wpdb"
)

const aboutKeysCreate = `Creates an API key and prints it. Only a hash of it is stored, so it cannot be shown again. Missing
tables of Bookside are created first.

A permission is read, write or delete for everything, or one of them for a resource, such as
write_bookings. Resources are bookings, customers, agents, services, locations, payments, orders,
coupons and availability. read_changes, write_users and write_webhooks must be named.

With --networks the key is accepted only from these addresses; from others it is rejected like an
unknown key, and the log names its ID. Behind a proxy this requires server.trusted_proxies (see
help config).

With --agents, --services or --locations the key sees only bookings with these, their customers and
orders, and can write nothing else. All that are named must hold. With --mask-personal it sees e-mail
addresses, phone numbers, addresses and notes masked, and can neither search nor write them.`

const aboutKeysList = `Lists all API keys, including revoked and expired ones. The keys themselves are not stored: only
their first and last characters are shown, at most a third of a key, and none of a very short one.`

const aboutKeysRestrict = `Changes what the flags name about the API key with this ID (see keys list), and nothing else. It
takes effect at once, on every server of this database. The key itself stays the same, and a
revoked one stays revoked.

  bookside keys restrict 3 --permissions read_bookings --networks 192.0.2.0/24,2001:db8::7
  bookside keys restrict 3 --networks any --expires never --per-minute default`

const aboutKeysRoll = `Makes a new API key with the same terms as the one with this ID (see keys list), and prints it. The
old one stays valid for a while, so that its clients can change over, and then expires. Webhooks of
the old key pass to the new one at once, and so do its holds if it expires within 30 minutes; the
requests of the new one are counted anew.

  bookside keys roll 3 --overlap 7d

To end a key that somebody else may know, use --overlap 0.`

const aboutKeysRevoke = `Revokes the API key with this ID (see keys list). It takes effect at once, on every server of this
database.`

const aboutKeysImport = `Reads a key that another program issued from the standard input and stores its hash, so that
clients can keep using it:

  bookside keys import --name shop --permissions read < key.txt

It must have 16 to 255 printable characters without spaces. A key that is shorter, has fewer than 6
different characters or repeats a shorter text can be guessed. Such a key is accepted only with
--weak: give its clients a new one from keys create soon, and revoke it.`

// openSite opens the configured database, without waiting for it, and checks that
// it contains a site with LatePoint. If the configuration is valid, it returns
// the target along with any error.
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

// withSite calls use with the open site, in which the tables of Bookside that are needed are those of
// this version: others may wait for a migration.
func (p *program) withSite(ctx context.Context, common configFlags, needed wpdb.Table, use func(*wpdb.DB) error) (err error) {
	c, err := readConfig(p.env, common)
	if err != nil {
		return err
	}
	t, db, err := openSite(ctx, c)
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
func (p *program) withOwnTables(ctx context.Context, common configFlags, needed wpdb.Table, use func(*wpdb.DB) error) error {
	return p.withSite(ctx, common, needed, func(db *wpdb.DB) error {
		missing, err := ensureOwnTables(ctx, db)
		switch {
		case err != nil:
			return err
		case slices.Contains(missing, needed):
			return failf(exitRefused, nil, "the database user may not create the table %s; run this command as one that may", db.FullName(needed))
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
func (p *program) withKeys(ctx context.Context, common configFlags, use func(keyStore) error) error {
	return p.withSite(ctx, common, wpdb.APIKeys, func(db *wpdb.DB) error { return use(keyStore{keys.NewStore(db, p.now, rand.Reader), db}) })
}

// withNewKeys is withKeys after creating our own tables.
func (p *program) withNewKeys(ctx context.Context, common configFlags, use func(keyStore) error) error {
	return p.withOwnTables(ctx, common, wpdb.APIKeys, func(db *wpdb.DB) error { return use(keyStore{keys.NewStore(db, p.now, rand.Reader), db}) })
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
func (k *keyFlags) define(flags *flag.FlagSet) {
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
func (k *keyFlags) defineNew(flags *flag.FlagSet) {
	k.define(flags)
	optional(flags, &k.kind, "kind", "`KIND` of the key, live or test, each with its own limits (rate_limit in help config); default live, or test for an imported key that begins with lp_test_")
}

// optional defines a flag whose value stays nil if it is not set.
func optional(flags *flag.FlagSet, into **string, name, usage string) {
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

func (p *program) createKey(flags *flag.FlagSet) action {
	var common configFlags
	var options keyFlags
	common.define(flags)
	options.defineNew(flags)
	quiet := flags.Bool("quiet", false, "print the key and nothing else")
	return func(ctx context.Context, _ []string) error {
		n, err := options.newKey(p.now())
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, common, func(store keyStore) error {
			if n.Scope, err = options.scope(ctx, p, store.db); err != nil {
				return err
			}
			n.Kind, n.CreatedBy = cmp.Or(n.Kind, keys.Live), p.creator()
			secret, key, err := store.Create(ctx, n)
			if err != nil {
				return err
			}
			if *quiet {
				return p.print(secret + "\n")
			}
			return p.print(secret + "\n\nIt is shown only once: only a hash of it is stored.\n" + describeKey(key))
		})
	}
}

func (p *program) importKey(flags *flag.FlagSet) action {
	var common configFlags
	var options keyFlags
	common.define(flags)
	options.defineNew(flags)
	weak := flags.Bool("weak", false, "import the key even if it can be guessed")
	return func(ctx context.Context, _ []string) error {
		n, err := options.newKey(p.now())
		if err != nil {
			return err
		}
		secret, err := p.readSecret()
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, common, func(store keyStore) error {
			if n.Scope, err = options.scope(ctx, p, store.db); err != nil {
				return err
			}
			n.CreatedBy = p.creator()
			key, err := store.Import(ctx, secret, n, *weak)
			if errors.Is(err, keys.ErrWeakKey) {
				return fmt.Errorf("%w; create a new one for its clients with keys create, or import it with --weak", err)
			}
			if err != nil {
				return err
			}
			text := "Imported.\n" + describeKey(key)
			if keys.WeakSecret(secret) {
				text += "It can be guessed: give its clients a new one from keys create soon, and revoke it.\n"
			}
			return p.print(text)
		})
	}
}

// readSecret reads a key from the standard input: all users of the machine can
// see the arguments of a program.
func (p *program) readSecret() (string, error) {
	const limit = 4096 // far beyond any key
	content, err := io.ReadAll(io.LimitReader(p.stdin, limit))
	if err != nil {
		return "", fmt.Errorf("read the key from the standard input: %w", err)
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", usageErrorf("the standard input is empty; pass the key there")
	}
	return secret, nil
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
	return failf(exitFailure, nil, "there is no key with the ID %d; see keys list", id)
}

func (p *program) restrictKey(flags *flag.FlagSet) action {
	var common configFlags
	var options keyFlags
	common.define(flags)
	options.define(flags)
	return func(ctx context.Context, operands []string) error {
		id, err := keyID(operands[0])
		if err != nil {
			return err
		}
		patch, err := options.patch(p.now())
		if err != nil {
			return err
		}
		return p.withKeys(ctx, common, func(store keyStore) error {
			scope, err := options.scope(ctx, p, store.db)
			if err != nil {
				return err
			}
			patch.Agents, patch.Services, patch.Locations = ifSet(options.agents, &scope.Agents), ifSet(options.services, &scope.Services), ifSet(options.locations, &scope.Locations)
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

func (p *program) rollKey(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	overlapText := flags.String("overlap", "24h", "`DURATION` for which the old key stays valid: hours or days such as 12h or 7d, or 0")
	quiet := flags.Bool("quiet", false, "print the key and nothing else")
	return func(ctx context.Context, operands []string) error {
		id, err := keyID(operands[0])
		if err != nil {
			return err
		}
		overlap, err := keys.ParseOverlap(*overlapText)
		if err != nil {
			return usageErrorf("--overlap: %v", err)
		}
		return p.withKeys(ctx, common, func(store keyStore) error {
			secret, key, old, found, err := store.Roll(ctx, id, overlap, p.creator())
			switch {
			case err != nil && !errors.Is(err, wpdb.ErrSchema): // without a table there are no keys
				return err
			case !found:
				return failf(exitFailure, nil, "there is no valid key with the ID %d; see keys list", id)
			case *quiet:
				return p.print(secret + "\n")
			default:
				return p.print(fmt.Sprintf("%s\n\nIt is shown only once: only a hash of it is stored. The old key, %d, expires %s UTC.\n%s", secret, id, old.ExpiresAt, describeKey(key)))
			}
		})
	}
}

// person returns the name of the operating system's user who runs the program, also
// through sudo; "" if it is not known.
func (p *program) person() string {
	if name := lookup(p.env, "SUDO_USER"); name != "" {
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

func (p *program) revokeKey(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	return func(ctx context.Context, operands []string) error {
		id, err := keyID(operands[0])
		if err != nil {
			return err
		}
		return p.withKeys(ctx, common, func(store keyStore) error {
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
	var common configFlags
	common.define(flags)
	asJSON := flags.Bool("json", false, "print a JSON array")
	return func(ctx context.Context, _ []string) error {
		return p.withKeys(ctx, common, func(store keyStore) error {
			list, err := store.List(ctx)
			if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
				return err
			}
			if *asJSON {
				return p.printJSON(keyRecords(list, p.now()))
			}
			labels, err := p.labels(ctx, store.db, slices.ContainsFunc(list, func(k keys.Key) bool { return !k.Scope.Unlimited() }))
			if err != nil {
				return err
			}
			return p.print(keyTable(list, labels, p.now()))
		})
	}
}

func keyTable(list []keys.Key, labels slots.Labels, now time.Time) string {
	if len(list) == 0 {
		return "There are no keys; keys create creates one.\n"
	}
	rows := [][]string{{"ID", "NAME", "KIND", "KEY", "STATUS", "PERMISSIONS", "LIMITED TO", "NETWORKS", "CREATED (UTC)", "LAST USED", "EXPIRES"}}
	for _, k := range list {
		rows = append(rows, []string{
			strconv.FormatInt(k.ID, 10), k.Name, string(k.Kind), k.Start + "…" + k.LastFour, string(k.Status(now)), strings.Join(k.Permissions, ","), cmp.Or(strings.Join(k.ScopeSummary(labels.Text), "; "), "-"), keys.FormatNetworks(k.Networks),
			string(k.CreatedAt), cmp.Or(string(k.LastUsedAt), "never"), cmp.Or(string(k.ExpiresAt), keys.NeverExpires),
		})
	}
	return columns(rows)
}

// keyRecord is a key in the output of keys list --json. Times are in RFC 3339.
type keyRecord struct {
	ID           int64      `json:"id"`
	Name         string     `json:"name"`
	Kind         string     `json:"kind"`
	Start        string     `json:"start"`
	LastFour     string     `json:"last_four"`
	Status       string     `json:"status"`
	Permissions  []string   `json:"permissions"`
	Networks     []string   `json:"networks"` // empty for any network
	CreatedAt    *time.Time `json:"created_at"`
	LastUsedAt   *time.Time `json:"last_used_at"`
	ExpiresAt    *time.Time `json:"expires_at"`
	PerMinute    *int64     `json:"requests_per_minute"`
	PerHour      *int64     `json:"requests_per_hour"`
	Agents       []int64    `json:"agents"` // empty for all, like the next two
	Services     []int64    `json:"services"`
	Locations    []int64    `json:"locations"`
	MaskPersonal bool       `json:"mask_personal"`
	CreatedBy    string     `json:"created_by"` // empty if unknown
}

func keyRecords(list []keys.Key, now time.Time) []keyRecord {
	records := make([]keyRecord, len(list))
	for i, k := range list {
		records[i] = keyRecord{
			ID: k.ID, Name: k.Name, Kind: string(k.Kind), Start: k.Start, LastFour: k.LastFour, Status: string(k.Status(now)), Permissions: k.Permissions,
			Networks: []string{}, CreatedAt: instant(k.CreatedAt), LastUsedAt: instant(k.LastUsedAt), ExpiresAt: instant(k.ExpiresAt), PerMinute: k.PerMinute, PerHour: k.PerHour,
			Agents: append([]int64{}, k.Scope.Agents...), Services: append([]int64{}, k.Scope.Services...), Locations: append([]int64{}, k.Scope.Locations...), MaskPersonal: k.MaskPersonal,
			CreatedBy: k.CreatedBy,
		}
		for _, network := range k.Networks {
			records[i].Networks = append(records[i].Networks, network.String())
		}
	}
	return records
}

// instant returns nil for an empty timestamp.
func instant(t domain.Timestamp) *time.Time {
	moment, ok := t.Time()
	if !ok {
		return nil
	}
	return &moment
}
