package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// moneyOf gives order 1403, which costs 135, a stored payment status and its
// transactions and refund rows.
func moneyOf(t testing.TB, s *server, status string, statements ...string) {
	t.Helper()
	s.database.Execute(t, append([]string{
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
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
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
		{"refunded in part, positive", "fully_paid", []string{paid, transaction(90002, "succeeded", "'refund'", "99.9999")}, "partially_refunded"},
		{"refunded without a payment", "not_paid", []string{transaction(90002, "succeeded", "'refund'", "-1")}, "refunded"},
		{"letter case", "fully_paid", []string{paid, transaction(90002, "Succeeded", "'Refund'", "-100")}, "refunded"},
		{"a refund that failed", "fully_paid", []string{paid, transaction(90002, "failed", "'refund'", "-100")}, "fully_paid"},
		{"a refund under way", "fully_paid", []string{paid, transaction(90002, "processing", "'refund'", "-100")}, "fully_paid"},
		{"a refund of nothing", "fully_paid", []string{paid, transaction(90002, "succeeded", "'refund'", "0")}, "fully_paid"},
		{"a refund without an amount", "fully_paid", []string{paid, transaction(90002, "succeeded", "'refund'", "NULL")}, "fully_paid"},
		{"by the gateway", "fully_paid", []string{paid, refundRow(90001, "60"), refundRow(90001, "40")}, "refunded"},
		{"by the gateway, in part", "fully_paid", []string{paid, refundRow(90001, "60")}, "partially_refunded"},
		{"in both ways", "fully_paid", []string{paid, refundRow(90001, "60"), transaction(90002, "succeeded", "'refund'", "-40")}, "refunded"},
		{"by the gateway, of several payments", "fully_paid", []string{paid, transaction(90002, "succeeded", "NULL", "50"), refundRow(90001, "60"), refundRow(90002, "50")}, "partially_refunded"},
		{"another order's refund", "fully_paid", []string{paid, refundRow(1, "60")}, "fully_paid"},
		{"an authorisation is no money", "partially_paid", []string{transaction(90001, "succeeded", "'authorization'", "100"), transaction(90002, "succeeded", "'refund'", "-1")}, "refunded"},
		{"a word that somebody set", "refunded", []string{paid}, "refunded"},
		{"another word that somebody set", "partially_refunded", nil, "partially_refunded"},
	} {
		t.Run(c.name, func(t *testing.T) { // not parallel: they share the order
			moneyOf(t, s, c.stored, c.money...)
			order := s.get("/orders/1403").want(http.StatusOK)
			customer := fmt.Sprint(order.at("customer_id"))
			booking := s.get("/bookings/1441").want(http.StatusOK)
			for where, got := range map[string]any{
				"order": order.at("payment_status"), "booking": booking.at("data", "payment_status"), "order of the booking": booking.at("data", "order", "payment_status"),
			} {
				if got != c.want {
					t.Errorf("%s: %v, want %s", where, got, c.want)
				}
			}
			for _, list := range []struct{ path, id string }{{"/orders", "1403"}, {"/bookings", "1441"}} {
				for _, word := range words {
					a := s.get(list.path + "?per_page=100&customer_id=" + customer + "&payment_status=" + word).want(http.StatusOK)
					if got := slices.Contains(idsOf(a.at("data")), list.id); got != (word == c.want) {
						t.Errorf("%s by %s: found %t", list.path, word, got)
					}
					for _, record := range a.records() {
						if record["payment_status"] != word {
							t.Errorf("%s by %s: %v", list.path, word, record["payment_status"])
						}
					}
				}
			}
			included := s.get("/customers/"+customer+"?include=bookings&bookings_limit=100").want(http.StatusOK).at("data", "bookings")
			for _, b := range included.([]any) {
				if b := b.(map[string]any); fmt.Sprint(b["id"]) == "1441" && b["payment_status"] != c.want {
					t.Errorf("booking of the customer: %v", b["payment_status"])
				}
			}
		})
	}
}

// TestRefundsAreStoredNegative: amounts and payment statuses are stored in the
// plugin's way, which adds up all transactions of an order and knows only four
// payment statuses.
func TestRefundsAreStoredNegative(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	moneyOf(t, s, "not_paid")
	customer := fmt.Sprint(s.get("/orders/1403").at("customer_id"))
	spent := func() string { return fmt.Sprint(s.get("/customers/"+customer).at("data", "stats", "total_spent")) }
	before := spent()
	check := func(step, id, shown, stored, status, storedStatus string) {
		t.Helper()
		if got := s.get("/payments/"+id).want(http.StatusOK).at("data", "amount"); got != shown {
			t.Errorf("%s: amount %v, want %s", step, got, shown)
		}
		if s.count("latepoint_transactions", "id = "+id+" AND amount = "+stored) != 1 {
			t.Errorf("%s: not stored as %s", step, stored)
		}
		if got := s.get("/orders/1403").at("payment_status"); got != status {
			t.Errorf("%s: the order is %v, want %s", step, got, status)
		}
		if s.count("latepoint_orders", "id = 1403 AND payment_status = '"+storedStatus+"'") != 1 {
			t.Errorf("%s: the stored status is not %s", step, storedStatus)
		}
	}
	pay := func(body string) string {
		t.Helper()
		return fmt.Sprint(s.write(http.MethodPost, "/payments", body).want(http.StatusCreated).at("data", "id"))
	}
	capture := pay(`{"order_id":1403,"amount":135,"customer_id":` + customer + `}`)
	check("paid", capture, "135.0000", "135", "fully_paid", "fully_paid")
	created := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":"35.5","kind":"Refund"}`).want(http.StatusCreated)
	if created.at("data", "amount") != "35.5" {
		t.Errorf("the answer has %v", created.at("data", "amount"))
	}
	refund := fmt.Sprint(created.at("data", "id"))
	check("refunded in part", refund, "35.5000", "-35.5", "partially_refunded", "partially_paid")
	if got := s.get("/orders/1403/transactions/"+refund).at("data", "amount"); got != "35.5000" {
		t.Errorf("the transaction of the order has %v", got)
	}
	put := func(body string) answer {
		return s.write(http.MethodPut, "/payments/"+refund, body).want(http.StatusOK)
	}
	if got := put(`{"amount":135}`).at("data", "amount"); got != "135" {
		t.Errorf("the answer has %v", got)
	}
	check("refunded", refund, "135.0000", "-135", "refunded", "not_paid")
	if got := spent(); got != before {
		t.Errorf("spent %s after the refund, %s before the payment", got, before)
	}
	s.write(http.MethodPut, "/payments/"+capture, `{"amount":140}`).want(http.StatusOK)
	s.write(http.MethodPut, "/payments/"+capture, `{"kind":"refund","amount":"135"}`).want(http.StatusOK)
	check("refunded in part, which it was already", capture, "140.0000", "140", "partially_refunded", "partially_paid")
	s.write(http.MethodPut, "/payments/"+capture, `{"kind":"refund","amount":"140"}`).want(http.StatusOK)
	check("refunded, which keeps it", capture, "140.0000", "140", "refunded", "not_paid")
	moneyOf(t, s, "not_paid")
	pay(`{"order_id":1403,"amount":135}`)
	refund = pay(`{"order_id":1403,"amount":5,"kind":"refund"}`)
	check("a refund again", refund, "5.0000", "-5", "partially_refunded", "partially_paid")
	put(`{"status":"failed"}`)
	check("it failed", refund, "5.0000", "-5", "fully_paid", "fully_paid")

	// A status that a client sends is stored, whether the plugin knows it or not.
	for _, word := range []string{"refunded", "partially_refunded"} {
		if got := s.write(http.MethodPut, "/orders/1403", `{"payment_status":"`+word+`"}`).want(http.StatusOK).at("payment_status"); got != word {
			t.Errorf("sent %s, got %v", word, got)
		}
		check("sent "+word, refund, "5.0000", "-5", word, word)
	}

	// A positive refund that others stored is shown and stays unchanged.
	s.database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'succeeded', amount = 7 WHERE id = "+refund)
	put(`{"notes":"x","amount":7}`)
	check("positive", refund, "7.0000", "7", "partially_refunded", "partially_paid")
}

// TestRefundFiltersMatchShownAmounts filters and sorts by the shown amounts,
// including negative ones of other kinds.
func TestRefundFiltersMatchShownAmounts(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
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
		t.Run(query, func(t *testing.T) {
			got := idsOf(s.get("/payments?order_id=1403&" + query).want(http.StatusOK).at("data"))
			if query[0] == 'a' {
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		})
	}
}
