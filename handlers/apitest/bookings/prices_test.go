package bookings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// vat is the tax setting of a site with Pro Features.
const vat = `INSERT INTO wp_latepoint_settings (name, value) VALUES ('taxes', '{"tax_a":{"id":"tax_a","name":"VAT","type":"percentage","value":"10.0000"}}')`

// proSite serves a site with Pro Features, on which service 4 costs 85.00 for 60 minutes and has several
// seats.
func proSite(t *testing.T) *apitest.Server {
	t.Helper()
	t.Parallel()
	s := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 5, charge_amount = 85, duration = 60 WHERE id = 4",
		"DELETE FROM wp_latepoint_service_meta WHERE object_id = 4 AND meta_key = 'durations'",
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (4, 'base_fee', '5.0000'), (4, 'dont_multiply_charge_amount_by_attendees', 'off')", vat)
	return s
}

// TestPricesOfProFeatures: a booking costs and stores what the add-on's filters produce.
func TestPricesOfProFeatures(t *testing.T) {
	s := proSite(t)
	fields := []string{"total_attendees", `3`, "extras", `[{"id":7},{"id":"4","quantity":"2"}]`, "coupon_code", `" welcome10 "`}
	possible := s.Write(http.MethodPost, "/bookings", apitest.Friday(append(fields, "dry_run", `true`)...)).Want(http.StatusOK)
	a := s.Write(http.MethodPost, "/bookings", apitest.Friday(fields...)).Want(http.StatusCreated)
	id := fmt.Sprint(a.At("data", "id"))
	read := s.Get("/bookings/" + id).Want(http.StatusOK)
	expect.Equal(t, read.At("data"), a.At("data"), "created and read differ")
	for _, shown := range []apitest.Answer{possible, a} {
		order := shown.At("data", "order")
		got := fmt.Sprint(shown.At("data", "price"), shown.At("data", "extras"), shown.At("data", "end_time"), shown.At("data", "duration"), order.(map[string]any)["total"])
		// (85 × 3 + 5 + 2 × 10 + 7.5 × 3) × 0.9, and 10 % tax on that
		want := "272.2500[map[duration:0 id:7 name:Lunch price:7.5000 quantity:1] map[duration:15 id:4 name:Hot stones price:10.0000 quantity:2]]11:3060299.4750"
		expect.Equal(t, want, got, "shown")
	}
	const booking = "SELECT duration, start_time, end_time, end_date, end_datetime_utc, total_attendees FROM wp_latepoint_bookings WHERE id = ?"
	for query, want := range map[string]string{
		booking: "60|600|690|2027-02-05|2027-02-05 10:30:00|3",
		"SELECT o.subtotal, o.total, o.tax_total, o.coupon_code, o.coupon_discount FROM wp_latepoint_orders o JOIN wp_latepoint_order_items i ON i.order_id = o.id JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?":                                                                                                                                                                    "302.5000|299.4750|27.2250|welcome10|30.2500",
		"SELECT i.subtotal, i.total, i.tax_total, i.coupon_code, i.coupon_discount, i.item_data LIKE '%\"generate_recurrent_sequence\":[],\"total_attendees\":3,\"service_extras_ids\":\"7:1,4:2\"}' FROM wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?":                                                                                                  "302.5000|272.2500|0.0000|welcome10|30.2500|1",
		"SELECT v.charge_amount, JSON_EXTRACT(v.data, '$.totals.subtotal'), JSON_EXTRACT(v.data, '$.totals.total'), INSTR(v.data, CONCAT('\"price_breakdown\":', o.price_breakdown, ',')) > 0 FROM wp_latepoint_order_invoices v JOIN wp_latepoint_orders o ON o.id = v.order_id JOIN wp_latepoint_order_items i ON i.order_id = o.id JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?": `299.4750|"302.5000"|"299.4750"|1`,
		"SELECT o.price_breakdown FROM wp_latepoint_orders o JOIN wp_latepoint_order_items i ON i.order_id = o.id JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?": `{"before_subtotal":[{"heading":"Service","items":[{"label":"Physiotherapy","raw_value":"260.0000","value":"260.00 \u20ac","note":"(3 x 85.00 \u20ac) + 5.00 \u20ac base fee"}],` +
			`"sub_items":[{"style":"sub","label":"Hot stones","raw_value":"20.0000","value":"20.00 \u20ac","note":"(2 x 10.00 \u20ac)"},{"style":"sub","label":"Lunch","raw_value":"22.5000","value":"22.50 \u20ac"}]}],"subtotal":[],` +
			`"after_subtotal":{"discounts":{"items":[{"label":"Coupon","raw_value":"-30.2500","value":"-30.25 \u20ac","badge":"welcome10","type":"credit"}]},"taxes":{"items":[{"label":"VAT (10%)","raw_value":"27.2250","value":"27.23 \u20ac"}]}},` +
			`"total":[],"balance":[]}`,
	} {
		expect.Equal(t, want, apitest.RowOf(t, s.Database, query, id), query)
	}
	extras := apitest.RowsOf(t, s.Database, "SELECT service_extra_id, duration, quantity, price, created_at = updated_at FROM wp_latepoint_bookings_service_extras WHERE booking_id = ? ORDER BY id", id)
	expect.Equal(t, []string{"7|0|1|7.5000|1", "4|15|2|10.0000|1"}, extras, "extras")
	listed := s.Get("/bookings?customer_id=9&date_from=2027-02-05&date_to=2027-02-05").Want(http.StatusOK).Records()
	expect.Equal(t, a.At("data", "extras"), listed[0]["extras"], "listed")
}

