package records

import (
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
	ids, err := NextIDs(ctx, s.Export, s, l, p, o)
	return stmt.Where(sq.Eq{o.id(): ids}).OrderBy(o.id()), err
}

// NextIDs returns the ids of the present chunk, in ascending order.
func NextIDs(ctx context.Context, c *session.ExportCursor, s *session.Session, l List, p session.Paging, o SortOrder) ([]int64, error) {
	if len(c.NextIDs) == 0 && !c.Ended {
		if err := find(ctx, c, s, l, p, o.id()); err != nil {
			return nil, err
		}
	}
	return c.NextIDs[:min(int64(len(c.NextIDs)), c.Chunk)], nil
}

// find finds the ids after the last one. If it fails, the cursor stays where it was.
func find(ctx context.Context, c *session.ExportCursor, s *session.Session, l List, p session.Paging, id string) error {
	stmt, rest := l.Filter.Column(id).OrderBy(id), c.Rest
	if c.Begun {
		stmt = stmt.Where(sq.Gt{id: c.Last})
	} else {
		stmt, rest = stmt.Offset(p.Offset()), p.PerPage
	}
	most := min(rest, c.Chunk)
	ids, more, err := wpdb.First(ctx, s.DB, l.Op+": ids of an export", stmt.Limit(uint64(most)+1), most, wpdb.Value[int64])
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
	if len(ids) > 0 {
		c.Last = ids[len(ids)-1]
	}
	rest -= int64(len(ids))
	c.Begun, c.Exported, c.Rest, c.Ended, c.NextIDs = true, p, rest, !more || rest == 0, ids
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
