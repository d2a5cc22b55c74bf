package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures"
)

// newPriceWriter returns a server whose site gets the currency and language of recorded prices.
func newPriceWriter(t *testing.T) (s *server, become func(fixtures.RecordedPrices)) {
	t.Helper()
	s = newWriter(t, fixtures.SiteA().WithFewBookings())
	content := t.TempDir()
	s.platform.Languages = text.NewTranslations(content)
	fixtures.WriteTranslation(t, content, "de_DE", german)
	s.database.Execute(t, jobCron, "DELETE FROM wp_latepoint_processes")
	return s, func(p fixtures.RecordedPrices) {
		t.Helper()
		s.database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name LIKE 'currency_symbol_%' OR name LIKE '%_separator' OR name = 'number_of_decimals'",
			"DELETE FROM wp_options WHERE option_name = 'WPLANG'", "INSERT INTO wp_options (option_name, option_value) VALUES ('WPLANG', '"+p.Language+"')")
		for name, value := range p.Settings {
			s.database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('"+name+"', '"+quoted(value)+"')")
		}
	}
}

// quoted returns a text for a literal of SQL.
func quoted(text string) string { return strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) }

// TestPricesAsVisitorsReadThem: order and invoice have, byte for byte, the breakdown that the same booking gets
// when a visitor makes it, whatever the currency.
func TestPricesAsVisitorsReadThem(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s, become := newPriceWriter(t)
	site, compared := "", 0
	for _, recorded := range fixtures.RecordedBreakdowns(t) {
		if strings.Contains(recorded.Breakdown, `"after_subtotal":{`) {
			continue // discounts and taxes of the recorder, which no setting computes
		}
		compared++
		if now := fmt.Sprint(recorded.Settings, recorded.Language); now != site {
			become(recorded.RecordedPrices)
			site = now
		}
		s.database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_services SET name = '%s', charge_amount = %s WHERE id = 4", quoted(recorded.Service), recorded.Amount))
		a := s.write(http.MethodPost, "/bookings", friday())
		if a.status != http.StatusCreated {
			t.Errorf("%s: %d %s", recorded.Name, a.status, a.body)
			continue
		}
		id := fmt.Sprint(a.at("data", "id"))
		const order = "FROM wp_latepoint_orders o JOIN wp_latepoint_order_items i ON i.order_id = o.id JOIN wp_latepoint_bookings b ON b.order_item_id = i.id "
		got := s.texts("SELECT o.price_breakdown " + order + "WHERE b.id = " + id)
		wantEqual(t, []string{recorded.Breakdown}, got, "%s", recorded.Name)
		for _, data := range s.texts("SELECT v.data " + order + "JOIN wp_latepoint_order_invoices v ON v.order_id = o.id WHERE b.id = " + id) {
			if !strings.Contains(data, `,"price_breakdown":`+recorded.Breakdown+`,"tax_id":`) {
				t.Errorf("%s: the invoice has %s", recorded.Name, data)
			}
		}
		s.database.Execute(t, "DELETE FROM wp_latepoint_bookings WHERE id = "+id)
	}
	wantEqual(t, 172, compared, "compared prices")
}

// TestPricesOfUnsetSettings: settings of the currency that are there without a value leave its separators to PHP.
func TestPricesOfUnsetSettings(t *testing.T) {
	t.Parallel()
	s, become := newPriceWriter(t)
	become(fixtures.RecordedPrices{Settings: map[string]string{"thousand_separator": "", "decimal_separator": "", "currency_symbol_before": "", "number_of_decimals": "2"}})
	for _, c := range []struct{ arrange, want string }{
		{"SELECT 1", "123450"},
		{"UPDATE wp_latepoint_settings SET value = NULL WHERE name LIKE '%_separator' OR name = 'currency_symbol_before'", "1,234.50"},
		{"UPDATE wp_latepoint_settings SET value = NULL WHERE name = 'number_of_decimals'", "1,235"},
	} {
		s.database.Execute(t, c.arrange)
		s.write(http.MethodPost, "/bookings", friday("price", "1234.5")).want(http.StatusCreated)
		wantEqual(t, c.want, s.texts("SELECT JSON_VALUE(price_breakdown, '$.before_subtotal[0].items[0].value') FROM wp_latepoint_orders ORDER BY id DESC LIMIT 1")[0], "%s", c.arrange)
		s.database.Execute(t, "DELETE FROM wp_latepoint_bookings ORDER BY id DESC LIMIT 1")
	}
}

