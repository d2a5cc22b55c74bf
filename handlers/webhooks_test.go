package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

const newWebhook = `{"url":"https://example.test/hooks?token=1","events":["booking.created","order.*"],"agents":[3],"name":"shop","include_record":true}`

// TestWebhooksOfAKey covers the life of a webhook: only the key that created it can see and change it, and
// its secret is shown only when it is created.
func TestWebhooksOfAKey(t *testing.T) {
	s := ownServer(t, fixtures.Small(now))
	other := s.newKey("read", "read_changes", "write_webhooks")
	a := s.write(http.MethodPost, "/webhooks", newWebhook).want(http.StatusCreated)
	secret, _ := a.at("data", "secret").(string)
	if !strings.HasPrefix(secret, "whsec_") || a.at("data", "status") != "enabled" || fmt.Sprint(a.at("data", "agents")) != "[3]" {
		t.Errorf("%s", a.body)
	}
	if a := s.get("/webhooks/1").want(http.StatusOK); strings.Contains(string(a.body), "whsec_") || a.at("data", "url") != "https://example.test/hooks?token=1" || a.at("data", "include_record") != true {
		t.Errorf("%s", a.body)
	}
	expect.Equal(t, 1, len(s.get("/webhooks").want(http.StatusOK).records()), "webhooks")
	a = s.write(http.MethodPut, "/webhooks/1", `{"agents":[],"status":"disabled","events":["coupon.deleted"]}`).want(http.StatusOK)
	if a.at("data", "status") != "disabled" || a.at("data", "reason") != "disabled through the API" || len(a.at("data", "agents").([]any)) != 0 || a.at("data", "events", 0) != "coupon.deleted" || a.at("data", "name") != "shop" {
		t.Errorf("%s", a.body)
	}
	if a := s.write(http.MethodPut, "/webhooks/1", `{"status":"enabled"}`).want(http.StatusOK); a.at("data", "status") != "enabled" || a.at("data", "reason") != "" {
		t.Errorf("%s", a.body)
	}
	if fresh := s.write(http.MethodPost, "/webhooks/1/rotate", `{"overlap_hours":1}`).want(http.StatusOK); fresh.at("data", "secret") == secret || fresh.at("data", "old_secret_until") == nil {
		t.Errorf("%s", fresh.body)
	}
	s.write(http.MethodPost, "/webhooks/1/test", "").want(http.StatusOK)
	if log := s.get("/webhooks/1/deliveries?state=waiting").want(http.StatusOK); log.at("data", 0, "event") != "bookside.test" || log.at("data", 0, "number") != nil {
		t.Errorf("%s", log.body)
	}
	s.write(http.MethodPost, "/webhooks/1/replay", `{"delivery_id":1}`).want(http.StatusOK)
	s.write(http.MethodPost, "/webhooks/1/replay", `{"delivery_id":99}`).want(http.StatusBadRequest)
	s.write(http.MethodPost, "/webhooks/1/replay", `{}`).want(http.StatusBadRequest)

	own := s.key
	s.key = other
	expect.Equal(t, 0, len(s.get("/webhooks").want(http.StatusOK).records()), "webhooks of another key")
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/webhooks/1", ""}, {http.MethodGet, "/webhooks/1/deliveries", ""}, {http.MethodPut, "/webhooks/1", `{"name":"x"}`}, {http.MethodDelete, "/webhooks/1", ""},
		{http.MethodPost, "/webhooks/1/test", ""}, {http.MethodPost, "/webhooks/1/rotate", ""}, {http.MethodPost, "/webhooks/1/replay", `{"delivery_id":1}`},
	} {
		s.write(request.method, request.path, request.body).want(http.StatusNotFound)
	}
	s.key = own
	s.write(http.MethodDelete, "/webhooks/1", "").want(http.StatusOK)
	s.get("/webhooks/1").want(http.StatusNotFound)
}

// TestWebhooksOfAKeyAreCounted: of many concurrent requests, to two servers, no more succeed than the key
// and the site may have; the site's administrator may add more.
func TestWebhooksOfAKeyAreCounted(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	servers := []*server{newServer(t, database), newServer(t, database)}
	const newWebhook = `{"url":"https://example.test/hooks","events":["booking.created"]}`
	add := func(requests int, keys ...string) {
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range requests {
			s := *servers[i%2]
			s.key = keys[i/2%len(keys)]
			all.Go(func() {
				<-begin
				if a := s.write(http.MethodPost, "/webhooks", newWebhook); a.status != http.StatusCreated {
					a.want(http.StatusUnprocessableEntity)
				}
			})
		}
		close(begin)
		all.Wait()
	}
	add(40, servers[0].key)
	expect.Equal(t, 20, servers[0].count("bookside_webhooks", "key_id = 1"), "webhooks of the key")
	var keys []string
	for range 8 {
		keys = append(keys, servers[0].newKey("read", "read_changes", "write_webhooks"))
	}
	add(128, keys...)
	expect.Equal(t, 100, servers[0].count("bookside_webhooks", "key_id > 0"), "webhooks of all keys")
	if _, _, err := servers[0].hooks.Add(t.Context(), jobs.NewHook{URL: "https://example.test/hooks", Filter: jobs.HookFilter{Events: []string{"booking.created"}}}); err != nil {
		t.Errorf("the administrator's: %v", err)
	}
}

