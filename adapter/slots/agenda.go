package slots

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// BookingDay counts the bookings of a day that are not cancelled.
type BookingDay struct {
	Day  session.Date
	Here int // made through the API, as far back as the journal goes
	All  int
}

// Agenda holds the bookings from some days before today to as many after it.
type Agenda struct {
	Days  []BookingDay // every day, oldest first
	Today session.Date
	// Since is the time of the oldest change in the journal, or zero if it is empty. From then on the
	// journal knows how bookings were made.
	Since time.Time
}

// LoadAgenda counts the bookings of the days around today. Bookings that are not in the journal count as
// made on the site.
func LoadAgenda(ctx context.Context, s *session.Session, days int) (Agenda, error) {
	today := s.LocalNow()
	agenda := Agenda{Today: s.Today()}
	date := func(offset int) session.Date { return session.Date(today.AddDate(0, 0, offset).Format(time.DateOnly)) }
	made := sq.Expr("0")
	if s.Schema.Has(wpdb.Changes) {
		made = sq.Expr("COUNT(CASE WHEN EXISTS (SELECT 1 FROM "+s.DB.As(wpdb.Changes, "c")+
			" WHERE c.resource = ? AND c.resource_id = b.id AND c.kind = ? AND c.origin = ?) THEN 1 END)",
			string(journal.Bookings), string(journal.Created), string(journal.FromAPI))
		oldest := sq.Select("at").From(s.DB.Name(wpdb.Changes)).OrderBy("number").Limit(1)
		at, found, err := wpdb.One(ctx, s.DB, "read the oldest change", oldest, wpdb.Value[string])
		if err != nil {
			return agenda, err
		}
		if found {
			if agenda.Since, err = time.Parse(time.DateTime, at); err != nil {
				return agenda, err
			}
		}
	}
	stmt := sq.Select("b.start_date", "COUNT(*)").Column(made).From(s.DB.As(wpdb.Bookings, "b")).
		Where(sq.GtOrEq{"b.start_date": string(date(-days))}).Where(sq.LtOrEq{"b.start_date": string(date(days))}).
		Where(sq.NotEq{"b.status": records.StatusCancelled}).GroupBy("b.start_date")
	found, err := wpdb.MapBy(ctx, s.DB, "count bookings of days", stmt, func(row wpdb.Scanner) (day session.Date, d BookingDay, err error) {
		err = row.Scan((*string)(&day), &d.All, &d.Here)
		return day, d, err
	})
	if err != nil {
		return agenda, err
	}
	for offset := -days; offset <= days; offset++ {
		d := found[date(offset)]
		d.Day = date(offset)
		agenda.Days = append(agenda.Days, d)
	}
	return agenda, nil
}

// NextBookings returns the bookings of today and the days after it, without cancelled ones, by start, and whether there
// are more than the limit. Those of yesterday that go on after midnight are of today, too. Uses the index on start_date.
func NextBookings(ctx context.Context, s *session.Session, days int, limit int64) (list []records.Booking, more bool, err error) {
	today := availability.MomentOf(s.LocalNow()).Day
	stmt := sq.Select("id").From(s.DB.Name(wpdb.Bookings)).
		Where(takesPlace(today, today+availability.Day(days-1))).Where(sq.NotEq{"status": records.StatusCancelled}).
		OrderBy("start_date", "start_time", "id").Limit(uint64(limit) + 1)
	ids, more, err := wpdb.First(ctx, s.DB, "find the next bookings", stmt, limit, wpdb.Value[int64])
	if err != nil {
		return nil, false, err
	}
	list, err = records.LoadBookings(ctx, s, ids)
	return list, more, err
}
