package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

// newCompanionSite installs the companion in a WordPress with a stand-in for LatePoint that has its
// constant and its menu. It waits longer for the server than a page would, because the machine may be busy
// with other tests.
func newCompanionSite(t *testing.T, db *fixtures.Database) *fixtures.WordPress {
	t.Helper()
	w := fixtures.NewWordPress(t, db)
	writeBelow(t, w.Content, map[string]string{"plugins/latepoint/latepoint.php": `<?php
/* Plugin Name: LatePoint */
define('LATEPOINT_VERSION', '5.6.5');
add_action('admin_menu', function () {
	add_menu_page('LatePoint', 'LatePoint', 'read', 'latepoint', function () {
		echo '<div class="wrap"><h1>LatePoint</h1>';
		do_action('latepoint_booking_data_form_after', (object) ['id' => '7001'], '1');
		echo '</div>';
	});
});
add_filter('http_request_args', fn($sent) => ['timeout' => 60] + $sent);
`})
	run(t, nil, "", "companion", "install", "--wordpress", w.Dir).want(t, exit.OK)
	w.Activate(t, "latepoint/latepoint.php", "bookside/bookside.php")
	return w
}

// fromPHP decodes what PHP code returns as JSON.
func fromPHP[T any](t *testing.T, w *fixtures.WordPress, code string) (value T) {
	t.Helper()
	text := w.Run(t, "echo json_encode((function () {"+code+"})(), JSON_THROW_ON_ERROR);")
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v in %s", code, err, text)
	}
	return value
}

// phpText returns a PHP literal.
func phpText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// TestCompanionPlugin tests the plugin's PHP on one site, which it changes.
func TestCompanionPlugin(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	environment := settingsFor(db)
	s := serveAt(t, environment, time.Now) // WordPress uses the real clock
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`']);`)
	s.awaitFingerprint()
	if got := queryText(t, db, "SELECT LENGTH(secret) FROM wp_bookside_secrets WHERE name = 'wordpress'"); got != "64" {
		t.Errorf("the server made a secret of %s digits", got)
	}

	t.Run("keys", func(t *testing.T) { testKeysOfPHP(t, w, s, environment) })
	t.Run("mistakes", func(t *testing.T) { testMistakesOfPHP(t, w) })
	t.Run("secret", func(t *testing.T) { testSecretOfPHP(t, w) })
	t.Run("overlaps", func(t *testing.T) { testOverlapsOfPHP(t, w, db) })
	t.Run("requests and times", func(t *testing.T) { testPagesOfPHP(t, w, db) })
	t.Run("health", func(t *testing.T) { testHealthOfPHP(t, w, s) })
	t.Run("command line", func(t *testing.T) { testCommandLineOfPHP(t, w, s) })
	t.Run("German", func(t *testing.T) {
		german := `$wp_filter = ['locale' => [10 => [['function' => fn() => 'de_DE', 'accepted_args' => 0]]]];`
		wantTexts(t, w.Run(t, german, `echo Bookside\check_lock()['label'];`), "Die Sperre für Buchungen funktioniert")
		form := w.Run(t, german, `require_once WP_PLUGIN_DIR . '/bookside/admin/parts.php'; require_once WP_PLUGIN_DIR . '/bookside/admin/actions.php'; require_once WP_PLUGIN_DIR . '/bookside/admin/settings.php';
			Bookside\show_fields(Bookside\ask_server('/keys/new'), true);`)
		wantTexts(t, form, "Netze", "Unterscheidet diesen Schlüssel von anderen", "Test, mit eigenen Grenzen", "nur lesen: sieht alles", "Rechte", "Persönliche Daten")
	})
	t.Run("a person", func(t *testing.T) { testPersonOfPHP(t, w, db) })
	t.Run("a person with an address like others", func(t *testing.T) { testAlikePersonOfPHP(t, w, db) })
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

