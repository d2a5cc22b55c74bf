package handlers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestWaysToSendAKey sends a key as a header, a bearer token and a query
// parameter.
func TestWaysToSendAKey(t *testing.T) {
	s := apitest.Small(t)
	for name, request := range map[string]struct {
		path   string
		header http.Header
		status int
	}{
		"header":                    {"/v1/status", http.Header{"X-Api-Key": {s.Key}}, 200},
		"bearer":                    {"/v1/status", http.Header{"Authorization": {"Bearer " + s.Key}}, 200},
		"parameter":                 {"/v1/status?api_key=" + url.QueryEscape(s.Key), nil, 200},
		"header before bearer":      {"/v1/status", http.Header{"X-Api-Key": {"wrong-key-of-somebody"}, "Authorization": {"Bearer " + s.Key}}, 401},
		"empty header, then bearer": {"/v1/status", http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer " + s.Key}}, 200},
		"the last parameter wins":   {"/v1/status?api_key=wrong&api_key=" + s.Key, nil, 200},
		"bearer before parameter":   {"/v1/status?api_key=" + s.Key, http.Header{"Authorization": {"Bearer wrong"}}, 401},
	} {
		expect.Equal(t, request.status, s.Do(http.MethodGet, request.path, request.header).Status, fmt.Sprintf("%s: status", name))
	}
	off := apitest.NewServer(t, small(t), func(o *handlers.Options) { o.QueryParameter = "" })
	off.Do(http.MethodGet, "/v1/status?api_key="+off.Key, nil).Want(http.StatusUnauthorized)
	if strings.Contains(s.Log.String(), s.Key) || strings.Contains(s.Log.String(), s.Key[len(s.Key)-12:]) {
		t.Error("the log contains a key")
	}
}

// TestUseIsRecordedOnceAMinute reads last_used_at from the database.
func TestUseIsRecordedOnceAMinute(t *testing.T) {
	s := apitest.Small(t)
	s.Get("/status").Want(http.StatusOK) // probes the schema
	header := http.Header{"X-Api-Key": {s.NewKey("read")}}
	s.Do(http.MethodGet, "/v1/status", header).Want(http.StatusOK)
	first := s.Log.Last(t).Queries
	s.Do(http.MethodGet, "/v1/status", header).Want(http.StatusOK)
	expect.Equal(t, first-1, s.Log.Last(t).Queries, fmt.Sprintf("queries of the second use, which should not be written, after %d", first))
	keys, err := s.Keys.List(t.Context())
	expect.NoError(t, err)
	id := s.Log.Last(t).KeyID
	for _, key := range keys {
		if key.ID == id && string(key.LastUsedAt) != apitest.Now.Format(time.DateTime) {
			t.Errorf("last used at %q", key.LastUsedAt)
		}
	}
}

// TestImportedKeysOfAnyFormAreValid authenticates with imported keys of any
// form.
func TestImportedKeysOfAnyFormAreValid(t *testing.T) {
	s := apitest.Small(t)
	n := keys.NewKey{Name: "imported", Kind: keys.Live, Permissions: []string{"read_services"}}
	for _, secret := range []string{"lp_" + strings.Repeat("aB3dE", 8), "lp_live_of-the-old-kind", "lp_short", "x", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"} {
		if _, err := s.Keys.Import(t.Context(), secret, n, true); err != nil {
			t.Fatalf("import: %v", err)
		}
		s.Do(http.MethodGet, "/v1/services", http.Header{"X-Api-Key": {secret}}).Want(http.StatusOK)
		s.Do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {secret}}).Want(http.StatusForbidden)
		if _, err := s.Keys.Import(t.Context(), secret, n, true); !errors.Is(err, keys.ErrBadKey) {
			t.Errorf("a second import: %v", err)
		}
	}
	for _, weak := range []string{"mR8xQz31LkPw0aB", strings.Repeat("x", 16)} {
		if _, err := s.Keys.Import(t.Context(), weak, n, false); !errors.Is(err, keys.ErrWeakKey) {
			t.Errorf("%s, where weak ones are not allowed: %v", weak, err)
		}
	}
	if _, err := s.Keys.Import(t.Context(), "mR8xQz31LkPw0aBc", n, false); err != nil {
		t.Errorf("16 characters: %v", err)
	}
	for name, secret := range map[string]string{
		"none": "", "long": strings.Repeat("x", 256), "spaces": "lp_with spaces in it", "not ASCII": "lp_schlüssel_schlüssel",
		"ours, misspelt": s.Key[:20] + "?" + s.Key[21:],
	} {
		if _, err := s.Keys.Import(t.Context(), secret, n, true); !errors.Is(err, keys.ErrBadKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeyOutsideItsNetworksLooksUnknown: a key used outside its networks gets
// the same response as an unknown key, and the log names the key. Forwarded
// addresses count only behind trusted proxies.
func TestKeyOutsideItsNetworksLooksUnknown(t *testing.T) {
	t.Parallel()
	_, proxies, err := net.ParseCIDR("192.0.2.0/24") // httptest's peer is 192.0.2.1
	expect.NoError(t, err)
	direct := apitest.NewServer(t, small(t), func(o *handlers.Options) { o.RateLimit.Enabled = true })
	proxied := apitest.NewServer(t, small(t), func(o *handlers.Options) { o.RateLimit.Enabled, o.TrustedProxies = true, []*net.IPNet{proxies} })
	for name, c := range map[string]struct {
		s         *apitest.Server
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
		networks, err := keys.ParseNetworks(c.networks)
		expect.NoError(t, err)
		secret, key := apitest.CreateKey(t, c.s.Keys, keys.NewKey{Name: name, Kind: keys.Live, Permissions: []string{"read"}, Networks: networks})
		header := http.Header{"X-Api-Key": {secret}}
		if c.forwarded != "" {
			header.Set("X-Forwarded-For", c.forwarded)
		}
		a := c.s.Do(http.MethodGet, "/v1/bookings", header)
		expect.Equal(t, c.status, a.Status, fmt.Sprintf("%s: status", name))
		logged := strings.Contains(c.s.Log.String(), fmt.Sprintf(`"msg":"key sent from outside its networks","request_id":%q,"key_id":%d}`, a.Header.Get("X-Request-Id"), key.ID))
		expect.Equal(t, c.status == http.StatusUnauthorized, logged, fmt.Sprintf("%s: logged", name))
		if c.status == http.StatusOK {
			continue
		}
		header.Set("X-Api-Key", "lp_nobody_has_this_key")
		unknown := c.s.Do(http.MethodGet, "/v1/bookings", header)
		for _, header := range []http.Header{a.Header, unknown.Header} {
			header.Del("X-Request-Id")
			header.Del("Server-Timing")
		}
		if diff := cmp.Diff(unknown.Header, a.Header); diff != "" || string(a.Body) != string(unknown.Body) {
			t.Errorf("%s: differs from an unknown key: %s%s", name, diff, a.Body)
		}
		if stored, _, err := c.s.Keys.Find(t.Context(), key.ID); err != nil || stored.LastUsedAt != "" {
			t.Errorf("%s: used at %q, %v", name, stored.LastUsedAt, err)
		}
	}
}

// TestKeyOutsideItsNetworksIsThrottled: otherwise the throttle would reveal
// that the key exists.
func TestKeyOutsideItsNetworksIsThrottled(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.FailedKeysPerMinute = 2 })
	s.Get("/status").Want(http.StatusOK)
	secret, _ := apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: []string{"read"}, Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}})
	for _, status := range []int{http.StatusUnauthorized, http.StatusUnauthorized, http.StatusTooManyRequests} {
		s.Do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {secret}}).Want(status)
	}
	s.Get("/status").Want(http.StatusOK)
}

