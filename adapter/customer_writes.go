package adapter

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
	events := []event{{kind: customerCreated, facts: customerFacts(wanted)}}
	if err := tx.logEvents(ctx, w, events); err != nil {
		return Customer{}, err
	}
	if _, err := tx.notify(ctx, w, events, true); err != nil {
		return Customer{}, err
	}
	return tx.Customer(ctx, wanted.ID)
}

// locksOfNewCustomer are the locks for a customer to be created: of the e-mail,
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

// customerFacts is a customer without a booking.
func customerFacts(c BookingCustomer) (f bookingFacts) {
	f.Customer = c
	return f
}

// sanitize takes what may not be from texts. Those of custom fields may have
// several lines.
func (v CustomerPatch) sanitize() CustomerPatch {
	for _, text := range []**string{&v.Notes, &v.AdminNotes} {
		if *text != nil {
			*text = new(sanitize.TextareaField(**text))
		}
	}
	v.Profile, v.CustomFields = maps.Clone(v.Profile), maps.Clone(v.CustomFields)
	for name, value := range v.Profile {
		v.Profile[name] = sanitize.TextField(value)
	}
	for name, value := range v.CustomFields {
		v.CustomFields[name] = sanitize.TextareaField(value)
	}
	return v
}

// changeset are the columns that change and are of no concern to others.
func (v CustomerPatch) changeset(c Customer) changeset {
	var e changeset
	e.text("status", v.Status, c.Status)
	e.text("notes", v.Notes, c.Notes)
	e.text("admin_notes", v.AdminNotes, c.AdminNotes)
	if v.IsGuest != nil && *v.IsGuest != c.IsGuest {
		e.set("is_guest", *v.IsGuest)
	}
	if v.AvatarImageID != nil && *v.AvatarImageID != domain.ValueOr(c.AvatarImageID, 0) {
		e.set("avatar_image_id", wpdb.NullIfZero(*v.AvatarImageID))
	}
	return e
}

// metas are all fields without a column. Their names differ.
func (v CustomerPatch) metas() map[string]string {
	metas := make(map[string]string, len(v.Profile)+len(v.CustomFields))
	maps.Copy(metas, v.Profile)
	maps.Copy(metas, v.CustomFields)
	return metas
}

// newCustomFields are the names of the custom fields that get a value and that nothing
// yet tells from metas of others.
func (v CustomerPatch) newCustomFields(stored Customer) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.CustomFields)), func(name string) bool {
		_, known := stored.CustomFields[name]
		return known || v.CustomFields[name] == "" || strings.HasPrefix(name, "cf_")
	})
}

// checkValues notes texts that do not fit, and custom fields that are none.
func (s *Site) checkValues(ctx context.Context, v CustomerPatch, p *domain.Validation) error {
	for field, sent := range map[string]*string{"notes": v.Notes, "admin_notes": v.AdminNotes} {
		if sent != nil {
			s.checkText(p, field, wpdb.Customers, field, *sent)
		}
	}
	for name, value := range v.Profile {
		s.checkText(p, name, wpdb.CustomerMeta, "meta_value", value)
	}
	if len(v.CustomFields) > maxCustomFields {
		p.Reject("custom_fields", fmt.Sprintf("At most %d at a time", maxCustomFields))
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v.CustomFields)) {
		field := customField(name)
		if name == "" || sanitize.TextField(name) != name {
			p.Reject(field, notAField)
		}
		s.checkText(p, field, wpdb.CustomerMeta, "meta_key", name)
		s.checkText(p, field, wpdb.CustomerMeta, "meta_value", v.CustomFields[name])
		if !p.Has(field) {
			names = append(names, name)
		}
	}
	return s.checkNames(ctx, names, p)
}

// maxCustomFields is how many custom fields one request may name: each of them
// is a statement's part, or a statement.
const maxCustomFields = 200

func customField(name string) string { return "custom_fields." + name }

const notAField = "Not a name for a custom field"

