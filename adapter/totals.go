package adapter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Totals are the sizes of lists that take long to count. Requests share such a size for a
// while; all other sizes are counted for each request. The zero value shares nothing.
type Totals struct {
	ExactTime time.Duration // a count that takes no longer is never shared
	MaxAge    time.Duration // how long a size is shared after it was counted; 0 for never
	Long      int64         // from this size on a list is long, even if it is quickly counted

	now    domain.Clock
	writes atomic.Int64 // ours so far; each makes all sizes invalid
	mu     sync.Mutex
	slow   map[string]*slowCount // by statement and arguments
	long   map[string]bool       // likewise; whether a scan in their order finds a page quickly
}

// maxLists limits the memory of Totals.
const maxLists = 1000

// longList is Totals.Long by default: to sort so many records takes longer than a few more statements.
const longList = 5000

// slowOrderedScan is how long a scan in the order of the list may take. To sort a long list takes less than that.
const slowOrderedScan = 500 * time.Millisecond

// slowCount is a list that took long to count.
type slowCount struct {
	turn  chan struct{} // has a token while nobody counts
	size  int64
	began time.Time // when the count began, from which its age is told
	ended time.Time // zero if there is none to share
	write int64     // the last write of ours before it
}

// counted remembers a count that ends now.
func (t *Totals) counted(c *slowCount, size int64, began time.Time, write int64) {
	c.size, c.began, c.ended, c.write = size, began, t.now(), write
}

// mayShare reports whether totals may be shared at all.
func (t *Totals) mayShare() bool { return t.MaxAge > 0 }

// find returns a list that took long to count; nil if it did not.
func (t *Totals) find(key string) *slowCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slow[key]
}

// isSlow reports whether a count took so long that its size may be shared.
func (t *Totals) isSlow(took time.Duration) bool { return took > t.ExactTime }

// rememberSlow remembers that a list took long to count, if it did. Its size is not kept, unless keep
// follows: a statement that does more than count does not tell whether its size may be shared.
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
		t.slow = map[string]*slowCount{}
	}
	c := &slowCount{turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	t.slow[key] = c
}

// keep lets others share the size of a list that took long to count, by a statement that did nothing
// else. If another request is counting, the size is dropped.
func (t *Totals) keep(key string, size int64, began time.Time, write int64) {
	c := t.find(key)
	if c == nil || !t.isSlow(t.now().Sub(began)) {
		return
	}
	select {
	case <-c.turn:
		t.counted(c, size, began, write)
		c.turn <- struct{}{}
	default:
	}
}

// rememberSize remembers whether a list is long.
func (t *Totals) rememberSize(key string, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.long[key]
	switch {
	case size < t.Long:
		delete(t.long, key)
	case known:
	case t.long == nil || len(t.long) >= maxLists:
		t.long = map[string]bool{key: true}
	default:
		t.long[key] = true
	}
}

// rememberCount remembers how long it took to count a list, and how long the list is; after an error, the
// latter is what it was before.
func (t *Totals) rememberCount(key string, took time.Duration, size int64, err error) {
	t.rememberSlow(key, took)
	if err == nil {
		t.rememberSize(key, size)
	}
}

// rememberOrderedScan remembers that a scan in the order of a long list takes long to find a page, if it did: the
// records may all be at the other end of the table, or lack an index for their order.
func (t *Totals) rememberOrderedScan(key string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.long[key]; known && took > slowOrderedScan {
		t.long[key] = false
	}
}

// isLong reports whether a list was long, or took long to count, when that was last done.
func (t *Totals) isLong(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, long := t.long[key]
	return long || t.slow[key] != nil
}

// isOrderedScanCheap reports whether a list was long when it was last counted, and no scan in its order took long.
func (t *Totals) isOrderedScanCheap(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.long[key]
}

// forget forgets that a list took long to count.
func (t *Totals) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.slow, key)
}

// share returns the size of a list that took long to count, and the age of that count if
// it was made for another request. One request at a time counts. Those that wait meanwhile
// share its size only if counting took long again.
func (t *Totals) share(ctx context.Context, key string, c *slowCount, count func() (int64, error)) (size int64, age *time.Duration, err error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return 0, nil, fmt.Errorf("wait for count: %w", ctx.Err())
	}
	defer func() { c.turn <- struct{}{} }()
	now := t.now()
	if !c.ended.IsZero() && now.Sub(c.ended) < t.MaxAge && c.write == t.writes.Load() {
		return c.size, new(now.Sub(c.began)), nil
	}
	began, write := now, t.writes.Load()
	c.ended = time.Time{}
	if size, err = count(); err != nil {
		return size, nil, err
	}
	if t.isSlow(t.now().Sub(began)) {
		t.counted(c, size, began, write)
	} else {
		t.forget(key) // the next page counts it in the statement of its rows
	}
	t.rememberSize(key, size)
	return size, nil, nil
}