// TestRestrictionIsImmediate changes the restrictions of a key in the database,
// one by one, while the server runs.
func TestRestrictionIsImmediate(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.RateLimit.Enabled = true })
	secret, key := apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: []string{"read"}})
	name, nine, past := "second", int64(9), apitest.Now.Add(-time.Second)
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
		if _, found, err := s.Keys.Restrict(t.Context(), key.ID, step.patch); !found || err != nil {
			t.Fatalf("%s: found %v, %v", step.name, found, err)
		}
		expect.Equal(t, step.status, s.Do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {secret}}).Status, fmt.Sprintf("%s: status", step.name))
	}
	a := s.Do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {secret}})
	expect.Equal(t, "9", a.Header.Get("X-RateLimit-Limit"), "limit")
	want := key
	want.Name, want.Permissions, want.PerMinute, want.LastUsedAt = name, []string{"read_bookings"}, &nine, domain.Timestamp(apitest.Now.Format(time.DateTime))
	got, _, err := s.Keys.Find(t.Context(), key.ID)
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, found, err := s.Keys.Restrict(t.Context(), key.ID+1_000_000, keys.Patch{Name: &name}); found || err != nil {
		t.Errorf("an unknown key: found %v, %v", found, err)
	}
}

// TestInvalidKeysAreThrottled sends invalid keys from one address until it is
// throttled; a valid key that is in use is still accepted.
func TestInvalidKeysAreThrottled(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.FailedKeysPerMinute = 5 })
	s.Get("/status").Want(http.StatusOK)
	wrong := http.Header{"X-Api-Key": {"lp_nobody_has_this_key"}}
	for range 5 {
		s.Do(http.MethodGet, "/v1/status", wrong).Want(http.StatusUnauthorized)
	}
	a := s.Do(http.MethodGet, "/v1/status", wrong).Want(http.StatusTooManyRequests)
	if a.At("error", "code") != "rate_limit_exceeded" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", a.Body, a.Header.Get("Retry-After"))
	}
	s.Do(http.MethodGet, "/v1/status", nil).Want(http.StatusUnauthorized)
	s.Get("/status").Want(http.StatusOK)
}

