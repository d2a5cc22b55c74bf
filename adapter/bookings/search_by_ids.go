package bookings

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/lists"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// searchByIDs adds the search and the payment status to a list. Neither has an index: the server would scan
// the whole table in the order of the list, once for the page and once for the total. If few bookings
// match, they are found once, in whatever order is quickest, and the list filters by their ids, which
// halves the time of a first search at 20,000 bookings. A search scans the customers and then goes to their
// bookings, and also scans the codes of the bookings.
func searchByIDs(ctx context.Context, s *session.Session, l lists.List, f Filter) (lists.List, error) {
	if f.PaymentStatus != nil {
		l.Filter = l.Filter.Join(s.DB.As(wpdb.Orders, "o") + " ON o.id = i.order_id")
	}
	base, err := records.FilterPaymentStatus(ctx, s, l.Filter, f.PaymentStatus)
	if err != nil {
		return l, err
	}
	l.Filter = base
	if f.Search != nil {
		l.Filter = base.Where(sq.Or{f.searchesCustomer("c"), f.searchesCode()})
	}
	if s.Export != nil || !s.Scope().Unlimited() { // an export finds all of them anyway; a limited key sees few, and their customers with them
		return l, nil
	}
	l.Counts = l.Filter.Column("COUNT(*)")
	queries := []sq.SelectBuilder{base}
	if f.Search != nil {
		queries = []sq.SelectBuilder{base.Where(f.bySearchedCustomer(s)), base.Where(f.searchesCode())}
		l.Counts = f.countSearched(s, base)
	}
	ids, more, err := matchingIDs(ctx, l.Op, s.DB, queries, f.Search == nil || lists.KnownToBeLong(s, l))
	if err != nil {
		return l, err
	}
	if more { // an ordered scan soon finds a page; another index might find all matches first
		l.Filter = l.Filter.Options("STRAIGHT_JOIN")
		return l, nil
	}
	narrowed := lists.List{Op: l.Op, Size: new(int64(len(ids))), Filter: sq.Select().From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids})}
	if f.Sort == ByCustomerName {
		narrowed.Filter = narrowed.Filter.LeftJoin(session.JoinCustomer(s))
	}
	return narrowed, nil
}

// matchingIDs returns the ids of the bookings found by any of some queries. more reports whether there are
// more than MaxIDList. The queries run in one statement or, if sequential, in one each, which is quicker if
// the first finds enough.
func matchingIDs(ctx context.Context, op string, db *wpdb.DB, queries []sq.SelectBuilder, sequential bool) (ids []int64, more bool, err error) {
	stmts := make([]sq.SelectBuilder, len(queries))
	for i, query := range queries {
		stmts[i] = query.Column("b.id").Limit(session.MaxIDList + 1)
	}
	if !sequential {
		for i := range stmts {
			stmts[i] = stmts[i].Prefix("(").Suffix(")")
		}
		stmts = []sq.SelectBuilder{lists.UnionAll(stmts[0], stmts[1:]...)}
	}
	for _, stmt := range stmts {
		found, err := wpdb.All(ctx, db, op+": find ids", stmt, wpdb.Value[int64])
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, found...)
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) > session.MaxIDList {
			return nil, true, nil
		}
	}
	return ids, false, nil
}

// searchesCustomer returns the condition that the search finds a customer.
func (f Filter) searchesCustomer(alias string) sq.Sqlizer {
	return lists.ContainsAny(*f.Search, alias+".first_name", alias+".last_name", lists.FullName(alias), alias+".email")
}

// searchesCode returns the condition that the search finds the code of a booking, b.
func (f Filter) searchesCode() sq.Sqlizer {
	return lists.ContainsAny(*f.Search, "b.booking_code")
}

// bySearchedCustomer returns the condition that the search finds the customer of a booking, b. With a join, servers
// would read all bookings and the customer of each.
func (f Filter) bySearchedCustomer(s *session.Session) sq.Sqlizer {
	return session.In("b.customer_id", sq.Select("k.id").From(s.DB.As(wpdb.Customers, "k")).Where(f.searchesCustomer("k")))
}

// countSearched counts the bookings of a search: those of matching customers, and others whose code
// matches. A single condition for both would look up the customer of each booking.
func (f Filter) countSearched(s *session.Session, filter sq.SelectBuilder) sq.Sqlizer {
	byCustomer := filter.Where(f.bySearchedCustomer(s))
	byCode := filter.Where(f.searchesCode()).Where(sq.Expr("(?) IS NOT TRUE", f.searchesCustomer("c")))
	return sq.ConcatExpr("SELECT (", byCustomer.Column("COUNT(*)"), ") + (", byCode.Column("COUNT(*)"), ")")
}
