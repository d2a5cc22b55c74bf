package records_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestFiltersBeyondTheCharacterSet sends each text parameter of each list a letter that the tables of older
// sites cannot store: no record matches. Other letters still match.
func TestFiltersBeyondTheCharacterSet(t *testing.T) {
	t.Parallel()
	for _, charset := range []string{"utf8mb3", "latin1"} {
		t.Run(charset, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.Small(apitest.Now))
			for _, table := range []string{
				"agents", "booking_meta", "bookings", "coupons", "customers", "locations", "order_items", "orders", "service_meta", "services", "transactions",
			} {
				database.Execute(t, "ALTER TABLE wp_latepoint_"+table+" CONVERT TO CHARACTER SET "+charset)
			}
			s := apitest.NewServer(t, database)
			for path, known := range apitest.Parameters() {
				for name, p := range known {
					if p.Kind != "text" {
						continue
					}
					for _, page := range []int{1, 2} {
						query := fmt.Sprintf("%s?%s%s=%%F0%%9F%%8E%%81&page=%d", path, apitest.Companions[name], name, page)
						a := s.Get(query).Want(http.StatusOK)
						if got, total := apitest.IDsOf(a.At("data")), a.At("pagination", "total"); len(got) > 0 || total != json.Number("0") {
							t.Errorf("%s: %v of %v", query, got, total)
						}
					}
				}
			}
			wantNotFound(t, s, "/coupons/%F0%9F%8E%81", "coupon_not_found", "Coupon with code 🎁 was not found")
			s.WantFields(t, "/coupons/welcome10", map[string]any{"id": "1"})
			agentList.finds(t, s, []find{{query: "search=jörg", where: "a.id = 2"}})
			locationList.finds(t, s, []find{{query: "search=uferstraße", where: "l.id = 2"}})
			orderList.finds(t, s, []find{{query: "coupon_code=welcome10", where: "o.coupon_code = 'WELCOME10'"}})
		})
	}
}

// listing is a list route and the SQL that selects the same records.
type listing struct {
	path  string
	from  string // a table in braces, without its prefix, and an alias: "{agents} a"
	order string // SQL

	pagination string // its keys, if they are not those of most lists
}

// find is a query string and the SQL condition that finds the same records. Unless none or all is set, the
// condition must match some records but not all.
type find struct {
	query     string // unescaped
	where     string // "" for all records
	order     string // "" for the list's default order
	none, all bool   // the query finds no record, or every one
}

// alias returns the alias of the listed table.
func (l listing) alias() string {
	_, alias, _ := strings.Cut(l.from, " ")
	return alias
}

// sql returns the SELECT of the ids that a query must find, in their order.
func (l listing) sql(f find) string {
	where, order := f.where, f.order
	if where == "" {
		where = "TRUE"
	}
	if order == "" {
		order = l.order
	}
	return fmt.Sprintf("SELECT %s.id FROM %s WHERE %s ORDER BY %s", l.alias(), l.from, where, order)
}

// allIDs reads a list page by page, a hundred records each, and returns the ids.
func (l listing) allIDs(t testing.TB, s *apitest.Server, query string) []string {
	t.Helper()
	found := []string{}
	for page := 1; ; page++ {
		a := s.Get(fmt.Sprintf("%s?per_page=100&page=%d&%s", l.path, page, apitest.EscapeQuery(query))).Want(http.StatusOK)
		body := a.Object()
		pagination, ok := body["pagination"].(map[string]any)
		if !ok {
			t.Fatalf("no pagination: %.1000s", a.Body)
		}
		found = append(found, apitest.IDsOf(body["data"])...)
		if next, _ := pagination["has_next_page"].(bool); !next {
			expect.Equal(t, fmt.Sprint(len(found)), fmt.Sprint(pagination["total"]), fmt.Sprintf("total, of %d records", len(found)))
			return found
		}
	}
}

// everyPage: in a quick run, one of this many pages of a long list is read.
const everyPage = 4

// wantIDs compares pages with the ids that the whole list should have: pages of a hundred records, unless
// the query says otherwise.
func (l listing) wantIDs(t testing.TB, s *apitest.Server, query string, want []string) {
	t.Helper()
	step := everyPage
	if fixtures.Thorough() {
		step = 1
	}
	for page, size := 1, 0; page == 1 || (page-1)*size < len(want); page += step {
		a := s.Get(fmt.Sprintf("%s?per_page=100&page=%d&%s", l.path, page, apitest.EscapeQuery(query))).Want(http.StatusOK)
		var sizes struct {
			Pagination struct {
				Total   int  `json:"total"`
				PerPage int  `json:"per_page"`
				More    bool `json:"has_next_page"`
			} `json:"pagination"`
		}
		expect.NoError(t, json.Unmarshal(a.Body, &sizes))
		size = sizes.Pagination.PerPage
		first, end := (page-1)*size, min(page*size, len(want))
		expect.Equal(t, want[first:end], apitest.IDsOf(a.At("data")), fmt.Sprintf("page %d of %s?%s", page, l.path, query))
		if got := sizes.Pagination; got.Total != len(want) || got.More != (end < len(want)) {
			t.Errorf("page %d of %s?%s: %+v, want a total of %d", page, l.path, query, got, len(want))
		}
	}
}

