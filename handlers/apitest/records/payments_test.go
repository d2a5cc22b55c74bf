package records_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestLimitedKeysSeeRefunds: a limited key, which sees no order, is shown the same payment status of a booking
// in a list, alone and as the answer of a change.
func TestLimitedKeysSeeRefunds(t *testing.T) {
	s, _ := paidOrder(t)
	s.Write(http.MethodPost, "/payments", `{"order_id":1403,"amount":35,"kind":"refund"}`).Want(http.StatusCreated)
	agent, err := strconv.ParseInt(fmt.Sprint(s.Get("/bookings/1441").At("data", "agent", "id")), 10, 64)
	expect.NoError(t, err)
	s.Key = s.LimitedKey(domain.Scope{Agents: []int64{agent}})
	for way, shown := range map[string]any{
		"list":   s.Get("/bookings?booking_code="+fmt.Sprint(s.Get("/bookings/1441").At("data", "booking_code"))).At("data", 0, "payment_status"),
		"alone":  s.Get("/bookings/1441").At("data", "payment_status"),
		"change": s.Write(http.MethodPut, "/bookings/1441", `{"custom_fields":{}}`).Want(http.StatusOK).At("data", "payment_status"),
	} {
		expect.Equal(t, "partially_refunded", shown, way)
	}
}

var paymentList = listing{path: "/payments", from: "{transactions} t", order: "t.created_at DESC, t.id DESC"}

