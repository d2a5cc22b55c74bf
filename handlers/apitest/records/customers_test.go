package records_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

var customerList = listing{path: "/customers", from: "{customers} c", order: "c.created_at DESC, c.id DESC"}

// TestCustomers compares responses with golden files made from the recorded
// models and rows.
func TestCustomers(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA())
	customerList.pages(t, s)
	apitest.Golden(t, "customer_list", s.Get("/customers?last_name=weber&per_page=5").Want(http.StatusOK).Body)
	apitest.Golden(t, "customer_10", s.Get("/customers/10").Want(http.StatusOK).Body)
	apitest.Golden(t, "customer_268", s.Get("/customers/268?include=bookings,upcoming_bookings,past_bookings").Want(http.StatusOK).Body)
	customerList.finds(t, s, []find{
		{query: ""},
		{query: "per_page=7"},
		{query: "status=Inactive", where: "c.status = 'inactive'"},
		{query: "created_after=2026-10-25&created_before=2026-10-25", where: "DATE(c.created_at) = '2026-10-25'"},
		{query: "created_at=2026-10", where: "c.created_at LIKE '2026-10-%'"},
		{query: "created_at=2026-10-25", where: "c.created_at LIKE '2026-10-25 %'"},
		{query: "created_at=2026-10-2", where: "c.created_at LIKE '2026-10-2%'"},
		{query: "created_at=2026-10-3", where: "c.created_at LIKE '2026-10-3%'"},
		{query: "created_at=2026-1", where: "c.created_at LIKE '2026-1%'"},
		{query: "created_at=2026-0", where: "c.created_at LIKE '2026-0%'"},
		{query: "created_at=2026-11-0", where: "c.created_at LIKE '2026-11-0%'"},
		{query: "created_at=2026-10-25+1", where: "c.created_at LIKE '2026-10-25 1%'"},
		{query: "created_at=2026-09-07+20:4", where: "c.created_at LIKE '2026-09-07 20:4%'"},
		{query: "created_at=2026-09-07+20:44:55", where: "c.created_at = '2026-09-07 20:44:55'"},
		{query: "updated_at=2026-09-07+20:44:5", where: "c.updated_at LIKE '2026-09-07 20:44:5%'"},
		{query: "created_at=20", all: true},
		{query: "created_at=2026", all: true},
		{query: "updated_at=2026-09", where: "c.updated_at LIKE '2026-09-%'"},
		{query: "has_bookings=true", all: true},
		{query: "has_bookings=false", none: true},
		{query: "first_name=ann", where: "c.first_name LIKE '%ann%'"},
		{query: "first_name=ZOE", where: "c.first_name = 'Zoë'"},
		{query: "last_name=WEB", where: "c.last_name = 'Weber'"},
		{query: "email=CUSTOMER12@", where: "c.id = 12"},
		{query: "phone=%2B49177", where: "c.phone LIKE '+49177%'"},
		{query: "phone=49177", where: "c.phone LIKE '%49177%'"},
		{query: "is_guest=true", where: "c.is_guest = 1"},
		{query: "is_guest=0", where: "c.is_guest = 0"},
		{query: "cms_user_id=6", where: "c.id = 1"},
		{query: "wordpress_user_id=6", where: "c.id = 1"},
		{query: "cms_user_id=6&wordpress_user_id=7", where: "c.id = 1"},
		{query: "search=schmidt", where: "c.last_name = 'Schmidt'"},
		{query: "search=lea SCHMIDT", where: "c.first_name = 'Lea' AND c.last_name = 'Schmidt'"},
		{query: "search=schmidt lea", none: true},
		{query: "search=%2B49", none: true}, // not the phone
		{query: "search=%25", none: true},

		{query: "status=active&is_guest=false&created_after=2026-09-10&created_before=2026-10-10&search=a",
			where: "c.status = 'active' AND c.is_guest = 0 AND c.created_at BETWEEN '2026-09-10' AND '2026-10-10 23:59:59'"}, // every address has an a
		{query: "first_name=lea&last_name=schmidt&email=customer1@&phone=1726&cms_user_id=6&has_bookings=1&created_at=2026-09-07&updated_at=2026-09", where: "c.id = 1"},
		{query: "order=asc&order_by=id&sort=id&include=bookings,stats"}, // the order cannot be changed
	})
}

// recordedCounts are the plugin's own counts for some customers, and the bookings that it calls upcoming,
// next first.
var recordedCounts = map[string]struct {
	total, future, past, cancelled int
	upcoming                       []string
}{
	"1":   {9, 4, 5, 0, []string{"784", "91", "1725", "1982"}},
	"3":   {4, 3, 0, 1, []string{"833", "629", "1643"}},
	"5":   {7, 5, 2, 0, []string{"429", "1374", "1491", "865", "645"}},
	"9":   {4, 2, 1, 1, []string{"899", "278"}},
	"10":  {6, 3, 2, 1, []string{"495", "1917", "380"}},
	"12":  {3, 2, 1, 0, []string{"1407", "861"}},
	"13":  {7, 2, 4, 1, []string{"1013", "637"}},
	"188": {11, 2, 6, 3, []string{"782", "1794"}},
	"197": {8, 3, 3, 2, []string{"916", "1052", "1137"}},
	"268": {4, 1, 2, 1, []string{"10"}},
}

