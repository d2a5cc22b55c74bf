package handlers_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestUnavailablePlatform makes the platform unavailable in every way and
// restores it: the status is 503 in between, and everything works again without
// a restart.
func TestUnavailablePlatform(t *testing.T) {
	t.Parallel()
	const (
		plugins = "UPDATE wp_options SET option_value = '%s' WHERE option_name = 'active_plugins'"
		version = "UPDATE wp_options SET option_value = '%s' WHERE option_name = 'latepoint_db_version'"
	)
	cases := []struct{ name, away, back, message string }{
		{"plugin inactive", fmt.Sprintf(plugins, "a:0:{}"), activate(pluginFile), "LatePoint is not active on this site"},
		{"plugin list unreadable", fmt.Sprintf(plugins, "a:1:{i:0"), activate("renamed-plugin/latepoint.php"), "LatePoint is not active on this site"},
		{"version 4", fmt.Sprintf(version, "1.4.92"), fmt.Sprintf(version, "2.3.1"), "LatePoint 5 is not installed on this site"},
		{
			"never installed", "DELETE FROM wp_options WHERE option_name = 'latepoint_db_version'",
			"INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint_db_version', '2.3.1')", "LatePoint 5 is not installed on this site",
		},
		{"a table gone", "RENAME TABLE wp_latepoint_bookings TO elsewhere", "RENAME TABLE elsewhere TO wp_latepoint_bookings", "LatePoint tables are missing: wp_latepoint_bookings"},
		{"no WordPress", "RENAME TABLE wp_options TO elsewhere", "RENAME TABLE elsewhere TO wp_options", "No WordPress tables under this prefix"},
	}
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	before := s.get("/bookings").want(http.StatusOK)
	for _, c := range cases {
		database.Execute(t, c.away)
		for range 2 {
			a := s.get("/bookings").want(http.StatusServiceUnavailable)
			want := fmt.Sprintf(`{"code":"platform_not_available","message":"%s","data":{"status":503}}`, c.message)
			if string(a.body) != want || a.header.Get("Retry-After") == "" {
				t.Errorf("%s: %s, Retry-After %q", c.name, a.body, a.header.Get("Retry-After"))
			}
		}
		expect.Equal(t, http.StatusServiceUnavailable, s.get("/status").status, fmt.Sprintf("%s: /status", c.name))
		s.do(http.MethodGet, "/v1/bookings", nil).want(http.StatusUnauthorized)
		database.Execute(t, c.back)
		expect.Equal(t, string(before.body), string(s.get("/bookings").want(http.StatusOK).body), fmt.Sprintf("%s: the response, as before", c.name))
	}
}

// TestSchemaChangesWhileServing drops and adds columns and tables while the
// server runs, as an update of the plugin does.
func TestSchemaChangesWhileServing(t *testing.T) {
	s := ownServer(t, fixtures.Small(now))
	if s.get("/payments/1").want(http.StatusOK).at("data", "receipt_number") == "" {
		t.Fatal("the payment has no receipt number")
	}
	s.database.Execute(t, "ALTER TABLE wp_latepoint_transactions DROP COLUMN receipt_number")
	expect.Equal(t, "", s.get("/payments/1").want(http.StatusOK).at("data", "receipt_number"), "receipt_number of a dropped column")
	s.get("/payments?search=x").want(http.StatusOK)
	s.database.Execute(t,
		"ALTER TABLE wp_latepoint_transactions ADD COLUMN receipt_number varchar(10)",
		"UPDATE wp_latepoint_transactions SET receipt_number = 'ABCDEFGH'",
		"UPDATE wp_options SET option_value = '2.3.2' WHERE option_name = 'latepoint_db_version'")
	expect.Equal(t, "ABCDEFGH", s.get("/payments/1").want(http.StatusOK).at("data", "receipt_number"), "receipt_number after the update")
	s.database.Execute(t, "DROP TABLE wp_latepoint_coupons", "DROP TABLE wp_latepoint_transaction_refunds")
	expect.Equal(t, 0, len(s.get("/coupons").want(http.StatusOK).records()), "coupons without their table")
	s.get("/customers").want(http.StatusOK)
	s.database.Execute(t,
		"CREATE TABLE wp_latepoint_coupons (id mediumint PRIMARY KEY, code varchar(110), discount_type varchar(110), discount_value decimal(20,4), status varchar(20))",
		"INSERT INTO wp_latepoint_coupons VALUES (1, 'NEW', 'percent', 10, 'active')")
	expect.Equal(t, 1, len(s.get("/coupons").want(http.StatusOK).records()), "coupons after the add-on made its table")
}

