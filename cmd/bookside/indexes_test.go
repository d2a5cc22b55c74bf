package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/indexes"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
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
		execute(t, db.SQL, `INSERT INTO wp_latepoint_transactions (order_id, customer_id, processor, payment_method, kind, status, amount, created_at, updated_at)
			SELECT order_id, customer_id, processor, payment_method, kind, status, amount, created_at, updated_at FROM wp_latepoint_transactions`)
	}
	execute(t, db.SQL, "ANALYZE TABLE wp_latepoint_transactions")
}

// indexNames returns the names of all indexes of a site's tables, with their tables.
func indexNames(t *testing.T, db *sql.DB) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT DISTINCT CONCAT(table_name, '.', index_name) AS name FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// ownIndexes returns those of the names that are ours.
func ownIndexes(names []string) (own []string) {
	for _, name := range names {
		if strings.Contains(name, ".bookside_") {
			own = append(own, name)
		}
	}
	return own
}

// listIndexes returns the indexes that indexes --json prints.
func listIndexes(t *testing.T, env []string) map[string]indexRecord {
	t.Helper()
	var records []indexRecord
	decoder := json.NewDecoder(strings.NewReader(run(t, env, "", "indexes", "--json").want(t, exit.OK).stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&records); err != nil {
		t.Fatal(err)
	}
	byName := map[string]indexRecord{}
	for _, r := range records {
		byName[r.Table+"("+strings.Join(r.Columns, ",")+")"] = r
	}
	return byName
}

const ofOrder = "wp_latepoint_transactions(order_id)"

// TestIndexes: on a site with many payments, only their table needs indexes. They are recommended, created,
// used, and dropped again.
func TestIndexes(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	manyPayments(t, db)
	env := adminSettings(db)
	before := indexNames(t, db.SQL)

	report := checkJSON(t, env, exit.OK)
	if len(report.MissingIndexes) == 0 || report.MissingIndexes[0] != "wp_latepoint_transactions (order_id)" {
		t.Errorf("check --json recommends %v", report.MissingIndexes)
	}
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "first of all wp_latepoint_transactions (order_id); see bookside indexes\n")
	wantTexts(t, run(t, env, "", "indexes").want(t, exit.OK).stdout,
		"wp_latepoint_transactions (order_id): missing; about ", "WHERE order_id = ?\n", "wp_latepoint_bookings (created_at): not needed yet", "bookside indexes --apply makes them")
	missing := listIndexes(t, env)[ofOrder]
	if missing.State != indexes.Missing || missing.Bytes == nil || *missing.Bytes < 40_000*7 || *missing.Bytes > 40_000*30 || missing.Seconds == nil {
		t.Errorf("missing: %+v", missing)
	}
	// The server's estimate of the 40,000 rows.
	if u := missing.Uses[0]; u.Before < 20_000 || u.After > 100 {
		t.Errorf("examined without the index %d rows, with it %d", u.Before, u.After)
	}

	wantTexts(t, run(t, env, "", "indexes", "--apply").want(t, exit.OK).stdout, "making bookside_order_id on wp_latepoint_transactions (order_id)\n  done in ")
	created := ownIndexes(indexNames(t, db.SQL))
	if len(created) != len(report.MissingIndexes) || slices.ContainsFunc(created, func(name string) bool { return !strings.HasPrefix(name, "wp_latepoint_transactions.") }) {
		t.Errorf("made %v", created)
	}
	present := listIndexes(t, env)[ofOrder]
	if present.State != indexes.Present || present.Name != "bookside_order_id" || present.Bytes != nil {
		t.Errorf("present: %+v", present)
	}
	if u := present.Uses[0]; u.Before < 20_000 || u.After > 100 {
		t.Errorf("explained without the index %d rows, with it %d", u.Before, u.After)
	}
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "indexes        none missing\n")
	if again := run(t, env, "", "indexes", "--apply").want(t, exit.OK).stdout; again != "No index is missing.\n" {
		t.Errorf("again: %s", again)
	}

	run(t, env, "", "indexes", "--drop").want(t, exit.OK)
	if diff := gocmp.Diff(before, indexNames(t, db.SQL)); diff != "" {
		t.Errorf("indexes after --drop (-before +after):\n%s", diff)
	}
	if again := run(t, env, "", "indexes", "--drop").want(t, exit.OK).stdout; again != "There are no indexes of Bookside.\n" {
		t.Errorf("again: %s", again)
	}
}

