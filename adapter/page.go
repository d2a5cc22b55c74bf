package adapter

import (
	"context"
	"errors"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// Paging selects one page of a list. Pages are numbered from 1.
type Paging struct {
	Page, PerPage int64
}

// offset is the number of rows before the page.
func (p Paging) offset() uint64 { return uint64((p.Page - 1) * p.PerPage) }

// limit is one row more than the page holds, which tells whether there is a next page.
func (p Paging) limit() uint64 { return uint64(p.PerPage) + 1 }

// window has the rows of the page, and the first one of the next page.
func (p Paging) window() window { return window{p.offset(), p.limit()} }

// window is a part of the rows of a statement: its OFFSET and its LIMIT.
type window struct{ first, rows uint64 }

// Page is one page of a list, and the size of the whole list.
type Page[T any] struct {
	Paging
	Records []T
	Total   int64
	More    bool // whether there is a next page
}

// list is a filtered table: FROM, JOIN and WHERE. op names it in errors.
type list struct {
	op          string
	filter      sq.SelectBuilder
	size        *int64 // nil if it is not known
	manyMatches bool   // whether many records match, so that a scan in the order of the list soon finds a page
	key         string // see Site.key; "" if it was not computed yet
	// orderedScanIsCheap is whether a scan in the order of the list finds a page quickly; see withLength.
	orderedScanIsCheap bool
	counts             sq.Sqlizer // the SELECT that counts it; nil for COUNT(*)
}

// countQuery returns the SELECT that counts the list.
func (l list) countQuery() sq.Sqlizer {
	if l.counts != nil {
		return l.counts
	}
	return l.filter.Column("COUNT(*)")
}

// onPage limits a statement to the rows of one page and the next one.
func onPage(stmt sq.SelectBuilder, p Paging, order ...string) sq.SelectBuilder {
	return stmt.OrderBy(order...).Limit(p.limit()).Offset(p.offset())
}

// readPage reads a page of a list. find finds its rows and, if there is one, the first row of the
// next page, K. read reads the records of the rows, and counts the list where size asks for it.
func readPage[K, T any](ctx context.Context, s *Site, l list, p Paging, find func(context.Context) ([]K, error), read func(ctx context.Context, found []K, size *total) ([]T, error)) (Page[T], error) {
	rows, err := find(ctx)
	if err != nil {
		return emptyIfUnmatchable(Page[T]{Paging: p}, err)
	}
	more := int64(len(rows)) > p.PerPage
	if more {
		rows = rows[:p.PerPage]
	}
	size := new(total)
	if s.export == nil { // which knows
		if size, err = s.total(ctx, l, p.offset(), len(rows), !more); err != nil {
			return emptyIfUnmatchable(Page[T]{Paging: p}, err)
		}
	}
	var records []T
	if len(rows) > 0 {
		if records, err = read(ctx, rows, size); err != nil {
			return emptyIfUnmatchable(Page[T]{Paging: p}, err)
		}
	}
	if size.age != nil {
		s.TotalAge = size.age
	}
	return pageWith(p, records, more, size), nil
}

// findSorted finds the rows of a page in the order of the list. It only looks whether the first row of
// the next page exists, which may be large.
func findSorted[K any](ctx context.Context, s *Site, l list, p Paging, stmt sq.SelectBuilder, o sortOrder, scan func(wpdb.Scanner) (K, error)) ([]K, error) {
	stmt, err := s.onPage(ctx, l, stmt, p, o)
	if err != nil {
		return nil, err
	}
	began := s.totals.now()
	rows, more, err := wpdb.First(ctx, s.listDB(l), l.op, stmt, p.PerPage, scan)
	s.rememberOrderedScan(l, began)
	if more {
		rows = append(rows, *new(K))
	}
	return rows, err
}

// pageWith returns a page of a list with its size. If there is a next page, the size is
// at least what the two pages show: a record may have been added since it was counted.
func pageWith[T any](p Paging, records []T, more bool, size *total) Page[T] {
	page := Page[T]{Paging: p, Records: records, More: more, Total: size.size}
	if more {
		page.Total = max(page.Total, int64(p.offset()+p.limit()))
	}
	return page
}

// smallPage reads one page of a small table together with the size of the list: scan
// reads the columns of the statement and then the given destination.
func smallPage[T any](ctx context.Context, s *Site, l list, p Paging, stmt sq.SelectBuilder, scan func(row wpdb.Scanner, last any) (T, error)) (Page[T], error) {
	size := countInStatement(l)
	if s.export != nil {
		size = new(total) // the export knows
	}
	page, err := readStatement(ctx, s, stmt.Column(size.column()), func(ctx context.Context, stmt sq.Sqlizer) (Page[T], error) {
		size := *size
		records, more, err := wpdb.First(ctx, s.db, l.op, stmt, p.PerPage, func(row wpdb.Scanner) (T, error) { return scan(row, size.dest()) })
		return pageWith(p, records, more, &size), err
	})
	if err != nil {
		return emptyIfUnmatchable(Page[T]{Paging: p}, err)
	}
	if len(page.Records) == 0 && p.Page > 1 && s.export == nil {
		page.Total, err = s.count(ctx, l)
	}
	page.Records = slices.Clone(page.Records) // the caller adds what belongs to them
	return page, err
}

// emptyIfUnmatchable returns an empty page for a filter that no record can match: by a text that the
// columns cannot store, such as an emoji in tables of an older character set.
func emptyIfUnmatchable[T any](page Page[T], err error) (Page[T], error) {
	if errors.Is(err, wpdb.ErrBadValue) {
		return Page[T]{Paging: page.Paging}, nil
	}
	return page, err
}

// idsOf returns the ids of records.
func idsOf[T any](records []T, id func(T) int64) []int64 {
	ids := make([]int64, len(records))
	for i, r := range records {
		ids[i] = id(r)
	}
	return ids
}

// byID returns records by their ids.
func byID[T any](records []T, id func(T) int64) map[int64]T {
	found := make(map[int64]T, len(records))
	for _, r := range records {
		found[id(r)] = r
	}
	return found
}

// inOrder returns records in the order of the ids. Those deleted in the meantime are left
// out.
func inOrder[T any](ids []int64, found map[int64]T) []T {
	ordered := make([]T, 0, len(ids))
	for _, id := range ids {
		if r, ok := found[id]; ok {
			ordered = append(ordered, r)
		}
	}
	return ordered
}

// grouped runs a SELECT whose first column is the id of the record that a row belongs to.
func grouped[T any](ctx context.Context, s *Site, op string, stmt sq.Sqlizer, scan func(wpdb.Scanner, *int64) (T, error)) (map[int64][]T, error) {
	type member struct {
		owner  int64
		record T
	}
	found, err := wpdb.All(ctx, s.db, op, stmt, func(row wpdb.Scanner) (m member, err error) {
		m.record, err = scan(row, &m.owner)
		return m, err
	})
	if err != nil {
		return nil, err
	}
	groups := make(map[int64][]T)
	for _, m := range found {
		groups[m.owner] = append(groups[m.owner], m.record)
	}
	return groups, nil
}

// unionAll returns a statement for the rows of all selections, which have as many columns
// each. Only one of them may have texts in a column, and NULL stands there in the others:
// texts of tables with different collations do not mix.
func unionAll(first sq.SelectBuilder, others ...sq.SelectBuilder) sq.SelectBuilder {
	for _, other := range others {
		first = first.SuffixExpr(sq.ConcatExpr("UNION ALL ", other))
	}
	return first
}

// nulls returns empty columns of a SELECT.
func nulls(n int) []string { return slices.Repeat([]string{"NULL"}, n) }
