package adapter

import (
	"context"
	"errors"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/wpdb"
)

// ownership defines which customers are the own ones of a key with limits: those of whom everything
// lies within the limits. Anybody can be made the customer of a booking by their e-mail address, so
// what a key with limits wrote does not count: it makes nobody its own, but for the customers whom
// such a key created.
type ownership struct {
	*Site
	limits  domain.Limits
	key     int64
	indexed limitIndexesFound
}

// shownOfOthers are the columns of customers that a key sees of others than its own. A booking is
// about somebody, so there are names; lists are sorted by the time of creation.
var shownOfOthers = []string{"id", "first_name", "last_name", "created_at", "updated_at"}

// isOwnColumn is the column of the view of customers that tells the key's own from others.
const isOwnColumn = "bookside_own"

// viewOfCustomers is the view of the customers of bookings within the limits. What a key does not see
// of others is NULL. The own ones are joined a second time, because servers can merge a join with
// the statement around it, but no subqueries in a list of columns.
func (o ownership) viewOfCustomers() wpdb.View {
	table := o.db.Name(wpdb.Customers)
	v := o.viewOfBookedCustomers(o.limits)
	v.Joins = []sq.Sqlizer{sq.ConcatExpr("LEFT JOIN "+o.db.As(wpdb.Customers, "own")+" ON own.id = "+table+".id AND ", o.ownCustomer(table+".id"))}
	sent := o.schema.Has(wpdb.KeyRecords)
	if sent {
		v.Joins = append(v.Joins, sq.Expr("LEFT JOIN "+o.db.As(wpdb.KeyRecords, "sent")+" ON sent.key_id = ? AND sent.resource = ? AND sent.record_id = "+table+".id",
			o.key, string(journal.Customers)))
	}
	for _, name := range o.schema.ColumnNames(wpdb.Customers) {
		column := "own." + name
		switch {
		case slices.Contains(shownOfOthers, name):
			column = table + "." + name
		case name == "status": // never NULL
			column = "COALESCE(own.status, '') AS status"
		case sent && (name == "email" || name == "phone"):
			column = "CASE WHEN own.id IS NULL THEN sent." + name + " ELSE own." + name + " END AS " + name
		}
		v.Columns = append(v.Columns, sq.Expr(column))
	}
	v.Columns = append(v.Columns, sq.Expr("own.id IS NOT NULL AS "+isOwnColumn))
	return v
}

// viewOfCalendarCustomers is the view of the customers of a calendar. Whoever may book for its agent
// or location can make anybody the customer of a booking by their e-mail address, or create customers
// who give more of themselves elsewhere, so that the contacts are only those of known customers.
func (o ownership) viewOfCalendarCustomers() wpdb.View {
	table := o.db.Name(wpdb.Customers)
	v := o.viewOfBookedCustomers(o.limits)
	v.Joins = []sq.Sqlizer{sq.ConcatExpr("LEFT JOIN "+o.db.As(wpdb.Customers, "known")+" ON known.id = "+table+".id AND ", o.customerOfCalendar(table+".id"))}
	for _, name := range o.schema.ColumnNames(wpdb.Customers) {
		column := table + "." + name
		if name == "email" || name == "phone" {
			column = "known." + name
		}
		v.Columns = append(v.Columns, sq.Expr(column))
	}
	return v
}

// customerOfCalendar is knownCustomer without those whom a key with limits created and who have bookings
// elsewhere.
func (o ownership) customerOfCalendar(id string) sq.Sqlizer {
	elsewhere := o.bookingsOf(id).Where(bookingsOutside(o.limits, "x."))
	return sq.Or{o.bookedWithin(id), sq.And{o.knownCustomer(id), notExistsPerRow(elsewhere)}}
}

// viewOfCustomerMeta is the view of the metadata of the key's own customers.
func (o ownership) viewOfCustomerMeta() wpdb.View {
	return wpdb.View{Table: wpdb.CustomerMeta, Rows: o.ownCustomer(o.db.Name(wpdb.CustomerMeta) + ".object_id")}
}

// viewOfInvoices is the view of the invoices of orders that the key sees, without the address of
// whoever is billed if that is somebody else's customer.
func (o ownership) viewOfInvoices() wpdb.View {
	table := o.db.Name(wpdb.OrderInvoices)
	orders := o.viewOfOrders(o.limits, wpdb.OrderInvoices, "order_id", o.indexed.orders)
	v := wpdb.View{Table: wpdb.OrderInvoices, Rows: orders.Rows, Each: orders.Each, Joins: []sq.Sqlizer{
		sq.ConcatExpr("LEFT JOIN "+o.db.As(wpdb.Orders, "billed")+" ON billed.id = "+table+".order_id AND ", o.ownCustomer("billed.customer_id")),
	}}
	for _, name := range o.schema.ColumnNames(wpdb.OrderInvoices) {
		column := table + "." + name
		if name == "data" {
			column = "CASE WHEN billed.id IS NULL THEN NULL ELSE " + column + " END AS data"
		}
		v.Columns = append(v.Columns, sq.Expr(column))
	}
	return v
}

