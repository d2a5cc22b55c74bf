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

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// valid are values for a route's required parameters.
var valid = map[string]string{"/availability": "service_id=1&agent_id=1&date=2026-11-24&"}

// companions are valid values for parameters that another one needs.
var companions = map[string]string{"meta_key": "meta_value=b&", "meta_value": "meta_key=cf_a&"}

// invalidCode returns the code with which a route rejects parameters.
func invalidCode(path string) string {
	if strings.HasSuffix(path, "/availability") || path == "/business-hours" {
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

// badValues are URL-encoded values, with the types for which they are invalid. For other types they are
// valid, but match nothing.
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

// TestInvalidParametersAreNamed sends each bad value in each parameter. The response is a 400 that names
// the parameter or, if the value is valid, an empty list, but never an internal error.
func TestInvalidParametersAreNamed(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newServer(t, small(t))
	for path, known := range parameters() {
		for name, p := range known {
			for title, bad := range badValues {
				a := s.get(path + "?" + valid[path] + companions[name] + name + "=" + bad.raw)
				where := fmt.Sprintf("%s?%s= %s", path, name, title)
				if title == "beyond the column" && (name == "cursor" || name == "before") {
					continue // positions have no largest value
				}
				if !slices.Contains(bad.rejected, p.kind) && p.kind != "key" { // none of the values is a visible key
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

// wantNoMatches checks for an empty list, unless the value may match rows of the small site.
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
	for path, known := range parameters() {
		query, names := url.Values{}, []string{}
		for name, p := range known {
			if p.kind != "text" && p.kind != "key" { // only the site knows its keys
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

// TestFiltersBeyondTheCharacterSet sends each text parameter of each list a letter that the tables of older
// sites cannot store: no record matches. Other letters still match.
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
			for path, known := range parameters() {
				for name, p := range known {
					if p.kind != "text" {
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
