package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
	"github.com/bookside/bookside/fixtures/expect"
)

// jobCron makes the site run its jobs.
const jobCron = `INSERT INTO wp_options (option_name, option_value) VALUES ('cron', 'a:1:{i:1795000000;a:1:{s:32:"latepoint_process_scheduled_jobs";a:0:{}}}')`

// condition is a condition of an automation.
type condition struct{ event, property, operator, value string }

// automation returns the statement that adds an automation with the condition, which sends a mail to the
// customer and is named after the condition.
func (c condition) automation() string {
	return fmt.Sprintf(`INSERT INTO wp_latepoint_processes (name, event_type, status, actions_json) VALUES ('%s', '%s', 'active',
		'[{"type":"group","trigger_condition":{"property":"%s"},"items":[{"type":"trigger_condition_branch","settings":{"operator":"%s","value":"%s"},"items":[{"type":"group","trigger_condition":false,
		"items":[{"type":"action","id":"pa_20","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{customer_email}}","subject":"S","content":"C"}}}]}]}],"time_offset":[]}]')`,
		c.name(), c.event, c.property, c.operator, c.value)
}

func (c condition) name() string {
	return fmt.Sprintf("%s: %s %s (%s)", c.event, c.property, c.operator, c.value)
}

// TestConditionsOfTheWorkflowForm: each condition that LatePoint's form offers for an event is true and
// false when it should be, for records that the API writes.
func TestConditionsOfTheWorkflowForm(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, jobCron)
	created := s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	booking := fmt.Sprintf("/bookings/%v", created.at("data", "id"))
	order := fmt.Sprint(s.get(booking).want(http.StatusOK).at("data", "order", "id"))

	for _, step := range []struct{ name, method, path, body, conditions string }{
		{"a booking is created", http.MethodPost, "/bookings", friday("start_date", `"2027-02-08"`), `
			yes booking_created booking__service_id equal 3,4
			yes booking_created booking__agent_id equal 5
			yes booking_created booking__status equal approved
			yes booking_created booking__order_item_counts equal 1
			yes order_created order__status equal open
			yes order_created order__fulfillment_status equal not_fulfilled
			yes order_created order__payment_status equal not_paid
			yes order_created order__order_item_counts less_or_equal 1
			yes booking_created order__status equal cancelled # the event has no order
			no booking_created booking__service_id equal 3
			no booking_created booking__agent_id not_equal 5
			no booking_created booking__status equal pending
			no booking_created booking__order_item_counts greater_than 1
			no order_created order__payment_status not_equal not_paid`},
		{"a booking is moved", http.MethodPut, booking, `{"start_time":"13:00","send_notification":true}`, `
			yes booking_updated old_booking__start_datetime_utc changed
			yes booking_updated old_booking__service_id equal 4
			yes booking_updated old_booking__agent_id equal 5
			yes booking_updated old_booking__order_item_counts not_equal 1 # NULL in the plugin
			no booking_updated old_booking__status changed
			no booking_updated old_booking__start_datetime_utc not_changed # never true in the plugin
			no booking_updated old_booking__order_item_counts equal 1`},
		{"a booking is cancelled", http.MethodPut, booking, `{"status":"cancelled","send_notification":true}`, `
			yes booking_updated old_booking__status changed
			yes booking_updated old_booking__status equal approved
			yes booking_updated booking__status equal cancelled
			no booking_updated old_booking__start_datetime_utc changed
			no booking_updated old_booking__status not_equal approved`},
		{"an order is updated", http.MethodPut, "/orders/" + order, `{"status":"completed","send_notification":true}`, `
			yes order_updated old_order__status changed
			yes order_updated old_order__status equal open
			yes order_updated old_order__fulfillment_status equal not_fulfilled
			yes order_updated old_order__payment_status equal not_paid
			yes order_updated old_order__order_item_counts not_equal 1 # NULL in the plugin
			yes order_updated order__status equal completed
			no order_updated old_order__fulfillment_status changed
			no order_updated old_order__payment_status not_equal not_paid
			no order_updated old_order__order_item_counts equal 1`},
		{"a payment is created", http.MethodPost, "/payments", `{"order_id":` + order + `,"amount":5,"payment_method":"card","processor":"stripe","payment_portion":"deposit","kind":"capture"}`, `
			yes transaction_created transaction__payment_method equal card
			yes transaction_created transaction__payment_portion equal deposit,remaining
			yes transaction_created transaction__kind equal capture
			no transaction_created transaction__payment_method equal cash
			no transaction_created transaction__payment_portion not_equal deposit
			no transaction_created transaction__kind equal authorization`},
	} {
		s.database.Execute(t, "DELETE FROM wp_latepoint_processes", "DELETE FROM wp_latepoint_process_jobs")
		var want []string
		for line := range strings.Lines(strings.TrimSpace(step.conditions)) {
			text, _, _ := strings.Cut(line, "#") // why
			words := append(strings.Fields(text), "")
			c := condition{words[1], words[2], words[3], words[4]}
			s.database.Execute(t, c.automation())
			if words[0] == "yes" {
				want = append(want, c.name())
			}
		}
		if a := s.write(step.method, step.path, step.body); a.status/100 != 2 {
			t.Fatalf("%s: %d %s", step.name, a.status, a.body)
		}
		slices.Sort(want)
		expect.Equal(t, want, s.texts("SELECT DISTINCT JSON_UNQUOTE(JSON_EXTRACT(process_info, '$.name')) AS name FROM wp_latepoint_process_jobs ORDER BY name COLLATE utf8mb4_bin"), fmt.Sprintf("%s: automations with a job", step.name))
	}
}

