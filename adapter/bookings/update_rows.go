package bookings

import (
	"context"
	"maps"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// updatedRecords reports which records an update changed. A change to the order counts as a change to the
// booking.
type updatedRecords struct{ booking, order, customer bool }

func (c updatedRecords) events(before, after notify.Snapshot) []notify.Event {
	var events []notify.Event
	if c.customer {
		events = append(events, notify.Event{Kind: notify.CustomerUpdated, After: after, Before: &before})
	}
	if c.booking {
		events = append(events, notify.Event{Kind: notify.BookingUpdated, After: after, Before: &before})
	}
	if c.order && before.Order != nil && after.Order != nil {
		events = append(events, notify.Event{Kind: notify.OrderUpdated, After: after, Before: &before})
	}
	return events
}

// writeUpdate writes the changed columns of booking, order item, order and customer.
func writeUpdate(ctx context.Context, tx *session.Tx, w session.WriteSettings, u bookingUpdate, r availability.Resource) (updatedRecords, error) {
	id, columns := u.before.Booking.ID, u.columns(tx.Session, r)
	itemChanged, err := updateItem(ctx, tx, u, columns)
	if err != nil {
		return updatedRecords{}, err
	}
	orderChanged, err := updateOrder(ctx, tx, w, u)
	if err != nil {
		return updatedRecords{}, err
	}
	metas, err := session.NewMetaChanges(ctx, tx.Session, wpdb.BookingMeta, id, u.fields.metas(r))
	if err != nil {
		return updatedRecords{}, err
	}
	updated := updatedRecords{order: itemChanged && u.price != nil || orderChanged, customer: len(u.who.columns) > 0}
	// To the client, price and notes belong to the booking.
	if updated.booking = len(columns) > 0 || itemChanged || updated.order || metas.Any() || u.reason != nil; updated.booking {
		if err := tx.Update(ctx, wpdb.Bookings, id, append(columns, tx.LaterTimestamp())); err != nil {
			return updated, err
		}
	}
	if err := session.ChangeMeta(ctx, tx, wpdb.BookingMeta, metas); err != nil {
		return updated, err
	}
	if u.changes.extras {
		if err := updateExtras(ctx, tx, u.before.Booking.Booking, u.slot.extras); err != nil {
			return updated, err
		}
	}
	if updated.customer {
		err = customers.UpdateRow(ctx, tx, u.who.BookingCustomer, u.who.columns)
	}
	return updated, err
}

// columns returns the changed columns of the booking.
func (u bookingUpdate) columns(s *session.Session, r availability.Resource) session.Row {
	b := u.before.Booking
	var columns session.Row
	if u.status != b.Status {
		columns = append(columns, session.Column{Name: "status", Value: u.status})
	}
	if u.who.ID != b.Customer.ID {
		columns = append(columns, session.Column{Name: "customer_id", Value: u.who.ID})
	}
	if !u.changes.any {
		return columns
	}
	if u.changes.span {
		columns = append(columns, u.slot.span(s).Columns()...)
	} else if b.EndCorrected { // wp-admin's form recalculates the end date whenever it is saved
		start, end, _ := records.Span(s, b.Booking)
		columns = append(columns, records.SpanUntil(s, start, end).Columns()...)
	}
	stored := map[string]any{
		"service_id": b.ServiceID(), "agent_id": b.Agent.ID, "location_id": b.LocationID(), "duration": b.Duration,
		"total_attendees": b.Attendees, "buffer_before": b.BufferBefore, "buffer_after": b.BufferAfter,
	}
	return append(columns, slices.DeleteFunc(u.slot.columns(r), func(c session.Column) bool { return c.Value == stored[c.Name] })...)
}

// updateExtras writes the extras of a booking: those that it keeps retain their price and duration
// (OsFeatureServiceExtrasHelper::save_service_extras_for_booking, Pro Features 1.6).
func updateExtras(ctx context.Context, tx *session.Tx, b records.Booking, extras []records.PricedExtra) error {
	id, had := b.ID, map[int64]int64{} // quantities
	for _, e := range b.Extras {
		had[e.ID] = e.Quantity
	}
	var changed []int64
	var added []records.PricedExtra
	quantityByID := sq.Case("service_extra_id")
	for _, e := range extras {
		n, found := had[e.ID]
		delete(had, e.ID) // what is left is removed
		if !found {
			added = append(added, e)
		} else if n != e.Quantity {
			changed, quantityByID = append(changed, e.ID), quantityByID.When(sq.Expr("?", e.ID), sq.Expr("?", e.Quantity))
		}
	}
	if len(had) > 0 {
		removed := slices.Sorted(maps.Keys(had))
		if err := tx.DeleteWhere(ctx, wpdb.BookingsServiceExtras, sq.Eq{"booking_id": id, "service_extra_id": removed}); err != nil {
			return err
		}
	}
	if len(changed) > 0 {
		stmt := sq.Update(tx.DB.Name(wpdb.BookingsServiceExtras)).Set("quantity", quantityByID).Set("updated_at", tx.UpdateTimestamp().Value).
			Where(sq.Eq{"booking_id": id, "service_extra_id": changed})
		if _, err := tx.Exec(ctx, wpdb.BookingsServiceExtras, "change extras", stmt); err != nil {
			return err
		}
	}
	_, err := tx.Insert(ctx, wpdb.BookingsServiceExtras, extraRows(tx.Session, id, added)...)
	return err
}

// updateItem sets the price of the order item, and keeps its data in step with the
// booking. The plugin does so only in its order form.
func updateItem(ctx context.Context, tx *session.Tx, u bookingUpdate, columns session.Row) (bool, error) {
	item := u.before.BookingItem()
	if item == nil {
		return false, nil
	}
	data, err := records.WithItemData(item.ItemData, columns)
	if err != nil {
		return false, err
	}
	if u.changes.extras && item.Variant != records.BundleItem {
		if data, err = records.WithExtras(data, slots.ExtrasText(slots.ChosenOf(u.slot.extras))); err != nil {
			return false, err
		}
	}
	if item.Variant != records.BundleItem {
		fields, err := u.fields.members()
		if err != nil {
			return false, err
		}
		if data, err = records.WithCustomFields(data, fields); err != nil {
			return false, err
		}
	}
	var changes session.Row
	if data != item.ItemData {
		changes = append(changes, session.Column{Name: "item_data", Value: data})
	}
	if u.price != nil {
		amount := domain.AmountText(u.price.amount)
		changes = append(changes, session.Column{Name: "subtotal", Value: amount}, session.Column{Name: "total", Value: amount})
	}
	if len(changes) == 0 {
		return false, nil
	}
	return true, tx.Update(ctx, wpdb.OrderItems, item.ID, append(changes, tx.UpdateTimestamp()))
}

// updateOrder changes the order of a booking: its comment, its sums if a price was sent and, if this is
// its only booking, its customer and payments.
func updateOrder(ctx context.Context, tx *session.Tx, w session.WriteSettings, u bookingUpdate) (bool, error) {
	order := u.before.Order
	if order == nil {
		return false, nil
	}
	var changes session.Row
	if u.notes != nil && (order.CustomerComment == nil || *u.notes != *order.CustomerComment) {
		changes = append(changes, session.Column{Name: "customer_comment", Value: *u.notes})
	}
	moves := u.who.ID != u.before.Customer.ID && onlyItemOfOrder(u.before)
	if moves {
		changes = append(changes, session.Column{Name: "customer_id", Value: u.who.ID})
	}
	newTotal := u.price != nil && !u.price.total.Equal(order.Total)
	if newTotal {
		changes = append(changes, session.Column{Name: "total", Value: domain.AmountText(u.price.total)})
	}
	if u.price != nil && !u.price.subtotal.Equal(order.Subtotal) {
		changes = append(changes, session.Column{Name: "subtotal", Value: domain.AmountText(u.price.subtotal)})
	}
	breakdown, differs, err := newBreakdown(ctx, tx, w, u)
	if err != nil {
		return false, err
	}
	if differs {
		changes = append(changes, session.Column{Name: "price_breakdown", Value: breakdown})
	}
	if len(changes) == 0 {
		return false, nil
	}
	if err := tx.Update(ctx, wpdb.Orders, order.ID, append(changes, tx.UpdateTimestamp())); err != nil {
		return false, err
	}
	if moves {
		if err := records.MovePayments(ctx, tx, order.ID, u.who.ID); err != nil {
			return false, err
		}
	}
	if newTotal {
		return true, payments.AdjustPaymentStatus(ctx, tx, order.ID)
	}
	return true, nil
}

// newBreakdown returns the price breakdown of the order for another price or service. The breakdown of an
// order with several items stays, and so do the parts after the subtotal.
func newBreakdown(ctx context.Context, tx *session.Tx, w session.WriteSettings, u bookingUpdate) (breakdown string, differs bool, err error) {
	if u.price == nil && !u.changes.service || u.before.BookingItem() == nil || !onlyItemOfOrder(u.before) {
		return "", false, nil
	}
	var service string
	if u.slot != nil {
		service = u.slot.service.Name
	} else if u.before.Booking.Service != nil {
		service = u.before.Booking.Service.Name
	}
	stored, err := records.LoadPriceBreakdown(ctx, tx.Session, u.before.Order.ID)
	if err != nil {
		return "", false, err
	}
	if u.price != nil {
		breakdown, err = records.WithBooking(w, stored, service, u.price.amount)
	} else {
		breakdown, err = records.WithService(stored, service)
	}
	return breakdown, breakdown != stored, err
}
