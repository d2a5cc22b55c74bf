package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// strangers are customers whose every field has a mark: 7100 has a booking of agent 1, 7101 has none, 7102
// has only bookings of agent 5. 7100 and 7102 are users of the site.
var strangers = []string{
	"INSERT INTO wp_users (ID, user_login, user_email, display_name) VALUES (7100, 'zora', 'zora@example.test', 'Zora'), (7102, 'xaver', 'xaver@example.test', 'Xaver')",
	`INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (7100, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (7102, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (7102, 'first_name', 'Xaver')`,
	"INSERT INTO wp_latepoint_customers (id, first_name, last_name, email, phone, status, notes, admin_notes, wordpress_user_id, created_at, updated_at) VALUES " +
		"(7100, 'Zora', 'Quell', 'zora@example.test', '+4930777100', 'active', 'zzqq', 'zzqq', 7100, '2026-01-01', '2026-01-01'), " +
		"(7101, 'Yara', 'Quell', 'yara@example.test', '+4930777101', 'active', 'zzqq', 'zzqq', NULL, '2026-01-01', '2026-01-01'), " +
		"(7102, 'Xaver', 'Quell', 'xaver@example.test', '+4930777102', 'active', 'note', 'admin', 7102, '2026-01-01', '2026-01-01')",
	"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) SELECT c.id, m.k, 'zzqq' FROM wp_latepoint_customers c JOIN (SELECT 'address' AS k UNION SELECT 'date_of_birth' UNION SELECT 'cf_zz') m WHERE c.id IN (7100, 7101)",
}

// strangersSite has the strangers and their bookings.
func strangersSite(t *testing.T) *server {
	t.Helper()
	s := usersSite(t)
	s.database.Execute(t, fillLocks)
	s.database.Execute(t, strangers...)
	s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-19"`, "customer_id", "7100")).want(http.StatusCreated)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE customer_id = 7100", "DELETE FROM wp_bookside_idempotency")
	s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-12"`, "customer_id", "7102")).want(http.StatusCreated)
	return s
}

