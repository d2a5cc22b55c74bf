package adapter

import (
	"context"
	"fmt"
	"slices"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// UpdateOrder changes an order. If it goes to another customer, its bookings go with it;
// nothing else has an effect on bookings, invoices or payments, as in the plugin. Errors
// are those of CreateOrder, and a CodeNotFound if the order does not exist.
func (tx *Tx) UpdateOrder(ctx context.Context, id int64, sent OrderPatch) (Order, error) {
	before, locked, err := tx.lockOrderToUpdate(ctx, id, sent.CustomerID)
	if err != nil {
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
	if err := p.Err(); err != nil {
		return Order{}, err
	}
	columns, metas := patch.changeset(before), patch.metas(before)
	if len(columns)+len(metas) == 0 {
		return before, nil
	}
	var moved []snapshot
	if moves {
		if moved, err = tx.moveBookings(ctx, before, *patch.CustomerID, locked); err != nil {
			return Order{}, err
		}
	}
	if err := tx.update(ctx, wpdb.Orders, id, append(row(columns), tx.updateTimestamp())); err != nil {
		return Order{}, err
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

// lockOrderToUpdate is lockOrder for an order that may go to another customer, nil for
// none. It also locks the bookings of the order, and returns their ids.
func (tx *Tx) lockOrderToUpdate(ctx context.Context, id int64, customer *int64) (Order, []int64, error) {
	if customer == nil {
		order, err := tx.lockOrder(ctx, id)
		return order, nil, err
	}
	order, err := tx.Order(ctx, id)
	if err != nil {
		return Order{}, nil, err
	}
	items, err := tx.OrderItems(ctx, id)
	if err != nil {
		return Order{}, nil, err
	}
	bookings, err := tx.orderBookings(ctx, order.CustomerID, items)
	if err != nil {
		return Order{}, nil, err
	}
	locks := append(locksOf(bookingLock, bookings...), lockOf(customerLock, *customer), lockOf(orderLock, id))
	if err := tx.lock(ctx, locks...); err != nil {
		return Order{}, nil, err
	}
	if len(bookings) > 0 {
		if err := tx.lockRows(ctx, wpdb.Bookings, bookings); err != nil {
			return Order{}, nil, err
		}
	}
	order, err = tx.lockOrderRow(ctx, id)
	return order, bookings, err
}

// lockOrder makes other writers of an order, its payments and its invoices wait, and
// reads its current state; a CodeNotFound if it does not exist.
func (tx *Tx) lockOrder(ctx context.Context, id int64) (Order, error) {
	if err := tx.lock(ctx, lockOf(orderLock, id)); err != nil {
		return Order{}, err
	}
	return tx.lockOrderRow(ctx, id)
}

func (tx *Tx) lockOrderRow(ctx context.Context, id int64) (Order, error) {
	if err := tx.lockRows(ctx, wpdb.Orders, []int64{id}); err != nil {
		return Order{}, err
	}
	return tx.Order(ctx, id)
}

// sanitizeOrder validates a patch by itself and sanitizes its texts.
func (s *Site) sanitizeOrder(patch OrderPatch, before Order, p *domain.Validation) OrderPatch {
	s.sanitizeField(p, "coupon_code", &patch.CouponCode, sanitize.TextField, wpdb.Orders, "coupon_code")
	s.sanitizeField(p, "customer_comment", &patch.CustomerComment, sanitize.TextareaField, wpdb.Orders, "customer_comment")
	s.sanitizeField(p, "notes", &patch.Notes, sanitize.TextareaField, wpdb.OrderMeta, "meta_value")
	s.sanitizeField(p, "confirmation_code", &patch.ConfirmationCode, sanitize.TextField, wpdb.Orders, "confirmation_code")
	s.sanitizeField(p, "ip_address", &patch.IPAddress, sanitize.TextField, wpdb.Orders, "ip_address")
	s.sanitizeField(p, "source_id", &patch.SourceID, sanitize.TextField, wpdb.Orders, "source_id")
	s.sanitizeField(p, "source_url", &patch.SourceURL, sanitize.URL, wpdb.Orders, "source_url")
	if patch.ConfirmationCode != nil && *patch.ConfirmationCode == "" && before.ConfirmationCode != "" {
		p.Reject("confirmation_code", "May not be empty")
	}
	checkAmount(p, "subtotal", patch.Subtotal)
	checkAmount(p, "total", patch.Total)
	checkAmount(p, "tax_total", patch.TaxTotal)
	checkAmount(p, "discount_total", patch.DiscountTotal)
	checkAmount(p, "coupon_discount", patch.CouponDiscount)
	checkWord(p, "status", patch.Status, before.Status, "open", "cancelled", "completed")
	checkWord(p, "payment_status", patch.PaymentStatus, before.PaymentStatus,
		orderNotPaid, orderPartiallyPaid, orderFullyPaid, orderProcessing, orderRefunded, orderPartiallyRefunded)
	checkWord(p, "fulfillment_status", patch.FulfillmentStatus, before.FulfillmentStatus, "not_fulfilled", "partially_fulfilled", "fulfilled")
	return patch
}

// changeset returns the changed columns.
func (patch OrderPatch) changeset(o Order) changeset {
	var e changeset
	e.number("customer_id", patch.CustomerID, o.CustomerID)
	e.amount("subtotal", patch.Subtotal, o.Subtotal)
	e.amount("total", patch.Total, o.Total)
	e.amount("tax_total", patch.TaxTotal, o.TaxTotal)
	e.amount("coupon_discount", patch.CouponDiscount, o.CouponDiscount)
	e.text("coupon_code", patch.CouponCode, domain.ValueOr(o.CouponCode, ""))
	e.text("customer_comment", patch.CustomerComment, domain.ValueOr(o.CustomerComment, ""))
	e.text("status", patch.Status, o.Status)
	e.text("payment_status", patch.PaymentStatus, o.PaymentStatus)
	e.text("fulfillment_status", patch.FulfillmentStatus, o.FulfillmentStatus)
	e.text("confirmation_code", patch.ConfirmationCode, o.ConfirmationCode)
	e.text("ip_address", patch.IPAddress, domain.ValueOr(o.IPAddress, ""))
	e.text("source_id", patch.SourceID, domain.ValueOr(o.SourceID, ""))
	e.text("source_url", patch.SourceURL, domain.ValueOr(o.SourceURL, ""))
	return e
}

// metas returns the changed fields without a column.
func (patch OrderPatch) metas(o Order) map[string]string {
	metas := map[string]string{}
	if patch.Notes != nil && *patch.Notes != o.Notes {
		metas["notes"] = *patch.Notes
	}
	if patch.DiscountTotal != nil && !patch.DiscountTotal.Equal(o.DiscountTotal) {
		metas["discount_total"] = ""
		if !patch.DiscountTotal.IsZero() {
			metas["discount_total"] = domain.AmountText(*patch.DiscountTotal)
		}
	}
	return metas
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
		if err := tx.update(ctx, wpdb.Bookings, b.ID, row{owner, tx.updateTimestamp()}); err != nil {
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
