package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/wpdb"
)

// UpdateOrder changes an order. If it goes to another customer, its bookings and payments go
// with it; nothing else has an effect on bookings, invoices or payments, as in the plugin.
// Errors are those of CreateOrder, and a CodeNotFound if the order does not exist.
func (tx *Tx) UpdateOrder(ctx context.Context, id int64, sent OrderPatch) (Order, error) {
	before, locked, err := tx.lockOrderToUpdate(ctx, id, sent)
	if err != nil {
		return Order{}, err
	}
	if err := tx.checkPrecondition(); err != nil {
		return Order{}, err
	}
	p := sent.Validation.Clone()
	patch := tx.sanitizeOrder(sent, before, &p)
	moves := patch.CustomerID != nil && *patch.CustomerID != before.CustomerID
	if moves {
		if _, err := tx.lockCustomer(ctx, patch.CustomerID, &p); err != nil {
			return Order{}, err
		}
	}
	if err := tx.checkOrderCoupon(ctx, before, patch, &p); err != nil {
		return Order{}, err
	}
	if err := p.Err(); err != nil {
		return Order{}, err
	}
	columns, metas := patch.changeset(before), patch.metas(before)
	if len(columns)+len(metas) == 0 {
		return tx.Order(ctx, id)
	}
	var moved []snapshot
	if moves {
		if moved, err = tx.moveBookings(ctx, before, *patch.CustomerID, locked); err != nil {
			return Order{}, err
		}
		if err := tx.remember(ctx, journal.Orders, id); err != nil {
			return Order{}, err
		}
	}
	if err := tx.update(ctx, wpdb.Orders, id, append(row(columns), tx.updateTimestamp())); err != nil {
		return Order{}, err
	}
	if moves {
		if err := tx.movePayments(ctx, id, *patch.CustomerID); err != nil {
			return Order{}, err
		}
	}
	if patch.PaymentStatus == nil && patch.Total != nil && !patch.Total.Equal(before.Total) {
		if err := tx.adjustPaymentStatus(ctx, id); err != nil {
			return Order{}, err
		}
	}
	if err := tx.saveMeta(ctx, wpdb.OrderMeta, id, metas); err != nil {
		return Order{}, err
	}
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return Order{}, err
	}
	return tx.notifyOrderUpdate(ctx, w, before, moved)
}

// checkOrderCoupon rejects another coupon that the order may not have, and the one that it has
// if the update makes another use of it: the order is no longer cancelled, or goes to another
// customer.
func (tx *Tx) checkOrderCoupon(ctx context.Context, before Order, patch OrderPatch, p *domain.Validation) error {
	present := domain.ValueOr(before.CouponCode, "")
	code := domain.ValueOr(patch.CouponCode, present)
	use := couponUse{
		order: before.ID, customer: domain.ValueOr(patch.CustomerID, before.CustomerID), subtotal: domain.ValueOr(patch.Subtotal, before.Subtotal),
		had: couponCode(code) == couponCode(present), cancelled: strings.EqualFold(before.Status, orderCancelled),
	}
	use.moved = use.had && use.customer != before.CustomerID
	again := (use.cancelled || use.moved) && !strings.EqualFold(domain.ValueOr(patch.Status, before.Status), orderCancelled)
	if code == "" || patch.Force || slices.Contains(patch.Nulls, "coupon_code") || use.had && !again {
		return nil
	}
	var err error
	if use.items, err = tx.OrderItems(ctx, before.ID); err != nil {
		return err
	}
	return tx.checkCoupon(ctx, code, use, p)
}

