package compat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/compat/jsontext"
)

// customerFields are the fields of a customer in a booking.
var customerFields = Fields[records.CustomerFields]{
	optional("first_name", anyText(), func(c *records.CustomerFields) **string { return &c.FirstName }),
	optional("last_name", anyText(), func(c *records.CustomerFields) **string { return &c.LastName }),
	optional("email", anyText(), func(c *records.CustomerFields) **string { return &c.Email }),
	optional("phone", anyText(), func(c *records.CustomerFields) **string { return &c.Phone }),
}

// bookingFields are the fields of a new booking, alone or in a bulk request.
// The customer is given by id, or otherwise described in full.
var bookingFields = Fields[bookings.New]{
	value("service_id", id(maxMediumInt), func(b *bookings.New) *int64 { return &b.ServiceID }),
	value("agent_id", anyID(), func(b *bookings.New) *int64 { return &b.AgentID }),
	value("start_date", day(), func(b *bookings.New) *availability.Day { return &b.Start.Day }),
	value("start_time", timeOfDay(), func(b *bookings.New) *availability.Minutes { return &b.Start.Minutes }),
	value("customer_id", id(maxMediumInt), func(b *bookings.New) *int64 { return &b.CustomerID }).notInExample(),
	object("customer", customerFields.requiring("first_name", "last_name", "email"), func(b *bookings.New) *records.CustomerFields { return &b.Customer }).
		unless(func(in input, _ *bookings.New) bool { return sentID(in, "customer_id") }),
	oneLocation(func(b *bookings.New) **int64 { return &b.LocationID }),
	optional("duration", integer(1, maxDuration), func(b *bookings.New) **int64 { return &b.Duration }),
	optional("status", statusText(), func(b *bookings.New) **string { return &b.Status }).about(bookingStatusText + "; by default approved, or what the site gives to new bookings if its owner wants that"),
	value("notes", anyText(), func(b *bookings.New) *string { return &b.Notes }),
	optional("price", price(), func(b *bookings.New) **decimal.Decimal { return &b.Price }).about("Price of the booking before coupon and taxes, with at most four decimals; by default that of the service with its extras"),
	extras(func(b *bookings.New) **slots.Extras { return &b.Extras }, extrasSchema),
	couponCode(func(b *bookings.New) *string { return &b.CouponCode }),
	bookingCustomFields(func(b *bookings.New) **bookings.SentFields { return &b.Fields }),
	series(func(b *bookings.New) *bool { return &b.Series }),
	defaulted("total_attendees", integer(1, maxMediumInt), 1, func(b *bookings.New) *int64 { return &b.Attendees }),
}.requiring("service_id", "agent_id", "start_date", "start_time", "customer")

// NewBooking is the body of POST /bookings.
type NewBooking struct {
	bookings.New
	DryRun bool // only report what would happen
}

// NewBookingFields are the fields of POST /bookings.
var NewBookingFields = slices.Concat(within(bookingFields.alternativeTo("hold_id", slotFields...), func(b *NewBooking) *bookings.New { return &b.New }), Fields[NewBooking]{
	value("hold_id", id(maxPage), func(b *NewBooking) *int64 { return &b.HoldID }).about("Id of a hold that POST /holds made with this key: the booking gets its slot, and the fields of the slot need not be sent", "1").notInExample(),
	defaulted("send_confirmation", boolean(), true, func(b *NewBooking) *bool { return &b.Confirm }),
	flag(dryRun, func(b *NewBooking) *bool { return &b.DryRun }),
})

// ReadNewBooking reads the body of POST /bookings. Problems are in the
// booking's Validation.
func ReadNewBooking(b *Body) NewBooking {
	var booking NewBooking
	NewBookingFields.read(b, &booking)
	if booking.HoldID != 0 {
		booking.Sent = slices.DeleteFunc(slices.Clone(slotFields), func(field string) bool { return !b.present(field) })
	}
	booking.Validation = *b.validation
	return booking
}

// statusText is a word that only the site can check.
func statusText() valueType[string] {
	k := anyText()
	k.blank = blankIsNothing
	read := k.read
	k.read = func(in input, name string) (string, bool) {
		text, _ := read(in, name)
		status := strings.ToLower(strings.TrimSpace(text))
		return status, status != ""
	}
	return k
}

