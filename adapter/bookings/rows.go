package bookings

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// listedRow is a booking of a page before its record is read.
type listedRow struct {
	id    int64
	date  string // the start date; "" for NULL
	order int64  // 0 for none
}

// rowsInOrder finds the bookings that a statement with a limit selects, in the order of the list: for the
// latest bookings of agent 3,
//
//	SELECT b.id, b.start_date, i.order_id
//	FROM (SELECT b.id FROM bookings b WHERE b.agent_id = 3 ORDER BY b.created_at DESC, b.id DESC LIMIT 21) page
//	JOIN bookings b ON b.id = page.id LEFT JOIN order_items i ON i.id = b.order_item_id
//	ORDER BY b.created_at DESC, b.id DESC
//
// The given statement reads only ids, so an index may be enough for it.
func rowsInOrder(ctx context.Context, s *session.Session, l records.List, f Filter, page sq.SelectBuilder) ([]listedRow, error) {
	stmt := sq.Select("b.id", "b.start_date", "i.order_id").FromSelect(page.Column("b.id"), "page").
		Join(s.DB.As(wpdb.Bookings, "b") + " ON b.id = page.id").
		LeftJoin(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").
		OrderBy(f.order().Terms()...)
	if f.Sort == ByCustomerName {
		stmt = stmt.LeftJoin(session.JoinCustomer(s))
	}
	return wpdb.All(ctx, s.DB, l.Op, stmt, wpdb.Into(func(b *listedRow) []any {
		return []any{wpdb.OrZero(&b.id), wpdb.OrZero(&b.date), wpdb.OrZero(&b.order)}
	}))
}

// rowsOfChunk finds the bookings of the present chunk of an export, by id.
func rowsOfChunk(ctx context.Context, s *session.Session, l records.List, f Filter) ([]listedRow, error) {
	f.Sort, f.Descending = ByID, false
	ids, err := records.NextIDs(ctx, s.Export, s, l, f.Paging, f.order())
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return rowsInOrder(ctx, s, l, f, sq.Select().From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids}))
}

// load reads the bookings of a page, with the payment status that the API shows. It counts the list if size
// asks for it.
func load(ctx context.Context, s *session.Session, rows []listedRow, withMeta bool, size *records.Total) ([]records.Booking, error) {
	ids, orders := make([]int64, len(rows)), make([]int64, 0, len(rows))
	for i, b := range rows {
		ids[i] = b.id
		if b.order != 0 {
			orders = append(orders, b.order)
		}
	}
	shown := func(stmt sq.SelectBuilder) sq.SelectBuilder {
		return records.JoinRefunds(s, stmt, orders).Column(records.DisplayPaymentStatus)
	}
	found, err := records.ReadBookings(ctx, s, ids, shown, size)
	if err == nil && withMeta {
		err = records.AddBookingMeta(ctx, s, found)
	}
	return found, err
}
