package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

// TestDryRunOfANewBooking: a dry run returns the same as the request itself then does, except for what does
// not exist yet, and leaves nothing behind: no row, no response under its Idempotency-Key, and no gap in
// the ids.
func TestDryRunOfANewBooking(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
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
		expect.Equal(t, false, dry.at("confirmation_sent"), fmt.Sprintf("%s: a message was sent: %s", c.name, dry.body))
		done := s.write(http.MethodPost, "/bookings", c.body, "Idempotency-Key", key).want(http.StatusCreated)
		expect.Equal(t, "", done.header.Get("Idempotent-Replayed"), fmt.Sprintf("%s: the dry run was kept", c.name))
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
	expect.NoError(t, err)
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
	diff("data", dry.at("data"), done.at("data"))
}

// TestDryRunOfAChange: a dry run of a change returns the same as the change itself, and leaves nothing
// behind.
func TestDryRunOfAChange(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
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
		expect.Equal(t, done.at("data"), dry.at("data"), name)
	}
}

// TestQueryAndBodyDisagreeOnDryRun: nothing is written if either of them requests a dry run. For other
// fields, the body's value counts.
func TestQueryAndBodyDisagreeOnDryRun(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`)).want(http.StatusCreated).at("data", "id"))
	before := s.database.Snapshot(t)
	for _, c := range []struct {
		query, body string
		status      int
	}{
		{"true", `false`, http.StatusOK},
		{"false", `true`, http.StatusOK},
		{"", `true`, http.StatusBadRequest},
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
	expect.Equal(t, 2, s.count("latepoint_bookings", "id > 2000 AND start_date = '2027-02-05'"), "bookings")
}

// TestDryRunsAreRejectedLikeWrites: whatever rejects a write rejects its dry run.
func TestDryRunsAreRejectedLikeWrites(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
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
		"an unreadable dry_run":   {http.MethodPost, "/bookings", friday("dry_run", `"maybe"`), s.key, nil, http.StatusBadRequest},
		"no permission":           {http.MethodPost, "/bookings", friday("start_time", `"15:00"`), reader, nil, http.StatusForbidden},
		"a move onto a booking":   {http.MethodPut, "/bookings/" + other, `{"start_time":"10:00"}`, s.key, nil, http.StatusConflict},
		"a transition":            {http.MethodPut, "/bookings/" + id, `{"status":"unheard-of"}`, s.key, nil, http.StatusUnprocessableEntity},
		"a record that has moved": {http.MethodPut, "/bookings/" + id, `{"notes":"x"}`, s.key, []string{"If-Match", `"stale"`}, http.StatusPreconditionFailed},
	} {
		s.key = c.key
		dry := s.write(c.method, c.path+"?dry_run=true", c.body, c.headers...).want(c.status)
		done := s.write(c.method, c.path, c.body, c.headers...).want(c.status)
		if !bytes.Equal(dry.body, done.body) {
			t.Errorf("%s: dry run: %s\nwrite:   %s", name, dry.body, done.body)
		}
	}
	wantNoWrites(t, "dry runs", before, "bookside_api_keys")
}

// TestNoDryRunIsCarriedOut: a route without dry runs writes nothing when one is requested.
func TestNoDryRunIsCarriedOut(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-12"`)).want(http.StatusCreated).at("data", "id"))
	before := s.database.Snapshot(t)
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/bookings/bulk", `{"bookings":[` + friday() + `],"dry_run":true}`},
		{http.MethodPost, "/bookings/bulk", `[` + friday("dry_run", `"yes"`) + `]`},
		{http.MethodPost, "/holds", holdBody("dry_run", `true`)},
		{http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","dry_run":"maybe"}`},
		{http.MethodDelete, "/bookings/" + id + "?force=true&dry_run=true", ""},
		{http.MethodDelete, "/bookings/" + id + "?force=true&dry_run", ""},
		{http.MethodPut, "/bookings/" + id + "?dry_run=", `{"notes":"x"}`},
	} {
		wantContains(t, "dry_run", string(s.write(c.method, c.path, c.body).want(http.StatusBadRequest).body), "%s %s", c.method, c.path)
	}
	wantNoWrites(t, "dry runs", before, "bookside_api_keys")
	s.write(http.MethodPost, "/bookings/bulk?dry_run=false", `[`+friday("dry_run", `0`)+`]`).want(http.StatusCreated)
	s.write(http.MethodDelete, "/bookings/"+id+"?force=true&dry_run=0", "").want(http.StatusOK)
}