// TestRateLimitOfAKey uses up a key's limit for a minute: its further requests
// are rejected, those of other keys are not.
func TestRateLimitOfAKey(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.RateLimit.Enabled = true })
	limit := func(n int64) *int64 { return &n }
	secret, _ := apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: []string{"read"}, PerMinute: limit(3), PerHour: limit(4)})
	header := http.Header{"X-Api-Key": {secret}}
	for i, remaining := range []string{"2", "1", "0"} {
		a := s.Do(http.MethodGet, "/v1/status", header).Want(http.StatusOK)
		for name, want := range map[string]string{
			"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": "1795221840",
			"RateLimit-Policy": `"minute";q=3;w=60, "hour";q=4;w=3600`,
			"RateLimit":        fmt.Sprintf(`"minute";r=%s;t=60, "hour";r=%d;t=1020`, remaining, 3-i),
		} {
			expect.Equal(t, want, a.Header.Get(name), name)
		}
	}
	a := s.Do(http.MethodGet, "/v1/status", header).Want(http.StatusTooManyRequests)
	expect.Equal(t, `{"status":"error","error":{"code":"rate_limit_exceeded","message":"Rate limit exceeded"}}`, string(a.Body), "answer over the limit")
	expect.Equal(t, "60", a.Header.Get("Retry-After"), "Retry-After")
	expect.Equal(t, "59", s.Get("/status").Want(http.StatusOK).Header.Get("X-RateLimit-Remaining"), "requests that another key has left")
}

