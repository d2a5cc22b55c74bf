package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// noPrices is the price breakdown of an order without items.
const noPrices = `{"before_subtotal":[],"subtotal":[],"after_subtotal":[],"total":[],"balance":[]}`

// newOrder returns the row of an order of customer 12 that costs 100, for which nothing else was sent.
func newOrder(other map[string]any) fixtures.Change {
	values := map[string]any{
		"id": "<id:order:1>", "subtotal": "100.0000", "total": "100.0000", "status": "open", "fulfillment_status": "not_fulfilled",
		"payment_status": "not_paid", "source_id": nil, "source_url": "", "ip_address": nil, "customer_id": "12", "customer_comment": "",
		"confirmation_code": "<code7:order.confirmation_code:1>", "price_breakdown": noPrices, "coupon_code": nil,
		"coupon_discount": "0.0000", "tax_total": "0.0000", "initial_payment_data": `{"time":"later"}`,
	}
	maps.Copy(values, other)
	return insertedRow("latepoint_orders", values)
}

// orderMeta returns a meta row of the new order.
func orderMeta(place, key, value string) fixtures.Change {
	return insertedRow("latepoint_order_meta", map[string]any{
		"id": "<id:order_meta:" + place + ">", "object_id": "<id:order:1>", "meta_key": key, "meta_value": value,
	})
}

// keysOfOrder are the two keys that every new order has.
var keysOfOrder = []fixtures.Change{
	orderMeta("1", "key_to_manage_for_agent", "<hex36:order.key:1>"), orderMeta("2", "key_to_manage_for_customer", "<hex36:order.key:2>"),
}

// newInvoice returns the invoice of the new order, whose subtotal is 100.
func newInvoice(total string) fixtures.Change {
	return insertedRow("latepoint_order_invoices", map[string]any{
		"id": "<id:invoice:1>", "order_id": "<id:order:1>", "invoice_number": nil, "status": "open", "charge_amount": total,
		"due_at": "<now_utc>", "payment_portion": "full", "access_key": "<uuid:invoice.access_key:1>",
		"data": `{"company":"Praxis am Stadtpark GmbH","from":"<br>","to":"S\u00f8ren Weber<br>customer12@example.test<br>+491719502293",` +
			`"price_breakdown":` + noPrices + `,"tax_id":"DE123456789","totals":{"subtotal":"100.0000","total":"` + total + `"}}`,
	})
}

func TestCreateOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	create := creates(orders.Create, func(o records.Order) int64 { return o.ID }, records.LoadOrder)
	needed := orders.Patch{CustomerID: new(int64(12)), Subtotal: euros("100"), Total: euros("100")}
	history := activityEntry("order_created", "order_id", "<id:order:1>", `{"order_data_vars":{"id":<id:order:1>,"confirmation_code":"<code7:order.confirmation_code:1>",`+
		`"customer_comment":"","status":"open","fulfillment_status":"not_fulfilled","payment_status":"not_paid","source_id":null,"source_url":"",`+
		`"total":"100 \u20ac","subtotal":"100 \u20ac","created_datetime":"2026-11-21T00:43:00+00:00","customer":{"id":"12","first_name":"S\u00f8ren",`+
		`"last_name":"Weber","full_name":"S\u00f8ren Weber","email":"customer12@example.test","phone":"+491719502293"},"transactions":[],"order_items":[]}}`)
	anyHistory := activityEntry("order_created", "order_id", "<id:order:1>", anyText)
	customer := updatedRow("latepoint_customers", 12)

	s.try("customer and amounts are enough", nil, create(orders.New{Patch: needed}),
		append(keysOfOrder, newOrder(nil), newInvoice("100.0000"), history, customer)...)
	s.try("everything", nil, create(orders.New{Patch: orders.Patch{
		CustomerID: new(int64(12)), Subtotal: euros("100"), Total: euros("95.5"), TaxTotal: euros("5"), DiscountTotal: euros("9.5"), CouponDiscount: euros("4.75"),
		CouponCode: new("WELCOME"), Force: true, CustomerComment: new("a\r\n<b>b</b>"), Notes: new("inside"), Status: new("completed"), PaymentStatus: new("fully_paid"),
		FulfillmentStatus: new("fulfilled"), ConfirmationCode: new(" MYCODE1234 "), IPAddress: new("2001:db8::1"), SourceID: new("s-1"),
		SourceURL: new("https://x.test/?a=1&b=2"),
	}}), append(keysOfOrder, newOrder(map[string]any{
		"total": "95.5000", "tax_total": "5.0000", "coupon_discount": "4.7500", "coupon_code": "WELCOME", "customer_comment": "a\r\nb", "status": "completed",
		"payment_status": "fully_paid", "fulfillment_status": "fulfilled", "confirmation_code": "MYCODE1234", "ip_address": "2001:db8::1",
		"source_id": "s-1", "source_url": "https://x.test/?a=1&b=2",
	}), orderMeta("3", "discount_total", "9.5000"), orderMeta("4", "notes", "inside"), newInvoice("95.5000"), anyHistory, customer)...)
	s.try("the client's address where the site logs it", nil, create(orders.New{Patch: needed, Address: "192.0.2.1"}),
		append(keysOfOrder, newOrder(map[string]any{"ip_address": "192.0.2.1"}), newInvoice("100.0000"), anyHistory, customer)...)
	s.try("and not where it does not", []string{"UPDATE wp_latepoint_settings SET value = 'off' WHERE name = 'log_customer_ip_address'"},
		create(orders.New{Patch: needed, Address: "192.0.2.1"}),
		append(keysOfOrder, newOrder(nil), newInvoice("100.0000"), anyHistory, customer)...)
	s.try("free", nil, create(orders.New{Patch: orders.Patch{CustomerID: new(int64(12)), Subtotal: euros("100"), Total: euros("0"), DiscountTotal: euros("0")}}),
		append(keysOfOrder, newOrder(map[string]any{"total": "0.0000"}), anyHistory, customer)...)
	s.try("without invoices", []string{"INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_invoices', 'off')"}, create(orders.New{Patch: needed}),
		append(keysOfOrder, newOrder(nil), anyHistory, customer)...)
	s.try("a payment settles its invoice", nil, func(t *testing.T, site *session.Session) {
		failed := errors.New("enough")
		err := site.Transact(t.Context(), "create", func(tx *session.Tx) error {
			created, err := orders.Create(t.Context(), tx, orders.New{Patch: needed})
			if err != nil {
				return err
			}
			// As in its own transaction, which would begin with its locks.
			if err := session.CreateLocks(t.Context(), site, session.LocksOf(session.OrderLock, created.ID)); err != nil {
				return err
			}
			tx.Progress = session.LockProgress{}
			paid, err := payments.Create(t.Context(), tx, payments.New{OrderID: &created.ID, Patch: payments.Patch{Amount: euros("100")}})
			if err != nil || paid.InvoiceID == nil {
				t.Errorf("invoice %v (%v)", paid.InvoiceID, err)
			}
			if created, err = records.LoadOrder(t.Context(), tx.Session, created.ID); created.PaymentStatus != records.OrderFullyPaid {
				t.Errorf("payment status %q (%v)", created.PaymentStatus, err)
			}
			return failed
		})
		expect.Error(t, failed, err)
	})
}

