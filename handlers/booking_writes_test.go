package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// newWriter serves its own site, with codes and keys that are always the same.
func newWriter(t testing.TB, site fixtures.Site, change ...func(*handlers.Options)) *server {
	t.Helper()
	s := newServer(t, fixtures.New(t, site), change...)
	s.platform.Random = sameRandom(0)
	s.platform.Pick = func(int) int { return 0 }
	s.get("/status").want(http.StatusOK) // records the use of the key
	return s
}

// random is a source of random bytes that requests may read at the same time.
type random struct {
	mu     sync.Mutex
	source *rand.ChaCha8
}

// sameRandom returns a source whose bytes depend only on the seed.
func sameRandom(seed byte) *random { return &random{source: rand.NewChaCha8([32]byte{seed})} }

// Read implements io.Reader.
func (r *random) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Read(b)
}

// write sends JSON with the server's key; headers are pairs of name and value.
func (s *server) write(method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.writeAs(method, path, jsonType, body, headers...)
}

func (s *server) writeAs(method, path, contentType, body string, headers ...string) answer {
	s.t.Helper()
	header := http.Header{"X-Api-Key": {s.key}}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		header.Add(headers[i], headers[i+1])
	}
	return s.send(method, "/v1"+path, header, body)
}

// wantNoWrites fails the test if any row differs from the snapshot.
func wantNoWrites(t testing.TB, where string, before *fixtures.Snapshot, except ...string) {
	t.Helper()
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		if !slices.Contains(except, change.Table) {
			t.Errorf("%s: %s of %s %s: %v %v", where, change.Op, change.Table, change.Key, change.Values, change.Changed)
		}
	}
}

// friday returns a booking that fits the recorded site. The pairs of name and value replace fields or add
// them; an empty value removes one.
func friday(fields ...string) string {
	booking := map[string]json.RawMessage{
		"service_id": json.RawMessage(`4`), "agent_id": json.RawMessage(`5`), "location_id": json.RawMessage(`1`),
		"start_date": json.RawMessage(`"2027-02-05"`), "start_time": json.RawMessage(`"10:00"`), "customer_id": json.RawMessage(`9`),
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			delete(booking, fields[i])
			continue
		}
		booking[fields[i]] = json.RawMessage(fields[i+1])
	}
	text, err := json.Marshal(booking)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const newCustomer = `{"first_name":"Rita","last_name":"Neu","email":"rita.neu@example.test","phone":"+49 30 1234"}`

func TestCreateBooking(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	existing := s.write(http.MethodPost, "/bookings", friday("notes", `"Second floor,\nplease"`, "total_attendees", `1`)).want(http.StatusCreated)
	golden(t, "booking_created", existing.body)
	fresh := s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", "", "customer", newCustomer, "agent_id", `"any"`, "location_id", "",
		"duration", `90`, "status", `"pending"`, "price", `"42.50"`, "send_confirmation", `false`)).want(http.StatusCreated)
	golden(t, "booking_created_new_customer", fresh.body)
	for _, a := range []answer{existing, fresh} {
		read := s.get(fmt.Sprintf("/bookings/%v", a.at("data", "id"))).want(http.StatusOK)
		expect.Equal(t, read.at("data"), a.at("data"), "created and read differ")
	}
}

// TestUnavailableSlotNamesConflict: the response names the conflicting booking and the free start times.
func TestUnavailableSlotNamesConflict(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	created := s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	before := s.database.Snapshot(t)
	conflict := s.write(http.MethodPost, "/bookings", friday("customer_id", `10`)).want(http.StatusConflict)
	expect.Equal(t, created.at("data", "id"), conflict.at("error", "details", "conflicting_booking_id"), "conflicting booking")
	golden(t, "booking_conflict", conflict.body)
	free := conflict.at("error", "details", "available_slots").([]any)
	offered := s.get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05").want(http.StatusOK).at("data", "available_slots")
	expect.Equal(t, offered, any(free), "free slots")
	moved := s.write(http.MethodPut, "/bookings/7", `{"service_id":4,"agent_id":5,"location_id":1,"start_date":"2027-02-05","start_time":"10:00"}`).want(http.StatusConflict)
	expect.Equal(t, "time_slot_unavailable", moved.at("error", "code"), moved.body)
	wantNoWrites(t, "conflicts", before)
	s.write(http.MethodPost, "/bookings", friday("customer_id", `10`, "start_time", fmt.Sprintf("%q", free[0]))).want(http.StatusCreated)
}

