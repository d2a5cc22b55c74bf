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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/compat"
)

// parameter is a parameter of a query.
func parameter(name string, schema compat.Schema) compat.FieldDescription {
	return compat.FieldDescription{Name: name, Schema: &schema}
}

// testRoutes returns the routes of a small API.
func testRoutes() []Route {
	text, number, date := compat.Schema{Type: "string"}, compat.Schema{Type: "integer"}, compat.Schema{Type: "string", Format: "date"}
	updated, day, extras := parameter("updated_from", date), parameter("date", date), parameter("extras", text)
	updated.Ours, day.Needed, extras.Ours = true, true, true
	return []Route{
		{Path: "/status"},
		{Path: "/bookings", Parameters: []compat.FieldDescription{
			parameter("page", number), parameter("per_page", number), parameter("status", text), parameter("customer_email", text), parameter("date_from", date), updated,
			parameter("sort", compat.Schema{Type: "string", Enum: []string{"status", "id"}}),
		}},
		{Path: "/bookings/{id}"}, {Path: "/customers"}, {Path: "/customers/{id}"},
		{Path: "/availability", Parameters: []compat.FieldDescription{day, extras}},
		{Path: "/payments/{id}"}, {Path: "/changes", Ours: true}, {Path: "/holds/{id}", Ours: true}, {Path: "/agents/{id}/calendar.ics", Ours: true},
	}
}

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

// standIn is a server of the API. It answers every request except for the status with its replies in turn.
type standIn struct {
	replies []reply
	site    string // response about the site; none, as of an old server, if empty
	asked   atomic.Int64
	urls    chan string
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimPrefix(r.URL.Path, apiPath); {
	case r.Header.Get("X-API-Key") == "":
		reply{status: http.StatusUnauthorized, body: `{}`}.send(w)
	case path == "/status" && !strings.Contains(r.URL.RawQuery, "compared"):
		reply{body: `{"status":"success"}`}.send(w)
	case path == "/site" && s.site == "":
		reply{status: http.StatusNotFound, body: `{}`}.send(w)
	case path == "/site":
		reply{body: s.site}.send(w)
	default:
		n := s.asked.Add(1) - 1
		if s.urls != nil {
			s.urls <- r.URL.String()
		}
		s.replies[int(n)%len(s.replies)].send(w)
	}
}

