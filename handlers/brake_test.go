package handlers_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bookside/handlers"
)

// sender is where a request comes from: the peer's address, and what it claims.
type sender struct {
	peer      string
	forwarded []string
}

// guess sends a wrong key, of which no database need be asked.
func (s *server) guess(from sender) int {
	s.t.Helper()
	misspelt := []byte(s.key)
	misspelt[12] ^= 1
	request := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/v1/status", nil)
	request.RemoteAddr = from.peer
	request.Header["X-Forwarded-For"] = from.forwarded
	request.Header.Set("X-Api-Key", string(misspelt))
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return recorder.Code
}

// TestWhoIsBraked sends one wrong key more than is allowed, from two addresses:
// the second is slowed where both are taken for one client.
func TestWhoIsBraked(t *testing.T) {
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
		s := newServer(t, small(t), func(o *handlers.Options) { o.FailedKeysPerMinute, o.TrustedProxies = 1, trusted })
		if got := s.guess(c.first); got != http.StatusUnauthorized {
			t.Errorf("%s: the first one got %d", name, got)
		}
		want := http.StatusUnauthorized
		if c.one {
			want = http.StatusTooManyRequests
		}
		if got := s.guess(c.second); got != want {
			t.Errorf("%s: the second one got %d, want %d", name, got, want)
		}
	}
}

// TestBrakeIsBounded sends wrong keys from more addresses than are told apart:
// those that come late are taken for one, until the next minute.
func TestBrakeIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.FailedKeysPerMinute = 1 })
	address := func(i int) sender { return sender{peer: fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)} }
	for i := range 10_001 {
		if got := s.guess(address(i)); got != http.StatusUnauthorized {
			t.Fatalf("address %d got %d", i, got)
		}
	}
	if got := s.guess(address(20_000)); got != http.StatusTooManyRequests {
		t.Errorf("a late address got %d", got)
	}
	s.get("/status").want(http.StatusOK)
	s.clock = s.clock.Add(time.Minute)
	if got := s.guess(address(20_000)); got != http.StatusUnauthorized {
		t.Errorf("in the next minute it got %d", got)
	}
}
