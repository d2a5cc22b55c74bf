package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
)

// bareServer serves a handler with a memory limit for connections. Its counts of connections exist only for
// tests.
func bareServer(t *testing.T, memory int64, handler http.Handler) (address string, all *connections) {
	t.Helper()
	listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
	expect.NoError(t, err)
	all = newConnections(memory, func() {})
	server := http.Server{Handler: limitFields(handler), MaxHeaderBytes: maxHeader, ConnState: all.note, ReadHeaderTimeout: settings.Default().Limits.HeaderTimeout}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(&boundedListener{listener, all}) }()
	t.Cleanup(func() {
		_ = server.Close()
		expect.Error(t, http.ErrServerClosed, <-ended)
	})
	return listener.Addr().String(), all
}

// request sends a request over a connection and reads its response.
func request(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Error(err)
		return
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v", answer.StatusCode, err)
	}
}

// distinctLines returns an endless header whose lines each take much memory.
func distinctLines(size int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	text := strings.Builder{}
	text.WriteString("GET / HTTP/1.1\r\nHost: a\r\n")
	for i := 0; text.Len()+6 < size; i++ {
		fmt.Fprintf(&text, "%c%c%c:\r\n", letters[i/len(letters)/len(letters)%len(letters)], letters[i/len(letters)%len(letters)], letters[i%len(letters)])
	}
	return text.String()
}

// TestStopDoesNotWaitForHeaders: a connection without a request does not keep the server from stopping.
func TestStopDoesNotWaitForHeaders(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{"nothing": "", "half": "GET / HTTP/1.1\r\nHost:"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
			expect.NoError(t, err)
			c := settings.Default()
			c.Limits.HeaderTimeout, c.Limits.ShutdownTimeout = time.Hour, time.Minute
			stop := bare(c).start(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), adminMemory)
			conn := dial(t, listener.Addr().String())
			_, err = io.WriteString(conn, sent)
			expect.NoError(t, err)
			request(t, dial(t, listener.Addr().String())) // once this succeeds, the earlier connection is accepted
			expect.Succeeded(t, stop())
		})
	}
}

// TestUnfinishedHeadersAreBounded: endless headers use no more than their memory. The
// oldest connections are closed to make room, and other clients notice nothing.
func TestUnfinishedHeadersAreBounded(t *testing.T) {
	t.Parallel()
	const memory, kept, attackers = 4 << 20, 50, 300
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	for name, sent := range map[string]string{
		"nothing":        "",
		"a letter":       "G",
		"short lines":    "GET / HTTP/1.1\r\n" + strings.Repeat("a:\r\n", 4000),
		"distinct lines": distinctLines(16 << 10),
		"a long line":    "GET /" + strings.Repeat("a", 19<<10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, all := bareServer(t, memory, ok)
			var idle, slow []net.Conn
			for range kept {
				conn := dial(t, address)
				request(t, conn)
				idle = append(idle, conn)
			}
			for i := range attackers {
				conn := dial(t, address)
				_, _ = io.WriteString(conn, sent) // it may be closed by now
				slow = append(slow, conn)
				if i%10 == 0 {
					request(t, dial(t, address))
				}
			}
			for _, conn := range idle {
				request(t, conn)
			}
			// A new connection is answered only if there was room for it.
			request(t, dial(t, address))
			all.mu.Lock()
			unfinished, dropped := all.unfinished.used, attackers-all.unfinished.Len()
			all.mu.Unlock()
			if unfinished > memory/2 {
				t.Errorf("unfinished headers have %d bytes of %d", unfinished, memory)
			}
			// The first ones are closed.
			for i := range min(dropped, attackers/2) / 2 {
				if _, err := io.Copy(io.Discard, slow[i]); err != nil {
					t.Logf("%d was reset: %v", i, err)
				}
			}
			if dropped < attackers/2 {
				t.Errorf("only %d of %d were dropped", dropped, attackers)
			}
		})
	}
}

