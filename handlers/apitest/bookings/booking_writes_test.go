package bookings_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

func TestCreateBooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	existing := s.Write(http.MethodPost, "/bookings", apitest.Friday("notes", `"Second floor,\nplease"`, "total_attendees", `1`)).Want(http.StatusCreated)
	apitest.Golden(t, "booking_created", existing.Body)
	fresh := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", "", "customer", apitest.NewCustomer, "agent_id", `"any"`, "location_id", "",
		"duration", `90`, "status", `"pending"`, "price", `"42.50"`, "send_confirmation", `false`)).Want(http.StatusCreated)
	apitest.Golden(t, "booking_created_new_customer", fresh.Body)
	for _, a := range []apitest.Answer{existing, fresh} {
		read := s.Get(fmt.Sprintf("/bookings/%v", a.At("data", "id"))).Want(http.StatusOK)
		expect.Equal(t, read.At("data"), a.At("data"), "created and read differ")
	}
}

// TestUnavailableSlotNamesConflict: the response names the conflicting booking and the free start times.
func TestUnavailableSlotNamesConflict(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	created := s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	before := s.Database.Snapshot(t)
	conflict := s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", `10`)).Want(http.StatusConflict)
	expect.Equal(t, created.At("data", "id"), conflict.At("error", "details", "conflicting_booking_id"), "conflicting booking")
	apitest.Golden(t, "booking_conflict", conflict.Body)
	free := conflict.At("error", "details", "available_slots").([]any)
	offered := s.Get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05").Want(http.StatusOK).At("data", "available_slots")
	expect.Equal(t, offered, any(free), "free slots")
	moved := s.Write(http.MethodPut, "/bookings/7", `{"service_id":4,"agent_id":5,"location_id":1,"start_date":"2027-02-05","start_time":"10:00"}`).Want(http.StatusConflict)
	expect.Equal(t, "time_slot_unavailable", moved.At("error", "code"), moved.Body)
	apitest.WantNoWrites(t, "conflicts", before)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", `10`, "start_time", fmt.Sprintf("%q", free[0]))).Want(http.StatusCreated)
}

func TestUpdateBooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	changed := s.Write(http.MethodPut, "/bookings/7", `{"start_date":"2027-02-05","start_time":"10:00","service_id":"4","agent_id":5,"location_id":1,
		"notes":"<b>Ring</b> twice","price":99.9,"customer":{"phone":"+49 30 999"},"status":"approved"}`).Want(http.StatusOK)
	apitest.Golden(t, "booking_updated", changed.Body)
	expect.Equal(t, s.Get("/bookings/7").At("data"), changed.At("data"), "updated and read differ")
	before := s.Database.Snapshot(t)
	for name, body := range map[string]string{
		"nothing": "", "an empty object": "{}", "an empty list": "[]", "unknown fields": `{"id":9,"booking_code":"X","total":1}`,
		"what there is": `{"start_date":"2027-02-05","start_time":"10:00","price":"99.9000","notes":"Ring twice","status":"APPROVED","customer_id":2,"agent_id":"5"}`,
	} {
		expect.Equal(t, string(changed.Body), string(s.Write(http.MethodPut, "/bookings/7", body).Want(http.StatusOK).Body), fmt.Sprintf("the same change again, as %s", name))
	}
	apitest.WantNoWrites(t, "no changes", before)
	cleared := s.Write(http.MethodPut, "/bookings/7", `{"notes":"","customer":{"phone":""}}`).Want(http.StatusOK)
	if cleared.At("data", "notes") != "" || cleared.At("data", "customer", "phone") != "" {
		t.Errorf("not cleared: %s", cleared.Body)
	}
}

func TestDeleteBooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	const gone = `{"success":true,"message":"Booking deleted successfully"}`
	for status, force := range map[string]bool{"approved": true, "completed": true, "pending": false, "cancelled": false, "no_show": false} {
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = '"+status+"' WHERE id = 7")
		unchanged := before.Again(t)
		if force {
			for _, query := range []string{"", "?force=", "?force=false", "?force=0"} {
				a := s.Write(http.MethodDelete, "/bookings/7"+query, "").Want(http.StatusBadRequest)
				expect.Equal(t, `{"code":"force_required","message":"Approved or completed bookings can only be deleted with force=true","data":{"status":400}}`, string(a.Body), status)
			}
			apitest.WantInvalid(t, "force=maybe", s.Write(http.MethodDelete, "/bookings/7?force=maybe", ""), http.StatusBadRequest, "invalid_request", "force")
			apitest.WantNoWrites(t, status, unchanged)
		}
		query := map[bool]string{true: "?force=TRUE", false: ""}[force]
		expect.Equal(t, gone, string(s.Write(http.MethodDelete, "/bookings/7"+query, "").Want(http.StatusOK).Body), status)
		s.Get("/bookings/7").Want(http.StatusNotFound)
		s.Write(http.MethodDelete, "/bookings/7?force=true", "").Want(http.StatusNotFound)
		before.Restore(t)
	}
}

