package keys

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Kind says what a key is for. Test keys have separate request limits.
type Kind string

// The kinds of keys.
const (
	Live Kind = "live"
	Test Kind = "test"
)

// User is the kind of the rights of a WordPress user, or of a visitor, for whom WordPress itself asks: there
// is no key, and none is stored. WordPress has checked what their role allows.
const User Kind = "user"

// Admin is the kind of the rights of an administrator on the console. There is no key, as for a User; its Name is theirs.
const Admin Kind = "admin"

// Kinds are all kinds.
var Kinds = []Kind{Live, Test}

// Key is an API key as stored: everything except the secret, of which only a hash is
// stored.
type Key struct {
	ID          int64
	Name        string
	Kind        Kind
	Start       string // the secret's first characters; fewer or none if the secret is short
	LastFour    string // its last characters, likewise
	Permissions []string
	Revoked     bool
	CreatedAt   domain.Timestamp
	CreatedBy   string           // who created it, and where; "" if unknown. Not set in requests
	LastUsedAt  domain.Timestamp // "" if never used; accurate to the minute
	ExpiresAt   domain.Timestamp // "" for never
	Networks    []netip.Prefix   // where the key is accepted from; none for anywhere
	// PerMinute and PerHour override the configured request limits; nil keeps them.
	PerMinute, PerHour *int64
	Scope              domain.Scope // to agents, services and locations
	MaskPersonal       bool         // personal data are masked, and cannot be filtered or written
	Details            Details      // of a calendar
	UserID             int64        // of the WordPress user, if the kind is User; 0 for a visitor
	Requests           int64        // to a calendar
}

// CheckNetwork returns nil if the key may be used from an address. Otherwise it returns the error for an
// unknown key, so that a finder of the key does not learn that it is valid.
func (k Key) CheckNetwork(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	holds := func(network netip.Prefix) bool { return network.Contains(address) }
	if len(k.Networks) == 0 || slices.ContainsFunc(k.Networks, holds) {
		return nil
	}
	return domain.Unauthorized()
}

// Status says whether a key is usable.
type Status string

// The statuses of keys.
const (
	Active  Status = "active"
	Revoked Status = "revoked"
	Expired Status = "expired"
)

// Status returns the key's status at an instant.
func (k Key) Status(now time.Time) Status {
	end, expires := k.ExpiresAt.Time()
	switch {
	case k.Revoked:
		return Revoked
	case expires && !now.Before(end):
		return Expired
	default:
		return Active
	}
}

// NewKey is a key to create.
type NewKey struct {
	Name               string
	Kind               Kind
	Permissions        []string
	Networks           []netip.Prefix // none for anywhere
	ExpiresAt          *time.Time
	PerMinute, PerHour *int64
	Scope              domain.Scope
	MaskPersonal       bool
	CreatedBy          string
	Details            Details // of a calendar
}

// Patch changes a key. A nil field stays as it is.
type Patch struct {
	Name               *string
	Permissions        []string
	Networks           *[]netip.Prefix // none for anywhere
	ExpiresAt          *time.Time      // the zero time for never
	PerMinute, PerHour *int64          // 0 for the configured limit
	// Empty for no limit.
	Agents, Services, Locations *[]int64
	MaskPersonal                *bool
}

// Store holds the API keys of a site, in one of Bookside's own tables.
type Store struct {
	db         *wpdb.DB
	now        domain.Clock
	random     io.Reader
	lookupText func() (string, error) // built once
}

// NewStore returns the keys in db. random must be a secure source, such as crypto/rand.
func NewStore(db *wpdb.DB, now domain.Clock, random io.Reader) *Store {
	return &Store{db: db, now: now, random: random, lookupText: sync.OnceValues(func() (string, error) { return lookupText(db) })}
}

// Create creates a key and returns its secret, which is not stored.
func (s *Store) Create(ctx context.Context, n NewKey) (secret string, key Key, err error) {
	secret, err = newSecret(s.random, n.Kind)
	if err != nil {
		return "", Key{}, err
	}
	key, err = s.insert(ctx, secret, n)
	return secret, key, err
}

