package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// largeSite returns the test's own database with 2,000 bookings on a real server.
func largeSite(t *testing.T) *fixtures.Database {
	t.Helper()
	return fixtures.New(t, fixtures.SiteA())
}

// manyPayments grows the payments of a recorded site to forty thousand.
func manyPayments(t *testing.T, db *fixtures.Database) {
	t.Helper()
	for range 5 {
		db.Execute(t, `INSERT INTO wp_latepoint_transactions (order_id, customer_id, processor, payment_method, kind, status, amount, created_at, updated_at)
			SELECT order_id, customer_id, processor, payment_method, kind, status, amount, created_at, updated_at FROM wp_latepoint_transactions`)
	}
	db.Execute(t, "ANALYZE TABLE wp_latepoint_transactions")
}

// createIndexes runs the statements that indexes prints, and returns the names of the indexes with their tables.
func createIndexes(t *testing.T, db *fixtures.Database, flags ...string) (created []string) {
	t.Helper()
	for line := range strings.Lines(run(t, settingsFor(db), "", append([]string{"indexes"}, flags...)...).want(t, exit.OK).stdout) {
		if m := regexp.MustCompile("^CREATE INDEX `(.+)` ON `(.+)` \\(.*;\n$").FindStringSubmatch(line); m != nil {
			db.Execute(t, line)
			created = append(created, m[2]+"."+m[1])
		}
	}
	return created
}

// TestIndexes: on a site with many payments, only their table needs indexes. Their statements are printed with the reason and
// the size of the table.
func TestIndexes(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	manyPayments(t, db)
	env := settingsFor(db)
	expect.Texts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "first of all wp_latepoint_transactions (order_id). Let an administrator of the database run what bookside indexes prints.\n")
	printed := run(t, env, "", "indexes").want(t, exit.OK).stdout
	expect.Texts(t, printed, "-- for a booking, an order or a payment, and changes of them; pages", "\nCREATE INDEX `bookside_order_id` ON `wp_latepoint_transactions` (`order_id`) ALGORITHM=INPLACE LOCK=NONE;\n")
	if !regexp.MustCompile(`^-- wp_latepoint_transactions: about (3|4)\d{4} rows\n-- for `).MatchString(printed) || strings.Contains(printed, "latepoint_bookings") {
		t.Errorf("printed %s", printed)
	}
	if created := createIndexes(t, db); len(created) == 0 {
		t.Errorf("none is created by %s", printed)
	}
	expect.Texts(t, oneSpaced(run(t, env, "", "check").want(t, exit.OK).stdout), "✓ indexes none missing ")
	expect.Equal(t, "-- No index is missing.\n", run(t, env, "", "indexes").want(t, exit.OK).stdout, "again")
}

// TestIndexesOfOthers: an index that begins with the same columns serves as well. One that covers only the
// beginning of a text, or that the server ignores, does not serve. One with the same name is in the way.
func TestIndexesOfOthers(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	db.Execute(t, "CREATE INDEX theirs ON wp_latepoint_transactions (order_id, status)")
	db.Execute(t, "CREATE INDEX beginning ON wp_latepoint_orders (coupon_code(5))")
	db.Execute(t, "CREATE INDEX BOOKSIDE_status ON wp_latepoint_orders (fulfillment_status)")
	printed := run(t, settingsFor(db), "", "indexes", "--all").want(t, exit.OK).stdout
	expect.Texts(t, printed, "`wp_latepoint_orders` (`coupon_code`)", "-- bookside_status cannot be created: another index has this name")
	created := createIndexes(t, db, "--all")
	if slices.Contains(created, "wp_latepoint_transactions.bookside_order_id") || !slices.Contains(created, "wp_latepoint_orders.bookside_coupon_code") {
		t.Errorf("created beside those of others: %v", created)
	}
}

func TestIgnoredIndex(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	word := "IGNORED"
	if db.Engine == "mysql" {
		word = "INVISIBLE"
	}
	if _, err := db.SQL.ExecContext(t.Context(), "CREATE INDEX theirs ON wp_latepoint_transactions (order_id) "+word); err != nil {
		fixtures.LacksServer(t, "this server, such as MariaDB 10.5, ignores no indexes: "+err.Error())
	}
	expect.Texts(t, run(t, settingsFor(db), "", "indexes", "--all").want(t, exit.OK).stdout, "`wp_latepoint_transactions` (`order_id`)")
}

// TestIndexesThatAreImpossible: a table that would be copied, or that this version of the plugin lacks,
// gets no index; the others do.
func TestIndexesThatAreImpossible(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	db.Execute(t, "ALTER TABLE wp_latepoint_transactions ENGINE = MyISAM")
	db.Execute(t, "DROP TABLE wp_latepoint_transaction_refunds")
	db.Execute(t, "ALTER TABLE wp_latepoint_orders DROP COLUMN coupon_code")
	created := createIndexes(t, db, "--all")
	if len(created) == 0 || slices.ContainsFunc(created, func(name string) bool { return strings.HasPrefix(name, "wp_latepoint_transactions.") }) {
		t.Errorf("created %v", created)
	}
}

