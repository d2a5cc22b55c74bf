package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// sharedRead is a statement of pageReads.
type sharedRead struct {
	lookup  uint64 // of the site that read
	keys    []int64
	counts  bool
	mayRead int64
}

// TestPagesShareAStatement: pages that wait at the same time are read by one statement, each
// record once, by the site whose request arrived last, with the memory of all their requests.
func TestPagesShareAStatement(t *testing.T) {
	t.Parallel()
	counted := total{key: "list", count: sq.Expr("COUNT")}
	cases := []struct {
		name  string
		pages []pageRead[int64]
		fails func(sharedRead) error
		want  []sharedRead
		errs  []error // of the pages after the first, which is alone
	}{
		{
			name: "of one list",
			pages: []pageRead[int64]{
				{site: &Site{lookup: 1}, keys: []int64{1, 2}, size: counted, mayRead: 10},
				{site: &Site{lookup: 2}, keys: []int64{3, 4}, size: counted, mayRead: 10},
				{site: &Site{lookup: 4}, keys: []int64{4, 5}, size: counted, mayRead: 20},
				{site: &Site{lookup: 3}, keys: []int64{3}, size: counted, mayRead: 30},
			},
			want: []sharedRead{{1, []int64{1, 2}, true, 10}, {4, []int64{3, 4, 5}, true, 60}},
			errs: []error{nil, nil, nil},
		},
		{
			name: "inside a transaction",
			pages: []pageRead[int64]{
				{site: &Site{lookup: 1}, keys: []int64{1}, size: counted},
				{site: &Site{lookup: 2, alone: true}, keys: []int64{2}, size: counted},
				{site: &Site{lookup: 3}, keys: []int64{3}, size: counted},
			},
			want: []sharedRead{{1, []int64{1}, true, 0}, {2, []int64{2}, true, 0}, {3, []int64{3}, true, 0}},
			errs: []error{nil, nil},
		},
		{
			name: "one too large",
			pages: []pageRead[int64]{
				{site: &Site{lookup: 1}, keys: []int64{1}, size: counted, mayRead: 1},
				{site: &Site{lookup: 2}, keys: []int64{2}, size: counted, mayRead: 1},
				{site: &Site{lookup: 3}, keys: []int64{3}, size: counted, mayRead: 1},
			},
			fails: func(r sharedRead) error {
				if slices.Contains(r.keys, 3) {
					return wpdb.ErrTooMuch
				}
				return nil
			},
			want: []sharedRead{{1, []int64{1}, true, 1}, {3, []int64{2, 3}, true, 2}, {2, []int64{2}, true, 1}, {3, []int64{3}, true, 1}},
			errs: []error{nil, wpdb.ErrTooMuch},
		},
		{
			name: "an unavailable database",
			pages: []pageRead[int64]{
				{site: &Site{lookup: 1}, keys: []int64{1}, size: counted},
				{site: &Site{lookup: 2}, keys: []int64{2}, size: counted},
				{site: &Site{lookup: 3}, keys: []int64{3}, size: counted},
			},
			fails: func(r sharedRead) error {
				if r.lookup > 1 {
					return wpdb.ErrUnavailable
				}
				return nil
			},
			want: []sharedRead{{1, []int64{1}, true, 0}, {3, []int64{2, 3}, true, 0}},
			errs: []error{wpdb.ErrUnavailable, wpdb.ErrUnavailable},
		},
		{
			name: "of sizes that are known",
			pages: []pageRead[int64]{
				{site: &Site{lookup: 1}, keys: []int64{1}, size: total{size: 7}},
				{site: &Site{lookup: 2}, keys: []int64{2}, size: total{size: 8}},
				{site: &Site{lookup: 3}, keys: []int64{3}, size: total{size: 9}},
			},
			want: []sharedRead{{1, []int64{1}, false, 0}, {3, []int64{2, 3}, false, 0}},
			errs: []error{nil, nil},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var seen []sharedRead
				reads := newPageReads(func(s *Site, ctx context.Context, keys []int64, size *total) (map[int64]string, error) {
					read := sharedRead{s.lookup, slices.Sorted(slices.Values(keys)), size.count != nil, wpdb.Allowed(ctx)}
					mu.Lock()
					seen = append(seen, read)
					mu.Unlock()
					time.Sleep(time.Millisecond)
					if c.fails != nil {
						if err := c.fails(read); err != nil {
							return nil, err
						}
					}
					found := map[int64]string{}
					for _, key := range keys {
						found[key] = fmt.Sprint("record ", key)
					}
					if size.count != nil {
						size.size = 1000 + int64(s.lookup)
					}
					return found, nil
				})
				var all sync.WaitGroup
				errs := make([]error, len(c.pages))
				for i, page := range c.pages {
					page.site.totals = &Totals{now: time.Now}
					all.Go(func() {
						time.Sleep(time.Duration(i))
						ctx, _ := wpdb.WithUsage(t.Context())
						wpdb.Allow(ctx, page.mayRead)
						size := page.size
						found, err := reads.of(ctx, page.site, page.keys, &size)
						errs[i] = err
						if err != nil {
							return
						}
						for _, key := range page.keys {
							if found[key] != fmt.Sprint("record ", key) {
								t.Errorf("page %d lacks %d: %v", i, key, slices.Collect(maps.Keys(found)))
							}
						}
						if known := page.size.count == nil; known != (size.size == page.size.size) || !known && size.size < 1000 {
							t.Errorf("page %d has size %d", i, size.size)
						}
					})
				}
				all.Wait()
				for i, want := range append([]error{nil}, c.errs...) {
					if !errors.Is(errs[i], want) {
						t.Errorf("page %d: error %v, want %v", i, errs[i], want)
					}
				}
				alone := func(a, b sharedRead) int { return slices.Compare(a.keys, b.keys) }
				first := min(2, len(seen))
				slices.SortFunc(seen[first:], alone) // those that begin together
				if fmt.Sprint(seen) != fmt.Sprint(c.want) {
					t.Errorf("read %v, want %v", seen, c.want)
				}
			})
		})
	}
}

func TestNoStatementForAnEmptyPage(t *testing.T) {
	t.Parallel()
	reads := newPageReads(func(*Site, context.Context, []int64, *total) (map[int64]string, error) {
		return nil, errors.New("read")
	})
	if found, err := reads.of(t.Context(), &Site{}, nil, new(total)); len(found) != 0 || err != nil {
		t.Errorf("%v, error %v", found, err)
	}
}
