package adapter

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/journal"
	"bookside/wpdb"
)

// BookingDay counts the bookings of a day that are not cancelled.
type BookingDay struct {
	Day  Date
	Here int // made by requests to the API, as far as the journal goes back
	All  int
}

// Agenda has the bookings from some days before today to as many after it.
type Agenda struct {
	Days  []BookingDay // every day, oldest first
	Today Date
	// Since is the time of the oldest change in the journal; zero if it is empty. It knows
	// who made bookings since then.
	Since time.Time
}

// Agenda counts the bookings of the days around today. Bookings that the journal does not
// know count as made on the site.
func (s *Site) Agenda(ctx context.Context, days int) (Agenda, error) {
	today := s.localNow()
	agenda := Agenda{Today: s.Today()}
	date := func(offset int) Date { return Date(today.AddDate(0, 0, offset).Format(time.DateOnly)) }
	made := sq.Expr("0")
	if s.schema.Has(wpdb.Changes) {
		made = sq.Expr("COUNT(CASE WHEN EXISTS (SELECT 1 FROM "+s.db.As(wpdb.Changes, "c")+
			" WHERE c.resource = ? AND c.resource_id = b.id AND c.kind = ? AND c.origin = ?) THEN 1 END)",
			string(journal.Bookings), string(journal.Created), string(journal.FromAPI))
		oldest := sq.Select("at").From(s.db.Name(wpdb.Changes)).OrderBy("number").Limit(1)
		at, found, err := wpdb.One(ctx, s.db, "read the oldest change", oldest, wpdb.Value[string])
		if err != nil {
			return agenda, err
		}
		if found {
			if agenda.Since, err = time.Parse(time.DateTime, at); err != nil {
				return agenda, err
			}
		}
	}
	stmt := sq.Select("b.start_date", "COUNT(*)").Column(made).From(s.db.As(wpdb.Bookings, "b")).
		Where(sq.GtOrEq{"b.start_date": string(date(-days))}).Where(sq.LtOrEq{"b.start_date": string(date(days))}).
		Where(sq.NotEq{"b.status": StatusCancelled}).GroupBy("b.start_date")
	counted, err := wpdb.All(ctx, s.db, "count bookings of days", stmt, func(row wpdb.Scanner) (d BookingDay, err error) {
		return d, row.Scan((*string)(&d.Day), &d.All, &d.Here)
	})
	if err != nil {
		return agenda, err
	}
	found := make(map[Date]BookingDay, len(counted))
	for _, d := range counted {
		found[d.Day] = d
	}
	for offset := -days; offset <= days; offset++ {
		d := found[date(offset)]
		d.Day = date(offset)
		agenda.Days = append(agenda.Days, d)
	}
	return agenda, nil
}
