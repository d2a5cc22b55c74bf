package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// valid are values for a route's required parameters.
var valid = map[string]string{"/availability": "service_id=1&agent_id=1&date=2026-11-24&"}

// TestInvalidParametersAreNamed sends a wrong value in every parameter: the response names them all. TestInteger, TestDate and the like have
// the values of each kind.
func TestInvalidParametersAreNamed(t *testing.T) {
	s := apitest.Small(t)
	for path, known := range apitest.Parameters() {
		query, names := url.Values{}, []string{}
		for name, p := range known {
			if p.Kind != "text" && p.Kind != "key" { // only the site knows its keys
				query.Set(name, "~")
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			apitest.WantInvalid(t, path, s.Get(path+"?"+query.Encode()), http.StatusBadRequest, apitest.InvalidCode(path), names...)
		}
	}
}

// TestParametersThatPHPAccepts sends spellings that PHP accepts.
func TestParametersThatPHPAccepts(t *testing.T) {
	s := apitest.Small(t)
	plain := s.Get("/bookings?per_page=3&order=asc").Want(http.StatusOK)
	for _, query := range []string{
		"per_page=9&per_page=3&order=asc",
		"per_page=3.0&order=ASC",
		"per_page=%203%20&order=Asc&page=",
		"per_page=3&order=asc&unknown=1&search=&status=&agent_id=&include_meta=off",
		"&&per_page=3&order=asc&=&x",
		"per%5Fpage=3&order=asc",
	} {
		expect.Equal(t, string(plain.Body), string(s.Get("/bookings?"+query).Want(http.StatusOK).Body), fmt.Sprintf("?%s", query))
	}
	for _, yes := range []string{"1", "true", "TRUE", "yes", "on"} {
		if _, ok := s.Get("/bookings?per_page=1&include_meta=" + yes).Want(http.StatusOK).Records()[0]["meta"]; !ok {
			t.Errorf("include_meta=%s shows no meta", yes)
		}
	}
	apitest.WantInvalidParameters(t, "a list", s.Get("/bookings?status[]=approved&agent_id%5B0%5D=1"), "status", "agent_id")
}

// TestIgnoredParametersAreNamed: exactly the parameters that nothing reads are named, on every kind of
// response.
func TestIgnoredParametersAreNamed(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		ignored                    string
	}{
		{"a mistyped filter", "GET", "/v1/bookings?agentid=3", "", nil, 200, "agentid"},
		{"HEAD", "HEAD", "/v1/bookings?agentid=3", "", nil, 200, "agentid"},
		{"several, each once", "GET", "/v1/bookings?z=1&Agent_id=1&agent_id=1&z=2&list[]=1&list[]=2", "", nil, 200, "Agent_id, list, z"},
		{"none", "GET", "/v1/bookings?agent_id=1&status=&page=1&&=", "", nil, 200, ""},
		{"of WordPress and its scripts", "GET", "/v1/bookings?_locale=user&_wpnonce=5&_embed&_=1795255200&rest_route=/x&_method=PUT", "", nil, 200, ""},
		{"of WordPress, with an effect that is missing", "GET", "/v1/bookings?_fields=id&_envelope=1&context=edit", "", nil, 200, "_envelope, _fields, context"},
		{"an error", "GET", "/v1/bookings?agentid=3&page=0", "", nil, 400, "agentid"},
		{"a table", "GET", "/v1/bookings?agentid=3", "", []string{"Accept", "text/csv"}, 200, "agentid"},
		{"fields of a write", "PUT", "/v1/customers/1?first_name=Ann&custom_fields[cf_a]=x&custom_fields.cf_b=y&firstname=z", "", nil, 200, "firstname"},
		{"of a write", "POST", "/v1/coupons?forced=1", `{"code":"A","discount_type":"percent","discount_value":5}`, nil, 201, "forced"},
		{"of a body", "PUT", "/v1/customers/1", `{"firstname":"x","custom_fields":{"cf_a":"x"},"_locale":"user"}`, nil, 200, "firstname"},
		{"of an object", "PUT", "/v1/bookings/1", `{"customer":{"emial":"x","custom_fields":{"a":1}},"customer.fone":"y","notes.x":1}`, nil, 200, "customer.custom_fields, customer.emial, customer.fone, notes.x"},
		{"of an object in a form", "PUT", "/v1/bookings/1?customer.emial=x", "customer[fone]=y", []string{"Content-Type", "application/x-www-form-urlencoded"}, 200, "customer.emial, customer.fone"},
		{"of a list", "POST", "/v1/bookings/bulk", `{"bookings":"[{\"servise_id\":1,\"customer\":{\"emial\":1}}, 5]","confirm":1}`, nil, 400, "bookings.customer.emial, bookings.servise_id, confirm"},
		{"of a bare list", "POST", "/v1/bookings/bulk", `[{"servise_id":1,"extras":[{"id":4,"number":2}]}]`, nil, 400, "bookings.extras.number, bookings.servise_id"},
		{"of a deletion", "DELETE", "/v1/bookings/999", `{"froce":true}`, nil, 404, "froce"},
		{"of an action", "POST", "/v1/webhooks/999/test", `{"send":true}`, nil, 404, "send"},
		{"no dry run", "DELETE", "/v1/coupons/A?dry_run=0&froce=1", "", nil, 200, "froce"},
		{"of a read, without a condition", "PUT", "/v1/customers/1?include=stats", "{}", nil, 200, "include"},
		{"of a read, under a condition", "PUT", "/v1/customers/1?include=stats", "{}", []string{"If-Match", "*"}, 200, ""},
		{"what would be a header", "GET", "/v1/bookings?a%0d%0aX-Evil:%201=1&b%2c%20c=2&%c3%bc=3&%ff=4", "", nil, 200, "a%0D%0AX-Evil%3A+1, b%2C+c, %C3%BC, %FF"},
		{"long", "GET", "/v1/bookings?" + strings.Repeat("a", 62) + "%c3%bc=1", "", nil, 200, strings.Repeat("a", 62) + "..."},
		{"many", "GET", "/v1/bookings?x" + strings.Join(strings.Split("abcdefghijklmnopqrst", ""), "&x"), "", nil, 200, "xa, xb, xc, xd, xe, xf, xg, xh, xi, xj, xk, xl, xm, xn, xo, xp, ..."},
	} {
		a := exchange(s, c.method, c.target, c.body, c.headers...)
		expect.Equal(t, c.status, a.Status, fmt.Sprintf("%s: status: %.300s", c.name, a.Body))
		expect.Equal(t, c.ignored, a.Header.Get("X-Ignored-Parameters"), fmt.Sprintf("%s: X-Ignored-Parameters", c.name))
		expect.Equal(t, "", a.Header.Get("Preference-Applied"), fmt.Sprintf("%s: Preference-Applied", c.name))
	}
	first := s.Get("/agents?namee=x").Want(http.StatusOK)
	again := s.Do(http.MethodGet, "/v1/agents?namee=x", http.Header{"X-Api-Key": {s.Key}, "If-None-Match": {first.Header.Get("Etag")}}).Want(http.StatusNotModified)
	expect.Equal(t, "namee", again.Header.Get("X-Ignored-Parameters"), "unchanged")
}

