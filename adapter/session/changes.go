package session

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// ChangeList holds the records that a transaction has changed so far, with one change each, in the order of
// their first change.
type ChangeList struct{ List []journal.Change }

// Insert adds a new record.
func (c *ChangeList) Insert(table wpdb.Table, id int64, rows []Row) error {
	resource, ok := journal.ResourceOf(table)
	if !ok {
		return nil
	}
	if len(rows) > 1 {
		return fmt.Errorf("insert into %s: the ids of several rows are not known", table)
	}
	change := journal.Change{Resource: resource, ID: id, Kind: journal.Created, Status: statusIn(resource, rows[0])}
	if resource == journal.Bookings {
		change.To = new(journal.Assignment)
		assign(change.To, rows[0])
	}
	c.List = append(c.List, change)
	return nil
}

// Update adds changed columns of a record. before is the assignment of a booking that the columns move; nil
// otherwise.
func (c *ChangeList) Update(table wpdb.Table, id int64, columns Row, before *journal.Assignment) {
	resource, ok := journal.ResourceOf(table)
	if !ok {
		return
	}
	change := c.find(resource, id)
	if change == nil {
		c.List = append(c.List, journal.Change{Resource: resource, ID: id, Kind: journal.Updated})
		change = &c.List[len(c.List)-1]
	}
	if status := statusIn(resource, columns); status != "" {
		change.Status = status
	}
	if before == nil {
		return
	}
	if change.To == nil {
		change.From, change.To = before, new(*before)
	}
	assign(change.To, columns)
}

// Delete adds deleted records. before are the assignments of the bookings, or of the bookings of other
// records, by id.
func (c *ChangeList) Delete(table wpdb.Table, ids []int64, before map[int64]journal.Belonged) {
	resource, ok := journal.ResourceOf(table)
	if !ok {
		return
	}
	for _, id := range ids {
		change := c.find(resource, id)
		if change == nil {
			c.List = append(c.List, journal.Change{Resource: resource, ID: id})
			change = &c.List[len(c.List)-1]
		}
		change.Kind, change.Status, change.To = journal.Deleted, "", nil
		switch b := before[id]; {
		case resource != journal.Bookings:
			change.Belonged = b
		case len(b) > 0 && change.From == nil:
			change.From = &b[0]
		}
	}
}

// assignmentColumns are the columns that assign a booking.
var assignmentColumns = []string{"agent_id", "service_id", "location_id", "customer_id"}

// moves reports whether columns of a record move a booking.
func moves(table wpdb.Table, columns Row) bool {
	return table == wpdb.Bookings && slices.ContainsFunc(columns, func(c Column) bool { return slices.Contains(assignmentColumns, c.Name) })
}

// assign changes an assignment as the columns say.
func assign(a *journal.Assignment, columns Row) {
	for i, target := range []*int64{&a.AgentID, &a.ServiceID, &a.LocationID, &a.CustomerID} {
		for _, c := range columns {
			if id, ok := c.Value.(int64); ok && c.Name == assignmentColumns[i] {
				*target = id
			}
		}
	}
}

// belonged returns the assignments of records that are about to be deleted: those of bookings themselves,
// or those of the bookings of customers, orders, payments and invoices.
func belonged(ctx context.Context, tx *Tx, table wpdb.Table, ids []int64) (map[int64]journal.Belonged, error) {
	byRecord := map[int64]journal.Belonged{}
	switch table {
	case wpdb.Bookings:
		found, err := assignments(ctx, tx, ids...)
		for id, a := range found {
			byRecord[id] = journal.Belonged{a}
		}
		return byRecord, err
	case wpdb.Orders:
		return belongedInOrders(ctx, tx.DB, ids)
	case wpdb.Transactions, wpdb.OrderInvoices:
		return byRecord, belongedThrough(ctx, tx, byRecord, sq.Select("id", "order_id").From(tx.DB.Name(table)).Where(sq.Eq{"id": ids}))
	case wpdb.Customers:
		if err := belongedThrough(ctx, tx, byRecord, sq.Select("customer_id", "id").From(tx.DB.Name(wpdb.Orders)).Where(sq.Eq{"customer_id": ids})); err != nil {
			return nil, err
		}
		bookings := sq.Select("DISTINCT customer_id", "agent_id", "service_id", "location_id").From(tx.DB.Name(wpdb.Bookings)).Where(sq.Eq{"customer_id": ids})
		found, err := wpdb.All(ctx, tx.DB, "read what customers belong to", bookings, func(row wpdb.Scanner) (a journal.Assignment, err error) {
			return a, row.Scan(&a.CustomerID, wpdb.OrZero(&a.AgentID), wpdb.OrZero(&a.ServiceID), wpdb.OrZero(&a.LocationID))
		})
		for _, a := range found {
			byRecord[a.CustomerID] = append(byRecord[a.CustomerID], a)
		}
		return byRecord, err
	default:
		return nil, nil
	}
}

