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
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestAvailabilityUsesIndexes explains every statement of a request: bookings are found by date, and other
// growing tables by a key.
func TestAvailabilityUsesIndexes(t *testing.T) {
	t.Parallel()
	var seen []statement
	s := tappedServer(t, fixtures.Shared(t, fixtures.SiteA()), func(shown statement) error {
		seen = append(seen, shown)
		return nil
	})
	s.Get("/status").Want(http.StatusOK)
	for _, query := range []string{"service_id=6&agent_id=1&date=2026-11-24", "service_id=6&agent_id=any&date=2026-11-24"} {
		seen = nil
		s.Get("/availability?" + query).Want(http.StatusOK)
		expect.Equal(t, 3, len(seen), fmt.Sprintf("%s: statements", query))
		used := map[string]string{}
		for _, shown := range seen {
			for _, step := range explain(t, s, shown) {
				used[step.table+"/"+strings.Split(step.key, "|")[0]] = shown.text
			}
		}
		for _, want := range []string{"k/key_hash", "s/PRIMARY", "wp_latepoint_bookings/start_date_index"} {
			// MySQL considers the few bookings of an agent cheaper than the even fewer ones of the days.
			byAgent := s.Database.Engine == "mysql" && strings.HasPrefix(want, "wp_latepoint_bookings/") && used["wp_latepoint_bookings/agent_id_index"] != ""
			if used[want] == "" && !byAgent {
				t.Errorf("%s: the index %s is not used, only %v", query, want, slices.Sorted(maps.Keys(used)))
			}
		}
	}
}

// TestEventsGoneByAreNotRead: add-ons keep the events of years, and the cost of a day does not grow with
// them.
func TestEventsGoneByAreNotRead(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	database.AddCalendars(t)
	database.Execute(t, apitest.Activate(apitest.PluginFile, apitest.GoogleFile))
	var events []statement
	s := tappedServer(t, database, func(shown statement) error {
		if strings.Contains(shown.text, "gcal_events") {
			events = append(events, shown)
		}
		return nil
	})
	add := func(day, number int) {
		rows := make([]string, number)
		for i := range rows {
			date := s.Clock.AddDate(0, 0, day+i%50).Format("2006-01-02")
			rows[i] = fmt.Sprintf("(%d, '%s', 600, '%[2]s', 660)", 1+i%3, date)
		}
		database.Execute(t, "INSERT INTO wp_latepoint_gcal_events (agent_id, start_date, start_time, end_date, end_time) VALUES "+strings.Join(rows, ", "),
			"ANALYZE TABLE wp_latepoint_gcal_events")
	}
	read := func() int {
		events = nil
		s.Get("/availability?service_id=1&agent_id=any&date=2026-11-24&date_to=2026-12-07").Want(http.StatusOK)
		if len(events) != 1 {
			t.Fatalf("%d statements read events", len(events))
		}
		return rowsRead(t, database, events[0])
	}
	s.Get("/status").Want(http.StatusOK)
	add(0, 300)
	before := read()
	add(-400, 6000)
	if after := read(); after > before+300 {
		t.Errorf("%d rows are read, %d without the events of last year", after, before)
	}
}

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
		{"plugin inactive", fmt.Sprintf(plugins, "a:0:{}"), apitest.Activate(apitest.PluginFile), "LatePoint is not active on this site"},
		{"plugin list unreadable", fmt.Sprintf(plugins, "a:1:{i:0"), apitest.Activate("renamed-plugin/latepoint.php"), "LatePoint is not active on this site"},
		{"version 4", fmt.Sprintf(version, "1.4.92"), fmt.Sprintf(version, "2.3.1"), "LatePoint 5 is not installed on this site"},
		{
			"never installed", "DELETE FROM wp_options WHERE option_name = 'latepoint_db_version'",
			"INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint_db_version', '2.3.1')", "LatePoint 5 is not installed on this site",
		},
		{"a table gone", "RENAME TABLE wp_latepoint_bookings TO elsewhere", "RENAME TABLE elsewhere TO wp_latepoint_bookings", "LatePoint tables are missing: wp_latepoint_bookings"},
		{"no WordPress", "RENAME TABLE wp_options TO elsewhere", "RENAME TABLE elsewhere TO wp_options", "No WordPress tables under this prefix"},
	}
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	s := apitest.NewServer(t, database)
	before := s.Get("/bookings").Want(http.StatusOK)
	for _, c := range cases {
		database.Execute(t, c.away)
		for range 2 {
			a := s.Get("/bookings").Want(http.StatusServiceUnavailable)
			want := fmt.Sprintf(`{"code":"platform_not_available","message":"%s","data":{"status":503}}`, c.message)
			if string(a.Body) != want || a.Header.Get("Retry-After") == "" {
				t.Errorf("%s: %s, Retry-After %q", c.name, a.Body, a.Header.Get("Retry-After"))
			}
		}
		expect.Equal(t, http.StatusServiceUnavailable, s.Get("/status").Status, fmt.Sprintf("%s: /status", c.name))
		s.Do(http.MethodGet, "/v1/bookings", nil).Want(http.StatusUnauthorized)
		database.Execute(t, c.back)
		expect.Equal(t, string(before.Body), string(s.Get("/bookings").Want(http.StatusOK).Body), fmt.Sprintf("%s: the response, as before", c.name))
	}
}