// TestPricesOfOneBooking: the settings of Pro Features that affect a price.
func TestPricesOfOneBooking(t *testing.T) {
	s := proSite(t)
	s.Database.Execute(t, "UPDATE wp_latepoint_coupons SET rules = '{\"max_discount_amount\":\"20\"}' WHERE code = 'WELCOME10'")
	for title, c := range map[string]struct {
		arrange, undo string
		fields        []string
		want          string // price of the booking, subtotal, discount, tax, total of the order
	}{
		"attendees who pay together": {"UPDATE wp_latepoint_service_meta SET meta_value = 'on' WHERE meta_key = 'dont_multiply_charge_amount_by_attendees'", "UPDATE wp_latepoint_service_meta SET meta_value = 'off' WHERE meta_key = 'dont_multiply_charge_amount_by_attendees'", []string{"total_attendees", `2`}, "90.0000 90.0000 0.0000 9.0000 99.0000"},
		"a fixed coupon":             {"", "", []string{"coupon_code", `"MINUS5"`}, "85.0000 90.0000 5.0000 8.5000 93.5000"},
		"a coupon with a largest":    {"", "", []string{"coupon_code", `"WELCOME10"`, "total_attendees", `4`}, "325.0000 345.0000 20.0000 32.5000 357.5000"},
		"a price, which replaces":    {"", "", []string{"price", `40`, "total_attendees", `2`, "extras", `[{"id":4}]`, "coupon_code", `"WELCOME10"`}, "36.0000 40.0000 4.0000 3.6000 39.6000"},
		"extras as a text":           {"", "", []string{"extras", `"[{\"id\":4,\"quantity\":3}]"`}, "120.0000 120.0000 0.0000 12.0000 132.0000"},
		"without taxes":              {"UPDATE wp_latepoint_settings SET value = '' WHERE name = 'taxes'", "UPDATE wp_latepoint_settings SET value = '{\"a\":{\"id\":\"a\",\"type\":\"percentage\",\"value\":\"10\"}}' WHERE name = 'taxes'", nil, "90.0000 90.0000 0.0000 0.0000 90.0000"},
		"a price of 0, with its tax": {"UPDATE wp_latepoint_settings SET value = '{\"a\":{\"id\":\"a\",\"type\":\"fixed\",\"value\":\"2\"}}' WHERE name = 'taxes'", "UPDATE wp_latepoint_settings SET value = '{\"a\":{\"id\":\"a\",\"type\":\"percentage\",\"value\":\"10\"}}' WHERE name = 'taxes'", []string{"price", `0`}, "0.0000 0.0000 0.0000 2.0000 2.0000"},
	} {
		t.Run(title, func(t *testing.T) {
			s.Database.Execute(t, c.arrange)
			defer s.Database.Execute(t, c.undo)
			a := s.Write(http.MethodPost, "/bookings", apitest.Friday(append(c.fields, "dry_run", `true`)...)).Want(http.StatusOK)
			got := []string{fmt.Sprint(a.At("data", "price"))}
			for _, field := range []string{"subtotal", "coupon_discount", "tax_total", "total"} {
				got = append(got, fmt.Sprint(a.At("data", "order", field)))
			}
			expect.Equal(t, c.want, strings.Join(got, " "), "prices")
		})
	}
}

