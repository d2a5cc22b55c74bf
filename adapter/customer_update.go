package adapter

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// UpdateCustomer changes the fields of a customer that were sent, and name and e-mail of
// the linked WordPress user. Columns that do not change are not written. Errors are those
// of CreateCustomer, and a CodeNotFound if the customer does not exist.
func (tx *Tx) UpdateCustomer(ctx context.Context, id int64, v CustomerPatch) (Customer, error) {
	rules, err := tx.customerRules(ctx)
	if err != nil {
		return Customer{}, err
	}
	if err := tx.lock(ctx, append(locksOfContacts(rules, v.CustomerFields), lockOf(customerLock, id))...); err != nil {
		return Customer{}, err
	}
	if err := tx.lockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
		return Customer{}, err
	}
	before, err := tx.storedCustomer(ctx, id)
	if err != nil {
		return Customer{}, err
	}
	if err := tx.checkPrecondition(); err != nil {
		return Customer{}, err
	}
	if err := tx.requireOwn(ctx, id); err != nil {
		return Customer{}, err
	}
	v = v.sanitize()
	p := v.Validation.Clone()
	old := before.bookingCustomer()
	after, columns := tx.patchCustomer(rules, old, v.CustomerFields, "", &p)
	rules.keepRequired(v, &p)
	if err := tx.checkValues(ctx, v, before.CustomFields, &p); err != nil {
		return Customer{}, err
	}
	if _, err := tx.checkCustomerChange(ctx, rules, old, after, "", &p); err != nil {
		return Customer{}, err
	}
	if err := p.Err(); err != nil {
		return Customer{}, err
	}
	personal := len(columns) > 0
	columns = append(columns, v.changeset(before)...)
	metas, err := tx.metaChanges(ctx, wpdb.CustomerMeta, id, v.metas())
	if err != nil {
		return Customer{}, err
	}
	if err := tx.storeCustomFieldNames(ctx, v.newCustomFields(before)); err != nil {
		return Customer{}, err
	}
	if len(columns) > 0 || metas.any() {
		if err := tx.updateCustomerRow(ctx, after, columns); err != nil {
			return Customer{}, err
		}
	}
	if err := tx.changeMeta(ctx, wpdb.CustomerMeta, metas); err != nil {
		return Customer{}, err
	}
	if personal { // the plugin's activity log has no other fields of customers
		if err := tx.logEvents(ctx, writeSettings{}, []event{{kind: customerUpdated, after: snapshot{customer: after}, before: &snapshot{customer: old}}}); err != nil {
			return Customer{}, err
		}
	}
	return tx.AsCaller().Customer(ctx, id)
}

// checkCustomerChange rejects a contact that identifies somebody else, and a change of the e-mail
// address if the linked WordPress user has more than a customer's privileges: a new password sent
// there could take the user over. The locks of the contacts are held already. It returns the user
// whose address changes with the customer's, or nil. prefix precedes the names of the fields.
func (s *Site) checkCustomerChange(ctx context.Context, rules customerRules, old, customer BookingCustomer, prefix string, p *domain.Validation) (user *linkedUser, err error) {
	field := prefix + contactEmail
	sameEmail := old.Email == customer.Email || p.Has(field)
	if rules.identifying(old) != rules.identifying(customer) {
		if err := s.checkUnique(ctx, rules, customer, prefix, p); err != nil {
			return nil, err
		}
	}
	if sameEmail {
		return nil, nil
	}
	user, err = s.linkedUser(ctx, customer.ID)
	if err != nil || user == nil {
		return user, err
	}
	if user.privileged {
		p.Reject(field, "This email belongs to a user of the site whose role is not that of a customer")
		return user, nil
	}
	follows, err := s.db.CustomersAreUsers(ctx)
	if err != nil || !follows {
		return nil, err
	}
	if !s.limits().None() {
		p.Reject(field, "This email belongs to a user of the site, whom a key with limits cannot change")
		return user, nil
	}
	if len(customer.Email) > longestUserEmail {
		p.Reject(field, "Too long for a user of the site")
		return user, nil
	}
	stmt := sq.Select("ID").From(s.db.Name(wpdb.Users)).Where(sq.Eq{"user_email": customer.Email}).Where(sq.NotEq{"ID": user.id}).Limit(1)
	_, exists, err := wpdb.One(ctx, s.db, "find user", stmt, wpdb.Value[int64])
	if exists {
		p.Reject(field, "This email belongs to another user of the site")
	}
	return user, err
}

// updateCustomerRow changes a customer, and the linked WordPress user if that user is no
// more than a customer (the plugin's save_connected_wordpress_user). Where customers are no
// users any more, whoever was linked stays as it is: nobody logs in by it, so the plugin
// never takes its address over. A caller with limits changes no user.
func (tx *Tx) updateCustomerRow(ctx context.Context, customer BookingCustomer, fields row) error {
	if err := tx.update(ctx, wpdb.Customers, customer.ID, append(fields, tx.updateTimestamp())); err != nil {
		return err
	}
	if err := tx.rememberContact(ctx, customer.ID, sentContact(customer, fields), false); err != nil {
		return err
	}
	if !tx.limits().None() || !slices.ContainsFunc(fields, func(c column) bool { return c.name == "email" || c.name == "first_name" || c.name == "last_name" }) {
		return nil
	}
	user, err := tx.linkedUser(ctx, customer.ID)
	if err != nil || user == nil || user.privileged {
		return err
	}
	if follows, err := tx.db.CustomersAreUsers(ctx); err != nil || !follows {
		return err
	}
	for _, f := range fields {
		switch f.name {
		case "email":
			err = tx.updateUserEmail(ctx, user.id, customer.Email)
		case "first_name":
			err = tx.saveUserName(ctx, user.id, f.name, customer.FirstName)
		case "last_name":
			err = tx.saveUserName(ctx, user.id, f.name, customer.LastName)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sentContact returns the contact of a customer among changed columns.
func sentContact(customer BookingCustomer, fields row) (sent BookingCustomer) {
	for _, f := range fields {
		switch f.name {
		case "email":
			sent.Email = customer.Email
		case "phone":
			sent.Phone = customer.Phone
		}
	}
	return sent
}
