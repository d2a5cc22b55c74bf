package records

import (
	"context"
	"errors"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Page is one page of a list, and the size of the whole list.
type Page[T any] struct {
	session.Paging
	Records []T
	Total   int64
	More    bool // whether there is a next page
}

// List is a filtered table: FROM, JOIN and WHERE. Op names it in errors.
type List struct {
	Op     string
	Filter sq.SelectBuilder
}

// countQuery returns the SELECT that counts the list.
func (l List) countQuery() sq.Sqlizer { return l.Filter.Column("COUNT(*)") }

// ReadPage returns the page whose rows were found, together with the first row of the next page if there is
// one. read reads the records of the rows, and counts the list if size asks for it.
func ReadPage[K, T any](ctx context.Context, s *session.Session, l List, p session.Paging, rows []K, read func(rows []K, size *Total) ([]T, error)) (page Page[T], err error) {
	more := int64(len(rows)) > p.PerPage
	if more {
		rows = rows[:p.PerPage]
	}
	size := new(Total)
	if s.Export == nil { // which knows the size
		if size, err = newTotal(ctx, s, l, p.Offset(), len(rows), !more); err != nil {
			return page, err
		}
	}
	var records []T
	if len(rows) > 0 {
		if records, err = read(rows, size); err != nil {
			return page, err
		}
	}
	return pageWith(p, records, more, size), nil
}

// FindSorted finds the rows of a page in the order of the list. For the first row of the next page, which
// may be large, it only checks that it exists.
func FindSorted[K any](ctx context.Context, s *session.Session, l List, p session.Paging, stmt sq.SelectBuilder, o SortOrder, scan func(wpdb.Scanner) (K, error)) ([]K, error) {
	stmt, err := pageOrChunk(ctx, s, l, stmt, p, o)
	if err != nil {
		return nil, err
	}
	rows, more, err := wpdb.First(ctx, s.DB, l.Op, stmt, p.PerPage, scan)
	if more {
		rows = append(rows, *new(K))
	}
	return rows, err
}

// pageWith returns a page of a list with its size. If there is a next page, the size is at least the number
// of records up to there: some may have been added since the count.
func pageWith[T any](p session.Paging, records []T, more bool, size *Total) Page[T] {
	page := Page[T]{Paging: p, Records: records, More: more, Total: size.Size}
	if more {
		page.Total = max(page.Total, int64(p.Offset()+p.Limit()))
	}
	return page
}

// ReadSmallPage reads one page of a small table, in the order of the list, together with the list's size.
func ReadSmallPage[T any](ctx context.Context, s *session.Session, l List, p session.Paging, stmt sq.SelectBuilder, o SortOrder, scan func(wpdb.Scanner) (T, error)) (page Page[T], err error) {
	defer EmptyIfUnmatchable(p, &page, &err)
	if stmt, err = pageOrChunk(ctx, s, l, stmt, p, o); err != nil {
		return page, err
	}
	size := counted(l)
	if s.Export != nil {
		size = new(Total) // the export knows
	}
	records, more, err := wpdb.First(ctx, s.DB, l.Op, stmt.Column(size.Column()), p.PerPage, func(row wpdb.Scanner) (T, error) { return scan(rowWithSize{row, size}) })
	if err != nil {
		return page, err
	}
	page = pageWith(p, records, more, size)
	if len(page.Records) == 0 && p.Page > 1 && s.Export == nil {
		page.Total, err = Count(ctx, s, l)
	}
	return page, err
}

// rowWithSize is a row with the size of the list in its last column.
type rowWithSize struct {
	wpdb.Scanner
	size *Total
}

// Scan scans the columns before the size.
func (r rowWithSize) Scan(dest ...any) error {
	return r.Scanner.Scan(slices.Concat(dest, []any{r.size.Dest()})...)
}

// EmptyIfUnmatchable is deferred. It turns the error of a filter that no record can match into an empty
// page: a text that the columns cannot store, such as an emoji in tables of an older character set.
func EmptyIfUnmatchable[T any](p session.Paging, page *Page[T], err *error) {
	if errors.Is(*err, wpdb.ErrBadValue) {
		*page, *err = Page[T]{Paging: p}, nil
	}
}

// Only returns the one record that was found, or a CodeNotFound.
func Only[T any](found []T, err error, resource domain.Resource, key any) (record T, _ error) {
	switch {
	case err != nil:
		return record, err
	case len(found) == 0:
		return record, domain.NotFound(resource, key)
	}
	return found[0], nil
}

// IDsOf returns the ids of records.
func IDsOf[T any](records []T, id func(T) int64) []int64 {
	ids := make([]int64, len(records))
	for i, r := range records {
		ids[i] = id(r)
	}
	return ids
}

// ByID returns records by their ids.
func ByID[T any](records []T, id func(T) int64) map[int64]T {
	found := make(map[int64]T, len(records))
	for _, r := range records {
		found[id(r)] = r
	}
	return found
}

// InOrder returns records in the order of the ids. Records deleted in the meantime are left out.
func InOrder[T any](ids []int64, found map[int64]T) []T {
	ordered := make([]T, 0, len(ids))
	for _, id := range ids {
		if r, ok := found[id]; ok {
			ordered = append(ordered, r)
		}
	}
	return ordered
}

// UnionAll returns a statement for the rows of all selections, which must have the same number of columns.
// In each column, only one selection may have texts and the others must have NULL: texts of tables with
// different collations do not mix.
func UnionAll(first sq.SelectBuilder, others ...sq.SelectBuilder) sq.SelectBuilder {
	for _, other := range others {
		first = first.SuffixExpr(sq.ConcatExpr("UNION ALL ", other))
	}
	return first
}

// Nulls returns empty columns of a SELECT.
func Nulls(n int) []string { return slices.Repeat([]string{"NULL"}, n) }
