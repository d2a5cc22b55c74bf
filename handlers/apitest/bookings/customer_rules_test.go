package bookings_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestSiteSaysWhoIsTheSameCustomer: a described customer is found, and refused to another, by the contact
// that the site's settings specify, and by no other.
func TestSiteSaysWhoIsTheSameCustomer(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'five@example.test', phone = '+49301' WHERE id = 5",
		"UPDATE wp_latepoint_customers SET email = 'nine@example.test', phone = '+49302', wordpress_user_id = NULL WHERE id = 9")
	before := s.Database.Snapshot(t)
	const login, hidden, merge = "selected_customer_authentication_field_type", "steps_hide_login_register_tabs", "default_contact_merge_behavior"
	for name, c := range map[string]struct {
		settings         []string
		byEmail, byPhone bool
	}{
		"login by e-mail":                    {[]string{apitest.Setting(login, "email"), apitest.Setting(merge, "phone")}, true, false},
		"an unknown login":                   {[]string{apitest.Setting(login, "email_or_phone")}, true, false},
		"login by phone":                     {[]string{apitest.Setting(login, "phone")}, false, true},
		"no login, as older versions store":  {[]string{apitest.Setting(login, ""), apitest.Setting(hidden, "on"), apitest.Setting(merge, "phone")}, false, true},
		"no login, found by phone":           {[]string{apitest.Setting(login, "disabled"), apitest.Setting(merge, "phone")}, false, true},
		"no login, always another customer":  {[]string{apitest.Setting(login, "disabled"), apitest.Setting(merge, "none")}, false, false},
		"login by e-mail, tabs hidden later": {[]string{apitest.Setting(login, "email"), apitest.Setting(hidden, "on"), apitest.Setting(merge, "phone")}, true, false},
	} {
		s.Database.Execute(t, c.settings...)
		taken := func(field string, is bool, body string) {
			t.Helper()
			a := s.Write(http.MethodPut, "/customers/9", body)
			posted := s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B",`+body[1:])
			booking := s.Write(http.MethodPost, "/bookings", apitest.Friday())
			moved := s.Write(http.MethodPut, fmt.Sprintf("/bookings/%v", booking.Want(http.StatusCreated).At("data", "id")), `{"customer":`+body+`}`)
			if is {
				wantUpdateRejected(t, "PUT", a, field)
				apitest.Unprocessable(field).Check(t, "POST", posted)
				apitest.Unprocessable("customer."+field).Check(t, "PUT of a booking", moved)
				return
			}
			a.Want(http.StatusOK)
			posted.Want(http.StatusCreated)
			moved.Want(http.StatusOK)
		}
		described := func(is bool, email, phone string) {
			t.Helper()
			a := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", "",
				"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":%q,"phone":%q}`, email, phone))).Want(http.StatusCreated)
			if id := fmt.Sprint(a.At("data", "customer", "id")); (id == "5") != is {
				t.Errorf("%s: %s, %s: customer %s", name, email, phone, id)
			}
		}
		described(c.byEmail, "Five@example.test", "+49 399")
		before.Restore(t)
		s.Database.Execute(t, c.settings...)
		described(c.byPhone, "other@example.test", "+49 (30) 1")
		before.Restore(t)
		s.Database.Execute(t, c.settings...)
		taken("email", c.byEmail, `{"email":"FIVE@example.test"}`)
		before.Restore(t)
		s.Database.Execute(t, c.settings...)
		taken("phone", c.byPhone, `{"phone":"+49 30-1"}`)
		before.Restore(t)
	}
}

// TestPhoneIsUniqueWhereItIdentifies: of many concurrent requests for one number, to two servers, one
// succeeds, and many bookings with it all belong to one customer.
func TestPhoneIsUniqueWhereItIdentifies(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.Setting("selected_customer_authentication_field_type", "phone"))
	servers := []*apitest.Server{s, apitest.NewServer(t, s.Database)}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			s := servers[i%2]
			switch i % 4 {
			case 0: // an existing customer wants it too
				if a := s.Write(http.MethodPut, fmt.Sprintf("/customers/%d", 20+i), `{"phone":"+49 30 77"}`); a.Status != http.StatusOK {
					wantUpdateRejected(t, "PUT", a, "phone")
				}
			case 1:
				body := apitest.Friday("start_time", fmt.Sprintf(`"%02d:00"`, 9+i/4), "customer_id", "",
					"customer", fmt.Sprintf(`{"first_name":"R","last_name":"N","email":"r%d@example.test","phone":"+49-3077"}`, i))
				for s.Write(http.MethodPost, "/bookings", body).Status == http.StatusServiceUnavailable { // it lost too often
					time.Sleep(10 * time.Millisecond)
				}
			default:
				if a := s.Write(http.MethodPost, "/customers", fmt.Sprintf(`{"first_name":"Rita","last_name":"Neu","email":"rita%d@example.test","phone":"+4930 77"}`, i)); a.Status != http.StatusCreated {
					apitest.Unprocessable("phone").Check(t, "POST", a)
				}
			}
		})
	}
	all.Wait()
	expect.Equal(t, 1, s.Count("latepoint_customers", "phone = '+493077'"), "customers with the number")
	bookings := s.Count("latepoint_bookings", "start_date = '2027-02-05' AND customer_id > 9")
	if n := s.Count("latepoint_bookings", "start_date = '2027-02-05' AND customer_id = (SELECT id FROM wp_latepoint_customers WHERE phone = '+493077')"); n != bookings || n == 0 {
		t.Errorf("%d of %d bookings are of the customer with the number", n, bookings)
	}
}

// TestFoundByPhone: empty fields are filled, known ones stay, and the address of a customer with a
// WordPress user is left to the user.
func TestFoundByPhone(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.Setting("selected_customer_authentication_field_type", "phone"),
		"UPDATE wp_latepoint_customers SET email = '', phone = '+49301', last_name = 'Known', wordpress_user_id = NULL WHERE id = 9",
		"UPDATE wp_latepoint_customers SET email = '', phone = '+49302', wordpress_user_id = 7 WHERE id = 5")
	for phone, email := range map[string]string{"+49301": "new@example.test", "+49302": ""} {
		start := map[string]string{"+49301": `"10:00"`, "+49302": `"13:00"`}[phone]
		a := s.Write(http.MethodPost, "/bookings?dry_run=true", apitest.Friday("start_time", start, "customer_id", "",
			"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":"new@example.test","phone":%q}`, phone))).Want(http.StatusOK)
		expect.Equal[any](t, email, a.At("data", "customer", "email"), fmt.Sprintf("%s: dry run shows", phone))
		a = s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", start, "customer_id", "",
			"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":"new@example.test","phone":%q}`, phone))).Want(http.StatusCreated)
		expect.Equal[any](t, email, a.At("data", "customer", "email"), phone)
		expect.Equal(t, 1, s.Count("latepoint_customers", fmt.Sprintf("phone = '%s' AND email = '%s' AND last_name <> 'Other'", phone, email)), fmt.Sprintf("%s: customers as expected", phone))
	}
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET status = 'blocked' WHERE id = 9")
	apitest.Unprocessable("customer.phone").Check(t, "blocked", s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"14:00"`, "customer_id", "",
		"customer", `{"first_name":"A","last_name":"B","email":"b@example.test","phone":"+49301"}`)))
}