func sideOf(t *testing.T, h http.Handler, key string) *Side {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s, err := NewSide(server.URL, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var testTime = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

func startRun(t *testing.T, php, bookside http.Handler, change ...func(*Options)) *Run {
	t.Helper()
	o := Options{PHP: sideOf(t, php, "php-key"), Bookside: sideOf(t, bookside, "our-key"), Now: func() time.Time { return testTime }, Routes: testRoutes()}
	for _, c := range change {
		c(&o)
	}
	r, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
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
func summary(r *Result) []string {
	var all []string
	for _, list := range []struct {
		name     string
		findings []Finding
	}{{"differs", r.Differences}, {"known", r.Known}, {"noise", r.Noise}, {"remark", r.Remarks}} {
		for _, f := range list.findings {
			text := list.name
			if f.Name != "" {
				text += " as " + f.Name
			}
			all = append(all, text+": "+string(f.Kind)+" "+f.Path)
		}
	}
	return all
}

const record = `{"id":"7","status":"approved","customer":{"id":"3","first_name":"Ada"},"notes":null}`

// list returns a response with records.
func list(records ...string) string {
	return `{"success":true,"data":[` + strings.Join(records, ",") + `],"pagination":{"total":` + strconv.Itoa(len(records)) + `}}`
}

// TestStandIn: each deliberate difference between a stand-in for PHP and one for Bookside is found, and
// named if it is a decision.
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
		{"order of keys", "/bookings/7", []reply{{body: `{"a":1,"b":2}`}}, reply{body: `{"b":2,"a":1}`}, []string{"remark: order of keys $"}},

		{"noise of a value", "/bookings", []reply{{body: `{"n":1}`}, {body: `{"n":2}`}}, reply{body: `{"n":3}`}, []string{"noise: value $.n"}},
		{"noise beside a difference", "/bookings", []reply{{body: `{"n":1,"m":1}`}, {body: `{"n":2,"m":1}`}}, reply{body: `{"n":3,"m":2}`}, []string{"differs: value $.m", "noise: value $.n"}},
		{"noise of another type", "/bookings", []reply{{body: `{"n":null}`}, {body: `{"n":{"a":1}}`}}, reply{body: `{"n":{"a":2}}`}, []string{"noise: type $.n"}},
		{
			"a record that is created meanwhile", "/bookings", []reply{{body: list(record)}, {body: list(`{"id":"9"}`, record)}},
			reply{body: list(`{"id":"9"}`, strings.Replace(record, "approved", "pending", 1))},
			[]string{"differs: value $.data[*].status", "noise: additional element $.data[*]", "noise: value $.pagination.total"},
		},
		{"a status that PHP never has", "/bookings/7", []reply{{status: 503, body: `{}`}, {body: `{"a":1}`}}, reply{status: 404, body: `{}`}, []string{"differs: status status"}},
		{"PHP prints a warning once", "/bookings/7", []reply{{body: `<b>Warning</b>{"a":1}`}, {body: `{"a":1}`}}, reply{body: `{"a":2}`}, []string{"differs: value $.a"}},
		{"a list that grows and that Bookside lacks", "/bookings", []reply{{body: list(record)}, {body: list(`{"id":"9"}`, record)}}, reply{body: list()}, []string{
			"differs: missing element $.data[*]", "noise: value $.pagination.total",
		}},
		{"form of a number", "/bookings/7", []reply{{body: `{"a":10,"b":1.50}`}}, reply{body: `{"a":10.0,"b":1.5}`}, []string{"remark: form of a number $.a"}},
		{"text that is no UTF-8", "/bookings/7", []reply{{body: "{\"a\":\"\uFFFD\"}"}}, reply{body: "{\"a\":\"\xff\"}"}, []string{"differs: body $"}},
		{"PHP fails once", "/bookings", []reply{{status: 503, body: `{}`}, {body: `{"a":1}`}}, reply{body: `{"a":1}`}, nil},

		{"route of Bookside", "/changes", []reply{notFound}, reply{body: `{"data":[]}`}, []string{"known as route of Bookside: status status"}},
		{"a route that PHP has and we lack", "/bookings/7/history", []reply{{body: `{}`}}, notFound, []string{"differs: status status"}},
		{"other errors", "/bookings/9", []reply{{status: 404, body: `{"code":"a"}`}}, reply{status: 404, body: `{"code":"b"}`}, []string{"differs: value $.code"}},
		{"parameter of Bookside", "/bookings?updated_from=2026-11-01", []reply{{body: list(record, `{"id":"8"}`)}}, reply{body: list(record)}, []string{
			"known as parameter of Bookside: missing element $.data[*]", "known as parameter of Bookside: value $.pagination.total",
		}},
		{"failure with a parameter of Bookside", "/bookings?updated_from=2026-11-01", []reply{{body: list(record)}}, reply{status: 500, body: `{}`}, []string{"differs: status status"}},
		{"record with a parameter of Bookside", "/bookings?updated_from=2026-11-01", []reply{{body: list(record)}}, reply{body: list(`{"id":"7","status":"pending","customer":{"id":"3","first_name":"Ada"}}`)}, []string{
			"differs: missing key $.data[*].notes", "differs: value $.data[*].status",
		}},
		{"wrong parameter", "/bookings?page=0", []reply{{body: `{}`}}, reply{status: 400, body: `{"error":{"code":"invalid_parameters"}}`}, []string{"known as wrong parameter is rejected: status status"}},
		{"failure of PHP", "/bookings/7", []reply{{status: 500, body: `<p>`}}, reply{body: `{}`}, []string{"known as failure of PHP: status status"}},
		{"total order", "/bookings?sort=status", []reply{{body: list(record, `{"id":"8","status":"approved"}`)}}, reply{body: list(`{"id":"8","status":"approved"}`, record)}, []string{"known as total order: order of a list $.data"}},
		{"another order", "/bookings?sort=status", []reply{{body: list(record, `{"id":"8","status":"pending"}`)}}, reply{body: list(`{"id":"8","status":"pending"}`, record)}, []string{"differs: order of a list $.data"}},
		{"other records in a whole list", "/bookings?sort=status", []reply{{body: list(record)}}, reply{body: list(`{"id":"8","status":"approved"}`)}, []string{
			"differs: additional element $.data[*]", "differs: missing element $.data[*]",
		}},
		{"equal records at the end of a page", "/bookings?sort=status", []reply{{body: strings.Replace(list(record), `"total":1`, `"total":9`, 1)}}, reply{body: strings.Replace(list(`{"id":"8","status":"approved"}`), `"total":1`, `"total":9`, 1)}, []string{
			"known as total order: additional element $.data[*]", "known as total order: missing element $.data[*]",
		}},
		{"missing customer", "/bookings/7", []reply{{body: `{"data":{"customer":null}}`}}, reply{body: `{"data":{"customer":{"id":"3","first_name":"","email":""}}}`}, []string{"known as records never lack a key: type $.data.customer"}},
		{"customer out of nothing", "/bookings/7", []reply{{body: `{"data":{"customer":null}}`}}, reply{body: `{"data":{"customer":{"id":"3","first_name":"Ada"}}}`}, []string{"differs: type $.data.customer"}},
		{"fields of add-ons", "/bookings/7", []reply{{body: `{"data":{"custom_fields":{}}}`}}, reply{body: `{"data":{"custom_fields":{},"extras":[],"cancellation_reason":null}}`}, []string{
			"known as fields of add-ons: additional key $.data.cancellation_reason", "known as fields of add-ons: additional key $.data.extras",
		}},
		{"other values in a field of add-ons", "/bookings/7", []reply{{body: `{"data":{"extras":[]}}`}}, reply{body: `{"data":{"extras":{}}}`}, []string{"differs: type $.data.extras"}},
		{"both envelopes", "/customers/7", []reply{{body: `{"status":"success","data":{}}`}}, reply{body: `{"success":true,"status":"success","data":{}}`}, []string{"known as both envelopes: additional key $.success"}},
		{"both shapes of an error", "/customers/7", []reply{{status: 404, body: `{"status":"error","error":{"code":"customer_not_found"}}`}}, reply{status: 404, body: `{"code":"customer_not_found","message":"No","data":{"status":404},"status":"error","error":{"code":"customer_not_found"}}`}, []string{
			"known as both shapes of an error: additional key $.code", "known as both shapes of an error: additional key $.data", "known as both shapes of an error: additional key $.message",
		}},
		{"both shapes of another error", "/bookings/7", []reply{{status: 404, body: `{"status":"error","error":{}}`}}, reply{status: 404, body: `{"code":"booking_not_found","status":"error","error":{}}`}, []string{"differs: additional key $.code"}},
		{"refunds", "/bookings/7", []reply{{body: `{"payment_status":"fully_paid"}`}}, reply{body: `{"payment_status":"partially_refunded"}`}, []string{"known as refunds are shown: value $.payment_status"}},
		{"customer of a payment", "/payments/7", []reply{{body: `{"message":"Payment created successfully","data":{"customer_id":"0"}}`}}, reply{body: `{"message":"Payment created successfully","data":{"customer_id":"9"}}`}, []string{"known as a payment has its order's customer: value $.data.customer_id"}},
		{"another customer of a payment", "/payments/7", []reply{{body: `{"message":"Payment created successfully","data":{"customer_id":"8"}}`}}, reply{body: `{"message":"Payment created successfully","data":{"customer_id":"9"}}`}, []string{"differs: value $.data.customer_id"}},
		{"secrets", "/bookings/7", []reply{{body: `{"manage_booking_for_agent_url":"https://x","meta":{"key_to_manage_for_agent":"x"}}`}}, reply{body: `{"meta":{}}`}, []string{
			"known as secrets stay out: missing key $.manage_booking_for_agent_url", "known as secrets stay out: missing key $.meta.key_to_manage_for_agent",
		}},
		{"other resources", "/bookings/7", []reply{{body: `{"order":{"ip_address":"192.0.2.1"},"token":"t"}`}}, reply{body: `{"order":{"ip_address":null},"token":"u"}`}, []string{
			"differs: value $.token", "known as permission of the other resource: type $.order.ip_address",
		}},
		{"the same resource", "/payments/7", []reply{{body: `{"token":"t"}`}}, reply{body: `{"token":null}`}, []string{"differs: type $.token"}},
		{"totals", "/bookings", []reply{{body: `{"data":[],"pagination":{"total":3}}`}}, reply{body: `{"data":[],"pagination":{"total":2}}`, header: http.Header{"X-Total-Age": {"2"}}}, []string{"known as totals up to 5 seconds old: value $.pagination.total"}},
		{"pages with an old total", "/bookings", []reply{{body: `{"data":[],"pagination":{"total":3,"page":1}}`}}, reply{body: `{"data":[],"pagination":{"total":3}}`, header: http.Header{"X-Total-Age": {"2"}}}, []string{"differs: missing key $.pagination.page"}},
		{"other forms of starts", "/availability?date=2999-01-01", []reply{{body: `{"data":{"available_slots":["9:00"]}}`}}, reply{body: `{"data":{"available_slots":[]}}`}, []string{"differs: missing element $.data.available_slots[*]"}},
		{"past days", "/availability?date=2020-01-01", []reply{{body: `{"data":{"available_slots":["09:00"]}}`}}, reply{body: `{"data":{"available_slots":[]}}`}, []string{"known as past days are not offered: missing element $.data.available_slots[*]"}},
		{"days to come", "/availability?date=2999-01-01", []reply{{body: `{"data":{"available_slots":["09:00","24:30"]}}`}}, reply{body: `{"data":{"available_slots":[]}}`}, []string{
			"differs: missing element $.data.available_slots[*]", "known as past days are not offered: missing element $.data.available_slots[*]",
		}},
		{"time of the request", "/status?compared=1", []reply{{body: `{"data":{"current_time":"2026-11-22T10:00:00+01:00"}}`}}, reply{body: `{"data":{"current_time":"2026-11-22T10:00:01+01:00"}}`}, []string{"known as the time of the request: value $.data.current_time"}},
		{"a clock that is wrong", "/status?compared=1", []reply{{body: `{"data":{"current_time":"2026-11-22T10:00:00+01:00"}}`}}, reply{body: `{"data":{"current_time":"2026-11-22T10:00:00+00:00"}}`}, []string{"differs: value $.data.current_time"}},
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
			run := startRun(t, &standIn{replies: test.php}, &standIn{replies: []reply{test.bookside}})
			result := run.Compare(t.Context(), []Request{requestOf(t, test.request)})
			if diff := cmp.Diff(test.want, summary(result)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			want := Equal
			if len(result.Differences) > 0 {
				want = Different
			}
			if result.Outcome != want || result.Routes[0].Requests != 1 {
				t.Errorf("outcome %s of %+v, want %s", result.Outcome, result.Routes, want)
			}
		})
	}
	for _, k := range knownDifferences {
		if !named[k.Name] {
			t.Errorf("no row finds the known difference %q", k.Name)
		}
	}
}

