package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

var paymentList = listing{path: "/payments", from: "{transactions} t", order: "t.created_at DESC, t.id DESC"}

func TestPayments(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	golden(t, "payment", s.get("/payments/589").want(http.StatusOK).body)
	golden(t, "payment_list", s.get("/payments?per_page=2").want(http.StatusOK).body)
	paymentList.pages(t, s)
	paymentList.finds(t, s, paymentFinds)
	paymentList.finds(t, s, []find{
		{query: "payment_method=cash", where: "t.payment_method = 'cash'"},
		{query: "processor=PayPal", where: "t.processor = 'paypal'"},
		{query: "search=TX8R5CKI27HT", where: "t.id = 7"},
		{query: "search=deposit", where: "t.notes LIKE '%deposit%'"},
		{query: "amount_min=5.4&amount_max=5.4", where: "t.amount = 5.4"},
		{query: "customer_id=34&order_id=4", where: "t.id = 3"},
		{query: "customer_id=34&order_id=10", none: true},
		{query: "status=succeeded&processor=stripe&payment_method=local&amount_min=100&date_to=2026-11-10&sort=amount&order=asc",
			where: "t.status = 'succeeded' AND t.processor = 'stripe' AND t.payment_method = 'local' AND t.amount >= 100 AND t.created_at < '2026-11-11'",
			order: "t.amount, t.id"},
	})
}

// paymentFinds are queries that match some but not all records, on both the
// recorded and the small site.
var paymentFinds = []find{
	{query: ""},
	{query: "status=succeeded", where: "t.status = 'succeeded'"},
	{query: "status=FAILED", where: "t.status = 'failed'"},
	{query: "processor=stripe", where: "t.processor = 'stripe'"},
	{query: "customer_id=8388608", none: true},
	{query: "amount_min=60.0001", where: "t.amount > 60"},
	{query: "amount_max=60.00", where: "t.amount <= 60"},
	{query: "amount_min=60&amount_max=75", where: "t.amount BETWEEN 60 AND 75"},
	{query: "date_from=2026-10-10&date_to=2026-10-31", where: "DATE(t.created_at) BETWEEN '2026-10-10' AND '2026-10-31'"},
	{query: "date_to=9999-12-31", all: true},
	{query: "order=asc", order: "t.created_at, t.id"},
	{query: "sort=id&order=ASC", order: "t.id"},
	{query: "sort=amount&order=asc", order: "t.amount, t.id"},
	{query: "sort=status&order=asc", order: "t.status, t.id"},
}