func TestPayments(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "payment", s.Get("/payments/589").Want(http.StatusOK).Body)
	apitest.Golden(t, "payment_list", s.Get("/payments?per_page=2").Want(http.StatusOK).Body)
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
	for name, site := range map[string]fixtures.Site{"recorded": fixtures.SiteA(), "small": fixtures.Small(apitest.Now), "legacy": fixtures.Legacy()} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Shared(t, site)
			want := s.Texts(`SELECT CONCAT(t.id, ' ', MIN(b.id)) FROM {transactions} t JOIN {order_items} i ON i.order_id = t.order_id
				JOIN {bookings} b ON b.order_item_id = i.id GROUP BY t.id ORDER BY t.id`)
			got := []string{}
			for page := 1; ; page++ {
				a := s.Get(fmt.Sprintf("/payments?sort=id&order=asc&per_page=100&page=%d", page)).Want(http.StatusOK)
				for _, p := range a.Records() {
					got = append(got, fmt.Sprintf("%v %v", p["id"], p["booking_id"]))
				}
				if a.At("pagination", "has_next_page") == false {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("payments and bookings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPaymentsOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
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
	s := apitest.Own(t, fixtures.Edge())
	s.Database.Execute(t, "DELETE FROM wp_latepoint_transactions WHERE id > 2",
		"UPDATE wp_latepoint_transactions SET amount = 9999999999999999.9999 WHERE id = 1", "UPDATE wp_latepoint_transactions SET amount = 9999999999999999.9998 WHERE id = 2")
	s.WantFields(t, "/payments/1", map[string]any{"amount": "9999999999999999.9999"})
	for query, want := range map[string][]string{
		"amount_max=9999999999999999.9998": {"2"},
		"amount_min=9999999999999999.9999": {"1"},
		"sort=amount":                      {"1", "2"},
	} {
		if got := apitest.IDsOf(s.Get("/payments?" + query).Want(http.StatusOK).At("data")); !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	apitest.WantInvalidParameters(t, "beyond the column", s.Get("/payments?amount_min=10000000000000000&amount_max=-10000000000000000"), "amount_min", "amount_max")
}

// TestPaymentsOfTheAutomationNode replays the calls of an n8n node that was made for an older version of
// the API: ids are texts, statuses have other words, and a token is a transaction id.
func TestPaymentsOfTheAutomationNode(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		body         string
		status, kind string
		token        string // %T %v
		order        string // payment status
	}{
		"completed":                    {`{"booking_id":"1441","customer_id":"153","amount":50,"payment_method":"cash","status":"completed"}`, "succeeded", "capture", "<nil> <nil>", "partially_paid"},
		"with the order":               {`{"booking_id":"1441","order_id":"1403","customer_id":"153","amount":135,"payment_method":"cash","status":"Completed"}`, "succeeded", "capture", "<nil> <nil>", "fully_paid"},
		"pending":                      {`{"booking_id":"1441","customer_id":"153","amount":50,"status":"pending","transaction_id":"tx-1","notes":"n"}`, "processing", "capture", "string tx-1", "processing"},
		"failed":                       {`{"booking_id":"1441","customer_id":"153","amount":"50.00","status":"failed","transaction_id":""}`, "failed", "capture", "string ", "not_paid"},
		"refunded":                     {`{"booking_id":"1441","customer_id":"153","amount":50,"status":"refunded","transaction_id":"tx-2","force":true}`, "succeeded", "refund", "string tx-2", "refunded"},
		"a token and a transaction id": {`{"booking_id":"1441","amount":50,"token":"tok","transaction_id":"tx"}`, "succeeded", "capture", "string tok", "partially_paid"},
	} {
		created := s.Write(http.MethodPost, "/payments", c.body).Want(http.StatusCreated)
		want := map[string]any{"status": "string " + c.status, "kind": "string " + c.kind, "token": c.token, "order_id": "string 1403", "booking_id": "string 1441"}
		wantFieldsOf(t, created, want)
		read := s.Get(fmt.Sprintf("/payments/%v", created.At("data", "id"))).Want(http.StatusOK)
		wantFieldsOf(t, read, want)
		expect.Equal[any](t, c.order, s.Get("/orders/1403").At("payment_status"), fmt.Sprintf("%s: the order", name))
		before.Restore(t)
	}
	// A status that the plugin itself has stored stays unchanged.
	s.Database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = 3")
	wantFieldsOf(t, s.Write(http.MethodPut, "/payments/3", `{"status":"refunded","notes":"x"}`).Want(http.StatusOK),
		map[string]any{"status": "string refunded", "kind": "string capture", "notes": "string x"})
	expect.Equal(t, "Invalid transaction ID provided", s.Write(http.MethodPut, "/payments/3", `{"transaction_id":[1]}`).Want(http.StatusBadRequest).At("error"), "error")
}

// TestPriceFollowsPayments: a total above or below what was paid changes the payment
// status, unless another one is sent with it.
func TestPriceFollowsPayments(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Write(http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`).Want(http.StatusCreated)
	for _, step := range []struct{ path, body, want string }{
		{"/bookings/1441", `{"price":"135.01"}`, "partially_paid"},
		{"/bookings/1441", `{"price":135}`, "fully_paid"},
		{"/bookings/1441", `{"price":200,"notes":"x"}`, "partially_paid"},
		{"/bookings/1441", `{"price":0}`, "partially_paid"}, // a free order keeps its status
		{"/bookings/1441", `{"price":100}`, "fully_paid"},
		{"/orders/1403", `{"total":"140"}`, "partially_paid"},
		{"/orders/1403", `{"total":"135.00"}`, "fully_paid"},
		{"/orders/1403", `{"total":150,"payment_status":"fully_paid"}`, "partially_paid"}, // it is fully_paid, so this demands nothing
		{"/orders/1403", `{"total":149,"payment_status":"fully_paid"}`, "fully_paid"},
		{"/orders/1403", `{"total":149}`, "fully_paid"}, // no change
		{"/orders/1403", `{"subtotal":500}`, "fully_paid"},
		{"/orders/1403", `{"total":151}`, "partially_paid"},
	} {
		a := s.Write(http.MethodPut, step.path, step.body).Want(http.StatusOK)
		expect.Equal[any](t, step.want, record(a)["payment_status"], fmt.Sprintf("%s %s: answered", step.path, step.body))
		expect.Equal[any](t, step.want, s.Get("/orders/1403").At("payment_status"), fmt.Sprintf("%s %s: stored", step.path, step.body))
	}
}

// TestPhonesAreFoundHoweverWritten filters by numbers with and without punctuation.
func TestPhonesAreFoundHoweverWritten(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET phone = '+49 (170) 55-66 77' WHERE id = 9", "UPDATE wp_latepoint_customers SET phone = '+49170556688' WHERE id = 12",
		"UPDATE wp_latepoint_bookings SET customer_id = 9 WHERE id = 10", "UPDATE wp_latepoint_agents SET phone = '+49 (170) 55-66 77' WHERE id = 2")
	for phone, want := range map[string][2]bool{ // customers 9 and 12
		"+491705566": {true, true}, "+49 170 5566": {true, true}, "(170)-5566": {true, true}, "1 70 55": {true, true}, "5566-7": {true, false}, "55 6688": {false, true},
		"55667_": {false, false}, "5566 %": {false, false}, "+49/170": {false, false},
	} {
		query := url.QueryEscape(phone)
		for i, id := range []string{"9", "12"} {
			expect.Equal(t, want[i], contains(s.Get("/customers?per_page=100&phone="+query).Want(http.StatusOK), id), fmt.Sprintf("%s: customer %s found", phone, id))
		}
		expect.Equal(t, want[0], contains(s.Get("/bookings?per_page=100&customer_id=9&customer_phone="+query).Want(http.StatusOK), "10"), fmt.Sprintf("%s: booking found", phone))
		expect.Equal(t, want[0], contains(s.Get("/agents?per_page=100&phone="+query).Want(http.StatusOK), "2"), fmt.Sprintf("%s: agent found", phone))
	}
}

// contains reports whether a list has a record.
func contains(a apitest.Answer, id string) bool {
	for _, found := range apitest.IDsOf(a.At("data")) {
		if found == id {
			return true
		}
	}
	return false
}

// moneyOf gives order 1403, which costs 135, a stored payment status and its
// transactions and refund rows.
func moneyOf(t testing.TB, s *apitest.Server, status string, statements ...string) {
	t.Helper()
	s.Database.Execute(t, append([]string{
		"DELETE FROM wp_latepoint_transaction_refunds",
		"DELETE FROM wp_latepoint_transactions WHERE order_id = 1403",
		"UPDATE wp_latepoint_orders SET payment_status = '" + status + "' WHERE id = 1403",
	}, statements...)...)
}

// transaction returns the statement that inserts a transaction of order 1403.
func transaction(id int, status, kind, amount string) string {
	return fmt.Sprintf("INSERT INTO wp_latepoint_transactions (id, order_id, status, kind, amount) VALUES (%d, 1403, '%s', %s, %s)", id, status, kind, amount)
}

// refundRow returns the statement that inserts a refund of the gateway.
func refundRow(transaction int, amount string) string {
	return fmt.Sprintf("INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) VALUES (%d, %s)", transaction, amount)
}

// TestRefundsAreDerived: the payment status that orders and bookings show, and
// are found by, follows their refunds, however these were stored.
func TestRefundsAreDerived(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	words := []string{"not_paid", "partially_paid", "fully_paid", "processing", "refunded", "partially_refunded"}
	paid := transaction(90001, "succeeded", "'capture'", "100")
	for _, c := range []struct {
		name, stored string
		money        []string
		want         string
	}{
		{"nothing paid", "not_paid", nil, "not_paid"},
		{"paid", "fully_paid", []string{paid}, "fully_paid"},
		{"refunded, negative", "not_paid", []string{paid, transaction(90002, "succeeded", "'refund'", "-100")}, "refunded"},
		{"refunded, positive", "fully_paid", []string{paid, transaction(90002, "succeeded", "'refund'", "100")}, "refunded"},
		{"refunded in part, negative", "partially_paid", []string{paid, transaction(90002, "succeeded", "'refund'", "-0.0001")}, "partially_refunded"},
		{"refunded without a payment", "not_paid", []string{transaction(90002, "succeeded", "'refund'", "-1")}, "refunded"},
		{"letter case", "fully_paid", []string{paid, transaction(90002, "Succeeded", "'Refund'", "-100")}, "refunded"},
		{"a refund that failed", "fully_paid", []string{paid, transaction(90002, "failed", "'refund'", "-100")}, "fully_paid"},
		{"a refund without an amount", "fully_paid", []string{paid, transaction(90002, "succeeded", "'refund'", "NULL")}, "fully_paid"},
		{"by the gateway", "fully_paid", []string{paid, refundRow(90001, "60"), refundRow(90001, "40")}, "refunded"},
		{"in both ways", "fully_paid", []string{paid, refundRow(90001, "60"), transaction(90002, "succeeded", "'refund'", "-40")}, "refunded"},
		{"by the gateway, of several payments", "fully_paid", []string{paid, transaction(90002, "succeeded", "NULL", "50"), refundRow(90001, "60"), refundRow(90002, "50")}, "partially_refunded"},
		{"another order's refund", "fully_paid", []string{paid, refundRow(1, "60")}, "fully_paid"},
		{"an authorisation is no money", "partially_paid", []string{transaction(90001, "succeeded", "'authorization'", "100"), transaction(90002, "succeeded", "'refund'", "-1")}, "refunded"},
		{"a word that somebody set", "refunded", []string{paid}, "refunded"},
	} {
		moneyOf(t, s, c.stored, c.money...)
		order := s.Get("/orders/1403").Want(http.StatusOK)
		customer := fmt.Sprint(order.At("customer_id"))
		booking := s.Get("/bookings/1441").Want(http.StatusOK)
		for where, got := range map[string]any{
			"order": order.At("payment_status"), "booking": booking.At("data", "payment_status"), "order of the booking": booking.At("data", "order", "payment_status"),
		} {
			expect.Equal[any](t, c.want, got, fmt.Sprintf("%s: %s", c.name, where))
		}
		for _, list := range []struct{ path, id string }{{"/orders", "1403"}, {"/bookings", "1441"}} {
			for _, word := range words {
				a := s.Get(list.path + "?per_page=100&customer_id=" + customer + "&payment_status=" + word).Want(http.StatusOK)
				expect.Equal(t, word == c.want, slices.Contains(apitest.IDsOf(a.At("data")), list.id), fmt.Sprintf("%s: %s by %s: found", c.name, list.path, word))
				for _, record := range a.Records() {
					expect.Equal[any](t, word, record["payment_status"], fmt.Sprintf("%s: %s: shown", c.name, list.path))
				}
			}
		}
		included := s.Get("/customers/"+customer+"?include=bookings&bookings_limit=100").Want(http.StatusOK).At("data", "bookings")
		for _, b := range included.([]any) {
			if b := b.(map[string]any); fmt.Sprint(b["id"]) == "1441" && b["payment_status"] != c.want {
				t.Errorf("%s: booking of the customer: %v", c.name, b["payment_status"])
			}
		}
	}
}

// TestRefundFiltersMatchShownAmounts filters and sorts by the shown amounts,
// including negative ones of other kinds.
func TestRefundFiltersMatchShownAmounts(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	moneyOf(t, s, "not_paid",
		transaction(90001, "succeeded", "'capture'", "100"), transaction(90002, "succeeded", "'refund'", "-40"),
		transaction(90003, "succeeded", "'refund'", "30"), transaction(90004, "succeeded", "'void'", "-20"),
		transaction(90005, "failed", "'REFUND'", "-9999999999999999.9998"), transaction(90006, "succeeded", "NULL", "35"), transaction(90007, "succeeded", "'refund'", "NULL"))
	for query, want := range map[string][]string{
		"amount_min=30":                                  {"90001", "90002", "90003", "90005", "90006"},
		"amount_min=30.0001":                             {"90001", "90002", "90005", "90006"},
		"amount_max=40":                                  {"90002", "90003", "90004", "90006"},
		"amount_min=0&amount_max=39.9999":                {"90003", "90006"},
		"amount_min=-20":                                 {"90001", "90002", "90003", "90004", "90005", "90006"},
		"amount_max=-20":                                 {"90004"},
		"amount_min=9999999999999999.9998":               {"90005"},
		"amount_min=9999999999999999.9999":               {},
		"sort=amount&order=asc":                          {"90007", "90004", "90003", "90006", "90002", "90001", "90005"},
		"sort=amount&order=desc&amount_max=100&kind=x":   {"90001", "90002", "90006", "90003", "90004"},
		"sort=amount&order=asc&amount_min=0&per_page=3":  {"90003", "90006", "90002"},
		"sort=amount&order=desc&amount_min=35&per_page=": {"90005", "90001", "90002", "90006"},
	} {
		got := apitest.IDsOf(s.Get("/payments?order_id=1403&" + query).Want(http.StatusOK).At("data"))
		if query[0] == 'a' {
			slices.Sort(got)
		}
		expect.Equal(t, want, got, query)
	}
}
