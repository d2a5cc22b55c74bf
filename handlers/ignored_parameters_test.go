package handlers_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
)

// TestIgnoredParametersAreNamed: exactly the parameters that nothing reads are named, on every kind of
// response.
func TestIgnoredParametersAreNamed(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)))
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		ignored                    string
	}{
		{"a mistyped filter", "GET", "/v1/bookings?agentid=3", "", nil, 200, "agentid"},
		{"HEAD", "HEAD", "/v1/bookings?agentid=3", "", nil, 200, "agentid"},
		{"several, each once", "GET", "/v1/bookings?z=1&Agent_id=1&agent_id=1&z=2&list[]=1&list[]=2", "", nil, 200, "Agent_id, list, z"},
		{"without a value", "GET", "/v1/bookings?agentid", "", nil, 200, "agentid"},
		{"none", "GET", "/v1/bookings?agent_id=1&status=&page=1&&=", "", nil, 200, ""},
		{"one of another route", "GET", "/v1/status?page=2", "", nil, 200, "page"},
		{"the key", "GET", "/v1/bookings?api_key=lp_live_wrong", "", nil, 200, ""},
		{"of WordPress and its scripts", "GET", "/v1/bookings?_locale=user&_wpnonce=5&_embed&_=1795255200&rest_route=/x&_method=PUT", "", nil, 200, ""},
		{"of WordPress, with an effect that is missing", "GET", "/v1/bookings?_fields=id&_envelope=1&context=edit", "", nil, 200, "_envelope, _fields, context"},
		{"permalinks are off", "GET", "/?rest_route=/latepoint-api/v1/bookings&agentid=3", "", nil, 200, "agentid"},
		{"an error", "GET", "/v1/bookings?agentid=3&page=0", "", nil, 400, "agentid"},
		{"no record", "GET", "/v1/bookings/4000?includes=x", "", nil, 404, "includes"},
		{"a table", "GET", "/v1/bookings?agentid=3", "", []string{"Accept", "text/csv"}, 200, "agentid"},
		{"fields of a write", "PUT", "/v1/customers/1?first_name=Ann&custom_fields[cf_a]=x&custom_fields.cf_b=y&firstname=z", "", nil, 200, "firstname"},
		{"of a list of changes", "GET", "/v1/changes?resource=bookings", "", nil, 200, "resource"},
		{"of a write", "POST", "/v1/coupons?forced=1", `{"code":"A","discount_type":"percent","discount_value":5}`, nil, 201, "forced"},
		{"no dry run", "DELETE", "/v1/coupons/A?dry_run=0&froce=1", "", nil, 200, "froce"},
		{"of a read, without a condition", "PUT", "/v1/customers/1?include=stats", "{}", nil, 200, "include"},
		{"of a read, under a condition", "PUT", "/v1/customers/1?include=stats", "{}", []string{"If-Match", "*"}, 200, ""},
		{"what would be a header", "GET", "/v1/bookings?a%0d%0aX-Evil:%201=1&b%2c%20c=2&%c3%bc=3&%ff=4", "", nil, 200, "a%0D%0AX-Evil%3A+1, b%2C+c, %C3%BC, %FF"},
		{"long", "GET", "/v1/bookings?" + strings.Repeat("a", 62) + "%c3%bc=1", "", nil, 200, strings.Repeat("a", 62) + "..."},
		{"many", "GET", "/v1/bookings?x" + strings.Join(strings.Split("abcdefghijklmnopqrst", ""), "&x"), "", nil, 200, "xa, xb, xc, xd, xe, xf, xg, xh, xi, xj, xk, xl, xm, xn, xo, xp, ..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder, body := s.exchange(t, c.method, c.target, c.body, c.headers...)
			if recorder.Code != c.status {
				t.Errorf("status %d, want %d: %.300s", recorder.Code, c.status, body)
			}
			if got := recorder.Header().Get("X-Ignored-Parameters"); got != c.ignored {
				t.Errorf("X-Ignored-Parameters: %q, want %q", got, c.ignored)
			}
			if got := recorder.Header().Get("Preference-Applied"); got != "" {
				t.Errorf("Preference-Applied: %q", got)
			}
		})
	}
	first := s.get("/agents?namee=x").want(http.StatusOK)
	again := s.do(http.MethodGet, "/v1/agents?namee=x", http.Header{"X-Api-Key": {s.key}, "If-None-Match": {first.header.Get("Etag")}}).want(http.StatusNotModified)
	if got := again.header.Get("X-Ignored-Parameters"); got != "namee" {
		t.Errorf("unchanged: %q", got)
	}
}

