package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers"
)

// TestWaysToSendAKey sends a key as a header, a bearer token and a query
// parameter.
func TestWaysToSendAKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	for name, request := range map[string]struct {
		path   string
		header http.Header
		status int
	}{
		"header":                    {"/v1/status", http.Header{"X-Api-Key": {s.key}}, 200},
		"bearer":                    {"/v1/status", http.Header{"Authorization": {"Bearer " + s.key}}, 200},
		"parameter":                 {"/v1/status?api_key=" + url.QueryEscape(s.key), nil, 200},
		"header before bearer":      {"/v1/status", http.Header{"X-Api-Key": {"wrong-key-of-somebody"}, "Authorization": {"Bearer " + s.key}}, 401},
		"empty header, then bearer": {"/v1/status", http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer " + s.key}}, 200},
		"the last parameter wins":   {"/v1/status?api_key=wrong&api_key=" + s.key, nil, 200},
		"bearer before parameter":   {"/v1/status?api_key=" + s.key, http.Header{"Authorization": {"Bearer wrong"}}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			if a := s.do(http.MethodGet, request.path, request.header); a.status != request.status {
				t.Errorf("status %d", a.status)
			}
		})
	}
	off := newServer(t, small(t), func(o *handlers.Options) { o.QueryParameter = "" })
	off.do(http.MethodGet, "/v1/status?api_key="+off.key, nil).want(http.StatusUnauthorized)
	if strings.Contains(s.log.String(), s.key) || strings.Contains(s.log.String(), s.key[len(s.key)-12:]) {
		t.Error("the log contains a key")
	}
}

// TestUseIsRecordedOnceAMinute reads last_used_at from the database.
func TestUseIsRecordedOnceAMinute(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	s.get("/status").want(http.StatusOK) // probes the schema
	header := http.Header{"X-Api-Key": {s.newKey("read")}}
	s.do(http.MethodGet, "/v1/status", header).want(http.StatusOK)
	first := s.log.last(t).Queries
	s.do(http.MethodGet, "/v1/status", header).want(http.StatusOK)
	if second := s.log.last(t).Queries; second != first-1 {
		t.Errorf("%d queries, then %d: the second use should not be written", first, second)
	}
	keys, err := s.keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := s.log.last(t).KeyID
	for _, key := range keys {
		if key.ID == id && string(key.LastUsedAt) != now.Format(time.DateTime) {
			t.Errorf("last used at %q", key.LastUsedAt)
		}
	}
}