// TestStatementsDoNotGrowWithPages: a large page runs as many statements as a
// small one, and no list more than its bound.
func TestStatementsDoNotGrowWithPages(t *testing.T) {
	t.Parallel()
	bounds := map[string]int{ // including the query for the key
		"/bookings": 3, "/bookings?include_meta=1": 4, "/bookings?sort=customer_name": 3, "/bookings?page=2": 3, "/bookings?search=a": 4,
		"/customers": 4, "/agents": 4, "/services": 2, "/services?include=category,agents,locations,categories": 5, "/services/categories": 2,
		"/locations": 2, "/payments": 5, "/orders": 3, "/orders/1/invoices": 4, "/orders/1/transactions": 5, "/coupons": 4,
	}
	for name, site := range map[string]fixtures.Site{"recorded": fixtures.SiteA(), "small": fixtures.Small(now)} {
		t.Run(name, func(t *testing.T) {
			s := sharedServer(t, site)
			s.get("/status").want(http.StatusOK) // records the use of the key and probes the schema
			for path, bound := range bounds {
				join := "?"
				if strings.Contains(path, "?") {
					join = "&"
				}
				s.get(path + join + "per_page=1").want(http.StatusOK)
				one := s.log.last(t).Queries
				records := s.get(path + join + "per_page=100").want(http.StatusOK).records()
				hundred := s.log.last(t).Queries
				if hundred > one || one > bound {
					t.Errorf("%s: %d queries for one record, %d for %d, bound %d", path, one, hundred, len(records), bound)
				}
			}
			s.get("/bookings?search=nobody-is-called-so").want(http.StatusOK)
			expect.Equal(t, 2, s.log.last(t).Queries, "queries of an empty list")
		})
	}
}

// TestHeadersOfEveryResponse checks the headers that every response has.
func TestHeadersOfEveryResponse(t *testing.T) {
	s := smallServer(t, func(o *handlers.Options) { o.RateLimit.Enabled = true })
	for _, path := range []string{"/v1/status", "/v1/nothing", "/v1/bookings?page=0"} {
		a := s.do(http.MethodGet, path, http.Header{"X-Api-Key": {s.key}, "X-Request-Id": {"client-id.1234"}})
		for name, want := range map[string]string{
			"X-Request-Id": "client-id.1234", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Type": "application/json; charset=UTF-8",
		} {
			expect.Equal(t, want, a.header.Get(name), fmt.Sprintf("%s: %s", path, name))
		}
	}
	for _, sane := range []string{"7", "short", "A-b_c.9", strings.Repeat("x", 128)} {
		expect.Equal(t, sane, s.do(http.MethodGet, "/v1/nothing", http.Header{"X-Request-Id": {sane}}).header.Get("X-Request-Id"), "request id")
	}
	for _, id := range []string{"", "has spaces in it", "é", strings.Repeat("x", 129), "line\nbreak-in-it"} {
		if got := s.do(http.MethodGet, "/v1/nothing", http.Header{"X-Request-Id": {id}}).header.Get("X-Request-Id"); got == id || len(got) < 20 {
			t.Errorf("request id %q for %q", got, id)
		}
	}
}

