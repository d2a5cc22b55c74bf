package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// TestDryRunOfANewBooking: a dry run returns the same as the request itself then does, except for what does
// not exist yet, and leaves nothing behind: no row, no response under its Idempotency-Key, and no gap in
// the ids.
func TestDryRunOfANewBooking(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
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

// idNumber returns the id of a record as a number.
func idNumber(t testing.TB, id any) int {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(id))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wantSameButNew fails the test unless a dry run has the same record as the subsequent real request, except
// for ids and codes of new records.
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

// TestDryRunOfAChange: a dry run of a change returns the same as the change itself, and leaves nothing
// behind.
func TestDryRunOfAChange(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
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

// TestQueryAndBodyDisagreeOnDryRun: nothing is written if either of them requests a dry run. For other
// fields, the body's value counts.
func TestQueryAndBodyDisagreeOnDryRun(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
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
	s.database.Execute(t, fillLocks)
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

// TestNoDryRunIsCarriedOut: a route without dry runs writes nothing when one is requested.
func TestNoDryRunIsCarriedOut(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
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

// TestWhatIsNotWrittenShowsNothing: with only permissions to write, neither a dry run nor a write that
// changes nothing shows stored data about people. What the key sent itself is shown, and so is everything
// in a write that changes something.
func TestWhatIsNotWrittenShowsNothing(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-12"`, "notes", `"zzqq"`)).want(http.StatusCreated).at("data", "id"))
	order := fmt.Sprint(s.get("/bookings/"+id).at("data", "order", "id"))
	payment := fmt.Sprint(s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":1,"notes":"zzqq"}`).want(http.StatusCreated).at("data", "id"))
	invoice := scalar[int64](t, s, "SELECT MIN(id) FROM wp_latepoint_order_invoices WHERE order_id = "+order)
	s.database.Execute(t,
		"UPDATE wp_latepoint_customers SET first_name = 'Zzqq', last_name = 'Zzqq', email = CONCAT('zzqq', id, '@example.test'), phone = CONCAT('+4930777', id), notes = 'zzqq', admin_notes = 'zzqq'",
		"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'address', 'zzqq'), (9, 'cf_zz', 'zzqq')",
		"UPDATE wp_latepoint_agents SET email = 'zzqq@example.test', phone = '+4930777', first_name = 'Zzqq'",
		"UPDATE wp_latepoint_orders SET customer_comment = 'zzqq', ip_address = 'zzqq', source_url = 'zzqq', source_id = 'zzqq'",
		`UPDATE wp_latepoint_order_invoices SET data = '{"to":"zzqq"}'`,
		"UPDATE wp_latepoint_services SET name = 'zzqq', short_description = 'zzqq'",
		"UPDATE wp_latepoint_locations SET name = 'zzqq', full_address = 'zzqq'",
		"UPDATE wp_latepoint_coupons SET name = 'zzqq'")
	all := s.key
	s.key = s.newKey("write_bookings", "write_customers", "write_orders", "write_payments", "write_services", "write_coupons")
	s.get("/status").want(http.StatusOK)
	hidden := func(a answer) bool {
		text := strings.ToLower(string(a.body))
		return !strings.Contains(text, "zzqq") && !strings.Contains(text, "4930777")
	}
	known := `{"first_name":"Guess","last_name":"Who","email":"zzqq9@example.test","phone":"+49 30 5550"}`
	before := s.database.Snapshot(t)
	for _, w := range []struct {
		method, path, body string
		shows              []any // a path in the response, and its value
	}{
		{http.MethodPost, "/bookings?dry_run=true", friday(), []any{"data", "customer", "id", 9}},
		{http.MethodPost, "/bookings?dry_run=true", friday("customer", `{"first_name":"Zzqq","last_name":"Zzqq","email":"zzqq9@example.test","phone":"+49307779"}`), []any{"data", "start_time", "10:00"}},
		{http.MethodPut, "/bookings/" + id, `{}`, []any{"data", "start_date", "2027-02-12"}},
		{http.MethodPut, "/bookings/" + id, `{"full_name":"Zzqq Zzqq"}`, []any{"data", "id", id}},
		{http.MethodPut, "/bookings/" + id + "?dry_run=true", `{}`, []any{"data", "order", "id", order}},
		{http.MethodPut, "/bookings/" + id + "?dry_run=true", `{"start_time":"13:00"}`, []any{"data", "start_time", "13:00"}},
		{http.MethodPut, "/customers/9", `{}`, []any{"data", "id", 9}},
		{http.MethodPut, "/customers/9", `{"a":{"phone":"+49307779"},"b":{"first_name":"Zzqq","customer":{"email":"zzqq9@example.test"}},"customer":{"phone":"+49307779"}}`, []any{"data", "id", 9}},
		{http.MethodPut, "/bookings/" + id + "?dry_run=true&a[phone]=%2B49307779&b.email=zzqq9@example.test&a[customer][first_name]=Zzqq", `{"a":{"phone":"+49307779"}}`, []any{"data", "id", id}},
		{http.MethodPut, "/orders/" + order, `{}`, []any{"id", order}},
		{http.MethodPut, "/orders/" + order, `{"a":{"customer_comment":"zzqq","source_url":"zzqq"}}`, []any{"id", order}},
		{http.MethodPut, "/payments/" + payment, `{}`, []any{"data", "amount", "1"}},
		{http.MethodPut, "/services/4", `{}`, []any{"data", "id", 4}},
		{http.MethodPut, "/coupons/WELCOME10", `{}`, []any{"data", "code", "WELCOME10"}},
		{http.MethodPut, fmt.Sprintf("/orders/%s/invoices/%d", order, invoice), `{}`, []any{"data", "id", invoice}},
	} {
		a := s.write(w.method, w.path, w.body).want(http.StatusOK)
		if !hidden(a) {
			t.Errorf("%s %s %s: %s", w.method, w.path, w.body, a.body)
		}
		if last := len(w.shows) - 1; fmt.Sprint(a.at(w.shows[:last]...)) != fmt.Sprint(w.shows[last]) {
			t.Errorf("%s %s %s: %v is %v: %s", w.method, w.path, w.body, w.shows[:last], a.at(w.shows[:last]...), a.body)
		}
	}
	// What was sent is shown as it was sent.
	dry := s.write(http.MethodPost, "/bookings?dry_run=true", friday("customer_id", "", "customer", known, "notes", `"Second floor"`)).want(http.StatusOK)
	for name, want := range map[string]any{"first_name": "Guess", "full_name": "Guess Who", "email": "zzqq9@example.test", "phone": "+49305550"} {
		if got := dry.at("data", "customer", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if dry.at("data", "notes") != "Second floor" || dry.at("data", "customer_comment") != "Second floor" || strings.Contains(string(dry.body), "4930777") || strings.Contains(string(dry.body), "Zzqq") {
		t.Errorf("%s", dry.body)
	}
	dry = s.write(http.MethodPut, "/bookings/"+id+"?dry_run=true", `{"customer":{"phone":"+49 30 6"},"notes":"Third floor"}`).want(http.StatusOK)
	if dry.at("data", "customer", "phone") != "+49306" || dry.at("data", "notes") != "Third floor" || !hidden(dry) {
		t.Errorf("%s", dry.body)
	}
	wantNoWrites(t, "not written", before)
	// A write that changes something shows the record, and leaves a trace.
	if a := s.write(http.MethodPut, "/bookings/"+id, `{"start_time":"13:00"}`).want(http.StatusOK); hidden(a) {
		t.Errorf("%s", a.body)
	}
	// A key that may read sees everything.
	s.key = all
	if a := s.write(http.MethodPut, "/customers/9", `{}`).want(http.StatusOK); hidden(a) {
		t.Errorf("%s", a.body)
	}
}

// TestConflictsAreForReaders: only a key that may read bookings is told which booking is in the way.
func TestConflictsAreForReaders(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	for permissions, want := range map[string]string{"write_bookings": "<nil>", "write_bookings read_bookings": id} {
		s.key = s.newKey(strings.Fields(permissions)...)
		for _, path := range []string{"/bookings", "/bookings?dry_run=1"} {
			a := s.write(http.MethodPost, path, friday()).want(http.StatusConflict)
			if got := fmt.Sprint(a.at("error", "details", "conflicting_booking_id")); got != want {
				t.Errorf("%s with %s: %s, want %s", path, permissions, got, want)
			}
		}
	}
}