// TestRefusedBodiesWriteNothing: every write reads its body, and does nothing if that asks for a dry run which the route
// does not have, or is not valid.
func TestRefusedBodiesWriteNothing(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, fillLocks)
	booking := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("status", `"pending"`)).want(http.StatusCreated).at("data", "id"))
	webhook := fmt.Sprint(s.write(http.MethodPost, "/webhooks", `{"url":"https://example.com/hooks","events":["booking.*"]}`).want(http.StatusCreated).at("data", "id"))
	before := s.database.Snapshot(t)
	const form = "application/x-www-form-urlencoded"
	for _, r := range handlers.Routes() {
		if r.Method == http.MethodGet {
			continue
		}
		path := strings.NewReplacer("/bookings/:id", "/bookings/"+booking, "/webhooks/:id", "/webhooks/"+webhook, ":id", "1", ":invoice_id", "1", ":code", "WELCOME10").Replace(r.Path)
		answers := map[string]answer{
			"broken":     s.write(r.Method, path, `{broken`),
			"a word":     s.write(r.Method, path, `true`),
			"overridden": s.write(http.MethodPost, path, `{broken`, "X-HTTP-Method-Override", r.Method),
		}
		if r.DryRun == "" {
			answers["dry_run"] = s.write(r.Method, path, `{"dry_run":true}`)
			answers["dry_run in a form"] = s.writeAs(r.Method, path, form, `dry_run=1`)
			answers["dry_run, overridden"] = s.writeAs(http.MethodPost, path+"?_method="+r.Method, form, `dry_run=yes`)
		}
		for name, a := range answers {
			expect.Equal(t, http.StatusBadRequest, a.status, fmt.Sprintf("%s %s, %s: status: %s", r.Method, path, name, a.body))
		}
	}
	wantNoWrites(t, "refused", before, "bookside_api_keys")
}

// TestForceInTheBody: force counts in the body of a DELETE as in its query.
func TestForceInTheBody(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	for i, c := range []struct {
		query, typ, body string
		status           int
	}{
		{"", jsonType, ``, http.StatusBadRequest},
		{"", jsonType, `{"force":false}`, http.StatusBadRequest},
		{"", jsonType, `{"force":"maybe"}`, http.StatusBadRequest},
		{"?force=maybe", jsonType, ``, http.StatusBadRequest},
		{"", jsonType, `{"force":true}`, http.StatusOK},
		{"", "application/x-www-form-urlencoded", `force=1`, http.StatusOK},
		{"?force=true", jsonType, `{}`, http.StatusOK},
	} {
		id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_date", fmt.Sprintf(`"2027-02-%02d"`, 5+i%4*7), "start_time", fmt.Sprintf(`"%d:00"`, 10+i/4*3), "status", `"approved"`)).want(http.StatusCreated).at("data", "id"))
		s.writeAs(http.MethodDelete, "/bookings/"+id+c.query, c.typ, c.body).want(c.status)
	}
}

// TestDryRunsAreForReaders: a dry run needs the permission to read what the route writes, so that the permission
// to write is none to read without a trace.
func TestDryRunsAreForReaders(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.key = s.newKey("write", "delete")
	s.get("/status").want(http.StatusOK)
	before := s.database.Snapshot(t)
	routes := 0
	for _, r := range handlers.Routes() {
		if r.DryRun == "" {
			continue
		}
		routes++
		path := strings.ReplaceAll(r.Path, ":id", "7")
		for _, a := range []answer{s.write(r.Method, path+"?dry_run=true", `{}`), s.write(r.Method, path, `{"dry_run":1}`)} {
			wantCode(t, a, http.StatusForbidden, "insufficient_permissions")
			expect.Equal[any](t, r.DryRun, a.at("error", "details", "required_permission"), fmt.Sprintf("%s %s: the permission needed", r.Method, r.Path))
		}
	}
	if routes < 7 {
		t.Errorf("only %d routes have dry runs", routes)
	}
	wantNoWrites(t, "refused", before)
}

