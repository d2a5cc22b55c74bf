package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"bookside/fixtures"

	"github.com/google/go-cmp/cmp"
)

// parameters are the query parameters of the GET routes, by the kind of their
// value.
var parameters = map[string]map[string]string{
	"/bookings": {
		"page": "page", "per_page": "integer", "status": "word", "customer_id": "integer", "agent_id": "integer", "service_id": "integer", "location_id": "integer",
		"date_from": "date", "date_to": "date", "created_date_from": "date", "created_date_to": "date", "updated_from": "date", "updated_to": "date", "booking_code": "text", "payment_status": "text",
		"duration_min": "integer", "duration_max": "integer", "price_min": "number", "price_max": "number", "customer_email": "text", "customer_phone": "text",
		"include_meta": "boolean", "meta_key": "key", "meta_value": "text", "search": "text", "sort": "word", "order": "word",
	},
	"/customers": {
		"page": "page", "per_page": "integer", "status": "word", "created_after": "date", "created_before": "date", "has_bookings": "boolean",
		"first_name": "text", "last_name": "text", "email": "text", "phone": "text", "is_guest": "boolean", "cms_user_id": "integer", "wordpress_user_id": "integer",
		"created_at": "date", "updated_at": "date", "updated_from": "date", "updated_to": "date", "search": "text",
	},
	"/customers/1": {"include": "word", "bookings_limit": "integer", "bookings_status": "word"},
	"/agents": {
		"status": "word", "search": "text", "email": "text", "phone": "text", "location_id": "integer", "service_id": "integer", "created_after": "date", "created_before": "date",
		"include": "word", "page": "page", "per_page": "integer", "order_by": "word", "order": "word",
	},
	"/services": {
		"search": "text", "name": "text", "status": "word", "category_id": "integer", "location_id": "integer", "agent_id": "integer", "visibility": "word",
		"price_min": "number", "price_max": "number", "duration_min": "integer", "duration_max": "integer",
		"created_after": "date", "created_before": "date", "updated_after": "date", "updated_before": "date",
		"per_page": "integer", "page": "page", "order_by": "word", "order": "word", "include": "word",
	},
	"/services/1":          {"include": "word"},
	"/services/categories": {"per_page": "integer", "page": "page"},
	"/locations":           {"page": "page", "per_page": "integer", "search": "text", "status": "word"},
	"/payments": {
		"page": "page", "per_page": "integer", "customer_id": "integer", "order_id": "integer", "status": "text", "payment_method": "text", "processor": "text",
		"amount_min": "number", "amount_max": "number", "date_from": "date", "date_to": "date", "updated_from": "date", "updated_to": "date", "search": "text", "sort": "word", "order": "word",
	},
	"/orders": {
		"page": "page", "per_page": "integer", "customer_id": "integer", "status": "word", "payment_status": "word", "fulfillment_status": "word", "coupon_code": "text",
		"total_min": "number", "total_max": "number", "created_after": "date", "created_before": "date", "updated_from": "date", "updated_to": "date", "search": "text", "sort": "word", "order": "word",
	},
	"/webhooks/1/deliveries": {"limit": "integer", "before": "integer", "state": "word"},
	"/changes":               {"cursor": "integer", "resources": "word", "limit": "integer", "wait": "integer", "include": "word"},
	"/orders/1/invoices":     {"page": "page", "per_page": "integer"},
	"/orders/1/transactions": {"page": "page", "per_page": "integer"},
	"/coupons":               {"page": "page", "per_page": "integer", "status": "word", "search": "text"},
	"/availability": {
		"booking_id": "integer", "service_id": "integer", "agent_id": "id or any", "location_id": "id or any", "date": "date", "date_to": "date", "duration": "integer",
		"total_attendees": "integer", "explain": "boolean", "any_duration": "boolean",
	},
	"/agents/availability": {
		"service_id": "id or any", "location_id": "id or any", "date": "date", "start_time": "word", "duration": "integer", "limit": "integer",
	},
}

// valid are values for the required parameters of a route.
var valid = map[string]string{"/availability": "service_id=1&agent_id=1&date=2026-11-24&"}

// companions are valid values for parameters that another one needs.
var companions = map[string]string{"meta_key": "meta_value=b&", "meta_value": "meta_key=cf_a&"}

// invalidCode returns the code with which a route rejects parameters.
func invalidCode(path string) string {
	if strings.HasSuffix(path, "/availability") {
		return "invalid_request"
	}
	return "invalid_parameters"
}

var (
	allButAny     = []string{"page", "integer", "boolean", "date", "word"}
	allButNumbers = append(slices.Clone(allButAny), "id or any")
	allButText    = append(slices.Clone(allButNumbers), "number")
	everyKind     = append(slices.Clone(allButText), "text")
)

