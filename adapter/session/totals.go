package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/adapter/domain"
)

// Totals are the sizes of lists that take long to count. Requests share these sizes for a while; all other
// lists are counted for each request. The zero value shares nothing.
type Totals struct {
	ExactTime time.Duration // a count that takes no longer is never shared
	MaxAge    time.Duration // how long a size is shared after it was counted; 0 for never
	Long      int64         // a list of at least this size is long, even if it is quickly counted

	Now       domain.Clock
	Writes    atomic.Int64 // ours so far; each invalidates all sizes
	mu        sync.Mutex
	slow      map[string]*SlowCount // by statement and arguments
	longLists map[string]bool       // likewise; true if an ordered scan finds a page quickly
}

// maxLists limits the memory of Totals.
const maxLists = 1000

// LongList is the default of Totals.Long: sorting this many records takes longer than a few more
// statements.
const LongList = 5000

// slowOrderedScan is how long an ordered scan may take. Sorting a long list takes less than that.
const slowOrderedScan = 500 * time.Millisecond

// SlowCount is a list that took long to count.
type SlowCount struct {
	turn  chan struct{} // has a token while nobody counts
	size  int64
	began time.Time // when the count began; its age is measured from here
	ended time.Time // zero if there is no size to share
	write int64     // our last write before it
}

// counted remembers a count that has just ended.
func (t *Totals) counted(c *SlowCount, size int64, began time.Time, write int64) {
	c.size, c.began, c.ended, c.write = size, began, t.Now(), write
}

// MayShare reports whether totals may be shared at all.
func (t *Totals) MayShare() bool { return t.MaxAge > 0 }

// Find returns a list that took long to count, or nil if it did not.
func (t *Totals) Find(key string) *SlowCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slow[key]
}

// isSlow reports whether a count took so long that its size may be shared.
func (t *Totals) isSlow(took time.Duration) bool { return took > t.ExactTime }

// rememberSlow remembers that a list took long to count, if it did. Its size is not kept unless Keep
// follows: after a statement that does more than count, it is unclear whether the size may be shared.
func (t *Totals) rememberSlow(key string, took time.Duration) {
	if !t.isSlow(took) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slow[key] != nil {
		return
	}
	if t.slow == nil || len(t.slow) >= maxLists {
		t.slow = map[string]*SlowCount{}
	}
	c := &SlowCount{turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	t.slow[key] = c
}

// Keep lets others share the size of a list that took long to count, found by a statement that did nothing
// else. If another request is counting, the size is dropped.
func (t *Totals) Keep(key string, size int64, began time.Time, write int64) {
	c := t.Find(key)
	if c == nil || !t.isSlow(t.Now().Sub(began)) {
		return
	}
	select {
	case <-c.turn:
		t.counted(c, size, began, write)
		c.turn <- struct{}{}
	default:
	}
}

// RememberSize remembers whether a list is long.
func (t *Totals) RememberSize(key string, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.longLists[key]
	switch {
	case size < t.Long:
		delete(t.longLists, key)
	case known:
	case t.longLists == nil || len(t.longLists) >= maxLists:
		t.longLists = map[string]bool{key: true}
	default:
		t.longLists[key] = true
	}
}

// RememberCount remembers how long it took to count a list, and whether the list is long; an error leaves
// the latter unchanged.
func (t *Totals) RememberCount(key string, took time.Duration, size int64, err error) {
	t.rememberSlow(key, took)
	if err == nil {
		t.RememberSize(key, size)
	}
}

// RememberOrderedScan remembers that an ordered scan of a long list took long to find a page, if it did:
// the records may all be at the other end of the table, or their order may have no index.
func (t *Totals) RememberOrderedScan(key string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.longLists[key]; known && took > slowOrderedScan {
		t.longLists[key] = false
	}
}

// IsLong reports whether a list was long, or took long to count, when it was last counted.
func (t *Totals) IsLong(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, long := t.longLists[key]
	return long || t.slow[key] != nil
}

// IsOrderedScanCheap reports whether a list was long when it was last counted, and no ordered scan of it
// took long.
func (t *Totals) IsOrderedScanCheap(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.longLists[key]
}

// forget forgets that a list took long to count.
func (t *Totals) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.slow, key)
}

// Share returns the size of a list that took long to count, and the age of that count if it was made for
// another request. One request at a time counts. Requests that wait meanwhile share its size only if
// counting took long again.
func (t *Totals) Share(ctx context.Context, key string, c *SlowCount, count func() (int64, error)) (size int64, age *time.Duration, err error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return 0, nil, fmt.Errorf("wait for count: %w", ctx.Err())
	}
	defer func() { c.turn <- struct{}{} }()
	now := t.Now()
	if !c.ended.IsZero() && now.Sub(c.ended) < t.MaxAge && c.write == t.Writes.Load() {
		return c.size, new(now.Sub(c.began)), nil
	}
	began, write := now, t.Writes.Load()
	c.ended = time.Time{}
	if size, err = count(); err != nil {
		return size, nil, err
	}
	if t.isSlow(t.Now().Sub(began)) {
		t.counted(c, size, began, write)
	} else {
		t.forget(key) // the next page counts it along with its rows
	}
	t.RememberSize(key, size)
	return size, nil, nil
}