// ownCustomer returns the condition that the customer with an id is the key's own: no booking, order
// or payment is hidden from the key, but for what it made itself, and there is a booking that no key
// with limits made, or one created the customer.
func (o ownership) ownCustomer(id string) sq.Sqlizer {
	hidden := o.bookingsOf(id).Where(bookingsOutside(o.limits, "x.")).Where(o.notMade(journal.Bookings, "x.id"))
	// CASE keeps servers from looking at all orders and payments for customers with hidden bookings.
	return sq.Case().When(sq.And{o.knownCustomer(id), notExistsPerRow(hidden)}, sq.And{o.noHiddenOrder(id), o.noHiddenPayment(id)}).Else("FALSE")
}

// knownCustomer returns the condition that the customer with an id has a booking within the limits
// that no key with limits made, or that one created the customer.
func (o ownership) knownCustomer(id string) sq.Sqlizer {
	if !o.schema.Has(wpdb.KeyRecords) {
		return o.bookedWithin(id)
	}
	return sq.Or{o.bookedWithin(id), existsPerRow(o.made(journal.Customers, id))}
}

// bookedWithin returns the condition that the customer with an id has a booking within the limits that no
// key with limits made.
func (o ownership) bookedWithin(id string) sq.Sqlizer {
	seen := o.bookingsOf(id).Where(bookingsInScope(o.limits, "x."))
	if o.schema.Has(wpdb.KeyRecords) {
		seen = seen.Where(notExistsPerRow(o.made(journal.Bookings, "x.id")))
	}
	return existsPerRow(seen)
}

// bookingsOf selects the bookings, x, of the customer with an id.
func (o ownership) bookingsOf(id string) sq.SelectBuilder {
	return sq.Select("1").From(o.db.As(wpdb.Bookings, "x")).Where("x.customer_id = " + id)
}

// noHiddenOrder returns the condition that the key sees all orders of a customer. Without the indexes,
// the customers with other orders are found once.
func (o ownership) noHiddenOrder(id string) sq.Sqlizer {
	hidden := sq.Select().From(o.db.As(wpdb.Orders, "y")).Where(sq.Expr("(?) IS NOT TRUE", o.orderSeen("y.id"))).Where(o.notMade(journal.Orders, "y.id"))
	if !o.indexed.orders {
		return sq.Expr("NOT ?", in(id, hidden.Column("y.customer_id")))
	}
	return notExistsPerRow(hidden.Column("1").Where("y.customer_id = " + id))
}

// noHiddenPayment returns the condition that the key sees the orders of all payments of a customer.
// Those of the customer's own orders are those of noHiddenOrder.
func (o ownership) noHiddenPayment(id string) sq.Sqlizer {
	hidden := sq.Select().From(o.db.As(wpdb.Transactions, "z")).LeftJoin(o.db.As(wpdb.Orders, "y") + " ON y.id = z.order_id").
		Where("(y.customer_id <> z.customer_id) IS NOT FALSE").Where(sq.Or{sq.Eq{"y.id": nil}, sq.Expr("(?) IS NOT TRUE", o.orderSeen("y.id"))}).
		Where(sq.NotEq{"z.customer_id": nil}).Where(o.notMade(journal.Payments, "z.id"))
	if !o.indexed.payments {
		return sq.Expr("(?) IS NOT TRUE", in(id, hidden.Column("z.customer_id")))
	}
	return notExistsPerRow(hidden.Column("1").Where("z.customer_id = " + id))
}

// orderSeen returns the condition that the key sees the order with an id.
func (o ownership) orderSeen(id string) sq.Sqlizer {
	if o.indexed.orders {
		return sq.And{existsPerRow(o.itemsOf(id)), o.noneHidden(o.limits, id)}
	}
	return sq.And{existsPerRow(o.itemsOf(id)), sq.Expr("(?) IS NOT TRUE", in(id, o.mixedOrders(o.limits)))}
}

// made selects the rows, r, about who made the record with an id.
func (o ownership) made(resource journal.Resource, id string) sq.SelectBuilder {
	return sq.Select("1").From(o.db.As(wpdb.KeyRecords, "r")).Where(sq.Eq{"r.resource": string(resource)}).Where("r.record_id = " + id).Where("r.made")
}