func TestUpdateBooking(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	changed := s.write(http.MethodPut, "/bookings/7", `{"start_date":"2027-02-05","start_time":"10:00","service_id":"4","agent_id":5,"location_id":1,
		"notes":"<b>Ring</b> twice","price":99.9,"customer":{"phone":"+49 30 999"},"status":"approved"}`).want(http.StatusOK)
	golden(t, "booking_updated", changed.body)
	expect.Equal(t, s.get("/bookings/7").at("data"), changed.at("data"), "updated and read differ")
	before := s.database.Snapshot(t)
	for name, body := range map[string]string{
		"nothing": "", "an empty object": "{}", "an empty list": "[]", "unknown fields": `{"id":9,"booking_code":"X","total":1}`,
		"what there is": `{"start_date":"2027-02-05","start_time":"10:00","price":"99.9000","notes":"Ring twice","status":"APPROVED","customer_id":2,"agent_id":"5"}`,
	} {
		expect.Equal(t, string(changed.body), string(s.write(http.MethodPut, "/bookings/7", body).want(http.StatusOK).body), fmt.Sprintf("the same change again, as %s", name))
	}
	wantNoWrites(t, "no changes", before)
	cleared := s.write(http.MethodPut, "/bookings/7", `{"notes":"","customer":{"phone":""}}`).want(http.StatusOK)
	if cleared.at("data", "notes") != "" || cleared.at("data", "customer", "phone") != "" {
		t.Errorf("not cleared: %s", cleared.body)
	}
}

func TestDeleteBooking(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	const gone = `{"success":true,"message":"Booking deleted successfully"}`
	for status, force := range map[string]bool{"approved": true, "completed": true, "pending": false, "cancelled": false, "no_show": false} {
		s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = '"+status+"' WHERE id = 7")
		unchanged := before.Again(t)
		if force {
			for _, query := range []string{"", "?force=", "?force=false", "?force=0"} {
				a := s.write(http.MethodDelete, "/bookings/7"+query, "").want(http.StatusBadRequest)
				expect.Equal(t, `{"code":"force_required","message":"Approved or completed bookings can only be deleted with force=true","data":{"status":400}}`, string(a.body), status)
			}
			wantInvalid(t, "force=maybe", s.write(http.MethodDelete, "/bookings/7?force=maybe", ""), http.StatusBadRequest, "invalid_request", "force")
			wantNoWrites(t, status, unchanged)
		}
		query := map[bool]string{true: "?force=TRUE", false: ""}[force]
		expect.Equal(t, gone, string(s.write(http.MethodDelete, "/bookings/7"+query, "").want(http.StatusOK).body), status)
		s.get("/bookings/7").want(http.StatusNotFound)
		s.write(http.MethodDelete, "/bookings/7?force=true", "").want(http.StatusNotFound)
		before.Restore(t)
	}
}

// rejection is the response to an invalid body: its status and the fields that it names.
type rejection struct {
	status int
	fields []string
}

func (r rejection) check(t testing.TB, where string, a answer) {
	t.Helper()
	code := map[int]string{http.StatusBadRequest: "invalid_request", http.StatusUnprocessableEntity: "validation_failed"}[r.status]
	wantInvalid(t, where, a, r.status, code, r.fields...)
}

// wantInvalid checks for an error with a status and a code that says what is wrong with exactly these fields.
func wantInvalid(t testing.TB, where string, a answer, status int, code string, fields ...string) {
	t.Helper()
	var body struct {
		Status string
		Error  struct {
			Code, Message string
			Details       map[string]string
		}
	}
	err := json.Unmarshal(a.body, &body)
	if err != nil || a.status != status || body.Status != "error" || body.Error.Code != code || body.Error.Message == "" {
		t.Errorf("%s: want %d %s: %d %.500s", where, status, code, a.status, a.body)
	}
	wantDetails(t, where, fields, body.Error.Details)
}

// wantDetails fails the test unless details have a message for exactly these fields.
func wantDetails(t testing.TB, where string, fields []string, details map[string]string) {
	t.Helper()
	expect.Equal(t, slices.Sorted(slices.Values(fields)), slices.Sorted(maps.Keys(details)), fmt.Sprintf("%s: fields", where))
	for field, message := range details {
		if message == "" {
			t.Errorf("%s: no message for %s", where, field)
		}
	}
}

func badRequest(fields ...string) rejection { return rejection{http.StatusBadRequest, fields} }

func unprocessable(fields ...string) rejection {
	return rejection{http.StatusUnprocessableEntity, fields}
}

