package adapter

import (
	"context"
	"errors"
	"slices"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/adapter/process"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// CreateBooking makes a booking with its order, as the plugin's order form does
// (OsOrdersController::create_or_update, LatePoint 5.6.5), but only at a time
// that the site offers to customers.
//
// What is wrong with the booking is a CodeInvalidRequest or
// CodeValidationFailed naming every field; a time that cannot be had is a
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
	facts, err := tx.insertBooking(ctx, w, plan)
	if err != nil {
		return CreatedBooking{}, err
	}
	made := CreatedBooking{BookingDetail: facts.BookingDetail}
	events := []event{
		{kind: bookingCreated, facts: facts, newCustomer: plan.customerIsNew},
		{kind: orderCreated, facts: facts, newCustomer: plan.customerIsNew},
	}
	if plan.customerIsNew {
		events = slices.Insert(events, 0, event{kind: customerCreated, facts: facts})
	}
	if err := tx.logEvents(ctx, w, events); err != nil {
		return CreatedBooking{}, err
	}
	made.ConfirmationSent, err = tx.notify(ctx, w, events, b.Confirm)
	return made, err
}

// bookingPlan is a booking that is right in itself, before it has its slot.
type bookingPlan struct {
	NewBooking
	service   bookableService
	resources []availability.Resource
	resource  availability.Resource // the one that was chosen
	slot      slotRequest
	customer  BookingCustomer
	filled    row // columns of an existing customer that are empty so far
	// customerIsNew says that the customer is to be created with the booking.
	customerIsNew bool
	status        string
	duration      int64
	price         decimal.Decimal
	notes         string
}

