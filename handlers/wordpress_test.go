package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestMethodOverride: as in WordPress, a POST can stand for another method; permission, route and log are
// those of that method.
func TestMethodOverride(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	reader := s.NewKey("read_customers", "write_customers")
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		contains                   string
	}{
		{"header", "POST", "/v1/customers/1", `{"first_name":"Anna"}`, []string{"X-HTTP-Method-Override", "put"}, 200, `"first_name":"Anna"`},
		{"parameter", "POST", "/v1/customers/1?_method=PUT", `{"first_name":"Berta"}`, nil, 200, `"first_name":"Berta"`},
		{"the parameter wins", "POST", "/v1/customers/1?_method=GET", "", []string{"X-HTTP-Method-Override", "DELETE"}, 200, `"first_name":"Berta"`},
		{"permission of the other method", "POST", "/v1/customers/1?_method=DELETE", "", []string{"X-Api-Key", reader}, 403, `"delete_customers"`},
		{"only on POST", "GET", "/v1/customers/1?_method=DELETE", "", []string{"X-HTTP-Method-Override", "DELETE"}, 200, `"first_name":"Berta"`},
		{"no such route", "POST", "/v1/customers?_method=DELETE", "", nil, 404, `"rest_no_route"`},
		{"no such method", "POST", "/v1/customers/1?_method=BREW", "", nil, 404, `"rest_no_route"`},
		{"OPTIONS", "POST", "/v1/customers/1", "", []string{"X-HTTP-Method-Override", "OPTIONS"}, 404, `"rest_no_route"`},
		{"empty", "POST", "/v1/customers?_method=", `{}`, nil, 400, `"first_name":"Required"`},
	} {
		a := exchange(s, c.method, c.target, c.body, c.headers...)
		expect.Equal(t, c.status, a.Status, fmt.Sprintf("%s: status: %s", c.name, a.Body))
		apitest.WantContains(t, c.contains, string(a.Body), "%s: body", c.name)
	}
	exchange(s, "POST", "/v1/customers/1?_method=GET", "")
	if line := s.Log.Last(t); line.Route != "/v1/customers/:id" || line.Method != http.MethodGet {
		t.Errorf("logged %s %s", line.Method, line.Route)
	}
}