// Roll creates a key with the attributes of an old one, which stays valid for a while so that its clients
// can switch. Webhooks of the old key move to the new one; holds move only if the old key may end before
// they do, because its clients still book with them. old is the old key in its new state; found is false if
// there is no such valid key.
func (s *Store) Roll(ctx context.Context, id int64, overlap time.Duration, by string) (secret string, key, old Key, found bool, err error) {
	schema, err := s.db.Schema(ctx, "")
	if err != nil {
		return "", Key{}, Key{}, false, err
	}
	err = s.db.Transact(ctx, "roll key", func(tx *wpdb.DB) error {
		stored, ok, err := wpdb.One(ctx, tx, "lock key", s.byID(id).Suffix("FOR UPDATE"), scanListed)
		if errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
			return nil
		}
		old, found = stored.Key, ok && stored.Status(s.now()) == Active
		if err != nil || !found {
			return err
		}
		if secret, err = newSecret(s.random, old.Kind); err != nil {
			return err
		}
		n := NewKey{
			Name: old.Name, Kind: old.Kind, Permissions: old.Permissions, Networks: old.Networks, PerMinute: old.PerMinute, PerHour: old.PerHour,
			Scope: old.Scope, MaskPersonal: old.MaskPersonal, CreatedBy: by,
		}
		end, expires := old.ExpiresAt.Time()
		if expires {
			n.ExpiresAt = &end
		}
		var stmt sq.InsertBuilder
		key, stmt = s.newRow(0, secret, n)
		result, err := wpdb.Exec(ctx, tx, "store key", stmt)
		if err != nil {
			return err
		}
		key.ID = result.ID
		if last := s.now().Add(overlap); !expires || last.Before(end) {
			text := domain.Stamp(last)
			old.ExpiresAt = domain.Timestamp(text)
			if _, err := wpdb.Exec(ctx, tx, "end key", sq.Update(tx.Name(wpdb.APIKeys)).Set("expires_at", text).Where(sq.Eq{"id": id})); err != nil {
				return err
			}
		}
		passed := []wpdb.Table{wpdb.Webhooks}
		if last, _ := old.ExpiresAt.Time(); last.Before(s.now().Add(domain.MaxHold)) {
			passed = append(passed, wpdb.Holds)
		}
		for _, table := range passed {
			if !schema.Has(table) {
				continue
			}
			if _, err := wpdb.Exec(ctx, tx, "pass on to the new key", sq.Update(tx.Name(table)).Set("key_id", key.ID).Where(sq.Eq{"key_id": id})); err != nil {
				return err
			}
		}
		return nil
	})
	return secret, key, old, found, err
}

var (
	// ErrBadKey means that a secret cannot be imported.
	ErrBadKey = errors.New("key cannot be imported")
	// ErrWeakKey is an ErrBadKey of a secret that can be imported if weak ones are allowed.
	ErrWeakKey = fmt.Errorf("%w: it can be guessed", ErrBadKey)
)

// CheckSecret returns [ErrBadKey] with the reason if a text cannot be a key.
func CheckSecret(secret string) error {
	switch {
	case secret == "":
		return fmt.Errorf("%w: it is empty", ErrBadKey)
	case len(secret) > maxSecret:
		return fmt.Errorf("%w: longer than %d characters", ErrBadKey, maxSecret)
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("%w: it has spaces or characters that no header may carry", ErrBadKey)
	case failsChecksum(secret):
		return fmt.Errorf("%w: it looks like a key made here, with a character wrong", ErrBadKey)
	}
	return nil
}

// Import stores a key that another program issued, so that its clients can keep it. A weak key, which can
// be guessed, is imported only if allowed. Importing a stored key again is an ErrBadKey. Unless the kind is
// given, the key's form determines it.
func (s *Store) Import(ctx context.Context, secret string, n NewKey, weak bool) (Key, error) {
	if err := CheckSecret(secret); err != nil {
		return Key{}, err
	}
	if WeakSecret(secret) && !weak {
		return Key{}, fmt.Errorf("%w, because it %s", ErrWeakKey, weakness(secret))
	}
	if n.Kind == "" {
		n.Kind = Live
		if strings.HasPrefix(secret, Test.prefix()) {
			n.Kind = Test
		}
	}
	key, err := s.insert(ctx, secret, n)
	if errors.Is(err, wpdb.ErrDuplicate) {
		return Key{}, fmt.Errorf("%w: it is stored already", ErrBadKey)
	}
	return key, err
}