// belongedThrough adds the assignments of the bookings of orders. The SELECT has ids of records and of
// their orders.
func belongedThrough(ctx context.Context, tx *Tx, byRecord map[int64]journal.Belonged, orders sq.SelectBuilder) error {
	type pair struct{ record, order int64 }
	pairs, err := wpdb.All(ctx, tx.DB, "find orders of records", orders, func(row wpdb.Scanner) (p pair, err error) {
		return p, row.Scan(&p.record, wpdb.OrZero(&p.order))
	})
	if err != nil || len(pairs) == 0 {
		return err
	}
	ids := make([]int64, len(pairs))
	for i, p := range pairs {
		ids[i] = p.order
	}
	in, err := belongedInOrders(ctx, tx.DB, ids)
	for _, p := range pairs {
		byRecord[p.record] = append(byRecord[p.record], in[p.order]...)
	}
	return err
}

// assignments reads the assignments of bookings.
func assignments(ctx context.Context, tx *Tx, bookings ...int64) (map[int64]journal.Assignment, error) {
	stmt := sq.Select("id").Columns(assignmentColumns...).From(tx.DB.Name(wpdb.Bookings)).Where(sq.Eq{"id": bookings})
	return wpdb.MapBy(ctx, tx.DB, "read what bookings belong to", stmt, func(row wpdb.Scanner) (id int64, a journal.Assignment, err error) {
		err = row.Scan(&id, wpdb.OrZero(&a.AgentID), wpdb.OrZero(&a.ServiceID), wpdb.OrZero(&a.LocationID), wpdb.OrZero(&a.CustomerID))
		return id, a, err
	})
}

func (c *ChangeList) find(r journal.Resource, id int64) *journal.Change {
	for i := range c.List {
		if c.List[i].Resource == r && c.List[i].ID == id {
			return &c.List[i]
		}
	}
	return nil
}

// statusIn returns the status among the columns of a booking, or "".
func statusIn(r journal.Resource, columns Row) string {
	if r != journal.Bookings {
		return ""
	}
	for _, c := range columns {
		if status, ok := c.Value.(string); ok && c.Name == "status" {
			return status
		}
	}
	return ""
}

// enterChanges enters the changes of the transaction into the journal. A database user who could not create
// our newest tables can still write.
func enterChanges(ctx context.Context, tx *Tx) error {
	if !tx.Schema.Has(wpdb.ChangeInbox) {
		return nil
	}
	by := journal.Author{Origin: journal.FromAPI, ActorID: tx.CallerID()}
	switch {
	case tx.ForUser():
		by = journal.Author{Origin: journal.FromSite, ActorID: tx.caller.UserID}
	case tx.caller != nil && tx.caller.Kind == keys.Admin:
		by = journal.Author{Origin: journal.FromConsole, Person: tx.caller.Name}
	}
	return journal.Enter(ctx, tx.DB, tx.Now, by, tx.Changes.List)
}

