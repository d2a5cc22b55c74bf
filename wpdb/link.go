package wpdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// link is the socket of a connection. It records what the driver does not expose: the number of the
// server's thread, and whether that thread may outlive the connection. In that case it waits for the thread
// to end.
type link struct {
	net.Conn
	limit    time.Duration // within which the server ends any statement
	greeted  bool
	greeting []byte        // the bytes received so far
	thread   uint32        // 0 if the greeting does not contain it
	silent   *atomic.Bool  // set when the server has not answered in time
	orphan   atomic.Bool   // the connection failed unnoticed by the server, whose thread may still be working
	over     chan struct{} // closed when the thread of an orphan has ended

	mu     sync.Mutex
	closed bool
	until  time.Time // when the connection fails, whatever the driver waits for; zero for never
}

func newLink(socket net.Conn, limit time.Duration) *link {
	return &link{Conn: socket, limit: limit, silent: new(atomic.Bool), over: make(chan struct{})}
}

type linkKey struct{}

// dialLink dials for the driver and stores the link where the context points
// to.
func (c *connector) dialLink(ctx context.Context, network, address string) (net.Conn, error) {
	socket, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := newLink(socket, c.limit)
	l.silent = c.silent
	if dest, ok := ctx.Value(linkKey{}).(**link); ok {
		*dest = l
	}
	return l, nil
}

// Read implements net.Conn.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if !l.greeted {
		l.greet(p[:n])
	}
	l.note(err)
	return n, err
}

// greet parses the thread's number as soon as enough of the greeting has
// arrived, in any number of pieces.
func (l *link) greet(piece []byte) {
	l.greeting = append(l.greeting, piece...)
	thread, complete := greetingThread(l.greeting)
	if complete || len(l.greeting) > maxGreeting {
		l.greeted, l.thread, l.greeting = true, thread, nil
	}
}

// Write implements net.Conn.
func (l *link) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	l.note(err)
	return n, err
}

// failAt makes whatever the driver is waiting for fail at the given time; the zero time cancels that.
func (l *link) failAt(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
	if !l.closed {
		_ = l.SetDeadline(until) // the next read or write reports what is wrong
	}
}

// SetReadDeadline implements net.Conn.
func (l *link) SetReadDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Conn.SetReadDeadline(l.earlier(t))
}

// SetWriteDeadline implements net.Conn.
func (l *link) SetWriteDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Conn.SetWriteDeadline(l.earlier(t))
}

func (l *link) earlier(t time.Time) time.Time {
	if l.until.IsZero() || !t.IsZero() && t.Before(l.until) {
		return t
	}
	return l.until
}

// Close implements net.Conn. It returns at once, but an orphan's socket stays open for
// reading until the server has closed its side, as it does after the statement.
func (l *link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.orphan.Load() {
		go l.awaitEnd()
		return nil
	}
	return l.Conn.Close()
}

func (l *link) awaitEnd() {
	defer close(l.over)
	defer func() { _ = l.Conn.Close() }() // an error would have no consequence
	half, ok := l.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || l.Conn.SetReadDeadline(time.Now().Add(l.limit)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, l.Conn)
}

// note distinguishes timeouts and network failures from a connection that the
// server closed.
func (l *link) note(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		l.silent.Store(true)
	}
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
	default:
		l.orphan.Store(true)
	}
}

// SyscallConn lets the driver detect whether an idle connection was closed.
func (l *link) SyscallConn() (syscall.RawConn, error) {
	socket, ok := l.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return socket.SyscallConn()
}

// maxGreeting is more than any server sends before the number.
const maxGreeting = 1 << 10

// greetingThread returns the connection's number in a server's first packet: a
// header of four bytes, the protocol version, the server's version as a text
// that ends with a zero byte, and the number in four bytes. complete is false
// if more data is needed; the number is 0 for other greetings.
func greetingThread(packet []byte) (thread uint32, complete bool) {
	const header, protocol = 4, 10
	if len(packet) <= header {
		return 0, false
	}
	if packet[header] != protocol {
		return 0, true
	}
	length := header + int(packet[0]) + int(packet[1])<<8 + int(packet[2])<<16
	_, rest, _ := bytes.Cut(packet[header+1:min(len(packet), length)], []byte{0})
	if len(rest) < 4 {
		return 0, len(packet) >= length
	}
	return binary.LittleEndian.Uint32(rest), true
}
