package adapter

import (
	"context"
	"errors"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// CustomerFields describe a customer. A nil field was not sent.
type CustomerFields struct {
	FirstName, LastName, Email, Phone *string
}

// customerPrefix precedes the names of a customer's fields in a booking.
const customerPrefix = "customer."

// bookableCustomer is the part of a customer's row that a booking needs.
type bookableCustomer struct {
	BookingCustomer
	status string
}

// customerRow finds one customer, the oldest of several. Uses the index on the column
// that it searches.
func (s *Site) customerRow(ctx context.Context, which sq.Sqlizer) (c bookableCustomer, ok bool, err error) {
	stmt := sq.Select("id", "first_name", "last_name", "email", "phone", "status").From(s.db.Name(wpdb.Customers)).
		Where(which).OrderBy("id").Limit(1)
	return wpdb.One(ctx, s.db, "find customer", stmt, func(row wpdb.Scanner) (c bookableCustomer, err error) {
		err = row.Scan(&c.ID, wpdb.OrZero(&c.FirstName), wpdb.OrZero(&c.LastName), wpdb.OrZero(&c.Email), wpdb.OrZero(&c.Phone), wpdb.OrZero(&c.status))
		return c, err
	})
}

// planCustomer finds the customer of a booking: by id, by e-mail, or as a customer to
// create. Unless the booking is invalid, the lock of the e-mail is held.
func (s *Site) planCustomer(ctx context.Context, plan *bookingPlan, p *domain.Validation) error {
	if plan.CustomerID != 0 {
		found, ok, err := s.customerRow(ctx, sq.Eq{"id": plan.CustomerID})
		if err != nil {
			return err
		}
		if !ok {
			p.Invalid("customer_id", "Customer not found")
		}
		refuseInactive(p, "customer_id", found)
		plan.customer = found.BookingCustomer
		return nil
	}
	wanted := s.sanitizeCustomer(plan.Customer, customerPrefix, p)
	plan.customer, plan.customerIsNew = wanted, true
	if wanted.Email == "" || p.Has("customer.email") {
		return nil
	}
	found, ok, err := s.customerRow(ctx, sq.Eq{"email": wanted.Email})
	if err != nil || !ok {
		return err
	}
	refuseInactive(p, "customer.email", found)
	plan.customer, plan.filled = fillEmpty(found.BookingCustomer, wanted)
	plan.customerIsNew = false
	return nil
}

// refuseInactive rejects customers who may not book.
func refuseInactive(p *domain.Validation, field string, c bookableCustomer) {
	if c.status == "blocked" || c.status == "inactive" {
		p.Reject(field, "This customer is "+c.status)
	}
}

// fillEmpty fills the empty fields of a customer from another record of them.
func fillEmpty(c, wanted BookingCustomer) (BookingCustomer, row) {
	var filled row
	for _, f := range []struct {
		column      string
		have, offer *string
	}{
		{"first_name", &c.FirstName, &wanted.FirstName},
		{"last_name", &c.LastName, &wanted.LastName},
		{"phone", &c.Phone, &wanted.Phone},
	} {
		if *f.have == "" && *f.offer != "" {
			*f.have = *f.offer
			filled = append(filled, column{f.column, *f.offer})
		}
	}
	return c, filled
}

// saveCustomer creates the customer of a booking, or touches the existing row, as the
// plugin does whenever an order is saved.
func (tx *Tx) saveCustomer(ctx context.Context, w writeSettings, plan *bookingPlan) (err error) {
	if plan.customerIsNew {
		plan.customer.ID, err = tx.insertCustomer(ctx, w, plan.customer, nil)
		return err
	}
	err = tx.update(ctx, wpdb.Customers, plan.customer.ID, append(plan.filled, tx.updateTimestamp()))
	if errors.Is(err, errRowGone) {
		return domain.InvalidField("customer_id", "Customer not found")
	}
	return err
}

// planCustomerChange finds the customer to whom a booking goes, and the changes to their
// fields.
func (tx *Tx) planCustomerChange(ctx context.Context, plan *updatePlan, p *domain.Validation) error {
	if plan.CustomerID != nil && *plan.CustomerID != plan.before.customer.ID && !p.Has("customer_id") {
		// Keeps PHP from deleting the customer before the booking is theirs.
		if err := tx.lockRows(ctx, wpdb.Customers, []int64{*plan.CustomerID}); err != nil {
			return err
		}
		found, ok, err := tx.customerRow(ctx, sq.Eq{"id": *plan.CustomerID})
		if err != nil {
			return err
		}
		if !ok {
			p.Invalid("customer_id", "Customer not found")
			return nil
		}
		refuseInactive(p, "customer_id", found)
		plan.customer = found.BookingCustomer
	}
	if plan.Customer == (CustomerFields{}) {
		return nil
	}
	old := plan.customer
	plan.customer, plan.fields = tx.patchCustomer(old, plan.Customer, customerPrefix, p)
	user, err := tx.checkCustomerChange(ctx, old, plan.customer, customerPrefix+"email", p)
	// A WordPress user has an e-mail address even if the customer has none.
	plan.replaces = user != nil || replaces(old, plan.customer)
	return err
}

// replaces reports whether a non-empty field of a customer changed.
func replaces(old, customer BookingCustomer) bool {
	differs := func(old, wanted string) bool { return old != "" && old != wanted }
	return differs(old.FirstName, customer.FirstName) || differs(old.LastName, customer.LastName) ||
		differs(old.Email, customer.Email) || differs(old.Phone, customer.Phone)
}