// TestIndexesOfOthers: an index that begins with the same columns serves as well, and is never dropped. One
// that the server ignores, or that covers only the beginning of a text, does not serve.
func TestIndexesOfOthers(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := adminSettings(db)
	execute(t, db.SQL, "CREATE INDEX theirs ON wp_latepoint_transactions (order_id, status)")
	execute(t, db.SQL, "CREATE INDEX beginning ON wp_latepoint_orders (coupon_code(5))")
	list := listIndexes(t, env)
	if got := list[ofOrder]; got.State != indexes.Present || got.Name != "theirs" {
		t.Errorf("one of others: %+v", got)
	}
	if got := list["wp_latepoint_orders(coupon_code)"]; got.State != indexes.Unneeded || got.Name != "bookside_coupon_code" {
		t.Errorf("with a part of the column: %+v", got)
	}
	run(t, env, "", "indexes", "--apply", "--all").want(t, exit.OK)
	names := indexNames(t, db.SQL)
	if slices.Contains(names, "wp_latepoint_transactions.bookside_order_id") || !slices.Contains(names, "wp_latepoint_orders.bookside_coupon_code") {
		t.Errorf("made beside those of others: %v", ownIndexes(names))
	}
	run(t, env, "", "indexes", "--drop").want(t, exit.OK)
	names = indexNames(t, db.SQL)
	if len(ownIndexes(names)) > 0 || !slices.Contains(names, "wp_latepoint_transactions.theirs") || !slices.Contains(names, "wp_latepoint_orders.beginning") {
		t.Errorf("left by --drop: %v", names)
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
	if got := listIndexes(t, adminSettings(db))[ofOrder]; got.State != indexes.Unneeded {
		t.Errorf("%+v", got)
	}
}

// TestIndexesThatAreImpossible: a table that would be copied, or that this version of the plugin lacks,
// gets no index; the others do.
func TestIndexesThatAreImpossible(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := adminSettings(db)
	execute(t, db.SQL, "ALTER TABLE wp_latepoint_transactions ENGINE = MyISAM")
	execute(t, db.SQL, "DROP TABLE wp_latepoint_transaction_refunds")
	execute(t, db.SQL, "ALTER TABLE wp_latepoint_orders DROP COLUMN coupon_code")
	wantTexts(t, run(t, env, "", "indexes").want(t, exit.OK).stdout,
		"wp_latepoint_transactions (order_id): impossible, because the engine of the table is MyISAM, which copies the table for it\n",
		"wp_latepoint_transaction_refunds (transaction_id): impossible, because there is no such table\n",
		"wp_latepoint_orders (coupon_code): impossible, because there is no column coupon_code\n")
	run(t, env, "", "indexes", "--apply", "--all").want(t, exit.OK)
	created := ownIndexes(indexNames(t, db.SQL))
	if len(created) == 0 || slices.ContainsFunc(created, func(name string) bool { return strings.HasPrefix(name, "wp_latepoint_transactions.") }) {
		t.Errorf("made %v", created)
	}
}

// TestIndexesNeedPrivilege: the account of serve may not create indexes. The printed statements allow it.
func TestIndexesNeedPrivilege(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := settingsFor(db)
	rejected := run(t, env, "", "indexes", "--apply", "--all").want(t, exit.Refused, "may not change the indexes of wp_latepoint_transactions, ", "GRANT INDEX ON `")
	if created := ownIndexes(indexNames(t, db.SQL)); len(created) > 0 {
		t.Errorf("made without the privilege: %v", created)
	}
	grants := 0
	for line := range strings.Lines(rejected.stderr) {
		if strings.HasPrefix(line, "GRANT ") {
			execute(t, db.SQL, strings.TrimRight(line, ";\n"))
			grants++
		}
	}
	run(t, env, "", "indexes", "--apply", "--all").want(t, exit.OK)
	if created := ownIndexes(indexNames(t, db.SQL)); len(created) < grants {
		t.Errorf("made with %d grants: %v", grants, created)
	}
	run(t, env, "", "indexes", "--drop").want(t, exit.OK)
}

// TestIndexesOnCluster: all nodes stand still while a table is changed, so the administrator must confirm
// it.
func TestIndexesOnCluster(t *testing.T) {
	t.Parallel()
	db := fixtures.NewGalera(t, fixtures.SiteA())
	env := adminSettings(db)
	const refusal = "a change of a table stops all writes on all nodes of a cluster until it is done: choose a quiet time and add --cluster"
	run(t, env, "", "indexes", "--apply", "--all").want(t, exit.Usage, refusal)
	if created := ownIndexes(indexNames(t, db.SQL)); len(created) > 0 {
		t.Errorf("made without consent: %v", created)
	}
	run(t, env, "", "indexes", "--apply", "--all", "--cluster").want(t, exit.OK)
	created := ownIndexes(indexNames(t, db.SQL))
	if len(created) == 0 {
		t.Error("nothing made with --cluster")
	}
	run(t, env, "", "indexes", "--drop").want(t, exit.Usage, refusal)
	if diff := gocmp.Diff(created, ownIndexes(indexNames(t, db.SQL))); diff != "" {
		t.Errorf("dropped without consent:\n%s", diff)
	}
	run(t, env, "", "indexes", "--drop", "--cluster").want(t, exit.OK)
	if left := ownIndexes(indexNames(t, db.SQL)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestIndexesWaitForOthers: while a transaction uses a table, its index is retried. The time limit of
// statements does not apply.
func TestIndexesWaitForOthers(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	tx := beginWrite(t, db.SQL, "wp_latepoint_transactions")
	var stdout, stderr fixtures.Buffer
	p := program{env: append(adminSettings(db), "BOOKSIDE_DB__STATEMENT_TIMEOUT=1s"), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, now: fixedClock}
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context(), []string{"indexes", "--apply", "--all"}) }()
	for !strings.Contains(stdout.String(), "others use the table; trying again in 1s\n") {
		select {
		case err := <-ended:
			t.Fatalf("ended with %v\n%s", err, stdout.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, stdout.String())
	}
	if created := ownIndexes(indexNames(t, db.SQL)); !slices.Contains(created, "wp_latepoint_transactions.bookside_order_id") {
		t.Errorf("made %v", created)
	}
}

// beginWrite returns an open transaction that has written to a table.
func beginWrite(t *testing.T, db *sql.DB, table string) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // no effect after a COMMIT
	if _, err := tx.ExecContext(t.Context(), "UPDATE "+table+" SET status = 'succeeded' WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	return tx
}

// TestIndexesInterrupted: whatever ends the command while an index is being created, the finished ones
// stay, and the next run creates the others.
func TestIndexesInterrupted(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := adminSettings(db)
	beginWrite(t, db.SQL, "wp_latepoint_orders") // its indexes wait, those before do not
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout, stderr fixtures.Buffer
	p := program{env: env, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, now: fixedClock}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, []string{"indexes", "--apply", "--all"}) }()
	working := func() bool {
		t.Helper()
		statements, err := db.Threads(t.Context(), "info LIKE 'CREATE INDEX%latepoint_orders%' AND db = DATABASE()")
		if err != nil {
			t.Fatal(err)
		}
		return len(statements) > 0
	}
	for !working() {
		time.Sleep(time.Millisecond)
	}
	interrupt()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "run the command again for the rest") {
		t.Errorf("ended with %v", err)
	}
	first := ownIndexes(indexNames(t, db.SQL))
	if !slices.Contains(first, "wp_latepoint_transactions.bookside_order_id") || slices.ContainsFunc(first, func(name string) bool { return strings.HasPrefix(name, "wp_latepoint_orders.") }) {
		t.Errorf("after the interruption: %v", first)
	}
	if working() {
		t.Error("the statement still runs")
	}
}

