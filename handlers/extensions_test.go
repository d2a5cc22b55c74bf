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
		if got := a.at("data", "extensions", 0, path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if subject, means := a.at("data", "extensions", 0, "parts", 0, "subject"), a.at("data", "extensions", 0, "parts", 0, "means"); subject != "reactions" || !strings.HasSuffix(means.(string), ".") {
		t.Errorf("%v: %v", subject, means)
	}
	if got := a.at("data", "extensions", 1, "kind"); got != "takes_no_part" {
		t.Errorf("the second: %v", got)
	}
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
	s.platform.RefuseIgnored = true
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

	s.platform.RefuseIgnored = false
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
}
