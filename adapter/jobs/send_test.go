package jobs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/bookside/bookside/fixtures/expect"
)

// resolver is a DNS server with changing answers: one address for each query in turn, and the last one for
// all others.
func resolver(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	var asked atomic.Int64
	go func() {
		for buffer := make([]byte, 512); ; {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 {
				continue
			}
			query.Response, query.Additionals = true, nil
			if q := query.Questions[0]; q.Type == dnsmessage.TypeA {
				i := min(asked.Add(1), int64(len(addresses)))
				query.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addresses[i-1]).As4()},
				}}
			}
			if answer, err := query.Pack(); err == nil {
				_, _ = socket.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

// TestNameThatLeadsInsideIsRefused: the address is checked when the connection is made, so a name cannot
// lead to an address other than the checked one.
func TestNameThatLeadsInsideIsRefused(t *testing.T) {
	t.Parallel()
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	expect.NoError(t, err)
	names := resolver(t, "192.0.2.1", "127.0.0.1") // rebinding: the second query leads inside
	public := httpClientWith(names, true)
	url := "http://rebind.example.com:" + port
	first, second := send(t, public, url), send(t, public, url)
	if !errors.Is(first.err, errPrivate) || !errors.Is(second.err, errPrivate) || reached {
		t.Errorf("errors %v and %v, reached %v", first.err, second.err, reached)
	}
	expect.Equal(t, http.StatusOK, send(t, httpClientWith(names, false), url).status, "allowed")
}

func httpClientWith(names *net.Resolver, public bool) *http.Client {
	dialer := &net.Dialer{Resolver: names}
	if public {
		dialer.Control = refusePrivateAddress
	}
	return newHTTPClient(dialer)
}

func send(t *testing.T, via *http.Client, url string) answer {
	t.Helper()
	return (&client{public: via}).send(t.Context(), time.Now(), message{id: "evt_1", url: url, body: []byte(`{}`)})
}

// TestLoopbackIsRefusedUnlessAllowed uses the workers' client, with the address in the URL and with a name
// known to the system.
func TestLoopbackIsRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, url := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		m := message{id: "evt_1", url: url, body: []byte(`{}`)}
		c := newClient()
		if got := c.send(t.Context(), time.Now(), m); !errors.Is(got.err, errPrivate) {
			t.Errorf("%s: %+v", url, got)
		}
		m.private = true
		if got := c.send(t.Context(), time.Now(), m); !got.ok() {
			t.Errorf("%s, allowed: %+v", url, got)
		}
		m.private = false // not even over the connection that is open now
		if got := c.send(t.Context(), time.Now(), m); !errors.Is(got.err, errPrivate) {
			t.Errorf("%s, after it was allowed: %+v", url, got)
		}
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was used") }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	for _, c := range []*http.Client{newClient().public, newClient().anywhere} {
		if c.Transport.(*http.Transport).Proxy != nil {
			t.Error("the client has a proxy")
		}
		if got := send(t, c, "http://192.0.2.1:1/"); got.ok() {
			t.Errorf("%+v", got)
		}
	}
}

// TestAnswersAreBounded: only the beginning of a response is read, and long headers are a failure.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		serve  func(w http.ResponseWriter, r *http.Request)
		status int
		length int
		fails  bool
	}{
		{"endless body", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, 200, answerLength, false},
		{"long header", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
		}, 0, 0, true},
		{"many informational responses", func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				w.Header().Set("X-Long", strings.Repeat("x", 1000))
				w.WriteHeader(http.StatusEarlyHints)
			}
		}, 0, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(test.serve))
			defer server.Close()
			got := send(t, newClient().anywhere, server.URL)
			if got.status != test.status || len(got.text) != test.length || (got.err != nil) != test.fails {
				t.Errorf("status %d, %d bytes, error %v", got.status, len(got.text), got.err)
			}
		})
	}
}

func TestReceiverThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now()) // in place of sendLimit
	defer cancel()
	got := (&client{public: newClient().anywhere}).send(ctx, time.Now(), message{id: "evt_1", url: server.URL})
	if got.ok() || got.failure() != "no answer within 15s" {
		t.Errorf("%+v", got)
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url, want string // "" for an error
		private   bool
	}{
		{"https://example.com/hooks?token=1", "https://example.com/hooks?token=1", false},
		{" http://example.com:8080 ", "http://example.com:8080", false},
		{"https://[2606:4700::1]/", "https://[2606:4700::1]/", false},
		{"http://10.0.0.1/", "http://10.0.0.1/", true},
		{"http://localhost:9000/", "http://localhost:9000/", true},
		{"http://10.0.0.1/", "", false},
		{"http://[::1]/", "", false},
		{"http://LOCALHOST/", "", false},
		{"ftp://example.com/", "", true},
		{"file:///etc/passwd", "", true},
		{"gopher://example.com/", "", true},
		{"https://user:password@example.com/", "", true},
		{"https://user@example.com/", "", true},
		{"https://example.com/#a", "", true},
		{"https://example.com:0/", "", true},
		{"https://example.com:99999/", "", true},
		{"https://:443/", "", true},
		{"https://", "", true},
		{"example.com", "", true},
		{"https://example.com/\r\nX: y", "", true},
		{"https://example.com/" + strings.Repeat("a", maxURL), "", true},
		{"", "", true},
	} {
		t.Run(fmt.Sprintf("%.40s", test.url), func(t *testing.T) {
			t.Parallel()
			got, err := ParseURL(test.url, test.private)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%q, error %v", got, err)
			}
		})
	}
}

func TestMaskURL(t *testing.T) {
	t.Parallel()
	expect.Equal(t, "https://example.com/a?***", MaskURL("https://example.com/a?token=hush"))
	expect.Equal(t, "https://example.com/a", MaskURL("https://example.com/a"))
}

func TestParseEvents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"booking.created,customer.updated": "[booking.created customer.updated] <nil>",
		"booking.* , booking.* order.*":    "[booking.* order.*] <nil>",
		"*":                                "[*] <nil>",
		"booking.status_changed":           "[booking.status_changed] <nil>",
		"":                                 "[] write events such as booking.created,customer.updated, or * for all",
		"booking":                          `[] "booking" is not an event; write names such as booking.created, booking.* or *`,
		"order.status_changed":             `[] "order.status_changed" is not an event; write names such as booking.created, booking.* or *`,
		"bookside.test":                    `[] "bookside.test" is not an event; write names such as booking.created, booking.* or *`,
	} {
		got, err := ParseEvents(text)
		expect.Equal(t, want, fmt.Sprint(got, " ", err), text)
	}
	expect.Equal(t, 28, len(Events()), "events")
}

func TestParseIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"3": "[3] <nil>", "5, 3,5": "[3 5] <nil>",
		"": "[] write ids such as 3 or 3,5", "a": "[] write ids such as 3 or 3,5", "0": "[] write ids such as 3 or 3,5", "-1": "[] write ids such as 3 or 3,5",
		"99999999999": "[] write ids such as 3 or 3,5",
	} {
		got, err := ParseIDs(text)
		expect.Equal(t, want, fmt.Sprint(got, " ", err), text)
	}
}