func (s *Store) insert(ctx context.Context, secret string, n NewKey) (Key, error) {
	for {
		// An emptied table would start at 1 again, but a new key must not inherit what earlier ones left.
		first, err := wpdb.FirstID(ctx, s.db, wpdb.APIKeys)
		if err != nil {
			return Key{}, err
		}
		key, stmt := s.newRow(first, secret, n)
		result, err := s.db.Change(ctx, "store key", stmt)
		if first != 0 && errors.Is(err, wpdb.ErrDuplicate) {
			continue // another key was first
		}
		if err != nil {
			return Key{}, err
		}
		key.ID = result.ID
		return key, nil
	}
}

// newRow returns a new key, without its id, and the statement that stores it, with an id unless that is 0.
func (s *Store) newRow(id int64, secret string, n NewKey) (Key, sq.InsertBuilder) {
	key := Key{
		Name: n.Name, Kind: n.Kind, Permissions: n.Permissions, Networks: n.Networks, PerMinute: n.PerMinute, PerHour: n.PerHour,
		Scope: n.Scope, MaskPersonal: n.MaskPersonal, Details: n.Details, CreatedAt: domain.Timestamp(domain.Stamp(s.now())), CreatedBy: n.CreatedBy,
	}
	key.Start, key.LastFour = visibleParts(secret)
	var expires *string
	if n.ExpiresAt != nil {
		text := domain.Stamp(*n.ExpiresAt)
		expires, key.ExpiresAt = &text, domain.Timestamp(text)
	}
	stmt := sq.Insert(s.db.Name(wpdb.APIKeys)).SetMap(map[string]any{
		"id": wpdb.NullIfZero(id), "key_hash": hashSecret(secret), "key_start": key.Start, "last_four": key.LastFour, "name": key.Name, "kind": string(key.Kind),
		"permissions": strings.Join(key.Permissions, ","), "networks": storeNetworks(key.Networks), "status": "active", "expires_at": expires,
		"requests_per_minute": key.PerMinute, "requests_per_hour": key.PerHour, "created_at": string(key.CreatedAt),
		"agents": JoinIDs(n.Scope.Agents), "services": JoinIDs(n.Scope.Services), "locations": JoinIDs(n.Scope.Locations), "mask_personal": n.MaskPersonal,
		"created_by": n.CreatedBy, "details": string(n.Details),
	})
	return key, stmt
}

// visibleParts returns the parts of a secret that people recognise it by: at most a third of it, and
// nothing of a weak one. Key.Weak relies on that.
func visibleParts(secret string) (start, end string) {
	if WeakSecret(secret) {
		return "", ""
	}
	third := len(secret) / 3
	last := min(4, (third+1)/3)
	return secret[:min(8, third-last)], secret[len(secret)-last:]
}

var keyColumns = []string{"k.id", "k.key_hash", "k.name", "k.kind", "k.key_start", "k.last_four", "k.permissions", "k.networks", "k.status", "k.created_at",
	"k.last_used_at", "k.expires_at", "k.requests_per_minute", "k.requests_per_hour", "k.agents", "k.services", "k.locations", "k.mask_personal", "k.details"}

// storedKey is a key with the hash of its secret, which never leaves this file.
type storedKey struct {
	Key
	hash string
}

// scanKey scans keyColumns and the columns that the caller selected after them.
func scanKey(row wpdb.Scanner, behind ...any) (k storedKey, err error) {
	var permissions, networks, status, agents, services, locations string
	dest := []any{&k.ID, &k.hash, &k.Name, (*string)(&k.Kind), &k.Start, &k.LastFour, &permissions, &networks, &status, (*string)(&k.CreatedAt),
		wpdb.OrZero((*string)(&k.LastUsedAt)), wpdb.OrZero((*string)(&k.ExpiresAt)), &k.PerMinute, &k.PerHour,
		&agents, &services, &locations, &k.MaskPersonal, (*string)(&k.Details)}
	err = row.Scan(append(dest, behind...)...)
	k.Revoked = status != "active"
	if permissions != "" {
		k.Permissions = strings.Split(permissions, ",")
	}
	k.Networks = storedNetworks(networks)
	k.Scope = domain.Scope{Agents: storedIDs(agents), Services: storedIDs(services), Locations: storedIDs(locations)}
	return k, err
}

