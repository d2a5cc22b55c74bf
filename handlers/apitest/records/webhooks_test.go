package records_test

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
	"github.com/bookside/bookside/handlers/apitest"
)

// TestWebhooksOfAKey covers the life of a webhook: only the key that created it can see and change it, and
// its secret is shown only when it is created.
func TestWebhooksOfAKey(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	other := s.NewKey("read", "read_changes", "write_webhooks")
	a := s.Write(http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusCreated)
	secret, _ := a.At("data", "secret").(string)
	if !strings.HasPrefix(secret, "whsec_") || a.At("data", "status") != "enabled" || fmt.Sprint(a.At("data", "agents")) != "[3]" {
		t.Errorf("%s", a.Body)
	}
	if a := s.Get("/webhooks/1").Want(http.StatusOK); strings.Contains(string(a.Body), "whsec_") || a.At("data", "url") != "https://example.test/hooks?token=1" || a.At("data", "include_record") != true {
		t.Errorf("%s", a.Body)
	}
	expect.Equal(t, 1, len(s.Get("/webhooks").Want(http.StatusOK).Records()), "webhooks")
	a = s.Write(http.MethodPut, "/webhooks/1", `{"agents":[],"status":"disabled","events":["coupon.deleted"]}`).Want(http.StatusOK)
	if a.At("data", "status") != "disabled" || a.At("data", "reason") != "disabled through the API" || len(a.At("data", "agents").([]any)) != 0 || a.At("data", "events", 0) != "coupon.deleted" || a.At("data", "name") != "shop" {
		t.Errorf("%s", a.Body)
	}
	if a := s.Write(http.MethodPut, "/webhooks/1", `{"status":"enabled"}`).Want(http.StatusOK); a.At("data", "status") != "enabled" || a.At("data", "reason") != "" {
		t.Errorf("%s", a.Body)
	}
	if fresh := s.Write(http.MethodPost, "/webhooks/1/rotate", `{"overlap_hours":1}`).Want(http.StatusOK); fresh.At("data", "secret") == secret || fresh.At("data", "old_secret_until") == nil {
		t.Errorf("%s", fresh.Body)
	}
	s.Write(http.MethodPost, "/webhooks/1/test", "").Want(http.StatusOK)
	if log := s.Get("/webhooks/1/deliveries?state=waiting").Want(http.StatusOK); log.At("data", 0, "event") != "bookside.test" || log.At("data", 0, "number") != nil {
		t.Errorf("%s", log.Body)
	}
	s.Write(http.MethodPost, "/webhooks/1/replay", `{"delivery_id":1}`).Want(http.StatusOK)
	s.Write(http.MethodPost, "/webhooks/1/replay", `{"delivery_id":99}`).Want(http.StatusBadRequest)
	s.Write(http.MethodPost, "/webhooks/1/replay", `{}`).Want(http.StatusBadRequest)

	own := s.Key
	s.Key = other
	expect.Equal(t, 0, len(s.Get("/webhooks").Want(http.StatusOK).Records()), "webhooks of another key")
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/webhooks/1", ""}, {http.MethodGet, "/webhooks/1/deliveries", ""}, {http.MethodPut, "/webhooks/1", `{"name":"x"}`}, {http.MethodDelete, "/webhooks/1", ""},
		{http.MethodPost, "/webhooks/1/test", ""}, {http.MethodPost, "/webhooks/1/rotate", ""}, {http.MethodPost, "/webhooks/1/replay", `{"delivery_id":1}`},
	} {
		s.Write(request.method, request.path, request.body).Want(http.StatusNotFound)
	}
	s.Key = own
	s.Write(http.MethodDelete, "/webhooks/1", "").Want(http.StatusOK)
	s.Get("/webhooks/1").Want(http.StatusNotFound)
}

