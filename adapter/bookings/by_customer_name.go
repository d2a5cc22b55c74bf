package bookings

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/lists"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// rowsByCustomerName walks through the customers in the order of their first names, and sorts only the
// bookings between the first and the last name on the page: 25 ms instead of 1,100 ms at 200,000 bookings,
// and 8 ms with an index on the names. Bookings without a first name, or without a customer, come before
// all others and are few; they are sorted by themselves.
func rowsByCustomerName(ctx context.Context, s *session.Session, l lists.List, f Filter) (page []listedRow, err error) {
	sorted := func(q sq.SelectBuilder, w session.Window) ([]listedRow, error) {
		return rowsInOrder(ctx, s, l, f, q.OrderBy(f.order().Terms()...).Limit(w.Rows).Offset(w.First))
	}
	w, bookings, customers := f.Window(), s.DB.Name(wpdb.Bookings), s.DB.As(wpdb.Customers, "c")
	if !f.Descending {
		from := "(SELECT DISTINCT customer_id FROM " + bookings + ") AS x LEFT JOIN " + customers + " ON c.id = x.customer_id STRAIGHT_JOIN " + bookings + " AS b ON b.customer_id <=> x.customer_id"
		unnamed, err := sorted(filtered(s, f, from, indexed).Where("(c.first_name IS NULL OR c.first_name <= '')"), session.Window{Rows: session.MaxIDList + 1})
		n := uint64(len(unnamed))
		page = unnamed[min(w.First, n):min(w.First+w.Rows, n)]
		if err != nil || uint64(len(page)) == w.Rows {
			return page, err
		}
		if n > session.MaxIDList {
			return sorted(l.Filter, w)
		}
		w = session.Window{First: w.First - min(w.First, n), Rows: w.Rows - uint64(len(page))}
	}
	// Customers are read first: the server overestimates their number.
	named := filtered(s, f, customers+" STRAIGHT_JOIN "+bookings+" AS b ON b.customer_id = c.id", indexed).Where("c.first_name > ''")
	names, err := wpdb.All(ctx, s.DB, l.Op+": find names", named.Column("c.first_name").OrderBy(lists.Direction("c.first_name", f.Descending)).Limit(w.Rows).Offset(w.First), wpdb.Value[string])
	switch {
	case err != nil || len(names) == 0 && !f.Descending:
		return page, err
	case uint64(len(names)) < w.Rows && f.Descending: // the end of the list, where names are missing
		return sorted(l.Filter, w)
	}
	first, last, before := names[0], names[len(names)-1], sq.Sqlizer(sq.Lt{"c.first_name": names[0]})
	if f.Descending {
		first, last, before = last, first, sq.Gt{"c.first_name": names[0]}
	}
	if w.First > 0 {
		passed, err := lists.Count(ctx, s, lists.List{Op: l.Op + ": before the page", Filter: named.Where(before)})
		if err != nil {
			return nil, err
		}
		w.First -= min(w.First, uint64(passed))
	}
	rows, err := sorted(named.Where(sq.GtOrEq{"c.first_name": first}).Where(sq.LtOrEq{"c.first_name": last}), w)
	return append(page, rows...), err
}

// scansNames reports whether rowsByCustomerName finds the page: the list is long and not a search.
func scansNames(s *session.Session, l lists.List, f Filter) bool {
	return f.Sort == ByCustomerName && l.Size == nil && f.Search == nil && f.PaymentStatus == nil &&
		s.Scope().Unlimited() && lists.KnownToBeLong(s, l)
}
