package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestDryRunOfAChange: a dry run of a change returns the same as the change itself, and leaves nothing
// behind.
func TestDryRunOfAChange(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)).Want(http.StatusCreated).At("data", "id"))
	for name, body := range map[string]string{
		"another time":    `{"start_date":"2027-02-12","start_time":"13:00","send_notification":true}`,
		"another status":  `{"status":"cancelled"}`,
		"the customer":    `{"customer":{"first_name":"Rosa","phone":"+49 30 5"}}`,
		"price and notes": `{"price":"12.50","notes":"Third floor"}`,
		"nothing":         `{}`,
	} {
		before := s.Database.Snapshot(t)
		dry := s.Write(http.MethodPut, "/bookings/"+id+"?dry_run=1", body, "Idempotency-Key", "x", "If-Match", "*").Want(http.StatusOK)
		apitest.WantNoWrites(t, name, before)
		done := s.Write(http.MethodPut, "/bookings/"+id, body).Want(http.StatusOK)
		expect.Equal(t, done.At("data"), dry.At("data"), name)
	}
}

// TestQueryAndBodyDisagreeOnDryRun: nothing is written if either of them requests a dry run. For other
// fields, the body's value counts.
func TestQueryAndBodyDisagreeOnDryRun(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`)).Want(http.StatusCreated).At("data", "id"))
	before := s.Database.Snapshot(t)
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
		made := s.Write(http.MethodPost, "/bookings?notes=query&dry_run="+c.query, apitest.Friday("notes", `"body"`, "dry_run", c.body)).Want(c.status)
		changed := s.Write(http.MethodPut, "/bookings/"+id+"?notes=query&dry_run="+c.query, `{"notes":"body","dry_run":`+c.body+`}`).Want(c.status)
		for _, a := range []apitest.Answer{made, changed} {
			if c.status == http.StatusOK && a.At("data", "notes") != "body" {
				t.Errorf("%s: %s", where, a.Body)
			}
		}
		apitest.WantNoWrites(t, where, before)
	}
	s.Write(http.MethodPost, "/bookings?dry_run=false", apitest.Friday("dry_run", `false`)).Want(http.StatusCreated)
	s.Write(http.MethodPut, "/bookings/"+id+"?dry_run=0", `{"notes":"body","dry_run":"no"}`).Want(http.StatusOK)
	expect.Equal(t, 2, s.Count("latepoint_bookings", "id > 2000 AND start_date = '2027-02-05'"), "bookings")
}

// TestDryRunsAreRejectedLikeWrites: whatever rejects a write rejects its dry run.
func TestDryRunsAreRejectedLikeWrites(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	other := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`)).Want(http.StatusCreated).At("data", "id"))
	reader := s.NewKey("read_bookings")
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		method, path, body string
		key                string
		headers            []string
		status             int
	}{
		"an occupied start":       {http.MethodPost, "/bookings", apitest.Friday(), s.Key, nil, http.StatusConflict},
		"an unknown service":      {http.MethodPost, "/bookings", apitest.Friday("service_id", `999`), s.Key, nil, http.StatusBadRequest},
		"an unreadable dry_run":   {http.MethodPost, "/bookings", apitest.Friday("dry_run", `"maybe"`), s.Key, nil, http.StatusBadRequest},
		"no permission":           {http.MethodPost, "/bookings", apitest.Friday("start_time", `"15:00"`), reader, nil, http.StatusForbidden},
		"a move onto a booking":   {http.MethodPut, "/bookings/" + other, `{"start_time":"10:00"}`, s.Key, nil, http.StatusConflict},
		"a transition":            {http.MethodPut, "/bookings/" + id, `{"status":"unheard-of"}`, s.Key, nil, http.StatusUnprocessableEntity},
		"a record that has moved": {http.MethodPut, "/bookings/" + id, `{"notes":"x"}`, s.Key, []string{"If-Match", `"stale"`}, http.StatusPreconditionFailed},
	} {
		s.Key = c.key
		dry := s.Write(c.method, c.path+"?dry_run=true", c.body, c.headers...).Want(c.status)
		done := s.Write(c.method, c.path, c.body, c.headers...).Want(c.status)
		if !bytes.Equal(dry.Body, done.Body) {
			t.Errorf("%s: dry run: %s\nwrite:   %s", name, dry.Body, done.Body)
		}
	}
	apitest.WantNoWrites(t, "dry runs", before, "bookside_api_keys")
}

