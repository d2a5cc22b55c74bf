package journal

import (
	"sync"
	"sync/atomic"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Journal is the journal of a site. Its zero value is not usable, see New.
type Journal struct {
	db  *wpdb.DB
	now domain.Clock

	domain.Waker              // of Run
	sweepTook    atomic.Int64 // nanoseconds

	gap atomic.Bool // a reader found a gap in the middle, see closeGaps

	mu         sync.Mutex
	end        Cursor           // the last one that this process knows of
	maxNumbers map[string]int64 // the highest end, by epoch
	locked     int64            // the largest n of a position, see isOlder
	changed    chan struct{}    // closed when it changes
	restored   restored
}

// restored is what this process knows about an older database that was restored under it.
type restored struct {
	epoch      string // that this process began; "" if none was restored
	was, found Cursor // the end of the journal before the restore and after it
}

// New returns the journal in a database.
func New(db *wpdb.DB, now domain.Clock) *Journal {
	return &Journal{db: db, now: now, Waker: domain.NewWaker(), changed: make(chan struct{}), maxNumbers: map[string]int64{}}
}

// Changed returns the end that this process knows of, and a channel that is closed when the end changes: to
// a higher number, or to that of a journal that replaced this one. It needs no connection; Run checks
// several times a second for the numbers of other servers.
func (j *Journal) Changed() (end Cursor, changed <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end, j.changed
}

// announce tells everyone who waits where the journal ends. Only Run's goroutine calls it, so a lower
// number means another journal.
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

// RestoredUnder reports whether an older database was restored while this process ran, and [Restored] has
// not been called since.
func (j *Journal) RestoredUnder() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.restored.epoch != "" && j.end.Epoch == j.restored.epoch
}