// TestIndexesResumed: what an interrupted run has created is not created again.
func TestIndexesResumed(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := adminSettings(db)
	execute(t, db.SQL, "CREATE INDEX bookside_order_id ON wp_latepoint_transactions (order_id)")
	rest := run(t, env, "", "indexes", "--apply", "--all").want(t, exit.OK).stdout
	if strings.Contains(rest, "bookside_order_id on") {
		t.Errorf("made again: %s", rest)
	}
	for name, r := range listIndexes(t, env) {
		if r.State != indexes.Present {
			t.Errorf("%s is %s", name, r.State)
		}
	}
}

// TestIndexesWhereTheNameIsTaken: another index with the same name makes the command fail with advice; the
// others are created.
func TestIndexesWhereTheNameIsTaken(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := adminSettings(db)
	execute(t, db.SQL, "CREATE INDEX BOOKSIDE_status ON wp_latepoint_orders (fulfillment_status)")
	const taken = "another index has this name, or the database was told to ignore it: drop it, rename it or make it visible again"
	for name, r := range listIndexes(t, env) {
		if (r.Reason == taken) != (name == "wp_latepoint_orders(status)") {
			t.Errorf("%s has the reason %q", name, r.Reason)
		}
	}
	if out := run(t, env, "", "indexes").want(t, exit.OK).stdout; strings.Count(out, "\n    cannot be made: "+taken+"\n") != 1 {
		t.Errorf("listed as\n%s", out)
	}
	run(t, env, "", "indexes", "--apply", "--all").want(t, exit.Failure, "bookside_status on wp_latepoint_orders: "+taken)
	for name, r := range listIndexes(t, env) {
		if present := r.State == indexes.Present; present == (name == "wp_latepoint_orders(status)") {
			t.Errorf("%s is %s", name, r.State)
		}
	}
	execute(t, db.SQL, "DROP INDEX bookside_status ON wp_latepoint_orders")
	run(t, env, "", "indexes", "--apply", "--all").want(t, exit.OK)
}

