package compare

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// testRoutes are the routes of a small API.
var testRoutes = []string{"/status", "/services", "/bookings", "/bookings/{id}", "/customers", "/customers/{id}", "/availability", "/payments/{id}", "/changes"}

// reply is a response of a stand-in.
type reply struct {
	status int // 0 for 200
	body   string
	header http.Header
}

func (r reply) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(max(r.status, http.StatusOK))
	_, _ = w.Write([]byte(r.body))
}

// standIn is a server of the API. It answers every request but those that try the key with its replies in turn.
type standIn struct {
	replies []reply
	asked   atomic.Int64
	urls    chan string
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.Header.Get("X-API-Key") == "" {
		reply{status: http.StatusUnauthorized, body: `{}`}.send(w)
		return
	}
	n := s.asked.Add(1) - 1
	if s.urls != nil {
		s.urls <- r.URL.String()
	}
	s.replies[int(n)%len(s.replies)].send(w)
}

func sideOf(t *testing.T, h http.Handler, key string) *Side {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s, err := NewSide(server.URL, key)
	expect.NoError(t, err)
	return s
}

func newRun(t *testing.T, php, bookside http.Handler) Run {
	t.Helper()
	return Run{PHP: sideOf(t, php, "php-key"), Bookside: sideOf(t, bookside, "our-key"), Routes: testRoutes}
}

func requestOf(t *testing.T, text string) Request {
	t.Helper()
	r, ok := parseURI(apiPath + text)
	if !ok {
		t.Fatalf("no request: %s", text)
	}
	return r
}

// summary lists the findings briefly.
func summary(r Result) []string {
	var all []string
	for _, f := range r.Differences {
		text := "differs"
		if f.Known != "" {
			text = "known as " + f.Known
		}
		all = append(all, text+": "+string(f.Kind)+" "+f.Field)
	}
	return all
}

const record = `{"id":"7","status":"approved","customer":{"id":"3","first_name":"Ada"},"notes":null}`

// list returns a response with records.
func list(records ...string) string {
	return `{"success":true,"data":[` + strings.Join(records, ",") + `],"pagination":{"total":` + strconv.Itoa(len(records)) + `}}`
}

