package adapter

import (
	"context"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/wpdb"
)

// UpdateBooking changes a booking and keeps its order item in step. Columns that do not
// change are not written. Errors are those of CreateBooking, and a CodeNotFound if the
// booking does not exist, a CodeForbidden if the caller's key does not permit the change. A
// rehearsal announces nothing.
func (tx *Tx) UpdateBooking(ctx context.Context, id int64, patch BookingPatch) (BookingDetail, error) {
	if err := tx.lock(ctx, lockOf(bookingLock, id)); err != nil {
		return BookingDetail{}, err
	}
	before, err := tx.bookingSnapshot(ctx, id)
	if err != nil {
		return BookingDetail{}, err
	}
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return BookingDetail{}, err
	}
	plan, err := tx.planUpdate(ctx, w, before, patch)
	if err != nil {
		return BookingDetail{}, err
	}
	if plan.slot != nil {
		assigned, err := tx.assignSlot(ctx, plan.service, plan.resources, *plan.slot)
		if err != nil {
			return BookingDetail{}, err
		}
		plan.resource = assigned.resource
	}
	changed, err := tx.applyUpdate(ctx, w, plan)
	if err != nil {
		return BookingDetail{}, err
	}
	if !changed.any() {
		return tx.shownBooking(ctx, before)
	}
	if tx.dry {
		return tx.AsCaller().BookingDetail(ctx, id)
	}
	// The activity log shows the keys, and the plugin creates missing ones when it
	// writes an entry.
	if before.booking.keys, err = tx.insertManageKeys(ctx, wpdb.BookingMeta, id, before.booking.keys); err != nil {
		return BookingDetail{}, err
	}
	after, err := tx.bookingSnapshot(ctx, id)
	if err != nil {
		return BookingDetail{}, err
	}
	events := changed.events(before, after)
	if err := tx.logEvents(ctx, w, events); err != nil {
		return BookingDetail{}, err
	}
	if _, err = tx.notify(ctx, w, events, patch.Notify); err != nil {
		return BookingDetail{}, err
	}
	return tx.shownBooking(ctx, after)
}

// shownBooking returns a booking as the caller sees it, who may not see its order. A booking
// that has left the limits of the caller is a CodeOutsideLimits.
func (tx *Tx) shownBooking(ctx context.Context, s snapshot) (BookingDetail, error) {
	if tx.limits().None() {
		return s.bookingDetail(), nil
	}
	detail, err := tx.AsCaller().BookingDetail(ctx, s.booking.ID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = domain.OutsideLimits()
	}
	return detail, err
}

// updatedRecords reports which records an update changed. A change of the order counts as
// one of the booking.
type updatedRecords struct{ booking, order, customer bool }

func (c updatedRecords) any() bool { return c.booking || c.customer }

func (c updatedRecords) events(before, after snapshot) []event {
	var events []event
	if c.customer {
		events = append(events, event{kind: customerUpdated, after: after, before: &before})
	}
	if c.booking {
		events = append(events, event{kind: bookingUpdated, after: after, before: &before})
	}
	if c.order && before.order != nil && after.order != nil {
		events = append(events, event{kind: orderUpdated, after: after, before: &before})
	}
	return events
}

// applyUpdate writes the changed columns of booking, order item, order and customer.
func (tx *Tx) applyUpdate(ctx context.Context, w writeSettings, plan updatePlan) (updatedRecords, error) {
	var done updatedRecords
	columns := plan.bookingColumns(tx.Site)
	itemChanged, err := tx.updateItem(ctx, plan, columns)
	if err != nil {
		return done, err
	}
	orderChanged, err := tx.updateOrderOf(ctx, w, plan)
	if err != nil {
		return done, err
	}
	done.order = itemChanged && plan.Price != nil || orderChanged
	// Price and notes belong to the booking in the eyes of the client.
	if done.booking = len(columns) > 0 || done.order; done.booking {
		if err := tx.update(ctx, wpdb.Bookings, plan.before.booking.ID, append(columns, tx.laterTimestamp())); err != nil {
			return done, err
		}
	}
	if plan.customer.ID != plan.before.customer.ID { // which must not make them an own customer
		if err := tx.rememberMove(ctx, plan); err != nil {
			return done, err
		}
	}
	if done.customer = len(plan.fields) > 0; done.customer {
		err = tx.updateCustomerRow(ctx, plan.customer, plan.fields)
	}
	return done, err
}

// rememberMove remembers that the caller gave a booking to another customer, with its order if that
// went with it.
func (tx *Tx) rememberMove(ctx context.Context, plan updatePlan) error {
	if plan.alone() {
		if err := tx.remember(ctx, journal.Orders, plan.before.order.ID); err != nil {
			return err
		}
	}
	return tx.remember(ctx, journal.Bookings, plan.before.booking.ID)
}

