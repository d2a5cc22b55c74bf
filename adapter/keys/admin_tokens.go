package keys

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// AdminTokens are the login tokens and sessions of the console.
//
// A login token is random, works once and within ten minutes, and is exchanged for a session of an hour.
// Only SHA-256 hashes of both are stored, in one of Bookside's own tables: the stored data opens nothing,
// and every process beside the site accepts the tokens, even after a restart. Unlike with signatures, there
// is no secret to configure, share or lose: creating a token requires the privilege to write to the table,
// which is enough to write keys without the console.
type AdminTokens struct {
	db     *wpdb.DB
	now    domain.Clock
	random io.Reader
}

// NewAdminTokens stores tokens in db. random must be a secure source, such as crypto/rand.
func NewAdminTokens(db *wpdb.DB, now domain.Clock, random io.Reader) *AdminTokens {
	return &AdminTokens{db: db, now: now, random: random}
}

// How long tokens are valid.
const (
	LoginTokenLife   = 10 * time.Minute
	AdminSessionLife = time.Hour
)

// The kinds of stored tokens.
const (
	tokenLogin   = "login"
	tokenSession = "session"
	tokenProxied = "proxied" // a session of somebody who has logged in at a proxy
	tokenForm    = "form"    // the one-time mark of a form
)

// tokenBytes is enough random bytes to make guessing a token impossible.
const tokenBytes = 20

// Issue creates a login token for a person, whose name the session will have. It also deletes expired
// tokens.
func (a *AdminTokens) Issue(ctx context.Context, person string) (token string, err error) {
	return a.create(ctx, tokenLogin, person, LoginTokenLife)
}

// Login exchanges a login token for the secret of a session. ok is false if the token is
// unknown, used or expired.
func (a *AdminTokens) Login(ctx context.Context, token string) (session string, ok bool, err error) {
	token = strings.ToUpper(strings.TrimSpace(token))
	err = a.db.Transact(ctx, "log in", func(tx *wpdb.DB) error {
		person, _, err := a.find(ctx, tx, tokenLogin, token)
		if err != nil {
			return err
		}
		used, err := a.remove(ctx, tx, tokenLogin, token)
		if ok = used; err != nil || !used {
			return err
		}
		session, err = a.store(ctx, tx, tokenSession, person, AdminSessionLife)
		return err
	})
	if err != nil || !ok {
		return "", false, err
	}
	return session, true, nil
}

// MaxPerson is the most characters that a person's name may have.
const MaxPerson = 150

// Open opens a session for a person who has logged in at a proxy, and returns its secret. It also deletes
// expired tokens.
func (a *AdminTokens) Open(ctx context.Context, person string) (session string, err error) {
	return a.create(ctx, tokenProxied, person, AdminSessionLife)
}

// Opened reports whether a session was opened for a person by Open. It is valid only for requests in which the proxy names
// the person: whoever has logged out there, or reaches the console in another way, has none.
func (a *AdminTokens) Opened(ctx context.Context, session, person string) (bool, error) {
	whose, found, err := a.find(ctx, a.db, tokenProxied, session)
	return found && whose == person, err
}

// Session returns whose session of a login token it is; found is false if it is invalid.
func (a *AdminTokens) Session(ctx context.Context, session string) (person string, found bool, err error) {
	return a.find(ctx, a.db, tokenSession, session)
}

func (a *AdminTokens) find(ctx context.Context, db *wpdb.DB, purpose, token string) (person string, found bool, err error) {
	stmt := sq.Select("t.person").From(a.db.As(wpdb.AdminTokens, "t")).Where(a.valid(purpose, token))
	return wpdb.One(ctx, db, "find "+purpose, stmt, wpdb.Value[string])
}

// Logout ends a session, for every process.
func (a *AdminTokens) Logout(ctx context.Context, session string) error {
	return a.db.Transact(ctx, "log out", func(tx *wpdb.DB) error {
		_, err := a.remove(ctx, tx, tokenSession, session)
		return err
	})
}

// Spend records the mark of a form, and reports whether this is its first use: a form that is sent again,
// by reloading the response, must not act again.
func (a *AdminTokens) Spend(ctx context.Context, mark string) (first bool, err error) {
	if err := a.sweep(ctx); err != nil {
		return false, err
	}
	err = a.db.Transact(ctx, "note a form", func(tx *wpdb.DB) error { return a.insert(ctx, tx, tokenForm, mark, "", AdminSessionLife) })
	if errors.Is(err, wpdb.ErrDuplicate) {
		return false, nil
	}
	return err == nil, err
}

// create creates a token in a transaction of its own.
func (a *AdminTokens) create(ctx context.Context, purpose, person string, life time.Duration) (token string, err error) {
	if err := a.sweep(ctx); err != nil {
		return "", err
	}
	err = a.db.Transact(ctx, "create a token", func(tx *wpdb.DB) (err error) {
		token, err = a.store(ctx, tx, purpose, person, life)
		return err
	})
	return token, err
}

// store creates a token and stores its hash.
func (a *AdminTokens) store(ctx context.Context, tx *wpdb.DB, purpose, person string, life time.Duration) (string, error) {
	secret := make([]byte, tokenBytes)
	if _, err := io.ReadFull(a.random, secret); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	token := base32.StdEncoding.EncodeToString(secret)
	return token, a.insert(ctx, tx, purpose, token, person, life)
}

func (a *AdminTokens) insert(ctx context.Context, tx *wpdb.DB, purpose, token, person string, life time.Duration) error {
	stmt := sq.Insert(a.db.Name(wpdb.AdminTokens)).SetMap(map[string]any{
		"token_hash": hashSecret(token), "purpose": purpose, "person": person, "expires_at": domain.Stamp(a.now().Add(life)),
	})
	_, err := wpdb.Exec(ctx, tx, "store a token", stmt)
	return err
}

// remove removes a token and reports whether it was valid. If several callers remove it at the same time,
// one of them gets true.
func (a *AdminTokens) remove(ctx context.Context, tx *wpdb.DB, purpose, token string) (bool, error) {
	result, err := wpdb.Exec(ctx, tx, "remove a token", sq.Delete(a.db.Name(wpdb.AdminTokens)).Where(a.valid(purpose, token)))
	return result.Rows > 0, err
}

func (a *AdminTokens) valid(purpose, token string) sq.Sqlizer {
	return sq.And{sq.Eq{"token_hash": hashSecret(token), "purpose": purpose}, sq.Gt{"expires_at": domain.Stamp(a.now())}}
}

// sweep deletes expired tokens.
func (a *AdminTokens) sweep(ctx context.Context) error {
	_, err := a.db.Change(ctx, "forget old tokens", sq.Delete(a.db.Name(wpdb.AdminTokens)).Where(sq.LtOrEq{"expires_at": domain.Stamp(a.now())}))
	return err
}