// TestIndexesLetOthersWrite: payments are entered while the indexes of their table are being created, and
// the index finds each of them.
func TestIndexesLetOthersWrite(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	manyPayments(t, db)
	var stdout, stderr fixtures.Buffer
	p := program{env: adminSettings(db), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, now: fixedClock}
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context(), []string{"indexes", "--apply"}) }()
	const order = 7_777_777
	written, between := 0, 0 // between is during the creation of an index
	for running := true; running; {
		before := stdout.String()
		execute(t, db.SQL, fmt.Sprintf("INSERT INTO wp_latepoint_transactions (order_id, kind, status, amount) VALUES (%d, 'capture', 'succeeded', 1)", order))
		written++
		if strings.HasSuffix(before, ")\n") && stdout.String() == before {
			between++
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, stdout.String())
			}
			running = false
		default:
		}
	}
	if between == 0 {
		t.Errorf("none of %d payments was entered while an index was being made", written)
	}
	for _, table := range []string{"wp_latepoint_transactions FORCE INDEX (bookside_order_id)", "wp_latepoint_transactions IGNORE INDEX (bookside_order_id)"} {
		var found int
		if err := db.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE order_id = ?", order).Scan(&found); err != nil || found != written {
			t.Errorf("%s: %d payments of %d, %v", table, found, written, err)
		}
	}
}

