package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bookside/fixtures"
)

// TestDryRunOfANewBooking: a dry run answers as the request itself then does, apart from what
// does not exist yet, and leaves nothing behind: no row, no response under its
// Idempotency-Key, and no gap in the ids.
func TestDryRunOfANewBooking(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	arrange(t, s.database, fillLocks)
	last := s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-19"`, "customer_id", "", "customer", newCustomer)).want(http.StatusCreated)
	customer := idNumber(t, last.at("data", "customer", "id"))
	ids := map[string][]any{"booking": {"data", "id"}, "order": {"data", "order", "id"}}
	newcomer := `{"first_name":" Rosa ","last_name":"O'Neu","email":"rosa@example.test","phone":"+49 30 1234"}`
	for i, c := range []struct{ name, body string }{
		{"an existing customer", friday("notes", `"Second floor,\nplease"`)},
		{"a new customer, any agent, another duration and price", friday("start_time", `"13:00"`, "customer_id", "", "customer", newcomer,
			"agent_id", `"any"`, "location_id", "", "duration", `90`, "status", `"pending"`, "price", `"42.50"`)},
		{"a customer who is found by e-mail", friday("start_time", `"15:00"`, "customer_id", "", "customer", newcomer)},
		{"without a message", friday("start_date", `"2027-02-12"`, "send_confirmation", `false`)},
	} {
		key := fmt.Sprint("dry-", i)
		before := s.database.Snapshot(t)
		dry := s.write(http.MethodPost, "/bookings?dry_run=true", c.body, "Idempotency-Key", key).want(http.StatusOK)
		wantNoWrites(t, c.name, before)
		_, envelope := members(t, dry.body)
		checkBooking(t, c.name, bookingDetailShape, envelope["data"])
		if dry.at("confirmation_sent") != false {
			t.Errorf("%s: a message was sent: %s", c.name, dry.body)
		}
		done := s.write(http.MethodPost, "/bookings", c.body, "Idempotency-Key", key).want(http.StatusCreated)
		if done.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s: the dry run was kept", c.name)
		}
		wantSameButNew(t, c.name, dry, done)
		for name, path := range ids {
			if before, id := idNumber(t, last.at(path...)), idNumber(t, done.at(path...)); id != before+1 {
				t.Errorf("%s: the %s after %d is %d", c.name, name, before, id)
			}
		}
		last = done
		if id := idNumber(t, done.at("data", "customer", "id")); id != 9 && id != customer+1 {
			t.Errorf("%s: the customer after %d is %d", c.name, customer, id)
		}
	}
}

// idNumber returns an id of a record.
func idNumber(t testing.TB, id any) int {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(id))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wantSameButNew fails the test unless a dry run has the same record as the request that was
// then carried out, but for ids and codes of new records.
func wantSameButNew(t testing.TB, where string, dry, done answer) {
	t.Helper()
	isNew := map[string]string{"id": "0", "booking_code": "", "confirmation_code": "", "customer_id": "0"}
	var diff func(path string, a, b any)
	diff = func(path string, a, b any) {
		fields, ok := b.(map[string]any)
		if !ok {
			if d := cmp.Diff(b, a); d != "" {
				t.Errorf("%s: %s differs (-done +dry):\n%s", where, path, d)
			}
			return
		}
		drawn, _ := a.(map[string]any)
		if len(drawn) != len(fields) {
			t.Errorf("%s: %s has %d members, want %d", where, path, len(drawn), len(fields))
		}
		for name, value := range fields {
			if fresh, ok := isNew[name]; ok && fmt.Sprint(drawn[name]) == fresh {
				continue
			}
			diff(path+"."+name, drawn[name], value)
		}
	}
	diff("data", dry.at("data"), done.at("data"))
}

// TestDryRunOfAChange: a dry run of a change answers as the change itself, and leaves nothing
// behind.
func TestDryRunOfAChange(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	arrange(t, s.database, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)).want(http.StatusCreated).at("data", "id"))
	for name, body := range map[string]string{
		"another time":    `{"start_date":"2027-02-12","start_time":"13:00","send_notification":true}`,
		"another status":  `{"status":"cancelled"}`,
		"the customer":    `{"customer":{"first_name":"Rosa","phone":"+49 30 5"}}`,
		"price and notes": `{"price":"12.50","notes":"Third floor"}`,
		"nothing":         `{}`,
	} {
		before := s.database.Snapshot(t)
		dry := s.write(http.MethodPut, "/bookings/"+id+"?dry_run=1", body, "Idempotency-Key", "x", "If-Match", "*").want(http.StatusOK)
		wantNoWrites(t, name, before)
		done := s.write(http.MethodPut, "/bookings/"+id, body).want(http.StatusOK)
		if diff := cmp.Diff(done.at("data"), dry.at("data")); diff != "" {
			t.Errorf("%s: (-done +dry):\n%s", name, diff)
		}
	}
}

