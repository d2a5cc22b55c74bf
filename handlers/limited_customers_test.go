package handlers_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/upkeep"
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

// TestLimitedKeysTakeNobodyOver: making somebody the customer of a booking, by their e-mail address, reveals
// nothing about them and changes nothing: the booking shows them as they were described, to every limited key
// and in every form, and to all others as they are stored.
func TestLimitedKeysTakeNobodyOver(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := strangersSite(t)
	all, scope := s.key, domain.Scope{Agents: []int64{5}}
	first, other := s.limitedKey(scope), s.limitedKey(scope)
	for i, c := range []struct{ id, email, phone string }{{"7100", "zora@example.test", "777100"}, {"7101", "yara@example.test", "777101"}} {
		s.key = first
		described := fmt.Sprintf(`{"first_name":"Guéss","last_name":"Who","email":%q,"phone":"+49 30 5550"}`, strings.ToUpper(c.email[:1])+c.email[1:])
		body := friday("start_time", fmt.Sprintf(`"1%d:00"`, 3+2*i), "customer_id", "", "customer", described)
		before := s.database.Snapshot(t)
		dry := s.write(http.MethodPost, "/bookings?dry_run=true", body).want(http.StatusOK)
		if id := dry.at("data", "customer", "id"); fmt.Sprint(id) != "0" {
			t.Errorf("a dry run shows the id %v", id)
		}
		made := s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", c.id).want(http.StatusCreated)
		for _, change := range fixtures.Changes(before, before.Again(t)) {
			if change.Table == "latepoint_customers" && len(change.Changed) > 1 || change.Table == "users" || change.Table == "usermeta" {
				t.Errorf("customer %s: %s of %s: %v", c.id, change.Op, change.Table, change.Changed)
			}
		}
		booking := fmt.Sprint(made.at("data", "id"))
		again := s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", c.id).want(http.StatusCreated)
		moved := s.write(http.MethodPut, "/bookings/"+booking, `{"notes":"moved"}`).want(http.StatusOK)
		same := s.write(http.MethodPut, "/bookings/"+booking, `{}`).want(http.StatusOK)
		for _, s.key = range []string{first, other} {
			for _, a := range []answer{dry, made, again, moved, same, s.get("/bookings/" + booking)} {
				customer, _ := a.at("data", "customer").(map[string]any)
				if customer["first_name"] != "Guéss" || customer["last_name"] != "Who" || customer["phone"] != "+49305550" || a.at("data", "order") != nil {
					t.Errorf("customer %s: %s", c.id, a.body)
				}
			}
			for _, path := range []string{"/bookings?per_page=100", "/bookings?customer_id=" + c.id, "/bookings?search=Who", "/bookings?per_page=100&sort=customer_name", "/bookings/" + booking, "/changes?cursor=0&include=record"} {
				for _, accept := range []string{"application/json", "text/csv", "text/calendar"} {
					a := s.write(http.MethodGet, path, "", "Accept", accept)
					if text := string(a.body); strings.Contains(text, "zzqq") || strings.Contains(text, c.phone) || regexp.MustCompile(`[",](Zora|Yara)[",]`).MatchString(text) {
						t.Errorf("GET %s (%s): %s", path, accept, a.body)
					}
				}
			}
			for query, found := range map[string]int{
				"customer_phone=" + c.phone: 0, "customer_phone=5550": 1 + i, "customer_email=" + c.email: 1, "search=Quell&customer_id=" + c.id: 0, "search=gUESs": 1 + i, "search=" + c.email[:4]: 1, "customer_id=" + c.id: 1,
			} {
				if n := len(s.get("/bookings?" + query).want(http.StatusOK).records()); n != found {
					t.Errorf("GET /bookings?%s finds %d, want %d", query, n, found)
				}
			}
			if names := each(s.get("/bookings?sort=customer_name&order=asc&per_page=100&date_from=2027-02-05&date_to=2027-02-05").want(http.StatusOK).records(), func(b map[string]any) string {
				return fmt.Sprint(b["customer"].(map[string]any)["first_name"])
			}); !slices.IsSorted(names) {
				t.Errorf("sorted by what is stored: %v", names)
			}
		}
		options := handlers.WebhookOptions(s.platform, s.keys, false)
		key := scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
		if record, found, err := options.Record(t.Context(), key, webhooks.Filter{}, journal.Bookings, int64(idNumber(t, booking))); err != nil || !found || !strings.Contains(string(record), "Guéss") || strings.Contains(string(record), c.phone) {
			t.Errorf("webhook: %s, found %t, %v", record, found, err)
		}
		s.key = all
		if a := s.get("/bookings/" + booking).want(http.StatusOK); a.at("data", "customer", "last_name") != "Quell" || !strings.HasSuffix(fmt.Sprint(a.at("data", "customer", "phone")), c.phone) {
			t.Errorf("%s", a.body)
		}
		if n := len(s.get("/bookings?search=Quell&customer_id=" + c.id + "&agent_id=5").records()); n != 1 {
			t.Errorf("finds %d", n)
		}
	}
	// A customer named by id is one whom the key sees, as it sees them.
	s.key = other
	stored := s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-26"`, "customer_id", "7102")).want(http.StatusCreated)
	guessed := s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-26"`, "start_time", `"13:00"`, "customer_id", "7101")).want(http.StatusCreated)
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET phone = '+49309' WHERE id = 7102", "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE customer_id = 7102 AND id <> "+fmt.Sprint(stored.at("data", "id")))
	for _, a := range []answer{stored, s.get(fmt.Sprintf("/bookings/%v", stored.at("data", "id")))} {
		if a.at("data", "customer", "email") != "xaver@example.test" || a.at("data", "customer", "phone") != "+4930777102" {
			t.Errorf("%s", a.body)
		}
	}
	if a := s.get(fmt.Sprintf("/bookings/%v", guessed.at("data", "id"))); a.at("data", "customer", "first_name") != "Guéss" || a.at("data", "customer", "id") != guessed.at("data", "customer", "id") {
		t.Errorf("%s", a.body)
	}
	// What is kept goes with the booking.
	s.write(http.MethodDelete, fmt.Sprintf("/bookings/%v?force=true", stored.at("data", "id")), "").want(http.StatusOK)
	if n, err := upkeep.NewSweeper(s.platform.DB, s.platform.Now, slog.New(slog.DiscardHandler)).Forget(t.Context()); err != nil || n != 1 {
		t.Errorf("%d rows swept, %v", n, err)
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
