package bookings

import (
	"context"
	"maps"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// Update changes a booking and keeps its order item in step. Columns that do not change are not written. It
// returns the errors of Create, a CodeNotFound if the booking does not exist, and a CodeForbidden if the
// caller's key does not permit the change. A dry run sends no messages.
func Update(ctx context.Context, tx *session.Tx, id int64, patch Patch) (records.BookingDetail, error) {
	if err := tx.Lock(ctx, session.LockOf(session.BookingLock, id)); err != nil {
		return records.BookingDetail{}, err
	}
	before, err := notify.LoadBookingSnapshot(ctx, tx.Session, id)
	if err != nil {
		return records.BookingDetail{}, err
	}
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return records.BookingDetail{}, err
	}
	plan, err := planUpdate(ctx, tx, w, before, patch)
	if err != nil {
		return records.BookingDetail{}, err
	}
	if plan.slot != nil {
		assigned, err := slots.Assign(ctx, tx, plan.service, plan.resources, *plan.slot)
		if err != nil {
			return records.BookingDetail{}, err
		}
		plan.resource = assigned.Resource
		if plan.saved() {
			if err := plan.custom.check(plan.resource); err != nil {
				return records.BookingDetail{}, err
			}
		}
	}
	changed, err := applyUpdate(ctx, tx, w, plan)
	if err != nil {
		return records.BookingDetail{}, err
	}
	if !changed.any() {
		return shownBooking(ctx, tx, before)
	}
	if tx.DryRun {
		detail, err := records.LoadBookingDetail(ctx, tx.AsCaller(), id)
		if err == nil && changed.booking {
			plan.showReason(&detail.Booking)
		}
		return detail, err
	}
	if changed.booking {
		if err := saveReason(ctx, tx, plan); err != nil {
			return records.BookingDetail{}, err
		}
		if err := countNoShow(ctx, tx, plan); err != nil {
			return records.BookingDetail{}, err
		}
	}
	// The activity log shows the keys, and the plugin creates missing ones when it
	// writes an entry.
	if before.Booking.Keys, err = records.InsertManageKeys(ctx, tx, wpdb.BookingMeta, id, before.Booking.Keys); err != nil {
		return records.BookingDetail{}, err
	}
	after, err := notify.LoadBookingSnapshot(ctx, tx.Session, id)
	if err != nil {
		return records.BookingDetail{}, err
	}
	if changed.booking {
		var known map[int64][]records.Asset
		if plan.slot != nil {
			known = map[int64][]records.Asset{plan.service.ID: plan.service.Assets}
		}
		if err := records.RewriteAssets(ctx, tx, w, known, after.Booking.Booking); err != nil {
			return records.BookingDetail{}, err
		}
	}
	events := changed.events(before, after)
	if err := notify.LogEvents(ctx, tx, w, events); err != nil {
		return records.BookingDetail{}, err
	}
	if _, err = notify.Notify(ctx, tx, w, events, patch.Notify); err != nil {
		return records.BookingDetail{}, err
	}
	return shownBooking(ctx, tx, after)
}

// shownBooking returns a booking as the caller sees it; its order may be hidden. A booking that has left
// the caller's scope is a CodeOutsideScope.
func shownBooking(ctx context.Context, tx *session.Tx, s notify.Snapshot) (records.BookingDetail, error) {
	if tx.Scope().Unlimited() {
		return s.BookingDetail(), nil
	}
	detail, err := records.LoadBookingDetail(ctx, tx.AsCaller(), s.Booking.ID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = domain.OutsideScope()
	}
	return detail, err
}

// updatedRecords reports which records an update changed. A change to the order counts as a change to the
// booking.
type updatedRecords struct{ booking, order, customer bool }

func (c updatedRecords) any() bool { return c.booking || c.customer }

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