// TestUnchangedRecordsAreForReaders: a write that changes nothing answers a key that may not read the record
// with the id and what it sent. One that changes something shows the record, and leaves a trace.
func TestUnchangedRecordsAreForReaders(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, fillLocks)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-12"`, "notes", `"zzqq"`)).want(http.StatusCreated).at("data", "id"))
	order := fmt.Sprint(s.get("/bookings/"+id).at("data", "order", "id"))
	payment := fmt.Sprint(s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":1,"notes":"zzqq"}`).want(http.StatusCreated).at("data", "id"))
	invoice := fmt.Sprint(scalar[int64](t, s, "SELECT MIN(id) FROM wp_latepoint_order_invoices WHERE order_id = "+order))
	all := s.key
	s.key, s.blind = s.newKey("write"), true
	s.get("/status").want(http.StatusOK)
	before := s.database.Snapshot(t)
	for _, w := range []struct{ method, path, body, want string }{
		{http.MethodPut, "/bookings/" + id, `{}`, `{"status":"success","data":{"id":` + id + `}}`},
		{http.MethodPut, "/bookings/" + id + "?notes=zzqq", `{"start_date":"2027-02-12","unknown":{"notes":1},"id":9}`, `{"status":"success","data":{"id":` + id + `,"notes":"zzqq","start_date":"2027-02-12"}}`},
		{http.MethodPost, "/bookings/" + id + "/approve", ``, `{"status":"success","data":{"id":` + id + `}}`},
		{http.MethodPut, "/customers/9", `{"stats":1}`, `{"success":true,"message":"Customer updated successfully","data":{"id":9}}`},
		{http.MethodPut, "/orders/" + order, `{"customer_comment":"zzqq"}`, `{"id":` + order + `,"customer_comment":"zzqq"}`},
		{http.MethodPut, "/payments/" + payment, `{"notes":"zzqq"}`, `{"success":true,"message":"Payment updated successfully","data":{"id":"` + payment + `","notes":"zzqq"}}`},
		{http.MethodPut, "/services/4", `{}`, `{"success":true,"message":"Service updated successfully","data":{"id":4}}`},
		{http.MethodPut, "/coupons/WELCOME10", `{}`, `{"success":true,"message":"Coupon updated successfully","data":{"id":"1"}}`},
		{http.MethodPut, "/orders/" + order + "/invoices/" + invoice, `{}`, `{"success":true,"status":"success","message":"Invoice updated successfully","data":{"id":"` + invoice + `"}}`},
		{http.MethodPut, "/business-hours", `{"hours":{}}`, `{"success":true,"status":"success","message":"Business hours updated","data":{"hours":{}}}`},
	} {
		a := s.write(w.method, w.path, w.body).want(http.StatusOK)
		expect.Equal(t, w.want, string(a.body), fmt.Sprintf("%s %s %s: %s", w.method, w.path, w.body, a.body))
	}
	wantNoWrites(t, "not written", before)
	for _, key := range []string{s.key, all} {
		s.key = key
		expect.Equal(t, "2027-02-12", s.write(http.MethodPut, "/bookings/"+id, fmt.Sprintf(`{"notes":"changed with %s"}`, key)).want(http.StatusOK).at("data", "start_date"), fmt.Sprintf("start_date with %s", key))
	}
	expect.Equal(t, "2027-02-12", s.write(http.MethodPut, "/bookings/"+id, `{}`).want(http.StatusOK).at("data", "start_date"), "start_date")
}

// TestConflictsAreForReaders: only a key that may read bookings is told which booking is in the way.
func TestConflictsAreForReaders(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	for permissions, want := range map[string]string{"write_bookings": "<nil>", "write_bookings read_bookings": id} {
		s.key = s.newKey(strings.Fields(permissions)...)
		a := s.write(http.MethodPost, "/bookings", friday()).want(http.StatusConflict)
		expect.Equal(t, want, fmt.Sprint(a.at("error", "details", "conflicting_booking_id")), fmt.Sprintf("with %s", permissions))
	}
}
