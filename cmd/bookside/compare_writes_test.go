package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

// twoCopies are two copies of a site, each with a server.
type twoCopies struct {
	t             *testing.T
	php, bookside *fixtures.Database
	phpURL, url   string
	phpKey, key   string
}

func newTwoCopies(t *testing.T) *twoCopies {
	t.Helper()
	return newTwoCopiesOf(t, fixtures.Small(now))
}

func newTwoCopiesOf(t *testing.T, site fixtures.Site) *twoCopies {
	t.Helper()
	c := &twoCopies{t: t, php: fixtures.New(t, site), bookside: fixtures.New(t, site)}
	for _, db := range []*fixtures.Database{c.php, c.bookside} {
		c.exec(db, "UPDATE wp_latepoint_settings SET value = '' WHERE name LIKE 'notifications_%_processor'")
		c.exec(db, "UPDATE wp_latepoint_processes SET status = 'disabled'")
	}
	c.phpKey, c.key = keyFile(t, withoutLimits(c.php)), keyFile(t, withoutLimits(c.bookside))
	c.phpURL, c.url = serve(t, withoutLimits(c.php)).url, serve(t, withoutLimits(c.bookside)).url
	return c
}

func (c *twoCopies) exec(db *fixtures.Database, statement string) {
	c.t.Helper()
	if _, err := db.SQL.ExecContext(c.t.Context(), statement); err != nil {
		c.t.Fatal(err)
	}
}

func (c *twoCopies) compare(php, scenario string) result {
	c.t.Helper()
	return run(c.t, nil, "", "compare", "--php", php, "--php-key-file", c.phpKey, "--bookside", c.url, "--key-file", c.key, "--writes", "--scenario", textFile(c.t, "writes.http", scenario),
		"--on-copy", "@"+textFile(c.t, "dsn", c.php.AdminDSN+"\n"), c.bookside.AdminDSN)
}

const writingScenario = `# What clients of the sample site do.
# @name customer
POST /customers

{"first_name": "Ada", "last_name": "Byron", "email": "ada@example.com", "phone": "+49 151 2345678"}

###
# @name booking
POST /bookings
Content-Type: application/json

{"service_id": 2, "agent_id": 3, "start_date": "2026-12-01", "start_time": "10:00", "customer_id": {{customer.data.id}}}

###
PUT /bookings/{{ booking.data.id }}

{"start_date": "2026-12-02", "notes": "bring the X-rays"}

###
POST /payments

{"order_id": {{booking.data.order.id}}, "amount": "5.00"}

### a request that fails on both sides
POST /bookings

{"service_id": 999}

###
DELETE /bookings/{{booking.data.id}}?force=true
`

// TestCompareWrites: two Bookside servers leave the same rows in two copies, although ids, codes and hashes
// differ.
func TestCompareWrites(t *testing.T) {
	t.Parallel()
	c := newTwoCopies(t)
	// The second copy's next ids differ.
	for _, table := range []string{"bookings", "customers", "orders", "order_items", "activities", "transactions"} {
		c.exec(c.bookside, "ALTER TABLE wp_latepoint_"+table+" AUTO_INCREMENT = 5000")
	}
	services := countRows(t, c.php, "wp_latepoint_services")
	got := c.compare(c.phpURL, writingScenario)
	if got.code != exit.OK {
		t.Fatalf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	wantTexts(t, got.stdout, "EQUAL: 6 writes left the same rows in both copies (0 known differences; both sides rejected 1)", "POST /bookings  PHP 201, Bookside 201: equal", "POST /bookings  PHP 400, Bookside 400 invalid_request: equal",
		"latepoint_bookings: PHP changed 1 row, Bookside 1", "latepoint_transactions: PHP changed 1 row, Bookside 1", "DELETE /bookings/{{booking.data.id}}  PHP 200, Bookside 200")
	if strings.Contains(got.stdout, "Byron") {
		t.Errorf("personal data are printed: %s", got.stdout)
	}
	if countRows(t, c.php, "wp_latepoint_services") != services || countRows(t, c.bookside, "wp_latepoint_services") != services {
		t.Error("a marker was left behind")
	}
}

func countRows(t *testing.T, db *fixtures.Database, table string) (n int) {
	t.Helper()
	if err := db.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCompareWritesThatAreAllRejected: identical rejections prove nothing.
func TestCompareWritesThatAreAllRejected(t *testing.T) {
	t.Parallel()
	c := newTwoCopies(t)
	got := c.compare(c.phpURL, "POST /bookings\n\n{\"service_id\": 999}\n").want(t, exit.Incomplete)
	wantTexts(t, got.stdout, "INCOMPLETE: none of 1 write changed a row in either copy, and both sides rejected 1.")
}

// phpBehind serves the extension's side through a handler that passes requests on to it, and returns the
// address.
func (c *twoCopies) phpBehind(t *testing.T, serve func(w http.ResponseWriter, r *http.Request, proxy http.Handler)) string {
	t.Helper()
	target, err := url.Parse(c.phpURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	php := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, proxy) }))
	t.Cleanup(php.Close)
	return php.URL
}