// TestPaymentBooking compares the booking of every payment with the first
// booking of its order, according to the rows.
func TestPaymentBooking(t *testing.T) {
	t.Parallel()
	for name, site := range map[string]fixtures.Site{"recorded": fixtures.SiteA(), "small": fixtures.Small(now), "legacy": fixtures.Legacy()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, fixtures.Shared(t, site))
			want := s.ids(t, `SELECT CONCAT(t.id, ' ', MIN(b.id)) FROM {transactions} t JOIN {order_items} i ON i.order_id = t.order_id
				JOIN {bookings} b ON b.order_item_id = i.id GROUP BY t.id ORDER BY t.id`)
			got := []string{}
			for page := 1; ; page++ {
				a := s.get(fmt.Sprintf("/payments?sort=id&order=asc&per_page=100&page=%d", page)).want(http.StatusOK)
				for _, p := range a.records() {
					got = append(got, fmt.Sprintf("%v %v", p["id"], p["booking_id"]))
				}
				if a.at("pagination", "has_next_page") == false {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("payments and bookings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPaymentDatesInTheSitesZone: timestamps are in the site's time zone,
// around the end of summer time in Berlin.
func TestPaymentDatesInTheSitesZone(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Edge())
	database.Execute(t, "DELETE FROM wp_latepoint_transactions WHERE id > 4",
		"UPDATE wp_latepoint_transactions SET order_id = 1, created_at = CASE id WHEN 1 THEN '2026-10-24 21:59:59' WHEN 2 THEN '2026-10-24 22:00:00' "+
			"WHEN 3 THEN '2026-10-25 22:59:59' ELSE '2026-10-25 23:00:00' END")
	local := newServer(t, database, siteTimestamps)
	for query, want := range map[string][]string{
		"date_from=2026-10-25&date_to=2026-10-25": {"3", "2"},
		"date_from=2026-10-26":                    {"4"},
		"date_to=2026-10-24":                      {"1"},
		"date_to=9999-12-31":                      {"4", "3", "2", "1"},
	} {
		if got := idsOf(local.get("/payments?" + query).want(http.StatusOK).at("data")); !cmp.Equal(got, want) {
			t.Errorf("%s in the zone: %v, want %v", query, got, want)
		}
	}
	for id, want := range map[string]string{"1": "2026-10-24 23:59:59", "2": "2026-10-25 00:00:00", "3": "2026-10-25 23:59:59", "4": "2026-10-26 00:00:00"} {
		local.wantFields(t, "/payments/"+id, map[string]any{"created_at": want})
	}
	stored := newServer(t, database)
	if got, want := idsOf(stored.get("/payments?date_from=2026-10-25&date_to=2026-10-25").at("data")), []string{"4", "3"}; !cmp.Equal(got, want) {
		t.Errorf("as stored: %v, want %v", got, want)
	}
	stored.wantFields(t, "/payments/1", map[string]any{"created_at": "2026-10-24 21:59:59"})
}

func TestPaymentsOfTheEdgeSite(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.Edge()))
	for id, want := range map[string]map[string]any{
		"1": {"token": "tok_1", "invoice_id": "3", "order_id": "7", "booking_id": "7", "notes": "", "receipt_number": "RECEAPT2", "access_key": "00000000-0000-4000-a000-000000000201"},
		// every nullable column is NULL
		"2": {
			"token": nil, "invoice_id": nil, "order_id": "", "booking_id": nil, "customer_id": "0", "processor": "", "payment_method": "",
			"payment_portion": "", "kind": "", "amount": "0.0000", "status": "succeeded", "notes": nil, "receipt_number": "", "access_key": nil,
			"created_at": "", "updated_at": "",
		},
		"3": {"notes": "Thanks 🎉"},
		"6": {"token": nil, "kind": "refund", "amount": "10.0000", "payment_portion": "partial", "booking_id": "20"},
		"7": {"token": "", "customer_id": "0", "receipt_number": "", "access_key": ""},
		"8": {"status": "refunded"},
		// order, invoice and customer were deleted, but an item of the order was not
		"11": {"order_id": "904", "invoice_id": "906", "customer_id": "901", "booking_id": "25", "amount": "-1.0000", "payment_method": "<b>", "kind": "void"},
	} {
		t.Run(id, func(t *testing.T) {
			s.wantFields(t, "/payments/"+id, want)
		})
	}
	if raw := string(s.get("/payments/11").body); !strings.Contains(raw, `"payment_method":"<b>"`) {
		t.Errorf("escaped: %s", raw)
	}
	paymentList.pages(t, s)
	paymentList.finds(t, s, []find{
		{query: "status=refunded", where: "t.id = 8"},
		{query: "processor=100%25_sure", where: "t.id = 11"},
		{query: "payment_method=<b>", where: "t.id = 11"},
		{query: "search=🎉", where: "t.id = 3"},
		{query: "search=tok_1", where: "t.id IN (1, 10, 11)"}, // the underscore is not a wildcard
		{query: "search=RECEAPT", where: "t.id IN (1, 3, 5)"},
		{query: "amount_max=0", where: "t.id = 11"}, // a missing amount is not 0
		{query: "amount_min=-1.0000", where: "t.id <> 2"},
		{query: "date_from=2026-11-03", where: "t.created_at >= '2026-11-03'"},
		{query: "date_to=9999-12-31", where: "t.id <> 2"},
		{query: "order_id=904", where: "t.id = 11"},
		{query: "customer_id=0&status=succeeded", where: "t.status = 'succeeded'"}, // 0 counts as not sent
		{query: "sort=amount&order=asc", order: "t.amount IS NOT NULL, t.amount, t.id"},
	})
}

// TestPaymentAmountsAreExact: a column of money holds twenty digits, and
// filters compare all of them.
func TestPaymentAmountsAreExact(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Edge())
	database.Execute(t, "DELETE FROM wp_latepoint_transactions WHERE id > 2",
		"UPDATE wp_latepoint_transactions SET amount = 9999999999999999.9999 WHERE id = 1", "UPDATE wp_latepoint_transactions SET amount = 9999999999999999.9998 WHERE id = 2")
	s := newServer(t, database)
	s.wantFields(t, "/payments/1", map[string]any{"amount": "9999999999999999.9999"})
	for query, want := range map[string][]string{
		"amount_max=9999999999999999.9998": {"2"},
		"amount_min=9999999999999999.9999": {"1"},
		"sort=amount":                      {"1", "2"},
	} {
		if got := idsOf(s.get("/payments?" + query).want(http.StatusOK).at("data")); !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	wantInvalidParameters(t, "beyond the column", s.get("/payments?amount_min=10000000000000000&amount_max=-10000000000000000"), "amount_min", "amount_max")
}
