package adapter

import (
	"cmp"
	"context"
	"errors"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// ExportCursor is the way through one page of a list that is too long for one answer. A Site that is
// exporting returns the next chunk of the page from the methods for lists, and not the whole page.
//
// An export looks ahead by a few thousand ids, and goes on behind the values by which the last of
// them is sorted. Records that are added meanwhile thus move no others: none comes twice and
// none is skipped, unless the value by which it is sorted changes. Deleted ones are left out.
type ExportCursor struct {
	Chunk int64 // most records of a chunk
	Ahead int64 // how many ids it looks ahead by; 0 for lookAhead

	page  Paging
	total int64
	begun bool
	ended bool     // nothing comes after ahead
	rest  int64    // most records of the page after ahead
	ahead []int64  // ids of the records that come next
	last  position // of the last of them
}

// position is the place of a record in a list: the values of the columns by which the list is
// sorted before the id, nil for NULL, and the id.
type position struct {
	values []*string
	id     int64
}

// lookAhead is how many ids an export finds at once. Finding them may sort the rest of the list,
// so that they are many more than a chunk has.
const lookAhead = 10_000

// ExportWith makes the lists of the site return chunks.
func (s *Site) ExportWith(c *ExportCursor) {
	s.export = c
	s.noSharing = true // others would wait for chunks, which are larger than pages
}

// Total is the size of the list, of which the page is a part, when the export began.
func (c *ExportCursor) Total() int64 { return c.total }

// Size is the number of records on the page, when the export began.
func (c *ExportCursor) Size() int64 {
	return min(c.page.PerPage, max(0, c.total-(c.page.Page-1)*c.page.PerPage))
}

// Passed is how many records of the page were passed, with those that were deleted meanwhile.
func (c *ExportCursor) Passed() int64 {
	if !c.begun {
		return 0
	}
	return c.page.PerPage - c.rest - int64(len(c.ahead))
}

// Page is the page that is exported.
func (c *ExportCursor) Page() Paging { return c.page }

// Pass goes on to what follows the present chunk. Until then, the lists return the same chunk
// again.
func (c *ExportCursor) Pass() { c.ahead = c.ahead[min(int64(len(c.ahead)), c.Chunk):] }

// Done reports whether nothing follows.
func (c *ExportCursor) Done() bool { return len(c.ahead) == 0 && (c.ended || !c.begun) }

// sortOrder is how a list is sorted: by columns that have one direction, the last of them the id.
type sortOrder struct {
	columns    []string
	descending bool
}

// terms returns the terms of ORDER BY.
func (o sortOrder) terms() []string { return sortColumns(o.columns, o.descending) }

func (o sortOrder) id() string { return o.columns[len(o.columns)-1] }

// onPage limits a statement to the rows of one page and the next one, or to a chunk.
func (s *Site) onPage(ctx context.Context, l list, stmt sq.SelectBuilder, p Paging, o sortOrder) (sq.SelectBuilder, error) {
	if s.export == nil {
		return onPage(stmt, p, o.terms()...), nil
	}
	ids, err := s.export.next(ctx, s, l, p, o)
	return stmt.Where(sq.Eq{o.id(): ids}).OrderBy(o.terms()...), err
}

// next returns the ids of the present chunk.
func (c *ExportCursor) next(ctx context.Context, s *Site, l list, p Paging, o sortOrder) ([]int64, error) {
	if len(c.ahead) == 0 && !c.ended {
		if err := c.find(ctx, s, l, p, o); err != nil {
			return nil, err
		}
	}
	return c.ahead[:min(int64(len(c.ahead)), c.Chunk)], nil
}

// find looks ahead. If it fails, the cursor is where it was.
func (c *ExportCursor) find(ctx context.Context, s *Site, l list, p Paging, o sortOrder) error {
	stmt, rest := l.filter.Columns(o.columns...).OrderBy(o.terms()...), c.rest
	if c.begun {
		stmt = stmt.Where(o.bound(c.last)).Where(o.after(c.last, 0))
	} else {
		stmt, rest = stmt.Offset(p.offset()), p.PerPage
	}
	most := min(rest, cmp.Or(c.Ahead, lookAhead))
	last := position{values: make([]*string, len(o.columns)-1)}
	row := make([]any, 0, len(o.columns))
	for i := range last.values {
		row = append(row, &last.values[i])
	}
	row = append(row, &last.id)
	ids, more, err := wpdb.First(ctx, s.listDB(l), l.op+": look ahead", stmt.Limit(uint64(most)+1), most, func(found wpdb.Scanner) (int64, error) {
		err := found.Scan(row...)
		return last.id, err
	})
	if errors.Is(err, wpdb.ErrBadValue) { // see emptyIfUnmatchable
		ids, more, err = nil, false, nil
	}
	if err != nil {
		return err
	}
	if !c.begun {
		if c.total, err = s.size(ctx, l, p, len(ids), more); err != nil {
			return err
		}
	}
	rest -= int64(len(ids))
	c.begun, c.page, c.rest, c.ended, c.ahead, c.last = true, p, rest, !more || rest == 0, ids, last
	return nil
}

// size returns the size of a list of which a page was found.
func (s *Site) size(ctx context.Context, l list, p Paging, found int, more bool) (int64, error) {
	size, err := s.total(ctx, l, p.offset(), found, !more)
	if err == nil {
		err = s.countNow(ctx, l, size)
	}
	if err != nil {
		return 0, err
	}
	return size.size, nil
}

// bound returns a condition on the first column that holds for all rows after a position: one
// for which the server can use an index, which it cannot with after.
func (o sortOrder) bound(p position) sq.Sqlizer {
	column := o.columns[0]
	if len(o.columns) == 1 {
		return sq.Expr("TRUE")
	}
	value := p.values[0]
	switch {
	case value == nil && o.descending:
		return sq.Eq{column: nil}
	case value == nil:
		return sq.Expr("TRUE")
	case o.descending:
		return sq.Or{sq.LtOrEq{column: *value}, sq.Eq{column: nil}}
	default:
		return sq.GtOrEq{column: *value}
	}
}

// after returns the condition that a row comes after a position, by the columns from the given
// one on. The server sorts NULL below every value.
func (o sortOrder) after(p position, from int) sq.Sqlizer {
	column := o.columns[from]
	if from == len(p.values) {
		if o.descending {
			return sq.Lt{column: p.id}
		}
		return sq.Gt{column: p.id}
	}
	later := o.after(p, from+1)
	value := p.values[from]
	switch {
	case value == nil && o.descending:
		return sq.And{sq.Eq{column: nil}, later}
	case value == nil:
		return sq.Or{sq.NotEq{column: nil}, later}
	case o.descending:
		return sq.Or{sq.Lt{column: *value}, sq.Eq{column: nil}, sq.And{sq.Eq{column: *value}, later}}
	default:
		return sq.Or{sq.Gt{column: *value}, sq.And{sq.Eq{column: *value}, later}}
	}
}