// TestRejectedBookings: all errors are reported together, invalid fields before forbidden ones, and nothing
// is written.
func TestRejectedBookings(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET status = 'blocked' WHERE id = 11", "UPDATE wp_latepoint_customers SET status = 'inactive' WHERE id = 12")
	before := s.database.Snapshot(t)
	with := func(customer string) string { return friday("customer_id", "", "customer", customer) }
	for name, c := range map[string]struct {
		body string
		want rejection
	}{
		"nothing":                  {``, badRequest("service_id", "agent_id", "start_date", "start_time", "customer")},
		"no service":               {friday("service_id", ""), badRequest("service_id")},
		"unknown service":          {friday("service_id", "8388607"), badRequest("service_id")},
		"the hour that is skipped": {friday("start_date", `"2027-03-28"`, "start_time", `"02:30"`), unprocessable("start_time")},
		"wrong types":              {with(`{"first_name":[],"last_name":{},"email":true,"phone":false}`), badRequest("customer.first_name", "customer.last_name", "customer.email", "customer.phone")},
		"nothing but tags":         {with(`{"first_name":"<b></b>","last_name":"Neu","email":"a@example.test"}`), unprocessable("customer.first_name")},
		"long names":               {with(`{"first_name":"` + strings.Repeat("ü", 300) + `","last_name":"Neu","email":"a@example.test"}`), unprocessable("customer.first_name")},
		"long notes":               {friday("notes", `"`+strings.Repeat("a", 70_000)+`"`), unprocessable("notes")},
		"a blocked customer":       {friday("customer_id", "11"), unprocessable("customer_id")},
		"completed":                {friday("status", `"completed"`), unprocessable("status")},
		"a duration of nothing":    {friday("duration", `0`), unprocessable("duration")},
		"yesterday":                {friday("start_date", `"2026-11-20"`), unprocessable("start_date")},
		"attendees":                {friday("total_attendees", `0`, "send_confirmation", `"maybe"`), badRequest("total_attendees", "send_confirmation")},
		"both kinds":               {friday("service_id", `"x"`, "start_date", `"2026-11-20"`, "price", `-1`, "status", `"shut"`, "customer_id", "11"), badRequest("service_id", "start_date", "price", "status", "customer_id")},
	} {
		c.want.check(t, name, s.write(http.MethodPost, "/bookings", c.body))
		bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+orEmptyObject(c.body)+`]`).want(http.StatusBadRequest)
		if bulk.at("success") != false || bulk.at("results", "errors", 0, "error") == "" {
			t.Errorf("%s in bulk: %s", name, bulk.body)
		}
	}
	wantNoWrites(t, "refused bookings", before)
}

func orEmptyObject(body string) string {
	if body == "" {
		return "{}"
	}
	return body
}

// TestRejectedBookingUpdates: transitions that do not exist, invalid texts,
// and times in the past.
func TestRejectedBookingUpdates(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET status = 'blocked' WHERE id = 11")
	before := s.database.Snapshot(t)
	for name, c := range map[string]struct {
		body string
		want rejection
	}{
		"no move":            {`{"status":"pending"}`, unprocessable("status")},
		"somebody's e-mail":  {`{"customer":{"email":"customer9@example.test"}}`, unprocessable("customer.email")},
		"a blocked customer": {`{"customer_id":11}`, unprocessable("customer_id")},
		"everything unknown": {`{"service_id":8388607,"agent_id":8388606,"location_id":8388605,"customer_id":8388604}`, badRequest("service_id", "agent_id", "location_id", "customer_id")},
		"yesterday":          {`{"start_date":"2026-11-20"}`, unprocessable("start_date")},
		"a skipped hour":     {`{"start_date":"2027-03-28","start_time":"02:00"}`, unprocessable("start_time")},
		"several":            {`{"price":-1,"duration":"x","notes":{},"customer":{"phone":[]},"status":"shut"}`, badRequest("price", "duration", "notes", "customer.phone", "status")},
	} {
		c.want.check(t, name, s.write(http.MethodPut, "/bookings/7", c.body))
	}
	wantNoWrites(t, "refused updates", before)
}

// tally counts changes by table and kind.
func tally(changes []fixtures.Change) string {
	counts := map[string]int{}
	for _, c := range changes {
		counts[string(c.Op)+" "+c.Table]++
	}
	return fmt.Sprint(counts)
}

