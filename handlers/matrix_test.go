package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// isCalendar reports whether a route requires the secret of a calendar instead of a key, see
// TestCalendarSecretsOpenNothingElse.
func isCalendar(r handlers.RouteInfo) bool { return strings.HasSuffix(r.Path, "/calendar.ics") }

// routesOf returns the routes of the API with parameters filled in.
func routesOf(t *testing.T) []handlers.RouteInfo {
	t.Helper()
	routes := handlers.Routes()
	if len(routes) < 20 {
		t.Fatalf("only %d routes", len(routes))
	}
	routes = slices.DeleteFunc(routes, isCalendar)
	for i := range routes {
		for _, parameter := range []string{":invoice_id", ":transaction_id", ":id", ":code"} {
			routes[i].Path = strings.ReplaceAll(routes[i].Path, parameter, "1")
		}
	}
	return routes
}

// TestOperationsReadTheParametersOfTheirPaths compares the parameters in each path with those that its
// operation reads.
func TestOperationsReadTheParametersOfTheirPaths(t *testing.T) {
	t.Parallel()
	for _, r := range handlers.Routes() {
		var parameters []string
		for part := range strings.SplitSeq(r.Path, "/") {
			if name, ok := strings.CutPrefix(part, ":"); ok {
				parameters = append(parameters, name)
			}
		}
		expect.Equal(t, r.PathParameters, parameters, fmt.Sprintf("%s %s: parameters of the path", r.Method, r.Path))
	}
}

// small returns the small site as generated for the clock of the tests.
func small(t testing.TB) *fixtures.Database { return fixtures.Shared(t, fixtures.Small(apitest.Now)) }

// TestMethodsOfEveryPath requests every path of the table with every method:
// those of the table are served, HEAD like GET without a body, and others
// match no route.
func TestMethodsOfEveryPath(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	served := map[string][]string{}
	for _, r := range routesOf(t) {
		served[r.Path] = append(served[r.Path], r.Method)
		if r.Method == http.MethodGet {
			served[r.Path] = append(served[r.Path], http.MethodHead)
		}
	}
	verbs := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "BREW"}
	for path, known := range served {
		for _, verb := range verbs {
			a := s.Do(verb, "/v1"+path, http.Header{"X-Api-Key": {s.Key}})
			if !slices.Contains(known, verb) {
				a.Want(http.StatusNotFound)
				if code := a.At("code"); code != "rest_no_route" || a.Header.Get("Allow") != "" {
					t.Errorf("%s %s: code %v, Allow %q", verb, path, code, a.Header.Get("Allow"))
				}
				continue
			}
			if a.Status == http.StatusInternalServerError || a.Status == http.StatusMethodNotAllowed {
				t.Errorf("%s %s: status %d", verb, path, a.Status)
			}
			if strings.Contains(string(a.Body), "rest_no_route") {
				t.Errorf("%s %s is not a route", verb, path)
			}
		}
	}
}

// TestCORS sends requests like a page of another origin: an allowed origin can read every header about
// limits; others get no CORS headers.
func TestCORS(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) {
		o.RateLimit.Enabled, o.AllowedOrigins = true, []string{"https://app.example"}
	})
	ask := func(origin string) http.Header {
		return s.Do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {s.Key}, "Origin": {origin}}).Want(http.StatusOK).Header
	}
	header := ask("https://app.example")
	expect.Equal(t, "https://app.example", header.Get("Access-Control-Allow-Origin"), "allowed origin")
	exposed := strings.Split(header.Get("Access-Control-Expose-Headers"), ",")
	for name := range header {
		mustExpose := strings.Contains(name, "Ratelimit") || name == "X-Request-Id"
		if mustExpose && !slices.ContainsFunc(exposed, func(e string) bool { return strings.EqualFold(e, name) }) {
			t.Errorf("%s is not exposed: %v", name, exposed)
		}
	}
	for _, name := range []string{"Retry-After", "X-Ignored-Parameters", "Preference-Applied"} {
		if !slices.Contains(exposed, name) {
			t.Errorf("%s is not exposed: %v", name, exposed)
		}
	}
	for name := range ask("https://other.example") {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("another origin gets %s", name)
		}
	}
}

// TestHeadEqualsGet compares HEAD with GET: the same status and headers, no
// body.
func TestHeadEqualsGet(t *testing.T) {
	s := apitest.Small(t)
	for _, r := range routesOf(t) {
		if r.Method != http.MethodGet {
			continue
		}
		key := http.Header{"X-Api-Key": {s.Key}}
		get, head := s.Do(http.MethodGet, "/v1"+r.Path, key), s.Do(http.MethodHead, "/v1"+r.Path, key)
		if head.Status != get.Status || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %q, GET %d %q", r.Path, head.Status, head.Header.Get("Content-Type"), get.Status, get.Header.Get("Content-Type"))
		}
	}
}

