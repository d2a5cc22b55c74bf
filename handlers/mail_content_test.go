package handlers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithFewBookings())
			s.database.Execute(t, append(tc.setup, jobCron, "DELETE FROM wp_latepoint_processes", contentAutomation(t, tc.event))...)
			if a := s.write(tc.method, tc.path, tc.body); a.status/100 != 2 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			var settings string
			s.database.Scan(t, "SELECT settings FROM wp_latepoint_process_jobs", &settings)
			var job struct {
				Data map[string]struct{ Subject, Content string } `json:"action_data"`
			}
			if err := json.Unmarshal([]byte(settings), &job); err != nil {
				t.Fatal(err)
			}
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
	if err := os.WriteFile(page, []byte("<!doctype html><meta charset=utf-8>"+content), 0o600); err != nil {
		t.Fatal(err)
	}
	chromium := browser.New(t)
	if err := chromedp.Do(chromium, chromedp.EmulateViewport(360, 800), chromedp.Navigate("file://"+page)); err != nil {
		t.Fatal(err)
	}
	overflow, err := chromedp.Run(chromium, chromedp.Evaluate[int]("document.documentElement.scrollWidth - 360"))
	if err != nil {
		t.Fatal(err)
	}
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
