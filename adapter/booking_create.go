package adapter

import (
	"context"
	"errors"
	"slices"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// CreatedBooking is a booking that CreateBooking created.
type CreatedBooking struct {
	BookingDetail
	// ConfirmationSent reports whether a message to the customer was handed over.
	ConfirmationSent bool
}

// CreateBooking creates a booking with its order, as the plugin's order form does
// (OsOrdersController::create_or_update, LatePoint 5.6.5), but only at a time that the
// site offers to customers.
//
// If anything is wrong with the booking, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field; if the time is not available, or
// its hold is lost, a CodeSlotUnavailable. A rehearsal writes nothing: see draftBooking.
func (tx *Tx) CreateBooking(ctx context.Context, b NewBooking) (CreatedBooking, error) {
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return CreatedBooking{}, err
	}
	plan, err := tx.planBooking(ctx, w, b)
	if err != nil {
		return CreatedBooking{}, err
	}
	if b.HoldID != 0 {
		used, err := tx.useHold(ctx, b.HoldID)
		if err != nil {
			return CreatedBooking{}, err
		}
		plan.slot.lost = !used
	}
	if plan.resource, err = tx.chooseResource(ctx, plan.service, plan.resources, plan.slot); err != nil {
		return CreatedBooking{}, err
	}
	if tx.dry {
		draft, err := tx.draftBooking(ctx, w, plan)
		return CreatedBooking{BookingDetail: draft}, err
	}
	if err := tx.saveCustomer(ctx, w, &plan); err != nil {
		return CreatedBooking{}, err
	}
	created, err := tx.insertBooking(ctx, w, plan)
	if err != nil {
		return CreatedBooking{}, err
	}
	tx.assigned.Exclude = append(tx.assigned.Exclude, created.booking.ID)
	events := []event{
		{kind: bookingCreated, after: created, newCustomer: plan.customerIsNew},
		{kind: orderCreated, after: created, newCustomer: plan.customerIsNew},
	}
	if plan.customerIsNew {
		events = slices.Insert(events, 0, event{kind: customerCreated, after: created})
	}
	if err := tx.logEvents(ctx, w, events); err != nil {
		return CreatedBooking{}, err
	}
	confirmed, err := tx.notify(ctx, w, events, b.Confirm)
	if err != nil {
		return CreatedBooking{}, err
	}
	if err := tx.rememberBooking(ctx, plan, created); err != nil {
		return CreatedBooking{}, err
	}
	detail := created.bookingDetail()
	detail.Customer = plan.shownCustomer()
	return CreatedBooking{BookingDetail: detail, ConfirmationSent: confirmed}, nil
}

// rememberBooking remembers what the caller made with a booking.
func (tx *Tx) rememberBooking(ctx context.Context, plan bookingPlan, created snapshot) error {
	if err := tx.remember(ctx, journal.Bookings, created.booking.ID); err != nil {
		return err
	}
	if err := tx.remember(ctx, journal.Orders, created.order.ID); err != nil {
		return err
	}
	return tx.rememberContact(ctx, plan.customer.ID, plan.described, plan.customerIsNew)
}

// shownCustomer returns the customer of the new booking as the caller may know them: one who is not its
// own is as it described them, or as it sees them if it named an id.
func (plan *bookingPlan) shownCustomer() BookingCustomer {
	switch {
	case plan.customerIsNew || plan.known.own:
		return plan.customer
	case plan.CustomerID != 0:
		return plan.known.shown
	}
	shown := plan.described
	shown.ID = plan.customer.ID
	return shown
}

// saveCustomer creates the customer of a booking, or touches the existing row, as the
// plugin does whenever an order is saved.
func (tx *Tx) saveCustomer(ctx context.Context, w writeSettings, plan *bookingPlan) (err error) {
	if plan.customerIsNew {
		plan.customer.ID, err = tx.insertCustomer(ctx, w, plan.customer, nil)
		return err
	}
	err = tx.update(ctx, wpdb.Customers, plan.customer.ID, append(plan.filled, tx.updateTimestamp()))
	if errors.Is(err, errRowGone) {
		return domain.InvalidField("customer_id", "Customer not found")
	}
	return err
}

// insertBooking writes order, order item, booking, keys and invoice, in the plugin's
// order.
func (tx *Tx) insertBooking(ctx context.Context, w writeSettings, plan bookingPlan) (snapshot, error) {
	breakdown := w.breakdownOf(plan.service.name, plan.price)
	orderID, err := tx.insertOrder(ctx, w, plan.order(), plan.customer.ID, breakdown)
	if err != nil {
		return snapshot{}, err
	}
	item, id, err := tx.insertBookingAndItem(ctx, plan, orderID)
	if err != nil {
		return snapshot{}, err
	}
	keys, err := tx.insertManageKeys(ctx, wpdb.BookingMeta, id, manageKeys{})
	if err != nil {
		return snapshot{}, err
	}
	orderKeys, err := tx.insertManageKeys(ctx, wpdb.OrderMeta, orderID, manageKeys{})
	if err != nil {
		return snapshot{}, err
	}
	invoice := invoiceSource{id: orderID, customer: plan.customer, subtotal: plan.price, total: plan.price, breakdown: breakdown}
	if err := tx.invoiceOrder(ctx, w, invoice); err != nil {
		return snapshot{}, err
	}
	booking, err := tx.Booking(ctx, id)
	if err != nil {
		return snapshot{}, err
	}
	stored, err := tx.storedOrder(ctx, orderID)
	return snapshot{
		customer: booking.Customer,
		booking:  &bookingSnapshot{Booking: booking, keys: keys},
		order:    &orderSnapshot{Order: stored, items: []OrderItem{item}, payments: []Payment{}, keys: &orderKeys},
	}, err
}

