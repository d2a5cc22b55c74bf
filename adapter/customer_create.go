package adapter

import (
	"context"
	"errors"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// bookableCustomer is a customer's row, as far as a booking needs it.
type bookableCustomer struct {
	BookingCustomer
	status string
}

// planCustomer finds the customer of a booking: by id, by e-mail, or as one to
// be created. Unless something is wrong with the booking, the e-mail's lock is
// taken.
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

// refuseInactive notes customers who may not book.
func refuseInactive(p *domain.Validation, field string, c bookableCustomer) {
	if c.status == "blocked" || c.status == "inactive" {
		p.Reject(field, "This customer is "+c.status)
	}
}

// fillEmpty takes over what is unknown of a customer so far.
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

// customerPrefix stands before the names of a customer's fields in a booking.
const customerPrefix = "customer."

// sanitizeCustomer is a customer as it would be stored. prefix stands before the
// names of the fields.
func (s *Site) sanitizeCustomer(f CustomerFields, prefix string, p *domain.Validation) BookingCustomer {
	var c BookingCustomer
	for _, field := range []struct {
		name, column string
		sent         *string
		into         *string
		clean        func(string) string
	}{
		{prefix + "first_name", "first_name", f.FirstName, &c.FirstName, sanitize.TextField},
		{prefix + "last_name", "last_name", f.LastName, &c.LastName, sanitize.TextField},
		{prefix + "email", "email", f.Email, &c.Email, sanitize.TrimEmail},
		{prefix + "phone", "phone", f.Phone, &c.Phone, sanitize.Phone},
	} {
		if field.sent == nil || p.Has(field.name) {
			continue
		}
		*field.into = field.clean(*field.sent)
		s.checkText(p, field.name, wpdb.Customers, field.column, *field.into)
		if field.column == "phone" && strings.Trim(c.Phone, "+") == "" && strings.TrimSpace(*field.sent) != "" {
			p.Reject(field.name, "Invalid phone number")
		}
		if *field.into == "" && field.column != "phone" {
			p.Reject(field.name, "May not be empty")
		}
	}
	if c.Email != "" && !sanitize.ValidEmail(c.Email) {
		p.Reject(prefix+"email", "Invalid email")
	}
	return c
}

// customerRow finds one customer, the oldest of several. Uses the index on the
// column it is asked for.
func (s *Site) customerRow(ctx context.Context, which sq.Sqlizer) (c bookableCustomer, ok bool, err error) {
	stmt := sq.Select("id", "first_name", "last_name", "email", "phone", "status").From(s.db.Name(wpdb.Customers)).
		Where(which).OrderBy("id").Limit(1)
	return wpdb.One(ctx, s.db, "find customer", stmt, func(row wpdb.Scanner) (c bookableCustomer, err error) {
		err = row.Scan(&c.ID, wpdb.OrZero(&c.FirstName), wpdb.OrZero(&c.LastName), wpdb.OrZero(&c.Email), wpdb.OrZero(&c.Phone), wpdb.OrZero(&c.status))
		return c, err
	})
}

// saveCustomer creates the customer of a booking, or touches the existing one as
// every order that is made or saved does.
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

// insertCustomer writes a guest as the plugin's forms do
// (OsCustomersController::create, LatePoint 5.6.5); behind whom a WordPress user
// stands is no guest. The password is one that nobody has: a customer asks for a
// new one.
func (tx *Tx) insertCustomer(ctx context.Context, w writeSettings, c BookingCustomer, user *int64) (int64, error) {
	uuid, err := tx.uuid()
	if err != nil {
		return 0, err
	}
	secrets := make([]string, 3)
	for i := range secrets {
		if secrets[i], err = domain.RandomHex(tx.random, 20); err != nil {
			return 0, err
		}
	}
	password := unusablePassword(secrets[0])
	id, err := tx.insert(ctx, wpdb.Customers, append(row{
		{"uuid", uuid}, {"first_name", c.FirstName}, {"last_name", c.LastName}, {"email", c.Email}, {"phone", c.Phone},
		{"avatar_image_id", nil}, {"status", "pending_verification"},
		{"password", password}, {"activation_key", secrets[1]}, {"account_nonse", secrets[2]},
		{"google_user_id", nil}, {"facebook_user_id", nil}, {"wordpress_user_id", user}, {"is_guest", user == nil}, {"notes", ""}, {"admin_notes", ""},
	}, tx.newTimestamps()...))
	if err != nil || user != nil {
		return id, err
	}
	return id, tx.connectUser(ctx, w, id, c, password)
}

// unusablePassword has the form of a portable hash of WordPress, and no password
// leads to it: it is not the hash of anything known.
func unusablePassword(random string) string { return "$P$B" + random[:30] }