// TestQueryAndBodyDisagreeOnDryRun: nothing is written if either of them asks for a dry run.
// Of other fields, that of the body counts.
func TestQueryAndBodyDisagreeOnDryRun(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	arrange(t, s.database, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`)).want(http.StatusCreated).at("data", "id"))
	before := s.database.Snapshot(t)
	for _, c := range []struct {
		query, body string
		status      int
	}{
		{"true", `false`, http.StatusOK},
		{"1", `"no"`, http.StatusOK},
		{"yes", `null`, http.StatusOK},
		{"false", `true`, http.StatusOK},
		{"", `true`, http.StatusOK},
		{"true", `""`, http.StatusOK},
		{"maybe", `false`, http.StatusBadRequest},
		{"true", `"maybe"`, http.StatusBadRequest},
	} {
		where := fmt.Sprintf("query %q, body %s", c.query, c.body)
		made := s.write(http.MethodPost, "/bookings?notes=query&dry_run="+c.query, friday("notes", `"body"`, "dry_run", c.body)).want(c.status)
		changed := s.write(http.MethodPut, "/bookings/"+id+"?notes=query&dry_run="+c.query, `{"notes":"body","dry_run":`+c.body+`}`).want(c.status)
		for _, a := range []answer{made, changed} {
			if c.status == http.StatusOK && a.at("data", "notes") != "body" {
				t.Errorf("%s: %s", where, a.body)
			}
		}
		wantNoWrites(t, where, before)
	}
	s.write(http.MethodPost, "/bookings?dry_run=false", friday("dry_run", `false`)).want(http.StatusCreated)
	s.write(http.MethodPut, "/bookings/"+id+"?dry_run=0", `{"notes":"body","dry_run":"no"}`).want(http.StatusOK)
	if n := s.count("latepoint_bookings", "id > 2000 AND start_date = '2027-02-05'"); n != 2 {
		t.Errorf("%d bookings", n)
	}
}

// TestDryRunsAreRejectedLikeWrites: whatever rejects a write rejects its dry run.
func TestDryRunsAreRejectedLikeWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	arrange(t, s.database, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	other := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`)).want(http.StatusCreated).at("data", "id"))
	reader := s.newKey("read_bookings")
	before := s.database.Snapshot(t)
	for name, c := range map[string]struct {
		method, path, body string
		key                string
		headers            []string
		status             int
	}{
		"an occupied start":       {http.MethodPost, "/bookings", friday(), s.key, nil, http.StatusConflict},
		"an unknown service":      {http.MethodPost, "/bookings", friday("service_id", `999`), s.key, nil, http.StatusBadRequest},
		"the past":                {http.MethodPost, "/bookings", friday("start_date", `"2020-01-03"`), s.key, nil, http.StatusUnprocessableEntity},
		"an unreadable dry_run":   {http.MethodPost, "/bookings", friday("dry_run", `"maybe"`), s.key, nil, http.StatusBadRequest},
		"no permission":           {http.MethodPost, "/bookings", friday("start_time", `"15:00"`), reader, nil, http.StatusForbidden},
		"a move onto a booking":   {http.MethodPut, "/bookings/" + other, `{"start_time":"10:00"}`, s.key, nil, http.StatusConflict},
		"a move of nothing":       {http.MethodPut, "/bookings/999999", `{"start_time":"10:00"}`, s.key, nil, http.StatusNotFound},
		"a transition":            {http.MethodPut, "/bookings/" + id, `{"status":"unheard-of"}`, s.key, nil, http.StatusUnprocessableEntity},
		"a record that has moved": {http.MethodPut, "/bookings/" + id, `{"notes":"x"}`, s.key, []string{"If-Match", `"stale"`}, http.StatusPreconditionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			as := *s
			as.t, as.key = t, c.key
			dry := as.write(c.method, c.path+"?dry_run=true", c.body, c.headers...).want(c.status)
			done := as.write(c.method, c.path, c.body, c.headers...).want(c.status)
			if !bytes.Equal(dry.body, done.body) {
				t.Errorf("dry run: %s\nwrite:   %s", dry.body, done.body)
			}
		})
	}
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		if change.Table != "bookside_api_keys" {
			t.Errorf("%s of %s %s", change.Op, change.Table, change.Key)
		}
	}
}

// TestNoDryRunIsCarriedOut: where there are no dry runs, asking for one writes nothing.
func TestNoDryRunIsCarriedOut(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	arrange(t, s.database, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-12"`)).want(http.StatusCreated).at("data", "id"))
	before := s.database.Snapshot(t)
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/bookings/bulk", `{"bookings":[` + friday() + `],"dry_run":true}`},
		{http.MethodPost, "/bookings/bulk?dry_run=1", `[` + friday() + `]`},
		{http.MethodPost, "/bookings/bulk", `[` + friday("dry_run", `"yes"`) + `]`},
		{http.MethodPost, "/holds", holdBody("dry_run", `true`)},
		{http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","dry_run":"maybe"}`},
		{http.MethodPut, "/customers/9", `{"first_name":"A","dry_run":[true]}`},
		{http.MethodDelete, "/bookings/" + id + "?force=true&dry_run=true", ""},
	} {
		if a := s.write(c.method, c.path, c.body).want(http.StatusBadRequest); !strings.Contains(string(a.body), "dry_run") {
			t.Errorf("%s %s: %s", c.method, c.path, a.body)
		}
	}
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		if change.Table != "bookside_api_keys" {
			t.Errorf("%s of %s %s", change.Op, change.Table, change.Key)
		}
	}
	s.write(http.MethodPost, "/bookings/bulk?dry_run=false", `[`+friday("dry_run", `0`)+`]`).want(http.StatusCreated)
	s.write(http.MethodDelete, "/bookings/"+id+"?force=true&dry_run=0", "").want(http.StatusOK)
}
