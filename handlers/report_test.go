package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// reportLine returns what /readyz?verbose says about a code, with its level; "" for nothing.
func reportLine(t *testing.T, admin *monitor.Admin, code monitor.Code) string {
	t.Helper()
	report, _, body := verboseReport(t, admin)
	for _, e := range report {
		if e.Code == code {
			return e.Level.String() + " " + e.String()
		}
	}
	if len(report) == 0 {
		t.Fatalf("no report: %s", body)
	}
	return ""
}

// verboseReport returns the report in /readyz?verbose, and how many statements it took.
func verboseReport(t *testing.T, admin *monitor.Admin) (report []monitor.Entry, statements int64, body string) {
	t.Helper()
	ctx, usage := wpdb.WithUsage(t.Context())
	recorder := httptest.NewRecorder()
	admin.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz?verbose", nil))
	var told monitor.VerboseReadiness
	if err := json.Unmarshal(recorder.Body.Bytes(), &told); err != nil {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	return told.Report, usage.Queries(), recorder.Body.String()
}

// TestVerboseReadiness: /readyz?verbose has the report and names no items. A look within the same minute, once the first
// two have read what is remembered, takes the same number of statements whatever it finds.
func TestVerboseReadiness(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	admin := newAdmin()
	admin.Started(s.platform)
	verboseReport(t, admin)
	verboseReport(t, admin)
	_, before, _ := verboseReport(t, admin)
	database.Execute(t, "INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, reason, failing_since, position, created_at) "+
		"VALUES (8001, 'secret name', 'https://secret.example', '', '', '', '', 0, 0, 0, '', 'enabled', '', '2026-11-20 10:00:00', 0, '2026-01-01')")
	changeSince(t, database, now.Add(-3*time.Minute))
	_, statements, body := verboseReport(t, admin)
	if statements != before || strings.Contains(body, "secret") {
		t.Errorf("%d statements, %d before: %s", statements, before, body)
	}
	for code, want := range map[monitor.Code]string{
		monitor.WebhooksFailing: "minor 1 failing since 2026-11-20 10:00:00: 8001. Open it", monitor.ChangesLate: "broken the oldest has been waiting", monitor.Plugin: "good LatePoint is active",
	} {
		if got := reportLine(t, admin, code); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
	database.Execute(t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	if got := reportLine(t, admin, monitor.WebhooksFailing); got == "" || reportLine(t, admin, monitor.JobsGood)+reportLine(t, admin, monitor.JobsUnscheduled) != "" {
		t.Errorf("of a site that is not ready: %s", got)
	}
}