// lockOrderToUpdate is lockOrder for an order that may go to another customer, get another
// coupon, or use its own again. In the first case it also locks the bookings of the order, and
// returns their ids.
func (tx *Tx) lockOrderToUpdate(ctx context.Context, id int64, sent OrderPatch) (Order, []int64, error) {
	locks, customer := append(locksOfCoupon(sent.CouponCode), lockOf(orderLock, id)), sent.CustomerID
	if customer == nil && (sent.Status == nil || *sent.Status == orderCancelled) {
		if err := tx.lock(ctx, locks...); err != nil {
			return Order{}, nil, err
		}
		order, err := tx.lockOrderRow(ctx, id)
		return order, nil, err
	}
	found, err := tx.storedOrder(ctx, id)
	if err != nil {
		return Order{}, nil, err
	}
	locks = append(locks, locksOfCoupon(found.CouponCode)...)
	var bookings []int64
	if customer != nil {
		items, err := tx.OrderItems(ctx, id)
		if err != nil {
			return Order{}, nil, err
		}
		if bookings, err = tx.orderBookings(ctx, found.CustomerID, items); err != nil {
			return Order{}, nil, err
		}
		locks = append(append(locks, locksOf(bookingLock, bookings...)...), lockOf(customerLock, *customer))
	}
	if err := tx.lock(ctx, locks...); err != nil {
		return Order{}, nil, err
	}
	if len(bookings) > 0 {
		if err := tx.lockRows(ctx, wpdb.Bookings, bookings); err != nil {
			return Order{}, nil, err
		}
	}
	order, err := tx.lockOrderRow(ctx, id)
	if err == nil && domain.ValueOr(order.CouponCode, "") != domain.ValueOr(found.CouponCode, "") {
		err = fmt.Errorf("order %d got another coupon meanwhile: %w", id, wpdb.ErrConflict)
	}
	return order, bookings, err
}

// moveBookings gives the bookings of an order, and its items, to another customer. It
// returns the bookings that moved, as they were before.
//
// If a booking joined the order after the bookings were locked, the transaction is run
// again.
func (tx *Tx) moveBookings(ctx context.Context, order Order, customer int64, locked []int64) (moved []snapshot, err error) {
	stored, err := tx.orderWithBookings(ctx, order)
	if err != nil {
		return nil, err
	}
	for _, b := range stored.bookings {
		if !slices.Contains(locked, b.ID) {
			return nil, fmt.Errorf("bookings of order %d changed concurrently: %w", order.ID, wpdb.ErrConflict)
		}
	}
	owner := column{"customer_id", customer}
	for _, item := range stored.order.items {
		data, err := withItemData(item.ItemData, row{owner})
		if err != nil {
			return nil, err
		}
		if data == item.ItemData {
			continue
		}
		if err := tx.update(ctx, wpdb.OrderItems, item.ID, row{{"item_data", data}, tx.updateTimestamp()}); err != nil {
			return nil, err
		}
	}
	for _, b := range stored.bookings {
		if b.Customer.ID == customer {
			continue
		}
		if err := tx.update(ctx, wpdb.Bookings, b.ID, row{owner, tx.laterTimestamp()}); err != nil {
			return nil, err
		}
		if err := tx.remember(ctx, journal.Bookings, b.ID); err != nil {
			return nil, err
		}
		moved = append(moved, stored.ofBooking(b))
	}
	return moved, nil
}

// notifyOrderUpdate logs and notifies about a changed order and the bookings that moved
// with it, and returns the order as it is now.
func (tx *Tx) notifyOrderUpdate(ctx context.Context, w writeSettings, before Order, moved []snapshot) (Order, error) {
	order, err := tx.Order(ctx, before.ID)
	if err != nil {
		return Order{}, err
	}
	now, err := tx.orderWithBookings(ctx, order)
	if err != nil {
		return Order{}, err
	}
	if err := tx.ensureBookingKeys(ctx, &now); err != nil {
		return Order{}, err
	}
	var events []event
	for _, b := range now.bookings {
		at := slices.IndexFunc(moved, func(old snapshot) bool { return old.booking.ID == b.ID })
		if at < 0 {
			continue
		}
		old := moved[at]
		old.booking.keys = b.keys
		events = append(events, event{kind: bookingUpdated, after: now.ofBooking(b), before: &old})
	}
	if err := tx.logEvents(ctx, w, events); err != nil {
		return Order{}, err
	}
	updated, err := tx.logOrderUpdate(ctx, w, before, now)
	if err != nil {
		return Order{}, err
	}
	_, err = tx.notify(ctx, w, append(events, updated), true)
	return order, err
}
