package bookings

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// rowsByStart walks the index on start_date, which does not sort by time and id: the server would sort the
// table, which takes 36.5 ms instead of 2.0 ms at 200,000 bookings. It reads a few bookings before and
// after the page, and sorts only these. If they do not include all bookings of the page's first and last
// date, a second statement sorts everything between these two dates, which is little more than the page.
func rowsByStart(ctx context.Context, s *session.Session, l records.List, f Filter) ([]listedRow, error) {
	const margin = 30
	w := f.Window()
	before := min(w.First, margin)
	around := session.Window{First: w.First - before, Rows: before + w.Rows + margin}
	rows, err := rowsInOrder(ctx, s, l, f, l.Filter.OrderBy(records.Direction("b.start_date", f.Descending)).Limit(around.Rows).Offset(around.First))
	if err != nil || uint64(len(rows)) <= before {
		return nil, err
	}
	page := rows[before:min(before+w.Rows, uint64(len(rows)))]
	first, last := page[0].date, page[len(page)-1].date
	begun := around.First == 0 || rows[0].date != first
	if begun && (uint64(len(rows)) < around.Rows || rows[len(rows)-1].date != last) {
		return page, nil
	}
	if w.First > 0 {
		passed, err := records.Count(ctx, s, records.List{Op: l.Op + ": before the page", Filter: l.Filter.Where(pastDate(first, !f.Descending))})
		if err != nil {
			return nil, err
		}
		w.First -= min(w.First, uint64(passed))
	}
	dates := l.Filter.Where(dateRange(first, last, f.Descending))
	return rowsInOrder(ctx, s, l, f, dates.OrderBy(f.order().Terms()...).Limit(w.Rows).Offset(w.First))
}

// dateRange returns the condition that a row lies between the first and the last date of
// a page, "" for NULL. The server sorts NULL below every date: first if ascending, last if
// descending.
func dateRange(first, last string, desc bool) sq.Sqlizer {
	low, high := first, last
	if desc {
		low, high = last, first
	}
	const column = "b.start_date"
	switch {
	case high == "":
		return sq.Eq{column: nil}
	case low == "":
		return sq.Or{sq.Eq{column: nil}, sq.LtOrEq{column: high}}
	default:
		return sq.And{sq.GtOrEq{column: low}, sq.LtOrEq{column: high}}
	}
}

// pastDate returns the condition that a row comes before a date in the list: an earlier date if ascending,
// a later one if descending. "" is NULL.
func pastDate(date string, asc bool) sq.Sqlizer {
	const column = "b.start_date"
	switch {
	case date == "" && asc:
		return sq.Expr("FALSE")
	case date == "":
		return sq.NotEq{column: nil}
	case asc:
		return sq.Or{sq.Eq{column: nil}, sq.Lt{column: date}}
	default:
		return sq.Gt{column: date}
	}
}
