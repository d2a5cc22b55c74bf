package bookings

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// bookingCustomer is the customer of a new booking.
type bookingCustomer struct {
	records.BookingCustomer
	isNew  bool                    // created with the booking
	filled session.Row             // columns of an existing customer that were empty
	shown  records.BookingCustomer // as the caller may see them: a limited one, as it described them or, if it named an id, as it sees them
}

// findCustomer finds the customer of a booking: by id, by the contact that identifies customers, or as a
// customer to create. Unless the booking is invalid, the locks of the contacts are held.
func findCustomer(ctx context.Context, s *session.Session, rules customers.Rules, b New, p *domain.Validation) (bookingCustomer, error) {
	if b.CustomerID != 0 {
		found, ok, err := records.CustomerRow(ctx, s, sq.Eq{"id": b.CustomerID})
		if err != nil {
			return bookingCustomer{}, err
		}
		shown, seen, err := records.CustomerInScope(ctx, s, found.BookingCustomer)
		if err != nil {
			return bookingCustomer{}, err
		}
		if !ok || !seen {
			p.Invalid("customer_id", "Customer not found")
			return bookingCustomer{}, nil
		}
		customers.RefuseInactive(s, p, "customer_id", found)
		return bookingCustomer{BookingCustomer: found.BookingCustomer, shown: shown}, nil
	}
	described := customers.Sanitize(s, b.Customer, customers.Prefix, p)
	created := bookingCustomer{BookingCustomer: described, shown: described, isNew: true}
	contact := customers.Prefix + rules.Contact
	if p.Has(contact) {
		return created, nil
	}
	found, ok, err := customers.IdentifiedBy(ctx, s, rules, described)
	if err != nil {
		return bookingCustomer{}, err
	}
	if !ok {
		rules.RequireOfDescribed(described, p)
		return created, nil
	}
	customers.RefuseInactive(s, p, contact, found)
	if records.Limited(s) {
		return bookingCustomer{BookingCustomer: found.BookingCustomer, shown: described}, nil
	}
	if found.HasUser { // whose e-mail address it is too
		described.Email = ""
	}
	completed, filled := fillEmpty(found.BookingCustomer, described)
	return bookingCustomer{BookingCustomer: completed, filled: filled, shown: completed}, nil
}

// fillEmpty fills the empty fields of a customer from another record of them, and returns the filled columns.
func fillEmpty(c, other records.BookingCustomer) (records.BookingCustomer, session.Row) {
	var filled session.Row
	for _, f := range []struct {
		column string
		stored *string
		other  string
	}{
		{"first_name", &c.FirstName, other.FirstName},
		{"last_name", &c.LastName, other.LastName},
		{"email", &c.Email, other.Email},
		{"phone", &c.Phone, other.Phone},
	} {
		if *f.stored == "" && f.other != "" {
			*f.stored = f.other
			filled = append(filled, session.Column{Name: f.column, Value: f.other})
		}
	}
	return c, filled
}

// savedCustomer is a customer whose row is sent with the next statement.
type savedCustomer struct {
	id      any              // or an expression for it in that statement
	created session.Inserted // for a new customer
	touched *wpdb.Result     // for an existing customer
}

// save creates the customer of a booking, or touches the existing row, as the plugin does whenever an order
// is saved. The next statement stores the order.
func (c bookingCustomer) save(ctx context.Context, tx *session.Tx, w session.WriteSettings) (savedCustomer, error) {
	if !c.isNew {
		touched, err := tx.UpdateLater(ctx, wpdb.Customers, c.ID, append(c.filled, tx.UpdateTimestamp()))
		return savedCustomer{id: c.ID, touched: touched}, err
	}
	if w.Settings[session.SettingUsersAsCustomers] == session.On { // the customer may have a user
		id, err := customers.Insert(ctx, tx, w, c.BookingCustomer, nil)
		return savedCustomer{id: id}, err
	}
	stored, _, err := customers.NewRow(tx.Session, c.BookingCustomer, nil)
	if err != nil {
		return savedCustomer{}, err
	}
	created, err := tx.InsertLater(ctx, wpdb.Customers, stored)
	return savedCustomer{id: lastID, created: created}, err
}

// settle returns the id of the customer, whose row has been sent meanwhile.
func (c savedCustomer) settle(tx *session.Tx) (int64, error) {
	if c.touched != nil && c.touched.Rows == 0 {
		return 0, domain.InvalidField("customer_id", "Customer not found")
	}
	if id, known := c.id.(int64); known {
		return id, nil
	}
	return tx.Settle(c.created)
}
