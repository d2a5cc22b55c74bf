package bookings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// shownOf returns the record of a GET, as it is sent back.
func shownOf(s *apitest.Server, path string) map[string]any {
	s.T.Helper()
	object := s.Get(path).Want(http.StatusOK).Object()
	if record, enveloped := object["data"].(map[string]any); enveloped {
		return record
	}
	return object
}

// putBack sends a record with some fields changed.
func putBack(s *apitest.Server, path string, record map[string]any, changed string, headers ...string) apitest.Answer {
	s.T.Helper()
	expect.NoError(s.T, json.Unmarshal([]byte(changed), &record))
	body, err := json.Marshal(record)
	expect.NoError(s.T, err)
	return s.Write(http.MethodPut, path, string(body), headers...)
}

// TestRecordsArePutBack: a record that is sent as it is shown changes nothing, and with one changed field it changes what
// that field alone changes, whatever is stored in the others.
func TestRecordsArePutBack(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Blind = true // the document does not have the words of others
	s.Database.Execute(t, apitest.FillLocks)
	const (
		booking = "/bookings/1441"
		order   = "/orders/1403"
		pays    = "INSERT INTO wp_latepoint_transactions (order_id, customer_id, kind, status, amount) VALUES (1403, 153, 'capture', 'succeeded', 135)"
	)
	ordered := func(set string) string { return "UPDATE wp_latepoint_orders SET " + set + " WHERE id = 1403" }
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		state         []string
		path, changed string
		table, then   string // rows that are there afterwards
	}{
		"a total by hand":         {[]string{ordered("total = 39.50")}, booking, `{"notes":"x"}`, "orders", "total = 39.50 AND customer_comment = 'x'"},
		"a total of two bookings": {[]string{"UPDATE wp_latepoint_orders SET total = 39.50 WHERE id = 888"}, "/bookings/916", `{"status":"cancelled"}`, "orders", "id = 888 AND total = 39.50"},
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
		s.Database.Execute(t, c.state...)
		state := s.Database.Snapshot(t)
		putBack(s, c.path, shownOf(s, c.path), `{}`).Want(http.StatusOK)
		apitest.WantNoWrites(t, name+", put back", state)
		state.Restore(t)
		write := func(record map[string]any) []string {
			s.Platform.Random = apitest.SameRandom(0)
			putBack(s, c.path, record, c.changed).Want(http.StatusOK)
			if s.Count("latepoint_"+c.table, c.then) == 0 {
				t.Errorf("%s: not %s: %s", name, c.then, s.Get(c.path).Body)
			}
			return apitest.SummarizeChanges(fixtures.Changes(state, state.Again(t)))
		}
		whole := write(shownOf(s, c.path))
		state.Restore(t)
		expect.Equal(t, write(map[string]any{}), whole, name)
	}
}

// TestCustomerThatIsGone: a booking whose customer was deleted can be put back, and gets another customer by id.
func TestCustomerThatIsGone(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks, "UPDATE wp_latepoint_bookings SET customer_id = 99999 WHERE id = 1441")
	before := s.Database.Snapshot(t)
	putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{}`).Want(http.StatusOK)
	apitest.Unprocessable("customer").Check(t, "a name", putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{"customer.last_name":"Other"}`))
	apitest.WantNoWrites(t, "put back", before)
	s.Write(http.MethodPut, "/bookings/1441", `{"customer_id":9,"customer":{"last_name":"Other"}}`).Want(http.StatusOK)
}

