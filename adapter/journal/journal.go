package journal

import (
	"sync"
	"sync/atomic"

	"bookside/adapter/domain"
	"bookside/adapter/queue"
	"bookside/wpdb"
)

// Journal is the journal of a site. Its zero value is not usable, see New.
type Journal struct {
	db  *wpdb.DB
	now domain.Clock

	queue.Waker              // of Run
	sweepTook   atomic.Int64 // nanoseconds

	gap atomic.Bool // a reader missed entries in the middle, see closeGaps

	mu         sync.Mutex
	end        Cursor           // the last one that this process knows of
	maxNumbers map[string]int64 // numbers of ends, by epoch
	locked     int64            // the largest n of a position, see isOlder
	changed    chan struct{}    // closed when it changes
	restored   restored
}

// restored is what this process knows of an older database that came back under it.
type restored struct {
	epoch      string // that this process began; "" if none came back
	was, found Cursor // the ends of the journal before and then
}

// New returns the journal in a database.
func New(db *wpdb.DB, now domain.Clock) *Journal {
	return &Journal{db: db, now: now, Waker: queue.NewWaker(), changed: make(chan struct{}), maxNumbers: map[string]int64{}}
}

// Changed returns the end that this process knows of, and a channel that is closed when there
// is another one: a higher number, or that of a journal which replaced this one.
// It needs no connection; Run looks for the numbers that other
// servers give, several times a second.
func (j *Journal) Changed() (end Cursor, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end, j.changed
}

// announce tells everyone who waits where the journal ends. Only the goroutine of Run does, so
// that a lower number is that of another journal.
func (j *Journal) announce(p position) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.locked = max(j.locked, p.n)
	end := p.end()
	if end == j.end {
		return
	}
	j.end, j.maxNumbers[end.Epoch] = end, max(j.maxNumbers[end.Epoch], end.Number)
	close(j.changed)
	j.changed = make(chan struct{})
}

// RestoredUnder reports whether an older database came back while this process ran, and nobody has
// said so since with [Restored].
func (j *Journal) RestoredUnder() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.restored.epoch != "" && j.end.Epoch == j.restored.epoch
}
