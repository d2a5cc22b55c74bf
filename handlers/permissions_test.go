package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

// as sends a request with a key that has these permissions.
func (s *server) as(permissions []string, method, path, body string) answer {
	s.t.Helper()
	return s.send(method, "/v1"+path, http.Header{"X-Api-Key": {s.newKey(permissions...)}, "Content-Type": {jsonType}}, body)
}

// guardedMember is a member of a response that is empty without a permission, or missing if that is "";
// * stands for every element of a list.
type guardedMember struct{ path, needs, empty string }

// guardedMembers are all such members, by route.
var guardedMembers = map[string][]guardedMember{
	"GET /bookings/:id":                            {{"data.transactions", "read_payments", `[]`}, {"data.order.ip_address", "read_orders", `null`}},
	"PUT /bookings/:id":                            {{"data.transactions", "read_payments", `[]`}, {"data.order.ip_address", "read_orders", `null`}},
	"GET /agents/availability":                     {{"data.agents.*.email", "read_agents", `""`}, {"data.agents.*.phone", "read_agents", `""`}},
	"GET /availability":                            {{"data.explain.unavailable.*.booking_id", "read_bookings", ""}},
	"PUT /payments/:id":                            {{"data.token", "read_payments", `null`}},
	"GET /orders/:id":                              {{"items.*.item_data", "read_bookings", `""`}},
	"PUT /orders/:id":                              {{"ip_address", "read_orders", `null`}},
	"GET /orders/:id/invoices":                     {{"data.*.data", "read_customers", `null`}},
	"GET /orders/:id/invoices/:invoice_id":         {{"data.data", "read_customers", `null`}},
	"PUT /orders/:id/invoices/:invoice_id":         {{"data.data", "read_customers", `null`}},
	"GET /orders/:id/transactions":                 {{"data.*.token", "read_payments", `null`}},
	"GET /orders/:id/transactions/:transaction_id": {{"data.token", "read_payments", `null`}},
	"GET /coupons/:code":                           {{"data.recent_orders", "read_orders", `[]`}},
}

// without empties a member wherever it occurs, and returns how many values that
// changed.
func (g guardedMember) without(t testing.TB, value any, path []string) (emptied int) {
	t.Helper()
	if list, ok := value.([]any); ok && path[0] == "*" {
		for _, element := range list {
			emptied += g.without(t, element, path[1:])
		}
		return emptied
	}
	object, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("%s: no object before %v", g.path, path)
	}
	inner, ok := object[path[0]]
	switch {
	case !ok:
		return 0
	case len(path) > 1:
		return g.without(t, inner, path[1:])
	case g.empty == "":
		delete(object, path[0])
		return 1
	}
	var empty any
	expect.NoError(t, json.Unmarshal([]byte(g.empty), &empty))
	object[path[0]] = empty
	if reflect.DeepEqual(inner, empty) {
		return 0
	}
	return 1
}

