package compat

import (
	"encoding/json"
	"net/http"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsonschema"
)

// ErrorShape is the form of an operation's error bodies.
type ErrorShape int

// The shapes of errors.
const (
	ObjectError    ErrorShape = iota // {status: "error", error: {code, message, details?}}
	WordPressError                   // {code, message, data: {status}}, as in WordPress's own REST API
	TextError                        // {success: false, error: message}
	BothErrors                       // an ObjectError and a WordPressError at once
	FailedObject                     // an ObjectError with success: false
)

// Failure is an error on its way to the client.
type Failure struct {
	Status    int // HTTP status
	Code      string
	Message   string
	Details   any    // nil for none; never in a TextError
	Bookings  int64  // number of bookings in the way, in a WordPressError
	Payments  int64  // likewise, of payments
	RequestID string // for internal failures
	Written   WriteOutcome
}

// WriteOutcome says what a failed write has left in the database.
type WriteOutcome string

// The outcomes of failed writes. WriteNotReported is for failures that need no explanation.
const (
	WriteNotReported WriteOutcome = ""
	NothingWritten   WriteOutcome = "nothing"
	WriteUnknown     WriteOutcome = "unknown" // it may have been written, completely or in part
)

// MarshalJSON writes false for NothingWritten.
func (w WriteOutcome) MarshalJSON() ([]byte, error) {
	if w == NothingWritten {
		return []byte("false"), nil
	}
	return json.Marshal(string(w))
}

// JSONSchema refers to the named schema.
func (WriteOutcome) JSONSchema() *jsonschema.Schema { return jsonschema.Reference(writtenName) }

type wordPressBody struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Data    errorData `json:"data"`
}

type errorData struct {
	Status       int          `json:"status"`
	Details      any          `json:"details,omitempty"`
	BookingCount int64        `json:"booking_count,omitempty"`
	PaymentCount int64        `json:"payment_count,omitempty"`
	RequestID    string       `json:"request_id,omitempty"`
	Written      WriteOutcome `json:"written,omitzero"` // for writes that may be tried again
}

type objectBody struct {
	Status string      `json:"status"`
	Error  errorObject `json:"error"`
}

type errorObject struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details,omitempty"`
}

// bothBody is the error of a route for which the contract and the extension have different shapes: clients
// that test either find it.
type bothBody struct {
	wordPressBody
	objectBody
}

type failedBody struct {
	Success bool `json:"success"`
	objectBody
}

type textBody struct {
	Success bool       `json:"success"`
	Error   string     `json:"error"`
	Data    *errorData `json:"data,omitempty"`
}

// anyError has the members of all shapes, for the document: clients find out by looking.
type anyError struct {
	Code    string     `json:"code,omitempty"`
	Message string     `json:"message,omitempty"`
	Data    *errorData `json:"data,omitempty"`
	Status  string     `json:"status,omitempty"`
	Error   any        `json:"error,omitempty"`
	Success bool       `json:"success,omitempty"`
}

// Body returns the failure in a shape.
func (f Failure) Body(shape ErrorShape) any {
	switch shape {
	case WordPressError:
		return f.wordPressBody()
	case TextError:
		body := textBody{Error: f.Message}
		if f.RequestID != "" {
			body.Data = &errorData{Status: f.Status, RequestID: f.RequestID}
		}
		return body
	case BothErrors:
		return bothBody{f.wordPressBody(), f.objectBody()}
	case FailedObject:
		return failedBody{objectBody: f.objectBody()}
	default:
		return f.objectBody()
	}
}

func (f Failure) wordPressBody() wordPressBody {
	data := errorData{Status: f.Status, Details: f.Details, BookingCount: f.Bookings, PaymentCount: f.Payments, RequestID: f.RequestID, Written: f.Written}
	return wordPressBody{Code: f.Code, Message: f.Message, Data: data}
}

func (f Failure) objectBody() objectBody {
	return objectBody{Status: "error", Error: errorObject{Code: f.Code, Message: f.Message, Details: f.Details}}
}

// ListUnauthorized is how lists reject a key, always as a WordPressError.
var ListUnauthorized = Failure{Status: http.StatusUnauthorized, Code: "rest_forbidden", Message: "Unauthorized"}

// PermissionDetails says what a key lacks.
type PermissionDetails struct {
	Required string   `json:"required_permission"`
	Current  []string `json:"current_permissions"`
}

// PresentDetails is the present state of a record, for a client that knows an earlier one.
type PresentDetails struct {
	ETag   string    `json:"etag"`
	Record anyRecord `json:"record"`
}

// anyRecord is a record of any resource, as JSON.
type anyRecord json.RawMessage

// MarshalJSON returns the JSON.
func (r anyRecord) MarshalJSON() ([]byte, error) { return r, nil }

// JSONSchema is that of any object.
func (anyRecord) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: jsonschema.Object, Example: jsonschema.Members{}}
}

// Present returns a changed record as clients see it.
func Present(p domain.PresentRecord) PresentDetails {
	return PresentDetails{ETag: p.Tag, Record: anyRecord(p.Record)}
}

// ConflictDetails say why a booking cannot have its time.
type ConflictDetails struct {
	RequestedTime  string   `json:"requested_time,omitempty"` // absent if unknown
	AgentID        idOrAny  `json:"agent_id"`
	BookingID      *int64   `json:"conflicting_booking_id"`
	AvailableSlots []string `json:"available_slots"` // on the same day
}

// TimeOffDetails name time off that is entered already.
type TimeOffDetails struct {
	ID int64 `json:"time_off_id"`
}

// clockOf returns minutes since midnight as a time of day.
func clockOf(minutes int) string {
	start := availability.Minutes(minutes)
	return clock(&start)
}

// Conflict returns a conflict as clients see it.
func Conflict(c domain.SlotConflict) ConflictDetails {
	details := ConflictDetails{
		AgentID:        idOrAny(c.AgentID),
		AvailableSlots: each(c.Free, clockOf),
	}
	if c.Day != "" {
		details.RequestedTime = c.Day + " " + clockOf(c.Start)
	}
	if c.BookingID != 0 {
		details.BookingID = &c.BookingID
	}
	return details
}