// TestRejectedBookings: all errors are reported together, invalid fields before forbidden ones, and nothing
// is written.
func TestRejectedBookings(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET status = 'blocked' WHERE id = 11", "UPDATE wp_latepoint_customers SET status = 'inactive' WHERE id = 12")
	before := s.Database.Snapshot(t)
	with := func(customer string) string { return apitest.Friday("customer_id", "", "customer", customer) }
	for name, c := range map[string]struct {
		body string
		want apitest.Rejection
	}{
		"nothing":                  {``, apitest.BadRequest("service_id", "agent_id", "start_date", "start_time", "customer")},
		"no service":               {apitest.Friday("service_id", ""), apitest.BadRequest("service_id")},
		"unknown service":          {apitest.Friday("service_id", "8388607"), apitest.BadRequest("service_id")},
		"the hour that is skipped": {apitest.Friday("start_date", `"2027-03-28"`, "start_time", `"02:30"`), apitest.Unprocessable("start_time")},
		"wrong types":              {with(`{"first_name":[],"last_name":{},"email":true,"phone":false}`), apitest.BadRequest("customer.first_name", "customer.last_name", "customer.email", "customer.phone")},
		"nothing but tags":         {with(`{"first_name":"<b></b>","last_name":"Neu","email":"a@example.test"}`), apitest.Unprocessable("customer.first_name")},
		"long names":               {with(`{"first_name":"` + strings.Repeat("ü", 300) + `","last_name":"Neu","email":"a@example.test"}`), apitest.Unprocessable("customer.first_name")},
		"long notes":               {apitest.Friday("notes", `"`+strings.Repeat("a", 70_000)+`"`), apitest.Unprocessable("notes")},
		"a blocked customer":       {apitest.Friday("customer_id", "11"), apitest.Unprocessable("customer_id")},
		"completed":                {apitest.Friday("status", `"completed"`), apitest.Unprocessable("status")},
		"a duration of nothing":    {apitest.Friday("duration", `0`), apitest.Unprocessable("duration")},
		"yesterday":                {apitest.Friday("start_date", `"2026-11-20"`), apitest.Unprocessable("start_date")},
		"attendees":                {apitest.Friday("total_attendees", `0`, "send_confirmation", `"maybe"`), apitest.BadRequest("total_attendees", "send_confirmation")},
		"both kinds":               {apitest.Friday("service_id", `"x"`, "start_date", `"2026-11-20"`, "price", `-1`, "status", `"shut"`, "customer_id", "11"), apitest.BadRequest("service_id", "start_date", "price", "status", "customer_id")},
	} {
		c.want.Check(t, name, s.Write(http.MethodPost, "/bookings", c.body))
		bulk := s.Write(http.MethodPost, "/bookings/bulk", `[`+orEmptyObject(c.body)+`]`).Want(http.StatusBadRequest)
		if bulk.At("success") != false || bulk.At("results", "errors", 0, "error") == "" {
			t.Errorf("%s in bulk: %s", name, bulk.Body)
		}
	}
	apitest.WantNoWrites(t, "refused bookings", before)
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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET status = 'blocked' WHERE id = 11")
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		body string
		want apitest.Rejection
	}{
		"no move":            {`{"status":"pending"}`, apitest.Unprocessable("status")},
		"somebody's e-mail":  {`{"customer":{"email":"customer9@example.test"}}`, apitest.Unprocessable("customer.email")},
		"a blocked customer": {`{"customer_id":11}`, apitest.Unprocessable("customer_id")},
		"everything unknown": {`{"service_id":8388607,"agent_id":8388606,"location_id":8388605,"customer_id":8388604}`, apitest.BadRequest("service_id", "agent_id", "location_id", "customer_id")},
		"yesterday":          {`{"start_date":"2026-11-20"}`, apitest.Unprocessable("start_date")},
		"a skipped hour":     {`{"start_date":"2027-03-28","start_time":"02:00"}`, apitest.Unprocessable("start_time")},
		"several":            {`{"price":-1,"duration":"x","notes":{},"customer":{"phone":[]},"status":"shut"}`, apitest.BadRequest("price", "duration", "notes", "customer.phone", "status")},
	} {
		c.want.Check(t, name, s.Write(http.MethodPut, "/bookings/7", c.body))
	}
	apitest.WantNoWrites(t, "refused updates", before)
}