// JoinIDs formats ids for their column.
func JoinIDs(ids []int64) string { return join(ids, domain.IDText) }

// storedIDs parses a column of ids. A word that cannot be parsed becomes an id that nothing has, because it
// must not widen the key.
func storedIDs(text string) (ids []int64) {
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			id = -1
		}
		ids = append(ids, id)
	}
	return ids
}

// storeNetworks writes the column.
func storeNetworks(networks []netip.Prefix) string { return join(networks, netip.Prefix.String) }

// storedNetworks parses the column. A word that cannot be parsed becomes a network without addresses,
// because it must not open the key.
func storedNetworks(text string) (networks []netip.Prefix) {
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		network, _ := netip.ParsePrefix(word) // the zero Prefix contains nothing
		networks = append(networks, network)
	}
	return networks
}

func scanStored(row wpdb.Scanner) (storedKey, error) { return scanKey(row) }

// scanListed scans keyColumns and the columns that requests do not need.
func scanListed(row wpdb.Scanner) (storedKey, error) {
	var by string
	var requests int64
	k, err := scanKey(row, &by, &requests)
	k.CreatedBy, k.Requests = by, requests
	return k, err
}

func (s *Store) selectListed() sq.SelectBuilder {
	return sq.Select(keyColumns...).Columns("k.created_by", "k.requests").From(s.db.As(wpdb.APIKeys, "k"))
}

// apiKeys is the condition that a row of the table is an API key, and not a calendar.
var apiKeys = sq.NotEq{"kind": string(Calendar)}

func (s *Store) byID(id int64) sq.SelectBuilder {
	return s.selectListed().Where(sq.Eq{"k.id": id}).Where(apiKeys)
}

// List returns all API keys, oldest first, including revoked ones.
func (s *Store) List(ctx context.Context) ([]Key, error) { return s.list(ctx, apiKeys) }

func (s *Store) list(ctx context.Context, which sq.Sqlizer) ([]Key, error) {
	stored, err := wpdb.All(ctx, s.db, "list keys", s.selectListed().Where(which).OrderBy("k.id"), scanListed)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(stored))
	for i := range stored {
		keys[i] = stored[i].Key
	}
	return keys, nil
}

// Revoke ends a key at once, in every process. It reports whether the key exists.
func (s *Store) Revoke(ctx context.Context, id int64) (bool, error) {
	return s.revoke(ctx, apiKeys, id)
}

func (s *Store) revoke(ctx context.Context, which sq.Sqlizer, id int64) (bool, error) {
	stmt := sq.Update(s.db.Name(wpdb.APIKeys)).Set("status", "revoked").Where(sq.Eq{"id": id}).Where(which)
	result, err := s.db.Change(ctx, "revoke key", stmt)
	return result.Rows > 0, err
}

// Restrict changes the attributes of a key at once, in every process. It reports whether the key exists,
// and returns it in its new state.
func (s *Store) Restrict(ctx context.Context, id int64, patch Patch) (key Key, found bool, err error) {
	if changes := patch.changes(); len(changes) > 0 {
		stmt := sq.Update(s.db.Name(wpdb.APIKeys)).SetMap(changes).Where(sq.Eq{"id": id}).Where(apiKeys)
		if _, err := s.db.Change(ctx, "restrict key", stmt); err != nil {
			return Key{}, false, err
		}
	}
	return s.Find(ctx, id)
}