// writeRequests has at least one request for every route that writes; together
// they touch every table that we write to.
var writeRequests = map[string][3]string{
	"booking":           {http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)},
	"bookings":          {http.MethodPost, "/bookings/bulk", `{"bookings":[` + friday() + `]}`},
	"moved booking":     {http.MethodPut, "/bookings/7", `{"customer":{"phone":"1"},"notes":"x","price":1,"status":"cancelled"}`},
	"deleted booking":   {http.MethodDelete, "/bookings/7?force=true", ""},
	"customer":          {http.MethodPost, "/customers", fullCustomer},
	"changed customer":  {http.MethodPut, "/customers/5", fullCustomerPatch},
	"deleted customer":  {http.MethodDelete, "/customers/268", ""},
	"service":           {http.MethodPost, "/services", `{"name":"Bath","description":"Warm"}`},
	"changed service":   {http.MethodPut, "/services/4", `{"name":"Bath","description":"Warm"}`},
	"payment":           {http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`},
	"changed payment":   {http.MethodPut, "/payments/7", `{"amount":1}`},
	"deleted payment":   {http.MethodDelete, "/payments/3", ""},
	"order":             {http.MethodPost, "/orders", `{"customer_id":9,"subtotal":1,"total":1,"notes":"x"}`},
	"transferred order": {http.MethodPut, "/orders/888", `{"customer_id":12,"notes":"x"}`},
	"invoice":           {http.MethodPut, "/orders/1403/invoices/1270", `{"status":"void"}`},
	"coupon":            {http.MethodPost, "/coupons", `{"code":"NEW","discount_type":"percent","discount_value":5}`},
	"changed coupon":    {http.MethodPut, "/coupons/OLD", `{"name":"x"}`},
	"deleted coupon":    {http.MethodDelete, "/coupons/OLD", ""},
}

// TestWritesToTablesWithoutTransactionsAreRejected: a request that would write
// to a table without transactions is rejected, whichever table that is, and
// nothing is written.
func TestWritesToTablesWithoutTransactionsAreRejected(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	database.Execute(t,
		"INSERT INTO wp_latepoint_coupons (id, code, discount_type, discount_value, status) VALUES (900, 'OLD', 'percent', 5, 'active')",
		"DELETE FROM wp_latepoint_bookings WHERE customer_id = 268",
		"UPDATE wp_latepoint_transactions SET status = 'failed' WHERE order_id IN (SELECT id FROM wp_latepoint_orders WHERE customer_id = 268)",
		"DELETE FROM wp_latepoint_activities", "DELETE FROM wp_latepoint_process_jobs",
		"INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) VALUES (7, 'a', 'b')",
		`INSERT INTO wp_options (option_name, option_value) VALUES ('cron', 'a:1:{i:1795000000;a:1:{s:32:"latepoint_process_scheduled_jobs";a:0:{}}}')
			ON DUPLICATE KEY UPDATE option_value = VALUES(option_value)`)
	database.MakeCustomersUsers(t)
	s := newServer(t, database)
	s.get("/status").want(http.StatusOK)
	before := database.Snapshot(t)
	touched := map[string][]string{} // requests by table
	for name, request := range writeRequests {
		if a := s.write(request[0], request[1], request[2]); a.status >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		tables := map[string]bool{}
		for _, change := range fixtures.Changes(before, before.Again(t)) {
			tables[change.Table] = true
		}
		if len(tables) == 0 {
			t.Errorf("%s wrote nothing", name)
		}
		for table := range tables {
			if !strings.HasPrefix(table, "bookside_") { // ours have transactions
				touched[table] = append(touched[table], name)
			}
		}
		before.Restore(t)
	}
	for table, requests := range touched {
		database.Execute(t, "ALTER TABLE wp_"+table+" ENGINE=MyISAM")
		old := newServer(t, database)
		old.get("/status").want(http.StatusOK)
		unchanged := before.Again(t)
		for _, name := range requests {
			request := writeRequests[name]
			a := old.write(request[0], request[1], request[2])
			if want := `{"code":"platform_not_available","message":"The site's tables do not support transactions: nothing is written","data":{"status":503,"written":false}}`; a.status != http.StatusServiceUnavailable || string(a.body) != want {
				t.Errorf("%s with %s: %d %s", name, table, a.status, a.body)
			}
			wantNoWrites(t, name+" with "+table, unchanged)
		}
		database.Execute(t, "ALTER TABLE wp_"+table+" ENGINE=InnoDB")
	}
	if len(touched["latepoint_process_jobs"]) == 0 || len(touched["usermeta"]) == 0 {
		t.Errorf("the requests touch only %v", slices.Sorted(maps.Keys(touched)))
	}
}

// TestServersWithOtherDefaults: whatever a server's sessions begin with, ours read all there is, and what they write stays.
func TestServersWithOtherDefaults(t *testing.T) {
	t.Parallel()
	db := fixtures.NewWith(t, fixtures.SiteA().WithFewBookings())
	s := newServer(t, db)
	want := string(s.get("/bookings?per_page=100").body)
	account, err := mysql.ParseDSN(db.AdminDSN)
	expect.NoError(t, err)
	account.Params = map[string]string{"autocommit": "1", "sql_safe_updates": "0"}
	connector, err := mysql.NewConnector(account)
	expect.NoError(t, err)
	witness := sql.OpenDB(connector)
	defer witness.Close()
	for i, c := range []struct{ set, reset string }{
		{"autocommit = 0", "autocommit = 1"},
		{"completion_type = 1", "completion_type = 0"},
		{"completion_type = 2", "completion_type = 0"},
		{"sql_auto_is_null = 1", "sql_auto_is_null = 0"},
		{"sql_safe_updates = 1", "sql_safe_updates = 0"},
		{"sql_select_limit = 2", "sql_select_limit = DEFAULT"},
		{"sql_big_selects = 0, GLOBAL max_join_size = 20", "sql_big_selects = 1, GLOBAL max_join_size = DEFAULT"},
		{"unique_checks = 0", "unique_checks = 1"},
		{"tx_read_only = 1", "tx_read_only = 0"},
		{"tx_isolation = 'SERIALIZABLE'", "tx_isolation = 'REPEATABLE-READ'"},
		{"time_zone = '+09:30'", "time_zone = DEFAULT"},
		{"lc_time_names = 'de_DE'", "lc_time_names = 'en_US'"},
		{"low_priority_updates = 1", "low_priority_updates = 0"},
		{"foreign_key_checks = 0", "foreign_key_checks = 1"},
		{"group_concat_max_len = 4", "group_concat_max_len = DEFAULT"},
		{"div_precision_increment = 0", "div_precision_increment = DEFAULT"},
		{"max_statement_time = 0.001", "max_statement_time = 0"},
		{"old_mode = 'NO_DUP_KEY_WARNINGS_WITH_IGNORE,ZERO_DATE_TIME_CAST'", "old_mode = DEFAULT"},
		{"sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,NO_ZERO_DATE,NO_UNSIGNED_SUBTRACTION,ONLY_FULL_GROUP_BY,PAD_CHAR_TO_FULL_LENGTH'", "sql_mode = DEFAULT"},
		{"sql_mode = 'ORACLE'", "sql_mode = DEFAULT"},
		{"character_set_server = latin1, GLOBAL character_set_client = latin1, GLOBAL character_set_connection = latin1, GLOBAL character_set_results = latin1, GLOBAL collation_connection = latin1_bin",
			"character_set_server = DEFAULT, GLOBAL character_set_client = DEFAULT, GLOBAL character_set_connection = DEFAULT, GLOBAL character_set_results = DEFAULT, GLOBAL collation_connection = DEFAULT"},
		{"collation_connection = utf8mb4_bin", "collation_connection = DEFAULT"},
		{"init_connect = 'SET autocommit=0, NAMES latin1'", "init_connect = ''"},
		{"default_storage_engine = MyISAM", "default_storage_engine = InnoDB"},
		{"max_sort_length = 8", "max_sort_length = DEFAULT"},
		{"wait_timeout = 1", "wait_timeout = DEFAULT"},
		{"tmp_memory_table_size = 0", "tmp_memory_table_size = DEFAULT"},
		{"sql_notes = 0", "sql_notes = 1"},
		{"check_constraint_checks = 0", "check_constraint_checks = 1"},
	} {
		t.Run(c.set, func(t *testing.T) {
			set := func(text string) {
				t.Helper()
				if _, err := witness.ExecContext(t.Context(), "SET GLOBAL "+text); err != nil {
					t.Fatal(err)
				}
			}
			set(c.set)
			defer set(c.reset)
			s := newServerOver(t, db, 2, time.Minute)
			if got := s.get("/bookings?per_page=100"); got.status != http.StatusOK || string(got.body) != want {
				t.Errorf("the bookings are others, status %d: %.300s", got.status, got.body)
			}
			email := fmt.Sprintf("mueller%d@example.test", i)
			header := []string{"Idempotency-Key", email}
			first := s.write(http.MethodPost, "/customers", `{"first_name":"Jürgen","last_name":"Müller","email":"`+email+`"}`, header...)
			again := s.write(http.MethodPost, "/customers", `{"first_name":"Jürgen","last_name":"Müller","email":"`+email+`"}`, header...)
			if first.status != http.StatusCreated || string(again.body) != string(first.body) {
				t.Errorf("created: %d %.300s; again: %d %.300s", first.status, first.body, again.status, again.body)
			}
			id := regexp.MustCompile(`"id":"?([0-9]+)`).FindSubmatch(first.body)
			if id == nil {
				t.Fatalf("no id in %s", first.body)
			}
			updated := s.write(http.MethodPut, "/customers/"+string(id[1]), `{"last_name":"Weiß"}`)
			var stored string
			err := witness.QueryRowContext(t.Context(), "SELECT CONCAT(COUNT(*), COALESCE(MAX(first_name), ''), COALESCE(MAX(last_name), '')) FROM "+db.Prefix+"latepoint_customers WHERE email = ?", email).Scan(&stored)
			if err != nil || stored != "1JürgenWeiß" {
				t.Errorf("stored %q, error %v; updated: %d %s", stored, err, updated.status, updated.body)
			}
		})
	}
}

