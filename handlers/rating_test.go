package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// troubles are kinds of work that stand still, by the code of their rating: what causes it, and the ids
// that the rating names.
var troubles = map[string]struct {
	level      string
	statements []string
	ids        []int64
	since      string
}{
	"changes_late": {"broken", []string{"INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, at) VALUES ('customers', 1, 'updated', 'api', '{-3m}')"}, nil, "{-3m}"},
	"jobs_late": {"minor", []string{
		"INSERT INTO wp_latepoint_process_jobs (id, process_id, object_id, object_model_type, to_run_after_utc, status) VALUES " +
			"(9001, 1, 12, 'booking', '{-2h}', 'scheduled'), (9002, 1, 13, 'booking', '{-10m}', 'scheduled'), (9003, 1, 14, 'booking', '{-3h}', 'completed')",
	}, []int64{9001}, "{-2h}"},
	"webhooks_failing": {"minor", []string{webhookRow(8001, "enabled", "", "'{-5h}'"), webhookRow(8002, "enabled", "", "'{-10m}'"), webhookRow(8003, "disabled", "", "'{-5h}'")}, []int64{8001, 8002}, "{-5h}"},
	"webhooks_disabled": {"minor", []string{
		webhookRow(8004, "disabled", "it failed for three days", "NULL"), webhookRow(8005, "disabled", "disabled on the console", "NULL"),
		webhookRow(8006, "disabled", "a backup was restored", "NULL"), webhookRow(8007, "deleted", "it failed for three days", "NULL"),
	}, []int64{8004, 8006}, ""},
	"keys_expiring": {"minor", []string{
		keyRow(6001, "live", "active", "'{48h}'"), keyRow(6002, "live", "revoked", "'{48h}'"), keyRow(6003, "calendar", "active", "'{48h}'"),
		keyRow(6004, "live", "active", "'{200h}'"), keyRow(6005, "live", "active", "'{-1h}'"), keyRow(6006, "test", "active", "NULL"),
	}, []int64{6001}, "{48h}"},
	"extensions_failed":  {"minor", []string{eventRow(5001, "failed", "{-2h}"), eventRow(5002, "failed", "{-100h}"), eventRow(5004, "done", "{-2h}")}, []int64{5001}, ""},
	"extensions_late":    {"minor", []string{eventRow(5003, "waiting", "{-2h}"), eventRow(5005, "waiting", "{-5m}"), eventRow(5006, "started", "{-15m}")}, []int64{5006, 5003}, ""},
	"extensions_ignored": {"minor", []string{`INSERT INTO wp_latepoint_settings (name, value) VALUES ('active_addons', '["latepoint-zoom"]'), ('enable_zoom', 'on')`}, nil, ""},
}

func webhookRow(id int, status, reason, failing string) string {
	return fmt.Sprintf("INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, reason, failing_since, position, created_at) "+
		"VALUES (%d, 'secret name', 'https://secret.example', '', '', '', '', 0, 0, 0, '', '%s', '%s', %s, 0, '2026-01-01')", id, status, reason, failing)
}

func eventRow(id int, status, due string) string {
	return fmt.Sprintf("INSERT INTO wp_bookside_events (id, event, record_id, status, tries, due_at, failure, created_at) VALUES (%d, 'booking_created', 12, '%s', 1, '%s', 'secret', '2026-01-01')", id, status, due)
}

func keyRow(id int, kind, status, expires string) string {
	return fmt.Sprintf("INSERT INTO wp_bookside_api_keys (id, key_hash, key_start, last_four, name, kind, permissions, status, expires_at, created_at) "+
		"VALUES (%d, SHA2('%[1]d', 256), 'lp_live_', 'abcd', 'secret name', '%s', 'read', '%s', %s, '2026-01-01')", id, kind, status, expires)
}

// moments replaces spans such as {-3m} with the time that far from now.
func moments(t testing.TB, text string) string {
	t.Helper()
	for {
		before, rest, found := strings.Cut(text, "{")
		if !found {
			return text
		}
		span, after, _ := strings.Cut(rest, "}")
		distance, err := time.ParseDuration(span)
		if err != nil {
			t.Fatal(err)
		}
		text = before + now.Add(distance).UTC().Format(time.DateTime) + after
	}
}

// rating returns the rating in /readyz?verbose, by code, and how many statements it took.
func rating(t *testing.T, s *server) (found map[string]monitor.Rated, statements int64, body string) {
	t.Helper()
	admin := newAdmin()
	admin.Started(s.platform)
	ctx, usage := wpdb.WithUsage(t.Context())
	recorder := httptest.NewRecorder()
	admin.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz?verbose", nil))
	var told monitor.VerboseReadiness
	if err := json.Unmarshal(recorder.Body.Bytes(), &told); err != nil {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	found = map[string]monitor.Rated{}
	for _, r := range told.Rating {
		found[string(r.Code)] = r
	}
	return found, usage.Queries(), recorder.Body.String()
}

// TestRating: /readyz?verbose says for each kind of work whether it stands still, and which items. It names
// no customers, and takes the same number of statements whatever it finds.
func TestRating(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	database.Execute(t, "DELETE FROM wp_latepoint_process_jobs", "DELETE FROM wp_options WHERE option_name = 'cron'",
		`INSERT INTO wp_options (option_name, option_value) VALUES ('cron', 'a:1:{s:31:"latepoint_process_scheduled_jobs";i:1;}')`)
	s := newServer(t, database)
	rating(t, s) // the schema is read
	quiet, before, _ := rating(t, s)
	for _, code := range []string{"changes", "writes", "jobs", "webhooks", "keys", "extensions"} {
		if r, ok := quiet[code]; !ok || r.Level != "good" || r.Count != 0 || r.Text == "" || len(quiet) != 6 {
			t.Errorf("%s: %+v of %d ratings", code, r, len(quiet))
		}
	}
	for _, trouble := range troubles {
		for _, statement := range trouble.statements {
			database.Execute(t, moments(t, statement))
		}
	}
	got, statements, body := rating(t, s)
	if statements != before {
		t.Errorf("%d statements, %d without anything", statements, before)
	}
	if strings.Contains(body, "secret") {
		t.Errorf("names are told: %s", body)
	}
	for code, want := range troubles {
		r := got[code]
		ids := append([]int64{}, want.ids...)
		if diff := cmp.Diff(ids, r.IDs); diff != "" || r.Count != len(ids) || r.Level != want.level || r.Since != moments(t, want.since) {
			t.Errorf("%s: %+v, ids (-want +got):\n%s", code, r, diff)
		}
	}
	if len(got) != len(troubles)+1 { // writes are not among them
		t.Errorf("ratings: %s", body)
	}

	database.Execute(t, "DELETE FROM wp_options WHERE option_name = 'cron'", "DELETE FROM wp_latepoint_process_jobs",
		"UPDATE wp_bookside_webhooks SET failing_since = '2026-11-01' WHERE status = 'enabled'")
	got, _, body = rating(t, s)
	if got["jobs_unscheduled"].Level != "minor" || got["webhooks_failing"].Count != 2 {
		t.Errorf("without cron: %s", body)
	}
	database.Execute(t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	if got, _, body := rating(t, s); got["webhooks_failing"].Count != 2 || strings.Contains(body, `"jobs`) {
		t.Errorf("of a site that is not ready: %s", body)
	}
}
