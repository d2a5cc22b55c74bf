package bookings

import (
	"context"
	"errors"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Find returns at most limit bookings: the latest ones of some customers, and others whose code begins with a text. It
// counts nothing, unlike List.
func Find(ctx context.Context, s *session.Session, text string, customers []int64, limit int) ([]records.Booking, error) {
	find := func(condition sq.Sqlizer) ([]int64, error) {
		stmt := sq.Select("b.id").From(s.DB.As(wpdb.Bookings, "b")).Where(condition).
			OrderBy(Filter{Sort: ByStart, Descending: true}.order().Terms()...).Limit(uint64(limit))
		return wpdb.All(ctx, s.DB, "find bookings", stmt, wpdb.Value[int64])
	}
	ids, err := find(sq.Eq{"b.customer_id": customers})
	if err != nil {
		return nil, err
	}
	if len(ids) == limit {
		return records.LoadBookings(ctx, s, ids, false)
	}
	coded, err := find(Filter{Search: &text, ByWords: true}.searchesCode())
	if err != nil && !errors.Is(err, wpdb.ErrBadValue) { // no code has such a text
		return nil, err
	}
	for _, id := range coded {
		if len(ids) < limit && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return records.LoadBookings(ctx, s, ids, false)
}
