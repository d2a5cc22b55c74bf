package adapter

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// NewBooking is a booking to create. Validation has the problems found so far; fields
// named there are not checked again.
type NewBooking struct {
	ServiceID  int64
	AgentID    int64 // 0 for any
	LocationID int64 // 0 for the first free one
	Start      availability.Moment
	Duration   *int64 // minutes; nil for the service's own
	Attendees  int64
	Status     *string // nil for approved
	CustomerID int64   // 0 for the customer described in Customer
	Customer   CustomerFields
	Price      *decimal.Decimal // nil for the price of the service
	Notes      string
	Confirm    bool   // send the messages of the site's automations; reminders are always sent
	Address    string // the client's IP address, stored if the site logs it
	Validation domain.Validation
}

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
// CodeValidationFailed that names every field; if the time is not available, a
// CodeSlotUnavailable.
func (tx *Tx) CreateBooking(ctx context.Context, b NewBooking) (CreatedBooking, error) {
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return CreatedBooking{}, err
	}
	plan, err := tx.planBooking(ctx, w, b)
	if err != nil {
		return CreatedBooking{}, err
	}
	if plan.resource, err = tx.chooseResource(ctx, plan.service, plan.resources, plan.slot); err != nil {
		return CreatedBooking{}, err
	}
	if err := tx.saveCustomer(ctx, w, &plan); err != nil {
		return CreatedBooking{}, err
	}
	created, err := tx.insertBooking(ctx, w, plan)
	if err != nil {
		return CreatedBooking{}, err
	}
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
	return CreatedBooking{BookingDetail: created.bookingDetail(), ConfirmationSent: confirmed}, err
}

// bookingPlan is a valid booking before it has its slot.
type bookingPlan struct {
	NewBooking
	service   bookableService
	resources []availability.Resource
	resource  availability.Resource // the one chosen for the slot
	slot      slotRequest
	customer  BookingCustomer
	filled    row // columns of an existing customer that were empty
	// customerIsNew reports whether the customer is created with the booking.
	customerIsNew bool
	status        string
	duration      int64
	price         decimal.Decimal
	notes         string
}

// planBooking validates a booking, reporting all problems at once, reads what it needs
// and takes its locks.
func (tx *Tx) planBooking(ctx context.Context, w writeSettings, b NewBooking) (bookingPlan, error) {
	p := b.Validation.Clone()
	plan := bookingPlan{NewBooking: b, status: StatusApproved, notes: sanitize.TextareaField(b.Notes)}
	tx.checkText(&p, "notes", wpdb.Orders, "customer_comment", plan.notes)
	if b.Status != nil {
		plan.status = *b.Status
		if !newStatusAllowed(plan.status, w) {
			p.Reject("status", "Unknown status, or not allowed for a new booking")
		}
	}
	if !p.Has("start_date") && b.Start.Day < availability.MomentOf(tx.localNow()).Day {
		p.Reject("start_date", "May not be in the past")
	}
	if !p.Has("start_date") && !p.Has("start_time") {
		tx.checkClock(&p, b.Start)
	}
	if err := tx.planService(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if p.Err() == nil {
		if err := tx.lockNewBooking(ctx, w, plan); err != nil {
			return plan, err
		}
	}
	if err := tx.planCustomer(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if err := p.Err(); err != nil {
		return plan, err
	}
	plan.duration = domain.ValueOr(b.Duration, plan.service.duration)
	plan.price = domain.ValueOr(b.Price, plan.service.price(plan.duration))
	plan.slot = slotRequest{
		Request: plan.service.request(plan.duration, b.Attendees), at: b.Start, window: true,
	}
	plan.slot.Agent, plan.slot.Location = b.AgentID, b.LocationID
	return plan, nil
}

// newStatusAllowed reports whether a new booking may have a status.
func newStatusAllowed(status string, w writeSettings) bool {
	switch status {
	case StatusPending, StatusApproved, StatusCancelled:
		return true
	case StatusCompleted, StatusNoShow:
		return false
	default:
		return slices.Contains(ownStatuses(w.settings[settingOwnStatuses]), status)
	}
}

// planService reads the service and its resources.
func (s *Site) planService(ctx context.Context, plan *bookingPlan, p *domain.Validation) error {
	if p.Has("service_id") {
		return nil
	}
	var err error
	plan.service, plan.resources, err = s.serviceWithResources(ctx, p, plan.ServiceID, plan.AgentID, plan.LocationID)
	return err
}

// lockNewBooking takes the locks of a new booking: those of its slot, and that of the
// e-mail address by which its customer is found or created.
func (tx *Tx) lockNewBooking(ctx context.Context, w writeSettings, plan bookingPlan) error {
	locks, err := tx.slotLocks(ctx, plan.service, plan.resources)
	if err != nil {
		return err
	}
	if plan.CustomerID == 0 {
		customer, err := tx.locksOfNewCustomer(ctx, w, plan.Customer.Email)
		if err != nil {
			return err
		}
		locks = append(locks, customer...)
	}
	return tx.lock(ctx, locks...)
}

// insertBooking writes order, order item, booking, keys and invoice, in the plugin's
// order.
func (tx *Tx) insertBooking(ctx context.Context, w writeSettings, plan bookingPlan) (snapshot, error) {
	breakdown := breakdownOf(plan.service.name, plan.price)
	order := NewOrder{Address: plan.Address, OrderPatch: OrderPatch{Subtotal: &plan.price, Total: &plan.price, CustomerComment: &plan.notes}}
	orderID, err := tx.insertOrder(ctx, w, order, plan.customer.ID, breakdown)
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
	stored, err := tx.Order(ctx, orderID)
	return snapshot{
		customer: booking.Customer,
		booking:  &bookingSnapshot{Booking: booking, keys: keys},
		order:    &orderSnapshot{Order: stored, items: []OrderItem{item}, payments: []Payment{}, keys: &orderKeys},
	}, err
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
	booking, err = tx.insert(ctx, wpdb.Bookings, slices.Concat(row{{"booking_code", code}}, span.columns(), row{
		{"buffer_before", int64(plan.service.BufferBefore)}, {"buffer_after", int64(plan.service.BufferAfter)}, {"duration", plan.duration},
		{"status", plan.status}, {"customer_id", plan.customer.ID}, {"service_id", plan.resource.Service}, {"agent_id", plan.resource.Agent},
		{"location_id", plan.resource.Location}, {"order_item_id", item.ID}, {"recurrence_id", nil}, {"total_attendees", plan.Attendees},
		{"customer_timezone", nil}, {"server_timezone", nil},
	}, tx.newTimestamps()))
	if err != nil {
		return item, 0, err
	}
	if item.ItemData, err = newItemData(plan, span, booking); err != nil {
		return item, 0, err
	}
	return item, booking, tx.update(ctx, wpdb.OrderItems, item.ID, row{{"item_data", item.ItemData}})
}
