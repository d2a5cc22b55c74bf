package records

import (
	"context"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/extensions"
	"bookside/adapter/lists"
	"bookside/adapter/session"
	"bookside/wpdb"
)

// BookingExtra is an extra of a booking.
type BookingExtra struct {
	ID              int64
	Name            string // "" if the extra was deleted
	Quantity        int64
	Duration        int64           // of a single one when it was booked, in minutes
	Price           decimal.Decimal // of a single one when it was booked
	PresentDuration int64           // of a single one now, in minutes; 0 if the extra was deleted
}

// HasExtras reports whether bookings of the site may have extras: the add-on is active and has created its
// tables.
func HasExtras(s *session.Session) bool {
	return s.Schema.Has(wpdb.BookingsServiceExtras) && s.Schema.Has(wpdb.ServiceExtras) && s.Extension(extensions.ProFeatures, nil)
}

// addExtras reads the extras of bookings.
func addExtras(ctx context.Context, s *session.Session, bookings []Booking) error {
	if len(bookings) == 0 || !HasExtras(s) {
		return nil
	}
	ids := lists.IDsOf(bookings, func(b Booking) int64 { return b.ID })
	stmt := sq.Select("x.booking_id", "x.service_extra_id", "e.name", "x.quantity", "x.duration", "x.price", "e.duration").
		From(s.DB.As(wpdb.BookingsServiceExtras, "x")).LeftJoin(s.DB.As(wpdb.ServiceExtras, "e") + " ON e.id = x.service_extra_id").
		Where(sq.Eq{"x.booking_id": ids}).OrderBy("x.id")
	found, err := session.Grouped(ctx, s, "read extras of bookings", stmt, func(row wpdb.Scanner, booking *int64) (e BookingExtra, err error) {
		var price decimal.NullDecimal
		err = row.Scan(booking, &e.ID, wpdb.OrZero(&e.Name), &e.Quantity, &e.Duration, &price, wpdb.OrZero(&e.PresentDuration))
		e.Price = price.Decimal
		return e, err
	})
	for i := range bookings {
		bookings[i].Extras = append([]BookingExtra{}, found[bookings[i].ID]...)
	}
	return err
}

// ExtraMinutes returns how many minutes the booking's extras add to it, by their present durations
// (OsFeatureServiceExtrasHelper::calculated_total_duration, Pro Features 1.6).
func (b Booking) ExtraMinutes() (minutes int64) {
	for _, e := range b.Extras {
		minutes += e.PresentDuration * e.Quantity
	}
	return minutes
}
