package bookings

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Patch changes a booking. A nil field stays as it is. Validation holds the problems found so far; its
// fields are not checked again.
type Patch struct {
	ServiceID, CustomerID *int64
	AgentID, LocationID   *int64 // 0 for any
	StartDate             *availability.Day
	StartTime             *session.Minutes
	Duration              *int64 // minutes
	Attendees             *int64
	Extras                *slots.Extras // all extras that the booking is to have
	Fields                *SentFields   // custom fields; the others stay
	Status                *string
	Declines              bool // only a pending booking changes its status, which is how wp-admin rejects one: LatePoint has no status for that
	Customer              records.CustomerFields
	Price                 *decimal.Decimal
	Notes                 *string
	Reasons               map[string]*string // why, by the keys of booking meta or MoveReason; nil for what is no text
	Notify                bool               // send the messages of the site's automations; reminders are always sent
	domain.Validation
}

// updatePlan is a change to a booking, before it has its slot.
type updatePlan struct {
	Patch
	before    notify.Snapshot // has a booking
	service   slots.Service
	resources []availability.Resource
	resource  availability.Resource // the one chosen for the slot
	slot      *slots.SlotRequest    // nil if no slot is needed
	present   availability.Resource // the resource that the booking has now
	moved     bool                  // to another time, service, agent or location
	newSpan   bool                  // start, duration, service or extras change
	newExtras bool                  // the extras or the service change
	extras    []records.PricedExtra // with newExtras
	duration  int64                 // with newSpan, without extras
	custom    customFields
	status    string
	rules     customers.Rules
	customer  records.BookingCustomer // of the booking, with its changes
	fields    session.Row             // changed columns of the customer
	replaces  bool                    // the change replaces known data of the customer
	notes     *string
	reason    *givenReason // nil for none
	noShows   bool         // whether the customer appears counts
	sums      *orderSums   // of the order with the sent price; nil if none was sent
}

// orderSums are the sums of an order that follow from its items.
type orderSums struct{ subtotal, total decimal.Decimal }

// planUpdate validates a change, reporting all problems at once, and takes its locks.
func planUpdate(ctx context.Context, tx *session.Tx, w session.WriteSettings, before notify.Snapshot, patch Patch) (updatePlan, error) {
	p := patch.Problems()
	if !tx.Extension(extensions.ProFeatures, w.Settings) { // without it, the field is unknown
		patch.Extras = nil
	}
	if item := before.BookingItem(); patch.Price != nil && item != nil && patch.Price.Equal(item.Total) {
		patch.Price = nil // it recalculates nothing
	}
	plan := updatePlan{Patch: patch, before: before, status: before.Booking.Status, customer: before.Customer}
	plan.rules = customers.RulesOf(tx.Session, w.Settings)
	plan.resource = availability.Resource{Agent: before.Booking.Agent.ID, Service: before.Booking.ServiceID(), Location: before.Booking.LocationID()}
	plan.present = plan.resource
	if patch.Status != nil {
		plan.status = *patch.Status
		if from := before.Booking.Status; patch.Declines && from != records.StatusPending && from != plan.status {
			p.Reject("status", fmt.Sprintf("Only a pending booking can be declined; this one has the status %s", from))
		}
		checkTransition(&p, before.Booking.Status, plan.status, records.OwnStatuses(w.Settings[session.SettingOwnStatuses]))
	}
	planReason(tx, &plan, &p)
	plan.noShows = countsNoShows(tx.Session, w, &plan)
	planOrderFields(tx.Session, &plan, &p)
	if err := planSlot(ctx, tx.Session, &plan, &p); err != nil {
		return plan, err
	}
	if plan.decided() {
		if err := tx.CheckExtensions(ctx); err != nil {
			return plan, err
		}
	}
	if p.Err() == nil {
		if err := lockUpdate(ctx, tx, &plan); err != nil {
			return plan, err
		}
	}
	if err := tx.CheckPrecondition(); err != nil {
		return plan, err
	}
	if err := planSums(ctx, tx, &plan, &p); err != nil {
		return plan, err
	}
	if err := planCustomerChange(ctx, tx, &plan, &p); err != nil {
		return plan, err
	}
	if err := planCustomFields(tx.Session, w, &plan, &p); err != nil {
		return plan, err
	}
	if err := plan.decide(ctx, tx, &p); err != nil {
		return plan, err
	}
	if err := p.Err(); err != nil {
		return plan, err
	}
	return plan, permitUpdate(tx.Session, plan)
}