// TestStrictHandling: with Prefer: handling=strict, the default of test keys, parameters that nothing reads
// are an error.
func TestStrictHandling(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)))
	test, _, err := s.keys.Create(t.Context(), keys.NewKey{Name: "test", Kind: keys.Test, Permissions: []string{"read", "write"}})
	if err != nil {
		t.Fatal(err)
	}
	const target = "/v1/bookings?agentid=3&statuss=approved&colour=red"
	wrong := map[string]any{"agentid": "Unknown parameter; did you mean agent_id?", "statuss": "Unknown parameter; did you mean status?", "colour": "Unknown parameter"}
	for _, c := range []struct {
		name, key string
		prefer    []string
		applied   string
		refused   bool
	}{
		{"live key", s.key, nil, "", false},
		{"asked", s.key, []string{"handling=strict"}, "handling=strict", true},
		{"among others", s.key, []string{"respond-async, wait=10", `Handling="strict"; foo="bar", handling=lenient`}, "handling=strict", true},
		{"blanks", s.key, []string{"wait = 1 ,\thandling = STRICT ; a"}, "handling=strict", true},
		{"another word", s.key, []string{"handling=harsh"}, "", false},
		{"another preference", s.key, []string{"return=strict"}, "", false},
		{"lenient", s.key, []string{"handling=lenient"}, "handling=lenient", false},
		{"test key", test, nil, "handling=strict", true},
		{"test key, asked", test, []string{"handling=strict"}, "handling=strict", true},
		{"test key, lenient", test, []string{"handling=lenient"}, "handling=lenient", false},
		{"test key, another preference", test, []string{"return=minimal"}, "handling=strict", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := *s
			own.t = t
			header := http.Header{"X-Api-Key": {c.key}, "Prefer": c.prefer}
			a := own.do(http.MethodGet, target, maps.Clone(header))
			if got := a.header.Get("X-Ignored-Parameters"); got != "agentid, colour, statuss" {
				t.Errorf("X-Ignored-Parameters: %q", got)
			}
			if got := a.header.Get("Preference-Applied"); got != c.applied {
				t.Errorf("Preference-Applied: %q", got)
			}
			if !c.refused {
				a.want(http.StatusOK)
				return
			}
			a.want(http.StatusBadRequest)
			if code := a.at("error", "code"); code != "invalid_parameters" {
				t.Errorf("code %v", code)
			}
			if got := a.at("error", "details").(map[string]any); !maps.Equal(got, wrong) {
				t.Errorf("details %v", got)
			}
			fine := own.do(http.MethodGet, "/v1/bookings?agent_id=1&_locale=user", maps.Clone(header)).want(http.StatusOK)
			if got := fine.header.Get("X-Ignored-Parameters"); got != "" {
				t.Errorf("X-Ignored-Parameters: %q", got)
			}
		})
	}
	before := s.get("/customers/1").want(http.StatusOK)
	if recorder, body := s.exchange(t, "PUT", "/v1/customers/1?lastname=Other", `{"first_name":"Written"}`, "Prefer", "handling=strict"); recorder.Code != http.StatusBadRequest || !strings.Contains(body, "did you mean last_name?") {
		t.Errorf("a write: status %d: %s", recorder.Code, body)
	}
	if after := s.get("/customers/1").want(http.StatusOK); string(after.body) != string(before.body) {
		t.Errorf("the write took effect: %s", after.body)
	}
}
