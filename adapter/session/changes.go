package session

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/journal"
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

// Delete adds deleted records. before are the assignments of bookings, by id.
func (c *ChangeList) Delete(table wpdb.Table, ids []int64, before map[int64]journal.Assignment) {
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
		if assigned, known := before[id]; known && change.From == nil {
			change.From = &assigned
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
	if tx.ForUser() {
		by = journal.Author{Origin: journal.FromSite, ActorID: tx.caller.UserID}
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

// bookingsOfOrders returns the bookings of orders, by order. As in OrderBookings, the JSON of an item names its booking, and the
// bookings of a bundle are looked up among the customer's.
func bookingsOfOrders(ctx context.Context, db *wpdb.DB, orders []int64) (map[int64][]int64, error) {
	type item struct {
		id, order int64
		data      string
	}
	stmt := sq.Select("id", "order_id", "item_data").From(db.Name(wpdb.OrderItems)).Where(sq.Eq{"order_id": orders}).OrderBy("id")
	items, err := wpdb.All(ctx, db, "read items of orders", stmt, wpdb.Into(func(i *item) []any {
		return []any{&i.id, &i.order, wpdb.OrZero(&i.data)}
	}))
	if err != nil || len(items) == 0 {
		return nil, err
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
			return nil, err
		}
		candidates = append(candidates, sq.Eq{"customer_id": customers})
	}
	stmt = sq.Select("id", "order_item_id").From(db.Name(wpdb.Bookings)).Where(candidates).Where(sq.Eq{"order_item_id": itemIDs}).OrderBy("id")
	found, err := wpdb.All(ctx, db, "find bookings of orders", stmt, wpdb.Into(func(b *[2]int64) []any {
		return []any{&b[0], &b[1]}
	}))
	bookings := map[int64][]int64{}
	for _, b := range found {
		order := orderOf[b[1]]
		bookings[order] = append(bookings[order], b[0])
	}
	return bookings, err
}
