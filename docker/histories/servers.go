package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// server is a Bookside.
type server struct {
	process
	*trial
	url  string
	node *node
	skew time.Duration // of its clock
	away atomic.Bool   // whether its last answer was none
}

// environment is that of the program.
func (s *server) environment() []string {
	return []string{
		"BOOKSIDE_DB__DSN=root@unix(" + s.node.socket() + ")/site", "BOOKSIDE_SERVER__LISTEN=" + strings.TrimPrefix(s.url, "http://"), "SKEW=" + s.skew.String(),
		"BOOKSIDE_DB__PREFIX=wp_", "BOOKSIDE_DB__CONNECT_WAIT=5m", "BOOKSIDE_ADMIN__LISTEN=", "BOOKSIDE_RATE_LIMIT__ENABLED=false", "BOOKSIDE_LOG__LEVEL=warn",
	}
}

func (s *server) launch() error { return s.start(s.environment(), s.program, "serve") }

// answers reports whether the server serves a read.
func (s *server) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/agents", http.NoBody)
	if err != nil {
		return false
	}
	request.Header.Set("X-API-Key", s.keys[0])
	response, err := s.client.Do(request)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close()) == nil && response.StatusCode == http.StatusOK
}

// wait waits until the server answers, and returns how long that took.
func (s *server) wait(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	for ; !s.answers(ctx); time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if time.Since(began) > time.Minute {
			return 0, fmt.Errorf("%s does not answer:\n%s", s.name, s.tail())
		}
	}
	return time.Since(began), nil
}

// watch brings the server back to the clients when it answers again.
func (s *server) watch(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if s.away.Load() && s.answers(ctx) {
			s.away.Store(false)
		}
	}
}

// startServers creates the keys, and starts a server after the other.
func (t *trial) startServers(ctx context.Context) error {
	for _, s := range t.servers {
		port, err := freePort(ctx)
		if err != nil {
			return err
		}
		s.url = fmt.Sprint("http://127.0.0.1:", port)
	}
	for range agents { // each has its own, as a key has few holds at a time
		command := []string{"env"}
		command = append(append(command, t.servers[0].environment()...), t.program, "keys", "create", "--name", "histories", "--permissions", "read,write", "--expires", "1d", "--quiet")
		key, err := run(ctx, command...)
		if err != nil {
			return err
		}
		t.keys = append(t.keys, strings.TrimSpace(key))
	}
	for _, s := range t.servers {
		if err := s.launch(); err != nil {
			return err
		}
		if _, err := s.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
