package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// Rejection is the response to an invalid body: its status and the fields that it names.
type Rejection struct {
	status int
	Fields []string
}

// Check fails the test unless the answer is this one.
func (r Rejection) Check(t testing.TB, where string, a Answer) {
	t.Helper()
	code := map[int]string{http.StatusBadRequest: "invalid_request", http.StatusUnprocessableEntity: "validation_failed"}[r.status]
	WantInvalid(t, where, a, r.status, code, r.Fields...)
}

// WantInvalid checks for an error with a status and a code that says what is wrong with exactly these fields.
func WantInvalid(t testing.TB, where string, a Answer, status int, code string, fields ...string) {
	t.Helper()
	var body struct {
		Status string
		Error  struct {
			Code, Message string
			Details       map[string]string
		}
	}
	err := json.Unmarshal(a.Body, &body)
	if err != nil || a.Status != status || body.Status != "error" || body.Error.Code != code || body.Error.Message == "" {
		t.Errorf("%s: want %d %s: %d %.500s", where, status, code, a.Status, a.Body)
	}
	WantDetails(t, where, fields, body.Error.Details)
}

// WantDetails fails the test unless details have a message for exactly these fields.
func WantDetails(t testing.TB, where string, fields []string, details map[string]string) {
	t.Helper()
	expect.Equal(t, slices.Sorted(slices.Values(fields)), slices.Sorted(maps.Keys(details)), fmt.Sprintf("%s: fields", where))
	for field, message := range details {
		if message == "" {
			t.Errorf("%s: no message for %s", where, field)
		}
	}
}

// BadRequest rejects fields that cannot be read.
func BadRequest(fields ...string) Rejection { return Rejection{http.StatusBadRequest, fields} }

// Unprocessable rejects fields whose values are not allowed.
func Unprocessable(fields ...string) Rejection {
	return Rejection{http.StatusUnprocessableEntity, fields}
}
