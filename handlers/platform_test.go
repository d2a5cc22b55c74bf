package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
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
		t.Run(c.name, func(t *testing.T) {
			database.Execute(t, c.away)
			for range 2 {
				a := s.get("/bookings").want(http.StatusServiceUnavailable)
				want := fmt.Sprintf(`{"code":"platform_not_available","message":"%s","data":{"status":503}}`, c.message)
				if string(a.body) != want || a.header.Get("Retry-After") == "" {
					t.Errorf("%s: %s, Retry-After %q", c.name, a.body, a.header.Get("Retry-After"))
				}
			}
			if a := s.get("/status"); a.status != http.StatusServiceUnavailable {
				t.Errorf("%s: /status answers %d", c.name, a.status)
			}
			s.do(http.MethodGet, "/v1/bookings", nil).want(http.StatusUnauthorized)
			database.Execute(t, c.back)
			if after := s.get("/bookings").want(http.StatusOK); string(after.body) != string(before.body) {
				t.Errorf("%s: the response is not the same as before", c.name)
			}
		})
	}
}

// TestSchemaChangesWhileServing drops and adds columns and tables while the
// server runs, as an update of the plugin does.
func TestSchemaChangesWhileServing(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	if s.get("/payments/1").want(http.StatusOK).at("data", "receipt_number") == "" {
		t.Fatal("the payment has no receipt number")
	}
	database.Execute(t, "ALTER TABLE wp_latepoint_transactions DROP COLUMN receipt_number")
	wantEqual(t, "", s.get("/payments/1").want(http.StatusOK).at("data", "receipt_number"), "receipt_number of a dropped column")
	s.get("/payments?search=x").want(http.StatusOK)
	database.Execute(t,
		"ALTER TABLE wp_latepoint_transactions ADD COLUMN receipt_number varchar(10)",
		"UPDATE wp_latepoint_transactions SET receipt_number = 'ABCDEFGH'",
		"UPDATE wp_options SET option_value = '2.3.2' WHERE option_name = 'latepoint_db_version'")
	wantEqual(t, "ABCDEFGH", s.get("/payments/1").want(http.StatusOK).at("data", "receipt_number"), "receipt_number after the update")
	database.Execute(t, "DROP TABLE wp_latepoint_coupons", "DROP TABLE wp_latepoint_transaction_refunds")
	wantEqual(t, 0, len(s.get("/coupons").want(http.StatusOK).records()), "coupons without their table")
	s.get("/customers").want(http.StatusOK)
	database.Execute(t,
		"CREATE TABLE wp_latepoint_coupons (id mediumint PRIMARY KEY, code varchar(110), discount_type varchar(110), discount_value decimal(20,4), status varchar(20))",
		"INSERT INTO wp_latepoint_coupons VALUES (1, 'NEW', 'percent', 10, 'active')")
	wantEqual(t, 1, len(s.get("/coupons").want(http.StatusOK).records()), "coupons after the add-on made its table")
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
			t.Parallel()
			s := newServer(t, fixtures.Shared(t, site))
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
			wantEqual(t, 2, s.log.last(t).Queries, "queries of an empty list")
		})
	}
}

// TestHeadersOfEveryResponse checks the headers that every response has.
func TestHeadersOfEveryResponse(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.RateLimit.Enabled = true })
	for _, path := range []string{"/v1/status", "/v1/nothing", "/v1/bookings?page=0"} {
		a := s.do(http.MethodGet, path, http.Header{"X-Api-Key": {s.key}, "X-Request-Id": {"client-id.1234"}})
		for name, want := range map[string]string{
			"X-Request-Id": "client-id.1234", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Type": "application/json; charset=UTF-8",
		} {
			wantEqual(t, want, a.header.Get(name), "%s: %s", path, name)
		}
	}
	for _, sane := range []string{"7", "short", "A-b_c.9", strings.Repeat("x", 128)} {
		wantEqual(t, sane, s.do(http.MethodGet, "/v1/nothing", http.Header{"X-Request-Id": {sane}}).header.Get("X-Request-Id"), "request id")
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