// checkNames notes names of custom fields that the platform, or a field without
// a column, has for itself. The database tells: its collation takes more letters
// for the same than their case, and the plugin finds a meta by it. The names of
// the table's own column, of which there are none here, bring the collation in.
func (s *Site) checkNames(ctx context.Context, names []string, p *domain.Validation) error {
	if len(names) == 0 {
		return nil
	}
	named := sq.Select("meta_key AS name", "0 AS sent").From(s.db.Name(wpdb.CustomerMeta)).Where("1 = 0")
	for i, name := range names {
		named = named.SuffixExpr(sq.Expr("UNION ALL SELECT ?, ?", name, i))
	}
	reserved := slices.Concat(profileKeys, platformKeys)
	stmt := sq.Select("sent").FromSelect(named, "named").Where(sq.Or{sq.Eq{"name": reserved}, sq.Like{"name": `password\_%`}})
	found, err := wpdb.All(ctx, s.db, "check names of custom fields", stmt, wpdb.Value[int])
	for _, i := range found {
		p.Reject(customField(names[i]), notAField)
	}
	return err
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

// UpdateCustomer changes what was sent of a customer, and the linked WordPress
// user with name and e-mail. What does not change is not written. What is wrong
// is a CodeInvalidRequest or CodeValidationFailed naming every field.
func (tx *Tx) UpdateCustomer(ctx context.Context, id int64, v CustomerPatch) (Customer, error) {
	if err := tx.lock(ctx, append(locksOfEmail(v.Email), lockOf(customerLock, id))...); err != nil {
		return Customer{}, err
	}
	if err := tx.lockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
		return Customer{}, err
	}
	before, err := tx.storedCustomer(ctx, id)
	if err != nil {
		return Customer{}, err
	}
	v = v.sanitize()
	p := v.Validation.Clone()
	old := before.bookingCustomer()
	after, columns := tx.patchCustomer(old, v.CustomerFields, "", &p)
	if err := tx.checkValues(ctx, v, &p); err != nil {
		return Customer{}, err
	}
	if _, err := tx.checkCustomerChange(ctx, old, after, "email", &p); err != nil {
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
	if personal { // the plugin's history keeps nothing else of a customer
		if err := tx.logEvents(ctx, writeSettings{}, []event{{kind: customerUpdated, facts: customerFacts(after), old: customerFacts(old)}}); err != nil {
			return Customer{}, err
		}
	}
	return tx.Customer(ctx, id)
}

// bookingCustomer is what bookings show of a customer.
func (c Customer) bookingCustomer() BookingCustomer {
	return BookingCustomer{ID: c.ID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone}
}

// storeCustomFieldNames keeps the names of custom fields, by which they are told from
// metas of others.
func (tx *Tx) storeCustomFieldNames(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.db.Name(wpdb.CustomerFields)).Options("IGNORE").Columns("meta_key")
	for _, name := range names {
		stmt = stmt.Values(name)
	}
	_, err := tx.exec(ctx, wpdb.CustomerFields, "remember custom fields", stmt)
	return err
}

// metaChanges are the rows of metas that a change adds, alters and removes.
type metaChanges struct {
	inserts []row
	updates []metaUpdate
	deletes []int64
}

type metaUpdate struct {
	id    int64
	value string
}

func (m metaChanges) any() bool { return len(m.inserts)+len(m.updates)+len(m.deletes) > 0 }

// metaChanges compares metas with what is stored of a record: an existing row
// changes, an empty value removes all rows of its key
// (OsMetaModel::save_by_key and delete_meta_by_key, LatePoint 5.6.5; unlike
// there, "0" is a value).
func (s *Site) metaChanges(ctx context.Context, table wpdb.Table, id int64, values map[string]string) (m metaChanges, err error) {
	if len(values) == 0 {
		return m, nil
	}
	type stored struct {
		id         int64
		key, value string
	}
	stmt := sq.Select("id", "meta_key", "meta_value").From(s.db.Name(table)).Where(sq.Eq{"object_id": id}).OrderBy("id")
	rows, err := wpdb.All(ctx, s.db, "read meta", stmt, func(row wpdb.Scanner) (r stored, err error) {
		err = row.Scan(&r.id, &r.key, wpdb.OrZero(&r.value))
		return r, err
	})
	if err != nil {
		return m, err
	}
	byKey := map[string][]stored{}
	for _, r := range rows {
		key := strings.ToLower(r.key)
		byKey[key] = append(byKey[key], r)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value, same := values[key], byKey[strings.ToLower(key)]
		switch {
		case value == "":
			for _, r := range same {
				m.deletes = append(m.deletes, r.id)
			}
		case len(same) == 0:
			m.inserts = append(m.inserts, append(row{{"object_id", id}, {"meta_key", key}, {"meta_value", value}}, s.newTimestamps()...))
		case same[0].value != value:
			m.updates = append(m.updates, metaUpdate{same[0].id, value})
		}
	}
	return m, nil
}

// changeMeta writes changes of metas.
func (tx *Tx) changeMeta(ctx context.Context, table wpdb.Table, m metaChanges) error {
	if err := tx.delete(ctx, table, m.deletes...); err != nil {
		return err
	}
	for _, altered := range m.updates {
		if err := tx.update(ctx, table, altered.id, row{{"meta_value", altered.value}, tx.updateTimestamp()}); err != nil {
			return err
		}
	}
	_, err := tx.insert(ctx, table, m.inserts...)
	return err
}