// TestNoDryRunIsCarriedOut: a route without dry runs writes nothing when one is requested.
func TestNoDryRunIsCarriedOut(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-12"`)).Want(http.StatusCreated).At("data", "id"))
	before := s.Database.Snapshot(t)
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/bookings/bulk", `{"bookings":[` + apitest.Friday() + `],"dry_run":true}`},
		{http.MethodPost, "/bookings/bulk", `[` + apitest.Friday("dry_run", `"yes"`) + `]`},
		{http.MethodPost, "/holds", apitest.HoldBody("dry_run", `true`)},
		{http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","dry_run":"maybe"}`},
		{http.MethodDelete, "/bookings/" + id + "?force=true&dry_run=true", ""},
		{http.MethodDelete, "/bookings/" + id + "?force=true&dry_run", ""},
		{http.MethodPut, "/bookings/" + id + "?dry_run=", `{"notes":"x"}`},
	} {
		apitest.WantContains(t, "dry_run", string(s.Write(c.method, c.path, c.body).Want(http.StatusBadRequest).Body), "%s %s", c.method, c.path)
	}
	apitest.WantNoWrites(t, "dry runs", before, "bookside_api_keys")
	s.Write(http.MethodPost, "/bookings/bulk?dry_run=false", `[`+apitest.Friday("dry_run", `0`)+`]`).Want(http.StatusCreated)
	s.Write(http.MethodDelete, "/bookings/"+id+"?force=true&dry_run=0", "").Want(http.StatusOK)
}

// TestRefusedBodiesWriteNothing: every write reads its body, and does nothing if that asks for a dry run which the route
// does not have, or is not valid.
func TestRefusedBodiesWriteNothing(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	booking := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("status", `"pending"`)).Want(http.StatusCreated).At("data", "id"))
	webhook := fmt.Sprint(s.Write(http.MethodPost, "/webhooks", `{"url":"https://example.com/hooks","events":["booking.*"]}`).Want(http.StatusCreated).At("data", "id"))
	before := s.Database.Snapshot(t)
	const form = "application/x-www-form-urlencoded"
	for _, r := range handlers.Routes() {
		if r.Method == http.MethodGet {
			continue
		}
		path := strings.NewReplacer("/bookings/:id", "/bookings/"+booking, "/webhooks/:id", "/webhooks/"+webhook, ":id", "1", ":invoice_id", "1", ":code", "WELCOME10").Replace(r.Path)
		answers := map[string]apitest.Answer{
			"broken":     s.Write(r.Method, path, `{broken`),
			"a word":     s.Write(r.Method, path, `true`),
			"overridden": s.Write(http.MethodPost, path, `{broken`, "X-HTTP-Method-Override", r.Method),
		}
		if r.DryRun == "" {
			answers["dry_run"] = s.Write(r.Method, path, `{"dry_run":true}`)
			answers["dry_run in a form"] = s.WriteAs(r.Method, path, form, `dry_run=1`)
			answers["dry_run, overridden"] = s.WriteAs(http.MethodPost, path+"?_method="+r.Method, form, `dry_run=yes`)
		}
		for name, a := range answers {
			expect.Equal(t, http.StatusBadRequest, a.Status, fmt.Sprintf("%s %s, %s: status: %s", r.Method, path, name, a.Body))
		}
	}
	apitest.WantNoWrites(t, "refused", before, "bookside_api_keys")
}