// TestResponsesHideWhatTheKeyMayNotRead requests all routes twice, with the route's permission and with
// each other read permission: what the key may not read is empty, and everything else is unchanged.
func TestResponsesHideWhatTheKeyMayNotRead(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := ownServer(t, fixtures.Small(now))
	s.database.Execute(t,
		"UPDATE wp_latepoint_orders SET ip_address = '192.0.2.1'",
		"UPDATE wp_latepoint_transactions SET token = CONCAT('tok_', id), status = 'failed'",
		`UPDATE wp_latepoint_order_invoices SET data = '{"to":"Ada<br>ada@example.test"}'`)
	var booking, customer, order, payment, invoice int
	s.database.Scan(t, `SELECT b.id, b.customer_id, o.id, t.id, v.id FROM wp_latepoint_bookings b
		JOIN wp_latepoint_order_items i ON i.id = b.order_item_id JOIN wp_latepoint_orders o ON o.id = i.order_id
		JOIN wp_latepoint_transactions t ON t.order_id = o.id JOIN wp_latepoint_order_invoices v ON v.order_id = o.id
		WHERE b.status = 'approved' ORDER BY b.id LIMIT 1`, &booking, &customer, &order, &payment, &invoice)
	s.database.Execute(t, exampleDayOff)
	fill := strings.NewReplacer("/time-off/:id", "/time-off/412", "/bookings/:id", fmt.Sprint("/bookings/", booking), "/customers/:id", fmt.Sprint("/customers/", customer),
		"/orders/:id", fmt.Sprint("/orders/", order), "/payments/:id", fmt.Sprint("/payments/", payment), ":invoice_id", fmt.Sprint(invoice),
		":transaction_id", fmt.Sprint(payment), ":code", "WELCOME10", ":id", "1")
	queries := map[string]string{
		"/availability":  s.bookedDay(),
		"/customers/:id": "?include=stats", "/bookings": "?include_meta=1", "/services": "?include=agents,category,locations,categories",
	}
	var reads []string
	for _, resource := range keys.PermissionResources {
		reads = append(reads, "read_"+resource)
	}
	others := slices.DeleteFunc(permissions(), func(p string) bool { return strings.HasPrefix(p, "read") || !strings.Contains(p, "_") })
	const noHours = `{"hours":{}}` // PUT /business-hours requires them
	walked := 0
	for _, r := range handlers.Routes() {
		if r.Method != http.MethodGet && r.Method != http.MethodPut {
			continue
		}
		if strings.HasPrefix(r.Path, "/webhooks") || strings.HasPrefix(r.Path, "/holds") {
			continue // each key sees other records, see TestWebhooksOfAKey and TestLostHolds
		}
		if isCalendar(r) {
			continue
		}
		walked++
		name := r.Method + " " + r.Path
		t.Run(name, func(t *testing.T) {
			s := *s
			s.t = t
			path := fill.Replace(r.Path) + queries[r.Path]
			everything := s.as([]string{"read", "read_changes", "write"}, r.Method, path, noHours).want(http.StatusOK).body
			for _, also := range append([][]string{nil, reads, {"read"}, append(others, "read_changes", "write_users")}, each(reads, func(p string) []string { return []string{p} })...) {
				key := keys.Key{Permissions: append(slices.Clone(also), r.Permission)}
				if r.Permission == "" {
					key.Permissions = append(slices.Clone(also), "delete_coupons")
				}
				if r.Method == http.MethodPut { // a key that may not read the record sees less, see TestUnchangedRecordsAreForReaders
					key.Permissions = append(key.Permissions, strings.Replace(r.Permission, "write_", "read_", 1))
				}
				if r.Path == "/changes" && !slices.ContainsFunc(journal.Resources, func(of journal.Resource) bool { return key.Holds("read_" + string(of)) }) {
					continue // there is nothing that the key may follow
				}
				want := answer{t: t, body: everything}.object()
				for _, g := range guardedMembers[name] {
					if key.Holds(g.needs) {
						continue
					}
					if g.without(t, want, strings.Split(g.path, ".")) == 0 {
						t.Errorf("%s is empty for everybody: the case proves nothing", g.path)
					}
				}
				got := s.as(key.Permissions, r.Method, path, noHours).want(http.StatusOK).object()
				expect.Equal(t, want, got, fmt.Sprintf("with %v", key.Permissions))
			}
		})
	}
	if walked < 30 {
		t.Errorf("only %d routes", walked)
	}
}

// bookedDay returns the query of an availability request with explanations, for
// a day with starts that conflict with a booking.
func (s *server) bookedDay() string {
	s.t.Helper()
	for _, b := range s.get("/bookings?status=approved&date_from=2026-11-23&per_page=100&order=asc").want(http.StatusOK).records() {
		service := b["service"].([]any)[0].(map[string]any)["id"]
		query := fmt.Sprintf("?service_id=%v&agent_id=%v&date=%v&explain=1", service, b["agent"].(map[string]any)["id"], b["start_date"])
		if a := s.get("/availability" + query); a.status == http.StatusOK && strings.Contains(string(a.body), `"booking_id":`) {
			return query
		}
	}
	s.t.Fatal("no day has a start that conflicts with a booking")
	return ""
}

func each[T, R any](values []T, of func(T) R) []R {
	var results []R
	for _, value := range values {
		results = append(results, of(value))
	}
	return results
}

// TestNewRecordsHideWhatTheKeyMayNotRead: a key that may write but not read
// sees a new record without the parts that need another permission.
func TestNewRecordsHideWhatTheKeyMayNotRead(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name = 'log_customer_ip_address'",
		"INSERT INTO wp_latepoint_settings (name, value) VALUES ('log_customer_ip_address', 'on')")
	before := s.database.Snapshot(t)
	for name, c := range map[string]struct {
		path, body, write, read string
		member                  []any
		want                    any
	}{
		"booking": {"/bookings", friday(), "write_bookings", "read_orders", []any{"data", "order", "ip_address"}, "192.0.2.1"},
		"order":   {"/orders", `{"customer_id":9,"subtotal":5,"total":5,"ip_address":"192.0.2.9"}`, "write_orders", "read_orders", []any{"ip_address"}, "192.0.2.9"},
		"payment": {"/payments", `{"order_id":888,"amount":5,"token":"tok_1"}`, "write_payments", "read_payments", []any{"data", "token"}, "tok_1"},
	} {
		expect.Equal(t, c.want, s.as([]string{c.write, c.read}, http.MethodPost, c.path, c.body).want(http.StatusCreated).at(c.member...), fmt.Sprintf("%s with %s", name, c.read))
		before.Restore(t)
		expect.Equal(t, nil, s.as([]string{c.write, "delete"}, http.MethodPost, c.path, c.body).want(http.StatusCreated).at(c.member...), fmt.Sprintf("%s without %s", name, c.read))
		before.Restore(t)
	}
}

