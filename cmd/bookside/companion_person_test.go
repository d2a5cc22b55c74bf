package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
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
		"latepoint-invoices", "latepoint-payments", "latepoint-intents", "latepoint-payment-intents", "latepoint-activities", "latepoint-jobs", "latepoint-codes", "bookside-responses",
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
		expect.NoTexts(t, text, secret)
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
	expect.Texts(t, messages, "invoice", "upcoming")
	expect.Equal(t, before, queryText(t, db, accounts), "the accounts")
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

// testAlikePersonOfPHP: what names somebody whose address merely begins or ends alike is not the person's.
func testAlikePersonOfPHP(t *testing.T, w *fixtures.WordPress, db *fixtures.Database) {
	t.Helper()
	const ann = "ann@site.test"
	for _, answer := range []string{
		"Dear Ann, your address is ann@site.test.example.", "joann@site.test", "<b>Jo.ann@site.test</b>", "o'ann@site.test", "ann@site.test-x.example", "öann@site.test",
		"Ann (ann@site.test) has booked.", "'Ann@Site.test', has booked",
	} {
		if _, err := db.SQL.ExecContext(t.Context(), `INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer)
			VALUES (1, 1, '2026-11-21 08:00:00', 200, 1, '', ?)`, answer); err != nil {
			t.Fatal(err)
		}
	}
	exported := fromPHP[struct{ Data []any }](t, w, "return apply_filters('wp_privacy_personal_data_exporters', [])['bookside']['callback']('"+ann+"', 1);")
	expect.Equal(t, 2, len(exported.Data), "exported: ", exported.Data)
	w.Run(t, "apply_filters('wp_privacy_personal_data_erasers', [])['bookside']['callback']('"+ann+"', 1);")
	expect.Equal(t, "6", queryText(t, db, "SELECT COUNT(*) FROM wp_bookside_webhook_tries WHERE answer LIKE '%ann@site.test%'"), "answers about others")
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
		`INSERT INTO wp_bookside_idempotency (scope, item, body_hash, status, answer, created_at) VALUES (REPEAT('7', 64), 0, REPEAT('0', 64), 201, '{"customer":{"email":"` + personMail + `","phone":"` + personPhone + `"}}', '2026-11-21 08:00:00')`,
		`INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES (1, 1, '2026-11-21 08:00:00', 200, 1, '', 'stored ` + personMail + `')`,
	} {
		db.Execute(t, statement)
	}
}

// queryText returns the only value of a query.
func queryText(t *testing.T, db *fixtures.Database, query string) (text string) {
	t.Helper()
	db.Scan(t, query, &text)
	return text
}

// placesOf returns the columns of all tables that contain a text.
func placesOf(t *testing.T, db *fixtures.Database, text string) (places []string) {
	t.Helper()
	rows, err := db.SQL.QueryContext(t.Context(), `SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = DATABASE() AND data_type IN ('char', 'varchar', 'text', 'mediumtext', 'longtext', 'tinytext', 'blob', 'mediumblob', 'longblob', 'varbinary')`)
	expect.NoError(t, err)
	defer func() { _ = rows.Close() }() // read to the end
	var columns [][2]string
	for rows.Next() {
		var c [2]string
		expect.NoError(t, rows.Scan(&c[0], &c[1]))
		columns = append(columns, c)
	}
	expect.NoError(t, rows.Err())
	for _, c := range columns {
		query := fmt.Sprintf("SELECT COUNT(*) FROM `%s` WHERE CONVERT(`%s` USING utf8mb4) LIKE '%%%s%%'", c[0], c[1], text)
		if queryText(t, db, query) != "0" {
			places = append(places, c[0]+"."+c[1])
		}
	}
	return places
}
