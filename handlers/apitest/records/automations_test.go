package records_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.JobCron)
	created := s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	booking := fmt.Sprintf("/bookings/%v", created.At("data", "id"))
	order := fmt.Sprint(s.Get(booking).Want(http.StatusOK).At("data", "order", "id"))

	for _, step := range []struct{ name, method, path, body, conditions string }{
		{"a booking is created", http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-08"`), `
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
		s.Database.Execute(t, "DELETE FROM wp_latepoint_processes", "DELETE FROM wp_latepoint_process_jobs")
		var want []string
		for line := range strings.Lines(strings.TrimSpace(step.conditions)) {
			text, _, _ := strings.Cut(line, "#") // why
			words := append(strings.Fields(text), "")
			c := condition{words[1], words[2], words[3], words[4]}
			s.Database.Execute(t, c.automation())
			if words[0] == "yes" {
				want = append(want, c.name())
			}
		}
		if a := s.Write(step.method, step.path, step.body); a.Status/100 != 2 {
			t.Fatalf("%s: %d %s", step.name, a.Status, a.Body)
		}
		slices.Sort(want)
		expect.Equal(t, want, s.Texts("SELECT DISTINCT JSON_UNQUOTE(JSON_EXTRACT(process_info, '$.name')) AS name FROM wp_latepoint_process_jobs ORDER BY name COLLATE utf8mb4_bin"), fmt.Sprintf("%s: automations with a job", step.name))
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
			name: "mail_booking", event: "booking_created", method: http.MethodPost, path: "/bookings", body: apitest.Friday("send_confirmation", "true"),
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
			s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
			s.Database.Execute(t, append(tc.setup, apitest.JobCron, "DELETE FROM wp_latepoint_processes", contentAutomation(t, tc.event))...)
			if a := s.Write(tc.method, tc.path, tc.body); a.Status/100 != 2 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			var settings string
			s.Database.Scan(t, "SELECT settings FROM wp_latepoint_process_jobs", &settings)
			var job struct {
				Data map[string]struct{ Subject, Content string } `json:"action_data"`
			}
			expect.NoError(t, json.Unmarshal([]byte(settings), &job))
			mail, text := job.Data["pa_mail"], job.Data["pa_text"]
			apitest.GoldenFile(t, tc.name+".html", []byte("<!-- "+mail.Subject+" -->\n"+mail.Content+"\n"))
			apitest.GoldenFile(t, tc.name+".txt", []byte(text.Content+"\n"))
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

// newGermanWriter returns a server of a German site, and the path of its translation.
func newGermanWriter(t *testing.T) (*apitest.Server, string) {
	t.Helper()
	t.Parallel()
	s := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())
	content := t.TempDir()
	s.Platform.Languages = text.NewTranslations(content)
	s.Database.Execute(t, apitest.JobCron, "DELETE FROM wp_options WHERE option_name = 'WPLANG'", "INSERT INTO wp_options (option_name, option_value) VALUES ('WPLANG', 'de_DE')",
		"DELETE FROM wp_latepoint_processes")
	return s, fixtures.WriteTranslation(t, content, "de_DE", apitest.German)
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
		if got := s.Texts(heading); len(got) != 1 || got[0] != texts {
			t.Errorf("%q, want %q", got, texts)
		}
	}
	book := func(day string) {
		t.Helper()
		s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"`+day+`"`, "price", "85")).Want(http.StatusCreated)
	}
	book("2027-02-05")
	want("Dienstleistung Dienstleistung")
	booking := s.Texts("SELECT MAX(id) FROM wp_latepoint_bookings")[0]
	s.Database.Execute(t, "UPDATE wp_latepoint_orders SET price_breakdown = '' ORDER BY id DESC LIMIT 1")
	s.Write(http.MethodPut, "/bookings/"+booking, `{"price":70}`).Want(http.StatusOK)
	want("Dienstleistung Dienstleistung")

	changed := strings.TrimSuffix(path, "languages/plugins/latepoint-de_DE.mo")
	fixtures.WriteTranslation(t, changed, "de_DE", map[string]string{"Service": "Termin"})
	expect.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
	book("2027-02-12")
	want("Termin Termin")
	expect.NoError(t, os.WriteFile(path, []byte("no translation"), 0o644))
	book("2027-02-19")
	want("Service Service")

	fixtures.WriteTranslation(t, changed, "de_DE", apitest.German)
	s.Database.Execute(t, "UPDATE wp_options SET option_value = '' WHERE option_name = 'WPLANG'")
	book("2027-02-26")
	want("Service Service")
}

// TestMailsAreTranslated: the same applies to mails, whose statuses, sums and months come from the plugin.
// The site's custom statuses are not translated.
func TestMailsAreTranslated(t *testing.T) {
	s, _ := newGermanWriter(t)
	s.Database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name IN ('additional_booking_statuses', 'date_format', 'disable_verbose_date_output')",
		"INSERT INTO wp_latepoint_settings (name, value) VALUES ('additional_booking_statuses', 'In Progress'), ('date_format', 'd.m.Y')")
	const variables = "{{booking_status}}|{{booking_duration}}|{{start_date}}|{{order_status}}|{{order_fulfillment_status}}|{{order_payment_status}}|{{order_summary_breakdown}}|{{order_transactions_breakdown}}"
	for id, event := range []string{"booking_created", "booking_updated"} {
		actions, err := json.Marshal([]any{map[string]any{"type": "group", "trigger_condition": false, "time_offset": []any{}, "items": []any{
			map[string]any{"type": "action", "id": "pa_text", "settings": map[string]any{"status": "active", "type": "send_sms", "settings": map[string]any{"to_phone": "+49301", "content": variables}}},
		}}})
		expect.NoError(t, err)
		if _, err := s.Database.SQL.ExecContext(t.Context(), "INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (?, 'P', ?, 'active', ?)", 90+id, event, string(actions)); err != nil {
			t.Fatal(err)
		}
	}
	message := func() string {
		t.Helper()
		return s.Texts("SELECT JSON_UNQUOTE(JSON_EXTRACT(settings, '$.action_data.pa_text.content')) FROM wp_latepoint_process_jobs ORDER BY id DESC LIMIT 1")[0]
	}
	id := s.Write(http.MethodPost, "/bookings", apitest.Friday("price", "85", "send_confirmation", "true")).Want(http.StatusCreated).At("data", "id")
	got := message()
	for _, text := range []string{
		"Genehmigt|", " minuten|5 Feb., 2027|", "Offen|Nicht erfüllt|Nicht bezahlt|", "Zahlungen und Gutschriften: ", "Fälliger Betrag: ", "|Keine Transaktionen gefunden.",
	} {
		apitest.WantContains(t, text, got, "the mail")
	}
	booking := "/bookings/" + fmt.Sprint(id)
	order := s.Texts("SELECT MAX(id) FROM wp_latepoint_orders")[0]
	s.Write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":"85","payment_method":"local","status":"succeeded"}`).Want(http.StatusCreated)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'in_progress' WHERE id = "+fmt.Sprint(id))
	s.Write(http.MethodPut, booking, `{"start_time":"13:30","send_notification":true}`).Want(http.StatusOK)
	if got := message(); !strings.HasPrefix(got, "In Progress|") || !strings.Contains(got, "|Vollständig bezahlt|") || !strings.Contains(got, "|Voller Saldo: ") {
		t.Errorf("%q", got)
	}
	description := s.Texts("SELECT description FROM wp_latepoint_activities WHERE code = 'booking_updated' ORDER BY id DESC LIMIT 1")[0]
	apitest.WantContains(t, `"payment_portion":"Voller Saldo"`, description, "the entry of the activity log")
}

