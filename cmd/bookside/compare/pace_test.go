package compare

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// clock is a clock that advances only when code sleeps.
type clock struct {
	now   time.Time
	slept []time.Duration
}

func (c *clock) sleep(_ context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func (c *clock) pace(interval time.Duration) *pace {
	return &pace{interval: interval, sleep: c.sleep, now: func() time.Time { return c.now }}
}

func quiet(string) {}

func TestPaceKeepsTheRate(t *testing.T) {
	t.Parallel()
	c := &clock{now: testTime}
	p := c.pace(time.Second)
	for range 5 {
		if err := p.wait(t.Context(), quiet); err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(300 * time.Millisecond) // the requests
	}
	if got := c.now.Sub(testTime); got != 4*time.Second+300*time.Millisecond {
		t.Errorf("five comparisons took %v", got)
	}
	free := c.pace(0)
	for range 5 {
		if err := free.wait(t.Context(), quiet); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.slept) != 4 {
		t.Errorf("slept %v; without a rate there is no pause", c.slept)
	}
}

// TestPaceStopsWhenPHPSlowsDown: slow responses cause pauses, and end the run if pauses do not help.
func TestPaceStopsWhenPHPSlowsDown(t *testing.T) {
	t.Parallel()
	const usual, slow = 200 * time.Millisecond, 700 * time.Millisecond
	run := func(interval time.Duration, times ...time.Duration) (pauses int, stopped error) {
		c := &clock{now: testTime}
		p := c.pace(interval)
		for _, took := range times {
			if err := p.wait(t.Context(), quiet); err != nil {
				t.Fatal(err)
			}
			if stopped = p.watch("/bookings", answer{took: took}, answer{took: took}); stopped != nil {
				break
			}
		}
		for _, d := range c.slept {
			if d == slowPause {
				pauses++
			}
		}
		return pauses, stopped
	}
	many := func(d time.Duration, n int) []time.Duration {
		var all []time.Duration
		for range n {
			all = append(all, d)
		}
		return all
	}
	if pauses, err := run(time.Second, append(many(usual, 10), many(2*usual, 40)...)...); pauses != 0 || err != nil {
		t.Errorf("twice as slow: %d pauses, %v", pauses, err)
	}
	if pauses, err := run(time.Second, append(append(many(usual, 10), many(slow, 4)...), many(usual, 20)...)...); pauses != 1 || err != nil {
		t.Errorf("slow for a while: %d pauses, %v", pauses, err)
	}
	var stop *stoppedError
	if pauses, err := run(time.Second, append(many(usual, 10), many(slow, 100)...)...); pauses != slowPauses || !errors.As(err, &stop) {
		t.Errorf("slow for good: %d pauses, %v", pauses, err)
	}
	if pauses, err := run(0, append(many(usual, 10), many(slow, 100)...)...); pauses != 0 || err != nil {
		t.Errorf("with rate 0: %d pauses, %v", pauses, err)
	}
	if pauses, err := run(time.Second, append(many(time.Millisecond, 10), many(50*time.Millisecond, 100)...)...); pauses != 0 || err != nil {
		t.Errorf("a fast site: %d pauses, %v", pauses, err)
	}
}

// TestRequestLimits: after a 429 of either side the run waits as long as the response says, and sends the
// request again.
func TestRequestLimits(t *testing.T) {
	t.Parallel()
	limited := &standIn{replies: []reply{{status: 429, body: `{}`, header: http.Header{"Retry-After": {"7"}}}, {body: `{"a":1}`}, {body: `{"a":1}`}}}
	c := &clock{now: testTime}
	var waited []string
	run := startRun(t, limited, &standIn{replies: []reply{{body: `{"a":1}`}}}, func(o *Options) {
		o.PHP.sleep = c.sleep
		o.Progress = func(p Progress) {
			if p.Waiting != "" {
				waited = append(waited, p.Line())
			}
		}
	})
	result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings")})
	if result.Outcome != Equal || len(c.slept) != 1 || c.slept[0].Round(time.Second) != 7*time.Second {
		t.Errorf("%+v, slept %v", result, c.slept)
	}
	if len(waited) != 1 || !strings.Contains(waited[0], "waiting 7s, because the request limit") {
		t.Errorf("progress %q", waited)
	}
}

// TestRequestLimitForGood: a side that only returns 429 does not block the run forever.
func TestRequestLimitForGood(t *testing.T) {
	t.Parallel()
	c := &clock{now: testTime}
	run := startRun(t, &standIn{replies: []reply{{status: 429, body: `{}`}}}, &standIn{replies: []reply{{body: `{}`}}}, func(o *Options) { o.PHP.sleep = c.sleep })
	result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings")})
	if result.Outcome != Incomplete || result.Failed != 1 || len(c.slept) != maxWaits || !strings.Contains(result.Failures[0], "again and again") {
		t.Errorf("%+v, slept %v", result, c.slept)
	}
}
