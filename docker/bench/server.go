package main

import (
	"context"
	"net"
	"time"
)

// server is a Bookside under measurement.
type server struct {
	program     string
	address     string
	environment []string
}

// newServer returns a Bookside on a free port, for the site in a database.
func newServer(ctx context.Context, program, dsn string) (*server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	return &server{program, address, []string{
		"BOOKSIDE_DB__DSN=" + dsn, "BOOKSIDE_DB__PREFIX=wp_", "BOOKSIDE_SERVER__LISTEN=" + address, "BOOKSIDE_ADMIN__LISTEN=",
		"BOOKSIDE_RATE_LIMIT__LIVE_PER_MINUTE=100000000", "BOOKSIDE_RATE_LIMIT__LIVE_PER_HOUR=100000000",
		"BOOKSIDE_RATE_LIMIT__TEST_PER_MINUTE=100000000", "BOOKSIDE_RATE_LIMIT__TEST_PER_HOUR=100000000",
	}}, listener.Close()
}

// run runs another command of the program and returns what it prints.
func (s *server) run(ctx context.Context, args ...string) (string, error) {
	return output(ctx, s.environment, append([]string{s.program}, args...)...)
}

// newClient returns a client with a new key, which ends after a day.
func (s *server) newClient(ctx context.Context, connections int) (*client, error) {
	key, err := s.run(ctx, "keys", "create", "--name", "benchmark", "--permissions", "read,write,read_changes", "--expires", "1d", "--quiet")
	return newClient("http://"+s.address+"/v1", key, connections), err
}

// launch starts the server and returns when it answers.
func (s *server) launch(ctx context.Context, log string, c *client) (*process, error) {
	p, err := launch(ctx, log, s.environment, s.program, "serve")
	if err != nil {
		return nil, err
	}
	err = p.await(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := c.sendOK(ctx, get("/agents"))
		return err
	})
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}
