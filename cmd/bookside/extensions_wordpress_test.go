package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bookside/fixtures"
)

// TestTimesWithCalendars: LatePoint itself, with stand-ins of its add-ons for calendars, and the API offer the
// same times on days of a year.
func TestTimesWithCalendars(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	w := fixtures.NewWordPressWithPlatform(t, db)
	plugin, err := os.ReadFile("testdata/calendars.php")
	if err != nil {
		t.Fatal(err)
	}
	db.AddCalendars(t)
	random := rand.New(rand.NewPCG(3, 4))
	const google, outlook, apple = "latepoint-google-calendar", "latepoint-outlook-calendar", "latepoint-apple-calendar"
	for name, calendar := range map[string]string{google: fixtures.GoogleCalendar, outlook: fixtures.OutlookCalendar, apple: fixtures.AppleCalendar} {
		writeBelow(t, w.Content, map[string]string{"plugins/" + name + "/" + name + ".php": string(plugin)})
		db.InsertAnyEvents(t, calendar, rand.New(rand.NewPCG(1, 2)), time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC), "1", "2", "3", "4", "5")
		execute(t, db.SQL, "UPDATE wp_latepoint_"+calendar+"_events SET end_time = LEAST(start_time + 30, 1439) WHERE end_time IS NULL") // LatePoint would fail
	}
	execute(t, db.SQL, "DELETE FROM wp_latepoint_settings WHERE name IN ('earliest_possible_booking', 'latest_possible_booking')")
	execute(t, db.SQL, "UPDATE wp_latepoint_services SET earliest_possible_booking = NULL, latest_possible_booking = NULL")
	w.Activate(t, "latepoint/latepoint.php")
	env := settingsFor(db, "BOOKSIDE_RATE_LIMIT__ENABLED=false")
	key := newKey(t, env)
	s := serve(t, env)
	none := timesOfYear(t, w, s, key, random)
	for _, c := range []struct {
		name, change string
		plugin       string
	}{
		{"Google 1.4", "INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-google-calendar_addon_db_version', '1.0.1')", google},
		{"Google 1.6", "UPDATE wp_options SET option_value = '1.0.2' WHERE option_name = 'latepoint-google-calendar_addon_db_version'", google},
		{"Google and Outlook", "INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_google_calendar', 'off')", outlook},
		{"all three", "INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_apple_calendar', 'on')", apple},
	} {
		t.Run(c.name, func(t *testing.T) {
			execute(t, db.SQL, c.change)
			w.Activate(t, c.plugin+"/"+c.plugin+".php")
			offered := timesOfYear(t, w, s, key, random)
			if offered == 0 || offered > none*9/10 {
				t.Errorf("%d times are offered, %d without calendars: the case proves little", offered, none)
			}
		})
	}
}

// timesOfLatePoint returns the starts of each day, for a list of questions.
const timesOfLatePoint = `return array_map(static function (array $asked): object {
	[$id, $agent, $from, $to] = $asked;
	$service = new OsServiceModel($id);
	$request = new LatePoint\Misc\BookingRequest(['start_date' => $from, 'duration' => (int) $service->duration, 'buffer_before' => (int) $service->buffer_before,
		'buffer_after' => (int) $service->buffer_after, 'service_id' => $id, 'agent_id' => (int) $agent, 'location_id' => 0, 'total_attendees' => 1]);
	$days = [];
	foreach (OsResourceHelper::get_resources_grouped_by_day($request, new OsWpDateTime($from), new OsWpDateTime($to)) as $day => $resources) {
		$times = [];
		foreach (OsResourceHelper::get_ordered_booking_slots_from_resources($resources) as $slot) {
			if ($slot->can_accomodate(1)) {
				$times[] = sprintf('%02d:%02d', intdiv($slot->start_time, 60), $slot->start_time % 60);
			}
		}
		$days[$day] = array_values(array_unique($times));
	}
	return (object) $days;
}, json_decode('ASKED'));`

// timesOfYear compares the times of agents in 2031 that LatePoint and the API offer, and returns how many there are.
func timesOfYear(t *testing.T, w *fixtures.WordPress, s *testServer, key string, random *rand.Rand) (offered int) {
	t.Helper()
	var asked [][]any
	for _, month := range []time.Month{time.January, time.May, time.June, time.September, time.December} { // without a change of the clock
		first := time.Date(2031, month, 1+random.IntN(3), 0, 0, 0, 0, time.UTC)
		for _, agent := range []string{"any", "1", "2", "3"} {
			asked = append(asked, []any{[]int{1, 4, 6}[random.IntN(3)], agent, first.Format(time.DateOnly), first.AddDate(0, 0, 27).Format(time.DateOnly)})
		}
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range fromPHP[[]map[string][]string](t, w, strings.Replace(timesOfLatePoint, "ASKED", string(text), 1)) {
		status, body := get(t, s.url+fmt.Sprintf("/v1/availability?service_id=%v&agent_id=%v&location_id=any&date=%v&date_to=%v", asked[i]...), key)
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
			offered += len(times)
		}
	}
	return offered
}
