package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// proxy forwards each new connection to the next socket, like a load balancer in front of a cluster.
type proxy struct {
	net.Listener
	sockets []string

	mu   sync.Mutex
	next int
	open map[net.Conn]struct{}
}

func newProxy(ctx context.Context, sockets []string) (*proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{Listener: listener, sockets: sockets, open: map[net.Conn]struct{}{}}
	go func() {
		for {
			client, err := p.Accept()
			if err != nil {
				return // closed
			}
			go p.forward(ctx, client)
		}
	}()
	return p, nil
}

// forward connects a client. When either direction ends, both are closed.
func (p *proxy) forward(ctx context.Context, client net.Conn) {
	p.mu.Lock()
	p.next++
	socket := p.sockets[p.next%len(p.sockets)]
	p.mu.Unlock()
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.open[client], p.open[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, from)
	}
	go pipe(client, server)
	pipe(server, client)
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
}

func (p *proxy) close() error {
	err := p.Close()
	p.cut()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
