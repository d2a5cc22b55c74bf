package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"
)

// findBookingsByStart walks the index on start_date, which does not sort by time and id: the server
// would sort the table, which takes 36.5 ms instead of 2.0 ms at 200,000 bookings. It reads a few
// bookings before the page and after it, and sorts only these. If they do not have all bookings of the
// page's first and last date, a second statement sorts all between these two dates, which touches little
// more than the page.
func (s *Site) findBookingsByStart(ctx context.Context, l list, f BookingFilter) ([]foundBooking, error) {
	const slack = 30
	w := f.window()
	before := min(w.first, slack)
	around := window{w.first - before, before + w.rows + slack}
	rows, err := s.bookingsInWindow(ctx, l, f, around, direction("b.start_date", f.Descending))
	if err != nil || uint64(len(rows)) <= before {
		return nil, err
	}
	page := rows[before:min(before+w.rows, uint64(len(rows)))]
	first, last := page[0].date, page[len(page)-1].date
	begun := around.first == 0 || rows[0].date != first
	if begun && (uint64(len(rows)) < around.rows || rows[len(rows)-1].date != last) {
		return page, nil
	}
	if w.first > 0 {
		passed, err := s.count(ctx, list{op: l.op + ": before the page", filter: l.filter.Where(pastDate(first, !f.Descending))})
		if err != nil {
			return nil, err
		}
		w.first -= min(w.first, uint64(passed))
	}
	l.filter = l.filter.Where(dateRange(first, last, f.Descending))
	return s.bookingsInWindow(ctx, l, f, w, sortColumns(bookingOrder[f.Sort], f.Descending)...)
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

// pastDate returns the condition that a row comes before a date in the list: below it if
// ascending, above it if descending. "" is NULL.
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
