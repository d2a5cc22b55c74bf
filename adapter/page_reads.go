package adapter

import (
	"context"
	"fmt"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/coalesce"
	"bookside/wpdb"
)

// maxPages is how many requests for pages are read together. MariaDB plans differently for lists of
// a thousand values, which are ten of the largest pages.
const maxPages = 8

// How far pages that are read together may be from each other in their list. What lies between them is
// found too, which should take no longer than a few statements.
const (
	nearPages = 8    // pages, if whole rows are found
	farPages  = 1000 // rows, if only ids are found
)

// pagePatience is how long a page waits for a reading that began before it. The more the
// database has to do, the longer statements take, and the more pages should share them.
const pagePatience = 20 * time.Millisecond

// window is a part of the rows of a statement: its OFFSET and its LIMIT.
type window struct{ first, rows uint64 }

func (w window) end() uint64 { return w.first + w.rows }

// with returns the smallest window that has the rows of both.
func (w window) with(other window) window {
	first := min(w.first, other.first)
	return window{first, max(w.end(), other.end()) - first}
}

// window has the rows of the page, and the first one of the next, which tells whether there is one.
func (p Paging) window() window { return window{p.offset(), p.limit()} }

// rowsOf are the rows of a window, fewer if the statement has no more.
type rowsOf[T any] struct {
	window
	rows []T
}

// within returns those of the rows that lie in a smaller window.
func (r rowsOf[T]) within(w window) []T {
	all := uint64(len(r.rows))
	return r.rows[min(w.first-r.first, all):min(w.end()-r.first, all)]
}

// ended reports whether the statement has no rows behind the window.
func (r rowsOf[T]) ended() bool { return uint64(len(r.rows)) < r.window.rows }

// paged is how the pages of a list are read: their rows are found first, K is what that tells of a
// record, and T is what is then read of it. The functions belong to one request.
type paged[K, T any] struct {
	list
	order sortOrder
	reach int64 // how many rows of the list may be found together
	// find finds the rows of a window, which may be larger than the page of the request, and perhaps
	// some around it.
	find func(ctx context.Context, w window) (rowsOf[K], error)
	// pick returns the rows of a page; nil for those that were found.
	pick func(ctx context.Context, found rowsOf[K], p Paging) ([]K, error)
	// read reads the records of some rows, and perhaps others, by a number that belongs to each
	// of them. It counts the list where size asks for it.
	read func(ctx context.Context, found []K, size *total) (map[int64]T, error)
}

// findSorted finds the rows of a window of a statement in the order of the list. It only looks whether
// the last one exists, which belongs to the next page and may be large.
func findSorted[K any](ctx context.Context, s *Site, l list, p Paging, w window, stmt sq.SelectBuilder, o sortOrder, scan func(wpdb.Scanner) (K, error)) (rowsOf[K], error) {
	stmt, err := s.onWindow(ctx, l, stmt, p, w, o)
	if err != nil {
		return rowsOf[K]{}, err
	}
	began := s.totals.now()
	rows, more, err := wpdb.First(ctx, s.listDB(l), l.op, stmt, int64(w.rows)-1, scan)
	s.noteWalk(l, began)
	if more {
		rows = append(rows, *new(K))
	}
	return rowsOf[K]{w, rows}, err
}

// foundPage is a page of which the rows were found and the records read. Other pages use the same
// rows and records, so that they must not be changed.
type foundPage[K, T any] struct {
	rows    []K
	records map[int64]T // perhaps others too
	more    bool        // whether there is a next page
	size    *total
}

// pageReads read pages of lists. Pages of one list that wait at the same time are read together, by
// statements that began after the requests for all of them arrived: to scan the payments, which
// have no index by order, and to count the list takes as long for one page as for eight.
type pageReads[K, T any] struct {
	queues coalesce.Queues[pageKey, pageRead[K, T], pagesRead[K, T]]
}

// pageKey says which pages are read together: those of a list that have one size and are not too
// far from each other.
type pageKey struct {
	text, args  string
	perPage, at int64
}

// pageRead is a page to be read.
type pageRead[K, T any] struct {
	sharer
	Paging
	list paged[K, T]
}

// pagesRead are pages that were read together.
type pagesRead[K, T any] struct {
	requests int
	pages    map[int64][]K // by number, each with the first row of the next page
	records  map[int64]T
	size     total
}

func newPageReads[K, T any]() *pageReads[K, T] {
	r := new(pageReads[K, T])
	r.queues.Run, r.queues.Again, r.queues.Most, r.queues.Patience = r.run, wpdb.IsInterrupted, maxPages, pagePatience
	return r
}

// of reads a page of a list.
func (r *pageReads[K, T]) of(ctx context.Context, s *Site, p Paging, l paged[K, T]) (foundPage[K, T], error) {
	page := pageRead[K, T]{newSharer(ctx, s), p, l}
	read, err := r.share(ctx, page)
	if read.requests > 1 && othersFault(err) {
		read, err = r.run(ctx, []pageRead[K, T]{page})
	}
	if err != nil {
		return foundPage[K, T]{}, err
	}
	if read.size.age != nil {
		s.TotalAge = read.size.age
	}
	found := foundPage[K, T]{rows: read.pages[p.Page], records: read.records, size: &read.size}
	if found.more = int64(len(found.rows)) > p.PerPage; found.more {
		found.rows = found.rows[:p.PerPage]
	}
	return found, nil
}

func (r *pageReads[K, T]) share(ctx context.Context, page pageRead[K, T]) (pagesRead[K, T], error) {
	if page.site.alone {
		return r.run(ctx, []pageRead[K, T]{page})
	}
	text, args, err := page.list.filter.Columns(page.list.order.columns...).OrderBy(page.list.order.terms()...).ToSql()
	if err != nil {
		return pagesRead[K, T]{}, fmt.Errorf("%s: build statement: %w", page.list.op, err)
	}
	read, release, err := r.queues.Do(ctx, pageKey{text, argsKey(args), page.PerPage, int64(page.offset()) / page.list.reach}, page)
	release()
	return read, err
}

// run reads pages together, for the request that arrived last.
func (r *pageReads[K, T]) run(ctx context.Context, requests []pageRead[K, T]) (pagesRead[K, T], error) {
	ctx, latest := forAll(ctx, requests)
	read := pagesRead[K, T]{requests: len(requests), pages: map[int64][]K{}}
	wanted := requests[0].window()
	for _, page := range requests[1:] {
		wanted = wanted.with(page.window())
	}
	found, err := latest.list.find(ctx, wanted)
	if err != nil {
		return read, err
	}
	var all []K
	for _, page := range requests {
		if _, known := read.pages[page.Page]; known {
			continue
		}
		rows, err := latest.list.page(ctx, found, page.Paging)
		if err != nil {
			return read, err
		}
		read.pages[page.Page] = rows
		all = append(all, rows[:min(len(rows), int(page.PerPage))]...)
	}
	size := new(total)
	if latest.site.walk == nil { // which knows
		if size, err = latest.site.total(ctx, latest.list.list, found.first, len(found.rows), found.ended()); err != nil {
			return read, err
		}
	}
	if len(all) > 0 {
		read.records, err = latest.list.read(ctx, all, size)
	}
	read.size = *size
	return read, err
}

// page returns the rows of a page, and the first one of the next.
func (l paged[K, T]) page(ctx context.Context, found rowsOf[K], p Paging) ([]K, error) {
	if l.pick == nil {
		return found.within(p.window()), nil
	}
	return l.pick(ctx, found, p)
}
