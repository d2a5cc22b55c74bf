package customers

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Update changes the sent fields of a customer, and name and e-mail of the linked WordPress user. Columns
// that do not change are not written. It returns the errors of Create, and a CodeNotFound if the customer
// does not exist.
func Update(ctx context.Context, tx *session.Tx, id int64, v Patch) (records.Customer, error) {
	rules, err := customerRules(ctx, tx.Session)
	if err != nil {
		return records.Customer{}, err
	}
	if err := tx.Lock(ctx, append(LocksOfContacts(rules, v.CustomerFields), session.LockOf(session.CustomerLock, id))...); err != nil {
		return records.Customer{}, err
	}
	if err := tx.LockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
		return records.Customer{}, err
	}
	before, err := records.LoadStoredCustomer(ctx, tx.Session, id)
	if err != nil {
		return records.Customer{}, err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return records.Customer{}, err
	}
	v = v.sanitize()
	p := v.Problems()
	old := bookingCustomer(before)
	after, columns := PatchFields(tx.Session, rules, old, v.CustomerFields, "", &p)
	rules.keepRequired(v, &p)
	if err := checkValues(ctx, tx.Session, v, before.CustomFields, &p); err != nil {
		return records.Customer{}, err
	}
	// UpdateRow reads the linked user again.
	if _, err := CheckChange(ctx, tx.Session, rules, old, after, "", &p); err != nil {
		return records.Customer{}, err
	}
	if err := p.Err(); err != nil {
		return records.Customer{}, err
	}
	personal := len(columns) > 0
	columns = append(columns, v.changeset(before)...)
	metas, err := session.NewMetaChanges(ctx, tx.Session, wpdb.CustomerMeta, id, v.metas())
	if err != nil {
		return records.Customer{}, err
	}
	if err := storeCustomFieldNames(ctx, tx, v.newCustomFields(before)); err != nil {
		return records.Customer{}, err
	}
	if len(columns) > 0 || metas.Any() { // with its updated_at
		if err := UpdateRow(ctx, tx, after, columns); err != nil {
			return records.Customer{}, err
		}
	}
	if err := session.ChangeMeta(ctx, tx, wpdb.CustomerMeta, metas); err != nil {
		return records.Customer{}, err
	}
	if personal { // the plugin's activity log has only these fields of customers
		if err := notify.LogEvents(ctx, tx, session.WriteSettings{}, []notify.Event{{Kind: notify.CustomerUpdated, After: notify.Snapshot{Customer: after}, Before: &notify.Snapshot{Customer: old}}}); err != nil {
			return records.Customer{}, err
		}
	}
	return records.LoadCustomer(ctx, tx.Session, id)
}

// CheckChange rejects a contact that identifies another customer, or an e-mail address that the linked WordPress user may not
// have. The locks of the contacts are already held. It returns the user whose address changes with the customer's, or would if
// that were allowed, or nil. prefix precedes the names of the fields.
func CheckChange(ctx context.Context, s *session.Session, rules Rules, old, customer records.BookingCustomer, prefix string, p *domain.Validation) (user *LinkedUser, err error) {
	keepsEmail := old.Email == customer.Email || p.Has(prefix+contactEmail)
	if rules.identifying(old) != rules.identifying(customer) {
		if err := checkUnique(ctx, s, rules, customer, prefix, p); err != nil {
			return nil, err
		}
	}
	if keepsEmail {
		return nil, nil
	}
	user, err = loadLinkedUser(ctx, s, customer.ID)
	if err != nil || user == nil {
		return nil, err
	}
	if !user.privileged { // whose address must not change, whatever the setting
		if follows, err := s.DB.CustomersAreUsers(ctx); err != nil || !follows {
			return nil, err
		}
	}
	why, err := whyNotEmailOf(ctx, s, user, customer.Email)
	if err != nil {
		return nil, err
	}
	if why != "" {
		p.Reject(prefix+contactEmail, why)
	}
	return user, nil
}

// whyNotEmailOf returns why a linked user may not get a customer's new address, or "". One with more than a customer's
// privileges may not: a password reset sent to the new address could take the user over.
func whyNotEmailOf(ctx context.Context, s *session.Session, user *LinkedUser, email string) (why string, err error) {
	switch {
	case user.privileged:
		return "This email belongs to a user of the site whose role is not that of a customer", nil
	case len(email) > maxUserEmail:
		return "Too long for a user of the site", nil
	}
	stmt := sq.Select("ID").From(s.DB.Name(wpdb.Users)).Where(sq.Eq{"user_email": email}).Where(sq.NotEq{"ID": user.id}).Limit(1)
	_, exists, err := wpdb.One(ctx, s.DB, "find user", stmt, wpdb.Value[int64])
	if exists {
		why = "This email belongs to another user of the site"
	}
	return why, err
}

// UpdateRow changes a customer, and the linked WordPress user if that user is no more than a customer (the
// plugin's save_connected_wordpress_user). If the site's customers are no longer users, a linked user stays
// unchanged: customers do not log in as that user, so the plugin never copies its address.
func UpdateRow(ctx context.Context, tx *session.Tx, customer records.BookingCustomer, fields session.Row) error {
	if err := tx.Update(ctx, wpdb.Customers, customer.ID, append(fields, tx.UpdateTimestamp())); err != nil {
		return err
	}
	if !slices.ContainsFunc(fields, func(c session.Column) bool {
		return c.Name == "email" || c.Name == "first_name" || c.Name == "last_name"
	}) {
		return nil
	}
	user, err := loadLinkedUser(ctx, tx.Session, customer.ID)
	if err != nil || user == nil || user.privileged {
		return err
	}
	if follows, err := tx.DB.CustomersAreUsers(ctx); err != nil || !follows {
		return err
	}
	for _, f := range fields {
		switch f.Name {
		case "email":
			err = updateUserEmail(ctx, tx, user.id, customer.Email)
		case "first_name":
			err = saveUserName(ctx, tx, user.id, f.Name, customer.FirstName)
		case "last_name":
			err = saveUserName(ctx, tx, user.id, f.Name, customer.LastName)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