// TestStatementLog: a server that logs statements refuses READ COMMITTED. An account that may asks for rows; with any other,
// writes get 503, and /readyz says why.
func TestStatementLog(t *testing.T) {
	t.Parallel()
	limited := fixtures.NewWith(t, fixtures.SiteA().WithFewBookings(), "--log-bin", "--server-id=1")
	limited.Execute(t, "SET GLOBAL binlog_format = 'STATEMENT'")
	may := *limited
	may.DSN = limited.AdminDSN
	allowed := newServer(t, &may)
	const body = `{"first_name":"Rita","last_name":"Neu","email":"rita@example.test"}`
	allowed.write(http.MethodPost, "/customers", body).want(http.StatusCreated)
	admin := newAdmin()
	admin.Started(allowed.platform)
	wantReadiness(t, admin, monitor.Readiness{Status: monitor.StatusReady, Database: "ok", Platform: "ok"})

	refused := *allowed
	refused.platform = session.NewPlatform(openDatabase(t, limited, 2, time.Minute), fixedClock)
	refused.handler = handlers.New(refused.platform, allowed.keys, fixedClock, slog.New(slog.NewJSONHandler(refused.log, nil)), defaultOptions())
	refused.get("/bookings").want(http.StatusOK)
	refused.write(http.MethodPost, "/customers", body).want(http.StatusServiceUnavailable)
	admin = newAdmin()
	admin.Started(refused.platform)
	wantReadiness(t, admin, monitor.Readiness{Status: monitor.StatusUnavailable, Database: "ok", Platform: "The database server refuses every write, because its binlog_format is STATEMENT"})
}

