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

// load sends requests and keeps the figures.
type load struct {
	*cluster
	client  *http.Client
	slots   *slots
	lastOld int // id of the last booking that the sample site has by itself

	mu       sync.Mutex
	stages   []*stage
	problems int
}

// stage is a line of the report.
type stage struct {
	name                   string
	contests, requests     int
	won, refused, replayed int // answers
	later                  int // answers 503 with Retry-After; the request was sent again
	failed                 int // other answers of 5xx
	wrong                  int // contests that gave away more or less than there was
	took                   time.Duration
	rate                   bool // what was won is told for a second too
	problems               []string
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

// measure adds a line to the report for what work does.
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

// count changes the figures of the stage that runs.
func (l *load) count(change func(*stage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.now())
}

// examples is how many problems of a stage are shown.
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
	// Nothing fails while text is kept in memory.
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tcontests\trequests\twon\trefused\treplayed\t503\tother 5xx\tcertification\taborts\tdeadlocks\tseconds\twrong\t")
	for _, s := range l.stages {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t%d\t\n", s.name, s.contests, s.requests, s.won, s.refused, s.replayed,
			s.later, s.failed, s.counters.refused, s.aborted, s.deadlocks, s.took.Seconds(), s.wrong)
	}
	_ = table.Flush()
	for _, s := range l.stages {
		if s.rate {
			fmt.Fprintf(&text, "%s: %.0f bookings a second\n", s.name, float64(s.won)/s.took.Seconds())
		}
		for _, problem := range s.problems {
			fmt.Fprintf(&text, "PROBLEM: %s: %s\n", s.name, problem)
		}
	}
	return text.String()
}

// request is what is sent. Sent again, it is the same.
type request struct {
	method, path string
	idempotency  string
	careful      bool // sent again, too, while an earlier try of it may still run
	body         any
}

type answer struct {
	status   int
	body     []byte
	replayed bool
}

// code is that of an error, "" for any other answer.
func (a answer) code() string {
	var body struct {
		Code  string
		Error struct{ Code string }
	}
	_ = json.Unmarshal(a.body, &body) // what is no JSON has no code
	return body.Error.Code + body.Code
}

// inProgress is the code of a request with an Idempotency-Key while an earlier
// one is worked on.
const inProgress = "idempotency_in_progress"

// patience is how long a request is sent again while the answer is 503.
const patience = time.Minute

// ask sends a request until the answer is no 503.
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

// pause is far shorter than Retry-After asks for: nobody else is kept waiting.
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
	defer response.Body.Close() //nolint:errcheck // it was read to its end, or reading failed
	a.status, a.replayed = response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true"
	a.body, err = io.ReadAll(response.Body)
	return a, response.Header.Get("Retry-After"), err
}

// try is a request of a contest. It tells how much of what there was to give
// away it got.
type try func(ctx context.Context, to *sidecar) (won int)

// unexpected notes an answer that no loser may get.
func (l *load) unexpected(to *sidecar, r request, a answer) {
	if a.status >= http.StatusInternalServerError {
		l.count(func(s *stage) { s.failed++ })
	}
	l.problem("%s %s through %s: %d %.300s", r.method, r.path, to.name, a.status, a.body)
}

// compete makes a try of a request. judge tells how much an answer has won, and
// whether it is one that may be given at all.
func (l *load) compete(r request, judge func(answer) (won int, fair bool)) try {
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
			l.count(func(s *stage) { s.refused++ })
		}
		l.count(func(s *stage) { s.won += won })
		return won
	}
}

// contest is requests that want the same at the same time.
type contest struct {
	name     string
	capacity int // how many may win
	tries    []try
	rows     string // a query for the number of winners' rows
	args     []any
	silent   bool // answers do not tell who won
}

// hold sends all tries of a contest at once, by turns to the sidecars from the
// given one on, and looks at what is left on each node.
func (l *load) hold(ctx context.Context, c contest, first int) error {
	l.count(func(s *stage) { s.contests++ })
	won := make([]int, len(c.tries))
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i, try := range c.tries {
		all.Go(func() {
			<-gate
			won[i] = try(ctx, l.sidecars[(first+i)%len(l.sidecars)])
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
	told := sum
	if c.silent {
		told = c.capacity
	}
	if told != c.capacity || slices.ContainsFunc(rows, func(n int) bool { return n != c.capacity }) {
		l.count(func(s *stage) { s.wrong++ })
		l.problem("%s: %d may win, %d were told that they did, and the nodes have %v rows", c.name, c.capacity, told, rows)
	}
	return nil
}

// compareNodes fails unless all nodes hold the same rows, and no agent has two
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
			l.problem("pairs of bookings that overlap on each node: %v", overlaps)
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
				l.problem("the nodes hold different rows of %s", table)
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