// TestUnhonouredExtensions: a difference comes with what extensions decide about it without Bookside.
func TestUnhonouredExtensions(t *testing.T) {
	t.Parallel()
	site := `{"data":{"extensions":[{"title":"Dynamic","parts":[{"subject":"prices","kind":"not_honoured","means":"It changes prices."},{"subject":"times","kind":"asked","means":"Asked."},
		{"subject":"messages","kind":"not_honoured","means":"It adds to messages."}]},{"title":"Busy","parts":[{"subject":"times","kind":"not_honoured","means":"It changes times."}]}]}}`
	for _, test := range []struct {
		request, php, bookside string
		want                   []string
	}{
		{"/bookings/7", `{"data":{"price":"5.00"}}`, `{"data":{"price":"6.00"}}`, []string{"Dynamic: It changes prices."}},
		{"/bookings/7", `{"data":{"price":"5.00"}}`, `{"data":{"price":"5.00"}}`, nil},
		{"/bookings/7", `{"data":{"notes":"a"}}`, `{"data":{"notes":"b"}}`, nil},
		{"/bookings", `{"data":[],"pagination":{"total":1}}`, `{"data":[],"pagination":{"total":2}}`, nil},
		{"/availability?date=2999-01-01", `{"data":{"available_slots":["09:00"]}}`, `{"data":{"available_slots":[]}}`, []string{"Busy: It changes times."}},
	} {
		t.Run(test.request+test.bookside, func(t *testing.T) {
			t.Parallel()
			run := startRun(t, &standIn{replies: []reply{{body: test.php}}}, &standIn{site: site, replies: []reply{{body: test.bookside}}})
			result := run.Compare(t.Context(), []Request{requestOf(t, test.request)})
			if diff := cmp.Diff(test.want, result.Reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			for _, reason := range test.want {
				if text := result.Text(); !strings.Contains(text, whyExtensions+":\n  "+reason+"\n") {
					t.Errorf("printed: %s", text)
				}
			}
		})
	}
}

// TestNoiseOfTheRoute: a value that PHP itself changes in one response is noise in the others.
func TestNoiseOfTheRoute(t *testing.T) {
	t.Parallel()
	php := &standIn{replies: []reply{{body: `{"n":1}`}, {body: `{"n":1}`}, {body: `{"n":1}`}, {body: `{"n":2}`}}}
	run := startRun(t, php, &standIn{replies: []reply{{body: `{"n":5}`}}})
	result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings?page=1"), requestOf(t, "/bookings?page=2")})
	if diff := cmp.Diff([]string{"noise: value $.n"}, summary(result)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if line := result.Routes[0]; line.Noise != 2 || result.Outcome != Equal || result.Noise[0].Requests != 2 {
		t.Errorf("line %+v, outcome %s", line, result.Outcome)
	}
}

// TestOneChangeIsNoNoiseOfTheRoute: a value that changes once during the run does not hide that Bookside
// always differs at the same place.
func TestOneChangeIsNoNoiseOfTheRoute(t *testing.T) {
	t.Parallel()
	pending := strings.Replace(record, "approved", "pending", 1)
	tests := map[string]struct {
		changed  reply // PHP's reply, once
		bookside reply
		want     string
	}{
		"value":    {reply{body: list(pending)}, reply{body: list(strings.Replace(record, "approved", "", 1))}, "differs: value $.data[*].status"},
		"elements": {reply{body: list(record, `{"id":"9"}`)}, reply{body: list(record, `{"id":"8"}`)}, "differs: additional element $.data[*]"},
		"status":   {reply{status: 503, body: `{}`}, reply{status: 404, body: `{}`}, "differs: status status"},
		"header":   {reply{status: 503, header: http.Header{"Content-Type": {"text/html"}}}, reply{body: list(record), header: http.Header{"Content-Type": {"text/plain"}}}, "differs: header Content-Type"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			usual := reply{body: list(record)}
			run := startRun(t, &standIn{replies: []reply{usual, test.changed, usual, usual, usual, usual, usual, usual}}, &standIn{replies: []reply{test.bookside}})
			result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings?page=1"), requestOf(t, "/bookings?page=2"), requestOf(t, "/bookings?page=3"), requestOf(t, "/bookings?page=4")})
			if got := summary(result); !slices.Contains(got, test.want) || result.Outcome != Different {
				t.Errorf("%s, found %q, want %s", result.Outcome, got, test.want)
			}
		})
	}
}

// TestNothingToCompare: two refusals, or two failures, are not the same answer.
func TestNothingToCompare(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		401: "/bookings: both sides answer 401 (2 requests)", 403: "/bookings: both sides answer 403 (2 requests)", 503: " answers 503 (2 requests)", 504: " answers 504 (2 requests)",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			answer := []reply{{status: status, body: `{}`}}
			run := startRun(t, &standIn{replies: answer}, &standIn{replies: answer})
			result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings?page=1"), requestOf(t, "/bookings?page=2")})
			if result.Outcome != Incomplete || len(result.Failures) != 1 || !strings.HasSuffix(result.Failures[0], want) {
				t.Errorf("%s %q, failures %q, want %s", result.Outcome, result.Verdict, result.Failures, want)
			}
		})
	}
}