// TestForceInTheBody: force counts in the body of a DELETE as in its query.
func TestForceInTheBody(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	for i, c := range []struct {
		query, typ, body string
		status           int
	}{
		{"", apitest.JSONType, ``, http.StatusBadRequest},
		{"", apitest.JSONType, `{"force":false}`, http.StatusBadRequest},
		{"", apitest.JSONType, `{"force":"maybe"}`, http.StatusBadRequest},
		{"?force=maybe", apitest.JSONType, ``, http.StatusBadRequest},
		{"", apitest.JSONType, `{"force":true}`, http.StatusOK},
		{"", "application/x-www-form-urlencoded", `force=1`, http.StatusOK},
		{"?force=true", apitest.JSONType, `{}`, http.StatusOK},
	} {
		id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", fmt.Sprintf(`"2027-02-%02d"`, 5+i%4*7), "start_time", fmt.Sprintf(`"%d:00"`, 10+i/4*3), "status", `"approved"`)).Want(http.StatusCreated).At("data", "id"))
		s.WriteAs(http.MethodDelete, "/bookings/"+id+c.query, c.typ, c.body).Want(c.status)
	}
}

// TestDryRunsAreForReaders: a dry run needs the permission to read what the route writes, so that the permission
// to write is none to read without a trace.
func TestDryRunsAreForReaders(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Key = s.NewKey("write", "delete")
	s.Get("/status").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
	routes := 0
	for _, r := range handlers.Routes() {
		if r.DryRun == "" {
			continue
		}
		routes++
		path := strings.ReplaceAll(r.Path, ":id", "7")
		for _, a := range []apitest.Answer{s.Write(r.Method, path+"?dry_run=true", `{}`), s.Write(r.Method, path, `{"dry_run":1}`)} {
			apitest.WantCode(t, a, http.StatusForbidden, "insufficient_permissions")
			expect.Equal[any](t, r.DryRun, a.At("error", "details", "required_permission"), fmt.Sprintf("%s %s: the permission needed", r.Method, r.Path))
		}
	}
	if routes < 7 {
		t.Errorf("only %d routes have dry runs", routes)
	}
	apitest.WantNoWrites(t, "refused", before)
}

// TestUnchangedRecordsAreForReaders: a write that changes nothing answers a key that may not read the record
// with the id and what it sent. One that changes something shows the record, and leaves a trace.
func TestUnchangedRecordsAreForReaders(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-12"`, "notes", `"zzqq"`)).Want(http.StatusCreated).At("data", "id"))
	order := fmt.Sprint(s.Get("/bookings/"+id).At("data", "order", "id"))
	payment := fmt.Sprint(s.Write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":1,"notes":"zzqq"}`).Want(http.StatusCreated).At("data", "id"))
	invoice := fmt.Sprint(apitest.Scalar[int64](t, s, "SELECT MIN(id) FROM wp_latepoint_order_invoices WHERE order_id = "+order))
	all := s.Key
	s.Key, s.Blind = s.NewKey("write"), true
	s.Get("/status").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
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
		a := s.Write(w.method, w.path, w.body).Want(http.StatusOK)
		expect.Equal(t, w.want, string(a.Body), fmt.Sprintf("%s %s %s: %s", w.method, w.path, w.body, a.Body))
	}
	apitest.WantNoWrites(t, "not written", before)
	for _, key := range []string{s.Key, all} {
		s.Key = key
		expect.Equal(t, "2027-02-12", s.Write(http.MethodPut, "/bookings/"+id, fmt.Sprintf(`{"notes":"changed with %s"}`, key)).Want(http.StatusOK).At("data", "start_date"), fmt.Sprintf("start_date with %s", key))
	}
	expect.Equal(t, "2027-02-12", s.Write(http.MethodPut, "/bookings/"+id, `{}`).Want(http.StatusOK).At("data", "start_date"), "start_date")
}

// TestConflictsAreForReaders: only a key that may read bookings is told which booking is in the way.
func TestConflictsAreForReaders(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	for permissions, want := range map[string]string{"write_bookings": "<nil>", "write_bookings read_bookings": id} {
		s.Key = s.NewKey(strings.Fields(permissions)...)
		a := s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusConflict)
		expect.Equal(t, want, fmt.Sprint(a.At("error", "details", "conflicting_booking_id")), fmt.Sprintf("with %s", permissions))
	}
}
