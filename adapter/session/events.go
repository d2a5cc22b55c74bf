package session

import (
	"context"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/events"
	"bookside/wpdb"
)

// Tells reports whether an extension of the site listens to an event of the plugin, such as
// booking_created, so that the companion has to fire it.
func (s *Session) Tells(event string) bool {
	return slices.Contains(s.toldEvents(), event) && s.Schema.Has(wpdb.Events)
}

// toldEvents are the events that extensions listen to; none if nothing tells the extensions.
func (s *Session) toldEvents() []string {
	if s.Events == nil {
		return nil
	}
	return s.heardEvents()
}

// heardEvents are the events that extensions listen to, as the companion reported.
func (s *Session) heardEvents() []string {
	return strings.Fields(wpdb.PlainText(s.options[domain.OptionEvents]))
}

// updateEvents are the events of changed rows.
var updateEvents = map[wpdb.Table]string{
	wpdb.Bookings: "booking_updated", wpdb.Customers: "customer_updated", wpdb.Orders: "order_updated",
}

// storedRow identifies the row of a record.
type storedRow struct {
	table wpdb.Table
	id    int64
}

// keepOld keeps the row of a record before its first change, if extensions are told about it.
func keepOld(ctx context.Context, tx *Tx, table wpdb.Table, id int64) error {
	row := storedRow{table, id}
	if tx.old[row] != nil || updateEvents[table] == "" || !tx.Tells(updateEvents[table]) {
		return nil
	}
	names := tx.Schema.ColumnNames(table)
	values := make([]*string, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	stmt := sq.Select(names...).From(tx.DB.Name(table)).Where(sq.Eq{"id": id})
	_, found, err := wpdb.One(ctx, tx.DB, "read "+string(table)+" before a change", stmt, func(row wpdb.Scanner) (struct{}, error) { return struct{}{}, row.Scan(into...) })
	if err != nil || !found {
		return err
	}
	old := map[string]*string{}
	for i, name := range names {
		old[name] = values[i]
	}
	if tx.old == nil {
		tx.old = map[storedRow]map[string]*string{}
	}
	tx.old[row] = old
	return nil
}

// Announce queues events for the extensions of the site that listen to them.
func (tx *Tx) Announce(ctx context.Context, all ...events.Event) error {
	var told []events.Event
	for _, e := range all {
		if !tx.Tells(e.Name) {
			continue
		}
		for table, name := range updateEvents {
			if name == e.Name {
				e.Old = tx.old[storedRow{table, e.RecordID}]
			}
		}
		told = append(told, e)
	}
	if len(told) == 0 || tx.DryRun {
		return nil
	}
	return events.Add(ctx, tx.DB, tx.Now, told)
}
