package adapter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"bookside/adapter/coalesce"
	"bookside/wpdb"
)

// maxPages is how many pages may share a statement. MariaDB plans differently for lists of a
// thousand values, which are ten of the largest pages.
const maxPages = 8

// pagePatience is how long a page waits for a statement that began before it. The more the
// database has to do, the longer statements take, and the more pages should share one.
const pagePatience = 20 * time.Millisecond

// pageReads read the records of pages. Pages that wait at the same time share a statement,
// which begins after the requests for all of them arrived: to scan the payments, which have
// no index by order, and to count the list takes as long for one page as for eight. K is what
// is known of a record, and T is what is read of it.
type pageReads[K comparable, T any] struct {
	read   func(s *Site, ctx context.Context, keys []K, size *total) (map[int64]T, error)
	queues coalesce.Queues[string, pageRead[K], pageRecords[T]] // by the list to be counted
}

// pageRead is what a page needs of a statement.
type pageRead[K comparable] struct {
	site    *Site
	keys    []K
	size    total
	mayRead int64 // see wpdb.Allow
}

type pageRecords[T any] struct {
	pages   int // that shared the statement
	records map[int64]T
	size    int64 // of the list, if it was to be counted
}

func newPageReads[K comparable, T any](read func(s *Site, ctx context.Context, keys []K, size *total) (map[int64]T, error)) *pageReads[K, T] {
	r := &pageReads[K, T]{read: read}
	r.queues.Run, r.queues.Most, r.queues.Patience = r.run, maxPages, pagePatience
	return r
}

// of returns records by their ids, perhaps others too, and counts the list where size asks for
// it. Other pages use the same records, so that they must not be changed.
func (r *pageReads[K, T]) of(ctx context.Context, s *Site, keys []K, size *total) (map[int64]T, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if s.alone {
		return r.read(s, ctx, keys, size)
	}
	page := pageRead[K]{s, keys, *size, wpdb.Allowed(ctx)}
	list := ""
	if size.count != nil {
		list = size.key
	}
	found, release, err := r.queues.Do(ctx, list, page)
	release()
	if found.pages > 1 && (errors.Is(err, wpdb.ErrTooMuch) || errors.Is(err, wpdb.ErrUnreadable)) {
		found, err = r.run(ctx, []pageRead[K]{page}) // it may have been the fault of another page
	}
	if size.count != nil {
		size.size = found.size
	}
	return found.records, err
}

// run reads the records of pages by one statement.
func (r *pageReads[K, T]) run(ctx context.Context, pages []pageRead[K]) (pageRecords[T], error) {
	latest := slices.MaxFunc(pages, func(a, b pageRead[K]) int { return cmp.Compare(a.site.lookup, b.site.lookup) })
	keys, size := latest.keys, latest.size
	if len(pages) > 1 {
		keys = nil
		known, mayRead := make(map[K]bool), int64(0)
		for _, page := range pages {
			mayRead += page.mayRead
			for _, key := range page.keys {
				if !known[key] {
					known[key], keys = true, append(keys, key)
				}
			}
		}
		ctx, _ = wpdb.WithUsage(ctx)
		wpdb.Allow(ctx, mayRead)
	}
	size.began = latest.site.totals.now()
	records, err := r.read(latest.site, ctx, keys, &size)
	return pageRecords[T]{len(pages), records, size.size}, err
}
