package adapter

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"
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
	AgentID    int64  // 0 for any
	LocationID *int64 // 0 for any; nil for the first one where the service is offered
	Start      availability.Moment
	Duration   *int64 // minutes; nil for the service's own
	Attendees  int64
	Status     *string // nil for approved
	CustomerID int64   // 0 for the customer described in Customer
	Customer   CustomerFields
	Price      *decimal.Decimal // nil for the price of the service
	Notes      string
	HoldID     int64    // of the hold whose slot it gets; 0 for none
	Sent       []string // with HoldID, the names of the fields of the slot that were sent
	Confirm    bool     // send the messages of the site's automations; reminders are always sent
	Address    string   // the client's IP address, stored if the site logs it
	Validation domain.Validation
}

// bookingPlan is a valid booking before it has its slot.
type bookingPlan struct {
	NewBooking
	service   bookableService
	resources []availability.Resource
	resource  availability.Resource // the one chosen for the slot
	slot      slotRequest
	hold      *Hold // with HoldID; nil if it does not exist
	customer  BookingCustomer
	described BookingCustomer // the customer as the caller described them
	known     knownCustomer   // what the caller may know of an existing customer
	filled    row             // columns of an existing customer that were empty
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
	rules, err := tx.customerRulesOf(ctx, w.settings)
	if err != nil {
		return bookingPlan{}, err
	}
	plan := bookingPlan{NewBooking: b, status: StatusApproved, notes: sanitize.TextareaField(b.Notes)}
	tx.checkText(&p, "notes", wpdb.Orders, "customer_comment", plan.notes)
	if b.Status != nil {
		plan.status = *b.Status
		if !newStatusAllowed(plan.status, w) {
			p.Reject("status", "Unknown status, or not allowed for a new booking")
		}
	}
	if err := tx.planHold(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if err := tx.planTime(ctx, &plan, &p); err != nil {
		return plan, err
	}
	if p.Err() == nil {
		if err := tx.lockNewBooking(ctx, w, rules, plan); err != nil {
			return plan, err
		}
	}
	if err := tx.planCustomer(ctx, rules, &plan, &p); err != nil {
		return plan, err
	}
	if err := p.Err(); err != nil {
		return plan, err
	}
	plan.setSlot()
	plan.price = domain.ValueOr(b.Price, plan.service.price(plan.duration))
	return plan, nil
}

// planTime checks when the booking begins, and reads the service and its resources.
func (s *Site) planTime(ctx context.Context, plan *bookingPlan, p *domain.Validation) error {
	start := plan.Start
	if !p.Has("start_date") && plan.hold == nil && start.Day < availability.MomentOf(s.localNow()).Day {
		p.Reject("start_date", "May not be in the past")
	}
	if !p.Has("start_date") && !p.Has("start_time") {
		s.checkClock(p, start)
	}
	return s.planService(ctx, plan, p)
}

// setSlot sets the slot that the booking needs.
func (plan *bookingPlan) setSlot() {
	plan.duration = domain.ValueOr(plan.Duration, plan.service.duration)
	plan.slot = slotRequest{
		Request: plan.service.request(plan.duration, plan.Attendees), at: plan.Start, window: true, anyLocation: isAny(plan.LocationID), hold: plan.hold,
	}
	plan.slot.Agent = plan.AgentID
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
	plan.service, plan.resources, _, err = s.serviceWithResources(ctx, p, plan.ServiceID, plan.AgentID, plan.LocationID)
	return err
}

// planCustomer finds the customer of a booking: by id, by the contact that identifies customers,
// or as a customer to create. Unless the booking is invalid, the locks of the contacts are held.
func (s *Site) planCustomer(ctx context.Context, rules customerRules, plan *bookingPlan, p *domain.Validation) error {
	if plan.CustomerID != 0 {
		found, ok, err := s.customerRow(ctx, sq.Eq{"id": plan.CustomerID})
		if err != nil {
			return err
		}
		if plan.known, err = s.knowsCustomer(ctx, found.BookingCustomer); err != nil {
			return err
		}
		if !ok || !plan.known.seen {
			p.Invalid("customer_id", "Customer not found")
			return nil
		}
		refuseInactive(p, "customer_id", found, plan.known.own)
		plan.customer = found.BookingCustomer
		return nil
	}
	wanted := s.sanitizeCustomer(plan.Customer, customerPrefix, p)
	plan.customer, plan.described, plan.customerIsNew = wanted, wanted, true
	contact := customerPrefix + rules.contact
	if p.Has(contact) {
		return nil
	}
	found, ok, err := s.customerIdentifiedBy(ctx, rules, wanted)
	if err != nil {
		return err
	}
	if !ok {
		rules.requireOfDescribed(wanted, p)
		return nil
	}
	if plan.known, err = s.knowsCustomer(ctx, found.BookingCustomer); err != nil {
		return err
	}
	refuseInactive(p, contact, found, plan.known.own)
	plan.customer, plan.customerIsNew = found.BookingCustomer, false
	if plan.known.own {
		plan.customer, plan.filled = fillEmpty(found, wanted)
	}
	return nil
}

// fillEmpty fills the empty fields of a customer from another record of them. The e-mail address of
// a customer with a WordPress user is also that of the user, who has one.
func fillEmpty(found bookableCustomer, wanted BookingCustomer) (BookingCustomer, row) {
	c := found.BookingCustomer
	if found.hasUser {
		wanted.Email = ""
	}
	var filled row
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
			filled = append(filled, column{f.column, *f.offer})
		}
	}
	return c, filled
}

// lockNewBooking takes the locks of a new booking: those of its slot, and those of the contacts by
// which its customer is found or created.
func (tx *Tx) lockNewBooking(ctx context.Context, w writeSettings, rules customerRules, plan bookingPlan) error {
	locks, err := tx.slotLocks(ctx, plan.service, plan.resources)
	if err != nil {
		return err
	}
	if plan.CustomerID == 0 {
		customer, err := tx.locksOfNewCustomer(ctx, w, rules, plan.Customer)
		if err != nil {
			return err
		}
		locks = append(locks, customer...)
	}
	return tx.lock(ctx, locks...)
}
