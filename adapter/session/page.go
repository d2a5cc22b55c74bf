package session

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// Paging selects one page of a list. Pages are numbered from 1.
type Paging struct {
	Page, PerPage int64
}

// Offset is the number of rows before the page.
func (p Paging) Offset() uint64 { return uint64((p.Page - 1) * p.PerPage) }

// Limit is one row more than the page holds, which shows whether there is a next page.
func (p Paging) Limit() uint64 { return uint64(p.PerPage) + 1 }

// Window has the rows of the page, and the first one of the next page.
func (p Paging) Window() Window { return Window{p.Offset(), p.Limit()} }

// Window is a part of the rows of a statement: its OFFSET and its LIMIT.
type Window struct{ First, Rows uint64 }

// Member is a record that belongs to another one, its owner.
type Member[T any] struct {
	Owner  int64
	Record T
}

// GroupMembers returns records by their owners.
func GroupMembers[T any](members []Member[T]) map[int64][]T {
	groups := make(map[int64][]T)
	for _, m := range members {
		groups[m.Owner] = append(groups[m.Owner], m.Record)
	}
	return groups
}

// Grouped runs a SELECT whose first column is the id of the record that the row belongs to.
func Grouped[T any](ctx context.Context, s *Session, op string, stmt sq.Sqlizer, scan func(wpdb.Scanner, *int64) (T, error)) (map[int64][]T, error) {
	found, err := wpdb.All(ctx, s.DB, op, stmt, func(row wpdb.Scanner) (m Member[T], err error) {
		m.Record, err = scan(row, &m.Owner)
		return m, err
	})
	if err != nil {
		return nil, err
	}
	return GroupMembers(found), nil
}
