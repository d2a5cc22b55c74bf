package adapter

import (
	"errors"
	"fmt"
	"maps"
)

// Code says what kind of failure an Error is.
type Code string

// Every code there is. The ones about a caller's input carry Fields.
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
	CodeInProgress          Code = "idempotency_in_progress"  // the same request is being worked on
	CodeKeyReused           Code = "idempotency_key_reused"   // by another request than before
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

// Error is a failure a caller may be told about. Anything that is not one is
// our own failure, and its text stays here.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf is the code of an Error anywhere in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// notFound is the error for a resource that does not exist.
func notFound(resource Resource, key any) *Error {
	return &Error{Code: CodeNotFound, Resource: resource, Key: fmt.Sprint(key)}
}

// NotFound is the error for an id no row can have, so that nobody needs to ask
// the database.
func NotFound(resource Resource, key string) error { return notFound(resource, key) }

// InvalidParameters is the error for query parameters, each with its message.
func InvalidParameters(fields map[string]string) error {
	return &Error{Code: CodeInvalidParameters, Message: "Invalid query parameters", Fields: maps.Clone(fields)}
}

// InvalidRequest is the error for fields that name what does not exist or
// cannot be, each with its message.
func InvalidRequest(fields map[string]string) error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid input data", Fields: maps.Clone(fields)}
}

// invalidRequest is InvalidRequest for one field.
func invalidRequest(field, message string) error {
	return InvalidRequest(map[string]string{field: message})
}

// unavailable is the error for a platform that cannot be served now. message
// is for people who run the site.
func unavailable(message string, cause error) error {
	return &Error{Code: CodeUnavailable, Message: message, Cause: cause}
}