// TestLimitedKeysTakeNobodyOver: making somebody the customer of a booking, by their e-mail address,
// reveals no more than their name, and changes nothing about them.
func TestLimitedKeysTakeNobodyOver(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := strangersSite(t)
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}})
	for i, c := range []struct{ id, email, phone string }{{"7100", "zora@example.test", "777100"}, {"7101", "yara@example.test", "777101"}} {
		described := fmt.Sprintf(`{"first_name":"Guess","last_name":"Who","email":%q,"phone":"+49 30 5550"}`, strings.ToUpper(c.email[:1])+c.email[1:])
		body := friday("start_time", fmt.Sprintf(`"1%d:00"`, 3+2*i), "customer_id", "", "customer", described)
		before := s.database.Snapshot(t)
		dry := s.write(http.MethodPost, "/bookings?dry_run=true", body).want(http.StatusOK)
		made := s.write(http.MethodPost, "/bookings", body).want(http.StatusCreated)
		for _, a := range []answer{dry, made} {
			customer, _ := a.at("data", "customer").(map[string]any)
			if customer["first_name"] != "Guess" || customer["phone"] != "+49305550" || strings.Contains(string(a.body), "Quell") {
				t.Errorf("customer %s: %s", c.id, a.body)
			}
		}
		for _, change := range fixtures.Changes(before, before.Again(t)) {
			if change.Table == "latepoint_customers" && len(change.Changed) > 1 || change.Table == "users" || change.Table == "usermeta" {
				t.Errorf("customer %s: %s of %s: %v", c.id, change.Op, change.Table, change.Changed)
			}
		}
		booking, order := fmt.Sprint(made.at("data", "id")), fmt.Sprint(made.at("data", "order", "id"))
		read := s.get("/customers/" + c.id).want(http.StatusOK)
		for name, want := range map[string]any{"first_name": "Zora", "last_name": "Quell", "phone": "+49305550", "notes": "", "admin_notes": "", "address": "", "date_of_birth": "", "cms_user_id": nil} {
			if got := read.at("data", name); got != want && (name != "first_name" || c.id == "7100") {
				t.Errorf("customer %s: %s is %v, want %v", c.id, name, got, want)
			}
		}
		if stats, _ := json.Marshal(read.at("data", "stats")); !strings.Contains(string(stats), `"total_bookings":"0"`) {
			t.Errorf("customer %s: %s", c.id, stats)
		}
		for _, path := range []string{"/customers?per_page=100", "/customers/" + c.id + "?include=bookings,past_bookings,upcoming_bookings", "/bookings?per_page=100&search=Quell", "/bookings/" + booking,
			"/bookings?customer_id=" + c.id, "/orders/" + order, "/orders/" + order + "/invoices", "/customers?search=Quell"} {
			for _, accept := range []string{"application/json", "text/csv", "text/calendar"} {
				a := s.write(http.MethodGet, path, "", "Accept", accept)
				if strings.Contains(string(a.body), "zzqq") || strings.Contains(string(a.body), c.phone) {
					t.Errorf("GET %s (%s): %s", path, accept, a.body)
				}
			}
		}
		for query, found := range map[string]int{"/customers?phone=" + c.phone: 0, "/bookings?customer_phone=" + c.phone: 0, "/customers?phone=5550": 1 + i, "/customers?status=active&first_name=" + "zor": 0, "/customers?cms_user_id=7100": 0} {
			if n := len(s.get(query).want(http.StatusOK).records()); n != found {
				t.Errorf("GET %s finds %d, want %d", query, n, found)
			}
		}
		options := handlers.WebhookOptions(s.platform, s.keys, false)
		key := scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
		for resource, id := range map[journal.Resource]string{journal.Customers: c.id, journal.Bookings: booking} {
			if record, found, err := options.Record(t.Context(), key, webhooks.Filter{}, resource, int64(idNumber(t, id))); err != nil || !found || strings.Contains(string(record), "zzqq") || strings.Contains(string(record), c.phone) {
				t.Errorf("webhook: %s, found %t, %v", record, found, err)
			}
		}
		before = s.database.Snapshot(t)
		for _, w := range []struct{ method, path, body string }{
			{http.MethodPut, "/customers/" + c.id, `{"phone":"+4930` + c.phone + `"}`},
			{http.MethodPut, "/customers/" + c.id, `{"email":"mine@example.test"}`},
			{http.MethodPut, "/customers/" + c.id, `{"notes":null}`},
			{http.MethodPut, "/customers/" + c.id, `{}`},
			{http.MethodPut, "/bookings/" + booking, `{"customer":{"phone":"+4930` + c.phone + `"}}`},
			{http.MethodPut, "/bookings/" + booking, `{"customer":{"email":"mine@example.test"}}`},
			{http.MethodPut, "/bookings/" + booking + "?dry_run=1", `{"customer":{"phone":"+4930` + c.phone + `"}}`},
			{http.MethodDelete, "/customers/" + c.id, ""},
		} {
			if a := s.write(w.method, w.path, w.body).want(http.StatusForbidden); a.at("error", "code") != "outside_key_limits" {
				t.Errorf("%s %s %s: %s", w.method, w.path, w.body, a.body)
			}
		}
		wantNoWrites(t, "refused", before)
	}
	// What another key sent is unknown to this one.
	first := s.key
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}})
	if a := s.get("/customers/7100").want(http.StatusOK); a.at("data", "email") != "" || a.at("data", "phone") != "" || a.at("data", "first_name") != "Zora" {
		t.Errorf("%s", a.body)
	}
	if n := len(s.get("/customers?email=zora").records()); n != 0 {
		t.Errorf("an address that the key did not send finds %d", n)
	}
	// Somebody else's booking that the key gives to a stranger does not make them its own.
	moved := fmt.Sprint(s.get("/bookings?customer_id=7102").at("data", 0, "id"))
	s.write(http.MethodPut, "/bookings/"+moved, `{"customer_id":7101}`).want(http.StatusOK)
	s.write(http.MethodPut, "/customers/7101", `{"notes":"x"}`).want(http.StatusForbidden)
	// The key that replaces another knows what that one created.
	s.key = first
	rolled, _, _, _, err := s.keys.Roll(t.Context(), scalar[int64](t, s, "SELECT MAX(id) - 1 FROM wp_bookside_api_keys"), time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	s.key = rolled
	if a := s.get("/customers/7101").want(http.StatusOK); a.at("data", "phone") != "+49305550" || a.at("data", "notes") != "" {
		t.Errorf("%s", a.body)
	}
}

