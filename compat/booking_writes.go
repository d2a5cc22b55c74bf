package compat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"bookside/adapter"
	"bookside/adapter/availability"
	"bookside/adapter/domain"
)

// NewBooking reads the body of POST /bookings. What is wrong with it is in the
// booking's Validation.
func NewBooking(b *Body) adapter.NewBooking {
	booking := b.booking()
	booking.Confirm = valueOr(b.Boolean("send_confirmation"), true)
	booking.Validation = *b.problems
	return booking
}

// booking reads the fields of a new booking, alone or among others.
func (b *Body) booking() adapter.NewBooking {
	var booking adapter.NewBooking
	booking.ServiceID = valueOr(b.ID("service_id", maxMediumInt), 0)
	b.require("service_id")
	booking.AgentID, _ = b.AnyID("agent_id")
	b.require("agent_id")
	booking.Start = b.start()
	b.bookingCustomer(&booking)
	booking.LocationID = valueOr(b.ID("location_id", maxMediumInt), 0)
	booking.Duration = b.Integer("duration", 1, maxDuration)
	booking.Status = b.bookingStatus()
	booking.Notes = valueOr(b.Text("notes"), "")
	booking.Price = b.price("price")
	booking.Attendees = valueOr(b.Integer("total_attendees", 1, maxMediumInt), 1)
	return booking
}

// start is when a new booking begins.
func (b *Body) start() (at availability.Moment) {
	at.Day, _ = b.Day("start_date")
	b.require("start_date")
	at.Minutes = valueOr(b.TimeOfDay("start_time"), 0)
	b.require("start_time")
	return at
}

// bookingCustomer reads who books: a customer by id, else one that is described
// in full.
func (b *Body) bookingCustomer(booking *adapter.NewBooking) {
	booking.CustomerID = valueOr(b.ID("customer_id", maxMediumInt), 0)
	if b.given("customer_id") {
		return
	}
	customer := b.Object("customer")
	if customer == nil {
		b.require("customer")
		return
	}
	booking.Customer = customer.customerFields()
	for _, name := range []string{"first_name", "last_name", "email"} {
		customer.require(name)
	}
}

func (b *Body) customerFields() adapter.CustomerFields {
	return adapter.CustomerFields{
		FirstName: b.Text("first_name"), LastName: b.Text("last_name"), Email: b.Text("email"), Phone: b.Text("phone"),
	}
}

// bookingStatus is a word that only the site can judge.
func (b *Body) bookingStatus() *string {
	text := b.Text("status")
	if text == nil {
		return nil
	}
	status := strings.ToLower(strings.TrimSpace(*text))
	if status == "" {
		return nil
	}
	return &status
}

// price is an amount that can be asked for something.
func (b *Body) price(name string) *decimal.Decimal {
	amount := b.Amount(name)
	b.described.amount(name, "0")
	switch {
	case amount == nil:
		return nil
	case amount.IsNegative():
		b.note(name, refused("May not be negative"))
	case !amount.Equal(amount.Truncate(moneyDecimals)):
		b.note(name, refused("May have at most %d decimals", moneyDecimals))
	default:
		return amount
	}
	return nil
}

// moneyDecimals is what the money columns hold.
const moneyDecimals = 4

// BookingPatch reads the body of PUT /bookings/{id}. What is wrong with it is in
// the patch's Validation.
func BookingPatch(b *Body) adapter.BookingPatch {
	patch := adapter.BookingPatch{
		ServiceID:  b.ID("service_id", maxMediumInt),
		AgentID:    b.anyIDSent("agent_id"),
		LocationID: b.ID("location_id", maxMediumInt),
		CustomerID: b.ID("customer_id", maxMediumInt),
		StartTime:  b.TimeOfDay("start_time"),
		Duration:   b.Integer("duration", 1, maxDuration),
		Status:     b.bookingStatus(),
		Price:      b.price("price"),
		Notes:      b.Text("notes"),
		Notify:     b.Flag("send_notification"),
	}
	if day, sent := b.Day("start_date"); sent {
		patch.StartDate = &day
	}
	if customer := b.Object("customer"); customer != nil {
		patch.Customer = customer.customerFields()
	}
	patch.Validation = *b.problems
	return patch
}

func (b *Body) anyIDSent(name string) *int64 {
	id, sent := b.AnyID(name)
	if !sent {
		return nil
	}
	return &id
}

// maxBulk is how many bookings one request may ask for.
const maxBulk = 50

// BulkBooking is one of the bookings of a bulk request.
type BulkBooking struct {
	adapter.NewBooking
	sent node
}

// Submitted is the booking as it came, as JSON.
func (b BulkBooking) Submitted() json.RawMessage { return b.sent.json() }

