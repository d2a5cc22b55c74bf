package records_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestPaymentsFollowTheirOrder: a payment belongs to its order's customer, and moves with it to another
// one. Merging two customers, by moving everything of the duplicate and then deleting it, loses no payment.
func TestPaymentsFollowTheirOrder(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	customer := func(name string) string {
		return fmt.Sprint(s.Write(http.MethodPost, "/customers", `{"first_name":"`+name+`","last_name":"B"}`).Want(http.StatusCreated).At("data", "id"))
	}
	of := func(customer, payment string) bool {
		return slices.Contains(apitest.IDsOf(s.Get("/payments?customer_id="+customer).Want(http.StatusOK).At("data")), payment)
	}
	for name, move := range map[string]func(booking, order, to string) apitest.Answer{
		"with its booking": func(booking, _, to string) apitest.Answer {
			return s.Write(http.MethodPut, "/bookings/"+booking, `{"customer_id":`+to+`}`)
		},
		"with its order": func(_, order, to string) apitest.Answer {
			return s.Write(http.MethodPut, "/orders/"+order, `{"customer_id":`+to+`}`)
		},
	} {
		duplicate, kept := customer("X"), customer("Y")
		made := s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", duplicate, "price", `"40"`)).Want(http.StatusCreated)
		booking, order := fmt.Sprint(made.At("data", "id")), fmt.Sprint(made.At("data", "order", "id"))
		paid := s.Write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":40}`).Want(http.StatusCreated)
		payment := fmt.Sprint(paid.At("data", "id"))
		if got := paid.At("data", "customer_id"); got != duplicate || !of(duplicate, payment) {
			t.Errorf("%s: the payment is customer %v's, want the order's %s", name, got, duplicate)
		}
		move(booking, order, kept).Want(http.StatusOK)
		if !of(kept, payment) || of(duplicate, payment) {
			t.Errorf("%s: the payment stayed with the customer of before", name)
		}
		expect.Equal(t, 1, s.Count("bookside_change_inbox", "resource = 'payments' AND kind = 'updated' AND resource_id = "+payment), fmt.Sprintf("%s: entries of the payment in the journal", name))
		s.Write(http.MethodDelete, "/customers/"+duplicate, "").Want(http.StatusOK)
		expect.Equal(t, "fully_paid", s.Get("/orders/"+order).Want(http.StatusOK).At("payment_status"), fmt.Sprintf("%s: the order", name))
		s.WantFields(t, "/payments/"+payment, map[string]any{"amount": "40.0000", "customer_id": kept})
		expect.Equal(t, "40.00", s.Get("/customers/"+kept).At("data", "stats", "total_spent"), fmt.Sprintf("%s: spent", name))
		s.Write(http.MethodDelete, "/bookings/"+booking+"?force=true", "").Want(http.StatusOK)
	}
}