// formFields is the setting of the site's customer form, with the required fields.
const formFields = `{"first_name":{"label":"First Name","required":true,"width":"os-col-6","active":true},"last_name":{"required":true,"active":true},` +
	`"email":{"required":%[1]t,"active":true},"phone":{"required":true,"active":%[2]t},"notes":{"required":%[3]t,"active":true}}`

// TestWhatTheSiteRequiresOfCustomers: new customers need it, existing ones may not lose it, and those who
// lacked it before can be booked for and changed.
func TestWhatTheSiteRequiresOfCustomers(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	form := func(email, phone, notes bool) string {
		return apitest.Setting("default_fields_for_customer", fmt.Sprintf(formFields, email, phone, notes))
	}
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET phone = '' WHERE id = 9", "UPDATE wp_latepoint_customers SET phone = '+49301', notes = 'n' WHERE id = 5",
		apitest.Setting("custom_fields_for_customer", `{"cf_must":{"type":"text","required":"on"},"cf_may":{"type":"text","required":"off"},"cf_terms":{"type":"checkbox","required":"on"}}`))
	before := s.Database.Snapshot(t)
	const named = `{"first_name":"A","last_name":"B"`
	pro := apitest.Setting("active_addons", `["latepoint-pro-features"]`)
	with := func(settings ...string) {
		t.Helper()
		before.Restore(t)
		s.Database.Execute(t, settings...)
	}

	s.Write(http.MethodPost, "/customers", named+`}`).Want(http.StatusCreated) // the form was never set up, and nothing requires custom fields
	with(form(true, true, true))
	for body, missing := range map[string][]string{
		named + `}`: {"email", "phone", "notes"}, named + `,"email":"unused@nowhere.test","phone":"0","notes":" "}`: {"phone", "notes"},
		named + `,"email":"other@nowhere.test","phone":"+49 1","notes":"x"}`: nil,
	} {
		a := s.Write(http.MethodPost, "/customers", body)
		if missing == nil {
			a.Want(http.StatusCreated)
			continue
		}
		apitest.Unprocessable(missing...).Check(t, body, a)
	}
	apitest.Unprocessable("customer.phone", "customer.notes").Check(t, "a booking", s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B","email":"x@example.test"}`)))
	apitest.Unprocessable("customer.phone", "customer.notes").Check(t, "a dry run", s.Write(http.MethodPost, "/bookings?dry_run=true", apitest.Friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B","email":"x@example.test"}`)))
	bulk := s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday("customer_id", "", "customer", `{"first_name":"A","last_name":"B","email":"x@example.test"}`)+`]`).Want(http.StatusBadRequest)
	expect.Equal(t, "customer.notes: This site requires it; create the customer first", bulk.At("results", "errors", 0, "error"), "bulk")
	wantUpdateRejected(t, "emptied", s.Write(http.MethodPut, "/customers/5", `{"phone":"","notes":""}`), "phone", "notes")
	s.Write(http.MethodPut, "/customers/9", `{"last_name":"Still without"}`).Want(http.StatusOK)
	booked := s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", `5`)).Want(http.StatusCreated)
	apitest.Unprocessable("customer.phone").Check(t, "emptied by a booking", s.Write(http.MethodPut, fmt.Sprintf("/bookings/%v", booked.At("data", "id")), `{"customer":{"phone":""}}`))

	with(form(false, false, false)) // the phone is not shown, so it is not required
	s.Write(http.MethodPost, "/customers", named+`}`).Want(http.StatusCreated)
	s.Write(http.MethodPut, "/customers/5", `{"phone":"","notes":""}`).Want(http.StatusOK)

	with(pro)
	apitest.Unprocessable("custom_fields.cf_must", "custom_fields.cf_terms").Check(t, "none", s.Write(http.MethodPost, "/customers", named+`}`))
	apitest.Unprocessable("custom_fields.cf_must", "custom_fields.cf_terms").Check(t, "as PHP sees them",
		s.Write(http.MethodPost, "/customers", named+`,"custom_fields":{"cf_must":"0","cf_terms":"off"}}`))
	apitest.Unprocessable("customer.custom_fields.cf_must", "customer.custom_fields.cf_terms").Check(t, "a booking",
		s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)))
	id := s.Write(http.MethodPost, "/customers", named+`,"custom_fields":{"cf_must":"x","cf_terms":"on"}}`).Want(http.StatusCreated).At("data", "id")
	wantUpdateRejected(t, "emptied", s.Write(http.MethodPut, fmt.Sprintf("/customers/%v", id), `{"custom_fields":{"CF_Must":null,"cf_may":""}}`), "custom_fields.CF_Must")
	s.Write(http.MethodPut, "/customers/9", `{"custom_fields":{"cf_may":""},"last_name":"Still without"}`).Want(http.StatusOK)
}

