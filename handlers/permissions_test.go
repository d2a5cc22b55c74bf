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
	"github.com/bookside/bookside/handlers/apitest"
)

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
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	s.Database.Execute(t,
		"UPDATE wp_latepoint_orders SET ip_address = '192.0.2.1'",
		"UPDATE wp_latepoint_transactions SET token = CONCAT('tok_', id), status = 'failed'",
		`UPDATE wp_latepoint_order_invoices SET data = '{"to":"Ada<br>ada@example.test"}'`)
	var booking, customer, order, payment, invoice int
	s.Database.Scan(t, `SELECT b.id, b.customer_id, o.id, t.id, v.id FROM wp_latepoint_bookings b
		JOIN wp_latepoint_order_items i ON i.id = b.order_item_id JOIN wp_latepoint_orders o ON o.id = i.order_id
		JOIN wp_latepoint_transactions t ON t.order_id = o.id JOIN wp_latepoint_order_invoices v ON v.order_id = o.id
		WHERE b.status = 'approved' ORDER BY b.id LIMIT 1`, &booking, &customer, &order, &payment, &invoice)
	s.Database.Execute(t, exampleDayOff)
	fill := strings.NewReplacer("/time-off/:id", "/time-off/412", "/bookings/:id", fmt.Sprint("/bookings/", booking), "/customers/:id", fmt.Sprint("/customers/", customer),
		"/orders/:id", fmt.Sprint("/orders/", order), "/payments/:id", fmt.Sprint("/payments/", payment), ":invoice_id", fmt.Sprint(invoice),
		":transaction_id", fmt.Sprint(payment), ":code", "WELCOME10", ":id", "1")
	queries := map[string]string{
		"/availability":  bookedDay(s),
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
			s.T = t
			path := fill.Replace(r.Path) + queries[r.Path]
			everything := s.As([]string{"read", "read_changes", "write"}, r.Method, path, noHours).Want(http.StatusOK).Body
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
				want := apitest.Answer{T: t, Body: everything}.Object()
				for _, g := range guardedMembers[name] {
					if key.Holds(g.needs) {
						continue
					}
					if g.without(t, want, strings.Split(g.path, ".")) == 0 {
						t.Errorf("%s is empty for everybody: the case proves nothing", g.path)
					}
				}
				got := s.As(key.Permissions, r.Method, path, noHours).Want(http.StatusOK).Object()
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
func bookedDay(s *apitest.Server) string {
	s.T.Helper()
	for _, b := range s.Get("/bookings?status=approved&date_from=2026-11-23&per_page=100&order=asc").Want(http.StatusOK).Records() {
		service := b["service"].([]any)[0].(map[string]any)["id"]
		query := fmt.Sprintf("?service_id=%v&agent_id=%v&date=%v&explain=1", service, b["agent"].(map[string]any)["id"], b["start_date"])
		if a := s.Get("/availability" + query); a.Status == http.StatusOK && strings.Contains(string(a.Body), `"booking_id":`) {
			return query
		}
	}
	s.T.Fatal("no day has a start that conflicts with a booking")
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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name = 'log_customer_ip_address'",
		"INSERT INTO wp_latepoint_settings (name, value) VALUES ('log_customer_ip_address', 'on')")
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		path, body, write, read string
		member                  []any
		want                    any
	}{
		"booking": {"/bookings", apitest.Friday(), "write_bookings", "read_orders", []any{"data", "order", "ip_address"}, "192.0.2.1"},
		"order":   {"/orders", `{"customer_id":9,"subtotal":5,"total":5,"ip_address":"192.0.2.9"}`, "write_orders", "read_orders", []any{"ip_address"}, "192.0.2.9"},
		"payment": {"/payments", `{"order_id":888,"amount":5,"token":"tok_1"}`, "write_payments", "read_payments", []any{"data", "token"}, "tok_1"},
	} {
		expect.Equal(t, c.want, s.As([]string{c.write, c.read}, http.MethodPost, c.path, c.body).Want(http.StatusCreated).At(c.member...), fmt.Sprintf("%s with %s", name, c.read))
		before.Restore(t)
		expect.Equal(t, nil, s.As([]string{c.write, "delete"}, http.MethodPost, c.path, c.body).Want(http.StatusCreated).At(c.member...), fmt.Sprintf("%s without %s", name, c.read))
		before.Restore(t)
	}
}

