package domain

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Code is the kind of an Error.
type Code string

// The codes. Errors about a caller's input have Fields.
const (
	CodeUnauthorized        Code = "unauthorized"             // no valid key
	CodeForbidden           Code = "insufficient_permissions" // the key lacks a permission
	CodeOutsideScope        Code = "outside_key_limits"       // the key is limited to other agents, services or locations
	CodePersonalMasked      Code = "personal_data_masked"     // the key may neither search nor write personal data
	CodeInvalidParameters   Code = "invalid_parameters"       // parameters of a list
	CodeInvalidRequest      Code = "invalid_request"          // malformed, or refers to something that does not exist
	CodeValidationFailed    Code = "validation_failed"        // well-formed, but not allowed
	CodeSlotUnavailable     Code = "time_slot_unavailable"    // Error.Conflict has the details
	CodeTimeOffExists       Code = "time_off_exists"          // Error.Existing is its id
	CodeTooManyHolds        Code = "too_many_holds"           // Error.RetryAfter says when one will expire
	CodeCustomerHasBookings Code = "customer_has_bookings"    // Error.Count has their number
	CodeCustomerHasPayments Code = "customer_has_payments"    // Error.Count has their number
	CodeForceRequired       Code = "force_required"           // deletion that needs force=true
	CodePaymentCompleted    Code = "payment_completed"        // deletion of a successful payment
	CodeRefundTooLarge      Code = "refund_too_large"         // more would be given back than was taken
	CodePaymentRefused      Code = "payment_refused"          // the field in Fields cannot have the sent value
	CodeInProgress          Code = "idempotency_in_progress"  // the same request is being processed
	CodeKeyReused           Code = "idempotency_key_reused"   // the key was used for another request
	CodeCursorExpired       Code = "cursor_expired"           // the journal no longer has what follows the cursor
	CodePreconditionFailed  Code = "precondition_failed"      // the record changed; Error.Present has it as it is now
	CodeNotFound            Code = "not_found"                // Error.Resource and Error.Key say what
	CodeUnavailable         Code = "platform_not_available"   // plugin inactive, tables missing, database down
)

// Resource is the type of a record, in the API's words.
type Resource string

// The resources that an id or code in a path refers to.
const (
	BookingResource     Resource = "booking"
	CustomerResource    Resource = "customer"
	AgentResource       Resource = "agent"
	LocationResource    Resource = "location"
	ServiceResource     Resource = "service"
	OrderResource       Resource = "order"
	InvoiceResource     Resource = "invoice"
	TransactionResource Resource = "transaction"
	PaymentResource     Resource = "payment"
	CouponResource      Resource = "coupon"
	WebhookResource     Resource = "webhook"
	HoldResource        Resource = "hold"
	TimeOffResource     Resource = "time off"
)

// Error is a failure that callers may be told about. Any other error is internal, and its text is never
// sent.
type Error struct {
	Code       Code
	Message    string            // for people
	Fields     map[string]string // field or parameter name to message
	Resource   Resource          // with CodeNotFound
	Key        string            // the id or code that was not found
	Conflict   *SlotConflict     // with CodeSlotUnavailable
	Present    *PresentRecord    // with CodePreconditionFailed
	Count      int64             // with CodeCustomerHasBookings and CodeCustomerHasPayments
	RetryAfter int64             // seconds, with CodeTooManyHolds
	Existing   int64             // an id, with CodeTimeOffExists
	Down       Down              // with CodeUnavailable, if the whole site cannot be served
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

// UnknownFields returns the error for fields that nothing reads, each with its message.
func UnknownFields(fields map[string]string) error {
	return &Error{Code: CodeInvalidParameters, Message: "Unknown fields", Fields: maps.Clone(fields)}
}

// InvalidRequest returns the error for fields that are malformed or refer to something
// that does not exist, each with its message.
func InvalidRequest(fields map[string]string) error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid input data", Fields: maps.Clone(fields)}
}

// TooCostly returns the error for a request that counts as more requests than its key has in a whole
// window, such as one minute: it can never succeed as it is.
func TooCostly(cost, limit int64, window string) error {
	return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("This request counts as %d and the key has %d in one %s, so it must be split", cost, limit, window)}
}

// ValidationFailed returns the error for fields that are well-formed but not allowed,
// each with its message.
func ValidationFailed(fields map[string]string) error {
	return &Error{Code: CodeValidationFailed, Message: "Validation failed", Fields: maps.Clone(fields)}
}

// Unauthorized returns the error for a missing or invalid key. It does not say why the key is invalid.
func Unauthorized() error {
	return &Error{Code: CodeUnauthorized, Message: "Invalid or missing API key"}
}

// SlotUnavailable returns the error for a start that is not free.
func SlotUnavailable(conflict SlotConflict) error {
	return &Error{Code: CodeSlotUnavailable, Message: "The requested time slot is not available", Conflict: &conflict}
}

// HoldLost returns the error for a booking with a hold that has expired or is not the caller's.
func HoldLost(conflict SlotConflict) error {
	return &Error{Code: CodeSlotUnavailable, Message: "This hold has expired or does not exist", Conflict: &conflict}
}