// TestStandIn: each difference between a stand-in for PHP and one for Bookside is found, and named if it is a
// decision.
func TestStandIn(t *testing.T) {
	t.Parallel()
	notFound := reply{status: 404, body: `{"code":"rest_no_route","message":"No route","data":{"status":404}}`}
	tests := []struct {
		name, request string
		php           []reply // in turn
		bookside      reply
		want          []string
	}{
		{"the same", "/bookings", []reply{{body: list(record)}}, reply{body: list(record)}, nil},
		{"missing key", "/bookings", []reply{{body: list(record)}}, reply{body: list(strings.Replace(record, `,"notes":null`, "", 1))}, []string{"differs: missing key $.data[*].notes"}},
		{"additional key", "/bookings/7", []reply{{body: `{"data":{"id":"7"}}`}}, reply{body: `{"data":{"id":"7","color":"red"}}`}, []string{"differs: additional key $.data.color"}},
		{"type", "/bookings/7", []reply{{body: `{"data":{"id":"7"}}`}}, reply{body: `{"data":{"id":7}}`}, []string{"differs: type $.data.id"}},
		{"value", "/bookings", []reply{{body: list(record)}}, reply{body: list(strings.Replace(record, "approved", "pending", 1))}, []string{"differs: value $.data[*].status"}},
		{"missing record", "/bookings", []reply{{body: list(record, `{"id":"8"}`)}}, reply{body: list(record)}, []string{"differs: missing element $.data[*]", "differs: value $.pagination.total"}},
		{"order of records", "/bookings?sort=id", []reply{{body: list(record, `{"id":"8"}`)}}, reply{body: list(`{"id":"8"}`, record)}, []string{"differs: order of a list $.data"}},
		{"status", "/bookings/7", []reply{{body: `{"a":1}`}}, reply{status: 404, body: `{"a":1}`}, []string{"differs: status status"}},
		{"header", "/bookings", []reply{{body: `{}`, header: http.Header{"X-Wp-Total": {"3"}}}}, reply{body: `{}`}, []string{"differs: header X-WP-Total"}},
		{"content type", "/bookings", []reply{{body: `{}`, header: http.Header{"Content-Type": {"text/html"}}}}, reply{body: `{}`}, []string{"differs: header Content-Type"}},
		{"letter case and character set of JSON", "/bookings", []reply{{body: `{}`, header: http.Header{"Content-Type": {"Application/JSON"}}}}, reply{body: `{}`}, nil},
		{"no JSON", "/bookings", []reply{{body: `<p>Fatal error`}}, reply{body: `{}`}, []string{"differs: body $"}},
		{"pages in place of JSON", "/bookings", []reply{{body: `<p>1`}, {body: `<p>2`}}, reply{body: `{}`}, []string{"differs: body $"}},
		{"text that is no UTF-8", "/bookings/7", []reply{{body: "{\"a\":\"\uFFFD\"}"}}, reply{body: "{\"a\":\"\xff\"}"}, []string{"differs: body $"}},
		{"route of Bookside", "/changes", []reply{notFound}, reply{body: `{"data":[]}`}, []string{"known as only Bookside has the route: status status"}},
		{"a route that PHP has and we lack", "/bookings/7/history", []reply{{body: `{}`}}, notFound, []string{"differs: status status"}},
		{"other errors", "/bookings/9", []reply{{status: 404, body: `{"code":"a"}`}}, reply{status: 404, body: `{"code":"b"}`}, []string{"differs: value $.code"}},
		{"wrong parameter", "/bookings?page=0", []reply{{body: `{}`}}, reply{status: 400, body: `{"error":{"code":"invalid_parameters"}}`}, []string{"known as a wrong parameter is rejected: status status"}},
		{"failure of PHP", "/bookings/7", []reply{{status: 500, body: `<p>`}}, reply{body: `{}`}, []string{"known as PHP fails: status status"}},
		{"total order", "/bookings?sort=status", []reply{{body: list(record, `{"id":"8","status":"approved"}`)}}, reply{body: list(`{"id":"8","status":"approved"}`, record)}, []string{"known as equal records have an order: order of a list $.data"}},
		{"another order", "/bookings?sort=status", []reply{{body: list(record, `{"id":"8","status":"pending"}`)}}, reply{body: list(`{"id":"8","status":"pending"}`, record)}, []string{"differs: order of a list $.data"}},
		{"other records in a whole list", "/bookings?sort=status", []reply{{body: list(record)}}, reply{body: list(`{"id":"8","status":"approved"}`)}, []string{
			"differs: additional element $.data[*]", "differs: missing element $.data[*]",
		}},
		{"equal records at the end of a page", "/bookings?sort=status", []reply{{body: strings.Replace(list(record), `"total":1`, `"total":9`, 1)}}, reply{body: strings.Replace(list(`{"id":"8","status":"approved"}`), `"total":1`, `"total":9`, 1)}, []string{
			"known as equal records have an order: additional element $.data[*]", "known as equal records have an order: missing element $.data[*]",
		}},
		{"missing customer", "/bookings/7", []reply{{body: `{"data":{"customer":null}}`}}, reply{body: `{"data":{"customer":{"id":"3","first_name":"","email":""}}}`}, []string{"known as records never lack a key: type $.data.customer"}},
		{"customer out of nothing", "/bookings/7", []reply{{body: `{"data":{"customer":null}}`}}, reply{body: `{"data":{"customer":{"id":"3","first_name":"Ada"}}}`}, []string{"differs: type $.data.customer"}},
		{"fields of add-ons", "/bookings/7", []reply{{body: `{"data":{"custom_fields":{}}}`}}, reply{body: `{"data":{"custom_fields":{},"extras":[],"cancellation_reason":null}}`}, []string{
			"known as fields of add-ons: additional key $.data.cancellation_reason", "known as fields of add-ons: additional key $.data.extras",
		}},
		{"other values in a field of add-ons", "/bookings/7", []reply{{body: `{"data":{"extras":[]}}`}}, reply{body: `{"data":{"extras":{}}}`}, []string{"differs: type $.data.extras"}},
		{"both envelopes", "/customers/7", []reply{{body: `{"status":"success","data":{}}`}}, reply{body: `{"success":true,"status":"success","data":{}}`}, []string{"known as the answer has both forms of the documentation: additional key $.success"}},
		{"both shapes of an error", "/customers/7", []reply{{status: 404, body: `{"status":"error","error":{"code":"customer_not_found"}}`}}, reply{status: 404, body: `{"code":"customer_not_found","message":"No","data":{"status":404},"status":"error","error":{"code":"customer_not_found"}}`}, []string{
			"known as the answer has both forms of the documentation: additional key $.code", "known as the answer has both forms of the documentation: additional key $.data", "known as the answer has both forms of the documentation: additional key $.message",
		}},
		{"refunds", "/bookings/7", []reply{{body: `{"payment_status":"fully_paid"}`}}, reply{body: `{"payment_status":"partially_refunded"}`}, []string{"known as refunds are shown: value $.payment_status"}},
		{"secrets", "/bookings/7", []reply{{body: `{"manage_booking_for_agent_url":"https://x","meta":{"key_to_manage_for_agent":"x"}}`}}, reply{body: `{"meta":{}}`}, []string{
			"known as secrets stay out: missing key $.manage_booking_for_agent_url", "known as secrets stay out: missing key $.meta.key_to_manage_for_agent",
		}},
		{"other forms of starts", "/availability?date=2999-01-01", []reply{{body: `{"data":{"available_slots":["9:00"]}}`}}, reply{body: `{"data":{"available_slots":[]}}`}, []string{"differs: missing element $.data.available_slots[*]"}},
		{"past days", "/availability?date=2020-01-01", []reply{{body: `{"data":{"available_slots":["09:00"]}}`}}, reply{body: `{"data":{"available_slots":[]}}`}, []string{"known as past days and starts after the end of a day are not offered: missing element $.data.available_slots[*]"}},
		{"days to come", "/availability?date=2999-01-01", []reply{{body: `{"data":{"available_slots":["09:00","24:30"]}}`}}, reply{body: `{"data":{"available_slots":[]}}`}, []string{
			"differs: missing element $.data.available_slots[*]", "known as past days and starts after the end of a day are not offered: missing element $.data.available_slots[*]",
		}},
		{"time of the request", "/status?compared=1", []reply{{body: `{"data":{"current_time":"2026-11-22T10:00:00+01:00"}}`}}, reply{body: `{"data":{"current_time":"2026-11-22T10:00:01+01:00"}}`}, []string{"known as it is another time: value $.data.current_time"}},
	}
	named := map[string]bool{}
	for _, test := range tests {
		for _, want := range test.want {
			_, text, _ := strings.Cut(want, " as ")
			name, _, _ := strings.Cut(text, ":")
			named[name] = true
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := newRun(t, &standIn{replies: test.php}, &standIn{replies: []reply{test.bookside}}).Compare(t.Context(), []Request{requestOf(t, test.request)})
			got := summary(result)
			slices.Sort(got)
			slices.Sort(test.want)
			expect.Equal(t, test.want, got, "found")
			differs := slices.ContainsFunc(test.want, func(text string) bool { return strings.HasPrefix(text, "differs") })
			if result.Different() != differs || result.Err() != nil || len(result.Routes) != 1 || result.Routes[0].Requests != 1 {
				t.Errorf("%+v", result)
			}
		})
	}
	for _, k := range knownDifferences {
		if !named[k.name] {
			t.Errorf("no row finds the known difference %q", k.name)
		}
	}
}

