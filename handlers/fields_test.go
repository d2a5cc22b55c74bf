package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// columnValues maps columns to their values. The name is table.column, for metadata table[record key], and
// for an activity activities[code], whose value is the record that it is about.
type columnValues map[string]string

// storedChanges returns the values of new rows and the changed values of
// existing ones. id is the id of the record that was created.
func storedChanges(t testing.TB, where string, changes []fixtures.Change, id string) columnValues {
	t.Helper()
	columns := columnValues{}
	shown := func(value any) string {
		switch text := fmt.Sprint(value); {
		case text == "2026-11-21 00:43:00":
			return "now"
		case text == id && id != "":
			return "new"
		default:
			return text
		}
	}
	put := func(name string, value any) {
		if _, twice := columns[name]; twice {
			t.Errorf("%s: %s is written twice", where, name)
		}
		columns[name] = shown(value)
	}
	for _, c := range changes {
		table := strings.TrimPrefix(c.Table, "latepoint_")
		switch key, code := c.Values["meta_key"], c.Values["code"]; {
		case c.Op == fixtures.Delete:
			put(table+" deleted", c.Key)
		case key != nil:
			if strings.HasPrefix(fmt.Sprint(key), "key_to_manage") {
				continue
			}
			put(fmt.Sprintf("%s[%s %v]", table, shown(c.Values["object_id"]), key), c.Values["meta_value"])
		case table == "activities":
			for _, about := range []string{"booking_id", "customer_id", "order_id", "service_id", "coupon_id"} {
				if c.Values[about] != nil {
					put(fmt.Sprintf("activities[%v]", code), about+" "+shown(c.Values[about]))
				}
			}
		case c.Op == fixtures.Insert:
			for column, value := range c.Values {
				if column != "id" && !randomColumns[column] {
					put(table+"."+column, value)
				}
			}
		default:
			for column, pair := range c.Changed {
				put(table+"."+column, pair[1])
			}
		}
	}
	return columns
}

// randomColumns have random values that no request can set.
var randomColumns = map[string]bool{"access_key": true, "uuid": true, "password": true, "activation_key": true, "account_nonse": true}

// with returns the columns together with others.
func (s columnValues) with(others ...columnValues) columnValues {
	all := maps.Clone(s)
	for _, other := range others {
		maps.Copy(all, other)
	}
	return all
}

// fieldTable lists the columns in which each field of a body is stored. A
// change of any other column is a failure.
type fieldTable struct {
	path string
	// least is a new record, to which a field of the table is added. For an update, which sends only the
	// field, it is empty.
	least string
	// always holds the columns that every update of the record changes.
	always columnValues
	fields map[string]columnValues // by `"field":value`
}

// orderPaid returns the changes to an order whose payment status changes with a payment.
func orderPaid(id, status string) columnValues {
	return columnValues{"orders.payment_status": status, "orders.updated_at": "now", "activities[order_updated]": "order_id " + id}
}

// reopenedInvoice has the changes to an invoice whose payment is no longer captured.
var reopenedInvoice = columnValues{"order_invoices.status": "open", "order_invoices.updated_at": "now"}

// Fields that are stored in the same way for a new record and for an update.
var (
	serviceColumns = map[string]columnValues{
		`"name":"Sauna"`:                    {"services.name": "Sauna"},
		`"short_description":"<b>a</b>"`:    {"services.short_description": "<b>a</b>"},
		`"duration":"45"`:                   {"services.duration": "45"},
		`"price_min":1.5`:                   {"services.price_min": "1.5000"},
		`"charge_amount":3.0001`:            {"services.charge_amount": "3.0001"},
		`"capacity_min":2,"capacity_max":4`: {"services.capacity_min": "2", "services.capacity_max": "4"},
		`"order_number":7`:                  {"services.order_number": "7"},
	}
	paymentColumns = map[string]columnValues{
		`"payment_method":"cash"`: {"transactions.payment_method": "cash"},
		`"token":"tok_1"`:         {"transactions.token": "tok_1"},
		`"notes":"a\nb"`:          {"transactions.notes": "a\nb"},
	}
	orderColumns = map[string]columnValues{
		`"subtotal":2`:                         {"orders.subtotal": "2.0000"},
		`"coupon_discount":5`:                  {"orders.coupon_discount": "5.0000"},
		`"coupon_code":"SAVE"`:                 {"orders.coupon_code": "SAVE"},
		`"ip_address":"192.0.2.1"`:             {"orders.ip_address": "192.0.2.1"},
		`"source_url":"https://x.test/?a=b&c"`: {"orders.source_url": "https://x.test/?a=b&c"},
		`"confirmation_code":"AB12"`:           {"orders.confirmation_code": "AB12"},
	}
	couponColumns = map[string]columnValues{
		`"name":"Name"`:                  {"coupons.name": "Name"},
		`"description":"a\nb"`:           {"coupons.description": "a\nb"},
		`"discount_type":"fixed_amount"`: {"coupons.discount_type": "fixed"},
		`"discount_value":"6.5"`:         {"coupons.discount_value": "6.5000"},
		`"status":"inactive"`:            {"coupons.status": "disabled"},
		`"active_to":"2027-01-31"`:       {"coupons.active_to": "2027-01-31"},
	}
)

