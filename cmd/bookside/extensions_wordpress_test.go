package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestTimesWithCalendars: LatePoint itself, with stand-ins for its calendar add-ons, and the API offer the
// same times on the days of a year.
func TestTimesWithCalendars(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	w := fixtures.NewWordPressWithPlatform(t, db)
	plugin, err := os.ReadFile("testdata/calendars.php")
	expect.NoError(t, err)
	db.AddCalendars(t)
	const google, outlook, apple = "latepoint-google-calendar", "latepoint-outlook-calendar", "latepoint-apple-calendar"
	for name, calendar := range map[string]string{google: fixtures.GoogleCalendar, outlook: fixtures.OutlookCalendar, apple: fixtures.AppleCalendar} {
		writeBelow(t, w.Content, map[string]string{"plugins/" + name + "/" + name + ".php": string(plugin)})
		db.InsertAnyEvents(t, calendar, rand.New(rand.NewPCG(1, 2)), time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC), "1", "2", "3", "4", "5")
		db.Execute(t, "UPDATE wp_latepoint_"+calendar+"_events SET end_time = LEAST(start_time + 30, 1439) WHERE end_time IS NULL") // LatePoint would fail
	}
	db.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name IN ('earliest_possible_booking', 'latest_possible_booking')")
	db.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_google_calendar', 'off'), ('enable_apple_calendar', 'on')")
	db.Execute(t, "UPDATE wp_latepoint_services SET earliest_possible_booking = NULL, latest_possible_booking = NULL")
	w.Activate(t, "latepoint/latepoint.php")
	env := settingsFor(db, unlimited...)
	key := newKey(t, env)
	s := serve(t, env)
	none := timesOfYear(t, w, s, key)
	for _, c := range []struct {
		name, version string
		plugins       []string
	}{
		{"Google 1.4", "1.0.1", []string{google}},
		{"Google 1.6", "1.0.2", []string{google}},
		{"Outlook", "", []string{outlook}},
		{"Apple", "", []string{apple}},
		{"all", "", []string{google, outlook, apple}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.Run(t, `require_once ABSPATH . 'wp-admin/includes/plugin.php';
				deactivate_plugins(array_diff(get_option('active_plugins'), ['latepoint/latepoint.php']));
				update_option('latepoint-google-calendar_addon_db_version', '`+c.version+`');`)
			for _, plugin := range c.plugins {
				w.Activate(t, plugin+"/"+plugin+".php")
			}
			offered := timesOfYear(t, w, s, key)
			if offered == 0 || offered > none*19/20 {
				t.Errorf("%d times are offered, %d without calendars: the case proves little", offered, none)
			}
		})
	}
}

// timesOfYear compares the times of agents in 2031 that LatePoint and the API offer, and returns their
// number.
func timesOfYear(t *testing.T, w *fixtures.WordPress, s *testServer, key string) int {
	t.Helper()
	functions, err := filepath.Abs("testdata/times.php")
	expect.NoError(t, err)
	return len(sameTimes(t, s.url, key, rand.New(rand.NewPCG(3, 4)), func(asked string) []map[string][]string {
		return fromPHP[[]map[string][]string](t, w, "require '"+functions+"'; return array_map('test_times', json_decode("+phpText(asked)+"));")
	}))
}

// sameTimes compares the times of agents in 2031 that LatePoint, which is asked in JSON, and the API offer, and returns them.
func sameTimes(t *testing.T, url, key string, random *rand.Rand, offers func(asked string) []map[string][]string) (offered []string) {
	t.Helper()
	var asked [][]any
	for _, month := range []time.Month{time.January, time.May, time.June, time.September, time.December} { // months without a clock change
		first := time.Date(2031, month, 1+random.IntN(3), 0, 0, 0, 0, time.UTC)
		for _, agent := range []string{"any", "1", "2", "3"} {
			asked = append(asked, []any{[]int{1, 4, 6}[random.IntN(3)], agent, first.Format(time.DateOnly), first.AddDate(0, 0, 27).Format(time.DateOnly)})
		}
	}
	text, err := json.Marshal(asked)
	expect.NoError(t, err)
	for i, want := range offers(string(text)) {
		status, body := get(t, url+fmt.Sprintf("/v1/availability?service_id=%v&agent_id=%v&location_id=any&date=%v&date_to=%v", asked[i]...), key)
		var answer struct {
			Data struct {
				Days map[string][]string `json:"days"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		if diff := cmp.Diff(want, answer.Data.Days); diff != "" {
			t.Errorf("%v (-LatePoint +API):\n%.2000s", asked[i], diff)
		}
		for _, times := range want {
			offered = append(offered, times...)
		}
	}
	return offered
}
