package records

import (
	"cmp"
	"context"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// HasExtraTables reports whether Pro Features has created its tables for extras, at some time.
func HasExtraTables(s *session.Session) bool {
	return s.Schema.Has(wpdb.BookingsServiceExtras) && s.Schema.Has(wpdb.ServiceExtras)
}

// addProFeatures reads what Pro Features keeps of bookings: their extras, and the reasons for which the site asks. It runs no
// statement where the add-on never was, one where it is, and a second one for reasons that are asked for.
func addProFeatures(ctx context.Context, s *session.Session, bookings []Booking) error {
	if len(bookings) == 0 || !HasExtraTables(s) && !s.Extension(extensions.ProFeatures, nil) {
		return nil
	}
	ids := IDsOf(bookings, func(b Booking) int64 { return b.ID })
	settings, extras, err := settingsAndExtras(ctx, s, ids)
	if err != nil || !s.Extension(extensions.ProFeatures, settings) {
		return err
	}
	for i := range bookings {
		if HasExtraTables(s) {
			bookings[i].Extras = append([]BookingExtra{}, extras[bookings[i].ID]...)
		}
		bookings[i].Reasons = AskedReasons(s, settings)
	}
	if bookings[0].Reasons == nil {
		return nil
	}
	type given struct {
		booking   int64
		key, text string
	}
	stmt := sq.Select("object_id", "meta_key", "meta_value").From(s.DB.Name(wpdb.BookingMeta)).Where(sq.Eq{"object_id": ids, "meta_key": ReasonKeys}).OrderBy("id DESC")
	all, err := wpdb.All(ctx, s.DB, "read reasons of bookings", stmt, wpdb.Into(func(g *given) []any {
		return []any{&g.booking, &g.key, wpdb.OrZero(&g.text)}
	}))
	byID := ByID(bookings, func(b Booking) int64 { return b.ID })
	for _, g := range all { // the first row of a key counts, and comes last
		reasons := byID[g.booking].Reasons
		if key := strings.ToLower(g.key); reasons != nil {
			if _, asked := reasons[key]; asked {
				reasons[key] = g.text
			}
		}
	}
	return err
}

// settingsAndExtras reads the settings that addProFeatures depends on, and the extras of bookings.
func settingsAndExtras(ctx context.Context, s *session.Session, bookings []int64) (settings map[string]string, extras map[int64][]BookingExtra, err error) {
	names := []string{session.SettingAddOns}
	for _, key := range ReasonKeys {
		names = append(names, session.SettingOfReason+key)
	}
	if !HasExtraTables(s) {
		settings, err = s.DB.SettingValues(ctx, names...)
		return settings, nil, err
	}
	type stored struct {
		id, booking int64 // booking is 0 for a setting
		name, value string
		BookingExtra
	}
	stmt := UnionAll(
		sq.Select("id", "name", "value").Columns(Nulls(7)...).From(s.DB.Name(wpdb.Settings)).Where(sq.Eq{"name": names}),
		sq.Select("x.id", "NULL", "NULL", "x.booking_id", "x.service_extra_id", "e.name", "x.quantity", "x.duration", "x.price", "e.duration").
			From(s.DB.As(wpdb.BookingsServiceExtras, "x")).LeftJoin(s.DB.As(wpdb.ServiceExtras, "e")+" ON e.id = x.service_extra_id").
			Where(sq.Eq{"x.booking_id": bookings}))
	rows, err := wpdb.All(ctx, s.DB, "read extras of bookings", stmt, wpdb.Into(func(r *stored) []any {
		e := &r.BookingExtra
		return []any{&r.id, wpdb.OrZero(&r.name), wpdb.OrZero(&r.value), wpdb.OrZero(&r.booking), wpdb.OrZero(&e.ID), wpdb.OrZero(&e.Name),
			wpdb.OrZero(&e.Quantity), wpdb.OrZero(&e.Duration), wpdb.OrZero(&e.Price), wpdb.OrZero(&e.PresentDuration)}
	}))
	slices.SortFunc(rows, func(a, b stored) int { return cmp.Compare(a.id, b.id) })
	settings, extras = map[string]string{}, map[int64][]BookingExtra{}
	for _, r := range rows {
		if _, known := settings[r.name]; r.booking == 0 && !known { // the first row of a name counts
			settings[r.name] = wpdb.PlainText(r.value)
		} else if r.booking != 0 {
			extras[r.booking] = append(extras[r.booking], r.BookingExtra)
		}
	}
	return settings, extras, err
}