// testKeysOfPHP: keys that PHP creates, changes, rolls and revokes take effect on the server at once.
func testKeysOfPHP(t *testing.T, w *fixtures.WordPress, s *testServer, environment []string) {
	t.Helper()
	status := func(path, secret string) int {
		status, _ := get(t, s.url+path, secret)
		return status
	}
	type created struct {
		Secret string
		ID     int
	}
	create := func(fields string) created {
		return fromPHP[created](t, w, `return Bookside\make_key(`+fields+` + ['nonce' => wp_generate_uuid4()]);`)
	}
	roll := func(id, hours int) created {
		return fromPHP[created](t, w, fmt.Sprintf(`return Bookside\make_key(['overlap' => '%dh', 'nonce' => wp_generate_uuid4()], %d);`, hours, id))
	}
	restrict := func(id int, fields string) string {
		return w.Run(t, fmt.Sprintf(`$form = Bookside\ask_server('/keys/%[1]d');
			echo json_encode(Bookside\restrict_key(%[1]d, %[2]s + array_column($form['fields'], 'value', 'name') + ['version' => $form['version']]));`, id, fields))
	}
	first := create(`['name' => 'Kasse <1>', 'kind' => 'live', 'permissions' => 'read_bookings', 'networks' => "127.0.0.0/8\n::1/128"]`)
	if got := status("/v1/bookings", first.Secret); got != http.StatusOK {
		t.Errorf("new key: status %d", got)
	}
	if got := status("/v1/services", first.Secret); got != http.StatusForbidden {
		t.Errorf("permission that it lacks: status %d", got)
	}
	misspelt := first.Secret[:len(first.Secret)-1] + "!"
	if got := status("/v1/bookings", misspelt); got != http.StatusUnauthorized {
		t.Errorf("misspelt key: status %d", got)
	}

	var listed []keyRecord
	if err := json.Unmarshal([]byte(run(t, environment, "", "keys", "list", "--json").want(t, exit.OK).stdout), &listed); err != nil {
		t.Fatal(err)
	}
	got := listed[len(listed)-1]
	got.CreatedAt, got.LastUsedAt = nil, nil
	want := keyRecord{
		CreatedBy: "WordPress", // WP-CLI has no user
		ID:        int64(first.ID), Name: "Kasse <1>", Kind: "live", Start: first.Secret[:8], LastFour: first.Secret[len(first.Secret)-4:], Status: "active",
		Permissions: []string{"read_bookings"}, Networks: []string{"127.0.0.0/8", "::1/128"},
		Agents: []int64{}, Services: []int64{}, Locations: []int64{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the key as Go sees it (-want +got):\n%s", diff)
	}

	if answer := restrict(first.ID, "['permissions' => 'read_services']"); answer != "[]" {
		t.Errorf("changed: %s", answer)
	}
	if status("/v1/services", first.Secret) != http.StatusOK || status("/v1/bookings", first.Secret) != http.StatusForbidden {
		t.Error("the change of permissions had no effect")
	}
	restrict(first.ID, "['networks' => '192.0.2.0/24']")
	if got := status("/v1/services", first.Secret); got != http.StatusUnauthorized {
		t.Errorf("from another network: status %d", got)
	}
	restrict(first.ID, "['networks' => '']")

	own := func(key int, table, values string) {
		w.Run(t, fmt.Sprintf(`global $wpdb; $wpdb->insert(Bookside\own_table('%s'), array_merge(['key_id' => %d], %s)) === 1 || exit(1);`, table, key, values))
	}
	const hook = `['name' => 'rolled', 'url' => 'https://example.com', 'events' => '*', 'agents' => '', 'services' => '', 'locations' => '', 'include_record' => 0, 'allow_private' => 0,
		'secret' => 'x', 'status' => 'disabled', 'position' => 0, 'created_at' => Bookside\utc_now()]`
	const hold = `['agent_id' => 1, 'service_id' => 1, 'location_id' => 1, 'start_date' => '2020-11-30', 'start_time' => 600, 'end_date' => '2020-11-30', 'end_time' => 660, 'duration' => 60,
		'buffer_before' => 0, 'buffer_after' => 0, 'total_attendees' => 1, 'created_at' => Bookside\utc_now(), 'expires_at' => Bookside\utc_now()]`
	own(first.ID, "webhooks", hook)
	own(first.ID, "holds", hold)
	second := roll(first.ID, 24)
	own(second.ID, "holds", hold)
	if status("/v1/services", first.Secret) != http.StatusOK || status("/v1/services", second.Secret) != http.StatusOK {
		t.Error("both keys should work for a day")
	}
	third := roll(second.ID, 0)
	if status("/v1/services", second.Secret) != http.StatusUnauthorized || status("/v1/services", third.Secret) != http.StatusOK {
		t.Error("only the new key should work")
	}
	owned := fromPHP[[]string](t, w, `global $wpdb; return array_merge($wpdb->get_col('SELECT key_id FROM ' . Bookside\own_table('webhooks') . " WHERE name = 'rolled'"),
		$wpdb->get_col('SELECT key_id FROM ' . Bookside\own_table('holds') . " WHERE start_date = '2020-11-30' ORDER BY id"));`)
	if want := []string{strconv.Itoa(third.ID), strconv.Itoa(first.ID), strconv.Itoa(third.ID)}; !slices.Equal(owned, want) {
		t.Errorf("the webhook and the holds belong to the keys %v, want %v", owned, want)
	}
	w.Run(t, `global $wpdb; $wpdb->delete(Bookside\own_table('webhooks'), ['name' => 'rolled']); $wpdb->delete(Bookside\own_table('holds'), ['start_date' => '2020-11-30']);`)
	limited := strings.Fields(strings.TrimSpace(run(t, environment, "", "keys", "create", "--name", "one", "--permissions", "read", "--agents", "3", "--locations", "1", "--services", "2", "--mask-personal").
		want(t, exit.OK).stdout))
	rolled := roll(third.ID+1, 0)
	if list := run(t, environment, "", "keys", "list", "--json").want(t, exit.OK).stdout; rolled.ID != third.ID+2 || len(limited) == 0 ||
		strings.Count(strings.Join(strings.Fields(list), ""), `"agents":[3],"services":[2],"locations":[1],"mask_personal":true`) != 2 {
		t.Errorf("a new key in place of a limited one: %s", list)
	}
	ended := w.Run(t, fmt.Sprintf(`global $wpdb; $wpdb->update(Bookside\own_table('api_keys'), ['expires_at' => '2026-01-01 00:00:00'], ['id' => %d]);
		echo Bookside\make_key(['overlap' => '24h', 'nonce' => 'y'], %[1]d)['problem'];`, third.ID))
	wantTexts(t, ended, "This key has expired")
	w.Run(t, fmt.Sprintf(`Bookside\revoke_key(%d);`, third.ID))
	if got := status("/v1/services", third.Secret); got != http.StatusUnauthorized {
		t.Errorf("revoked key: status %d", got)
	}
}

// testMistakesOfPHP: WordPress shows the errors that the server finds, by field, and creates nothing.
func testMistakesOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	wrong := fromPHP[map[string]string](t, w, `$form = Bookside\make_key(['name' => ' ', 'kind' => 'prod', 'permissions' => 'read_booking', 'networks' => '192.0.2.0/33', 'expires' => '2001-01-01',
			'per_minute' => '0', 'agents' => '999', 'services' => '-1', 'nonce' => 'wrong']);
		return array_filter(array_column($form['fields'], 'error', 'name'));`)
	for field, want := range map[string]string{
		"name": "Write 1 to 190 characters", "kind": "Write live or test.", "permissions": "did you mean read_bookings?", "networks": `"192.0.2.0/33" is not a network`, "expires": "This day is in the past.",
		"per_minute": "Write a number from 1 to", "agents": "999", "services": "Write ids such as 3,4",
	} {
		if !strings.Contains(wrong[field], want) {
			t.Errorf("%s: %q, want %q", field, wrong[field], want)
		}
	}
	if len(wrong) != 8 {
		t.Errorf("mistakes %v", wrong)
	}
	if got := w.Run(t, `foreach (['twice', 'twice'] as $nonce) { $made = Bookside\make_key(['name' => 'n', 'kind' => 'live', 'permissions' => 'read', 'nonce' => $nonce]); }
		echo $made->get_error_message();`); !strings.Contains(got, "This form was already sent") {
		t.Errorf("sent twice: %s", got)
	}
}

