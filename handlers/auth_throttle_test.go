package handlers_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// sender is where a request comes from: the peer's address, and what the headers claim.
type sender struct {
	peer      string
	forwarded []string
}

// guess sends an invalid key that is rejected without a query.
func (s *server) guess(from sender) int {
	s.t.Helper()
	misspelt := []byte(s.key)
	misspelt[12] ^= 1
	return s.sendKey(from, string(misspelt))
}

// sendKey sends a key and returns the status.
func (s *server) sendKey(from sender, key string) int {
	s.t.Helper()
	request := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/v1/status", nil)
	request.RemoteAddr = from.peer
	request.Header["X-Forwarded-For"] = from.forwarded
	request.Header.Set("X-Api-Key", key)
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return recorder.Code
}

// throttledServer returns a server with a limit of invalid keys, and the number of
// statements that it runs.
func throttledServer(t *testing.T, database *fixtures.Database, limit int) (*server, *atomic.Int64) {
	t.Helper()
	statements := &atomic.Int64{}
	s := tappedServer(t, database, func(statement) error { statements.Add(1); return nil }, func(o *handlers.Options) { o.FailedKeysPerMinute = limit })
	if got := s.sendKey(sender{peer: "198.51.100.99:1"}, s.key); got != http.StatusOK { // probes the schema
		t.Fatalf("status %d", got)
	}
	statements.Store(0)
	return s, statements
}

// importKey imports a key of any length.
func (s *server) importKey(secret string) keys.Key {
	s.t.Helper()
	key, err := s.keys.Import(s.t.Context(), secret, keys.NewKey{Name: "imported", Kind: keys.Live, Permissions: []string{"read"}}, true)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// TestShortKeysCannotBeGuessed tries keys of four digits one after the other: none beyond the limit is
// looked up, not even the valid one, which is in use elsewhere.
func TestShortKeysCannotBeGuessed(t *testing.T) {
	t.Parallel()
	const limit = 20
	database := fixtures.New(t, fixtures.Small(now))
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
			s.importKey(c.right)
			if got := s.sendKey(sender{peer: "198.51.100.7:1"}, c.right); got != http.StatusOK {
				t.Fatalf("its user got %d", got)
			}
			statements.Store(0)
			for i := range 1000 {
				want := http.StatusUnauthorized
				if i >= limit {
					want = http.StatusTooManyRequests
				}
				if got := s.sendKey(c.from(i), fmt.Sprintf("%04d", i)); got != want {
					t.Fatalf("%04d got %d, want %d", i, got, want)
				}
			}
			if n := statements.Load(); n != limit {
				t.Errorf("%d statements for a limit of %d", n, limit)
			}
		})
	}
}