// TestClientGoneIsNoServerError cancels a request: the log shows status 499,
// not a failure.
func TestClientGoneIsNoServerError(t *testing.T) {
	s := apitest.Small(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/bookings", nil)
	request.Header.Set("X-Api-Key", s.Key)
	s.Serve(request)
	expect.Equal(t, 499, s.Log.Last(t).Status, "status")
}

// sender is where a request comes from: the peer's address, and what the headers claim.
type sender struct {
	peer      string
	forwarded []string
}

// guess sends an invalid key that is rejected without a query.
func guess(s *apitest.Server, from sender) int {
	s.T.Helper()
	misspelt := []byte(s.Key)
	misspelt[12] ^= 1
	return sendKeyTo(s, from, string(misspelt))
}

// sendKeyTo sends a key and returns the status.
func sendKeyTo(s *apitest.Server, from sender, key string) int {
	s.T.Helper()
	request := httptest.NewRequestWithContext(s.T.Context(), http.MethodGet, "/v1/status", nil)
	request.RemoteAddr = from.peer
	request.Header["X-Forwarded-For"] = from.forwarded
	request.Header.Set("X-Api-Key", key)
	return s.Serve(request).Status
}

// throttledServer returns a server with a limit of invalid keys, and the number of
// statements that it runs.
func throttledServer(t *testing.T, database *fixtures.Database, limit int) (*apitest.Server, *atomic.Int64) {
	t.Helper()
	statements := &atomic.Int64{}
	s := tappedServer(t, database, func(statement) error { statements.Add(1); return nil }, func(o *handlers.Options) { o.FailedKeysPerMinute = limit })
	if got := sendKeyTo(s, sender{peer: "198.51.100.99:1"}, s.Key); got != http.StatusOK { // probes the schema
		t.Fatalf("status %d", got)
	}
	statements.Store(0)
	return s, statements
}

// importKey imports a key of any length.
func importKey(s *apitest.Server, secret string) keys.Key {
	s.T.Helper()
	key, err := s.Keys.Import(s.T.Context(), secret, keys.NewKey{Name: "imported", Kind: keys.Live, Permissions: []string{"read"}}, true)
	expect.NoError(s.T, err)
	return key
}

// TestShortKeysCannotBeGuessed tries keys of four digits one after the other: none beyond the limit is
// looked up, not even the valid one, which is in use elsewhere.
func TestShortKeysCannotBeGuessed(t *testing.T) {
	t.Parallel()
	const limit = 20
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	for name, c := range map[string]struct {
		right string
		from  func(i int) sender
	}{
		"one address":      {"0312", func(i int) sender { return sender{peer: fmt.Sprintf("192.0.2.1:%d", 1000+i)} }},
		"one IPv6 network": {"0629", func(i int) sender { return sender{peer: fmt.Sprintf("[2001:db8:0:1::%x]:1", i)} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, statements := throttledServer(t, database, limit)
			importKey(s, c.right)
			if got := sendKeyTo(s, sender{peer: "198.51.100.7:1"}, c.right); got != http.StatusOK {
				t.Fatalf("its user got %d", got)
			}
			statements.Store(0)
			for i := range 1000 {
				want := http.StatusUnauthorized
				if i >= limit {
					want = http.StatusTooManyRequests
				}
				if got := sendKeyTo(s, c.from(i), fmt.Sprintf("%04d", i)); got != want {
					t.Fatalf("%04d got %d, want %d", i, got, want)
				}
			}
			expect.Equal(t, int64(limit), statements.Load(), fmt.Sprintf("statements for a limit of %d", limit))
		})
	}
}

// TestConcurrentGuessesStayWithinTheLimit: concurrent invalid keys do not
// exceed the limit together, and concurrent valid keys are not rejected.
func TestConcurrentGuessesStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 5
	s, statements := throttledServer(t, small(t), limit)
	other := s.NewKey("read")
	statements.Store(0)
	statuses := func(peer string, keys ...string) map[int]int {
		var wait sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		for _, key := range keys {
			wait.Go(func() {
				status := sendKeyTo(s, sender{peer: peer}, key)
				mu.Lock()
				got[status]++
				mu.Unlock()
			})
		}
		wait.Wait()
		return got
	}
	wrong := make([]string, 100)
	for i := range wrong {
		wrong[i] = fmt.Sprintf("lp_nobody_has_this_key_%d", i)
	}
	want := map[int]int{http.StatusUnauthorized: limit, http.StatusTooManyRequests: len(wrong) - limit}
	expect.Equal(t, want, statuses("192.0.2.1:1", wrong...), "wrong keys")
	if n := statements.Load(); n == 0 || n > limit { // several keys may share a statement
		t.Errorf("%d statements for a limit of %d", n, limit)
	}
	// Neither key was used from this address before, and one was never used.
	expect.Equal(t, map[int]int{http.StatusOK: 60}, statuses("192.0.2.2:1", slices.Repeat([]string{other, s.Key}, 30)...), "right keys")
}

