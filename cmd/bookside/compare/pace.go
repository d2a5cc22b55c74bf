package compare

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// pace spares the site: it keeps to the rate, pauses when PHP slows down, and stops when that does not
// help.
type pace struct {
	interval time.Duration // between the beginnings of comparisons; 0 for no pause
	sleep    func(context.Context, time.Duration) error
	now      func() time.Time

	next   time.Time
	failed int // consecutive requests without a response
	broken int // consecutive requests with a 5xx from PHP

	comparisons int
	total       time.Duration

	usual  map[string][]time.Duration // the first durations of each route
	recent []float64                  // how much slower than usual the last requests were
	slow   int                        // pauses because of that
}

// When PHP counts as slow.
const (
	usualTimes  = 4                      // of a route, which determine its usual duration
	recentTimes = 12                     // how many requests are considered
	slowFactor  = 3                      // of the usual time
	minTime     = 100 * time.Millisecond // shorter ones count as this
	slowPause   = 30 * time.Second
	slowPauses  = 3 // then it stops
)

// wait waits until the next comparison may begin.
func (p *pace) wait(ctx context.Context, report func(string)) error {
	if err := ctx.Err(); err != nil || p.interval == 0 {
		return err
	}
	if p.resting() {
		report(fmt.Sprintf("%v, because PHP has become slow", slowPause))
		p.recent = p.recent[:0]
		if err := p.sleep(ctx, slowPause); err != nil {
			return err
		}
	}
	now := p.now()
	if pause := p.next.Sub(now); pause > 0 {
		if err := p.sleep(ctx, pause); err != nil {
			return err
		}
		now = p.next
	}
	p.next = now.Add(p.interval)
	return nil
}

// resting reports whether PHP is slow at present.
func (p *pace) resting() bool {
	if len(p.recent) < recentTimes {
		return false
	}
	sorted := slices.Sorted(slices.Values(p.recent))
	return sorted[len(sorted)/2] >= slowFactor
}

// watch compares the times of PHP with those at the beginning of the run. It does nothing at a rate of 0,
// which means that the site need not be spared.
func (p *pace) watch(route string, answers ...answer) error {
	if p.interval == 0 {
		return nil
	}
	if p.usual == nil {
		p.usual = map[string][]time.Duration{}
	}
	for _, a := range answers {
		took := max(a.took, minTime)
		if first := p.usual[route]; len(first) < usualTimes {
			p.usual[route] = append(first, took)
			continue
		}
		sorted := slices.Sorted(slices.Values(p.usual[route]))
		p.recent = append(p.recent, float64(took)/float64(sorted[usualTimes/2]))
		if len(p.recent) > recentTimes {
			p.recent = p.recent[1:]
		}
	}
	if !p.resting() {
		return nil
	}
	p.slow++
	if p.slow > slowPauses {
		return &stoppedError{fmt.Sprintf("Stopped: PHP has become %d times slower than at the beginning, and %d pauses of %v did not help.", slowFactor, slowPauses, slowPause)}
	}
	return nil
}

func (p *pace) took(d time.Duration) {
	p.comparisons++
	p.total += max(d, p.interval)
}

// left estimates how long this many comparisons take.
func (p *pace) left(comparisons int) time.Duration {
	if p.comparisons == 0 || comparisons <= 0 {
		return 0
	}
	return p.total / time.Duration(p.comparisons) * time.Duration(comparisons)
}
