package journal

import (
	"sync"
	"sync/atomic"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Journal is the journal of a site. Its zero value is not usable, see New.
type Journal struct {
	db  *wpdb.DB
	now domain.Clock

	nudged    chan struct{} // see Nudge
	sweepTook atomic.Int64  // nanoseconds

	mu      sync.Mutex
	last    int64         // the last number that this process knows of
	changed chan struct{} // closed when last changes
}

// New returns the journal in a database.
func New(db *wpdb.DB, now domain.Clock) *Journal {
	return &Journal{db: db, now: now, nudged: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Nudge makes Run number new entries at once. It does not block.
func (j *Journal) Nudge() {
	select {
	case j.nudged <- struct{}{}:
	default: // Run has been nudged already
	}
}

// Changed returns the last number that this process knows of, and a channel that is closed
// when there is another one: a higher one, or a lower one of a journal that replaced this one.
// It needs no connection; Run looks for the numbers that other
// servers give, several times a second.
func (j *Journal) Changed() (last int64, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last, j.changed
}

// announce tells everyone who waits what the last number is. Only the goroutine of Run does, so
// that a lower number is that of another journal.
func (j *Journal) announce(last int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if last == j.last {
		return
	}
	j.last = last
	close(j.changed)
	j.changed = make(chan struct{})
}