// TestRecentKeysAreStillLookedUp: at an address over its limit, only keys that this
// process has accepted recently are looked up, and the database decides.
func TestRecentKeysAreStillLookedUp(t *testing.T) {
	t.Parallel()
	here, elsewhere := sender{peer: "192.0.2.1:1"}, sender{peer: "198.51.100.7:1"}
	use := func(from sender) func(*testing.T, *apitest.Server, keys.Key, string) {
		return func(_ *testing.T, s *apitest.Server, _ keys.Key, secret string) { sendKeyTo(s, from, secret) }
	}
	for name, c := range map[string]struct {
		length     int
		before     func(t *testing.T, s *apitest.Server, key keys.Key, secret string)
		want       int
		statements bool
	}{
		"never used":              {20, nil, 429, false},
		"in use here":             {20, use(here), 200, true},
		"in use elsewhere":        {20, use(elsewhere), 200, true},
		"short, never used":       {8, nil, 429, false},
		"short, in use here":      {8, use(here), 200, true},
		"short, in use elsewhere": {8, use(elsewhere), 429, false},
		"used half a day ago": {20, func(_ *testing.T, s *apitest.Server, _ keys.Key, secret string) {
			sendKeyTo(s, here, secret)
			s.Clock = s.Clock.Add(11 * time.Hour)
		}, 200, true},
		"used more than a day ago": {20, func(_ *testing.T, s *apitest.Server, _ keys.Key, secret string) {
			sendKeyTo(s, here, secret)
			s.Clock = s.Clock.Add(25 * time.Hour)
		}, 429, false},
		"used by an earlier process": {20, func(_ *testing.T, s *apitest.Server, _ keys.Key, secret string) {
			sendKeyTo(s, here, secret)
			s.Restart()
		}, 429, false},
		"in use, then revoked": {20, func(t *testing.T, s *apitest.Server, key keys.Key, secret string) {
			sendKeyTo(s, here, secret)
			revoke(t, s, key)
		}, 429, true},
		"revoked, and refused since": {20, func(t *testing.T, s *apitest.Server, key keys.Key, secret string) {
			sendKeyTo(s, here, secret)
			revoke(t, s, key)
			sendKeyTo(s, elsewhere, secret)
		}, 429, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, statements := throttledServer(t, small(t), 3)
			secret := rand.Text()[:c.length]
			key := importKey(s, secret)
			if c.before != nil {
				c.before(t, s, key, secret)
			}
			for range 4 {
				guess(s, here)
			}
			statements.Store(0)
			expect.Equal(t, c.want, sendKeyTo(s, here, secret), "status")
			if n := statements.Load(); (n > 0) != c.statements {
				t.Errorf("%d statements", n)
			}
			revoked := strings.Contains(name, "revoked")
			if got := sendKeyTo(s, sender{peer: "203.0.113.1:1"}, secret); (got == http.StatusOK) == revoked {
				t.Errorf("at another address: status %d", got)
			}
			s.Clock = s.Clock.Add(time.Minute)
			if got := sendKeyTo(s, here, secret); (got == http.StatusOK) == revoked {
				t.Errorf("in the next minute: status %d", got)
			}
		})
	}
}

func revoke(t *testing.T, s *apitest.Server, key keys.Key) {
	t.Helper()
	if found, err := s.Keys.Revoke(t.Context(), key.ID); !found || err != nil {
		t.Fatalf("found %v, %v", found, err)
	}
}

// TestOutagesAreNoInvalidKeys: a key that cannot be looked up does not count as
// invalid.
func TestOutagesAreNoInvalidKeys(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	s := tappedServer(t, small(t), func(statement) error {
		if down.Load() {
			return errors.New("out of order")
		}
		return nil
	}, func(o *handlers.Options) { o.FailedKeysPerMinute = 2 })
	from := sender{peer: "192.0.2.1:1"}
	down.Store(true)
	for range 5 {
		if got := sendKeyTo(s, from, s.Key); got != http.StatusInternalServerError {
			t.Fatalf("status %d", got)
		}
	}
	down.Store(false)
	expect.Equal(t, http.StatusOK, sendKeyTo(s, from, s.Key), "afterwards: status")
}