// permissions returns every permission that a key can have.
func permissions() []string {
	var all []string
	for _, verb := range []string{"read", "write", "delete"} {
		all = append(all, verb)
		for _, resource := range []string{"bookings", "customers", "agents", "services", "locations", "payments", "orders", "coupons", "availability"} {
			all = append(all, verb+"_"+resource)
		}
	}
	return all
}

// TestRoutesNeedTheirPermission requests every route with a key of every
// single permission: only its own and the general one of its verb suffice.
func TestRoutesNeedTheirPermission(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	s.Blind = true
	for _, permission := range permissions() {
		key := http.Header{"X-Api-Key": {s.NewKey(permission)}}
		for _, r := range routesOf(t) {
			verb, _, _ := strings.Cut(r.Permission, "_")
			opens := r.Permission == "" || permission == r.Permission || permission == verb && !slices.Contains(keys.NamedPermissions, r.Permission)
			a := s.Do(r.Method, "/v1"+r.Path, key)
			if opens {
				if a.Status == http.StatusForbidden && !slices.Contains(r.Also, fmt.Sprint(a.At("error", "details", "required_permission"))) {
					t.Errorf("%s %s refuses %s", r.Method, r.Path, permission)
				}
				continue
			}
			a.Want(http.StatusForbidden)
			want := fmt.Sprintf(`{"status":"error","error":{"code":"insufficient_permissions","message":"The API key lacks the permission %s",`+
				`"details":{"required_permission":"%s","current_permissions":["%s"]}}}`, r.Permission, r.Permission, permission)
			expect.Equal(t, want, string(a.Body), fmt.Sprintf("%s %s with %s: %s", r.Method, r.Path, permission, a.Body))
		}
	}
}

// TestInvalidKeysLookAlike requests every route with every kind of invalid key: the responses are equal, a
// WordPressError for lists and otherwise an ObjectError.
func TestInvalidKeysLookAlike(t *testing.T) {
	s := apitest.Small(t)
	revoked, key := apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: []string{"read"}})
	if found, err := s.Keys.Revoke(t.Context(), key.ID); err != nil || !found {
		t.Fatalf("revoke: %v %v", found, err)
	}
	past := apitest.Now.Add(-time.Second)
	expired, _ := apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: []string{"read"}, ExpiresAt: &past})
	misspelt := []byte(s.Key)
	misspelt[12] ^= 1
	bad := map[string]http.Header{
		"none":            {},
		"empty":           {"X-Api-Key": {""}},
		"misspelt":        {"X-Api-Key": {string(misspelt)}},
		"unknown":         {"X-Api-Key": {"lp_0123456789012345678901234567890123456789"}},
		"revoked":         {"X-Api-Key": {revoked}},
		"expired":         {"X-Api-Key": {expired}},
		"another case":    {"X-Api-Key": {strings.ToLower(s.Key)}},
		"very long":       {"X-Api-Key": {strings.Repeat("x", 10_000)}},
		"SQL":             {"X-Api-Key": {"' OR 1=1 -- "}},
		"basic":           {"Authorization": {"Basic " + s.Key}},
		"bearer, unknown": {"Authorization": {"Bearer nobody"}},
	}
	for name, header := range bad {
		for _, r := range routesOf(t) {
			a := s.Do(r.Method, "/v1"+r.Path, header).Want(http.StatusUnauthorized)
			want := `{"status":"error","error":{"code":"unauthorized","message":"Invalid or missing API key"}}`
			if r.List {
				want = `{"code":"rest_forbidden","message":"Unauthorized","data":{"status":401}}`
			}
			challenge := a.Header.Get("WWW-Authenticate")
			if string(a.Body) != want || challenge != `Bearer realm="bookside", ApiKey realm="bookside", header="X-API-Key"` {
				t.Errorf("%s, %s %s: %q %s", name, r.Method, r.Path, challenge, a.Body)
			}
		}
	}
}

// noRoute is the answer to a path that no route has.
const noRoute = `{"code":"rest_no_route","message":"No route was found matching the URL and request method.","data":{"status":404}}`

