package lists

import (
	"context"
	"fmt"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Total is the size of a list. The last page reveals it. For any other page, the statement that reads its
// rows also counts the list, in a column of its own, unless that took long before.
type Total struct {
	Size  int64
	Count sq.Sqlizer // nil if the size is known
	key   string
	began time.Time      // when the statement that counts began, or a little earlier
	age   *time.Duration // see session.Session
}

// countInStatement returns a total that a statement counts before anything is known about the page. Only
// lists of small tables should do so.
func countInStatement(l List) *Total { return &Total{Count: l.countQuery()} }

// listKey identifies a list among the counted ones, for callers with the same scope.
func listKey(s *session.Session, l List) (string, error) {
	if l.Key != "" {
		return l.Key, nil
	}
	text, args, err := l.countQuery().ToSql()
	if err != nil {
		return "", fmt.Errorf("%s: build statement: %w", l.Op, err)
	}
	return fmt.Sprint(text, session.ArgsKey(args), s.Scope()), nil
}

// KnownToBeLong reports whether the list was long, or took long to count, when it was last counted.
func KnownToBeLong(s *session.Session, l List) bool {
	key, err := listKey(s, l)
	return err == nil && s.Totals.IsLong(key)
}

// WithLength returns a list that knows whether an ordered scan finds its page quickly. That matters
// if several indexes serve the list. For a deep page, a scan is no quicker than sorting.
func WithLength(s *session.Session, l List, p session.Paging, several bool) List {
	if s.Export != nil || !several {
		return l
	}
	if key, err := listKey(s, l); err == nil {
		l.Key, l.OrderedScanIsCheap = key, p.Offset()+p.Limit() <= session.MaxIDList && s.Totals.IsOrderedScanCheap(key)
	}
	return l
}

// RememberOrderedScan remembers how long it took to find a page of a list.
func RememberOrderedScan(s *session.Session, l List, began time.Time) {
	if l.OrderedScanIsCheap {
		s.Totals.RememberOrderedScan(l.Key, s.Totals.Now().Sub(began))
	}
}

// newTotal returns the size of a list after some rows were found, starting at first. ended reports whether
// these are the last ones.
func newTotal(ctx context.Context, s *session.Session, l List, first uint64, found int, ended bool) (*Total, error) {
	if l.Size != nil {
		return &Total{Size: *l.Size}, nil
	}
	if ended && (found > 0 || first == 0) {
		size := int64(first) + int64(found)
		if l.Key != "" {
			s.Totals.RememberSize(l.Key, size)
		}
		return &Total{Size: size}, nil
	}
	t := countInStatement(l)
	var err error
	if t.key, err = listKey(s, l); err != nil {
		return nil, err
	}
	t.began = s.Totals.Now()
	if c := s.Totals.Find(t.key); c != nil && s.Totals.MayShare() {
		t.Count = nil
		t.Size, t.age, err = s.Totals.Share(ctx, t.key, c, func() (int64, error) { return Count(ctx, s, l) })
		return t, err
	}
	if ended { // no statement follows
		err = CountNow(ctx, s, l, t)
	}
	return t, err
}

// CountNow counts a list unless its size is known.
func CountNow(ctx context.Context, s *session.Session, l List, t *Total) (err error) {
	if t.Count == nil {
		return nil
	}
	write := s.Totals.Writes.Load()
	t.began = s.Totals.Now()
	t.Size, err = Count(ctx, s, l)
	RememberCount(s, t, err)
	if err == nil && t.key != "" {
		s.Totals.Keep(t.key, t.Size, t.began, write)
	}
	t.Count = nil
	return err
}

// RememberCount remembers how long a statement that counted a list took, and how long the list is.
func RememberCount(s *session.Session, t *Total, err error) {
	if t.Count == nil || t.key == "" {
		return
	}
	s.Totals.RememberCount(t.key, s.Totals.Now().Sub(t.began), t.Size, err)
}

// Count counts a list.
func Count(ctx context.Context, s *session.Session, l List) (int64, error) {
	size, _, err := wpdb.One(ctx, s.DB, l.Op+": count", l.countQuery(), wpdb.Value[int64])
	return size, err
}

// Column returns the column of a SELECT that counts the list, or NULL; see Dest.
func (t *Total) Column() sq.Sqlizer {
	if t.Count == nil {
		return sq.Expr("NULL")
	}
	return sq.ConcatExpr("(", t.Count, ")")
}

// Dest returns where to scan the value of Column.
func (t *Total) Dest() any {
	if t.Count == nil {
		return new(any)
	}
	return &t.Size
}
