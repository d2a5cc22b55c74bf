package domain

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"bookside/adapter/availability"
)

// Code is the kind of failure that an Error reports.
type Code string

// The codes. Those about a caller's input carry Fields.
const (
	CodeUnauthorized        Code = "unauthorized"             // no key, or none that is valid
	CodeForbidden           Code = "insufficient_permissions" // the key lacks a permission
	CodeInvalidParameters   Code = "invalid_parameters"       // query parameters of a read
	CodeInvalidRequest      Code = "invalid_request"          // a request that names what does not exist or cannot be
	CodeValidationFailed    Code = "validation_failed"        // well-formed, and not allowed
	CodeSlotUnavailable     Code = "time_slot_unavailable"    // Error.Conflict says what is in the way
	CodeCustomerHasBookings Code = "customer_has_bookings"    // Error.Count says how many
	CodeForceRequired       Code = "force_required"           // deletion of what is not to be lost by accident
	CodePaymentCompleted    Code = "payment_completed"        // deletion of a payment that succeeded
	CodeInProgress          Code = "idempotency_in_progress"  // the same request is being processed
	CodeKeyReused           Code = "idempotency_key_reused"   // for another request
	CodeNotFound            Code = "not_found"                // Error.Resource names what
	CodeUnavailable         Code = "platform_not_available"   // plugin inactive, tables missing, database away
)

// Resource names what a CodeNotFound was about, in the API's words.
type Resource string

// The resources an id or code in a path can name.
const (
	BookingResource     Resource = "booking"
	CustomerResource    Resource = "customer"
	AgentResource       Resource = "agent"
	ServiceResource     Resource = "service"
	OrderResource       Resource = "order"
	InvoiceResource     Resource = "invoice"
	TransactionResource Resource = "transaction"
	PaymentResource     Resource = "payment"
	CouponResource      Resource = "coupon"
)

// Error is a failure that a caller may be told about. Any other error is a failure
// of ours, and its text is never sent.
type Error struct {
	Code     Code
	Message  string            // for people
	Fields   map[string]string // field or parameter name to message
	Resource Resource          // with CodeNotFound
	Key      string            // the id or code that was not found
	Conflict *SlotConflict     // with CodeSlotUnavailable
	Count    int64             // with CodeCustomerHasBookings
	// Required and Granted are permissions, with CodeForbidden.
	Required string
	Granted  []string
	Cause    error // for the log, never for the caller
}

func (e *Error) Error() string {
	text := string(e.Code)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Cause != nil {
		text += fmt.Sprintf(": %v", e.Cause)
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of the Error in err's chain, or "".
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// NotFound returns the error for a resource that does not exist under an id or code.
func NotFound(resource Resource, key any) *Error {
	return &Error{Code: CodeNotFound, Resource: resource, Key: fmt.Sprint(key)}
}

// InvalidParameters returns the error for query parameters, each with its message.
func InvalidParameters(fields map[string]string) error {
	return &Error{Code: CodeInvalidParameters, Message: "Invalid query parameters", Fields: maps.Clone(fields)}
}

// InvalidRequest returns the error for fields that name what does not exist or
// cannot be, each with its message.
func InvalidRequest(fields map[string]string) error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid input data", Fields: maps.Clone(fields)}
}

// ValidationFailed returns the error for fields that are well-formed and still not
// allowed, each with its message.
func ValidationFailed(fields map[string]string) error {
	return &Error{Code: CodeValidationFailed, Message: "Validation failed", Fields: maps.Clone(fields)}
}

// Unauthorized returns the error for a key that is missing or not valid, the same
// for every way in which it is not.
func Unauthorized() error {
	return &Error{Code: CodeUnauthorized, Message: "Invalid or missing API key"}
}

// SlotUnavailable returns the error for a start that is not free.
func SlotUnavailable(conflict SlotConflict) error {
	return &Error{Code: CodeSlotUnavailable, Message: "The requested time slot is not available", Conflict: &conflict}
}

// ForceRequired returns the error for the deletion of an approved or completed
// booking without force.
func ForceRequired() error {
	return &Error{Code: CodeForceRequired, Message: "Bookings that are approved or completed are deleted with force=true only"}
}

// CustomerHasBookings returns the error for the deletion of a customer with so
// many bookings.
func CustomerHasBookings(count int64) error {
	return &Error{Code: CodeCustomerHasBookings, Message: "Cannot delete customer with existing bookings", Count: count}
}

// PaymentCompleted returns the error for the deletion of a payment that succeeded.
func PaymentCompleted() error {
	return &Error{Code: CodePaymentCompleted, Message: "Cannot delete payment with completed status. Please refund first."}
}

// RequestInProgress returns the error for a request under the Idempotency-Key of
// one that is still being processed. The cause may be nil.
func RequestInProgress(cause error) error {
	return &Error{Code: CodeInProgress, Message: "A request with this Idempotency-Key is being processed", Cause: cause}
}

// IdempotencyKeyReused returns the error for an Idempotency-Key that came before
// with another body.
func IdempotencyKeyReused() error {
	return &Error{Code: CodeKeyReused, Message: "This Idempotency-Key was used with another request body"}
}

// InvalidField returns InvalidRequest for a single field.
func InvalidField(field, message string) error {
	return InvalidRequest(map[string]string{field: message})
}

// Unavailable returns the error for a platform that cannot be served now. The
// message is for whoever runs the site.
func Unavailable(message string, cause error) error {
	return &Error{Code: CodeUnavailable, Message: message, Cause: cause}
}

// TablesMissing returns the error for tables, of the site or of Bookside, that do not
// exist.
func TablesMissing(cause error, names ...string) error {
	return Unavailable("Tables are missing: "+strings.Join(names, ", "), cause)
}

// SlotConflict is why a booking cannot have its time, with CodeSlotUnavailable.
type SlotConflict struct {
	Start     availability.Moment
	AgentID   int64                  // 0 for any
	BookingID int64                  // in the way, or 0
	Free      []availability.Minutes // starts that are free on that day
}
