package adapter

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// secretMeta begins the names of the keys with which a booking can be managed
// without logging in. They are neither shown nor searched.
const secretMeta = "key_to_manage_"

// SecretMeta tells keys of booking meta that nothing makes visible.
func SecretMeta(key string) bool { return strings.HasPrefix(strings.ToLower(key), secretMeta) }

// notSecret holds the meta rows whose name does not begin so. The collation
// compares, as it does where the plugin looks a key up.
func notSecret(column string) sq.Sqlizer {
	return sq.Expr("LOWER(LEFT("+column+", ?)) <> ?", len(secretMeta), secretMeta)
}

// pluginMeta are the keys that the plugin itself writes, besides the secret
// ones: LatePoint 4 kept a booking's prices there.
var pluginMeta = []string{"price_breakdown"}

// visibleMeta tells which keys of booking meta are shown and searched: custom
// fields, which begin with cf_ or are defined in the plugin's settings, the
// plugin's own keys, and those that the configuration lists. The others belong to
// add-ons, which may keep anything there.
type visibleMeta struct {
	site    *Site
	defined map[string]json.RawMessage // nil until they are needed
}

func (m *visibleMeta) has(ctx context.Context, key string) (bool, error) {
	same := func(known string) bool { return strings.EqualFold(known, key) } // as the collation does
	switch {
	case SecretMeta(key):
		return false, nil
	case strings.HasPrefix(strings.ToLower(key), "cf_"), slices.ContainsFunc(pluginMeta, same), slices.ContainsFunc(m.site.metaKeys, same):
		return true, nil
	}
	if m.defined == nil {
		var err error
		if m.defined, err = m.site.definedFields(ctx, settingBookingFields); err != nil {
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

// addBookingMeta reads the metas of bookings that are shown.
func (s *Site) addBookingMeta(ctx context.Context, ids []int64, records []Booking) error {
	metas, err := s.metas(ctx, wpdb.BookingMeta, ids, notSecret("meta_key"))
	if err != nil {
		return err
	}
	shown := visibleMeta{site: s}
	for i := range records {
		records[i].Meta = map[string]string{}
		for key, value := range metas[records[i].ID] {
			visible, err := shown.has(ctx, key)
			if err != nil {
				return err
			}
			if visible {
				records[i].Meta[key] = value
			}
		}
	}
	return nil
}