// TestLimitedKeysHaveCustomersOfTheirOwn: customers whose records all lie within the scope, and those whom
// the key created. The site's users are nobody's.
func TestLimitedKeysHaveCustomersOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := strangersSite(t)
	all := s.key
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}})
	if a := s.get("/customers/7102").want(http.StatusOK); a.at("data", "email") != "xaver@example.test" || a.at("data", "admin_notes") != "admin" || fmt.Sprint(a.at("data", "cms_user_id")) != "7102" {
		t.Errorf("%s", a.body)
	}
	s.write(http.MethodPut, "/customers/7102", `{"first_name":"Xenia","phone":"+49 30 6"}`).want(http.StatusOK)
	s.write(http.MethodPut, "/customers/7102", `{"email":"mine@example.test"}`).want(http.StatusBadRequest)
	if n := s.count("users u JOIN wp_usermeta m ON m.user_id = u.ID AND m.meta_key = 'first_name'", "u.ID = 7102 AND u.user_email = 'xaver@example.test' AND m.meta_value = 'Xaver'"); n != 1 {
		t.Error("the user was changed")
	}
	// A customer whom the key created, even after a second booking by the same key.
	made := s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)).want(http.StatusCreated)
	id := fmt.Sprint(made.at("data", "customer", "id"))
	s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", "", "customer", newCustomer)).want(http.StatusCreated)
	s.write(http.MethodPut, "/customers/"+id, `{"notes":"mine","phone":"+49 30 7"}`).want(http.StatusOK)
	if a := s.get("/customers/" + id).want(http.StatusOK); a.at("data", "notes") != "mine" || a.at("data", "stats", "total_bookings") != "2" {
		t.Errorf("%s", a.body)
	}
	// No longer once somebody else adds a booking, an order or a payment for them. The key still sees what
	// it sent.
	limited := s.key
	for name, statements := range map[string][2]string{
		"a booking":              {"INSERT INTO wp_latepoint_bookings (id, booking_code, customer_id, agent_id, service_id, status, buffer_before, buffer_after) VALUES (99001, 'X', " + id + ", 1, 4, 'approved', 0, 0)", "DELETE FROM wp_latepoint_bookings WHERE id = 99001"},
		"an order":               {"INSERT INTO wp_latepoint_orders (id, customer_id) VALUES (99001, " + id + ")", "DELETE FROM wp_latepoint_orders WHERE id = 99001"},
		"a payment":              {"INSERT INTO wp_latepoint_transactions (id, customer_id, amount) VALUES (99001, " + id + ", 1)", "DELETE FROM wp_latepoint_transactions WHERE id = 99001"},
		"a payment of others":    {"INSERT INTO wp_latepoint_transactions (id, customer_id, order_id, amount) SELECT 99001, " + id + ", MAX(order_id), 1 FROM wp_latepoint_transactions", "DELETE FROM wp_latepoint_transactions WHERE id = 99001"},
		"a booking of the key's": {"UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE id = " + fmt.Sprint(made.at("data", "id")), ""},
	} {
		s.database.Execute(t, statements[0])
		a := s.get("/customers/" + id).want(http.StatusOK)
		s.key = limited
		if own := name == "a booking of the key's"; (a.at("data", "notes") == "mine") != own || a.at("data", "email") != "rita.neu@example.test" || a.at("data", "phone") != "+49307" {
			t.Errorf("%s: %s", name, a.body)
		}
		if statements[1] != "" {
			s.database.Execute(t, statements[1])
		}
	}
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5, 1}}) // another key, from which nothing is hidden
	if a := s.get("/customers/" + id).want(http.StatusOK); a.at("data", "notes") != "mine" {
		t.Errorf("%s", a.body)
	}
	s.key = all
	if a := s.get("/customers/" + id).want(http.StatusOK); a.at("data", "notes") != "mine" {
		t.Errorf("%s", a.body)
	}
}