// paidOrder returns a server on which order 1403, which costs 135, was paid in full, and the path of its
// payment. Invoice 1270 covers the full amount.
func paidOrder(t *testing.T) (s *apitest.Server, path string) {
	t.Helper()
	t.Parallel()
	s = apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())
	moneyOf(t, s, "not_paid")
	payer := s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).Want(http.StatusCreated).At("data", "id")
	s.Database.Execute(t, fmt.Sprint("UPDATE wp_latepoint_orders SET customer_id = ", payer, " WHERE id = 1403"))
	created := s.Write(http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`).Want(http.StatusCreated)
	return s, fmt.Sprintf("/payments/%v", created.At("data", "id"))
}

// wantMoney checks what every place says about order 1403.
func wantMoney(t *testing.T, s *apitest.Server, step, spent, status, invoice string) {
	t.Helper()
	order := s.Get("/orders/1403").Want(http.StatusOK)
	got := []string{
		fmt.Sprint(s.Get(fmt.Sprintf("/customers/%v", order.At("customer_id"))).At("data", "stats", "total_spent")),
		fmt.Sprint(order.At("payment_status")), fmt.Sprint(s.Get("/bookings/1441").At("data", "payment_status")),
		fmt.Sprint(s.Get("/orders/1403/invoices/1270").At("data", "status")),
	}
	expect.Equal(t, []string{spent, status, status, invoice}, got, fmt.Sprintf("%s: spent, order, booking and invoice", step))
	if !slices.Contains(apitest.IDsOf(s.Get("/orders?payment_status="+status+"&per_page=100&sort=id").At("data")), "1403") {
		t.Errorf("%s: the filter does not find the order", step)
	}
}

// TestPriceOfADiscountedOrder: the total of an order follows from its items, discounts and tax, whatever
// wp-admin stored meanwhile, and never falls below zero.
func TestPriceOfADiscountedOrder(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	sums := func(step, item, subtotal, total, status string) {
		t.Helper()
		where := "id = 1403 AND subtotal = " + subtotal + " AND total = " + total + " AND payment_status = '" + status + "'"
		if s.Count("latepoint_orders", where) != 1 || s.Count("latepoint_order_items", "order_id = 1403 AND total = "+item+" AND subtotal = "+item) != 1 {
			t.Errorf("%s: order %s, item %v", step, s.Get("/orders/1403").Body, s.Get("/bookings/1441").At("data", "price"))
		}
	}
	put := func(price string) apitest.Answer {
		return s.Write(http.MethodPut, "/bookings/1441", `{"price":`+price+`}`)
	}
	for _, sign := range []string{"", "-"} {
		s.Database.Execute(t, "UPDATE wp_latepoint_orders SET subtotal = 135, coupon_discount = "+sign+"30, tax_total = 10, total = 115, payment_status = 'not_paid' WHERE id = 1403",
			"UPDATE wp_latepoint_order_items SET subtotal = 135, total = 135 WHERE order_id = 1403")
		put("60").Want(http.StatusOK)
		sums("less", "60", "60", "40", "not_paid")
	}
	// wp-admin's form sets the item to the list price and leaves the order's total.
	s.Database.Execute(t, "UPDATE wp_latepoint_order_items SET subtotal = 49.50, total = 49.50 WHERE order_id = 1403")
	put("60").Want(http.StatusOK)
	sums("after wp-admin", "60", "60", "40", "not_paid")
	s.Database.Execute(t, "UPDATE wp_latepoint_orders SET total = 75 WHERE id = 1403")
	put("60").Want(http.StatusOK)
	sums("a total by hand", "60", "60", "75", "not_paid")
	before := s.Database.Snapshot(t)
	put("60.00").Want(http.StatusOK)
	apitest.WantNoWrites(t, "the same price", before)
	put("61").Want(http.StatusOK)
	sums("after a total by hand", "61", "61", "41", "not_paid")

	put("20").Want(http.StatusOK)
	sums("free", "20", "20", "0", "not_paid")
	before = s.Database.Snapshot(t)
	for _, price := range []string{`"19.9999"`, `"0"`} {
		apitest.Unprocessable("price").Check(t, price, put(price))
	}
	apitest.WantNoWrites(t, "below nothing", before)
}

// TestPriceKeepsTheTaxOfTheForm: wp-admin's form stores the tax inside the coupon's discount.
func TestPriceKeepsTheTaxOfTheForm(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	for name, c := range map[string]struct{ coupon, discount, tax, total, want string }{
		"coupon 10, tax 17.10, from the checkout":    {"7.10", "", "17.10", "142.10", "67.10"},
		"coupon 10, tax 17.10, made by staff":        {"7.10", "", "0", "142.10", "67.10"},
		"tax 19 alone, made by staff":                {"19", "", "0", "154", "79"},
		"coupon 10, tax 20, in either way":           {"10", "", "20", "145", "70"},
		"coupon 10, tax 17.10, and another discount": {"7.10", "5", "0", "142.10", "62.10"},
		"tax 10, and the subtotal by hand":           {"0", "", "10", "135", "70"},
	} {
		s.Database.Execute(t, "DELETE FROM wp_latepoint_order_meta WHERE object_id = 1403 AND meta_key = 'discount_total'",
			"UPDATE wp_latepoint_orders SET subtotal = 135, coupon_discount = "+c.coupon+", tax_total = "+c.tax+", total = "+c.total+" WHERE id = 1403",
			"UPDATE wp_latepoint_order_items SET subtotal = 135, total = 135 WHERE order_id = 1403")
		if c.discount != "" {
			s.Database.Execute(t, "INSERT INTO wp_latepoint_order_meta (object_id, meta_key, meta_value) VALUES (1403, 'discount_total', '"+c.discount+"')")
		}
		for range 2 { // sent twice, it changes nothing the second time
			s.Write(http.MethodPut, "/bookings/1441", `{"price":60}`).Want(http.StatusOK)
			if s.Count("latepoint_orders", "id = 1403 AND subtotal = 60 AND total = "+c.want) != 1 {
				t.Errorf("%s: want %s: %s", name, c.want, s.Get("/orders/1403").Body)
			}
		}
	}
}

// TestLargestPrices: sums are exact to the last digit, and one that does not fit its column
// is the client's mistake.
func TestLargestPrices(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	const most = "9999999999999999.9999"
	put := func(price string) apitest.Answer {
		return s.Write(http.MethodPut, "/bookings/1441", `{"price":"`+price+`"}`)
	}
	for _, price := range []string{"9999999999997.1234", "9007199254740993.0001", most, "0.0001"} {
		put(price).Want(http.StatusOK)
		if s.Count("latepoint_orders", "id = 1403 AND subtotal = "+price+" AND total = "+price) != 1 {
			t.Errorf("%s: %s", price, s.Get("/orders/1403").Body)
		}
	}
	s.Database.Execute(t, "UPDATE wp_latepoint_orders SET tax_total = 0.0001 WHERE id = 1403")
	before := s.Database.Snapshot(t)
	apitest.Unprocessable("price").Check(t, "with tax", put(most))
	apitest.WantNoWrites(t, "too large", before)
}

// TestCouponsAreCountedAgain: an order that is no longer cancelled, or moves to another customer, uses its
// coupon again, like a new order.
func TestCouponsAreCountedAgain(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, "DELETE FROM wp_latepoint_coupons", `INSERT INTO wp_latepoint_coupons (code, name, discount_type, discount_value, status, rules) VALUES
		('ONCE', '', 'percent', 5, 'active', '{"limit_total":"1"}'), ('EACH', '', 'percent', 5, 'active', '{"limit_per_customer":"1"}'),
		('NINE', '', 'percent', 5, 'active', '{"customer_ids":"8,9"}'), ('NEW', '', 'percent', 5, 'active', '{"orders_less":"1"}')`)
	newcomer := fmt.Sprint(s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).Want(http.StatusCreated).At("data", "id"))
	order := func(customer, code string) string {
		return fmt.Sprint("/orders/", s.Write(http.MethodPost, "/orders", `{"customer_id":`+customer+`,"subtotal":50,"total":50,"coupon_code":"`+code+`"}`).Want(http.StatusCreated).At("id"))
	}
	put := func(path, body string) apitest.Answer { return s.Write(http.MethodPut, path, body) }
	refused := func(path, body string) {
		t.Helper()
		before := s.Database.Snapshot(t)
		apitest.Unprocessable("coupon_code").Check(t, body, put(path, body))
		apitest.WantNoWrites(t, body, before)
	}
	first := order("9", "ONCE")
	put(first, `{"status":"cancelled"}`).Want(http.StatusOK)
	second := order("10", "once")
	refused(first, `{"status":"open"}`)
	refused(first, `{"status":"completed","coupon_code":"Once"}`)
	put(first, `{"status":"cancelled","notes":"x"}`).Want(http.StatusOK)
	put(second, `{"status":"completed"}`).Want(http.StatusOK)
	put(second, `{"customer_id":12}`).Want(http.StatusOK) // is not another use
	put(first, `{"status":"open","coupon_code":""}`).Want(http.StatusOK)
	put(first, `{"coupon_code":"ONCE","force":true}`).Want(http.StatusOK)
	put(first, `{"status":"cancelled"}`).Want(http.StatusOK)
	put(first+"?force=true", `{"status":"open"}`).Want(http.StatusOK)

	theirs, others := order("9", "EACH"), order("10", "EACH")
	refused(others, `{"customer_id":9}`)
	put(others, `{"customer_id":9,"status":"cancelled"}`).Want(http.StatusOK)
	refused(others, `{"status":"open"}`)
	put(theirs, `{"customer_id":12}`).Want(http.StatusOK)
	put(others, `{"status":"open"}`).Want(http.StatusOK)
	put(theirs, `{"customer_id":9,"force":true}`).Want(http.StatusOK)

	listed := order("9", "NINE")
	refused(listed, `{"customer_id":12}`)
	put(listed, `{"customer_id":12,"status":"cancelled"}`).Want(http.StatusOK)
	refused(listed, `{"status":"open"}`)
	s.Database.Execute(t, "UPDATE wp_latepoint_coupons SET status = 'disabled' WHERE code = 'NINE'")
	put(listed, `{"customer_id":8}`).Want(http.StatusOK)
	put(listed, `{"status":"open"}`).Want(http.StatusOK) // whether the coupon is still valid is not checked
	// An order also moves to another customer with its only booking.
	s.Database.Execute(t, "UPDATE wp_latepoint_orders SET coupon_code = 'EACH', customer_id = 153 WHERE id = 1403", "UPDATE wp_latepoint_bookings SET customer_id = 153 WHERE id = 1441")
	before := s.Database.Snapshot(t)
	apitest.Unprocessable("customer_id").Check(t, "booking", put("/bookings/1441", `{"customer_id":9}`))
	apitest.WantNoWrites(t, "booking", before)
	put("/bookings/1441", `{"customer_id":`+newcomer+`}`).Want(http.StatusOK)
	s.Database.Execute(t, "UPDATE wp_latepoint_orders SET status = 'cancelled' WHERE id = 1403")
	put("/bookings/1441", `{"customer_id":9}`).Want(http.StatusOK)

	newcomer = fmt.Sprint(s.Write(http.MethodPost, "/customers", `{"first_name":"C","last_name":"D"}`).Want(http.StatusCreated).At("data", "id"))
	recent := order(newcomer, "NEW")
	refused(recent, `{"customer_id":9}`)
	s.Database.Execute(t, "DELETE FROM wp_latepoint_coupons")
	put(recent, `{"customer_id":9}`).Want(http.StatusOK)
}

// TestMoneyOfAnOrder: whatever happens to the payments of an order, every place says the same. TestRefund, TestInvoicesAfter and
// TestRandomPaymentsAgree have the rules.
func TestMoneyOfAnOrder(t *testing.T) {
	s, path := paidOrder(t)
	wantMoney(t, s, "paid", "135.00", "fully_paid", "paid")
	for _, step := range []struct{ method, path, body, spent, status, invoice string }{
		{http.MethodPut, path, `{"status":"refunded","amount":35,"notes":"x"}`, "100.00", "partially_refunded", "open"},
		{http.MethodPut, path, `{"status":"refunded","amount":35}`, "100.00", "partially_refunded", "open"},
		{http.MethodPut, path, `{"status":"refunded"}`, "0.00", "refunded", "open"},
		{http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`, "135.00", "partially_refunded", "paid"},
		{http.MethodDelete, path, "", "135.00", "fully_paid", "paid"},
		{http.MethodPost, "/payments?force=true", `{"order_id":1403,"amount":150,"kind":"refund"}`, "0.00", "refunded", "open"},
	} {
		a := s.Write(step.method, step.path, step.body)
		if a.Status >= http.StatusBadRequest {
			t.Fatalf("%s %s: %d %s", step.method, step.body, a.Status, a.Body)
		}
		if step.method == http.MethodPut {
			wantFieldsOf(t, a, map[string]any{"amount": "string 135", "status": "string succeeded", "kind": "string capture"})
		}
		wantMoney(t, s, step.method+" "+step.body, step.spent, step.status, step.invoice)
	}
	expect.Equal(t, 0, s.Count("latepoint_transaction_refunds", "1"), "refunds left of the deleted payment")
}