// TestRefusedExtrasAndCoupons: what the site's form would not offer is refused with the name of its field.
func TestRefusedExtrasAndCoupons(t *testing.T) {
	s := proSite(t)
	s.Database.Execute(t,
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (4, 'maximum_service_extras_required', 'on'), (4, 'maximum_service_extras_value', '1')",
		"UPDATE wp_latepoint_orders SET coupon_code = 'minus5', status = 'open', customer_id = 9 ORDER BY id LIMIT 1")
	minus5 := func(rules string) string {
		return "UPDATE wp_latepoint_coupons SET rules = '" + rules + "', active_to = NULL WHERE code = 'MINUS5'"
	}
	const fewest = "INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (4, 'minimum_service_extras_required', 'on'), (4, 'minimum_service_extras_value', '1')"
	for _, c := range []struct {
		title, arrange string
		fields         []string
		status         int
		field, message string
	}{
		{"an unknown extra", "", []string{"extras", `[{"id":99}]`}, 422, "extras", "There is no extra 99"},
		{"a disabled extra", "", []string{"extras", `[{"id":8}]`}, 422, "extras", "Extra 8 is not active"},
		{"an extra of another service", "", []string{"extras", `[{"id":9}]`}, 422, "extras", "The service has no extra 9"},
		{"too many of an extra", "", []string{"extras", `[{"id":4,"quantity":4}]`}, 422, "extras", "Extra 4 can be booked at most 3 times"},
		{"too many extras", "", []string{"extras", `[{"id":4},{"id":7}]`}, 422, "extras", "The service can be booked with at most 1 extras"},
		{"an extra twice", "", []string{"extras", `[{"id":4},{"id":4}]`}, 400, "extras", "Must be a list of objects with id and quantity, each extra once"},
		{"too few extras", fewest, nil, 422, "extras", "The service has to be booked with at least 1 extras"},
		{"too long", "UPDATE wp_latepoint_service_extras SET duration = 700 WHERE id = 4", []string{"extras", `[{"id":4,"quantity":2}]`}, 422, "extras", "The booking would take longer than a day"},
		{"an unknown coupon", "DELETE FROM wp_latepoint_service_meta WHERE meta_key LIKE 'm%_service_extras_required'", []string{"coupon_code", `"NONE"`}, 422, "coupon_code", "No coupon has this code"},
		{"a coupon that is no text", "", []string{"coupon_code", `{"a":1}`}, 422, "coupon_code", "No coupon has this code"},
		{"a coupon that is switched off", "", []string{"coupon_code", `"SUMMER"`}, 422, "coupon_code", "This coupon is not active"},
		{"a coupon for an agent, with any", minus5(`{"agent_ids":"5"}`), []string{"coupon_code", `"MINUS5"`, "agent_id", `"any"`}, 422, "coupon_code", "This coupon is for other agents, services or bundles"},
		{"a coupon that is spent", minus5(`{"limit_total":"1"}`), []string{"coupon_code", `"MINUS5"`}, 422, "coupon_code", "This coupon has been used as often as it may be"},
		{"a coupon that the customer spent", minus5(`{"limit_per_customer":"1"}`), []string{"coupon_code", `"MINUS5"`}, 422, "coupon_code", "The customer has used this coupon as often as they may"},
	} {
		s.Database.Execute(t, c.arrange)
		for _, dry := range []string{"true", "false"} {
			a := s.Write(http.MethodPost, "/bookings", apitest.Friday(append(slices.Clone(c.fields), "dry_run", dry)...)).Want(c.status)
			expect.Equal[any](t, c.message, a.At("error", "details", c.field), fmt.Sprintf("%s, dry run %s: %v", c.title, dry, a.At("error", "details")))
		}
	}
}

// TestCouponsTellNothingAboutCustomers: a key limited to an agent does not learn from a coupon what a customer
// whom it may not see has ordered.
func TestCouponsTellNothingAboutCustomers(t *testing.T) {
	s := proSite(t)
	s.Database.Execute(t, "UPDATE wp_latepoint_orders SET coupon_code = 'minus5', status = 'open', customer_id = 9 ORDER BY id LIMIT 1",
		"UPDATE wp_latepoint_bookings SET agent_id = 3 WHERE customer_id = 9")
	body := apitest.Friday("dry_run", `true`, "coupon_code", `"MINUS5"`, "customer_id", "", "customer",
		`{"first_name":"A","last_name":"B","phone":"+4930123456","email":"`+apitest.RowOf(t, s.Database, "SELECT email FROM wp_latepoint_customers WHERE id = 9")+`"}`)
	all, limited := s.Key, s.LimitedKey(domain.Scope{Agents: []int64{5}})
	for rules, known := range map[string]string{
		`{"limit_per_customer":"1"}`: "The customer has used this coupon as often as they may",
		`{"orders_less":"1"}`:        "The customer has too many orders for this coupon",
		`{"customer_ids":"3"}`:       "This coupon is for other customers",
	} {
		s.Database.Execute(t, "UPDATE wp_latepoint_coupons SET rules = '"+rules+"', active_to = NULL WHERE code = 'MINUS5'")
		for key, want := range map[string]string{all: known, limited: "This coupon cannot be used for this booking"} {
			s.Key = key
			expect.Equal[any](t, want, s.Write(http.MethodPost, "/bookings", body).Want(http.StatusUnprocessableEntity).At("error", "details", "coupon_code"), rules)
		}
	}
}

