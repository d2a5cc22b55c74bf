package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// The number of connections to the API and to the admin address at a time.
const (
	apiConnections   = 512
	adminConnections = 64
)

// writeBuffer limits how much of a response the system buffers until the client
// has read it. Its default is megabytes, which would hide slow readers.
const writeBuffer = 64 << 10

// shortWrites accepts connections with a small write buffer.
type shortWrites struct{ net.Listener }

// Accept implements net.Listener.
func (l shortWrites) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // an error is harmless
	}
	return conn, err //nolint:wrapcheck // net/http inspects it
}

// headerGrace is how long a new connection may take to send a header while the program is ending.
const headerGrace = time.Second

// pending are the connections that have a request, or have yet to send their first.
type pending struct{ states sync.Map } // of http.ConnState by net.Conn

// note is the callback for http.Server.ConnState.
func (p *pending) note(conn net.Conn, state http.ConnState) {
	if state == http.StateNew || state == http.StateActive {
		p.states.Store(conn, state)
	} else {
		p.states.Delete(conn)
	}
}

// wait returns when no connection is pending, or when the context ends. It closes connections that send no
// header in time: many clients open connections before they need them.
func (p *pending) wait(ctx context.Context) {
	defer time.AfterFunc(headerGrace, func() {
		for conn, state := range p.states.Range {
			if state == http.StateNew {
				_ = conn.(net.Conn).Close()
			}
		}
	}).Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !p.empty() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *pending) empty() bool {
	empty := true
	p.states.Range(func(any, any) bool { empty = false; return false })
	return empty
}
