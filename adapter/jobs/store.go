package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// HookStore holds the webhooks of a site.
type HookStore struct {
	// AllowPrivate lets the API and the console add webhooks for non-public addresses. The command line
	// always may.
	AllowPrivate bool

	db      *wpdb.DB
	now     domain.Clock
	random  io.Reader
	vault   Vault
	journal *journal.Journal
	owner   int64 // see OwnedBy
	locked  bool  // db is a transaction, see In
}

// NewHookStore returns the webhooks in db, which follow the journal. random must be a secure source, such as
// crypto/rand.
func NewHookStore(db *wpdb.DB, now domain.Clock, random io.Reader, vault Vault, j *journal.Journal) *HookStore {
	return &HookStore{db: db, now: now, random: random, vault: vault, journal: j}
}

// OwnedBy returns a Store limited to the webhooks of an API key.
func (s *HookStore) OwnedBy(keyID int64) *HookStore {
	owned := *s
	owned.owner = keyID
	return &owned
}

// ErrTooMany means that keys cannot add more webhooks to the site, and ErrTooManyOfKey that this key
// cannot. The site's administrator can.
var (
	ErrTooMany      = fmt.Errorf("there are %d webhooks already; ask the site's administrator", maxHooks)
	ErrTooManyOfKey = fmt.Errorf("this key has %d webhooks already; delete one first", maxHooksOfKey)
)

// In returns a Store within a transaction.
func (s *HookStore) In(tx *wpdb.DB) *HookStore {
	within := *s
	within.db, within.locked = tx, true
	return &within
}

// Add adds a webhook and returns its secret. It gets the changes that enter the journal from now on.
// Webhooks of keys are limited in number: see AddHook.
func (s *HookStore) Add(ctx context.Context, n NewHook) (secret string, hook Hook, err error) {
	position, err := s.journal.EndIn(ctx, s.db)
	if err != nil {
		return "", Hook{}, err
	}
	secret, sealed, err := s.makeSecret()
	if err != nil {
		return "", Hook{}, err
	}
	if n.Name == "" {
		n.Name = hostOf(n.URL)
	}
	hook = Hook{
		Name: n.Name, URL: n.URL, Filter: n.Filter, Record: n.Record, Private: n.Private, KeyID: s.owner,
		Status: Enabled, CreatedAt: domain.Timestamp(domain.Stamp(s.now())), position: position, secret: sealed,
	}
	err = s.transact(ctx, "add webhook", func(tx *wpdb.DB) error {
		if err := s.requireRoom(ctx, tx); err != nil {
			return err
		}
		first, err := wpdb.FirstID(ctx, tx, wpdb.Webhooks)
		if err != nil {
			return err
		}
		result, err := wpdb.Exec(ctx, tx, "add webhook", sq.Insert(tx.Name(wpdb.Webhooks)).SetMap(map[string]any{
			"id": wpdb.NullIfZero(first), "name": hook.Name, "url": hook.URL, "events": strings.Join(hook.Filter.Events, ","),
			"agents": keys.JoinIDs(hook.Filter.Agents), "services": keys.JoinIDs(hook.Filter.Services), "locations": keys.JoinIDs(hook.Filter.Locations),
			"include_record": hook.Record, "allow_private": hook.Private, "key_id": hook.KeyID, "secret": sealed,
			"status": string(hook.Status), "position": position, "created_at": string(hook.CreatedAt),
		}))
		hook.ID = result.ID
		return err
	})
	if err != nil {
		return "", Hook{}, err
	}
	return secret, hook, nil
}