// saveMeta stores metas of a record.
func (tx *Tx) saveMeta(ctx context.Context, table wpdb.Table, id int64, values map[string]string) error {
	m, err := tx.metaChanges(ctx, table, id, values)
	if err != nil {
		return err
	}
	return tx.changeMeta(ctx, table, m)
}

// DeleteCustomer deletes a customer who has no bookings, with orders, payments
// and metas as the plugin does (OsCustomerModel::delete, LatePoint 5.6.5):
// invoices and the WordPress user stay. One with bookings, whatever their status,
// is a CodeCustomerHasBookings.
func (tx *Tx) DeleteCustomer(ctx context.Context, id int64) error {
	orders, err := tx.orderIDs(ctx, id)
	if err != nil {
		return err
	}
	if err := tx.lock(ctx, append(locksOf(orderLock, orders...), lockOf(customerLock, id))...); err != nil {
		return err
	}
	// Whoever books for the customer changes their row, until the booking is there.
	if err := tx.lockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
		return err
	}
	_, found, err := tx.customerRow(ctx, sq.Eq{"id": id})
	if err != nil {
		return err
	}
	if !found {
		return domain.NotFound(domain.CustomerResource, id)
	}
	bookings, err := tx.bookingsThrough(ctx, id)
	if err != nil {
		return err
	}
	if bookings > 0 {
		return domain.CustomerHasBookings(bookings)
	}
	now, err := tx.orderIDs(ctx, id)
	if err != nil {
		return err
	}
	if !slices.Equal(now, orders) { // the locks are those of other orders
		return fmt.Errorf("orders of customer %d changed meanwhile: %w", id, wpdb.ErrConflict)
	}
	return tx.deleteCustomerRows(ctx, id, orders)
}

// bookingsThrough counts the bookings of a customer, and those that others have
// in the customer's orders: the plugin deletes both with the customer.
func (s *Site) bookingsThrough(ctx context.Context, customer int64) (int64, error) {
	stmt := sq.Select("i.id").From(s.db.As(wpdb.OrderItems, "i")).Join(s.db.As(wpdb.Orders, "o") + " ON o.id = i.order_id").
		Where(sq.Eq{"o.customer_id": customer})
	items, err := wpdb.All(ctx, s.db, "find order items of customer", stmt, wpdb.Value[int64])
	if err != nil {
		return 0, err
	}
	bookings := sq.Select("COUNT(*)").From(s.db.Name(wpdb.Bookings)).Where(sq.Eq{"customer_id": customer})
	if len(items) > 0 { // no index helps here
		bookings = sq.Select("COUNT(*)").From(s.db.Name(wpdb.Bookings)).Where(sq.Or{sq.Eq{"customer_id": customer}, sq.Eq{"order_item_id": items}})
	}
	count, _, err := wpdb.One(ctx, s.db, "count bookings of customer", bookings, wpdb.Value[int64])
	return count, err
}

func (tx *Tx) deleteCustomerRows(ctx context.Context, id int64, orders []int64) error {
	if err := tx.deleteOrders(ctx, orders); err != nil {
		return err
	}
	if err := tx.deleteWhere(ctx, wpdb.Transactions, sq.Eq{"customer_id": id}); err != nil {
		return err
	}
	if err := tx.deleteWhere(ctx, wpdb.CustomerMeta, sq.Eq{"object_id": id}); err != nil {
		return err
	}
	return tx.delete(ctx, wpdb.Customers, id)
}

// orderIDs are the ids of a customer's orders.
func (s *Site) orderIDs(ctx context.Context, customer int64) ([]int64, error) {
	stmt := sq.Select("id").From(s.db.Name(wpdb.Orders)).Where(sq.Eq{"customer_id": customer}).OrderBy("id")
	return wpdb.All(ctx, s.db, "find orders of customer", stmt, wpdb.Value[int64])
}

// deleteOrders deletes orders with what the plugin deletes with them
// (OsOrderModel::delete). Their invoices stay.
func (tx *Tx) deleteOrders(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := tx.deleteJobs(ctx, sq.Eq{"object_id": ids, "object_model_type": "order"}); err != nil {
		return err
	}
	for _, of := range []struct {
		table  wpdb.Table
		column string
	}{{wpdb.Transactions, "order_id"}, {wpdb.OrderItems, "order_id"}, {wpdb.OrderMeta, "object_id"}} {
		if err := tx.deleteWhere(ctx, of.table, sq.Eq{of.column: ids}); err != nil {
			return err
		}
	}
	return tx.delete(ctx, wpdb.Orders, ids...)
}
