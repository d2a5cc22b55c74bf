// Command histories records what several servers tell clients about the slots of agents and days while
// servers and databases are killed, stopped and cut off, and has Porcupine decide whether that is
// linearizable. docker/histories/run builds what it needs, and explains what it checks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bookside/bookside/docker/load"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/history"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := try(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(1) //nolint:gocritic // nothing is left for stop to do
	}
}

// trial has the nodes, the servers and what happened to them.
type trial struct {
	load.Tally
	program, folder, root, galera string
	nodes                         []*node
	servers                       []*server
	keys                          []string // of the agents
	faults                        map[string]int
	witness                       witness

	kills                      []time.Time   // of nodes
	slowestNode, slowestServer time.Duration // until it served again

	mu       sync.Mutex
	chapters []*chapter
	gaveUp   []string // nodes that ended by themselves
	notes    []string // faults of the database
}

func try(ctx context.Context) error {
	t := &trial{faults: map[string]int{}}
	flag.StringVar(&t.program, "bookside", "", "the program, whose clock is SKEW ahead")
	flag.StringVar(&t.folder, "folder", ".", "directory for data and logs")
	flag.StringVar(&t.root, "root", "", "directory with the system that has MariaDB, which sees the folder too")
	flag.StringVar(&t.galera, "galera", "/usr/lib/galera/libgalera_smm.so", "Galera's library")
	nodes := flag.Int("nodes", 1, "database servers; more than one are a Galera cluster")
	servers := flag.Int("servers", 3, "servers of Bookside")
	duration := flag.Duration("duration", 10*time.Minute, "how long faults happen")
	seed := flag.Uint64("seed", rand.Uint64(), "draws the faults")
	flag.Parse()
	t.newNodes(*nodes)
	defer t.stopNodes()
	if err := t.prepare(ctx, *servers); err != nil {
		return err
	}
	defer func() {
		for _, s := range t.servers {
			s.Kill()
		}
	}()
	fmt.Fprintf(os.Stderr, "%v of faults, -seed %d\n", *duration, *seed)
	if err := t.run(ctx, *duration, rand.New(rand.NewPCG(*seed, 0))); err != nil { //nolint:gosec // an order of faults, no secret
		return errors.Join(err, t.Err())
	}
	return t.judge(ctx, *duration)
}

