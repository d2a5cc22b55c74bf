package adapter

import (
	"context"
	"fmt"
	"log/slog"

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
	c.list = append(c.list, journal.Change{Resource: resource, ID: id, Kind: journal.Created, Status: statusIn(resource, rows[0])})
	return nil
}

// update adds changed columns of a record.
func (c *changeList) update(table wpdb.Table, id int64, columns row) {
	resource, ok := journal.ResourceOf(table)
	if !ok {
		return
	}
	status := statusIn(resource, columns)
	if earlier := c.find(resource, id); earlier != nil {
		if status != "" {
			earlier.Status = status
		}
		return
	}
	c.list = append(c.list, journal.Change{Resource: resource, ID: id, Kind: journal.Updated, Status: status})
}

// delete adds deleted records.
func (c *changeList) delete(table wpdb.Table, ids []int64) {
	resource, ok := journal.ResourceOf(table)
	if !ok {
		return
	}
	for _, id := range ids {
		if earlier := c.find(resource, id); earlier != nil {
			earlier.Kind, earlier.Status = journal.Deleted, ""
			continue
		}
		c.list = append(c.list, journal.Change{Resource: resource, ID: id, Kind: journal.Deleted})
	}
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
	o.Schema = func(ctx context.Context) (*wpdb.Schema, error) {
		site, err := p.Site(ctx)
		if err != nil {
			return nil, err
		}
		return site.schema, nil
	}
	p.Journal.Run(ctx, o, log)
}
