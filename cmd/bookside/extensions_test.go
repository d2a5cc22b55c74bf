package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/compat"
)

// TestExtensions: the command lists what is active, beginning with what is not honoured, and so do check
// and its JSON.
func TestExtensions(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	if got := run(t, env, "", "extensions").want(t, exit.OK).stdout; got != "No extension of LatePoint is active.\n" {
		t.Errorf("a plain site: %s", got)
	}
	if got := run(t, env, "", "extensions", "--json").want(t, exit.OK).stdout; got != "[]\n" {
		t.Errorf("a plain site: %s", got)
	}
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "✓ extensions     none\n")

	execute(t, db.SQL, `UPDATE wp_options SET option_value = 'a:3:{i:0;s:29:"latepoint-qr-code/qr-code.php";i:1;s:33:"latepoint-zoom/latepoint-zoom.php";i:2;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`)
	execute(t, db.SQL, `INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_zoom', 'on'), ('active_addons', '["latepoint-google-calendar","latepoint-qr-code"]')`)
	execute(t, db.SQL, "INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-google-calendar_addon_db_version', '1.0.2')")
	var records []compat.SiteExtension
	decoder := json.NewDecoder(strings.NewReader(run(t, env, "", "extensions", "--json").want(t, exit.OK).stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&records); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(records))
	kinds := make([]string, len(records))
	for i, r := range records {
		ids[i], kinds[i] = r.ID, r.Kind
		if r.Title == "" || len(r.Parts) == 0 || (r.ID == extensions.GoogleCalendar) != (r.Version == "1.0.2") {
			t.Errorf("%+v", r)
		}
	}
	if want := []string{extensions.GoogleCalendar, extensions.Zoom, "latepoint-qr-code"}; !slices.Equal(ids, want) || kinds[0] != string(extensions.NotHonoured) || kinds[2] != string(extensions.TakesNoPart) {
		t.Errorf("%q %q, want %q", ids, kinds, want)
	}
	text := run(t, env, "", "extensions").want(t, exit.OK).stdout
	wantTexts(t, text, "Google Calendar (latepoint-google-calendar, tables 1.0.2)\n", "Zoom (latepoint-zoom)\n  not honoured   Nothing tells it about bookings by the API: that takes the companion.\n", "\n  takes no part   ")
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "! extensions     not honoured: Google Calendar: ", "; see bookside extensions\n")
	wantTexts(t, run(t, env, "", "check", "--json").want(t, exit.OK).stdout, `"code": "extensions_ignored"`)
}

// TestExtensionsLog: events for extensions are listed, and failed ones are sent again, payments only if
// nobody received them.
func TestExtensionsLog(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	if got := run(t, env, "", "extensions", "log").want(t, exit.OK).stdout; got != "There are no such events.\n" {
		t.Errorf("before anything was told: %s", got)
	}
	for _, event := range []string{
		"(1, 'booking_created', 12, 'failed', 3, 'no\nanswer')", "(2, 'transaction_created', 13, 'failed', 1, '')", "(3, 'transaction_created', 14, 'failed', 0, '')", "(4, 'customer_updated', 15, 'done', 1, '')",
	} {
		execute(t, db.SQL, "INSERT INTO wp_bookside_events (id, event, record_id, status, tries, failure, due_at, created_at, finished_at) VALUES "+strings.TrimSuffix(event, ")")+", NOW(), '2026-11-20 10:00:00', '2026-11-20 10:00:05')")
	}
	wantTexts(t, run(t, env, "", "extensions", "log").want(t, exit.OK).stdout, "4    2026-11-20 10:00:00   customer_updated      15       done     2026-11-20 10:00:05   -\n", "12       failed   2026-11-20 10:00:05   no answer\n")
	var list []eventRecord
	if err := json.Unmarshal([]byte(run(t, env, "", "extensions", "log", "--state", "failed", "--limit", "2", "--json").want(t, exit.OK).stdout), &list); err != nil || len(list) != 2 || list[0].ID != 3 || list[1].Event != "transaction_created" || list[1].CreatedAt.Hour() != 10 {
		t.Errorf("%+v, %v", list, err)
	}
	for id, want := range map[string]int{"1": exit.OK, "2": exit.Failure, "3": exit.OK, "4": exit.Failure, "9": exit.Failure, "x": exit.Usage} {
		run(t, env, "", "extensions", "replay", id).want(t, want)
	}
	if got := queryText(t, db, "SELECT GROUP_CONCAT(id, ' ', status, ' ', tries, failure ORDER BY id) FROM wp_bookside_events WHERE finished_at IS NULL"); got != "1 waiting 1,3 waiting 0" {
		t.Errorf("told again: %s", got)
	}
	run(t, env, "", "extensions", "log", "--state", "lost").want(t, exit.Usage)
	run(t, env, "", "extensions", "log", "--limit", "0").want(t, exit.Usage)
}