func TestIgnoredPaths(t *testing.T) {
	t.Parallel()
	pattern, err := ParsePattern("$.data[*].status")
	if err != nil {
		t.Fatal(err)
	}
	run := startRun(t, &standIn{replies: []reply{{body: list(record)}}}, &standIn{replies: []reply{{body: list(strings.Replace(record, "approved", "pending", 1))}}},
		func(o *Options) { o.Ignore = []Pattern{pattern} })
	result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings")})
	if result.Outcome != Equal || !slices.Equal(result.Ignored, []string{"$.data[*].status"}) || result.Routes[0].Equal != 1 {
		t.Errorf("%+v", result)
	}
}

// TestRequestsAreSentWithoutTheKeysOfOthers: each side gets its own key, in the header, and PHP is asked
// before and after Bookside.
func TestRequestsAreSentWithoutTheKeysOfOthers(t *testing.T) {
	t.Parallel()
	urls := make(chan string, 10)
	answer := []reply{{body: `{}`}}
	run := startRun(t, &standIn{replies: answer, urls: urls}, &standIn{replies: answer, urls: urls})
	result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings?k=php-key&page=2&l=our-key&_fields=id")})
	close(urls)
	for url := range urls {
		if url != apiPath+"/bookings?_fields=id&page=2" {
			t.Errorf("requested %s", url)
		}
	}
	if result.Compared != 1 {
		t.Errorf("%+v", result)
	}
}

