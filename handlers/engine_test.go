package handlers_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

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
	fixtures.RequireServer(t)
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
