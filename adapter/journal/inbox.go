package journal

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
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
//	origin       site for changes in WordPress (api and console are for Bookside itself, unless
//	             WordPress asks it for a user)
//	actor_id     the id of the WordPress user, or NULL
//	status       of a booking: its new status, or NULL if it did not change or is not known
//	at           the time in UTC
//	request_id   the id of the request to the API, or empty
//
// and of a booking, to what it belongs, so that those who follow only some bookings learn
// that one came or left:
//
//	agent_id, service_id, location_id, customer_id
//	             after the change; NULL if it was deleted
//	old_agent_id, old_service_id, old_location_id, old_customer_id
//	             before the change; NULL if it was created
//
// All eight are NULL if that did not change, or is not known: then it is taken from the row
// and from what was seen of it before.
//
// The rules for everyone who inserts:
//
//   - A row is inserted after the change that it is about, in the same transaction if
//     there is one, or else as soon as possible. Several rows may go into one statement.
//   - Rows are never updated or deleted except by the server that numbers them.
//   - A change that nobody entered is found later, and gets one entry with the origin
//     found. If a row for it arrives after that, it is dropped.
//   - Rows with another resource or kind are dropped.

// requestKey is the key of a request's id in its context.
type requestKey struct{}

// ForRequest returns a context under which Enter notes the id of a request to the API.
func ForRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Author is who makes changes: see the fields of Entry.
type Author struct {
	Origin  Origin
	ActorID int64
}

// Enter puts changes into the inbox, in the transaction tx that makes them.
func Enter(ctx context.Context, tx *wpdb.DB, now time.Time, by Author, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.Name(wpdb.ChangeInbox)).Columns("resource", "resource_id", "kind", "origin", "actor_id", "status", "at").
		Columns(assignmentColumns("")...).Columns(assignmentColumns("old_")...).Columns("request_id")
	at := domain.Stamp(now)
	request, _ := ctx.Value(requestKey{}).(string)
	for _, c := range changes {
		values := []any{string(c.Resource), c.ID, string(c.Kind), string(by.Origin), wpdb.NullIfZero(by.ActorID), wpdb.NullIfZero(c.Status), at}
		stmt = stmt.Values(append(append(append(values, c.To.values()...), c.From.values()...), request)...)
	}
	_, err := wpdb.Exec(ctx, tx, "enter changes", stmt)
	return err
}

// assignmentColumns are the columns of an assignment in the inbox and in the journal.
func assignmentColumns(prefix string) []string {
	return []string{prefix + "agent_id", prefix + "service_id", prefix + "location_id", prefix + "customer_id"}
}

// values are the values for assignmentColumns, or NULL if there is no assignment.
func (a *Assignment) values() []any {
	if a == nil {
		a = new(Assignment)
	}
	return []any{wpdb.NullIfZero(a.AgentID), wpdb.NullIfZero(a.ServiceID), wpdb.NullIfZero(a.LocationID), wpdb.NullIfZero(a.CustomerID)}
}

// scanned are the variables that assignmentColumns are scanned into.
func (a *Assignment) scanned() []any {
	return []any{wpdb.OrZero(&a.AgentID), wpdb.OrZero(&a.ServiceID), wpdb.OrZero(&a.LocationID), wpdb.OrZero(&a.CustomerID)}
}

// orNil returns a scanned assignment, or nil if all columns were NULL.
func (a Assignment) orNil() *Assignment {
	if a == (Assignment{}) {
		return nil
	}
	return &a
}