// bookingColumns returns the changed columns of the booking.
func (plan *updatePlan) bookingColumns(s *Site) row {
	b := plan.before.booking
	var columns row
	if plan.status != b.Status {
		columns = append(columns, column{"status", plan.status})
	}
	if plan.customer.ID != b.Customer.ID {
		columns = append(columns, column{"customer_id", plan.customer.ID})
	}
	if !plan.moved {
		return columns
	}
	duration := b.Duration
	if plan.newSpan {
		duration = int64(plan.slot.Duration)
		columns = append(columns, s.spanOf(plan.slot.at, duration).columns()...)
	} else if b.EndCorrected { // wp-admin's form calculates the end's date whenever it is saved
		start, end, _ := s.span(b.Booking)
		columns = append(columns, s.spanUntil(start, end).columns()...)
	}
	for _, c := range []struct {
		name     string
		old, new int64
	}{
		{"service_id", b.serviceID(), plan.resource.Service},
		{"agent_id", b.Agent.ID, plan.resource.Agent},
		{"location_id", b.locationID(), plan.resource.Location},
		{"duration", b.Duration, duration},
		{"total_attendees", b.Attendees, int64(plan.slot.Attendees)},
		{"buffer_before", b.BufferBefore, int64(plan.slot.BufferBefore)},
		{"buffer_after", b.BufferAfter, int64(plan.slot.BufferAfter)},
	} {
		if c.old != c.new {
			columns = append(columns, column{c.name, c.new})
		}
	}
	return columns
}

// updateItem sets the price of the order item, and keeps its data in step with the
// booking. The plugin does so only in its order form.
func (tx *Tx) updateItem(ctx context.Context, plan updatePlan, columns row) (bool, error) {
	item := plan.before.bookingItem()
	if item == nil {
		return false, nil
	}
	var changes row
	data, err := withItemData(item.ItemData, columns)
	if err != nil {
		return false, err
	}
	if data != item.ItemData {
		changes = append(changes, column{"item_data", data})
	}
	if plan.Price != nil && !plan.Price.Equal(item.Total) {
		amount := domain.AmountText(*plan.Price)
		changes = append(changes, column{"subtotal", amount}, column{"total", amount})
	}
	if len(changes) == 0 {
		return false, nil
	}
	return true, tx.update(ctx, wpdb.OrderItems, item.ID, append(changes, tx.updateTimestamp()))
}

// updateOrderOf changes the order of a booking: its comment, its sums if a price was sent,
// and its customer, with its payments, if this is its only booking.
func (tx *Tx) updateOrderOf(ctx context.Context, w writeSettings, plan updatePlan) (bool, error) {
	order := plan.before.order
	if order == nil {
		return false, nil
	}
	var changes row
	if plan.notes != nil && (order.CustomerComment == nil || *plan.notes != *order.CustomerComment) {
		changes = append(changes, column{"customer_comment", *plan.notes})
	}
	moves := plan.customer.ID != plan.before.customer.ID && plan.alone()
	if moves {
		changes = append(changes, column{"customer_id", plan.customer.ID})
	}
	newTotal := plan.sums != nil && !plan.sums.total.Equal(order.Total)
	if newTotal {
		changes = append(changes, column{"total", domain.AmountText(plan.sums.total)})
	}
	if plan.sums != nil && !plan.sums.subtotal.Equal(order.Subtotal) {
		changes = append(changes, column{"subtotal", domain.AmountText(plan.sums.subtotal)})
	}
	breakdown, differs, err := tx.newBreakdown(ctx, w, plan)
	if err != nil {
		return false, err
	}
	if differs {
		changes = append(changes, column{"price_breakdown", breakdown})
	}
	if len(changes) == 0 {
		return false, nil
	}
	if err := tx.update(ctx, wpdb.Orders, order.ID, append(changes, tx.updateTimestamp())); err != nil {
		return false, err
	}
	if moves {
		if err := tx.movePayments(ctx, order.ID, plan.customer.ID); err != nil {
			return false, err
		}
	}
	if newTotal {
		return true, tx.adjustPaymentStatus(ctx, order.ID)
	}
	return true, nil
}

// newBreakdown returns the price breakdown of the order for another price or service. That
// of an order with several items stays, and so do the parts after the subtotal.
func (tx *Tx) newBreakdown(ctx context.Context, w writeSettings, plan updatePlan) (breakdown string, differs bool, err error) {
	item := plan.before.bookingItem()
	if item == nil || !plan.alone() {
		return "", false, nil
	}
	newPrice := plan.Price != nil && !plan.Price.Equal(item.Total)
	newService := plan.moved && plan.service.ID != plan.before.booking.serviceID()
	if !newPrice && !newService {
		return "", false, nil
	}
	stored, err := tx.priceBreakdown(ctx, plan.before.order.ID)
	if err != nil {
		return "", false, err
	}
	if newPrice {
		breakdown, err = w.withBooking(stored, serviceName(plan), *plan.Price)
	} else {
		breakdown, err = withService(stored, serviceName(plan))
	}
	return breakdown, breakdown != stored, err
}

// serviceName returns the name of the service that the booking will have.
func serviceName(plan updatePlan) string {
	if plan.moved {
		return plan.service.name
	}
	if plan.before.booking.Service != nil {
		return plan.before.booking.Service.Name
	}
	return ""
}