// TestNewConnectionsOutliveEndlessHeaders: a connection whose header may have arrived, but has not been read, is not
// closed for those that came later and send headers without end.
func TestNewConnectionsOutliveEndlessHeaders(t *testing.T) {
	t.Parallel()
	all := newConnections(8<<20, func() {})
	admit := func() *connection {
		accepted, client := net.Pipe()
		t.Cleanup(func() { _, _ = accepted.Close(), client.Close() })
		conn := &connection{Conn: accepted, all: all}
		expect.NoError(t, all.admit(conn))
		return conn
	}
	ordinary := admit()
	for range 50 {
		all.grow(admit(), 100<<10, true)
	}
	if ordinary.gone {
		t.Fatal("the connection was closed before its header was read")
	}
	if !all.grow(ordinary, ordinaryHeader, true) {
		t.Fatal("the connection was closed when its header was read")
	}
	all.grow(admit(), 100<<10, true)
	if ordinary.gone {
		t.Error("the connection that began its header last was closed first")
	}
}

// TestIdleConnectionsAreBounded: if idle connections alone use up the memory, those unused for longest are
// closed.
func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const room = 20
	address, all := bareServer(t, room*2*connectionCost, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	first := dial(t, address)
	request(t, first)
	used := dial(t, address)
	for range 4 * room {
		request(t, used)
		request(t, dial(t, address))
	}
	if n, err := first.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("the first one is still open")
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.used > all.size {
		t.Errorf("%d bytes of %d are used", all.used, all.size)
	}
}

// TestConnectionsWaitForRequests: while requests need all the memory, new connections wait. None is lost,
// and there are never more than fit.
func TestConnectionsWaitForRequests(t *testing.T) {
	t.Parallel()
	const room, late = 20, 5
	var mu sync.Mutex
	running, most := 0, 0
	begun := make(chan struct{}, room+late)
	release := make(chan struct{})
	address, _ := bareServer(t, room*connectionCost, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		begun <- struct{}{}
		<-release
		mu.Lock()
		running--
		mu.Unlock()
	}))
	var answered sync.WaitGroup
	come := func(clients int) {
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = dial(t, address)
			answered.Go(func() { request(t, conns[i]) })
		}
	}
	// Connections that have not sent their header get only half of the memory.
	for range room / 5 {
		come(5)
		for range 5 {
			<-begun
		}
	}
	come(late)
	close(release)
	answered.Wait()
	if most > room {
		t.Errorf("%d at a time", most)
	}
}

// TestSlowClientsAreBounded: clients that never finish a body, or never read a response, do not keep out others, even
// those of their address.
func TestSlowClientsAreBounded(t *testing.T) {
	t.Parallel()
	const room, slow = 40, 100
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/large" {
			_, _ = w.Write(make([]byte, 8<<20)) // more than the buffers of both sides
		}
	})
	for name, sent := range map[string]string{
		"body":            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
		"unexpected body": "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
		"response":        "GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, all := bareServer(t, room*connectionCost, handler)
			for range slow {
				_, err := io.WriteString(dial(t, address), sent)
				expect.NoError(t, err)
			}
			for range 5 {
				conn := dial(t, address)
				expect.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
				request(t, conn)
			}
			all.mu.Lock()
			defer all.mu.Unlock()
			if all.used > all.size {
				t.Errorf("%d bytes of %d are used", all.used, all.size)
			}
		})
	}
}

// TestLaggard: of those that wait for their clients, the crowd of one address goes first, and nobody who has just begun.
func TestLaggard(t *testing.T) {
	t.Parallel()
	all := newConnections(1<<20, func() {})
	wait := func(address string, waited time.Duration) *connection {
		conn := &connection{Conn: from{address: address}, all: all, waited: waited}
		conn.begin()
		conn.waited = waited
		all.await(conn)
		return conn
	}
	wait("192.0.2.1", 0)
	if found := all.laggard(); found != nil {
		t.Errorf("%v was chosen at once", found.client())
	}
	wait("192.0.2.2", time.Hour)
	wait("192.0.2.3", time.Second)
	longest := wait("192.0.2.3", time.Minute)
	wait("192.0.2.3", 2*time.Second)
	if found := all.laggard(); found != longest {
		t.Errorf("%v was chosen, which waited for %v", found.client(), found.waited)
	}
	all.proceed(longest)
	if longest.waited < time.Minute || all.waiting.Len() != 4 {
		t.Errorf("it waited for %v, and %d wait", longest.waited, all.waiting.Len())
	}
}

// from is a connection from an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.address), 1))
}
