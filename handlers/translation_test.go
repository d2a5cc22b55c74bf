package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/language"
	"github.com/bookside/bookside/fixtures"
)

// german holds translations like those in the plugin's own file.
var german = map[string]string{
	"Service": "Dienstleistung", "Approved": "Genehmigt", "Cancelled": "Abgesagt", "minutes": "minuten", "Feb": "Feb.", "February": "Februar",
	"Open": "Offen", "Not Fulfilled": "Nicht erfüllt", "Not Paid": "Nicht bezahlt", "Fully Paid": "Vollständig bezahlt",
	"Total Price": "Gesamtpreis", "Payments and Credits": "Zahlungen und Gutschriften", "Balance Due": "Fälliger Betrag",
	"No transactions found.": "Keine Transaktionen gefunden.", "Full Balance": "Voller Saldo", "In Progress": "wrong",
}

// newGermanWriter returns a server of a German site, and the path of its translation.
func newGermanWriter(t *testing.T) (*server, string) {
	t.Helper()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	content := t.TempDir()
	s.platform.Languages = language.NewFiles(content)
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
	t.Parallel()
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
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	book("2027-02-12")
	want("Termin Termin")
	if err := os.WriteFile(path, []byte("no translation"), 0o644); err != nil {
		t.Fatal(err)
	}
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
	t.Parallel()
	s, _ := newGermanWriter(t)
	s.database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name IN ('additional_booking_statuses', 'date_format', 'disable_verbose_date_output')",
		"INSERT INTO wp_latepoint_settings (name, value) VALUES ('additional_booking_statuses', 'In Progress'), ('date_format', 'd.m.Y')")
	const variables = "{{booking_status}}|{{booking_duration}}|{{start_date}}|{{order_status}}|{{order_fulfillment_status}}|{{order_payment_status}}|{{order_summary_breakdown}}|{{order_transactions_breakdown}}"
	for id, event := range []string{"booking_created", "booking_updated"} {
		actions, err := json.Marshal([]any{map[string]any{"type": "group", "trigger_condition": false, "time_offset": []any{}, "items": []any{
			map[string]any{"type": "action", "id": "pa_text", "settings": map[string]any{"status": "active", "type": "send_sms", "settings": map[string]any{"to_phone": "+49301", "content": variables}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.database.SQL.ExecContext(t.Context(), "INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (?, 'P', ?, 'active', ?)", 90+id, event, string(actions)); err != nil {
			t.Fatal(err)
		}
	}
	message := func() string {
		t.Helper()
		return s.texts("SELECT JSON_VALUE(settings, '$.action_data.pa_text.content') FROM wp_latepoint_process_jobs ORDER BY id DESC LIMIT 1")[0]
	}
	id := s.write(http.MethodPost, "/bookings", friday("price", "85", "send_confirmation", "true")).want(http.StatusCreated).at("data", "id")
	got := message()
	for _, text := range []string{
		"Genehmigt|", " minuten|5 Feb., 2027|", "Offen|Nicht erfüllt|Nicht bezahlt|", "Gesamtpreis: ", "Zahlungen und Gutschriften: ", "Fälliger Betrag: ", "|Keine Transaktionen gefunden.",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("%q lacks %q", got, text)
		}
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
	if !strings.Contains(description, `"payment_portion":"Voller Saldo"`) {
		t.Errorf("the entry of the activity log: %s", description)
	}
}