// TestRefusedPayments: what the rules of payments refuse is refused in words, and nothing is written.
func TestRefusedPayments(t *testing.T) {
	s, path := paidOrder(t)
	pay := func(body string) string {
		return fmt.Sprintf("/payments/%v", s.Write(http.MethodPost, "/payments", `{"order_id":1403,`+body+`}`).Want(http.StatusCreated).At("data", "id"))
	}
	refund, failed := pay(`"amount":40,"kind":"refund"`), pay(`"amount":9,"status":"failed"`)
	before := s.Database.Snapshot(t)
	const tooMuch = "Refunds cannot exceed payments. Send force=true to record them all the same."
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{http.MethodPost, "/payments", `{"order_id":1403,"amount":1000,"kind":"refund"}`, 422, tooMuch},
		{http.MethodPut, path, `{"status":"refunded","amount":1000}`, 422, tooMuch},
		{http.MethodPut, path, `{"amount":34}`, 422, tooMuch},
		{http.MethodPut, refund, `{"kind":"sale","status":"failed","force":true}`, 422, "Invalid kind provided: a refund does not become a payment"},
		{http.MethodPut, failed, `{"status":"refunded"}`, 422, "Invalid payment status provided: only a successful payment can be refunded"},
		{http.MethodPut, path, `{"status":"refunded","kind":"authorization"}`, 422, "Invalid kind provided: only a payment that takes money can be refunded"},
		{http.MethodPost, "/payments", `{"order_id":1403,"customer_id":12,"amount":10}`, 422, "Invalid customer ID provided: the order is another customer's"},
		{http.MethodDelete, path, "", 400, "Cannot delete payment with completed status. Please refund first."},
	} {
		a := s.Write(c.method, c.path, c.body)
		if want := `{"success":false,"error":"` + c.says + `"}`; a.Status != c.status || string(a.Body) != want {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.body, a.Status, a.Body, want)
		}
	}
	apitest.WantNoWrites(t, "refused", before)
}

