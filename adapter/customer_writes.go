package adapter

import (
	"context"
	"maps"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// CustomerValues are what is to be stored of a customer; nil was not sent.
type CustomerValues struct {
	CustomerFields
	Status, Notes, AdminNotes *string
	IsGuest                   *bool
	AvatarImageID             *int64 // 0 for none
	WordPressUserID           *int64 // of a new customer only
	// Profile are the fields without a column, by name; "" removes one.
	Profile map[string]string
	// CustomFields are merged with those there are; "" removes one.
	CustomFields map[string]string
	Problems     Problems
}

// CreateCustomer makes a customer as the plugin's form does
// (OsCustomersController::create, LatePoint 5.6.5), but with the status and
// guest flag that were sent. finish, which may be nil, runs inside the
// transaction before it is committed.
func (s *Site) CreateCustomer(ctx context.Context, v CustomerValues, finish func(ctx context.Context, tx *Site, c Customer) error) (c Customer, err error) {
	err = s.write(ctx, "create customer", func(tx *Site) (err error) {
		if c, err = tx.createCustomer(ctx, v); err != nil || finish == nil {
			return err
		}
		return finish(ctx, tx, c)
	})
	return c, err
}

func (s *Site) createCustomer(ctx context.Context, v CustomerValues) (Customer, error) {
	p := v.Problems.clone()
	for field, sent := range map[string]*string{"first_name": v.FirstName, "last_name": v.LastName} {
		if sent == nil {
			p.Malform(field, "Required")
		}
	}
	wanted := s.cleanCustomer(v.CustomerFields, "", &p)
	s.checkValues(v, &p)
	if wanted.Email != "" && !p.Has("email") {
		if err := s.checkNewEmail(ctx, wanted.Email, &p); err != nil {
			return Customer{}, err
		}
	}
	if err := s.checkUser(ctx, v.WordPressUserID, &p); err != nil {
		return Customer{}, err
	}
	if err := p.Err(); err != nil {
		return Customer{}, err
	}
	w, err := s.writing(ctx)
	if err != nil {
		return Customer{}, err
	}
	wanted.ID, err = s.insertCustomer(ctx, w, wanted)
	if err != nil {
		return Customer{}, err
	}
	// The plugin knows neither at this point; what follows is the API's own.
	columns := append(row{{"status", orText(v.Status, "active")}}, v.columns()...)
	if v.WordPressUserID != nil {
		columns = append(columns, column{"wordpress_user_id", *v.WordPressUserID})
		if v.IsGuest == nil {
			columns = append(columns, column{"is_guest", 0})
		}
	}
	if err := s.update(ctx, wpdb.Customers, wanted.ID, columns); err != nil {
		return Customer{}, err
	}
	if err := s.saveCustomerMeta(ctx, wanted.ID, v); err != nil {
		return Customer{}, err
	}
	events := []event{{kind: customerCreated, facts: customerFacts(wanted)}}
	if err := s.recordEvents(ctx, w, events); err != nil {
		return Customer{}, err
	}
	if _, err := s.announce(ctx, w, events, true); err != nil {
		return Customer{}, err
	}
	return s.Customer(ctx, wanted.ID)
}

// customerFacts is a customer without a booking.
func customerFacts(c BookingCustomer) (f bookingFacts) {
	f.Customer = c
	return f
}

func orText(text *string, fallback string) string {
	if text == nil {
		return fallback
	}
	return *text
}

// columns are the columns that were sent and need no more than cleaning.
func (v CustomerValues) columns() row {
	var columns row
	for _, f := range []struct {
		name string
		sent *string
	}{{"notes", v.Notes}, {"admin_notes", v.AdminNotes}} {
		if f.sent != nil {
			columns = append(columns, column{f.name, cleanText(*f.sent)})
		}
	}
	if v.IsGuest != nil {
		columns = append(columns, column{"is_guest", *v.IsGuest})
	}
	if v.AvatarImageID != nil {
		columns = append(columns, column{"avatar_image_id", nullable(*v.AvatarImageID)})
	}
	return columns
}

// nullable stores 0 as NULL.
func nullable(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// checkValues notes texts that do not fit, and custom fields that are none.
func (s *Site) checkValues(v CustomerValues, p *Problems) {
	for field, sent := range map[string]*string{"notes": v.Notes, "admin_notes": v.AdminNotes} {
		if sent != nil {
			s.checkLength(p, field, wpdb.Customers, field, cleanText(*sent))
		}
	}
	for name, value := range v.Profile {
		s.checkLength(p, name, wpdb.CustomerMeta, "meta_value", value)
	}
	for _, name := range slices.Sorted(maps.Keys(v.CustomFields)) {
		field := "custom_fields." + name
		if name == "" || cleanLine(name) != name || reservedField(name) {
			p.Refuse(field, "Not a name for a custom field")
		}
		s.checkLength(p, field, wpdb.CustomerMeta, "meta_key", name)
		s.checkLength(p, field, wpdb.CustomerMeta, "meta_value", v.CustomFields[name])
	}
}

// reservedField tells names that the platform, or a field without a column, has
// for itself.
func reservedField(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(profileKeys, name) || slices.Contains(platformKeys, name) || strings.HasPrefix(name, "password_")
}

// checkNewEmail notes an e-mail that a customer has already. Whoever else is
// about to store it waits for the outcome.
func (s *Site) checkNewEmail(ctx context.Context, email string, p *Problems) error {
	if err := s.lockEmail(ctx, &email); err != nil {
		return err
	}
	_, taken, err := s.customerRow(ctx, sq.Eq{"email": email})
	if taken {
		p.Refuse("email", "This email belongs to another customer")
	}
	return err
}

// checkUser notes a WordPress user who cannot stand behind a new customer: one
// who does not exist, has more rights than a customer, or is another's already.
func (s *Site) checkUser(ctx context.Context, id *int64, p *Problems) error {
	if id == nil || p.Has("wordpress_user_id") {
		return nil
	}
	user, err := s.oneUser(ctx, s.usersWithRoles().Where(sq.Eq{"u.ID": *id}))
	if err != nil {
		return err
	}
	_, taken, err := s.customerRow(ctx, sq.Eq{"wordpress_user_id": *id})
	switch {
	case err != nil:
		return err
	case user.id == 0:
		p.Malform("wordpress_user_id", "User not found")
	case user.privileged:
		p.Refuse("wordpress_user_id", "This user has more rights than a customer")
	case taken:
		p.Refuse("wordpress_user_id", "This user belongs to another customer")
	}
	return nil
}

// UpdateCustomer changes what was sent of a customer, and the linked WordPress
// user with name and e-mail. What is wrong is a CodeInvalidRequest or
// CodeValidationFailed naming every field.
func (s *Site) UpdateCustomer(ctx context.Context, id int64, v CustomerValues) (c Customer, err error) {
	err = s.write(ctx, "update customer", func(tx *Site) (err error) {
		c, err = tx.updateCustomer(ctx, id, v)
		return err
	})
	return c, err
}

func (s *Site) updateCustomer(ctx context.Context, id int64, v CustomerValues) (Customer, error) {
	if err := s.lockEmail(ctx, v.Email); err != nil {
		return Customer{}, err
	}
	if err := s.lockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
		return Customer{}, err
	}
	before, err := s.Customer(ctx, id)
	if err != nil {
		return Customer{}, err
	}
	p := v.Problems.clone()
	old := before.short()
	after, columns := s.changeCustomer(old, v.CustomerFields, "", &p)
	s.checkValues(v, &p)
	if err := s.checkCustomerChange(ctx, old, after, "email", &p); err != nil {
		return Customer{}, err
	}
	if err := p.Err(); err != nil {
		return Customer{}, err
	}
	personal := len(columns) > 0
	if v.Status != nil {
		columns = append(columns, column{"status", *v.Status})
	}
	columns = append(columns, v.columns()...)
	if len(columns)+len(v.Profile)+len(v.CustomFields) == 0 {
		return before, nil
	}
	if err := s.updateCustomerRow(ctx, after, columns); err != nil {
		return Customer{}, err
	}
	if err := s.saveCustomerMeta(ctx, id, v); err != nil {
		return Customer{}, err
	}
	if personal { // the plugin's history keeps nothing else of a customer
		if err := s.recordEvents(ctx, writing{}, []event{{kind: customerUpdated, facts: customerFacts(after), old: customerFacts(old)}}); err != nil {
			return Customer{}, err
		}
	}
	return s.Customer(ctx, id)
}

// short is what bookings show of a customer.
func (c Customer) short() BookingCustomer {
	return BookingCustomer{ID: c.ID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone}
}

// saveCustomerMeta stores the fields without a column. The names of custom
// fields are remembered, so that they are told from metas of others.
func (s *Site) saveCustomerMeta(ctx context.Context, id int64, v CustomerValues) error {
	if err := s.saveMeta(ctx, wpdb.CustomerMeta, id, v.Profile); err != nil {
		return err
	}
	if err := s.saveMeta(ctx, wpdb.CustomerMeta, id, v.CustomFields); err != nil {
		return err
	}
	remembered := sq.Insert(s.db.Name(wpdb.CustomerFields)).Options("IGNORE").Columns("meta_key")
	some := false
	for _, name := range slices.Sorted(maps.Keys(v.CustomFields)) {
		if v.CustomFields[name] != "" && !strings.HasPrefix(name, "cf_") {
			remembered, some = remembered.Values(name), true
		}
	}
	if !some || !s.schema.Has(wpdb.CustomerFields) {
		return nil
	}
	_, err := wpdb.Exec(ctx, s.db, "remember custom fields", remembered)
	return err
}

// saveMeta stores metas of a record: an existing row changes, an empty value
// removes all rows of its key (OsMetaModel::save_by_key and
// delete_meta_by_key, LatePoint 5.6.5; unlike there, "0" is a value).
func (s *Site) saveMeta(ctx context.Context, table wpdb.Table, id int64, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	type stored struct {
		id         int64
		key, value string
	}
	stmt := sq.Select("id", "meta_key", "meta_value").From(s.db.Name(table)).Where(sq.Eq{"object_id": id}).OrderBy("id")
	rows, err := wpdb.All(ctx, s.db, "read meta", stmt, func(row wpdb.Scanner) (m stored, err error) {
		err = row.Scan(&m.id, &m.key, wpdb.OrZero(&m.value))
		return m, err
	})
	if err != nil {
		return err
	}
	var added []row
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		same := slices.DeleteFunc(slices.Clone(rows), func(m stored) bool { return !strings.EqualFold(m.key, key) })
		switch {
		case value == "" && len(same) > 0:
			stmt := sq.Delete(s.db.Name(table)).Where(sq.Eq{"object_id": id, "meta_key": key})
			_, err = wpdb.Exec(ctx, s.db, "delete meta", stmt)
		case value == "":
		case len(same) == 0:
			added = append(added, append(row{{"object_id", id}, {"meta_key", key}, {"meta_value", value}}, s.createdNow()...))
		case same[0].value != value:
			err = s.update(ctx, table, same[0].id, row{{"meta_value", value}, s.updatedNow()})
		}
		if err != nil {
			return err
		}
	}
	_, err = s.insert(ctx, table, added...)
	return err
}