// mergeFields returns the fields of both tables.
func mergeFields(alike, own map[string]columnValues) map[string]columnValues {
	all := maps.Clone(alike)
	maps.Copy(all, own)
	return all
}

var fieldTables = map[string]fieldTable{
	"new service": {path: "/services", least: `"name":"Bath"`, fields: mergeFields(serviceColumns, map[string]columnValues{
		`"description":"<p>Long</p>"`: {"service_meta[new description]": "<p>Long</p>"},
		`"status":"Disabled"`:         {"services.status": "disabled"},
		`"visibility":"hidden"`:       {"services.visibility": "hidden"},
		`"category_id":2`:             {"services.category_id": "2"},
		`"customer_limit":3`:          {"service_meta[new customer_limit]": "3"},
		`"bg_color":"#000","buffer_before":5,"id":4,"durations":[1]`: {},
	})},
	"service": {path: "/services/4", always: columnValues{"services.updated_at": "now", "activities[service_updated]": "service_id 4"}, fields: mergeFields(serviceColumns, map[string]columnValues{
		`"description":"<p>Long</p>"`: {"service_meta[4 description]": "<p>Long</p>"},
		`"status":"disabled"`:         {"services.status": "disabled"},
		`"visibility":"HIDDEN"`:       {"services.visibility": "hidden"},
		`"category_id":1`:             {"services.category_id": "1"},
		`"customer_limit":"3"`:        {"service_meta[4 customer_limit]": "3"},
	})},
	"new payment": {path: "/payments", least: `"order_id":1403,"amount":1,"status":"failed"`, fields: mergeFields(paymentColumns, map[string]columnValues{
		`"order_id":"10"`:                   {"transactions.order_id": "10", "transactions.customer_id": "268"},
		`"order_id":null,"booking_id":1441`: {},
		`"booking_id":1441`:                 {},
		`"amount":0.1`:                      {"transactions.amount": "0.1000"},
		`"customer_id":153`:                 {},
		`"processor":"stripe"`:              {"transactions.processor": "stripe"},
		`"kind":"refund"`:                   {"transactions.kind": "refund", "transactions.amount": "-1.0000"},
		`"status":"succeeded"`:              columnValues{"transactions.status": "succeeded"}.with(orderPaid("1403", "partially_paid")),
		`"status":"Processing"`:             columnValues{"transactions.status": "processing"}.with(orderPaid("1403", "processing")),
		`"status":null,"amount":135`: columnValues{
			"transactions.status": "succeeded", "transactions.amount": "135.0000", "transactions.invoice_id": "1270",
			"order_invoices.status": "paid", "order_invoices.updated_at": "now",
		}.with(orderPaid("1403", "fully_paid")),
		`"invoice_id":1270,"access_key":"x"`: {},
		`"transaction_id":"x"`:               {"transactions.token": "x"},
	})},
	"payment": {path: "/payments/7", always: columnValues{"transactions.updated_at": "now"}, fields: mergeFields(paymentColumns, map[string]columnValues{
		`"amount":80`:          columnValues{"transactions.amount": "80.0000"}.with(orderPaid("10", "partially_paid"), reopenedInvoice),
		`"amount":"85.0001"`:   {"transactions.amount": "85.0001"},
		`"processor":"square"`: {"transactions.processor": "square"},
		`"kind":"refund"`: columnValues{
			"transaction_refunds.transaction_id": "7", "transaction_refunds.amount": "85.0000", "transaction_refunds.token": "TX8R5CKI27HT",
			"transaction_refunds.created_at": "now", "transaction_refunds.updated_at": "now",
		}.with(orderPaid("10", "not_paid"), reopenedInvoice),
		`"status":"failed"`: columnValues{"transactions.status": "failed"}.with(orderPaid("10", "not_paid"), reopenedInvoice),
	})},
	"new order": {path: "/orders?force=true", least: `"customer_id":9,"subtotal":1,"total":1`, fields: mergeFields(orderColumns, map[string]columnValues{
		`"customer_id":12`:                      {"orders.customer_id": "12"},
		`"total":"2.5"`:                         {"orders.total": "2.5000", "order_invoices.charge_amount": "2.5000"},
		`"discount_total":4`:                    {"order_meta[new discount_total]": "4.0000"},
		`"status":"completed"`:                  {"orders.status": "completed"},
		`"payment_status":"partially_refunded"`: {"orders.payment_status": "partially_refunded"},
		`"fulfillment_status":"fulfilled"`:      {"orders.fulfillment_status": "fulfilled"},
		`"customer_comment":"a\nb"`:             {"orders.customer_comment": "a\nb"},
		`"notes":"inside"`:                      {"order_meta[new notes]": "inside"},
		`"source_id":"s"`:                       {"orders.source_id": "s"},
		`"payment_method":"cash","id":1`:        {},
	})},
	"order": {path: "/orders/10?force=true", always: columnValues{"orders.updated_at": "now", "activities[order_updated]": "order_id 10"}, fields: mergeFields(orderColumns, map[string]columnValues{
		`"customer_id":"12"`: {
			"orders.customer_id": "12", "bookings.customer_id": "12", "bookings.updated_at": "now", "activities[booking_updated]": "booking_id 10",
			"order_items.item_data": "", "order_items.updated_at": "now", "transactions.customer_id": "12", "transactions.updated_at": "now",
		},
		`"total":"2.5"`:                              {"orders.total": "2.5000"},
		`"discount_total":4`:                         {"order_meta[10 discount_total]": "4.0000"},
		`"status":"cancelled"`:                       {"orders.status": "cancelled"},
		`"payment_status":"refunded"`:                {"orders.payment_status": "refunded"},
		`"fulfillment_status":"Partially_Fulfilled"`: {"orders.fulfillment_status": "partially_fulfilled"},
		`"customer_comment":""`:                      {"orders.customer_comment": ""},
		`"notes":"inside"`:                           {"order_meta[10 notes]": "inside"},
		`"source_id":7`:                              {"orders.source_id": "7"},
	})},
	"invoice": {path: "/orders/10/invoices/10", always: columnValues{"order_invoices.updated_at": "now"}, fields: map[string]columnValues{
		`"status":"uncollectible"`:         {"order_invoices.status": "uncollectible"},
		`"charge_amount":55.00`:            {"order_invoices.charge_amount": "55.0000"},
		`"force":true,"charge_amount":100`: {"order_invoices.charge_amount": "100.0000"},
	}},
	"new coupon": {path: "/coupons", least: `"code":"ONE","discount_type":"percent","discount_value":5`, fields: mergeFields(couponColumns, map[string]columnValues{
		`"code":" two "`:              {"coupons.code": "TWO"},
		`"discount_type":"fixed"`:     {"coupons.discount_type": "fixed"},
		`"active_from":"2027-01-01"`:  {"coupons.active_from": "2027-01-01"},
		`"active_to":"0000-00-00"`:    {},
		`"usage_limit":3`:             {"coupons.rules": `{"limit_total":"3"}`},
		`"usage_limit":0`:             {},
		`"min_order_amount":20`:       {"coupons.rules": `{"min_order_amount":"20"}`},
		`"max_discount_amount":"9.5"`: {"coupons.rules": `{"max_discount_amount":"9.5"}`},
		`"id":1,"rules":"x"`:          {},
	})},
	"coupon": {path: "/coupons/one", always: columnValues{"coupons.updated_at": "now", "activities[coupon_updated]": "coupon_id 900"}, fields: mergeFields(couponColumns, map[string]columnValues{
		`"active_from":"2027-01-02"`: {"coupons.active_from": "2027-01-02"},
		`"active_from":""`:           {"coupons.active_from": "<nil>"},
		`"usage_limit":3`:            {"coupons.rules": `{"limit_total":"3","x":[1, 2]}`},
		`"usage_limit":0`:            {"coupons.rules": `{"limit_total":"","x":[1, 2]}`},
		`"min_order_amount":20`:      {"coupons.rules": `{"limit_total":"7","x":[1, 2],"min_order_amount":"20"}`},
		`"max_discount_amount":9.5`:  {"coupons.rules": `{"limit_total":"7","x":[1, 2],"max_discount_amount":"9.5"}`},
	})},
	"new customer": {path: "/customers", least: `"first_name":"Rita","last_name":"Neu"`, fields: map[string]columnValues{
		`"first_name":"Ann"`:               {"customers.first_name": "Ann"},
		`"last_name":"Alt"`:                {"customers.last_name": "Alt"},
		`"email":"Rita@example.test"`:      {"customers.email": "Rita@example.test"},
		`"phone":"+49 (30) 1"`:             {"customers.phone": "+49301"},
		`"status":"pending"`:               {"customers.status": "pending_verification"},
		`"status":"blocked"`:               {"customers.status": "blocked"},
		`"is_guest":false`:                 {"customers.is_guest": "0"},
		`"notes":"a\nb"`:                   {"customers.notes": "a\nb"},
		`"admin_notes":"inside"`:           {"customers.admin_notes": "inside"},
		`"avatar_image_id":12`:             {"customers.avatar_image_id": "12"},
		`"cms_user_id":800`:                {"customers.wordpress_user_id": "800", "customers.is_guest": "0"},
		`"wordpress_user_id":"800"`:        {"customers.wordpress_user_id": "800", "customers.is_guest": "0"},
		`"address":"Hof 1"`:                {"customer_meta[new address]": "Hof 1"},
		`"city":"Ulm"`:                     {"customer_meta[new city]": "Ulm"},
		`"state":"BW"`:                     {"customer_meta[new state]": "BW"},
		`"zipcode":89073`:                  {"customer_meta[new zipcode]": "89073"},
		`"country":"de"`:                   {"customer_meta[new country]": "DE"},
		`"date_of_birth":"2000-02-29"`:     {"customer_meta[new date_of_birth]": "2000-02-29"},
		`"gender":"Other"`:                 {"customer_meta[new gender]": "other"},
		`"custom_fields":{"cf_a":"0"}`:     {"customer_meta[new cf_a]": "0"},
		`"custom_fields":{"colour":"red"}`: {"customer_meta[new colour]": "red", "bookside_customer_fields[<nil> colour]": "<nil>"},
		`"uuid":"x","password":"x","id":5`: {},
	}},
}

