package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// recovery is how long a server may take to answer once faults are over and the nodes serve. Nodes of a
// cluster may claim to serve before they notice that they were away.
func (t *trial) recovery() time.Duration {
	if len(t.nodes) > 1 {
		return 15 * time.Second
	}
	return 5 * time.Second
}

// brief mostly returns a short time, and occasionally one that is longer than servers and nodes wait for
// each other.
func brief(random *rand.Rand) time.Duration {
	if random.IntN(4) == 0 {
		return 5*time.Second + time.Duration(random.Int64N(int64(15*time.Second)))
	}
	return time.Duration(random.Int64N(int64(3 * time.Second)))
}

// fault happens to a server or a node, and is over when do returns.
type fault struct {
	name string
	do   func() error
}

// serverFault draws a fault of a server.
func (t *trial) serverFault(random *rand.Rand) fault {
	s, d := t.servers[random.IntN(len(t.servers))], brief(random)
	if random.IntN(2) == 0 {
		return fault{"kill -9 of a server", func() error {
			t.say("%s is killed for %v", s.Name, d)
			s.Kill()
			time.Sleep(d)
			return s.Launch()
		}}
	}
	return fault{"STOP and CONT of a server", func() error {
		t.say("%s is stopped for %v", s.Name, d)
		s.Freeze(d)
		return nil
	}}
}

// nodeFault draws a fault of the database.
func (t *trial) nodeFault(ctx context.Context, random *rand.Rand) fault {
	n, d := t.nodes[random.IntN(len(t.nodes))], brief(random)
	kinds := 2
	if len(t.nodes) > 1 {
		kinds = 7
	}
	switch random.IntN(kinds) {
	case 0, 2:
		return fault{"kill -9 of a node", func() error {
			t.say("node %s is killed for %v", n.Name, d)
			t.kills = append(t.kills, time.Now())
			n.Kill()
			time.Sleep(d)
			return n.again(ctx)
		}}
	case 1, 3:
		return fault{"STOP and CONT of a node", func() error {
			t.say("node %s is stopped for %v", n.Name, d)
			n.Freeze(d)
			return nil
		}}
	case 4:
		return fault{"kill -9 of all nodes", func() error {
			t.say("all nodes are killed for %v", d)
			t.kills = append(t.kills, time.Now())
			var all sync.WaitGroup
			for _, n := range t.nodes {
				all.Go(n.Kill)
			}
			all.Wait()
			time.Sleep(d)
			return t.allAgain(ctx)
		}}
	default:
		return fault{"cut between nodes", func() error {
			t.say("node %s is cut off for %v", n.Name, d)
			return n.cut(ctx, d)
		}}
	}
}

// inject makes faults happen until the end, one or two at a time.
func (t *trial) inject(ctx context.Context, until time.Time, random *rand.Rand) error {
	for time.Now().Before(until) {
		time.Sleep(2*time.Second + time.Duration(random.Int64N(int64(4*time.Second))))
		var faults []fault
		switch random.IntN(3) {
		case 0:
			faults = []fault{t.serverFault(random)}
		case 1:
			faults = []fault{t.nodeFault(ctx, random)}
		default:
			faults = []fault{t.serverFault(random), t.nodeFault(ctx, random)}
		}
		var all sync.WaitGroup
		problems := make(chan error, len(faults))
		for _, f := range faults {
			t.faults[f.name]++
			all.Go(func() { problems <- f.do() })
		}
		all.Wait()
		for range faults {
			if err := <-problems; err != nil {
				return err
			}
		}
		if err := t.recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// recover waits until all nodes and servers serve.
func (t *trial) recover(ctx context.Context) error {
	began := time.Now()
	for _, n := range t.nodes {
		if err := n.wait(ctx); err != nil {
			return err
		}
	}
	t.slowestNode = max(t.slowestNode, time.Since(began))
	var all sync.WaitGroup
	for _, s := range t.servers {
		all.Go(func() {
			took, err := s.Wait(ctx)
			if err != nil || took > t.recovery() {
				t.Problem("%s answers %v after all nodes serve: %v", s.Name, took.Round(10*time.Millisecond), err)
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.slowestServer = max(t.slowestServer, took)
		})
	}
	all.Wait()
	return ctx.Err()
}

// say prints an event.
func (t *trial) say(format string, args ...any) {
	fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