// TestStrictHandling: with Prefer: handling=strict, and only then, parameters and fields that nothing reads are an error.
func TestStrictHandling(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	test, _ := apitest.CreateKey(t, s.Keys, keys.NewKey{Kind: keys.Test, Permissions: []string{"read", "write"}})
	const target = "/v1/bookings?agentid=3&statuss=approved&colour=red"
	wrong := map[string]any{"agentid": "Unknown parameter; did you mean agent_id?", "statuss": "Unknown parameter; did you mean status?", "colour": "Unknown parameter"}
	for _, c := range []struct {
		name, key string
		prefer    []string
		applied   string
		refused   bool
	}{
		{"live key", s.Key, nil, "", false},
		{"asked", s.Key, []string{"handling=strict"}, "handling=strict", true},
		{"among others", s.Key, []string{"respond-async, wait=10", `Handling="strict"; foo="bar", handling=lenient`}, "handling=strict", true},
		{"another word", s.Key, []string{"handling=harsh"}, "", false},
		{"lenient", s.Key, []string{"handling=lenient"}, "handling=lenient", false},
		{"test key", test, nil, "", false},
		{"test key, asked", test, []string{"handling=strict"}, "handling=strict", true},
		{"test key, lenient", test, []string{"handling=lenient"}, "handling=lenient", false},
	} {
		header := http.Header{"X-Api-Key": {c.key}, "Prefer": c.prefer}
		a := s.Do(http.MethodGet, target, maps.Clone(header))
		expect.Equal(t, "agentid, colour, statuss", a.Header.Get("X-Ignored-Parameters"), fmt.Sprintf("%s: X-Ignored-Parameters", c.name))
		expect.Equal(t, c.applied, a.Header.Get("Preference-Applied"), fmt.Sprintf("%s: Preference-Applied", c.name))
		if !c.refused {
			a.Want(http.StatusOK)
			continue
		}
		a.Want(http.StatusBadRequest)
		expect.Equal(t, "invalid_parameters", a.At("error", "code"), fmt.Sprintf("%s: code", c.name))
		expect.Equal(t, wrong, a.At("error", "details").(map[string]any), fmt.Sprintf("%s: details", c.name))
		fine := s.Do(http.MethodGet, "/v1/bookings?agent_id=1&_locale=user", maps.Clone(header)).Want(http.StatusOK)
		expect.Equal(t, "", fine.Header.Get("X-Ignored-Parameters"), fmt.Sprintf("%s: X-Ignored-Parameters", c.name))
	}
	before := s.Database.Snapshot(t)
	refused := exchange(s, "PUT", "/v1/customers/1?lastname=Other", `{"first_name":"Written"}`, "Prefer", "handling=strict").Want(http.StatusBadRequest)
	apitest.WantContains(t, "did you mean last_name?", string(refused.Body), "a write")
	for body, wrong := range map[string]map[string]any{
		`POST /services {"name":"Typo","price":50,"chargeamount":5}`:   {"price": "Unknown field; did you mean charge_amount?", "chargeamount": "Unknown field; did you mean charge_amount?"},
		`PUT /bookings/1 {"customer":{"emial":"x"},"notes":"Written"}`: {"customer.emial": "Unknown field; did you mean customer.email?"},
		`PUT /payments/1 {"amuont":5}`:                                 {"amuont": "Unknown field; did you mean amount?"},
		`POST /bookings/bulk [{"agentid":5}]`:                          {"bookings.agentid": "Unknown field; did you mean bookings.agent_id?"},
		`DELETE /bookings/1 {"froce":true}`:                            {"froce": "Unknown field; did you mean force?"},
	} {
		method, rest, _ := strings.Cut(body, " ")
		path, body, _ := strings.Cut(rest, " ")
		a := s.Write(method, path, body, "Prefer", "handling=strict")
		apitest.WantCode(t, a, http.StatusBadRequest, "invalid_parameters")
		expect.Equal(t, wrong, a.At("error", "details").(map[string]any), fmt.Sprintf("%s %s: %s", method, path, a.Body))
	}
	for _, write := range []string{"POST /bookings/1/approve", "PUT /bookings/1", "DELETE /bookings/1", "POST /services"} {
		method, path, _ := strings.Cut(write, " ")
		a := s.Write(method, path, "[1]", "Prefer", "handling=strict").Want(http.StatusBadRequest)
		if ignored := a.Header.Get("X-Ignored-Parameters"); ignored != "" || !strings.Contains(string(a.Body), "must be a JSON object") {
			t.Errorf("%s with a list: ignored %q: %s", write, ignored, a.Body)
		}
	}
	apitest.WantNoWrites(t, "refused", before, "bookside_api_keys")
	s.Write(http.MethodPut, "/bookings/1", `{"notes":"Written","custom_fields":{"cf_a":"x"}}`, "Prefer", "handling=strict").Want(http.StatusOK)
}

