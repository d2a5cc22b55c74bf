package adapter

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/adapter/process"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// planSlot decides whether the update needs a slot, and which one.
func (s *Site) planSlot(ctx context.Context, plan *updatePlan, p *domain.Validation) error {
	b := plan.before.booking
	day, dayKnown := availability.ParseDay(string(b.StartDate))
	at, timeKnown := availability.Moment{Day: day}, b.StartTime != nil
	if timeKnown {
		at.Minutes = *b.StartTime
	}
	newTime := changes(&at.Day, plan.StartDate, dayKnown)
	newTime = changes(&at.Minutes, plan.StartTime, timeKnown) || newTime
	serviceID, agent, location := b.serviceID(), b.Agent.ID, b.locationID()
	newService := changes(&serviceID, plan.ServiceID, true)
	plan.moved = changes(&agent, plan.AgentID, true) || newTime || newService
	plan.moved = changes(&location, plan.LocationID, true) || plan.moved
	duration := b.Duration
	plan.moved = changes(&duration, plan.Duration, true) || plan.moved
	statuses, err := s.blockingStatuses(ctx)
	if err != nil {
		return err
	}
	if !plan.moved && (blocks(statuses, b.Status) || !blocks(statuses, plan.status)) {
		return nil
	}
	if !dayKnown && plan.StartDate == nil || !timeKnown && plan.StartTime == nil {
		p.Reject("start_time", "This booking has no start: send start_date and start_time")
	}
	if newTime && at.Day < availability.MomentOf(s.localNow()).Day {
		p.Reject(sentFirst(plan), "May not be in the past")
	}
	if newTime {
		s.checkClock(p, at)
	}
	for field, sent := range map[string]bool{"service_id": plan.ServiceID != nil, "agent_id": plan.AgentID != nil, "location_id": plan.LocationID != nil} {
		if sent && p.Has(field) {
			return nil
		}
	}
	if plan.service, plan.resources, err = s.serviceWithResources(ctx, p, serviceID, agent, location); err != nil {
		return err
	}
	plan.present = availability.Resource{Agent: b.Agent.ID, Service: b.serviceID(), Location: b.locationID()}
	plan.slot = &slotRequest{
		Request: availability.Request{
			Agent: agent, Location: location, Attendees: int(b.Attendees), Exclude: []int64{b.ID},
			BufferBefore: Minutes(b.BufferBefore), BufferAfter: Minutes(b.BufferAfter),
		},
		at: at, window: newTime,
	}
	if newService {
		plan.slot.BufferBefore, plan.slot.BufferAfter = plan.service.BufferBefore, plan.service.BufferAfter
		if plan.Duration == nil {
			duration = plan.service.duration
		}
	}
	plan.slot.Duration = Minutes(duration)
	return nil
}

// changes stores the value that was sent, if any, and reports whether it differs from the
// known one.
func changes[T comparable](value *T, sent *T, known bool) bool {
	if sent == nil || known && *sent == *value {
		return false
	}
	*value = *sent
	return true
}

// sentFirst returns the field to blame for a start in the past.
func sentFirst(plan *updatePlan) string {
	if plan.StartDate != nil {
		return "start_date"
	}
	return "start_time"
}

func (b Booking) serviceID() int64 {
	if b.Service == nil {
		return 0
	}
	return b.Service.ID
}

func (b Booking) locationID() int64 { return domain.ValueOr(b.Location.ID, 0) }

