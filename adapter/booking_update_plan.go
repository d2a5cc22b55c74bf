package adapter

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// BookingPatch changes a booking. A nil field stays as it is. Validation has the problems
// found so far; fields named there are not checked again.
type BookingPatch struct {
	ServiceID, CustomerID *int64
	AgentID, LocationID   *int64 // 0 for any
	StartDate             *availability.Day
	StartTime             *Minutes
	Duration              *int64 // minutes
	Attendees             *int64
	Status                *string
	Customer              CustomerFields
	Price                 *decimal.Decimal
	Notes                 *string
	Notify                bool // send the messages of the site's automations; reminders are always sent
	Validation            domain.Validation
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
	newSpan   bool                  // another start, duration or service
	status    string
	rules     customerRules
	customer  BookingCustomer // of the booking, with its changes
	fields    row             // changed columns of the customer
	replaces  bool            // the change replaces known data of the customer
	notes     *string
	sums      *orderSums // of the order with the price that was sent; nil if none was
}

// orderSums are the sums of an order that follow from its items.
type orderSums struct{ subtotal, total decimal.Decimal }

// planUpdate validates a change, reporting all problems at once, and takes its locks.
func (tx *Tx) planUpdate(ctx context.Context, w writeSettings, before snapshot, patch BookingPatch) (updatePlan, error) {
	p := patch.Validation.Clone()
	plan := updatePlan{BookingPatch: patch, before: before, status: before.booking.Status, customer: before.customer}
	var err error
	if plan.rules, err = tx.customerRulesOf(ctx, w.settings); err != nil {
		return plan, err
	}
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
	if err := tx.checkPrecondition(); err != nil {
		return plan, err
	}
	if err := tx.planSums(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if err := tx.planCustomerChange(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if err := p.Err(); err != nil {
		return plan, err
	}
	return plan, tx.permitUpdate(plan)
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

// planSums adds up the order anew with the price that was sent: its items, less discounts,
// plus tax. A total that somebody entered by hand gives way. The order is locked, unless
// something is wrong already.
func (tx *Tx) planSums(ctx context.Context, plan *updatePlan, p *domain.Validation) error {
	item, order := plan.before.bookingItem(), plan.before.order
	if plan.Price == nil || item == nil || p.Has("price") {
		return nil
	}
	if p.Err() == nil {
		if err := tx.readOrderAgain(ctx, order); err != nil {
			return err
		}
		if item = plan.before.bookingItem(); item == nil {
			return fmt.Errorf("the item of booking %d changed its order: %w", plan.before.booking.ID, wpdb.ErrConflict)
		}
	}
	var sums orderSums
	for _, i := range order.items {
		switch {
		case i.ID == item.ID && !plan.Price.Equal(i.Total):
			sums.subtotal = sums.subtotal.Add(*plan.Price)
		case i.Subtotal.IsZero():
			sums.subtotal = sums.subtotal.Add(i.Total)
		default:
			sums.subtotal = sums.subtotal.Add(i.Subtotal)
		}
	}
	sums.total = sums.subtotal.Add(order.surcharge())
	switch {
	case sums.total.IsNegative():
		p.Reject("price", "The order's discounts exceed its price")
	case sums.subtotal.GreaterThan(domain.MaxAmount), sums.total.GreaterThan(domain.MaxAmount):
		p.Reject("price", "Too large")
	}
	plan.sums = &sums
	return nil
}

// surcharge returns what an order's total has beyond its subtotal: tax less discounts, which
// is usually negative. The plugin's checkout stores a coupon's discount positive. Its form for
// staff, with the add-on for coupons, stores the total that it computed less the subtotal: the
// discount negative, and the tax inside it, while tax_total stays as it was. Which of them it
// was, the order's total tells. If staff entered a total by hand as well, that cannot be told,
// and tax_total is taken to be all of the tax.
func (o Order) surcharge() decimal.Decimal {
	stored := o.Total.Sub(o.Subtotal)
	usual := o.TaxTotal.Sub(o.CouponDiscount.Abs()).Sub(o.DiscountTotal)
	form := o.CouponDiscount.Sub(o.DiscountTotal)
	if !o.CouponDiscount.IsZero() && !stored.Equal(usual) && (stored.Equal(o.CouponDiscount) || stored.Equal(form)) {
		return form
	}
	return usual
}

// readOrderAgain keeps PHP from changing an order and its items, and reads what others may
// have changed while the lock of the order was waited for.
func (tx *Tx) readOrderAgain(ctx context.Context, order *orderSnapshot) error {
	ids := make([]int64, len(order.items))
	for i, item := range order.items {
		ids[i] = item.ID
	}
	if err := tx.lockRows(ctx, wpdb.OrderItems, ids); err != nil {
		return err
	}
	now, err := tx.lockOrderRow(ctx, order.ID)
	if err != nil {
		return err
	}
	now.DisplayPaymentStatus = order.DisplayPaymentStatus
	order.Order = now
	order.items, err = tx.OrderItems(ctx, order.ID)
	return err
}

// alone reports whether the booking is the only one of its order. A bundle is for
// several.
func (plan *updatePlan) alone() bool {
	order := plan.before.order
	return order != nil && len(order.items) == 1 && order.items[0].Variant != bundleItem
}

// slotChange is the slot that an update gives to a booking.
type slotChange struct {
	at                                   availability.Moment
	startKnown                           bool // both date and time of at
	service, agent, location             int64
	duration                             int64 // minutes
	attendees                            int64
	spanChanged                          bool // start or end
	timeChanged, serviceChanged, changed bool // changed reports a change of any field
}

// slotChange applies the patch to the slot of the booking.
func (plan *updatePlan) slotChange() slotChange {
	b := plan.before.booking
	day, dayKnown := availability.ParseDay(string(b.StartDate))
	c := slotChange{at: availability.Moment{Day: day}, service: b.serviceID(), agent: b.Agent.ID, location: b.locationID(), duration: b.Duration, attendees: b.Attendees}
	timeKnown := b.StartTime != nil
	if timeKnown {
		c.at.Minutes = *b.StartTime
	}
	c.timeChanged = changes(&c.at.Day, plan.StartDate, dayKnown)
	c.timeChanged = changes(&c.at.Minutes, plan.StartTime, timeKnown) || c.timeChanged
	c.startKnown = (dayKnown || plan.StartDate != nil) && (timeKnown || plan.StartTime != nil)
	c.serviceChanged = changes(&c.service, plan.ServiceID, true)
	c.changed = changes(&c.agent, plan.AgentID, true) || c.timeChanged || c.serviceChanged
	c.changed = changes(&c.location, plan.LocationID, true) || c.changed
	c.spanChanged = changes(&c.duration, plan.Duration, true) || c.timeChanged || c.serviceChanged
	c.changed = changes(&c.attendees, plan.Attendees, true) || c.spanChanged || c.changed
	return c
}

// planSlot decides whether the update needs a slot, and which one.
func (s *Site) planSlot(ctx context.Context, plan *updatePlan, p *domain.Validation) error {
	b, c := plan.before.booking, plan.slotChange()
	plan.moved = c.changed
	statuses, err := s.blockingStatuses(ctx)
	if err != nil {
		return err
	}
	if !plan.moved && (blocks(statuses, b.Status) || !blocks(statuses, plan.status)) {
		return nil
	}
	s.checkNewStart(plan, c, p)
	for field, sent := range map[string]bool{"service_id": plan.ServiceID != nil, "agent_id": plan.AgentID != nil, "location_id": plan.LocationID != nil, "total_attendees": plan.Attendees != nil} {
		if sent && p.Has(field) {
			return nil
		}
	}
	location := cmp.Or(plan.LocationID, b.location())
	if plan.service, plan.resources, _, err = s.serviceWithResources(ctx, p, c.service, c.agent, location); err != nil {
		return err
	}
	plan.present = availability.Resource{Agent: b.Agent.ID, Service: b.serviceID(), Location: b.locationID()}
	plan.slot = &slotRequest{
		Request: plan.service.requestToMove(b.Booking, plan.Duration, plan.Attendees),
		at:      c.at, window: c.timeChanged, anyLocation: isAny(location),
	}
	plan.slot.Agent = c.agent
	if plan.newSpan = c.spanChanged; !c.spanChanged {
		plan.slot.Duration = s.length(b.Booking)
	}
	return nil
}

// checkNewStart rejects a slot without a start, and a new start that is in the past or
// that the clock skips.
func (s *Site) checkNewStart(plan *updatePlan, c slotChange, p *domain.Validation) {
	if !c.startKnown {
		p.Reject("start_time", "This booking has no start: send start_date and start_time")
	}
	if !c.timeChanged {
		return
	}
	if c.at.Day < availability.MomentOf(s.localNow()).Day {
		p.Reject(sentFirst(plan), "May not be in the past")
	}
	s.checkClock(p, c.at)
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

// blocks reports whether bookings with a status block their time. Like the database's
// collation, it ignores case and trailing blanks.
func blocks(statuses []string, status string) bool {
	return slices.ContainsFunc(statuses, func(s string) bool {
		return strings.EqualFold(strings.TrimRight(s, " "), strings.TrimRight(status, " "))
	})
}

// lockUpdate takes the locks of a valid change, and then the booking's row. The lock of
// the booking is held already, so that only PHP can have changed the row in the meantime:
// then the transaction is run again.
func (tx *Tx) lockUpdate(ctx context.Context, plan *updatePlan) error {
	before := plan.before.booking.Booking
	locks := locksOfContacts(plan.rules, plan.Customer)
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
		if plan.CustomerID != nil && plan.alone() {
			locks = append(locks, locksOfCoupon(plan.before.order.CouponCode)...)
		}
	}
	if err := tx.lock(ctx, locks...); err != nil {
		return err
	}
	if err := tx.lockRows(ctx, wpdb.Bookings, []int64{before.ID}); err != nil {
		return err
	}
	if err := tx.lockOrderOf(ctx, plan.before); err != nil {
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

// lockOrderOf keeps PHP from changing the price and the notes of a booking, which its
// order has, if the caller demands that they are as they were.
func (tx *Tx) lockOrderOf(ctx context.Context, before snapshot) error {
	item := before.bookingItem()
	if tx.Precondition == nil || item == nil {
		return nil
	}
	if err := tx.lockRows(ctx, wpdb.OrderItems, []int64{item.ID}); err != nil {
		return err
	}
	return tx.lockRows(ctx, wpdb.Orders, []int64{before.order.ID})
}

// ownColumns returns the booking with nothing of other records but their ids.
func (b Booking) ownColumns() Booking {
	b.Customer, b.Agent, b.Location = BookingCustomer{ID: b.Customer.ID}, BookingAgent{ID: b.Agent.ID}, BookingLocation{ID: b.Location.ID}
	b.Service, b.Order = &BookingService{ID: b.serviceID()}, nil
	b.Price, b.Meta = decimal.Decimal{}, nil
	return b
}

// planCustomerChange finds the customer to whom a booking goes, and the changes to their
// fields.
func (tx *Tx) planCustomerChange(ctx context.Context, plan *updatePlan, p *domain.Validation) error {
	if plan.CustomerID != nil && *plan.CustomerID != plan.before.customer.ID && !p.Has("customer_id") {
		// Keeps PHP from deleting the customer before the booking is theirs.
		if err := tx.lockRows(ctx, wpdb.Customers, []int64{*plan.CustomerID}); err != nil {
			return err
		}
		found, ok, err := tx.customerRow(ctx, sq.Eq{"id": *plan.CustomerID})
		if err != nil {
			return err
		}
		known, err := tx.knowsCustomer(ctx, found.BookingCustomer)
		if err != nil {
			return err
		}
		if !ok || !known.seen {
			p.Invalid("customer_id", "Customer not found")
			return nil
		}
		refuseInactive(p, "customer_id", found, known.own)
		plan.customer = found.BookingCustomer
		if plan.alone() && p.Err() == nil { // its locks are held
			if err := tx.checkMovedCoupon(ctx, plan, p); err != nil {
				return err
			}
		}
	}
	if plan.Customer == (CustomerFields{}) {
		return nil
	}
	if err := tx.requireOwn(ctx, plan.customer.ID); err != nil {
		return err
	}
	old := plan.customer
	if tx.wouldCompare(old, plan.Customer) { // before the contacts of others are compared with it
		return tx.requirePermission("write_customers")
	}
	plan.customer, plan.fields = tx.patchCustomer(plan.rules, old, plan.Customer, customerPrefix, p)
	user, err := tx.checkCustomerChange(ctx, plan.rules, old, plan.customer, customerPrefix, p)
	// A WordPress user has an e-mail address even if the customer has none.
	plan.replaces = user != nil || replaces(old, plan.customer)
	return err
}

// wouldCompare reports whether the caller sent something that the customer has a value for and that
// it may neither read nor change. That it is the same must not be told apart from a change.
func (s *Site) wouldCompare(old BookingCustomer, sent CustomerFields) bool {
	both := func(stored string, sent *string) bool { return stored != "" && sent != nil }
	return s.requirePermission("write_customers") != nil && s.requirePermission("read_bookings") != nil && s.requirePermission("read_customers") != nil &&
		(both(old.FirstName, sent.FirstName) || both(old.LastName, sent.LastName) || both(old.Email, sent.Email) || both(old.Phone, sent.Phone))
}

// checkMovedCoupon rejects a customer who may not have the coupon of the order that goes to
// them with its only booking.
func (tx *Tx) checkMovedCoupon(ctx context.Context, plan *updatePlan, p *domain.Validation) error {
	order, err := tx.storedOrder(ctx, plan.before.order.ID)
	if err != nil {
		return err
	}
	if domain.ValueOr(order.CouponCode, "") != domain.ValueOr(plan.before.order.CouponCode, "") {
		return fmt.Errorf("order %d got another coupon meanwhile: %w", order.ID, wpdb.ErrConflict)
	}
	var coupon domain.Validation
	if err := tx.checkOrderCoupon(ctx, order, OrderPatch{CustomerID: &plan.customer.ID}, &coupon); err != nil {
		return err
	}
	if coupon.Has("coupon_code") {
		p.Reject("customer_id", "May not use the coupon of the booking's order. PUT /orders/{id} with force=true moves the order all the same")
	}
	return nil
}

// replaces reports whether a non-empty field of a customer changed.
func replaces(old, customer BookingCustomer) bool {
	differs := func(old, wanted string) bool { return old != "" && old != wanted }
	return differs(old.FirstName, customer.FirstName) || differs(old.LastName, customer.LastName) ||
		differs(old.Email, customer.Email) || differs(old.Phone, customer.Phone)
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