// TestRequestsUseIndexes: the requests that an index is for use it, and return the same as without it.
func TestRequestsUseIndexes(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := adminSettings(db)
	execute(t, db.SQL, "UPDATE wp_latepoint_orders SET coupon_code = 'TEN' WHERE id % 100 = 0")
	execute(t, db.SQL, "UPDATE wp_latepoint_orders SET payment_status = 'processing' WHERE id % 100 = 1")
	execute(t, db.SQL, "UPDATE wp_latepoint_transactions SET kind = 'refund', amount = -amount WHERE id % 100 = 0")
	execute(t, db.SQL, "UPDATE wp_latepoint_order_items SET total = 99999 WHERE id % 500 = 0")
	for _, table := range []string{"bookings", "orders", "transactions"} {
		execute(t, db.SQL, "UPDATE wp_latepoint_"+table+" SET updated_at = '2027-07-01' WHERE id % 500 = 0")
	}
	for range 4 {
		execute(t, db.SQL, `INSERT INTO wp_latepoint_customers (first_name, last_name, email, status, created_at, updated_at)
			SELECT first_name, last_name, email, status, created_at, updated_at FROM wp_latepoint_customers`)
	}
	execute(t, db.SQL, "INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) SELECT id, 0 FROM wp_latepoint_transactions")
	execute(t, db.SQL, "INSERT INTO wp_latepoint_process_jobs (process_id, object_id, object_model_type) SELECT 1, id, 'booking' FROM wp_latepoint_bookings")
	var order int64 // with a payment
	if err := db.SQL.QueryRowContext(t.Context(), "SELECT MIN(order_id) FROM wp_latepoint_transactions").Scan(&order); err != nil {
		t.Fatal(err)
	}
	requests := map[string][]string{ // GET if no method is given
		"transactions.order_id":              {fmt.Sprintf("/orders/%d", order), fmt.Sprintf("/payments?order_id=%d", order), "/customers"},
		"transaction_refunds.transaction_id": {fmt.Sprintf("/orders/%d", order)},
		"process_jobs.object_id":             {"DELETE /bookings/7?force=true"},
		"transactions.created_at":            {"/payments"},
		"transactions.customer_id":           {"/payments?customer_id=7"},
		"transactions.kind_status_order_id":  {"/orders?payment_status=refunded", "/bookings?payment_status=partially_refunded"},
		"transactions.status":                {"/payments?sort=status"},
		"transactions.amount":                {"/payments?sort=amount"},
		"bookings.created_at":                {"/bookings?sort=created_at"},
		"bookings.order_item_id":             {"/bookings?price_min=99999"},
		"order_items.total":                  {"/bookings?price_min=99999"},
		"orders.created_at":                  {"/orders"},
		"orders.total":                       {"/orders?sort=total"},
		"orders.status":                      {"/orders?sort=status"},
		"orders.payment_status":              {"/orders?payment_status=processing", "/bookings?payment_status=processing"},
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
		request, err := http.NewRequestWithContext(t.Context(), method, s.url+"/v1"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-API-Key", key)
		status, body, err := sendOnce(request)
		if err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %s, %v", line, status, body, err)
		}
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
	run(t, env, "", "indexes", "--apply", "--all").want(t, exit.OK)
	for name, r := range listIndexes(t, env) {
		execute(t, db.SQL, "ANALYZE TABLE "+r.Table)
		const onSlowLists = "customers.first_name_last_name"                       // see TestBookingsByNameOnLargeSites
		onTheConsole := []string{"bookings.booking_code", "activities.booking_id"} // equal comparisons, see TestSearch and TestBookingPage
		if index := strings.TrimPrefix(r.Table, "wp_latepoint_") + "." + strings.Join(r.Columns, "_"); requests[index] == nil && index != onSlowLists && !slices.Contains(onTheConsole, index) {
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
		execute(t, db.SQL, "SET GLOBAL userstat = 1")
		stmt = "SELECT COALESCE(SUM(rows_read), 0) FROM information_schema.index_statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?"
	}
	if err := db.SQL.QueryRowContext(t.Context(), stmt, table, index).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestIndexesFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flags, want string }{
		{"--apply --drop", "--apply and --drop exclude each other"},
		{"--apply --json", "--json is for the list"},
		{"--drop --all", "--all is for --apply"},
		{"--cluster", "--cluster is for --apply and --drop"},
	} {
		t.Run(test.flags, func(t *testing.T) {
			t.Parallel()
			run(t, nil, "", append([]string{"indexes"}, strings.Fields(test.flags)...)...).want(t, exit.Usage, "indexes: "+test.want)
		})
	}
}