// applyUpdate writes the changed columns of booking, order item, order and customer.
func applyUpdate(ctx context.Context, tx *session.Tx, w session.WriteSettings, plan updatePlan) (updatedRecords, error) {
	var done updatedRecords
	columns := plan.bookingColumns(tx.Session)
	itemChanged, err := updateItem(ctx, tx, plan, columns)
	if err != nil {
		return done, err
	}
	orderChanged, err := updateOrderOf(ctx, tx, w, plan)
	if err != nil {
		return done, err
	}
	metas, err := session.NewMetaChanges(ctx, tx.Session, wpdb.BookingMeta, plan.before.Booking.ID, plan.custom.metas(plan.resource))
	if err != nil {
		return done, err
	}
	done.order = itemChanged && plan.Price != nil || orderChanged
	// To the client, price and notes belong to the booking.
	if done.booking = len(columns) > 0 || itemChanged || done.order || metas.Any() || plan.reason != nil; done.booking {
		if err := tx.Update(ctx, wpdb.Bookings, plan.before.Booking.ID, append(columns, tx.LaterTimestamp())); err != nil {
			return done, err
		}
	}
	if err := session.ChangeMeta(ctx, tx, wpdb.BookingMeta, metas); err != nil {
		return done, err
	}
	if err := updateExtras(ctx, tx, plan); err != nil {
		return done, err
	}
	if done.customer = len(plan.fields) > 0; done.customer {
		err = customers.UpdateRow(ctx, tx, plan.customer, plan.fields)
	}
	return done, err
}

// bookingColumns returns the changed columns of the booking.
func (plan *updatePlan) bookingColumns(s *session.Session) session.Row {
	b := plan.before.Booking
	var columns session.Row
	if plan.status != b.Status {
		columns = append(columns, session.Column{Name: "status", Value: plan.status})
	}
	if plan.customer.ID != b.Customer.ID {
		columns = append(columns, session.Column{Name: "customer_id", Value: plan.customer.ID})
	}
	if !plan.moved {
		return columns
	}
	duration := b.Duration
	if plan.newSpan {
		duration = plan.duration
		columns = append(columns, records.SpanOf(s, plan.slot.At, int64(plan.slot.Duration)).Columns()...)
	} else if b.EndCorrected { // wp-admin's form recalculates the end date whenever it is saved
		start, end, _ := records.Span(s, b.Booking)
		columns = append(columns, records.SpanUntil(s, start, end).Columns()...)
	}
	for _, c := range []struct {
		name     string
		old, new int64
	}{
		{"service_id", b.ServiceID(), plan.resource.Service},
		{"agent_id", b.Agent.ID, plan.resource.Agent},
		{"location_id", b.LocationID(), plan.resource.Location},
		{"duration", b.Duration, duration},
		{"total_attendees", b.Attendees, int64(plan.slot.Attendees)},
		{"buffer_before", b.BufferBefore, int64(plan.slot.BufferBefore)},
		{"buffer_after", b.BufferAfter, int64(plan.slot.BufferAfter)},
	} {
		if c.old != c.new {
			columns = append(columns, session.Column{Name: c.name, Value: c.new})
		}
	}
	return columns
}