// testSecretOfPHP: WordPress creates the secret if it is missing, and a server accepts no other. A response
// from anybody but the server is rejected.
func testSecretOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	ask := func(before string) string {
		return w.Run(t, before+`$keys = Bookside\ask_server('/keys'); echo is_wp_error($keys) ? $keys->get_error_message() : 'served';`)
	}
	const table = `global $wpdb; $table = Bookside\own_table('secrets'); `
	for name, c := range map[string]struct{ before, want string }{
		"the server's":               {"", "served"},
		"one of WordPress":           {table + `$wpdb->query("DELETE FROM $table");`, "served"},
		"another one":                {table + `$stored = Bookside\shared_secret(); add_filter('http_request_args', function ($sent) use ($table, $stored) { global $wpdb; $wpdb->query("UPDATE $table SET secret = REVERSE(secret)"); return $sent; });`, "does not know the signature"},
		"sent twice":                 {`add_filter('pre_http_request', function ($no, $sent, $url) { remove_all_filters('pre_http_request'); wp_remote_request($url, $sent); return $no; }, 10, 3);`, "sent before"},
		"an answer of somebody else": {`add_filter('pre_http_request', fn() => ['headers' => ['x-bookside-signature' => str_repeat('0', 64)], 'body' => '{"keys":[]}', 'response' => ['code' => 200]]);`, "Something else answers"},
		"a page":                     {`add_filter('pre_http_request', fn() => ['headers' => [], 'body' => '<html>', 'response' => ['code' => 200]]);`, "Something else answers"},
		"no address":                 {"add_filter('option_bookside_companion', fn() => ['admin' => '']);", "enter the address of its administration"},
		"nobody":                     {"add_filter('option_bookside_companion', fn() => ['admin' => 'http://localhost:1']);", `Start it with "systemctl start bookside"`},
		"no table":                   {table + `$wpdb->query("RENAME TABLE $table TO elsewhere"); register_shutdown_function(function () use ($table) { $GLOBALS['wpdb']->query("RENAME TABLE elsewhere TO $table"); });`, "Tables of Bookside are missing. Run"},
	} {
		if got := ask(c.before); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if secret := w.Run(t, `echo Bookside\shared_secret();`); len(secret) != 64 || strings.Contains(w.Faults(t), secret) {
		t.Errorf("a secret of %d digits", len(secret))
	}
}