// TestIncludesNeedTheirPermission: keys that may read both can include a customer's bookings; for others
// the request is rejected.
func TestIncludesNeedTheirPermission(t *testing.T) {
	s := smallServer(t)
	for _, word := range []string{"bookings", "upcoming_bookings", "past_bookings", "stats,Past_Bookings", "%20BOOKINGS%20", "nothing,bookings"} {
		a := s.as([]string{"read_customers"}, http.MethodGet, "/customers/1?include="+word, "").want(http.StatusForbidden)
		want := `{"status":"error","error":{"code":"insufficient_permissions","message":"The API key lacks the permission read_bookings",` +
			`"details":{"required_permission":"read_bookings","current_permissions":["read_customers"]}}}`
		expect.Equal(t, want, string(a.body), fmt.Sprintf("%s: %s", word, a.body))
	}
	for _, word := range []string{"bookings", "upcoming_bookings", "past_bookings"} {
		a := s.as([]string{"read_customers", "read_bookings"}, http.MethodGet, "/customers/1?include="+word, "").want(http.StatusOK)
		if _, ok := a.at("data", word).([]any); !ok {
			t.Errorf("%s: %s", word, a.body)
		}
	}
	a := s.as([]string{"read_customers"}, http.MethodGet, "/customers/1?include=stats,notes", "").want(http.StatusOK)
	for _, word := range []string{"bookings", "upcoming_bookings", "past_bookings"} {
		if _, shown := a.at("data").(map[string]any)[word]; shown {
			t.Errorf("%s are shown", word)
		}
	}
	// The list has no such parameter.
	s.as([]string{"read_customers"}, http.MethodGet, "/customers?include=bookings", "").want(http.StatusOK)
}

// TestStoredResponsesObeyCurrentRights: a stored response is not sent again while its key has other rights, and
// the request is not processed again either.
func TestStoredResponsesObeyCurrentRights(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	may := []string{"read", "write"}
	secret, key := createKey(t, s.keys, keys.NewKey{Permissions: may})
	s.key = secret
	restrict := func(agents []int64, masked bool, permissions ...string) {
		t.Helper()
		if _, _, err := s.keys.Restrict(t.Context(), key.ID, keys.Patch{Agents: &agents, MaskPersonal: &masked, Permissions: permissions}); err != nil {
			t.Fatal(err)
		}
	}
	first := s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "x").want(http.StatusCreated)
	before := s.database.Snapshot(t)
	for name, change := range map[string]func(){
		"permissions":  func() { restrict(nil, false, "write") },
		"more of them": func() { restrict(nil, false, "read", "write", "delete") },
		"an agent":     func() { restrict([]int64{1}, false, may...) },
		"agents":       func() { restrict([]int64{1, 5}, false, may...) },
		"a mask":       func() { restrict(nil, true, may...) },
	} {
		t.Run(name, func(t *testing.T) {
			s := *s
			s.t = t
			change()
			wantCode(t, s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "x"), http.StatusForbidden, "outside_key_limits")
			wantCode(t, s.write(http.MethodPost, "/bookings", friday("duration", "30"), "Idempotency-Key", "x"), http.StatusUnprocessableEntity, "idempotency_key_reused")
		})
	}
	restrict(nil, false, may...)
	s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "x").wantReplayOf(t, first)
	wantNoWrites(t, "repetitions", before)
	restrict(nil, true, may...)
	masked := s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`), "Idempotency-Key", "z").want(http.StatusCreated)
	s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`), "Idempotency-Key", "z").wantReplayOf(t, masked)
}

// TestSentContactsAreNotCompared: a key that may read neither bookings nor customers gets the same error
// whether or not a contact that it sends with a booking is the stored one. Missing contacts it may fill in.
func TestSentContactsAreNotCompared(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	booking := s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)).want(http.StatusCreated)
	path := fmt.Sprintf("/bookings/%v", booking.at("data", "id"))
	customer, _ := booking.at("data", "customer").(map[string]any)
	changed := map[string]string{"first_name": "Guess", "last_name": "Guess", "email": "guess@example.test", "phone": "+493055501"}
	used, _ := s.get("/customers/9").at("data").(map[string]any)
	blind, sighted := s.newKey("write_bookings"), []string{s.newKey("write_bookings", "read_bookings"), s.newKey("write_bookings", "read_customers")}
	s.blind = true
	for field, other := range changed {
		stored, _ := customer[field].(string)
		if stored == "" {
			t.Fatalf("the customer has no %s: %v", field, customer)
		}
		for _, query := range []string{"?force=true", ""} {
			body := func(value string) string { return fmt.Sprintf(`{"customer":{%q:%q}}`, field, value) }
			s.key = blind
			same, different := s.write(http.MethodPut, path+query, body(stored)), s.write(http.MethodPut, path+query, body(other))
			if same.status != http.StatusForbidden || !bytes.Equal(same.body, different.body) {
				t.Errorf("%s%s: the same is %d %s, another one %d %s", field, query, same.status, same.body, different.status, different.body)
			}
			if in := s.write(http.MethodPut, path+query, body(fmt.Sprint(used[field]))); !bytes.Equal(same.body, in.body) {
				t.Errorf("%s%s: the same is %d %s, another customer's %d %s", field, query, same.status, same.body, in.status, in.body)
			}
			invalid := func(value string) answer {
				return s.write(http.MethodPut, path+query, fmt.Sprintf(`{"status":"bogus","customer":{%q:%q}}`, field, value))
			}
			if same, used := invalid(stored), invalid(fmt.Sprint(used[field])); !bytes.Equal(same.body, used.body) {
				t.Errorf("%s%s, beside a mistake: the same is %s, another customer's %s", field, query, same.body, used.body)
			}
			for _, s.key = range sighted {
				s.write(http.MethodPut, path+query, body(stored)).want(http.StatusOK)
				s.write(http.MethodPut, path+query, body(other)).want(http.StatusForbidden)
			}
		}
	}
	s.database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_customers SET phone = '' WHERE id = %v", customer["id"]))
	s.key = blind
	s.write(http.MethodPut, path, `{"customer":{"phone":"+493055502"}}`).want(http.StatusOK)
}