// TestImportedKeysOfAnyFormAreValid authenticates with imported keys of any
// form.
func TestImportedKeysOfAnyFormAreValid(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	n := keys.NewKey{Name: "imported", Kind: keys.Live, Permissions: []string{"read_services"}}
	for _, secret := range []string{"lp_" + strings.Repeat("aB3dE", 8), "lp_live_of-the-old-kind", "lp_short", "x", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"} {
		if _, err := s.keys.Import(t.Context(), secret, n, true); err != nil {
			t.Fatalf("import: %v", err)
		}
		s.do(http.MethodGet, "/v1/services", http.Header{"X-Api-Key": {secret}}).want(http.StatusOK)
		s.do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {secret}}).want(http.StatusForbidden)
		if _, err := s.keys.Import(t.Context(), secret, n, true); !errors.Is(err, keys.ErrBadKey) {
			t.Errorf("a second import: %v", err)
		}
	}
	for _, weak := range []string{"mR8xQz31LkPw0aB", strings.Repeat("x", 16)} {
		if _, err := s.keys.Import(t.Context(), weak, n, false); !errors.Is(err, keys.ErrWeakKey) {
			t.Errorf("%s, where weak ones are not allowed: %v", weak, err)
		}
	}
	if _, err := s.keys.Import(t.Context(), "mR8xQz31LkPw0aBc", n, false); err != nil {
		t.Errorf("16 characters: %v", err)
	}
	for name, secret := range map[string]string{
		"none": "", "long": strings.Repeat("x", 256), "spaces": "lp_with spaces in it", "not ASCII": "lp_schlüssel_schlüssel",
		"ours, misspelt": s.key[:20] + "?" + s.key[21:],
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.keys.Import(t.Context(), secret, n, true); !errors.Is(err, keys.ErrBadKey) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestKeyOutsideItsNetworksLooksUnknown: a key used outside its networks gets
// the same response as an unknown key, and the log names the key. Forwarded
// addresses count only behind trusted proxies.
func TestKeyOutsideItsNetworksLooksUnknown(t *testing.T) {
	t.Parallel()
	_, proxies, err := net.ParseCIDR("192.0.2.0/24") // httptest's peer is 192.0.2.1
	if err != nil {
		t.Fatal(err)
	}
	direct := newServer(t, small(t), func(o *handlers.Options) { o.RateLimit.Enabled = true })
	proxied := newServer(t, small(t), func(o *handlers.Options) { o.RateLimit.Enabled, o.TrustedProxies = true, []*net.IPNet{proxies} })
	for name, c := range map[string]struct {
		s         *server
		networks  string
		forwarded string
		status    int
	}{
		"inside":                  {direct, "198.51.100.0/24,192.0.2.1", "", 200},
		"outside":                 {direct, "198.51.100.0/24", "", 401},
		"forged":                  {direct, "198.51.100.0/24", "198.51.100.7", 401},
		"behind a proxy":          {proxied, "198.51.100.0/24", "198.51.100.7", 200},
		"behind, forged":          {proxied, "198.51.100.0/24", "198.51.100.7, 203.0.113.7", 401},
		"of the proxy, forwarded": {proxied, "192.0.2.0/24", "203.0.113.7", 401},
	} {
		t.Run(name, func(t *testing.T) {
			networks, err := keys.ParseNetworks(c.networks)
			if err != nil {
				t.Fatal(err)
			}
			secret, key, err := c.s.keys.Create(t.Context(), keys.NewKey{Name: name, Kind: keys.Live, Permissions: []string{"read"}, Networks: networks})
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{"X-Api-Key": {secret}}
			if c.forwarded != "" {
				header.Set("X-Forwarded-For", c.forwarded)
			}
			a := c.s.do(http.MethodGet, "/v1/bookings", header)
			if a.status != c.status {
				t.Errorf("%s: status %d", name, a.status)
			}
			logged := strings.Contains(c.s.log.String(), fmt.Sprintf(`"msg":"key sent from outside its networks","request_id":%q,"key_id":%d}`, a.header.Get("X-Request-Id"), key.ID))
			if logged != (c.status == http.StatusUnauthorized) {
				t.Errorf("%s: logged: %v", name, logged)
			}
			if c.status == http.StatusOK {
				return
			}
			header.Set("X-Api-Key", "lp_nobody_has_this_key")
			unknown := c.s.do(http.MethodGet, "/v1/bookings", header)
			for _, header := range []http.Header{a.header, unknown.header} {
				header.Del("X-Request-Id")
				header.Del("Server-Timing")
			}
			if diff := cmp.Diff(unknown.header, a.header); diff != "" || string(a.body) != string(unknown.body) {
				t.Errorf("%s: differs from an unknown key: %s%s", name, diff, a.body)
			}
			if stored, _, err := c.s.keys.Find(t.Context(), key.ID); err != nil || stored.LastUsedAt != "" {
				t.Errorf("%s: used at %q, %v", name, stored.LastUsedAt, err)
			}
		})
	}
}

// TestKeyOutsideItsNetworksIsThrottled: otherwise the throttle would reveal
// that the key exists.
func TestKeyOutsideItsNetworksIsThrottled(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.FailedKeysPerMinute = 2 })
	s.get("/status").want(http.StatusOK)
	networks, err := keys.ParseNetworks("198.51.100.0/24")
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := s.keys.Create(t.Context(), keys.NewKey{Name: "elsewhere", Kind: keys.Live, Permissions: []string{"read"}, Networks: networks})
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusUnauthorized, http.StatusTooManyRequests} {
		s.do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {secret}}).want(status)
	}
	s.get("/status").want(http.StatusOK)
}