func TestBulkBookings(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	all := s.write(http.MethodPost, "/bookings/bulk", `{"bookings":[`+friday()+`,`+friday("start_time", `"13:00"`, "customer_id", "", "customer", newCustomer)+`]}`).want(http.StatusCreated)
	golden(t, "bulk_created", all.body)
	before.Restore(t)
	some := s.write(http.MethodPost, "/bookings/bulk", `[`+strings.Join([]string{
		friday(), friday("customer_id", `10`), `null`, friday("start_time", `"13:00"`, "note", `"<i>as it came</i>"`), friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B"}`), friday("price", `-1`),
	}, ",")+`]`).want(http.StatusMultiStatus)
	golden(t, "bulk_partly", some.body)
	wantContains(t, "insert latepoint_bookings:2", tally(fixtures.Changes(before, before.Again(t))), "rows")
	before.Restore(t)
	none := s.write(http.MethodPost, "/bookings/bulk", `[{},7]`).want(http.StatusBadRequest)
	golden(t, "bulk_failed", none.body)
	wantNoWrites(t, "nothing bookable", before)
}

// TestInvalidBulkRequests: the response names the list, and no booking is
// created.
func TestInvalidBulkRequests(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	list := func(n int) string { return `[` + strings.TrimSuffix(strings.Repeat(friday()+",", n), ",") + `]` }
	for name, body := range map[string]string{
		"51": list(51), "none": `[]`, "nothing": ``, "null": `{"bookings":null}`, "a single one": friday(), "a text": `{"bookings":"all"}`,
	} {
		a := s.write(http.MethodPost, "/bookings/bulk", body)
		badRequest("bookings").check(t, name, a)
		expect.Equal(t, false, a.at("success"), fmt.Sprintf("it does not say that it failed: %s", a.body))
	}
	badRequest("bookings", "send_confirmation").check(t, "two", s.write(http.MethodPost, "/bookings/bulk", `{"bookings":[],"send_confirmation":"maybe"}`))
	badRequest("send_confirmation").check(t, "in the query", s.write(http.MethodPost, "/bookings/bulk?send_confirmation=maybe", list(1)))
	wantNoWrites(t, "no requests", before)
	a := s.write(http.MethodPost, "/bookings/bulk", list(50)).want(http.StatusMultiStatus)
	expect.Equal(t, "Bulk booking operation completed. 1 successful, 49 failed out of 50 total.", a.at("message"), "message")
}

// TestBookingTexts: texts are stored as the plugin's forms store them, without tags and in every script.
func TestBookingTexts(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	a := s.write(http.MethodPost, "/bookings", friday("customer_id", "", "notes", `"Zoë 😀 <script>alert(1)</script>\u0000\nsecond line"`,
		"customer", `{"first_name":"<b>Zoë</b>\u0000","last_name":"O'Neill 😀","email":"zoe@example.test","phone":"030 / 12-34 ext. 5"}`)).want(http.StatusCreated)
	got := []any{a.at("data", "notes"), a.at("data", "customer", "first_name"), a.at("data", "customer", "last_name"), a.at("data", "customer", "phone")}
	expect.Equal(t, []any{"Zoë 😀 \nsecond line", "Zoë", "O'Neill 😀", "0301234"}, got, "texts")
}

// TestRoundTripsOfNewBooking: a booking waits for the database, which may be on another machine, as few
// times as possible.
func TestRoundTripsOfNewBooking(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		arrange, customer string
		most              int
	}{
		"a new customer":          {"", `"customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.com", "phone": "+4930123456"}`, 14},
		"a customer who is found": {"", `"customer": {"first_name": "Bob", "last_name": "Byron", "email": "bob@example.com", "phone": "+4930123456"}`, 14},
		"without invoices":        {"INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_invoices', 'off')", `"customer_id": 1`, 14},
		"with a calendar":         {activate(pluginFile, googleFile), `"customer_id": 1`, 15},
		"with assets":             {"", `"customer_id": 1`, 18}, // one for Pro Features, three for assets
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			site := fixtures.Small(now)
			if title == "with assets" {
				site = site.WithAssets()
			}
			s := newWriter(t, site)
			s.database.AddCalendars(t)
			if title == "with assets" {
				s.database.InsertAsset(t, 2, []int{1})
			}
			s.database.Execute(t, c.arrange)
			book := func(day int) {
				body := fmt.Sprintf(`{"service_id": 1, "agent_id": 1, "location_id": 1, "start_date": "2026-11-%d", "start_time": "10:00", %s}`, day, c.customer)
				s.write(http.MethodPost, "/bookings", body).want(http.StatusCreated)
			}
			book(23) // adds rows to lock
			if strings.Contains(c.customer, "ada@") {
				s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = CONCAT('not-', email) WHERE email = 'ada@example.com'")
			}
			book(24)
			if n := s.log.last(t).Queries; n > c.most {
				t.Errorf("%d round trips, at most %d", n, c.most)
			}
		})
	}
}
