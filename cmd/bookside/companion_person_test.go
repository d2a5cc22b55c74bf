package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/monitor"
)

// Personal data of customer 1 of the sample site.
const (
	personMail    = "zora.quetzalli@example.test"
	personPhone   = "+4915550007391"
	personName    = "Zoraida Quetzalli"
	personComment = "Bitte leise klingeln 7391"
)

// testPersonOfPHP: the export has all data about a person, and after the erasure no table has any of it,
// while the accounts stay.
func testPersonOfPHP(t *testing.T, w *fixtures.WordPress, db *fixtures.Database) {
	t.Helper()
	fillPerson(t, db)
	type item struct {
		GroupID string `json:"group_id"`
		Data    []struct{ Name, Value string }
	}
	type exported struct {
		Data []item
		Done bool
	}
	groups, text := map[string]int{}, ""
	for page := 1; ; page++ {
		e := fromPHP[exported](t, w, fmt.Sprintf(`return apply_filters('wp_privacy_personal_data_exporters', [])['bookside']['callback']('%s', %d);`, personMail, page))
		for _, i := range e.Data {
			groups[i.GroupID]++
			for _, field := range i.Data {
				text += field.Name + "=" + field.Value + "\n"
			}
		}
		if e.Done {
			break
		}
	}
	for _, group := range []string{
		"latepoint-customers", "latepoint-customer-fields", "latepoint-bookings", "latepoint-booking-fields", "latepoint-orders", "latepoint-order-fields", "latepoint-order-items",
		"latepoint-invoices", "latepoint-payments", "latepoint-intents", "latepoint-payment-intents", "latepoint-activities", "latepoint-jobs", "latepoint-codes", "bookside-mails", "bookside-responses",
	} {
		if groups[group] == 0 {
			t.Errorf("nothing of %s is exported: %v", group, groups)
		}
	}
	for _, known := range []string{personMail, personPhone, "Zoraida", personComment, "198.51.100.7"} {
		if !strings.Contains(text, known) {
			t.Errorf("the export lacks %s", known)
		}
	}
	for _, secret := range []string{"geheimer-hash", "geheimer-code"} {
		if strings.Contains(text, secret) {
			t.Errorf("the export has %s", secret)
		}
	}

	const accounts = `SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM wp_latepoint_bookings), (SELECT SUM(start_time) FROM wp_latepoint_bookings), (SELECT COUNT(*) FROM wp_latepoint_orders),
		(SELECT SUM(total) FROM wp_latepoint_orders), (SELECT SUM(amount) FROM wp_latepoint_transactions), (SELECT COUNT(*) FROM wp_latepoint_order_invoices), (SELECT COUNT(*) FROM wp_latepoint_order_items),
		(SELECT GROUP_CONCAT(first_name ORDER BY id) FROM wp_latepoint_customers WHERE id NOT IN (1, 901)), (SELECT COUNT(*) FROM wp_latepoint_customer_meta WHERE object_id NOT IN (1, 901)), (SELECT COUNT(*) FROM wp_bookside_idempotency))`
	before := queryText(t, db, accounts)
	type erased struct {
		ItemsRemoved  bool `json:"items_removed"`
		ItemsRetained bool `json:"items_retained"`
		Messages      []string
		Done          bool
	}
	var e erased
	var messages string
	for page := 1; !e.Done; page++ {
		e = fromPHP[erased](t, w, fmt.Sprintf(`return apply_filters('wp_privacy_personal_data_erasers', [])['bookside']['callback']('%s', %d);`, personMail, page))
		messages += strings.Join(e.Messages, "\n")
		if !e.ItemsRemoved || page > 5 {
			t.Fatalf("page %d: %+v", page, e)
		}
	}
	wantTexts(t, messages, "invoice", "upcoming")
	if after := queryText(t, db, accounts); after != before {
		t.Errorf("the accounts were\n%s, and are\n%s", before, after)
	}
	for _, known := range []string{personMail, personPhone, "Zoraida", "Quetzalli", personComment, "198.51.100.7", "geheimer"} {
		for _, place := range placesOf(t, db, known) {
			if place != "wp_latepoint_order_invoices.data" { // invoices stay as issued
				t.Errorf("%s is still in %s", known, place)
			}
		}
	}
	if got := queryText(t, db, `SELECT CONCAT_WS(' ', (SELECT email FROM wp_latepoint_customers WHERE id = 1), (SELECT COUNT(*) FROM wp_latepoint_customers WHERE id = 901),
		(SELECT updated_at > NOW() - INTERVAL 1 HOUR FROM wp_latepoint_customers WHERE id = 1))`); got != "deleted-1@site.invalid 0 1" {
		t.Errorf("customers: %s", got)
	}
	if got := queryText(t, db, `SELECT CONCAT_WS(' ', status, answer LIKE '%erased%') FROM wp_bookside_idempotency WHERE scope = REPEAT('7', 64)`); got != fmt.Sprint(http.StatusGone, " 1") {
		t.Errorf("stored response: %s", got)
	}
}