// TestUnseen: the result names the routes and parameters that no request used.
func TestUnseen(t *testing.T) {
	t.Parallel()
	answer := []reply{{body: `{}`}}
	run := startRun(t, &standIn{replies: answer}, &standIn{replies: answer})
	result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings?page=2&sort=id"), requestOf(t, "/availability?date=2026-12-01"), requestOf(t, "/customers/4")})
	if diff := cmp.Diff([]string{"/status", "/bookings/{id}", "/customers", "/payments/{id}"}, result.UnseenRoutes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	want := []string{"/bookings?per_page", "/bookings?status", "/bookings?customer_email", "/bookings?date_from", "/bookings?updated_from", "/availability?extras"}
	if diff := cmp.Diff(want, result.UnseenParameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

// TestPersonalDataAreMasked: no form of the result contains personal data.
func TestPersonalDataAreMasked(t *testing.T) {
	t.Parallel()
	php := `{"data":[{"id":"7","status":"approved","service_name":"Massage","customer":{"id":"3","first_name":"Ada","last_name":"Byron","email":"ada@example.com","phone":"+49 151 2345678"},"note":"call 0151 2345678 or ada@example.com","start":"2026-12-01 10:00:00"}]}`
	bookside := `{"data":[{"id":"7","status":"pending","service_name":"Pilates","customer":{"id":"3","first_name":"Eva","last_name":"Byron ","email":"ada@example.org","phone":"+49 151 2345679"},"note":"-","start":"2026-12-01 11:00:00"}]}`
	for _, show := range []bool{false, true} {
		run := startRun(t, &standIn{replies: []reply{{body: php}}}, &standIn{replies: []reply{{body: bookside}}}, func(o *Options) { o.ShowPersonal = show })
		result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings?customer_email=ada@example.com&status=approved&date_from=2026-12-01&unknown=Byron")})
		var page strings.Builder
		if err := result.WritePage(&page); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"text": result.Text(), "page": page.String()} {
			for _, personal := range []string{"Ada", "Eva", "Byron", "ada@", "2345678", "php-key", "our-key"} {
				if got, want := strings.Contains(text, personal), show && !strings.HasSuffix(personal, "key"); got != want {
					t.Errorf("%s, show %t: contains %s: %t", name, show, personal, got)
				}
			}
			for _, harmless := range []string{"approved", "pending", "Massage", "Pilates", "2026-12-01 11:00:00", "status=approved", "date_from=2026-12-01"} {
				if !strings.Contains(text, harmless) {
					t.Errorf("%s, show %t: lacks %s", name, show, harmless)
				}
			}
			if !show && !strings.Contains(text, "masked characters differ") {
				t.Errorf("%s: no note about values that the mask makes equal", name)
			}
		}
	}
}

// TestRequestsAreMasked: what a client wrote into a path, a number or a name is not shown.
func TestRequestsAreMasked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/bookings/17?x=1":                            "/bookings/17?x=0",
		"/customers/ada%40example.com":                "/customers/xxx@xxxxxxx.xxx",
		"/customers/Ada":                              "/customers/Xxx",
		"/customers/by-mail/Ada%20Byron/7":            "/customers/by-mail/Xxx%20Xxxxx/7",
		"/phones/+491512345678":                       "/phones/+000000000000",
		"/bookings?page=Byron&sort=Ada&date_from=Eva": "/bookings?date_from=Xxx&page=Xxxxx&sort=Xxx",
		"/bookings?status=Ada@example.com&page=2":     "/bookings?page=2&status=Xxx@xxxxxxx.xxx",
		"/bookings?Byron=&status=approved,pending":    "/bookings?Xxxxx=&status=approved,pending",
		"/bookings?sort=id&filter[a]=b&per_page=100":  "/bookings?filter%5Ba%5D=x&per_page=100&sort=id",
	} {
		if got := (mask{}).request(testRoutes(), requestOf(t, text)); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
	if got := (mask{}).text("https://example.com/?email=ada%40example.com"); strings.Contains(got, "ada") {
		t.Errorf("an encoded address is shown: %s", got)
	}
	invoice := mustParse(t, `{"data":"{\"to\":\"Ada\"}","x":"{\"customer\":{\"name\":\"Ada\"},\"status\":\"open\"}","item_data":"Ada","bio":"Ada"}`)
	if got := (mask{}).value(location{}.member("invoice"), invoice).String(); strings.Contains(got, "Ada") || !strings.Contains(got, "open") {
		t.Errorf("a text of JSON is shown: %s", got)
	}
	text := textValue("for Ada")
	if got := (mask{}).value(location{}.member("data").member("data"), text).String(); strings.Contains(got, "Ada") {
		t.Errorf("the data of an invoice are shown: %s", got)
	}
}

// TestInterruptedRunTellsWhatItHas: a run that is interrupted, or whose servers go away, has a result.
func TestInterruptedRunTellsWhatItHas(t *testing.T) {
	t.Parallel()
	three := func(t *testing.T) []Request {
		return []Request{requestOf(t, "/bookings?page=1"), requestOf(t, "/bookings?page=2"), requestOf(t, "/bookings?page=3")}
	}
	answer := []reply{{body: `{}`}}
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		var lines []string
		run := startRun(t, &standIn{replies: answer}, &standIn{replies: answer}, func(o *Options) {
			o.Progress = func(p Progress) {
				lines = append(lines, p.Line())
				if p.Done == 2 {
					cancel()
				}
			}
		})
		result := run.Compare(ctx, three(t))
		if result.Outcome != Incomplete || result.Compared != 2 || result.Planned != 3 || !strings.Contains(result.Verdict, "INCOMPLETE: 2 of 3 requests compared, none of which differs. Interrupted.") {
			t.Errorf("%+v", result)
		}
		if len(lines) < 2 || !strings.HasPrefix(lines[0], "1 of 3 compared, 0 differ, about ") || !strings.HasSuffix(lines[0], " left") {
			t.Errorf("progress %q", lines)
		}
	})
	t.Run("interrupted with a difference", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		run := startRun(t, &standIn{replies: answer}, &standIn{replies: []reply{{body: `[]`}}}, func(o *Options) { o.Progress = func(Progress) { cancel() } })
		if result := run.Compare(ctx, three(t)); result.Outcome != Different || !strings.Contains(result.Verdict, "Interrupted.") {
			t.Errorf("%+v", result)
		}
	})
	t.Run("a server goes away", func(t *testing.T) {
		t.Parallel()
		var gone atomic.Bool
		php := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if gone.Load() {
				panic(http.ErrAbortHandler)
			}
			(&standIn{replies: answer}).ServeHTTP(w, r)
		})
		run := startRun(t, php, &standIn{replies: answer}, func(o *Options) { o.Progress = func(Progress) { gone.Store(true) } })
		result := run.Compare(t.Context(), slices.Repeat(three(t), 4))
		if result.Outcome != Incomplete || result.Compared != 1 || result.Failed != maxFailures || !strings.Contains(result.Stopped, "5 requests in a row failed") || len(result.Failures) != 1 {
			t.Errorf("%+v", result)
		}
	})
	t.Run("PHP is overloaded", func(t *testing.T) {
		t.Parallel()
		run := startRun(t, &standIn{replies: []reply{{status: 502, body: `{}`}}}, &standIn{replies: answer})
		result := run.Compare(t.Context(), slices.Repeat(three(t), 4))
		if result.Compared != 0 || result.Failed != maxBroken || !strings.Contains(result.Stopped, "PHP answered 10 requests in a row with 502") {
			t.Errorf("%+v", result)
		}
	})
}