// order returns the order of the booking.
func (plan *bookingPlan) order() NewOrder {
	return NewOrder{Address: plan.Address, OrderPatch: OrderPatch{Subtotal: &plan.price, Total: &plan.price, CustomerComment: &plan.notes}}
}

// insertBookingAndItem writes the item of an order, and its booking. The item's data
// contains the booking's id and is written last.
func (tx *Tx) insertBookingAndItem(ctx context.Context, plan bookingPlan, order int64) (item OrderItem, booking int64, err error) {
	item = OrderItem{Variant: bookingItem, Subtotal: plan.price, Total: plan.price}
	amount := domain.AmountText(plan.price)
	item.ID, err = tx.insert(ctx, wpdb.OrderItems, append(row{
		{"order_id", order}, {"variant", item.Variant}, {"item_data", ""}, {"subtotal", amount}, {"total", amount},
		{"coupon_code", nil}, {"coupon_discount", "0.0000"}, {"tax_total", "0.0000"},
	}, tx.newTimestamps()...))
	if err != nil {
		return item, 0, err
	}
	code, err := tx.code(bookingCodeLength)
	if err != nil {
		return item, 0, err
	}
	span := tx.spanOf(plan.Start, plan.duration)
	booking, err = tx.insert(ctx, wpdb.Bookings, tx.bookingRow(plan, code, item.ID))
	if err != nil {
		return item, 0, err
	}
	if item.ItemData, err = newItemData(plan, span, booking); err != nil {
		return item, 0, err
	}
	return item, booking, tx.update(ctx, wpdb.OrderItems, item.ID, row{{"item_data", item.ItemData}})
}

// bookingRow returns the row of a new booking.
func (s *Site) bookingRow(plan bookingPlan, code string, item int64) row {
	return slices.Concat(row{{"booking_code", code}}, s.spanOf(plan.Start, plan.duration).columns(), row{
		{"buffer_before", int64(plan.service.BufferBefore)}, {"buffer_after", int64(plan.service.BufferAfter)}, {"duration", plan.duration},
		{"status", plan.status}, {"customer_id", plan.customer.ID}, {"service_id", plan.resource.Service}, {"agent_id", plan.resource.Agent},
		{"location_id", plan.resource.Location}, {"order_item_id", item}, {"recurrence_id", nil}, {"total_attendees", plan.Attendees},
		{"customer_timezone", nil}, {"server_timezone", nil},
	}, s.newTimestamps())
}

// itemData is the copy of a booking in the data of its order item
// (OsBookingModel::generate_params_for_booking_form, LatePoint 5.6.5).
type itemData struct {
	ID                        int64    `json:"id"`
	CustomerID                any      `json:"customer_id"`
	AgentID                   int64    `json:"agent_id"`
	LocationID                int64    `json:"location_id"`
	ServiceID                 int64    `json:"service_id"`
	RecurrenceID              *int64   `json:"recurrence_id"`
	StartDate                 string   `json:"start_date"`
	StartTime                 int64    `json:"start_time"`
	EndDate                   string   `json:"end_date"`
	EndTime                   int64    `json:"end_time"`
	Status                    string   `json:"status"`
	BufferBefore              int64    `json:"buffer_before"`
	BufferAfter               int64    `json:"buffer_after"`
	Duration                  int64    `json:"duration"`
	GenerateRecurrentSequence []string `json:"generate_recurrent_sequence"`
}

func newItemData(plan bookingPlan, span bookingSpan, id int64) (string, error) {
	data := itemData{
		ID: id, CustomerID: plan.customer.ID, AgentID: plan.resource.Agent, LocationID: plan.resource.Location, ServiceID: plan.resource.Service,
		StartDate: span.start.Day.String(), StartTime: int64(span.start.Minutes), EndDate: span.end.Day.String(), EndTime: int64(span.end.Minutes),
		Status: plan.status, BufferBefore: int64(plan.service.BufferBefore), BufferAfter: int64(plan.service.BufferAfter), Duration: plan.duration,
		GenerateRecurrentSequence: []string{},
	}
	if !plan.customerIsNew {
		data.CustomerID = domain.IDText(plan.customer.ID) // PHP has texts for a loaded customer
	}
	return process.EncodePHP(data)
}
