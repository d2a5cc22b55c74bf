package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// setting stores a setting of the plugin.
func setting(name, value string) string {
	return fmt.Sprintf("REPLACE INTO wp_latepoint_settings (id, name, value) SELECT (SELECT MIN(s.id) FROM wp_latepoint_settings s WHERE s.name = '%[1]s'), '%[1]s', '%[2]s'", name, value)
}

// TestSiteSaysWhoIsTheSameCustomer: a described customer is found, and refused to another, by the contact
// that the site's settings specify, and by no other.
func TestSiteSaysWhoIsTheSameCustomer(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'five@example.test', phone = '+49301' WHERE id = 5",
		"UPDATE wp_latepoint_customers SET email = 'nine@example.test', phone = '+49302', wordpress_user_id = NULL WHERE id = 9")
	before := s.database.Snapshot(t)
	const login, hidden, merge = "selected_customer_authentication_field_type", "steps_hide_login_register_tabs", "default_contact_merge_behavior"
	for name, c := range map[string]struct {
		settings         []string
		byEmail, byPhone bool
	}{
		"login by e-mail":                    {[]string{setting(login, "email"), setting(merge, "phone")}, true, false},
		"an unknown login":                   {[]string{setting(login, "email_or_phone")}, true, false},
		"login by phone":                     {[]string{setting(login, "phone")}, false, true},
		"no login, as older versions store":  {[]string{setting(login, ""), setting(hidden, "on"), setting(merge, "phone")}, false, true},
		"no login, found by phone":           {[]string{setting(login, "disabled"), setting(merge, "phone")}, false, true},
		"no login, always another customer":  {[]string{setting(login, "disabled"), setting(merge, "none")}, false, false},
		"login by e-mail, tabs hidden later": {[]string{setting(login, "email"), setting(hidden, "on"), setting(merge, "phone")}, true, false},
	} {
		s.database.Execute(t, c.settings...)
		taken := func(field string, is bool, body string) {
			t.Helper()
			a := s.write(http.MethodPut, "/customers/9", body)
			posted := s.write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B",`+body[1:])
			booking := s.write(http.MethodPost, "/bookings", friday())
			moved := s.write(http.MethodPut, fmt.Sprintf("/bookings/%v", booking.want(http.StatusCreated).at("data", "id")), `{"customer":`+body+`}`)
			if is {
				wantUpdateRejected(t, "PUT", a, field)
				unprocessable(field).check(t, "POST", posted)
				unprocessable("customer."+field).check(t, "PUT of a booking", moved)
				return
			}
			a.want(http.StatusOK)
			posted.want(http.StatusCreated)
			moved.want(http.StatusOK)
		}
		described := func(is bool, email, phone string) {
			t.Helper()
			a := s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", "",
				"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":%q,"phone":%q}`, email, phone))).want(http.StatusCreated)
			if id := fmt.Sprint(a.at("data", "customer", "id")); (id == "5") != is {
				t.Errorf("%s: %s, %s: customer %s", name, email, phone, id)
			}
		}
		described(c.byEmail, "Five@example.test", "+49 399")
		before.Restore(t)
		s.database.Execute(t, c.settings...)
		described(c.byPhone, "other@example.test", "+49 (30) 1")
		before.Restore(t)
		s.database.Execute(t, c.settings...)
		taken("email", c.byEmail, `{"email":"FIVE@example.test"}`)
		before.Restore(t)
		s.database.Execute(t, c.settings...)
		taken("phone", c.byPhone, `{"phone":"+49 30-1"}`)
		before.Restore(t)
	}
}

// TestPhoneIsUniqueWhereItIdentifies: of many concurrent requests for one number, to two servers, one
// succeeds, and many bookings with it all belong to one customer.
func TestPhoneIsUniqueWhereItIdentifies(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, setting("selected_customer_authentication_field_type", "phone"))
	servers := []*server{s, newServer(t, s.database)}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			s := servers[i%2]
			switch i % 4 {
			case 0: // an existing customer wants it too
				if a := s.write(http.MethodPut, fmt.Sprintf("/customers/%d", 20+i), `{"phone":"+49 30 77"}`); a.status != http.StatusOK {
					wantUpdateRejected(t, "PUT", a, "phone")
				}
			case 1:
				body := friday("start_time", fmt.Sprintf(`"%02d:00"`, 9+i/4), "customer_id", "",
					"customer", fmt.Sprintf(`{"first_name":"R","last_name":"N","email":"r%d@example.test","phone":"+49-3077"}`, i))
				for s.write(http.MethodPost, "/bookings", body).status == http.StatusServiceUnavailable { // it lost too often
					time.Sleep(10 * time.Millisecond)
				}
			default:
				if a := s.write(http.MethodPost, "/customers", fmt.Sprintf(`{"first_name":"Rita","last_name":"Neu","email":"rita%d@example.test","phone":"+4930 77"}`, i)); a.status != http.StatusCreated {
					unprocessable("phone").check(t, "POST", a)
				}
			}
		})
	}
	all.Wait()
	expect.Equal(t, 1, s.count("latepoint_customers", "phone = '+493077'"), "customers with the number")
	bookings := s.count("latepoint_bookings", "start_date = '2027-02-05' AND customer_id > 9")
	if n := s.count("latepoint_bookings", "start_date = '2027-02-05' AND customer_id = (SELECT id FROM wp_latepoint_customers WHERE phone = '+493077')"); n != bookings || n == 0 {
		t.Errorf("%d of %d bookings are of the customer with the number", n, bookings)
	}
}

// TestFoundByPhone: empty fields are filled, known ones stay, and the address of a customer with a
// WordPress user is left to the user.
func TestFoundByPhone(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, setting("selected_customer_authentication_field_type", "phone"),
		"UPDATE wp_latepoint_customers SET email = '', phone = '+49301', last_name = 'Known', wordpress_user_id = NULL WHERE id = 9",
		"UPDATE wp_latepoint_customers SET email = '', phone = '+49302', wordpress_user_id = 7 WHERE id = 5")
	for phone, email := range map[string]string{"+49301": "new@example.test", "+49302": ""} {
		start := map[string]string{"+49301": `"10:00"`, "+49302": `"13:00"`}[phone]
		a := s.write(http.MethodPost, "/bookings?dry_run=true", friday("start_time", start, "customer_id", "",
			"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":"new@example.test","phone":%q}`, phone))).want(http.StatusOK)
		expect.Equal[any](t, email, a.at("data", "customer", "email"), fmt.Sprintf("%s: dry run shows", phone))
		a = s.write(http.MethodPost, "/bookings", friday("start_time", start, "customer_id", "",
			"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":"new@example.test","phone":%q}`, phone))).want(http.StatusCreated)
		expect.Equal[any](t, email, a.at("data", "customer", "email"), phone)
		expect.Equal(t, 1, s.count("latepoint_customers", fmt.Sprintf("phone = '%s' AND email = '%s' AND last_name <> 'Other'", phone, email)), fmt.Sprintf("%s: customers as expected", phone))
	}
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET status = 'blocked' WHERE id = 9")
	unprocessable("customer.phone").check(t, "blocked", s.write(http.MethodPost, "/bookings", friday("start_time", `"14:00"`, "customer_id", "",
		"customer", `{"first_name":"A","last_name":"B","email":"b@example.test","phone":"+49301"}`)))
}

// formFields is the setting of the site's customer form, with the required fields.
const formFields = `{"first_name":{"label":"First Name","required":true,"width":"os-col-6","active":true},"last_name":{"required":true,"active":true},` +
	`"email":{"required":%[1]t,"active":true},"phone":{"required":true,"active":%[2]t},"notes":{"required":%[3]t,"active":true}}`

// TestWhatTheSiteRequiresOfCustomers: new customers need it, existing ones may not lose it, and those who
// lacked it before can be booked for and changed.
func TestWhatTheSiteRequiresOfCustomers(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	form := func(email, phone, notes bool) string {
		return setting("default_fields_for_customer", fmt.Sprintf(formFields, email, phone, notes))
	}
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET phone = '' WHERE id = 9", "UPDATE wp_latepoint_customers SET phone = '+49301', notes = 'n' WHERE id = 5",
		setting("custom_fields_for_customer", `{"cf_must":{"type":"text","required":"on"},"cf_may":{"type":"text","required":"off"},"cf_terms":{"type":"checkbox","required":"on"}}`))
	before := s.database.Snapshot(t)
	const named = `{"first_name":"A","last_name":"B"`
	pro := setting("active_addons", `["latepoint-pro-features"]`)
	with := func(settings ...string) {
		t.Helper()
		before.Restore(t)
		s.database.Execute(t, settings...)
	}

	s.write(http.MethodPost, "/customers", named+`}`).want(http.StatusCreated) // the form was never set up, and nothing requires custom fields
	with(form(true, true, true))
	for body, missing := range map[string][]string{
		named + `}`: {"email", "phone", "notes"}, named + `,"email":"unused@nowhere.test","phone":"0","notes":" "}`: {"phone", "notes"},
		named + `,"email":"other@nowhere.test","phone":"+49 1","notes":"x"}`: nil,
	} {
		a := s.write(http.MethodPost, "/customers", body)
		if missing == nil {
			a.want(http.StatusCreated)
			continue
		}
		unprocessable(missing...).check(t, body, a)
	}
	unprocessable("customer.phone", "customer.notes").check(t, "a booking", s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B","email":"x@example.test"}`)))
	unprocessable("customer.phone", "customer.notes").check(t, "a dry run", s.write(http.MethodPost, "/bookings?dry_run=true", friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B","email":"x@example.test"}`)))
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B","email":"x@example.test"}`)+`]`).want(http.StatusBadRequest)
	expect.Equal(t, "customer.notes: This site requires it; create the customer first", bulk.at("results", "errors", 0, "error"), "bulk")
	wantUpdateRejected(t, "emptied", s.write(http.MethodPut, "/customers/5", `{"phone":"","notes":""}`), "phone", "notes")
	s.write(http.MethodPut, "/customers/9", `{"last_name":"Still without"}`).want(http.StatusOK)
	booked := s.write(http.MethodPost, "/bookings", friday("customer_id", `5`)).want(http.StatusCreated)
	unprocessable("customer.phone").check(t, "emptied by a booking", s.write(http.MethodPut, fmt.Sprintf("/bookings/%v", booked.at("data", "id")), `{"customer":{"phone":""}}`))

	with(form(false, false, false)) // the phone is not shown, so it is not required
	s.write(http.MethodPost, "/customers", named+`}`).want(http.StatusCreated)
	s.write(http.MethodPut, "/customers/5", `{"phone":"","notes":""}`).want(http.StatusOK)

	with(pro)
	unprocessable("custom_fields.cf_must", "custom_fields.cf_terms").check(t, "none", s.write(http.MethodPost, "/customers", named+`}`))
	unprocessable("custom_fields.cf_must", "custom_fields.cf_terms").check(t, "as PHP sees them",
		s.write(http.MethodPost, "/customers", named+`,"custom_fields":{"cf_must":"0","cf_terms":"off"}}`))
	unprocessable("customer.custom_fields.cf_must", "customer.custom_fields.cf_terms").check(t, "a booking",
		s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)))
	id := s.write(http.MethodPost, "/customers", named+`,"custom_fields":{"cf_must":"x","cf_terms":"on"}}`).want(http.StatusCreated).at("data", "id")
	wantUpdateRejected(t, "emptied", s.write(http.MethodPut, fmt.Sprintf("/customers/%v", id), `{"custom_fields":{"CF_Must":null,"cf_may":""}}`), "custom_fields.CF_Must")
	s.write(http.MethodPut, "/customers/9", `{"custom_fields":{"cf_may":""},"last_name":"Still without"}`).want(http.StatusOK)
}

