package bookings

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
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
	Status     *string // nil for the default, see statusOfNew
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

// Created is a booking that Create created.
type Created struct {
	records.BookingDetail
	// ConfirmationSent reports whether a message to the customer was queued or sent.
	ConfirmationSent bool
}

// Create creates a booking with its order, as the plugin's order form does
// (OsOrdersController::create_or_update, LatePoint 5.6.5), but only at a time that the
// site offers to customers.
//
// If anything is wrong with the booking, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field; if the time is not available, or
// its hold is lost, a CodeSlotUnavailable. A dry run writes nothing: see draftBooking.
func Create(ctx context.Context, tx *session.Tx, n New) (Created, error) {
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return Created{}, err
	}
	b, err := validateNew(ctx, tx, w, n)
	if err != nil {
		return Created{}, err
	}
	if n.HoldID != 0 {
		found, err := useHold(ctx, tx, n.HoldID)
		if err != nil {
			return Created{}, err
		}
		b.what.request.Lost = !found
	}
	assigned, err := b.what.assign(ctx, tx)
	if err != nil {
		return Created{}, err
	}
	if err := b.fields.check(assigned.Resource); err != nil {
		return Created{}, err
	}
	if tx.DryRun {
		draft, err := draftBooking(ctx, tx.Session, w, b, assigned.Resource)
		return Created{BookingDetail: draft.SeenBy(tx.AsCaller())}, err
	}
	created, err := insertBooking(ctx, tx, w, b, assigned.Resource)
	if err != nil {
		return Created{}, err
	}
	assigned.Exclude = append(assigned.Exclude, created.Booking.ID)
	events := []notify.Event{
		{Kind: notify.BookingCreated, After: created, NewCustomer: b.who.isNew},
		{Kind: notify.OrderCreated, After: created, NewCustomer: b.who.isNew},
	}
	if b.who.isNew {
		events = slices.Insert(events, 0, notify.Event{Kind: notify.CustomerCreated, After: created})
	}
	// Reads come first, so that the writes whose results nobody needs are sent together.
	confirmed, err := notify.Notify(ctx, tx, w, events, notify.Messages(n.Confirm))
	if err != nil {
		return Created{}, err
	}
	if err := completeBooking(ctx, tx, b, assigned.Resource, created); err != nil {
		return Created{}, err
	}
	if err := notify.LogEvents(ctx, tx, w, events); err != nil {
		return Created{}, err
	}
	detail := created.BookingDetail()
	detail.Customer = b.who.shown
	detail.Customer.ID = created.Customer.ID
	if err := records.RememberCustomer(ctx, tx, created.Booking.ID, detail.Customer); err != nil {
		return Created{}, err
	}
	return Created{BookingDetail: detail.SeenBy(tx.AsCaller()), ConfirmationSent: confirmed}, nil
}

// newBooking is a valid booking before it has its slot.
type newBooking struct {
	who     bookingCustomer
	what    appointment
	cost    charge
	fields  customFields
	status  string
	notes   string
	address string
}

// validateNew validates a booking, reporting all problems at once, reads what it needs and takes its locks.
func validateNew(ctx context.Context, tx *session.Tx, w session.WriteSettings, b New) (newBooking, error) {
	p := b.Problems()
	pro := tx.Extension(extensions.ProFeatures, w.Settings)
	if !pro { // without it, such fields are unknown
		b.Extras, b.CouponCode = nil, ""
	}
	if pro && b.Series {
		p.Reject("recurrence", "Pro Features makes several bookings of this, which the API does not: send their times as a list to POST /bookings/bulk")
	}
	notes := text.TextareaField(b.Notes)
	tx.CheckText(&p, "notes", wpdb.Orders, "customer_comment", notes)
	if b.Status != nil && !newStatusAllowed(*b.Status, w) {
		p.Reject("status", "Unknown status, or not allowed for a new booking")
	}
	b, hold, err := withHold(ctx, tx.Session, b, &p)
	if err != nil {
		return newBooking{}, err
	}
	what, err := newAppointment(ctx, tx.Session, b, hold, &p)
	if err != nil {
		return newBooking{}, err
	}
	status, err := statusOfNew(ctx, tx.Session, w, b.Status, what.service.ID)
	if err != nil {
		return newBooking{}, err
	}
	fields, err := readCustomFields(tx.Session, w, b.Fields, nil, "{}", &p)
	if err != nil {
		return newBooking{}, err
	}
	fields.require(&p, what.resources...)
	rules := customers.RulesOf(tx.Session, w.Settings)
	if p.Err() == nil {
		if err := lockNew(ctx, tx, w, rules, b, what); err != nil {
			return newBooking{}, err
		}
	}
	who, err := findCustomer(ctx, tx.Session, rules, b, &p)
	if err != nil {
		return newBooking{}, err
	}
	what, price, err := what.decide(ctx, tx, b, status, who.ID, fields, &p, extensions.Times, extensions.Prices, extensions.Acceptance)
	if err != nil {
		return newBooking{}, err
	}
	var cost charge
	if !p.Has("service_id") {
		if cost, err = chargeFor(ctx, tx, w, b, what, &who.ID, price, &p); err != nil {
			return newBooking{}, err
		}
		refuseUnpaid(tx, w, b, cost, &p)
	}
	if err := p.Err(); err != nil {
		return newBooking{}, err
	}
	if !who.isNew {
		err = warnOfLimits(ctx, tx, w, who.ID)
	}
	return newBooking{who: who, what: what, cost: cost, fields: fields, status: status, notes: notes, address: b.Address}, err
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

// statusOfNew returns the status of a new booking: the one that the client wants, otherwise approved or, if the owner
// wants the site's own, that of the service, else that of the site, as the plugin computes it.
func statusOfNew(ctx context.Context, s *session.Session, w session.WriteSettings, requested *string, service int64) (string, error) {
	if requested != nil {
		return *requested, nil
	}
	if !s.Platform.Config.DefaultStatusOfSite {
		return records.StatusApproved, nil
	}
	stmt := sq.Select(s.Schema.Expr(wpdb.Services, "s", "override_default_booking_status")).From(s.DB.Name(wpdb.Services) + " s").Where(sq.Eq{"s.id": service})
	ofService, _, err := wpdb.One(ctx, s.DB, "default status of a service", stmt, wpdb.Value[*string])
	if err != nil {
		return "", err
	}
	defined := records.BookingStatusesOf(w.Settings)
	for _, status := range []string{domain.ValueOr(ofService, ""), w.Settings[session.SettingDefaultStatus]} {
		if slices.Contains(defined, status) {
			return status, nil
		}
	}
	return records.StatusApproved, nil
}

// lockNew takes the locks of a new booking: those of its slot, those of the contacts that identify its
// customer, and that of its coupon.
func lockNew(ctx context.Context, tx *session.Tx, w session.WriteSettings, rules customers.Rules, b New, a appointment) error {
	locks := slots.Locks(tx.Session, a.service, a.resources)
	if b.CustomerID == 0 {
		customer, err := customers.LocksOfNewCustomer(ctx, tx.Session, w, rules, b.Customer)
		if err != nil {
			return err
		}
		locks = append(locks, customer...)
	}
	return tx.Lock(ctx, append(locks, payments.LocksOfCoupon(&b.CouponCode)...)...)
}