// BookingPatch is the body of PUT /bookings/{id}.
type BookingPatch struct {
	bookings.Patch
	DryRun bool // only report what would happen
}

// BookingPatchFields are the fields of PUT /bookings/{id}.
var BookingPatchFields = Fields[BookingPatch]{
	optional("service_id", id(maxMediumInt), func(p *BookingPatch) **int64 { return &p.ServiceID }),
	optional("agent_id", anyID(), func(p *BookingPatch) **int64 { return &p.AgentID }),
	optional("location_id", anyID(), func(p *BookingPatch) **int64 { return &p.LocationID }).about("Id of the location; any (or -1) where any will do"),
	optional("customer_id", id(maxMediumInt), func(p *BookingPatch) **int64 { return &p.CustomerID }).notInExample(),
	optional("start_time", timeOfDay(), func(p *BookingPatch) **availability.Minutes { return &p.StartTime }).about("", "14:00"),
	optional("duration", integer(1, maxDuration), func(p *BookingPatch) **int64 { return &p.Duration }),
	optional("total_attendees", integer(1, maxMediumInt), func(p *BookingPatch) **int64 { return &p.Attendees }),
	extras(func(p *BookingPatch) **slots.Extras { return &p.Extras }, extrasSchema).about("All extras that the booking is to have: they change how long it takes, and not its price"),
	optional("status", statusText(), func(p *BookingPatch) **string { return &p.Status }).about(bookingStatusText+". Between the first five, not every change is allowed", "completed"),
	optional("price", price(), func(p *BookingPatch) **decimal.Decimal { return &p.Price }),
	optional("notes", anyText(), func(p *BookingPatch) **string { return &p.Notes }),
	bookingCustomFields(func(p *BookingPatch) **bookings.SentFields { return &p.Fields }),
	reason(records.CancellationReason).about("Why the booking is cancelled, together with the status cancelled; on a site with LatePoint Pro Features that asks for it"),
	reason(records.RescheduleReason).about("Why the booking is changed, if it is not cancelled; on a site with LatePoint Pro Features that asks for it"),
	flag("send_notification", func(p *BookingPatch) *bool { return &p.Notify }),
	optional("start_date", day(), func(p *BookingPatch) **availability.Day { return &p.StartDate }),
	flag(dryRun, func(p *BookingPatch) *bool { return &p.DryRun }),
	object("customer", customerFields.changing("first_name", "last_name", "email"), func(p *BookingPatch) *records.CustomerFields { return &p.Customer }).notInExample(),
}.changing()

// BookingMoveFields are the fields of POST /bookings/{id}/approve, decline and cancel.
var BookingMoveFields = Fields[BookingPatch]{
	reason(records.MoveReason).about("Why, on a site with LatePoint Pro Features that asks for it: it is kept as cancellation_reason if the booking is cancelled, and otherwise as reschedule_reason. Elsewhere, a Warning header says that it is not stored", "The room is closed that day"),
	flag("send_notification", func(p *BookingPatch) *bool { return &p.Notify }),
	flag(dryRun, func(p *BookingPatch) *bool { return &p.DryRun }),
}.changing()

// series declares the recurrence of a booking, of which the site's form makes several with LatePoint Pro Features. Whether
// such a field is known the site decides.
func series[T any](at func(*T) *bool) Field[T] {
	f := Field[T]{declaration: declaration{name: "recurrence", hideFromExample: true, valueType: description{schema: func() *Schema { return &Schema{} }}}}
	f.read = func(in input, into *T) {
		sent, ok := in.(*Body).sent("recurrence")
		*at(into) = ok && !slices.Contains([]string{`""`, "false", "[]", "{}"}, string(sent))
	}
	return f.about("Refused on a site with LatePoint Pro Features, which would make several bookings of it: send their times as a list to POST /bookings/bulk")
}

// reason declares why a booking is cancelled or changed. Whether such a field is known, and what is wrong with it, the
// site decides. Null and an empty text are none.
func reason(key string) Field[BookingPatch] {
	f := custom(key, anyText(), func(*BookingPatch, string) {}).notInExample()
	f.clears = true
	f.read = func(in input, into *BookingPatch) {
		sent, ok := in.(*Body).sent(key)
		if !ok {
			return
		}
		if into.Reasons == nil {
			into.Reasons = map[string]*string{}
		}
		into.Reasons[key] = nil
		if text, _, single := sent.Scalar(); single {
			into.Reasons[key] = &text
		}
	}
	return f
}