// TestCompareWritesFindsDifferences: if a side writes something else, every row is found, and decisions of
// Bookside are named.
func TestCompareWritesFindsDifferences(t *testing.T) {
	t.Parallel()
	c := newTwoCopies(t)
	php := c.phpBehind(t, func(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		changed := strings.ReplaceAll(string(body), `"Ada"`, `"Eva"`)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
		proxy.ServeHTTP(w, r)
		switch {
		case r.Method == http.MethodPost && strings.Contains(changed, `"start_time"`):
			c.exec(c.php, "INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) SELECT MAX(id), 'color', 'red' FROM wp_latepoint_bookings")
			c.exec(c.php, "UPDATE wp_latepoint_bookings SET status = 'pending' ORDER BY id DESC LIMIT 1")
			c.exec(c.php, "DELETE FROM wp_latepoint_activities ORDER BY id DESC LIMIT 1")
			c.exec(c.php, "UPDATE wp_latepoint_agents SET updated_at = '2026-11-21 09:30:00' WHERE id = 1")
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/payments"):
			c.exec(c.php, "UPDATE wp_latepoint_orders SET payment_status = 'not_paid' ORDER BY id DESC LIMIT 1")
		case r.Method == http.MethodDelete:
			c.exec(c.php, "INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) VALUES (77777, 'key_to_manage_for_agent', 'abcdef')")
		}
	})
	got := c.compare(php, writingScenario).want(t, exit.Different)
	wantTexts(t, got.stdout, "DIFFERENT: 3 of 6 writes left other rows or got other answers",
		", first_name: value\n    PHP:      'Xxx'\n    Bookside: 'Xxx'",
		"status: value\n    PHP:      'pending'\n    Bookside: 'approved'",
		"latepoint_booking_meta", "missing row\n    PHP:      ", "meta_key = 'color'", "latepoint_activities", "additional row\n    PHP:      –\n    Bookside: ",
		"latepoint_agents 1, updated_at: unchanged records are not written", "payment_status: payments bring the order in step", "a deleted booking gets no new keys")
	if strings.Contains(got.stdout, "Eva") || strings.Contains(got.stdout, "Byron") {
		t.Errorf("personal data are printed: %s", got.stdout)
	}
}

// TestCompareWritesKnowsRefunds: the extension changes a payment that is refunded, Bookside adds a
// refund.
func TestCompareWritesKnowsRefunds(t *testing.T) {
	t.Parallel()
	c := newTwoCopies(t)
	php := c.phpBehind(t, func(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
		proxy.ServeHTTP(w, r)
		if r.Method == http.MethodPut {
			c.exec(c.php, "DELETE FROM wp_latepoint_transaction_refunds ORDER BY id DESC LIMIT 1")
			c.exec(c.php, "UPDATE wp_latepoint_transactions SET status = 'refunded' ORDER BY id DESC LIMIT 1")
		}
	})
	scenario := "# @name payment\nPOST /payments\n\n{\"order_id\": 1, \"amount\": \"5.00\"}\n\n###\nPUT /payments/{{payment.data.id}}\n\n{\"status\": \"refunded\"}\n"
	got := c.compare(php, scenario).want(t, exit.OK)
	wantTexts(t, got.stdout, "EQUAL: 2 writes left the same rows in both copies (2 known differences;", ", status: refunds are rows of their own\n    PHP:      'refunded'\n    Bookside: 'succeeded'",
		"latepoint_transaction_refunds")
}

// TestCompareWritesKnowsAddOns: the extension ignores what add-ons give bookings, and the reason of a difference may be an extension
// that Bookside does not honour.
func TestCompareWritesKnowsAddOns(t *testing.T) {
	t.Parallel()
	c := newTwoCopiesOf(t, fixtures.Small(now).WithProFeatures())
	sent := 0
	for _, db := range []*fixtures.Database{c.php, c.bookside} {
		c.exec(db, "INSERT INTO wp_latepoint_services_service_extras (service_id, service_extra_id) VALUES (2, 4)")
	}
	php := c.phpBehind(t, func(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		plain := strings.ReplaceAll(string(body), `, "extras": [{"id": 4, "quantity": 2}], "coupon_code": "STAFF"`, "")
		sent += len(body) - len(plain)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(plain)), int64(len(plain))
		proxy.ServeHTTP(w, r)
	})
	booking := "POST /bookings\n\n" + `{"service_id": 2, "agent_id": 3, "start_date": "2026-12-01", "start_time": "10:00", "customer_id": 1, "extras": [{"id": 4, "quantity": 2}], "coupon_code": "STAFF"}`
	got := c.compare(php, booking).want(t, exit.OK)
	wantTexts(t, got.stdout, "EQUAL: 1 write left the same rows in both copies", "total: fields of Bookside", "latepoint_bookings_service_extras", "end_time: fields of Bookside")
	if sent == 0 {
		t.Error("PHP was not asked for extras")
	}

	plain := "POST /bookings\n\n" + `{"service_id": 2, "agent_id": 3, "start_date": "2026-12-03", "start_time": "10:00", "customer_id": 1}`
	c = newTwoCopiesOf(t, fixtures.Small(now).WithProFeatures())
	for _, db := range []*fixtures.Database{c.php, c.bookside} {
		c.exec(db, `UPDATE wp_options SET option_value = 'a:2:{i:0;s:23:"latepoint/latepoint.php";i:1;s:39:"latepoint-coupons/latepoint-coupons.php";}' WHERE option_name = 'active_plugins'`)
	}
	got = c.compare(c.phpBehind(t, func(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
		proxy.ServeHTTP(w, r)
		if r.Method == http.MethodPost {
			c.exec(c.php, "UPDATE wp_latepoint_orders SET total = 1 ORDER BY id DESC LIMIT 1")
		}
	}), plain).want(t, exit.Different)
	wantTexts(t, got.stdout, "What may explain differences: extensions of the site that the API does not honour:\n  Coupons: Coupons do not reduce the price of a booking by the API.\n")
}

