package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestUnexpectedErrorsOfWrites: an unexpected error is reported in the endpoint's shape, without details, and nothing
// is written.
func TestUnexpectedErrorsOfWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, aCoupon, "DELETE FROM wp_latepoint_bookings WHERE customer_id = 268", "UPDATE wp_latepoint_transactions SET status = 'failed' WHERE customer_id = 268")
	for _, table := range []string{"bookings", "customers", "services", "transactions", "orders", "order_invoices", "coupons"} {
		for _, op := range []string{"INSERT", "UPDATE", "DELETE"} {
			s.database.Execute(t, "CREATE TRIGGER fail_"+table+op+" BEFORE "+op+" ON wp_latepoint_"+table+" FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a secret'")
		}
	}
	before := s.database.Snapshot(t)
	const data = `,"data":{"status":500,"request_id":"%s"}}`
	internal := func(code, message string) string { return `{"code":"` + code + `","message":"` + message + `"` + data }
	failed := func(message string) string { return `{"success":false,"error":"` + message + `"` + data }
	plain := internal("server_error", "Internal server error")
	for name, want := range map[string]string{
		"booking": internal("server_error", "Failed to create booking"), "bookings": internal("server_error", "Failed to create booking"),
		"moved booking": internal("server_error", "Failed to update booking"), "deleted booking": internal("delete_error", "Failed to delete booking"),
		"customer": internal("server_error", "Failed to create customer"), "changed customer": internal("server_error", "Error updating customer"),
		"deleted customer": internal("delete_error", "Error deleting customer"), "service": plain, "changed service": plain,
		"payment": failed("Failed to create payment"), "changed payment": failed("Failed to update payment"), "deleted payment": failed("Failed to delete payment"),
		"order": plain, "transferred order": plain, "invoice": plain, "coupon": plain, "changed coupon": plain, "deleted coupon": internal("delete_error", "Failed to delete coupon"),
	} {
		request := writeRequests[name]
		a := s.write(request[0], request[1], request[2], "Idempotency-Key", name)
		if want = strings.ReplaceAll(want, "%s", a.header.Get("X-Request-Id")); a.status != http.StatusInternalServerError || string(a.body) != want {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.body, want)
		}
	}
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday()+`,{}]`).want(http.StatusBadRequest)
	if got := bulk.at("results", "errors", 0, "error"); got != "Internal error" {
		t.Errorf("bulk: %v", got)
	}
	wantNoWrites(t, "failed writes", before)
	if strings.Contains(s.log.String(), "secret") {
		t.Error("the log quotes the database")
	}
}