// TestNoise: what PHP itself answers differently the second time does not count.
func TestNoise(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		php      []string
		bookside string
		want     []string
	}{
		"a value that PHP changes":                  {[]string{`{"n":1}`, `{"n":2}`}, `{"n":3}`, nil},
		"beside a difference":                       {[]string{`{"n":1,"m":1}`, `{"n":2,"m":1}`}, `{"n":3,"m":2}`, []string{"differs: value $.m"}},
		"what the site has changed in the meantime": {[]string{`{"n":1}`, `{"n":2}`}, `{"n":2}`, nil},
	} {
		php := &standIn{}
		for _, body := range test.php {
			php.replies = append(php.replies, reply{body: body})
		}
		result := newRun(t, php, &standIn{replies: []reply{{body: test.bookside}}}).Compare(t.Context(), []Request{requestOf(t, "/bookings")})
		expect.Equal(t, test.want, summary(result), name, ": found")
	}
}

// TestNothingToCompare: two refusals, or failures, are not the same answer, and a run that is interrupted or
// whose servers go away has a result.
func TestNothingToCompare(t *testing.T) {
	t.Parallel()
	requests := slices.Repeat([]Request{requestOf(t, "/bookings?page=1")}, 7)
	for status, want := range map[int]string{401: "both sides answer /bookings with 401 (7)", 403: "both sides answer /bookings with 403 (7)", 503: " answers 503 (5)"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			answer := []reply{{status: status, body: `{}`}}
			result := newRun(t, &standIn{replies: answer}, &standIn{replies: answer}).Compare(t.Context(), requests)
			if !strings.Contains(result.Failures[0], want) || result.Err() == nil || result.Different() {
				t.Errorf("%+v", result)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		php := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		})
		result := newRun(t, php, &standIn{replies: []reply{{body: `{}`}}}).Compare(ctx, requests)
		if result.Compared != 0 || result.Err() == nil || !slices.Equal(result.Failures, []string{"interrupted (1)"}) {
			t.Errorf("%+v", result)
		}
	})
}

