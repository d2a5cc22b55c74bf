package handlers_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestServersWithOtherDefaults: whatever a server's sessions begin with, ours read all there is, and what they write stays.
func TestServersWithOtherDefaults(t *testing.T) {
	t.Parallel()
	db := fixtures.NewWith(t, fixtures.SiteA().WithFewBookings())
	s := newServer(t, db)
	want := string(s.get("/bookings?per_page=100").body)
	account, err := mysql.ParseDSN(db.AdminDSN)
	noError(t, err)
	account.Params = map[string]string{"autocommit": "1", "sql_safe_updates": "0"}
	connector, err := mysql.NewConnector(account)
	noError(t, err)
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
	if got := allowed.write(http.MethodPost, "/customers", body); got.status != http.StatusCreated {
		t.Errorf("an account that may ask for rows: %d %s", got.status, got.body)
	}
	admin := newAdmin()
	admin.Started(allowed.platform)
	wantReadiness(t, admin, monitor.Readiness{Status: monitor.StatusReady, Database: "ok", Platform: "ok"})

	refused := *allowed
	refused.platform = session.NewPlatform(openDatabase(t, limited, 2, time.Minute), fixedClock)
	refused.handler = handlers.New(refused.platform, allowed.keys, fixedClock, slog.New(slog.NewJSONHandler(refused.log, nil)), defaultOptions())
	if got := refused.get("/bookings"); got.status != http.StatusOK {
		t.Errorf("read: %d %s", got.status, got.body)
	}
	if got := refused.write(http.MethodPost, "/customers", body); got.status != http.StatusServiceUnavailable {
		t.Errorf("write: %d %s", got.status, got.body)
	}
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
	if got := s.get("/bookings"); got.status != http.StatusOK {
		t.Errorf("read: %d %s", got.status, got.body)
	}
	if got := s.write(http.MethodPut, "/customers/1", `{"last_name":"Neu"}`); got.status != http.StatusOK {
		t.Errorf("write: %d %s", got.status, got.body)
	}
	admin := newAdmin()
	admin.Started(s.platform)
	wantReadiness(t, admin, monitor.Readiness{Status: monitor.StatusReady, Database: "ok", Platform: "ok"})
}