// TestNewKeysInheritNothing: if the tables of keys and webhooks were emptied, new ones do not get the ids
// of old ones, with the records that these created and the deliveries that were sent to them.
func TestNewKeysInheritNothing(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	admin := s.key
	for range 3 { // so that the id of the key below exceeds those of new keys
		s.limitedKey(domain.Scope{Agents: []int64{5}})
	}
	old, key, err := s.keys.Create(t.Context(), keys.NewKey{Name: "old", Kind: keys.Live, Permissions: []string{"read", "write", "delete", "write_webhooks"}, Scope: domain.Scope{Agents: []int64{5}}})
	if err != nil {
		t.Fatal(err)
	}
	for what, statements := range map[string][]string{
		"a record":       {"INSERT INTO wp_bookside_key_records (key_id, resource, record_id, made, created_at) VALUES (%d, 'bookings', 1, 1, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_key_records"},
		"a webhook":      {"INSERT INTO wp_bookside_webhooks (name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at) VALUES ('', 'https://hook.example/', '*', '', '', '', 0, 0, %d, '', 'enabled', 0, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_webhooks"},
		"a hold":         {"INSERT INTO wp_bookside_holds SELECT NULL, %d, 1, 1, 1, '2027-01-01', '2027-01-01', 0, 0, 0, 0, 0, 1, UTC_TIMESTAMP(), UTC_TIMESTAMP(), ''", "TRUNCATE wp_bookside_holds"},
		"a change":       {"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, origin, actor_id, at) VALUES (1, 'bookings', 1, 'updated', 'api', %[1]d, UTC_TIMESTAMP()), (2, 'bookings', 1, 'updated', 'site', 99 + %[1]d, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_changes"},
		"a waiting one":  {"INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, actor_id, at) VALUES ('bookings', 1, 'updated', 'api', %d, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_change_inbox"},
		"nothing at all": {"DO %d", "DO 0"},
	} {
		s.database.Execute(t, "TRUNCATE wp_bookside_api_keys", fmt.Sprintf(statements[0], key.ID))
		want := key.ID + 1
		if what == "nothing at all" {
			want = 1
		}
		for i := range int64(2) {
			if _, fresh, err := s.keys.Create(t.Context(), keys.NewKey{Name: "new", Kind: keys.Live}); err != nil || fresh.ID != want+i {
				t.Errorf("%s: the new key has the id %d, want %d, %v", what, fresh.ID, want+i, err)
			}
		}
		s.database.Execute(t, statements[1])
	}
	for _, statement := range []string{
		"INSERT INTO wp_bookside_webhook_deliveries (webhook_id, event, resource, resource_id, at, data, status, tries, due_at, created_at) VALUES (7, 'booking.created', 'bookings', 1, UTC_TIMESTAMP(), '', 'delivered', 1, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
		"INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES (8, 1, UTC_TIMESTAMP(), 200, 1, '', '')",
	} {
		s.database.Execute(t, "TRUNCATE wp_bookside_webhooks", statement)
	}
	if _, err := s.keys.Import(t.Context(), admin, keys.NewKey{Name: "admin", Permissions: []string{"read", "write", "write_webhooks"}}, true); err != nil {
		t.Fatal(err)
	}
	for want := 9; want < 11; want++ {
		if id := s.write(http.MethodPost, "/webhooks", newWebhook).want(http.StatusCreated).at("data", "id"); fmt.Sprint(id) != fmt.Sprint(want) {
			t.Errorf("the new webhook has the id %v, want %d", id, want)
		}
	}
	s.key = old
	s.get("/status").want(http.StatusUnauthorized)
}