func TestInvalidOrderNamesEveryField(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	s.try("nothing", nil, func(t *testing.T, site *session.Session) {
		_, err := txCreate(t.Context(), site, orders.Create, orders.New{})
		wantFields(t, err, domain.CodeInvalidRequest, map[string]string{"customer_id": "Required", "subtotal": "Required", "total": "Required"})
	})
	s.try("unknown customer", nil, func(t *testing.T, site *session.Session) {
		stranger := orders.Patch{CustomerID: new(int64(99999)), Subtotal: euros("1"), Total: euros("1")}
		want := map[string]string{"customer_id": "Customer not found"}
		_, err := txCreate(t.Context(), site, orders.Create, orders.New{Patch: stranger})
		wantFields(t, err, domain.CodeInvalidRequest, want)
		_, err = txUpdate(t.Context(), site, orders.Update, 888, stranger)
		wantFields(t, err, domain.CodeInvalidRequest, want)
	})
	long := strings.Repeat("x", 1<<16)
	wrong := orders.Patch{
		Subtotal: euros("-1"), Total: euros("0.00001"), TaxTotal: euros("10000000000000000"), DiscountTotal: euros("-1"), CouponDiscount: euros("-1"),
		CouponCode: &long, CustomerComment: &long, Notes: &long, Status: new("closed"), PaymentStatus: new("paid"), FulfillmentStatus: new("done"),
		ConfirmationCode: new("ELEVENCHARS"), IPAddress: &long, SourceID: &long, SourceURL: &long,
	}
	want := map[string]string{
		"subtotal": session.NotNegative, "total": "May have at most 4 decimals", "tax_total": "Too large", "discount_total": session.NotNegative, "coupon_discount": session.NotNegative,
		"coupon_code": "Too long", "customer_comment": "Too long", "notes": "Too long", "status": "Unknown status", "payment_status": "Unknown payment_status",
		"fulfillment_status": "Unknown fulfillment_status", "confirmation_code": "Too long", "ip_address": "Too long", "source_id": "Too long", "source_url": "Too long",
	}
	s.try("not allowed", nil, func(t *testing.T, site *session.Session) {
		_, err := txUpdate(t.Context(), site, orders.Update, 10, wrong)
		wantFields(t, err, domain.CodeValidationFailed, want)
		wrong.CustomerID = new(int64(12))
		_, err = txCreate(t.Context(), site, orders.Create, orders.New{Patch: wrong})
		wantFields(t, err, domain.CodeValidationFailed, want)
		_, err = txUpdate(t.Context(), site, orders.Update, 10, orders.Patch{ConfirmationCode: new(" ")})
		wantFields(t, err, domain.CodeValidationFailed, map[string]string{"confirmation_code": "May not be empty"})
	})
}

func TestUpdateOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	update := updates(orders.Update, records.LoadOrder)
	s.try("nothing sent", nil, update(10, orders.Patch{}))
	s.try("nothing new", nil, update(10, orders.Patch{
		CustomerID: new(int64(268)), Subtotal: euros("85"), Total: euros("85.0"), TaxTotal: euros("0"), DiscountTotal: euros("0"), CouponDiscount: euros("0"),
		CouponCode: new(""), CustomerComment: new("First time here"), Notes: new(""), Status: new("open"), PaymentStatus: new("fully_paid"),
		FulfillmentStatus: new("not_fulfilled"), ConfirmationCode: new("RWCEU45"), IPAddress: new("127.0.0.1"), SourceID: new(""), SourceURL: new(""),
	}))
	s.try("everything but the customer", nil, update(10, orders.Patch{
		Subtotal: euros("90"), Total: euros("80"), TaxTotal: euros("1"), DiscountTotal: euros("10"), CouponDiscount: euros("2"),
		CouponCode: new("SAVE"), Force: true, CustomerComment: new("Second time"), Notes: new("inside"), Status: new("cancelled"), PaymentStatus: new("refunded"),
		FulfillmentStatus: new("partially_fulfilled"), ConfirmationCode: new("X"), IPAddress: new(""), SourceID: new("s"), SourceURL: new("https://x.test/"),
	}), updatedRow("latepoint_orders", 10, "subtotal", "85.0000", "90.0000", "total", "85.0000", "80.0000", "tax_total", "0.0000", "1.0000",
		"coupon_discount", "0.0000", "2.0000", "coupon_code", nil, "SAVE", "customer_comment", "First time here", "Second time", "status", "open", "cancelled",
		"payment_status", "fully_paid", "refunded", "fulfillment_status", "not_fulfilled", "partially_fulfilled", "confirmation_code", "RWCEU45", "X",
		"ip_address", "127.0.0.1", "", "source_id", nil, "s", "source_url", "", "https://x.test/"),
		insertedRow("latepoint_order_meta", map[string]any{"id": anyText, "object_id": "10", "meta_key": "discount_total", "meta_value": "10.0000"}),
		insertedRow("latepoint_order_meta", map[string]any{"id": anyText, "object_id": "10", "meta_key": "notes", "meta_value": "inside"}),
		orderUpdateEntry(10))
	s.try("fields without a column go again", []string{"INSERT INTO wp_latepoint_order_meta (id, object_id, meta_key, meta_value) VALUES (9001, 10, 'discount_total', '10'), (9002, 10, 'notes', 'x')"},
		update(10, orders.Patch{DiscountTotal: euros("0"), Notes: new("")}), updatedRow("latepoint_orders", 10), orderUpdateEntry(10),
		fixtures.Change{Table: "latepoint_order_meta", Op: fixtures.Delete, Key: "9001"}, fixtures.Change{Table: "latepoint_order_meta", Op: fixtures.Delete, Key: "9002"})
	s.try("unknown", nil, func(t *testing.T, site *session.Session) {
		for _, patch := range []orders.Patch{{}, {CustomerID: new(int64(12))}} {
			if _, err := txUpdate(t.Context(), site, orders.Update, 99999, patch); domain.CodeOf(err) != domain.CodeNotFound {
				t.Errorf("error %v, want not found", err)
			}
		}
	})
}

