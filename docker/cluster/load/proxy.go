package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// proxy forwards each new connection to the next of the sockets, like a load balancer
// in front of a cluster.
type proxy struct {
	listener net.Listener
	sockets  []string

	mu    sync.Mutex
	next  int
	pairs map[*link]struct{}
}

// link is a client's connection and the server's.
type link struct{ client, server net.Conn }

func (l *link) close() { _, _ = l.client.Close(), l.server.Close() }

func newProxy(ctx context.Context, sockets []string) (*proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, sockets: sockets, pairs: map[*link]struct{}{}}
	go p.serve(ctx)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) serve(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		go p.forward(ctx, client)
	}
}

func (p *proxy) forward(ctx context.Context, client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "unix", p.nextSocket())
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client, server}
	p.mu.Lock()
	p.pairs[l] = struct{}{}
	p.mu.Unlock()
	defer func() {
		l.close()
		p.mu.Lock()
		delete(p.pairs, l)
		p.mu.Unlock()
	}()
	ended := make(chan struct{}, 2)
	for _, direction := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(direction[0], direction[1]) // when either direction ends, both are closed
			ended <- struct{}{}
		}()
	}
	<-ended
}

func (p *proxy) nextSocket() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	return p.sockets[p.next%len(p.sockets)]
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.pairs {
		l.close()
	}
}

func (p *proxy) close() error {
	err := p.listener.Close()
	p.cut()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