// changesOrder reports whether the change gives the order another price or other notes.
func (plan *updatePlan) changesOrder() bool {
	order := plan.before.Order
	return plan.Price != nil || plan.notes != nil && order != nil && *plan.notes != domain.ValueOr(order.CustomerComment, "")
}

// decided reports whether extensions may decide about the change: it needs a slot, or has another price.
func (plan *updatePlan) decided() bool {
	return plan.slot != nil || plan.Price != nil
}

// checkTransition rejects a status that may not follow the present one, on a site with custom statuses.
func checkTransition(p *domain.Validation, from, to string, custom []string) {
	switch {
	case from == to, p.Has("status"), records.TransitionAllowed(from, to, custom):
	case records.BookingTransitions[from] == nil && !slices.Contains(custom, from):
		p.Reject("status", fmt.Sprintf("Bookings with the status %s cannot change to another status", from))
	default:
		p.Reject("status", fmt.Sprintf("Cannot change from %s to %s", from, to))
	}
}

// planOrderFields validates price and notes, which are stored with order item and order.
func planOrderFields(s *session.Session, plan *updatePlan, p *domain.Validation) {
	if plan.Price != nil && plan.before.BookingItem() == nil {
		p.Reject("price", "This booking has no order item")
	}
	if plan.Notes == nil {
		return
	}
	notes := text.TextareaField(*plan.Notes)
	plan.notes = &notes
	s.CheckText(p, "notes", wpdb.Orders, "customer_comment", notes)
	if plan.before.Order == nil {
		p.Reject("notes", "This booking has no order")
	}
}

// planSums recalculates the order with the sent price: its items, less discounts, plus tax. This replaces a
// total entered by hand. The order is locked unless an error was already found.
func planSums(ctx context.Context, tx *session.Tx, plan *updatePlan, p *domain.Validation) error {
	item, order := plan.before.BookingItem(), plan.before.Order
	if plan.Price == nil || item == nil || p.Has("price") {
		return nil
	}
	if p.Err() == nil {
		if err := readOrderAgain(ctx, tx, order); err != nil {
			return err
		}
		if item = plan.before.BookingItem(); item == nil {
			return fmt.Errorf("the item of booking %d changed its order: %w", plan.before.Booking.ID, wpdb.ErrConflict)
		}
	}
	var sums orderSums
	for _, i := range order.Items {
		switch {
		case i.ID == item.ID:
			sums.subtotal = sums.subtotal.Add(*plan.Price)
		case i.Subtotal.IsZero():
			sums.subtotal = sums.subtotal.Add(i.Total)
		default:
			sums.subtotal = sums.subtotal.Add(i.Subtotal)
		}
	}
	sums.total = sums.subtotal.Add(surcharge(order.Order))
	switch {
	case sums.total.IsNegative():
		p.Reject("price", "The order's discounts exceed its price")
	case sums.subtotal.GreaterThan(domain.MaxAmount), sums.total.GreaterThan(domain.MaxAmount):
		p.Reject("price", "Too large")
	}
	plan.sums = &sums
	return nil
}

// surcharge returns what an order's total has beyond its subtotal: tax less discounts, which is usually
// negative. The plugin's checkout stores a coupon's discount as positive. Its staff form, with the coupon
// add-on, stores the computed total less the subtotal instead: negative, with the tax inside it, while
// tax_total stays as it was. The order's total shows which of the two stored it, unless staff also entered
// a total by hand; then tax_total is taken to be all of the tax.
func surcharge(o records.Order) decimal.Decimal {
	stored := o.Total.Sub(o.Subtotal)
	usual := o.TaxTotal.Sub(o.CouponDiscount.Abs()).Sub(o.DiscountTotal)
	form := o.CouponDiscount.Sub(o.DiscountTotal)
	if !o.CouponDiscount.IsZero() && !stored.Equal(usual) && (stored.Equal(o.CouponDiscount) || stored.Equal(form)) {
		return form
	}
	return usual
}

