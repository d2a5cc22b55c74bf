package main

import (
	"bytes"
	linked "container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// What a connection costs in memory, in bytes: measured, and rounded up. The
// tests measure again.
const (
	connectionCost = 24 << 10 // with its goroutine, the buffers of net/http and an ordinary header
	ordinaryHeader = 4 << 10
	headerByteCost = 2   // of a byte of a request's header
	headerLineCost = 128 // of a line, which may be as short as "a:"
)

// headerCost is the memory that a part of a header takes while its request is
// read.
func headerCost(p []byte) int64 {
	return int64(headerByteCost*len(p) + headerLineCost*bytes.Count(p, []byte{'\n'}))
}

// connections bounds the memory of a server's connections, of which net/http has
// any number. Clients that send headers without end, or slowly, share half of
// it: beyond that the connection is closed that has gone without a request for
// longest, which is never one of a client that sends its header in one go. The
// connections that clients keep for their next request lose their place, the
// longest unused first, only where all of it is used. One with a request never
// does; while such connections need all the memory, new ones wait.
type connections struct {
	size    int64
	dropped func() // counts a connection that was closed for another

	mu         sync.Mutex
	changed    *sync.Cond
	closed     bool
	used       int64 // by all that net/http has
	leaving    int64 // of that, by those that were dropped and are about to end
	unfinished queue // waiting for a header
	idle       queue // waiting for their next request, of which nothing has come
	working    int   // number of those with a request
}

func newConnections(size int64, dropped func()) *connections {
	c := &connections{size: size, dropped: dropped}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// queue is connections in the order in which they joined it, and their memory.
type queue struct {
	linked.List // of *connection
	used        int64
}

// oldest is nil where there is none.
func (q *queue) oldest() *connection {
	front := q.Front()
	if front == nil {
		return nil
	}
	return front.Value.(*connection)
}

// connection is one whose memory is counted.
type connection struct {
	net.Conn
	all    *connections
	used   int64
	header int64  // what has come of a header costs
	queue  *queue // nil while it has a request, and once it was dropped
	place  *linked.Element
	gone   bool // dropped
	busy   bool // has a request
	// unread is the cost of what came last: net/http may not have looked at it
	// when it is done with a request.
	unread int64
}

func (c *connection) join(q *queue) {
	c.leave()
	c.queue, c.place = q, q.PushBack(c)
	q.used += c.used
}

func (c *connection) leave() {
	if c.queue == nil {
		return
	}
	c.queue.Remove(c.place)
	c.queue.used -= c.used
	c.queue, c.place = nil, nil
}

func (c *connection) begin() {
	c.busy = true
	c.all.working++
}

func (c *connection) end() {
	if c.busy {
		c.busy = false
		c.all.working--
	}
}

// count sets the cost of what has come of a header.
func (c *connection) count(header int64) {
	c.header = header
	c.use(connectionCost + max(0, header-ordinaryHeader))
}

// use sets the memory of the connection.
func (c *connection) use(used int64) {
	grown := used - c.used
	c.used = used
	c.all.used += grown
	if c.queue != nil {
		c.queue.used += grown
	}
}

// Read is part of net.Conn.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.all.grow(c, headerCost(p[:n]), len(p) > 1) {
		// net/http takes it for a lost connection.
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: c.RemoteAddr(), Err: net.ErrClosed}
	}
	return n, err
}

// CloseWrite is for net/http, which ends an answer by it before it closes a
// connection that a client may still be sending on.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// admit counts a new connection, once there is room for it.
func (c *connections) admit(conn *connection) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed {
		c.makeRoom(connectionCost)
		if c.used+connectionCost <= c.size {
			conn.count(0)
			conn.join(&c.unfinished)
			return nil
		}
		c.changed.Wait()
	}
	return net.ErrClosed
}

// grow counts what a connection read, unless that belongs to a request being
// worked on; false where the connection was dropped. net/http's buffer is empty
// when it is filled again, but single bytes are read past it.
func (c *connections) grow(conn *connection, cost int64, fill bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fill {
		conn.unread = cost
	}
	if conn.queue == nil {
		return !conn.gone
	}
	if conn.queue == &c.idle {
		conn.join(&c.unfinished)
	}
	conn.count(conn.header + cost)
	c.makeRoom(0)
	return !conn.gone
}

// makeRoom drops connections until as many bytes as are needed for a new one fit,
// or none is left that may be dropped.
func (c *connections) makeRoom(needed int64) {
	for {
		var victim *connection
		switch {
		case c.unfinished.used+needed > c.size/2:
			victim = c.unfinished.oldest()
		case c.used-c.leaving+needed > c.size && c.idle.Len() > 0:
			victim = c.idle.oldest()
		case c.used-c.leaving+needed > c.size:
			victim = c.unfinished.oldest()
		}
		if victim == nil {
			return
		}
		victim.leave()
		victim.gone = true
		c.leaving += victim.used
		c.dropped()
		go func() { _ = victim.Close() }() // waits for a Read to end
	}
}

// note is for http.Server.ConnState.
func (c *connections) note(accepted net.Conn, state http.ConnState) {
	conn, ok := accepted.(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateActive: // the header was read
		conn.leave()
		conn.begin()
	case http.StateIdle:
		conn.end()
		if !conn.gone {
			conn.count(conn.unread)
			conn.join(&c.idle)
		}
	case http.StateClosed:
		conn.leave()
		conn.end()
		if conn.gone {
			c.leaving -= conn.used
		}
		conn.use(0)
	}
	c.changed.Broadcast()
}

// wait ends with the context, or when no connection has a request or part of
// one, or has yet to send its first.
func (c *connections) wait(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for c.busy() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *connections) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.working > 0 || c.unfinished.Len() > 0
}

// boundedListener accepts connections for which there is memory.
type boundedListener struct {
	net.Listener
	connections *connections
}

// Accept is part of net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http looks at it
	}
	if tcp, ok := accepted.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // the connection is of use with another one too
	}
	// Headers that are here already are read first, or many ordinary clients at
	// once would be taken for slow ones.
	runtime.Gosched()
	conn := &connection{Conn: accepted, all: l.connections}
	if err := l.connections.admit(conn); err != nil {
		return nil, errors.Join(err, accepted.Close())
	}
	return conn, nil
}

// Close is part of net.Listener.
func (l *boundedListener) Close() error {
	l.connections.close()
	return l.Listener.Close() //nolint:wrapcheck // see Accept
}

// close ends the wait of a new connection.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
}
