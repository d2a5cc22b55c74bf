package typed

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/bookside/bookside/compat"
)

// Error is the form of all errors.
type Error struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Data    ErrorData `json:"data"`
}

// ErrorData is what an error says besides its code and message.
type ErrorData struct {
	Status       int                       `json:"status"`
	Details      map[string]string         `json:"details,omitempty"`
	Permission   *compat.PermissionDetails `json:"permission,omitempty"`
	Conflict     *compat.ConflictDetails   `json:"conflict,omitempty"`
	TimeOff      *compat.TimeOffDetails    `json:"time_off,omitempty"`
	Present      *compat.PresentDetails    `json:"present,omitempty"`
	BookingCount int64                     `json:"booking_count,omitempty"`
	PaymentCount int64                     `json:"payment_count,omitempty"`
	RequestID    string                    `json:"request_id,omitempty"`
	Written      compat.WriteOutcome       `json:"written,omitzero"`
}

// idsOfErrors are the places of ids in errors.
var idsOfErrors = IDsIn(Error{})

// Encode returns a failure in this form as JSON. record has the places of ids in the record that the
// request changes.
func Encode(f compat.Failure, record *IDs) ([]byte, error) {
	data := ErrorData{Status: f.Status, BookingCount: f.Bookings, PaymentCount: f.Payments, RequestID: f.RequestID, Written: f.Written}
	switch details := f.Details.(type) {
	case map[string]string:
		data.Details = details
	case compat.PermissionDetails:
		data.Permission = &details
	case compat.ConflictDetails:
		data.Conflict = &details
	case compat.TimeOffDetails:
		data.TimeOff = &details
	case compat.PresentDetails:
		details.ETag = Tag(details.ETag)
		data.Present = &details
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(Error{f.Code, f.Message, data}); err != nil {
		return nil, fmt.Errorf("encode an error: %w", err)
	}
	ids := idsOfErrors
	if record != nil {
		ids = ids.merge(at(record, "data", "present", "record"))
	}
	return ids.Integers(bytes.TrimSpace(text.Bytes()))
}

// at returns places below a path of members.
func at(ids *IDs, path ...string) *IDs {
	for i := len(path) - 1; i >= 0; i-- {
		ids = &IDs{members: map[string]*IDs{path[i]: ids}}
	}
	return ids
}
