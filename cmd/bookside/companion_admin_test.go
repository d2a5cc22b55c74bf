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

	"bookside/adapter/keys"
	"bookside/cmd/internal/exit"
	"bookside/fixtures"
)

// newCompanionSite installs the companion in a WordPress with a stand-in for LatePoint, which
// has its constant and its menu. It waits longer for the server than a page may: the machine
// may be busy with other tests.
func newCompanionSite(t *testing.T, db *fixtures.Database) *fixtures.WordPress {
	t.Helper()
	w := fixtures.NewWordPress(t, db)
	writeBelow(t, w.Content, map[string]string{"plugins/latepoint/latepoint.php": `<?php
/* Plugin Name: LatePoint */
define('LATEPOINT_VERSION', '5.6.5');
add_action('admin_menu', function () {
	add_menu_page('LatePoint', 'LatePoint', 'read', 'latepoint', function () { echo '<div class="wrap"><h1>LatePoint</h1></div>'; });
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

// phpText returns a literal of PHP.
func phpText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// TestCompanionPlugin tests the PHP of the plugin in one site, which it changes.
func TestCompanionPlugin(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	environment := settingsFor(db)
	s := serve(t, environment)
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`']);`)

	t.Run("keys", func(t *testing.T) { testKeysOfPHP(t, w, s, environment) })
	t.Run("first key", func(t *testing.T) { testFirstKeyOfPHP(t, w) })
	t.Run("terms", func(t *testing.T) { testTermsOfPHP(t, w) })
	t.Run("choices", func(t *testing.T) { testChoicesOfPHP(t, w) })
	t.Run("overlaps", func(t *testing.T) { testOverlapsOfPHP(t, w, db) })
	t.Run("health", func(t *testing.T) { testHealthOfPHP(t, w, s) })
	t.Run("command line", func(t *testing.T) { testCommandLineOfPHP(t, w, s) })
	t.Run("German", func(t *testing.T) {
		german := `$wp_filter = ['locale' => [10 => [['function' => fn() => 'de_DE', 'accepted_args' => 0]]]];`
		wantTexts(t, w.Run(t, german, `echo Bookside\check_lock()['label'];`), "Die Sperre für Buchungen funktioniert")
	})
	t.Run("a person", func(t *testing.T) { testPersonOfPHP(t, w, db) })
	t.Run("a person with an address like others", func(t *testing.T) { testAlikePersonOfPHP(t, w, db) })
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

// testKeysOfPHP: a key that PHP makes, changes, rolls and revokes is one for the server at once.
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
	decode := func(code string) created {
		list := fromPHP[[]any](t, w, code)
		return created{list[0].(string), int(list[1].(float64))}
	}
	first := decode(`return Bookside\create_key(['name' => 'Kasse <1>', 'kind' => 'live', 'permissions' => 'read_bookings', 'networks' => '127.0.0.0/8,::1/128']);`)
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

	w.Run(t, fmt.Sprintf(`Bookside\restrict_key(%d, ['permissions' => 'read_services']);`, first.ID))
	if status("/v1/services", first.Secret) != http.StatusOK || status("/v1/bookings", first.Secret) != http.StatusForbidden {
		t.Error("the change of permissions had no effect")
	}
	w.Run(t, fmt.Sprintf(`Bookside\restrict_key(%d, ['networks' => '192.0.2.0/24']);`, first.ID))
	if got := status("/v1/services", first.Secret); got != http.StatusUnauthorized {
		t.Errorf("from another network: status %d", got)
	}
	w.Run(t, fmt.Sprintf(`Bookside\restrict_key(%d, ['networks' => '']);`, first.ID))

	own := func(key int, table, values string) {
		w.Run(t, fmt.Sprintf(`global $wpdb; $wpdb->insert(Bookside\own_table('%s'), array_merge(['key_id' => %d], %s)) === 1 || exit(1);`, table, key, values))
	}
	const hook = `['name' => 'rolled', 'url' => 'https://example.com', 'events' => '*', 'agents' => '', 'services' => '', 'locations' => '', 'include_record' => 0, 'allow_private' => 0,
		'secret' => 'x', 'status' => 'disabled', 'position' => 0, 'created_at' => Bookside\utc_now()]`
	const hold = `['agent_id' => 1, 'service_id' => 1, 'location_id' => 1, 'start_date' => '2020-11-30', 'start_time' => 600, 'end_date' => '2020-11-30', 'end_time' => 660, 'duration' => 60,
		'buffer_before' => 0, 'buffer_after' => 0, 'total_attendees' => 1, 'created_at' => Bookside\utc_now(), 'expires_at' => Bookside\utc_now()]`
	own(first.ID, "webhooks", hook)
	own(first.ID, "holds", hold)
	second := decode(fmt.Sprintf(`return Bookside\roll_key(Bookside\find_key(%d), 24);`, first.ID))
	own(second.ID, "holds", hold)
	if status("/v1/services", first.Secret) != http.StatusOK || status("/v1/services", second.Secret) != http.StatusOK {
		t.Error("both keys should work for a day")
	}
	third := decode(fmt.Sprintf(`return Bookside\roll_key(Bookside\find_key(%d), 0);`, second.ID))
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
	rolled := decode(fmt.Sprintf(`return Bookside\roll_key(Bookside\find_key(%d), 0);`, third.ID+1))
	if list := run(t, environment, "", "keys", "list", "--json").want(t, exit.OK).stdout; rolled.ID != third.ID+2 || len(limited) == 0 ||
		strings.Count(strings.Join(strings.Fields(list), ""), `"agents":[3],"services":[2],"locations":[1],"mask_personal":true`) != 2 {
		t.Errorf("a new key in place of a limited one: %s", list)
	}
	ended := w.Run(t, fmt.Sprintf(`Bookside\restrict_key(%d, ['expires_at' => '2026-01-01 00:00:00']); echo Bookside\roll_key(Bookside\find_key(%[1]d), 24)->get_error_message();`, third.ID))
	wantTexts(t, ended, "This key has expired")
	w.Run(t, fmt.Sprintf(`Bookside\revoke_key(%d);`, third.ID))
	if got := status("/v1/services", third.Secret); got != http.StatusUnauthorized {
		t.Errorf("revoked key: status %d", got)
	}
}

// testTermsOfPHP: PHP reads the terms of a key as Go does, and has the same permissions.
func testTermsOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	lists := fromPHP[map[string][]string](t, w, `return ['kinds' => Bookside\KEY_KINDS, 'verbs' => Bookside\PERMISSION_VERBS,
		'resources' => Bookside\PERMISSION_RESOURCES, 'named' => Bookside\NAMED_PERMISSIONS];`)
	want := map[string][]string{"verbs": keys.PermissionVerbs, "resources": keys.PermissionResources, "named": keys.NamedPermissions}
	for _, kind := range keys.Kinds {
		want["kinds"] = append(want["kinds"], string(kind))
	}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("-Go +PHP:\n%s", diff)
	}
	for id, preset := range fromPHP[map[string][]any](t, w, `return Bookside\permission_presets();`) {
		for _, permission := range preset[1].([]any) {
			if !keys.KnownPermission(permission.(string)) {
				t.Errorf("preset %s: %v", id, permission)
			}
		}
	}

	networks := []string{
		"192.0.2.0/24", "192.0.2.7", "192.0.2.7/24", "2001:db8::7", "2001:db8::/32", "2001:DB8:0:0::1/64", "::1", "0.0.0.0/0", "::/0", "10.1.2.3/15", "10.0.0.0/8, 10.0.0.0/8\n192.0.2.1",
		"192.0.2.0/33", "2001:db8::/129", "192.0.2.0/", "192.0.2.0/024", "192.0.2.0/+4", "::ffff:192.0.2.1", "::ffff:192.0.2.0/120", "fe80::1%eth0", "192.0.2", "localhost", "192.0.2.01", "any thing",
	}
	days := []string{"2037-01-31", "2037-02-30", "2037-1-31", "2001-01-01", "9999-12-31", "tomorrow", "2037-01-31x"}
	limits := []string{"1", "1000000000", "1000000001", "0", "-1", "1.5", "x", "007", "99999999999999999999"}
	names := []string{"Kasse", strings.Repeat("ü", 190), strings.Repeat("ü", 191), "   ", "a\nb", "\xff", "a\u0085b"}
	ids := []string{"3", "4,3", " 3 , 3", "007", "8388607", "8388608", "0", "-1", "3,", ",", "x", "1.5", "99999999999999999999", strings.Repeat("1,", 200) + "2"}
	var many []string
	for n := range 101 {
		many = append(many, fmt.Sprint(n+1))
	}
	ids = append(ids, strings.Join(many[1:], ","), strings.Join(many, ","))
	texts := map[string][]string{"parse_ids": ids, "parse_networks": networks, "parse_expiry": days, "parse_limit": limits, "parse_name": names}
	var code strings.Builder
	code.WriteString("$all = [];")
	for parser, inputs := range texts {
		for _, input := range inputs {
			fmt.Fprintf(&code, "$value = Bookside\\%s(%s); $all[] = ['%s', bin2hex(%s), is_wp_error($value) ? 'error' : (string) $value];", parser, phpText(input), parser, phpText(input))
		}
	}
	code.WriteString("return $all;")
	got := map[string]string{}
	for _, row := range fromPHP[[][3]string](t, w, code.String()) {
		got[row[0]+" "+row[1]] = row[2]
	}
	for parser, inputs := range texts {
		for _, input := range inputs {
			want := termOfGo(parser, input)
			if text := got[fmt.Sprintf("%s %x", parser, input)]; text != want {
				t.Errorf("%s(%q): PHP %q, Go %q", parser, input, text, want)
			}
		}
	}
}