// TestCustomerOfAPayment: it is the order's, unless the order has none.
func TestCustomerOfAPayment(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	for _, c := range []struct{ arrange, body, want string }{
		{"", `{"order_id":1403,"amount":10,"customer_id":"153"}`, "153"},
		{"", `{"order_id":1403,"amount":10,"customer_id":0}`, "153"},
		{"UPDATE wp_latepoint_bookings SET customer_id = 12 WHERE id = 1441", `{"booking_id":1441,"amount":10,"customer_id":12}`, "153"}, // moved without its order
		{"UPDATE wp_latepoint_orders SET customer_id = 0 WHERE id = 1403", `{"order_id":1403,"amount":10,"customer_id":12}`, "12"},
	} {
		s.Database.Execute(t, c.arrange)
		expect.Equal[any](t, c.want, s.Write(http.MethodPost, "/payments", c.body).Want(http.StatusCreated).At("data", "customer_id"), fmt.Sprintf("%s: the payment's customer", c.body))
	}
}

// TestPaymentsKeepTheirCustomer: a customer who has paid cannot be deleted, even if the money was given back,
// with an order or without. wp-admin moves an order without its payments, which stay if they failed.
func TestPaymentsKeepTheirCustomer(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	customer := fmt.Sprint(s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).Want(http.StatusCreated).At("data", "id"))
	of := fmt.Sprintf("(id, customer_id, order_id, kind, status, amount) VALUES (90001, %s, %%s, 'capture', '%%s', 10)", customer)
	for _, c := range []struct {
		order, status string
		refunded      bool // by a row
		kept          bool
	}{
		{"1403", "succeeded", false, true}, {"1403", "refunded", false, true}, {"NULL", "refunded", false, true}, {"NULL", "succeeded", true, true},
		{"8000000", "refunded", true, true}, {"1403", "failed", false, false}, {"8000000", "failed", false, false},
	} {
		s.Database.Execute(t, "DELETE FROM wp_latepoint_transactions WHERE id = 90001", "DELETE FROM wp_latepoint_transaction_refunds",
			"INSERT INTO wp_latepoint_transactions "+fmt.Sprintf(of, c.order, c.status))
		if c.refunded {
			s.Database.Execute(t, refundRow(90001, "10"))
		}
		before := s.Database.Snapshot(t)
		a := s.Write(http.MethodDelete, "/customers/"+customer, "")
		const want = `{"code":"customer_has_payments","message":"Cannot delete customer with existing payments","data":{"status":400,"payment_count":1}}`
		if c.kept && string(a.Body) != want || !c.kept && a.Status != http.StatusOK {
			t.Errorf("%+v: %d %s", c, a.Status, a.Body)
		}
		expect.Equal(t, c.order == "8000000" && !c.kept, s.Get("/payments/90001").Status == http.StatusNotFound, fmt.Sprintf("%+v: the payment is lost", c))
		if c.kept {
			apitest.WantNoWrites(t, fmt.Sprintf("%+v", c), before)
		}
		before.Restore(t)
	}
}