const (
	tooManyNoShows = `199 bookside "Customer 9 has too many no-shows: the site's form would refuse the booking"`
	mustPay        = `199 bookside "Customer 9 has too many no-shows: on the site's form they would have to pay at once"`
)

// TestWarningsAboutNoShows: a key books for a customer whom Pro Features restricts, and is told so.
func TestWarningsAboutNoShows(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	const count = "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'no_show_count', '3')"
	on, plain := apitest.Setting("no_show_restrictions_enabled", "on"), apitest.Activate(apitest.PluginFile)
	for _, step := range []struct {
		title, arrange string
		want           []string
	}{
		{"switched off", count, nil},
		{"as often as the default", on, []string{tooManyNoShows}},
		{"to pay at once", apitest.Setting("no_show_restriction_action", "require_payment"), []string{mustPay}},
		{"blocked", apitest.Setting("no_show_restriction_action", "block"), []string{tooManyNoShows}},
		{"less often than the threshold", apitest.Setting("no_show_restriction_threshold", "4"), nil},
		{"as often as the threshold", apitest.Setting("no_show_restriction_threshold", "3"), []string{tooManyNoShows}},
		{"both limits", "UPDATE wp_latepoint_bookings SET customer_id = 9, start_date = '2027-01-01', status = 'approved' WHERE id = 9", []string{tooManyNoShows}},
		{"both limits", apitest.Setting("max_future_bookings_per_customer", "1"), []string{apitest.TooManyBookings, tooManyNoShows}},
		{"without the add-on", plain, []string{apitest.TooManyBookings}},
	} {
		s.Database.Execute(t, step.arrange)
		expect.Equal(t, step.want, s.Write(http.MethodPost, "/bookings", apitest.Friday("dry_run", `true`)).Want(http.StatusOK).Header.Values("Warning"), step.title)
	}
}

