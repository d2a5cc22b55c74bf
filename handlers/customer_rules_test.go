package handlers_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// setting stores a setting of the plugin.
func setting(name, value string) string {
	return fmt.Sprintf("REPLACE INTO wp_latepoint_settings (id, name, value) SELECT (SELECT MIN(s.id) FROM wp_latepoint_settings s WHERE s.name = '%[1]s'), '%[1]s', '%[2]s'", name, value)
}

// TestSiteSaysWhoIsTheSameCustomer: a described customer is found, and refused to another, by the contact
// that the site's settings specify, and by no other.
func TestSiteSaysWhoIsTheSameCustomer(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'five@example.test', phone = '+49301' WHERE id = 5",
		"UPDATE wp_latepoint_customers SET email = 'nine@example.test', phone = '+49302', wordpress_user_id = NULL WHERE id = 9")
	before := s.database.Snapshot(t)
	const login, hidden, merge = "selected_customer_authentication_field_type", "steps_hide_login_register_tabs", "default_contact_merge_behavior"
	for name, c := range map[string]struct {
		settings         []string
		byEmail, byPhone bool
	}{
		"login by e-mail":                    {[]string{setting(login, "email"), setting(merge, "phone")}, true, false},
		"nothing set":                        {[]string{"DELETE FROM wp_latepoint_settings WHERE name = '" + login + "'"}, true, false},
		"an unknown login":                   {[]string{setting(login, "email_or_phone")}, true, false},
		"login by phone":                     {[]string{setting(login, "phone")}, false, true},
		"no login":                           {[]string{setting(login, "disabled")}, true, false},
		"no login, as older versions store":  {[]string{setting(login, ""), setting(hidden, "on"), setting(merge, "phone")}, false, true},
		"no login, found by e-mail":          {[]string{setting(login, "disabled"), setting(merge, "email")}, true, false},
		"no login, found by phone":           {[]string{setting(login, "disabled"), setting(merge, "phone")}, false, true},
		"no login, always another customer":  {[]string{setting(login, "disabled"), setting(merge, "none")}, false, false},
		"login by e-mail, tabs hidden later": {[]string{setting(login, "email"), setting(hidden, "on"), setting(merge, "phone")}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
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
					t.Errorf("%s, %s: customer %s", email, phone, id)
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
		})
	}
}

// TestPhoneIsUniqueWhereItIdentifies: of many concurrent requests for one number, to two servers, one
// succeeds, and many bookings with it all belong to one customer.
func TestPhoneIsUniqueWhereItIdentifies(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
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
				s.write(http.MethodPost, "/bookings", friday("start_time", fmt.Sprintf(`"%02d:00"`, 9+i/4), "customer_id", "",
					"customer", fmt.Sprintf(`{"first_name":"R","last_name":"N","email":"r%d@example.test","phone":"+49-3077"}`, i)))
			default:
				if a := s.write(http.MethodPost, "/customers", fmt.Sprintf(`{"first_name":"Rita","last_name":"Neu","email":"rita%d@example.test","phone":"+4930 77"}`, i)); a.status != http.StatusCreated {
					unprocessable("phone").check(t, "POST", a)
				}
			}
		})
	}
	all.Wait()
	if n := s.count("latepoint_customers", "phone = '+493077'"); n != 1 {
		t.Errorf("%d customers have the number", n)
	}
	bookings := s.count("latepoint_bookings", "start_date = '2027-02-05' AND customer_id > 9")
	if n := s.count("latepoint_bookings", "start_date = '2027-02-05' AND customer_id = (SELECT id FROM wp_latepoint_customers WHERE phone = '+493077')"); n != bookings || n == 0 {
		t.Errorf("%d of %d bookings are of the customer with the number", n, bookings)
	}
}