// bulkList is the field with the bookings of a bulk request.
const bulkList = "bookings"

// maxBulk is how many bookings one bulk request may create.
const maxBulk = 50

// BulkBooking is one of the bookings of a bulk request.
type BulkBooking struct {
	bookings.New
	sent jsontext.Value
}

// Submitted returns the booking as it was sent, as JSON.
func (b BulkBooking) Submitted() json.RawMessage { return b.sent.JSON() }

// BulkBookings reads the body of POST /bookings/bulk: an object with the list
// bookings, or the bare list. Problems with one booking are in its Validation;
// the error concerns the whole request.
func BulkBookings(d Document) ([]BulkBooking, error) {
	fields, ok := d.fields()
	if d.isList() {
		fields, ok = map[string]jsontext.Value{bulkList: d.root}, true
		d.complete(fields)
	}
	if !ok {
		return nil, errNoObject
	}
	b := newBody("", fields, new(domain.Validation))
	var sent bulkBookings
	BulkBookingFields.read(b, &sent)
	if err := b.Err(); err != nil {
		return nil, err
	}
	bookings := make([]BulkBooking, len(sent.elements))
	for i, element := range sent.elements {
		fields, _ := decodeText(element).Object() // anything but an object has none of the fields
		one := newBody("", fields, new(domain.Validation))
		bookings[i].sent = element
		bookingFields.read(one, &bookings[i].New)
		if asksForDryRun(fields) {
			one.addProblem(dryRun, invalid(noDryRun))
		}
		bookings[i].Confirm, bookings[i].Validation = sent.confirm, *one.validation
	}
	return bookings, nil
}

// bulkBookings is the body of a bulk request.
type bulkBookings struct {
	elements []jsontext.Value
	confirm  bool
}

// BulkBookingFields are the fields of POST /bookings/bulk.
var BulkBookingFields = Fields[bulkBookings]{
	value(bulkList, elements(1, maxBulk, "bookings", bookingFields.exampled("start_time", "12:00")), func(b *bulkBookings) *[]jsontext.Value { return &b.elements }),
	flag("send_confirmation", func(b *bulkBookings) *bool { return &b.confirm }),
}.requiring(bulkList)

// CreatedBooking is the response to POST /bookings.
type CreatedBooking struct {
	BothMessage[BookingDetail]
	ConfirmationSent bool `json:"confirmation_sent"`
}

// BookingCreated is a sample of CreatedBooking.
var BookingCreated = CreatedBooking{BothMessage: bothMessage[BookingDetail]("Booking created successfully")}

// BookingCreated returns the response to POST /bookings.
func (v View) BookingCreated(created bookings.Created, times BookingTimes) CreatedBooking {
	return CreatedBooking{BookingCreated.about(v.bookingDetail(created.BookingDetail, times)), created.ConfirmationSent}
}

// BookingPossible is a sample of the answer to POST /bookings with dry_run.
var BookingPossible = CreatedBooking{BothMessage: bothMessage[BookingDetail]("Booking can be created; nothing was written")}

// BookingPossible returns the response to POST /bookings with dry_run.
func (v View) BookingPossible(draft bookings.Created, times BookingTimes) CreatedBooking {
	return CreatedBooking{BothMessage: BookingPossible.about(v.bookingDetail(draft.BookingDetail, times))}
}

// BookingUpdated returns the response to PUT /bookings/{id}.
func (v View) BookingUpdated(d records.BookingDetail, times BookingTimes) StatusSingle[BookingDetail] {
	return statusSingle(v.bookingDetail(d, times))
}

// BookingDeleted is the response to DELETE /bookings/{id}.
var BookingDeleted = done("Booking deleted successfully")

// BulkSuccess is a booking of a bulk request that was created.
type BulkSuccess struct {
	Index            int            `json:"index"`
	BookingID        int64          `json:"booking_id"`
	Data             BookingSummary `json:"data"`
	ConfirmationSent bool           `json:"confirmation_sent"`
}

// BookingSummary is a booking as bulk creation returns it.
type BookingSummary struct {
	ID          int64           `json:"id"`
	BookingCode string          `json:"booking_code"`
	Service     NamedService    `json:"service"`
	Agent       NamedAgent      `json:"agent"`
	Customer    SummaryCustomer `json:"customer"`
	StartDate   string          `json:"start_date"`
	StartTime   string          `json:"start_time"`
	Status      string          `json:"status"`
}

