package adapter

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/journal"
	"bookside/wpdb"
)

// changeList has the records that a transaction has changed so far, one change each, in the
// order in which they were first changed.
type changeList struct{ list []journal.Change }

// insert adds a new record.
func (c *changeList) insert(table wpdb.Table, id int64, rows []row) error {
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
	c.list = append(c.list, change)
	return nil
}

// update adds changed columns of a record. before is to what a booking belonged, if the
// columns move it; nil otherwise.
func (c *changeList) update(table wpdb.Table, id int64, columns row, before *journal.Assignment) {
	resource, ok := journal.ResourceOf(table)
	if !ok {
		return
	}
	change := c.find(resource, id)
	if change == nil {
		c.list = append(c.list, journal.Change{Resource: resource, ID: id, Kind: journal.Updated})
		change = &c.list[len(c.list)-1]
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

// delete adds deleted records. before is to what bookings belonged, by id.
func (c *changeList) delete(table wpdb.Table, ids []int64, before map[int64]journal.Assignment) {
	resource, ok := journal.ResourceOf(table)
	if !ok {
		return
	}
	for _, id := range ids {
		change := c.find(resource, id)
		if change == nil {
			c.list = append(c.list, journal.Change{Resource: resource, ID: id})
			change = &c.list[len(c.list)-1]
		}
		change.Kind, change.Status, change.To = journal.Deleted, "", nil
		if b, ok := before[id]; ok && change.From == nil {
			change.From = &b
		}
	}
}

// assignmentColumns are the columns of a booking with what it belongs to.
var assignmentColumns = []string{"agent_id", "service_id", "location_id", "customer_id"}

// moves reports whether columns of a record move a booking.
func moves(table wpdb.Table, columns row) bool {
	return table == wpdb.Bookings && slices.ContainsFunc(columns, func(c column) bool { return slices.Contains(assignmentColumns, c.name) })
}

// assign changes to what a booking belongs, as the columns say.
func assign(a *journal.Assignment, columns row) {
	for i, target := range []*int64{&a.AgentID, &a.ServiceID, &a.LocationID, &a.CustomerID} {
		for _, c := range columns {
			if id, ok := c.value.(int64); ok && c.name == assignmentColumns[i] {
				*target = id
			}
		}
	}
}

// assignments reads to what bookings belong.
func (tx *Tx) assignments(ctx context.Context, bookings ...int64) (map[int64]journal.Assignment, error) {
	type assigned struct {
		id int64
		journal.Assignment
	}
	stmt := sq.Select("id").Columns(assignmentColumns...).From(tx.db.Name(wpdb.Bookings)).Where(sq.Eq{"id": bookings})
	found, err := wpdb.All(ctx, tx.db, "read what bookings belong to", stmt, func(row wpdb.Scanner) (a assigned, err error) {
		return a, row.Scan(&a.id, wpdb.OrZero(&a.AgentID), wpdb.OrZero(&a.ServiceID), wpdb.OrZero(&a.LocationID), wpdb.OrZero(&a.CustomerID))
	})
	by := make(map[int64]journal.Assignment, len(found))
	for _, a := range found {
		by[a.id] = a.Assignment
	}
	return by, err
}

func (c *changeList) find(r journal.Resource, id int64) *journal.Change {
	for i := range c.list {
		if c.list[i].Resource == r && c.list[i].ID == id {
			return &c.list[i]
		}
	}
	return nil
}

// statusIn returns the status among the columns of a booking, or "".
func statusIn(r journal.Resource, columns row) string {
	if r != journal.Bookings {
		return ""
	}
	for _, c := range columns {
		if status, ok := c.value.(string); ok && c.name == "status" {
			return status
		}
	}
	return ""
}

// enterChanges enters the changes of the transaction into the journal. A database user who
// could not create our newest tables can still write.
func (tx *Tx) enterChanges(ctx context.Context) error {
	if !tx.schema.Has(wpdb.ChangeInbox) {
		return nil
	}
	var actor int64
	if tx.caller != nil {
		actor = tx.caller.ID
	}
	return journal.Enter(ctx, tx.db, tx.Now, actor, tx.changes.list)
}

// RunJournal numbers the changes of records and searches for those of others, until ctx
// ends. See journal.Journal.Run.
func (p *Platform) RunJournal(ctx context.Context, o journal.Options, log *slog.Logger) {
	o.BookingsOf = bookingsOfOrders
	o.Schema = func(ctx context.Context) (*wpdb.Schema, error) {
		site, err := p.Site(ctx)
		if err != nil {
			return nil, err
		}
		return site.schema, nil
	}
	p.Journal.Run(ctx, o, log)
}

// bookingsOfOrders finds the bookings of orders, by order. As in orderBookings, the JSON of an
// item names its booking, and the bookings of a bundle are searched among those of the customer.
func bookingsOfOrders(ctx context.Context, db *wpdb.DB, orders []int64) (map[int64][]int64, error) {
	type item struct{ id, order, booking int64 }
	stmt := sq.Select("id", "order_id", "item_data").From(db.Name(wpdb.OrderItems)).Where(sq.Eq{"order_id": orders}).OrderBy("id")
	items, err := wpdb.All(ctx, db, "read items of orders", stmt, func(row wpdb.Scanner) (i item, err error) {
		var data string
		err = row.Scan(&i.id, &i.order, wpdb.OrZero(&data))
		i.booking = itemBooking(data)
		return i, err
	})
	if err != nil || len(items) == 0 {
		return nil, err
	}
	var itemIDs, named, bundled []int64
	orderOf := map[int64]int64{}
	for _, i := range items {
		itemIDs, orderOf[i.id] = append(itemIDs, i.id), i.order
		if i.booking > 0 {
			named = append(named, i.booking)
		} else {
			bundled = append(bundled, i.order)
		}
	}
	candidates := sq.Or{sq.Eq{"id": named}}
	if len(bundled) > 0 {
		customers, err := wpdb.All(ctx, db, "read customers of orders", sq.Select("DISTINCT customer_id").From(db.Name(wpdb.Orders)).
			Where(sq.Eq{"id": bundled}).Where(sq.NotEq{"customer_id": nil}), wpdb.Value[int64])
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, sq.Eq{"customer_id": customers})
	}
	type ofItem struct{ id, item int64 }
	stmt = sq.Select("id", "order_item_id").From(db.Name(wpdb.Bookings)).Where(candidates).Where(sq.Eq{"order_item_id": itemIDs}).OrderBy("id")
	found, err := wpdb.All(ctx, db, "find bookings of orders", stmt, func(row wpdb.Scanner) (b ofItem, err error) {
		return b, row.Scan(&b.id, &b.item)
	})
	bookings := map[int64][]int64{}
	for _, b := range found {
		order := orderOf[b.item]
		bookings[order] = append(bookings[order], b.id)
	}
	return bookings, err
}
