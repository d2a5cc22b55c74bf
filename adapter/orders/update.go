package orders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Update changes an order. If its customer changes, its bookings and payments move too; as in the plugin,
// nothing else affects bookings, invoices or payments. It returns the errors of Create, and a CodeNotFound
// if the order does not exist.
func Update(ctx context.Context, tx *session.Tx, id int64, sent Patch) (records.Order, error) {
	before, lockedBookings, err := lockOrderToUpdate(ctx, tx, id, sent)
	if err != nil {
		return records.Order{}, err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return records.Order{}, err
	}
	p := sent.Problems()
	patch := sanitizeOrder(tx.Session, sent, &p)
	moves := patch.CustomerID != nil && *patch.CustomerID != before.CustomerID
	if moves {
		if _, err := records.LockCustomer(ctx, tx, patch.CustomerID, &p); err != nil {
			return records.Order{}, err
		}
	}
	if err := CheckOrderCoupon(ctx, tx, before, patch, &p); err != nil {
		return records.Order{}, err
	}
	if err := p.Err(); err != nil {
		return records.Order{}, err
	}
	columns, metas := patch.changeset(before), patch.metas(before)
	if len(columns)+len(metas) == 0 {
		return records.LoadOrder(ctx, tx.Session, id)
	}
	if changesPrice(columns, metas) {
		if err := tx.CheckExtensions(ctx); err != nil {
			return records.Order{}, err
		}
	}
	var moved []notify.Snapshot
	if moves {
		if moved, err = moveBookings(ctx, tx, before, *patch.CustomerID, lockedBookings); err != nil {
			return records.Order{}, err
		}
	}
	if err := tx.Update(ctx, wpdb.Orders, id, append(session.Row(columns), tx.UpdateTimestamp())); err != nil {
		return records.Order{}, err
	}
	if moves {
		if err := records.MovePayments(ctx, tx, id, *patch.CustomerID); err != nil {
			return records.Order{}, err
		}
	}
	if patch.PaymentStatus == nil && patch.Total != nil && !patch.Total.Equal(before.Total) {
		if err := payments.AdjustPaymentStatus(ctx, tx, id); err != nil {
			return records.Order{}, err
		}
	}
	if err := session.SaveMeta(ctx, tx, wpdb.OrderMeta, id, metas); err != nil {
		return records.Order{}, err
	}
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return records.Order{}, err
	}
	bookings := make([]records.Booking, len(moved))
	for i, b := range moved {
		bookings[i] = b.Booking.Booking
	}
	if err := records.RewriteAssets(ctx, tx, w, nil, bookings...); err != nil {
		return records.Order{}, err
	}
	return notify.OrderUpdate(ctx, tx, w, before, moved)
}

// CheckOrderCoupon rejects a new coupon that the order may not have. It also rejects the order's own coupon
// if the update counts as another use of it, because the order is no longer cancelled or moves to another
// customer.
func CheckOrderCoupon(ctx context.Context, tx *session.Tx, before records.Order, patch Patch, p *domain.Validation) error {
	present := domain.ValueOr(before.CouponCode, "")
	code := domain.ValueOr(patch.CouponCode, present)
	use := payments.CouponUse{
		Order: before.ID, Customer: domain.ValueOr(patch.CustomerID, before.CustomerID), Subtotal: domain.ValueOr(patch.Subtotal, before.Subtotal),
		Had: payments.CouponCode(code) == payments.CouponCode(present), Cancelled: strings.EqualFold(before.Status, records.OrderCancelled),
	}
	use.Moved = use.Had && use.Customer != before.CustomerID
	again := (use.Cancelled || use.Moved) && !strings.EqualFold(domain.ValueOr(patch.Status, before.Status), records.OrderCancelled)
	if code == "" || patch.Force || slices.Contains(patch.Nulls, "coupon_code") || use.Had && !again {
		return nil
	}
	var err error
	if use.Items, err = records.LoadOrderItems(ctx, tx.Session, before.ID); err != nil {
		return err
	}
	return payments.CheckCoupon(ctx, tx, code, use, p)
}

// lockOrderToUpdate is LockOrder for an order that may move to another customer, get another coupon, or use
// its own again. In the first case it also locks the bookings of the order, and returns their ids.
func lockOrderToUpdate(ctx context.Context, tx *session.Tx, id int64, sent Patch) (records.Order, []int64, error) {
	locks, customer := append(payments.LocksOfCoupon(sent.CouponCode), session.LockOf(session.OrderLock, id)), sent.CustomerID
	if customer == nil && (sent.Status == nil || *sent.Status == records.OrderCancelled) {
		if err := tx.Lock(ctx, locks...); err != nil {
			return records.Order{}, nil, err
		}
		order, err := records.LockOrderRow(ctx, tx, id)
		return order, nil, err
	}
	found, err := records.LoadStoredOrder(ctx, tx.Session, id)
	if err != nil {
		return records.Order{}, nil, err
	}
	locks = append(locks, payments.LocksOfCoupon(found.CouponCode)...)
	var bookings []int64
	if customer != nil {
		items, err := records.LoadOrderItems(ctx, tx.Session, id)
		if err != nil {
			return records.Order{}, nil, err
		}
		if bookings, err = notify.OrderBookings(ctx, tx.Session, found.CustomerID, items); err != nil {
			return records.Order{}, nil, err
		}
		locks = append(append(locks, session.LocksOf(session.BookingLock, bookings...)...), session.LockOf(session.CustomerLock, *customer))
	}
	if err := tx.Lock(ctx, locks...); err != nil {
		return records.Order{}, nil, err
	}
	if len(bookings) > 0 {
		if err := tx.LockRows(ctx, wpdb.Bookings, bookings); err != nil {
			return records.Order{}, nil, err
		}
	}
	order, err := records.LockOrderRow(ctx, tx, id)
	if err == nil && domain.ValueOr(order.CouponCode, "") != domain.ValueOr(found.CouponCode, "") {
		err = fmt.Errorf("order %d got another coupon meanwhile: %w", id, wpdb.ErrConflict)
	}
	return order, bookings, err
}

// moveBookings moves the bookings of an order, and its items, to another customer. It returns the moved
// bookings in their previous state.
//
// If a booking joined the order after the bookings were locked, the transaction runs again.
func moveBookings(ctx context.Context, tx *session.Tx, order records.Order, customer int64, locked []int64) (moved []notify.Snapshot, err error) {
	stored, err := notify.LoadOrderWithBookings(ctx, tx.Session, order)
	if err != nil {
		return nil, err
	}
	for _, b := range stored.Bookings {
		if !slices.Contains(locked, b.ID) {
			return nil, fmt.Errorf("bookings of order %d changed concurrently: %w", order.ID, wpdb.ErrConflict)
		}
	}
	owner := session.Column{Name: "customer_id", Value: customer}
	for _, item := range stored.Order.Items {
		data, err := records.WithItemData(item.ItemData, session.Row{owner})
		if err != nil {
			return nil, err
		}
		if data == item.ItemData {
			continue
		}
		if err := tx.Update(ctx, wpdb.OrderItems, item.ID, session.Row{{Name: "item_data", Value: data}, tx.UpdateTimestamp()}); err != nil {
			return nil, err
		}
	}
	for _, b := range stored.Bookings {
		if b.Customer.ID == customer {
			continue
		}
		if err := tx.Update(ctx, wpdb.Bookings, b.ID, session.Row{owner, tx.LaterTimestamp()}); err != nil {
			return nil, err
		}
		moved = append(moved, stored.OfBooking(b))
	}
	return moved, nil
}