// TestRestrictionIsImmediate changes the restrictions of a key in the database,
// one by one, while the server runs.
func TestRestrictionIsImmediate(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.RateLimit.Enabled = true })
	secret, key, err := s.keys.Create(t.Context(), keys.NewKey{Name: "first", Kind: keys.Live, Permissions: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	name, nine, past := "second", int64(9), now.Add(-time.Second)
	here, elsewhere := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	for _, step := range []struct {
		name   string
		patch  keys.Patch
		status int
	}{
		{"name", keys.Patch{Name: &name}, 200},
		{"foreign network", keys.Patch{Networks: &elsewhere}, 401},
		{"this network", keys.Patch{Networks: &here}, 200},
		{"anywhere", keys.Patch{Networks: &[]netip.Prefix{}}, 200},
		{"over", keys.Patch{ExpiresAt: &past}, 401},
		{"never over", keys.Patch{ExpiresAt: &time.Time{}}, 200},
		{"other permissions", keys.Patch{Permissions: []string{"write", "read_orders"}}, 403},
		{"permissions again", keys.Patch{Permissions: []string{"read_bookings"}}, 200},
		{"limit", keys.Patch{PerMinute: &nine}, 200},
	} {
		if _, found, err := s.keys.Restrict(t.Context(), key.ID, step.patch); !found || err != nil {
			t.Fatalf("%s: found %v, %v", step.name, found, err)
		}
		if a := s.do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {secret}}); a.status != step.status {
			t.Errorf("%s: status %d, want %d", step.name, a.status, step.status)
		}
	}
	a := s.do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {secret}})
	if got := a.header.Get("X-RateLimit-Limit"); got != "9" {
		t.Errorf("limit %s", got)
	}
	want := key
	want.Name, want.Permissions, want.PerMinute, want.LastUsedAt = name, []string{"read_bookings"}, &nine, domain.Timestamp(now.Format(time.DateTime))
	got, _, err := s.keys.Find(t.Context(), key.ID)
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, found, err := s.keys.Restrict(t.Context(), key.ID+1_000_000, keys.Patch{Name: &name}); found || err != nil {
		t.Errorf("an unknown key: found %v, %v", found, err)
	}
}

// TestInvalidKeysAreThrottled sends invalid keys from one address until it is
// throttled; a valid key that is in use is still accepted.
func TestInvalidKeysAreThrottled(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.FailedKeysPerMinute = 5 })
	s.get("/status").want(http.StatusOK)
	wrong := http.Header{"X-Api-Key": {"lp_nobody_has_this_key"}}
	for range 5 {
		s.do(http.MethodGet, "/v1/status", wrong).want(http.StatusUnauthorized)
	}
	a := s.do(http.MethodGet, "/v1/status", wrong).want(http.StatusTooManyRequests)
	if a.at("error", "code") != "rate_limit_exceeded" || a.header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", a.body, a.header.Get("Retry-After"))
	}
	s.do(http.MethodGet, "/v1/status", nil).want(http.StatusUnauthorized)
	s.get("/status").want(http.StatusOK)
}

// TestRateLimitOfAKey uses up a key's limit for a minute: its further requests
// are rejected, those of other keys are not.
func TestRateLimitOfAKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.RateLimit.Enabled = true })
	limit := func(n int64) *int64 { return &n }
	secret, _, err := s.keys.Create(t.Context(), keys.NewKey{Name: "slow", Kind: keys.Live, Permissions: []string{"read"}, PerMinute: limit(3), PerHour: limit(4)})
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"X-Api-Key": {secret}}
	for i, remaining := range []string{"2", "1", "0"} {
		a := s.do(http.MethodGet, "/v1/status", header).want(http.StatusOK)
		for name, want := range map[string]string{
			"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": "1795221840",
			"RateLimit-Policy": `"minute";q=3;w=60, "hour";q=4;w=3600`,
			"RateLimit":        fmt.Sprintf(`"minute";r=%s;t=60, "hour";r=%d;t=1020`, remaining, 3-i),
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s %q, want %q", name, got, want)
			}
		}
	}
	a := s.do(http.MethodGet, "/v1/status", header).want(http.StatusTooManyRequests)
	if want := `{"status":"error","error":{"code":"rate_limit_exceeded","message":"Rate limit exceeded"}}`; string(a.body) != want {
		t.Errorf("%s", a.body)
	}
	if got := a.header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After %q", got)
	}
	if got := s.get("/status").want(http.StatusOK).header.Get("X-RateLimit-Remaining"); got != "59" {
		t.Errorf("another key has %q requests left", got)
	}
}

// TestClientGoneIsNoServerError cancels a request: the log shows status 499,
// not a failure.
func TestClientGoneIsNoServerError(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/bookings", nil)
	request.Header.Set("X-Api-Key", s.key)
	s.handler.ServeHTTP(httptest.NewRecorder(), request)
	if status := s.log.last(t).Status; status != 499 {
		t.Errorf("status %d", status)
	}
}
