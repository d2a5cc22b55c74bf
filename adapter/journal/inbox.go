package journal

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// How changes are entered
//
// Whoever changes a record of the site inserts one row for each changed record into
// {prefix}bookside_change_inbox:
//
//	INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, actor_id, status, at)
//	VALUES ('bookings', 17, 'updated', 'site', 3, 'approved', UTC_TIMESTAMP())
//
//	resource     bookings, customers, orders, payments (rows of latepoint_transactions),
//	             invoices, services, agents, locations or coupons
//	resource_id  the id of the row
//	kind         created, updated or deleted
//	origin       site for changes in WordPress (api is for Bookside itself)
//	actor_id     the id of the WordPress user, or NULL
//	status       of a booking: its new status, or NULL if it did not change or is not known
//	at           the time in UTC
//
// The rules for everyone who inserts:
//
//   - A row is inserted after the change that it is about, in the same transaction if
//     there is one, or else as soon as possible. Several rows may go into one statement.
//   - Rows are never updated or deleted except by the server that numbers them.
//   - A change that nobody entered is found later, and gets one entry with the origin
//     found. If a row for it arrives after that, it is dropped.
//   - Rows with another resource or kind are dropped.

// Enter puts changes into the inbox, in the transaction tx that makes them. actor is the
// id of the API key, or 0.
func Enter(ctx context.Context, tx *wpdb.DB, now time.Time, actor int64, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.Name(wpdb.ChangeInbox)).Columns("resource", "resource_id", "kind", "origin", "actor_id", "status", "at")
	at := domain.Stamp(now)
	for _, c := range changes {
		stmt = stmt.Values(string(c.Resource), c.ID, string(c.Kind), string(FromAPI), wpdb.NullIfZero(actor), wpdb.NullIfZero(c.Status), at)
	}
	_, err := wpdb.Exec(ctx, tx, "enter changes", stmt)
	return err
}
