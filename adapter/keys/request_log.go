package keys

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// RequestLog collects the requests of this server and writes them to the table. It is safe for concurrent use.
type RequestLog struct {
	db   *wpdb.DB
	now  domain.Clock
	log  *slog.Logger
	keep int // entries of requests with a key

	mu      sync.Mutex
	waiting []LogEntry        // not written yet, oldest first
	refused map[int]*LogEntry // the requests without a valid key of the present minute, by status

	full    chan struct{} // a batch waits; capacity 1
	dropped atomic.Int64

	// Of the goroutine that writes.
	failing bool // the last write failed
	written int  // entries since the last trim
}

// NewRequestLog returns a Log that writes to db and keeps a number of entries. It logs errors.
func NewRequestLog(db *wpdb.DB, now domain.Clock, log *slog.Logger, keep int) *RequestLog {
	return &RequestLog{db: db, now: now, log: log, keep: keep, refused: map[int]*LogEntry{}, full: make(chan struct{}, 1)}
}

const (
	maxWaiting = 4000 // entries in memory
	batchSize  = 500  // rows of one statement
	writeEvery = time.Second
	writeLimit = 5 * time.Second // for all that waits
)

// Add adds a request that has just ended. It never waits for the database; if too many requests wait to be
// written, it drops this one and returns false.
func (l *RequestLog) Add(e LogEntry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue(e)
}

// Refuse adds a request without a valid key. The log has one entry for all of them in a minute that got the same
// status, so that nobody without a key can push out the others.
func (l *RequestLog) Refuse(e LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeMinute(e.At)
	if l.refused[e.Status] == nil {
		l.refused[e.Status] = &e
	}
	l.refused[e.Status].Refused++
}

// closeMinute queues the refused requests of an earlier minute than that of at.
func (l *RequestLog) closeMinute(at time.Time) {
	for _, status := range slices.Sorted(maps.Keys(l.refused)) {
		if e := l.refused[status]; !e.At.Truncate(time.Minute).Equal(at.Truncate(time.Minute)) {
			l.queue(*e)
			delete(l.refused, status)
		}
	}
}

func (l *RequestLog) queue(e LogEntry) bool {
	if len(l.waiting) >= maxWaiting {
		l.dropped.Add(max(e.Refused, 1))
		return false
	}
	l.waiting = append(l.waiting, e)
	if len(l.waiting) == batchSize {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
	return true
}

// Dropped returns how many requests since the start were not written because too many waited.
func (l *RequestLog) Dropped() int64 { return l.dropped.Load() }

// Run writes the requests until ctx ends, and finally what is left.
func (l *RequestLog) Run(ctx context.Context) {
	ticks := time.NewTicker(writeEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			l.write(ctx)
		case <-l.full:
			l.write(ctx)
		case <-ctx.Done():
			l.Flush(context.WithoutCancel(ctx))
			return
		}
	}
}

// Flush writes everything, including the refused requests of the present minute.
func (l *RequestLog) Flush(ctx context.Context) {
	l.mu.Lock()
	l.closeMinute(time.Time{})
	l.mu.Unlock()
	l.write(ctx)
}

// write writes what waits. What could not be written waits for the next time.
func (l *RequestLog) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	l.mu.Lock()
	l.closeMinute(l.now())
	l.mu.Unlock()
	for {
		batch := l.take()
		if len(batch) == 0 {
			return
		}
		err := l.store(ctx, batch)
		if err != nil {
			l.putBack(batch)
		} else {
			err = l.trimSometimes(ctx, len(batch))
		}
		if err != nil && !l.failing {
			l.log.WarnContext(ctx, "requests cannot be written to the log of the console", "error", err)
		}
		if l.failing = err != nil; l.failing {
			return
		}
	}
}

// take removes the oldest entries that wait.
func (l *RequestLog) take() []LogEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), batchSize)
	batch := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return batch
}

// putBack makes a batch wait again, without its oldest entries if others took its place meanwhile.
func (l *RequestLog) putBack(batch []LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	excess := max(len(batch)+len(l.waiting)-maxWaiting, 0)
	l.dropped.Add(int64(excess))
	l.waiting = slices.Insert(l.waiting, 0, batch[excess:]...)
}

// trimSometimes deletes old entries whenever a tenth of those kept was written.
func (l *RequestLog) trimSometimes(ctx context.Context, wrote int) error {
	if l.written += wrote; l.written < l.keep/10 {
		return nil
	}
	l.written = 0
	return l.trim(ctx)
}