// planBooking finds out all that is wrong with a booking at once, puts together
// what it needs, and takes the locks for it.
func (tx *Tx) planBooking(ctx context.Context, w writeSettings, b NewBooking) (bookingPlan, error) {
	p := b.Validation.Clone()
	plan := bookingPlan{NewBooking: b, status: StatusApproved, notes: sanitize.TextareaField(b.Notes)}
	tx.checkText(&p, "notes", wpdb.Orders, "customer_comment", plan.notes)
	if b.Status != nil {
		plan.status = *b.Status
		if !newStatusAllowed(plan.status, w) {
			p.Reject("status", "Unknown status, or none that a booking can begin with")
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

// newStatusAllowed tells whether a booking may begin with a status.
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

// planService reads the service and its connections.
func (s *Site) planService(ctx context.Context, plan *bookingPlan, p *domain.Validation) error {
	if p.Has("service_id") {
		return nil
	}
	var err error
	plan.service, plan.resources, err = s.serviceWithResources(ctx, p, plan.ServiceID, plan.AgentID, plan.LocationID)
	return err
}

// serviceWithResources reads a service and who offers it where. What is unknown
// is noted, agent and location also where the service is.
func (s *Site) serviceWithResources(ctx context.Context, p *domain.Validation, service, agent, location int64) (bookableService, []availability.Resource, error) {
	known, err := s.bookableService(ctx, service)
	if domain.CodeOf(err) == domain.CodeInvalidRequest {
		_, others := s.missing(ctx, known, agent, location)
		return known, nil, errors.Join(p.Absorb(err), p.Absorb(others))
	}
	if err != nil {
		return known, nil, err
	}
	resources, _, err := s.resources(ctx, known, agent, location)
	return known, resources, p.Absorb(err)
}

// slotRequest asks for a start for good.
type slotRequest struct {
	availability.Request
	at     availability.Moment
	window bool // customers' rules: nothing past, and the booking window
}

// chooseResource chooses who has the slot; a CodeSlotUnavailable where nobody has.
// The locks of the slot are taken: bookings read from here on stay as they are.
func (s *Site) chooseResource(ctx context.Context, service bookableService, resources []availability.Resource, q slotRequest) (availability.Resource, error) {
	conflict := domain.SlotConflict{Start: q.at, AgentID: q.Agent}
	if len(resources) == 0 {
		return availability.Resource{}, domain.SlotUnavailable(conflict)
	}
	calendar, err := s.calendar(ctx, service, resources, calendarQuery{from: q.at.Day, to: q.at.Day, customer: q.window})
	if err != nil {
		return availability.Resource{}, err
	}
	choice := availability.Choice{Order: availability.AgentOrder(service.settings[settingAgentOrder]), Pick: s.pick}
	if q.Agent == 0 && (choice.Order == availability.BusiestAgent || choice.Order == availability.IdlestAgent) {
		if choice.Load, err = s.bookingsOfDay(ctx, q.at.Day, scopeOf(resources).agents); err != nil {
			return availability.Resource{}, err
		}
	}
	if chosen, ok := calendar.Assign(q.at, q.Request, choice); ok {
		return chosen, nil
	}
	for _, slot := range calendar.Day(q.at.Day, q.Request) {
		if slot.Reason == availability.Free {
			conflict.Free = append(conflict.Free, slot.Start)
		} else if slot.Start == q.at.Minutes {
			conflict.BookingID = slot.Booking
		}
	}
	return availability.Resource{}, domain.SlotUnavailable(conflict)
}

// lockNewBooking takes the locks of a booking to be made: of its slot, and of the
// e-mail under which its customer is found or created.
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

// slotLocks are the locks for what a booking may collide over: locations where
// they are one agent's at a time, the service where its bookings of a day are
// limited, agents.
func (s *Site) slotLocks(ctx context.Context, service bookableService, resources []availability.Resource) ([]lock, error) {
	limited, err := s.dailyLimitCounts(ctx, service)
	if err != nil {
		return nil, err
	}
	scope := scopeOf(resources)
	locks := locksOf(agentLock, scope.agents...)
	if service.settings[settingOneAgent] == on {
		locks = append(locks, locksOf(locationLock, scope.locations...)...)
	}
	if limited {
		locks = append(locks, locksOf(serviceLock, scope.services...)...)
	}
	return locks, nil
}

// dailyLimitCounts tells whether the service's bookings of a day are limited.
func (s *Site) dailyLimitCounts(ctx context.Context, service bookableService) (bool, error) {
	if service.bookingsPerDay == 0 {
		return false, nil
	}
	return s.addOnActive(ctx, service.settings[settingAddOns])
}

// bookingsOfDay counts the bookings of agents on a day, of every status
// (OsBookingHelper::get_any_agent_for_booking_by_rule). Uses the index on
// start_date.
func (s *Site) bookingsOfDay(ctx context.Context, day availability.Day, agents []int64) (map[int64]int, error) {
	stmt := sq.Select("agent_id", "COUNT(*)").From(s.db.Name(wpdb.Bookings)).
		Where(sq.Eq{"start_date": day.String(), "agent_id": agents}).GroupBy("agent_id")
	return wpdb.Map[int64, int](ctx, s.db, "count bookings of agents", stmt)
}

// insertBooking writes order, order item, booking, keys and invoice, in the
// plugin's order.
func (tx *Tx) insertBooking(ctx context.Context, w writeSettings, plan bookingPlan) (bookingFacts, error) {
	breakdown := breakdownOf(plan.service.name, plan.price)
	order := NewOrder{Address: plan.Address, OrderPatch: OrderPatch{Subtotal: &plan.price, Total: &plan.price, CustomerComment: &plan.notes}}
	orderID, err := tx.insertOrder(ctx, w, order, plan.customer.ID, breakdown)
	if err != nil {
		return bookingFacts{}, err
	}
	amount := domain.AmountText(plan.price)
	itemID, err := tx.insert(ctx, wpdb.OrderItems, append(row{
		{"order_id", orderID}, {"variant", "booking"}, {"item_data", ""}, {"subtotal", amount}, {"total", amount},
		{"coupon_code", nil}, {"coupon_discount", "0.0000"}, {"tax_total", "0.0000"},
	}, tx.newTimestamps()...))
	if err != nil {
		return bookingFacts{}, err
	}
	code, err := tx.code(bookingCodeLength)
	if err != nil {
		return bookingFacts{}, err
	}
	span := tx.spanOf(plan.Start, plan.duration)
	bookingID, err := tx.insert(ctx, wpdb.Bookings, slices.Concat(row{{"booking_code", code}}, span.columns(), row{
		{"buffer_before", int64(plan.service.BufferBefore)}, {"buffer_after", int64(plan.service.BufferAfter)}, {"duration", plan.duration},
		{"status", plan.status}, {"customer_id", plan.customer.ID}, {"service_id", plan.resource.Service}, {"agent_id", plan.resource.Agent},
		{"location_id", plan.resource.Location}, {"order_item_id", itemID}, {"recurrence_id", nil}, {"total_attendees", plan.Attendees},
		{"customer_timezone", nil}, {"server_timezone", nil},
	}, tx.newTimestamps()))
	if err != nil {
		return bookingFacts{}, err
	}
	itemData, err := newItemData(plan, span, bookingID)
	if err != nil {
		return bookingFacts{}, err
	}
	if err := tx.update(ctx, wpdb.OrderItems, itemID, row{{"item_data", itemData}}); err != nil {
		return bookingFacts{}, err
	}
	keys, err := tx.insertManageKeys(ctx, wpdb.BookingMeta, bookingID, manageKeys{})
	if err != nil {
		return bookingFacts{}, err
	}
	orderKeys, err := tx.insertManageKeys(ctx, wpdb.OrderMeta, orderID, manageKeys{})
	if err != nil {
		return bookingFacts{}, err
	}
	invoiced := invoiceSource{id: orderID, customer: plan.customer, subtotal: plan.price, total: plan.price, breakdown: breakdown}
	if err := tx.invoiceOrder(ctx, w, invoiced); err != nil {
		return bookingFacts{}, err
	}
	facts, err := tx.newFacts(ctx, bookingID, OrderItem{ID: itemID, Variant: "booking", ItemData: itemData, Subtotal: plan.price, Total: plan.price})
	facts.keys, facts.orderKeys = keys, orderKeys
	return facts, err
}

// newFacts reads a new booking back. A new order has no payments.
func (s *Site) newFacts(ctx context.Context, id int64, item OrderItem) (bookingFacts, error) {
	booking, err := s.Booking(ctx, id)
	if err != nil {
		return bookingFacts{}, err
	}
	order, err := s.Order(ctx, booking.Order.ID)
	if err != nil {
		return bookingFacts{}, err
	}
	return bookingFacts{
		BookingDetail: BookingDetail{Booking: booking, Order: &order, Payments: []Payment{}},
		items:         []OrderItem{item},
	}, nil
}

// The metas of a booking or order that hold its manageKeys.
const (
	keyForAgent    = secretMeta + "for_agent"
	keyForCustomer = secretMeta + "for_customer"
)

// manageKeys reads the keys of bookings or orders, by id.
func (s *Site) manageKeys(ctx context.Context, table wpdb.Table, ids ...int64) (map[int64]manageKeys, error) {
	metas, err := s.metas(ctx, table, ids, sq.Eq{"meta_key": []string{keyForAgent, keyForCustomer}})
	keys := make(map[int64]manageKeys, len(metas))
	for id, meta := range metas {
		keys[id] = manageKeys{agent: meta[keyForAgent], customer: meta[keyForCustomer]}
	}
	return keys, err
}

// insertManageKeys adds the keys with which agent and customer manage a booking
// or order, as far as it has none.
func (tx *Tx) insertManageKeys(ctx context.Context, table wpdb.Table, id int64, keys manageKeys) (manageKeys, error) {
	var metas []row
	for _, k := range []struct {
		meta string
		key  *string
	}{{keyForAgent, &keys.agent}, {keyForCustomer, &keys.customer}} {
		if *k.key != "" {
			continue
		}
		var err error
		if *k.key, err = tx.manageKey(); err != nil {
			return keys, err
		}
		metas = append(metas, append(row{{"object_id", id}, {"meta_key", k.meta}, {"meta_value", *k.key}}, tx.newTimestamps()...))
	}
	_, err := tx.insert(ctx, table, metas...)
	return keys, err
}

// itemData is what an order item says of its booking
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
		data.CustomerID = domain.IDText(plan.customer.ID) // of a loaded customer PHP has texts
	}
	return process.EncodePHP(data)
}