// TestRequestsAreSentWithoutTheKeysOfOthers: each side gets its own key, in the header.
func TestRequestsAreSentWithoutTheKeysOfOthers(t *testing.T) {
	t.Parallel()
	urls := make(chan string, 10)
	answer := []reply{{body: `{}`}}
	result := newRun(t, &standIn{replies: answer, urls: urls}, &standIn{replies: answer, urls: urls}).
		Compare(t.Context(), []Request{requestOf(t, "/bookings?k=php-key&page=2&l=our-key&_fields=id")})
	close(urls)
	for url := range urls {
		expect.Equal(t, apiPath+"/bookings?_fields=id&page=2", url, "requested")
	}
	expect.Equal(t, 1, result.Compared, result)
}

// TestTry: a run starts only if both servers accept their keys.
func TestTry(t *testing.T) {
	t.Parallel()
	fine := reply{body: `{}`}
	for want, test := range map[string]struct{ php, bookside reply }{
		"":                  {fine, fine},
		"PHP: ":             {reply{status: 401, body: `{}`}, fine},
		"redirects":         {reply{status: 301, header: http.Header{"Location": {"https://example.com/x?api_key=s3cret"}}}, fine},
		"Bookside: ":        {fine, reply{status: 404, body: `{}`}},
		"instead of a JSON": {fine, reply{body: `<html>`}},
	} {
		err := newRun(t, &standIn{replies: []reply{test.php}}, &standIn{replies: []reply{test.bookside}}).Try(t.Context())
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "key=")) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for _, address := range []string{"", "example.com", "ftp://example.com", "https://user:secret@example.com", "https://example.com/?page=2", "https://example.com/?rest_route=/latepoint-api/v1&k=secret"} {
		if _, err := NewSide(address, "key"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	r := requestOf(t, "/coupons/A%2FB?page=2")
	for base, want := range map[string]string{
		"https://example.com":                               "https://example.com/wp-json/latepoint-api/v1/coupons/A%2FB?page=2",
		"https://example.com/blog/":                         "https://example.com/blog/wp-json/latepoint-api/v1/coupons/A%2FB?page=2",
		"http://127.0.0.1:8080/v1":                          "http://127.0.0.1:8080/v1/coupons/A%2FB?page=2",
		"https://example.com/?rest_route=/latepoint-api/v1": "https://example.com/?page=2&rest_route=%2Flatepoint-api%2Fv1%2Fcoupons%2FA%2FB",
		"https://example.com/wp-json/latepoint-api/v1":      "https://example.com/wp-json/latepoint-api/v1/coupons/A%2FB?page=2",
	} {
		s, err := NewSide(base, "key")
		expect.NoError(t, err)
		expect.Equal(t, want, s.url(r.path, r.query), base)
	}
}