// TestConcurrentGuessesStayWithinTheLimit: concurrent invalid keys do not
// exceed the limit together, and concurrent valid keys are not rejected.
func TestConcurrentGuessesStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 5
	s, statements := throttledServer(t, small(t), limit)
	other := s.newKey("read")
	statements.Store(0)
	statuses := func(peer string, keys ...string) map[int]int {
		var wait sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		for _, key := range keys {
			wait.Go(func() {
				status := s.sendKey(sender{peer: peer}, key)
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
	if got := statuses("192.0.2.1:1", wrong...); !maps.Equal(got, want) {
		t.Errorf("wrong keys got %v, want %v", got, want)
	}
	if n := statements.Load(); n == 0 || n > limit { // several keys may share a statement
		t.Errorf("%d statements for a limit of %d", n, limit)
	}
	// Neither key was used from this address before, and one was never used.
	if got := statuses("192.0.2.2:1", slices.Repeat([]string{other, s.key}, 30)...); !maps.Equal(got, map[int]int{http.StatusOK: 60}) {
		t.Errorf("right keys got %v", got)
	}
}

// TestRecentKeysAreStillLookedUp: at an address over its limit, only keys that this
// process has accepted recently are looked up, and the database decides.
func TestRecentKeysAreStillLookedUp(t *testing.T) {
	t.Parallel()
	here, elsewhere := sender{peer: "192.0.2.1:1"}, sender{peer: "198.51.100.7:1"}
	use := func(from sender) func(*testing.T, *server, keys.Key, string) {
		return func(_ *testing.T, s *server, _ keys.Key, secret string) { s.sendKey(from, secret) }
	}
	for name, c := range map[string]struct {
		length     int
		before     func(t *testing.T, s *server, key keys.Key, secret string)
		want       int
		statements bool
	}{
		"never used":              {20, nil, 429, false},
		"in use elsewhere":        {20, use(elsewhere), 200, true},
		"short, in use here":      {8, use(here), 200, true},
		"short, in use elsewhere": {8, use(elsewhere), 429, false},
		"used half a day ago": {20, func(_ *testing.T, s *server, _ keys.Key, secret string) {
			s.sendKey(here, secret)
			s.clock = s.clock.Add(11 * time.Hour)
		}, 200, true},
		"used more than a day ago": {20, func(_ *testing.T, s *server, _ keys.Key, secret string) {
			s.sendKey(here, secret)
			s.clock = s.clock.Add(25 * time.Hour)
		}, 429, false},
		"used by an earlier process": {20, func(_ *testing.T, s *server, _ keys.Key, secret string) {
			s.sendKey(here, secret)
			s.restart()
		}, 429, false},
		"in use, then revoked": {20, func(t *testing.T, s *server, key keys.Key, secret string) {
			s.sendKey(here, secret)
			s.revoke(t, key)
		}, 429, true},
		"revoked, and refused since": {20, func(t *testing.T, s *server, key keys.Key, secret string) {
			s.sendKey(here, secret)
			s.revoke(t, key)
			s.sendKey(elsewhere, secret)
		}, 429, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, statements := throttledServer(t, small(t), 3)
			secret := rand.Text()[:c.length]
			key := s.importKey(secret)
			if c.before != nil {
				c.before(t, s, key, secret)
			}
			for range 4 {
				s.guess(here)
			}
			statements.Store(0)
			if got := s.sendKey(here, secret); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
			if n := statements.Load(); (n > 0) != c.statements {
				t.Errorf("%d statements", n)
			}
			revoked := strings.Contains(name, "revoked")
			if got := s.sendKey(sender{peer: "203.0.113.1:1"}, secret); (got == http.StatusOK) == revoked {
				t.Errorf("at another address: status %d", got)
			}
			s.clock = s.clock.Add(time.Minute)
			if got := s.sendKey(here, secret); (got == http.StatusOK) == revoked {
				t.Errorf("in the next minute: status %d", got)
			}
		})
	}
}

func (s *server) revoke(t *testing.T, key keys.Key) {
	t.Helper()
	if found, err := s.keys.Revoke(t.Context(), key.ID); !found || err != nil {
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
		if got := s.sendKey(from, s.key); got != http.StatusInternalServerError {
			t.Fatalf("status %d", got)
		}
	}
	down.Store(false)
	if got := s.sendKey(from, s.key); got != http.StatusOK {
		t.Errorf("afterwards: status %d", got)
	}
}

// TestAddressesOfOneClient sends one invalid key more than allowed, from two
// addresses: the second is rejected if both count as one client.
func TestAddressesOfOneClient(t *testing.T) {
	t.Parallel()
	var trusted []*net.IPNet
	for _, text := range []string{"10.0.0.0/8", "fd00::/8"} {
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
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
		"IPv4, written as IPv6":           {sender{peer: "192.0.2.1:1000"}, sender{peer: "[::ffff:192.0.2.1]:1000"}, true},
		"forged by a client":              {sender{"192.0.2.1:1000", []string{"203.0.113.1"}}, sender{"192.0.2.1:1000", []string{"203.0.113.2"}}, true},
		"a proxy's clients":               {through("203.0.113.1"), through("203.0.113.2"), false},
		"forged in a header of its own":   {through("198.51.100.1", "203.0.113.1"), through("198.51.100.2", "203.0.113.1"), true},
		"two proxies, forged before them": {through("198.51.100.1, 203.0.113.1, 10.0.0.2"), through("198.51.100.2, 203.0.113.1, 10.0.0.2"), true},
		"a proxy that is not trusted":     {through("203.0.113.1, 172.16.0.1"), through("203.0.113.2, 172.16.0.1"), true},
		"garbage before an address":       {through("nobody, 203.0.113.1"), through("<script>, 203.0.113.1"), true},
		"garbage is the proxy itself":     {through("nobody"), through("10.0.0.1"), true},
		"peers without addresses":         {sender{peer: "@"}, sender{peer: ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, small(t), func(o *handlers.Options) { o.FailedKeysPerMinute, o.TrustedProxies = 1, trusted })
			if got := s.guess(c.first); got != http.StatusUnauthorized {
				t.Errorf("the first one got %d", got)
			}
			want := http.StatusUnauthorized
			if c.one {
				want = http.StatusTooManyRequests
			}
			if got := s.guess(c.second); got != want {
				t.Errorf("the second one got %d, want %d", got, want)
			}
		})
	}
}

// TestTrackedClientsAreBounded sends invalid keys from more addresses than are tracked: additional ones are
// counted by network, and a client that fills the table slows down only its own network.
func TestTrackedClientsAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.FailedKeysPerMinute = 1 })
	s.get("/status").want(http.StatusOK)
	for i := range 10_001 {
		if got := s.guess(sender{peer: fmt.Sprintf("[2001:db8:7:%x::1]:1", i)}); got != http.StatusUnauthorized {
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
		t.Run(c.peer, func(t *testing.T) {
			if got := s.guess(sender{peer: c.peer}); got != c.want {
				t.Errorf("%s got %d, want %d", c.peer, got, c.want)
			}
		})
	}
	for i := range 10_000 { // more networks than are tracked
		s.guess(sender{peer: fmt.Sprintf("10.%d.%d.1:1", i>>8, i&255)})
	}
	if got := s.guess(sender{peer: "198.51.100.1:1"}); got != http.StatusTooManyRequests {
		t.Errorf("a network beyond the tracked ones got %d", got)
	}
	s.get("/status").want(http.StatusOK)
	s.clock = s.clock.Add(time.Minute)
	if got := s.guess(sender{peer: "192.0.2.2:1"}); got != http.StatusUnauthorized {
		t.Errorf("in the next minute it got %d", got)
	}
}