// TestOrderTakesItsBookingsToAnotherCustomer: order 888 belongs to customer 197 and has bookings 916 and
// 917 and payment 589.
func TestOrderTakesItsBookingsToAnotherCustomer(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	transfer := func(t *testing.T, site *session.Session) {
		_, err := txUpdate(t.Context(), site, orders.Update, 888, orders.Patch{CustomerID: new(int64(12))})
		expect.NoError(t, err)
	}
	item := func(id int64) fixtures.Change {
		return updatedRow("latepoint_order_items", id, "item_data", anyText, itemOf("12"))
	}
	booking := func(id int64) fixtures.Change {
		return updatedRow("latepoint_bookings", id, "customer_id", "197", "12")
	}
	bookingTold := func(id int64) fixtures.Change {
		return activityEntry("booking_updated", "booking_id", fmt.Sprint(id), anyText)
	}
	order := updatedRow("latepoint_orders", 888, "customer_id", "197", "12")
	paid := updatedRow("latepoint_transactions", 589, "customer_id", "197", "12")

	s.try("its bookings go along", nil, transfer, order, paid, item(916), item(917), booking(916), booking(917), bookingTold(916), bookingTold(917), orderUpdateEntry(888))
	s.try("one is there already, one is gone", []string{"UPDATE wp_latepoint_bookings SET customer_id = 12 WHERE id = 916", "DELETE FROM wp_latepoint_bookings WHERE id = 917"}, transfer,
		order, paid, item(916), item(917), orderUpdateEntry(888))
	s.try("those of a bundle too", []string{`UPDATE wp_latepoint_order_items SET variant = 'bundle', item_data = '{"bundle_id":1}' WHERE id = 916`,
		"UPDATE wp_latepoint_bookings SET order_item_id = 916 WHERE id = 917", "DELETE FROM wp_latepoint_order_items WHERE id = 917"}, transfer,
		order, paid, booking(916), booking(917), bookingTold(916), bookingTold(917), orderUpdateEntry(888))
	s.try("not the booking of another order that an item names", []string{
		"UPDATE wp_latepoint_order_items SET item_data = REPLACE(item_data, '\"id\":917', '\"id\":10') WHERE id = 917", "UPDATE wp_latepoint_bookings SET customer_id = 197 WHERE id = 10",
		"DELETE FROM wp_latepoint_bookings WHERE id = 917",
	}, transfer, order, paid, item(916), item(917), booking(916), bookingTold(916), orderUpdateEntry(888))
	s.try("from a customer who is gone", []string{"DELETE FROM wp_latepoint_customers WHERE id = 197", "DELETE FROM wp_latepoint_booking_meta WHERE object_id = 916"}, transfer,
		order, paid, item(916), item(917), booking(916), booking(917), bookingTold(916), bookingTold(917), orderUpdateEntry(888),
		insertedRow("latepoint_booking_meta", map[string]any{"id": anyText, "object_id": "916", "meta_key": "key_to_manage_for_agent", "meta_value": "<hex36:a.b:1>"}),
		insertedRow("latepoint_booking_meta", map[string]any{"id": anyText, "object_id": "916", "meta_key": "key_to_manage_for_customer", "meta_value": "<hex36:a.b:2>"}))
}

