package session

import (
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/wpdb"
)

// ownership defines which customers are a limited key's own: those whose records all lie within the scope.
// Anybody can be made the customer of a booking by their e-mail address, so bookings that limited keys wrote
// do not count; but a customer whom such a key created is its own.
type ownership struct {
	*Session
	scope   domain.Scope
	key     int64
	indexed scopeIndexesFound
}

// shownOfOthers are the columns that a key sees of customers who are not its own. A booking is about
// somebody, so there are names; lists are sorted by the time of creation.
var shownOfOthers = []string{"id", "first_name", "last_name", "created_at", "updated_at"}

// IsOwn is the column of the view of customers that marks the key's own.
const IsOwn = "bookside_own"

// viewOfCustomers is the view of the customers of bookings in scope. Hidden columns of others' customers
// are NULL. The key's own are joined a second time, because servers can merge a join with the statement
// around it, but not subqueries in a list of columns.
func (o ownership) viewOfCustomers() wpdb.View {
	table := o.DB.Name(wpdb.Customers)
	v := viewOfBookedCustomers(o.Session, o.scope)
	v.Joins = []sq.Sqlizer{sq.ConcatExpr("LEFT JOIN "+o.DB.As(wpdb.Customers, "own")+" ON own.id = "+table+".id AND ", o.ownCustomer(table+".id"))}
	sent := o.Schema.Has(wpdb.KeyRecords)
	if sent {
		v.Joins = append(v.Joins, sq.Expr("LEFT JOIN "+o.DB.As(wpdb.KeyRecords, "sent")+" ON sent.key_id = ? AND sent.resource = ? AND sent.record_id = "+table+".id",
			o.key, string(journal.Customers)))
	}
	for _, name := range o.Schema.ColumnNames(wpdb.Customers) {
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
	v.Columns = append(v.Columns, sq.Expr("own.id IS NOT NULL AS "+IsOwn))
	return v
}

// viewOfCalendarCustomers is the view of the customers of a calendar. A key that may book for its agent or
// location can make anybody the customer of a booking by their e-mail address, or create customers who
// later give more of themselves elsewhere, so only known customers have contact data.
func (o ownership) viewOfCalendarCustomers() wpdb.View {
	table := o.DB.Name(wpdb.Customers)
	v := viewOfBookedCustomers(o.Session, o.scope)
	v.Joins = []sq.Sqlizer{sq.ConcatExpr("LEFT JOIN "+o.DB.As(wpdb.Customers, "known")+" ON known.id = "+table+".id AND ", o.customerOfCalendar(table+".id"))}
	for _, name := range o.Schema.ColumnNames(wpdb.Customers) {
		column := table + "." + name
		if name == "email" || name == "phone" {
			column = "known." + name
		}
		v.Columns = append(v.Columns, sq.Expr(column))
	}
	return v
}

// customerOfCalendar is KnownCustomer without customers whom a limited key created and who have bookings
// elsewhere.
func (o ownership) customerOfCalendar(id string) sq.Sqlizer {
	elsewhere := o.bookingsOf(id).Where(bookingsOutside(o.scope, "x."))
	return sq.Or{o.bookedWithin(id), sq.And{o.knownCustomer(id), NotExistsPerRow(elsewhere)}}
}

// viewOfCustomerMeta is the view of the metadata of the key's own customers.
func (o ownership) viewOfCustomerMeta() wpdb.View {
	return wpdb.View{Table: wpdb.CustomerMeta, Rows: o.ownCustomer(o.DB.Name(wpdb.CustomerMeta) + ".object_id")}
}

// viewOfInvoices is the view of the invoices of orders that the key sees. The billing address is left out
// if it belongs to somebody else's customer.
func (o ownership) viewOfInvoices() wpdb.View {
	table := o.DB.Name(wpdb.OrderInvoices)
	orders := viewOfOrders(o.Session, o.scope, wpdb.OrderInvoices, "order_id", o.indexed.orders)
	v := wpdb.View{Table: wpdb.OrderInvoices, Rows: orders.Rows, Each: orders.Each, Joins: []sq.Sqlizer{
		sq.ConcatExpr("LEFT JOIN "+o.DB.As(wpdb.Orders, "billed")+" ON billed.id = "+table+".order_id AND ", o.ownCustomer("billed.customer_id")),
	}}
	for _, name := range o.Schema.ColumnNames(wpdb.OrderInvoices) {
		column := table + "." + name
		if name == "data" {
			column = "CASE WHEN billed.id IS NULL THEN NULL ELSE " + column + " END AS data"
		}
		v.Columns = append(v.Columns, sq.Expr(column))
	}
	return v
}

// ownCustomer returns the condition that the customer with an id is the key's own. No booking, order or
// payment may be hidden from the key, except for what it wrote itself, and either the customer has a
// booking that no limited key wrote, or a limited key created the customer.
func (o ownership) ownCustomer(id string) sq.Sqlizer {
	hidden := o.bookingsOf(id).Where(bookingsOutside(o.scope, "x.")).Where(o.notMade(journal.Bookings, "x.id"))
	// CASE keeps servers from examining all orders and payments for customers with hidden bookings.
	return sq.Case().When(sq.And{o.knownCustomer(id), NotExistsPerRow(hidden)}, sq.And{o.noHiddenOrder(id), o.noHiddenPayment(id)}).Else("FALSE")
}

// knownCustomer returns the condition that the customer with an id has a booking in scope that no scoped
// key wrote, or was created by one.
func (o ownership) knownCustomer(id string) sq.Sqlizer {
	if !o.Schema.Has(wpdb.KeyRecords) {
		return o.bookedWithin(id)
	}
	return sq.Or{o.bookedWithin(id), ExistsPerRow(o.made(journal.Customers, id))}
}

// bookedWithin returns the condition that the customer with an id has a booking in scope that no limited key
// wrote.
func (o ownership) bookedWithin(id string) sq.Sqlizer {
	seen := o.bookingsOf(id).Where(bookingsInScope(o.scope, "x."))
	if o.Schema.Has(wpdb.KeyRecords) {
		seen = seen.Where(NotExistsPerRow(o.made(journal.Bookings, "x.id")))
	}
	return ExistsPerRow(seen)
}

// bookingsOf selects the bookings, x, of the customer with an id.
func (o ownership) bookingsOf(id string) sq.SelectBuilder {
	return sq.Select("1").From(o.DB.As(wpdb.Bookings, "x")).Where("x.customer_id = " + id)
}

// noHiddenOrder returns the condition that the key sees all orders of a customer. Without the indexes, the
// customers with other orders are collected once.
func (o ownership) noHiddenOrder(id string) sq.Sqlizer {
	hidden := sq.Select().From(o.DB.As(wpdb.Orders, "y")).Where(sq.Expr("(?) IS NOT TRUE", o.orderSeen("y.id"))).Where(o.notMade(journal.Orders, "y.id"))
	if !o.indexed.orders {
		return sq.Expr("NOT ?", In(id, hidden.Column("y.customer_id")))
	}
	return NotExistsPerRow(hidden.Column("1").Where("y.customer_id = " + id))
}

// noHiddenPayment returns the condition that the key sees the orders of all payments of a customer.
// noHiddenOrder covers those of the customer's own orders.
func (o ownership) noHiddenPayment(id string) sq.Sqlizer {
	hidden := sq.Select().From(o.DB.As(wpdb.Transactions, "z")).LeftJoin(o.DB.As(wpdb.Orders, "y") + " ON y.id = z.order_id").
		Where("(y.customer_id <> z.customer_id) IS NOT FALSE").Where(sq.Or{sq.Eq{"y.id": nil}, sq.Expr("(?) IS NOT TRUE", o.orderSeen("y.id"))}).
		Where(sq.NotEq{"z.customer_id": nil}).Where(o.notMade(journal.Payments, "z.id"))
	if !o.indexed.payments {
		return sq.Expr("(?) IS NOT TRUE", In(id, hidden.Column("z.customer_id")))
	}
	return NotExistsPerRow(hidden.Column("1").Where("z.customer_id = " + id))
}

// orderSeen returns the condition that the key sees the order with an id.
func (o ownership) orderSeen(id string) sq.Sqlizer {
	if o.indexed.orders {
		return sq.And{ExistsPerRow(itemsOf(o.Session, id)), noneHidden(o.Session, o.scope, id)}
	}
	return sq.And{ExistsPerRow(itemsOf(o.Session, id)), sq.Expr("(?) IS NOT TRUE", In(id, mixedOrders(o.Session, o.scope)))}
}

// made selects the rows, r, that say who wrote the record with an id.
func (o ownership) made(resource journal.Resource, id string) sq.SelectBuilder {
	return sq.Select("1").From(o.DB.As(wpdb.KeyRecords, "r")).Where(sq.Eq{"r.resource": string(resource)}).Where("r.record_id = " + id).Where("r.made")
}

// notMade returns the condition that the key did not write the record with an id.
func (o ownership) notMade(resource journal.Resource, id string) sq.Sqlizer {
	if !o.Schema.Has(wpdb.KeyRecords) {
		return sq.Expr("TRUE") // see remember
	}
	return NotExistsPerRow(o.made(resource, id).Where(sq.Eq{"r.key_id": o.key}))
}