// TestPhoneWithIdempotencyKey: a repeated request gets the same response, although its number is taken by
// now; another key for the same number is refused, or finds the customer. Of many concurrent repetitions,
// one creates the customer.
func TestPhoneWithIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, setting("selected_customer_authentication_field_type", "phone"))
	const customer = `{"first_name":"Rita","last_name":"Neu","email":"rita@example.test","phone":"+49 30 77"}`
	answers := make([]answer, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = s.write(http.MethodPost, "/customers", customer, "Idempotency-Key", "a") })
	}
	all.Wait()
	first := s.write(http.MethodPost, "/customers", customer, "Idempotency-Key", "a").want(http.StatusCreated)
	fresh := 0
	for _, a := range answers {
		switch {
		case a.status == http.StatusConflict:
			wantCode(t, a, http.StatusConflict, "idempotency_in_progress")
		case a.header.Get("Idempotent-Replayed") == "":
			a.want(http.StatusCreated)
			fresh++
		default:
			a.wantReplayOf(t, first)
		}
	}
	if fresh != 1 {
		t.Errorf("%d requests made the customer", fresh)
	}
	const other = `{"first_name":"Rita","last_name":"Neu","email":"other@example.test","phone":"+49-3077"}`
	for range 2 {
		unprocessable("phone").check(t, "another key", s.write(http.MethodPost, "/customers", other, "Idempotency-Key", "b"))
	}
	body := friday("customer_id", "", "customer", other)
	booked := s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", "c").want(http.StatusCreated)
	if booked.at("data", "customer", "id") != first.at("data", "id") {
		t.Errorf("booked for %v, not %v", booked.at("data", "customer", "id"), first.at("data", "id"))
	}
	s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", "c").wantReplayOf(t, booked)
	s.write(http.MethodPost, "/customers", customer, "Idempotency-Key", "a").wantReplayOf(t, first)
	if n := s.count("latepoint_customers", "phone = '+493077'"); n != 1 {
		t.Errorf("%d customers have the number", n)
	}
}

// TestFoundByPhone: empty fields are filled, known ones stay, and the address of a customer with a
// WordPress user is left to the user.
func TestFoundByPhone(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, setting("selected_customer_authentication_field_type", "phone"),
		"UPDATE wp_latepoint_customers SET email = '', phone = '+49301', last_name = 'Known', wordpress_user_id = NULL WHERE id = 9",
		"UPDATE wp_latepoint_customers SET email = '', phone = '+49302', wordpress_user_id = 7 WHERE id = 5")
	for phone, email := range map[string]string{"+49301": "new@example.test", "+49302": ""} {
		start := map[string]string{"+49301": `"10:00"`, "+49302": `"13:00"`}[phone]
		a := s.write(http.MethodPost, "/bookings?dry_run=true", friday("start_time", start, "customer_id", "",
			"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":"new@example.test","phone":%q}`, phone))).want(http.StatusOK)
		if got := a.at("data", "customer", "email"); got != email {
			t.Errorf("%s: dry run shows %v", phone, got)
		}
		a = s.write(http.MethodPost, "/bookings", friday("start_time", start, "customer_id", "",
			"customer", fmt.Sprintf(`{"first_name":"Ann","last_name":"Other","email":"new@example.test","phone":%q}`, phone))).want(http.StatusCreated)
		if got := a.at("data", "customer", "email"); got != email {
			t.Errorf("%s: %v", phone, got)
		}
		if n := s.count("latepoint_customers", fmt.Sprintf("phone = '%s' AND email = '%s' AND last_name <> 'Other'", phone, email)); n != 1 {
			t.Errorf("%s: %d customers as expected", phone, n)
		}
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
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
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
	if got := bulk.at("results", "errors", 0, "error"); got != "customer.notes: This site requires it; create the customer first" {
		t.Errorf("bulk: %v", got)
	}
	wantUpdateRejected(t, "emptied", s.write(http.MethodPut, "/customers/5", `{"phone":"","notes":""}`), "phone", "notes")
	s.write(http.MethodPut, "/customers/9", `{"last_name":"Still without"}`).want(http.StatusOK)
	booked := s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
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