// TestServerWithoutCaseOfNames: where table names are in lower case, a prefix in capital letters is that of the same tables.
func TestServerWithoutCaseOfNames(t *testing.T) {
	t.Parallel()
	site := fixtures.SiteA().WithFewBookings()
	site.Prefix, site.Name = "WP_", site.Name+" in capitals"
	db := fixtures.NewWith(t, site, "--lower-case-table-names=1")
	var name string
	db.Scan(t, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE '%latepoint_bookings'", &name)
	if name != "wp_latepoint_bookings" {
		t.Fatalf("the table is %s", name)
	}
	s := newServer(t, db)
	s.get("/bookings").want(http.StatusOK)
	s.write(http.MethodPut, "/customers/1", `{"last_name":"Neu"}`).want(http.StatusOK)
	admin := newAdmin()
	admin.Started(s.platform)
	wantReadiness(t, admin, monitor.Readiness{Status: monitor.StatusReady, Database: "ok", Platform: "ok"})
}

// fillSmallTables are statements that make the site's small tables so large that a full scan is not the
// quickest plan.
var fillSmallTables = []string{
	"INSERT INTO wp_options (option_name, option_value, autoload) SELECT CONCAT('filler_', a.id, '_', b.id), '', 'no' FROM wp_latepoint_agents a, wp_latepoint_bookings b",
	"INSERT INTO wp_latepoint_settings (name, value) SELECT CONCAT('filler_', a.id, '_', b.id), '' FROM wp_latepoint_agents a, wp_latepoint_bookings b",
	"INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, week_day, custom_date, start_time, end_time) " +
		"SELECT a.id + 1000, b.id + 1000, 1000, 1, '2020-01-01', 600, 720 FROM wp_latepoint_agents a, wp_latepoint_bookings b",
	"INSERT INTO wp_latepoint_agents (first_name, email, status) SELECT 'Filler', CONCAT('filler', id, '@example.test'), 'disabled' FROM wp_latepoint_bookings",
	"ANALYZE TABLE wp_options, wp_latepoint_settings, wp_latepoint_work_periods, wp_latepoint_agents",
}

// tablesWithoutIndex are tables that the plugin created without an index except for the id.
var tablesWithoutIndex = []string{"wp_latepoint_processes", "wp_latepoint_process_jobs", "wp_latepoint_transactions", "wp_latepoint_transaction_refunds"}

// TestBookingWritesUseIndexes explains every statement of a create, an update
// and a deletion: none scans a table that has an index.
func TestBookingWritesUseIndexes(t *testing.T) {
	t.Parallel()
	var seen []statement
	database := fixtures.New(t, fixtures.SiteA())
	database.Execute(t, fillSmallTables...)
	s := tappedServer(t, database, func(shown statement) error {
		seen = append(seen, shown)
		return nil
	})
	s.get("/status").want(http.StatusOK) // records the use of the key and probes the schema
	for _, w := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer), http.StatusCreated},
		{http.MethodPost, "/bookings", friday("agent_id", `"any"`, "start_time", `"13:00"`), http.StatusCreated},
		{http.MethodPost, "/bookings", friday(), http.StatusConflict},
		{http.MethodPut, "/bookings/7", `{"start_date":"2027-02-05","start_time":"15:00","service_id":4,"agent_id":5,"location_id":1,
			"status":"approved","price":12,"notes":"x","customer":{"phone":"+49 30 1","email":"rita.neuer@example.test"}}`, http.StatusOK},
		{http.MethodDelete, "/bookings/7?force=true", "", http.StatusOK},
	} {
		t.Run(w.method+" "+w.path, func(t *testing.T) {
			seen = nil
			s.write(w.method, w.path, w.body).want(w.status)
			steps := 0
			for _, shown := range seen {
				if strings.HasPrefix(shown.text, "INSERT ") {
					continue
				}
				for _, step := range s.explain(t, shown) {
					steps++
					if step.whole() && !readsTable(shown, tablesWithoutIndex) {
						t.Errorf("reads all of %s: %s", step.table, shown.text)
					}
				}
			}
			if steps < 10 {
				t.Errorf("only %d steps", steps)
			}
		})
	}
}