// noShowsOf returns what is stored of a customer's no-shows.
func noShowsOf(t testing.TB, database *fixtures.Database, customer int) []string {
	t.Helper()
	return apitest.RowsOf(t, database, "SELECT meta_key, meta_value FROM wp_latepoint_customer_meta WHERE object_id = ? AND meta_key LIKE 'no_show%' ORDER BY meta_key", customer)
}

// TestNoShowsAreCounted: a customer who does not appear is counted, and no longer if that is taken back, as by the
// add-on's listener: for each booking once, and a count of 0 deletes its row.
func TestNoShowsAreCounted(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, apitest.Setting("no_show_restrictions_enabled", "on"), "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id IN (7, 9)")
	status := func(booking, status string, want ...string) {
		t.Helper()
		s.Write(http.MethodPut, "/bookings/"+booking, `{"status":"`+status+`"}`).Want(http.StatusOK)
		expect.Equal(t, want, noShowsOf(t, s.Database, 2), fmt.Sprintf("%s of booking %s", status, booking))
	}
	s.Write(http.MethodPut, "/bookings/7", `{"status":"no_show","dry_run":true}`).Want(http.StatusOK)
	expect.Equal(t, []string(nil), noShowsOf(t, s.Database, 2), "after a dry run")
	status("7", "no_show", "no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on")
	status("7", "no_show", "no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on")
	status("9", "no_show", "no_show_booking_ids|[7,9]", "no_show_count|2", "no_show_flag|on")
	status("7", "approved", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")
	status("9", "cancelled", "no_show_booking_ids|[]", "no_show_flag|off")
	status("9", "approved", "no_show_booking_ids|[]", "no_show_flag|off")
	status("9", "no_show", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")

	// Whoever has counted it already, such as the add-on itself, it counts once.
	s.Database.Execute(t, `UPDATE wp_latepoint_customer_meta SET meta_value = '["9",7]', updated_at = '2026-11-01 08:00:00' WHERE object_id = 2 AND meta_key = 'no_show_booking_ids'`)
	status("7", "no_show", `no_show_booking_ids|["9",7]`, "no_show_count|1", "no_show_flag|on")
	status("7", "approved", "no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on")

	s.Write(http.MethodDelete, "/bookings/9?force=true", "").Want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|[9]", "no_show_count|1", "no_show_flag|on"}, noShowsOf(t, s.Database, 2), "deleted")
}

// TestNoShowsWithoutCount: what was not counted when it happened is a count of 0 afterwards, as in the add-on, and no other
// change counts. The customer whom the booking has then is counted.
func TestNoShowsWithoutCount(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, apitest.Setting("no_show_restrictions_enabled", "on"), "UPDATE wp_latepoint_bookings SET status = 'no_show', customer_id = 2 WHERE id = 7",
		"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (2, 'no_show_booking_ids', 'none')")
	s.Write(http.MethodPut, "/bookings/7", `{"notes":"x"}`).Want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|none"}, noShowsOf(t, s.Database, 2), "another change")
	s.Write(http.MethodPut, "/bookings/7", `{"status":"approved"}`).Want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|[]", "no_show_count|0", "no_show_flag|off"}, noShowsOf(t, s.Database, 2), "taken back")

	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET customer_id = 8000 WHERE id = 7")
	s.Write(http.MethodPut, "/bookings/7", `{"status":"no_show"}`).Want(http.StatusOK)
	expect.Equal(t, []string(nil), noShowsOf(t, s.Database, 8000), "of a customer who does not exist")

	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id = 7")
	s.Write(http.MethodPut, "/bookings/7", `{"status":"no_show","customer_id":9}`).Want(http.StatusOK)
	expect.Equal(t, []string{"no_show_booking_ids|[7]", "no_show_count|1", "no_show_flag|on"}, noShowsOf(t, s.Database, 9), "of the customer who gets the booking")
	expect.Equal(t, []string{"no_show_booking_ids|[]", "no_show_count|0", "no_show_flag|off"}, noShowsOf(t, s.Database, 2), "of the customer before")
}

// TestNoShowsAreNotCounted: nothing is counted where the site does not.
func TestNoShowsAreNotCounted(t *testing.T) {
	t.Parallel()
	for title, site := range map[string]fixtures.Site{"a plain site": fixtures.SiteA().WithFewBookings(), "switched off": fixtures.SiteA().WithFewBookings().WithProFeatures()} {
		t.Run(title, func(t *testing.T) {
			s := apitest.OwnWriter(t, site)
			if title == "a plain site" {
				s.Database.Execute(t, apitest.Setting("no_show_restrictions_enabled", "on"))
			}
			s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 2 WHERE id = 7")
			s.Write(http.MethodPut, "/bookings/7", `{"status":"no_show"}`).Want(http.StatusOK)
			expect.Equal(t, []string(nil), noShowsOf(t, s.Database, 2), "counted")
		})
	}
}
