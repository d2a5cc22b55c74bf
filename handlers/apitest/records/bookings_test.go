package records_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

var bookingList = listing{path: "/bookings", from: "{bookings} b", order: "b.start_date DESC, b.start_time DESC, b.id DESC"}

// inDirection returns the SQL that sorts bookings by expressions, all in one
// direction.
func inDirection(direction string, expressions ...string) string {
	var order string
	for _, e := range expressions {
		order += e + " " + direction + ", "
	}
	return order + "b.id " + direction
}

// customerColumn returns the SQL for a column of the booking's customer, empty if there is none.
func customerColumn(name string) string {
	return "COALESCE((SELECT c." + name + " FROM {customers} c WHERE c.id = b.customer_id), '')"
}

// bookingSorts are the values of sort, with the expressions that they sort by.
var bookingSorts = map[string][]string{
	"start_date":    {"b.start_date", "b.start_time"},
	"created_at":    {"b.created_at"},
	"customer_name": {customerColumn("first_name"), customerColumn("last_name")},
	"status":        {"b.status"},
	"id":            nil,
}

// TestBookings compares responses with golden files made from the recorded models and rows.
func TestBookings(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "booking_list", s.Get("/bookings?customer_id=268&include_meta=true").Want(http.StatusOK).Body)
	for _, id := range []string{"7", "53", "287", "610"} {
		apitest.Golden(t, "booking_"+id, s.Get("/bookings/"+id).Want(http.StatusOK).Body)
	}
	bookingList.pages(t, s)
	bookingList.finds(t, s, rareBookingQuestions())
	few := apitest.NewServer(t, fixtures.Shared(t, fixtures.SiteA().WithFewBookings()))
	bookingList.finds(t, few, bookingQuestions())
}

// inOrderItem and inCustomer return conditions on the order item and the
// customer of a booking.
func inOrderItem(condition string) string {
	return "b.order_item_id IN (SELECT i.id FROM {order_items} i WHERE " + condition + ")"
}

func inCustomer(condition string) string {
	return "b.customer_id IN (SELECT c.id FROM {customers} c WHERE " + condition + ")"
}

func inMeta(condition string) string {
	return "b.id IN (SELECT m.object_id FROM {booking_meta} m WHERE " + condition + ")"
}

// rareBookingQuestions returns queries that need all bookings of the recorded site.
func rareBookingQuestions() []find {
	return []find{
		{query: "customer_email=customer18@", where: "b.customer_id = 18"},
		{query: "search=RJM", where: "b.booking_code LIKE '%RJM%'"},
		{query: "meta_key=cf_reason&meta_value=pain&customer_email=customer1&agent_id=2&sort=status",
			where: inMeta("m.meta_value = 'Back pain'") + " AND b.agent_id = 2 AND " + inCustomer("c.email LIKE 'customer1%'"), order: "b.status DESC, b.id DESC"},
	}
}

