package server

import (
	"bytes"
	"cmp"
	linked "container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"time"
)

// The memory that a connection uses, in bytes, measured and rounded up. Tests repeat the measurement.
const (
	connectionCost = 24 << 10 // including its goroutine, the buffers of net/http and an ordinary header
	ordinaryHeader = 4 << 10
	headerByteCost = 2   // per byte of a header
	headerLineCost = 128 // per line, which may be as short as "a:"
)

// headerGrace is how long a connection may take to send a header before a new one can replace it, if the
// requests in progress leave no memory or the program is ending.
const headerGrace = time.Second

// clientGrace is how long a request may wait for its client, to send the body or to read the response, before a new
// connection can replace it.
const clientGrace = 250 * time.Millisecond

// headerCost returns the memory that a part of a header uses while the request is
// read.
func headerCost(p []byte) int64 {
	return int64(headerByteCost*len(p) + headerLineCost*bytes.Count(p, []byte{'\n'}))
}

// connections limits the memory of a server's connections, which net/http does not. Connections with an
// incomplete header may use half of it; beyond that, the one that has been sending its header longest is
// closed, which is never one that sends it in one piece. Idle connections are closed only if all memory is
// used, the longest idle first. Requests that wait for their clients, which send bodies or read responses slowly, may
// use half of the memory, too; beyond that, or if nothing else is left, one of the address with most of them is closed.
// Other connections with a request are never closed; while they use all the memory, new ones wait.
type connections struct {
	size    int64
	dropped func() // called for each connection that is closed to free memory

	mu         sync.Mutex
	changed    *sync.Cond
	closed     bool
	used       int64 // by all connections
	leaving    int64 // part of used: dropped connections that are about to end
	unfinished queue // connections with an incomplete header
	idle       queue // waiting for the first byte of the next request
	waiting    queue // with a request that waits for its client
	working    int   // number of connections with a request
}

func newConnections(size int64, dropped func()) *connections {
	c := &connections{size: size, dropped: dropped}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// queue is a queue of connections and their memory.
type queue struct {
	linked.List // of *connection
	used        int64
}

// oldest returns the first connection, or nil.
func (q *queue) oldest() *connection {
	front := q.Front()
	if front == nil {
		return nil
	}
	return front.Value.(*connection)
}

// connection is a connection, and the memory that it uses.
type connection struct {
	net.Conn
	all    *connections
	used   int64
	header int64  // cost of the bytes received of a header
	queue  *queue // nil while its request is worked on, and after it was dropped
	place  *linked.Element
	since  time.Time     // when it joined the queue
	waited time.Duration // that its request has waited for the client before
	gone   bool          // dropped
	busy   bool          // has a request
	// unread is the cost of the last read, which net/http may not yet have processed at the end of a
	// request.
	unread int64
}

func (c *connection) join(q *queue) {
	c.leave()
	c.queue, c.place, c.since = q, q.PushBack(c), time.Now()
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
	c.waited = 0
	c.all.working++
}

func (c *connection) end() {
	if c.busy {
		c.busy = false
		c.all.working--
	}
}

// count sets the cost of the bytes received of a header.
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

// Read implements net.Conn. While a request is worked on, net/http reads single bytes, to see whether the client has left.
func (c *connection) Read(p []byte) (int, error) {
	if len(p) > 1 {
		c.all.await(c)
		defer c.all.proceed(c)
	}
	n, err := c.Conn.Read(p)
	if n > 0 && !c.all.grow(c, headerCost(p[:n]), len(p) > 1) {
		// To net/http this looks like a lost connection.
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: c.RemoteAddr(), Err: net.ErrClosed}
	}
	return n, err
}

// Write implements net.Conn.
func (c *connection) Write(p []byte) (int, error) {
	c.all.await(c)
	defer c.all.proceed(c)
	return c.Conn.Write(p) //nolint:wrapcheck // net/http inspects it
}

// CloseWrite lets net/http end a response before it closes a connection on which the client may still be
// sending.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// admit adds a new connection, waiting for memory.
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
		graceOver := time.AfterFunc(clientGrace, c.changed.Broadcast)
		c.changed.Wait()
		graceOver.Stop()
	}
	return net.ErrClosed
}

// grow adds the bytes that a connection has read, unless they belong to the request in progress. It reports
// whether the connection is still open. Reads of more than one byte fill net/http's empty buffer, which
// single-byte reads bypass.
func (c *connections) grow(conn *connection, cost int64, fill bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fill {
		conn.unread = cost
	}
	if conn.queue == nil || conn.queue == &c.waiting {
		return !conn.gone
	}
	if conn.header == 0 || conn.queue == &c.idle {
		conn.join(&c.unfinished) // its header begins
	}
	conn.count(conn.header + cost)
	c.makeRoom(0)
	return !conn.gone
}

