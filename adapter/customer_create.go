package adapter

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// CreateCustomer creates a customer as the plugin's form does
// (OsCustomersController::create, LatePoint 5.6.5), but with the status and guest flag
// that were sent.
//
// If anything is wrong with the customer, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field.
func (tx *Tx) CreateCustomer(ctx context.Context, v CustomerPatch) (Customer, error) {
	if err := tx.refuseUnseen(); err != nil {
		return Customer{}, err
	}
	// Checked first, so that a key without the permission learns nothing about users.
	if v.WordPressUserID != nil {
		if err := tx.requirePermission("write_users"); err != nil {
			return Customer{}, err
		}
	}
	v = v.sanitize()
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return Customer{}, err
	}
	c, err := tx.validateNewCustomer(ctx, w, v)
	if err != nil {
		return Customer{}, err
	}
	if c.ID, err = tx.insertCustomer(ctx, w, c, v.WordPressUserID); err != nil {
		return Customer{}, err
	}
	if err := tx.storeFormlessFields(ctx, c.ID, v); err != nil {
		return Customer{}, err
	}
	events := []event{{kind: customerCreated, after: snapshot{customer: c}}}
	if err := tx.logEvents(ctx, w, events); err != nil {
		return Customer{}, err
	}
	if _, err := tx.notify(ctx, w, events, true); err != nil {
		return Customer{}, err
	}
	return tx.Customer(ctx, c.ID)
}

// validateNewCustomer validates a customer, reporting all problems at once, takes the
// locks for it and returns it as it is to be stored.
func (tx *Tx) validateNewCustomer(ctx context.Context, w writeSettings, v CustomerPatch) (BookingCustomer, error) {
	p := v.Validation.Clone()
	p.Require("first_name", strings.TrimSpace(domain.ValueOr(v.FirstName, "")) != "")
	p.Require("last_name", strings.TrimSpace(domain.ValueOr(v.LastName, "")) != "")
	rules, err := tx.customerRulesOf(ctx, w.settings)
	if err != nil {
		return BookingCustomer{}, err
	}
	c := tx.sanitizeCustomer(v.CustomerFields, "", &p)
	if err := tx.checkValues(ctx, v, nil, &p); err != nil {
		return c, err
	}
	rules.requireOfNew(c, domain.ValueOr(v.Notes, ""), v.CustomFields, &p)
	if p.Err() == nil {
		locks, err := tx.locksOfNewCustomer(ctx, w, rules, v.CustomerFields)
		if err != nil {
			return c, err
		}
		if v.WordPressUserID != nil {
			locks = append(locks, lockOf(userLock, *v.WordPressUserID))
		}
		if err := tx.lock(ctx, locks...); err != nil {
			return c, err
		}
	}
	if err := tx.checkUnique(ctx, rules, c, "", &p); err != nil {
		return c, err
	}
	if err := tx.checkUser(ctx, w, v, &p); err != nil {
		return c, err
	}
	return c, p.Err()
}

// storeFormlessFields stores the fields of a new customer that the plugin's forms do not
// have.
func (tx *Tx) storeFormlessFields(ctx context.Context, id int64, v CustomerPatch) error {
	v.Status = new(domain.ValueOr(v.Status, "active"))
	stored := Customer{IsGuest: !domain.ValueOr(v.IsGuest, true)} // not known: connecting a user sets it too
	if err := tx.update(ctx, wpdb.Customers, id, row(v.changeset(stored))); err != nil {
		return err
	}
	if err := tx.saveMeta(ctx, wpdb.CustomerMeta, id, v.metas()); err != nil {
		return err
	}
	return tx.storeCustomFieldNames(ctx, v.newCustomFields(Customer{}))
}

// locksOfNewCustomer returns the locks of a new customer: those of the contacts, and that of the
// WordPress user to whom connectUser would connect the customer, because others may find the same
// user by the login.
func (s *Site) locksOfNewCustomer(ctx context.Context, w writeSettings, rules customerRules, sent CustomerFields) ([]lock, error) {
	locks := locksOfContacts(rules, sent)
	address := sanitize.TrimEmail(domain.ValueOr(sent.Email, ""))
	if w.settings[settingUsersAsCustomers] != on || !sanitize.ValidEmail(address) {
		return locks, nil
	}
	user, err := s.userNamed(ctx, address)
	if err == nil && user != nil {
		locks = append(locks, lockOf(userLock, user.id))
	}
	return locks, err
}

// checkUser rejects a WordPress user who cannot be linked to a new customer: one who does
// not exist, has roles other than those of customers, or is linked to another customer.
func (tx *Tx) checkUser(ctx context.Context, w writeSettings, v CustomerPatch, p *domain.Validation) error {
	if v.WordPressUserID == nil || p.Has(v.UserField) {
		return nil
	}
	id := *v.WordPressUserID
	if w.settings[settingUsersAsCustomers] == on { // a row can only be locked with a right to write it
		if err := tx.lockRows(ctx, wpdb.Users, []int64{id}); err != nil {
			return err
		}
	}
	user, err := tx.oneUser(ctx, tx.usersWithRoles().Where(sq.Eq{"u.ID": id}))
	if err != nil {
		return err
	}
	_, exists, err := tx.customerRow(ctx, sq.Eq{"wordpress_user_id": id})
	switch {
	case err != nil:
		return err
	case user == nil:
		p.Invalid(v.UserField, "User not found")
	case user.privileged:
		p.Reject(v.UserField, "This user's role is not that of a customer")
	case exists:
		p.Reject(v.UserField, "This user belongs to another customer")
	}
	return nil
}

// insertCustomer writes a guest as the plugin's forms do (OsCustomersController::create,
// LatePoint 5.6.5). A customer with a WordPress user is not a guest. Nobody knows the
// password: customers request a new one.
func (tx *Tx) insertCustomer(ctx context.Context, w writeSettings, c BookingCustomer, user *int64) (int64, error) {
	stored, password, err := tx.newCustomerRow(c, user)
	if err != nil {
		return 0, err
	}
	id, err := tx.insert(ctx, wpdb.Customers, stored)
	if err != nil || user != nil {
		return id, err
	}
	return id, tx.connectUser(ctx, w, id, c, password)
}

// newCustomerRow returns the row of a new customer, with its password.
func (s *Site) newCustomerRow(c BookingCustomer, user *int64) (stored row, password string, err error) {
	uuid, err := s.uuid()
	if err != nil {
		return nil, "", err
	}
	secrets := make([]string, 3)
	for i := range secrets {
		if secrets[i], err = domain.RandomHex(s.random, 20); err != nil {
			return nil, "", err
		}
	}
	password = unusablePassword(secrets[0])
	return append(row{
		{"uuid", uuid}, {"first_name", c.FirstName}, {"last_name", c.LastName}, {"email", c.Email}, {"phone", c.Phone},
		{"avatar_image_id", nil}, {"status", "pending_verification"},
		{"password", password}, {"activation_key", secrets[1]}, {"account_nonse", secrets[2]},
		{"google_user_id", nil}, {"facebook_user_id", nil}, {"wordpress_user_id", user}, {"is_guest", user == nil}, {"notes", ""}, {"admin_notes", ""},
	}, s.newTimestamps()...), password, nil
}

// unusablePassword returns a text in the form of a portable WordPress hash that is not
// the hash of any known password.
func unusablePassword(random string) string { return "$P$B" + random[:30] }
