package bookings

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/lists"
	"bookside/adapter/session"
	"bookside/wpdb"
)

// findBookingsByName walks through the customers in the order of their names, by an index if
// there is one, and reads the bookings only of those on the page: to sort all bookings takes
// seconds if they are many. Bookings without a first name, or without a customer, come before
// all others and are few.
func findBookingsByName(ctx context.Context, s *session.Session, l lists.List, f Filter) ([]foundBooking, error) {
	w := f.Window()
	byName := lists.SortColumns(sortColumns[f.Sort], f.Descending)
	if f.Descending {
		named, err := namedBookings(ctx, s, l, f, w)
		if err != nil || uint64(len(named)) == w.Rows {
			return named, err
		}
		return bookingsInWindow(ctx, s, l, f, w, byName...) // the end, where names are missing
	}
	unnamed, err := unnamedBookings(ctx, s, l, f)
	if err != nil {
		return nil, err
	}
	if len(unnamed) > session.MaxIDList {
		return bookingsInWindow(ctx, s, l, f, w, byName...)
	}
	n := uint64(len(unnamed))
	found := unnamed[min(w.First, n):min(w.First+w.Rows, n)]
	named, err := namedBookings(ctx, s, l, f, session.Window{First: w.First - min(w.First, n), Rows: w.Rows - uint64(len(found))})
	return append(found, named...), err
}

// name is the name of a customer as bookings are sorted by it.
type name struct{ first, last string }

// namedBookings returns some of the bookings, in their order, whose customers have a first
// name. A first statement finds the first and the last name on the page, and a second sorts
// the bookings of the customers from one to the other.
func namedBookings(ctx context.Context, s *session.Session, l lists.List, f Filter, w session.Window) ([]foundBooking, error) {
	if w.Rows == 0 {
		return nil, nil
	}
	// Customers are read first: the server takes them for more than they are.
	from := s.DB.As(wpdb.Customers, "c") + " STRAIGHT_JOIN " + s.DB.As(wpdb.Bookings, "b") + " ON b.customer_id = c.id"
	filter, err := filterBookings(ctx, s, sq.Select().From(from).Where("c.first_name > ''"), f, false)
	if err != nil {
		return nil, err
	}
	inOrder := filter.Columns("c.first_name", "COALESCE(c.last_name, '')").
		OrderBy(lists.SortColumns([]string{"c.first_name", "c.last_name"}, f.Descending)...).Limit(w.Rows).Offset(w.First)
	names, err := wpdb.All(ctx, s.DB, l.Op+": find names", inOrder, func(row wpdb.Scanner) (n name, err error) {
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
	skip := w.First
	if skip > 0 {
		passed, err := lists.Count(ctx, s, lists.List{Op: l.Op + ": before the page", Filter: filter.Where(named(earlier, first))})
		if err != nil {
			return nil, err
		}
		skip -= min(skip, uint64(passed))
	}
	l.Filter = filter.Where(named(later+"=", first)).Where(named(earlier+"=", last))
	return bookingsInWindow(ctx, s, l, f, session.Window{First: skip, Rows: w.Rows}, lists.SortColumns(sortColumns[f.Sort], f.Descending)...)
}

// named returns the condition that a customer, c, comes before or after a name, according to
// a comparison.
func named(comparison string, n name) sq.Sqlizer {
	strictly := comparison[:1]
	return sq.Expr("(c.first_name "+strictly+"= ? AND (c.first_name "+strictly+" ? OR COALESCE(c.last_name, '') "+comparison+" ?))", n.first, n.first, n.last)
}

// unnamedBookings returns the bookings, in ascending order, whose customers have no first name
// or do not exist: all of them, or more than a few. It looks up each customer once.
func unnamedBookings(ctx context.Context, s *session.Session, l lists.List, f Filter) ([]foundBooking, error) {
	bookings := s.DB.Name(wpdb.Bookings)
	from := "(SELECT DISTINCT customer_id FROM " + bookings + ") AS x LEFT JOIN " + s.DB.As(wpdb.Customers, "c") + " ON c.id = x.customer_id" +
		" STRAIGHT_JOIN " + bookings + " AS b ON b.customer_id <=> x.customer_id"
	filter, err := filterBookings(ctx, s, sq.Select().From(from).Where("(c.first_name IS NULL OR c.first_name <= '')"), f, false)
	if err != nil {
		return nil, err
	}
	return sortedBookings(ctx, s, l, f, filter.OrderBy(sortColumns[ByCustomerName]...).Limit(session.MaxIDList+1))
}
