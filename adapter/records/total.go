package records

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Total is the size of a list. The last page reveals it. For any other page, the statement that reads its
// records also counts the list, in a column of its own.
type Total struct {
	Size  int64
	Count sq.Sqlizer // nil if the size is known
}

// counted returns a total that a statement counts before anything is known about the page.
func counted(l List) *Total { return &Total{Count: l.countQuery()} }

// newTotal returns the size of a list after some rows were found, starting at first. ended reports whether
// these are the last ones.
func newTotal(ctx context.Context, s *session.Session, l List, first uint64, found int, ended bool) (*Total, error) {
	if ended && (found > 0 || first == 0) {
		return &Total{Size: int64(first) + int64(found)}, nil
	}
	t := counted(l)
	if !ended {
		return t, nil
	}
	return t, CountNow(ctx, s, l, t) // no statement follows
}

// CountNow counts a list unless its size is known.
func CountNow(ctx context.Context, s *session.Session, l List, t *Total) (err error) {
	if t.Count != nil {
		t.Size, err = Count(ctx, s, l)
		t.Count = nil
	}
	return err
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