// testAlikePersonOfPHP: mails to and about somebody whose address merely begins or ends alike are not the
// person's.
func testAlikePersonOfPHP(t *testing.T, w *fixtures.WordPress, db *fixtures.Database) {
	t.Helper()
	const ann = "ann@site.test"
	for address, content := range map[string]string{
		"ann@site.test.example": "Dear Ann, your address is ann@site.test.example.", "joann@site.test": "joann@site.test", "jo.ann@site.test": "<b>Jo.ann@site.test</b>",
		"o'ann@site.test": "o'ann@site.test", "ann@site.test-x.example": "ann@site.test-x.example", "öann@site.test": "öann@site.test",
		"agent1@site.test": "Ann (ann@site.test) has booked.", "agent2@site.test": "'Ann@Site.test', has booked", "ANN@site.test": "Dear Ann",
	} {
		if _, err := db.SQL.ExecContext(t.Context(), `INSERT INTO wp_bookside_outbox (name, address, subject, content, status, tries, due_at, failure, created_at)
			VALUES ('', ?, '', ?, 'sent', 1, '2026-11-21 08:00:00', '', '2026-11-21 08:00:00')`, address, content); err != nil {
			t.Fatal(err)
		}
	}
	const mails = "SELECT COUNT(*) FROM wp_bookside_outbox WHERE address LIKE '%ann@site.test%' OR content LIKE '%ann@site.test%'"
	exported := fromPHP[struct{ Data []any }](t, w, "return apply_filters('wp_privacy_personal_data_exporters', [])['bookside']['callback']('"+ann+"', 1);")
	if len(exported.Data) != 3 {
		t.Errorf("exported: %v", exported.Data)
	}
	w.Run(t, "apply_filters('wp_privacy_personal_data_erasers', [])['bookside']['callback']('"+ann+"', 1);")
	if left := queryText(t, db, mails); left != "6" {
		t.Errorf("%s mails of others are left", left)
	}
}

