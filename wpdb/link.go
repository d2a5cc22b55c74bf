package wpdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// link is the socket of a connection. It keeps what the driver does not tell:
// the number of the server's thread, and whether that thread may outlive the
// connection.
type link struct {
	net.Conn
	greeted  bool
	greeting []byte      // what has come of it
	thread   uint32      // 0 where the greeting did not tell
	orphan   atomic.Bool // the connection failed without the server's knowing: its thread may still work
}

type linkKey struct{}

// dialLink dials for the driver. The link is stored where the context says.
func dialLink(ctx context.Context, network, address string) (net.Conn, error) {
	socket, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: socket}
	if dest, ok := ctx.Value(linkKey{}).(**link); ok {
		*dest = l
	}
	return l, nil
}

// Read is part of net.Conn.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if !l.greeted {
		l.greet(p[:n])
	}
	l.note(err)
	return n, err
}

// greet reads the number of the thread once the greeting has come so far, in
// however many pieces.
func (l *link) greet(piece []byte) {
	l.greeting = append(l.greeting, piece...)
	thread, complete := greetingThread(l.greeting)
	if complete || len(l.greeting) > maxGreeting {
		l.greeted, l.thread, l.greeting = true, thread, nil
	}
}

// Write is part of net.Conn.
func (l *link) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	l.note(err)
	return n, err
}

// note tells a time-out, or a network that failed, from a server that closed the
// connection.
func (l *link) note(err error) {
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
	default:
		l.orphan.Store(true)
	}
}

// SyscallConn lets the driver see whether an idle connection was closed.
func (l *link) SyscallConn() (syscall.RawConn, error) {
	socket, ok := l.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return socket.SyscallConn()
}

// maxGreeting is more than any server's greeting has before the number.
const maxGreeting = 1 << 10

// greetingThread is the number of the connection in the first packet of a
// server: a header of four bytes, the protocol's version, the server's as a
// text that ends with a zero byte, and the number in four bytes. It is not
// complete where more has to come, and 0 where the server greets otherwise.
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
