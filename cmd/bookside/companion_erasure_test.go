package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// erasureSite is a site whose jobs WordPress runs, with a workflow that sends mails to customer and agent.
type erasureSite struct {
	t   *testing.T
	w   *fixtures.WordPress
	db  *fixtures.Database
	s   *testServer
	key string
	day int // of the next booking
}

// send sends a request and returns the response.
func (e *erasureSite) send(method, path, body string, want int) (answer map[string]any) {
	e.t.Helper()
	request := apiRequest(e.t, method, e.s.url+"/v1"+path, e.key, body)
	request.Header.Set("Idempotency-Key", fmt.Sprintf("%s %s %d", method, path, e.day))
	status, text, err := sendOnce(request)
	if err != nil || status != want {
		e.t.Fatalf("%s %s: status %d, %v, %s", method, path, status, err, text)
	}
	expect.NoError(e.t, json.Unmarshal([]byte(text), &answer))
	return answer
}

// made is a booking of a new customer, with everything that the site knows about them.
type made struct {
	booking, order, customer string
	name, email, phone, note string
	link                     string // key of the link by which the agent manages the booking
}

// book books for a new customer.
func (e *erasureSite) book(name string) made {
	e.t.Helper()
	e.day++
	m := made{name: name, email: strings.ToLower(name) + "+x@people.example", phone: fmt.Sprintf("+49155500%05d", 41+e.day), note: fmt.Sprintf("Klingel 77%04d", e.day)}
	answer := e.send(http.MethodPost, "/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":2,"location_id":1,"start_date":"%s","start_time":"10:00",
		"customer":{"first_name":"%s","last_name":"%[2]sova","email":"%s","phone":"%s"},"customer_comment":"%s","status":"approved"}`, time.Date(2031, 3, 3+7*e.day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), name, m.email, m.phone, m.note), http.StatusCreated)
	m.booking = fmt.Sprint(answer["data"].(map[string]any)["id"])
	row := strings.Fields(queryText(e.t, e.db, `SELECT CONCAT_WS(' ', b.customer_id, i.order_id, m.meta_value) FROM wp_latepoint_bookings b JOIN wp_latepoint_order_items i ON i.id = b.order_item_id
		JOIN wp_latepoint_booking_meta m ON m.object_id = b.id AND m.meta_key = 'key_to_manage_for_agent' WHERE b.id = `+m.booking))
	m.customer, m.order, m.link = row[0], row[1], row[2]
	e.db.Execute(e.t, `INSERT INTO wp_latepoint_transactions (order_id, customer_id, status, kind, amount, notes) VALUES (`+m.order+`, 0, 'failed', 'capture', 30, 'Bar, `+m.note+`')`)
	return m
}

// export returns the names of groups and the text of an export.
func (e *erasureSite) export(email string) (groups []string, text string) {
	e.t.Helper()
	exported := fromPHP[struct {
		Data []struct {
			GroupID string `json:"group_id"`
			Data    []struct{ Name, Value string }
		}
	}](e.t, e.w, "return apply_filters('wp_privacy_personal_data_exporters', [])['bookside']['callback']('"+email+"', 1);")
	for _, item := range exported.Data {
		groups = append(groups, item.GroupID)
		for _, field := range item.Data {
			text += field.Name + "=" + field.Value + "\n"
		}
	}
	return groups, text
}

// erase erases a person and returns the messages.
func (e *erasureSite) erase(email string) string {
	e.t.Helper()
	erased := fromPHP[struct {
		Messages []string
		Done     bool
	}](e.t, e.w, "return apply_filters('wp_privacy_personal_data_erasers', [])['bookside']['callback']('"+email+"', 1);")
	if !erased.Done {
		e.t.Error("not done")
	}
	return strings.Join(erased.Messages, "\n")
}

// wantNowhere fails the test if a table contains one of the texts; invoices stay as they were issued.
func (e *erasureSite) wantNowhere(texts ...string) {
	e.t.Helper()
	for _, text := range texts {
		for _, place := range placesOf(e.t, e.db, text) {
			expect.Equal(e.t, "wp_latepoint_order_invoices.data", place, text, " is still in")
		}
	}
}

// history returns the number of activities and of jobs that contain a text.
func (e *erasureSite) history(text string) string {
	e.t.Helper()
	return queryText(e.t, e.db, `SELECT CONCAT((SELECT COUNT(*) FROM wp_latepoint_activities WHERE description LIKE '%`+text+`%'), ' ',
		(SELECT COUNT(*) FROM wp_latepoint_process_jobs WHERE settings LIKE '%`+text+`%'))`)
}

// TestCompanionErasesWhatIsLeft: what LatePoint keeps of deleted bookings and customers, or of customers
// who had another address, is found through the address in it and through the ids that this leads to.
func TestCompanionErasesWhatIsLeft(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	w := newCompanionSite(t, db)
	w.Run(t, `update_option('bookside_companion', ['jobs' => true]);`)
	db.Execute(t, `DELETE FROM wp_latepoint_processes`)
	db.Execute(t, `DELETE FROM wp_latepoint_settings WHERE name = 'notifications_email_processor'`)
	db.Execute(t, `INSERT INTO wp_latepoint_settings (name, value) VALUES ('notifications_email_processor', 'wp_mail')`)
	for _, event := range []string{"booking_created", "booking_updated", "customer_created"} {
		db.Execute(t, `INSERT INTO wp_latepoint_processes (name, event_type, status, actions_json) VALUES ('P', '`+event+`', 'active', '[{"type":"group","trigger_condition":false,"time_offset":[],"items":[
			{"type":"action","id":"pa_1","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{customer_full_name}} <{{customer_email}}>","subject":"S","content":"{{customer_first_name}} {{agent_email}}"}}},
			{"type":"action","id":"pa_2","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{agent_email}}","subject":"{{customer_first_name}}","content":"{{customer_phone}} {{manage_booking_url_agent}}"}}}]}]')`)
	}
	environment := settingsFor(db)
	e := &erasureSite{t: t, w: w, db: db, s: serve(t, environment), key: newKey(t, environment, "--permissions", "read,write,delete")}
	part := func(t *testing.T) *erasureSite {
		t.Helper()
		p := *e
		p.t = t
		t.Cleanup(func() { e.day = p.day })
		return &p
	}

	t.Run("a booking that was deleted first", func(t *testing.T) {
		e := part(t)
		m, other := e.book("Xaverl"), e.book("Yvonna")
		e.send(http.MethodDelete, "/bookings/"+m.booking+"?force=true", "", http.StatusOK)
		if got := queryText(t, db, "SELECT COUNT(*) FROM wp_latepoint_process_jobs WHERE object_model_type = 'n/a' AND settings LIKE '%Xaverl%'"); got == "0" {
			t.Fatal("no mail waits")
		}
		groups, text := e.export(m.email)
		for _, group := range []string{"latepoint-activities", "latepoint-jobs", "latepoint-payments", "latepoint-orders", "bookside-responses"} {
			if !slices.Contains(groups, group) {
				t.Errorf("nothing of %s is exported: %v", group, groups)
			}
		}
		if strings.Contains(text, m.link) || strings.Contains(text, other.name) || !strings.Contains(text, "booking_deleted") && !strings.Contains(text, m.note) {
			t.Errorf("exported: %s", text)
		}
		before := e.history(other.name)
		e.erase(m.email)
		e.wantNowhere(m.name, m.email, m.phone, m.note, m.link)
		expect.Equal(t, before, e.history(other.name), "history of another customer")
	})
	t.Run("a customer who was deleted first", func(t *testing.T) {
		e := part(t)
		m := e.book("Zdenka")
		e.send(http.MethodDelete, "/bookings/"+m.booking+"?force=true", "", http.StatusOK)
		e.send(http.MethodDelete, "/customers/"+m.customer, "", http.StatusOK)
		if got := queryText(t, db, "SELECT COUNT(*) FROM wp_latepoint_customers WHERE id = "+m.customer); got != "0" || e.history(m.name) == "0 0" {
			t.Fatalf("customers: %s, history %s", got, e.history(m.name))
		}
		if groups, _ := e.export(m.email); !slices.Contains(groups, "latepoint-activities") || !slices.Contains(groups, "latepoint-jobs") || !slices.Contains(groups, "latepoint-invoices") {
			t.Errorf("exported: %v", groups)
		}
		expect.Texts(t, e.erase(m.email), "1 invoice stays")
		e.wantNowhere(m.name, m.email, m.phone, m.note, m.link)
	})
	t.Run("a customer who changed the address", func(t *testing.T) {
		e := part(t)
		m := e.book("Wendelin")
		const now = "wendelin.new@people.example"
		e.send(http.MethodPut, "/customers/"+m.customer, `{"email":"`+now+`"}`, http.StatusOK)
		expect.Texts(t, e.erase(now), "1 upcoming appointment stays", "1 invoice stays")
		e.wantNowhere(m.name, m.email, m.phone, m.note, m.link, now)
	})
	t.Run("the former address of a customer", func(t *testing.T) {
		e := part(t)
		m := e.book("Veronique")
		const now = "veronique.new@people.example"
		e.send(http.MethodPut, "/customers/"+m.customer, `{"email":"`+now+`"}`, http.StatusOK)
		if groups, text := e.export(m.email); !slices.Contains(groups, "latepoint-invoices") || !strings.Contains(text, m.email) {
			t.Errorf("the invoice to the former address is not exported: %v", groups)
		}
		expect.Texts(t, e.erase(m.email), "customer "+m.customer+" had this address and has another one now", "1 invoice stays")
		e.wantNowhere(m.email)
		expect.Equal(t, m.name+" "+now, queryText(t, db, "SELECT CONCAT(first_name, ' ', email) FROM wp_latepoint_customers WHERE id = "+m.customer), "the customer is")
	})
	t.Run("a booking that went to another customer", func(t *testing.T) {
		e := part(t)
		m, other := e.book("Ursel"), e.book("Traudl")
		e.send(http.MethodPut, "/bookings/"+m.booking, `{"customer_id":`+other.customer+`}`, http.StatusOK)
		e.send(http.MethodPut, "/bookings/"+m.booking, `{"start_time":"11:30"}`, http.StatusOK)
		e.send(http.MethodDelete, "/bookings/"+m.booking+"?force=true", "", http.StatusOK)
		if _, text := e.export(m.email); strings.Contains(text, other.name) || !strings.Contains(text, m.name) {
			t.Errorf("exported: %s", text)
		}
		if groups, _ := e.export(m.email); !slices.Contains(groups, "latepoint-invoices") {
			t.Errorf("the invoice of what went to another customer is not exported: %v", groups)
		}
		if groups, text := e.export(other.email); strings.Contains(text, m.name) || !slices.Contains(groups, "latepoint-invoices") {
			t.Errorf("exported to the other customer: %v %s", groups, text)
		}
		moved := queryText(t, db, "SELECT COUNT(*) FROM wp_latepoint_activities WHERE booking_id = "+m.booking+" AND description LIKE '%Traudl%' AND description NOT LIKE '%Ursel%'")
		expect.Texts(t, e.erase(m.email), "1 invoice stays")
		e.wantNowhere(m.name, m.email, m.phone)
		if got := queryText(t, db, "SELECT COUNT(*) FROM wp_latepoint_activities WHERE booking_id = "+m.booking+" AND description LIKE '%Traudl%'"); got != moved || got == "0" {
			t.Errorf("%s entries of the other customer are left of %s", got, moved)
		}
	})
	t.Run("an address that the site writes to about its customers", func(t *testing.T) {
		e := part(t)
		m := e.book("Severin")
		agent := queryText(t, db, "SELECT email FROM wp_latepoint_agents WHERE id = 2")
		before := e.history(m.name)
		if _, text := e.export(agent); strings.Contains(text, m.name) {
			t.Errorf("exported to the agent: %s", text)
		}
		e.erase(agent)
		expect.Equal(t, before, e.history(m.name), "history of the customer")
	})
	t.Run("errors of extensions", func(t *testing.T) {
		e := part(t)
		m, other := e.book("Wendelin"), e.book("Ottilie")
		fail := func(event, record, failure string) {
			db.Execute(t, fmt.Sprintf(`INSERT INTO wp_bookside_events (event, record_id, status, tries, due_at, failure, created_at) VALUES ('%s', %s, 'failed', 1, '2031-01-01', '%s', '2031-01-01')`, event, record, failure))
		}
		fail("booking_created", m.booking, "the CRM rejects Wendelin")
		fail("customer_updated", m.customer, "Wendelin is known")
		fail("order_created", "999999", "the CRM rejects "+m.email)
		fail("booking_created", other.booking, "the CRM rejects Ottilie")
		w.Run(t, fmt.Sprintf(`bookside_companion_failed('events', 'booking_created %s: rejects Wendelin'); bookside_companion_failed('ask', 'rejects %s'); bookside_companion_failed('jobs', 'is away');`, m.booking, m.email))
		e.erase(m.email)
		e.wantNowhere(m.name, m.email)
		expect.Equal(t, "the CRM rejects Ottilie", queryText(t, db, "SELECT GROUP_CONCAT(failure) FROM wp_bookside_events WHERE failure <> ''"), "errors")
		if got, want := w.Run(t, "foreach (bookside_companion_failures() as $what => $failure) { echo $what, ' ', $failure['count'], ' ', $failure['message'], '; '; }"), "events 1 …; ask 1 …; jobs 1 is away; "; got != want {
			t.Errorf("failures %q, want %q", got, want)
		}
	})
	t.Run("a user of WordPress", func(t *testing.T) {
		e := part(t)
		m := e.book("Romina")
		user := w.Run(t, `echo wp_insert_user(['user_login' => 'romina', 'user_email' => 'romina.wp@people.example', 'user_pass' => 'x', 'role' => 'subscriber']);`)
		db.Execute(t, "UPDATE wp_latepoint_customers SET wordpress_user_id = "+user+" WHERE id = "+m.customer)
		expect.Texts(t, e.erase(m.email), "The WordPress user romina stays")
	})
	expect.Equal(t, "", w.Faults(t))
}