// fillPerson gives customer 1 and a customer without bookings personal data everywhere.
func fillPerson(t *testing.T, db *fixtures.Database) {
	t.Helper()
	for _, statement := range []string{
		`UPDATE wp_latepoint_customers SET first_name = 'Zoraida', last_name = 'Quetzalli', email = '` + personMail + `', phone = '` + personPhone + `', password = 'geheimer-hash', notes = '` + personComment + `' WHERE id = 1`,
		`INSERT INTO wp_latepoint_customers (id, first_name, last_name, email, phone, status) VALUES (901, 'Zoraida', 'Quetzalli', '` + strings.ToUpper(personMail) + `', '', 'active')`,
		`INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (1, 'cf_note', '` + personComment + `'), (901, 'cf_note', '` + personComment + `')`,
		`INSERT INTO wp_latepoint_orders (id, customer_id, total, subtotal, customer_comment, ip_address, source_url) VALUES (9101, 1, 30, 30, '` + personComment + `', '198.51.100.7', 'https://site.test/?mail=` + personMail + `')`,
		`INSERT INTO wp_latepoint_order_items (id, order_id, variant, item_data) VALUES (9201, 9101, 'booking', '{}')`,
		`INSERT INTO wp_latepoint_bookings (id, customer_id, agent_id, service_id, location_id, order_item_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after)
			VALUES (9301, 1, 3, 1, 1, 9201, 'approved', '2037-07-01', 600, '2037-07-01', 660, 0, 0)`,
		`INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) VALUES (9301, 'cf_reason', '` + personComment + `')`,
		`INSERT INTO wp_latepoint_order_meta (object_id, meta_key, meta_value) VALUES (9101, 'note', '` + personComment + `')`,
		`INSERT INTO wp_latepoint_order_invoices (order_id, invoice_number, data, status) VALUES (9101, 'Z1', '{"to":"` + personName + `"}', 'open')`,
		`INSERT INTO wp_latepoint_transactions (order_id, customer_id, status, amount, notes) VALUES (9101, 1, 'succeeded', 30, 'paid by ` + personName + `')`,
		`INSERT INTO wp_latepoint_transaction_intents (intent_key, order_id, customer_id, payment_data) VALUES ('z1', 9101, 1, '{"name":"` + personName + `"}')`,
		`INSERT INTO wp_latepoint_order_intents (intent_key, customer_id, other_data) VALUES ('z2', 1, '{"mail":"` + personMail + `"}')`,
		`INSERT INTO wp_latepoint_activities (customer_id, code, description) VALUES (1, 'customer_updated', '{"phone":"` + personPhone + `"}')`,
		`INSERT INTO wp_latepoint_activities (order_id, code, description) VALUES (9101, 'order_created', '{"name":"` + personName + `"}')`,
		`INSERT INTO wp_latepoint_process_jobs (process_id, object_id, object_model_type, settings) VALUES (1, 9301, 'booking', '{"to":"` + personMail + `"}')`,
		`INSERT INTO wp_latepoint_customer_otp_codes (contact_value, contact_type, delivery_method, otp_hash, expires_at) VALUES ('` + personMail + `', 'email', 'email', 'geheimer-code', '2037-01-01 00:00:00')`,
		`INSERT INTO wp_bookside_outbox (name, address, subject, content, status, tries, due_at, failure, created_at) VALUES ('` + personName + `', '` + personMail + `', 'Your appointment', 'Dear Zoraida', 'sent', 1, '2026-11-21 08:00:00', '', '2026-11-21 08:00:00')`,
		`INSERT INTO wp_bookside_outbox (name, address, subject, content, status, tries, due_at, failure, created_at) VALUES ('Agent', 'agent@example.test', 'New appointment', '` + personName + ` ` + personMail + `', 'sent', 1, '2026-11-21 08:00:00', '', '2026-11-21 08:00:00')`,
		`INSERT INTO wp_bookside_idempotency (scope, item, body_hash, status, answer, created_at) VALUES (REPEAT('7', 64), 0, REPEAT('0', 64), 201, '{"customer":{"email":"` + personMail + `","phone":"` + personPhone + `"}}', '2026-11-21 08:00:00')`,
		`INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES (1, 1, '2026-11-21 08:00:00', 200, 1, '', 'stored ` + personMail + `')`,
	} {
		execute(t, db.SQL, statement)
	}
}