// TimeOffExists returns the error for entering time off that is entered already, under an id.
func TimeOffExists(id int64) error {
	return &Error{Code: CodeTimeOffExists, Message: fmt.Sprintf("This is entered already, as time off with ID %d", id), Existing: id}
}

// MaxHold is how long a hold lasts at most.
const MaxHold = 30 * time.Minute

// TooManyHolds returns the error for exceeding the number of holds that a key may have. retryAfter is the
// time until one of them expires, in seconds.
func TooManyHolds(most, retryAfter int64) error {
	message := fmt.Sprintf("This key has %d holds already. Use them, delete them, or wait for one to expire", most)
	return &Error{Code: CodeTooManyHolds, Message: message, RetryAfter: retryAfter}
}

// ForceRequired returns the error for deleting an approved or completed booking without
// force.
func ForceRequired() error {
	return &Error{Code: CodeForceRequired, Message: "Approved or completed bookings can only be deleted with force=true"}
}

// CustomerHasBookings returns the error for deleting a customer with count bookings.
func CustomerHasBookings(count int64) error {
	return &Error{Code: CodeCustomerHasBookings, Message: "Cannot delete customer with existing bookings", Count: count}
}

// CustomerHasPayments returns the error for deleting a customer whose orders have count
// successful payments.
func CustomerHasPayments(count int64) error {
	return &Error{Code: CodeCustomerHasPayments, Message: "Cannot delete customer with existing payments", Count: count}
}

// PaymentCompleted returns the error for deleting a successful payment.
func PaymentCompleted() error {
	return &Error{Code: CodePaymentCompleted, Message: "Cannot delete payment with completed status. Please refund first."}
}

// RefundTooLarge returns the error for giving back more than was taken.
func RefundTooLarge() error {
	return &Error{Code: CodeRefundTooLarge, Message: "Refunds cannot exceed payments. Send force=true to record them all the same."}
}

// PaymentRefused returns the error for a payment field that cannot have the sent value.
func PaymentRefused(field, why string) error {
	return &Error{Code: CodePaymentRefused, Message: why, Fields: map[string]string{field: why}}
}

// RequestInProgress returns the error for an Idempotency-Key whose first request is still being processed.
// The cause may be nil.
func RequestInProgress(cause error) error {
	return &Error{Code: CodeInProgress, Message: "A request with this Idempotency-Key is being processed", Cause: cause}
}

// IdempotencyKeyReused returns the error for an Idempotency-Key that was used before with
// another body.
func IdempotencyKeyReused() error {
	return &Error{Code: CodeKeyReused, Message: "This Idempotency-Key was used with another request body"}
}

// CursorExpired returns the error for a position in the journal whose following entries
// have been deleted.
func CursorExpired() error {
	return &Error{Code: CodeCursorExpired, Message: "The changes after this cursor are no longer kept. Read all lists again and continue with the cursor of GET /changes"}
}

// PresentRecord is a record that a write would have changed, as the caller may read it now.
type PresentRecord struct {
	Tag    string          // entity tag of the response to a GET
	Record json.RawMessage // in that response
}

// PreconditionFailed returns the error for a conditional write to a record that has changed.
func PreconditionFailed(present PresentRecord) error {
	return &Error{Code: CodePreconditionFailed, Message: "The record has changed since it was read", Present: &present}
}

// InvalidField is like InvalidRequest, for a single field.
func InvalidField(field, message string) error {
	return InvalidRequest(map[string]string{field: message})
}

// Unavailable returns the error for a platform that cannot serve now. The message is for
// the people who run the site.
func Unavailable(message string, cause error) error {
	return &Error{Code: CodeUnavailable, Message: message, Cause: cause}
}

// Down says in one word why a site cannot be served, for metrics.
type Down string

// The reasons.
const (
	NoWordPress      Down = "no_wordpress"
	PluginInactive   Down = "plugin_inactive"
	PluginTooOld     Down = "plugin_too_old"
	NoTables         Down = "tables_missing"
	NoColumns        Down = "columns_missing"
	TablesUnreadable Down = "tables_unreadable"
	AllWritesRefused Down = "writes_refused"
)

// SiteDown is like Unavailable, for a site that cannot be served, or only in part.
func SiteDown(reason Down, message string, cause error) error {
	return &Error{Code: CodeUnavailable, Down: reason, Message: message, Cause: cause}
}

// TablesMissing returns the error for missing tables, the site's or Bookside's.
func TablesMissing(cause error, names ...string) error {
	return SiteDown(NoTables, "Tables are missing: "+strings.Join(names, ", "), cause)
}

// OwnColumnsMissing returns the error for columns that Bookside's tables lack, or for the tables if the
// columns are unknown.
func OwnColumnsMissing(cause error, names ...string) error {
	return SiteDown(NoColumns, "Columns are missing, which bookside migrate adds: "+strings.Join(names, ", "), cause)
}

// SlotConflict says why a booking cannot have its time, with CodeSlotUnavailable.
type SlotConflict struct {
	Day       string // the day of the start; "" if it is not known
	Start     int    // minutes since midnight
	AgentID   int64  // 0 for any
	BookingID int64  // the conflicting booking, or 0
	Free      []int  // starts that are free on that day, in minutes since midnight
}
