package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// togetherRead is what pageReads read for one or several pages.
type togetherRead struct {
	lookup  uint64 // of the site that read
	found   window
	ids     []int64
	counts  bool
	mayRead int64
}

// TestPagesAreReadTogether: pages of one list that wait at the same time are found by one statement
// and read by another, each record once, by the site whose request arrived last, with the memory of
// all their requests; and each is what it is alone.
func TestPagesAreReadTogether(t *testing.T) {
	t.Parallel()
	const perPage, size, reach = 10, 95, 50
	type wanted struct {
		lookup  uint64
		page    int64
		mayRead int64
		where   string
		perPage int64
		alone   bool
	}
	rows := func(first, n int64) (ids []int64) {
		for id := first + 1; id <= min(first+n, size); id++ {
			ids = append(ids, id)
		}
		return ids
	}
	cases := []struct {
		name  string
		pages []wanted // in the order in which they arrive, all but the first while that is read
		known bool     // whether the size of the list is known
		fails func(togetherRead) error
		want  []togetherRead
		errs  []error
	}{
		{
			name:  "neighbours",
			pages: []wanted{{lookup: 1, page: 1, mayRead: 10}, {lookup: 2, page: 4, mayRead: 10}, {lookup: 4, page: 2, mayRead: 20}, {lookup: 3, page: 4, mayRead: 30}},
			want:  []togetherRead{{1, window{0, 11}, rows(0, 10), true, 10}, {4, window{10, 31}, append(rows(10, 10), rows(30, 10)...), true, 60}},
		},
		{
			name:  "far from each other",
			pages: []wanted{{lookup: 1, page: 1}, {lookup: 2, page: 2}, {lookup: 3, page: 7}},
			want:  []togetherRead{{1, window{0, 11}, rows(0, 10), true, 0}, {3, window{60, 11}, rows(60, 10), true, 0}, {2, window{10, 11}, rows(10, 10), true, 0}},
		},
		{
			name:  "of other lists and sizes",
			pages: []wanted{{lookup: 1, page: 1}, {lookup: 2, page: 2}, {lookup: 3, page: 2, where: "x"}, {lookup: 4, page: 2, perPage: 5}},
			want: []togetherRead{
				{1, window{0, 11}, rows(0, 10), true, 0}, {3, window{10, 11}, rows(10, 10), true, 0}, {4, window{5, 6}, rows(5, 5), true, 0}, {2, window{10, 11}, rows(10, 10), true, 0},
			},
		},
		{
			name:  "inside a transaction",
			pages: []wanted{{lookup: 1, page: 1}, {lookup: 2, page: 2, alone: true}, {lookup: 3, page: 3}},
			want:  []togetherRead{{1, window{0, 11}, rows(0, 10), true, 0}, {2, window{10, 11}, rows(10, 10), true, 0}, {3, window{20, 11}, rows(20, 10), true, 0}},
		},
		{
			name:  "with the last one, which tells the size",
			pages: []wanted{{lookup: 1, page: 6}, {lookup: 2, page: 8}, {lookup: 3, page: 10}},
			want:  []togetherRead{{1, window{50, 11}, rows(50, 10), true, 0}, {3, window{70, 31}, append(rows(70, 10), rows(90, 5)...), false, 0}},
		},
		{
			name:  "of a known size",
			known: true,
			pages: []wanted{{lookup: 1, page: 1}, {lookup: 2, page: 2}, {lookup: 3, page: 3}},
			want:  []togetherRead{{1, window{0, 11}, rows(0, 10), false, 0}, {3, window{10, 21}, rows(10, 20), false, 0}},
		},
		{
			name:  "one too large",
			pages: []wanted{{lookup: 1, page: 1, mayRead: 1}, {lookup: 2, page: 2, mayRead: 1}, {lookup: 3, page: 3, mayRead: 1}},
			fails: func(r togetherRead) error {
				if slices.Contains(r.ids, 21) {
					return wpdb.ErrTooMuch
				}
				return nil
			},
			want: []togetherRead{{1, window{0, 11}, rows(0, 10), true, 1}, {3, window{10, 21}, rows(10, 20), true, 2}, {2, window{10, 11}, rows(10, 10), true, 1}, {3, window{20, 11}, rows(20, 10), true, 1}},
			errs: []error{nil, nil, wpdb.ErrTooMuch},
		},
		{
			name:  "an unavailable database",
			pages: []wanted{{lookup: 1, page: 1}, {lookup: 2, page: 2}, {lookup: 3, page: 3}},
			fails: func(r togetherRead) error {
				if r.lookup > 1 {
					return wpdb.ErrUnavailable
				}
				return nil
			},
			want: []togetherRead{{1, window{0, 11}, rows(0, 10), true, 0}, {3, window{10, 21}, rows(10, 20), true, 0}},
			errs: []error{nil, wpdb.ErrUnavailable, wpdb.ErrUnavailable},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reads := newPageReads[int64, string]()
				var mu sync.Mutex
				var seen []togetherRead
				var all sync.WaitGroup
				for i, w := range c.pages {
					site := &Site{lookup: w.lookup, alone: w.alone, totals: &Totals{now: time.Now}}
					p := Paging{w.page, max(w.perPage, 0)}
					if p.PerPage == 0 {
						p.PerPage = perPage
					}
					l := paged[int64, string]{list: list{op: "list", filter: sq.Select().From("t")}, order: sortOrder{[]string{"id"}, false}, reach: reach}
					if w.where != "" {
						l.filter = l.filter.Where("a = ?", w.where)
					}
					if c.known {
						l.size = new(int64(size))
					}
					var found window
					l.find = func(_ context.Context, w window) (rowsOf[int64], error) {
						found = w
						return rowsOf[int64]{w, rows(int64(w.first), int64(w.rows))}, nil
					}
					l.read = func(ctx context.Context, ids []int64, size *total) (map[int64]string, error) {
						read := togetherRead{w.lookup, found, slices.Sorted(slices.Values(ids)), size.count != nil, wpdb.Allowed(ctx)}
						mu.Lock()
						seen = append(seen, read)
						mu.Unlock()
						time.Sleep(time.Millisecond)
						if c.fails != nil {
							if err := c.fails(read); err != nil {
								return nil, err
							}
						}
						records := map[int64]string{}
						for _, id := range ids {
							records[id] = fmt.Sprint("record ", id)
						}
						if size.count != nil {
							size.size = 1000 + int64(w.lookup)
						}
						return records, nil
					}
					all.Go(func() {
						time.Sleep(time.Duration(i))
						ctx, _ := wpdb.WithUsage(t.Context())
						wpdb.Allow(ctx, w.mayRead)
						page, err := reads.of(ctx, site, p, l)
						if c.errs != nil && !errors.Is(err, c.errs[i]) || c.errs == nil && err != nil {
							t.Errorf("request %d: error %v", i, err)
						}
						if err != nil {
							return
						}
						want := rows((w.page-1)*p.PerPage, p.PerPage)
						if !slices.Equal(page.rows, want) || page.more != (want[len(want)-1] < size) {
							t.Errorf("request %d: rows %v, more %v", i, page.rows, page.more)
						}
						for _, id := range want {
							if page.records[id] != fmt.Sprint("record ", id) {
								t.Errorf("request %d lacks record %d", i, id)
							}
						}
						if page.size.size != size && page.size.size < 1000 {
							t.Errorf("request %d: size %d", i, page.size.size)
						}
					})
				}
				all.Wait()
				order := func(r togetherRead) string { return fmt.Sprint(len(r.ids) < 11, r.lookup) }
				byOrder := func(a, b togetherRead) int { return slices.Compare([]string{order(a)}, []string{order(b)}) }
				slices.SortStableFunc(seen, byOrder) // requests that share nothing begin in any order
				slices.SortStableFunc(c.want, byOrder)
				if fmt.Sprint(seen) != fmt.Sprint(c.want) {
					t.Errorf("read %v, want %v", seen, c.want)
				}
			})
		})
	}
}

// TestEmptyPageReadsNothing: a page beyond the end of a list of known size has no records to read.
func TestEmptyPageReadsNothing(t *testing.T) {
	t.Parallel()
	l := paged[int64, string]{
		list: list{op: "list", filter: sq.Select().From("t"), size: new(int64(7))}, order: sortOrder{[]string{"id"}, false}, reach: 10,
		find: func(_ context.Context, w window) (rowsOf[int64], error) { return rowsOf[int64]{window: w}, nil },
		read: func(context.Context, []int64, *total) (map[int64]string, error) { return nil, errors.New("read") },
	}
	page, err := newPageReads[int64, string]().of(t.Context(), &Site{totals: &Totals{now: time.Now}}, Paging{3, 5}, l)
	if len(page.rows) != 0 || page.more || page.size.size != 7 || err != nil {
		t.Errorf("%v, more %v, size %d, error %v", page.rows, page.more, page.size.size, err)
	}
}