// mailLayout is a card as narrow as the plugin's own layout.
const mailLayout = `<div style="padding:20px;background:#eee;font-family:sans-serif"><div style="max-width:450px;margin:0 auto;padding:30px;background:#fff;font-size:16px;line-height:1.5">
<table style="width:100%"><tr><td>{{business_logo_image}}</td><td style="text-align:right"><a href="{{business_logo_url}}">{{business_name}}</a></td></tr></table>
<p>Hi {{customer_full_name}}, this is {{order_confirmation_code}}.</p>
<h4>Order Details</h4>
<div>{{order_items}}</div>
<h4>Order Summary</h4>
<div>{{order_summary_breakdown}}</div>
<h4>Payments</h4>
<div>{{order_transactions_breakdown}}</div>
</div></div>`

// contentAutomation returns the statement that adds an automation that sends all the content of an order by
// mail and as a text message.
func contentAutomation(t *testing.T, eventType string) string {
	t.Helper()
	action := func(id, kind string, settings map[string]string) map[string]any {
		return map[string]any{"type": "action", "id": id, "settings": map[string]any{"status": "active", "type": kind, "settings": settings}}
	}
	actions, err := json.Marshal([]any{map[string]any{"type": "group", "trigger_condition": false, "time_offset": []any{}, "items": []any{
		action("pa_mail", "send_email", map[string]string{"to_email": "{{customer_email}}", "subject": "{{order_items}}", "content": mailLayout}),
		action("pa_text", "send_sms", map[string]string{"to_phone": "+49301", "content": "{{business_logo_image}}\n{{order_items}}\n{{order_summary_breakdown}}\n{{order_transactions_breakdown}}"}),
	}}})
	expect.NoError(t, err)
	return "INSERT INTO wp_latepoint_processes (name, event_type, status, actions_json) VALUES ('P', '" + eventType + "', 'active', '" +
		strings.NewReplacer(`\`, `\\`, "'", "''").Replace(string(actions)) + "')"
}

// TestMailsHaveTheirContent: a mail of the site shows what was ordered, when, with whom and for how much,
// as a table in mails and as lines elsewhere.
func TestMailsHaveTheirContent(t *testing.T) {
	t.Parallel()
	const logo = `UPDATE wp_latepoint_settings SET value = '77' WHERE name = 'business_logo'`
	for _, tc := range []struct {
		name               string
		setup              []string
		event              string
		method, path, body string
	}{
		{
			name: "mail_booking", event: "booking_created", method: http.MethodPost, path: "/bookings", body: friday("send_confirmation", "true"),
			setup: []string{
				"DELETE FROM wp_latepoint_settings WHERE name = 'business_logo'", "INSERT INTO wp_latepoint_settings (name, value) VALUES ('business_logo', '77')", logo,
				"INSERT INTO wp_postmeta (post_id, meta_key, meta_value) VALUES (77, '_wp_attached_file', '2026/11/logo.png'), (77, '_wp_attachment_metadata', '" +
					`a:2:{s:5:"width";i:600;s:5:"sizes";a:1:{s:9:"thumbnail";a:1:{s:4:"file";s:16:"logo-150x150.png";}}}` + "')",
			},
		},
		{
			name: "mail_order", event: "order_updated", method: http.MethodPut, path: "/orders/1403", body: `{"status":"completed"}`,
			setup: []string{
				"INSERT INTO wp_latepoint_order_items (order_id, variant, item_data, subtotal, total) SELECT 1403, 'bundle', CONCAT('{\"bundle_id\":', MIN(id), '}'), 200, 200 FROM wp_latepoint_bundles",
				`UPDATE wp_latepoint_orders SET subtotal = 335, total = 325, coupon_code = 'TEN', coupon_discount = 10, price_breakdown = '{"before_subtotal":[{"heading":"Service","items":[{"label":"Deep tissue & <more>","raw_value":"135.0000","value":"135.00","note":"90 min"}]},` +
					`{"heading":"Bundles","items":[{"label":"Ten visits","raw_value":"200.0000","value":"€200"}]}],"after_subtotal":{"discounts":{"heading":"Discounts","items":[{"label":"Coupon","badge":"TEN","raw_value":"-10.0000","value":"-€10"}]}}}' WHERE id = 1403`,
				"INSERT INTO wp_latepoint_transactions (order_id, customer_id, processor, payment_method, payment_portion, kind, status, amount, created_at, updated_at) VALUES (1403, 153, 'stripe', 'card', 'deposit', 'capture', 'succeeded', 35.5, '2026-11-20 10:00:00', '2026-11-20 10:00:00')",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := ownWriter(t, fixtures.SiteA().WithFewBookings())
			s.database.Execute(t, append(tc.setup, jobCron, "DELETE FROM wp_latepoint_processes", contentAutomation(t, tc.event))...)
			if a := s.write(tc.method, tc.path, tc.body); a.status/100 != 2 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			var settings string
			s.database.Scan(t, "SELECT settings FROM wp_latepoint_process_jobs", &settings)
			var job struct {
				Data map[string]struct{ Subject, Content string } `json:"action_data"`
			}
			expect.NoError(t, json.Unmarshal([]byte(settings), &job))
			mail, text := job.Data["pa_mail"], job.Data["pa_text"]
			goldenFile(t, tc.name+".html", []byte("<!-- "+mail.Subject+" -->\n"+mail.Content+"\n"))
			goldenFile(t, tc.name+".txt", []byte(text.Content+"\n"))
			fitsItsLayout(t, tc.name, mail.Content)
		})
	}
}

