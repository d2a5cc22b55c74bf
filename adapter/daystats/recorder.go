package daystats

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Request is what is counted about a request.
type Request struct {
	Outcome Outcome
	Took    time.Duration
	Waited  bool  // waited for an event, so Took is meaningless
	KeyID   int64 // 0 for none
}

// Recorder counts the requests of this server, and writes them once a minute. A nil
// Recorder counts nothing.
type Recorder struct {
	db     *wpdb.DB
	now    domain.Clock
	log    *slog.Logger
	server string

	mu      sync.Mutex
	current *numbered  // nil before the first request of the minute
	closed  []numbered // past minutes that are not written yet, oldest first
	failing bool       // the last write failed
}

// NewRecorder returns a Recorder that writes to db. It logs errors.
func NewRecorder(db *wpdb.DB, now domain.Clock, log *slog.Logger) *Recorder {
	return &Recorder{db: db, now: now, log: log, server: rand.Text()}
}

// Kept is how long figures are kept.
const Kept = 24 * time.Hour

const (
	keptMinutes = int(Kept / time.Minute)
	// maxKeys bounds the keys that are counted individually in a minute.
	maxKeys = 200

	writeEvery  = time.Minute
	sampleEvery = time.Second
	writeLimit  = 5 * time.Second // for one write
)

// Add counts a request that has just ended.
func (r *Recorder) Add(request Request) {
	if r == nil {
		return
	}
	number := numberOf(r.now())
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.minute(number)
	m.Requests[request.Outcome]++
	if !request.Waited {
		m.Durations.count(request.Took)
	}
	if _, known := m.Keys[request.KeyID]; request.KeyID != 0 && (known || len(m.Keys) < maxKeys) {
		m.Keys[request.KeyID]++
	}
}

// minute returns the present minute, and closes the previous one. If the clock goes back, it continues the
// minute that it finds.
func (r *Recorder) minute(number int64) *numbered {
	if r.current == nil || number > r.current.number {
		r.closeMinute()
		r.current = &numbered{number: number, server: r.server, Minute: Minute{Keys: map[int64]int64{}}}
	}
	return r.current
}

func (r *Recorder) closeMinute() {
	if r.current == nil {
		return
	}
	r.closed = append(r.closed, *r.current)
	r.current = nil
	if extra := len(r.closed) - keptMinutes; extra > 0 {
		r.closed = r.closed[extra:]
	}
}

// sample records how many connections are in use, in a minute that has requests: other minutes are not
// written.
func (r *Recorder) sample() {
	stats := r.db.Stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || r.current.number != numberOf(r.now()) {
		return
	}
	r.current.Connections = max(r.current.Connections, int64(stats.InUse))
	r.current.ConnectionLimit = int64(stats.MaxOpenConnections)
}

// Run writes the figures once a minute until ctx ends, and finally those of the unfinished minute.
func (r *Recorder) Run(ctx context.Context) {
	samples, writes := time.NewTicker(sampleEvery), time.NewTicker(writeEvery)
	defer samples.Stop()
	defer writes.Stop()
	for {
		select {
		case <-samples.C:
			r.sample()
		case <-writes.C:
			r.write(ctx)
		case <-ctx.Done():
			r.Stop(context.WithoutCancel(ctx))
			return
		}
	}
}

// Stop writes everything, including the counts of the present minute.
func (r *Recorder) Stop(ctx context.Context) {
	r.mu.Lock()
	r.closeMinute()
	r.mu.Unlock()
	r.write(ctx)
}

// write writes the past minutes. Those that could not be written are kept for the next time.
func (r *Recorder) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	r.mu.Lock()
	if r.current != nil && r.current.number < numberOf(r.now()) {
		r.closeMinute()
	}
	minutes := r.closed
	r.mu.Unlock()
	if len(minutes) == 0 {
		return
	}
	written, err := store(ctx, r.db, minutes)
	r.mu.Lock()
	defer r.mu.Unlock()
	if written > 0 {
		r.drop(minutes[written-1].number)
	}
	if err != nil && !r.failing {
		r.log.WarnContext(ctx, "figures for the console cannot be written and are kept in memory", "error", err)
	}
	r.failing = err != nil
}

// drop discards the minutes up to a number.
func (r *Recorder) drop(number int64) {
	for len(r.closed) > 0 && r.closed[0].number <= number {
		r.closed = r.closed[1:]
	}
}

// unwritten returns a copy of the minutes that only this server has.
func (r *Recorder) unwritten() []numbered {
	r.mu.Lock()
	defer r.mu.Unlock()
	minutes := append([]numbered(nil), r.closed...) // closed minutes never change
	if r.current != nil {
		open := *r.current
		open.Minute = Minute{}
		open.addServer(&r.current.Minute)
		minutes = append(minutes, open)
	}
	return minutes
}