// TestFieldsInTheQuery: as in WordPress, fields missing from a write's body are taken from its query.
func TestFieldsInTheQuery(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	for _, c := range []struct {
		name, method, target, contentType, body string
		status                                  int
		contains                                []string
	}{
		{"no body", "PUT", "/v1/customers/1?first_name=Anna&last_name=Arndt", "", "", 200, []string{`"first_name":"Anna"`, `"last_name":"Arndt"`}},
		{"the body wins", "PUT", "/v1/customers/1?first_name=Berta&last_name=Blum", "application/json", `{"first_name":"Cora"}`, 200, []string{`"first_name":"Cora"`, `"last_name":"Blum"`}},
		{"beside a form", "PUT", "/v1/customers/1?last_name=Eich", "application/x-www-form-urlencoded", "first_name=Eva", 200, []string{`"first_name":"Eva"`, `"last_name":"Eich"`}},
		{"nested names", "PUT", "/v1/customers/1?custom_fields[cf_a]=yes", "", "", 200, []string{`"cf_a":"yes"`}},
		{"the id of the path wins", "PUT", "/v1/customers/1?id=2&first_name=Frieda", "", "", 200, []string{`"first_name":"Frieda"`}},
		{"creation", "POST", "/v1/customers?first_name=Gerda&last_name=Grau&email=gerda@example.test", "", "", 201, []string{`"first_name":"Gerda"`}},
		{"bad UTF-8", "PUT", "/v1/customers/1?first_name=%ff", "", "", 400, []string{"The query is not valid UTF-8"}},
	} {
		a := exchange(s, c.method, c.target, c.body, "Content-Type", c.contentType)
		expect.Equal(t, c.status, a.Status, fmt.Sprintf("%s: status: %s", c.name, a.Body))
		if c.method == http.MethodPut && a.Status == http.StatusOK {
			a = s.Get("/customers/1")
		}
		for _, part := range c.contains {
			apitest.WantContains(t, part, string(a.Body), "%s: body", c.name)
		}
	}
	if log := s.Log.String(); strings.Contains(log, "Gerda") || strings.Contains(log, "gerda") {
		t.Error("the query of a write was logged")
	}
}