func TestCustomerCountsEqualThePlugins(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	for id, want := range recordedCounts {
		a := s.Get("/customers/" + id + "?include=bookings,upcoming_bookings,past_bookings&bookings_limit=100").Want(http.StatusOK)
		for name, value := range map[string]any{"total_bookings": strconv.Itoa(want.total), "future_bookings": strconv.Itoa(want.future), "cancelled_bookings": number(want.cancelled)} {
			expect.Equal(t, value, a.At("data", "stats", name), fmt.Sprintf("customer %s: %s", id, name))
		}
		expect.Equal(t, want.upcoming, apitest.IDsOf(a.At("data", "upcoming_bookings")), fmt.Sprintf("customer %s: upcoming", id))
		expect.Equal(t, want.past, len(apitest.IDsOf(a.At("data", "past_bookings"))), fmt.Sprintf("customer %s: past bookings", id))
		expect.Equal(t, want.total, len(apitest.IDsOf(a.At("data", "bookings"))), fmt.Sprintf("customer %s: bookings", id))
	}
}

// TestBookingsOfACustomer reads the 11 bookings of customer 188. Upcoming ones are sorted next first,
// others latest first; cancelled ones are neither upcoming nor past.
func TestBookingsOfACustomer(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	const (
		mine     = "SELECT b.id FROM {bookings} b WHERE b.customer_id = 188"
		begun    = " AND (b.start_date < '2026-11-21' OR b.start_date = '2026-11-21' AND b.start_time <= 103)"
		live     = " AND b.status <> 'cancelled'"
		latest   = " ORDER BY b.start_date DESC, b.start_time DESC, b.id DESC"
		earliest = " ORDER BY b.start_date, b.start_time, b.id"
	)
	all, past := mine+latest, mine+live+begun+latest
	upcoming := mine + live + " AND NOT" + begun[len(" AND"):] + earliest
	for query, want := range map[string]map[string]string{
		"":                                       {},
		"include=":                               {},
		"include=bookings":                       {"bookings": all + " LIMIT 10"},
		"include=bookings&bookings_limit=100":    {"bookings": all},
		"include=Bookings , past_bookings":       {"bookings": all + " LIMIT 10", "past_bookings": past},
		"include=past_bookings&bookings_limit=2": {"past_bookings": past + " LIMIT 2"},
		"include=bookings&bookings_status=CONFIRMED":                          {"bookings": mine + " AND b.status = 'approved'" + latest},
		"include=upcoming_bookings&bookings_status=approved&bookings_limit=1": {"upcoming_bookings": strings.Replace(upcoming, live, live+" AND b.status = 'approved'", 1) + " LIMIT 1"},
		"include=past_bookings&bookings_status=cancelled":                     {"past_bookings": mine + " AND FALSE"},
		"bookings_limit=3&bookings_status=pending":                            {},
	} {
		a := s.Get("/customers/188?" + apitest.EscapeQuery(query)).Want(http.StatusOK)
		record := a.At("data").(map[string]any)
		for _, name := range []string{"bookings", "upcoming_bookings", "past_bookings"} {
			statement, asked := want[name]
			shown, there := record[name]
			if asked != there {
				t.Errorf("%s: %s present: %v", query, name, there)
				continue
			}
			if !asked {
				continue
			}
			expect.Equal(t, s.Texts(statement), apitest.IDsOf(shown), fmt.Sprintf("%s: %s", query, name))
		}
	}
}

func TestCustomerFiltersOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	customerList.finds(t, s, []find{
		{query: "per_page=2"}, // two with the same time, one without a date, one with a zero date
		{query: "is_guest=1", where: "c.id IN (2, 4, 5, 7, 10)"},
		{query: "is_guest=no", where: "c.id NOT IN (2, 4, 5, 7, 10)"}, // NULL is not a guest
		{query: "has_bookings=yes", where: "c.id NOT IN (9, 10, 11)"},
		{query: "created_after=1000-01-01", where: "c.id NOT IN (3, 11)"},
		{query: "created_before=2026-02-02", where: "c.id IN (1, 2, 10, 11)"},
		{query: "first_name=100%25_", where: "c.id = 6"},
		{query: "last_name=\\temp", where: "c.id = 6"},
		{query: "last_name=o'brien \"", where: "c.id = 4"},
		{query: "email=@example.org", where: "c.id NOT IN (3, 11)"},
		{query: "search=%25", where: "c.id IN (6, 7)"},
		{query: "search=\\", where: "c.id = 6"},
		{query: "search=דנה ﷺ", where: "c.id = 5"},
	})
}

