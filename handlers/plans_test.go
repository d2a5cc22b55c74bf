package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

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
			t.Parallel()
			s := newWriter(t, fixtures.SiteA())
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
			wantEqual(t, c.jobs, jobs, "jobs")
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
	wantEqual(t, 1, sums, "statements that read transactions")
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