// BulkBookings reads the body of POST /bookings/bulk: an object with the list
// bookings, or the bare list. What is wrong with one booking is in its
// Validation; the error is about the request.
func BulkBookings(d Document) ([]BulkBooking, error) {
	fields, ok := map[string]node{"bookings": d.root}, d.isList()
	if !ok {
		fields, ok = d.root.object()
	}
	if !ok {
		return nil, errNoObject
	}
	b := newBody("", fields, new(domain.Validation))
	elements, confirm := b.bookings()
	if err := b.Err(); err != nil {
		return nil, err
	}
	bookings := make([]BulkBooking, len(elements))
	for i, element := range elements {
		fields, _ := element.object() // what is no object has none of the fields
		one := newBody("", fields, new(domain.Validation))
		bookings[i] = BulkBooking{NewBooking: one.booking(), sent: element}
		bookings[i].Confirm, bookings[i].Validation = confirm, *one.problems
	}
	return bookings, nil
}

// bookings reads the list of a bulk request.
func (b *Body) bookings() (elements []node, confirm bool) {
	elements, ok := b.list("bookings")
	b.require("bookings")
	if ok && (len(elements) == 0 || len(elements) > maxBulk) {
		b.note("bookings", malformed(fmt.Sprintf("Must be a list of 1 to %d bookings", maxBulk)))
	}
	return elements, b.Flag("send_confirmation")
}

// DescribeBulkBookings reads what BulkBookings does.
func DescribeBulkBookings(b *Body) {
	b.bookings()
	b.describe(b.described.elements("bookings", 1, maxBulk)).booking()
}

// MadeBooking is the answer to POST /bookings.
type MadeBooking struct {
	BothMessage
	ConfirmationSent bool `json:"confirmation_sent"`
}

// BookingCreated is the answer to POST /bookings.
func (v View) BookingCreated(made adapter.MadeBooking, times BookingTimes) MadeBooking {
	return MadeBooking{bothMessage("Booking created successfully", v.bookingDetail(made.BookingDetail, times)), made.ConfirmationSent}
}

// BookingUpdated is the answer to PUT /bookings/{id}.
func (v View) BookingUpdated(d adapter.BookingDetail, times BookingTimes) StatusSingle {
	return statusSingle(v.bookingDetail(d, times))
}

// BookingDeleted is the answer to DELETE /bookings/{id}.
func BookingDeleted() Done { return Done{Success: true, Message: "Booking deleted successfully"} }

// BulkSuccess is a booking of a bulk request that was made.
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
	Email    string `json:"email"`
}

// BulkMade is a booking of a bulk request that was made.
func BulkMade(index int, made adapter.MadeBooking) BulkSuccess {
	b := made.Booking
	summary := BookingSummary{
		ID: b.ID, BookingCode: b.Code, Status: b.Status, StartDate: string(b.StartDate), StartTime: clock(b.StartTime),
		Agent: NamedAgent{ID: number(b.Agent.ID), FullName: b.Agent.FullName},
		Customer: SummaryCustomer{
			ID: b.Customer.ID, FullName: strings.TrimSpace(b.Customer.FirstName + " " + b.Customer.LastName), Email: b.Customer.Email,
		},
	}
	if b.Service != nil {
		summary.Service = NamedService{ID: number(b.Service.ID), Name: b.Service.Name}
	}
	return BulkSuccess{Index: index, BookingID: b.ID, Data: summary, ConfirmationSent: made.ConfirmationSent}
}

// BulkError is a booking of a bulk request that was not made.
type BulkError struct {
	Index       int               `json:"index"`
	Error       string            `json:"error"`
	BookingData json.RawMessage   `json:"booking_data"`
	Details     map[string]string `json:"details,omitempty"` // where the text does not name the field
	Written     Written           `json:"written,omitzero"`  // where it may be tried again
}

// requiredFields are the fields of which the first missing one is reported, in
// the order of the contract.
var requiredFields = []string{
	"service_id", "agent_id", "start_date", "start_time", "customer", "customer.first_name", "customer.last_name", "customer.email",
}

// BulkRefused is a booking that was refused, for a reason of its own.
func BulkRefused(index int, submitted json.RawMessage, reason *domain.Error, written Written) BulkError {
	e := BulkError{Index: index, BookingData: submitted, Error: reason.Message, Details: reason.Fields, Written: written}
	missing := slices.IndexFunc(requiredFields, func(field string) bool { return reason.Fields[field] == required })
	switch {
	case missing >= 0:
		e.Error, e.Details = "Missing required field: "+requiredFields[missing], nil
	case reason.Code == domain.CodeSlotUnavailable:
		e.Error = "Time slot not available"
	}
	return e
}

// BulkResult is the answer to POST /bookings/bulk.
type BulkResult struct {
	Success bool        `json:"success"`
	Message string      `json:"message"`
	Results BulkResults `json:"results"`
}

// BulkResults are the records of the bookings made and not made.
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

// Bulk sums up a bulk request; made and failed are encoded records, and none is
// an empty list.
func Bulk(made, failed []json.RawMessage) BulkResult {
	total := len(made) + len(failed)
	return BulkResult{
		Success: len(made) > 0,
		Message: fmt.Sprintf("Bulk booking operation completed. %d successful, %d failed out of %d total.", len(made), len(failed), total),
		Results: BulkResults{
			Success: append([]json.RawMessage{}, made...), Errors: append([]json.RawMessage{}, failed...),
			Summary: BulkSummary{TotalRequested: total, Successful: len(made), Failed: len(failed)},
		},
	}
}
