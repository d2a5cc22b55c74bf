package ask

import (
	"context"
	"sync/atomic"
	"time"
)

// Meter adds up how long a request waits for WordPress.
type Meter struct{ waited atomic.Int64 }

// Waited returns the time waited so far.
func (m *Meter) Waited() time.Duration { return time.Duration(m.waited.Load()) }

type meterKey struct{}

// WithMeter returns a context whose waiting time is measured.
func WithMeter(ctx context.Context) (context.Context, *Meter) {
	m := new(Meter)
	return context.WithValue(ctx, meterKey{}, m), m
}

// meter measures until the returned function is called.
func meter(ctx context.Context) func() {
	m, measured := ctx.Value(meterKey{}).(*Meter)
	if !measured {
		return func() {}
	}
	began := time.Now()
	return func() { m.waited.Add(int64(time.Since(began))) }
}