const (
	tooManyBookings = `199 bookside "Customer 9 has as many future bookings as the site's form lets a customer have"`
	tooManyNoShows  = `199 bookside "Customer 9 has too many no-shows: the site's form would refuse the booking"`
	mustPay         = `199 bookside "Customer 9 has too many no-shows: on the site's form they would have to pay at once"`
)

// noFuture leaves customer 9 without bookings to come.
const noFuture = "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE customer_id = 9"

// TestWarningsAboutFutureBookings: a key books for a customer who has as many bookings as the site's form would let them have,
// and is told so, on a plain site too.
func TestWarningsAboutFutureBookings(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, setting("max_future_bookings_per_customer", "1"), noFuture)
	book := func(fields ...string) answer {
		t.Helper()
		return s.write(http.MethodPost, "/bookings", friday(fields...))
	}
	wants := func(title string, a answer, want ...string) {
		t.Helper()
		expect.Equal(t, want, a.header.Values("Warning"), title)
	}
	wants("the first booking", book().want(http.StatusCreated))
	wants("a dry run", book("start_time", `"13:00"`, "dry_run", `true`).want(http.StatusOK), tooManyBookings)
	wants("a booking that is refused", book("start_time", `"13:00"`, "status", `"no_show"`).want(http.StatusUnprocessableEntity))
	wants("a conflict", book().want(http.StatusConflict))
	wants("a new customer", book("start_time", `"13:00"`, "customer_id", "", "customer", newCustomer, "dry_run", `true`).want(http.StatusOK))
	wants("another customer", book("start_time", `"13:00"`, "customer_id", `8`, "dry_run", `true`).want(http.StatusOK))
	bulk := `[` + friday("start_time", `"13:00"`) + `,` + friday("start_time", `"15:00"`) + `,` + friday() + `]`
	wants("several", s.write(http.MethodPost, "/bookings/bulk", bulk).want(http.StatusMultiStatus), tooManyBookings)
	s.database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 50 WHERE id = 4", "UPDATE wp_latepoint_bookings SET status = 'completed', start_date = '2027-01-01'")
	var all []string
	for _, id := range rowsOf(t, s.database, "SELECT DISTINCT c.id FROM wp_latepoint_customers c JOIN wp_latepoint_bookings b ON b.customer_id = c.id WHERE c.status = 'active' ORDER BY c.id LIMIT 14") {
		all = append(all, friday("start_date", `"2027-02-12"`, "customer_id", id))
	}
	if a := s.write(http.MethodPost, "/bookings/bulk", "["+strings.Join(all, ",")+"]"); len(all) < 12 || len(a.header.Values("Warning")) != 10 {
		t.Errorf("%d customers: %d warnings, %s", len(all), len(a.header.Values("Warning")), a.body)
	}
	if told := s.agent(t, s.key).call("book", `{'idempotency_key':'limits-1','dry_run':true,'service_id':4,'agent_id':5,'location_id':1,'start_date':'2027-02-19','start_time':'10:00','customer_id':9}`).done(); fmt.Sprint(told.at("warnings")) != "[Customer 9 has as many future bookings as the site's form lets a customer have]" {
		t.Errorf("a tool: %s", told.body)
	}

	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'cancelled'", "UPDATE wp_latepoint_bookings SET status = 'approved', start_date = '2026-01-01' WHERE id = 9", "UPDATE wp_latepoint_bookings SET customer_id = 9 WHERE id = 9")
	wants("bookings that are over or cancelled", book("dry_run", `true`).want(http.StatusOK))
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = '2027-01-01' WHERE id = 9")
	wants("a booking to come", book("dry_run", `true`).want(http.StatusOK), tooManyBookings)
	for _, unlimited := range []string{"", "0", "many", "2"} {
		s.database.Execute(t, setting("max_future_bookings_per_customer", unlimited))
		wants("limit "+unlimited, book("dry_run", `true`).want(http.StatusOK))
	}
	s.database.Execute(t, setting("max_future_bookings_per_customer", "1"))
	s.key = s.newKey("write_bookings")
	wants("a key that reads no bookings", book().want(http.StatusCreated))
}

