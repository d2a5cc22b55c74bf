package adapter

import (
	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
)

// NewBooking is a booking to be made. Validation holds what is known to be wrong
// with it; a field named there is not looked at again.
type NewBooking struct {
	ServiceID  int64
	AgentID    int64 // 0 for any
	LocationID int64 // 0 for the first that is free
	Start      availability.Moment
	Duration   *int64 // minutes; nil for the service's own
	Attendees  int64
	Status     *string // nil for approved
	CustomerID int64   // 0 for the one described in Customer
	Customer   CustomerFields
	Price      *decimal.Decimal // nil for the service's
	Notes      string
	Confirm    bool   // messages of the site's automations go out; reminders always do
	Address    string // the client's IP address, kept where the site logs it
	Validation domain.Validation
}

// CustomerFields describe a customer; nil was not sent.
type CustomerFields struct {
	FirstName, LastName, Email, Phone *string
}

// BookingPatch changes a booking. A nil field stays as it is.
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
	Notify                            bool // messages of the site's automations go out; reminders always do
	Validation                        domain.Validation
}

// BookingDetail is a booking with its order and the order's payments.
type BookingDetail struct {
	Booking
	Order    *Order // nil where none exists
	Payments []Payment
}

// CreatedBooking is a booking that was made.
type CreatedBooking struct {
	BookingDetail
	// ConfirmationSent tells that a message to the customer was handed over.
	ConfirmationSent bool
}