// TestEveryFieldWritesItsColumns sends every field of every body, alone in an update and with the required
// ones in a new record: it writes exactly its own columns.
func TestEveryFieldWritesItsColumns(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, table := range fieldTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
			s.database.Execute(t,
				`INSERT INTO wp_latepoint_coupons (id, code, name, description, discount_type, discount_value, status, active_from, rules) VALUES
					(900, 'ONE', 'One', '', 'percent', 5, 'active', '2027-01-01', '{"limit_total":"7","x":[1, 2]}')`,
				"INSERT INTO wp_users (ID, user_login) VALUES (800, 'rita')",
				`INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (800, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}')`)
			if table.least != "" {
				s.database.Execute(t, "DELETE FROM wp_latepoint_coupons WHERE id = 900")
			}
			before := s.database.Snapshot(t)
			send := func(body string) columnValues {
				t.Helper()
				s.platform.Random = sameRandom(0)
				method, status, id := http.MethodPut, http.StatusOK, ""
				if table.least != "" {
					method, status = http.MethodPost, http.StatusCreated
				}
				a := s.write(method, table.path, body).want(status)
				if table.least != "" {
					id = fmt.Sprint(a.record()["id"])
				}
				changes := fixtures.Changes(before, before.Again(t))
				if table.least == "" {
					s.unchanged(t, body, func() { s.write(method, table.path, body).want(status) })
				}
				before.Restore(t)
				return storedChanges(t, body, changes, id)
			}
			always := table.always
			if table.least != "" {
				always = send("{" + table.least + "}")
			}
			for _, field := range fixtures.Sample(slices.Sorted(maps.Keys(table.fields)), 2) {
				body := "{" + field + "}"
				if table.least != "" {
					body = mergeObjects(t, table.least, field)
				}
				got, want := send(body), always.with(table.fields[field])
				for _, name := range []string{"order_invoices.data", "order_items.item_data"} { // copies of other columns
					delete(want, name)
					delete(got, name)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", field, diff)
				}
			}
		})
	}
}

// record returns the record in a response, wrapped or bare.
func (a answer) record() map[string]any {
	a.t.Helper()
	all := a.object()
	if data, ok := all["data"].(map[string]any); ok {
		return data
	}
	return all
}

// mergeObjects returns an object with the members of both; the second one's win.
func mergeObjects(t testing.TB, first, second string) string {
	t.Helper()
	members := map[string]json.RawMessage{}
	for _, text := range []string{first, second} {
		if err := json.Unmarshal([]byte("{"+text+"}"), &members); err != nil {
			t.Fatalf("{%s}: %v", text, err)
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unchanged fails the test if do writes anything.
func (s *server) unchanged(t testing.TB, where string, do func()) {
	t.Helper()
	before := s.database.Snapshot(t)
	do()
	wantNoWrites(t, where+" again", before)
}
