package customers

import (
	"context"
	"fmt"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Delete deletes a customer without bookings, with orders, payments and meta, as the plugin does
// (OsCustomerModel::delete, LatePoint 5.6.5), which also deletes the customer's payments for others'
// orders. Invoices and the WordPress user stay. It returns a CodeCustomerHasBookings for a customer with
// bookings, whatever their status, and a CodeCustomerHasPayments for one with successful payments, or whose
// orders have some.
func Delete(ctx context.Context, tx *session.Tx, id int64) error {
	orders, err := orderIDs(ctx, tx.Session, id)
	if err != nil {
		return err
	}
	if err := tx.Lock(ctx, append(session.LocksOf(session.OrderLock, orders...), session.LockOf(session.CustomerLock, id))...); err != nil {
		return err
	}
	// A concurrent booking changes the customer's row before it exists, and waits here.
	if err := tx.LockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
		return err
	}
	_, found, err := records.CustomerRow(ctx, tx.Session, sq.Eq{"id": id})
	if err != nil {
		return err
	}
	if !found {
		return domain.NotFound(domain.CustomerResource, id)
	}
	if err := tx.CheckPrecondition(); err != nil {
		return err
	}
	bookings, err := bookingsThrough(ctx, tx.Session, id)
	if err != nil {
		return err
	}
	if bookings > 0 {
		return domain.CustomerHasBookings(bookings)
	}
	now, err := orderIDs(ctx, tx.Session, id)
	if err != nil {
		return err
	}
	if !slices.Equal(now, orders) { // the wrong orders are locked
		return fmt.Errorf("orders of customer %d changed concurrently: %w", id, wpdb.ErrConflict)
	}
	payments, err := paymentsOf(ctx, tx.Session, id, orders)
	if err != nil {
		return err
	}
	if payments > 0 {
		return domain.CustomerHasPayments(payments)
	}
	return deleteCustomerRows(ctx, tx, id, orders)
}

// bookingsThrough counts the bookings of a customer and the bookings of others in the customer's orders:
// the plugin deletes both with the customer.
func bookingsThrough(ctx context.Context, s *session.Session, customer int64) (int64, error) {
	stmt := sq.Select("i.id").From(s.DB.As(wpdb.OrderItems, "i")).Join(s.DB.As(wpdb.Orders, "o") + " ON o.id = i.order_id").
		Where(sq.Eq{"o.customer_id": customer})
	items, err := wpdb.All(ctx, s.DB, "find order items of customer", stmt, wpdb.Value[int64])
	if err != nil {
		return 0, err
	}
	bookings := sq.Select("COUNT(*)").From(s.DB.Name(wpdb.Bookings)).Where(sq.Eq{"customer_id": customer})
	if len(items) > 0 { // scans, for lack of an index
		bookings = sq.Select("COUNT(*)").From(s.DB.Name(wpdb.Bookings)).Where(sq.Or{sq.Eq{"customer_id": customer}, sq.Eq{"order_item_id": items}})
	}
	count, _, err := wpdb.One(ctx, s.DB, "count bookings of customer", bookings, wpdb.Value[int64])
	return count, err
}

// paymentsOf counts the successful payments of a customer, for any order, and those of the given orders,
// including refunded ones, however the refund is recorded. It scans, for lack of an index.
func paymentsOf(ctx context.Context, s *session.Session, customer int64, orders []int64) (int64, error) {
	theirs := sq.Or{sq.Eq{"customer_id": customer}, sq.Eq{"order_id": orders}}
	stmt := sq.Select("COUNT(*)").From(s.DB.Name(wpdb.Transactions)).Where(sq.Eq{"status": []string{records.PaymentSucceeded, records.StatusRefunded}}).Where(theirs)
	count, _, err := wpdb.One(ctx, s.DB, "count payments of customer", stmt, wpdb.Value[int64])
	return count, err
}

// deleteCustomerRows deletes the customer before the orders, and these before their items, because the
// journal finds out from the items who saw them.
func deleteCustomerRows(ctx context.Context, tx *session.Tx, id int64, orders []int64) error {
	if err := tx.Delete(ctx, wpdb.Customers, id); err != nil {
		return err
	}
	if err := deleteOrders(ctx, tx, orders); err != nil {
		return err
	}
	if err := deletePaymentsWithoutOrder(ctx, tx, id); err != nil {
		return err
	}
	return tx.DeleteWhere(ctx, wpdb.CustomerMeta, sq.Eq{"object_id": id})
}

// deletePaymentsWithoutOrder deletes the payments of a customer that belong to no existing order.
func deletePaymentsWithoutOrder(ctx context.Context, tx *session.Tx, customer int64) error {
	stmt := sq.Select("t.id").From(tx.DB.As(wpdb.Transactions, "t")).LeftJoin(tx.DB.As(wpdb.Orders, "o") + " ON o.id = t.order_id").
		Where(sq.Eq{"t.customer_id": customer, "o.id": nil})
	ids, err := wpdb.All(ctx, tx.DB, "find payments of customer", stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	return tx.Delete(ctx, wpdb.Transactions, ids...)
}

// orderIDs returns the ids of a customer's orders.
func orderIDs(ctx context.Context, s *session.Session, customer int64) ([]int64, error) {
	stmt := sq.Select("id").From(s.DB.Name(wpdb.Orders)).Where(sq.Eq{"customer_id": customer}).OrderBy("id")
	return wpdb.All(ctx, s.DB, "find orders of customer", stmt, wpdb.Value[int64])
}

// deleteOrders deletes orders with the rows that the plugin deletes with them
// (OsOrderModel::delete). Their invoices stay.
func deleteOrders(ctx context.Context, tx *session.Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := notify.DeleteJobs(ctx, tx, sq.Eq{"object_id": ids, "object_model_type": "order"}); err != nil {
		return err
	}
	if err := tx.Delete(ctx, wpdb.Orders, ids...); err != nil {
		return err
	}
	for _, child := range []struct {
		table  wpdb.Table
		column string
	}{{wpdb.Transactions, "order_id"}, {wpdb.OrderItems, "order_id"}, {wpdb.OrderMeta, "object_id"}} {
		if err := tx.DeleteWhere(ctx, child.table, sq.Eq{child.column: ids}); err != nil {
			return err
		}
	}
	return nil
}