// TestAddressesOfOneClient sends one invalid key more than allowed, from two
// addresses: the second is rejected if both count as one client.
func TestAddressesOfOneClient(t *testing.T) {
	t.Parallel()
	var trusted []*net.IPNet
	for _, text := range []string{"10.0.0.0/8", "fd00::/8"} {
		_, network, err := net.ParseCIDR(text)
		expect.NoError(t, err)
		trusted = append(trusted, network)
	}
	through := func(forwarded ...string) sender { return sender{"10.0.0.1:4000", forwarded} }
	for name, c := range map[string]struct {
		first, second sender
		one           bool
	}{
		"one address, two ports":          {sender{peer: "192.0.2.1:1000"}, sender{peer: "192.0.2.1:2000"}, true},
		"two addresses":                   {sender{peer: "192.0.2.1:1000"}, sender{peer: "192.0.2.2:1000"}, false},
		"one IPv6 network":                {sender{peer: "[2001:db8:0:1::1]:1000"}, sender{peer: "[2001:db8:0:1:ffff::9]:1000"}, true},
		"two IPv6 networks":               {sender{peer: "[2001:db8:0:1::1]:1000"}, sender{peer: "[2001:db8:0:2::1]:1000"}, false},
		"IPv4, written as IPv6":           {sender{peer: "192.0.2.1:1000"}, sender{peer: "[::ffff:192.0.2.1]:1000"}, true},
		"two of IPv4, written as IPv6":    {sender{peer: "[::ffff:192.0.2.1]:1000"}, sender{peer: "[::ffff:192.0.2.2]:1000"}, false},
		"forged by a client":              {sender{"192.0.2.1:1000", []string{"203.0.113.1"}}, sender{"192.0.2.1:1000", []string{"203.0.113.2"}}, true},
		"forged as a proxy":               {sender{"192.0.2.1:1000", []string{"203.0.113.1, 10.0.0.2"}}, sender{"192.0.2.1:1000", []string{"203.0.113.2, 10.0.0.2"}}, true},
		"a proxy's clients":               {through("203.0.113.1"), through("203.0.113.2"), false},
		"a proxy's client":                {through("203.0.113.1"), through("203.0.113.1"), true},
		"forged before a proxy":           {through("198.51.100.1, 203.0.113.1"), through("198.51.100.2, 203.0.113.1"), true},
		"forged in a header of its own":   {through("198.51.100.1", "203.0.113.1"), through("198.51.100.2", "203.0.113.1"), true},
		"two proxies":                     {through("203.0.113.1, 10.0.0.2"), through("203.0.113.2, 10.0.0.2"), false},
		"two proxies, forged before them": {through("198.51.100.1, 203.0.113.1, 10.0.0.2"), through("198.51.100.2, 203.0.113.1, 10.0.0.2"), true},
		"a proxy that is not trusted":     {through("203.0.113.1, 172.16.0.1"), through("203.0.113.2, 172.16.0.1"), true},
		"an IPv6 proxy":                   {sender{"[fd00::1]:1000", []string{"2001:db8:0:1::1"}}, sender{"[fd00::1]:1000", []string{"2001:db8:0:2::1"}}, false},
		"one IPv6 network by a proxy":     {sender{"[fd00::1]:1000", []string{"2001:db8:0:1::1"}}, sender{"[fd00::1]:1000", []string{"[2001:db8:0:1::2]"}}, true},
		"garbage by a proxy":              {through("nobody"), through("nothing"), true},
		"garbage before an address":       {through("nobody, 203.0.113.1"), through("<script>, 203.0.113.1"), true},
		"garbage is the proxy itself":     {through("nobody"), through("10.0.0.1"), true},
		"an empty header":                 {through(""), through(), true},
		"peers without addresses":         {sender{peer: "@"}, sender{peer: ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.NewServer(t, small(t), func(o *handlers.Options) { o.FailedKeysPerMinute, o.TrustedProxies = 1, trusted })
			expect.Equal(t, http.StatusUnauthorized, guess(s, c.first), "the first one")
			want := http.StatusUnauthorized
			if c.one {
				want = http.StatusTooManyRequests
			}
			expect.Equal(t, want, guess(s, c.second), "the second one")
		})
	}
}

// TestTrackedClientsAreBounded sends invalid keys from more addresses than are tracked: additional ones are
// counted by network, and a client that fills the table slows down only its own network.
func TestTrackedClientsAreBounded(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.FailedKeysPerMinute = 1 })
	s.Get("/status").Want(http.StatusOK)
	for i := range 10_001 {
		if got := guess(s, sender{peer: fmt.Sprintf("[2001:db8:7:%x::1]:1", i)}); got != http.StatusUnauthorized {
			t.Fatalf("address %d got %d", i, got)
		}
	}
	for _, c := range []struct {
		peer string
		want int
	}{
		{"[2001:db8:7:ffff::1]:1", http.StatusTooManyRequests},
		{"[2001:db8:8::1]:1", http.StatusUnauthorized},
		{"[2001:db8:8:1::1]:1", http.StatusTooManyRequests},
		{"192.0.2.1:1", http.StatusUnauthorized},
		{"192.0.2.2:1", http.StatusTooManyRequests},
		{"192.0.3.2:1", http.StatusUnauthorized},
	} {
		expect.Equal(t, c.want, guess(s, sender{peer: c.peer}), c.peer)
	}
	for i := range 10_000 { // more networks than are tracked
		guess(s, sender{peer: fmt.Sprintf("10.%d.%d.1:1", i>>8, i&255)})
	}
	expect.Equal(t, http.StatusTooManyRequests, guess(s, sender{peer: "198.51.100.1:1"}), "a network beyond the tracked ones")
	s.Get("/status").Want(http.StatusOK)
	s.Clock = s.Clock.Add(time.Minute)
	expect.Equal(t, http.StatusUnauthorized, guess(s, sender{peer: "192.0.2.2:1"}), "in the next minute")
}
