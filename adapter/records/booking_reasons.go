package records

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/extensions"
	"bookside/adapter/lists"
	"bookside/adapter/session"
	"bookside/wpdb"
)

// The keys of the booking meta in which Pro Features keeps why a booking was cancelled and why it was changed.
const (
	CancellationReason = "cancellation_reason"
	RescheduleReason   = "reschedule_reason"
)

// ReasonKeys are both.
var ReasonKeys = []string{CancellationReason, RescheduleReason}

// AskedReasons returns the reasons of a booking to which nobody gave any: "" for each that the site asks for, by key,
// as its settings say (OsFeatureBookingReasonsHelper::is_enabled, Pro Features 1.6); nil where it asks for none.
func AskedReasons(s *session.Session, settings map[string]string) map[string]string {
	if !s.Extension(extensions.ProFeatures, nil) {
		return nil
	}
	var asked map[string]string
	for _, key := range ReasonKeys {
		if settings[session.SettingOfReason+key] != session.On {
			continue
		}
		if asked == nil {
			asked = map[string]string{}
		}
		asked[key] = ""
	}
	return asked
}

// addReasons reads the reasons of bookings, in one statement with the settings that say which are kept.
func addReasons(ctx context.Context, s *session.Session, bookings []Booking) error {
	if len(bookings) == 0 || !s.Extension(extensions.ProFeatures, nil) {
		return nil
	}
	ids := lists.IDsOf(bookings, func(b Booking) int64 { return b.ID })
	names := make([]string, len(ReasonKeys))
	for i, key := range ReasonKeys {
		names[i] = session.SettingOfReason + key
	}
	settings := sq.Select("id", "NULL", "name", "value", "NULL", "NULL").From(s.DB.Name(wpdb.Settings)).Where(sq.Eq{"name": names})
	metas := sq.Select("id", "object_id", "NULL", "NULL", "meta_key", "meta_value").From(s.DB.Name(wpdb.BookingMeta)).
		Where(sq.Eq{"object_id": ids, "meta_key": ReasonKeys})
	type stored struct {
		id, booking int64 // booking is 0 for a setting
		name, value string
	}
	rows, err := wpdb.All(ctx, s.DB, "read reasons of bookings", lists.UnionAll(settings, metas), func(row wpdb.Scanner) (r stored, err error) {
		var key, text string
		err = row.Scan(&r.id, wpdb.OrZero(&r.booking), wpdb.OrZero(&r.name), wpdb.OrZero(&r.value), wpdb.OrZero(&key), wpdb.OrZero(&text))
		if r.booking != 0 {
			r.name, r.value = strings.ToLower(key), text
		}
		return r, err
	})
	if err != nil {
		return err
	}
	type place struct {
		booking int64
		name    string
	}
	first := map[place]stored{} // the first row of a name counts
	for _, r := range rows {
		at := place{r.booking, r.name}
		if known, found := first[at]; !found || r.id < known.id {
			first[at] = r
		}
	}
	on := map[string]string{}
	for _, name := range names {
		on[name] = wpdb.PlainText(first[place{0, name}].value)
	}
	for i := range bookings {
		bookings[i].Reasons = AskedReasons(s, on)
		for key := range bookings[i].Reasons {
			bookings[i].Reasons[key] = first[place{bookings[i].ID, key}].value
		}
	}
	return nil
}
