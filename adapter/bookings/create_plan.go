package bookings

import (
	"cmp"
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// New is a booking to create. Validation holds the problems found so far; its fields are not checked again.
type New struct {
	ServiceID  int64
	AgentID    int64  // 0 for any
	LocationID *int64 // 0 for any; nil for the first one that offers the service
	Start      availability.Moment
	Duration   *int64 // minutes; nil for the service's own
	Attendees  int64
	Status     *string // nil for the default, see defaultStatus
	CustomerID int64   // 0 for the customer described in Customer
	Customer   records.CustomerFields
	Price      *decimal.Decimal // before coupon and taxes; nil for the price of the service with its extras
	Extras     *slots.Extras    // nil for none
	CouponCode string           // "" for none
	Fields     *SentFields      // custom fields; nil for none
	Series     bool             // several bookings in one request
	Notes      string
	HoldID     int64    // the hold whose slot it takes; 0 for none
	Sent       []string // with HoldID, the names of the fields of the slot that were sent
	Confirm    bool     // send the messages of the site's automations; reminders are always sent
	Address    string   // the client's IP address, stored if the site logs it
	domain.Validation
}

// bookingPlan is a valid booking before it has its slot.
type bookingPlan struct {
	New
	service   slots.Service
	resources []availability.Resource
	resource  availability.Resource // the one chosen for the slot
	slot      slots.SlotRequest
	hold      *slots.Hold // of HoldID; nil if it does not exist
	customer  records.BookingCustomer
	shown     records.BookingCustomer // the customer as the caller sees them
	filled    session.Row             // columns of an existing customer that were empty
	// customerIsNew reports whether the customer is created with the booking.
	customerIsNew bool
	anyone        bool // the customer is not known yet
	status        string
	duration      int64
	extras        []records.PricedExtra
	meta          map[string]string // of the service, see metaKeys; nil without Pro Features
	charged       charge
	fields        customFields
	notes         string
	// WordPress's answers; 0 and nil if it was not asked.
	decidedLength int64 // minutes, including additions by extensions
	decidedPrice  *extensions.Price
	chosen        bool // agent and location, out of several
}

// planBooking validates a booking, reporting all problems at once, reads what it needs
// and takes its locks.
func planBooking(ctx context.Context, tx *session.Tx, w session.WriteSettings, b New) (bookingPlan, error) {
	p := b.Problems()
	rules := customers.RulesOf(tx.Session, w.Settings)
	pro := tx.Extension(extensions.ProFeatures, w.Settings)
	if !pro { // without it, such fields are unknown
		b.Extras, b.CouponCode = nil, ""
	}
	plan := bookingPlan{New: b, notes: text.TextareaField(b.Notes)}
	tx.CheckText(&p, "notes", wpdb.Orders, "customer_comment", plan.notes)
	if b.Status != nil {
		plan.status = *b.Status
		if !newStatusAllowed(plan.status, w) {
			p.Reject("status", "Unknown status, or not allowed for a new booking")
		}
	}
	refuseSeries(&plan, pro, &p)
	if err := planHold(ctx, tx.Session, &plan, &p); err != nil {
		return plan, err
	}
	if err := planTime(ctx, tx.Session, &plan, &p); err != nil {
		return plan, err
	}
	var err error
	if b.Status == nil {
		if plan.status, err = defaultStatus(ctx, tx.Session, w, plan.service.ID); err != nil {
			return plan, err
		}
	}
	if plan.fields, err = readCustomFields(tx.Session, w, b.Fields, nil, "{}", &p); err != nil {
		return plan, err
	}
	plan.fields.require(&p, plan.resources...)
	if p.Err() == nil {
		if err := lockNewBooking(ctx, tx, w, rules, plan); err != nil {
			return plan, err
		}
	}
	if err := planCustomer(ctx, tx.Session, rules, &plan, &p); err != nil {
		return plan, err
	}
	plan.setSlot()
	if err := plan.decide(ctx, tx, &p, extensions.Times, extensions.Prices, extensions.Acceptance); err != nil {
		return plan, err
	}
	if !p.Has("service_id") {
		if err := planPrice(ctx, tx, w, pro, &plan, &p); err != nil {
			return plan, err
		}
		refuseUnpaid(tx, w, &plan, &p)
	}
	if err := p.Err(); err != nil {
		return plan, err
	}
	return plan, warnOfLimits(ctx, tx, w, &plan)
}

// planTime checks the start of the booking, and reads the service and its resources.
func planTime(ctx context.Context, s *session.Session, plan *bookingPlan, p *domain.Validation) error {
	start := plan.Start
	if !p.Has("start_date") && plan.hold == nil && start.Day < availability.MomentOf(s.LocalNow()).Day {
		p.Reject("start_date", "May not be in the past")
	}
	if !p.Has("start_date") && !p.Has("start_time") {
		records.CheckClock(s, p, start)
	}
	return planService(ctx, s, plan, p)
}

// setSlot sets the slot that the booking needs.
func (plan *bookingPlan) setSlot() {
	plan.slot = slots.SlotRequest{
		Request: plan.service.Request(plan.length(), plan.Attendees), At: plan.Start, Window: true, AnyLocation: slots.IsAny(plan.LocationID), Hold: plan.hold,
	}
	plan.slot.Agent = plan.AgentID
}

// length returns how long the booking takes, including its extras.
func (plan *bookingPlan) length() int64 {
	return cmp.Or(plan.decidedLength, plan.duration+slots.ExtraMinutes(plan.extras))
}

// span returns when the booking takes place.
func (plan *bookingPlan) span(s *session.Session) records.BookingSpan {
	return records.SpanOf(s, plan.Start, plan.length())
}

// newStatusAllowed reports whether a new booking may have a status.
func newStatusAllowed(status string, w session.WriteSettings) bool {
	switch status {
	case records.StatusPending, records.StatusApproved, records.StatusCancelled:
		return true
	case records.StatusCompleted, records.StatusNoShow:
		return false
	default:
		return slices.Contains(records.OwnStatuses(w.Settings[session.SettingOwnStatuses]), status)
	}
}

// planService reads the service and its resources, and the extras.
func planService(ctx context.Context, s *session.Session, plan *bookingPlan, p *domain.Validation) (err error) {
	if p.Has("service_id") {
		return nil
	}
	if plan.service, plan.resources, err = slots.LoadServiceToBook(ctx, s, p, plan.ServiceID, plan.AgentID, plan.LocationID); err != nil {
		return err
	}
	if err := refuseLinked(ctx, s, plan.service, p); err != nil {
		return err
	}
	plan.duration = domain.ValueOr(plan.Duration, plan.service.Duration)
	slots.CheckDuration(p, plan.duration)
	return planExtras(ctx, s, plan, p)
}

// planCustomer finds the customer of a booking: by id, by the contact that identifies customers,
// or as a customer to create. Unless the booking is invalid, the locks of the contacts are held.
func planCustomer(ctx context.Context, s *session.Session, rules customers.Rules, plan *bookingPlan, p *domain.Validation) error {
	if plan.CustomerID != 0 {
		found, ok, err := records.CustomerRow(ctx, s, sq.Eq{"id": plan.CustomerID})
		if err != nil {
			return err
		}
		shown, seen, err := records.CustomerInScope(ctx, s, found.BookingCustomer)
		if err != nil {
			return err
		}
		if !ok || !seen {
			p.Invalid("customer_id", "Customer not found")
			return nil
		}
		customers.RefuseInactive(p, "customer_id", found, !records.Limited(s))
		plan.shown = shown
		plan.customer = found.BookingCustomer
		return nil
	}
	wanted := customers.Sanitize(s, plan.Customer, customers.Prefix, p)
	plan.customer, plan.shown, plan.customerIsNew = wanted, wanted, true
	contact := customers.Prefix + rules.Contact
	if p.Has(contact) {
		return nil
	}
	found, ok, err := customers.IdentifiedBy(ctx, s, rules, wanted)
	if err != nil {
		return err
	}
	if !ok {
		rules.RequireOfDescribed(wanted, p)
		return nil
	}
	limited := records.Limited(s)
	customers.RefuseInactive(p, contact, found, !limited)
	plan.customer, plan.customerIsNew = found.BookingCustomer, false
	if !limited {
		plan.customer, plan.filled = fillEmpty(found, wanted)
		plan.shown = plan.customer
	}
	return nil
}

// fillEmpty fills the empty fields of a customer from another record of them. The e-mail address of a
// customer with a WordPress user belongs to that user too, who already has one.
func fillEmpty(found records.BookableCustomer, wanted records.BookingCustomer) (records.BookingCustomer, session.Row) {
	c := found.BookingCustomer
	if found.HasUser {
		wanted.Email = ""
	}
	var filled session.Row
	for _, f := range []struct {
		column      string
		have, offer *string
	}{
		{"first_name", &c.FirstName, &wanted.FirstName},
		{"last_name", &c.LastName, &wanted.LastName},
		{"email", &c.Email, &wanted.Email},
		{"phone", &c.Phone, &wanted.Phone},
	} {
		if *f.have == "" && *f.offer != "" {
			*f.have = *f.offer
			filled = append(filled, session.Column{Name: f.column, Value: *f.offer})
		}
	}
	return c, filled
}

// lockNewBooking takes the locks of a new booking: those of its slot, and those of the contacts that
// identify its customer.
func lockNewBooking(ctx context.Context, tx *session.Tx, w session.WriteSettings, rules customers.Rules, plan bookingPlan) error {
	locks := slots.Locks(tx.Session, plan.service, plan.resources)
	if plan.CustomerID == 0 {
		customer, err := customers.LocksOfNewCustomer(ctx, tx.Session, w, rules, plan.Customer)
		if err != nil {
			return err
		}
		locks = append(locks, customer...)
	}
	return tx.Lock(ctx, append(locks, payments.LocksOfCoupon(&plan.CouponCode)...)...)
}
