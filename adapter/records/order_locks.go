package records

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// LockOrder makes other writers of an order, its payments and its invoices wait, and reads its current
// state, or returns a CodeNotFound.
func LockOrder(ctx context.Context, tx *session.Tx, id int64) (Order, error) {
	if err := tx.Lock(ctx, session.LockOf(session.OrderLock, id)); err != nil {
		return Order{}, err
	}
	return LockOrderRow(ctx, tx, id)
}

// LockOrderRow locks the row of an order and reads it, or returns a CodeNotFound.
func LockOrderRow(ctx context.Context, tx *session.Tx, id int64) (Order, error) {
	if err := tx.LockRows(ctx, wpdb.Orders, []int64{id}); err != nil {
		return Order{}, err
	}
	return LoadStoredOrder(ctx, tx.Session, id)
}

// LockCustomer reads the customer of an order or payment, and keeps PHP from deleting that customer.
func LockCustomer(ctx context.Context, tx *session.Tx, id *int64, p *domain.Validation) (BookingCustomer, error) {
	if id == nil || p.Has("customer_id") {
		return BookingCustomer{}, nil
	}
	if err := tx.LockRows(ctx, wpdb.Customers, []int64{*id}); err != nil {
		return BookingCustomer{}, err
	}
	found, ok, err := OrderCustomer(ctx, tx.Session, *id)
	if err != nil {
		return found, err
	}
	if err == nil && !ok {
		p.Invalid("customer_id", "Customer not found")
	}
	return found, err
}

// MovePayments moves the payments of an order to the order's new customer: the plugin leaves them behind,
// and deletes them with the previous customer. The order must be locked.
func MovePayments(ctx context.Context, tx *session.Tx, order, customer int64) error {
	stmt := sq.Select("id").From(tx.DB.Name(wpdb.Transactions)).Where(sq.Eq{"order_id": order}).
		Where(sq.NotEq{"COALESCE(customer_id, 0)": customer}).OrderBy("id")
	ids, err := wpdb.All(ctx, tx.DB, "find payments of order", stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := tx.Update(ctx, wpdb.Transactions, id, session.Row{{Name: "customer_id", Value: customer}, tx.UpdateTimestamp()}); err != nil {
			return err
		}
	}
	return nil
}