// TestWarningsAboutNoShows: a key books for a customer whom Pro Features restricts, and is told so.
func TestWarningsAboutNoShows(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	const count = "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'no_show_count', '3')"
	on, plain := setting("no_show_restrictions_enabled", "on"), activate(pluginFile)
	for _, step := range []struct {
		title, arrange string
		want           []string
	}{
		{"switched off", count, nil},
		{"as often as the default", on, []string{tooManyNoShows}},
		{"to pay at once", setting("no_show_restriction_action", "require_payment"), []string{mustPay}},
		{"blocked", setting("no_show_restriction_action", "block"), []string{tooManyNoShows}},
		{"less often than the threshold", setting("no_show_restriction_threshold", "4"), nil},
		{"as often as the threshold", setting("no_show_restriction_threshold", "3"), []string{tooManyNoShows}},
		{"both limits", "UPDATE wp_latepoint_bookings SET customer_id = 9, start_date = '2027-01-01', status = 'approved' WHERE id = 9", []string{tooManyNoShows}},
		{"both limits", setting("max_future_bookings_per_customer", "1"), []string{tooManyBookings, tooManyNoShows}},
		{"without the add-on", plain, []string{tooManyBookings}},
	} {
		s.database.Execute(t, step.arrange)
		expect.Equal(t, step.want, s.write(http.MethodPost, "/bookings", friday("dry_run", `true`)).want(http.StatusOK).header.Values("Warning"), step.title)
	}
}

