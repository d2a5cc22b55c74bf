package records

import (
	"context"
	"errors"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Limited reports whether the caller is a key with limits. WordPress decides itself for whom its users may book.
func Limited(s *session.Session) bool { return !s.Scope().Unlimited() && !s.ForUser() }

// CustomerInScope returns a customer as the caller sees them, and whether it sees them: a limited caller sees
// the customers of bookings in its scope. For others it makes no query.
func CustomerInScope(ctx context.Context, s *session.Session, c BookingCustomer) (shown BookingCustomer, seen bool, err error) {
	if !Limited(s) {
		return c, true, nil
	}
	within := s.AsCaller()
	stmt := sq.Select("b.customer_id", "c.first_name", "c.last_name", "c.email", "c.phone").From(within.DB.As(wpdb.Bookings, "b")).
		LeftJoin(session.JoinCustomer(within)).Where(sq.Eq{"b.customer_id": c.ID}).OrderBy("c.sent", "b.id DESC").Limit(1)
	return wpdb.One(ctx, within.DB, "look for a customer within limits", stmt, wpdb.Into(func(c *BookingCustomer) []any {
		return []any{&c.ID, wpdb.OrZero(&c.FirstName), wpdb.OrZero(&c.LastName), wpdb.OrZero(&c.Email), wpdb.OrZero(&c.Phone)}
	}))
}

// errNotRemembered means that our table does not exist.
var errNotRemembered = errors.New("bookside_booking_customers does not exist")

// RememberCustomer stores with a booking how its caller sees the customer, if that caller is limited.
func RememberCustomer(ctx context.Context, tx *session.Tx, booking int64, shown BookingCustomer) error {
	if !Limited(tx.Session) {
		return nil
	}
	if !tx.Schema.Has(wpdb.BookingCustomers) { // without it, the key would see the stored customer
		return domain.Unavailable("A table of Bookside is missing: keys with limits cannot write", errNotRemembered)
	}
	stmt := sq.Insert(tx.DB.Name(wpdb.BookingCustomers)).Columns("id", "first_name", "last_name", "email", "phone").
		Values(booking, shown.FirstName, shown.LastName, shown.Email, shown.Phone)
	_, err := tx.Exec(ctx, wpdb.BookingCustomers, "remember the customer of a booking", stmt)
	return err
}

// ForgottenCustomers selects what is stored about bookings that were deleted since.
func ForgottenCustomers(db *wpdb.DB) sq.SelectBuilder {
	return sq.Select("r.id").From(db.As(wpdb.BookingCustomers, "r")).LeftJoin(db.As(wpdb.Bookings, "b") + " ON b.id = r.id").Where(sq.Eq{"b.id": nil})
}