// TestSchemaChangesWhileServing drops and adds columns and tables while the
// server runs, as an update of the plugin does.
func TestSchemaChangesWhileServing(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	if s.Get("/payments/1").Want(http.StatusOK).At("data", "receipt_number") == "" {
		t.Fatal("the payment has no receipt number")
	}
	s.Database.Execute(t, "ALTER TABLE wp_latepoint_transactions DROP COLUMN receipt_number")
	expect.Equal(t, "", s.Get("/payments/1").Want(http.StatusOK).At("data", "receipt_number"), "receipt_number of a dropped column")
	s.Get("/payments?search=x").Want(http.StatusOK)
	s.Database.Execute(t,
		"ALTER TABLE wp_latepoint_transactions ADD COLUMN receipt_number varchar(10)",
		"UPDATE wp_latepoint_transactions SET receipt_number = 'ABCDEFGH'",
		"UPDATE wp_options SET option_value = '2.3.2' WHERE option_name = 'latepoint_db_version'")
	expect.Equal(t, "ABCDEFGH", s.Get("/payments/1").Want(http.StatusOK).At("data", "receipt_number"), "receipt_number after the update")
	s.Database.Execute(t, "DROP TABLE wp_latepoint_coupons", "DROP TABLE wp_latepoint_transaction_refunds")
	expect.Equal(t, 0, len(s.Get("/coupons").Want(http.StatusOK).Records()), "coupons without their table")
	s.Get("/customers").Want(http.StatusOK)
	s.Database.Execute(t,
		"CREATE TABLE wp_latepoint_coupons (id mediumint PRIMARY KEY, code varchar(110), discount_type varchar(110), discount_value decimal(20,4), status varchar(20))",
		"INSERT INTO wp_latepoint_coupons VALUES (1, 'NEW', 'percent', 10, 'active')")
	expect.Equal(t, 1, len(s.Get("/coupons").Want(http.StatusOK).Records()), "coupons after the add-on made its table")
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
	for name, site := range map[string]fixtures.Site{"recorded": fixtures.SiteA(), "small": fixtures.Small(apitest.Now)} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Shared(t, site)
			s.Get("/status").Want(http.StatusOK) // records the use of the key and probes the schema
			for path, bound := range bounds {
				join := "?"
				if strings.Contains(path, "?") {
					join = "&"
				}
				s.Get(path + join + "per_page=1").Want(http.StatusOK)
				one := s.Log.Last(t).Queries
				records := s.Get(path + join + "per_page=100").Want(http.StatusOK).Records()
				hundred := s.Log.Last(t).Queries
				if hundred > one || one > bound {
					t.Errorf("%s: %d queries for one record, %d for %d, bound %d", path, one, hundred, len(records), bound)
				}
			}
			s.Get("/bookings?search=nobody-is-called-so").Want(http.StatusOK)
			expect.Equal(t, 2, s.Log.Last(t).Queries, "queries of an empty list")
		})
	}
}

