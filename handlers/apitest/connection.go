package apitest

import (
	"io"
	"net"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures/expect"
)

// Listen serves over real connections with small buffers.
func (s *Server) Listen() (address string) {
	s.T.Helper()
	server := httptest.NewUnstartedServer(s.Handler)
	server.Listener = smallBufferListener{server.Listener}
	server.Start()
	s.T.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// smallBufferListener makes the buffers of its connections as small as they can be.
type smallBufferListener struct{ net.Listener }

// Accept is part of net.Listener.
func (l smallBufferListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn, conn.(*net.TCPConn).SetWriteBuffer(1)
}

// Dial opens a connection with a small buffer to the server.
func Dial(t *testing.T, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, conn syscall.RawConn) (err error) {
		controlled := conn.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
		if controlled != nil {
			return controlled
		}
		return err
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Say writes to a connection.
func Say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// HangingLimit is the time limit of a request with a hanging database, and BeyondLimit how much longer
// a response may take.
const (
	HangingLimit = 2 * time.Second
	BeyondLimit  = time.Second
)