// TestOrdersTakeValidCoupons: an order may have a coupon if the add-on would accept it, or by force. TestCouponUnusable and
// TestCouponUsed have the conditions.
func TestOrdersTakeValidCoupons(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, "DELETE FROM wp_latepoint_coupons", `INSERT INTO wp_latepoint_coupons (code, name, discount_type, discount_value, status, active_to, rules) VALUES
		('GOOD', '', 'percent', 5, 'active', NULL, NULL), ('OFF', '', 'percent', 5, 'disabled', NULL, NULL), ('LAST', '', 'percent', 5, 'active', '2026-11-21', NULL),
		('REGULARS', '', 'percent', 5, 'active', NULL, '{"orders_more":"1000"}'), ('SERVICE', '', 'percent', 5, 'active', NULL, '{"service_ids":"1,3"}')`)
	body := func(code string, more string) string {
		return `{"customer_id":9,"subtotal":50,"total":50,"coupon_code":"` + code + `"` + more + `}`
	}
	before := s.Database.Snapshot(t)
	for _, code := range []string{"OFF", "LAST", "REGULARS", "SERVICE", "UNKNOWN"} {
		apitest.Unprocessable("coupon_code").Check(t, code, s.Write(http.MethodPost, "/orders", body(code, "")))
	}
	apitest.WantNoWrites(t, "refused", before)
	order := fmt.Sprint("/orders/", s.Write(http.MethodPost, "/orders", body("OFF", `,"force":true`)).Want(http.StatusCreated).At("id"))
	apitest.Unprocessable("coupon_code").Check(t, "another", s.Write(http.MethodPut, order, `{"coupon_code":"REGULARS"}`))
	for _, c := range [][2]string{{order, `{"coupon_code":"good"}`}, {order, `{"coupon_code":"LAST"}`}, {order, `{"coupon_code":""}`}, {order, `{"coupon_code":"Summer 27"}`}} {
		s.Write(http.MethodPut, c[0], c[1]).Want(http.StatusOK) // the period applies only to new orders, and who knows what an unknown code is
	}
	s.Database.Execute(t, `UPDATE wp_latepoint_coupons SET rules = CONCAT('{"service_ids":"', (SELECT service_id FROM wp_latepoint_bookings WHERE id = 1441), '","agent_ids":""}') WHERE code = 'SERVICE'`)
	s.Write(http.MethodPut, "/orders/1403", `{"coupon_code":"SERVICE"}`).Want(http.StatusOK)
	s.Database.Execute(t, "DROP TABLE wp_latepoint_coupons")
	expect.Equal(t, "winter", s.Write(http.MethodPut, order, `{"coupon_code":"winter"}`).Want(http.StatusOK).At("coupon_code"), "stored")
}