// changes returns the columns that a patch sets.
func (p Patch) changes() map[string]any {
	set := map[string]any{}
	if p.Name != nil {
		set["name"] = *p.Name
	}
	if p.Permissions != nil {
		set["permissions"] = strings.Join(p.Permissions, ",")
	}
	if p.Networks != nil {
		set["networks"] = storeNetworks(*p.Networks)
	}
	for column, ids := range map[string]*[]int64{"agents": p.Agents, "services": p.Services, "locations": p.Locations} {
		if ids != nil {
			set[column] = JoinIDs(*ids)
		}
	}
	if p.MaskPersonal != nil {
		set["mask_personal"] = *p.MaskPersonal
	}
	if p.ExpiresAt != nil {
		set["expires_at"] = nil
		if !p.ExpiresAt.IsZero() {
			set["expires_at"] = domain.Stamp(*p.ExpiresAt)
		}
	}
	if p.PerMinute != nil {
		set["requests_per_minute"] = wpdb.NullIfZero(*p.PerMinute)
	}
	if p.PerHour != nil {
		set["requests_per_hour"] = wpdb.NullIfZero(*p.PerHour)
	}
	return set
}

// Find returns the API key with an id; ok is false if there is none.
func (s *Store) Find(ctx context.Context, id int64) (key Key, ok bool, err error) {
	stored, ok, err := wpdb.One(ctx, s.db, "find key", s.byID(id), scanListed)
	return stored.Key, ok, err
}

// Principal is the valid key of a request, whose permissions apply, and the platform's options as of the
// moment the key was found.
type Principal struct {
	Key
	Options domain.Options
}

// Authenticate finds the valid API key with a secret, or returns a CodeUnauthorized. The same statement
// reads the platform's options, because every request needs both. A misspelt key costs no query. Nothing is cached: revoking takes effect at once. Uses the
// unique index on key_hash.
func (s *Store) Authenticate(ctx context.Context, secret string) (Principal, error) {
	principal, err := s.authenticate(ctx, secret)
	if err == nil && principal.Kind == Calendar {
		return Principal{}, domain.Unauthorized()
	}
	return principal, err
}

// authenticate finds the valid key or calendar with a secret.
func (s *Store) authenticate(ctx context.Context, secret string) (Principal, error) {
	if secret == "" || len(secret) > maxSecret || failsChecksum(secret) {
		return Principal{}, domain.Unauthorized()
	}
	hash := hashSecret(secret)
	found, ok, err := s.find(ctx, hash)
	if errors.Is(err, wpdb.ErrSchema) {
		// Either the table of keys or the WordPress tables are missing: query the key alone to find out
		// which.
		found.storedKey, ok, err = wpdb.One(ctx, s.db, "find key", keyByHash(s.db, hash), scanStored)
	}
	switch {
	case wpdb.IsUnknownColumn(err):
		return Principal{}, domain.OwnColumnsMissing(err, s.db.FullName(wpdb.APIKeys))
	case errors.Is(err, wpdb.ErrSchema):
		return Principal{}, domain.TablesMissing(err, s.db.FullName(wpdb.APIKeys))
	}
	if err != nil {
		return Principal{}, err
	}
	now := s.now()
	if !ok || subtle.ConstantTimeCompare([]byte(found.hash), []byte(hash)) != 1 || found.Status(now) != Active {
		return Principal{}, domain.Unauthorized()
	}
	return Principal{Key: found.Key, Options: found.options}, nil
}

type storedPrincipal struct {
	storedKey
	options domain.Options
}

func keyByHash(db *wpdb.DB, hash string) sq.SelectBuilder {
	return sq.Select(keyColumns...).From(db.As(wpdb.APIKeys, "k")).Where(sq.Eq{"k.key_hash": hash})
}

// lookupText returns the text of the statement that every request begins with: the key with a hash, and the
// platform's options in columns.
func lookupText(db *wpdb.DB) (string, error) {
	stmt := keyByHash(db, "")
	for _, name := range domain.OptionNames {
		stmt = stmt.Column("(SELECT o.option_value FROM "+db.As(wpdb.Options, "o")+" WHERE o.option_name = ? LIMIT 1)", name)
	}
	text, _, err := stmt.ToSql()
	if err != nil {
		return "", fmt.Errorf("find key: build statement: %w", err)
	}
	return text, nil
}

