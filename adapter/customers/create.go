package customers

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Create creates a customer as the plugin's form does
// (OsCustomersController::create, LatePoint 5.6.5), but with the status and guest flag
// that were sent.
//
// If anything is wrong with the customer, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field.
func Create(ctx context.Context, tx *session.Tx, v Patch) (records.Customer, error) {
	// Checked first, so that a key without the permission learns nothing about users.
	if v.WordPressUserID != nil {
		if err := tx.RequirePermission("write_users"); err != nil {
			return records.Customer{}, err
		}
	}
	v = v.sanitize()
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return records.Customer{}, err
	}
	c, err := validateNewCustomer(ctx, tx, w, v)
	if err != nil {
		return records.Customer{}, err
	}
	if c.ID, err = Insert(ctx, tx, w, c, v.WordPressUserID); err != nil {
		return records.Customer{}, err
	}
	if err := storeFormlessFields(ctx, tx, c.ID, v); err != nil {
		return records.Customer{}, err
	}
	events := []notify.Event{{Kind: notify.CustomerCreated, After: notify.Snapshot{Customer: c}}}
	if err := notify.LogEvents(ctx, tx, w, events); err != nil {
		return records.Customer{}, err
	}
	if _, err := notify.Notify(ctx, tx, w, events, extensions.AllMessages); err != nil {
		return records.Customer{}, err
	}
	return records.LoadCustomer(ctx, tx.Session, c.ID)
}

// validateNewCustomer validates a customer, reporting all problems at once, takes its locks and returns it
// as it will be stored.
func validateNewCustomer(ctx context.Context, tx *session.Tx, w session.WriteSettings, v Patch) (records.BookingCustomer, error) {
	p := v.Problems()
	p.Require("first_name", strings.TrimSpace(domain.ValueOr(v.FirstName, "")) != "")
	p.Require("last_name", strings.TrimSpace(domain.ValueOr(v.LastName, "")) != "")
	rules := RulesOf(tx.Session, w.Settings)
	c := Sanitize(tx.Session, v.CustomerFields, "", &p)
	if err := checkValues(ctx, tx.Session, v, nil, &p); err != nil {
		return c, err
	}
	rules.requireOfNew(c, domain.ValueOr(v.Notes, ""), v.CustomFields, &p)
	if p.Err() == nil {
		locks, err := LocksOfNewCustomer(ctx, tx.Session, w, rules, v.CustomerFields)
		if err != nil {
			return c, err
		}
		if v.WordPressUserID != nil {
			locks = append(locks, session.LockOf(session.UserLock, *v.WordPressUserID))
		}
		if err := tx.Lock(ctx, locks...); err != nil {
			return c, err
		}
	}
	if err := checkUnique(ctx, tx.Session, rules, c, "", &p); err != nil {
		return c, err
	}
	if err := checkUser(ctx, tx, w, v, &p); err != nil {
		return c, err
	}
	return c, p.Err()
}

// storeFormlessFields stores the fields of a new customer that the plugin's forms do not
// have.
func storeFormlessFields(ctx context.Context, tx *session.Tx, id int64, v Patch) error {
	v.Status = new(domain.ValueOr(v.Status, "active"))
	stored := records.Customer{IsGuest: !domain.ValueOr(v.IsGuest, true)} // unknown, because connecting a user sets it too
	if err := tx.Update(ctx, wpdb.Customers, id, session.Row(v.changeset(stored))); err != nil {
		return err
	}
	if err := session.SaveMeta(ctx, tx, wpdb.CustomerMeta, id, v.metas()); err != nil {
		return err
	}
	return storeCustomFieldNames(ctx, tx, v.newCustomFields(records.Customer{}))
}

// LocksOfNewCustomer returns the locks of a new customer: those of the contacts, and that of the WordPress
// user whom connectUser would link, because others may find the same user by login.
func LocksOfNewCustomer(ctx context.Context, s *session.Session, w session.WriteSettings, rules Rules, sent records.CustomerFields) ([]session.Lock, error) {
	locks := LocksOfContacts(rules, sent)
	address := text.TrimEmail(domain.ValueOr(sent.Email, ""))
	if w.Settings[session.SettingUsersAsCustomers] != session.On || !text.ValidEmail(address) {
		return locks, nil
	}
	user, err := userNamed(ctx, s, address)
	if err == nil && user != nil {
		locks = append(locks, session.LockOf(session.UserLock, user.id))
	}
	return locks, err
}

// checkUser rejects a WordPress user who cannot be linked to a new customer: one who does
// not exist, has roles other than those of customers, or is linked to another customer.
func checkUser(ctx context.Context, tx *session.Tx, w session.WriteSettings, v Patch, p *domain.Validation) error {
	if v.WordPressUserID == nil || p.Has(v.UserField) {
		return nil
	}
	id := *v.WordPressUserID
	if w.Settings[session.SettingUsersAsCustomers] == session.On { // locking a row needs the privilege to write it
		if err := tx.LockRows(ctx, wpdb.Users, []int64{id}); err != nil {
			return err
		}
	}
	user, err := oneUser(ctx, tx.Session, usersWithRoles(tx.Session).Where(sq.Eq{"u.ID": id}))
	if err != nil {
		return err
	}
	_, exists, err := records.CustomerRow(ctx, tx.Session, sq.Eq{"wordpress_user_id": id})
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

// Insert writes a guest as the plugin's forms do (OsCustomersController::create, LatePoint 5.6.5). A
// customer with a WordPress user is not a guest. The password is random and unknown: customers request a
// new one.
func Insert(ctx context.Context, tx *session.Tx, w session.WriteSettings, c records.BookingCustomer, user *int64) (int64, error) {
	stored, password, err := NewRow(tx.Session, c, user)
	if err != nil {
		return 0, err
	}
	id, err := tx.Insert(ctx, wpdb.Customers, stored)
	if err != nil || user != nil {
		return id, err
	}
	return id, connectUser(ctx, tx, w, id, c, password)
}

// NewRow returns the row of a new customer, with its password.
func NewRow(s *session.Session, c records.BookingCustomer, user *int64) (stored session.Row, password string, err error) {
	uuid, err := session.NewUUID(s)
	if err != nil {
		return nil, "", err
	}
	secrets := make([]string, 3)
	for i := range secrets {
		if secrets[i], err = domain.RandomHex(s.Platform.Random, 20); err != nil {
			return nil, "", err
		}
	}
	password = unusablePassword(secrets[0])
	return append(session.Row{
		{Name: "uuid", Value: uuid}, {Name: "first_name", Value: c.FirstName}, {Name: "last_name", Value: c.LastName}, {Name: "email", Value: c.Email}, {Name: "phone", Value: c.Phone},
		{Name: "avatar_image_id", Value: nil}, {Name: "status", Value: "pending_verification"},
		{Name: "password", Value: password}, {Name: "activation_key", Value: secrets[1]}, {Name: "account_nonse", Value: secrets[2]},
		{Name: "google_user_id", Value: nil}, {Name: "facebook_user_id", Value: nil}, {Name: "wordpress_user_id", Value: user}, {Name: "is_guest", Value: user == nil}, {Name: "notes", Value: ""}, {Name: "admin_notes", Value: ""},
	}, s.NewTimestamps()...), password, nil
}

// unusablePassword returns a text in the form of a portable WordPress hash that is not
// the hash of any known password.
func unusablePassword(random string) string { return "$P$B" + random[:30] }