// badValues are URL-encoded values, with the kinds for which they are invalid. For
// the other kinds they are valid, but match nothing.
var badValues = map[string]struct {
	raw      string
	rejected []string
}{
	"letters":           {"abc", allButText},
	"negative":          {"-1", allButAny},
	"beyond the column": {"99999999999", []string{"integer", "boolean", "date", "word", "id or any"}},
	"beyond int64":      {"99999999999999999999999", allButText},
	"fraction":          {"1.5", allButNumbers},
	"fractional power":  {"1e-3", allButNumbers},
	"huge exponent":     {"1e999999999", allButText},
	"hexadecimal":       {"0x10", allButText},
	"comma":             {"12%2C50", allButText},
	"NUL":               {"a%00b", everyKind},
	"only NUL":          {"%00", everyKind},
	"invalid UTF-8":     {"%ff%fe", everyKind},
	"half a rune":       {"%c3", everyKind},
	"percent":           {"%25", allButText},
	"underscores":       {"____", allButText},
	"quote":             {"%27", allButText},
	"OR 1=1":            {"1%27%20OR%20%271%27=%271", allButText},
	"sleep":             {"1)%20OR%20SLEEP(5)--%20", allButText},
	"union":             {"1%20UNION%20SELECT%20user_pass%20FROM%20wp_users", allButText},
	"backslash":         {"%5C", allButText},
	"long":              {strings.Repeat("a", 6_000), everyKind},
	"long number":       {strings.Repeat("9", 6_000), everyKind},
	"30 February":       {"2026-02-30", allButText},
	"zero date":         {"0000-00-00", allButText},
	"other format":      {"21.11.2026", allButText},
	"HTML":              {"%3Cscript%3Ealert(1)%3C/script%3E", allButText},
	"emoji":             {"%F0%9F%98%80", allButText},
	"broken escape":     {"%zz", allButText},
}

// TestInvalidParametersAreNamed sends each bad value in each parameter. The
// response is a 400 that names the parameter or, if the value is valid, an empty
// list, but never an internal error.
func TestInvalidParametersAreNamed(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newServer(t, small(t))
	for path, kinds := range parameters {
		for name, kind := range kinds {
			for title, bad := range badValues {
				a := s.get(path + "?" + valid[path] + companions[name] + name + "=" + bad.raw)
				where := fmt.Sprintf("%s?%s= %s", path, name, title)
				if title == "beyond the column" && (name == "cursor" || name == "before") {
					continue // positions have no largest value
				}
				if !slices.Contains(bad.rejected, kind) && kind != "key" { // none of the values is a key that is shown
					wantNoMatches(t, where, a)
					continue
				}
				wantInvalid(t, where, a, invalidCode(path), name)
			}
		}
	}
}

