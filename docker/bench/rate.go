package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// rate is how many requests were answered and how long they took.
type rate struct {
	requests    int
	perSecond   float64
	median, p99 time.Duration
}

// errNoMore ends a measurement early, without an error.
var errNoMore = errors.New("there is nothing more to do")

// measureRate makes this many clients call do repeatedly until the time is over. Each call has its own
// number. An error ends the measurement.
func measureRate(ctx context.Context, clients int, duration time.Duration, do func(ctx context.Context, n int) error) (rate, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	end := began.Add(duration)
	var next atomic.Int64
	var all sync.WaitGroup
	took := make([][]time.Duration, clients)
	for client := range clients {
		all.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				begin := time.Now()
				switch err := do(ctx, int(next.Add(1))-1); {
				case errors.Is(err, errNoMore):
					return
				case err != nil:
					cancel(err)
					return
				}
				took[client] = append(took[client], time.Since(begin))
			}
		})
	}
	all.Wait()
	lasted := time.Since(began)
	if err := context.Cause(ctx); err != nil {
		return rate{}, err
	}
	sorted := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(sorted) == 0 {
		return rate{}, errNoMore
	}
	return rate{len(sorted), float64(len(sorted)) / lasted.Seconds(), quantile(sorted, 50), quantile(sorted, 99)}, nil
}

// quantile returns one of sorted durations.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)].Round(10 * time.Microsecond)
}
