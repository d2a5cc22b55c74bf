package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bookside/fixtures"
)

// TestPaymentStatusOfManyRefunds: the filter finds the same orders and bookings whether
// few orders were refunded or so many that their ids are not listed.
func TestPaymentStatusOfManyRefunds(t *testing.T) {
	t.Parallel()
	for name, orders := range map[string]string{"few": "id % 100 = 0", "many": "id % 4 <> 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, fixtures.New(t, fixtures.SiteA()))
			arrange(t, s.database,
				"INSERT INTO wp_latepoint_transactions (order_id, customer_id, kind, status, amount) SELECT id, customer_id, 'refund', 'succeeded', -1 FROM wp_latepoint_orders WHERE "+orders)
			paid := "(SELECT COALESCE(SUM(t.amount), 0) FROM wp_latepoint_transactions t WHERE t.order_id = o.id AND t.status = 'succeeded' AND t.kind <> 'refund')"
			for status, where := range map[string]string{
				"refunded": orders + " AND " + paid + " <= 1", "partially_refunded": orders + " AND " + paid + " > 1",
				"fully_paid": "NOT (" + orders + ") AND o.payment_status = 'fully_paid'", "not_paid": "NOT (" + orders + ") AND o.payment_status = 'not_paid'",
			} {
				want := s.ids(t, "SELECT o.id FROM wp_latepoint_orders o WHERE "+where)
				slices.Sort(want)
				if len(want) == 0 {
					t.Errorf("%s: the case shows nothing", status)
				}
				got := listing{path: "/orders"}.allIDs(t, s, "payment_status="+status)
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("orders, %s (-want +got):\n%s", status, diff)
				}
				count := "SELECT b.id FROM wp_latepoint_bookings b JOIN wp_latepoint_order_items i ON i.id = b.order_item_id WHERE i.order_id IN (SELECT o.id FROM wp_latepoint_orders o WHERE " + where + ")"
				want, got = s.ids(t, count), listing{path: "/bookings"}.allIDs(t, s, "payment_status="+status)
				slices.Sort(want)
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("bookings, %s (-want +got):\n%s", status, diff)
				}
			}
		})
	}
}

// TestFiltersMatchingFewBookingsRunOnce: a search that few bookings match finds them with one
// statement for their ids, and counts nothing.
func TestFiltersMatchingFewBookingsRunOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	s.get("/status").want(http.StatusOK)
	for _, query := range []string{"search=anna", "payment_status=not_paid", "price_min=100", "customer_email=customer1", "updated_from=2026-11-20", "search=anna&status=approved&sort=customer_name"} {
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
