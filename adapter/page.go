package adapter

import (
	"context"
	"errors"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// Paging selects one page of a list. Pages are numbered from 1.
type Paging struct {
	Page, PerPage int64
}

func (p Paging) offset() uint64 { return uint64((p.Page - 1) * p.PerPage) }

// Page is one page of a list, and the size of the whole list.
type Page[T any] struct {
	Paging
	Records []T
	Total   int64
}

// list is a filtered table: FROM, JOIN and WHERE, and the expression of a record's id.
type list struct {
	id     string
	filter sq.SelectBuilder
}

// pageIDs finds the ids of a page and the size of the list.
func (s *Site) pageIDs(ctx context.Context, op string, l list, p Paging, order ...string) (ids []int64, total int64, err error) {
	return pageOf(ctx, s, op, l, p, func() ([]int64, error) {
		return wpdb.All(ctx, s.db, op, pageStatement(l.filter.Column(l.id), p, order...), wpdb.Value[int64])
	})
}

// pageStatement limits a statement to one page of the list.
func pageStatement(stmt sq.SelectBuilder, p Paging, order ...string) sq.SelectBuilder {
	return stmt.OrderBy(order...).Limit(uint64(p.PerPage)).Offset(p.offset())
}

// pageOf finds a page with find, and the size of the list. A text that the columns cannot
// store, such as an emoji in tables of an older character set, is in no record.
func pageOf[T any](ctx context.Context, s *Site, op string, l list, p Paging, find func() ([]T, error)) (page []T, total int64, err error) {
	page, total, err = findPage(ctx, s, op, l, p, find)
	if errors.Is(err, wpdb.ErrBadValue) {
		return nil, 0, nil
	}
	return page, total, err
}

// findPage counts the list only if its size does not follow from the first page.
func findPage[T any](ctx context.Context, s *Site, op string, l list, p Paging, find func() ([]T, error)) (page []T, total int64, err error) {
	if p.Page > 1 {
		total, err = s.count(ctx, op, l)
		if err != nil || p.offset() >= uint64(total) {
			return nil, total, err
		}
		page, err = find()
		return page, total, err
	}
	page, err = find()
	if err != nil || int64(len(page)) < p.PerPage {
		return page, int64(len(page)), err
	}
	total, err = s.count(ctx, op, l)
	return page, total, err
}

func (s *Site) count(ctx context.Context, op string, l list) (int64, error) {
	total, _, err := wpdb.One(ctx, s.db, op+": count", l.filter.Column("COUNT(*)"), wpdb.Value[int64])
	return total, err
}

// idsOf returns the ids of records.
func idsOf[T any](records []T, id func(T) int64) []int64 {
	ids := make([]int64, len(records))
	for i, r := range records {
		ids[i] = id(r)
	}
	return ids
}

// inOrder sorts records into the order of the ids. Records deleted in the meantime are
// left out.
func inOrder[T any](ids []int64, records []T, id func(T) int64) []T {
	byID := make(map[int64]T, len(records))
	for _, r := range records {
		byID[id(r)] = r
	}
	ordered := make([]T, 0, len(records))
	for _, i := range ids {
		if r, ok := byID[i]; ok {
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