func TestBulkBookings(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	all := s.Write(http.MethodPost, "/bookings/bulk", `{"bookings":[`+apitest.Friday()+`,`+apitest.Friday("start_time", `"13:00"`, "customer_id", "", "customer", apitest.NewCustomer)+`]}`).Want(http.StatusCreated)
	apitest.Golden(t, "bulk_created", all.Body)
	before.Restore(t)
	some := s.Write(http.MethodPost, "/bookings/bulk", `[`+strings.Join([]string{
		apitest.Friday(), apitest.Friday("customer_id", `10`), `null`, apitest.Friday("start_time", `"13:00"`, "note", `"<i>as it came</i>"`), apitest.Friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B"}`), apitest.Friday("price", `-1`),
	}, ",")+`]`).Want(http.StatusMultiStatus)
	apitest.Golden(t, "bulk_partly", some.Body)
	apitest.WantContains(t, "insert latepoint_bookings:2", apitest.Tally(fixtures.Changes(before, before.Again(t))), "rows")
	before.Restore(t)
	none := s.Write(http.MethodPost, "/bookings/bulk", `[{},7]`).Want(http.StatusBadRequest)
	apitest.Golden(t, "bulk_failed", none.Body)
	apitest.WantNoWrites(t, "nothing bookable", before)
}

// TestInvalidBulkRequests: the response names the list, and no booking is
// created.
func TestInvalidBulkRequests(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	list := func(n int) string {
		return `[` + strings.TrimSuffix(strings.Repeat(apitest.Friday()+",", n), ",") + `]`
	}
	for name, body := range map[string]string{
		"51": list(51), "none": `[]`, "nothing": ``, "null": `{"bookings":null}`, "a single one": apitest.Friday(), "a text": `{"bookings":"all"}`,
	} {
		a := s.Write(http.MethodPost, "/bookings/bulk", body)
		apitest.BadRequest("bookings").Check(t, name, a)
		expect.Equal(t, false, a.At("success"), fmt.Sprintf("it does not say that it failed: %s", a.Body))
	}
	apitest.BadRequest("bookings", "send_confirmation").Check(t, "two", s.Write(http.MethodPost, "/bookings/bulk", `{"bookings":[],"send_confirmation":"maybe"}`))
	apitest.BadRequest("send_confirmation").Check(t, "in the query", s.Write(http.MethodPost, "/bookings/bulk?send_confirmation=maybe", list(1)))
	apitest.WantNoWrites(t, "no requests", before)
	a := s.Write(http.MethodPost, "/bookings/bulk", list(50)).Want(http.StatusMultiStatus)
	expect.Equal(t, "Bulk booking operation completed. 1 successful, 49 failed out of 50 total.", a.At("message"), "message")
}

// TestBookingTexts: texts are stored as the plugin's forms store them, without tags and in every script.
func TestBookingTexts(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	a := s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "notes", `"Zoë 😀 <script>alert(1)</script>\u0000\nsecond line"`,
		"customer", `{"first_name":"<b>Zoë</b>\u0000","last_name":"O'Neill 😀","email":"zoe@example.test","phone":"030 / 12-34 ext. 5"}`)).Want(http.StatusCreated)
	got := []any{a.At("data", "notes"), a.At("data", "customer", "first_name"), a.At("data", "customer", "last_name"), a.At("data", "customer", "phone")}
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
		"with a calendar":         {apitest.Activate(apitest.PluginFile, apitest.GoogleFile), `"customer_id": 1`, 15},
		"with assets":             {"", `"customer_id": 1`, 18}, // one for Pro Features, three for assets
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			site := fixtures.Small(apitest.Now)
			if title == "with assets" {
				site = site.WithAssets()
			}
			s := apitest.NewWriter(t, site)
			s.Database.AddCalendars(t)
			if title == "with assets" {
				s.Database.InsertAsset(t, 2, []int{1})
			}
			s.Database.Execute(t, c.arrange)
			book := func(day int) {
				body := fmt.Sprintf(`{"service_id": 1, "agent_id": 1, "location_id": 1, "start_date": "2026-11-%d", "start_time": "10:00", %s}`, day, c.customer)
				s.Write(http.MethodPost, "/bookings", body).Want(http.StatusCreated)
			}
			book(23) // adds rows to lock
			if strings.Contains(c.customer, "ada@") {
				s.Database.Execute(t, "UPDATE wp_latepoint_customers SET email = CONCAT('not-', email) WHERE email = 'ada@example.com'")
			}
			book(24)
			if n := s.Log.Last(t).Queries; n > c.most {
				t.Errorf("%d round trips, at most %d", n, c.most)
			}
		})
	}
}