// find reads the key with a hash.
func (s *Store) find(ctx context.Context, hash string) (p storedPrincipal, found bool, err error) {
	text, err := s.lookupText()
	if err != nil {
		return p, false, err
	}
	p.options = make(domain.Options, len(domain.OptionNames))
	values := make([]*string, len(domain.OptionNames))
	args, dest := make([]any, len(values), len(values)+1), make([]any, len(values))
	for i, name := range domain.OptionNames {
		args[i], dest[i] = name, &values[i]
	}
	stmt := wpdb.Prepared(sq.Expr(text, append(args, hash)...))
	p.storedKey, found, err = wpdb.One(ctx, s.db, "find key", stmt, func(row wpdb.Scanner) (storedKey, error) { return scanKey(row, dest...) })
	if err != nil {
		return storedPrincipal{}, false, err
	}
	for i, name := range domain.OptionNames {
		if values[i] != nil {
			p.options[name] = *values[i]
		}
	}
	return p, found, nil
}

// Used records that a key was used now: for an API key at most once a minute, for a calendar on each
// request, because programs fetch it a few times a day.
func (s *Store) Used(ctx context.Context, key Key) error {
	now := s.now()
	if last, ok := key.LastUsedAt.Time(); ok && now.Sub(last) < time.Minute && key.Kind != Calendar {
		return nil
	}
	stmt := sq.Update(s.db.Name(wpdb.APIKeys)).Set("last_used_at", domain.Stamp(now)).Where(sq.Eq{"id": key.ID})
	if key.Kind == Calendar {
		stmt = stmt.Set("requests", sq.Expr("requests + 1"))
	}
	_, err := wpdb.Exec(ctx, s.db, "note use of key", stmt)
	if errors.Is(err, wpdb.ErrConflict) {
		return nil // another node of the cluster records the use
	}
	return err
}

// A secret is lp_live_, lp_test_ or lp_calendar_, followed by 32 random characters and a checksum of 6, so
// that a misspelt key is recognised without a query, and a leaked one by a scanner.
const (
	secretRandom   = 32
	secretChecksum = 6
	maxSecret      = 255
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func newSecret(random io.Reader, kind Kind) (string, error) {
	secret := []byte(kind.prefix())
	full := len(secret) + secretRandom
	for buffer := make([]byte, 64); len(secret) < full; {
		if _, err := io.ReadFull(random, buffer); err != nil {
			return "", fmt.Errorf("make key: %w", err)
		}
		for _, b := range buffer {
			// 248 is the largest multiple of 62 in a byte: larger bytes would favour the
			// first characters.
			if b < 248 && len(secret) < full {
				secret = append(secret, base62[b%62])
			}
		}
	}
	return string(secret) + checksum(string(secret)), nil
}

// prefix returns how secrets of this kind begin.
func (k Kind) prefix() string { return "lp_" + string(k) + "_" }

func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var digits [secretChecksum]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}

// failsChecksum reports whether a secret has our form but a wrong checksum. Imported keys have other,
// unknown forms.
func failsChecksum(secret string) bool {
	body := len(secret) - secretChecksum
	return slices.ContainsFunc([]Kind{Live, Test, Calendar}, func(kind Kind) bool {
		ours := strings.HasPrefix(secret, kind.prefix()) && body == len(kind.prefix())+secretRandom
		return ours && checksum(secret[:body]) != secret[body:]
	})
}

func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Expiring is a key that will expire.
type Expiring struct {
	ID   int64
	Name string
	At   domain.Timestamp
}

// FindExpiring returns at most limit API keys that are valid now and expire by an instant, those that
// expire first coming first.
func FindExpiring(ctx context.Context, db *wpdb.DB, now, until time.Time, limit uint64) ([]Expiring, error) {
	stmt := sq.Select("id", "name", "expires_at").From(db.Name(wpdb.APIKeys)).Where(apiKeys).Where(sq.Eq{"status": "active"}).
		Where(sq.Gt{"expires_at": domain.Stamp(now)}).Where(sq.LtOrEq{"expires_at": domain.Stamp(until)}).OrderBy("expires_at", "id").Limit(limit)
	return wpdb.All(ctx, db, "find expiring keys", stmt, wpdb.Into(func(e *Expiring) []any {
		return []any{&e.ID, &e.Name, (*string)(&e.At)}
	}))
}
