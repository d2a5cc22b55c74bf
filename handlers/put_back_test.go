package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
)

// shown returns the record of a GET, as it is sent back.
func (s *server) shown(path string) map[string]any {
	s.t.Helper()
	object := s.get(path).want(http.StatusOK).object()
	if record, enveloped := object["data"].(map[string]any); enveloped {
		return record
	}
	return object
}

// putBack sends a record with some fields changed.
func (s *server) putBack(path string, record map[string]any, changed string) answer {
	s.t.Helper()
	if err := json.Unmarshal([]byte(changed), &record); err != nil {
		s.t.Fatal(err)
	}
	body, err := json.Marshal(record)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.write(http.MethodPut, path, string(body))
}

// TestRecordsArePutBack: a record that is sent as it is shown changes nothing, and with one changed field it changes what
// that field alone changes, whatever is stored in the others.
func TestRecordsArePutBack(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.blind = true // the document does not have the words of others
	s.database.Execute(t, fillLocks)
	const (
		booking = "/bookings/1441"
		order   = "/orders/1403"
		pays    = "INSERT INTO wp_latepoint_transactions (order_id, customer_id, kind, status, amount) VALUES (1403, 153, 'capture', 'succeeded', 135)"
	)
	ordered := func(set string) string { return "UPDATE wp_latepoint_orders SET " + set + " WHERE id = 1403" }
	before := s.database.Snapshot(t)
	for name, c := range map[string]struct {
		state         []string
		path, changed string
		table, then   string // rows that are there afterwards
	}{
		"a total by hand": {[]string{ordered("total = 39.50")}, booking, `{"notes":"x"}`, "orders", "total = 39.50 AND customer_comment = 'x'"},
		"a partial refund": {[]string{pays, strings.NewReplacer("capture", "refund", "135", "-35").Replace(pays), ordered("payment_status = 'partially_paid'")},
			order, `{"source_id":"x"}`, "orders", "payment_status = 'partially_paid' AND source_id = 'x'"},
		"a paid order": {[]string{pays, ordered("payment_status = 'fully_paid'")}, order, `{"total":5000}`, "orders", "payment_status = 'partially_paid' AND total = 5000"},
		"odd words of an order": {[]string{ordered("status = 'odd', fulfillment_status = 'odd', payment_status = 'odd', confirmation_code = NULL")},
			order, `{"source_id":"x"}`, "orders", "status = 'odd' AND payment_status = 'odd' AND source_id = 'x'"},
		"a discount of the form":  {[]string{ordered("coupon_discount = -10")}, order, `{"source_id":"x"}`, "orders", "coupon_discount = -10 AND source_id = 'x'"},
		"texts as PHP has them":   {[]string{ordered("customer_comment = '<b>a</b>', source_url = 'javascript:x'")}, order, `{"source_id":"x"}`, "orders", "customer_comment = '<b>a</b>' AND source_url = 'javascript:x'"},
		"the text of a booking":   {[]string{ordered(`customer_comment = ' <b>a</b>\n'`)}, booking, `{"status":"cancelled"}`, "orders", `customer_comment = ' <b>a</b>\n'`},
		"no order item":           {[]string{"DELETE FROM wp_latepoint_order_items WHERE order_id = 1403"}, booking, `{"status":"cancelled"}`, "bookings", "id = 1441 AND status = 'cancelled'"},
		"no last name":            {[]string{"UPDATE wp_latepoint_customers SET last_name = '' WHERE id = 9"}, "/customers/9", `{"phone":"+4930123"}`, "customers", "last_name = '' AND phone = '+4930123'"},
		"nobody's booking":        {[]string{"UPDATE wp_latepoint_customers SET last_name = '', email = 'x' WHERE id = 153"}, booking, `{"customer.phone":"+4930123"}`, "customers", "last_name = '' AND email = 'x' AND phone = '+4930123'"},
		"odd words of a coupon":   {[]string{"UPDATE wp_latepoint_coupons SET discount_type = 'odd', status = 'odd', discount_value = 0 WHERE id = 1"}, "/coupons/WELCOME10", `{"name":"x"}`, "coupons", "discount_type = 'odd' AND name = 'x'"},
		"odd values of a service": {[]string{"UPDATE wp_latepoint_services SET status = 'odd', visibility = '', category_id = 99, duration = 5000, capacity_min = 5, capacity_max = 2, name = '<i>' WHERE id = 4"}, "/services/4", `{"order_number":7}`, "services", "name = '<i>' AND capacity_min = 5 AND order_number = 7"},
		"odd values of a payment": {[]string{pays, "UPDATE wp_latepoint_transactions SET receipt_number = NULL, processor = '', kind = '', status = 'odd', amount = -5 WHERE id = 7"}, "/payments/7", `{"notes":"x"}`, "transactions", "status = 'odd' AND amount = -5 AND notes = 'x'"},
		"an invoice's odd status": {[]string{"UPDATE wp_latepoint_order_invoices SET status = 'odd', charge_amount = -1 WHERE id = 1270"}, order + "/invoices/1270", `{"status":"void"}`, "order_invoices", "charge_amount = -1 AND status = 'void'"},
		"hours of an agent":       {nil, "/business-hours?agent_id=5", `{"hours.sunday":[{"start_time":"10:00","end_time":"11:00"}]}`, "work_periods", "agent_id = 5 AND week_day = 7 AND start_time = 600"},
		"no own hours":            {[]string{"DELETE FROM wp_latepoint_work_periods WHERE agent_id = 5"}, "/business-hours?agent_id=5", `{"hours":{"sunday":[]}}`, "work_periods", "agent_id = 5 AND week_day = 7 AND start_time = 0"},
	} {
		before.Restore(t)
		s.database.Execute(t, c.state...)
		state := s.database.Snapshot(t)
		s.putBack(c.path, s.shown(c.path), `{}`).want(http.StatusOK)
		wantNoWrites(t, name+", put back", state)
		state.Restore(t)
		write := func(record map[string]any) []string {
			s.platform.Random = sameRandom(0)
			s.putBack(c.path, record, c.changed).want(http.StatusOK)
			if s.count("latepoint_"+c.table, c.then) == 0 {
				t.Errorf("%s: not %s: %s", name, c.then, s.get(c.path).body)
			}
			return summarizeChanges(fixtures.Changes(state, state.Again(t)))
		}
		whole := write(s.shown(c.path))
		state.Restore(t)
		if diff := cmp.Diff(write(map[string]any{}), whole); diff != "" {
			t.Errorf("%s (-that field alone +the whole record):\n%s", name, diff)
		}
	}
}