// itemOf returns the item data of a customer's booking.
func itemOf(customer string) string {
	return `{"id":<text:id>,"customer_id":"` + customer + `","agent_id":<text:rest>}`
}

// TestOrdersOfEarlierVersions: columns that were added later are left out.
func TestOrdersOfEarlierVersions(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.Legacy())
	site := s.site(t)
	created, err := txCreate(t.Context(), site, orders.Create, orders.New{Patch: orders.Patch{CustomerID: new(int64(1)), Subtotal: euros("1"), Total: euros("1")}})
	expect.NoError(t, err)
	created, err = txUpdate(t.Context(), site, orders.Update, created.ID, orders.Patch{CustomerID: new(int64(2)), Notes: new("inside"), DiscountTotal: euros("0.5")})
	expect.NoError(t, err)
	if created.CustomerID != 2 || created.Notes != "inside" || !created.DiscountTotal.Equal(*euros("0.5")) {
		t.Errorf("order %+v", created)
	}
}

// TestConcurrentTransfersKeepOrdersWhole: an order moves to and fro between customers while its bookings
// are changed and another customer is deleted, without deadlocks. In the end order and bookings belong to
// the same customer.
func TestConcurrentTransfersKeepOrdersWhole(t *testing.T) {
	t.Parallel()
	r := newRivals(t, "DELETE FROM wp_latepoint_bookings WHERE customer_id = 12", "DELETE FROM wp_latepoint_orders WHERE customer_id = 12",
		"UPDATE wp_latepoint_bookings SET start_date = '2027-02-08', end_date = '2027-02-08' WHERE id IN (916, 917)")
	owners := []int64{9, 10}
	var tries []func(context.Context, *session.Session) error
	for i := range int64(20) {
		tries = append(tries, func(ctx context.Context, s *session.Session) error {
			_, err := txUpdate(ctx, s, orders.Update, 888, orders.Patch{CustomerID: &owners[i%2]})
			return err
		}, func(ctx context.Context, s *session.Session) error {
			_, err := txUpdate(ctx, s, bookings.Update, 916+i%2, bookings.Patch{Price: euros(fmt.Sprint(i + 1)), Notes: new(fmt.Sprint(i))})
			return err
		}, func(ctx context.Context, s *session.Session) error {
			_, err := txCreate(ctx, s, payments.Create, payments.New{BookingID: new(int64(916)), Patch: payments.Patch{Amount: euros("1")}})
			return err
		}, func(ctx context.Context, s *session.Session) error {
			_, err := txCreate(ctx, s, orders.Create, orders.New{Patch: orders.Patch{CustomerID: new(int64(12)), Subtotal: euros("1"), Total: euros("1")}})
			if domain.CodeOf(err) == domain.CodeInvalidRequest {
				return nil // the customer was deleted a moment ago
			}
			return err
		})
	}
	tries = append(tries, func(ctx context.Context, s *session.Session) error { return txDelete(ctx, s, customers.Delete, 12) })
	expect.Equal(t, len(tries), r.run(tries), "succeeded")
	r.wantCounts(map[string]int{
		"SELECT COUNT(DISTINCT customer_id) FROM (SELECT customer_id FROM wp_latepoint_orders WHERE id = 888" +
			" UNION SELECT customer_id FROM wp_latepoint_bookings WHERE id IN (916, 917)" +
			" UNION SELECT CAST(JSON_VALUE(item_data, '$.customer_id') AS UNSIGNED) FROM wp_latepoint_order_items WHERE order_id = 888) AS owners": 1,
		"SELECT COUNT(*) FROM wp_latepoint_orders WHERE customer_id = 12": 0,
		// The order costs what its bookings cost.
		"SELECT o.total - SUM(i.total) FROM wp_latepoint_orders AS o JOIN wp_latepoint_order_items AS i ON i.order_id = o.id WHERE o.id = 888 GROUP BY o.id": 0,
	})
}
