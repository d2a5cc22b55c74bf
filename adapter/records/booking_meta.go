package records

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/session"
)

// secretMeta is the prefix of the meta that lets a booking be managed without logging in. Such meta is
// neither shown nor searched.
const secretMeta = "key_to_manage_"

// SecretMeta reports whether booking meta with this key is never visible.
func SecretMeta(key string) bool { return strings.HasPrefix(strings.ToLower(key), secretMeta) }

// NotSecret returns the condition that a meta key does not have the secret prefix. It compares by the
// collation, like the plugin when it looks up a key.
func NotSecret(column string) sq.Sqlizer {
	return sq.Expr("LOWER(LEFT("+column+", ?)) <> ?", len(secretMeta), secretMeta)
}

// pluginMeta are the keys that the plugin itself writes, besides the secret ones. LatePoint 4 stored the
// price of a booking there.
var pluginMeta = []string{"price_breakdown"}

// VisibleMeta decides which keys of booking meta are shown and searched: custom fields, which begin with
// cf_ or are defined in the plugin's settings, the plugin's own keys, and those listed in the
// configuration. Other keys belong to add-ons, which may store anything there.
type VisibleMeta struct {
	Site    *session.Session
	defined map[string]json.RawMessage // nil until needed
}

// HiddenMeta is the message about a filter by a key that is not shown, whether the key exists or not.
const HiddenMeta = "Not a key that can be searched: a custom field of bookings, or a key that the server is set up to show"

// Has reports whether a key is shown.
func (m *VisibleMeta) Has(ctx context.Context, key string) (bool, error) {
	same := func(known string) bool { return strings.EqualFold(known, key) } // as the collation does
	switch {
	case SecretMeta(key):
		return false, nil
	case strings.HasPrefix(strings.ToLower(key), "cf_"), slices.ContainsFunc(pluginMeta, same), slices.ContainsFunc(m.Site.Platform.Config.BookingMetaKeys, same):
		return true, nil
	}
	if m.defined == nil {
		var err error
		if m.defined, err = session.DefinedFields(ctx, m.Site, session.SettingBookingFields); err != nil {
			return false, err
		}
	}
	for known := range m.defined {
		if same(known) {
			return true, nil
		}
	}
	return false, nil
}