// TestCompareWritesRefuses: nothing is sent unless both copies are safe, equal, and used by the servers.
func TestCompareWritesRefuses(t *testing.T) {
	t.Parallel()
	c := newTwoCopies(t)
	before := countRows(t, c.bookside, "wp_latepoint_customers") + countRows(t, c.php, "wp_latepoint_customers")
	refused := func(text string) {
		t.Helper()
		got := c.compare(c.phpURL, writingScenario).want(t, exit.Failure, "nothing was sent:", text)
		if strings.Contains(got.stderr, c.php.AdminDSN) {
			t.Error("a DSN is printed")
		}
	}
	with := func(db *fixtures.Database, set, undo, text string) {
		t.Helper()
		c.exec(db, set)
		refused(text)
		c.exec(db, undo)
	}
	for _, kind := range []string{"email", "sms", "whatsapp"} {
		name := "'notifications_" + kind + "_processor'"
		c.exec(c.bookside, "INSERT INTO wp_latepoint_settings (name, value) SELECT "+name+", '' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM wp_latepoint_settings WHERE name = "+name+")")
		with(c.bookside, "UPDATE wp_latepoint_settings SET value = 'smtp' WHERE name = "+name, "UPDATE wp_latepoint_settings SET value = '' WHERE name = "+name,
			"copy of Bookside: notifications by "+kind+" are on: UPDATE wp_latepoint_settings")
	}
	with(c.php, `INSERT INTO wp_latepoint_processes (name, event_type, actions_json, status) VALUES ('x', 'booking_created', '{"type":"trigger_webhook"}', 'active')`,
		"DELETE FROM wp_latepoint_processes WHERE name = 'x'", "copy of PHP: workflows are active")
	with(c.bookside, `INSERT INTO wp_bookside_webhooks (name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at) VALUES ('x', 'https://x', '*', '', '', '', 0, 0, 0, 's', 'enabled', 0, '2026-11-21 00:00:00')`,
		"DELETE FROM wp_bookside_webhooks", "copy of Bookside: webhooks of Bookside are enabled")
	with(c.php, "ALTER TABLE wp_latepoint_orders ADD COLUMN extra INT", "ALTER TABLE wp_latepoint_orders DROP COLUMN extra", "only one of the copies has latepoint_orders.extra")
	with(c.php, "UPDATE wp_latepoint_customers SET first_name = 'Eva' WHERE id = 3", "SELECT 1", "latepoint_customers: 1 row")

	// Both servers on one database, or each on the other's.
	one := *c
	one.phpURL, one.phpKey = c.url, c.key
	one.compare(one.phpURL, writingScenario).want(t, exit.Failure, "a row written into the first copy is not visible through "+c.url)
	one.php = c.bookside
	one.compare(one.phpURL, writingScenario).want(t, exit.Failure, "is also visible through "+c.url+"/wp-json/latepoint-api/v1: both servers use one database")
	swapped := *c
	swapped.php, swapped.bookside = c.bookside, c.php
	swapped.compare(c.phpURL, writingScenario).want(t, exit.Failure, "written into the first copy is not visible through", "written into the second copy is not visible through")

	if after := countRows(t, c.bookside, "wp_latepoint_customers") + countRows(t, c.php, "wp_latepoint_customers"); after != before {
		t.Errorf("%d customers, before %d: something was written", after, before)
	}
	if n := countRows(t, c.php, "wp_latepoint_services WHERE name LIKE 'Bookside compare%'") + countRows(t, c.bookside, "wp_latepoint_services WHERE name LIKE 'Bookside compare%'"); n != 0 {
		t.Errorf("%d markers were left behind", n)
	}
	c.compare(c.phpURL, "POST /bookings/{{booking.data.id}}").want(t, exit.Usage, "no request before it has the name booking")
	c.compare(c.phpURL, "# nothing").want(t, exit.Usage, "has no request")
}
