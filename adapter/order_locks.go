package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/wpdb"
)

// lockOrder makes other writers of an order, its payments and its invoices wait, and
// reads its current state; a CodeNotFound if it does not exist.
func (tx *Tx) lockOrder(ctx context.Context, id int64) (Order, error) {
	if err := tx.lock(ctx, lockOf(orderLock, id)); err != nil {
		return Order{}, err
	}
	return tx.lockOrderRow(ctx, id)
}

// lockOrderRow locks the row of an order and reads it; a CodeNotFound if it does not exist.
func (tx *Tx) lockOrderRow(ctx context.Context, id int64) (Order, error) {
	if err := tx.lockRows(ctx, wpdb.Orders, []int64{id}); err != nil {
		return Order{}, err
	}
	return tx.storedOrder(ctx, id)
}

// lockCustomer reads the customer of an order or payment, and keeps PHP from deleting
// them.
func (tx *Tx) lockCustomer(ctx context.Context, id *int64, p *domain.Validation) (BookingCustomer, error) {
	if id == nil || p.Has("customer_id") {
		return BookingCustomer{}, nil
	}
	if err := tx.lockRows(ctx, wpdb.Customers, []int64{*id}); err != nil {
		return BookingCustomer{}, err
	}
	found, ok, err := tx.orderCustomer(ctx, *id)
	if err != nil {
		return found, err
	}
	known, err := tx.knowsCustomer(ctx, found)
	if err == nil && (!ok || !known.seen) {
		p.Invalid("customer_id", "Customer not found")
	}
	return found, err
}

// movePayments gives the payments of an order to the customer to whom the order goes: the
// plugin leaves them behind, and deletes them with the customer of before. The order is
// locked.
func (tx *Tx) movePayments(ctx context.Context, order, customer int64) error {
	stmt := sq.Select("id").From(tx.db.Name(wpdb.Transactions)).Where(sq.Eq{"order_id": order}).
		Where(sq.NotEq{"COALESCE(customer_id, 0)": customer}).OrderBy("id")
	ids, err := wpdb.All(ctx, tx.db, "find payments of order", stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := tx.update(ctx, wpdb.Transactions, id, row{{"customer_id", customer}, tx.updateTimestamp()}); err != nil {
			return err
		}
	}
	return tx.remember(ctx, journal.Payments, ids...)
}