// TestIdempotencyKeyWithQuery: another query under the same key makes it a different request; parameters
// that are not fields do not matter.
func TestIdempotencyKeyWithQuery(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	send := func(query string) apitest.Answer {
		return exchange(s, "POST", "/v1/customers?"+query, `{"last_name":"Iser"}`, "Idempotency-Key", "one")
	}
	first := send("first_name=Ida").Want(http.StatusCreated)
	send("first_name=Ida&rest_route=").WantReplayOf(t, first)
	apitest.WantCode(t, send("first_name=Jana"), http.StatusUnprocessableEntity, "idempotency_key_reused")
}

// TestJSONTextsInFields: clients that send forms send lists and objects as JSON texts.
func TestJSONTextsInFields(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		name, method, target, contentType, body string
		status                                  int
		contains                                string
	}{
		{"object in a form", "PUT", "/v1/customers/1", form, `custom_fields=%7B%22cf_a%22%3A%22yes%22%7D`, 200, `"cf_a":"yes"`},
		{"list in a form", "POST", "/v1/bookings/bulk", form, `bookings=%5B%7B%22notes%22%3A%22x%22%7D%5D`, 400, "Missing required field: service_id"},
		{"list of texts", "POST", "/v1/bookings/bulk", "application/json", `{"bookings":["{\"service_id\":1}"]}`, 400, "Missing required field: agent_id"},
		{"not JSON", "PUT", "/v1/customers/1", form, `custom_fields=%7B%22cf_a`, 400, `"custom_fields":"Must be an object"`},
		{"a text that looks like JSON", "PUT", "/v1/customers/1", "application/json", `{"notes":"{\"a\":1}"}`, 200, `"notes":"{\"a\":1}"`},
	} {
		a := exchange(s, c.method, c.target, c.body, "Content-Type", c.contentType)
		expect.Equal(t, c.status, a.Status, fmt.Sprintf("%s: status: %s", c.name, a.Body))
		if c.method == http.MethodPut && a.Status == http.StatusOK {
			a = s.Get("/customers/1")
		}
		apitest.WantContains(t, c.contains, string(a.Body), "%s: body", c.name)
	}
}

// TestTooManyVariables: requests with more variables than PHP reads are
// rejected, in both kinds of forms and in queries, on every route.
func TestTooManyVariables(t *testing.T) {
	s := apitest.Small(t)
	header := func(contentType string) http.Header {
		return http.Header{"X-Api-Key": {s.Key}, "Content-Type": {contentType}}
	}
	const form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	deep := "notes" + strings.Repeat("[a]", 65)
	for name, c := range map[string]struct{ contentType, body, message string }{
		"variables of a form": {form, strings.Repeat("notes=a&", 1001), "The request body has more than 1000 variables"},
		"levels of a form":    {form, deep + "=1", "The name of a variable in the request body nests deeper than 64 levels"},
		"parts":               {parts, strings.Repeat("--x\r\nContent-Disposition: form-data; name=\"notes\"\r\n\r\na\r\n", 1001) + "--x--\r\n", "The request body has more than 1000 variables"},
		"values of JSON":      {apitest.JSONType, `{"notes":[` + strings.Repeat("1,", 20_000) + `1]}`, "The request body has more than 20000 values"},
	} {
		for _, route := range []string{http.MethodPost + " /v1/bookings", http.MethodPost + " /v1/bookings/bulk", http.MethodPost + " /v1/payments", http.MethodPut + " /v1/customers/1"} {
			method, path, _ := strings.Cut(route, " ")
			a := s.Send(method, path, header(c.contentType), c.body).Want(http.StatusBadRequest)
			expect.Equal(t, `{"code":"rest_invalid_json","message":"`+c.message+`","data":{"status":400}}`, string(a.Body), fmt.Sprintf("%s: %s", name, route))
		}
	}
	for name, c := range map[string]struct{ query, message string }{
		"variables": {strings.Repeat("a&", 1001), "The query has more than 1000 variables"},
		"levels":    {deep, "The name of a variable in the query nests deeper than 64 levels"},
	} {
		for _, r := range routesOf(t) {
			a := s.Do(r.Method, "/v1"+r.Path+"?"+c.query, http.Header{"X-Api-Key": {s.Key}}).Want(http.StatusBadRequest)
			expect.Equal(t, `{"code":"rest_invalid_json","message":"`+c.message+`","data":{"status":400}}`, string(a.Body), fmt.Sprintf("%s: %s %s", name, r.Method, r.Path))
		}
	}
	s.Do(http.MethodGet, "/v1/bookings?"+strings.Repeat("a&", 999)+"page=1", http.Header{"X-Api-Key": {s.Key}}).Want(http.StatusOK)
}