// alsoNeeded are requests that need a permission in addition to their route's. Every row of the route table
// that names one needs an entry here.
var alsoNeeded = map[string]struct{ method, path, body, route, also string }{
	"link a user":               {http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","cms_user_id":801}`, "POST /customers", "write_users"},
	"link a user, other name":   {http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","wordpress_user_id":"801"}`, "POST /customers", "write_users"},
	"change a first name":       {http.MethodPut, "/bookings/7", `{"customer":{"first_name":"New"}}`, "PUT /bookings/:id", "write_customers"},
	"change a last name":        {http.MethodPut, "/bookings/7", `{"customer.last_name":"New"}`, "PUT /bookings/:id", "write_customers"},
	"change an e-mail":          {http.MethodPut, "/bookings/7", `{"customer":{"email":"new@example.test"},"notes":"x"}`, "PUT /bookings/:id", "write_customers"},
	"change a phone":            {http.MethodPut, "/bookings/7", `{"customer":{"phone":"+493099"}}`, "PUT /bookings/:id", "write_customers"},
	"take a phone away":         {http.MethodPut, "/bookings/7", `{"customer":{"phone":""}}`, "PUT /bookings/:id", "write_customers"},
	"change another customer":   {http.MethodPut, "/bookings/7", `{"customer_id":9,"customer":{"phone":"+493099"}}`, "PUT /bookings/:id", "write_customers"},
	"fill the e-mail of a user": {http.MethodPut, "/bookings/8", `{"customer":{"email":"new@example.test"}}`, "PUT /bookings/:id", "write_customers"},
	"availability of a booking": {http.MethodGet, "/availability?booking_id=7&date=2027-02-05", "", "GET /availability", "read_bookings"},
	"changes of bookings":       {http.MethodGet, "/changes?resources=bookings", "", "GET /changes", "read_bookings"},
	"changes of customers":      {http.MethodGet, "/changes?resources=customers", "", "GET /changes", "read_customers"},
	"changes of orders":         {http.MethodGet, "/changes?resources=orders", "", "GET /changes", "read_orders"},
	"changes of invoices":       {http.MethodGet, "/changes?resources=invoices", "", "GET /changes", "read_orders"},
	"changes of payments":       {http.MethodGet, "/changes?resources=payments", "", "GET /changes", "read_payments"},
	"changes of services":       {http.MethodGet, "/changes?resources=services", "", "GET /changes", "read_services"},
	"changes of agents":         {http.MethodGet, "/changes?resources=agents", "", "GET /changes", "read_agents"},
	"changes of locations":      {http.MethodGet, "/changes?resources=locations", "", "GET /changes", "read_locations"},
	"changes of coupons":        {http.MethodGet, "/changes?resources=coupons", "", "GET /changes", "read_coupons"},
	"cancel what is completed":  {http.MethodPut, "/bookings/11", `{"status":"cancelled"}`, "PUT /bookings/:id", "delete_bookings"},
	"cancel by its own path":    {http.MethodPost, "/bookings/11/cancel", `{}`, "POST /bookings/:id/cancel", "delete_bookings"},
}

// TestAdditionalPermissions sends requests that need a second permission with every other permission, and
// then with the two.
func TestAdditionalPermissions(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	arrangeCustomers(t, s.database)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'completed' WHERE id = 11")
	rows := map[string]bool{}
	for _, r := range handlers.Routes() {
		for _, permission := range r.Also {
			rows[r.Method+" "+r.Path+" "+permission] = false
		}
	}
	before := s.database.Snapshot(t)
	for name, c := range alsoNeeded {
		rows[c.route+" "+c.also] = true
		all := append(permissions(), "read_changes", "write_users")
		short, _, _ := strings.Cut(c.also, "_")
		without := slices.DeleteFunc(all, func(p string) bool { return p == c.also || p == short && c.also != "write_users" })
		s.key = s.newKey(without...)
		between := before.Again(t)
		a := s.write(c.method, c.path, c.body).want(http.StatusForbidden)
		expect.Equal[any](t, c.also, a.at("error", "details", "required_permission"), fmt.Sprintf("%s: the permission needed", name))
		for _, change := range summarizeChanges(fixtures.Changes(between, before.Again(t))) {
			if !strings.HasPrefix(change, "bookside_api_keys") {
				t.Errorf("%s: rejected, but written: %s", name, change)
			}
		}
		resource, _, _ := strings.Cut(strings.Split(c.path, "/")[1], "?")
		route := map[string]string{http.MethodGet: "read_", http.MethodPost: "write_", http.MethodPut: "write_"}[c.method] + resource
		if a := s.as([]string{route, c.also}, c.method, c.path, c.body); a.status >= http.StatusBadRequest {
			t.Errorf("%s: with both: %d %s", name, a.status, a.body)
		}
		before.Restore(t)
	}
	for row, tested := range rows {
		if !tested {
			t.Errorf("no case for %s", row)
		}
	}
}

// arrangeCustomers gives booking 7 to a customer with all fields filled in, booking 8 to one who has a user
// but no e-mail address, and booking 10 to one who has only an e-mail address. User 801 may be linked.
func arrangeCustomers(t testing.TB, database *fixtures.Database) {
	t.Helper()
	database.MakeCustomersUsers(t)
	database.Execute(t,
		`INSERT INTO wp_users (ID, user_login, user_email, user_nicename) VALUES (801, 'rita', 'rita@example.test', 'rita'), (802, 'otto', 'otto@example.test', 'otto')`,
		`INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (801, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (802, 'wp_capabilities', 'a:1:{s:8:"customer";b:1;}')`,
		`INSERT INTO wp_latepoint_customers (id, uuid, first_name, last_name, email, phone, status, wordpress_user_id) VALUES
			(8001, 'u8001', 'Known', 'Well', 'known@example.test', '+4930', 'active', NULL), (8002, 'u8002', 'Otto', 'User', '', '', 'active', 802),
			(8003, 'u8003', '', '', 'unknown@example.test', '', 'active', NULL), (8044, 'u8044', 'Paid', 'Only', '', '', 'active', NULL)`,
		"INSERT INTO wp_latepoint_orders (id, customer_id, status, fulfillment_status, payment_status) VALUES (8044, 8044, 'open', 'not_fulfilled', 'fully_paid')",
		"INSERT INTO wp_latepoint_transactions (order_id, kind, status, amount) VALUES (8044, 'capture', 'succeeded', 5)",
		"UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 8001 WHERE id = 7",
		"UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 8002 WHERE id = 8",
		"UPDATE wp_latepoint_bookings SET status = 'approved', customer_id = 8003 WHERE id = 10",
		"UPDATE wp_latepoint_customers SET phone = '+4930' WHERE id = 9")
}

// TestCompletingACustomerNeedsNoPermission: a booking may add missing fields
// of its customer, and repeat those that the key may read.
func TestCompletingACustomerNeedsNoPermission(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	arrangeCustomers(t, s.database)
	before := s.database.Snapshot(t)
	writeOnly := []string{"write_bookings"}
	for name, c := range map[string]struct {
		permissions        []string
		method, path, body string
		want               string // the change of the customer's row
	}{
		"what is known":          {[]string{"write_bookings", "read_bookings"}, http.MethodPut, "/bookings/7", `{"customer":{"first_name":"Known","last_name":" Well ","email":"known@example.test","phone":"+49 30"}}`, ""},
		"what is unknown":        {writeOnly, http.MethodPut, "/bookings/10", `{"customer":{"first_name":"Una","last_name":"Known","phone":"1"}}`, "first_name=Una last_name=Known phone=1"},
		"a new booking's":        {writeOnly, http.MethodPost, "/bookings", friday("customer_id", "null", "customer", `{"first_name":"Una","last_name":"Known","email":"unknown@example.test","phone":"1"}`), "first_name=Una last_name=Known phone=1"},
		"not over what is known": {writeOnly, http.MethodPost, "/bookings", friday("customer_id", "null", "customer", `{"first_name":"Una","last_name":"Known","email":"known@example.test","phone":"1"}`), ""},
	} {
		if a := s.as(c.permissions, c.method, c.path, c.body); a.status >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		got := ""
		for _, change := range summarizeChanges(fixtures.Changes(before, before.Again(t))) {
			if row, ok := strings.CutPrefix(change, "customers update"); ok {
				got = strings.TrimSpace(strings.Replace(row, " now", "", 1))
			}
		}
		expect.Equal(t, c.want, got, fmt.Sprintf("%s: the customer changed", name))
		before.Restore(t)
	}
}

// TestUsersCannotBeProbed: without write_users a response reveals nothing about a WordPress user, and with
// it only that the user cannot be linked. Other invalid fields are reported regardless of the key's
// permissions.
func TestUsersCannotBeProbed(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	arrangeCustomers(t, s.database)
	s.database.Execute(t, "INSERT INTO wp_users (ID, user_login, user_email) VALUES (803, 'nobody', 'nobody@example.test'), (804, 'emptied', 'emptied@example.test')",
		"INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (804, 'wp_capabilities', 'a:0:{}')")
	before := s.database.Snapshot(t)
	for _, key := range [][]string{{"write"}, {"write", "write_users"}} {
		s.key = s.newKey(key...)
		s.get("/status").want(http.StatusOK)
		before := before.Again(t)
		for user, want := range map[string]rejection{
			"2147483647": badRequest("cms_user_id"), "1": unprocessable("cms_user_id"), "7": unprocessable("cms_user_id"),
			"803": unprocessable("cms_user_id"), "804": unprocessable("cms_user_id"), "802": unprocessable("cms_user_id"),
		} {
			a := s.write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","cms_user_id":`+user+`}`)
			if len(key) == 1 {
				wantCode(t, a, http.StatusForbidden, "insufficient_permissions")
				continue
			}
			want.check(t, fmt.Sprint(key, user), a)
		}
		unprocessable("customer.email").check(t, "e-mail", s.write(http.MethodPut, "/bookings/7", `{"customer":{"email":"x","phone":"1"}}`))
		wantNoWrites(t, fmt.Sprint(key), before)
	}
}

// TestBookingMetaOfAddOns: only custom fields, the plugin's own keys and configured keys of a booking's
// metadata are shown and searched, and never the keys for managing a booking.
func TestBookingMetaOfAddOns(t *testing.T) {
	s := ownServer(t, fixtures.Edge())
	values := map[string]string{
		"cf_new": "a1", "CF_CAPITAL": "a2", "price_breakdown": "a3", "vehicle": "a4", "zoom_join_url": "a5", "Zoom_Meeting_ID": "a6",
		"google_calendar_event_id": "a7", "": "a8", "xcf_new": "a9", "key_to_manage_for_me": "a10", "cfx": "a11",
		"Key_To_Manage_For_Agent": "a12", "KEY_TO_MANAGE_FOR_CUSTOMER": "a13", "keyxtoxmanagexshown": "a14", "the_key_to_manage_": "a15",
	}
	for key, value := range values {
		if _, err := s.database.SQL.ExecContext(t.Context(), "INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) VALUES (1, ?, ?)", key, value); err != nil {
			t.Fatal(err)
		}
	}
	s.database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name = 'custom_fields_for_booking'",
		`INSERT INTO wp_latepoint_settings (name, value) VALUES ('custom_fields_for_booking', '{"vehicle":{"label":"Vehicle"},"Key_To_Manage_for_agent":{"label":"x"}}')`)
	defined := []string{"cf_new", "CF_CAPITAL", "price_breakdown", "vehicle"}
	for name, c := range map[string]struct{ listed, shown []string }{
		"as it is":         {nil, defined},
		"with others":      {[]string{"zoom_join_url", "ZOOM_MEETING_ID", "not_there"}, append(slices.Clone(defined), "zoom_join_url", "Zoom_Meeting_ID")},
		"with secret ones": {[]string{"key_to_manage_for_me", "key_to_manage_for_agent"}, defined},
		"like secret ones": {[]string{"keyxtoxmanagexshown", "the_key_to_manage_"}, append(slices.Clone(defined), "keyxtoxmanagexshown", "the_key_to_manage_")},
	} {
		s.platform.Config.BookingMetaKeys = c.listed
		want := map[string]any{}
		for _, key := range c.shown {
			want[key] = values[key]
		}
		expect.Equal(t, any(want), s.get("/bookings/1").want(http.StatusOK).at("data", "meta"), fmt.Sprintf("%s, single", name))
		list := s.get("/bookings?include_meta=1&date_from=2026-12-01&date_to=2026-12-01").want(http.StatusOK)
		expect.Equal(t, any(want), list.at("data", 0, "meta"), fmt.Sprintf("%s, list", name))
		for key := range maps.Keys(values) {
			if key == "" {
				continue // an empty parameter counts as not sent
			}
			a, status := s.get("/bookings?meta_key="+key+"&meta_value="+values[key]), http.StatusBadRequest
			if slices.Contains(c.shown, key) {
				status = http.StatusOK
			}
			if a.status != status || status == http.StatusOK && len(a.records()) == 0 {
				t.Errorf("%s: %s: %d %s", name, key, a.status, a.body)
			}
		}
		wantContains(t, "id:1 ", fmt.Sprint(s.get("/bookings?meta_key=VEHICLE&meta_value=A4").records()), "%s: what is found in another letter case", name)
	}
}

// maskedKey creates a key with all permissions that masks personal data.
func (s *server) maskedKey() string {
	s.t.Helper()
	all := []string{"read", "write", "delete", "read_changes", "write_users", "write_webhooks"}
	secret, _ := createKey(s.t, s.keys, keys.NewKey{Permissions: all, MaskPersonal: true})
	return secret
}

// TestPersonalDataIsMaskedEverywhere writes a mark into all personal data and requests every route that
// reads: the mark appears without masking, and never with it.
func TestPersonalDataIsMaskedEverywhere(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := ownWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	const mark = "zzqq"
	s.database.Execute(t,
		"UPDATE wp_latepoint_customers SET email = CONCAT('c', id, '-zzqq@zzqq.example'), phone = CONCAT('zzqq ', id), notes = 'zzqq', admin_notes = 'zzqq'",
		"UPDATE wp_latepoint_agents SET email = CONCAT('a', id, '-zzqq@zzqq.example'), phone = 'zzqq'",
		"UPDATE wp_latepoint_orders SET customer_comment = 'zzqq', ip_address = 'zzqq', source_url = CONCAT('https://site.example/book?e=', 'zzqq#zzqq')",
		"UPDATE wp_latepoint_transactions SET notes = 'zzqq'",
		`UPDATE wp_latepoint_order_invoices SET data = '{"to":"zzqq"}'`,
		"UPDATE wp_latepoint_customer_meta SET meta_value = 'zzqq' WHERE meta_key LIKE 'cf%'",
		"UPDATE wp_latepoint_booking_meta SET meta_value = 'zzqq' WHERE meta_key LIKE 'cf%'",
		"UPDATE wp_latepoint_order_meta SET meta_value = 'zzqq' WHERE meta_key = 'notes'")
	for _, name := range []string{"address", "city", "state", "zipcode", "country", "gender"} {
		s.database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) SELECT id, '"+name+"', 'zzqq' FROM wp_latepoint_customers")
	}
	s.write(http.MethodPut, "/customers/9", `{"custom_fields":{"color":"zzqq"}}`).want(http.StatusOK)
	all, masked := s.key, s.maskedKey()
	shown := 0
	for _, r := range handlers.Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		for _, path := range limitedPaths(t, s, r.Path) {
			if regexp.MustCompile(`\b(search|email|phone|customer_email|customer_phone|meta_key)=|order_by=email`).MatchString(path) {
				continue // see TestMaskedKeysNeitherSearchNorWritePersonalData
			}
			s.key = all
			plain := s.get(path)
			s.key = masked
			a := s.get(path).want(plain.status)
			if strings.Contains(string(plain.body), mark) {
				shown++
			}
			if strings.Contains(string(a.body), mark) {
				t.Fatalf("GET %s: %s", path, a.body)
			}
			if tag := plain.header.Get("ETag"); tag != "" && strings.Contains(string(plain.body), mark) && tag == a.header.Get("ETag") {
				t.Errorf("GET %s: the same tag", path)
			}
		}
	}
	if shown < 40 {
		t.Errorf("only %d answers have personal data", shown)
	}
	// Masked data keep their form.
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'rita.neu@shop.example', phone = '+49 30 1234567' WHERE id = 9")
	customer := s.get("/customers/9").want(http.StatusOK)
	if email, phone := customer.at("data", "email"), customer.at("data", "phone"); email != "r***@***.example" || phone != "+** ** *****67" {
		t.Errorf("email %v, phone %v", email, phone)
	}
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'rita@localhost' WHERE id = 9")
	s.database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'date_of_birth', '1990-02-28')")
	customer = s.get("/customers/9").want(http.StatusOK)
	if email, born := customer.at("data", "email"), customer.at("data", "date_of_birth"); email != "r***@***" || born != "" {
		t.Errorf("email %v, born %v", email, born)
	}
	options := handlers.WebhookOptions(s.platform, s.keys, false)
	id := scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
	if record, found, err := options.Record(t.Context(), id, jobs.HookFilter{}, journal.Customers, 10); err != nil || !found || strings.Contains(string(record), mark) {
		t.Errorf("webhook: %s, found %t, %v", record, found, err)
	}
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday("customer_id", "10")+`]`).want(http.StatusCreated)
	if strings.Contains(string(bulk.body), mark) {
		t.Errorf("%s", bulk.body)
	}
}