// readOrderAgain keeps PHP from changing an order and its items, and reads what others may have changed
// while we waited for the order's lock.
func readOrderAgain(ctx context.Context, tx *session.Tx, order *notify.OrderSnapshot) error {
	ids := make([]int64, len(order.Items))
	for i, item := range order.Items {
		ids[i] = item.ID
	}
	if err := tx.LockRows(ctx, wpdb.OrderItems, ids); err != nil {
		return err
	}
	now, err := records.LockOrderRow(ctx, tx, order.ID)
	if err != nil {
		return err
	}
	now.DisplayPaymentStatus = order.DisplayPaymentStatus
	order.Order = now
	return order.LoadItems(ctx, tx.Session)
}

// onlyItemOfOrder reports whether the booking is the only one of its order. A bundle has several.
func (plan *updatePlan) onlyItemOfOrder() bool {
	order := plan.before.Order
	return order != nil && len(order.Items) == 1 && order.Items[0].Variant != records.BundleItem
}

// slotChange is the slot that an update gives to a booking.
type slotChange struct {
	at                                   availability.Moment
	startKnown                           bool // at has both date and time
	service, agent, location             int64
	duration                             int64 // minutes
	attendees                            int64
	spanChanged                          bool // start or end
	extrasChanged                        bool // the extras or the service change
	timeChanged, serviceChanged, changed bool // changed is set if any field changes
}

// slotChange applies the patch to the slot of the booking.
func (plan *updatePlan) slotChange() slotChange {
	b := plan.before.Booking
	day, dayKnown := availability.ParseDay(string(b.StartDate))
	c := slotChange{at: availability.Moment{Day: day}, service: b.ServiceID(), agent: b.Agent.ID, location: b.LocationID(), duration: b.Duration, attendees: b.Attendees}
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
	c.extrasChanged = plan.Extras != nil && (plan.Extras.Unreadable || c.serviceChanged || !slots.SameExtras(plan.Extras.Chosen, slots.ExtrasOf(b.Booking)))
	c.spanChanged = changes(&c.duration, plan.Duration, true) || c.timeChanged || c.serviceChanged || c.extrasChanged
	c.changed = changes(&c.attendees, plan.Attendees, true) || c.spanChanged || c.changed
	return c
}

// planSlot decides whether the update needs a slot, and which one.
func planSlot(ctx context.Context, s *session.Session, plan *updatePlan, p *domain.Validation) error {
	b, c := plan.before.Booking, plan.slotChange()
	plan.moved = c.changed
	statuses, err := session.BlockingStatuses(ctx, s)
	if err != nil {
		return err
	}
	if !plan.moved && (blocks(statuses, b.Status) || !blocks(statuses, plan.status)) {
		return nil
	}
	checkNewStart(s, plan, c, p)
	for field, sent := range map[string]bool{"service_id": plan.ServiceID != nil, "agent_id": plan.AgentID != nil, "location_id": plan.LocationID != nil, "total_attendees": plan.Attendees != nil} {
		if sent && p.Has(field) {
			return nil
		}
	}
	location := cmp.Or(plan.LocationID, b.AnyLocation())
	if plan.service, plan.resources, err = slots.LoadServiceToBook(ctx, s, p, c.service, c.agent, location); err != nil {
		return err
	}
	plan.slot = &slots.SlotRequest{
		Request: plan.service.RequestToMove(b.Booking, plan.Duration, plan.Attendees),
		At:      c.at, Window: c.timeChanged, AnyLocation: slots.IsAny(location),
	}
	plan.slot.Agent = c.agent
	if plan.newSpan = c.spanChanged; !c.spanChanged {
		plan.slot.Duration = records.Length(s, b.Booking)
		return nil
	}
	plan.duration = int64(plan.slot.Duration)
	slots.CheckDuration(p, plan.duration)
	minutes := b.ExtraMinutes()
	if plan.newExtras = c.extrasChanged; plan.newExtras {
		if plan.extras, _, err = loadExtras(ctx, s, plan.service, plan.Extras, p); err != nil {
			return err
		}
		minutes = slots.ExtraMinutes(plan.extras)
	}
	checkLength(p, plan.duration, minutes)
	plan.slot.Duration += session.Minutes(minutes)
	return nil
}