// TestUnknownRecords requests every kind of record by ids that do not exist, by every method: each resource
// answers in its own shape, and nothing is written. What is no id matches no route.
func TestUnknownRecords(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	before := s.Database.Snapshot(t)
	notFound := func(code, noun string) string {
		return `{"status":"error","error":{"code":"` + code + `_not_found","message":"` + noun + ` with ID %s was not found"}}`
	}
	const noCustomer, noPayment = `{"code":"customer_not_found","message":"Customer not found","data":{"status":404}}`, `{"success":false,"error":"Payment not found"}`
	const noCustomerRead = `{"code":"customer_not_found","message":"Customer with ID %s was not found","data":{"status":404},` +
		`"status":"error","error":{"code":"customer_not_found","message":"Customer with ID %[1]s was not found"}}`
	for _, c := range []struct{ methods, path, want string }{
		{"GET PUT DELETE", "/bookings/%s", notFound("booking", "Booking")},
		{"GET", "/customers/%s", noCustomerRead},
		{"PUT DELETE", "/customers/%s", noCustomer},
		{"GET", "/agents/%s", notFound("agent", "Agent")},
		{"GET PUT", "/services/%s", notFound("service", "Service")},
		{"GET PUT DELETE", "/payments/%s", noPayment},
		{"GET PUT", "/orders/%s", notFound("order", "Order")},
		{"GET", "/orders/%s/invoices", notFound("order", "Order")},
		{"GET PUT", "/orders/%s/invoices/10", notFound("order", "Order")},
		{"GET PUT", "/orders/10/invoices/%s", notFound("invoice", "Invoice")},
		{"GET", "/orders/%s/transactions", notFound("order", "Order")},
		{"GET", "/orders/%s/transactions/1", notFound("order", "Order")},
		{"GET", "/orders/10/transactions/%s", notFound("transaction", "Transaction")},
	} {
		for id, known := range map[string]bool{
			"0": true, "999999": true, "8388608": true, "2147483648": true, "99999999999999999999999": true,
			"abc": false, "-1": false, "+1": false, "1.5": false, "1e3": false, "0x1": false, "1%20": false, "%00": false, "%ff": false, strings.Repeat("9", 100): false,
		} {
			for method := range strings.FieldsSeq(c.methods) {
				want := noRoute
				if known {
					want = strings.ReplaceAll(strings.ReplaceAll(c.want, "%[1]s", id), "%s", id)
				}
				path := strings.ReplaceAll(c.path, "%s", id)
				// Invalid fields do not matter if there is no record.
				body := map[bool]string{true: `{"notes":[],"status":[]}`}[method == http.MethodPut]
				if a := s.Write(method, path, body); a.Status != http.StatusNotFound || string(a.Body) != want {
					t.Errorf("%s %s: %d %s, want %s", method, path, a.Status, a.Body, want)
				}
			}
		}
	}
	for path, code := range map[string]string{"NOBODY": "NOBODY", "no%20body": "NO BODY", "%F0%9F%98%80": "😀"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			want := `{"status":"error","error":{"code":"coupon_not_found","message":"Coupon with code ` + code + ` was not found"}}`
			if a := s.Write(method, "/coupons/"+path, ""); a.Status != http.StatusNotFound || string(a.Body) != want {
				t.Errorf("%s %s: %d %s, want %s", method, path, a.Status, a.Body, want)
			}
		}
	}
	// An invoice of another order.
	apitest.WantCode(t, s.Write(http.MethodPut, "/orders/1403/invoices/10", `{"status":"void"}`), http.StatusNotFound, "invoice_not_found")
	apitest.WantNoWrites(t, "unknown records", before)
	for _, id := range []string{"%37", "07", "0000000007", "7/"} {
		expect.Equal(t, string(s.Get("/bookings/7").Want(http.StatusOK).Body), string(s.Get("/bookings/"+id).Body), fmt.Sprintf("/bookings/%s", id))
	}
}

// TestBasePaths requests every base path, with and without slashes around it.
func TestBasePaths(t *testing.T) {
	s := apitest.Small(t)
	for _, path := range []string{"/v1/status", "/v1/status/", "/wp-json/latepoint-api/v1/status", "/wp-json/latepoint-api/v1/status/",
		"//wp-json/latepoint-api/v1/status", "///wp-json/latepoint-api/v1/status//", "//v1/status", "//?rest_route=/latepoint-api/v1/status", "//v1/bookings/%37/"} {
		s.Do(http.MethodGet, path, http.Header{"X-Api-Key": {s.Key}}).Want(http.StatusOK)
	}
	for _, path := range []string{"/status", "/v2/status", "/v1/nothing", "/v1/bookings/1/nothing", "/v1/bookings/abc", "/v1/bookings/-1", "/v1/bookings/1.5",
		"/wp-json//latepoint-api/v1/status", "/wp-json/latepoint-api/v1//status", "//example.org/v1/status"} {
		a := s.Do(http.MethodGet, path, http.Header{"X-Api-Key": {s.Key}}).Want(http.StatusNotFound)
		expect.Equal(t, noRoute, string(a.Body), fmt.Sprintf("%s: %s", path, a.Body))
	}
}
