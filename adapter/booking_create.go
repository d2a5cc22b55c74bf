package adapter

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

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
	assigned, err := tx.assignSlot(ctx, plan.service, plan.resources, plan.slot)
	if err != nil {
		return CreatedBooking{}, err
	}
	plan.resource = assigned.resource
	if tx.dry {
		draft, err := tx.draftBooking(ctx, w, plan)
		return CreatedBooking{BookingDetail: draft}, err
	}
	created, err := tx.insertBooking(ctx, w, &plan)
	if err != nil {
		return CreatedBooking{}, err
	}
	assigned.Exclude = append(assigned.Exclude, created.booking.ID)
	events := []event{
		{kind: bookingCreated, after: created, newCustomer: plan.customerIsNew},
		{kind: orderCreated, after: created, newCustomer: plan.customerIsNew},
	}
	if plan.customerIsNew {
		events = slices.Insert(events, 0, event{kind: customerCreated, after: created})
	}
	// What reads comes first: what nobody waits for is sent together, at the end.
	confirmed, err := tx.notify(ctx, w, events, b.Confirm)
	if err != nil {
		return CreatedBooking{}, err
	}
	if err := tx.completeBooking(ctx, created); err != nil {
		return CreatedBooking{}, err
	}
	if err := tx.logEvents(ctx, w, events); err != nil {
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

// savedCustomer is a customer whose row is sent with the next statement.
type savedCustomer struct {
	id      any          // or an expression for it, for that statement
	created inserted     // of a new one
	touched *wpdb.Result // of one who exists
}

// lastID is the id that the statement before gave to a row.
var lastID = sq.Expr("LAST_INSERT_ID()")

// saveCustomer creates the customer of a booking, or touches the existing row, as the
// plugin does whenever an order is saved. The next statement stores the order.
func (tx *Tx) saveCustomer(ctx context.Context, w writeSettings, plan *bookingPlan) (saved savedCustomer, err error) {
	switch {
	case !plan.customerIsNew:
		saved.id = plan.customer.ID
		saved.touched, err = tx.updateLater(ctx, wpdb.Customers, plan.customer.ID, append(plan.filled, tx.updateTimestamp()))
	case w.settings[settingUsersAsCustomers] == on: // a user may belong to them
		plan.customer.ID, err = tx.insertCustomer(ctx, w, plan.customer, nil)
		saved.id = plan.customer.ID
	default:
		var stored row
		if stored, _, err = tx.newCustomerRow(plan.customer, nil); err == nil {
			saved.created, err = tx.insertLater(ctx, wpdb.Customers, stored)
		}
		saved.id = lastID
	}
	return saved, err
}

// settleCustomer takes what became of saveCustomer.
func (tx *Tx) settleCustomer(saved savedCustomer, plan *bookingPlan) error {
	if saved.touched != nil && saved.touched.Rows == 0 {
		return domain.InvalidField("customer_id", "Customer not found")
	}
	id, err := tx.settle(saved.created)
	if id != 0 {
		plan.customer.ID = id
	}
	return err
}

// insertBooking writes customer, order, order item and booking, and the order's keys and invoice.
// Rows that need the id of the one before are sent together with it, and those that only need ids
// that are known with the booking; completeBooking writes what needs the booking's own id.
func (tx *Tx) insertBooking(ctx context.Context, w writeSettings, plan *bookingPlan) (snapshot, error) {
	breakdown := w.breakdownOf(plan.service.name, plan.price)
	order, item, err := tx.insertOrderWithItem(ctx, w, plan, breakdown)
	if err != nil {
		return snapshot{}, err
	}
	code, err := tx.code(bookingCodeLength)
	if err != nil {
		return snapshot{}, err
	}
	keys, err := tx.completeKeys(manageKeys{})
	if err != nil {
		return snapshot{}, err
	}
	orderKeys, err := tx.completeKeys(manageKeys{})
	if err != nil {
		return snapshot{}, err
	}
	invoices, err := tx.invoiceRows(w, invoiceSource{id: order.ID, customer: plan.customer, subtotal: plan.price, total: plan.price, breakdown: breakdown})
	if err != nil {
		return snapshot{}, err
	}
	if _, err := tx.insertLater(ctx, wpdb.OrderMeta, tx.keyRows(order.ID, manageKeys{}, orderKeys)...); err != nil {
		return snapshot{}, err
	}
	invoice, err := tx.insertLater(ctx, wpdb.OrderInvoices, invoices...)
	if err != nil {
		return snapshot{}, err
	}
	id, err := tx.insert(ctx, wpdb.Bookings, tx.bookingRow(*plan, code, item.ID))
	if err != nil {
		return snapshot{}, err
	}
	if _, err := tx.settle(invoice); err != nil {
		return snapshot{}, err
	}
	if item.ItemData, err = newItemData(*plan, tx.spanOf(plan.Start, plan.duration), id); err != nil {
		return snapshot{}, err
	}
	booking, shown, err := tx.newBooking(ctx, id)
	return snapshot{
		customer: booking.Customer,
		booking:  &bookingSnapshot{Booking: booking, keys: keys, shown: &shown},
		order:    &orderSnapshot{Order: order, items: []OrderItem{item}, payments: []Payment{}, keys: &orderKeys},
	}, err
}

// insertOrderWithItem saves the customer and writes the order of a booking and its item, whose data
// completeBooking writes.
func (tx *Tx) insertOrderWithItem(ctx context.Context, w writeSettings, plan *bookingPlan, breakdown priceBreakdown) (order Order, item OrderItem, err error) {
	customer, err := tx.saveCustomer(ctx, w, plan)
	if err != nil {
		return order, item, err
	}
	code, err := tx.code(confirmationCodeLength)
	if err != nil {
		return order, item, err
	}
	n := plan.order()
	n.ConfirmationCode = &code
	stored, err := tx.orderRow(w, n, customer.id, breakdown)
	if err != nil {
		return order, item, err
	}
	created, err := tx.insertLater(ctx, wpdb.Orders, stored)
	if err != nil {
		return order, item, err
	}
	item = OrderItem{Variant: bookingItem, Subtotal: plan.price, Total: plan.price}
	amount := domain.AmountText(plan.price)
	item.ID, err = tx.insert(ctx, wpdb.OrderItems, append(row{
		{"order_id", lastID}, {"variant", item.Variant}, {"item_data", ""}, {"subtotal", amount}, {"total", amount},
		{"coupon_code", nil}, {"coupon_discount", "0.0000"}, {"tax_total", "0.0000"},
	}, tx.newTimestamps()...))
	if err != nil {
		return order, item, err
	}
	if err := tx.settleCustomer(customer, plan); err != nil {
		return order, item, err
	}
	order = tx.draftOrder(w, *plan)
	order.ConfirmationCode = code
	order.ID, err = tx.settle(created)
	return order, item, err
}

// completeBooking writes the data of the item, which contains the booking's id, and the booking's keys.
func (tx *Tx) completeBooking(ctx context.Context, created snapshot) error {
	item := created.bookingItem()
	if _, err := tx.updateLater(ctx, wpdb.OrderItems, item.ID, row{{"item_data", item.ItemData}}); err != nil {
		return err
	}
	_, err := tx.insertLater(ctx, wpdb.BookingMeta, tx.keyRows(created.booking.ID, manageKeys{}, created.booking.keys)...)
	return err
}

// order returns the order of the booking.
func (plan *bookingPlan) order() NewOrder {
	return NewOrder{Address: plan.Address, OrderPatch: OrderPatch{Subtotal: &plan.price, Total: &plan.price, CustomerComment: &plan.notes}}
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
