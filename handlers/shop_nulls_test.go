package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/fixtures"
)

// TestNullClears sends null twice for every nullable field of an update, on a record that has a value
// there: the second request has nothing left to clear.
func TestNullClears(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t,
		`INSERT INTO wp_latepoint_coupons (id, code, name, description, discount_type, discount_value, status, active_from, active_to, rules) VALUES
			(900, 'ONE', 'One', '', 'percent', 5, 'active', '2027-01-01', '2027-02-01', '{"limit_total":"7","max_discount_amount":"9.5","x":[1, 2]}')`)
	before := s.database.Snapshot(t)
	cases := []struct {
		path, field, value string
		cleared            any // as shown
	}{
		{"/payments/7", "token", `"tok"`, nil},
		{"/payments/7", "notes", `"note"`, nil},
		{"/orders/10", "coupon_code", `"ONE"`, nil},
		{"/orders/10", "customer_comment", `"comment"`, nil},
		{"/orders/10", "ip_address", `"192.0.2.1"`, nil},
		{"/orders/10", "source_id", `"s"`, nil},
		{"/orders/10", "source_url", `"https://x.test/"`, nil},
		{"/coupons/ONE", "max_discount_amount", `20`, nil},
		{"/coupons/ONE", "active_from", `"2027-01-02"`, "0000-00-00"},
		{"/coupons/ONE", "active_to", `"2027-02-02"`, "0000-00-00"},
		{"/services/4", "category_id", `2`, nil},
		{"/services/4", "description", `"Long"`, ""},
		{"/customers/9", "address", `"Hof 1"`, nil},
		{"/customers/9", "city", `"Ulm"`, nil},
		{"/customers/9", "state", `"BW"`, nil},
		{"/customers/9", "zipcode", `"89073"`, nil},
		{"/customers/9", "country", `"DE"`, nil},
		{"/customers/9", "date_of_birth", `"2000-02-29"`, nil},
		{"/customers/9", "gender", `"other"`, nil},
		{"/customers/9", "avatar_image_id", `12`, nil},
	}
	documented := nullableFields(t)
	for _, c := range cases {
		resource, _, _ := strings.Cut(c.path[1:], "/")
		if !documented[resource+"."+c.field] {
			t.Errorf("%s: the document does not let %s be null", c.path, c.field)
		}
		delete(documented, resource+"."+c.field)
		t.Run(c.path[1:]+" "+c.field, func(t *testing.T) { // not parallel: they share the records
			put := func(value string) any {
				return s.write(http.MethodPut, c.path, `{"`+c.field+`":`+value+`}`).want(http.StatusOK).record()[c.field]
			}
			set := put(c.value)
			if set == c.cleared && c.path != "/customers/9" {
				t.Fatalf("not set: %v", set)
			}
			if got := put("null"); got != c.cleared {
				t.Errorf("answered %#v, want %#v", got, c.cleared)
			}
			shown := s.get(c.path).want(http.StatusOK).record()[c.field]
			if c.field == "category_id" {
				c.cleared = "0" // as stored
			}
			if c.path == "/customers/9" && shown == "" || c.field == "description" && shown == nil {
				shown = c.cleared
			}
			if shown != c.cleared {
				t.Errorf("shown %#v, want %#v", shown, c.cleared)
			}
			after := s.database.Snapshot(t)
			put("null")
			wantNoWrites(t, "null again", after)
			before.Restore(t)
		})
	}
	delete(documented, "payments.transaction_id") // another name for token
	for field := range documented {
		resource, name, _ := strings.Cut(field, ".")
		if covered := clearedByNull[resource]; slices.Contains(covered, name) {
			continue
		}
		t.Errorf("%s can be null, and no case clears it", field)
	}
	// The name that older clients use for the token, alone and together with a
	// token.
	if got := s.write(http.MethodPut, "/payments/7", `{"transaction_id":null}`).want(http.StatusOK).record()["token"]; got != nil {
		t.Errorf("token %v", got)
	}
	if got := s.write(http.MethodPut, "/payments/7", `{"transaction_id":null,"token":"tok"}`).want(http.StatusOK).record()["token"]; got != "tok" {
		t.Errorf("token %v", got)
	}
}

// nullableFields returns the fields of updates that are nullable in the document, each as resource.field.
func nullableFields(t *testing.T) map[string]bool {
	t.Helper()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for path, item := range c.document.Paths.Map() {
		if item.Put == nil || path == "/business-hours" { // see TestWeeklyHours
			continue
		}
		resource, _, _ := strings.Cut(path[1:], "/")
		for name, property := range item.Put.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
			null := func(one *openapi3.SchemaRef) bool {
				return one.Value.Type.Includes(openapi3.TypeNull) && one.Value.Enum == nil
			}
			if null(property) || slices.ContainsFunc(property.Value.AnyOf, null) {
				fields[resource+"."+name] = true
			}
		}
	}
	if len(fields) == 0 {
		t.Error("no field can be null")
	}
	return fields
}

// TestFullNameOfABookingsCustomer: single reads and writes of bookings show it, lists do not.
func TestFullNameOfABookingsCustomer(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET first_name = 'Zoë', last_name = NULL WHERE id = 9")
	s.write(http.MethodPut, "/bookings/10", `{"customer_id":9}`).want(http.StatusOK)
	if got := s.get("/bookings/10").want(http.StatusOK).at("data", "customer", "full_name"); got != "Zoë" {
		t.Errorf("without a last name: %v", got)
	}
	a := s.write(http.MethodPut, "/bookings/10", `{"customer":{"last_name":"Braun"}}`).want(http.StatusOK)
	if got := a.at("data", "customer", "full_name"); got != "Zoë Braun" {
		t.Errorf("%v", got)
	}
	for _, record := range s.get("/bookings?customer_id=9").want(http.StatusOK).records() {
		if _, shown := record["customer"].(map[string]any)["full_name"]; shown {
			t.Errorf("lists have %v", record["customer"])
		}
	}
}