// RunJournal numbers the changes of records and searches for changes made by others, until ctx ends. See
// journal.Journal.Run.
func (p *Platform) RunJournal(ctx context.Context, o journal.Options, log *slog.Logger) {
	o.BookingsOf = bookingsOfOrders
	o.Schema = func(ctx context.Context) (*wpdb.Schema, error) {
		site, err := p.Session(ctx)
		if err != nil {
			return nil, err
		}
		return site.Schema, nil
	}
	p.Journal.Run(ctx, o, log)
}

// bookingsOfOrders returns the bookings of orders, by order.
func bookingsOfOrders(ctx context.Context, db *wpdb.DB, orders []int64) (map[int64][]int64, error) {
	_, found, err := itemsOfOrders(ctx, db, orders)
	bookings := map[int64][]int64{}
	for _, b := range found {
		bookings[b.order] = append(bookings[b.order], b.id)
	}
	return bookings, err
}

// belongedInOrders returns the assignments of the bookings of orders. A booking that was deleted earlier
// has the assignment in its item's JSON.
func belongedInOrders(ctx context.Context, db *wpdb.DB, orders []int64) (map[int64]journal.Belonged, error) {
	items, found, err := itemsOfOrders(ctx, db, orders)
	belonged, complete := map[int64]journal.Belonged{}, map[int64]bool{}
	for _, b := range found {
		belonged[b.order] = append(belonged[b.order], b.Assignment)
		complete[b.item] = true
	}
	for _, i := range items {
		if !complete[i.id] {
			belonged[i.order] = append(belonged[i.order], itemAssignment(i.data))
		}
	}
	return belonged, err
}

// orderItem is an item of an order with its JSON, and bookingOfItem one of its bookings.
type (
	orderItem struct {
		id, order int64
		data      string
	}
	bookingOfItem struct {
		id, item, order int64
		journal.Assignment
	}
)

// itemsOfOrders reads the items of orders, and their bookings. As in OrderBookings, the JSON of an item
// names its booking, and the bookings of a bundle are looked up among the customer's.
func itemsOfOrders(ctx context.Context, db *wpdb.DB, orders []int64) (items []orderItem, found []bookingOfItem, err error) {
	stmt := sq.Select("id", "order_id", "item_data").From(db.Name(wpdb.OrderItems)).Where(sq.Eq{"order_id": orders}).OrderBy("id")
	items, err = wpdb.All(ctx, db, "read items of orders", stmt, func(row wpdb.Scanner) (i orderItem, err error) {
		return i, row.Scan(&i.id, &i.order, wpdb.OrZero(&i.data))
	})
	if err != nil || len(items) == 0 {
		return nil, nil, err
	}
	var itemIDs, named, bundled []int64
	orderOf := map[int64]int64{}
	for _, i := range items {
		itemIDs, orderOf[i.id] = append(itemIDs, i.id), i.order
		if booking := ItemBooking(i.data); booking > 0 {
			named = append(named, booking)
		} else {
			bundled = append(bundled, i.order)
		}
	}
	candidates := sq.Or{sq.Eq{"id": named}}
	if len(bundled) > 0 {
		customers, err := wpdb.All(ctx, db, "read customers of orders", sq.Select("DISTINCT customer_id").From(db.Name(wpdb.Orders)).
			Where(sq.Eq{"id": bundled}).Where(sq.NotEq{"customer_id": nil}), wpdb.Value[int64])
		if err != nil {
			return nil, nil, err
		}
		candidates = append(candidates, sq.Eq{"customer_id": customers})
	}
	stmt = sq.Select("id", "order_item_id", "agent_id", "service_id", "location_id").From(db.Name(wpdb.Bookings)).
		Where(candidates).Where(sq.Eq{"order_item_id": itemIDs}).OrderBy("id")
	found, err = wpdb.All(ctx, db, "find bookings of orders", stmt, func(row wpdb.Scanner) (b bookingOfItem, err error) {
		err = row.Scan(&b.id, &b.item, wpdb.OrZero(&b.AgentID), wpdb.OrZero(&b.ServiceID), wpdb.OrZero(&b.LocationID))
		b.order = orderOf[b.item]
		return b, err
	})
	return items, found, err
}