// prepare starts the nodes with the sample site, and the servers.
func (t *trial) prepare(ctx context.Context, servers int) error {
	if err := t.startNodes(ctx); err != nil {
		return err
	}
	for _, statement := range append(witnessSQL, "CREATE DATABASE site CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci") {
		if _, err := t.nodes[0].witness.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if err := fixtures.Load(ctx, t.nodes[0].site, fixtures.Small(time.Now())); err != nil {
		return err
	}
	return t.startServers(ctx, servers)
}

// run records histories while faults happen, and continues until everything serves again.
func (t *trial) run(ctx context.Context, duration time.Duration, random *rand.Rand) error {
	recording, stop := context.WithCancel(ctx)
	defer stop()
	var all, watchers sync.WaitGroup
	watching, leave := context.WithCancel(ctx)
	defer leave()
	for _, s := range t.servers {
		watchers.Go(func() { s.watch(watching) })
	}
	for _, n := range t.nodes {
		all.Go(func() { t.testify(recording, n) })
	}
	for i := range agents {
		all.Go(func() { t.record(recording, i+1) })
	}
	err := t.inject(ctx, time.Now().Add(duration), random)
	stop()
	all.Wait()
	leave()
	watchers.Wait()
	return err
}

// nodeEnded notes that a node has given up, which a cluster's node may.
func (t *trial) nodeEnded(text string) {
	t.say("%s", text)
	if len(t.nodes) == 1 {
		t.Problem("%s", text)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	first, _, _ := strings.Cut(text, "\n")
	t.gaveUp = append(t.gaveUp, time.Now().Format(time.TimeOnly)+" node "+first)
}

// judge compares the nodes' rows with what was confirmed, and reports. It sets apart the faults of the
// database, which the witness sees too: losing commits, and showing less than was committed before.
func (t *trial) judge(ctx context.Context, duration time.Duration) error {
	for _, s := range t.servers {
		s.Kill()
	}
	var version string
	if err := t.nodes[0].site.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	lost, plain := map[int64]bool{}, 0 // bookings, and rows of the witness
	var rows, sums []string
	for _, n := range t.nodes {
		l, err := t.missing(ctx, n)
		if err != nil {
			return err
		}
		for _, id := range slices.Concat(l.bookings, l.cancellations) {
			lost[id] = true
		}
		rows = append(rows, fmt.Sprintf("node %s lacks %d bookings %v, %d cancellations %v, and %d rows of the client without Bookside %v", n.Name,
			len(l.bookings), first(l.bookings), len(l.cancellations), first(l.cancellations), len(l.plain), first(l.plain)))
		plain += len(l.plain)
		sum, err := checksums(ctx, n)
		if err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	switch {
	case plain > 0:
		t.Problem("the database loses what it has committed, without Bookside, too")
	case len(lost) > 0:
		t.Problem("bookings or cancellations are lost, and nothing of the client without Bookside: look for the cause in Bookside")
	}
	if len(slices.Compact(slices.Clone(sums))) > 1 {
		t.Problem("the nodes have different rows:\n%s", strings.Join(sums, "\n"))
	}
	if len(t.witness.stale) > 0 {
		t.Problem("the database shows stale rows, without Bookside, too: %s", strings.Join(t.witness.stale[:min(5, len(t.witness.stale))], "; "))
	}
	verdicts, outcomes, made, cancelled := map[history.Verdict]int{}, map[string]int{}, 0, 0
	for _, c := range t.chapters {
		verdicts[c.verdict]++
		made, cancelled = made+len(c.made), cancelled+len(c.cancelled)
		for what, n := range c.Outcomes() {
			_, outcome, _ := strings.Cut(strings.Replace(what, "book hold", "book", 1), " ")
			outcomes[outcome] += n
		}
		if c.verdict != history.Linearizable {
			t.accuse(c, lost)
		}
	}
	if verdicts[history.Linearizable] == 0 {
		t.Problem("no history is linearizable")
	}
	fmt.Printf("%v of faults, MariaDB %s, %d nodes, %d servers\n", duration, version, len(t.nodes), len(t.servers))
	for _, name := range slices.Sorted(maps.Keys(t.faults)) {
		fmt.Printf("%4d × %s\n", t.faults[name], name)
	}
	fmt.Printf("histories: %v, of requests that were %v\n", verdicts, outcomes)
	fmt.Printf("confirmed: %d bookings, %d cancellations; %d rows without Bookside, of which %d were read through any node, %d in vain\n",
		made, cancelled, len(t.witness.confirmed), t.witness.reads, len(t.witness.stale))
	fmt.Println(strings.Join(rows, "\n"))
	fmt.Printf("slowest to serve again: nodes %v, servers %v after them\n", t.slowestNode.Round(10*time.Millisecond), t.slowestServer.Round(10*time.Millisecond))
	if len(t.gaveUp) > 0 {
		fmt.Printf("nodes that gave up, and were started again:\n%s\n", strings.Join(t.gaveUp, "\n"))
	}
	if len(t.notes) > 0 {
		fmt.Println(strings.Join(t.notes, "\n"))
	}
	return t.Err()
}

// first returns the first of many.
func first(ids []int64) []int64 { return ids[:min(len(ids), 5)] }

// accuse names what may be to blame for a history.
func (t *trial) accuse(c *chapter, lost map[int64]bool) {
	file := filepath.Join(t.folder, fmt.Sprintf("history-%d-%s.txt", c.agent, c.day))
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Problem("%v", err)
	}
	explained := func(some func(r history.Request, a history.Answer, sent, answered time.Time) bool) bool {
		return c.Without(some).Check(decision) == history.Linearizable
	}
	who := "neither lost rows nor stale reads explain it, so it is ours"
	switch {
	case c.verdict == history.Undecided:
		who = "nobody knows"
	case slices.ContainsFunc(slices.Collect(maps.Keys(c.made)), func(id int64) bool { return lost[id] }):
		who = "bookings of it are lost"
	case explained(t.beforeKill):
		t.notes = append(t.notes, fmt.Sprintf("the history of agent %d on %s is linearizable without what was refused or shown within a second of a kill of a node: "+
			"InnoDB shows commits before it has written them, and nobody had been told that they succeeded", c.agent, c.day))
		return
	case explained(func(r history.Request, _ history.Answer, _, _ time.Time) bool {
		return r.Kind == history.Read || r.Kind == history.Availability
	}):
		who = "its writes are linearizable, so reads were stale"
	}
	t.Problem("%s is %s; %s", file, c.verdict, who)
}

// beforeKill reports whether a request only read, within a second of the kill of a node.
func (t *trial) beforeKill(r history.Request, a history.Answer, sent, answered time.Time) bool {
	shows := a.Outcome == history.Refused || r.Kind == history.Read || r.Kind == history.Availability
	return shows && slices.ContainsFunc(t.kills, func(at time.Time) bool { return sent.Before(at) && answered.After(at.Add(-time.Second)) })
}