// queryText returns the only value of a query.
func queryText(t *testing.T, db *fixtures.Database, query string) (text string) {
	t.Helper()
	if err := db.SQL.QueryRowContext(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

// placesOf returns the columns of all tables that contain a text.
func placesOf(t *testing.T, db *fixtures.Database, text string) (places []string) {
	t.Helper()
	rows, err := db.SQL.QueryContext(t.Context(), `SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = DATABASE() AND data_type IN ('char', 'varchar', 'text', 'mediumtext', 'longtext', 'tinytext', 'blob', 'mediumblob', 'longblob', 'varbinary')`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // read to the end
	var columns [][2]string
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		query := fmt.Sprintf("SELECT COUNT(*) FROM `%s` WHERE CONVERT(`%s` USING utf8mb4) LIKE '%%%s%%'", c[0], c[1], text)
		if queryText(t, db, query) != "0" {
			places = append(places, c[0]+"."+c[1])
		}
	}
	return places
}

// testHealthOfPHP: Site Health has a test for everything that can go wrong, and the information for support
// contains no secrets.
func testHealthOfPHP(t *testing.T, w *fixtures.WordPress, s *testServer) {
	t.Helper()
	answers := func(port int, status int, body string) string {
		return fmt.Sprintf(`add_filter('option_bookside_companion', fn() => ['admin' => 'http://localhost:%d']);
			add_filter('pre_http_request', fn() => ['body' => '%s', 'response' => ['code' => %d]]);`, port, body, status)
	}
	s.awaitFingerprint()
	var told struct{ Fingerprint string }
	if _, body := get(t, "http://"+s.admin()+"/readyz", ""); json.Unmarshal([]byte(body), &told) != nil || told.Fingerprint == "" {
		t.Fatalf("readyz: %s", body)
	}
	if got := fromPHP[string](t, w, "return Bookside\\fingerprint();"); got != told.Fingerprint {
		t.Errorf("PHP makes the fingerprint %q, Go %q", got, told.Fingerprint)
	}
	rates := func(port int, code, level string) string {
		return answers(port, http.StatusOK, `{"status":"ready","rating":[{"code":"`+code+`","name":"a <kind>","level":"`+level+`","text":"its <text>","count":101,"since":"2026-11-20 10:00:00","ids":[1,2]}]}`)
	}
	cases := map[string]struct {
		prepare string // PHP before the tests run
		id      string
		want    string
	}{
		"server is away":      {"add_filter('option_bookside_companion', fn() => ['admin' => 'http://localhost:1']);", "bookside_sidecar", "critical"},
		"something else":      {answers(2, http.StatusOK, "<html>"), "bookside_sidecar", "critical"},
		"not ready":           {answers(3, http.StatusServiceUnavailable, `{"status":"unavailable","database":"unreachable"}`), "bookside_sidecar", "critical"},
		"no address":          {"add_filter('option_bookside_companion', fn() => ['admin' => '']);", "bookside_sidecar", "recommended"},
		"another site":        {answers(7, http.StatusOK, `{"status":"ready","fingerprint":"0123456789abcdef"}`), "bookside_sidecar", "critical"},
		"same site, odd url":  {answers(11, http.StatusOK, `{"status":"ready","fingerprint":"`+told.Fingerprint+`"}`) + "add_filter('option_siteurl', fn() => 'https://other.example');", "bookside_sidecar", "good"},
		"no fingerprint":      {answers(8, http.StatusOK, `{"status":"ready"}`), "bookside_sidecar", "good"},
		"odd fingerprint":     {answers(9, http.StatusOK, `{"status":"ready","fingerprint":[]}`), "bookside_sidecar", "good"},
		"address of another":  {answers(10, http.StatusOK, `{"fingerprint":"0123456789abcdef"}`), "bookside_address", "critical"},
		"versions":            {"", "bookside_versions", "good"},
		"another companion":   {answers(4, http.StatusOK, `{"status":"ready","companion":"9.9.9"}`), "bookside_versions", "recommended"},
		"lock":                {"", "bookside_lock", "good"},
		"no lock connection":  {"add_filter('bookside_lock_connection', fn($to) => ['password' => 'wrong'] + $to);", "bookside_lock", "critical"},
		"address":             {answers(5, http.StatusOK, "<html>"), "bookside_address", "good"},
		"address elsewhere":   {answers(6, http.StatusNotFound, `{"code":"rest_no_route"}`), "bookside_address", "critical"},
		"address untried":     {"add_filter('pre_http_request', fn() => new WP_Error('x', 'cURL error 7'));", "bookside_address", "recommended"},
		"odd settings":        {"add_filter('option_bookside_companion', fn() => ['admin' => ['x'], 'forward' => null, 'jobs' => 0]);", "bookside_lock", "good"},
		"failures":            {"add_filter('pre_option_bookside_companion_failures', fn() => ['lock' => ['count' => 2, 'at' => 1, 'message' => 'away']]);", "bookside_failures", "recommended"},
		"lost slot":           {"add_filter('pre_option_bookside_companion_failures', fn() => ['payment' => ['count' => 1, 'at' => 1, 'message' => 'Order 7']]);", "bookside_failures", "critical"},
		"work goes well":      {rates(20, "changes", "good"), "bookside_changes", "good"},
		"changes stand still": {rates(21, "changes_late", "broken"), "bookside_changes_late", "critical"},
		"jobs are late":       {rates(22, "jobs_late", "minor"), "bookside_jobs_late", "recommended"},
		"unknown work":        {rates(23, "coffee_cold", "minor"), "bookside_coffee_cold", "recommended"},
		"unknown level":       {rates(24, "coffee_cold", "x"), "bookside_coffee_cold", "recommended"},
		"no failures":         {"add_filter('pre_option_bookside_companion_failures', fn() => []);", "bookside_failures", "good"},
	}
	// On a busy machine, /readyz may at first report that the database does not answer in time.
	s.eventually("Site Health finds the server ready", func() bool {
		return w.Run(t, `echo call_user_func(apply_filters('site_status_tests', ['direct' => []])['direct']['bookside_sidecar']['test'])['status'];`) == "good"
	})
	code := `$results = [];`
	for name, test := range cases {
		code += `foreach (['option_bookside_companion', 'option_siteurl', 'pre_http_request', 'bookside_lock_connection', 'pre_option_bookside_companion_failures'] as $filter) { remove_all_filters($filter); }
			` + test.prepare + `
			foreach (apply_filters('site_status_tests', ['direct' => []])['direct'] as $id => $test) { $results['` + name + `'][$id] = array_intersect_key(call_user_func($test['test']), ['status' => 1, 'description' => 1]); }`
	}
	type result struct{ Status, Description string }
	results := fromPHP[map[string]map[string]result](t, w, code+"return $results;")
	for name, test := range cases {
		if got := results[name]; got[test.id].Status != test.want || len(got) < 6 {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
	// Whatever the server sends breaks nothing, and another site's work is not shown.
	for body, want := range map[string]int{
		`{"status":"ready","rating":"x"}`: 0, `{"status":"ready","rating":[1,{"code":1},{"code":"a b"},{"code":"x","ids":"x","count":"x","level":[]}]}`: 1,
		`{"status":"ready","fingerprint":"0123456789abcdef","rating":[{"code":"changes"}]}`: 0,
	} {
		if got := fromPHP[int](t, w, answers(30+len(body), http.StatusOK, body)+"foreach (Bookside\\work_checks() as $run) { $run(); } return count(Bookside\\work_checks());"); got != want {
			t.Errorf("%s: %d checks, want %d", body, got, want)
		}
	}
	testWorkOfPHP(t, w, s)
	w.Run(t, "wp_unschedule_hook('latepoint_process_scheduled_jobs'); delete_option('bookside_companion_failures');")
	var information string
	s.eventually("the information for support says that the server is ready", func() bool {
		information = w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`', 'forward' => 'http://geheim.example']);
			echo json_encode(apply_filters('debug_information', []));`)
		return strings.Contains(information, `"Server of the API","value":"ready"`)
	})
	wantTexts(t, information, `"LatePoint","value":"5.6.5"`, `"Forwards requests","value":"yes"`)
	for _, secret := range []string{"geheim", "lp_live_", s.admin()} {
		if strings.Contains(information, secret) {
			t.Errorf("%s is in %s", secret, information)
		}
	}
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`']);`)
}

// testWorkOfPHP: wp-admin has its own words for everything that the server rates, with the names of
// webhooks and keys, and uses the server's for what it does not know.
func testWorkOfPHP(t *testing.T, w *fixtures.WordPress, s *testServer) {
	t.Helper()
	words := func(code string, count int) string {
		return strings.Join(fromPHP[[]string](t, w, fmt.Sprintf(`return Bookside\rated_words(['code' => '%s', 'name' => 'a kind', 'text' => 'its text', 'level' => 'minor', 'count' => %d, 'since' => '2026-11-20 10:00:00', 'ids' => [1, 7777]]);`, code, count)), ": ")
	}
	// Codes of work that goes well are single words, and these count nothing either.
	whole := []string{"changes_late", "restored_under", "writes_refused", "jobs_unscheduled", "extensions_ignored"}
	codes := regexp.MustCompile(`Code = "([a-z_]+)"`).FindAllStringSubmatch(string(readFile(t, "../../adapter/diagnose/rating.go")), -1)
	if len(codes) < 15 {
		t.Errorf("codes %q", codes)
	}
	for _, found := range codes {
		code := found[1]
		text := words(code, 2)
		if strings.Contains(text, "a kind") {
			t.Errorf("%s has no words", code)
		}
		if counts := strings.Contains(text, "7777"); counts != (strings.Contains(code, "_") && !slices.Contains(whole, code)) {
			t.Errorf("%s: %s", code, text)
		}
	}
	if got := words("coffee_cold", 2); got != "a kind: its text" {
		t.Errorf("an unknown code: %s", got)
	}
	name := w.Run(t, `foreach (Bookside\list_keys() as $key) { if ((int) $key->id === 1) { echo $key->name; } }`)
	wantTexts(t, words("keys_expiring", 101), "Keys that expire within a week: more than 100", "(1 ("+name+"), 7777, …). Replace")
	var rated monitor.VerboseReadiness
	if _, body := get(t, "http://"+s.admin()+"/readyz?verbose", ""); json.Unmarshal([]byte(body), &rated) != nil || len(rated.Rating) < 5 {
		t.Errorf("%+v", rated)
	}
}

// wpCLI is a stand-in for WP-CLI that prints what the commands give it.
const wpCLI = `namespace WP_CLI\Utils { function format_items($format, $items, $columns) {
	foreach ($items as $item) { echo implode("\t", array_map(fn($c) => $item[$c], $columns)), "\n"; } } }
namespace { define('WP_CLI', true); class WP_CLI {
	public static $commands = [];
	static function add_command($name, $class) { self::$commands[$name] = $class; }
	static function line($text) { echo $text, "\n"; }
	static function log($text) { echo $text, "\n"; }
	static function warning($text) { echo "Warning: $text\n"; }
	static function success($text) { echo "Success: $text\n"; }
	static function error($text) { echo "Error: $text\n"; exit(0); }
	static function halt($code) { echo "exit $code\n"; exit(0); }
} }`

// testCommandLineOfPHP runs the commands of WP-CLI.
func testCommandLineOfPHP(t *testing.T, w *fixtures.WordPress, s *testServer) {
	t.Helper()
	standIn := w.Dir + "/wp-cli.php"
	writeBelow(t, w.Dir, map[string]string{"wp-cli.php": "<?php " + wpCLI})
	command := func(method, arguments string) string {
		return w.Run(t, "require '"+standIn+"';", `(new WP_CLI::$commands['bookside']())->`+method+`(`+arguments+`);`)
	}
	agent := func(id int) string {
		return w.Run(t, fmt.Sprintf(`global $wpdb; echo $wpdb->get_var('SELECT TRIM(CONCAT(first_name, \' \', last_name)) FROM ' . Bookside\platform_table('agents') . ' WHERE id = %d');`, id))
	}
	created := command("keys", `['create'], ['name' => 'Kasse', 'permissions' => 'read_bookings, write_bookings', 'expires' => '2037-01-31']`)
	secret, _, _ := strings.Cut(created, "\n")
	if status, _ := get(t, s.url+"/v1/bookings", secret); status != http.StatusOK {
		t.Fatalf("%s: status %d", created, status)
	}
	wantTexts(t, created, "It is shown only once")
	list := command("keys", "['list'], []")
	wantTexts(t, list, "Kasse\tlive\t"+secret[:8]+"…", "read_bookings,write_bookings\t\tany\t2037-02-01 00:00:00")
	id := ""
	for line := range strings.Lines(list) {
		if fields := strings.Split(line, "\t"); fields[1] == "Kasse" {
			id = fields[0]
		}
	}
	wantTexts(t, command("keys", "['restrict', '"+id+"'], ['networks' => '192.0.2.0/24', 'expires' => 'never']"), "Success: Changed.")
	if status, _ := get(t, s.url+"/v1/bookings", secret); status != http.StatusUnauthorized {
		t.Errorf("restricted key: status %d", status)
	}
	wantTexts(t, command("keys", "['restrict', '"+id+"'], ['networks' => 'any', 'permissions' => 'read_all']"), `Error: --permissions: Permission "read_all": `)
	wantTexts(t, command("keys", "['restrict', '"+id+"'], ['agents' => '4, ' . strtoupper('"+agent(3)+"'), 'locations' => '1', 'mask_personal' => true]"), "Success: Changed.")
	wantTexts(t, command("keys", "['restrict', '"+id+"'], ['locations' => 'any']"), "Success: Changed.")
	wantTexts(t, command("keys", "['restrict', '"+id+"'], ['services' => '1;2']"), `Error: --services: There is no service "1;2"; write ids or names of these: 1 `)
	wantTexts(t, command("keys", "['restrict', '"+id+"'], ['agents' => '3,999', 'services' => '0', 'permissions' => 'READ,read_booking']"),
		`Error: --permissions: Permission "READ": there is none of this name; did you mean read?`, "--agents: There is no agent with the ID 999; write ids or names of these: 1 ",
		"--services: Write ids such as 3,4")
	wantTexts(t, command("keys", "['restrict', '"+id+"'], []"), "Error: Name what to change")
	wantTexts(t, command("keys", "['restrict'], ['expires' => 'soon']"), "Error: Name the key by its id; see wp bookside keys list.")
	wantTexts(t, command("keys", "['restrict', '"+id+"'], ['expires' => 'soon']"), "Error: --expires: Write days such as 90d, or a date such as 2027-01-31.")
	wantTexts(t, command("keys", "['create'], []"), "Error: --name: Write 1 to 190 characters without line breaks. --permissions: Tick at least one.")
	wantTexts(t, command("keys", "['create'], ['name' => 'x', 'permissions' => 'all', 'kind' => 'prod']"),
		`Error: --kind: Write live or test. --permissions: Permission "all": there is none of this name; did you mean read,write,delete?`)
	wantTexts(t, command("keys", "['roll', '"+id+"'], ['hours' => 'ten']"), "Error: --hours: Write a number from 0 to 720.")
	wantTexts(t, command("keys", "['list'], []"), "\tagents 3 "+agent(3)+", 4 "+agent(4)+"; personal data masked\t")
	rolled, _, _ := strings.Cut(command("keys", "['roll', '"+id+"'], ['hours' => '0']"), "\n")
	if !secretOfPage.MatchString(rolled) {
		t.Errorf("rolled key %q", rolled)
	}
	wantTexts(t, command("keys", "['revoke', '"+id+"'], []"), "Success: Revoked.")
	wantTexts(t, command("keys", "['revoke', '"+id+"'], []"), "Error: This key is revoked.")
	wantTexts(t, command("keys", "['revoke', '99999'], []"), "Error: There is no key 99999; see wp bookside keys list.")
	wantTexts(t, command("keys", "['bake'], []"), `Error: There is no action "bake". Write list, create, restrict, roll or revoke.`)
	wantTexts(t, command("keys", "['add'], []"), `Error: There is no action "add"; did you mean create?`)
	wantTexts(t, command("keys", "['revok'], []"), "did you mean revoke?")
	wantTexts(t, command("status", "[], []"), "sidecar\tgood", "lock\tgood")
	w.Run(t, `global $wpdb; $wpdb->query("UPDATE {$wpdb->prefix}bookside_change_positions SET position = 900001 WHERE name = 'journal'");
		$wpdb->query("INSERT INTO {$wpdb->prefix}bookside_changes (number, resource, resource_id, kind, origin, actor_id, at) VALUES (900001, 'bookings', 17, 'created', 'api', `+id+`, UTC_TIMESTAMP())");`)
	wantTexts(t, command("changes", "[], []"), "900001", "bookings 17\tcreated\tAPI key Kasse")
}