// noShowsOf returns what is stored of a customer's no-shows.
func noShowsOf(t testing.TB, database *fixtures.Database, customer int) []string {
	t.Helper()
	return rowsOf(t, database, "SELECT meta_key, meta_value FROM wp_latepoint_customer_meta WHERE object_id = ? AND meta_key LIKE 'no_show%' ORDER BY meta_key", customer)
}

// TestNoShowsAreCounted: a customer who does not appear is counted, and no longer if that is taken back, as by the
// add-on's listener: for each booking once, and a count of 0 deletes its row.
func TestNoShowsAreCounted(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, setting("no_show_restrictions_enabled", "on"), "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id IN (7, 9)")
	status := func(booking, status string, want ...string) {
		t.Helper()
		s.write(http.MethodPut, "/bookings/"+booking, `{"status":"`+status+`"}`).want(http.StatusOK)
		expect.Equal(t, want, noShowsOf(t, s.database, 2), fmt.Sprintf("%s of booking %s", status, booking))
	}
	s.write(http.MethodPut, "/bookings/7", `{"status":"no_show","dry_run":true}`).want(http.StatusOK)
	expect.Equal(t, []string(nil), noShowsOf(t, s.database, 2), "after a dry run")
	status("7", "no_show", "no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on")
	status("7", "no_show", "no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on")
	status("9", "no_show", "no_show_booking_ids|[7,9]", "no_show_count|2", "no_show_flag|on")
	status("7", "approved", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")
	status("9", "cancelled", "no_show_booking_ids|[]", "no_show_flag|off")
	status("9", "approved", "no_show_booking_ids|[]", "no_show_flag|off")
	status("9", "no_show", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")

	// Whoever has counted it already, such as the add-on itself, it counts once.
	s.database.Execute(t, `UPDATE wp_latepoint_customer_meta SET meta_value = '["9",7]', updated_at = '2026-11-01 08:00:00' WHERE object_id = 2 AND meta_key = 'no_show_booking_ids'`)
	status("7", "no_show", `no_show_booking_ids|["9",7]`, "no_show_count|1", "no_show_flag|on")
	status("7", "approved", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")

	s.write(http.MethodDelete, "/bookings/9?force=true", "").want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on"}, noShowsOf(t, s.database, 2), "deleted")
}

// TestNoShowsWithoutCount: what was not counted when it happened is a count of 0 afterwards, as in the add-on, and no other
// change counts. The customer whom the booking has then is counted.
func TestNoShowsWithoutCount(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, setting("no_show_restrictions_enabled", "on"), "UPDATE wp_latepoint_bookings SET status = 'no_show', customer_id = 2 WHERE id = 7",
		"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (2, 'no_show_booking_ids', 'none')")
	s.write(http.MethodPut, "/bookings/7", `{"notes":"x"}`).want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|none"}, noShowsOf(t, s.database, 2), "another change")
	s.write(http.MethodPut, "/bookings/7", `{"status":"approved"}`).want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|[]", "no_show_count|0", "no_show_flag|off"}, noShowsOf(t, s.database, 2), "taken back")

	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET customer_id = 8000 WHERE id = 7")
	s.write(http.MethodPut, "/bookings/7", `{"status":"no_show"}`).want(http.StatusOK)
	expect.Equal(t, []string(nil), noShowsOf(t, s.database, 8000), "of a customer who does not exist")

	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id = 7")
	s.write(http.MethodPut, "/bookings/7", `{"status":"no_show","customer_id":9}`).want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on"}, noShowsOf(t, s.database, 9), "of the customer who gets the booking")
	expect.Equal(t, []string{"no_show_booking_ids|[]", "no_show_count|0", "no_show_flag|off"}, noShowsOf(t, s.database, 2), "of the customer before")
}

// TestNoShowsAreNotCounted: nothing is counted where the site does not.
func TestNoShowsAreNotCounted(t *testing.T) {
	t.Parallel()
	for title, site := range map[string]fixtures.Site{"a plain site": fixtures.SiteA().WithFewBookings(), "switched off": fixtures.SiteA().WithFewBookings().WithProFeatures()} {
		t.Run(title, func(t *testing.T) {
			s := ownWriter(t, site)
			if title == "a plain site" {
				s.database.Execute(t, setting("no_show_restrictions_enabled", "on"))
			}
			s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id = 7")
			s.write(http.MethodPut, "/bookings/7", `{"status":"no_show"}`).want(http.StatusOK)
			expect.Equal(t, []string(nil), noShowsOf(t, s.database, 2), "counted")
		})
	}
}