// total is the size of a list. The last page tells it. For any other page, the statement
// that reads its rows counts the list as well, in a column of its own, unless that took
// long before.
type total struct {
	size  int64
	count sq.Sqlizer // nil if the size is known
	key   string
	began time.Time      // when the statement that counts began, or a little earlier
	age   *time.Duration // see Site.TotalAge
}

// countInStatement returns the total of a list that a statement counts before anything is known
// about the page. Only lists of small tables should do so.
func countInStatement(l list) *total { return &total{count: l.countQuery()} }

// key identifies a list among those that are counted, for callers with the same limits; if it may filter by
// customers, for each of them, who see different customers as their own.
func (s *Site) key(l list) (string, error) {
	if l.key != "" {
		return l.key, nil
	}
	text, args, err := l.countQuery().ToSql()
	if err != nil {
		return "", fmt.Errorf("%s: build statement: %w", l.op, err)
	}
	var caller int64
	if !s.limits().None() && strings.Contains(text, s.db.Name(wpdb.Customers)) {
		caller = s.callerID()
	}
	return fmt.Sprint(text, argsKey(args), s.limits(), caller), nil
}

// knownToBeLong reports whether the list was long, or took long to count, when that was last done.
func (s *Site) knownToBeLong(l list) bool {
	key, err := s.key(l)
	return err == nil && s.totals.isLong(key)
}

// withLength returns a list that knows whether to scan it in its order for a page, where that matters: for
// keys with limits, and if several indexes serve the list. For a deep page, a scan is no quicker than
// to sort.
func (s *Site) withLength(l list, p Paging, several bool) list {
	if s.export != nil || !several && s.limits().None() {
		return l
	}
	if key, err := s.key(l); err == nil {
		l.key, l.orderedScanIsCheap = key, p.offset()+p.limit() <= maxIDList && s.totals.isOrderedScanCheap(key)
	}
	return l
}

// rememberOrderedScan remembers how long it took to find a page of a list.
func (s *Site) rememberOrderedScan(l list, began time.Time) {
	if l.orderedScanIsCheap {
		s.totals.rememberOrderedScan(l.key, s.totals.now().Sub(began))
	}
}

// total returns the size of a list of which some rows were found, from the first on. ended reports
// whether these are the last ones.
func (s *Site) total(ctx context.Context, l list, first uint64, found int, ended bool) (*total, error) {
	if l.size != nil {
		return &total{size: *l.size}, nil
	}
	if ended && (found > 0 || first == 0) {
		size := int64(first) + int64(found)
		if l.key != "" {
			s.totals.rememberSize(l.key, size)
		}
		return &total{size: size}, nil
	}
	t := countInStatement(l)
	var err error
	if t.key, err = s.key(l); err != nil {
		return nil, err
	}
	t.began = s.totals.now()
	if c := s.totals.find(t.key); c != nil && s.totals.mayShare() {
		t.count = nil
		t.size, t.age, err = s.totals.share(ctx, t.key, c, func() (int64, error) { return s.count(ctx, l) })
		return t, err
	}
	if ended || !s.limits().None() { // no statement follows, or one that checks row by row, which is slow for counting
		err = s.countNow(ctx, l, t)
	}
	return t, err
}

// countNow counts a list unless its size is known.
func (s *Site) countNow(ctx context.Context, l list, t *total) (err error) {
	if t.count == nil {
		return nil
	}
	write := s.totals.writes.Load()
	t.began = s.totals.now()
	t.size, err = s.count(ctx, l)
	s.rememberCount(t, err)
	if err == nil && t.key != "" {
		s.totals.keep(t.key, t.size, t.began, write)
	}
	t.count = nil
	return err
}

// rememberCount remembers how long a statement took that counted a list, and how long the list is.
func (s *Site) rememberCount(t *total, err error) {
	if t.count == nil || t.key == "" {
		return
	}
	s.totals.rememberCount(t.key, s.totals.now().Sub(t.began), t.size, err)
}

// count counts a list. It needs every record that the key sees, and so it starts from these.
func (s *Site) count(ctx context.Context, l list) (int64, error) {
	return readStatement(ctx, s, l.countQuery(), func(ctx context.Context, stmt sq.Sqlizer) (int64, error) {
		size, _, err := wpdb.One(ctx, s.db.Gathered(), l.op+": count", stmt, wpdb.Value[int64])
		return size, err
	})
}

// column returns the column of a SELECT that counts the list, or NULL; see dest.
func (t *total) column() sq.Sqlizer {
	if t.count == nil {
		return sq.Expr("NULL")
	}
	return sq.ConcatExpr("(", t.count, ")")
}

// dest returns where a row is to be scanned for column.
func (t *total) dest() any {
	if t.count == nil {
		return new(any)
	}
	return &t.size
}
