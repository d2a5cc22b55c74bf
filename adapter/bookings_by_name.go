package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// findBookingsByName walks through the customers in the order of their names, by an index if
// there is one, and reads the bookings only of those on the page: to sort all bookings takes
// seconds if they are many. Bookings without a first name, or without a customer, come before
// all others and are few.
func (s *Site) findBookingsByName(ctx context.Context, l list, f BookingFilter) ([]foundBooking, error) {
	w := f.window()
	byName := sortColumns(bookingOrder[f.Sort], f.Descending)
	if f.Descending {
		named, err := s.namedBookings(ctx, l, f, w)
		if err != nil || uint64(len(named)) == w.rows {
			return named, err
		}
		return s.bookingsInWindow(ctx, l, f, w, byName...) // the end, where names are missing
	}
	unnamed, err := s.unnamedBookings(ctx, l, f)
	if err != nil {
		return nil, err
	}
	if len(unnamed) > maxIDList {
		return s.bookingsInWindow(ctx, l, f, w, byName...)
	}
	n := uint64(len(unnamed))
	found := unnamed[min(w.first, n):min(w.first+w.rows, n)]
	named, err := s.namedBookings(ctx, l, f, window{w.first - min(w.first, n), w.rows - uint64(len(found))})
	return append(found, named...), err
}

// name is the name of a customer as bookings are sorted by it.
type name struct{ first, last string }

// namedBookings returns some of the bookings, in their order, whose customers have a first
// name. A first statement finds the first and the last name on the page, and a second sorts
// the bookings of the customers from one to the other.
func (s *Site) namedBookings(ctx context.Context, l list, f BookingFilter, w window) ([]foundBooking, error) {
	if w.rows == 0 {
		return nil, nil
	}
	// Customers are read first: the server takes them for more than they are.
	from := s.db.As(wpdb.Customers, "c") + " STRAIGHT_JOIN " + s.db.As(wpdb.Bookings, "b") + " ON b.customer_id = c.id"
	filter, err := s.filterBookings(ctx, sq.Select().From(from).Where("c.first_name > ''"), f, false)
	if err != nil {
		return nil, err
	}
	inOrder := filter.Columns("c.first_name", "COALESCE(c.last_name, '')").
		OrderBy(sortColumns([]string{"c.first_name", "c.last_name"}, f.Descending)...).Limit(w.rows).Offset(w.first)
	names, err := wpdb.All(ctx, s.db, l.op+": find names", inOrder, func(row wpdb.Scanner) (n name, err error) {
		err = row.Scan(&n.first, &n.last)
		return n, err
	})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	first, last := names[0], names[len(names)-1]
	earlier, later := "<", ">"
	if f.Descending {
		earlier, later = later, earlier
	}
	skip := w.first
	if skip > 0 {
		passed, err := s.count(ctx, list{op: l.op + ": before the page", filter: filter.Where(named(earlier, first))})
		if err != nil {
			return nil, err
		}
		skip -= min(skip, uint64(passed))
	}
	l.filter = filter.Where(named(later+"=", first)).Where(named(earlier+"=", last))
	return s.bookingsInWindow(ctx, l, f, window{skip, w.rows}, sortColumns(bookingOrder[f.Sort], f.Descending)...)
}

// named returns the condition that a customer, c, comes before or after a name, according to
// a comparison.
func named(comparison string, n name) sq.Sqlizer {
	strictly := comparison[:1]
	return sq.Expr("(c.first_name "+strictly+"= ? AND (c.first_name "+strictly+" ? OR COALESCE(c.last_name, '') "+comparison+" ?))", n.first, n.first, n.last)
}

// unnamedBookings returns the bookings, in ascending order, whose customers have no first name
// or do not exist: all of them, or more than a few. It looks up each customer once.
func (s *Site) unnamedBookings(ctx context.Context, l list, f BookingFilter) ([]foundBooking, error) {
	bookings := s.db.Name(wpdb.Bookings)
	from := "(SELECT DISTINCT customer_id FROM " + bookings + ") AS x LEFT JOIN " + s.db.As(wpdb.Customers, "c") + " ON c.id = x.customer_id" +
		" STRAIGHT_JOIN " + bookings + " AS b ON b.customer_id <=> x.customer_id"
	filter, err := s.filterBookings(ctx, sq.Select().From(from).Where("(c.first_name IS NULL OR c.first_name <= '')"), f, false)
	if err != nil {
		return nil, err
	}
	return s.sortedBookings(ctx, l, f, filter.OrderBy(bookingOrder[BookingsByCustomerName]...).Limit(maxIDList+1))
}