// TestExtrasOfHold: a hold includes the time of its extras, and the booking gets them.
func TestExtrasOfHold(t *testing.T) {
	s := proSite(t)
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 1 WHERE id = 4")
	hold := s.Write(http.MethodPost, "/holds", apitest.HoldBody("extras", `[{"id":4,"quantity":2}]`)).Want(http.StatusCreated)
	expect.Equal(t, "11:3060", fmt.Sprint(hold.At("data", "end_time"), hold.At("data", "duration")), "end and duration of the hold")
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"11:15"`, "duration", `15`)).Want(http.StatusConflict)
	id := fmt.Sprint(hold.At("data", "id"))
	differs := s.Write(http.MethodPost, "/bookings", apitest.Friday("hold_id", id, "extras", `[{"id":4}]`)).Want(http.StatusUnprocessableEntity)
	expect.Equal(t, "Differs from the hold", differs.At("error", "details", "extras"), "other extras")
	a := s.Write(http.MethodPost, "/bookings", apitest.Friday("hold_id", id)).Want(http.StatusCreated)
	expect.Equal(t, "11:30110.00002", fmt.Sprint(a.At("data", "end_time"), a.At("data", "price"), a.At("data", "extras", 0, "quantity")), "booked")
}

// TestCheckedFieldsOfHold: a hold is refused for a price, coupon or custom fields that its booking could not have, whoever the
// customer will be. It does not keep them.
func TestCheckedFieldsOfHold(t *testing.T) {
	s := fieldsSite(t, apitest.DefinedFields)
	rules := func(rules string) string {
		return "UPDATE wp_latepoint_coupons SET rules = '" + rules + "', active_to = NULL WHERE code = 'MINUS5'"
	}
	for name, c := range map[string]struct {
		arrange string
		fields  []string
		apitest.Rejection
	}{
		"a price below 0":             {"", []string{"price", `-1`}, apitest.Unprocessable("price")},
		"an unknown coupon":           {"", []string{"coupon_code", `"NONE"`}, apitest.Unprocessable("coupon_code")},
		"an inactive coupon":          {"", []string{"coupon_code", `"SUMMER"`}, apitest.Unprocessable("coupon_code")},
		"a coupon for more":           {rules(`{"minimum_order_subtotal":"40"}`), []string{"coupon_code", `"MINUS5"`, "price", `39`}, apitest.Unprocessable("coupon_code")},
		"an unknown custom field":     {"", []string{"custom_fields", `{"cf_unknown":"x"}`}, apitest.Unprocessable("custom_fields.cf_unknown")},
		"custom fields that are none": {"", []string{"custom_fields", `[1]`}, apitest.BadRequest("custom_fields")},
	} {
		s.Database.Execute(t, c.arrange)
		before := s.Database.Snapshot(t)
		c.Check(t, name, s.Write(http.MethodPost, "/holds", apitest.HoldBody(c.fields...)))
		apitest.WantNoWrites(t, name, before)
	}
	for _, c := range []string{`{"customer_ids":"3"}`, `{"orders_more":"9"}`, `{"agent_ids":"1,2,3,4,5,6,7,8"}`} { // the agent is chosen
		s.Database.Execute(t, rules(c))
		hold := s.Write(http.MethodPost, "/holds", apitest.HoldBody("agent_id", `"any"`, "coupon_code", `"MINUS5"`, "custom_fields", `{"cf_reason":"Knee"}`)).Want(http.StatusCreated)
		s.Write(http.MethodDelete, fmt.Sprint("/holds/", hold.At("data", "id")), "").Want(http.StatusOK)
	}
	hold := fmt.Sprint(s.Write(http.MethodPost, "/holds", apitest.HoldBody("coupon_code", `"MINUS5"`, "price", `40`)).Want(http.StatusCreated).At("data", "id"))
	a := s.Write(http.MethodPost, "/bookings", apitest.Friday("hold_id", hold, "custom_fields", `{`+apitest.FilledFields+`}`)).Want(http.StatusCreated)
	if got := apitest.RowOf(t, s.Database, "SELECT CONCAT(COALESCE(o.coupon_code, ''), o.subtotal) FROM wp_latepoint_orders o JOIN wp_latepoint_order_items i ON i.order_id = o.id JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?", a.At("data", "id")); got != "90.0000" {
		t.Errorf("coupon and subtotal %s", got)
	}
}

// TestPlainSiteIgnoresExtras: without the add-on, extras and coupon are unknown fields, and its tables are
// ignored.
func TestPlainSiteIgnoresExtras(t *testing.T) {
	s := proSite(t)
	s.Database.Execute(t, `UPDATE wp_options SET option_value = 'a:1:{i:0;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`)
	a := s.Write(http.MethodPost, "/bookings", apitest.Friday("total_attendees", `2`, "extras", `[{"id":99}]`, "coupon_code", `"NONE"`)).Want(http.StatusCreated)
	data := a.At("data").(map[string]any)
	expect.Equal(t, "85.000011:00<nil>85.0000", fmt.Sprint(data["price"], data["end_time"], data["extras"], a.At("data", "order", "total")), "booked")
	expect.Equal(t, "0|0", apitest.RowOf(t, s.Database, "SELECT item_data LIKE '%total_attendees%', (SELECT COUNT(*) FROM wp_latepoint_bookings_service_extras) FROM wp_latepoint_order_items ORDER BY id DESC LIMIT 1"), "stored")
}

