package adapter

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// exportedList reads a page of a list, and its ids.
type exportedList func(ctx context.Context, s *session.Session, p session.Paging) ([]int64, error)

func exported[F, T any](filter F, paging func(*F) *session.Paging, read func(context.Context, *session.Session, F) (records.Page[T], error), id func(T) int64) exportedList {
	return func(ctx context.Context, s *session.Session, p session.Paging) ([]int64, error) {
		f := filter
		*paging(&f) = p
		page, err := read(ctx, s, f)
		return records.IDsOf(page.Records, id), err
	}
}

// exportedLists are all lists, with filters of every kind, by their names.
func exportedLists() map[string]exportedList {
	listed := func(f bookings.Filter) exportedList {
		return exported(f, func(f *bookings.Filter) *session.Paging { return &f.Paging }, bookings.List, func(b records.Booking) int64 { return b.ID })
	}
	return map[string]exportedList{
		"bookings":                listed(bookings.Filter{Order: bookings.Order{Descending: true}}),
		"bookings by customer":    listed(bookings.Filter{Order: bookings.Order{Sort: bookings.ByCustomerName}}),
		"found bookings":          listed(bookings.Filter{Texts: bookings.Texts{Search: new("a")}, Values: bookings.Values{PriceMin: new(decimal.New(1, 0))}}),
		"paid bookings":           listed(bookings.Filter{Values: bookings.Values{PaymentStatus: new("not_paid")}, WithMeta: true}),
		"past bookings":           listed(bookings.Filter{Times: bookings.Times{Past: true}, Texts: bookings.Texts{CustomerEmail: new("@")}}),
		"customers":               exported(customers.Filter{}, func(f *customers.Filter) *session.Paging { return &f.Paging }, customers.List, func(c records.Customer) int64 { return c.ID }),
		"customers with a letter": exported(customers.Filter{Search: new("a"), IsGuest: new(false)}, func(f *customers.Filter) *session.Paging { return &f.Paging }, customers.List, func(c records.Customer) int64 { return c.ID }),
		"orders":                  exported(orders.Filter{}, func(f *orders.Filter) *session.Paging { return &f.Paging }, orders.List, func(o records.Order) int64 { return o.ID }),
		"payments":                exported(payments.Filter{Sort: payments.ByAmount}, func(f *payments.Filter) *session.Paging { return &f.Paging }, payments.List, func(p records.Payment) int64 { return p.ID }),
		"agents":                  exported(catalog.AgentFilter{}, func(f *catalog.AgentFilter) *session.Paging { return &f.Paging }, catalog.ListAgents, func(a catalog.Agent) int64 { return a.ID }),
		"services":                exported(catalog.ServiceFilter{Include: catalog.ServiceIncludes{Agents: true}}, func(f *catalog.ServiceFilter) *session.Paging { return &f.Paging }, catalog.ListServices, func(s catalog.Service) int64 { return s.ID }),
		"locations":               exported(catalog.LocationFilter{}, func(f *catalog.LocationFilter) *session.Paging { return &f.Paging }, catalog.ListLocations, func(l catalog.Location) int64 { return l.ID }),
		"coupons":                 exported(payments.CouponFilter{}, func(f *payments.CouponFilter) *session.Paging { return &f.Paging }, payments.ListCoupons, func(c payments.Coupon) int64 { return c.ID }),
		"categories":              exported(session.Paging{}, func(p *session.Paging) *session.Paging { return p }, catalog.ListServiceCategories, func(c catalog.ServiceCategory) int64 { return c.ID }),
	}
}

// fewRows leaves only as many records as an export needs to read many chunks: with more, most of the time
// goes into chunks that differ only in their ids.
var fewRows = []string{
	"DELETE FROM wp_latepoint_bookings WHERE id > 30",
	"DELETE FROM wp_latepoint_orders WHERE id > 30",
	"DELETE FROM wp_latepoint_transactions WHERE order_id > 30",
	"DELETE FROM wp_latepoint_customers WHERE id > 10 AND id NOT IN (SELECT customer_id FROM wp_latepoint_bookings)",
}

// export reads a page in chunks. between is called after each chunk.
func export(t *testing.T, platform *session.Platform, w *session.ExportCursor, p session.Paging, list exportedList, between func(chunk int)) []int64 {
	t.Helper()
	principal, err := platform.Principal(t.Context(), keys.Key{Permissions: []string{"read"}})
	expect.NoError(t, err)
	all := []int64{}
	for chunk := range 10_000 {
		err := platform.Serve(t.Context(), principal, func(s *session.Session) error {
			s.Export = w
			ids, err := list(t.Context(), s, p)
			all = append(all, ids...)
			if int64(len(ids)) > w.Chunk {
				t.Errorf("a chunk of %d", len(ids))
			}
			return err
		})
		expect.NoError(t, err)
		if w.Pass(); w.Done() {
			return all
		}
		if between != nil {
			between(chunk)
		}
	}
	t.Fatal("the export does not end")
	return nil
}

