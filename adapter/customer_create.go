package adapter

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// CustomerPatch has the fields of a customer to create or change. A nil field was not
// sent.
type CustomerPatch struct {
	CustomerFields
	Status, Notes, AdminNotes *string
	IsGuest                   *bool
	AvatarImageID             *int64 // 0 for none
	// WordPressUserID is for new customers only; UserField is the field name under which
	// it was sent.
	WordPressUserID *int64
	UserField       string
	// Profile has the fields without a column, by name; "" removes a field.
	Profile map[string]string
	// CustomFields are merged with the stored ones; "" removes a field.
	CustomFields map[string]string
	Validation   domain.Validation
}

// CreateCustomer creates a customer as the plugin's form does
// (OsCustomersController::create, LatePoint 5.6.5), but with the status and guest flag
// that were sent.
//
// If anything is wrong with the customer, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field.
func (tx *Tx) CreateCustomer(ctx context.Context, v CustomerPatch) (Customer, error) {
	// Checked first, so that a key without the permission learns nothing about users.
	if v.WordPressUserID != nil {
		if err := tx.requirePermission("write_users"); err != nil {
			return Customer{}, err
		}
	}
	v = v.sanitize()
	p := v.Validation.Clone()
	p.Require("first_name", strings.TrimSpace(domain.ValueOr(v.FirstName, "")) != "")
	p.Require("last_name", strings.TrimSpace(domain.ValueOr(v.LastName, "")) != "")
	wanted := tx.sanitizeCustomer(v.CustomerFields, "", &p)
	if err := tx.checkValues(ctx, v, &p); err != nil {
		return Customer{}, err
	}
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return Customer{}, err
	}
	if p.Err() == nil {
		locks, err := tx.locksOfNewCustomer(ctx, w, &wanted.Email)
		if err != nil {
			return Customer{}, err
		}
		if v.WordPressUserID != nil {
			locks = append(locks, lockOf(userLock, *v.WordPressUserID))
		}
		if err := tx.lock(ctx, locks...); err != nil {
			return Customer{}, err
		}
	}
	if wanted.Email != "" && !p.Has("email") {
		if err := tx.checkNewEmail(ctx, wanted.Email, &p); err != nil {
			return Customer{}, err
		}
	}
	if err := tx.checkUser(ctx, v, &p); err != nil {
		return Customer{}, err
	}
	if err := p.Err(); err != nil {
		return Customer{}, err
	}
	wanted.ID, err = tx.insertCustomer(ctx, w, wanted, v.WordPressUserID)
	if err != nil {
		return Customer{}, err
	}
	// The plugin's forms accept none of these fields.
	v.Status = new(domain.ValueOr(v.Status, "active"))
	stored := Customer{IsGuest: !domain.ValueOr(v.IsGuest, true)} // not known: connecting a user sets it too
	if err := tx.update(ctx, wpdb.Customers, wanted.ID, row(v.changeset(stored))); err != nil {
		return Customer{}, err
	}
	if err := tx.saveMeta(ctx, wpdb.CustomerMeta, wanted.ID, v.metas()); err != nil {
		return Customer{}, err
	}
	if err := tx.storeCustomFieldNames(ctx, v.newCustomFields(Customer{})); err != nil {
		return Customer{}, err
	}
	events := []event{{kind: customerCreated, after: snapshot{customer: wanted}}}
	if err := tx.logEvents(ctx, w, events); err != nil {
		return Customer{}, err
	}
	if _, err := tx.notify(ctx, w, events, true); err != nil {
		return Customer{}, err
	}
	return tx.Customer(ctx, wanted.ID)
}

// locksOfNewCustomer returns the locks of a new customer: that of the e-mail address, and
// that of the WordPress user to whom connectUser would connect the customer, because
// others may find the same user by the login.
func (s *Site) locksOfNewCustomer(ctx context.Context, w writeSettings, email *string) ([]lock, error) {
	locks := locksOfEmail(email)
	if len(locks) == 0 || w.settings[settingUsersAsCustomers] != on {
		return locks, nil
	}
	user, err := s.userNamed(ctx, sanitize.TrimEmail(*email))
	if err == nil && user != nil {
		locks = append(locks, lockOf(userLock, user.id))
	}
	return locks, err
}

// sanitizeCustomer validates a customer and returns it as it would be stored. prefix
// precedes the names of the fields.
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

// checkNewEmail rejects an e-mail address that another customer has.
func (s *Site) checkNewEmail(ctx context.Context, email string, p *domain.Validation) error {
	_, taken, err := s.customerRow(ctx, sq.Eq{"email": email})
	if taken {
		p.Reject("email", "This email belongs to another customer")
	}
	return err
}

// checkUser rejects a WordPress user who cannot be linked to a new customer: one who does
// not exist, has roles other than those of customers, or is linked to another customer.
func (tx *Tx) checkUser(ctx context.Context, v CustomerPatch, p *domain.Validation) error {
	if v.WordPressUserID == nil || p.Has(v.UserField) {
		return nil
	}
	id := *v.WordPressUserID
	if err := tx.lockRows(ctx, wpdb.Users, []int64{id}); err != nil {
		return err
	}
	user, err := tx.oneUser(ctx, tx.usersWithRoles().Where(sq.Eq{"u.ID": id}))
	if err != nil {
		return err
	}
	_, taken, err := tx.customerRow(ctx, sq.Eq{"wordpress_user_id": id})
	switch {
	case err != nil:
		return err
	case user == nil:
		p.Invalid(v.UserField, "User not found")
	case user.privileged:
		p.Reject(v.UserField, "This user's role is not that of a customer")
	case taken:
		p.Reject(v.UserField, "This user belongs to another customer")
	}
	return nil
}

// insertCustomer writes a guest as the plugin's forms do (OsCustomersController::create,
// LatePoint 5.6.5). A customer with a WordPress user is not a guest. Nobody knows the
// password: customers request a new one.
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

// unusablePassword returns a text in the form of a portable WordPress hash that is not
// the hash of any known password.
func unusablePassword(random string) string { return "$P$B" + random[:30] }
