package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

// keyStore is the keys of a site and their database.
type keyStore struct {
	*keys.Store
	db *wpdb.DB
}

// withKeys calls use with the API keys of the site.
func (p *program) withKeys(ctx context.Context, use func(keyStore) error) error {
	return p.withSite(ctx, wpdb.APIKeys, func(db *wpdb.DB) error { return use(keyStore{keys.NewStore(db, p.now, rand.Reader), db}) })
}

// withNewKeys is like withKeys, but creates our own tables first.
func (p *program) withNewKeys(ctx context.Context, use func(keyStore) error) error {
	return p.withOwnTables(ctx, wpdb.APIKeys, func(db *wpdb.DB) error { return use(keyStore{keys.NewStore(db, p.now, rand.Reader), db}) })
}

// parseNewKey returns the attributes of a new key, which needs a name and permissions.
func parseNewKey(flags attributeFlags[keys.Key, keys.NewKey], now time.Time) (n keys.NewKey, err error) {
	flags.setOr("name", "")
	flags.setOr("permissions", "")
	return n, flags.parse(nil, now, &n)
}

// describeKey returns a line with everything about a key that is not secret.
func describeKey(k keys.Key) string {
	return fmt.Sprintf("ID %d, name %s, kind %s, permissions %s, networks %s, expires %s, requests per minute %s, per hour %s%s\n",
		k.ID, k.Name, k.Kind, strings.Join(k.Permissions, ","), keys.FormatNetworks(k.Networks), expiryText(k), cmp.Or(keys.FormatLimit(k.PerMinute), keys.DefaultLimit), cmp.Or(keys.FormatLimit(k.PerHour), keys.DefaultLimit), strings.Join(append([]string{""}, k.ScopeSummary(keys.IDsOnly)...), ", "))
}

func expiryText(k keys.Key) string {
	if k.ExpiresAt == "" {
		return keys.NeverExpires
	}
	return string(k.ExpiresAt) + " UTC"
}

// listedID parses the operand ID of a command; group is the one that lists the ids.
func listedID(text, group string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usageErrorf("ID: write the number that %s list shows", group)
	}
	return id, nil
}

func noSuchKey(id int64) error {
	return exit.Errorf(exit.Failure, nil, "there is no key with the ID %d; see keys list", id)
}

// person returns the name of the user who runs the program, even through sudo, or "" if unknown.
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

// creator returns who creates a key.
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