// finds sends the queries and compares the ids and their order with the SQL.
func (l listing) finds(t *testing.T, s *apitest.Server, queries []find) {
	t.Helper()
	every := len(s.Texts(l.sql(find{})))
	for _, f := range queries {
		name := f.query
		if name == "" {
			name = "everything"
		}
		t.Run(name, func(t *testing.T) {
			want := []string{}
			if !f.none {
				want = s.Texts(l.sql(f))
				if len(want) == 0 || (len(want) == every) != (f.where == "" || f.all) {
					t.Fatalf("the SQL finds %d of %d records: the case proves nothing", len(want), every)
				}
			}
			l.wantIDs(t, s, f.query, want)
		})
	}
}

// pages reads pages of several sizes: the first two, the last, and some past the
// end.
func (l listing) pages(t *testing.T, s *apitest.Server) {
	t.Helper()
	every := s.Texts(l.sql(find{}))
	for _, size := range []int{1, 3, 100} {
		last := (len(every) + size - 1) / size
		for _, page := range []int{1, 2, last, last + 1, last + 1_000_000, 9007199254740992} {
			a := s.Get(fmt.Sprintf("%s?page=%d&per_page=%d", l.path, page, size)).Want(http.StatusOK)
			want := []string{}
			if page <= last {
				want = every[(page-1)*size : min(page*size, len(every))]
			}
			expect.Equal(t, want, apitest.IDsOf(a.At("data")), fmt.Sprintf("ids on page %d of %d", page, size))
			pagination := fmt.Sprintf(`{"page":%d,"per_page":%d,"total":%d,"total_pages":%d,"has_next_page":%t,"has_previous_page":%t}`, page, size, len(every), last, page < last, page > 1)
			if l.pagination != "" {
				pagination = fmt.Sprintf(l.pagination, page, size, len(every), last)
			}
			expect.Equal(t, pagination, string(members(t, a.Body)["pagination"]), "pagination")
		}
	}
}

// wantNotFound checks for a 404 in the shape ObjectError.
func wantNotFound(t testing.TB, s *apitest.Server, path, code, message string) {
	t.Helper()
	a := s.Get(path).Want(http.StatusNotFound)
	want := fmt.Sprintf(`{"status":"error","error":{"code":%q,"message":%q}}`, code, message)
	expect.Equal(t, want, string(a.Body), fmt.Sprintf("%s: %s", path, a.Body))
}

// members returns the values of an object as they were sent.
func members(t testing.TB, object json.RawMessage) (values map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(object, &values); err != nil {
		t.Fatalf("%v: %.200s", err, object)
	}
	return values
}

// TestListsByTheDayOfTheLastChange filters lists by days, both included: in UTC, and in the site's time
// zone if timestamps are shown in it.
func TestListsByTheDayOfTheLastChange(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	inUTC, inSiteTime := apitest.NewServer(t, database), apitest.NewServer(t, database, siteTimestamps)
	for table, list := range map[string]*listing{"bookings": &bookingList, "customers": &customerList, "orders": &orderList, "transactions": &paymentList} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			database.Execute(t,
				"UPDATE wp_latepoint_"+table+" SET created_at = '2026-01-01 00:00:00', updated_at = TIMESTAMPADD(DAY, id MOD 5, '2026-03-01 23:30:00')",
				"UPDATE wp_latepoint_"+table+" SET updated_at = NULL WHERE id MOD 7 = 0") // no bound includes these
			column := table[:1] + ".updated_at"
			list.finds(t, inUTC, []find{
				{query: "updated_from=2026-03-03", where: column + " >= '2026-03-03 00:00:00'"},
				{query: "updated_to=2026-03-03", where: column + " <= '2026-03-03 23:59:59'"},
				{query: "updated_from=2026-03-02&updated_to=2026-03-02", where: "DATE(" + column + ") = '2026-03-02'"},
				{query: "updated_from=2026-03-06", none: true},
				{query: "updated_from=2026-03-04&updated_to=2026-03-02", none: true},
				{query: "updated_to=9999-12-31", where: column + " IS NOT NULL"},
			})
			list.finds(t, inSiteTime, []find{
				{query: "updated_from=2026-03-03&updated_to=2026-03-03", where: "DATE(" + column + ") = '2026-03-02'"},
				{query: "updated_from=2026-03-06", where: "DATE(" + column + ") = '2026-03-05'"},
			})
		})
	}
}

