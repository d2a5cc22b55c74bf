package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/bookside/bookside/docker/load"
)

// trial sends requests and collects the results.
type trial struct {
	*cluster
	slots   *slots
	lastOld int // id of the sample site's last booking
	stages  []*stage
}

// stage is a line of the report, which counts by its columns.
type stage struct {
	load.Tally
	name  string
	took  time.Duration
	rate  bool   // report the number of winners per second too
	facts string // more for the report
}

// columns are those of the report. A repeated request counts as a 503 with Retry-After; a contest with the
// wrong number of winners is wrong.
var columns = []string{"contests", "requests", "won", "refused", "replayed", "503", "other 5xx", "certification", "aborts", "deadlocks", "wrong"}

func newTrial(ctx context.Context, c *cluster) (*trial, error) {
	l := &trial{cluster: c}
	err := c.nodes[0].db.QueryRowContext(ctx, "SELECT MAX(id) FROM wp_latepoint_bookings").Scan(&l.lastOld)
	if err == nil {
		l.slots, err = l.learn(ctx)
	}
	return l, err
}

// measure runs work and adds a line to the report.
func (l *trial) measure(ctx context.Context, name string, work func() error) error {
	fmt.Fprintln(os.Stderr, name)
	now := &stage{name: name}
	l.stages = append(l.stages, now)
	before, err := l.conflicts(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := work(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	now.took = time.Since(began)
	after, err := l.conflicts(ctx)
	for column, n := range after {
		now.Add(column, n-before[column])
	}
	return err
}

// now is the current stage.
func (l *trial) now() *stage { return l.stages[len(l.stages)-1] }

// report prints the stages, and returns their problems.
func (l *trial) report() error {
	var problems []error
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "\t%s\tseconds\t\n", strings.Join(columns, "\t"))
	for _, s := range l.stages {
		_, _ = fmt.Fprintf(table, "%s\t", s.name)
		for _, column := range columns {
			_, _ = fmt.Fprintf(table, "%d\t", s.Counted(column))
		}
		_, _ = fmt.Fprintf(table, "%.1f\t\n", s.took.Seconds())
		if err := s.Err(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	_ = table.Flush()
	for _, s := range l.stages {
		if s.rate {
			fmt.Printf("%s: %.0f bookings a second\n", s.name, float64(s.Counted("won"))/s.took.Seconds())
		}
		if s.facts != "" {
			fmt.Printf("%s: %s\n", s.name, s.facts)
		}
	}
	return errors.Join(problems...)
}

// ask sends a request until the response is not a 503.
func (l *trial) ask(ctx context.Context, to *load.Server, r load.Request) (load.Answer, error) {
	l.now().Count("requests")
	a, _, err := to.Ask(ctx, r, func() { l.now().Count("503") })
	if err != nil {
		l.now().Problem("%s through %s: %v", r, to.Name, err)
	}
	return a, err
}

// attempt sends a request of a contest and returns how much it won.
type attempt func(ctx context.Context, to *load.Server) (won int)

// unexpected records a response that neither a winner nor a loser should get.
func (l *trial) unexpected(to *load.Server, r load.Request, a load.Answer) {
	if a.Status >= http.StatusInternalServerError {
		l.now().Count("other 5xx")
	}
	l.now().Problem("%s through %s: %s", r, to.Name, a)
}

// compete returns an attempt that sends a request. judge returns how much a response won, and whether the
// request may get it.
func (l *trial) compete(r load.Request, judge func(load.Answer) (won int, fair bool)) attempt {
	return func(ctx context.Context, to *load.Server) int {
		a, err := l.ask(ctx, to, r)
		if err != nil {
			return 0
		}
		won, fair := judge(a)
		switch {
		case !fair:
			l.unexpected(to, r, a)
		case a.Replayed():
			l.now().Count("replayed")
		case won == 0:
			l.now().Count("refused")
		}
		l.now().Add("won", won)
		return won
	}
}

// contest is concurrent requests that compete for the same thing.
type contest struct {
	name     string
	capacity int // number of winners
	attempts []attempt
	rows     string // query for the number of winners' rows
	args     []any
	silent   bool // responses do not reveal the winner
}

// runContest runs all attempts of a contest at once, spread over the sidecars from
// first on, and compares the winners with the rows on each node.
func (l *trial) runContest(ctx context.Context, c contest, first int) error {
	l.now().Count("contests")
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
		l.now().Count("wrong")
		l.now().Problem("%s: %d can win, %d won according to their responses, and the nodes have %v rows", c.name, c.capacity, reported, rows)
	}
	return nil
}

// compareNodes checks that all nodes have the same rows, and that no agent has two bookings at once.
func (l *trial) compareNodes(ctx context.Context) error {
	return l.measure(ctx, "comparison of nodes", func() error {
		l.stopSidecars()
		overlaps, err := l.counts(ctx, `SELECT COUNT(*) FROM wp_latepoint_bookings a JOIN wp_latepoint_bookings b
			ON a.id < b.id AND a.agent_id = b.agent_id AND a.location_id = b.location_id AND a.start_date = b.start_date
			AND a.start_time < b.end_time AND b.start_time < a.end_time
			WHERE a.status = 'approved' AND b.status = 'approved' AND a.service_id = ? AND b.service_id = ?`, shortService, shortService)
		if err != nil {
			return err
		}
		if slices.Max(overlaps) > 0 {
			l.now().Problem("pairs of overlapping bookings on each node: %v", overlaps)
		}
		var tables []string
		err = l.nodes[0].each(ctx, "SELECT table_name, 0 FROM information_schema.tables WHERE table_schema = DATABASE()", func(name string, _ int) { tables = append(tables, name) })
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
				l.now().Problem("the nodes have different rows of %s", table)
			}
		}
		return nil
	})
}