// TestWhatAKeySeesIsPutBack: the record is compared as the key sees it: masked, within its limits, or not at all.
func TestWhatAKeySeesIsPutBack(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks, "UPDATE wp_latepoint_orders SET coupon_discount = -10, customer_comment = 'ring twice' WHERE id = 1403")
	as := func(n keys.NewKey) {
		t.Helper()
		n.Name = t.Name()
		var err error
		if s.key, _, err = s.keys.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		s.get("/status").want(http.StatusOK)
	}
	before := s.database.Snapshot(t)
	as(keys.NewKey{Permissions: []string{"read", "write"}, MaskPersonal: true})
	masked := before.Again(t)
	for _, path := range []string{"/bookings/1441", "/customers/153", "/orders/1403", "/orders/1403/invoices/1270"} {
		s.putBack(path, s.shown(path), `{}`).want(http.StatusOK)
		wantNoWrites(t, path, masked)
	}
	s.putBack("/bookings/1441", s.shown("/bookings/1441"), `{"status":"cancelled"}`).want(http.StatusOK)
	if booking := s.shown("/bookings/1441"); booking["status"] != "cancelled" || s.count("latepoint_orders", "id = 1403 AND customer_comment = 'ring twice'") != 1 {
		t.Errorf("%v", booking)
	}
	wantCode(t, s.putBack("/bookings/1441", s.shown("/bookings/1441"), `{"notes":"x"}`), http.StatusForbidden, "personal_data_masked")
	wantCode(t, s.putBack("/bookings/1441", s.shown("/bookings/1441"), `{"customer":{"email":"x@example.test"}}`), http.StatusForbidden, "personal_data_masked")

	before.Restore(t)
	as(keys.NewKey{Permissions: []string{"read", "write"}, Scope: domain.Scope{Agents: []int64{3}}})
	limited := before.Again(t)
	s.putBack("/bookings/1441", s.shown("/bookings/1441"), `{}`).want(http.StatusOK)
	wantNoWrites(t, "limited", limited)
	s.putBack("/bookings/1441", s.shown("/bookings/1441"), `{"status":"cancelled"}`).want(http.StatusOK)
	wantCode(t, s.putBack("/bookings/1441", s.shown("/bookings/1441"), `{"customer":{"phone":"+4930"}}`), http.StatusForbidden, "outside_key_limits")

	before.Restore(t)
	as(keys.NewKey{Permissions: []string{"write"}})
	unprocessable("coupon_discount").check(t, "a key without read", s.write(http.MethodPut, "/orders/1403", `{"coupon_discount":"-10.0000"}`))
}

// TestPutBackWhileTheRecordChanges: what equals the record when the request is read but no longer when the record is locked
// counts as sent.
func TestPutBackWhileTheRecordChanges(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	other, err := s.database.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback() // committed below
	if _, err := other.ExecContext(t.Context(), "UPDATE wp_latepoint_orders SET customer_comment = 'theirs', source_id = 'theirs' WHERE id = 1403"); err != nil {
		t.Fatal(err)
	}
	record := s.shown("/orders/1403")
	answers := make(chan answer, 1)
	go func() { answers <- s.putBack("/orders/1403", record, `{"notes":"ours"}`) }()
	s.waitForLock(t)
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	(<-answers).want(http.StatusOK)
	if after := s.shown("/orders/1403"); after["customer_comment"] != record["customer_comment"] || after["source_id"] != record["source_id"] || after["notes"] != "ours" {
		t.Errorf("after: %v", after)
	}
}