// TestWebhooksOfAKeyAreCounted: of many concurrent requests, to two servers, no more succeed than the key
// and the site may have; the site's administrator may add more.
func TestWebhooksOfAKeyAreCounted(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	servers := []*apitest.Server{apitest.NewServer(t, database), apitest.NewServer(t, database)}
	const newWebhook = `{"url":"https://example.test/hooks","events":["booking.created"]}`
	add := func(requests int, keys ...string) {
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range requests {
			s := *servers[i%2]
			s.Key = keys[i/2%len(keys)]
			all.Go(func() {
				<-begin
				if a := s.Write(http.MethodPost, "/webhooks", newWebhook); a.Status != http.StatusCreated {
					a.Want(http.StatusUnprocessableEntity)
				}
			})
		}
		close(begin)
		all.Wait()
	}
	add(40, servers[0].Key)
	expect.Equal(t, 20, servers[0].Count("bookside_webhooks", "key_id = 1"), "webhooks of the key")
	var keys []string
	for range 8 {
		keys = append(keys, servers[0].NewKey("read", "read_changes", "write_webhooks"))
	}
	add(128, keys...)
	expect.Equal(t, 100, servers[0].Count("bookside_webhooks", "key_id > 0"), "webhooks of all keys")
	if _, _, err := servers[0].Hooks.Add(t.Context(), jobs.NewHook{URL: "https://example.test/hooks", Filter: jobs.HookFilter{Events: []string{"booking.created"}}}); err != nil {
		t.Errorf("the administrator's: %v", err)
	}
}

func TestWebhooksAreChecked(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
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
		if a := s.Write(http.MethodPost, "/webhooks", c.body).Want(c.status); a.At("error", "details", c.field) == nil {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
	s.Write(http.MethodPost, "/webhooks", apitest.NewWebhook, "Idempotency-Key", "a").Want(http.StatusBadRequest)
	s.Write(http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusCreated)
	s.Write(http.MethodPut, "/webhooks/1", `{"locations":[999]}`).Want(http.StatusUnprocessableEntity)
	// A key needs the permission to read what the events are about.
	s.As([]string{"write_webhooks", "read_changes", "read_bookings"}, http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusForbidden)
	s.As([]string{"write_webhooks", "read_bookings", "read_orders"}, http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusForbidden)
	s.As([]string{"write_webhooks", "read_changes", "read_bookings", "read_orders"}, http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusCreated)
	s.As([]string{"write_webhooks", "read_changes"}, http.MethodPost, "/webhooks", `{"url":"https://example.test/","events":["*"]}`).Want(http.StatusCreated)
	s.As([]string{"read", "write", "delete"}, http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusForbidden)
}

func TestConfigurationAllowsPrivateWebhooks(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	s.Hooks.AllowPrivate = true
	s.Write(http.MethodPost, "/webhooks", `{"url":"http://127.0.0.1:9000/","events":["*"]}`).Want(http.StatusCreated)
	expect.Equal(t, 1, apitest.Scalar[int](t, s, "SELECT allow_private FROM wp_bookside_webhooks"), "allow_private")
}

// TestRecordsForWebhooks: a webhook's record is the same as in its list, without what its key may not read.
func TestRecordsForWebhooks(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	options := handlers.WebhookOptions(s.Platform, s.Keys, false)
	all, found, err := options.Record(t.Context(), 0, jobs.HookFilter{}, journal.Bookings, 1)
	if err != nil || !found || !strings.Contains(string(all), `"email":"`) {
		t.Fatalf("%s, found %v, error %v", all, found, err)
	}
	list := s.Get("/bookings?per_page=100").Want(http.StatusOK)
	for _, b := range list.Records() {
		if b["id"] == float64(1) {
			expect.Equal(t, b, apitest.Answer{T: t, Body: all}.Object(), "the webhook alone, instead of in the list")
		}
	}
	if _, found, err := options.Record(t.Context(), 0, jobs.HookFilter{}, journal.Bookings, 8_000_000); err != nil || found {
		t.Errorf("found %v, error %v", found, err)
	}
	s.NewKey("read_orders")
	id := apitest.Scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
	guarded, found, err := options.Record(t.Context(), id, jobs.HookFilter{}, journal.Orders, apitest.Scalar[int64](t, s, "SELECT MIN(id) FROM wp_latepoint_orders"))
	if err != nil || !found || !strings.Contains(string(guarded), `"id":`) {
		t.Errorf("%s, found %v, error %v", guarded, found, err)
	}
	entry, err := options.Encode(journal.Entry{Number: 3, Resource: journal.Bookings, ID: 4, Kind: journal.Updated, Origin: journal.Found, At: apitest.Now})
	if want := `{"number":3,"resource":"bookings","resource_id":4,"kind":"updated","at":"2026-11-21T00:43:00Z","origin":"found"}`; err != nil || string(entry) != want {
		t.Errorf("%s, error %v", entry, err)
	}
}