// notMade returns the condition that the key did not make the record with an id.
func (o ownership) notMade(resource journal.Resource, id string) sq.Sqlizer {
	if !o.schema.Has(wpdb.KeyRecords) {
		return sq.Expr("TRUE") // see remember
	}
	return notExistsPerRow(o.made(resource, id).Where(sq.Eq{"r.key_id": o.key}))
}

// knownCustomer is what the caller may know of a customer.
type knownCustomer struct {
	seen bool
	own  bool
	// shown is the customer as the caller sees them.
	shown BookingCustomer
}

// knowsCustomer returns what the caller may know of a customer. Without limits that is not looked up.
func (s *Site) knowsCustomer(ctx context.Context, c BookingCustomer) (knownCustomer, error) {
	if s.limits().None() {
		return knownCustomer{true, true, c}, nil
	}
	within := s.AsCaller()
	stmt := sq.Select("id", "first_name", "last_name", "email", "phone", isOwnColumn).From(within.db.Name(wpdb.Customers)).Where(sq.Eq{"id": c.ID})
	known, _, err := wpdb.One(ctx, within.db, "look for a customer within limits", stmt, func(row wpdb.Scanner) (k knownCustomer, err error) {
		k.seen = true
		return k, row.Scan(&k.shown.ID, wpdb.OrZero(&k.shown.FirstName), wpdb.OrZero(&k.shown.LastName), wpdb.OrZero(&k.shown.Email), wpdb.OrZero(&k.shown.Phone), &k.own)
	})
	return known, err
}

// requireOwn returns a CodeOutsideLimits if a customer whom the caller sees is not its own.
func (s *Site) requireOwn(ctx context.Context, id int64) error {
	known, err := s.knowsCustomer(ctx, BookingCustomer{ID: id})
	if err == nil && !known.own {
		err = domain.OutsideLimits()
	}
	return err
}

// errNotRemembered means that a table of ours does not exist.
var errNotRemembered = errors.New("bookside_key_records does not exist")

// remember stores that the caller, if it has limits, made a record.
func (tx *Tx) remember(ctx context.Context, resource journal.Resource, ids ...int64) error {
	for _, id := range ids {
		if err := tx.rememberRow(ctx, resource, id, true, BookingCustomer{}); err != nil {
			return err
		}
	}
	return nil
}

// rememberContact stores the contact of a customer that the caller, if it has limits, sent. made is
// whether it created the customer.
func (tx *Tx) rememberContact(ctx context.Context, id int64, sent BookingCustomer, made bool) error {
	return tx.rememberRow(ctx, journal.Customers, id, made, sent)
}

func (tx *Tx) rememberRow(ctx context.Context, resource journal.Resource, id int64, made bool, sent BookingCustomer) error {
	if tx.limits().None() || tx.dry {
		return nil
	}
	if !tx.schema.Has(wpdb.KeyRecords) { // then everything would count
		return domain.Unavailable("A table of Bookside is missing: keys with limits cannot write", errNotRemembered)
	}
	stmt := sq.Insert(tx.db.Name(wpdb.KeyRecords)).Columns("key_id", "resource", "record_id", "made", "email", "phone", "created_at").
		Values(tx.callerID(), string(resource), id, made, ascii(sent.Email), ascii(sent.Phone), domain.Stamp(tx.Now)).
		Suffix("ON DUPLICATE KEY UPDATE made = GREATEST(made, VALUES(made)), email = COALESCE(NULLIF(VALUES(email), ''), email), phone = COALESCE(NULLIF(VALUES(phone), ''), phone)")
	_, err := tx.exec(ctx, wpdb.KeyRecords, "remember a record of a key", stmt)
	return err
}

// ascii returns a text if it is ASCII, as all addresses and numbers are that are accepted, and "" otherwise.
func ascii(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
		return ""
	}
	return text
}

// forgottenRecords select what is known of records that were deleted since. What a key made stays
// known when it is revoked: otherwise the next key with limits would take it for somebody else's.
func forgottenRecords(db *wpdb.DB) []sq.SelectBuilder {
	rows := sq.Select("r.id").From(db.As(wpdb.KeyRecords, "r"))
	var all []sq.SelectBuilder
	for _, resource := range []journal.Resource{journal.Bookings, journal.Customers, journal.Orders, journal.Payments} {
		all = append(all, rows.LeftJoin(db.As(journal.TableOf(resource), "t")+" ON t.id = r.record_id").Where(sq.Eq{"r.resource": string(resource), "t.id": nil}))
	}
	return all
}