// updateExtras writes the extras of a booking: those that it keeps retain their price and duration
// (OsFeatureServiceExtrasHelper::save_service_extras_for_booking, Pro Features 1.6).
func updateExtras(ctx context.Context, tx *session.Tx, plan updatePlan) error {
	if !plan.newExtras {
		return nil
	}
	id, had := plan.before.Booking.ID, map[int64]int64{} // quantities
	for _, e := range plan.before.Booking.Extras {
		had[e.ID] = e.Quantity
	}
	var changed []int64
	var added []records.PricedExtra
	quantity := sq.Case("service_extra_id")
	for _, e := range plan.extras {
		n, found := had[e.ID]
		if delete(had, e.ID); !found {
			added = append(added, e)
		} else if n != e.Quantity {
			changed, quantity = append(changed, e.ID), quantity.When(sq.Expr("?", e.ID), sq.Expr("?", e.Quantity))
		}
	}
	if len(had) > 0 {
		removed := slices.Sorted(maps.Keys(had))
		if err := tx.DeleteWhere(ctx, wpdb.BookingsServiceExtras, sq.Eq{"booking_id": id, "service_extra_id": removed}); err != nil {
			return err
		}
	}
	if len(changed) > 0 {
		stmt := sq.Update(tx.DB.Name(wpdb.BookingsServiceExtras)).Set("quantity", quantity).Set("updated_at", tx.UpdateTimestamp().Value).
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
func updateItem(ctx context.Context, tx *session.Tx, plan updatePlan, columns session.Row) (bool, error) {
	item := plan.before.BookingItem()
	if item == nil {
		return false, nil
	}
	var changes session.Row
	data, err := records.WithItemData(item.ItemData, columns)
	if err != nil {
		return false, err
	}
	if plan.newExtras && item.Variant != records.BundleItem {
		if data, err = records.WithExtras(data, slots.ExtrasText(slots.ChosenOf(plan.extras))); err != nil {
			return false, err
		}
	}
	if item.Variant != records.BundleItem {
		fields, err := plan.custom.members()
		if err != nil {
			return false, err
		}
		if data, err = records.WithCustomFields(data, fields); err != nil {
			return false, err
		}
	}
	if data != item.ItemData {
		changes = append(changes, session.Column{Name: "item_data", Value: data})
	}
	if plan.Price != nil {
		amount := domain.AmountText(*plan.Price)
		changes = append(changes, session.Column{Name: "subtotal", Value: amount}, session.Column{Name: "total", Value: amount})
	}
	if len(changes) == 0 {
		return false, nil
	}
	return true, tx.Update(ctx, wpdb.OrderItems, item.ID, append(changes, tx.UpdateTimestamp()))
}

// updateOrderOf changes the order of a booking: its comment, its sums if a price was sent and, if this is
// its only booking, its customer and payments.
func updateOrderOf(ctx context.Context, tx *session.Tx, w session.WriteSettings, plan updatePlan) (bool, error) {
	order := plan.before.Order
	if order == nil {
		return false, nil
	}
	var changes session.Row
	if plan.notes != nil && (order.CustomerComment == nil || *plan.notes != *order.CustomerComment) {
		changes = append(changes, session.Column{Name: "customer_comment", Value: *plan.notes})
	}
	moves := plan.customer.ID != plan.before.Customer.ID && plan.onlyItemOfOrder()
	if moves {
		changes = append(changes, session.Column{Name: "customer_id", Value: plan.customer.ID})
	}
	newTotal := plan.sums != nil && !plan.sums.total.Equal(order.Total)
	if newTotal {
		changes = append(changes, session.Column{Name: "total", Value: domain.AmountText(plan.sums.total)})
	}
	if plan.sums != nil && !plan.sums.subtotal.Equal(order.Subtotal) {
		changes = append(changes, session.Column{Name: "subtotal", Value: domain.AmountText(plan.sums.subtotal)})
	}
	breakdown, differs, err := newBreakdown(ctx, tx, w, plan)
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
		if err := records.MovePayments(ctx, tx, order.ID, plan.customer.ID); err != nil {
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
func newBreakdown(ctx context.Context, tx *session.Tx, w session.WriteSettings, plan updatePlan) (breakdown string, differs bool, err error) {
	item := plan.before.BookingItem()
	if item == nil || !plan.onlyItemOfOrder() {
		return "", false, nil
	}
	newPrice := plan.Price != nil
	newService := plan.moved && plan.service.ID != plan.before.Booking.ServiceID()
	if !newPrice && !newService {
		return "", false, nil
	}
	stored, err := records.LoadPriceBreakdown(ctx, tx.Session, plan.before.Order.ID)
	if err != nil {
		return "", false, err
	}
	if newPrice {
		breakdown, err = records.WithBooking(w, stored, serviceName(plan), *plan.Price)
	} else {
		breakdown, err = records.WithService(stored, serviceName(plan))
	}
	return breakdown, breakdown != stored, err
}

// serviceName returns the name of the service that the booking will have.
func serviceName(plan updatePlan) string {
	if plan.moved {
		return plan.service.Name
	}
	if plan.before.Booking.Service != nil {
		return plan.before.Booking.Service.Name
	}
	return ""
}