// TestAvailabilityWithExtras: extras make a booking longer, which affects when it can begin.
func TestAvailabilityWithExtras(t *testing.T) {
	s := proSite(t)
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 1, buffer_before = 0, buffer_after = 0, timeblock_interval = 15 WHERE id = 4")
	const path = "/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05"
	last := func(query string) string { // the last start before the break at noon, its end and the duration
		a := s.Get(path + query).Want(http.StatusOK)
		start := ""
		for _, slot := range a.At("data", "slots").([]any) {
			if slot := slot.(map[string]any); slot["start_time"].(string) < "12:00" {
				start = fmt.Sprint(slot["start_time"], " ", slot["end_time"])
			}
		}
		return fmt.Sprint(start, " ", a.At("data", "duration"))
	}
	for query, want := range map[string]string{
		"": "11:00 12:00 60",
		"&extras=" + url.QueryEscape(`[{"id":4,"quantity":2}]`):       "10:30 12:00 90",
		"&extras[0][id]=4&extras[0][quantity]=1&extras[1][id]=7":      "10:45 12:00 75",
		"&extras%5B0%5D%5Bid%5D=4":                                    "10:45 12:00 75",
		"&extras=":                                                    "11:00 12:00 60",
		"&any_duration=1&duration=30&extras=%5B%7B%22id%22%3A4%7D%5D": "11:15 12:00 45",
	} {
		expect.Equal(t, want, last(query), query)
	}
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("extras", `[{"id":4,"quantity":2}]`)).Want(http.StatusCreated).At("data", "id"))
	for query, want := range map[string]string{
		"&booking_id=" + id:                      "10:30 12:00 90",
		"&booking_id=" + id + "&extras[0][id]=4": "10:45 12:00 75",
		"&booking_id=" + id + "&extras=[]":       "11:00 12:00 60",
	} {
		expect.Equal(t, want, last(query), query)
	}
	expect.Equal(t, "Extra 8 is not active", s.Get(path+"&extras[0][id]=8").Want(http.StatusUnprocessableEntity).At("error", "details", "extras"), "a disabled extra")
	expect.Equal(t, "Must be a list of objects with id and quantity, each extra once", s.Get(path+"&extras=4").Want(http.StatusBadRequest).At("error", "details", "extras"), "no list")
	s.Database.Execute(t, `UPDATE wp_options SET option_value = 'a:1:{i:0;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`, "DELETE FROM wp_latepoint_bookings WHERE id = "+id)
	expect.Equal(t, "11:00 12:00 60", last("&extras[0][id]=8"), "without the add-on")
}

// TestStatementsForExtras: the extras of a page take one statement, and on a site without the add-on none.
func TestStatementsForExtras(t *testing.T) {
	pro := proSite(t)
	plain := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())
	for path, more := range map[string]int64{"/bookings?per_page=1": 1, "/bookings?per_page=100": 1, "/bookings/9": 1, "/availability?service_id=4&agent_id=5&date=2027-02-05": 0} {
		queries := func(s *apitest.Server) int64 {
			s.Get(path) // remembers the count
			s.Get(path).Want(http.StatusOK)
			return int64(s.Log.Last(t).Queries)
		}
		if without, with := queries(plain), queries(pro); with != without+more {
			t.Errorf("%s: %d statements, and %d with Pro Features", path, without, with)
		}
	}
	book := func(day, extras string) int64 {
		pro.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", day, "coupon_code", `"MINUS5"`, "extras", extras)).Want(http.StatusCreated)
		return int64(pro.Log.Last(t).Queries)
	}
	book(`"2027-02-05"`, `[]`) // adds rows to lock
	if one, two := book(`"2027-02-12"`, `[{"id":4}]`), book(`"2027-02-19"`, `[{"id":4,"quantity":3},{"id":7}]`); one != two {
		t.Errorf("%d statements for a booking with one extra, %d with two", one, two)
	}
}

// TestDeleteWithProFeatures: deleting a booking also deletes what the add-on's listeners would.
func TestDeleteWithProFeatures(t *testing.T) {
	s := proSite(t)
	left := func(id string) string {
		return apitest.RowOf(t, s.Database, "SELECT (SELECT COUNT(*) FROM wp_latepoint_bookings_service_extras WHERE booking_id = ?), (SELECT COUNT(*) FROM wp_latepoint_bookings_assets WHERE booking_id = ?), (SELECT COUNT(*) FROM wp_latepoint_messages WHERE booking_id = ?)", id, id, id)
	}
	book := func(start string) string {
		id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", start, "extras", `[{"id":4},{"id":7}]`)).Want(http.StatusCreated).At("data", "id"))
		s.Database.Execute(t, "INSERT INTO wp_latepoint_bookings_assets (booking_id, asset_id) VALUES ("+id+", 1)",
			"INSERT INTO wp_latepoint_messages (content_type, author_id, booking_id, author_type) VALUES ('text', 1, "+id+", 'agent')")
		return id
	}
	first, second := book(`"10:00"`), book(`"14:00"`)
	s.Write(http.MethodDelete, "/bookings/"+first+"?force=1", "").Want(http.StatusOK)
	if gone, kept := left(first), left(second); gone != "0|0|0" || kept != "2|1|1" {
		t.Errorf("left of the deleted booking %s, of another %s", gone, kept)
	}
	s.Database.Execute(t, `UPDATE wp_options SET option_value = 'a:1:{i:0;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`)
	s.Write(http.MethodDelete, "/bookings/"+second+"?force=1", "").Want(http.StatusOK)
	expect.Equal(t, "2|1|1", left(second), "left without the add-on")
}