// requireRoom returns an ErrTooMany or ErrTooManyOfKey if the store's key cannot add another webhook.
func (s *HookStore) requireRoom(ctx context.Context, tx *wpdb.DB) error {
	if s.owner == 0 {
		return nil
	}
	stmt := sq.Select("key_id").From(tx.Name(wpdb.Webhooks)).Where(sq.NotEq{"status": string(deleted)})
	owners, err := wpdb.All(ctx, tx, "count webhooks", stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	own := 0
	for _, owner := range owners {
		if owner == s.owner {
			own++
		}
	}
	switch {
	case own >= maxHooksOfKey:
		return ErrTooManyOfKey
	case len(owners) >= maxHooks:
		return ErrTooMany
	default:
		return nil
	}
}

// makeSecret returns a new secret and its stored form.
func (s *HookStore) makeSecret() (secret, sealed string, err error) {
	if secret, err = newSecret(s.random); err != nil {
		return "", "", err
	}
	sealed, err = s.vault.seal(s.random, secret)
	return secret, sealed, err
}

var hookColumns = []string{
	"h.id", "h.name", "h.url", "h.events", "h.agents", "h.services", "h.locations", "h.include_record", "h.allow_private", "h.key_id",
	"h.secret", "h.old_secret", "h.old_secret_until", "h.status", "h.reason", "h.failing_since", "h.position", "h.created_at",
}

// scanHook scans hookColumns and the columns that the caller selected after them.
func scanHook(row wpdb.Scanner, behind ...any) (h Hook, err error) {
	var events, agents, services, locations string
	dest := []any{
		&h.ID, &h.Name, &h.URL, &events, &agents, &services, &locations, &h.Record, &h.Private, &h.KeyID, &h.secret, &h.oldSecret,
		wpdb.OrZero((*string)(&h.OldSecretUntil)), (*string)(&h.Status), &h.Reason, wpdb.OrZero((*string)(&h.FailingSince)), &h.position, (*string)(&h.CreatedAt),
	}
	if err := row.Scan(append(dest, behind...)...); err != nil {
		return h, err
	}
	h.Filter.Events = strings.Split(events, ",")
	for _, f := range []struct {
		text string
		ids  *[]int64
	}{{agents, &h.Filter.Agents}, {services, &h.Filter.Services}, {locations, &h.Filter.Locations}} {
		if *f.ids, err = splitIDs(f.text); err != nil {
			return h, fmt.Errorf("filter of webhook %d: %w", h.ID, err)
		}
	}
	return h, nil
}

func scanHookAlone(row wpdb.Scanner) (Hook, error) { return scanHook(row) }

func splitIDs(text string) (ids []int64, err error) {
	if text == "" {
		return nil, nil
	}
	return ParseIDs(text)
}

// visible limits a statement to the webhooks that the store sees.
func (s *HookStore) visible(alias string, and ...sq.Sqlizer) sq.And {
	which := sq.And{sq.NotEq{alias + "status": string(deleted)}}
	if s.owner != 0 {
		which = append(which, sq.Eq{alias + "key_id": s.owner})
	}
	return append(which, and...)
}

// List returns all webhooks, oldest first.
func (s *HookStore) List(ctx context.Context) ([]Hook, error) {
	stmt := sq.Select(hookColumns...).From(s.db.As(wpdb.Webhooks, "h")).Where(s.visible("h.")).OrderBy("h.id")
	return wpdb.All(ctx, s.db, "list webhooks", stmt, scanHookAlone)
}

// Find returns the webhook with an id. ok is false if there is none.
func (s *HookStore) Find(ctx context.Context, id int64) (hook Hook, ok bool, err error) {
	stmt := sq.Select(hookColumns...).From(s.db.As(wpdb.Webhooks, "h")).Where(s.visible("h.", sq.Eq{"h.id": id}))
	return wpdb.One(ctx, s.db, "find webhook", stmt, scanHookAlone)
}

// Locked runs change in a transaction, with a webhook that nobody else can change meanwhile and a Store of
// that transaction. After a deadlock change runs again. found is false if there is no such webhook.
func (s *HookStore) Locked(ctx context.Context, id int64, change func(*HookStore, Hook) error) (found bool, err error) {
	err = s.db.Transact(ctx, "change webhook", func(tx *wpdb.DB) error {
		stmt := sq.Select(hookColumns...).From(tx.As(wpdb.Webhooks, "h")).Where(s.visible("h.", sq.Eq{"h.id": id})).Suffix("FOR UPDATE")
		var hook Hook
		if hook, found, err = wpdb.One(ctx, tx, "lock webhook", stmt, scanHookAlone); err != nil || !found {
			return err
		}
		return change(s.In(tx), hook)
	})
	return found, err
}

// transact runs work in the transaction of In, or otherwise in its own.
func (s *HookStore) transact(ctx context.Context, op string, work func(tx *wpdb.DB) error) error {
	if s.locked {
		return work(s.db)
	}
	return s.db.Transact(ctx, op, work)
}

// change updates columns of a webhook. It reports whether the webhook exists.
func (s *HookStore) change(ctx context.Context, op string, id int64, set map[string]any) (found bool, err error) {
	err = s.transact(ctx, op, func(tx *wpdb.DB) error {
		result, err := wpdb.Exec(ctx, tx, op, sq.Update(tx.Name(wpdb.Webhooks)).SetMap(set).Where(s.visible("", sq.Eq{"id": id})))
		found = result.Rows > 0
		return err
	})
	return found, err
}

// Update changes hook, a webhook as it is stored; this affects deliveries that are not sent yet.
func (s *HookStore) Update(ctx context.Context, hook Hook, p HookPatch) (found bool, err error) {
	set := map[string]any{}
	if p.Name != nil {
		set["name"] = *p.Name
	}
	if p.URL != nil && *p.URL != hook.URL { // an unchanged one keeps what the command line may have allowed
		set["url"], set["allow_private"] = *p.URL, p.Private
	}
	if f := p.Filter; f != nil {
		set["events"], set["agents"] = strings.Join(f.Events, ","), keys.JoinIDs(f.Agents)
		set["services"], set["locations"] = keys.JoinIDs(f.Services), keys.JoinIDs(f.Locations)
	}
	if p.Record != nil {
		set["include_record"] = *p.Record
	}
	if len(set) == 0 {
		return true, nil
	}
	return s.change(ctx, "change webhook", hook.ID, set)
}

// Disable stops a webhook at once, on every server. Changes wait until Enable.
func (s *HookStore) Disable(ctx context.Context, id int64, reason string) (bool, error) {
	return s.change(ctx, "disable webhook", id, map[string]any{"status": string(Disabled), "reason": domain.Cut(reason, domain.FailureLength)})
}

// DisableAll disables all enabled webhooks, and returns their ids.
func (s *HookStore) DisableAll(ctx context.Context, reason string) (ids []int64, err error) {
	all, err := s.List(ctx)
	for _, h := range all {
		if h.Status != Enabled {
			continue
		}
		if _, err := s.Disable(ctx, h.ID, reason); err != nil {
			return nil, err
		}
		ids = append(ids, h.ID)
	}
	return ids, err
}

// Enable starts a disabled webhook. It first gets the changes since it was disabled, as far as the journal
// has them; with skip, only later ones.
func (s *HookStore) Enable(ctx context.Context, id int64, skip bool) (found bool, err error) {
	set := map[string]any{"status": string(Enabled), "reason": "", "failing_since": nil}
	if skip {
		if set["position"], err = s.journal.EndIn(ctx, s.db); err != nil {
			return false, err
		}
	}
	now := domain.Stamp(s.now())
	err = s.transact(ctx, "enable webhook", func(tx *wpdb.DB) error {
		result, err := wpdb.Exec(ctx, tx, "enable webhook", sq.Update(tx.Name(wpdb.Webhooks)).SetMap(set).Where(s.visible("", sq.Eq{"id": id, "status": string(Disabled)})))
		if err != nil || result.Rows == 0 {
			return err
		}
		deliveries := sq.Update(tx.Name(wpdb.WebhookDeliveries)).Where(sq.Eq{"webhook_id": id, "status": waiting})
		if skip {
			deliveries = deliveries.Set("status", failed).Set("failure", "skipped when the webhook was enabled").Set("finished_at", now)
		} else {
			deliveries = deliveries.Set("tries", 0).Set("due_at", now)
		}
		_, err = wpdb.Exec(ctx, tx, "continue deliveries", deliveries)
		return err
	})
	if err != nil {
		return false, err
	}
	_, found, err = s.Find(ctx, id)
	return found, err
}

// Rotate creates a new secret. During the overlap, deliveries are signed with the old one too.
func (s *HookStore) Rotate(ctx context.Context, id int64, overlap time.Duration) (secret string, found bool, err error) {
	secret, sealed, err := s.makeSecret()
	if err != nil {
		return "", false, err
	}
	until := s.now().Add(overlap)
	err = s.db.Transact(ctx, "rotate the secret of a webhook", func(tx *wpdb.DB) error {
		// MySQL assigns from left to right, so the old secret comes first.
		stmt := sq.Update(tx.Name(wpdb.Webhooks)).Set("old_secret", sq.Expr("secret")).Set("old_secret_until", domain.Stamp(until)).Set("secret", sealed).
			Where(s.visible("", sq.Eq{"id": id}))
		if overlap == 0 {
			stmt = sq.Update(tx.Name(wpdb.Webhooks)).Set("old_secret", "").Set("old_secret_until", nil).Set("secret", sealed).Where(s.visible("", sq.Eq{"id": id}))
		}
		result, err := wpdb.Exec(ctx, tx, "rotate the secret of a webhook", stmt)
		found = result.Rows > 0
		return err
	})
	if err != nil || !found {
		return "", false, err
	}
	return secret, true, nil
}

// Delete ends a webhook at once, on every server, and deletes its secrets. The Sweeper removes the log of
// its deliveries.
func (s *HookStore) Delete(ctx context.Context, id int64) (bool, error) {
	return s.change(ctx, "delete webhook", id, map[string]any{"status": string(deleted), "secret": "", "old_secret": "", "url": "", "name": ""})
}

// secrets returns the valid secrets of a webhook, the new one first.
func (s *HookStore) secrets(h Hook) ([]string, error) {
	stored := []string{h.secret}
	if until, ok := h.OldSecretUntil.Time(); ok && h.oldSecret != "" && s.now().Before(until) {
		stored = append(stored, h.oldSecret)
	}
	secrets := make([]string, len(stored))
	for i := range stored {
		var err error
		if secrets[i], err = s.vault.open(stored[i]); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}

// Seal encrypts secrets that were stored before there was a key, and deletes old ones that have expired. It
// returns how many webhooks have secrets that cannot be decrypted.
func (s *HookStore) Seal(ctx context.Context) (unreadable int, err error) {
	hooks, err := s.List(ctx)
	if err != nil {
		return 0, err
	}
	for _, h := range hooks {
		if _, err := s.secrets(h); errors.Is(err, errSealed) {
			unreadable++
			continue
		}
		set := map[string]any{}
		if until, ok := h.OldSecretUntil.Time(); ok && !s.now().Before(until) {
			set["old_secret"], set["old_secret_until"] = "", nil
		}
		for column, stored := range map[string]string{"secret": h.secret, "old_secret": h.oldSecret} {
			if _, forgotten := set[column]; s.vault.sealer != nil && !forgotten && strings.HasPrefix(stored, SecretPrefix) {
				if set[column], err = s.vault.seal(s.random, stored); err != nil {
					return unreadable, err
				}
			}
		}
		if len(set) == 0 {
			continue
		}
		// Unless the secret was rotated meanwhile.
		stmt := sq.Update(s.db.Name(wpdb.Webhooks)).SetMap(set).Where(sq.Eq{"id": h.ID, "secret": h.secret, "old_secret": h.oldSecret})
		if _, err := s.db.Change(ctx, "encrypt the secret of a webhook", stmt); err != nil {
			return unreadable, err
		}
	}
	return unreadable, nil
}