func bookingQuestions() []find {
	paidPartly := inOrderItem("i.order_id IN (SELECT o.id FROM {orders} o WHERE o.payment_status = 'partially_paid')")
	hannah := inCustomer("c.first_name = 'Hannah' AND c.last_name = 'Schulz'")
	questions := []find{
		{query: "status=approved", where: "b.status = 'approved'"},
		{query: "status=confirmed", where: "b.status = 'approved'"},
		{query: "status=no_show", where: "b.status = 'no_show'"},
		{query: "status=payment_pending", none: true},
		{query: "customer_id=188", where: "b.customer_id = 188"},
		{query: "agent_id=4", where: "b.agent_id = 4"},
		{query: "service_id=8", where: "b.service_id = 8"},
		{query: "location_id=2", where: "b.location_id = 2"},
		{query: "date_from=2026-12-24", where: "b.start_date >= '2026-12-24'"},
		{query: "date_to=2026-10-05", where: "b.start_date <= '2026-10-05'"},
		{query: "date_from=2026-11-21&date_to=2026-11-30", where: "b.start_date BETWEEN '2026-11-21' AND '2026-11-30'"},
		{query: "created_date_from=2026-11-10", where: "b.created_at >= '2026-11-10 00:00:00'"},
		{query: "created_date_to=2026-10-01", where: "b.created_at <= '2026-10-01 23:59:59'"},
		{query: "created_date_from=2026-10-25&created_date_to=2026-10-25", where: "DATE(b.created_at) = '2026-10-25'"},
		{query: "booking_code=SYL295W", where: "b.id = 53"},
		{query: "booking_code=syl2", where: "b.id = 53"},
		{query: "booking_code=%25", none: true},
		{query: "payment_status=partially_paid", where: paidPartly},
		{query: "payment_status=refunded", none: true},
		{query: "duration_min=90", where: "b.duration >= 90"},
		{query: "duration_max=30", where: "b.duration <= 30"},
		{query: "duration_min=45&duration_max=45.0", where: "b.duration = 45"},
		{query: "price_min=119.9", where: inOrderItem("i.total >= 119.9")},
		{query: "price_max=18", where: inOrderItem("i.total <= 18")},
		{query: "price_min=1.199e2&price_max=1e%2B3", where: inOrderItem("i.total BETWEEN 119.9 AND 1000")},
		{query: "price_min=49.5&price_max=49.5000", where: inOrderItem("i.total = 49.5")},
		{query: "price_min=49.5001&price_max=59.9999", none: true},
		{query: "customer_email=CUSTOMER18", where: inCustomer("c.email LIKE '%customer18%'")},
		{query: "customer_email=example.test", all: true},
		{query: "customer_phone=%2B49177", where: inCustomer("c.phone LIKE '+49177%'")},
		{query: "include_meta=true", all: true},
		{query: "meta_key=cf_reason&meta_value=RÜCKEN", where: inMeta("m.meta_key = 'cf_reason' AND m.meta_value = 'Schmerzen im Rücken'")},
		{query: "meta_key=cf_reason&meta_value=rucken", where: inMeta("m.meta_value = 'Schmerzen im Rücken'")},
		{query: "meta_key=CF_%25&meta_value=rucken", none: true},
		{query: "search=hannah", where: inCustomer("c.first_name = 'Hannah'")},
		{query: "search=hannah schulz", where: hannah},
		{query: "search=nah+sch", where: hannah},
		{query: "search=schulz hannah", none: true},
		{query: "search=zoe", where: inCustomer("c.first_name = 'Zoë'")},
		{query: "search=李", where: inCustomer("c.first_name = '李'")},
		{query: "search=customer188@", where: "b.customer_id = 188"},
		{query: "search=ben", where: inCustomer("CONCAT(c.first_name, ' ', c.last_name) LIKE '%ben%' OR c.email LIKE '%ben%'") + " OR b.booking_code LIKE '%ben%'"},
		{query: "search=%25", none: true},

		{query: "status=approved&agent_id=1&service_id=4&location_id=1", where: "b.status = 'approved' AND b.agent_id = 1 AND b.service_id = 4 AND b.location_id = 1"},
		{query: "status=cancelled&date_from=2026-11-21&payment_status=fully_paid&sort=created_at&order=asc",
			where: "b.status = 'cancelled' AND b.start_date >= '2026-11-21' AND " + inOrderItem("i.order_id IN (SELECT o.id FROM {orders} o WHERE o.payment_status = 'fully_paid')"),
			order: "b.created_at, b.id"},
		{query: "price_min=50&payment_status=partially_paid&search=e&sort=customer_name&duration_min=60&created_date_to=2026-11-10",
			where: inOrderItem("i.total >= 50") + " AND " + paidPartly + " AND b.duration >= 60 AND b.created_at < '2026-11-11'",
			order: inDirection("DESC", bookingSorts["customer_name"]...)}, // every e-mail address has an e

		{query: "agent_id=1&per_page=7&order=asc", where: "b.agent_id = 1", order: "b.start_date, b.start_time, b.id"},
		{query: "date_from=2026-12-01&date_to=2026-12-02&per_page=3", where: "b.start_date IN ('2026-12-01', '2026-12-02')"},
		{query: "search=weber&per_page=5&order=asc", where: inCustomer("c.last_name = 'Weber'"), order: "b.start_date, b.start_time, b.id"},
	}
	for word, columns := range bookingSorts {
		questions = append(questions,
			find{query: "sort=" + word, order: inDirection("DESC", columns...)},
			find{query: "order=asc&sort=" + word, order: inDirection("ASC", columns...)})
	}
	return questions
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// tableOf returns every row of a table by its id, with NULL as an empty text.
func tableOf(s *apitest.Server, name string) map[string]map[string]string {
	s.T.Helper()
	table, found := map[string]map[string]string{}, s.Query("SELECT * FROM `"+s.Database.Prefix+"latepoint_"+name+"`")
	for _, cells := range found.Rows {
		row := map[string]string{}
		for i, column := range found.Columns {
			row[column], _ = cells[i].(string)
		}
		table[row["id"]] = row
	}
	return table
}

// TestDurationsAreFoundAsShown: a booking without a duration is shown with its service's, or 0, and is
// found by it.
func TestDurationsAreFoundAsShown(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET duration = NULL WHERE id % 2 = 0", "UPDATE wp_latepoint_bookings SET service_id = 8388607 WHERE id % 4 = 0")
	every := s.Get("/bookings?per_page=100&sort=id").Want(http.StatusOK).At("data").([]any)
	shown := map[int64][]any{}
	for _, record := range every {
		booking := record.(map[string]any)
		duration, err := booking["duration"].(json.Number).Int64()
		expect.NoError(t, err)
		shown[duration] = append(shown[duration], booking["id"])
	}
	if len(shown) < 3 || len(shown[0]) == 0 {
		t.Fatalf("the site proves nothing: %v", shown)
	}
	for duration, ids := range shown {
		for _, sort := range []string{"id", "customer_name"} {
			query := fmt.Sprintf("duration_min=%d&duration_max=%[1]d&sort=%[2]s", duration, sort)
			a := s.Get("/bookings?per_page=100&" + query).Want(http.StatusOK)
			found := map[any]bool{}
			for _, record := range a.At("data").([]any) {
				found[record.(map[string]any)["id"]] = true
			}
			for _, id := range ids {
				if !found[id] {
					t.Errorf("%s does not find booking %v", query, id)
				}
			}
			if len(found) != len(ids) || fmt.Sprint(a.At("pagination", "total")) != strconv.Itoa(len(ids)) {
				t.Errorf("%s finds %d and counts %v, want %d", query, len(found), a.At("pagination", "total"), len(ids))
			}
		}
	}
}

func TestBookingFiltersOfTheEdgeSite(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.Edge())
	questions := []find{
		{query: "status=in_progress", where: "b.id = 7"},
		{query: "status=payment_pending", where: "b.id = 8"},
		{query: "date_to=2026-10-25", where: "b.id IN (3, 14, 20)"}, // zero dates come before any other, NULL is not a date
		{query: "date_from=1000-01-01", where: "b.id NOT IN (2, 3)"},
		{query: "created_date_to=2026-10-01", where: "b.id IN (3, 9, 10, 11, 13, 14, 20)"},
		{query: "price_min=0", where: "b.id NOT IN (2, 5, 6, 18, 23, 24)"}, // those without an order item
		{query: "payment_status=unknown", where: "b.id = 26"},
		{query: "search=100%25_sure", where: "b.id = 19"},
		{query: "search=100 %25", where: "b.id = 20"},
		{query: "search=C:\\temp\\new", where: "b.id = 19"},
		{query: "search=\\", where: "b.id = 19"},
		{query: "search=o'brien \"ob\"", where: "b.id IN (15, 18)"},
		{query: "search=PLAAAN2", where: "b.id IN (1, 18)"},
		{query: "customer_phone=(170)", where: "b.customer_id = 2"},
		{query: "meta_key=cf_reason&meta_value=100%25_sure", where: "b.id = 7"},
		{query: "meta_key=cf_reason&meta_value=\\ \"q", where: "b.id = 7"},
	}
	for _, word := range []string{"start_date", "created_at", "status", "id"} {
		columns := bookingSorts[word]
		questions = append(questions,
			find{query: "per_page=3&sort=" + word, order: inDirection("DESC", columns...)},
			find{query: "per_page=3&order=asc&sort=" + word, order: inDirection("ASC", columns...)})
	}
	bookingList.finds(t, s, questions)
}