// TestUpdateWithExtras: the duration of a booking follows its extras, whatever else changes; their price
// stays.
func TestUpdateWithExtras(t *testing.T) {
	s := proSite(t)
	const (
		span   = "SELECT start_time, end_time, duration, end_datetime_utc FROM wp_latepoint_bookings WHERE id = ?"
		extras = "SELECT service_extra_id, duration, quantity, price FROM wp_latepoint_bookings_service_extras WHERE booking_id = ? ORDER BY id"
		item   = "SELECT JSON_EXTRACT(i.item_data, '$.service_extras_ids'), JSON_EXTRACT(i.item_data, '$.end_time'), i.total FROM wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?"
	)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("extras", `[{"id":4,"quantity":2},{"id":7}]`)).Want(http.StatusCreated).At("data", "id"))
	s.Database.Execute(t, "UPDATE wp_latepoint_service_extras SET charge_amount = 12 WHERE id = 4", // booked extras keep their price
		"INSERT INTO wp_latepoint_services_service_extras (service_id, service_extra_id) VALUES (4, 9)")
	for _, c := range []struct{ title, body, span, extras, item string }{
		{"another time", `{"start_time":"13:00"}`, "780|870|60|2027-02-05 13:30:00", "4|15|2|10.0000 7|0|1|7.5000", `"4:2,7:1"|870|117.5000`},
		{"another duration", `{"duration":30}`, "780|840|30|2027-02-05 13:00:00", "4|15|2|10.0000 7|0|1|7.5000", `"4:2,7:1"|840|117.5000`},
		{"attendees", `{"total_attendees":2}`, "780|840|30|2027-02-05 13:00:00", "4|15|2|10.0000 7|0|1|7.5000", `"4:2,7:1"|840|117.5000`},
		{"the same extras", `{"extras":[{"id":7},{"id":4,"quantity":2}]}`, "780|840|30|2027-02-05 13:00:00", "4|15|2|10.0000 7|0|1|7.5000", `"4:2,7:1"|840|117.5000`},
		{"other extras", `{"extras":[{"id":4,"quantity":3},{"id":9}]}`, "780|855|30|2027-02-05 13:15:00", "4|15|3|10.0000 9|0|1|4.0000", `"4:3,9:1"|855|117.5000`},
		{"no extras", `{"extras":null}`, "780|810|30|2027-02-05 12:30:00", "", `NULL|810|117.5000`},
		{"an extra again", `{"extras":"[{\"id\":4}]","duration":60}`, "780|855|60|2027-02-05 13:15:00", "4|15|1|12.0000", `"4:1"|855|117.5000`},
	} {
		possible := s.Write(http.MethodPut, "/bookings/"+id, c.body[:len(c.body)-1]+`,"dry_run":true}`).Want(http.StatusOK)
		a := s.Write(http.MethodPut, "/bookings/"+id, c.body).Want(http.StatusOK)
		expect.Equal(t, possible.At("data", "extras"), a.At("data", "extras"), fmt.Sprintf("%s: dry run and write differ", c.title))
		expect.Equal(t, s.Get("/bookings/"+id).At("data"), a.At("data"), fmt.Sprintf("%s: read and written differ", c.title))
		got := []string{apitest.RowOf(t, s.Database, span, id), strings.Join(apitest.RowsOf(t, s.Database, extras, id), " "), apitest.RowOf(t, s.Database, item, id)}
		expect.Equal(t, []string{c.span, c.extras, c.item}, got, c.title)
	}
	for body, message := range map[string]string{
		`{"extras":[{"id":8}]}`:                "Extra 8 is not active",
		`{"extras":[{"id":4,"quantity":9}]}`:   "Extra 4 can be booked at most 3 times",
		`{"extras":[{"id":4}],"service_id":2}`: "The service has no extra 4",
	} {
		expect.Equal[any](t, message, s.Write(http.MethodPut, "/bookings/"+id, body).Want(http.StatusUnprocessableEntity).At("error", "details", "extras"), body)
	}
	s.Database.Execute(t, "INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (4, 'minimum_service_extras_required', 'on'), (4, 'minimum_service_extras_value', '1'), (4, 'maximum_service_extras_required', 'on'), (4, 'maximum_service_extras_value', '1')")
	for body, message := range map[string]string{
		`{"extras":[]}`:                  "The service has to be booked with at least 1 extras",
		`{"extras":[{"id":4},{"id":7}]}`: "The service can be booked with at most 1 extras",
	} {
		expect.Equal[any](t, message, s.Write(http.MethodPut, "/bookings/"+id, body).Want(http.StatusUnprocessableEntity).At("error", "details", "extras"), body)
	}
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"15:00"`, "customer_id", `8`, "extras", `[{"id":7}]`)).Want(http.StatusCreated)
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 1 WHERE id = 4", "UPDATE wp_latepoint_service_extras SET duration = 45 WHERE id = 4")
	s.Write(http.MethodPut, "/bookings/"+id, `{"extras":[{"id":4,"quantity":2}]}`).Want(http.StatusConflict)
	s.Database.Execute(t, `UPDATE wp_options SET option_value = 'a:1:{i:0;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`)
	before := s.Database.Snapshot(t)
	s.Write(http.MethodPut, "/bookings/"+id, `{"extras":[{"id":4,"quantity":2}]}`).Want(http.StatusOK)
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		if !strings.HasPrefix(change.Table, "bookside_") {
			t.Errorf("without the add-on: %s of %s", change.Op, change.Table)
		}
	}
}

