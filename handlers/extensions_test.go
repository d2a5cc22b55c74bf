package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestSiteTellsExtensions: any key may know what is active, and which parts of it are not honoured.
func TestSiteTellsExtensions(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	if got := s.get("/site").want(http.StatusOK).at("data", "extensions"); len(got.([]any)) != 0 {
		t.Errorf("a plain site: %v", got)
	}
	database.Execute(t, setting("active_addons", `["latepoint-qr-code","latepoint-zoom"]`), setting("enable_zoom", "on"),
		"INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-zoom_addon_db_version', '1.0.1')")
	a := s.get("/site").want(http.StatusOK)
	for path, want := range map[string]any{"id": "latepoint-zoom", "title": "Zoom", "version": "1.0.1", "kind": "not_honoured"} {
		wantEqual(t, want, a.at("data", "extensions", 0, path), "%s", path)
	}
	if subject, means := a.at("data", "extensions", 0, "parts", 0, "subject"), a.at("data", "extensions", 0, "parts", 0, "means"); subject != "reactions" || !strings.HasSuffix(means.(string), ".") {
		t.Errorf("%v: %v", subject, means)
	}
	wantEqual(t, "takes_no_part", a.at("data", "extensions", 1, "kind"), "the second")
	tag := a.header.Get("ETag")
	database.Execute(t, "UPDATE wp_latepoint_settings SET value = 'off' WHERE name = 'enable_zoom'")
	if got := s.get("/site").want(http.StatusOK).header.Get("ETag"); tag == "" || got == tag {
		t.Errorf("tags %q, %q", tag, got)
	}
}

// TestExtensionsThatDecideCanBeRefused: if the owner wants it, writes are refused that an extension would
// decide about but that is not honoured.
func TestExtensionsThatDecideCanBeRefused(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.platform.Config.RefuseIgnored = true
	deciding, reacting := setting("active_addons", `["latepoint-unknown","latepoint-zoom"]`), setting("active_addons", `["latepoint-zoom"]`)
	s.database.Execute(t, setting("enable_zoom", "on"))
	before := s.database.Snapshot(t)
	s.write(http.MethodPost, "/bookings?dry_run=1", friday()).want(http.StatusOK)
	s.database.Execute(t, reacting)
	s.write(http.MethodPost, "/bookings?dry_run=1", friday()).want(http.StatusOK)

	before.Restore(t)
	s.database.Execute(t, deciding)
	written := s.database.Snapshot(t)
	for _, w := range []struct{ method, path, body string }{
		{http.MethodPost, "/bookings", friday()},
		{http.MethodPost, "/bookings?dry_run=1", friday()},
		{http.MethodPost, "/bookings/bulk", "[" + friday() + "]"},
		{http.MethodPut, "/bookings/53", `{"total_attendees":2}`},
		{http.MethodPut, "/bookings/53", `{"start_time":"11:00"}`},
		{http.MethodPut, "/bookings/53", `{"price":"77.00"}`},
		{http.MethodPost, "/holds", friday()},
		{http.MethodPost, "/orders", `{"customer_id":5,"total":10}`},
		{http.MethodPut, "/orders/40", `{"total":"77.00"}`},
		{http.MethodPut, "/orders/40", `{"discount_total":"7.00"}`},
	} {
		a := s.write(w.method, w.path, w.body)
		if message, _ := a.at("message").(string); a.status != http.StatusServiceUnavailable || !strings.Contains(message, "latepoint-unknown") || strings.Contains(message, "Zoom") || a.at("data", "written") != false {
			t.Errorf("%s %s: %d %s", w.method, w.path, a.status, a.body)
		}
	}
	wantNoWrites(t, "refused", written)
	s.get("/bookings").want(http.StatusOK)
	for _, w := range []struct{ method, path, body string }{ // nothing that an extension would decide
		{http.MethodPut, "/customers/5", `{"notes":"x"}`},
		{http.MethodPut, "/bookings/53", `{"notes":"x"}`},
		{http.MethodPut, "/bookings/53?dry_run=1", `{"customer":{"notes":"x"}}`},
		{http.MethodPut, "/bookings/53", `{"status":"cancelled"}`},
		{http.MethodPut, "/orders/40", `{"status":"open","customer_comment":"x"}`},
	} {
		s.write(w.method, w.path, w.body).want(http.StatusOK)
	}
	blocks := s.write(http.MethodPut, "/bookings/53", `{"status":"approved"}`).want(http.StatusServiceUnavailable)
	if message, _ := blocks.at("message").(string); !strings.Contains(message, "latepoint-unknown") {
		t.Errorf("a status that blocks: %s", blocks.body)
	}

	s.platform.Config.RefuseIgnored = false
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
}

// refused fails the test unless a booking is refused because of a field, alone and as a dry run, with a sentence that names
// the extension.
func refused(t *testing.T, s *server, title, field, extension string, fields ...string) {
	t.Helper()
	for _, dry := range []string{"true", "false"} {
		a := s.write(http.MethodPost, "/bookings", friday(append(fields[:len(fields):len(fields)], "dry_run", dry)...)).want(http.StatusUnprocessableEntity)
		if got, _ := a.at("error", "details", field).(string); !strings.Contains(got, extension) {
			t.Errorf("%s, dry run %s: %v", title, dry, a.at("error", "details"))
		}
	}
}