// checkNewStart rejects a slot without a start, and a new start that is in the past or
// that the clock skips.
func checkNewStart(s *session.Session, plan *updatePlan, c slotChange, p *domain.Validation) {
	if !c.startKnown {
		p.Reject("start_time", "This booking has no start: send start_date and start_time")
	}
	if !c.timeChanged {
		return
	}
	if c.at.Day < availability.MomentOf(s.LocalNow()).Day {
		p.Reject(sentFirst(plan), "May not be in the past")
	}
	records.CheckClock(s, p, c.at)
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

// lockUpdate takes the locks of a valid change, and then the booking's row. The lock of the booking is
// already held, so only PHP can have changed the row in the meantime; in that case the transaction runs
// again.
func lockUpdate(ctx context.Context, tx *session.Tx, plan *updatePlan) error {
	before := plan.before.Booking.Booking
	locks := customers.LocksOfContacts(plan.rules, plan.Customer)
	if plan.slot != nil && len(plan.resources) > 0 {
		locks = append(locks, slots.Locks(tx.Session, plan.service, append(slices.Clone(plan.resources), plan.present))...)
	}
	if plan.CustomerID != nil || plan.Customer != (records.CustomerFields{}) || plan.noShows {
		locks = append(locks, session.LockOf(session.CustomerLock, domain.ValueOr(plan.CustomerID, before.Customer.ID)))
	}
	if plan.before.Order != nil {
		locks = append(locks, session.LockOf(session.OrderLock, plan.before.Order.ID))
		if plan.CustomerID != nil && plan.onlyItemOfOrder() {
			locks = append(locks, payments.LocksOfCoupon(plan.before.Order.CouponCode)...)
		}
	}
	if err := tx.Lock(ctx, locks...); err != nil {
		return err
	}
	if err := tx.LockRows(ctx, wpdb.Bookings, []int64{before.ID}); err != nil {
		return err
	}
	if err := lockOrderOf(ctx, tx, plan.before); err != nil {
		return err
	}
	now, err := records.LoadBooking(ctx, tx.Session, before.ID)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(ownColumns(now), ownColumns(before)) {
		return fmt.Errorf("booking %d changed concurrently: %w", before.ID, wpdb.ErrConflict)
	}
	plan.before.Booking.Booking, plan.before.Customer, plan.customer = now, now.Customer, now.Customer
	return nil
}

// lockOrderOf keeps PHP from changing the price and the notes of a booking, which are stored in its order,
// if the caller demands that they are unchanged.
func lockOrderOf(ctx context.Context, tx *session.Tx, before notify.Snapshot) error {
	item := before.BookingItem()
	if tx.Precondition == nil || item == nil {
		return nil
	}
	if err := tx.LockRows(ctx, wpdb.OrderItems, []int64{item.ID}); err != nil {
		return err
	}
	return tx.LockRows(ctx, wpdb.Orders, []int64{before.Order.ID})
}

// ownColumns returns the booking without the data of other records, except their ids.
func ownColumns(b records.Booking) records.Booking {
	b.Customer, b.Agent, b.Location = records.BookingCustomer{ID: b.Customer.ID}, records.BookingAgent{ID: b.Agent.ID}, records.BookingLocation{ID: b.Location.ID}
	b.Service, b.Order = &records.BookingService{ID: b.ServiceID()}, nil
	b.Price, b.Meta = decimal.Decimal{}, nil
	return b
}

// planCustomerChange finds the new customer of a booking, and the changes to their fields. A limited caller
// changes neither.
func planCustomerChange(ctx context.Context, tx *session.Tx, plan *updatePlan, p *domain.Validation) error {
	if names := plan.CustomerID != nil || plan.Customer != (records.CustomerFields{}); names && !tx.Scope().Unlimited() {
		return domain.OutsideScope()
	}
	if plan.CustomerID != nil && *plan.CustomerID != plan.before.Customer.ID && !p.Has("customer_id") {
		// Keeps PHP from deleting the customer before the booking is theirs.
		if err := tx.LockRows(ctx, wpdb.Customers, []int64{*plan.CustomerID}); err != nil {
			return err
		}
		found, ok, err := records.CustomerRow(ctx, tx.Session, sq.Eq{"id": *plan.CustomerID})
		if err != nil {
			return err
		}
		if !ok {
			p.Invalid("customer_id", "Customer not found")
			return nil
		}
		customers.RefuseInactive(p, "customer_id", found, true)
		plan.customer = found.BookingCustomer
		if plan.onlyItemOfOrder() && p.Err() == nil { // its locks are held
			if err := checkMovedCoupon(ctx, tx, plan, p); err != nil {
				return err
			}
		}
	}
	if plan.Customer == (records.CustomerFields{}) {
		return nil
	}
	old := plan.customer
	if wouldCompare(tx.Session, old, plan.Customer) { // checked before it is compared with other customers' contacts
		return tx.RequirePermission("write_customers")
	}
	if _, exists, err := records.CustomerRow(ctx, tx.Session, sq.Eq{"id": old.ID}); err != nil || !exists {
		p.Reject("customer", "The customer of this booking does not exist any more: send customer_id")
		return err
	}
	plan.customer, plan.fields = customers.PatchFields(tx.Session, plan.rules, old, plan.Customer, customers.Prefix, p)
	user, err := customers.CheckChange(ctx, tx.Session, plan.rules, old, plan.customer, customers.Prefix, p)
	// A WordPress user has an e-mail address even if the customer has none.
	plan.replaces = user != nil || replaces(old, plan.customer)
	return err
}

// wouldCompare reports whether the caller sent a value for a field that the customer has filled but that
// the caller may neither read nor change. The response must not reveal whether the two are equal.
func wouldCompare(s *session.Session, old records.BookingCustomer, sent records.CustomerFields) bool {
	both := func(stored string, sent *string) bool { return stored != "" && sent != nil }
	return s.RequirePermission("write_customers") != nil && s.RequirePermission("read_bookings") != nil && s.RequirePermission("read_customers") != nil &&
		(both(old.FirstName, sent.FirstName) || both(old.LastName, sent.LastName) || both(old.Email, sent.Email) || both(old.Phone, sent.Phone))
}

// checkMovedCoupon rejects a customer who may not use the coupon of an order that moves to them with its
// only booking.
func checkMovedCoupon(ctx context.Context, tx *session.Tx, plan *updatePlan, p *domain.Validation) error {
	order, err := records.LoadStoredOrder(ctx, tx.Session, plan.before.Order.ID)
	if err != nil {
		return err
	}
	if domain.ValueOr(order.CouponCode, "") != domain.ValueOr(plan.before.Order.CouponCode, "") {
		return fmt.Errorf("order %d got another coupon meanwhile: %w", order.ID, wpdb.ErrConflict)
	}
	var coupon domain.Validation
	if err := orders.CheckOrderCoupon(ctx, tx, order, orders.Patch{CustomerID: &plan.customer.ID}, &coupon); err != nil {
		return err
	}
	if coupon.Has("coupon_code") {
		p.Reject("customer_id", "May not use the coupon of the booking's order. PUT /orders/{id} with force=true moves the order all the same")
	}
	return nil
}

// planCustomFields checks the new and the existing custom fields of the booking.
func planCustomFields(s *session.Session, w session.WriteSettings, plan *updatePlan, p *domain.Validation) (err error) {
	item := "{}"
	if i := plan.before.BookingItem(); i != nil {
		item = i.ItemData
	}
	if plan.custom, err = readCustomFields(s, w, plan.Fields, plan.before.Booking.Meta, item, p); err != nil || !plan.saved() {
		return err
	}
	if plan.slot == nil {
		plan.custom.require(p, plan.present)
	} else {
		plan.custom.require(p, plan.resources...)
	}
	return nil
}

// saved reports whether the plugin would save the booking, and so validate its custom fields: it does not
// for a mere change of status (OsBookingModel::update_status), and price and notes belong to the order.
func (plan *updatePlan) saved() bool {
	return plan.moved || plan.customer.ID != plan.before.Customer.ID || len(plan.custom.changes) > 0
}

// replaces reports whether a non-empty field of a customer changed.
func replaces(old, customer records.BookingCustomer) bool {
	differs := func(old, wanted string) bool { return old != "" && old != wanted }
	return differs(old.FirstName, customer.FirstName) || differs(old.LastName, customer.LastName) ||
		differs(old.Email, customer.Email) || differs(old.Phone, customer.Phone)
}

// permitUpdate checks the permissions for changes that need more than the permission to change bookings.
func permitUpdate(s *session.Session, plan updatePlan) error {
	if !s.Scope().Unlimited() && plan.changesOrder() && !plan.onlyItemOfOrder() { // others' bookings are in it
		return domain.OutsideScope()
	}
	if records.ReopensCompleted(plan.before.Booking.Status, plan.status) {
		if err := s.RequirePermission("delete_bookings"); err != nil {
			return err
		}
	}
	if plan.replaces {
		return s.RequirePermission("write_customers")
	}
	return nil
}