// TestCouponForFirstOrder: cancelled orders do not count.
func TestCouponForFirstOrder(t *testing.T) {
	s := proSite(t)
	s.Database.Execute(t, "UPDATE wp_latepoint_coupons SET rules = '{\"orders_less\":\"1\"}' WHERE code = 'MINUS5'",
		"UPDATE wp_latepoint_orders SET customer_id = 9, status = 'cancelled' ORDER BY id LIMIT 1", "UPDATE wp_latepoint_orders SET status = 'cancelled' WHERE customer_id = 9")
	book := apitest.Friday("coupon_code", `"MINUS5"`, "dry_run", `true`)
	s.Write(http.MethodPost, "/bookings", book).Want(http.StatusOK)
	s.Database.Execute(t, "UPDATE wp_latepoint_orders SET status = 'open' WHERE customer_id = 9 LIMIT 1")
	expect.Equal(t, "The customer has too many orders for this coupon", s.Write(http.MethodPost, "/bookings", book).Want(http.StatusUnprocessableEntity).At("error", "details", "coupon_code"), "coupon_code")
}

// newPriceWriter returns a server whose site gets the currency and language of recorded prices.
func newPriceWriter(t *testing.T) (s *apitest.Server, become func(fixtures.RecordedPrices)) {
	t.Helper()
	t.Parallel()
	s = apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())
	content := t.TempDir()
	s.Platform.Languages = text.NewTranslations(content)
	fixtures.WriteTranslation(t, content, "de_DE", apitest.German)
	s.Database.Execute(t, apitest.JobCron, "DELETE FROM wp_latepoint_processes")
	return s, func(p fixtures.RecordedPrices) {
		t.Helper()
		s.Database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name LIKE 'currency_symbol_%' OR name LIKE '%_separator' OR name = 'number_of_decimals'",
			"DELETE FROM wp_options WHERE option_name = 'WPLANG'", "INSERT INTO wp_options (option_name, option_value) VALUES ('WPLANG', '"+p.Language+"')")
		for name, value := range p.Settings {
			s.Database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('"+name+"', '"+quoted(value)+"')")
		}
	}
}

// quoted returns a text for a literal of SQL.
func quoted(text string) string { return strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) }

// TestPricesAsVisitorsReadThem: order and invoice have, byte for byte, the breakdown that the same booking gets
// when a visitor makes it, whatever the currency.
func TestPricesAsVisitorsReadThem(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s, become := newPriceWriter(t)
	site, compared := "", 0
	for _, recorded := range fixtures.RecordedBreakdowns(t) {
		if strings.Contains(recorded.Breakdown, `"after_subtotal":{`) {
			continue // discounts and taxes of the recorder, which no setting computes
		}
		compared++
		if now := fmt.Sprint(recorded.Settings, recorded.Language); now != site {
			become(recorded.RecordedPrices)
			site = now
		}
		s.Database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_services SET name = '%s', charge_amount = %s WHERE id = 4", quoted(recorded.Service), recorded.Amount))
		a := s.Write(http.MethodPost, "/bookings", apitest.Friday())
		if a.Status != http.StatusCreated {
			t.Errorf("%s: %d %s", recorded.Name, a.Status, a.Body)
			continue
		}
		id := fmt.Sprint(a.At("data", "id"))
		const order = "FROM wp_latepoint_orders o JOIN wp_latepoint_order_items i ON i.order_id = o.id JOIN wp_latepoint_bookings b ON b.order_item_id = i.id "
		got := s.Texts("SELECT o.price_breakdown " + order + "WHERE b.id = " + id)
		expect.Equal(t, []string{recorded.Breakdown}, got, recorded.Name)
		for _, data := range s.Texts("SELECT v.data " + order + "JOIN wp_latepoint_order_invoices v ON v.order_id = o.id WHERE b.id = " + id) {
			apitest.WantContains(t, `,"price_breakdown":`+recorded.Breakdown+`,"tax_id":`, data, "%s: the invoice", recorded.Name)
		}
		s.Database.Execute(t, "DELETE FROM wp_latepoint_bookings WHERE id = "+id)
	}
	expect.Equal(t, 172, compared, "compared prices")
}

// TestPricesOfUnsetSettings: settings of the currency that are there without a value leave its separators to PHP.
func TestPricesOfUnsetSettings(t *testing.T) {
	s, become := newPriceWriter(t)
	become(fixtures.RecordedPrices{Settings: map[string]string{"thousand_separator": "", "decimal_separator": "", "currency_symbol_before": "", "number_of_decimals": "2"}})
	for _, c := range []struct{ arrange, want string }{
		{"SELECT 1", "123450"},
		{"UPDATE wp_latepoint_settings SET value = NULL WHERE name LIKE '%_separator' OR name = 'currency_symbol_before'", "1,234.50"},
		{"UPDATE wp_latepoint_settings SET value = NULL WHERE name = 'number_of_decimals'", "1,235"},
	} {
		s.Database.Execute(t, c.arrange)
		s.Write(http.MethodPost, "/bookings", apitest.Friday("price", "1234.5")).Want(http.StatusCreated)
		expect.Equal(t, c.want, s.Texts("SELECT JSON_VALUE(price_breakdown, '$.before_subtotal[0].items[0].value') FROM wp_latepoint_orders ORDER BY id DESC LIMIT 1")[0], c.arrange)
		s.Database.Execute(t, "DELETE FROM wp_latepoint_bookings ORDER BY id DESC LIMIT 1")
	}
}