// TestBookingsWithoutDates: bookings without a date come before all others, on
// pages in both directions.
func TestBookingsWithoutDates(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = NULL WHERE id % 2 = 0", "UPDATE wp_latepoint_bookings SET start_time = NULL WHERE id % 4 = 0")
	var questions []find
	for _, size := range []int{1, 3, 5, 13} {
		questions = append(questions,
			find{query: fmt.Sprintf("per_page=%d", size), order: inDirection("DESC", bookingSorts["start_date"]...)},
			find{query: fmt.Sprintf("per_page=%d&order=asc", size), order: inDirection("ASC", bookingSorts["start_date"]...)},
			find{query: fmt.Sprintf("per_page=%d&agent_id=1", size), where: "b.agent_id = 1", order: inDirection("DESC", bookingSorts["start_date"]...)})
	}
	bookingList.finds(t, s, questions)
}

// TestBookingDateFiltersInSiteTime filters by the day on which the clock goes back: 2026-10-25 has 25 hours
// in Berlin.
func TestBookingDateFiltersInSiteTime(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	database := fixtures.Shared(t, fixtures.SiteA())
	inUTC, inSiteTime := apitest.NewServer(t, database), apitest.NewServer(t, database, func(o *handlers.Options) { o.SiteTimestamps = true })
	for _, c := range []struct{ query, utc, local string }{
		{"created_date_from=2026-10-25", "b.created_at >= '2026-10-25 00:00:00'", "b.created_at >= '2026-10-24 22:00:00'"},
		{"created_date_to=2026-10-25", "b.created_at < '2026-10-26 00:00:00'", "b.created_at < '2026-10-25 23:00:00'"},
		{"created_date_from=2026-11-20&created_date_to=2026-11-20", "DATE(b.created_at) = '2026-11-20'", "b.created_at >= '2026-11-19 23:00:00' AND b.created_at < '2026-11-20 23:00:00'"},
	} {
		bookingList.finds(t, inUTC, []find{{query: c.query, where: c.utc}})
		bookingList.finds(t, inSiteTime, []find{{query: c.query, where: c.local}})
	}
}