// TestWhatAKeySeesIsPutBack: the record is compared as the key sees it: masked, within its limits, or not at all.
func TestWhatAKeySeesIsPutBack(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks, "UPDATE wp_latepoint_orders SET coupon_discount = -10, customer_comment = 'ring twice' WHERE id = 1403")
	as := func(n keys.NewKey) {
		t.Helper()
		n.Name = t.Name()
		s.Key, _ = apitest.CreateKey(t, s.Keys, n)
		s.Get("/status").Want(http.StatusOK)
	}
	before := s.Database.Snapshot(t)
	as(keys.NewKey{Permissions: []string{"read", "write"}, MaskPersonal: true})
	masked := before.Again(t)
	for _, path := range []string{"/bookings/1441", "/customers/153", "/orders/1403", "/orders/1403/invoices/1270"} {
		putBack(s, path, shownOf(s, path), `{}`).Want(http.StatusOK)
		apitest.WantNoWrites(t, path, masked)
	}
	putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{"status":"cancelled"}`).Want(http.StatusOK)
	if booking := shownOf(s, "/bookings/1441"); booking["status"] != "cancelled" || s.Count("latepoint_orders", "id = 1403 AND customer_comment = 'ring twice'") != 1 {
		t.Errorf("%v", booking)
	}
	apitest.WantCode(t, putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{"notes":"x"}`), http.StatusForbidden, "personal_data_masked")
	apitest.WantCode(t, putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{"customer":{"email":"x@example.test"}}`), http.StatusForbidden, "personal_data_masked")

	before.Restore(t)
	as(keys.NewKey{Permissions: []string{"read", "write"}, Scope: domain.Scope{Agents: []int64{3}}})
	limited := before.Again(t)
	putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{}`).Want(http.StatusOK)
	apitest.WantNoWrites(t, "limited", limited)
	putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{"status":"cancelled"}`).Want(http.StatusOK)
	apitest.WantCode(t, putBack(s, "/bookings/1441", shownOf(s, "/bookings/1441"), `{"customer":{"phone":"+4930"}}`), http.StatusForbidden, "outside_key_limits")

	before.Restore(t)
	as(keys.NewKey{Permissions: []string{"write"}})
	apitest.Unprocessable("coupon_discount").Check(t, "a key without read", s.Write(http.MethodPut, "/orders/1403", `{"coupon_discount":"-10.0000"}`))
}

// TestFormsPutBack: forms leave null out or have an empty text for it. Both are what is shown, for a key that masks personal data
// and asks to be told what nothing reads.
func TestFormsPutBack(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks, "INSERT INTO wp_latepoint_transactions (order_id, customer_id, kind, status, amount) VALUES (1403, 153, 'capture', 'succeeded', 135)")
	s.Key = s.MaskedKey()
	s.Get("/status").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
	for _, path := range []string{"/bookings/1441", "/customers/153", "/orders/1403", "/payments/3"} {
		with, without := url.Values{}, url.Values{}
		addToForm(with, without, "", shownOf(s, path))
		if len(with) == len(without) {
			t.Errorf("%s shows no null", path)
		}
		for _, form := range []url.Values{with, without} {
			s.WriteAs(http.MethodPut, path, apitest.FormType, form.Encode(), "Prefer", "handling=strict").Want(http.StatusOK)
			apitest.WantNoWrites(t, path, before)
		}
	}
	expect.Equal(t, "transactions", s.WriteAs(http.MethodPut, "/bookings/1441", apitest.FormType, "transactions[0][notes]=null").Want(http.StatusOK).Header.Get("X-Ignored-Parameters"), "what nothing reads")
}

// TestExtrasArePutBack: of extras that are sent as they are shown, with another quantity, nothing is unknown.
func TestExtrasArePutBack(t *testing.T) {
	s := proSite(t)
	s.Blind = true // the document does not have the other words of an extra
	id := s.Write(http.MethodPost, "/bookings", apitest.Friday("extras", `[{"id":4,"quantity":1},{"id":7}]`)).Want(http.StatusCreated).At("data", "id")
	path := fmt.Sprint("/bookings/", id)
	put := func(name string, value any) apitest.Answer {
		record := shownOf(s, path)
		record["extras"].([]any)[0].(map[string]any)[name] = value
		body, _ := json.Marshal(record)
		return s.Write(http.MethodPut, path, string(body), "Prefer", "handling=strict")
	}
	before := s.Database.Snapshot(t)
	if a := put("name", "Another"); a.Want(http.StatusBadRequest).At("error", "details", "extras.name") == nil || len(a.At("error", "details").(map[string]any)) != 1 {
		t.Errorf("another name: %s", a.Body)
	}
	apitest.WantNoWrites(t, "refused", before)
	if a := put("quantity", 2).Want(http.StatusOK); a.At("data", "extras", 0, "quantity") != json.Number("2") || a.At("data", "extras", 1, "id") != json.Number("7") {
		t.Errorf("another quantity: %s", a.Body)
	}
}

// addToForm adds a value to two forms under PHP's names, null only to the first.
func addToForm(with, without url.Values, name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for member, inner := range value {
			if name != "" {
				member = name + "[" + member + "]"
			}
			addToForm(with, without, member, inner)
		}
	case []any:
		for i, inner := range value {
			addToForm(with, without, fmt.Sprintf("%s[%d]", name, i), inner)
		}
	case nil:
		with.Set(name, "")
	default:
		with.Set(name, fmt.Sprint(value))
		without.Set(name, fmt.Sprint(value))
	}
}

// TestPutBackWhileTheRecordChanges: what equals the record when the request is read but no longer when the record is locked
// counts as sent.
func TestPutBackWhileTheRecordChanges(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	other := apitest.Begin(t, s.Database, "UPDATE wp_latepoint_orders SET customer_comment = 'theirs', source_id = 'theirs' WHERE id = 1403")
	record := shownOf(s, "/orders/1403")
	answers := make(chan apitest.Answer, 1)
	go func() { answers <- putBack(s, "/orders/1403", record, `{"notes":"ours"}`) }()
	s.WaitForLock(t)
	expect.NoError(t, other.Commit())
	(<-answers).Want(http.StatusOK)
	if after := shownOf(s, "/orders/1403"); after["customer_comment"] != record["customer_comment"] || after["source_id"] != record["source_id"] || after["notes"] != "ours" {
		t.Errorf("after: %v", after)
	}
}

// putRecords are the records that have a PUT: the paths of all, the rows that one is shown from, by the last number in its
// path, and fields with values to change.
var putRecords = []struct {
	paths  string
	rows   map[string]string
	fields map[string][]string
}{
	{"SELECT CONCAT('/bookings/', id) FROM wp_latepoint_bookings", map[string]string{
		"bookings": "id = ?", "booking_meta": "object_id = ?", "bookings_service_extras": "booking_id = ?", "customers": "id = (SELECT customer_id FROM wp_latepoint_bookings WHERE id = ?)",
		"order_items": "id = (SELECT order_item_id FROM wp_latepoint_bookings WHERE id = ?)",
		"orders":      "id = (SELECT order_id FROM wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?)",
	}, map[string][]string{
		"status": {`"pending"`, `"approved"`, `"cancelled"`, `"completed"`, `"no_show"`}, "price": {`0`, `"12.5"`}, "notes": {`"x"`, `"<i>y</i> z"`, `null`}, "duration": {`45`},
		"total_attendees": {`2`}, "start_date": {`"2027-02-05"`, `"2020-01-01"`}, "start_time": {`"11:00"`}, "customer_id": {`9`}, "agent_id": {`"any"`, `2`}, "service_id": {`4`},
		"extras": {`[]`, `[{"id":4,"quantity":2}]`, `[{"id":4},{"id":7}]`}, "custom_fields.cf_reason": {`"x"`, `""`}, "custom_fields.cf_many": {`["Milk"]`, `null`},
		"customer.first_name": {`"Ann"`, `""`}, "customer.last_name": {`"Other"`}, "customer.email": {`"new@example.test"`, `"x"`}, "customer.phone": {`""`, `"+4930123456"`},
	}},
	{"SELECT CONCAT('/customers/', id) FROM wp_latepoint_customers", map[string]string{"customers": "id = ?", "customer_meta": "object_id = ?"}, map[string][]string{
		"first_name": {`"Ann"`, `""`}, "last_name": {`"Other"`}, "email": {`"new@example.test"`}, "phone": {`"+4930123456"`, `""`}, "status": {`"active"`, `"blocked"`}, "is_guest": {`true`, `false`},
		"notes": {`"x"`, `""`}, "admin_notes": {`"<b>"`}, "avatar_image_id": {`7`, `null`}, "country": {`"DE"`, `""`}, "gender": {`"other"`}, "date_of_birth": {`"1990-01-02"`},
		"custom_fields.cf_new": {`"v"`, `5`}, "address": {`"Street 1"`, `null`},
	}},
	{"SELECT CONCAT('/orders/', id) FROM wp_latepoint_orders", map[string]string{"orders": "id = ?", "order_meta": "object_id = ?", "transactions": "order_id = ?", "order_items": "order_id = ?"}, map[string][]string{
		"subtotal": {`80`}, "total": {`"5000.00"`, `0`}, "tax_total": {`3`}, "discount_total": {`1.5`, `0`}, "coupon_discount": {`2`, `-3`}, "coupon_code": {`"WELCOME10"`, `null`, `""`},
		"customer_comment": {`"x"`, `null`}, "notes": {`"inside"`}, "status": {`"open"`, `"cancelled"`, `"completed"`}, "payment_status": {`"not_paid"`, `"fully_paid"`, `"refunded"`},
		"fulfillment_status": {`"fulfilled"`}, "confirmation_code": {`"CODE"`}, "ip_address": {`"192.0.2.1"`}, "source_id": {`"s"`}, "source_url": {`"https://example.com/"`}, "customer_id": {`9`},
	}},
	{"SELECT CONCAT('/orders/', order_id, '/invoices/', id) FROM wp_latepoint_order_invoices", map[string]string{"order_invoices": "id = ?"}, map[string][]string{
		"status": {`"open"`, `"paid"`, `"void"`}, "charge_amount": {`1`, `"85.00"`},
	}},
	{"SELECT CONCAT('/payments/', id) FROM wp_latepoint_transactions", map[string]string{"transactions": "id = ?"}, map[string][]string{
		"amount": {`5`, `"85.00"`}, "processor": {`"stripe"`}, "payment_method": {`"cash"`}, "payment_portion": {`"deposit"`}, "kind": {`"capture"`, `"refund"`},
		"status": {`"succeeded"`, `"failed"`, `"refunded"`}, "token": {`"t"`, `null`}, "notes": {`"x"`}, "receipt_number": {`"R-1"`},
	}},
	{"SELECT CONCAT('/services/', id) FROM wp_latepoint_services", map[string]string{"services": "id = ?", "service_meta": "object_id = ?"}, map[string][]string{
		"name": {`"New"`, `""`}, "short_description": {`"<p>x</p>"`}, "description": {`"y"`, `null`}, "duration": {`61`}, "price_min": {`1`}, "price_max": {`"99.5"`}, "charge_amount": {`5`},
		"deposit_amount": {`2`}, "capacity_min": {`0`, `9`}, "capacity_max": {`3`}, "order_number": {`8`}, "selection_image_id": {`4`}, "status": {`"active"`, `"disabled"`},
		"visibility": {`"hidden"`}, "category_id": {`1`, `0`}, "customer_limit": {`"2"`},
	}},
	{"SELECT CONCAT('/coupons/', code) FROM wp_latepoint_coupons WHERE code REGEXP '^[A-Z0-9]+$'", map[string]string{"coupons": "code IN ('WELCOME10', 'FIVE')"}, map[string][]string{
		"name": {`"New"`}, "description": {`"x"`}, "discount_type": {`"percent"`, `"fixed_amount"`}, "discount_value": {`7`, `0`}, "status": {`"active"`, `"inactive"`},
		"active_from": {`"2027-01-01"`, `null`}, "active_to": {`"2027-02-01"`, `"0000-00-00"`}, "usage_limit": {`3`, `0`}, "min_order_amount": {`5`}, "max_discount_amount": {`9`, `null`},
	}},
	{"SELECT CONCAT('/business-hours?agent_id=', id) FROM wp_latepoint_agents UNION SELECT '/business-hours'", map[string]string{"work_periods": "agent_id = ?"}, map[string][]string{
		"hours.monday": {`[]`, `null`, `[{"start_time":"10:00","end_time":"11:00"}]`}, "hours.sunday": {`[]`, `[{"start_time":"10:00","end_time":"24:00"}]`},
	}},
	{"SELECT CONCAT('/webhooks/', id) FROM wp_bookside_webhooks WHERE status <> 'deleted'", map[string]string{"../bookside_webhooks": "id = ?"}, map[string][]string{
		"name": {`"new"`}, "url": {`"https://example.org/other"`}, "events": {`["order.*"]`}, "agents": {`[1]`, `[]`}, "status": {`"enabled"`, `"disabled"`}, "include_record": {`true`, `false`},
	}},
}

// oddValues are values that a column may hold, by its type, which no form would store.
var oddValues = map[string][]any{
	"varchar": {"", "odd", " <b>a</b>\n", "0", "null", "Ä & \"x\"", nil}, "decimal": {"-10", "0", "0.0001", "5000", nil}, "int": {"0", "1", "5", "-1", "99999", nil},
	"date": {"0000-00-00", "2020-01-01", "2027-02-05", nil}, "datetime": {"0000-00-00 00:00:00", "2026-11-20 10:00:00", nil},
}

func init() {
	for typ, like := range map[string]string{"text": "varchar", "mediumtext": "varchar", "longtext": "varchar", "tinyint": "int", "smallint": "int", "mediumint": "int", "bigint": "int"} {
		oddValues[typ] = oddValues[like]
	}
}

// makeOdd changes columns of the rows that a record is shown from.
func makeOdd(s *apitest.Server, random *rand.Rand, rows map[string]string, path string) (made []string) {
	s.T.Helper()
	id := path[strings.LastIndexAny(path, "/=")+1:]
	for range random.IntN(4) {
		tables := slices.Sorted(maps.Keys(rows))
		table := tables[random.IntN(len(tables))]
		name := strings.Replace("wp_latepoint_"+table, "latepoint_../", "", 1)
		columns := s.Texts("SELECT CONCAT(COLUMN_NAME, ' ', DATA_TYPE) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '" + name + "' AND COLUMN_KEY <> 'PRI' ORDER BY 1")
		if len(columns) == 0 {
			continue // an older version
		}
		column, typ, _ := strings.Cut(columns[random.IntN(len(columns))], " ")
		values := oddValues[typ]
		if ours := strings.Contains(name, "bookside"); len(values) == 0 || ours && !slices.Contains([]string{"name", "url", "reason"}, column) || column == "code" || column == "meta_key" {
			continue // only we write what is ours
		}
		arguments := []any{values[random.IntN(len(values))]}
		if strings.Contains(rows[table], "?") {
			arguments = append(arguments, id)
		}
		made = append(made, fmt.Sprintf("%s.%s = %q", name, column, arguments[0]))
		if _, err := s.Database.SQL.ExecContext(s.T.Context(), "UPDATE IGNORE "+name+" SET `"+column+"` = ? WHERE "+rows[table], arguments...); err != nil {
			s.T.Logf("%s: %v", made, err)
		}
	}
	return made
}

// replaced returns a record with a value under a dotted name.
func replaced(record map[string]any, name, value string) map[string]any {
	object, member, nested := strings.Cut(name, ".")
	if !nested {
		record[name] = json.RawMessage(value)
		return record
	}
	inner, _ := record[object].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
	}
	record[object] = replaced(inner, member, value)
	return record
}

// TestAnyRecordIsPutBack draws records of odd sites, with odd values in their rows: sent as they are shown they change nothing,
// and have nothing unknown, also for a key that masks personal data, and with one changed field they change what that field
// alone changes. BOOKSIDE_TEST_SEEDS draws more.
func TestAnyRecordIsPutBack(t *testing.T) {
	t.Parallel()
	for name, site := range map[string]fixtures.Site{
		"recorded": fixtures.SiteA().WithCoupons().WithFewBookings(), "edge": fixtures.Edge().WithCoupons(), "legacy": fixtures.Legacy(),
		"with Pro Features": fixtures.SiteA().WithFewBookings().WithProFeatures(),
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, site, func(o *handlers.Options) { o.RateLimit.Live = ratelimit.Limits{} })
			s.Blind = true
			s.Database.Execute(t, apitest.FillLocks)
			secrets := []string{s.MaskedKey(), s.Key}
			for _, s.Key = range secrets {
				s.Get("/status").Want(http.StatusOK) // the first use of a key is stored
			}
			for _, body := range []string{`{"url":"https://example.com/a","events":["booking.*"],"agents":[1]}`, `{"url":"https://example.com/b","events":["*"],"name":"b"}`} {
				s.Write(http.MethodPost, "/webhooks", body).Want(http.StatusCreated)
			}
			if name == "with Pro Features" {
				s.DefineFields(t, apitest.DefinedFields)
				s.Database.Execute(t, "INSERT INTO wp_latepoint_bookings_service_extras (booking_id, service_extra_id, duration, quantity, price) SELECT id, 4, 15, 1, 10 FROM wp_latepoint_bookings WHERE id % 2 = 0",
					"INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) SELECT id, 'cf_reason', 'Back pain' FROM wp_latepoint_bookings WHERE id % 3 > 0")
			}
			before := s.Database.Snapshot(t)
			for seed := range uint64(3 * apitest.Seeds(t)) {
				before.Restore(t)
				putBackAny(s, rand.New(rand.NewPCG(seed, 5)), secrets, fmt.Sprint("seed ", seed))
			}
		})
	}
}

func putBackAny(s *apitest.Server, random *rand.Rand, secrets []string, seed string) {
	s.T.Helper()
	kind := putRecords[random.IntN(len(putRecords))]
	if strings.Contains(kind.paths, "coupons") && len(s.Texts("SHOW TABLES LIKE 'wp_latepoint_coupons'")) == 0 {
		return
	}
	paths := s.Texts(kind.paths)
	if len(paths) == 0 {
		return
	}
	slices.Sort(paths)
	path := paths[random.IntN(len(paths))]
	made := makeOdd(s, random, kind.rows, path)
	read := s.Get(path)
	if read.Status == http.StatusNotFound {
		return
	}
	if read.Status != http.StatusOK {
		s.T.Errorf("%s: GET %s: %d %s\n%s\n%v", seed, path, read.Status, read.Body, s.Log.String()[max(0, len(s.Log.String())-900):], made)
		return
	}
	state := s.Database.Snapshot(s.T)
	send := func(record map[string]any) (apitest.Answer, []string) {
		s.Platform.Random = apitest.SameRandom(0)
		a := putBack(s, path, record, `{}`, "Prefer", "handling=strict")
		changes := apitest.SummarizeChanges(fixtures.Changes(state, state.Again(s.T)))
		state.Restore(s.T)
		return a, changes
	}
	for _, s.Key = range secrets {
		shown := s.Get(path)
		if shown.Status == http.StatusNotFound {
			continue // a webhook of the other key
		}
		if a, changes := send(shownOf(s, path)); a.Status != http.StatusOK || len(changes) > 0 {
			s.T.Errorf("%s: PUT %s as shown: %d %s\nshown: %s\nchanges %v", seed, path, a.Status, a.Body, shown.Body, changes)
		}
	}
	names := slices.Sorted(maps.Keys(kind.fields))
	name := names[random.IntN(len(names))]
	value := kind.fields[name][random.IntN(len(kind.fields[name]))]
	alone, changed := send(replaced(map[string]any{}, name, value))
	whole, all := send(replaced(shownOf(s, path), name, value))
	same := alone.Status == whole.Status && (alone.Status == http.StatusOK || bytes.Equal(alone.Body, whole.Body))
	if diff := cmp.Diff(changed, all); diff != "" || !same || alone.Status >= http.StatusInternalServerError {
		s.T.Errorf("%s: PUT %s with %s = %s: alone %d %s, in the whole record %d %s\nshown: %s\nchanges (-alone +whole):\n%s", seed, path, name, value, alone.Status, alone.Body, whole.Status, whole.Body, read.Body, diff)
	}
}

// TestWhatIsIncludedIsPutBack: under the URL that it was read from, and with its tag, a record is put back with what its include
// adds.
func TestWhatIsIncludedIsPutBack(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	s.Key, _ = apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: []string{"read", "write"}, MaskPersonal: true})
	const path = "/customers/153?include=bookings"
	read := s.Get(path).Want(http.StatusOK)
	record, ok := read.At("data").(map[string]any)
	if !ok || record["bookings"] == nil {
		t.Fatalf("no bookings: %s", read.Body)
	}
	record["first_name"] = "Nora"
	body, err := json.Marshal(record)
	expect.NoError(t, err)
	s.Send(http.MethodPut, "/v1"+path, http.Header{"X-Api-Key": {s.Key}, "If-Match": {read.Header.Get("ETag")}, "Prefer": {"handling=strict"}}, string(body)).Want(http.StatusOK)
	expect.Equal(t, 1, s.Count("latepoint_customers", "id = 153 AND first_name = 'Nora'"), "customers with the new name")
}

// clearedByNull are the fields that TestNullIsNeverConfirmedInVain and TestFormsClearNumbersOfCoupons clear.
var clearedByNull = map[string][]string{
	"customers": {"phone", "notes", "admin_notes", "avatar_image_id", "address", "city", "state", "zipcode", "country", "date_of_birth", "gender"},
	"bookings":  {"notes"},
	"services":  {"short_description", "description", "customer_limit", "selection_image_id", "category_id"},
	"orders":    {"notes", "customer_comment", "coupon_code", "ip_address", "source_id", "source_url"},
	"payments":  {"token", "transaction_id", "notes"},
	"webhooks":  {"agents", "services", "locations"},
	"coupons":   {"max_discount_amount", "usage_limit", "min_order_amount", "name", "description", "active_from", "active_to"},
}

// TestNullIsNeverConfirmedInVain sends null and an empty text, as JSON and, where possible, as a form, for
// every field of a PUT: either the field is cleared, or the change is refused with its name.
func TestNullIsNeverConfirmedInVain(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithCoupons())
	booking := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("notes", `"n"`)).Want(http.StatusCreated).At("data", "id"))
	order := fmt.Sprint(s.Get("/bookings/"+booking).At("data", "order", "id"))
	payment := fmt.Sprint(s.Write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":5,"notes":"n","token":"t"}`).Want(http.StatusCreated).At("data", "id"))
	service := fmt.Sprint(s.Write(http.MethodPost, "/services", `{"name":"Cut","short_description":"s","description":"d","customer_limit":"3","selection_image_id":7}`).Want(http.StatusCreated).At("data", "id"))
	s.Write(http.MethodPut, "/customers/9", `{"phone":"+491","notes":"n","admin_notes":"a","city":"Ulm","gender":"other","avatar_image_id":7}`).Want(http.StatusOK)
	s.Write(http.MethodPut, "/orders/"+order, `{"notes":"n","customer_comment":"c","source_id":"s","source_url":"https://example.test/"}`).Want(http.StatusOK)
	coupon := "/coupons/" + fmt.Sprint(s.Write(http.MethodPost, "/coupons", `{"code":"NULL","name":"n","description":"d","discount_type":"percent","discount_value":10,"max_discount_amount":20,"usage_limit":5,"min_order_amount":7,"active_from":"2026-01-01","active_to":"2028-01-01"}`).Want(http.StatusCreated).At("data", "code"))
	webhook := "/webhooks/" + fmt.Sprint(s.Write(http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusCreated).At("data", "id"))
	invoice := fmt.Sprintf("/orders/%s/invoices/%v", order, s.Get("/orders/" + order + "/invoices").Records()[0]["id"])
	before := s.Database.Snapshot(t)
	type fields struct{ kept, texts []string } // kept is never cleared; in texts an empty text is a value
	resources := map[string]fields{
		"/customers/9":         {kept: []string{"first_name", "last_name", "email", "status", "is_guest"}},
		"/bookings/" + booking: {kept: []string{"service_id", "agent_id", "location_id", "customer_id", "start_date", "start_time", "duration", "total_attendees", "status", "price"}},
		"/services/" + service: {kept: []string{"name", "duration", "price_min", "price_max", "charge_amount", "deposit_amount", "capacity_min", "capacity_max", "order_number", "status", "visibility"}},
		"/orders/" + order:     {kept: []string{"customer_id", "subtotal", "total", "tax_total", "discount_total", "coupon_discount", "status", "payment_status", "fulfillment_status", "confirmation_code"}},
		"/payments/" + payment: {
			kept: []string{"amount", "status", "receipt_number"}, texts: []string{"processor", "payment_method", "payment_portion", "kind"},
		},
		coupon:  {kept: []string{"discount_type", "discount_value", "status"}},
		invoice: {kept: []string{"status", "charge_amount"}},
		webhook: {kept: []string{"url", "events", "name", "include_record", "status"}},
	}
	refusing := map[string][]string{}
	for path, resource := range resources {
		refusing[resourceAt(path)] = slices.Concat(resource.kept, resource.texts)
	}
	requireEveryField(t, refusing)
	for path, resource := range resources {
		shown := func(field string) string {
			a := s.Get(path).Want(http.StatusOK)
			var answer struct{ Data map[string]any }
			expect.NoError(t, json.Unmarshal(a.Body, &answer))
			if answer.Data == nil && json.Unmarshal(a.Body, &answer.Data) != nil {
				t.Fatalf("%s", a.Body)
			}
			if strings.HasPrefix(path, "/bookings") && field == "notes" {
				answer.Data = answer.Data["order"].(map[string]any)
				field = "customer_comment"
			}
			if field == "transaction_id" { // another name
				field = "token"
			}
			if value := answer.Data[field]; value != nil {
				return strings.Trim(fmt.Sprint(value), "[]")
			}
			return ""
		}
		clears := func(field string, a apitest.Answer) {
			t.Helper()
			a.Want(http.StatusOK)
			if got := shown(field); got != "" && got != "0" && got != "0000-00-00" {
				t.Errorf("%s: %s is still %q", path, field, got)
			}
			before.Restore(t)
		}
		refuses := func(field string, a apitest.Answer) {
			t.Helper()
			want := http.StatusUnprocessableEntity
			if strings.HasPrefix(path, "/customers") || strings.HasPrefix(path, "/payments") { // the contract has a single status
				want = http.StatusBadRequest
			}
			expect.Equal(t, want, a.Status, fmt.Sprintf("%s: %s %s", path, field, a.Body))
			apitest.WantNoWrites(t, path+" "+field, before)
		}
		for _, field := range clearedByNull[resourceAt(path)] {
			clears(field, s.Write(http.MethodPut, path, `{"`+field+`":null}`))
			clears(field, s.WriteAs(http.MethodPut, path, apitest.FormType, url.Values{field: {""}}.Encode()))
		}
		for _, field := range resource.kept {
			refuses(field, s.Write(http.MethodPut, path, `{"`+field+`":null}`))
			refuses(field, s.WriteAs(http.MethodPut, path, apitest.FormType, url.Values{field: {""}}.Encode()))
		}
		for _, field := range resource.kept { // nor is 0, which is not an id
			if strings.HasSuffix(field, "_id") {
				refuses(field, s.Write(http.MethodPut, path, `{"`+field+`":0}`))
				refuses(field, s.WriteAs(http.MethodPut, path, apitest.FormType, url.Values{field: {"0"}}.Encode()))
			}
		}
		for _, field := range resource.texts {
			refuses(field, s.Write(http.MethodPut, path, `{"`+field+`":null}`))
		}
	}
	s.Write(http.MethodPut, "/bookings/"+booking, `{"customer":{"phone":null}}`).Want(http.StatusOK)
	expect.Equal(t, "", s.Get("/bookings/"+booking).At("data", "customer", "phone"), "phone of the booking's customer")
	apitest.Unprocessable("customer.email", "customer.first_name").Check(t, "members", s.Write(http.MethodPut, "/bookings/"+booking, `{"customer":{"email":null,"first_name":""}}`))
	apitest.Unprocessable("events").Check(t, "an empty list", s.Write(http.MethodPut, webhook, `{"events":[]}`))
	apitest.Unprocessable("customer").Check(t, "an object", s.Write(http.MethodPut, "/bookings/"+booking, `{"customer":null}`))
	wantUpdateRejected(t, "custom fields", s.Write(http.MethodPut, "/customers/9", `{"custom_fields":null}`), "custom_fields")
}

// resourceAt returns the resource of a record's path.
func resourceAt(path string) string {
	parts := strings.Split(path, "/")
	return parts[len(parts)-2]
}

// fieldsOfOtherTests are the fields of a PUT that have nothing to clear, have members, or mean nothing
// without Pro Features.
var fieldsOfOtherTests = []string{"cancellation_reason", "dry_run", "extras", "force", "reschedule_reason", "send_notification", "skip", "customer", "custom_fields"}

// requireEveryField fails unless null clears every documented field of a PUT, or is refused for it.
func requireEveryField(t *testing.T, refusing map[string][]string) {
	t.Helper()
	contract := apitest.TheContract()
	for path, item := range contract.Document.Paths.Map() {
		if item.Put == nil || path == "/business-hours" { // see TestWeeklyHours
			continue
		}
		resource := resourceAt(path)
		for field := range item.Put.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
			if !slices.Contains(slices.Concat(fieldsOfOtherTests, clearedByNull[resource], refusing[resource]), field) {
				t.Errorf("nothing tests what null does to %s of %s", field, resource)
			}
		}
	}
}