// TestRequestsUseIndexes: the requests that an index is for use it, and return the same as without it.
func TestRequestsUseIndexes(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := adminSettings(db)
	db.Execute(t, "UPDATE wp_latepoint_orders SET coupon_code = 'TEN' WHERE id % 100 = 0")
	db.Execute(t, "UPDATE wp_latepoint_orders SET payment_status = 'processing' WHERE id % 100 = 1")
	db.Execute(t, "UPDATE wp_latepoint_transactions SET kind = 'refund', amount = -amount WHERE id % 100 = 0")
	db.Execute(t, "UPDATE wp_latepoint_order_items SET total = 99999 WHERE id % 500 = 0")
	for _, table := range []string{"bookings", "orders", "transactions"} {
		db.Execute(t, "UPDATE wp_latepoint_"+table+" SET updated_at = '2027-07-01' WHERE id % 500 = 0")
	}
	for range 4 {
		db.Execute(t, `INSERT INTO wp_latepoint_customers (first_name, last_name, email, status, created_at, updated_at)
			SELECT first_name, last_name, email, status, created_at, updated_at FROM wp_latepoint_customers`)
	}
	db.Execute(t, "INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) SELECT id, 0 FROM wp_latepoint_transactions")
	db.Execute(t, "INSERT INTO wp_latepoint_process_jobs (process_id, object_id, object_model_type) SELECT 1, id, 'booking' FROM wp_latepoint_bookings")
	var order int64 // with a payment
	db.Scan(t, "SELECT MIN(order_id) FROM wp_latepoint_transactions", &order)
	requests := map[string][]string{ // GET if no method is given
		"transactions.order_id":              {fmt.Sprintf("/orders/%d", order), fmt.Sprintf("/payments?order_id=%d", order), "/customers"},
		"transaction_refunds.transaction_id": {fmt.Sprintf("/orders/%d", order)},
		"process_jobs.object_id":             {"DELETE /bookings/7?force=true"},
		"transactions.created_at":            {"/payments"},
		"transactions.customer_id":           {"/payments?customer_id=7"},
		"transactions.kind_status_order_id":  {"/orders?payment_status=refunded", "/bookings?payment_status=partially_refunded"},
		"transactions.status":                {"/payments?sort=status"},
		"transactions.amount":                {"/orders?payment_status=refunded"},
		"bookings.created_at":                {"/bookings?sort=created_at"},
		"bookings.order_item_id":             {"/bookings?price_min=99999"},
		"order_items.total":                  {"/bookings?price_min=99999"},
		"orders.created_at":                  {"/orders"},
		"orders.total":                       {"/orders?sort=total"},
		"orders.status":                      {"/orders?sort=status"},
		"orders.coupon_code":                 {"/orders?coupon_code=TEN"},
		"customers.created_at":               {"/customers"},
		"customers.updated_at":               {"/customers?updated_at=2026-11-01"},
		"bookings.updated_at":                {"/bookings?updated_from=2027-06-01"},
		"orders.updated_at":                  {"/orders?updated_from=2027-06-01"},
		"transactions.updated_at":            {"/payments?updated_from=2027-06-01"},
	}
	s := serve(t, env)
	key := newKey(t, env, "--permissions", "read,delete")
	send := func(t *testing.T, line string) string {
		t.Helper()
		method, path, named := strings.Cut(line, " ")
		if !named {
			method, path = http.MethodGet, line
		}
		status, body := write(t, method, s.url+"/v1"+path, key, "")
		expect.Equal(t, http.StatusOK, status, line, ": ", body)
		return body
	}
	before := map[string]string{}
	for _, lines := range requests {
		for _, line := range lines {
			if strings.HasPrefix(line, "/") {
				before[line] = send(t, line)
			}
		}
	}
	for _, name := range createIndexes(t, db, "--all") {
		table, index, _ := strings.Cut(name, ".")
		db.Execute(t, "ANALYZE TABLE "+table)
		if name := strings.TrimPrefix(table, "wp_latepoint_") + "." + strings.TrimPrefix(index, "bookside_"); requests[name] == nil {
			t.Errorf("no request for %s", name)
		}
	}
	writesLast := slices.SortedFunc(maps.Keys(requests), func(a, b string) int {
		return cmp.Compare(len(strings.Fields(requests[a][0])), len(strings.Fields(requests[b][0])))
	})
	for _, index := range writesLast {
		lines := requests[index]
		t.Run(index, func(t *testing.T) {
			table, name, _ := strings.Cut(index, ".")
			for _, line := range lines {
				used := indexReads(t, db, "wp_latepoint_"+table, "bookside_"+name)
				body := send(t, line)
				if without, sent := before[line]; sent {
					if diff := gocmp.Diff(without, body); diff != "" {
						t.Errorf("%s (-without +with):\n%s", line, diff)
					}
				}
				if indexReads(t, db, "wp_latepoint_"+table, "bookside_"+name) == used {
					t.Errorf("%s does not use the index", line)
				}
			}
		})
	}
}

// indexReads is the number of rows that all statements have read through an index.
func indexReads(t *testing.T, db *fixtures.Database, table, index string) (rows int64) {
	t.Helper()
	stmt := "SELECT COALESCE(SUM(count_read), 0) FROM performance_schema.table_io_waits_summary_by_index_usage WHERE object_schema = DATABASE() AND object_name = ? AND index_name = ?"
	if db.Engine == "mariadb" {
		db.Execute(t, "SET GLOBAL userstat = 1")
		stmt = "SELECT COALESCE(SUM(rows_read), 0) FROM information_schema.index_statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?"
	}
	expect.NoError(t, db.SQL.QueryRowContext(t.Context(), stmt, table, index).Scan(&rows))
	return rows
}