// Rows of tables in mails, and the cells in them.
var (
	tableRow  = regexp.MustCompile(`<tr>(.*?)</tr>`)
	tableCell = regexp.MustCompile(`<td[^>]*>(.*?)</td>`)
	note      = regexp.MustCompile(` <span[^>]*>(.*?)</span>`)
)

// TestPricesInMails: mails show what an order costs as the plugin's own mails do, row for row, and prices
// elsewhere without empty decimals.
func TestPricesInMails(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s, become := newPriceWriter(t)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("price", "1234.5")).Want(http.StatusCreated).At("data", "id"))
	order := s.Texts("SELECT MAX(id) FROM wp_latepoint_orders")[0]
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET name = 'Course <b>six</b> weeks' WHERE id = 4")
	variables := []string{"order_subtotal", "order_total", "order_payments_total", "order_balance_due_total", "order_coupon_discount"}
	content := "{{order_summary_breakdown}}|{{order_transactions_breakdown}}|{{" + strings.Join(variables, "}}|{{") + "}}"
	actions, err := json.Marshal([]any{map[string]any{"type": "group", "trigger_condition": false, "time_offset": []any{}, "items": []any{
		map[string]any{"type": "action", "id": "pa_mail", "settings": map[string]any{"status": "active", "type": "send_email", "settings": map[string]string{"to_email": "{{customer_email}}", "content": content}}},
	}}})
	expect.NoError(t, err)
	s.Database.Execute(t, "INSERT INTO wp_latepoint_processes (name, event_type, status, actions_json) VALUES ('P', 'order_updated', 'active', '"+quoted(string(actions))+"')")
	mails := fixtures.RecordedMails(t)
	for i, mail := range mails {
		become(mail.RecordedPrices)
		discount := "NULL"
		if mail.CouponDiscount != nil {
			discount = *mail.CouponDiscount
		}
		s.Database.Execute(t, "DELETE FROM wp_latepoint_transactions WHERE order_id = "+order, "DELETE FROM wp_latepoint_process_jobs",
			fmt.Sprintf("UPDATE wp_latepoint_orders SET price_breakdown = '%s', subtotal = %s, total = %s, coupon_discount = %s WHERE id = %s", quoted(mail.Breakdown), mail.Subtotal, mail.Total, discount, order))
		portion := "full"
		if len(mail.Payments) > 0 && mail.Payments[0] == "Deposit" {
			portion = "deposit"
		}
		for _, amount := range mail.Transactions {
			s.Database.Execute(t, "INSERT INTO wp_latepoint_transactions (order_id, customer_id, processor, payment_method, payment_portion, kind, status, amount, created_at, updated_at) VALUES ("+
				order+", 9, 'stripe', 'card', '"+portion+"', 'capture', 'succeeded', "+amount+", NOW(), NOW())")
		}
		s.Write(http.MethodPut, "/orders/"+order, fmt.Sprintf(`{"customer_comment":"change %d"}`, i)).Want(http.StatusOK)
		texts := strings.Split(s.Texts("SELECT JSON_UNQUOTE(JSON_EXTRACT(settings, '$.action_data.pa_mail.content')) FROM wp_latepoint_process_jobs")[0], "|")
		var rows []fixtures.RecordedPriceRow
		for _, row := range tableRow.FindAllStringSubmatch(texts[0], -1) {
			shown := fixtures.RecordedPriceRow{Line: strings.Contains(row[1], "border-top")}
			cells := tableCell.FindAllStringSubmatch(row[1], -1)
			if badge := note.FindStringSubmatch(cells[0][1]); badge != nil {
				shown.Badge = badge[1]
			}
			if shown.Label = note.ReplaceAllString(cells[0][1], ""); len(cells) > 1 {
				shown.Value = cells[1][1]
			} else {
				shown.Heading, shown.Label = shown.Label, ""
			}
			rows = append(rows, shown)
		}
		expect.Equal(t, mail.Rows, rows, mail.Name)
		var payments []string
		for _, cell := range tableCell.FindAllStringSubmatch(texts[1], -1) {
			payments = append(payments, cell[1])
		}
		expect.Equal(t, mail.Payments, append([]string{}, payments...), fmt.Sprintf("%s, payments", mail.Name))
		got := map[string]string{}
		for n, name := range variables {
			got[name] = texts[2+n]
		}
		expect.Equal(t, mail.Variables, got, fmt.Sprintf("%s, variables", mail.Name))
	}
	expect.Equal(t, 61, len(mails), fmt.Sprintf("mails, of the booking %s", id))
}
