package bookings

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// The keys of customer meta in which Pro Features keeps a customer's no-shows: a JSON list of their
// ids, its length, and on or off.
const (
	metaNoShows     = "no_show_booking_ids"
	metaNoShowCount = "no_show_count"
	metaNoShowFlag  = "no_show_flag"
)

// countsNoShows reports whether a change of status makes a booking a no-show, or takes that back.
func countsNoShows(s *session.Session, w session.WriteSettings, from, to string) bool {
	return from != to && (from == records.StatusNoShow || to == records.StatusNoShow) &&
		w.Settings[session.SettingNoShows] == session.On && s.Extension(extensions.ProFeatures, w.Settings)
}

// countNoShow keeps count of the customer's no-shows
// (OsFeatureNoShowRestrictionsHelper::handle_booking_status_change, Pro Features 1.6). Each counts once, whoever counts it.
// Bookings that are deleted stay counted.
func countNoShow(ctx context.Context, tx *session.Tx, w session.WriteSettings, u bookingUpdate) error {
	if !countsNoShows(tx.Session, w, u.before.Booking.Status, u.status) {
		return nil
	}
	customer, booking := u.who.ID, u.before.Booking.ID
	stored, err := noShowMeta(ctx, tx, customer)
	if err != nil || stored == nil {
		return err
	}
	ids := noShows(stored[metaNoShows].value)
	switch counted := slices.Contains(ids, booking); {
	case u.status != records.StatusNoShow:
		ids = slices.DeleteFunc(ids, func(id int64) bool { return id == booking })
	case counted:
		return nil
	default:
		ids = append(ids, booking)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	flag := session.On
	if len(ids) == 0 {
		flag = "off"
	}
	for _, m := range []struct{ key, value string }{{metaNoShows, string(list)}, {metaNoShowCount, strconv.Itoa(len(ids))}, {metaNoShowFlag, flag}} {
		if err := saveCustomerMeta(ctx, tx, customer, stored[m.key].id, m.key, m.value); err != nil {
			return err
		}
	}
	return nil
}

// storedMeta is a row of meta.
type storedMeta struct {
	id    int64 // 0 for none
	value string
}

// noShowMeta reads what is kept of a customer, by key; nil if there is no such customer.
func noShowMeta(ctx context.Context, tx *session.Tx, customer int64) (map[string]storedMeta, error) {
	type row struct {
		key string
		storedMeta
	}
	stmt := sq.Select("m.id", "m.meta_key", "m.meta_value").From(tx.DB.As(wpdb.Customers, "c")).
		LeftJoin(tx.DB.As(wpdb.CustomerMeta, "m")+" ON m.object_id = c.id AND m.meta_key IN (?, ?, ?)", metaNoShows, metaNoShowCount, metaNoShowFlag).
		Where(sq.Eq{"c.id": customer}).OrderBy("m.id")
	rows, err := wpdb.All(ctx, tx.DB, "read no-shows", stmt, wpdb.Into(func(r *row) []any {
		return []any{wpdb.OrZero(&r.id), wpdb.OrZero(&r.key), wpdb.OrZero(&r.value)}
	}))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	stored := map[string]storedMeta{}
	for _, r := range rows {
		key := strings.ToLower(r.key)
		if _, found := stored[key]; !found { // the first row of a key counts
			stored[key] = r.storedMeta
		}
	}
	return stored, nil
}

// noShows returns the ids of a stored list, whose members may be texts; none if it is no list.
func noShows(stored string) []int64 {
	var list []json.RawMessage
	if json.Unmarshal([]byte(stored), &list) != nil {
		return []int64{}
	}
	ids := make([]int64, len(list))
	for i, element := range list {
		ids[i] = int64(session.LeadingInt(strings.Trim(string(element), `"`)))
	}
	return ids
}

// saveCustomerMeta stores a value in a row of customer meta, or in a new one if the id is 0. What is empty to PHP, such as
// "0", is not stored in a row that there is: the row goes (OsMetaModel::save_by_key, LatePoint 5.6.5).
func saveCustomerMeta(ctx context.Context, tx *session.Tx, customer, id int64, key, value string) error {
	switch {
	case id == 0:
		_, err := tx.Insert(ctx, wpdb.CustomerMeta, tx.NewMeta(customer, key, value))
		return err
	case value == "0":
		return tx.Delete(ctx, wpdb.CustomerMeta, id)
	default:
		return tx.Update(ctx, wpdb.CustomerMeta, id, session.Row{{Name: "meta_value", Value: value}, tx.UpdateTimestamp()})
	}
}