// fitsItsLayout checks a mail on a phone: nothing is wider than the screen, and every table fills the card.
func fitsItsLayout(t *testing.T, name, content string) {
	t.Helper()
	page := filepath.Join(t.TempDir(), name+".html")
	expect.NoError(t, os.WriteFile(page, []byte("<!doctype html><meta charset=utf-8>"+content), 0o600))
	chromium := browser.New(t)
	expect.NoError(t, chromedp.Do(chromium, chromedp.EmulateViewport(360, 800), chromedp.Navigate("file://"+page)))
	overflow, err := chromedp.Run(chromium, chromedp.Evaluate[int]("document.documentElement.scrollWidth - 360"))
	expect.NoError(t, err)
	if overflow > 0 {
		t.Errorf("the mail is %d pixels wider than a phone", overflow)
	}
	browser.Screenshot(chromium, t, name)
}

// scalar reads one value from the site's database.
func scalar[T any](t *testing.T, s *server, query string) (value T) {
	t.Helper()
	s.database.Scan(t, query, &value)
	return value
}

// german holds translations like those in the plugin's own file.
var german = map[string]string{
	"Service": "Dienstleistung", "Approved": "Genehmigt", "Cancelled": "Abgesagt", "minutes": "minuten", "Feb": "Feb.", "February": "Februar",
	"Open": "Offen", "Not Fulfilled": "Nicht erfüllt", "Not Paid": "Nicht bezahlt", "Fully Paid": "Vollständig bezahlt",
	"Payments and Credits": "Zahlungen und Gutschriften", "Balance Due": "Fälliger Betrag",
	"No transactions found.": "Keine Transaktionen gefunden.", "Full Balance": "Voller Saldo", "In Progress": "wrong",
}

// newGermanWriter returns a server of a German site, and the path of its translation.
func newGermanWriter(t *testing.T) (*server, string) {
	t.Helper()
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	content := t.TempDir()
	s.platform.Languages = text.NewTranslations(content)
	s.database.Execute(t, jobCron, "DELETE FROM wp_options WHERE option_name = 'WPLANG'", "INSERT INTO wp_options (option_name, option_value) VALUES ('WPLANG', 'de_DE')",
		"DELETE FROM wp_latepoint_processes")
	return s, fixtures.WriteTranslation(t, content, "de_DE", german)
}

// heading is the heading of the price breakdown of the newest order, and that of its invoice.
const heading = "SELECT CONCAT_WS(' ', JSON_VALUE(o.price_breakdown, '$.before_subtotal[0].heading'), JSON_VALUE(i.data, '$.price_breakdown.before_subtotal[0].heading'))" +
	" FROM wp_latepoint_orders o JOIN wp_latepoint_order_invoices i ON i.order_id = o.id ORDER BY o.id DESC LIMIT 1"