func TestWebhooksAreChecked(t *testing.T) {
	s := ownServer(t, fixtures.Small(now))
	for name, c := range map[string]struct {
		body   string
		status int
		field  string
	}{
		"no URL":                       {`{"events":["*"]}`, http.StatusBadRequest, "url"},
		"no events":                    {`{"url":"https://example.test/"}`, http.StatusBadRequest, "events"},
		"private address":              {`{"url":"http://169.254.169.254/latest","events":["*"]}`, http.StatusUnprocessableEntity, "url"},
		"localhost":                    {`{"url":"http://localhost:8081/","events":["*"]}`, http.StatusUnprocessableEntity, "url"},
		"password":                     {`{"url":"https://a:b@example.test/","events":["*"]}`, http.StatusUnprocessableEntity, "url"},
		"unknown event":                {`{"url":"https://example.test/","events":["booking.moved"]}`, http.StatusUnprocessableEntity, "events"},
		"bad id":                       {`{"url":"https://example.test/","events":["*"],"agents":[0]}`, http.StatusBadRequest, "agents"},
		"no such agent":                {`{"url":"https://example.test/","events":["*"],"agents":[3,999]}`, http.StatusUnprocessableEntity, "agents"},
		"no such service":              {`{"url":"https://example.test/","events":["*"],"services":[999]}`, http.StatusUnprocessableEntity, "services"},
		"allow_private is not a field": {`{"url":"http://10.0.0.1/","events":["*"],"allow_private":true}`, http.StatusUnprocessableEntity, "url"},
	} {
		if a := s.write(http.MethodPost, "/webhooks", c.body).want(c.status); a.at("error", "details", c.field) == nil {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	s.write(http.MethodPost, "/webhooks", newWebhook, "Idempotency-Key", "a").want(http.StatusBadRequest)
	s.write(http.MethodPost, "/webhooks", newWebhook).want(http.StatusCreated)
	s.write(http.MethodPut, "/webhooks/1", `{"locations":[999]}`).want(http.StatusUnprocessableEntity)
	// A key needs the permission to read what the events are about.
	s.as([]string{"write_webhooks", "read_changes", "read_bookings"}, http.MethodPost, "/webhooks", newWebhook).want(http.StatusForbidden)
	s.as([]string{"write_webhooks", "read_bookings", "read_orders"}, http.MethodPost, "/webhooks", newWebhook).want(http.StatusForbidden)
	s.as([]string{"write_webhooks", "read_changes", "read_bookings", "read_orders"}, http.MethodPost, "/webhooks", newWebhook).want(http.StatusCreated)
	s.as([]string{"write_webhooks", "read_changes"}, http.MethodPost, "/webhooks", `{"url":"https://example.test/","events":["*"]}`).want(http.StatusCreated)
	s.as([]string{"read", "write", "delete"}, http.MethodPost, "/webhooks", newWebhook).want(http.StatusForbidden)
}

func TestConfigurationAllowsPrivateWebhooks(t *testing.T) {
	s := ownServer(t, fixtures.Small(now))
	s.hooks.AllowPrivate = true
	s.write(http.MethodPost, "/webhooks", `{"url":"http://127.0.0.1:9000/","events":["*"]}`).want(http.StatusCreated)
	expect.Equal(t, 1, scalar[int](t, s, "SELECT allow_private FROM wp_bookside_webhooks"), "allow_private")
}

// TestRecordsForWebhooks: a webhook's record is the same as in its list, without what its key may not read.
func TestRecordsForWebhooks(t *testing.T) {
	s := ownServer(t, fixtures.Small(now))
	options := handlers.WebhookOptions(s.platform, s.keys, false)
	all, found, err := options.Record(t.Context(), 0, jobs.HookFilter{}, journal.Bookings, 1)
	if err != nil || !found || !strings.Contains(string(all), `"email":"`) {
		t.Fatalf("%s, found %v, error %v", all, found, err)
	}
	list := s.get("/bookings?per_page=100").want(http.StatusOK)
	for _, b := range list.records() {
		if b["id"] == float64(1) {
			expect.Equal(t, b, answer{t: t, body: all}.object(), "the webhook alone, instead of in the list")
		}
	}
	if _, found, err := options.Record(t.Context(), 0, jobs.HookFilter{}, journal.Bookings, 8_000_000); err != nil || found {
		t.Errorf("found %v, error %v", found, err)
	}
	s.newKey("read_orders")
	id := scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
	guarded, found, err := options.Record(t.Context(), id, jobs.HookFilter{}, journal.Orders, scalar[int64](t, s, "SELECT MIN(id) FROM wp_latepoint_orders"))
	if err != nil || !found || !strings.Contains(string(guarded), `"id":`) {
		t.Errorf("%s, found %v, error %v", guarded, found, err)
	}
	entry, err := options.Encode(journal.Entry{Number: 3, Resource: journal.Bookings, ID: 4, Kind: journal.Updated, Origin: journal.Found, At: now})
	if want := `{"number":3,"resource":"bookings","resource_id":4,"kind":"updated","at":"2026-11-21T00:43:00Z","origin":"found"}`; err != nil || string(entry) != want {
		t.Errorf("%s, error %v", entry, err)
	}
}
