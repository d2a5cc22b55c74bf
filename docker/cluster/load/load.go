package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// load sends requests and collects the results.
type load struct {
	*cluster
	client  *http.Client
	slots   *slots
	lastOld int // id of the sample site's last booking

	mu       sync.Mutex
	stages   []*stage
	problems int
}

// stage is a line of the report.
type stage struct {
	name                    string
	contests, requests      int
	won, rejected, replayed int // responses
	later                   int // 503 with Retry-After; the request was repeated
	failed                  int // other 5xx
	wrong                   int // contests with more or fewer winners than there should be
	took                    time.Duration
	rate                    bool   // report the number of winners per second too
	facts                   string // more for the report
	problems                []string
	counters
}

func newLoad(ctx context.Context, c *cluster) (*load, error) {
	l := &load{cluster: c, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	err := c.nodes[0].db.QueryRowContext(ctx, "SELECT MAX(id) FROM wp_latepoint_bookings").Scan(&l.lastOld)
	if err == nil {
		l.slots, err = l.learn(ctx)
	}
	return l, err
}

// measure runs work and adds a line to the report for it.
func (l *load) measure(ctx context.Context, name string, work func() error) error {
	fmt.Fprintln(os.Stderr, name)
	l.stages = append(l.stages, &stage{name: name})
	before, err := l.counters(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := work(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	now := l.now()
	now.took = time.Since(began)
	after, err := l.counters(ctx)
	now.counters = after.minus(before)
	return err
}

func (l *load) now() *stage { return l.stages[len(l.stages)-1] }

// count changes the figures of the current stage.
func (l *load) count(change func(*stage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.now())
}

// examples is the maximum number of problems shown for a stage.
const examples = 5

func (l *load) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems++
	if s := l.now(); len(s.problems) < examples {
		s.problems = append(s.problems, fmt.Sprintf(format, args...))
	}
}

func (l *load) report() string {
	var text strings.Builder
	// Writing to memory cannot fail.
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tcontests\trequests\twon\trefused\treplayed\t503\tother 5xx\tcertification\taborts\tdeadlocks\tseconds\twrong\t")
	for _, s := range l.stages {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t%d\t\n", s.name, s.contests, s.requests, s.won, s.rejected, s.replayed,
			s.later, s.failed, s.counters.rejected, s.aborted, s.deadlocks, s.took.Seconds(), s.wrong)
	}
	_ = table.Flush()
	for _, s := range l.stages {
		if s.rate {
			fmt.Fprintf(&text, "%s: %.0f bookings a second\n", s.name, float64(s.won)/s.took.Seconds())
		}
		if s.facts != "" {
			fmt.Fprintf(&text, "%s: %s\n", s.name, s.facts)
		}
		for _, problem := range s.problems {
			fmt.Fprintf(&text, "PROBLEM: %s: %s\n", s.name, problem)
		}
	}
	return text.String()
}

// request is a request that may be sent repeatedly.
type request struct {
	method, path string
	idempotency  string
	careful      bool // repeat it while an earlier attempt of it is in progress
	body         any
}

type answer struct {
	status   int
	body     []byte
	replayed bool
}

// code returns the code of an error, or "" for any other response.
func (a answer) code() string {
	var body struct {
		Code  string
		Error struct{ Code string }
	}
	_ = json.Unmarshal(a.body, &body) // a response that is not JSON has no code
	return body.Error.Code + body.Code
}

// inProgress is the error code for an Idempotency-Key whose first request is still
// being processed.
const inProgress = "idempotency_in_progress"

// patience limits how long a request is repeated while it gets a 503.
const patience = time.Minute

// ask sends a request until the response is not a 503.
func (l *load) ask(ctx context.Context, to *sidecar, r request) (answer, error) {
	l.count(func(s *stage) { s.requests++ })
	deadline := time.Now().Add(patience)
	for {
		a, retryAfter, err := l.send(ctx, to, r)
		switch {
		case err != nil:
			l.problem("%s %s through %s: %v", r.method, r.path, to.name, err)
			return a, err
		case a.status == http.StatusServiceUnavailable && retryAfter != "" && time.Now().Before(deadline):
			l.count(func(s *stage) { s.later++ })
			pause()
		case r.careful && a.code() == inProgress && time.Now().Before(deadline):
			pause()
		default:
			return a, nil
		}
	}
}

// pause is much shorter than Retry-After, because there are no other clients to spare.
func pause() { time.Sleep(20*time.Millisecond + rand.N(80*time.Millisecond)) }

func (l *load) send(ctx context.Context, to *sidecar, r request) (a answer, retryAfter string, err error) {
	var content []byte
	if r.body != nil {
		if content, err = json.Marshal(r.body); err != nil {
			return a, "", err
		}
	}
	message, err := http.NewRequestWithContext(ctx, r.method, to.url+"/v1"+r.path, bytes.NewReader(content))
	if err != nil {
		return a, "", err
	}
	message.Header.Set("X-API-Key", l.key)
	message.Header.Set("Content-Type", "application/json")
	if r.idempotency != "" {
		message.Header.Set("Idempotency-Key", r.idempotency)
	}
	response, err := l.client.Do(message)
	if err != nil {
		return a, "", err
	}
	defer response.Body.Close() //nolint:errcheck // the error of reading it is enough
	a.status, a.replayed = response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true"
	a.body, err = io.ReadAll(response.Body)
	return a, response.Header.Get("Retry-After"), err
}

// attempt sends a request of a contest and returns how much it won.
type attempt func(ctx context.Context, to *sidecar) (won int)

// unexpected records a response that neither a winner nor a loser should get.
func (l *load) unexpected(to *sidecar, r request, a answer) {
	if a.status >= http.StatusInternalServerError {
		l.count(func(s *stage) { s.failed++ })
	}
	l.problem("%s %s through %s: %d %.300s", r.method, r.path, to.name, a.status, a.body)
}

// compete returns an attempt that sends a request. judge returns how much a response
// has won, and whether it is a response that the request may get.
func (l *load) compete(r request, judge func(answer) (won int, fair bool)) attempt {
	return func(ctx context.Context, to *sidecar) int {
		a, err := l.ask(ctx, to, r)
		if err != nil {
			return 0
		}
		won, fair := judge(a)
		switch {
		case !fair:
			l.unexpected(to, r, a)
		case a.replayed:
			l.count(func(s *stage) { s.replayed++ })
		case won == 0:
			l.count(func(s *stage) { s.rejected++ })
		}
		l.count(func(s *stage) { s.won += won })
		return won
	}
}

// contest is concurrent requests that compete for the same thing.
type contest struct {
	name     string
	capacity int // number of winners
	attempts []attempt
	rows     string // a query for the number of winners' rows
	args     []any
	silent   bool // responses do not reveal the winner
}

// runContest runs all attempts of a contest at once, spread over the sidecars from
// first on, and compares the winners with the rows on each node.
func (l *load) runContest(ctx context.Context, c contest, first int) error {
	l.count(func(s *stage) { s.contests++ })
	won := make([]int, len(c.attempts))
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i, attempt := range c.attempts {
		all.Go(func() {
			<-gate
			won[i] = attempt(ctx, l.sidecars[(first+i)%len(l.sidecars)])
		})
	}
	close(gate)
	all.Wait()
	sum := 0
	for _, n := range won {
		sum += n
	}
	rows, err := l.counts(ctx, c.rows, c.args...)
	if err != nil {
		return err
	}
	reported := sum
	if c.silent {
		reported = c.capacity
	}
	if reported != c.capacity || slices.ContainsFunc(rows, func(n int) bool { return n != c.capacity }) {
		l.count(func(s *stage) { s.wrong++ })
		l.problem("%s: %d can win, %d won according to their responses, and the nodes have %v rows", c.name, c.capacity, reported, rows)
	}
	return nil
}

// compareNodes checks that all nodes have the same rows, and that no agent has two
// bookings at once.
func (l *load) compareNodes(ctx context.Context) error {
	return l.measure(ctx, "comparison of nodes", func() error {
		if err := l.stopSidecars(); err != nil {
			return err
		}
		overlaps, err := l.counts(ctx, `SELECT COUNT(*) FROM wp_latepoint_bookings a JOIN wp_latepoint_bookings b
			ON a.id < b.id AND a.agent_id = b.agent_id AND a.location_id = b.location_id AND a.start_date = b.start_date
			AND a.start_time < b.end_time AND b.start_time < a.end_time
			WHERE a.status = 'approved' AND b.status = 'approved' AND a.service_id = ? AND b.service_id = ?`, shortService, shortService)
		if err != nil {
			return err
		}
		if slices.Max(overlaps) > 0 {
			l.problem("pairs of overlapping bookings on each node: %v", overlaps)
		}
		tables, err := l.tables(ctx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			var sums []string
			for _, n := range l.nodes {
				var name, sum string
				if err := n.db.QueryRowContext(ctx, "CHECKSUM TABLE "+table).Scan(&name, &sum); err != nil {
					return err
				}
				sums = append(sums, sum)
			}
			if len(slices.Compact(sums)) > 1 {
				l.problem("the nodes have different rows of %s", table)
			}
		}
		return nil
	})
}

func (l *load) tables(ctx context.Context) (names []string, err error) {
	rows, err := l.nodes[0].db.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
