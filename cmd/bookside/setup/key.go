package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// createKey creates an API key that may read, and returns it.
func (r *record) createKey(ctx context.Context, h *Host, now func() time.Time) (secret string, err error) {
	err = r.withKeys(ctx, h, now, func(db *wpdb.DB, store *keys.Store) error {
		if err := db.CreateOwnTables(ctx); err != nil && !errors.Is(err, wpdb.ErrAccessDenied) {
			return err
		}
		secret, _, err = store.Create(ctx, keys.NewKey{Name: r.Key, Kind: keys.Live, Permissions: []string{"read"}})
		return err
	})
	return secret, err
}

// revokeKey revokes the API key.
func (r *record) revokeKey(ctx context.Context, h *Host) (note string, err error) {
	if !h.exists(dsnFile) {
		return dsnFile + " is gone, so the key was not revoked; revoke it with bookside keys revoke", nil
	}
	return "", r.withKeys(ctx, h, time.Now, func(_ *wpdb.DB, store *keys.Store) error {
		list, err := store.List(ctx)
		if errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
			return nil
		}
		for _, key := range list {
			if key.Name == r.Key {
				_, failed := store.Revoke(ctx, key.ID)
				err = errors.Join(err, failed)
			}
		}
		return err
	})
}

// withKeys opens the site's database as the service does.
func (r *record) withKeys(ctx context.Context, h *Host, now func() time.Time, use func(*wpdb.DB, *keys.Store) error) (err error) {
	dsn, exists, err := h.read(dsnFile)
	if err != nil || !exists {
		return errors.Join(err, fmt.Errorf("read the address of the database in %s", dsnFile))
	}
	db, err := wpdb.Open(ctx, wpdb.Config{DSN: strings.TrimSpace(string(dsn)), Prefix: r.Prefix})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(db, keys.NewStore(db, now, rand.Reader))
}