// readsTable reports whether a statement is about one of the tables.
func readsTable(shown statement, tables []string) bool {
	for _, table := range tables {
		if strings.Contains(shown.text, "`"+table+"`") {
			return true
		}
	}
	return false
}

// TestStatementsOfANewBooking: the number of statements is fixed, and each
// further notification adds at most one.
func TestStatementsOfANewBooking(t *testing.T) {
	t.Parallel()
	const bound = 30
	automation := func(id int) string {
		return fmt.Sprintf(`INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (%d, 'P', 'booking_created', 'active',
			'[{"type":"group","trigger_condition":false,"items":[{"type":"action","id":"pa_%d","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{customer_email}}","subject":"S","content":"C"}}}],"time_offset":[]}]')`, id, id)
	}
	for name, c := range map[string]struct {
		setup []string
		jobs  int
	}{
		"nobody sends mails": {nil, 0},
		"one notification":   {[]string{jobCron}, 1},
		"the content of the order": {[]string{
			jobCron, "DELETE FROM wp_latepoint_processes", "INSERT INTO wp_latepoint_settings (name, value) VALUES ('business_logo', '77')", contentAutomation(t, "booking_created"),
		}, 1},
		"several notifications ": {[]string{jobCron, automation(50), automation(51), automation(52)}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := ownWriter(t, fixtures.SiteA())
			s.database.Execute(t, append(c.setup, fillLocks)...)
			before := s.database.Snapshot(t)
			s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)).want(http.StatusCreated)
			if n := s.log.last(t).Queries; n > bound+c.jobs {
				t.Errorf("%d statements, want at most %d", n, bound+c.jobs)
			}
			jobs := 0
			for _, change := range fixtures.Changes(before, before.Again(t)) {
				if change.Table == "latepoint_process_jobs" {
					jobs++
				}
			}
			expect.Equal(t, c.jobs, jobs, "jobs")
		})
	}
}