// TestStoredTextsAreTranslated: price breakdowns and invoices have the plugin's text in the site's
// language, from the present translation file.
func TestStoredTextsAreTranslated(t *testing.T) {
	s, path := newGermanWriter(t)
	want := func(texts string) {
		t.Helper()
		if got := s.texts(heading); len(got) != 1 || got[0] != texts {
			t.Errorf("%q, want %q", got, texts)
		}
	}
	book := func(day string) {
		t.Helper()
		s.write(http.MethodPost, "/bookings", friday("start_date", `"`+day+`"`, "price", "85")).want(http.StatusCreated)
	}
	book("2027-02-05")
	want("Dienstleistung Dienstleistung")
	booking := s.texts("SELECT MAX(id) FROM wp_latepoint_bookings")[0]
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET price_breakdown = '' ORDER BY id DESC LIMIT 1")
	s.write(http.MethodPut, "/bookings/"+booking, `{"price":70}`).want(http.StatusOK)
	want("Dienstleistung Dienstleistung")

	changed := strings.TrimSuffix(path, "languages/plugins/latepoint-de_DE.mo")
	fixtures.WriteTranslation(t, changed, "de_DE", map[string]string{"Service": "Termin"})
	expect.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
	book("2027-02-12")
	want("Termin Termin")
	expect.NoError(t, os.WriteFile(path, []byte("no translation"), 0o644))
	book("2027-02-19")
	want("Service Service")

	fixtures.WriteTranslation(t, changed, "de_DE", german)
	s.database.Execute(t, "UPDATE wp_options SET option_value = '' WHERE option_name = 'WPLANG'")
	book("2027-02-26")
	want("Service Service")
}

// TestMailsAreTranslated: the same applies to mails, whose statuses, sums and months come from the plugin.
// The site's custom statuses are not translated.
func TestMailsAreTranslated(t *testing.T) {
	s, _ := newGermanWriter(t)
	s.database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name IN ('additional_booking_statuses', 'date_format', 'disable_verbose_date_output')",
		"INSERT INTO wp_latepoint_settings (name, value) VALUES ('additional_booking_statuses', 'In Progress'), ('date_format', 'd.m.Y')")
	const variables = "{{booking_status}}|{{booking_duration}}|{{start_date}}|{{order_status}}|{{order_fulfillment_status}}|{{order_payment_status}}|{{order_summary_breakdown}}|{{order_transactions_breakdown}}"
	for id, event := range []string{"booking_created", "booking_updated"} {
		actions, err := json.Marshal([]any{map[string]any{"type": "group", "trigger_condition": false, "time_offset": []any{}, "items": []any{
			map[string]any{"type": "action", "id": "pa_text", "settings": map[string]any{"status": "active", "type": "send_sms", "settings": map[string]any{"to_phone": "+49301", "content": variables}}},
		}}})
		expect.NoError(t, err)
		if _, err := s.database.SQL.ExecContext(t.Context(), "INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (?, 'P', ?, 'active', ?)", 90+id, event, string(actions)); err != nil {
			t.Fatal(err)
		}
	}
	message := func() string {
		t.Helper()
		return s.texts("SELECT JSON_UNQUOTE(JSON_EXTRACT(settings, '$.action_data.pa_text.content')) FROM wp_latepoint_process_jobs ORDER BY id DESC LIMIT 1")[0]
	}
	id := s.write(http.MethodPost, "/bookings", friday("price", "85", "send_confirmation", "true")).want(http.StatusCreated).at("data", "id")
	got := message()
	for _, text := range []string{
		"Genehmigt|", " minuten|5 Feb., 2027|", "Offen|Nicht erfüllt|Nicht bezahlt|", "Zahlungen und Gutschriften: ", "Fälliger Betrag: ", "|Keine Transaktionen gefunden.",
	} {
		wantContains(t, text, got, "the mail")
	}
	booking := "/bookings/" + fmt.Sprint(id)
	order := s.texts("SELECT MAX(id) FROM wp_latepoint_orders")[0]
	s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":"85","payment_method":"local","status":"succeeded"}`).want(http.StatusCreated)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'in_progress' WHERE id = "+fmt.Sprint(id))
	s.write(http.MethodPut, booking, `{"start_time":"13:30","send_notification":true}`).want(http.StatusOK)
	if got := message(); !strings.HasPrefix(got, "In Progress|") || !strings.Contains(got, "|Vollständig bezahlt|") || !strings.Contains(got, "|Voller Saldo: ") {
		t.Errorf("%q", got)
	}
	description := s.texts("SELECT description FROM wp_latepoint_activities WHERE code = 'booking_updated' ORDER BY id DESC LIMIT 1")[0]
	wantContains(t, `"payment_portion":"Voller Saldo"`, description, "the entry of the activity log")
}
