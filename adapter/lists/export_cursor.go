package lists

import (
	"cmp"
	"context"
	"errors"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// SortOrder is how a list is sorted: by columns in one direction, the last of which is the id.
type SortOrder struct {
	Columns    []string
	Descending bool
}

// Terms returns the terms of ORDER BY.
func (o SortOrder) Terms() []string { return SortColumns(o.Columns, o.Descending) }

func (o SortOrder) id() string { return o.Columns[len(o.Columns)-1] }

// pageOrChunk limits a statement to the rows of one page and the first row of the next, or to a chunk.
func pageOrChunk(ctx context.Context, s *session.Session, l List, stmt sq.SelectBuilder, p session.Paging, o SortOrder) (sq.SelectBuilder, error) {
	if s.Export == nil {
		return stmt.OrderBy(o.Terms()...).Limit(p.Limit()).Offset(p.Offset()), nil
	}
	ids, err := Next(ctx, s.Export, s, l, p, o)
	return stmt.Where(sq.Eq{o.id(): ids}).OrderBy(o.Terms()...), err
}

// Next returns the ids of the present chunk.
func Next(ctx context.Context, c *session.ExportCursor, s *session.Session, l List, p session.Paging, o SortOrder) ([]int64, error) {
	if len(c.NextIDs) == 0 && !c.Ended {
		if err := find(ctx, c, s, l, p, o); err != nil {
			return nil, err
		}
	}
	return c.NextIDs[:min(int64(len(c.NextIDs)), c.Chunk)], nil
}

// find looks ahead. If it fails, the cursor stays where it was.
func find(ctx context.Context, c *session.ExportCursor, s *session.Session, l List, p session.Paging, o SortOrder) error {
	stmt, rest := l.Filter.Columns(o.Columns...).OrderBy(o.Terms()...), c.Rest
	if c.Begun {
		stmt = stmt.Where(o.bound(c.Last)).Where(o.after(c.Last, 0))
	} else {
		stmt, rest = stmt.Offset(p.Offset()), p.PerPage
	}
	most := min(rest, cmp.Or(c.Ahead, session.LookAhead))
	last := session.Position{Values: make([]*string, len(o.Columns)-1)}
	row := make([]any, 0, len(o.Columns))
	for i := range last.Values {
		row = append(row, &last.Values[i])
	}
	row = append(row, &last.ID)
	ids, more, err := wpdb.First(ctx, ListDB(s, l), l.Op+": look ahead", stmt.Limit(uint64(most)+1), most, func(found wpdb.Scanner) (int64, error) {
		err := found.Scan(row...)
		return last.ID, err
	})
	if errors.Is(err, wpdb.ErrBadValue) { // see EmptyIfUnmatchable
		ids, more, err = nil, false, nil
	}
	if err != nil {
		return err
	}
	if !c.Begun {
		if c.OfAll, err = size(ctx, s, l, p, len(ids), more); err != nil {
			return err
		}
	}
	rest -= int64(len(ids))
	c.Begun, c.Exported, c.Rest, c.Ended, c.NextIDs, c.Last = true, p, rest, !more || rest == 0, ids, last
	return nil
}

// size returns the size of a list after one page was found.
func size(ctx context.Context, s *session.Session, l List, p session.Paging, found int, more bool) (int64, error) {
	size, err := newTotal(ctx, s, l, p.Offset(), found, !more)
	if err == nil {
		err = CountNow(ctx, s, l, size)
	}
	if err != nil {
		return 0, err
	}
	return size.Size, nil
}

// bound returns a condition on the first column that holds for all rows after a position. Unlike after, it
// lets the server use an index.
func (o SortOrder) bound(p session.Position) sq.Sqlizer {
	column := o.Columns[0]
	if len(o.Columns) == 1 {
		return sq.Expr("TRUE")
	}
	value := p.Values[0]
	switch {
	case value == nil && o.Descending:
		return sq.Eq{column: nil}
	case value == nil:
		return sq.Expr("TRUE")
	case o.Descending:
		return sq.Or{sq.LtOrEq{column: *value}, sq.Eq{column: nil}}
	default:
		return sq.GtOrEq{column: *value}
	}
}

// after returns the condition that a row comes after a position, comparing the columns from the given one
// on. The server sorts NULL below every value.
func (o SortOrder) after(p session.Position, from int) sq.Sqlizer {
	column := o.Columns[from]
	if from == len(p.Values) {
		if o.Descending {
			return sq.Lt{column: p.ID}
		}
		return sq.Gt{column: p.ID}
	}
	later := o.after(p, from+1)
	value := p.Values[from]
	switch {
	case value == nil && o.Descending:
		return sq.And{sq.Eq{column: nil}, later}
	case value == nil:
		return sq.Or{sq.NotEq{column: nil}, later}
	case o.Descending:
		return sq.Or{sq.Lt{column: *value}, sq.Eq{column: nil}, sq.And{sq.Eq{column: *value}, later}}
	default:
		return sq.Or{sq.Gt{column: *value}, sq.And{sq.Eq{column: *value}, later}}
	}
}
