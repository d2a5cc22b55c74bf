package compat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/jsontext"
)

// customerFields are the fields of a customer in a booking.
func customerFields(c *records.CustomerFields) Fields {
	return Fields{
		optional("first_name", fixedText, &c.FirstName),
		optional("last_name", fixedText, &c.LastName),
		optional("email", fixedText, &c.Email),
		optional("phone", anyText, &c.Phone),
	}
}

// bookingFields are the fields of a new booking, alone or in a bulk request.
// The customer is given by id, or otherwise described in full.
func bookingFields(b *bookings.New) Fields {
	return Fields{
		value("service_id", id(maxMediumInt), &b.ServiceID),
		value("agent_id", anyID, &b.AgentID),
		value("start_date", day, &b.Start.Day),
		value("start_time", timeOfDay, &b.Start.Minutes),
		value("customer_id", id(maxMediumInt), &b.CustomerID),
		object("customer", customerFields(&b.Customer).requiring("first_name", "last_name", "email")).
			ignoredIf(func(in input) bool { return sentID(in, "customer_id") }),
		optional("location_id", anyID, &b.LocationID),
		optional("duration", integer(1, maxDuration), &b.Duration),
		newStatus(&b.Status),
		value("notes", anyText, &b.Notes),
		optional("price", price, &b.Price),
		extras(extrasSchema, &b.Extras),
		couponCode(&b.CouponCode),
		bookingCustomFields(&b.Fields),
		series(&b.Series),
		defaulted("total_attendees", integer(1, maxMediumInt), 1, &b.Attendees),
	}.requiring("service_id", "agent_id", "start_date", "start_time", "customer")
}

// NewBooking is the body of POST /bookings.
type NewBooking struct {
	bookings.New
	DryRun bool // only report what would happen
}

// NewBookingFields are the fields of POST /bookings.
var NewBookingFields = declare("POST /bookings", func(b *NewBooking) Fields {
	return append(bookingFields(&b.New).requiringUnless("hold_id", "service_id", "agent_id", "start_date", "start_time"),
		value("hold_id", id(maxPage), &b.HoldID),
		defaulted("send_confirmation", boolean, true, &b.Confirm),
		flag(dryRun, &b.DryRun),
	)
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

// newStatus declares the status of a booking, a word that only the site can check.
func newStatus(to **string) Field {
	return custom("status", filledText, func(text string) { *to = new(strings.ToLower(strings.TrimSpace(text))) })
}

// BookingPatch is the body of PUT /bookings/{id}.
type BookingPatch struct {
	bookings.Patch
	DryRun bool // only report what would happen
}

// BookingPatchFields are the fields of PUT /bookings/{id}.
var BookingPatchFields = declare("PUT /bookings/{id}", func(p *BookingPatch) Fields {
	return Fields{
		optional("service_id", id(maxMediumInt), &p.ServiceID),
		optional("agent_id", anyID, &p.AgentID),
		optional("location_id", anyID, &p.LocationID),
		optional("customer_id", id(maxMediumInt), &p.CustomerID),
		optional("start_time", timeOfDay, &p.StartTime),
		optional("duration", integer(1, maxDuration), &p.Duration),
		optional("total_attendees", integer(1, maxMediumInt), &p.Attendees),
		extras(extrasSchema, &p.Extras),
		newStatus(&p.Status),
		optional("price", price, &p.Price),
		optional("notes", anyText, &p.Notes),
		bookingCustomFields(&p.Fields),
		reason(records.CancellationReason, &p.Reasons),
		reason(records.RescheduleReason, &p.Reasons),
		flag("send_notification", &p.Notify),
		optional("start_date", day, &p.StartDate),
		flag(dryRun, &p.DryRun),
		object("customer", customerFields(&p.Customer).changing()),
	}.changing()
})

// BookingMoveFields are the fields of POST /bookings/{id}/approve, decline and cancel.
var BookingMoveFields = declare("POST /bookings/{id}/cancel", func(p *BookingPatch) Fields {
	return Fields{
		reason(records.MoveReason, &p.Reasons),
		flag("send_notification", &p.Notify),
		flag(dryRun, &p.DryRun),
	}
})

// bySite is the type of a field that the site decides about: whether it knows it, and what is wrong with it.
func bySite(schema func() *jsonschema.Schema) description {
	return description{schema: schema, null: isValue, blank: isValue}
}

// series declares the recurrence of a booking, of which the site's form makes several with LatePoint Pro Features.
func series(to *bool) Field {
	const name = "recurrence"
	return Field{name: name, description: bySite(func() *jsonschema.Schema { return &jsonschema.Schema{} }), set: func(in input) {
		sent, ok := in.(*Body).sent(name)
		*to = ok && !slices.Contains([]string{`""`, "false", "[]", "{}"}, string(sent))
	}}
}

// reason declares why a booking is cancelled or changed. Null and an empty text are none.
func reason(name string, to *map[string]*string) Field {
	return Field{name: name, description: bySite(anyText.schema), set: func(in input) {
		sent, ok := in.(*Body).sent(name)
		if !ok {
			return
		}
		if *to == nil {
			*to = map[string]*string{}
		}
		(*to)[name] = nil
		if text, _, single := sent.Scalar(); single {
			(*to)[name] = &text
		}
	}}
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
		fields, _ := element.Decoded().Object() // anything but an object has none of the fields
		one := newBody("", fields, new(domain.Validation))
		bookings[i].sent = element
		bookingFields(&bookings[i].New).read(one)
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
var BulkBookingFields = declare("POST /bookings/bulk", func(b *bulkBookings) Fields {
	booking := func() []FieldDescription { return bookingFields(&bookings.New{}).Describe("POST /bookings/bulk") }
	return Fields{
		value(bulkList, elements(1, maxBulk, "bookings", booking), &b.elements),
		flag("send_confirmation", &b.confirm),
	}.requiring(bulkList)
})

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
		known := bookingFields(&bookings.New{})
		first := slices.MinFunc(slices.Sorted(maps.Keys(reason.Fields)), func(a, b string) int {
			return cmp.Compare(known.position(a), known.position(b))
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