// TestCustomFields: custom fields are those in the settings, those of the plugin's form (cf_…) and those
// written through the API; profile fields are not.
func TestCustomFields(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	s.Database.Execute(t,
		`UPDATE wp_latepoint_settings SET value = '{"allergies":{"id":"allergies","label":"Allergies"}}' WHERE name = 'custom_fields_for_customer'`,
		"INSERT INTO wp_bookside_customer_fields (meta_key) VALUES ('loyalty')",
		"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'allergies', '0'), (9, 'loyalty', 'gold'), (9, 'password_hint', 'x'), (9, 'cf_zip', ''),"+
			" (9, 'address', 'Torstraße 1'), (9, 'city', 'Berlin'), (9, 'state', 'BE'), (9, 'zipcode', '10119'), (9, 'country', 'DE'), (9, 'date_of_birth', '1985-03-15'), (9, 'gender', 'x'), (9, 'city', 'second row')")
	s.WantFields(t, "/customers/9", map[string]any{
		"custom_fields": map[string]any{"allergies": "0", "loyalty": "gold", "cf_zip": ""},
		"address":       "Torstraße 1", "city": "Berlin", "state": "BE", "zipcode": "10119", "country": "DE", "date_of_birth": "1985-03-15", "gender": "x",
	})
	i := slices.IndexFunc(s.Get("/customers").Records(), func(record map[string]any) bool { return record["id"] == "9" })
	expect.Equal(t, any(map[string]any{"allergies": "0", "loyalty": "gold", "cf_zip": ""}), s.Get("/customers").At("data", i, "custom_fields"), "in the list")
}

// TestGuestFilterAcceptsNumbers: is_guest is a number, and imports have left values other than 0 and 1.
func TestGuestFilterAcceptsNumbers(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET is_guest = 2 WHERE id = 8", "UPDATE wp_latepoint_customers SET is_guest = -1 WHERE id = 9")
	s.WantFields(t, "/customers/8", map[string]any{"is_guest": "1"})
	s.WantFields(t, "/customers/9", map[string]any{"is_guest": "1"})
	customerList.finds(t, s, []find{
		{query: ""},
		{query: "is_guest=1", where: "c.id IN (2, 4, 5, 7, 8, 9, 10)"},
		{query: "is_guest=0", where: "c.id IN (1, 3, 6, 11)"},
	})
}

// TestBookingOfThisMinuteHasBegun: a booking that begins in the current minute
// has begun.
func TestBookingOfThisMinuteHasBegun(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	for start, begun := range map[string]bool{"102": true, "103": true, "104": false, "0": true, "1439": false} {
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = '2026-11-21', status = 'approved', start_time = "+start+" WHERE id = 20")
		a := s.Get("/customers/7?include=past_bookings,upcoming_bookings").Want(http.StatusOK)
		want := []any{nil, "2026-11-21", []string{}, []string{"20"}}
		if begun {
			want = []any{"2026-11-21", nil, []string{"20"}, []string{}}
		}
		got := []any{a.At("data", "stats", "last_booking_date"), a.At("data", "stats", "next_booking_date"), apitest.IDsOf(a.At("data", "past_bookings")), apitest.IDsOf(a.At("data", "upcoming_bookings"))}
		expect.Equal(t, want, got, fmt.Sprintf("at minute %s: last and next date, past and upcoming bookings", start))
	}
}

// TestTotalSpent: refunds that exceed the payments leave 0; a payment without a kind counts, an
// authorisation does not.
func TestTotalSpent(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	s.Database.Execute(t,
		"UPDATE wp_latepoint_transactions SET amount = 100 WHERE id = 6",                                              // a refund of customer 7, who paid 59.50
		"UPDATE wp_latepoint_transactions SET kind = NULL, amount = 12.3456 WHERE id = 1",                             // of customer 2
		"UPDATE wp_latepoint_transactions SET status = 'succeeded' WHERE id = 10",                                     // of customer 4, beside the authorisation
		"UPDATE wp_latepoint_transactions SET customer_id = 9 WHERE id = 3",                                           // the order is customer 5's
		"INSERT INTO wp_latepoint_transactions (order_id, status, kind, amount) VALUES (8, 'succeeded', 'void', 380)") // moves no money
	for id, want := range map[string]string{"7": "0.00", "2": "12.35", "4": "50.00", "5": "380.00", "9": "0.00", "6": "0.00"} {
		expect.Equal[any](t, want, s.Get("/customers/"+id).At("data", "stats", "total_spent"), fmt.Sprintf("customer %s spent", id))
	}
}