// TestHeadersOfEveryResponse checks the headers that every response has.
func TestHeadersOfEveryResponse(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.RateLimit.Enabled = true })
	for _, path := range []string{"/v1/status", "/v1/nothing", "/v1/bookings?page=0"} {
		a := s.Do(http.MethodGet, path, http.Header{"X-Api-Key": {s.Key}, "X-Request-Id": {"client-id.1234"}})
		for name, want := range map[string]string{
			"X-Request-Id": "client-id.1234", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Type": "application/json; charset=UTF-8",
		} {
			expect.Equal(t, want, a.Header.Get(name), fmt.Sprintf("%s: %s", path, name))
		}
	}
	for _, sane := range []string{"7", "short", "A-b_c.9", strings.Repeat("x", 128)} {
		expect.Equal(t, sane, s.Do(http.MethodGet, "/v1/nothing", http.Header{"X-Request-Id": {sane}}).Header.Get("X-Request-Id"), "request id")
	}
	for _, id := range []string{"", "has spaces in it", "é", strings.Repeat("x", 129), "line\nbreak-in-it"} {
		if got := s.Do(http.MethodGet, "/v1/nothing", http.Header{"X-Request-Id": {id}}).Header.Get("X-Request-Id"); got == id || len(got) < 20 {
			t.Errorf("request id %q for %q", got, id)
		}
	}
}

