package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestPaymentStatusOfManyRefunds: the filter finds the same orders and bookings, whether few orders were
// refunded or too many to list their ids.
func TestPaymentStatusOfManyRefunds(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, orders := range map[string]string{"few": "id % 100 = 0", "many": "id % 4 <> 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, fixtures.New(t, fixtures.SiteA()))
			s.database.Execute(t,
				"INSERT INTO wp_latepoint_transactions (order_id, customer_id, kind, status, amount) SELECT id, customer_id, 'refund', 'succeeded', -1 FROM wp_latepoint_orders WHERE "+orders)
			// The subquery runs once; one per order would read all payments each time.
			paid := "IN (SELECT t.order_id FROM wp_latepoint_transactions t WHERE t.order_id IS NOT NULL AND t.status = 'succeeded' AND t.kind <> 'refund' GROUP BY t.order_id HAVING SUM(t.amount) > 1)"
			for status, where := range map[string]string{
				"refunded": orders + " AND o.id NOT " + paid, "partially_refunded": orders + " AND o.id " + paid,
				"fully_paid": "NOT (" + orders + ") AND o.payment_status = 'fully_paid'", "not_paid": "NOT (" + orders + ") AND o.payment_status = 'not_paid'",
			} {
				orderList.finds(t, s, []find{{query: "payment_status=" + status, where: where}})
				bookingList.finds(t, s, []find{{query: "payment_status=" + status, where: "b.order_item_id IN " +
					"(SELECT i.id FROM {order_items} i WHERE i.order_id IN (SELECT o.id FROM {orders} o WHERE " + where + "))"}})
			}
		})
	}
}

// TestSearchesMatchingFewBookingsRunOnce: a search, or a payment status, that matches few bookings finds
// them with one statement for their ids, and counts nothing.
func TestSearchesMatchingFewBookingsRunOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	s.get("/status").want(http.StatusOK)
	for _, query := range []string{"search=anna", "payment_status=not_paid", "search=anna&status=approved&sort=customer_name"} {
		for _, page := range []int{1, 2, 1000} {
			a := s.get(fmt.Sprintf("/bookings?per_page=3&page=%d&%s", page, query)).want(http.StatusOK)
			if n := s.log.last(t).Queries; n > 5 || page == 1000 && n > 3 {
				t.Errorf("%s, page %d: %d statements", query, page, n)
			}
			if page == 1 && len(a.records()) == 0 {
				t.Errorf("%s finds nothing", query)
			}
		}
	}
}