// TestPostAsHeadHasABody: a client that sent a POST waits for as many bytes as Content-Length says, so the
// response to a POST that stands for HEAD must have a body.
func TestPostAsHeadHasABody(t *testing.T) {
	s := apitest.Small(t)
	listening := httptest.NewServer(s.Handler)
	defer listening.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, listening.URL+"/v1/status?_method=HEAD", nil)
	expect.NoError(t, err)
	request.Header.Set("X-Api-Key", s.Key)
	response, err := listening.Client().Do(request)
	expect.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"timezone"`) {
		t.Errorf("status %d, %v: %q", response.StatusCode, err, body)
	}
}

// TestPlainRoute: the URL form of sites without permalinks reaches the same routes.
func TestPlainRoute(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	want := string(exchange(s, "GET", "/wp-json/latepoint-api/v1/customers?per_page=2", "").Body)
	for _, target := range []string{
		"/?rest_route=/latepoint-api/v1/customers&per_page=2",
		"/?rest_route=%2Flatepoint-api%2Fv1%2Fcustomers%2F&per_page=2",
		"/index.php?per_page=2&rest_route=/latepoint-api/v1/customers",
	} {
		expect.Equal(t, want, string(exchange(s, "GET", target, "").Want(http.StatusOK).Body), target)
	}
	exchange(s, "POST", "/?rest_route=/latepoint-api/v1/customers/1&_method=PUT", `{"first_name":"Anna"}`).Want(http.StatusOK)
	for _, target := range []string{"/?rest_route=/wp/v2/posts", "/?rest_route=/latepoint-api/v12/customers", "/?rest_route=", "/v1/nothing?rest_route=/latepoint-api/v1/customers"} {
		expect.Equal(t, "rest_no_route", exchange(s, "GET", target, "").Want(http.StatusNotFound).At("code"), target)
	}
}

// TestCompanionIsTold: the companion, and nobody else, learns what it needs to answer in the server's
// place, even from errors and from pages without a key.
func TestCompanionIsTold(t *testing.T) {
	t.Parallel()
	const header = "X-Bookside-Forwarding"
	s := apitest.NewServer(t, small(t), func(o *handlers.Options) { o.RequestTimeout = 2500 * time.Millisecond })
	other := apitest.NewServer(t, small(t), func(o *handlers.Options) {
		o.RequestTimeout, o.QueryParameter, o.AllowedOrigins = time.Minute, "", []string{"https://app.example"}
	})
	for _, target := range []string{"/v1/status", "/v1/status?nothing=1", "/v1/bookings/999999", "/v1/nothing", "/v1/docs", "/v1"} {
		for _, c := range []struct {
			s    *apitest.Server
			want string
		}{{s, "cors=0&key=api_key&timeout=2.5"}, {other, "cors=1&key=&timeout=60"}} {
			expect.Equal(t, c.want, exchange(c.s, "GET", target, "", "X-Bookside-Forwarded", "1").Header.Get(header), target)
			expect.Equal(t, []string(nil), exchange(c.s, "GET", target, "").Header.Values(header), fmt.Sprintf("%s, not forwarded", target))
		}
	}
}

// TestNamespaceIndex: every base path lists the routes, without a key.
func TestNamespaceIndex(t *testing.T) {
	t.Parallel()
	_, proxy, err := net.ParseCIDR("192.0.2.0/24") // the address of httptest's requests
	expect.NoError(t, err)
	s := apitest.NewServer(t, fixtures.Shared(t, fixtures.Legacy()), func(o *handlers.Options) { o.TrustedProxies = []*net.IPNet{proxy} })
	type endpoint struct {
		Methods []string
		Args    map[string]struct {
			Type     any
			Required bool
		}
	}
	type index struct {
		Namespace string
		Routes    map[string]struct {
			Namespace string
			Methods   []string
			Endpoints []endpoint
			Links     map[string][]struct{ Href string } `json:"_links"`
		}
		Links map[string][]struct{ Href string } `json:"_links"`
	}
	a := exchange(s, "GET", "/v1", "", "X-Api-Key", "", "X-Forwarded-Proto", "https")
	var own index
	if err := json.Unmarshal(a.Body, &own); err != nil || own.Namespace != "v1" || len(own.Routes) < 20 || len(own.Links) > 0 ||
		own.Routes["/v1/bookings"].Links["self"][0].Href != "https://example.com/v1/bookings" {
		t.Errorf("%v: %.300s", err, a.Body)
	}
	for _, target := range []string{"/wp-json/latepoint-api/v1", "/wp-json/latepoint-api/v1/", "/?rest_route=/latepoint-api/v1"} {
		var got index
		expect.NoError(t, json.Unmarshal(exchange(s, "GET", target, "", "X-Api-Key", "", "X-Forwarded-Proto", "https").Want(http.StatusOK).Body, &got))
		if got.Namespace != "latepoint-api/v1" || len(got.Routes) < 20 || got.Links["up"][0].Href != "https://example.com/wp-json/" {
			t.Errorf("%s: namespace %s, %d routes, up %v", target, got.Namespace, len(got.Routes), got.Links)
		}
		list := got.Routes["/latepoint-api/v1/bookings"]
		if diff := cmp.Diff([]string{"GET", "POST"}, list.Methods); diff != "" || list.Namespace != got.Namespace || list.Links["self"][0].Href != "https://example.com/wp-json/latepoint-api/v1/bookings" {
			t.Errorf("methods (-want +got):\n%s\nlinks %v", diff, list.Links)
		}
		if arg, ok := list.Endpoints[0].Args["per_page"]; !ok || arg.Required || arg.Type != "integer" {
			t.Errorf("per_page %+v", arg)
		}
		if list.Endpoints[1].Args["service_id"].Required {
			t.Error("service_id is required, although hold_id may stand for it")
		}
		if !got.Routes["/latepoint-api/v1/orders"].Endpoints[1].Args["customer_id"].Required {
			t.Error("customer_id is not required")
		}
		one := got.Routes[`/latepoint-api/v1/bookings/(?P<id>\d+)`]
		if diff := cmp.Diff([]string{"GET", "PUT", "DELETE"}, one.Methods); diff != "" || one.Links != nil {
			t.Errorf("methods (-want +got):\n%s\nlinks %v", diff, one.Links)
		}
	}
	exchange(s, "HEAD", "/wp-json/latepoint-api/v1", "", "X-Api-Key", "").Want(http.StatusOK)
	exchange(s, "POST", "/wp-json/latepoint-api/v1", "{}").Want(http.StatusNotFound)
}

// TestUnknownUpdateOfThePluginStopsItsWrites: an unknown update of the plugin
// stops the writes to what it changed, and nothing else; readiness reports it.
func TestUnknownUpdateOfThePluginStopsItsWrites(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for i, test := range []struct {
		name, known, update, undo string   // known is a change of an earlier update
		then                      []string // if one statement cannot do it on every server
		why                       string   // why the booking is rejected; "" if it is not
		silent                    bool     // no statement fails
		unannounced               bool     // only the failure reveals it
	}{
		{name: "a column that takes a zero", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh varchar(20) NOT NULL"},
		{name: "a column with a default", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh enum('a', 'b') NOT NULL DEFAULT 'a'"},
		{name: "a column that takes NULL", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json"},
		{name: "a rule that a zero keeps", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL CHECK (fresh < 5)"},
		{name: "a rule that a zero breaks", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL",
			then: []string{"UPDATE wp_latepoint_bookings SET fresh = 1", "ALTER TABLE wp_latepoint_bookings ADD CONSTRAINT positive CHECK (fresh > 0)"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP CONSTRAINT positive", why: "wp_latepoint_bookings: a CHECK refuses the row", unannounced: true},
		{name: "a type that takes JSON alone", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json NOT NULL",
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (json)"},
		{name: "a number that became a word", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh enum('a', 'b') NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (enum)"},
		{name: "a text that became JSON", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh longtext NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (json)"},
		{name: "a number that became a place", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh point",
				"UPDATE wp_latepoint_bookings SET fresh = ST_GeomFromText('POINT(0 0)')", "ALTER TABLE wp_latepoint_bookings MODIFY fresh point NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (point)"},
		{name: "a word that became a number", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh varchar(20) NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL"}},
		{name: "a type without a zero", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh point",
			then: []string{"UPDATE wp_latepoint_bookings SET fresh = ST_GeomFromText('POINT(0 0)')", "ALTER TABLE wp_latepoint_bookings MODIFY fresh point NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (point)"},
		{name: "a list of words", update: "ALTER TABLE wp_latepoint_order_items ADD COLUMN fresh enum('a', 'b') NOT NULL",
			undo: "ALTER TABLE wp_latepoint_order_items DROP COLUMN fresh", why: "wp_latepoint_order_items: it requires a value for fresh (enum)", silent: true},
		{name: "a column renamed that only writes name", update: "ALTER TABLE wp_latepoint_activities CHANGE code event varchar(255) NOT NULL",
			undo: "ALTER TABLE wp_latepoint_activities CHANGE event code varchar(255) NOT NULL", why: "wp_latepoint_activities: it lacks code"},
		{name: "a table that only writes name", update: "RENAME TABLE wp_latepoint_activities TO wp_latepoint_events",
			undo: "RENAME TABLE wp_latepoint_events TO wp_latepoint_activities", why: "wp_latepoint_activities: it does not exist"},
	} {
		// The plugin changes its version together with its tables; if it did
		// not, the first failure would reveal the change.
		for _, versioned := range []bool{true, false} {
			if !versioned && (test.silent || !fixtures.Thorough() && !test.unannounced && i%3 > 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s, version changed %t", test.name, versioned), func(t *testing.T) {
				s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
				admin := newAdmin()
				admin.Started(s.Platform)
				version := func() {
					s.Database.Execute(t, "UPDATE wp_options SET option_value = CONCAT(option_value, '.1') WHERE option_name = 'latepoint_db_version'")
				}
				if test.known != "" {
					s.Database.Execute(t, test.known)
					version()
				}
				s.Get("/bookings").Want(http.StatusOK) // reads the schema before the update
				update := func(statements ...string) {
					for _, statement := range statements {
						s.Database.Execute(t, statement)
					}
					if versioned {
						version()
					}
				}
				update(slices.Concat([]string{test.update}, test.then)...)
				before := s.Database.Snapshot(t)
				ready := monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"}
				a := s.Write(http.MethodPost, "/bookings", apitest.Friday())
				if test.why == "" {
					a.Want(http.StatusCreated)
					wantReadiness(t, admin, ready)
					return
				}
				a.Want(http.StatusServiceUnavailable)
				expect.Equal(t, "Nothing is written: "+test.why, a.At("message").(string), "message")
				if a.Header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
				apitest.WantNoWrites(t, test.name, before)
				for _, path := range []string{"/bookings", "/bookings/53", "/orders", "/customers", "/availability?service_id=4&agent_id=5&date=2027-02-05"} {
					s.Get(path).Want(http.StatusOK)
				}
				wantReadiness(t, admin, ready)
				if got := reportLine(t, admin, monitor.WritesRefused); !test.unannounced && !strings.HasPrefix(got, "minor "+test.why+": ") {
					t.Errorf("reported: %s", got)
				}
				update(test.undo)
				s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
				expect.Equal(t, "", reportLine(t, admin, monitor.WritesRefused), "reported afterwards")
			})
		}
	}
}