// TestIncludesNeedTheirPermission: keys that may read both can include a customer's bookings; for others
// the request is rejected.
func TestIncludesNeedTheirPermission(t *testing.T) {
	s := apitest.Small(t)
	for _, word := range []string{"bookings", "upcoming_bookings", "past_bookings", "stats,Past_Bookings", "%20BOOKINGS%20", "nothing,bookings"} {
		a := s.As([]string{"read_customers"}, http.MethodGet, "/customers/1?include="+word, "").Want(http.StatusForbidden)
		want := `{"status":"error","error":{"code":"insufficient_permissions","message":"The API key lacks the permission read_bookings",` +
			`"details":{"required_permission":"read_bookings","current_permissions":["read_customers"]}}}`
		expect.Equal(t, want, string(a.Body), fmt.Sprintf("%s: %s", word, a.Body))
	}
	for _, word := range []string{"bookings", "upcoming_bookings", "past_bookings"} {
		a := s.As([]string{"read_customers", "read_bookings"}, http.MethodGet, "/customers/1?include="+word, "").Want(http.StatusOK)
		if _, ok := a.At("data", word).([]any); !ok {
			t.Errorf("%s: %s", word, a.Body)
		}
	}
	a := s.As([]string{"read_customers"}, http.MethodGet, "/customers/1?include=stats,notes", "").Want(http.StatusOK)
	for _, word := range []string{"bookings", "upcoming_bookings", "past_bookings"} {
		if _, shown := a.At("data").(map[string]any)[word]; shown {
			t.Errorf("%s are shown", word)
		}
	}
	// The list has no such parameter.
	s.As([]string{"read_customers"}, http.MethodGet, "/customers?include=bookings", "").Want(http.StatusOK)
}

// TestStoredResponsesObeyCurrentRights: a stored response is not sent again while its key has other rights, and
// the request is not processed again either.
func TestStoredResponsesObeyCurrentRights(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	may := []string{"read", "write"}
	secret, key := apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: may})
	s.Key = secret
	restrict := func(agents []int64, masked bool, permissions ...string) {
		t.Helper()
		if _, _, err := s.Keys.Restrict(t.Context(), key.ID, keys.Patch{Agents: &agents, MaskPersonal: &masked, Permissions: permissions}); err != nil {
			t.Fatal(err)
		}
	}
	first := s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "x").Want(http.StatusCreated)
	before := s.Database.Snapshot(t)
	for name, change := range map[string]func(){
		"permissions":  func() { restrict(nil, false, "write") },
		"more of them": func() { restrict(nil, false, "read", "write", "delete") },
		"an agent":     func() { restrict([]int64{1}, false, may...) },
		"agents":       func() { restrict([]int64{1, 5}, false, may...) },
		"a mask":       func() { restrict(nil, true, may...) },
	} {
		t.Run(name, func(t *testing.T) {
			s := *s
			s.T = t
			change()
			apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "x"), http.StatusForbidden, "outside_key_limits")
			apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", apitest.Friday("duration", "30"), "Idempotency-Key", "x"), http.StatusUnprocessableEntity, "idempotency_key_reused")
		})
	}
	restrict(nil, false, may...)
	s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "x").WantReplayOf(t, first)
	apitest.WantNoWrites(t, "repetitions", before)
	restrict(nil, true, may...)
	masked := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`), "Idempotency-Key", "z").Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`), "Idempotency-Key", "z").WantReplayOf(t, masked)
}