// TestCouponIsUsedOnce: of several orders that are made, or reopened, at the same time, one gets the last use.
func TestCouponIsUsedOnce(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, `INSERT INTO wp_latepoint_coupons (code, name, discount_type, discount_value, status, rules) VALUES ('ONCE', '', 'percent', 5, 'active', '{"limit_total":"1"}')`)
	together := func(what string, send func(i int) apitest.Answer, success int) {
		t.Helper()
		var all sync.WaitGroup
		var used atomic.Int64
		for i := range 6 {
			all.Go(func() {
				if send(i).Status == success {
					used.Add(1)
				}
			})
		}
		all.Wait()
		if n := s.Count("latepoint_orders", "coupon_code = 'ONCE' AND status = 'open'"); n != 1 || used.Load() != 1 {
			t.Errorf("%s: %d orders have the coupon, %d were accepted", what, n, used.Load())
		}
	}
	order := func(i int, status string) apitest.Answer {
		return s.Write(http.MethodPost, "/orders", fmt.Sprintf(`{"customer_id":%d,"subtotal":1,"total":1,"coupon_code":"Once","status":%q}`, 9+i, status))
	}
	together("made", func(i int) apitest.Answer { return order(i, "open") }, http.StatusCreated)
	s.Database.Execute(t, "DELETE FROM wp_latepoint_orders WHERE coupon_code = 'ONCE'")
	var orders []string
	for i := range 6 {
		orders = append(orders, fmt.Sprint("/orders/", order(i, "cancelled").Want(http.StatusCreated).At("id")))
	}
	together("reopened", func(i int) apitest.Answer { return s.Write(http.MethodPut, orders[i], `{"status":"open"}`) }, http.StatusOK)
}