// TestListsByTheLastChangeWhereItIsNotStored: tables of older versions lack the column, so no record is
// known to have changed.
func TestListsByTheLastChangeWhereItIsNotStored(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	s.Database.Execute(t, "ALTER TABLE wp_latepoint_bookings DROP COLUMN updated_at", "ALTER TABLE wp_latepoint_transactions DROP COLUMN updated_at")
	for _, list := range []*listing{&bookingList, &paymentList} {
		list.finds(t, s, []find{{query: "updated_from=2026-01-01", none: true}, {query: "updated_to=2026-12-31", none: true}})
	}
}

// TestPaymentStatusOfManyRefunds: the filter finds the same orders and bookings, whether few orders were
// refunded or too many to list their ids.
func TestPaymentStatusOfManyRefunds(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, orders := range map[string]string{"few": "id % 100 = 0", "many": "id % 4 <> 0"} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Own(t, fixtures.SiteA())
			s.Database.Execute(t,
				"INSERT INTO wp_latepoint_transactions (order_id, customer_id, kind, status, amount) SELECT id, customer_id, 'refund', 'succeeded', -1 FROM wp_latepoint_orders WHERE "+orders)
			// The subquery runs once; one per order would read all payments each time.
			paid := "IN (SELECT t.order_id FROM wp_latepoint_transactions t WHERE t.order_id IS NOT NULL AND t.status = 'succeeded' AND t.kind <> 'refund' GROUP BY t.order_id HAVING SUM(t.amount) > 1)"
			for status, where := range map[string]string{
				"refunded": orders + " AND o.id NOT " + paid, "partially_refunded": orders + " AND o.id " + paid,
				"fully_paid": "NOT (" + orders + ") AND o.payment_status = 'fully_paid'", "not_paid": "NOT (" + orders + ") AND o.payment_status = 'not_paid'",
			} {
				orderList.finds(t, s, []find{{query: "payment_status=" + status, where: where}})
				bookingList.finds(t, s, []find{{query: "payment_status=" + status, where: "b.order_item_id IN " +
					"(SELECT i.id FROM {order_items} i WHERE i.order_id IN (SELECT o.id FROM {orders} o WHERE " + where + "))"}})
			}
		})
	}
}

// TestSearchesMatchingFewBookingsRunOnce: a search, or a payment status, that matches few bookings finds
// them with one statement for their ids, and counts nothing.
func TestSearchesMatchingFewBookingsRunOnce(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	s.Get("/status").Want(http.StatusOK)
	for _, query := range []string{"search=anna", "payment_status=not_paid", "search=anna&status=approved&sort=customer_name"} {
		for _, page := range []int{1, 2, 1000} {
			a := s.Get(fmt.Sprintf("/bookings?per_page=3&page=%d&%s", page, query)).Want(http.StatusOK)
			if n := s.Log.Last(t).Queries; n > 5 || page == 1000 && n > 3 {
				t.Errorf("%s, page %d: %d statements", query, page, n)
			}
			if page == 1 && len(a.Records()) == 0 {
				t.Errorf("%s finds nothing", query)
			}
		}
	}
}

// insertByPHP is the statement with which the site's PHP adds a booking.
const insertByPHP = "INSERT INTO wp_latepoint_bookings (start_date, start_time, end_time, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id) " +
	"SELECT start_date, start_time, end_time, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id FROM wp_latepoint_bookings WHERE id = 7"

// TestTotalsAreExact: a total has what others have written before the request.
func TestTotalsAreExact(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA())
	for _, path := range []string{"/bookings?per_page=2", "/bookings?per_page=2&sort=status", "/customers?per_page=2", "/orders?per_page=2", "/payments?per_page=2"} {
		table := strings.Replace(strings.TrimPrefix(strings.Split(path, "?")[0], "/"), "payments", "transactions", 1)
		for range 2 {
			total := s.Get(path).Want(http.StatusOK).At("pagination", "total")
			expect.Equal(t, fmt.Sprint(len(tableOf(s, table))), fmt.Sprint(total), fmt.Sprintf("%s: total %v", path, total))
			s.Database.Execute(t, insertByPHP)
		}
	}
}

// TestRoundTripsOfSingleRecords: a record waits for the database, which may be on another machine, as few times as
// possible. One of them is for the key.
func TestRoundTripsOfSingleRecords(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	s.Get("/status").Want(http.StatusOK) // notes that the key is used
	for path, want := range map[string]int{
		"/bookings/287": 4, // with an order and payments, which name their first booking
		"/orders/1403":  2, "/customers/153": 2, "/payments/1": 4, "/services/6": 2, "/agents/1": 3,
	} {
		s.Get(path).Want(http.StatusOK)
		if n := s.Log.Last(t).Queries; n > want {
			t.Errorf("%s: %d round trips, at most %d", path, n, want)
		}
	}
}