// TestStatementsOfANewBooking: the number of statements is fixed, and each
// further notification adds at most one.
func TestStatementsOfANewBooking(t *testing.T) {
	t.Parallel()
	const bound = 30
	automation := func(id int) string {
		return fmt.Sprintf(`INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (%d, 'P', 'booking_created', 'active',
			'[{"type":"group","trigger_condition":false,"items":[{"type":"action","id":"pa_%d","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{customer_email}}","subject":"S","content":"C"}}}],"time_offset":[]}]')`, id, id)
	}
	for name, c := range map[string]struct {
		setup []string
		jobs  int
	}{
		"nobody sends mails": {nil, 0},
		"one notification":   {[]string{apitest.JobCron}, 1},
		"the content of the order": {[]string{
			apitest.JobCron, "DELETE FROM wp_latepoint_processes", "INSERT INTO wp_latepoint_settings (name, value) VALUES ('business_logo', '77')", contentAutomation(t, "booking_created"),
		}, 1},
		"several notifications ": {[]string{apitest.JobCron, automation(50), automation(51), automation(52)}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, fixtures.SiteA())
			s.Database.Execute(t, append(c.setup, apitest.FillLocks)...)
			before := s.Database.Snapshot(t)
			s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)).Want(http.StatusCreated)
			if n := s.Log.Last(t).Queries; n > bound+c.jobs {
				t.Errorf("%d statements, want at most %d", n, bound+c.jobs)
			}
			jobs := 0
			for _, change := range fixtures.Changes(before, before.Again(t)) {
				if change.Table == "latepoint_process_jobs" {
					jobs++
				}
			}
			expect.Equal(t, c.jobs, jobs, "jobs")
		})
	}
}