// await notes that a connection waits for its client, if it has a request.
func (c *connections) await(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.busy && !conn.gone {
		conn.join(&c.waiting)
	}
}

// proceed ends what await began.
func (c *connections) proceed(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.queue == &c.waiting {
		conn.waited += time.Since(conn.since)
		conn.leave()
	}
}

// makeRoom drops connections until needed bytes are free, or until no connection is left that may be
// dropped.
func (c *connections) makeRoom(needed int64) {
	for {
		var victim *connection
		if c.waiting.used+needed > c.size/2 {
			victim = c.laggard()
		}
		switch {
		case victim != nil:
		case c.unfinished.used+needed > c.size/2:
			victim = c.slowest()
		case c.used-c.leaving+needed > c.size && c.idle.Len() > 0:
			victim = c.idle.oldest()
		case c.used-c.leaving+needed > c.size:
			victim = c.slowest()
			if victim == nil || needed > 0 && time.Since(victim.since) < headerGrace { // its header may have arrived already
				victim = c.laggard()
			}
		}
		if victim == nil {
			return
		}
		c.drop(victim)
		c.dropped()
	}
}

// slowest returns the connection that has been sending its header longest, or nil. New ones without a long
// header come last: theirs may have arrived and not been read yet.
func (c *connections) slowest() *connection {
	for place := c.unfinished.Front(); place != nil; place = place.Next() {
		conn := place.Value.(*connection)
		if conn.header > ordinaryHeader || time.Since(conn.since) >= headerGrace {
			return conn
		}
	}
	return c.unfinished.oldest()
}

// laggard returns the connection whose request has waited longest for its client, of the address with most such
// connections; nil if none has waited for long.
func (c *connections) laggard() *connection {
	waiting := map[netip.Addr]int{}
	for place := c.waiting.Front(); place != nil; place = place.Next() {
		waiting[place.Value.(*connection).client()]++
	}
	var found *connection
	for place := c.waiting.Front(); place != nil; place = place.Next() {
		conn := place.Value.(*connection)
		if conn.waitedUntilNow() < clientGrace {
			continue
		}
		if found == nil {
			found = conn
			continue
		}
		crowd := cmp.Compare(waiting[conn.client()], waiting[found.client()])
		if crowd > 0 || crowd == 0 && conn.waitedUntilNow() > found.waitedUntilNow() {
			found = conn
		}
	}
	return found
}

func (c *connection) waitedUntilNow() time.Duration { return c.waited + time.Since(c.since) }

// client returns the address of the client, or of its proxy.
func (c *connection) client() netip.Addr {
	address, _ := c.RemoteAddr().(*net.TCPAddr)
	return address.AddrPort().Addr()
}

// drop closes a connection whose request, if it has one, waits for the client.
func (c *connections) drop(victim *connection) {
	victim.leave()
	victim.gone = true
	c.leaving += victim.used
	go func() { _ = victim.Close() }() // Close waits for a Read to return
}

// note is the callback for http.Server.ConnState.
func (c *connections) note(accepted net.Conn, state http.ConnState) {
	conn, ok := accepted.(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateActive: // the header is complete
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

// wait returns when no connection has a request, part of one, or has yet to send its first, or when the
// context ends. Connections that send nothing, or an incomplete header, for too long are closed: many
// clients open connections before they need them.
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
	for slow := c.unfinished.oldest(); slow != nil && time.Since(slow.since) >= headerGrace; slow = c.unfinished.oldest() {
		c.drop(slow)
	}
	return c.working > 0 || c.unfinished.Len() > 0
}

// boundedListener accepts connections when there is memory for them.
type boundedListener struct {
	net.Listener
	connections *connections
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http inspects it
	}
	if tcp, ok := accepted.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // an error is harmless
	}
	// Headers that have already arrived are read first; otherwise many ordinary clients at once would look
	// like slow ones.
	runtime.Gosched()
	conn := &connection{Conn: accepted, all: l.connections}
	if err := l.connections.admit(conn); err != nil {
		return nil, errors.Join(err, accepted.Close())
	}
	return conn, nil
}

// Close implements net.Listener.
func (l *boundedListener) Close() error {
	l.connections.close()
	return l.Listener.Close() //nolint:wrapcheck // see Accept
}

// close stops new connections from waiting.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
}