// testChoicesOfPHP: PHP finds agents, services and locations by ids and names, as Go does.
func testChoicesOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	w.Run(t, `global $wpdb; $table = Bookside\platform_table('services');
		foreach ([9001 => 'Jörg’s Cut', 9002 => 'Cut, colour', 9003 => 'Twin', 9004 => 'twin', 9005 => '9001'] as $id => $name) { $wpdb->insert($table, ['id' => $id, 'name' => $name]); }`)
	choose := func(text string) string {
		return w.Run(t, "$ids = Bookside\\parse_services("+phpText(text)+"); echo is_wp_error($ids) ? $ids->get_error_message() : $ids;")
	}
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"9001", "9001"}, {" 9002 , 9001", "9001,9002"}, {"JÖRG’S CUT,9003", "9001,9003"}, {"Cut, colour", "9002"}, {"9005", "9005"}, {"009001", "9001"},
		{"TWIN", `Several have the name "TWIN". Write the id of one: 9003 Twin, 9004 twin.`},
		{"0", "Write ids such as 3,4."}, {"9001,", "Write ids such as 3,4."}, {"-1", "Write ids such as 3,4."},
	} {
		if got := choose(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	for _, text := range []string{"9999", "Cut", "9001,Cut", "Cut, colour, 9001"} {
		wantTexts(t, choose(text), "There is none with the id or name \"", "There are: 1 ", "9001 Jörg’s Cut, 9002 Cut, colour, 9003 Twin")
	}
	if got := w.Run(t, `global $wpdb; $wpdb->query('DELETE FROM ' . Bookside\platform_table('services') . ' WHERE id > 9000');
		echo Bookside\choices_text('services', '1,9001');`); !strings.HasPrefix(got, "1 ") || !strings.HasSuffix(got, ", 9001") {
		t.Errorf("with names: %q", got)
	}
	if got := w.Run(t, `echo Bookside\listed_choices(array_fill(1, 40, 'x'));`); !strings.HasSuffix(got, "30 x, and 10 more") {
		t.Errorf("many: %q", got)
	}
	words := []string{"read_booking", "READ", "all", "*", "write_agent", "raed", "delete_coupon", "read_change", "nonsense", "bookings", "x", "Everything", "write_user", "reed_bookings", ""}
	got := fromPHP[[]string](t, w, "return array_map('Bookside\\permission_meant', "+phpTexts(words)+");")
	for i, word := range words {
		_, err := keys.ParsePermissions(word + ",")
		_, want, _ := strings.Cut(fmt.Sprint(err), "did you mean ")
		if want = strings.TrimSuffix(want, "?"); word != "" && got[i] != want {
			t.Errorf("%q: PHP means %q, Go %q", word, got[i], want)
		}
	}
}

// phpTexts returns an array of literals of PHP.
func phpTexts(texts []string) string {
	literals := make([]string, len(texts))
	for i, text := range texts {
		literals[i] = phpText(text)
	}
	return "[" + strings.Join(literals, ", ") + "]"
}

// termOfGo returns the column that Go would store, or "error".
func termOfGo(parser, input string) string {
	var text string
	var err error
	switch parser {
	case "parse_networks":
		networks, failed := keys.ParseNetworks(input)
		for i, network := range networks {
			text += strings.Repeat(",", min(i, 1)) + network.String()
		}
		err = failed
	case "parse_expiry":
		end, failed := keys.ParseExpiry(input, time.Now())
		if err = failed; err == nil {
			text = end.Format(time.DateTime)
		}
	case "parse_limit":
		limit, failed := keys.ParseRequestLimit(input)
		if err = failed; err == nil {
			text = fmt.Sprint(*limit)
		}
	case "parse_name":
		text, err = keys.ParseName(input)
	case "parse_ids":
		ids, failed := keys.ParseIDs(input)
		text, err = keys.FormatIDs(ids), failed
	}
	if err != nil {
		return "error"
	}
	return text
}

// testFirstKeyOfPHP: the first key of an emptied table does not get the id of one to which something is
// attributed.
func testFirstKeyOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	got := fromPHP[[]int](t, w, `global $wpdb; $own = $wpdb->prefix . 'bookside_'; $ids = [];
		foreach ([
			"INSERT INTO {$own}key_records (key_id, resource, record_id, made, created_at) VALUES (4710, 'bookings', 1, 1, UTC_TIMESTAMP())",
			"INSERT INTO {$own}changes (number, resource, resource_id, kind, origin, actor_id, at) VALUES (999999, 'bookings', 1, 'updated', 'api', 4720, UTC_TIMESTAMP())",
			"INSERT INTO {$own}changes (number, resource, resource_id, kind, origin, actor_id, at) VALUES (999999, 'bookings', 1, 'updated', 'site', 4730, UTC_TIMESTAMP())",
		] as $attributed) {
			$wpdb->query('START TRANSACTION');
			$wpdb->query("DELETE FROM {$own}api_keys");
			$wpdb->query($attributed);
			$id = Bookside\create_key(['name' => 'n', 'kind' => 'live', 'permissions' => ''])[1];
			$ids[] = $id === (int) $wpdb->get_var("SELECT MAX(id) FROM {$own}api_keys") ? $id : 0;
			$wpdb->query('ROLLBACK');
		}
		return $ids;`)
	if len(got) != 3 || got[0] != 4711 || got[1] != 4721 || got[2] == 0 || got[2] == 4731 {
		t.Errorf("new keys have the ids %v", got)
	}
}

// testOverlapsOfPHP: PHP finds the overlaps that check --conflicts finds.
func testOverlapsOfPHP(t *testing.T, w *fixtures.WordPress, db *fixtures.Database) {
	t.Helper()
	random := rand.New(rand.NewPCG(17, 1)) //nolint:gosec // the same bookings each time
	for i := range 100 {
		end := [2]string{"2037-06-01", "2037-06-01"}
		from := random.IntN(1440)
		duration := 30 + random.IntN(60)
		if i >= 60 { // the night that the clock goes forward
			end, from = [2]string{"2027-03-28", "2027-03-28"}, random.IntN(300)
		}
		to := from + duration
		if to > 1440 {
			end[1], to = "2037-06-02", to-1440
		}
		switch i % 10 { // ends that cannot be right, or were changed without the duration
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
	// Buffers that reach over midnight, of bookings that do not and of some that do.
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
		for _, o := range fromPHP[[]map[string]any](t, w, `return Bookside\find_overlaps()['overlaps'];`) {
			got = append(got, pair{int64(o["first"].(float64)), int64(o["second"].(float64)), o["buffers_only"].(bool)})
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