// Rows of tables in mails, and the cells in them.
var (
	tableRow  = regexp.MustCompile(`<tr>(.*?)</tr>`)
	tableCell = regexp.MustCompile(`<td[^>]*>(.*?)</td>`)
	note      = regexp.MustCompile(` <span[^>]*>(.*?)</span>`)
)

// TestPricesInMails: mails show what an order costs as the plugin's own mails do, row for row, and prices
// elsewhere without empty decimals.
func TestPricesInMails(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s, become := newPriceWriter(t)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("price", "1234.5")).want(http.StatusCreated).at("data", "id"))
	order := s.texts("SELECT MAX(id) FROM wp_latepoint_orders")[0]
	s.database.Execute(t, "UPDATE wp_latepoint_services SET name = 'Course <b>six</b> weeks' WHERE id = 4")
	variables := []string{"order_subtotal", "order_total", "order_payments_total", "order_balance_due_total", "order_coupon_discount"}
	content := "{{order_summary_breakdown}}|{{order_transactions_breakdown}}|{{" + strings.Join(variables, "}}|{{") + "}}"
	actions, err := json.Marshal([]any{map[string]any{"type": "group", "trigger_condition": false, "time_offset": []any{}, "items": []any{
		map[string]any{"type": "action", "id": "pa_mail", "settings": map[string]any{"status": "active", "type": "send_email", "settings": map[string]string{"to_email": "{{customer_email}}", "content": content}}},
	}}})
	noError(t, err)
	s.database.Execute(t, "INSERT INTO wp_latepoint_processes (name, event_type, status, actions_json) VALUES ('P', 'order_updated', 'active', '"+quoted(string(actions))+"')")
	mails := fixtures.RecordedMails(t)
	for i, mail := range mails {
		become(mail.RecordedPrices)
		discount := "NULL"
		if mail.CouponDiscount != nil {
			discount = *mail.CouponDiscount
		}
		s.database.Execute(t, "DELETE FROM wp_latepoint_transactions WHERE order_id = "+order, "DELETE FROM wp_latepoint_process_jobs",
			fmt.Sprintf("UPDATE wp_latepoint_orders SET price_breakdown = '%s', subtotal = %s, total = %s, coupon_discount = %s WHERE id = %s", quoted(mail.Breakdown), mail.Subtotal, mail.Total, discount, order))
		portion := "full"
		if len(mail.Payments) > 0 && mail.Payments[0] == "Deposit" {
			portion = "deposit"
		}
		for _, amount := range mail.Transactions {
			s.database.Execute(t, "INSERT INTO wp_latepoint_transactions (order_id, customer_id, processor, payment_method, payment_portion, kind, status, amount, created_at, updated_at) VALUES ("+
				order+", 9, 'stripe', 'card', '"+portion+"', 'capture', 'succeeded', "+amount+", NOW(), NOW())")
		}
		s.write(http.MethodPut, "/orders/"+order, fmt.Sprintf(`{"customer_comment":"change %d"}`, i)).want(http.StatusOK)
		texts := strings.Split(s.texts("SELECT JSON_VALUE(settings, '$.action_data.pa_mail.content') FROM wp_latepoint_process_jobs")[0], "|")
		var rows []fixtures.RecordedPriceRow
		for _, row := range tableRow.FindAllStringSubmatch(texts[0], -1) {
			shown := fixtures.RecordedPriceRow{Line: strings.Contains(row[1], "border-top")}
			cells := tableCell.FindAllStringSubmatch(row[1], -1)
			if badge := note.FindStringSubmatch(cells[0][1]); badge != nil {
				shown.Badge = badge[1]
			}
			if shown.Label = note.ReplaceAllString(cells[0][1], ""); len(cells) > 1 {
				shown.Value = cells[1][1]
			} else {
				shown.Heading, shown.Label = shown.Label, ""
			}
			rows = append(rows, shown)
		}
		wantEqual(t, mail.Rows, rows, "%s", mail.Name)
		var payments []string
		for _, cell := range tableCell.FindAllStringSubmatch(texts[1], -1) {
			payments = append(payments, cell[1])
		}
		wantEqual(t, mail.Payments, append([]string{}, payments...), "%s, payments", mail.Name)
		got := map[string]string{}
		for n, name := range variables {
			got[name] = texts[2+n]
		}
		wantEqual(t, mail.Variables, got, "%s, variables", mail.Name)
	}
	wantEqual(t, 61, len(mails), "mails, of the booking %s", id)
}