// testPagesOfPHP: WordPress shows requests and free times in the site's language, escaped, and why it cannot.
func testPagesOfPHP(t *testing.T, w *fixtures.WordPress, db *fixtures.Database) {
	t.Helper()
	execute(t, db.SQL, `INSERT INTO wp_bookside_requests (id, at, request_id, key_id, user_id, from_console, method, route, record_id, tool, status, code, took_us, statements, query, fields, ignored, refused, body, dry_run) VALUES
		(9001, UTC_TIMESTAMP(3), 'till-1', 0, 0, 0, 'GET', '/bookings/:id', 7, 'find <i>', 404, 'not_found', 12345, 1, 'a=<b>', '{"a":"Must be <b>","customer_id":"Customer not found"}', 'c <i>', 0, '{"b":"<u>"}', 0),
		(9002, UTC_TIMESTAMP(3), 'x', 0, 999, 0, 'GET', 'none', 0, '', 404, '', 100, 1, '', '', '', 0, NULL, 0),
		(9003, UTC_TIMESTAMP(3), 'y', 0, 0, 0, 'GET', '/bookings', 0, '', 401, '', 100, 1, '', '', '', 1200, NULL, 0),
		(9004, '2026-01-01 00:00:00', 'z', 0, 0, 0, 'GET', '/coupons', 0, '', 200, '', 100, 1, '', '', '', 0, NULL, 0),
		(9005, UTC_TIMESTAMP(3), 'w', 0, 0, 1, 'POST', '/bookings', 0, '', 200, '', 100, 1, '', '', '', 0, NULL, 1)`)
	execute(t, db.SQL, `INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
			VALUES (7901, 1, 1, 1, 'approved', '2027-06-01', 600, '2027-06-01', 660, 0, 0, 1)`)
	const parts = `foreach (['page', 'parts', 'actions', 'requests', 'times', 'webhooks', 'extensions', 'settings'] as $part) { require_once WP_PLUGIN_DIR . "/bookside/admin/$part.php"; }
		$show = function (string $show, array $asked = []) { $_GET = $asked; call_user_func("Bookside\\$show"); };
		$respond = function (int $status, string $body) { add_filter('pre_http_request', fn() => ['headers' => [], 'body' => $body, 'response' => ['code' => $status]]); };`
	german := w.Run(t, `$wp_filter = ['locale' => [10 => [['function' => fn() => 'de_DE', 'accepted_args' => 0]]]];`, parts+`$show('show_requests'); $show('show_requests', ['request' => '9001']);
		$show('show_times', ['service' => '1', 'agent' => '1', 'location' => '1', 'day' => '2027-06-01']); $show('show_times', ['service' => '1', 'day' => '2027-06-06']);
		$show('show_times', ['service' => '999']);
		echo Bookside\said_with_values('"x" is not a network; write one such as 192.0.2.0/24 or 2001:db8::/32, or an address.'), Bookside\said_with_values('Write 1 to 190 characters without line breaks.'), Bookside\said_with_values('as it is');
		foreach ([[500, 'answered 500'], [307, 'answered 307: redirects are not followed'], [0, 'no answer in 10 s']] as [$status, $failure]) { echo Bookside\delivery_failure(['status' => $status, 'failure' => $failure]); }`)
	wantTexts(t, german, "mit 500 beantwortet", "antwortete 307: Weiterleitungen", "no answer in 10 s", `"x" ist kein Netz; schreiben`, "Schreiben Sie 1 bis 190 Zeichen ohne", "as it is", "GET /bookings/7 find &lt;i&gt;", "Alle Anfragen an die API seit Mitternacht", "Benutzer 999", "GET, keine Route", "1,200 Anfragen ohne gültigen Schlüssel", "12.3 ms", "<code>till-1</code>",
		"<code>a=&lt;b&gt;</code>", "Must be &lt;b&gt;.", "Den Kunden gibt es nicht.", "200</span><br>Probelauf", "c &lt;i&gt;", "{&quot;b&quot;:&quot;&lt;u&gt;&quot;}", "Startzeiten sind frei am Tuesday", "Eine andere Buchung überschneidet sich.", "route_name=bookings__index&#038;filter%5Bid%5D=7901", "die Buchung",
		"Arbeitszeiten der Fachkraft", "An diesem Tag arbeitet niemand.", "Die Angaben sind ungültig. Die Leistung gibt es nicht.")
	if strings.Contains(german, "/coupons") {
		t.Errorf("a request of another day: %s", german)
	}
	empty := w.Run(t, parts+`$show('show_requests', ['status' => '500']); $show('show_requests', ['request' => '77']); $show('show_times', ['service' => '999']);
		$show('show_times', ['service' => ['1'], 'day' => ['x']]); $show('show_requests', ['key' => 'x', 'before' => 'x']);`)
	wantTexts(t, empty, "There are no such requests today.", "only the latest are kept", "Service not found.", "till-1")
	old := w.Run(t, parts+`$respond(404, '{"message":"There is no such page."}'); $show('show_requests'); $show('show_times'); $show('show_agenda_link');`)
	if strings.Count(old, "The server is older than this plugin") != 2 || strings.Contains(old, "agenda") {
		t.Errorf("an old server: %s", old)
	}
	treated := w.Run(t, parts+`echo Bookside\extension_treatment([['kind' => 'not_honoured', 'subject' => 'times'], ['kind' => 'not_honoured', 'subject' => 'prices'], ['kind' => 'new <i>', 'subject' => 'new <b>']]);`)
	wantTexts(t, treated, `bookside-revoked">not honoured</span>: times, prices<br>`, "new &lt;i&gt;</span>: new &lt;b&gt;")
	wantTexts(t, w.Run(t, parts+`$respond(200, '{"requests":[]}'); $show('show_requests');`), "Something else answers")
	waits := w.Run(t, parts+`$asked = 0; add_filter('pre_http_request', function () use (&$asked) { $asked++; return new WP_Error('http', 'no answer'); });
		$show('show_agenda_link'); delete_transient('bookside_agenda'); $show('show_page', ['tab' => 'settings']); echo "before $asked,"; $show('show_agenda_link'); $show('show_agenda_link'); echo " then $asked."; delete_transient('bookside_agenda');`)
	wantTexts(t, waits, "Address of the server", "before 0, then 1.") // what the old server said is known, and settings need no agenda
	agenda := w.Run(t, parts+`$at = fn($address) => print(Bookside\agenda_url(['address' => $address, 'path' => '/console/bookings']) . "\n"); $at('https://bookings.example'); $at('');
		$booking = fn($id) => Bookside\show_booking_link((object) ['id' => $id]); add_filter('admin_url', fn() => 'http://localhost/wp-admin/');
		$booking('7'); wp_set_current_user(get_user_by('login', 'admin')->ID); $booking('8'); $booking(null);
		add_filter('admin_url', fn() => 'https://practice.example/wp-admin/'); $at(''); $show('show_agenda_link'); $booking('9');`)
	wantTexts(t, agenda, "https://bookings.example/console/bookings\n", `/console/bookings/8" target="_blank">History and requests`, "The agenda is on the console: run")
	if strings.Count(agenda, "History and requests") != 1 { // neither for users without the right, nor for new bookings, nor where the console is out of reach
		t.Errorf("links to bookings: %s", agenda)
	}
	execute(t, db.SQL, "DELETE FROM wp_latepoint_bookings WHERE id = 7901")
}

