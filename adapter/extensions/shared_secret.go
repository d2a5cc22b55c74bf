package extensions

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// WordPress is the name of the secret that the server and WordPress share.
const WordPress = "wordpress"

// secretBytes is how many random bytes a secret has. It is used as stored, in hexadecimal digits.
const secretBytes = 32

// SharedSecret returns the shared secret, or "" if there is none yet.
func SharedSecret(ctx context.Context, db *wpdb.DB) (string, error) {
	stmt := sq.Select("secret").From(db.Name(wpdb.Secrets)).Where(sq.Eq{"name": WordPress})
	secret, _, err := wpdb.One(ctx, db, "read the secret of WordPress", stmt, wpdb.Value[string])
	return secret, err
}

// MakeSharedSecret creates the shared secret, unless another server or WordPress has done so: the primary key
// decides. random must be a secure source, such as crypto/rand.
func MakeSharedSecret(ctx context.Context, db *wpdb.DB, now domain.Clock, random io.Reader) error {
	if secret, err := SharedSecret(ctx, db); err != nil || secret != "" {
		return err
	}
	secret := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return fmt.Errorf("make the secret of WordPress: %w", err)
	}
	stmt := sq.Insert(db.Name(wpdb.Secrets)).SetMap(map[string]any{"name": WordPress, "secret": hex.EncodeToString(secret), "created_at": domain.Stamp(now())})
	_, err := db.Change(ctx, "make the secret of WordPress", stmt)
	if errors.Is(err, wpdb.ErrDuplicate) {
		return nil
	}
	return err
}

// Take uses up the nonce of a request to WordPress, as the companion does before it begins. It returns false if
// that was done before.
func (r SignedRequest) Take(ctx context.Context, db *wpdb.DB, now time.Time) (first bool, err error) {
	stmt := sq.Insert(db.Name(wpdb.AdminTokens)).SetMap(map[string]any{
		"token_hash": digest([]byte("asked " + r.Nonce)), "purpose": "asked", "expires_at": domain.Stamp(now.Add(5 * SignatureLife)),
	})
	_, err = db.Change(ctx, "use up a request to WordPress", stmt)
	if errors.Is(err, wpdb.ErrDuplicate) {
		return false, nil
	}
	return err == nil, err
}
