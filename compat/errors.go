package compat

import (
	"encoding/json"
	"fmt"
	"net/http"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
)

// ErrorShape is the form of an operation's error bodies.
type ErrorShape int

// The shapes of errors.
const (
	ObjectError    ErrorShape = iota // {status: "error", error: {code, message, details?}}
	WordPressError                   // {code, message, data: {status}}, as WordPress's own REST API has it
	TextError                        // {success: false, error: message}
	BothErrors                       // an ObjectError and a WordPressError at once
)

// Failure is an error on its way to the client.
type Failure struct {
	Status    int // of HTTP
	Code      string
	Message   string
	Details   any    // nil for none; never in a TextError
	Bookings  int64  // that are in the way, in a WordPressError
	Payments  int64  // the same
	RequestID string // for failures of ours
	Written   WriteOutcome
}

// WriteOutcome says what a write that failed has left in the database.
type WriteOutcome string

// The outcomes of writes that failed. WriteNotReported is that of failures that
// speak for themselves.
const (
	WriteNotReported WriteOutcome = ""
	NothingWritten   WriteOutcome = "nothing"
	WriteUnknown     WriteOutcome = "unknown" // it may have been written, or a part of it
)

// MarshalJSON writes false for NothingWritten.
func (w WriteOutcome) MarshalJSON() ([]byte, error) {
	if w == NothingWritten {
		return []byte("false"), nil
	}
	return json.Marshal(string(w))
}

func (WriteOutcome) schema() *Schema {
	return AnyOf(&Schema{Type: typeBoolean, Const: false, example: false}, &Schema{Type: typeString, Const: string(WriteUnknown)})
}

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
	Written      WriteOutcome `json:"written,omitzero"` // of writes that may be tried again
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

// bothBody is the error of a route of which the contract says one shape and the
// extension answers the other: either kind of client finds what it tests.
type bothBody struct {
	wordPressBody
	objectBody
}

type textBody struct {
	Success bool       `json:"success"`
	Error   string     `json:"error"`
	Data    *errorData `json:"data,omitempty"`
}

// Body is the failure in a shape.
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

// PermissionDetails tells what a key lacks.
type PermissionDetails struct {
	Required string   `json:"required_permission"`
	Current  []string `json:"current_permissions"`
}

// PresentDetails are a record as it is now, for a client that knows an earlier state.
type PresentDetails struct {
	ETag   string    `json:"etag"`
	Record anyRecord `json:"record"`
}

// anyRecord is a record of some resource, as JSON.
type anyRecord json.RawMessage

// MarshalJSON returns the JSON.
func (r anyRecord) MarshalJSON() ([]byte, error) { return r, nil }

func (anyRecord) schema() *Schema { return &Schema{Type: typeObject, example: Members{}} }

// Present is a record that has changed as clients see it.
func Present(p domain.PresentRecord) PresentDetails {
	return PresentDetails{ETag: p.Tag, Record: anyRecord(p.Record)}
}

// ConflictDetails tell why a booking cannot have its time.
type ConflictDetails struct {
	RequestedTime  string   `json:"requested_time,omitempty"` // absent if it is not known
	AgentID        idOrAny  `json:"agent_id"`
	BookingID      *int64   `json:"conflicting_booking_id"`
	AvailableSlots []string `json:"available_slots"` // of the same day
}

// Conflict is a conflict as clients see it.
func Conflict(c domain.SlotConflict) ConflictDetails {
	details := ConflictDetails{
		AgentID:        idOrAny(c.AgentID),
		AvailableSlots: each(c.Free, func(start availability.Minutes) string { return clock(&start) }),
	}
	if c.Start != (availability.Moment{}) {
		details.RequestedTime = fmt.Sprintf("%s %s", c.Start.Day, clock(&c.Start.Minutes))
	}
	if c.BookingID != 0 {
		details.BookingID = &c.BookingID
	}
	return details
}