// testOverlapsOfPHP: WordPress shows the overlaps that check --conflicts finds.
func testOverlapsOfPHP(t *testing.T, w *fixtures.WordPress, db *fixtures.Database) {
	t.Helper()
	random := rand.New(rand.NewPCG(17, 1)) //nolint:gosec // the same bookings each time
	for i := range 100 {
		end := [2]string{"2037-06-01", "2037-06-01"}
		from := random.IntN(1440)
		duration := 30 + random.IntN(60)
		if i >= 60 { // the night when the clock goes forward
			end, from = [2]string{"2027-03-28", "2027-03-28"}, random.IntN(300)
		}
		to := from + duration
		if to > 1440 {
			end[1], to = "2037-06-02", to-1440
		}
		switch i % 10 { // ends that cannot be right, or that were changed without the duration
		case 0:
			end[1] = "9999-12-31"
		case 1:
			to = from - 1
		case 2:
			to += 15
		}
		execute(t, db.SQL, fmt.Sprintf(`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time,
				buffer_before, buffer_after, total_attendees, customer_id, duration)
			VALUES (%d, %d, %d, %d, '%s', '%s', %d, '%s', %d, %d, %d, %d, 1, %d)`, 8000+i, 1+random.IntN(2), 1+random.IntN(6), 1+random.IntN(2), []string{"approved", "approved", "cancelled"}[random.IntN(3)], end[0], from, end[1], to, random.IntN(2)*10, random.IntN(2)*15, 1+random.IntN(3), duration))
	}
	// Buffers that reach past midnight, of bookings that do not and of some that do.
	for i, c := range []struct {
		date, last       string
		from, to         int
		before, duration int
		after            int
	}{
		{"2037-06-03", "2037-06-03", 1380, 1430, 0, 50, 30}, {"2037-06-04", "2037-06-04", 5, 30, 0, 25, 0},
		{"2037-06-05", "2037-06-05", 1380, 1435, 0, 55, 0}, {"2037-06-06", "2037-06-06", 5, 30, 30, 25, 0},
		{"2037-06-07", "2037-06-08", 1410, 15, 0, 45, 30}, {"2037-06-08", "2037-06-08", 30, 60, 0, 30, 0},
		{"2037-06-09", "2037-06-10", 1380, 1440, 0, 60, 30}, {"2037-06-10", "2037-06-10", 0, 30, 30, 30, 0},
	} {
		execute(t, db.SQL, fmt.Sprintf(`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time,
				buffer_before, buffer_after, total_attendees, customer_id, duration)
			VALUES (%d, 3, 1, 1, 'approved', '%s', %d, '%s', %d, %d, %d, 1, 1, %d)`, 8100+i, c.date, c.from, c.last, c.to, c.before, c.after, c.duration))
	}
	type pair struct {
		First, Second int64
		BuffersOnly   bool
	}
	for _, setting := range []string{"", "one_location_at_time", "multiple_services_at_time"} {
		execute(t, db.SQL, `DELETE FROM wp_latepoint_settings WHERE name IN ('one_location_at_time', 'multiple_services_at_time')`)
		if setting != "" {
			execute(t, db.SQL, `INSERT INTO wp_latepoint_settings (name, value) VALUES ('`+setting+`', 'on')`)
		}
		var want, got []pair
		var checked struct{ Conflicts conflictsJSON }
		if err := json.Unmarshal([]byte(run(t, settingsFor(db), "", "check", "--json").stdout), &checked); err != nil {
			t.Fatal(err)
		}
		for _, c := range checked.Conflicts.Pairs {
			want = append(want, pair{c.Bookings[0], c.Bookings[1], c.BuffersOnly})
		}
		type overlap struct {
			Bookings    []struct{ ID int64 }
			BuffersOnly bool `json:"buffers_only"`
		}
		for _, o := range fromPHP[[]overlap](t, w, `return Bookside\ask_server('/overlaps')['overlaps'];`) {
			got = append(got, pair{o.Bookings[0].ID, o.Bookings[1].ID, o.BuffersOnly})
		}
		if !slices.Contains(want, pair{8104, 8105, true}) || slices.ContainsFunc(want, func(p pair) bool { return p.First >= 8100 && p.First != 8104 }) {
			t.Errorf("%q: buffers over midnight: %v", setting, want)
		}
		want = want[:min(len(want), 100)]
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 3 {
			t.Errorf("%q: %d overlaps, -Go +PHP:\n%s", setting, len(want), diff)
		}
	}
	execute(t, db.SQL, `DELETE FROM wp_latepoint_bookings WHERE id BETWEEN 8000 AND 8199`)
}
