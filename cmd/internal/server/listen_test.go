package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
)

// bare returns a server without a site.
func bare(c settings.Config) *Server {
	return &Server{Config: c, Log: slog.New(slog.DiscardHandler), ended: make(chan error, 2), last: context.Background()}
}

// dial connects to an address until the test ends.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestSlowReaderIsDisconnected: a client that does not read its response is
// disconnected.
func TestSlowReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	c.Server.RequestTimeout, c.Limits.WriteTimeout = 10*time.Millisecond, 10*time.Millisecond
	s := bare(c)
	listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
	expect.NoError(t, err)
	written := make(chan error, 1)
	stop := s.start(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 8<<20)) // more than the buffers of both sides
		written <- err
	}), adminConnections)
	conn := dial(t, listener.Addr().String())
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	expect.NoError(t, err)
	if err := <-written; err == nil {
		t.Error("all was written though nothing was read")
	}
	expect.Succeeded(t, stop())
}

// TestDrainCancelsRequests: a request that does not end is canceled.
func TestDrainCancelsRequests(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	c.Limits.ShutdownTimeout = time.Millisecond
	s := bare(c)
	listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
	expect.NoError(t, err)
	arrived, release := make(chan struct{}), make(chan struct{})
	stop := s.start(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	}), adminConnections)
	answered := make(chan error, 1)
	go func() {
		_, err := http.Get("http://" + listener.Addr().String()) //nolint:bodyclose,noctx // there is none
		answered <- err
	}()
	<-arrived
	err = stop()
	if err == nil {
		t.Fatal("no error")
	}
	expect.Texts(t, err.Error(), "requests were canceled that still ran when the program had to end")
	if err := <-answered; err == nil {
		t.Error("the client got an answer")
	}
	close(release)
}

// TestServeEndsWithListener: a failing listener ends the program.
func TestServeEndsWithListener(t *testing.T) {
	t.Parallel()
	s := bare(settings.Default())
	listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
	expect.NoError(t, err)
	stop := s.start(listener, http.NotFoundHandler(), adminConnections)
	expect.NoError(t, listener.Close())
	if err := <-s.ended; err == nil {
		t.Error("no error")
	}
	expect.Succeeded(t, stop())
}

func TestDialable(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8081": "127.0.0.1:8081",
		":8081":          "localhost:8081",
		"0.0.0.0:8081":   "localhost:8081",
		"[::]:8081":      "localhost:8081",
		"[::1]:8081":     "[::1]:8081",
		"bookside:8081":  "bookside:8081",
	} {
		expect.Equal(t, want, Dialable(address), "Dialable(", address, ")")
	}
}

func TestAdminHosts(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8081": "a.example 127.0.0.1", ":8081": "a.example", "keys.internal:8081": "a.example keys.internal", "": "a.example",
	} {
		c := settings.Default()
		c.Admin.Listen, c.Admin.Hosts = listen, []string{"a.example"}
		expect.Equal(t, want, strings.Join(adminHosts(c), " "), listen)
	}
	c := settings.Default()
	c.Admin.Listen, c.Admin.BaseURL = "127.0.0.1:8081", "https://bookings.example.com:8443"
	expect.Equal(t, "bookings.example.com 127.0.0.1", strings.Join(adminHosts(c), " "), "with admin.base_url")
}