// DeleteCustomer deletes a customer who has no bookings, with orders, payments
// and metas as the plugin does (OsCustomerModel::delete, LatePoint 5.6.5):
// invoices and the WordPress user stay. One with bookings is a
// CodeCustomerHasBookings.
func (s *Site) DeleteCustomer(ctx context.Context, id int64) error {
	return s.write(ctx, "delete customer", func(tx *Site) error {
		if err := tx.lockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
			return err
		}
		_, found, err := tx.customerRow(ctx, sq.Eq{"id": id})
		if err != nil {
			return err
		}
		if !found {
			return notFound(CustomerResource, id)
		}
		count, err := tx.count(ctx, "count bookings of customer", list{filter: sq.Select().From(tx.db.Name(wpdb.Bookings)).Where(sq.Eq{"customer_id": id})})
		if err != nil {
			return err
		}
		if count > 0 {
			return &Error{Code: CodeCustomerHasBookings, Message: "Cannot delete customer with existing bookings", Count: count}
		}
		return tx.deleteCustomerRows(ctx, id)
	})
}

func (s *Site) deleteCustomerRows(ctx context.Context, id int64) error {
	stmt := sq.Select("id").From(s.db.Name(wpdb.Orders)).Where(sq.Eq{"customer_id": id}).OrderBy("id")
	orders, err := wpdb.All(ctx, s.db, "find orders of customer", stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	if err := s.deleteOrders(ctx, orders); err != nil {
		return err
	}
	if err := s.deleteByID(ctx, wpdb.Transactions, sq.Eq{"customer_id": id}); err != nil {
		return err
	}
	if err := s.deleteByID(ctx, wpdb.CustomerMeta, sq.Eq{"object_id": id}); err != nil {
		return err
	}
	return s.deleteByID(ctx, wpdb.Customers, sq.Eq{"id": id})
}

// deleteOrders deletes orders with what the plugin deletes with them
// (OsOrderModel::delete). Their invoices stay.
func (s *Site) deleteOrders(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := s.deleteJobs(ctx, sq.Eq{"object_id": ids, "object_model_type": "order"}); err != nil {
		return err
	}
	for _, of := range []struct {
		table  wpdb.Table
		column string
	}{{wpdb.Transactions, "order_id"}, {wpdb.OrderItems, "order_id"}, {wpdb.OrderMeta, "object_id"}, {wpdb.Orders, "id"}} {
		if err := s.deleteByID(ctx, of.table, sq.Eq{of.column: ids}); err != nil {
			return err
		}
	}
	return nil
}

// deleteByID deletes rows that are looked for first: a DELETE that searches a
// table without an index would lock all of it.
func (s *Site) deleteByID(ctx context.Context, table wpdb.Table, which sq.Eq) error {
	stmt := sq.Select("id").From(s.db.Name(table)).Where(which)
	ids, err := wpdb.All(ctx, s.db, "find in "+string(table), stmt, wpdb.Value[int64])
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = wpdb.Exec(ctx, s.db, "delete from "+string(table), sq.Delete(s.db.Name(table)).Where(sq.Eq{"id": ids}))
	return err
}