// TestExports: an export finds the records of a list by id, however it is sorted and filtered.
func TestExports(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	database.Execute(t, fewRows...)
	platform := session.NewPlatform(wpdbtest.Open(t, database, 4), fixtures.RecordedNow)
	for name, list := range exportedLists() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, err := platform.Session(t.Context())
			expect.NoError(t, err)
			want, err := list(t.Context(), site, session.Paging{Page: 1, PerPage: 5000})
			if err != nil || len(want) < 2 {
				t.Fatalf("%d records: %v", len(want), err)
			}
			slices.Sort(want)
			size := int64(len(want))
			for _, w := range []*session.ExportCursor{{Chunk: 2}, {Chunk: size/3 + 1}, {Chunk: 5000}} {
				if diff := cmp.Diff(want, export(t, platform, w, session.Paging{Page: 1, PerPage: 5000}, list, nil)); diff != "" {
					t.Fatalf("%+v (-want +got):\n%s", w, diff)
				}
				if w.Total() != size || w.Size() != size || w.Passed() != size {
					t.Errorf("%d records, of which %d on the page, %d passed; want %d", w.Total(), w.Size(), w.Passed(), size)
				}
			}
			page, w := session.Paging{Page: 2, PerPage: size/2 + 1}, &session.ExportCursor{Chunk: 2}
			expect.Equal(t, want[page.PerPage:], export(t, platform, w, page, list, nil), "page 2")
			if w.Total() != size || w.Size() != size-page.PerPage {
				t.Errorf("page 2: %d records, of which %d on the page", w.Total(), w.Size())
			}
			first := &session.ExportCursor{Chunk: 1}
			if diff := cmp.Diff(want[:2], export(t, platform, first, session.Paging{Page: 1, PerPage: 2}, list, nil)); diff != "" || first.Total() != size {
				t.Errorf("a page of 2 (-want +got), of %d:\n%s", first.Total(), diff)
			}
			expect.Empty(t, export(t, platform, &session.ExportCursor{Chunk: 10}, session.Paging{Page: 9, PerPage: 5000}, list, nil), "beyond the end")
		})
	}
}

// TestExportWhileOthersWrite: records added or deleted during an export neither hide nor repeat others.
func TestExportWhileOthersWrite(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	platform := session.NewPlatform(wpdbtest.Open(t, database, 2), fixtures.RecordedNow)
	list := exported(bookings.Filter{Order: bookings.Order{Descending: true}}, func(f *bookings.Filter) *session.Paging { return &f.Paging }, bookings.List, func(b records.Booking) int64 { return b.ID })
	site, err := platform.Session(t.Context())
	expect.NoError(t, err)
	before, err := list(t.Context(), site, session.Paging{Page: 1, PerPage: 5000})
	expect.NoError(t, err)
	slices.Sort(before)
	deleted := before[len(before)-1]
	got := export(t, platform, &session.ExportCursor{Chunk: 3}, session.Paging{Page: 1, PerPage: 5000}, list, func(chunk int) {
		database.InsertBookings(t, "1, 1, 1, 'approved', '2020-01-01', 540, '2020-01-01', 600, 0, 0, 1, 1", "1, 1, 1, 'approved', '2030-01-01', 540, '2030-01-01', 600, 0, 0, 1, 1",
			fmt.Sprintf("1, 1, 1, 'approved', '%s', 540, '2030-01-01', 600, 0, 0, 1, 1", fixtures.RecordedNow().AddDate(0, 0, chunk).Format(time.DateOnly)))
		if chunk == 1 {
			database.Execute(t, fmt.Sprint("DELETE FROM wp_latepoint_bookings WHERE id = ", deleted))
		}
	})
	expect.Equal(t, len(got), len(slices.Compact(slices.Sorted(slices.Values(got)))), "a record comes twice: ", got)
	known := slices.DeleteFunc(got, func(id int64) bool { return !slices.Contains(before, id) })
	if diff := cmp.Diff(before[:len(before)-1], known); diff != "" {
		t.Errorf("(-before +got):\n%s", diff)
	}
}

// TestExportStays: a chunk is read again until the export passes it, so that failed work can be repeated.
func TestExportStays(t *testing.T) {
	t.Parallel()
	platform := session.NewPlatform(wpdbtest.Open(t, fixtures.Shared(t, fixtures.SiteA()), 2), fixtures.RecordedNow)
	site, err := platform.SessionOf(t.Context(), &keys.Key{Scope: domain.Scope{Agents: []int64{1}}})
	expect.NoError(t, err)
	w := &session.ExportCursor{Chunk: 3}
	site.Export = w
	var ids []int64
	for i := range 4 {
		page, err := bookings.List(t.Context(), site, bookings.Filter{Paging: session.Paging{Page: 1, PerPage: 100}, Order: bookings.Order{Sort: bookings.ByID}})
		expect.NoError(t, err)
		for _, b := range page.Records {
			expect.Equal(t, 1, b.Agent.ID, "booking ", b.ID, " is beyond the limits")
			ids = append(ids, b.ID)
		}
		if i%2 == 1 {
			w.Pass()
		}
	}
	if len(ids) != 12 || !slices.Equal(ids[:3], ids[3:6]) || !slices.Equal(ids[6:9], ids[9:]) || ids[6] <= ids[5] {
		t.Errorf("%v", ids)
	}
}