// formPairs returns the members of an object as names and values of a form. Lists and objects are JSON
// texts, as automation tools send them.
func formPairs(t testing.TB, document string) url.Values {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(document), &members); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	pairs := url.Values{}
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		pairs.Set(name, text)
	}
	return pairs
}

func urlEncoded(t testing.TB, document string) (contentType, body string) {
	t.Helper()
	return apitest.FormType, formPairs(t, document).Encode()
}

func multipartForm(t testing.TB, document string) (contentType, body string) {
	t.Helper()
	var parts strings.Builder
	writer := multipart.NewWriter(&parts)
	for name, values := range formPairs(t, document) {
		expect.NoError(t, writer.WriteField(name, values[0]))
	}
	expect.NoError(t, writer.Close())
	return writer.FormDataContentType(), parts.String()
}

// nodeRequests are requests of an automation tool's node for this API, with ids as texts and its own words where they differ from the
// contract's, as JSON unless they begin with a name.
var nodeRequests = []struct {
	method, path, body string
	status             int
}{
	{http.MethodPost, "/bookings/bulk", `{"bookings":` + nodeBookings + `}`, http.StatusCreated},
	{http.MethodPost, "/bookings/bulk", nodeBookings, http.StatusBadRequest}, // without a wrapper; the slot is taken now
	{http.MethodPost, "/bookings/bulk", `{"bookings":` + strconv.Quote(nodeBookings) + `,"send_confirmation":false}`, http.StatusBadRequest},
	{http.MethodPost, "/bookings", `{"service_id":"4","agent_id":"5","start_date":"2027-02-05","start_time":"13:00",` +
		`"customer":{"first_name":"John","last_name":"Doe","email":"john@example.com"},"status":"approved","send_confirmation":true,"description":"a booking"}`, http.StatusCreated},
	{http.MethodGet, "/availability?service_id=4&agent_id=5&date=2027-02-05", "", http.StatusOK},
	{http.MethodPost, "/bookings", "service_id=4&agent_id=5&start_date=2027-02-05&start_time=15:00&customer_id=9&status=pending", http.StatusCreated},
	{http.MethodGet, "/bookings/{id}", "", http.StatusOK},
	{http.MethodPut, "/bookings/{id}", `{"status":"approved"}`, http.StatusOK},
	{http.MethodPut, "/customers/9", `{"phone":"+52 55 1234"}`, http.StatusOK},
	{http.MethodPut, "/customers/9", "email=customer12@example.test", http.StatusBadRequest},
	{http.MethodPut, "/services/4", `{"charge_amount":"150.00","duration":90}`, http.StatusOK},
	{http.MethodPost, "/orders", `{"customer_id":"9","subtotal":"45.00","total":"50.00","status":"open","payment_status":"not_paid","fulfillment_status":"not_fulfilled","customer_comment":"c","coupon_code":""}`, http.StatusCreated},
	{http.MethodGet, "/orders/{id}", "", http.StatusOK},
	{http.MethodPost, "/payments", "booking_id=1441&customer_id=153&amount=135&status=pending&transaction_id=tx-1", http.StatusCreated},
	{http.MethodPut, "/payments/{id}", `{"status":"completed"}`, http.StatusOK},
	{http.MethodPut, "/payments/{id}", `{"transaction_id":"tx-2","notes":"x","amount":"135.00","booking_id":"1441","customer_id":"1"}`, http.StatusOK},
	{http.MethodPut, "/payments/{id}", `{"status":"refunded"}`, http.StatusOK},
	{http.MethodPost, "/coupons", "code=save10&name=Ten&description=d&discount_type=fixed&discount_value=10&active_from=2027-01-01&active_to=2027-12-31&usage_limit=", http.StatusCreated},
	{http.MethodGet, "/coupons/save10", "", http.StatusOK},
	{http.MethodPut, "/coupons/SAVE10", `{"name":"Fifteen","discount_type":"percent","discount_value":15,"usage_limit":0}`, http.StatusOK},
	{http.MethodDelete, "/coupons/SAVE10", "", http.StatusOK},
	{http.MethodGet, "/coupons/SAVE10", "", http.StatusNotFound},
}

