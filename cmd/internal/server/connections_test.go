package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
)

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

func nothing(http.ResponseWriter, *http.Request) {}

// TestStopDoesNotWaitForHeaders: a connection without a request does not keep the server from stopping.
func TestStopDoesNotWaitForHeaders(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{"nothing": "", "half": "GET / HTTP/1.1\r\nHost:"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
			expect.NoError(t, err)
			c := settings.Default()
			c.Limits.HeaderTimeout, c.Limits.ShutdownTimeout = time.Hour, 20*time.Second
			stop := bare(c).start(listener, http.HandlerFunc(nothing), adminConnections)
			conn := dial(t, listener.Addr().String())
			_, err = io.WriteString(conn, sent)
			expect.NoError(t, err)
			request(t, dial(t, listener.Addr().String())) // once this succeeds, the earlier connection is accepted
			began := time.Now()
			expect.Succeeded(t, stop())
			if took := time.Since(began); took >= c.Limits.ShutdownTimeout {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestStopAnswersAcceptedConnections: a connection that was accepted before the port was closed gets a response, even if its
// header arrives afterwards.
func TestStopAnswersAcceptedConnections(t *testing.T) {
	t.Parallel()
	listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
	expect.NoError(t, err)
	address := listener.Addr().String()
	stop := bare(settings.Default()).start(listener, http.HandlerFunc(nothing), adminConnections)
	conn := dial(t, address)
	request(t, dial(t, address)) // once this succeeds, the earlier connection is accepted
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for open := true; open; {
		late, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if open = err == nil; open {
			_ = late.Close()
		}
	}
	request(t, conn)
	expect.Succeeded(t, <-stopped)
}

// TestConnectionsWait: connections beyond the limit of their listener wait until another one is closed.
func TestConnectionsWait(t *testing.T) {
	t.Parallel()
	const most = 2
	s := bare(settings.Default())
	serve := func() (address string) {
		listener, err := listen(t.Context(), settings.Listen, "127.0.0.1:0")
		expect.NoError(t, err)
		stop := s.start(listener, http.HandlerFunc(nothing), most)
		t.Cleanup(func() { expect.Succeeded(t, stop()) })
		return listener.Addr().String()
	}
	full, other := serve(), serve()
	var idle []net.Conn
	for range most {
		conn := dial(t, full)
		request(t, conn)
		idle = append(idle, conn)
	}
	waiting := dial(t, full)
	expect.NoError(t, waiting.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err := io.WriteString(waiting, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	expect.NoError(t, err)
	_, err = waiting.Read(make([]byte, 1))
	expect.Error(t, os.ErrDeadlineExceeded, err)
	for range most {
		request(t, dial(t, other))
	}
	expect.NoError(t, idle[0].Close())
	expect.NoError(t, waiting.SetReadDeadline(time.Time{}))
	answer, err := http.ReadResponse(bufio.NewReader(waiting), nil)
	expect.NoError(t, err)
	defer answer.Body.Close()
	expect.Equal(t, http.StatusOK, answer.StatusCode, "once another one is closed")
}