// TestBookingsThatArePaidAtOnce: where customers cannot pay later, an unpaid booking is made only for nothing, or with its price.
func TestBookingsThatArePaidAtOnce(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	const addOn = "latepoint-payments-pay-pal/latepoint-payments-pay-pal.php"
	taken := func(title string, fields ...string) {
		t.Helper()
		if a := s.write(http.MethodPost, "/bookings", friday(append(fields, "dry_run", "true")...)); a.status != http.StatusOK {
			t.Errorf("%s: %s", title, a.body)
		}
	}
	on := setting("enable_payment_processor_pay_pal", "on")
	s.database.Execute(t, on, setting("enable_payments_local", "off"), setting("enable_payment_processor_stripe_connect", "on"))
	taken("the add-on is not active")
	s.database.Execute(t, activate(pluginFile, addOn), setting("enable_payment_processor_pay_pal", "off"))
	taken("the add-on is switched off")
	s.database.Execute(t, on, setting("enable_payments_local", "on"))
	taken("customers may pay later")
	s.database.Execute(t, setting("enable_payments_local", "off"))
	unpaid := s.write(http.MethodPost, "/bookings", friday()).want(http.StatusUnprocessableEntity)
	if got, _ := unpaid.at("error", "details", "price").(string); !strings.Contains(got, "latepoint-payments-pay-pal") {
		t.Errorf("paid at once: %s", unpaid.body)
	}
	tried := s.write(http.MethodPost, "/bookings", friday("dry_run", "true")).want(http.StatusOK)
	if got := tried.header.Get("Warning"); !strings.Contains(got, "latepoint-payments-pay-pal") || tried.at("data", "price") == nil {
		t.Errorf("dry run: %q, %s", got, tried.body)
	}
	bulk := s.write(http.MethodPost, "/bookings/bulk", "["+friday()+"]").want(http.StatusBadRequest)
	if got, _ := bulk.at("results", "errors", 0, "error").(string); !strings.HasPrefix(got, "price: ") || !strings.Contains(got, "POST /payments") {
		t.Errorf("among others: %s", bulk.body)
	}
	taken("with its price", "price", "42")
	taken("for nothing by its price", "price", "0")
	s.database.Execute(t, "UPDATE wp_latepoint_services SET charge_amount = 0 WHERE id = 4", "DELETE FROM wp_latepoint_service_meta WHERE object_id = 4 AND meta_key = 'durations'")
	taken("for nothing")
}

// TestLinkedServices: a service with which others are booked is neither booked nor held.
func TestLinkedServices(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	const linked = "REPLACE INTO wp_latepoint_service_meta (id, object_id, meta_key, meta_value) VALUES (90000, 4, 'linked_services', '%s')"
	s.database.Execute(t, strings.ReplaceAll(linked, "%s", `["2"]`))
	s.write(http.MethodPost, "/bookings", friday("dry_run", "true")).want(http.StatusOK)
	s.database.Execute(t, activate(pluginFile, "latepoint-linked-services/latepoint-linked-services.php"))
	refused(t, s, "linked", "service_id", "Linked Services")
	held := s.write(http.MethodPost, "/holds", holdBody()).want(http.StatusUnprocessableEntity)
	if got, _ := held.at("error", "details", "service_id").(string); !strings.Contains(got, "Linked Services") {
		t.Errorf("held: %s", held.body)
	}
	for _, none := range []string{"[]", "", "none"} {
		s.database.Execute(t, strings.ReplaceAll(linked, "%s", none))
		s.write(http.MethodPost, "/bookings", friday("dry_run", "true")).want(http.StatusOK)
	}
}

// TestSeriesInOneRequest: Pro Features makes several bookings of a recurrence, so that it is refused there, and unknown elsewhere.
func TestSeriesInOneRequest(t *testing.T) {
	t.Parallel()
	pro, plain := newWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures()), newWriter(t, fixtures.SiteA().WithFewBookings())
	for _, series := range []string{`{"rules":{"repeat_unit":"week"}}`, `"weekly"`, `true`, `3`} {
		refused(t, pro, series, "recurrence", "Pro Features", "recurrence", series)
		plain.write(http.MethodPost, "/bookings", friday("recurrence", series, "dry_run", "true")).want(http.StatusOK)
	}
	a := pro.write(http.MethodPost, "/bookings/bulk", "["+friday("recurrence", `true`)+"]").want(http.StatusBadRequest)
	if got, _ := a.at("results", "errors", 0, "error").(string); !strings.Contains(got, "POST /bookings/bulk") {
		t.Errorf("among others: %s", a.body)
	}
	for _, none := range []string{`null`, `""`, `false`, `[]`, `{}`} {
		pro.write(http.MethodPost, "/bookings", friday("recurrence", none, "dry_run", "true")).want(http.StatusOK)
	}
}
