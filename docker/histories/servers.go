package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/docker/load"
)

// server is a Bookside.
type server struct {
	*load.Server
	away atomic.Bool // whether its last request got no answer
}

// watch returns the server to the clients once it answers again.
func (s *server) watch(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if s.away.Load() && s.Answers(ctx) {
			s.away.Store(false)
		}
	}
}

// skews are the errors of the servers' clocks.
var skews = []time.Duration{0, 90 * time.Second, 0, -90 * time.Second}

// startServers creates the keys, and starts one server after the other.
func (t *trial) startServers(ctx context.Context, number int) error {
	for i := range number {
		s, err := load.NewServer(ctx, t.program, fmt.Sprint("server ", i+1), filepath.Join(t.folder, fmt.Sprintf("server-%d.log", i+1)),
			"BOOKSIDE_DB__DSN="+t.nodes[i%len(t.nodes)].DSN("site"), "SKEW="+skews[i%len(skews)].String(), "BOOKSIDE_DB__CONNECT_WAIT=5m", "BOOKSIDE_LOG__LEVEL=warn")
		if err != nil {
			return err
		}
		s.Ended = func(text string) { t.Problem("%s", text) }
		t.servers = append(t.servers, &server{Server: s})
	}
	for range agents { // each agent has its own, because a key can have only a few holds at a time
		key, err := t.servers[0].NewKey(ctx, "histories", "read,write")
		if err != nil {
			return err
		}
		t.keys = append(t.keys, key)
	}
	for _, s := range t.servers {
		s.Key = t.keys[0]
		if err := s.Launch(); err != nil {
			return err
		}
		if _, err := s.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