// TestBookingsOfTheLegacySite reads the bookings of an older version.
func TestBookingsOfTheLegacySite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Legacy())
	bookingList.finds(t, s, []find{{query: "sort=id", order: "b.id DESC"}, {query: "meta_key=cf_reason&meta_value=x", none: true}})
	s.WantFields(t, "/bookings/2", map[string]any{
		"booking_code": "LEGACY3", "status": "pending", "start_datetime": "2026-12-02T10:00:00+01:00", "end_datetime": "2026-12-02T12:00:00+01:00", "buffer_after": number(15),
		"price": "80.0000", "payment_status": "partially_paid",
	})
	s.WantFields(t, "/bookings/4", map[string]any{"booking_code": "OLD4444", "price": "0.0000", "payment_status": "", "order": nil, "transactions": []any{}, "start_datetime": "2024-05-06T10:00:00+02:00"})
}

// TestBookingsByName: with customers of the same name, without names, and with bookings of missing customers.
func TestBookingsByName(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Own(t, fixtures.SiteA())
	s.Database.Execute(t,
		"UPDATE wp_latepoint_customers SET first_name = NULL WHERE id % 17 = 0", "UPDATE wp_latepoint_customers SET first_name = '' WHERE id % 19 = 0",
		"UPDATE wp_latepoint_customers SET first_name = '\t' WHERE id % 23 = 0", "UPDATE wp_latepoint_customers SET first_name = 'ANNA', last_name = 'Berg ' WHERE id % 5 = 0",
		"UPDATE wp_latepoint_customers SET first_name = 'änna', last_name = 'berg' WHERE id % 5 = 1", "UPDATE wp_latepoint_customers SET last_name = NULL WHERE id % 7 = 0",
		"UPDATE wp_latepoint_customers SET last_name = '' WHERE id % 11 = 0", "UPDATE wp_latepoint_bookings SET customer_id = 800000 + id % 2 WHERE id % 29 = 0",
		"UPDATE wp_latepoint_bookings SET customer_id = NULL WHERE id % 31 = 0")
	s.Get("/status").Want(http.StatusOK)
	for filter, where := range map[string]string{
		"": "TRUE", "&status=approved": "b.status = 'approved'", "&price_min=20": "b.order_item_id IN (SELECT id FROM wp_latepoint_order_items WHERE total >= 20)",
		"&search=e": "(b.booking_code LIKE '%e%' OR c.first_name LIKE '%e%' OR c.last_name LIKE '%e%' OR c.email LIKE '%e%')",
	} {
		for _, order := range []string{"asc", "desc"} {
			want := s.Texts(fmt.Sprintf("SELECT b.id FROM wp_latepoint_bookings b LEFT JOIN wp_latepoint_customers c ON c.id = b.customer_id WHERE %s "+
				"ORDER BY COALESCE(c.first_name, '') %s, COALESCE(c.last_name, '') %[2]s, b.id %[2]s", where, order))
			query := fmt.Sprintf("sort=customer_name&order=%s%s", order, filter)
			bookingList.wantIDs(t, s, query, want)
		}
	}
}