// TestSentContactsAreNotCompared: a key that may read neither bookings nor customers gets the same error
// whether or not a contact that it sends with a booking is the stored one. Missing contacts it may fill in.
func TestSentContactsAreNotCompared(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	booking := s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)).Want(http.StatusCreated)
	path := fmt.Sprintf("/bookings/%v", booking.At("data", "id"))
	customer, _ := booking.At("data", "customer").(map[string]any)
	changed := map[string]string{"first_name": "Guess", "last_name": "Guess", "email": "guess@example.test", "phone": "+493055501"}
	used, _ := s.Get("/customers/9").At("data").(map[string]any)
	blind, sighted := s.NewKey("write_bookings"), []string{s.NewKey("write_bookings", "read_bookings"), s.NewKey("write_bookings", "read_customers")}
	s.Blind = true
	for field, other := range changed {
		stored, _ := customer[field].(string)
		if stored == "" {
			t.Fatalf("the customer has no %s: %v", field, customer)
		}
		for _, query := range []string{"?force=true", ""} {
			body := func(value string) string { return fmt.Sprintf(`{"customer":{%q:%q}}`, field, value) }
			s.Key = blind
			same, different := s.Write(http.MethodPut, path+query, body(stored)), s.Write(http.MethodPut, path+query, body(other))
			if same.Status != http.StatusForbidden || !bytes.Equal(same.Body, different.Body) {
				t.Errorf("%s%s: the same is %d %s, another one %d %s", field, query, same.Status, same.Body, different.Status, different.Body)
			}
			if in := s.Write(http.MethodPut, path+query, body(fmt.Sprint(used[field]))); !bytes.Equal(same.Body, in.Body) {
				t.Errorf("%s%s: the same is %d %s, another customer's %d %s", field, query, same.Status, same.Body, in.Status, in.Body)
			}
			invalid := func(value string) apitest.Answer {
				return s.Write(http.MethodPut, path+query, fmt.Sprintf(`{"status":"bogus","customer":{%q:%q}}`, field, value))
			}
			if same, used := invalid(stored), invalid(fmt.Sprint(used[field])); !bytes.Equal(same.Body, used.Body) {
				t.Errorf("%s%s, beside a mistake: the same is %s, another customer's %s", field, query, same.Body, used.Body)
			}
			for _, s.Key = range sighted {
				s.Write(http.MethodPut, path+query, body(stored)).Want(http.StatusOK)
				s.Write(http.MethodPut, path+query, body(other)).Want(http.StatusForbidden)
			}
		}
	}
	s.Database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_customers SET phone = '' WHERE id = %v", customer["id"]))
	s.Key = blind
	s.Write(http.MethodPut, path, `{"customer":{"phone":"+493055502"}}`).Want(http.StatusOK)
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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	arrangeCustomers(t, s.Database)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'completed' WHERE id = 11")
	rows := map[string]bool{}
	for _, r := range handlers.Routes() {
		for _, permission := range r.Also {
			rows[r.Method+" "+r.Path+" "+permission] = false
		}
	}
	before := s.Database.Snapshot(t)
	for name, c := range alsoNeeded {
		rows[c.route+" "+c.also] = true
		all := append(permissions(), "read_changes", "write_users")
		short, _, _ := strings.Cut(c.also, "_")
		without := slices.DeleteFunc(all, func(p string) bool { return p == c.also || p == short && c.also != "write_users" })
		s.Key = s.NewKey(without...)
		between := before.Again(t)
		a := s.Write(c.method, c.path, c.body).Want(http.StatusForbidden)
		expect.Equal[any](t, c.also, a.At("error", "details", "required_permission"), fmt.Sprintf("%s: the permission needed", name))
		for _, change := range apitest.SummarizeChanges(fixtures.Changes(between, before.Again(t))) {
			if !strings.HasPrefix(change, "bookside_api_keys") {
				t.Errorf("%s: rejected, but written: %s", name, change)
			}
		}
		resource, _, _ := strings.Cut(strings.Split(c.path, "/")[1], "?")
		route := map[string]string{http.MethodGet: "read_", http.MethodPost: "write_", http.MethodPut: "write_"}[c.method] + resource
		if a := s.As([]string{route, c.also}, c.method, c.path, c.body); a.Status >= http.StatusBadRequest {
			t.Errorf("%s: with both: %d %s", name, a.Status, a.Body)
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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	arrangeCustomers(t, s.Database)
	before := s.Database.Snapshot(t)
	writeOnly := []string{"write_bookings"}
	for name, c := range map[string]struct {
		permissions        []string
		method, path, body string
		want               string // the change of the customer's row
	}{
		"what is known":          {[]string{"write_bookings", "read_bookings"}, http.MethodPut, "/bookings/7", `{"customer":{"first_name":"Known","last_name":" Well ","email":"known@example.test","phone":"+49 30"}}`, ""},
		"what is unknown":        {writeOnly, http.MethodPut, "/bookings/10", `{"customer":{"first_name":"Una","last_name":"Known","phone":"1"}}`, "first_name=Una last_name=Known phone=1"},
		"a new booking's":        {writeOnly, http.MethodPost, "/bookings", apitest.Friday("customer_id", "null", "customer", `{"first_name":"Una","last_name":"Known","email":"unknown@example.test","phone":"1"}`), "first_name=Una last_name=Known phone=1"},
		"not over what is known": {writeOnly, http.MethodPost, "/bookings", apitest.Friday("customer_id", "null", "customer", `{"first_name":"Una","last_name":"Known","email":"known@example.test","phone":"1"}`), ""},
	} {
		if a := s.As(c.permissions, c.method, c.path, c.body); a.Status >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
		}
		got := ""
		for _, change := range apitest.SummarizeChanges(fixtures.Changes(before, before.Again(t))) {
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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	arrangeCustomers(t, s.Database)
	s.Database.Execute(t, "INSERT INTO wp_users (ID, user_login, user_email) VALUES (803, 'nobody', 'nobody@example.test'), (804, 'emptied', 'emptied@example.test')",
		"INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (804, 'wp_capabilities', 'a:0:{}')")
	before := s.Database.Snapshot(t)
	for _, key := range [][]string{{"write"}, {"write", "write_users"}} {
		s.Key = s.NewKey(key...)
		s.Get("/status").Want(http.StatusOK)
		before := before.Again(t)
		for user, want := range map[string]apitest.Rejection{
			"2147483647": apitest.BadRequest("cms_user_id"), "1": apitest.Unprocessable("cms_user_id"), "7": apitest.Unprocessable("cms_user_id"),
			"803": apitest.Unprocessable("cms_user_id"), "804": apitest.Unprocessable("cms_user_id"), "802": apitest.Unprocessable("cms_user_id"),
		} {
			a := s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","cms_user_id":`+user+`}`)
			if len(key) == 1 {
				apitest.WantCode(t, a, http.StatusForbidden, "insufficient_permissions")
				continue
			}
			want.Check(t, fmt.Sprint(key, user), a)
		}
		apitest.Unprocessable("customer.email").Check(t, "e-mail", s.Write(http.MethodPut, "/bookings/7", `{"customer":{"email":"x","phone":"1"}}`))
		apitest.WantNoWrites(t, fmt.Sprint(key), before)
	}
}

// TestBookingMetaOfAddOns: only custom fields, the plugin's own keys and configured keys of a booking's
// metadata are shown and searched, and never the keys for managing a booking.
func TestBookingMetaOfAddOns(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	values := map[string]string{
		"cf_new": "a1", "CF_CAPITAL": "a2", "price_breakdown": "a3", "vehicle": "a4", "zoom_join_url": "a5", "Zoom_Meeting_ID": "a6",
		"google_calendar_event_id": "a7", "": "a8", "xcf_new": "a9", "key_to_manage_for_me": "a10", "cfx": "a11",
		"Key_To_Manage_For_Agent": "a12", "KEY_TO_MANAGE_FOR_CUSTOMER": "a13", "keyxtoxmanagexshown": "a14", "the_key_to_manage_": "a15",
	}
	for key, value := range values {
		if _, err := s.Database.SQL.ExecContext(t.Context(), "INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) VALUES (1, ?, ?)", key, value); err != nil {
			t.Fatal(err)
		}
	}
	s.Database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name = 'custom_fields_for_booking'",
		`INSERT INTO wp_latepoint_settings (name, value) VALUES ('custom_fields_for_booking', '{"vehicle":{"label":"Vehicle"},"Key_To_Manage_for_agent":{"label":"x"}}')`)
	defined := []string{"cf_new", "CF_CAPITAL", "price_breakdown", "vehicle"}
	for name, c := range map[string]struct{ listed, shown []string }{
		"as it is":         {nil, defined},
		"with others":      {[]string{"zoom_join_url", "ZOOM_MEETING_ID", "not_there"}, append(slices.Clone(defined), "zoom_join_url", "Zoom_Meeting_ID")},
		"with secret ones": {[]string{"key_to_manage_for_me", "key_to_manage_for_agent"}, defined},
		"like secret ones": {[]string{"keyxtoxmanagexshown", "the_key_to_manage_"}, append(slices.Clone(defined), "keyxtoxmanagexshown", "the_key_to_manage_")},
	} {
		s.Platform.Config.BookingMetaKeys = c.listed
		want := map[string]any{}
		for _, key := range c.shown {
			want[key] = values[key]
		}
		expect.Equal(t, any(want), s.Get("/bookings/1").Want(http.StatusOK).At("data", "meta"), fmt.Sprintf("%s, single", name))
		list := s.Get("/bookings?include_meta=1&date_from=2026-12-01&date_to=2026-12-01").Want(http.StatusOK)
		expect.Equal(t, any(want), list.At("data", 0, "meta"), fmt.Sprintf("%s, list", name))
		for key := range maps.Keys(values) {
			if key == "" {
				continue // an empty parameter counts as not sent
			}
			a, status := s.Get("/bookings?meta_key="+key+"&meta_value="+values[key]), http.StatusBadRequest
			if slices.Contains(c.shown, key) {
				status = http.StatusOK
			}
			if a.Status != status || status == http.StatusOK && len(a.Records()) == 0 {
				t.Errorf("%s: %s: %d %s", name, key, a.Status, a.Body)
			}
		}
		apitest.WantContains(t, "id:1 ", fmt.Sprint(s.Get("/bookings?meta_key=VEHICLE&meta_value=A4").Records()), "%s: what is found in another letter case", name)
	}
}

// TestPersonalDataIsMaskedEverywhere writes a mark into all personal data and requests every route that
// reads: the mark appears without masking, and never with it.
func TestPersonalDataIsMaskedEverywhere(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	const mark = "zzqq"
	s.Database.Execute(t,
		"UPDATE wp_latepoint_customers SET email = CONCAT('c', id, '-zzqq@zzqq.example'), phone = CONCAT('zzqq ', id), notes = 'zzqq', admin_notes = 'zzqq'",
		"UPDATE wp_latepoint_agents SET email = CONCAT('a', id, '-zzqq@zzqq.example'), phone = 'zzqq'",
		"UPDATE wp_latepoint_orders SET customer_comment = 'zzqq', ip_address = 'zzqq', source_url = CONCAT('https://site.example/book?e=', 'zzqq#zzqq')",
		"UPDATE wp_latepoint_transactions SET notes = 'zzqq'",
		`UPDATE wp_latepoint_order_invoices SET data = '{"to":"zzqq"}'`,
		"UPDATE wp_latepoint_customer_meta SET meta_value = 'zzqq' WHERE meta_key LIKE 'cf%'",
		"UPDATE wp_latepoint_booking_meta SET meta_value = 'zzqq' WHERE meta_key LIKE 'cf%'",
		"UPDATE wp_latepoint_order_meta SET meta_value = 'zzqq' WHERE meta_key = 'notes'")
	for _, name := range []string{"address", "city", "state", "zipcode", "country", "gender"} {
		s.Database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) SELECT id, '"+name+"', 'zzqq' FROM wp_latepoint_customers")
	}
	s.Write(http.MethodPut, "/customers/9", `{"custom_fields":{"color":"zzqq"}}`).Want(http.StatusOK)
	all, masked := s.Key, s.MaskedKey()
	shown := 0
	for _, r := range handlers.Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		for _, path := range limitedPaths(t, s, r.Path) {
			if regexp.MustCompile(`\b(search|email|phone|customer_email|customer_phone|meta_key)=|order_by=email`).MatchString(path) {
				continue // see TestMaskedKeysNeitherSearchNorWritePersonalData
			}
			s.Key = all
			plain := s.Get(path)
			s.Key = masked
			a := s.Get(path).Want(plain.Status)
			if strings.Contains(string(plain.Body), mark) {
				shown++
			}
			if strings.Contains(string(a.Body), mark) {
				t.Fatalf("GET %s: %s", path, a.Body)
			}
			if tag := plain.Header.Get("ETag"); tag != "" && strings.Contains(string(plain.Body), mark) && tag == a.Header.Get("ETag") {
				t.Errorf("GET %s: the same tag", path)
			}
		}
	}
	if shown < 40 {
		t.Errorf("only %d answers have personal data", shown)
	}
	// Masked data keep their form.
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'rita.neu@shop.example', phone = '+49 30 1234567' WHERE id = 9")
	customer := s.Get("/customers/9").Want(http.StatusOK)
	if email, phone := customer.At("data", "email"), customer.At("data", "phone"); email != "r***@***.example" || phone != "+** ** *****67" {
		t.Errorf("email %v, phone %v", email, phone)
	}
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'rita@localhost' WHERE id = 9")
	s.Database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'date_of_birth', '1990-02-28')")
	customer = s.Get("/customers/9").Want(http.StatusOK)
	if email, born := customer.At("data", "email"), customer.At("data", "date_of_birth"); email != "r***@***" || born != "" {
		t.Errorf("email %v, born %v", email, born)
	}
	options := handlers.WebhookOptions(s.Platform, s.Keys, false)
	id := apitest.Scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
	if record, found, err := options.Record(t.Context(), id, jobs.HookFilter{}, journal.Customers, 10); err != nil || !found || strings.Contains(string(record), mark) {
		t.Errorf("webhook: %s, found %t, %v", record, found, err)
	}
	bulk := s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday("customer_id", "10")+`]`).Want(http.StatusCreated)
	if strings.Contains(string(bulk.Body), mark) {
		t.Errorf("%s", bulk.Body)
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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	s.Key = s.MaskedKey()
	s.Get("/status").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
	refused := func(a apitest.Answer, name string) {
		t.Helper()
		if a.Want(http.StatusForbidden).At("error", "code") != "personal_data_masked" || !strings.HasSuffix(fmt.Sprint(a.At("error", "message")), " "+name) {
			t.Errorf("%s", a.Body)
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
			refused(s.Get(path+"?"+name+"=a"), name)
		}
	}
	refused(s.Get("/agents?order_by=email"), "order_by")
	refused(s.Get("/agents?order_by=Phone"), "order_by")
	for _, c := range []struct{ method, path, contentType, body, name string }{
		{http.MethodPost, "/bookings", apitest.JSONType, apitest.Friday("customer_id", "", "customer", apitest.NewCustomer), "email"},
		{http.MethodPost, "/bookings", apitest.JSONType, apitest.Friday("notes", `"x"`), "notes"},
		{http.MethodPost, "/bookings", apitest.FormType, "customer[phone]=1&service_id=4", "phone"},
		{http.MethodPost, "/bookings?customer.email=x", apitest.JSONType, apitest.Friday(), "customer.email"},
		{http.MethodPost, "/bookings?customer[email]=x", apitest.JSONType, apitest.Friday(), "email"},
		{http.MethodPost, "/bookings?customer=" + url.QueryEscape(apitest.NewCustomer), apitest.JSONType, apitest.Friday("customer_id", ""), "email"},
		{http.MethodPost, "/bookings", apitest.JSONType, apitest.Friday("customer_id", "", "customer", strconv.Quote(apitest.NewCustomer)), "email"},
		{http.MethodPost, "/bookings", apitest.FormType, "service_id=4&customer=" + url.QueryEscape(apitest.NewCustomer), "email"},
		{http.MethodPost, "/bookings/bulk", apitest.JSONType, `[` + apitest.Friday("notes", `"x"`) + `]`, "notes"},
		{http.MethodPost, "/bookings/bulk", apitest.JSONType, `{"bookings":` + strconv.Quote(` [`+apitest.Friday("notes", `"x"`)+`]`) + `}`, "notes"},
		{http.MethodPost, "/bookings/bulk", apitest.JSONType, `[` + strconv.Quote(apitest.Friday("customer_id", "", "customer", strconv.Quote(apitest.NewCustomer))) + `]`, "email"},
		{http.MethodPut, "/bookings/7", apitest.JSONType, `{"customer":{"email":"x@example.test"}}`, "email"},
		{http.MethodPut, "/customers/9", apitest.JSONType, `{"phone":"1"}`, "phone"},
		{http.MethodPut, "/customers/9", apitest.JSONType, `{"custom_fields":{"color":"x"}}`, "custom_fields"},
		{http.MethodPut, "/customers/9", apitest.JSONType, `{"city":"x"}`, "city"},
		{http.MethodPut, "/customers/9", apitest.JSONType, `{"date_of_birth":"2000-01-01"}`, "date_of_birth"},
		{http.MethodPost, "/payments", apitest.JSONType, `{"order_id":10,"amount":1,"notes":"x"}`, "notes"},
		{http.MethodPut, "/orders/10", apitest.JSONType, `{"customer_comment":"x"}`, "customer_comment"},
		{http.MethodPut, "/orders/10", apitest.JSONType, `{"source_url":"https://site.example/"}`, "source_url"},
		{http.MethodPost, "/orders", apitest.JSONType, `{"customer_id":9,"source_url":""}`, "source_url"},
	} {
		a := s.WriteAs(c.method, c.path, c.contentType, c.body).Want(http.StatusForbidden)
		expect.Equal(t, "personal_data_masked", a.At("error", "code"), fmt.Sprintf("%s %s: %s", c.method, c.path, a.Body))
	}
	apitest.WantNoWrites(t, "refused", before)
	s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	s.Get("/services?search=a").Want(http.StatusOK)
}