// TestCustomersCompareNoOrderWithEachTransaction: the statement that sums up what
// customers paid reads the transactions once and looks up their orders by key.
func TestCustomersCompareNoOrderWithEachTransaction(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA()) // its tables were never analyzed
	var seen []statement
	s := tappedServer(t, database, func(shown statement) error {
		seen = append(seen, shown)
		return nil
	})
	s.get("/status").want(http.StatusOK)
	seen = nil
	s.get("/customers?per_page=20").want(http.StatusOK)
	sums := 0
	for _, shown := range seen {
		if !readsTable(shown, []string{"wp_latepoint_transactions"}) {
			continue
		}
		sums++
		for _, step := range s.explain(t, shown) {
			// MySQL uses a hash join, also in a buffer.
			if strings.Contains(step.extra, "BNL") || strings.Contains(step.extra, "Block Nested Loop") {
				t.Errorf("each row of %s is compared with all others: %s", step.table, shown.text)
			}
		}
	}
	expect.Equal(t, 1, sums, "statements that read transactions")
}

// TestPaymentStatusIsSummedUpOnce: a filter by payment status reads the transactions that may have refunds once, and not
// again for each order, even if the administrator added an index on their orders.
func TestPaymentStatusIsSummedUpOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA())
	database.Execute(t, "CREATE INDEX theirs ON wp_latepoint_transactions (order_id)",
		"INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) SELECT id, 0 FROM wp_latepoint_transactions",
		"ANALYZE TABLE wp_latepoint_transactions, wp_latepoint_transaction_refunds, wp_latepoint_orders")
	var seen []statement
	s := tappedServer(t, database, func(shown statement) error {
		seen = append(seen, shown)
		return nil
	})
	s.get("/status").want(http.StatusOK)
	for _, path := range []string{"/orders?payment_status=refunded", "/bookings?payment_status=refunded&sort=created_at"} {
		seen = nil
		s.get(path).want(http.StatusOK)
		sums := 0
		for _, shown := range seen {
			if !readsTable(shown, []string{"wp_latepoint_transaction_refunds"}) {
				continue
			}
			for _, step := range s.explain(t, shown) {
				sums++
				if step.kind == "LATERAL DERIVED" && strings.HasPrefix(step.table, "<derived") {
					t.Errorf("%s: %s is read for each order: %s", path, step.table, shown.text)
				}
			}
		}
		if sums == 0 {
			t.Errorf("%s: no statement reads refunds", path)
		}
	}
}
