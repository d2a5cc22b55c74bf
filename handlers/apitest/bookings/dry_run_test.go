package bookings_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestDryRunOfANewBooking: a dry run returns the same as the request itself then does, except for what does
// not exist yet, and leaves nothing behind: no row, no response under its Idempotency-Key, and no gap in
// the ids.
func TestDryRunOfANewBooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	last := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-19"`, "customer_id", "", "customer", apitest.NewCustomer)).Want(http.StatusCreated)
	customer := apitest.IDNumber(t, last.At("data", "customer", "id"))
	ids := map[string][]any{"booking": {"data", "id"}, "order": {"data", "order", "id"}}
	newcomer := `{"first_name":" Rosa ","last_name":"O'Neu","email":"rosa@example.test","phone":"+49 30 1234"}`
	for i, c := range []struct{ name, body string }{
		{"an existing customer", apitest.Friday("notes", `"Second floor,\nplease"`)},
		{"a new customer, any agent, another duration and price", apitest.Friday("start_time", `"13:00"`, "customer_id", "", "customer", newcomer,
			"agent_id", `"any"`, "location_id", "", "duration", `90`, "status", `"pending"`, "price", `"42.50"`)},
		{"a customer who is found by e-mail", apitest.Friday("start_time", `"15:00"`, "customer_id", "", "customer", newcomer)},
		{"without a message", apitest.Friday("start_date", `"2027-02-12"`, "send_confirmation", `false`)},
	} {
		key := fmt.Sprint("dry-", i)
		before := s.Database.Snapshot(t)
		dry := s.Write(http.MethodPost, "/bookings?dry_run=true", c.body, "Idempotency-Key", key).Want(http.StatusOK)
		apitest.WantNoWrites(t, c.name, before)
		expect.Equal(t, false, dry.At("confirmation_sent"), fmt.Sprintf("%s: a message was sent: %s", c.name, dry.Body))
		done := s.Write(http.MethodPost, "/bookings", c.body, "Idempotency-Key", key).Want(http.StatusCreated)
		expect.Equal(t, "", done.Header.Get("Idempotent-Replayed"), fmt.Sprintf("%s: the dry run was kept", c.name))
		wantSameButNew(t, c.name, dry, done)
		for name, path := range ids {
			if before, id := apitest.IDNumber(t, last.At(path...)), apitest.IDNumber(t, done.At(path...)); id != before+1 {
				t.Errorf("%s: the %s after %d is %d", c.name, name, before, id)
			}
		}
		last = done
		if id := apitest.IDNumber(t, done.At("data", "customer", "id")); id != 9 && id != customer+1 {
			t.Errorf("%s: the customer after %d is %d", c.name, customer, id)
		}
	}
}

// wantSameButNew fails the test unless a dry run has the same record as the subsequent real request, except
// for ids and codes of new records.
func wantSameButNew(t testing.TB, where string, dry, done apitest.Answer) {
	t.Helper()
	isNew := map[string]string{"id": "0", "booking_code": "", "confirmation_code": "", "customer_id": "0"}
	var diff func(path string, a, b any)
	diff = func(path string, a, b any) {
		fields, ok := b.(map[string]any)
		if !ok {
			expect.Equal(t, b, a, fmt.Sprintf("%s: %s differs", where, path))
			return
		}
		drawn, _ := a.(map[string]any)
		expect.Equal(t, len(fields), len(drawn), fmt.Sprintf("%s: %s has members", where, path))
		for name, value := range fields {
			if fresh, ok := isNew[name]; ok && fmt.Sprint(drawn[name]) == fresh {
				continue
			}
			diff(path+"."+name, drawn[name], value)
		}
	}
	diff("data", dry.At("data"), done.At("data"))
}