// blocks reports whether bookings with a status block their time. Like the database's
// collation, it ignores case and trailing blanks.
func blocks(statuses []string, status string) bool {
	return slices.ContainsFunc(statuses, func(s string) bool {
		return strings.EqualFold(strings.TrimRight(s, " "), strings.TrimRight(status, " "))
	})
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
func (tx *Tx) applyUpdate(ctx context.Context, plan updatePlan) (updatedRecords, error) {
	var done updatedRecords
	columns := plan.bookingColumns(tx.Site)
	itemChanged, err := tx.updateItem(ctx, plan, columns)
	if err != nil {
		return done, err
	}
	orderChanged, err := tx.updateOrderOf(ctx, plan)
	if err != nil {
		return done, err
	}
	done.order = itemChanged && plan.Price != nil || orderChanged
	// Price and notes belong to the booking in the eyes of the client.
	if done.booking = len(columns) > 0 || done.order; done.booking {
		if err := tx.update(ctx, wpdb.Bookings, plan.before.booking.ID, append(columns, tx.updateTimestamp())); err != nil {
			return done, err
		}
	}
	if done.customer = len(plan.fields) > 0; done.customer {
		err = tx.updateCustomerRow(ctx, plan.customer, plan.fields)
	}
	return done, err
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
	columns = append(columns, s.spanOf(plan.slot.at, int64(plan.slot.Duration)).columns()...)
	for _, c := range []struct {
		name     string
		old, new int64
	}{
		{"service_id", b.serviceID(), plan.resource.Service},
		{"agent_id", b.Agent.ID, plan.resource.Agent},
		{"location_id", b.locationID(), plan.resource.Location},
		{"duration", b.Duration, int64(plan.slot.Duration)},
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

// updateOrderOf changes the order of a booking: its comment, its price by the difference,
// and its customer if this is its only booking.
func (tx *Tx) updateOrderOf(ctx context.Context, plan updatePlan) (bool, error) {
	order, item := plan.before.order, plan.before.bookingItem()
	if order == nil {
		return false, nil
	}
	var changes row
	if plan.notes != nil && (order.CustomerComment == nil || *plan.notes != *order.CustomerComment) {
		changes = append(changes, column{"customer_comment", *plan.notes})
	}
	if plan.customer.ID != plan.before.customer.ID && plan.alone() {
		changes = append(changes, column{"customer_id", plan.customer.ID})
	}
	if plan.Price != nil && item != nil && !plan.Price.Equal(item.Total) {
		more := domain.AmountText(plan.Price.Sub(item.Total))
		changes = append(changes,
			column{"subtotal", sq.Expr("COALESCE(subtotal, 0) + ?", more)}, column{"total", sq.Expr("COALESCE(total, 0) + ?", more)})
		if plan.alone() {
			breakdown, err := process.EncodePHP(breakdownOf(serviceName(plan), *plan.Price))
			if err != nil {
				return false, err
			}
			changes = append(changes, column{"price_breakdown", breakdown})
		}
	}
	if len(changes) == 0 {
		return false, nil
	}
	return true, tx.update(ctx, wpdb.Orders, order.ID, append(changes, tx.updateTimestamp()))
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

// BookingPatch changes a booking. A nil field stays as it is. Validation has the problems
// found so far; fields named there are not checked again.
type BookingPatch struct {
	ServiceID, LocationID, CustomerID *int64
	AgentID                           *int64 // 0 for any
	StartDate                         *availability.Day
	StartTime                         *Minutes
	Duration                          *int64 // minutes
	Status                            *string
	Customer                          CustomerFields
	Price                             *decimal.Decimal
	Notes                             *string
	Notify                            bool // send the messages of the site's automations; reminders are always sent
	Validation                        domain.Validation
}

// UpdateBooking changes a booking and keeps its order item in step. Columns that do not
// change are not written. Errors are those of CreateBooking, and a CodeNotFound if the
// booking does not exist, a CodeForbidden if the caller's key does not permit the change.
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
	plan, err := tx.planUpdate(ctx, before, patch)
	if err != nil {
		return BookingDetail{}, err
	}
	if plan.slot != nil {
		if plan.resource, err = tx.chooseResource(ctx, plan.service, plan.resources, *plan.slot); err != nil {
			return BookingDetail{}, err
		}
	}
	changed, err := tx.applyUpdate(ctx, plan)
	if err != nil || !changed.any() {
		return before.bookingDetail(), err
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
	_, err = tx.notify(ctx, w, events, patch.Notify)
	return after.bookingDetail(), err
}

// updatePlan is a change to a booking, before it has its slot.
type updatePlan struct {
	BookingPatch
	before    snapshot // has a booking
	service   bookableService
	resources []availability.Resource
	resource  availability.Resource // the one chosen for the slot
	slot      *slotRequest          // nil if no slot is needed
	present   availability.Resource // the resource that the booking has now
	moved     bool                  // to another time, service, agent or location
	status    string
	customer  BookingCustomer // of the booking, with its changes
	fields    row             // changed columns of the customer
	replaces  bool            // the change replaces known data of the customer
	notes     *string
}

// planUpdate validates a change, reporting all problems at once, and takes its locks.
func (tx *Tx) planUpdate(ctx context.Context, before snapshot, patch BookingPatch) (updatePlan, error) {
	p := patch.Validation.Clone()
	plan := updatePlan{BookingPatch: patch, before: before, status: before.booking.Status, customer: before.customer}
	if patch.Status != nil {
		plan.status = *patch.Status
		checkTransition(&p, before.booking.Status, plan.status)
	}
	tx.planOrderFields(&plan, &p)
	if err := tx.planSlot(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if p.Err() == nil {
		if err := tx.lockUpdate(ctx, &plan); err != nil {
			return plan, err
		}
	}
	if err := tx.planCustomerChange(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if err := p.Err(); err != nil {
		return plan, err
	}
	return plan, tx.permitUpdate(plan)
}

// permitUpdate checks the permissions of a change that needs more than the permission to
// change bookings.
func (s *Site) permitUpdate(plan updatePlan) error {
	if reopensCompleted(plan.before.booking.Status, plan.status) {
		if err := s.requirePermission("delete_bookings"); err != nil {
			return err
		}
	}
	if plan.replaces {
		return s.requirePermission("write_customers")
	}
	return nil
}

// lockUpdate takes the locks of a valid change, and then the booking's row. The lock of
// the booking is held already, so that only PHP can have changed the row in the meantime:
// then the transaction is run again.
func (tx *Tx) lockUpdate(ctx context.Context, plan *updatePlan) error {
	before := plan.before.booking.Booking
	locks := locksOfEmail(plan.Customer.Email)
	if plan.slot != nil && len(plan.resources) > 0 {
		slot, err := tx.slotLocks(ctx, plan.service, append(slices.Clone(plan.resources), plan.present))
		if err != nil {
			return err
		}
		locks = append(locks, slot...)
	}
	if plan.CustomerID != nil || plan.Customer != (CustomerFields{}) {
		locks = append(locks, lockOf(customerLock, domain.ValueOr(plan.CustomerID, before.Customer.ID)))
	}
	if plan.before.order != nil {
		locks = append(locks, lockOf(orderLock, plan.before.order.ID))
	}
	if err := tx.lock(ctx, locks...); err != nil {
		return err
	}
	if err := tx.lockRows(ctx, wpdb.Bookings, []int64{before.ID}); err != nil {
		return err
	}
	now, err := tx.Booking(ctx, before.ID)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(now.ownColumns(), before.ownColumns()) {
		return fmt.Errorf("booking %d changed concurrently: %w", before.ID, wpdb.ErrConflict)
	}
	plan.before.booking.Booking, plan.before.customer, plan.customer = now, now.Customer, now.Customer
	return nil
}

// ownColumns returns the booking with nothing of other records but their ids.
func (b Booking) ownColumns() Booking {
	b.Customer, b.Agent, b.Location = BookingCustomer{ID: b.Customer.ID}, BookingAgent{ID: b.Agent.ID}, BookingLocation{ID: b.Location.ID}
	b.Service, b.Order = &BookingService{ID: b.serviceID()}, nil
	b.Price, b.Meta = decimal.Decimal{}, nil
	return b
}

// checkTransition rejects a status that may not follow the present one.
func checkTransition(p *domain.Validation, from, to string) {
	switch {
	case from == to, p.Has("status"), transitionAllowed(from, to):
	case bookingTransitions[from] == nil:
		p.Reject("status", "Bookings with the status "+from+" cannot change to another status")
	default:
		p.Reject("status", "Cannot change from "+from+" to "+to)
	}
}

// planOrderFields validates price and notes, which are stored with order item and order.
func (s *Site) planOrderFields(plan *updatePlan, p *domain.Validation) {
	if plan.Price != nil && plan.before.bookingItem() == nil {
		p.Reject("price", "This booking has no order item")
	}
	if plan.Notes == nil {
		return
	}
	notes := sanitize.TextareaField(*plan.Notes)
	plan.notes = &notes
	s.checkText(p, "notes", wpdb.Orders, "customer_comment", notes)
	if plan.before.order == nil {
		p.Reject("notes", "This booking has no order")
	}
}

// alone reports whether the booking is the only one of its order. A bundle is for
// several.
func (plan *updatePlan) alone() bool {
	order := plan.before.order
	return order != nil && len(order.items) == 1 && order.items[0].Variant != bundleItem
}