// wantInvalidRequest requests a path and checks for a 400 that names exactly these
// parameters, each with its message.
func (s *server) wantInvalidRequest(t testing.TB, path string, details map[string]string) {
	t.Helper()
	route, _, _ := strings.Cut(path, "?")
	code := invalidCode(route)
	message := map[string]string{"invalid_parameters": "Invalid query parameters", "invalid_request": "Invalid input data"}[code]
	invalid := map[string]any{}
	for name, text := range details {
		invalid[name] = text
	}
	want := map[string]any{"status": "error", "error": map[string]any{"code": code, "message": message, "details": invalid}}
	if diff := cmp.Diff(want, s.get(escapeQuery(path)).want(http.StatusBadRequest).object()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// wantInvalidParameters checks for the 400 of a list that names exactly these parameters.
func wantInvalidParameters(t *testing.T, where string, a answer, names ...string) {
	t.Helper()
	wantInvalid(t, where, a, "invalid_parameters", names...)
}

// wantInvalid checks for a 400 with this code that names exactly these
// parameters.
func wantInvalid(t *testing.T, where string, a answer, code string, names ...string) {
	t.Helper()
	if a.status != http.StatusBadRequest {
		t.Errorf("%s: status %d: %.300s", where, a.status, a.body)
		return
	}
	var body struct {
		Status string `json:"status"`
		Error  struct {
			Code    string            `json:"code"`
			Message string            `json:"message"`
			Details map[string]string `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	got := slices.Sorted(maps.Keys(body.Error.Details))
	slices.Sort(names)
	if body.Status != "error" || body.Error.Code != code || body.Error.Message == "" || !slices.Equal(got, names) {
		t.Errorf("%s: %.500s", where, a.body)
	}
}

// wantNoMatches checks for a list that is empty, unless the value may match rows of
// the small site.
func wantNoMatches(t *testing.T, where string, a answer) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Errorf("%s: status %d: %.300s", where, a.status, a.body)
		return
	}
	// Some of these are valid numbers, and names contain quotes.
	if strings.Contains(where, " quote") || strings.Contains(where, "beyond the column") || strings.Contains(where, "negative") || strings.Contains(where, "fraction") || strings.Contains(where, "letters") {
		return
	}
	if n := len(a.records()); n != 0 {
		t.Errorf("%s: %d records", where, n)
	}
}

// TestAllInvalidParametersAreNamedTogether sends several bad values in one request.
func TestAllInvalidParametersAreNamedTogether(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	for path, kinds := range parameters {
		query, names := url.Values{}, []string{}
		for name, kind := range kinds {
			if kind != "text" && kind != "key" { // only the site knows its keys
				query.Set(name, "~")
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			wantInvalid(t, path, s.get(path+"?"+query.Encode()), invalidCode(path), names...)
		}
	}
}

// TestParametersThatPHPAccepts sends spellings that PHP accepts.
func TestParametersThatPHPAccepts(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	plain := s.get("/bookings?per_page=3&order=asc").want(http.StatusOK)
	for _, query := range []string{
		"per_page=9&per_page=3&order=asc",
		"per_page=3.0&order=ASC",
		"per_page=%203%20&order=Asc&page=",
		"per_page=3&order=asc&unknown=1&search=&status=&agent_id=&include_meta=off",
		"&&per_page=3&order=asc&=&x",
		"per%5Fpage=3&order=asc",
	} {
		if got := s.get("/bookings?" + query).want(http.StatusOK); string(got.body) != string(plain.body) {
			t.Errorf("?%s differs: %.300s", query, got.body)
		}
	}
	for _, yes := range []string{"1", "true", "TRUE", "yes", "on"} {
		if _, ok := s.get("/bookings?per_page=1&include_meta=" + yes).want(http.StatusOK).records()[0]["meta"]; !ok {
			t.Errorf("include_meta=%s shows no meta", yes)
		}
	}
	wantInvalidParameters(t, "a list", s.get("/bookings?status[]=approved&agent_id%5B0%5D=1"), "status", "agent_id")
}

// TestEveryDocumentedParameterIsTested compares the parameters that the tests of
// this file send with those in the OpenAPI document.
func TestEveryDocumentedParameterIsTested(t *testing.T) {
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	for path, item := range c.document.Paths.Map() {
		if item.Get == nil {
			continue
		}
		if names := queryNames(item.Get); len(names) > 0 {
			slices.Sort(names)
			documented[strings.NewReplacer("{id}", "1").Replace(path)] = names
		}
	}
	tested := map[string][]string{}
	for path, kinds := range parameters {
		tested[path] = slices.Sorted(maps.Keys(kinds))
	}
	if diff := cmp.Diff(documented, tested); diff != "" {
		t.Errorf("parameters (-documented +tested):\n%s", diff)
	}
}

// TestFiltersBeyondTheCharacterSet sends each text parameter of each list a letter
// that the tables of older sites cannot store: no record matches. Other letters
// still match.
func TestFiltersBeyondTheCharacterSet(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	for _, charset := range []string{"utf8mb3", "latin1"} {
		t.Run(charset, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.Small(now))
			for _, table := range []string{
				"agents", "booking_meta", "bookings", "coupons", "customers", "locations", "order_items", "orders", "service_meta", "services", "transactions",
			} {
				database.Execute(t, "ALTER TABLE wp_latepoint_"+table+" CONVERT TO CHARACTER SET "+charset)
			}
			s := newServer(t, database)
			for path, kinds := range parameters {
				for name, kind := range kinds {
					if kind != "text" {
						continue
					}
					for _, page := range []int{1, 2} {
						query := fmt.Sprintf("%s?%s%s=%%F0%%9F%%8E%%81&page=%d", path, companions[name], name, page)
						a := s.get(query).want(http.StatusOK)
						if got, total := idsOf(a.at("data")), a.at("pagination", "total"); len(got) > 0 || total != json.Number("0") {
							t.Errorf("%s: %v of %v", query, got, total)
						}
					}
				}
			}
			s.wantNotFound(t, "/coupons/%F0%9F%8E%81", "coupon_not_found", "Coupon with code 🎁 was not found")
			s.wantFields(t, "/coupons/welcome10", map[string]any{"id": "1"})
			agentList.finds(t, s, []find{{query: "search=jörg", where: "a.id = 2"}})
			locationList.finds(t, s, []find{{query: "search=uferstraße", where: "l.id = 2"}})
			orderList.finds(t, s, []find{{query: "coupon_code=welcome10", where: "o.coupon_code = 'WELCOME10'"}})
		})
	}
}
