package adapter

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// CustomerPatch are what is to be stored of a customer; nil was not sent.
type CustomerPatch struct {
	CustomerFields
	Status, Notes, AdminNotes *string
	IsGuest                   *bool
	AvatarImageID             *int64 // 0 for none
	// WordPressUserID is that of a new customer only, UserField what it was sent
	// as.
	WordPressUserID *int64
	UserField       string
	// Profile are the fields without a column, by name; "" removes one.
	Profile map[string]string
	// CustomFields are merged with those there are; "" removes one.
	CustomFields map[string]string
	Validation   domain.Validation
}

// CreateCustomer makes a customer as the plugin's form does
// (OsCustomersController::create, LatePoint 5.6.5), but with the status and
// guest flag that were sent.
func (tx *Tx) CreateCustomer(ctx context.Context, v CustomerPatch) (Customer, error) {
	// Before anything is said about the user.
	if v.WordPressUserID != nil {
		if err := tx.need("write_users"); err != nil {
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
	// The plugin's forms take nothing of this.
	v.Status = new(domain.ValueOr(v.Status, "active"))
	stored := Customer{IsGuest: !domain.ValueOr(v.IsGuest, true)} // not known: to connect a user sets it too
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

// locksOfNewCustomer returns the locks for a customer to be created: of the e-mail,
// and of the WordPress user to whom connectUser would connect the customer, for
// others may find the same user by the login.
func (s *Site) locksOfNewCustomer(ctx context.Context, w writeSettings, email *string) ([]lock, error) {
	locks := locksOfEmail(email)
	if len(locks) == 0 || w.settings[settingUsersAsCustomers] != on {
		return locks, nil
	}
	user, err := s.userNamed(ctx, sanitize.TrimEmail(*email))
	if err == nil && user.id != 0 {
		locks = append(locks, lockOf(userLock, user.id))
	}
	return locks, err
}

// sanitizeCustomer returns a customer as it would be stored. prefix stands before the
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

// checkNewEmail notes an e-mail that a customer has already.
func (s *Site) checkNewEmail(ctx context.Context, email string, p *domain.Validation) error {
	_, taken, err := s.customerRow(ctx, sq.Eq{"email": email})
	if taken {
		p.Reject("email", "This email belongs to another customer")
	}
	return err
}

// checkUser notes a WordPress user who cannot stand behind a new customer: one
// who does not exist, has other roles than a customer, or is another's already.
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
	case user.id == 0:
		p.Invalid(v.UserField, "User not found")
	case user.privileged:
		p.Reject(v.UserField, "This user's role is not that of a customer")
	case taken:
		p.Reject(v.UserField, "This user belongs to another customer")
	}
	return nil
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