// NamedService is the service in a booking's summary.
type NamedService struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// NamedAgent is the agent in a booking's summary.
type NamedAgent struct {
	ID       string `json:"id"`
	FullName string `json:"full_name"`
}

// SummaryCustomer is the customer in a booking's summary.
type SummaryCustomer struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
	Email    string `json:"email" mask:"email"`
}

// BulkCreated returns a created booking of a bulk request.
func BulkCreated(index int, created bookings.Created) BulkSuccess {
	b := created.Booking
	summary := BookingSummary{
		ID: b.ID, BookingCode: b.Code, Status: b.Status, StartDate: string(b.StartDate), StartTime: clock(b.StartTime),
		Agent: NamedAgent{ID: domain.IDText(b.Agent.ID), FullName: b.Agent.FullName},
		Customer: SummaryCustomer{
			ID: b.Customer.ID, FullName: b.Customer.FullName(), Email: b.Customer.Email,
		},
	}
	if b.Service != nil {
		summary.Service = NamedService{ID: domain.IDText(b.Service.ID), Name: b.Service.Name}
	}
	return BulkSuccess{Index: index, BookingID: b.ID, Data: summary, ConfirmationSent: created.ConfirmationSent}
}

// BulkError is a booking of a bulk request that was not created.
type BulkError struct {
	Index       int               `json:"index"`
	Error       string            `json:"error"`
	BookingData json.RawMessage   `json:"booking_data"`
	Details     map[string]string `json:"details,omitempty"`    // all reasons, by field
	Written     WriteOutcome      `json:"written,omitzero"`     // if it may be tried again
	RequestID   string            `json:"request_id,omitempty"` // if the server failed
}

// requiredFields are the fields whose first missing one is reported, in the
// order of the contract.
var requiredFields = []string{
	"service_id", "agent_id", "start_date", "start_time", "customer", "customer.first_name", "customer.last_name", "customer.email",
}

// BulkRejected returns a booking that was rejected for its own reason. The text
// is the first reason in the order of the fields.
func BulkRejected(index int, submitted json.RawMessage, reason *domain.Error, written WriteOutcome) BulkError {
	e := BulkError{Index: index, BookingData: submitted, Error: reason.Message, Details: reason.Fields, Written: written}
	missing := slices.IndexFunc(requiredFields, func(field string) bool { return reason.Fields[field] == required })
	switch {
	case missing >= 0:
		e.Error, e.Details = "Missing required field: "+requiredFields[missing], nil
	case reason.Code == domain.CodeSlotUnavailable:
		e.Error = "Time slot not available"
	case len(reason.Fields) > 0:
		first := slices.MinFunc(slices.Sorted(maps.Keys(reason.Fields)), func(a, b string) int {
			return cmp.Compare(bookingFields.position(a), bookingFields.position(b))
		})
		e.Error = first + ": " + reason.Fields[first]
	}
	return e
}

// BulkResult is the response to POST /bookings/bulk.
type BulkResult struct {
	Success bool        `json:"success"`
	Message string      `json:"message"`
	Results BulkResults `json:"results"`
}

// BulkResults are the created and the failed bookings of a bulk request.
type BulkResults struct {
	Success []json.RawMessage `json:"success"`
	Errors  []json.RawMessage `json:"errors"`
	Summary BulkSummary       `json:"summary"`
}

// BulkSummary counts the bookings of a bulk request.
type BulkSummary struct {
	TotalRequested int `json:"total_requested"`
	Successful     int `json:"successful"`
	Failed         int `json:"failed"`
}

// Bulk returns the result of a bulk request; made and failed are encoded
// records, and an empty list if there are none.
func Bulk(created, failed []json.RawMessage) BulkResult {
	total := len(created) + len(failed)
	return BulkResult{
		Success: len(created) > 0,
		Message: fmt.Sprintf("Bulk booking operation completed. %d successful, %d failed out of %d total.", len(created), len(failed), total),
		Results: BulkResults{
			Success: append([]json.RawMessage{}, created...), Errors: append([]json.RawMessage{}, failed...),
			Summary: BulkSummary{TotalRequested: total, Successful: len(created), Failed: len(failed)},
		},
	}
}