const nodeBookings = `[{"service_id":"4","agent_id":"5","start_date":"2027-02-05","start_time":"10:00","customer":{"first_name":"John","last_name":"Doe","email":"john@example.com"}}]`

// TestAutomationNode replays the requests of the node with both headers for the key, as JSON and as both kinds of forms: the answers are the same.
func TestAutomationNode(t *testing.T) {
	t.Parallel()
	for name, variant := range map[string]struct {
		bearer bool
		encode func(t testing.TB, document string) (contentType, body string) // encodes JSON for the request; nil sends it as JSON
	}{
		"key header":      {},
		"bearer":          {bearer: true},
		"URL-encoded":     {encode: urlEncoded},
		"multipart forms": {encode: multipartForm},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
			s.Database.Execute(t, apitest.Setting("one_location_at_time", "on"))
			var answers []string
			id := ""
			for _, r := range nodeRequests {
				header := http.Header{"X-Api-Key": {s.Key}, "Accept": {"application/json"}, "Content-Type": {apitest.JSONType}}
				if variant.bearer {
					header.Del("X-Api-Key")
					header.Set("Authorization", "Bearer "+s.Key)
				}
				body := r.body
				switch {
				case body != "" && !strings.ContainsAny(body[:1], "{["):
					header.Set("Content-Type", apitest.FormType)
				case variant.encode != nil && strings.HasPrefix(body, "{"):
					var contentType string
					contentType, body = variant.encode(t, body)
					header.Set("Content-Type", contentType)
				}
				a := s.Send(r.method, "/wp-json/latepoint-api/v1"+strings.Replace(r.path, "{id}", id, 1), header, body).Want(r.status)
				if record := record(a); record["id"] != nil {
					id = fmt.Sprint(record["id"])
				}
				answers = append(answers, string(a.Body))
			}
			apitest.Golden(t, "automation_node", []byte("["+strings.Join(answers, ",")+"]"))
		})
	}
}