// writeRequests has at least one request for every route that writes; together
// they touch every table that we write to.
var writeRequests = map[string][3]string{
	"booking":           {http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)},
	"bookings":          {http.MethodPost, "/bookings/bulk", `{"bookings":[` + apitest.Friday() + `]}`},
	"moved booking":     {http.MethodPut, "/bookings/7", `{"customer":{"phone":"1"},"notes":"x","price":1,"status":"cancelled"}`},
	"deleted booking":   {http.MethodDelete, "/bookings/7?force=true", ""},
	"customer":          {http.MethodPost, "/customers", apitest.FullCustomer},
	"changed customer":  {http.MethodPut, "/customers/5", apitest.FullCustomerPatch},
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
	s := apitest.NewServer(t, database)
	s.Get("/status").Want(http.StatusOK)
	before := database.Snapshot(t)
	touched := map[string][]string{} // requests by table
	for name, request := range writeRequests {
		if a := s.Write(request[0], request[1], request[2]); a.Status >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
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
		old := apitest.NewServer(t, database)
		old.Get("/status").Want(http.StatusOK)
		unchanged := before.Again(t)
		for _, name := range requests {
			request := writeRequests[name]
			a := old.Write(request[0], request[1], request[2])
			if want := `{"code":"platform_not_available","message":"The site's tables do not support transactions: nothing is written","data":{"status":503,"written":false}}`; a.Status != http.StatusServiceUnavailable || string(a.Body) != want {
				t.Errorf("%s with %s: %d %s", name, table, a.Status, a.Body)
			}
			apitest.WantNoWrites(t, name+" with "+table, unchanged)
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
	s := apitest.NewServer(t, db)
	want := string(s.Get("/bookings?per_page=100").Body)
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
			s := apitest.NewServerOver(t, db, 2, time.Minute)
			if got := s.Get("/bookings?per_page=100"); got.Status != http.StatusOK || string(got.Body) != want {
				t.Errorf("the bookings are others, status %d: %.300s", got.Status, got.Body)
			}
			email := fmt.Sprintf("mueller%d@example.test", i)
			header := []string{"Idempotency-Key", email}
			first := s.Write(http.MethodPost, "/customers", `{"first_name":"Jürgen","last_name":"Müller","email":"`+email+`"}`, header...)
			again := s.Write(http.MethodPost, "/customers", `{"first_name":"Jürgen","last_name":"Müller","email":"`+email+`"}`, header...)
			if first.Status != http.StatusCreated || string(again.Body) != string(first.Body) {
				t.Errorf("created: %d %.300s; again: %d %.300s", first.Status, first.Body, again.Status, again.Body)
			}
			id := regexp.MustCompile(`"id":"?([0-9]+)`).FindSubmatch(first.Body)
			if id == nil {
				t.Fatalf("no id in %s", first.Body)
			}
			updated := s.Write(http.MethodPut, "/customers/"+string(id[1]), `{"last_name":"Weiß"}`)
			var stored string
			err := witness.QueryRowContext(t.Context(), "SELECT CONCAT(COUNT(*), COALESCE(MAX(first_name), ''), COALESCE(MAX(last_name), '')) FROM "+db.Prefix+"latepoint_customers WHERE email = ?", email).Scan(&stored)
			if err != nil || stored != "1JürgenWeiß" {
				t.Errorf("stored %q, error %v; updated: %d %s", stored, err, updated.Status, updated.Body)
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
	allowed := apitest.NewServer(t, &may)
	const body = `{"first_name":"Rita","last_name":"Neu","email":"rita@example.test"}`
	allowed.Write(http.MethodPost, "/customers", body).Want(http.StatusCreated)
	admin := newAdmin()
	admin.Started(allowed.Platform)
	wantReadiness(t, admin, monitor.Readiness{Status: monitor.StatusReady, Database: "ok", Platform: "ok"})

	refused := *allowed
	refused.Platform = session.NewPlatform(apitest.OpenDatabase(t, limited, 2, time.Minute), apitest.FixedClock)
	refused.Handler = handlers.New(refused.Platform, allowed.Keys, apitest.FixedClock, slog.New(slog.NewJSONHandler(refused.Log, nil)), apitest.DefaultOptions())
	refused.Get("/bookings").Want(http.StatusOK)
	refused.Write(http.MethodPost, "/customers", body).Want(http.StatusServiceUnavailable)
	admin = newAdmin()
	admin.Started(refused.Platform)
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
	s := apitest.NewServer(t, db)
	s.Get("/bookings").Want(http.StatusOK)
	s.Write(http.MethodPut, "/customers/1", `{"last_name":"Neu"}`).Want(http.StatusOK)
	admin := newAdmin()
	admin.Started(s.Platform)
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
	s.Get("/status").Want(http.StatusOK) // records the use of the key and probes the schema
	for _, w := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer), http.StatusCreated},
		{http.MethodPost, "/bookings", apitest.Friday("agent_id", `"any"`, "start_time", `"13:00"`), http.StatusCreated},
		{http.MethodPost, "/bookings", apitest.Friday(), http.StatusConflict},
		{http.MethodPut, "/bookings/7", `{"start_date":"2027-02-05","start_time":"15:00","service_id":4,"agent_id":5,"location_id":1,
			"status":"approved","price":12,"notes":"x","customer":{"phone":"+49 30 1","email":"rita.neuer@example.test"}}`, http.StatusOK},
		{http.MethodDelete, "/bookings/7?force=true", "", http.StatusOK},
	} {
		t.Run(w.method+" "+w.path, func(t *testing.T) {
			seen = nil
			s.Write(w.method, w.path, w.body).Want(w.status)
			steps := 0
			for _, shown := range seen {
				if strings.HasPrefix(shown.text, "INSERT ") {
					continue
				}
				for _, step := range explain(t, s, shown) {
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
	s.Get("/status").Want(http.StatusOK)
	seen = nil
	s.Get("/customers?per_page=20").Want(http.StatusOK)
	sums := 0
	for _, shown := range seen {
		if !readsTable(shown, []string{"wp_latepoint_transactions"}) {
			continue
		}
		sums++
		for _, step := range explain(t, s, shown) {
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
	s.Get("/status").Want(http.StatusOK)
	for _, path := range []string{"/orders?payment_status=refunded", "/bookings?payment_status=refunded&sort=created_at"} {
		seen = nil
		s.Get(path).Want(http.StatusOK)
		sums := 0
		for _, shown := range seen {
			if !readsTable(shown, []string{"wp_latepoint_transaction_refunds"}) {
				continue
			}
			for _, step := range explain(t, s, shown) {
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