// TestPersonalFieldsAreMasked: the fields of all responses with personal data have a mask, and no others.
func TestPersonalFieldsAreMasked(t *testing.T) {
	t.Parallel()
	personal := regexp.MustCompile(`^(email|phone|notes?|admin_notes|customer_comment|ip_address|source_url|address|city|state|zipcode|country|date_of_birth|gender|custom_fields|meta|item_data|cancellation_reason|reschedule_reason)$`)
	walked, masked := map[reflect.Type]bool{}, 0
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		if of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			walk(of.Elem())
		}
		if of.Kind() != reflect.Struct || walked[of] {
			return
		}
		walked[of] = true
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if of == reflect.TypeFor[compat.WebhookDelivery]() && name == "state" {
				continue // of the delivery
			}
			has, want := f.Tag.Get("mask") != "", personal.MatchString(name) || name == "data" && f.Type == reflect.TypeFor[*string]()
			expect.Equal(t, want, has, fmt.Sprintf("%s.%s: masked", of, f.Name))
			if has {
				masked++
			}
			walk(f.Type)
		}
	}
	for _, sample := range handlers.Samples() {
		walk(reflect.TypeOf(sample))
	}
	if masked < 30 {
		t.Errorf("only %d fields", masked)
	}
}

// TestMaskedKeysNeitherSearchNorWritePersonalData: every parameter that searches or sorts by personal data,
// and every field that holds it, is refused, in whatever format it is sent.
func TestMaskedKeysNeitherSearchNorWritePersonalData(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, fillLocks)
	s.key = s.maskedKey()
	s.get("/status").want(http.StatusOK)
	before := s.database.Snapshot(t)
	refused := func(a answer, name string) {
		t.Helper()
		if a.want(http.StatusForbidden).at("error", "code") != "personal_data_masked" || !strings.HasSuffix(fmt.Sprint(a.at("error", "message")), " "+name) {
			t.Errorf("%s", a.body)
		}
	}
	for path, names := range map[string][]string{
		"/bookings":  {"search", "customer_email", "customer_phone", "meta_key", "meta_value"},
		"/customers": {"search", "email", "phone"},
		"/agents":    {"search", "email", "phone"},
		"/orders":    {"search"},
		"/payments":  {"search"},
		"/locations": {"search"},
	} {
		for _, name := range names {
			refused(s.get(path+"?"+name+"=a"), name)
		}
	}
	refused(s.get("/agents?order_by=email"), "order_by")
	refused(s.get("/agents?order_by=Phone"), "order_by")
	for _, c := range []struct{ method, path, contentType, body, name string }{
		{http.MethodPost, "/bookings", jsonType, friday("customer_id", "", "customer", newCustomer), "email"},
		{http.MethodPost, "/bookings", jsonType, friday("notes", `"x"`), "notes"},
		{http.MethodPost, "/bookings", formType, "customer[phone]=1&service_id=4", "phone"},
		{http.MethodPost, "/bookings?customer.email=x", jsonType, friday(), "customer.email"},
		{http.MethodPost, "/bookings?customer[email]=x", jsonType, friday(), "email"},
		{http.MethodPost, "/bookings?customer=" + url.QueryEscape(newCustomer), jsonType, friday("customer_id", ""), "email"},
		{http.MethodPost, "/bookings", jsonType, friday("customer_id", "", "customer", strconv.Quote(newCustomer)), "email"},
		{http.MethodPost, "/bookings", formType, "service_id=4&customer=" + url.QueryEscape(newCustomer), "email"},
		{http.MethodPost, "/bookings/bulk", jsonType, `[` + friday("notes", `"x"`) + `]`, "notes"},
		{http.MethodPost, "/bookings/bulk", jsonType, `{"bookings":` + strconv.Quote(` [`+friday("notes", `"x"`)+`]`) + `}`, "notes"},
		{http.MethodPost, "/bookings/bulk", jsonType, `[` + strconv.Quote(friday("customer_id", "", "customer", strconv.Quote(newCustomer))) + `]`, "email"},
		{http.MethodPut, "/bookings/7", jsonType, `{"customer":{"email":"x@example.test"}}`, "email"},
		{http.MethodPut, "/customers/9", jsonType, `{"phone":"1"}`, "phone"},
		{http.MethodPut, "/customers/9", jsonType, `{"custom_fields":{"color":"x"}}`, "custom_fields"},
		{http.MethodPut, "/customers/9", jsonType, `{"city":"x"}`, "city"},
		{http.MethodPut, "/customers/9", jsonType, `{"date_of_birth":"2000-01-01"}`, "date_of_birth"},
		{http.MethodPost, "/payments", jsonType, `{"order_id":10,"amount":1,"notes":"x"}`, "notes"},
		{http.MethodPut, "/orders/10", jsonType, `{"customer_comment":"x"}`, "customer_comment"},
		{http.MethodPut, "/orders/10", jsonType, `{"source_url":"https://site.example/"}`, "source_url"},
		{http.MethodPost, "/orders", jsonType, `{"customer_id":9,"source_url":""}`, "source_url"},
	} {
		a := s.writeAs(c.method, c.path, c.contentType, c.body).want(http.StatusForbidden)
		expect.Equal(t, "personal_data_masked", a.at("error", "code"), fmt.Sprintf("%s %s: %s", c.method, c.path, a.body))
	}
	wantNoWrites(t, "refused", before)
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	s.get("/services?search=a").want(http.StatusOK)
}
