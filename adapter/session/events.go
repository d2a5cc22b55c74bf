package session

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/wpdb"
)

// Tells reports whether an extension of the site listens to an event of the plugin, such as
// booking_created, so that the companion has to fire it.
func (s *Session) Tells(event string) bool {
	return slices.Contains(s.heardEvents(), event) && s.Schema.Has(wpdb.Events)
}

// heardEvents are the events that extensions listen to, as the companion reported; none once it is gone, or if nothing
// tells the extensions.
func (s *Session) heardEvents() []string {
	if s.Platform.Events == nil {
		return nil
	}
	return s.reported(domain.OptionEvents)
}

// AsksForMessages reports whether the companion has the plugin send what is due when something happens.
func (s *Session) AsksForMessages() bool {
	return slices.Contains(s.reported(domain.OptionEvents), extensions.EventMessages)
}

// PluginSends reports whether the plugin itself sends messages about what the API changes, because something is added
// to it that they may show or that sends them. It must be able to send mail.
func (s *Session) PluginSends(w WriteSettings) bool {
	return s.Tells(extensions.EventMessages) && w.Settings[SettingMailProcessor] != ""
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
	if tx.old[row] != nil || updateEvents[table] == "" || !tx.Tells(updateEvents[table]) && !tx.Tells(extensions.EventMessages) {
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

// Announce queues events for the extensions of the site that listen to them, and for the plugin if it sends messages about
// them. They are stored at the end of the transaction. Two events of one name about a record are one, because extensions and the
// plugin see only the record before the transaction and after it: the last one has the messages.
func (tx *Tx) Announce(all ...extensions.Event) {
	for _, e := range all {
		at := slices.IndexFunc(tx.announced, func(other extensions.Event) bool { return other.Name == e.Name && other.RecordID == e.RecordID })
		switch {
		case at >= 0 && e.Messages == "":
		case at >= 0:
			if tx.announced[at].Messages == extensions.AllMessages {
				e.Messages = extensions.AllMessages
			}
			tx.announced[at] = e
		case e.Messages != "" || tx.Tells(e.Name):
			tx.announced = append(tx.announced, e)
		}
	}
}

// storeEvents stores what was announced.
func storeEvents(ctx context.Context, tx *Tx) error {
	for i, e := range tx.announced {
		for table, name := range updateEvents {
			if name == e.Name {
				tx.announced[i].Old = tx.old[storedRow{table, e.RecordID}]
			}
		}
	}
	return extensions.StoreEvents(ctx, tx.DB, tx.Now, tx.announced)
}