// TestStartRejects: a run starts only if both servers accept their keys.
func TestStartRejects(t *testing.T) {
	t.Parallel()
	answering := func(r reply) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { r.send(w) })
	}
	fine := &standIn{replies: []reply{{body: `{}`}}}
	tests := map[string]struct {
		php, bookside http.Handler
		want          string
	}{
		"wrong key":    {answering(reply{status: 401, body: `{}`}), fine, "PHP: "},
		"redirect":     {answering(reply{status: 301, header: http.Header{"Location": {"https://example.com/x?api_key=s3cret"}}}), fine, "leads elsewhere, to https://example.com/x: name the URL"},
		"no API":       {fine, answering(reply{status: 404, body: `{}`}), "Bookside: "},
		"page of HTML": {answering(reply{body: `<html>`}), fine, "instead of a JSON text"},
		"out of order": {answering(reply{status: 503, body: `{}`}), fine, "answers 503"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Start(t.Context(), Options{PHP: sideOf(t, test.php, "php-key"), Bookside: sideOf(t, test.bookside, "our-key"), Now: func() time.Time { return testTime }, Routes: testRoutes()})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "key=") {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
	old := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/status") {
			reply{status: 404, body: `{"code":"rest_no_route"}`}.send(w)
			return
		}
		fine.ServeHTTP(w, r)
	})
	if _, err := Start(t.Context(), Options{PHP: sideOf(t, old, "php-key"), Bookside: sideOf(t, fine, "our-key"), Now: func() time.Time { return testTime }, Routes: testRoutes()}); err != nil {
		t.Errorf("an extension without /status: %v", err)
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
		if err != nil {
			t.Fatal(err)
		}
		if got := s.url(r.path, r.query); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}
