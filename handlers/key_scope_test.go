package handlers_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// withinSQL returns the condition that a row has an agent, a service and a location in scope.
func withinSQL(scope domain.Scope) string {
	conditions := []string{"TRUE"}
	for column, ids := range map[string][]int64{"agent_id": scope.Agents, "service_id": scope.Services, "location_id": scope.Locations} {
		if len(ids) > 0 {
			conditions = append(conditions, "COALESCE("+column+", 0) IN ("+strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")+")")
		}
	}
	return "(" + strings.Join(conditions, " AND ") + ")"
}

// reduction returns the statements that delete what a limited key must not see.
func reduction(scope domain.Scope) []string {
	const p = "wp_latepoint_"
	within := withinSQL(scope)
	named := func(column string) string {
		return "SELECT " + column + " FROM " + p + "agents_services UNION SELECT " + column + " FROM " + p + "bookings WHERE " + column + " IS NOT NULL"
	}
	stmts := []string{"DELETE FROM " + p + "bookings WHERE NOT " + within, "DELETE FROM " + p + "agents_services WHERE NOT " + within}
	for table, of := range map[string]struct {
		ids    []int64
		others int
		column string
	}{
		"agents":    {scope.Agents, len(scope.Services) + len(scope.Locations), "agent_id"},
		"services":  {scope.Services, len(scope.Agents) + len(scope.Locations), "service_id"},
		"locations": {scope.Locations, len(scope.Agents) + len(scope.Services), "location_id"},
	} {
		if len(of.ids) > 0 {
			stmts = append(stmts, "DELETE FROM "+p+table+" WHERE id NOT IN ("+strings.Trim(strings.ReplaceAll(fmt.Sprint(of.ids), " ", ","), "[]")+")")
		}
		if of.others > 0 {
			stmts = append(stmts, "DELETE FROM "+p+table+" WHERE id NOT IN ("+named(of.column)+")")
		}
	}
	return stmts
}

// beyondLimits reports whether limited keys have nothing to do with a route: it is about customers or money, or
// changes what concerns everybody.
func beyondLimits(r handlers.RouteInfo) bool {
	return regexp.MustCompile(`^/(customers|orders|payments|coupons)`).MatchString(r.Path) || r.Method != http.MethodGet && strings.HasPrefix(r.Path, "/services")
}

// limitedQueries are queries with several parameters, by route. TestLimitedKeysSeeNothingElse sends them in
// addition to those of limitedValues.
var limitedQueries = map[string][]string{
	"/bookings":            {"per_page=2&page=3", "sort=customer_name&order=asc&per_page=100", "sort=id&per_page=100", "meta_key=cf_a&meta_value=e", "date_from=2026-12-01&per_page=100"},
	"/customers":           {"per_page=3&page=2", "email=customer9@example.test"},
	"/customers/:id":       {"include=bookings,upcoming_bookings,past_bookings,stats&bookings_limit=50"},
	"/agents":              {"include=services,locations&per_page=100"},
	"/agents/availability": {"date=2027-02-05&start_time=10:00", "location_id=any&date=2027-02-05&start_time=10:00"},
	"/services":            {"include=agents,category,locations,categories&per_page=100"},
	"/services/:id":        {"include=agents,category,locations"},
	"/availability":        {"service_id=4&agent_id=any&date=2027-02-05&date_to=2027-02-12", "service_id=4&agent_id=5&location_id=1&date=2027-02-05&explain=1", "service_id=999&agent_id=any&date=2027-02-05"},
}

// limitedBase are the parameters that a route's other parameters need.
var limitedBase = map[string]string{
	"/availability":        "service_id=4&agent_id=any&date=2027-02-05",
	"/agents/availability": "service_id=4&date=2027-02-05&start_time=10:00",
}

// limitedValues are the values of parameters, by route and name, or by name. A SELECT stands for the values
// that it finds on the whole site. Words, and true and false, come from the API document.
var limitedValues = map[string][]string{
	"page": {"2"}, "per_page": {"1", "100"}, "limit": {"1", "100"}, "bookings_limit": {"50"}, "before": {"100"}, "cursor": {"0"}, "wait": {"0"}, "explain": {"1"}, "duration": {"60"}, "total_attendees": {"2"},
	"agent_id": {"0", "1", "2", "5"}, "service_id": {"2", "4"}, "location_id": {"1", "2"}, "category_id": {"0", "1"},
	"/availability agent_id": {"1", "5", "any"}, "/availability location_id": {"1", "2", "any"}, "/agents/availability location_id": {"1", "2", "any"}, "/agents/availability service_id": {"2", "4", "any"},
	"customer_id":       {"SELECT DISTINCT customer_id FROM wp_latepoint_bookings ORDER BY customer_id % 7, customer_id LIMIT 3"},
	"order_id":          {"SELECT order_id FROM wp_latepoint_transactions WHERE order_id > 0 ORDER BY order_id % 7, order_id LIMIT 3"},
	"booking_id":        {"SELECT id FROM wp_latepoint_bookings ORDER BY id % 7, id LIMIT 6"},
	"cms_user_id":       {"0", "SELECT wordpress_user_id FROM wp_latepoint_customers WHERE wordpress_user_id > 0 ORDER BY id LIMIT 2"},
	"wordpress_user_id": {"0", "SELECT wordpress_user_id FROM wp_latepoint_customers WHERE wordpress_user_id > 0 ORDER BY id LIMIT 2"},
	"date":              {"2027-02-06"}, "start_time": {"11:00"}, "/availability date_to": {"2027-02-12"},
	"date_from": {"2026-12-01"}, "date_to": {"2026-12-15"}, "/payments date_from": {"2026-11-01"}, "/payments date_to": {"2026-11-20"},
	"created_date_from": {"2026-10-01"}, "created_date_to": {"2026-11-30"}, "created_after": {"2020-01-01"}, "created_before": {"2030-01-01"},
	"updated_after": {"2020-01-01"}, "updated_before": {"2030-01-01"}, "updated_from": {"2020-01-01"}, "updated_to": {"2030-01-01"},
	"created_at": {"2026"}, "updated_at": {"2026"},
	"duration_min": {"31"}, "duration_max": {"60"}, "price_min": {"60"}, "price_max": {"60"}, "amount_min": {"60"}, "amount_max": {"60"}, "total_min": {"60"}, "total_max": {"60"},
	"search": {"a", "1"}, "name": {"SELECT name FROM wp_latepoint_services ORDER BY id LIMIT 1"},
	"first_name": {"SELECT first_name FROM wp_latepoint_customers WHERE id IN (SELECT customer_id FROM wp_latepoint_bookings) ORDER BY id % 7 LIMIT 2"},
	"last_name":  {"SELECT last_name FROM wp_latepoint_customers WHERE id IN (SELECT customer_id FROM wp_latepoint_bookings) ORDER BY id % 7 LIMIT 2"},
	"email":      {"example"}, "phone": {"1"}, "/agents email": {"SELECT email FROM wp_latepoint_agents ORDER BY id"}, "/agents phone": {"SELECT phone FROM wp_latepoint_agents WHERE phone <> '' ORDER BY id"},
	"customer_email": {"example"}, "customer_phone": {"1"},
	"/time-off service_id": {},                                                                              // the site has none
	"booking_code":         {"A"}, "payment_status": {"paid", "not_paid"}, "meta_key": {}, "meta_value": {}, // see limitedQueries
	"status": {"SELECT DISTINCT status FROM wp_latepoint_bookings"}, "bookings_status": {"approved", "cancelled"}, "/payments status": {"SELECT DISTINCT status FROM wp_latepoint_transactions"},
	"payment_method": {"SELECT DISTINCT payment_method FROM wp_latepoint_transactions"}, "processor": {"SELECT DISTINCT processor FROM wp_latepoint_transactions"},
	"coupon_code": {"SELECT DISTINCT coupon_code FROM wp_latepoint_orders WHERE coupon_code <> ''"},
}

// TestLimitedKeysSeeNothingElse: to a limited key, the site looks as it would to any key if the hidden bookings,
// agents, services and locations did not exist. Every route that reads is compared with a copy of the site from
// which these were deleted: records, lists, totals and errors. Customers, orders and payments are refused, and
// bookings have neither order nor payments.
func TestLimitedKeysSeeNothingElse(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, scope := range map[string]domain.Scope{
		"an agent":                {Agents: []int64{5}},
		"agents and a location":   {Agents: []int64{1, 5}, Locations: []int64{1}},
		"a service":               {Services: []int64{4}},
		"a location":              {Locations: []int64{2}},
		"nobody":                  {Agents: []int64{999}},
		"services and a location": {Services: []int64{2, 4}, Locations: []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if scope.Agents == nil || scope.Locations == nil { // the others take long
				fixtures.RequireThorough(t)
			}
			site := fixtures.SiteA().WithCoupons().WithFewBookings()
			whole, reduced := apitest.NewServer(t, fixtures.New(t, site)), apitest.NewServer(t, fixtures.New(t, site))
			for _, s := range []*apitest.Server{whole, reduced} {
				// Bookings without an order, and of services no longer offered there.
				s.Database.Execute(t,
					"DELETE FROM wp_latepoint_agents_services WHERE (agent_id + service_id) % 3 = 0",
					"UPDATE wp_latepoint_bookings SET order_item_id = NULL WHERE id % 11 = 0",
					"UPDATE wp_latepoint_bookings SET location_id = 2 WHERE id % 5 = 0 AND location_id = 1")
			}
			whole.Key = whole.LimitedKey(scope)
			for _, statement := range reduction(scope) {
				reduced.Database.Execute(t, statement)
			}
			different, records := 0, 0
			for _, r := range handlers.Routes() {
				if r.Method != http.MethodGet || r.Path == "/changes" || strings.HasPrefix(r.Path, "/time-off") || r.Path == "/business-hours" { // see TestLimitedKeysFollowTheirChanges, TestLimitedTimeOff and TestLimitedHours
					continue
				}
				for _, path := range limitedPaths(t, whole, r.Path) {
					got := whole.Get(path)
					if beyondLimits(r) {
						apitest.WantCode(t, got, http.StatusForbidden, "outside_key_limits")
						continue
					}
					if named := got.Status == http.StatusForbidden && got.At("error", "code") == "outside_key_limits"; named && strings.Contains(path, "availability") {
						continue // which agents may be named is not a secret
					}
					want := reduced.Get(path)
					if got.Status == http.StatusOK {
						records++
					}
					if r.Path == "/bookings/:id" && want.Status == http.StatusOK {
						booking := want.Object()
						data, _ := booking["data"].(map[string]any)
						data["order"], data["transactions"] = nil, []any{}
						expect.Equal(t, booking, got.Object(), fmt.Sprintf("GET %s", path))
						continue
					}
					if got.Status != want.Status || string(got.Body) != string(want.Body) {
						if different++; different < 6 {
							t.Errorf("GET %s: %d, want %d\n%s", path, got.Status, want.Status, cmp.Diff(string(want.Body), string(got.Body)))
						}
					}
				}
			}
			if records < 50 {
				t.Errorf("only %d answers were compared", records)
			}
		})
	}
}

// TestLimitedValuesMatter: for each parameter of each list, at least one of the values that limited keys
// are tested with finds something.
func TestLimitedValuesMatter(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	for _, r := range handlers.Routes() {
		if r.Method != http.MethodGet || strings.Contains(r.Path, ":") || r.Path == "/changes" {
			continue
		}
		for name, queries := range generatedQueries(t, s, r.Path) {
			found := len(queries) == 0 || slices.ContainsFunc(queries, func(q string) bool {
				a := s.Get(r.Path + "?" + q)
				if a.Status != http.StatusOK {
					return false
				}
				list, isList := a.At("data").([]any)
				return !isList || len(list) > 0
			})
			if !found {
				t.Errorf("GET %s: no value of %s finds anything: %q; name one in limitedValues", r.Path, name, queries)
			}
		}
	}
}

// generatedQueries returns a route's queries with each value of each parameter in the API document, by
// parameter.
func generatedQueries(t *testing.T, s *apitest.Server, route string) map[string][]string {
	t.Helper()
	c := apitest.TheContract()
	path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(route, "{$1}")
	item := c.Document.Paths.Find(path)
	if item == nil {
		t.Fatalf("the API document has no %s", path)
	}
	queries := map[string][]string{}
	for _, p := range item.Get.Parameters {
		if p.Value.In != "query" {
			continue
		}
		name := p.Value.Name
		values, known := limitedValues[route+" "+name]
		if !known {
			values, known = limitedValues[name]
		}
		if words := wordsOf(p.Value.Schema.Value); len(words) > 0 {
			values, known = words, true
		}
		if !known { // a value that matches something on most sites
			values = []string{goodValues[apitest.ParameterKind(path, p.Value)]}
		}
		queries[name] = nil
		for _, value := range selected(s, values) {
			query, err := url.ParseQuery(limitedBase[route])
			expect.NoError(t, err)
			query.Set(name, value)
			if name == "page" {
				query.Set("per_page", "1")
			}
			queries[name] = append(queries[name], query.Encode())
		}
	}
	return queries
}

// wordsOf returns the values of a parameter that has a list of them.
func wordsOf(schema *openapi3.Schema) []string {
	words := apitest.FixedWords(schema)
	switch {
	case schema.Type.Includes(openapi3.TypeArray):
		return append(words, strings.Join(words, ","))
	case schema.Type.Includes(openapi3.TypeBoolean):
		return []string{"true", "false"}
	default:
		return words
	}
}

// selected returns values, with what their SELECTs find.
func selected(s *apitest.Server, values []string) (all []string) {
	s.T.Helper()
	for _, value := range values {
		if !strings.HasPrefix(value, "SELECT ") {
			all = append(all, value)
			continue
		}
		all = append(all, s.Texts(value)...)
	}
	return all
}

// recordsOf select ids of records, some visible and some not, by the part of a route's path that names
// them; the id of a nested record follows a slash.
var recordsOf = map[string]string{
	"/bookings/:id":                 "SELECT id FROM wp_latepoint_bookings ORDER BY id % 13, id LIMIT 14",
	"/customers/:id":                "SELECT id FROM wp_latepoint_customers ORDER BY id % 13, id LIMIT 14",
	"/agents/:id":                   "SELECT id FROM wp_latepoint_agents ORDER BY id",
	"/locations/:id":                "SELECT id FROM wp_latepoint_locations ORDER BY id",
	"/services/:id":                 "SELECT id FROM wp_latepoint_services ORDER BY id",
	"/payments/:id":                 "SELECT id FROM wp_latepoint_transactions ORDER BY id % 13, id LIMIT 14",
	"/orders/:id":                   "SELECT id FROM wp_latepoint_orders ORDER BY id % 13, id LIMIT 14",
	"/coupons/:code":                "SELECT code FROM wp_latepoint_coupons",
	"/holds/:id":                    "SELECT 1", // of each key
	"/time-off/:id":                 "SELECT 2 * id FROM wp_latepoint_work_periods WHERE custom_date IS NOT NULL AND end_time = 0",
	"/webhooks/:id":                 "SELECT 1", // of each key
	"/invoices/:invoice_id":         "SELECT CONCAT(order_id, '/', id) FROM wp_latepoint_order_invoices ORDER BY id % 13, id LIMIT 14",
	"/transactions/:transaction_id": "SELECT CONCAT(order_id, '/', id) FROM wp_latepoint_transactions WHERE order_id > 0 ORDER BY id % 13, id LIMIT 14",
}

// fewRecords is the number of records for which every query of a route is sent; for others only the path.
const fewRecords = 4

// limitedPaths returns a route's paths with all queries, and several records.
func limitedPaths(t *testing.T, s *apitest.Server, route string) (paths []string) {
	t.Helper()
	queries := limitedQueries[route]
	for _, generated := range generatedQueries(t, s, route) {
		queries = append(queries, generated...)
	}
	i := strings.LastIndex(route, ":")
	if i < 0 {
		for _, query := range append(queries, "") {
			paths = append(paths, route+"?"+query)
		}
		return paths
	}
	name, _, _ := strings.Cut(route[i:], "/")
	of, known := recordsOf[route[strings.LastIndex(route[:i-1], "/"):i]+name]
	if !known {
		t.Fatalf("no records for %s", route)
	}
	for n, id := range selected(s, []string{of}) {
		outer, inner, _ := strings.Cut(id, "/")
		path := strings.NewReplacer(":id", outer, ":code", outer, ":invoice_id", inner, ":transaction_id", inner).Replace(route)
		paths = append(paths, path)
		for _, query := range queries {
			if n < fewRecords {
				paths = append(paths, path+"?"+query)
			}
		}
	}
	return paths
}

// TestLimitedKeysWriteNothingElse: a limited key gets 404 for records that it does not see, 403 for what it
// names outside its scope or may not write, and nothing is written. Every route that writes has a case.
// Inside its scope, the key writes what any key would.
func TestLimitedKeysWriteNothingElse(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	all := s.Key
	mine := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)).Want(http.StatusCreated).At("data", "id"))
	customer := fmt.Sprint(s.Get("/bookings/"+mine).At("data", "customer", "id"))
	id := apitest.Scalar[int64](t, s, "SELECT MIN(id) FROM wp_latepoint_bookings WHERE agent_id = 1 AND status = 'approved' AND customer_id NOT IN (SELECT customer_id FROM wp_latepoint_bookings WHERE agent_id = 5)")
	of := apitest.Scalar[int64](t, s, fmt.Sprint("SELECT customer_id FROM wp_latepoint_bookings WHERE id = ", id))
	webhook := fmt.Sprint(s.Write(http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusCreated).At("data", "id"))
	hold := s.KeepSlot(t, apitest.HoldBody("start_time", `"15:00"`))
	timeOff := fmt.Sprint("/time-off/", s.Write(http.MethodPost, "/time-off", `{"date":"2027-03-08","agent_id":1}`).Want(http.StatusCreated).At("data", "id"))
	shared := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-19"`)).Want(http.StatusCreated).At("data", "id"))
	s.Database.Execute(t, "UPDATE wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id JOIN wp_latepoint_bookings c ON c.id = "+fmt.Sprint(id)+
		" JOIN wp_latepoint_order_items j ON j.id = c.order_item_id SET i.order_id = j.order_id WHERE b.id = "+shared)
	hidden := strings.NewReplacer("/webhooks/:id", "/webhooks/"+webhook, "/holds/:id", "/holds/"+hold, "/time-off/:id", timeOff, "/bookings/:id", fmt.Sprint("/bookings/", id), ":invoice_id", "1", ":code", "WELCOME10", ":id", "1")
	s.Key = s.LimitedKey(domain.Scope{Agents: []int64{5}, Services: []int64{4}})
	s.Get("/status").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
	untested := map[string]bool{} // routes that write and name no record
	for _, r := range handlers.Routes() {
		switch {
		case r.Method == http.MethodGet:
		case beyondLimits(r):
			for _, body := range []string{`{}`, `{"first_name":"A","last_name":"B","email":"new@example.test","name":"New","customer_id":` + customer + `,"subtotal":1,"total":1,"code":"NEW"}`} {
				apitest.WantCode(t, s.Write(r.Method, hidden.Replace(r.Path), body), http.StatusForbidden, "outside_key_limits")
			}
		case strings.Contains(r.Path, ":"):
			s.Write(r.Method, hidden.Replace(r.Path)+"?force=true", `{"notes":"x","name":"x","delivery_id":1}`).Want(http.StatusNotFound)
		default:
			untested[r.Method+" "+r.Path] = true
		}
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"a booking with another agent":     {http.MethodPost, "/bookings", apitest.Friday("agent_id", "1"), http.StatusForbidden},
		"bookings in bulk":                 {http.MethodPost, "/bookings/bulk", `[` + apitest.Friday("agent_id", "1") + `]`, http.StatusBadRequest},
		"a webhook of another agent":       {http.MethodPost, "/webhooks", apitest.NewWebhook, http.StatusForbidden},
		"a webhook of customers":           {http.MethodPost, "/webhooks", `{"url":"https://hook.example/","events":["customer.created"]}`, http.StatusForbidden},
		"a booking of another service":     {http.MethodPost, "/bookings", apitest.Friday("service_id", "2"), http.StatusForbidden},
		"a dry run with another agent":     {http.MethodPost, "/bookings", apitest.Friday("agent_id", "1", "dry_run", "true"), http.StatusForbidden},
		"time off of another agent":        {http.MethodPost, "/time-off", `{"date":"2027-03-08","agent_id":1}`, http.StatusForbidden},
		"hours of another agent":           {http.MethodPut, "/business-hours", `{"agent_id":1,"hours":{"monday":[]}}`, http.StatusForbidden},
		"a hold with another agent":        {http.MethodPost, "/holds", apitest.HoldBody("agent_id", "1"), http.StatusForbidden},
		"a booking of a hidden customer":   {http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", fmt.Sprint(of)), http.StatusBadRequest},
		"a booking of an unknown customer": {http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", "99999"), http.StatusBadRequest},
		"a move to another agent":          {http.MethodPut, "/bookings/" + mine, `{"agent_id":1}`, http.StatusForbidden},
		"a booking to another customer":    {http.MethodPut, "/bookings/" + mine, fmt.Sprintf(`{"customer_id":%d}`, of), http.StatusForbidden},
		"a dry run of that":                {http.MethodPut, "/bookings/" + mine + "?dry_run=1", fmt.Sprintf(`{"customer_id":%d}`, of), http.StatusForbidden},
		"a customer of a booking":          {http.MethodPut, "/bookings/" + mine, `{"customer":{"last_name":"Mine"}}`, http.StatusForbidden},
		"the same by a flat name":          {http.MethodPut, "/bookings/" + mine, `{"customer.phone":"+49301"}`, http.StatusForbidden},
		"the price of others' order":       {http.MethodPut, "/bookings/" + shared, `{"price":1}`, http.StatusForbidden},
		"the notes of others' order":       {http.MethodPut, "/bookings/" + shared, `{"notes":"mine"}`, http.StatusForbidden},
	} {
		delete(untested, c.method+" "+c.path)
		a := s.Write(c.method, c.path, c.body).Want(c.status)
		if c.status == http.StatusForbidden && a.At("error", "code") != "outside_key_limits" {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
	if len(untested) > 0 {
		t.Errorf("no case for %v", slices.Sorted(maps.Keys(untested)))
	}
	same := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", "99998")).Want(http.StatusBadRequest)
	expect.Equal(t, string(same.Body), string(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", fmt.Sprint(of))).Body), "a hidden customer, instead of an unknown one")
	bulk := s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday("agent_id", "1")+`]`).Want(http.StatusBadRequest)
	if strings.Contains(string(bulk.Body), "available") {
		t.Errorf("%s", bulk.Body)
	}
	apitest.WantNoWrites(t, "outside of the limits", before)

	// Any agent means one of its own; inside the scope everything works.
	any := s.Write(http.MethodPost, "/bookings", apitest.Friday("agent_id", `"any"`, "start_time", `"13:00"`, "customer_id", customer)).Want(http.StatusCreated)
	expect.Equal(t, "5", any.At("data", "agent", "id"), "agent")
	s.Write(http.MethodPut, "/bookings/"+mine, `{"start_date":"2027-02-12","price":12,"notes":"new"}`).Want(http.StatusOK)
	conflict := s.Write(http.MethodPut, "/bookings/"+mine, `{"status":"cancelled"}`).Want(http.StatusOK)
	if conflict.At("data", "status") != "cancelled" || conflict.At("data", "order") != nil {
		t.Errorf("%s", conflict.Body)
	}
	s.Write(http.MethodDelete, "/bookings/"+mine, "").Want(http.StatusOK)
	s.Key = all
}

// TestConflictsTellNothingOfHiddenBookings: a slot occupied by a hidden booking is not free, but nobody
// learns whose booking it is.
func TestConflictsTellNothingOfHiddenBookings(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('one_location_at_time', 'on')")
	theirs := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET location_id = 2 WHERE id = "+theirs)
	conflicts := func(want any) {
		t.Helper()
		a := s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)).Want(http.StatusConflict)
		expect.Equal(t, fmt.Sprint(want), fmt.Sprint(a.At("error", "details", "conflicting_booking_id")), "the conflicting booking")
	}
	conflicts(theirs)
	s.Key = s.LimitedKey(domain.Scope{Locations: []int64{1}})
	conflicts(nil)
	day := s.Get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05&explain=1").Want(http.StatusOK)
	if strings.Contains(string(day.Body), "booking_id") || slices.Contains(day.At("data", "available_slots").([]any), any("10:00")) {
		t.Errorf("%s", day.Body)
	}
}

// TestErrorsTellNothingOfHiddenCustomers: whether a hidden customer is blocked makes no difference when
// they are named by id, and an error that they cannot book with their address reveals nothing else.
func TestErrorsTellNothingOfHiddenCustomers(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	s.Database.Execute(t, "INSERT INTO wp_latepoint_customers (id, first_name, last_name, email, phone, status, notes, created_at, updated_at) VALUES "+
		"(7001, 'Zora', 'Quell', 'zora@example.test', '+49 30 7001', 'blocked', 'zznote', '2026-01-01', '2026-01-01'), (7002, 'Yara', 'Quell', 'yara@example.test', '+49 30 7002', 'active', 'zznote', '2026-01-01', '2026-01-01')")
	mine := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	s.Key = s.LimitedKey(domain.Scope{Agents: []int64{5}})
	s.Get("/status").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
	by := func(id, email string) []string {
		sent := map[bool]string{true: "", false: `{"first_name":"A","last_name":"B","email":"` + email + `"}`}[email == ""]
		return []string{"start_time", `"13:00"`, "customer_id", id, "customer", sent}
	}
	unknown := s.Write(http.MethodPost, "/bookings", apitest.Friday(by("7999", "")...)).Want(http.StatusBadRequest)
	for _, id := range []string{"7001", "7002"} {
		for _, a := range []apitest.Answer{s.Write(http.MethodPost, "/bookings", apitest.Friday(by(id, "")...)), s.Write(http.MethodPost, "/bookings?dry_run=true", apitest.Friday(by(id, "")...))} {
			if a.Status != unknown.Status || string(a.Body) != string(unknown.Body) {
				t.Errorf("customer %s: %d %s\nan unknown one: %s", id, a.Status, a.Body, unknown.Body)
			}
		}
	}
	for _, a := range []apitest.Answer{
		s.Write(http.MethodPost, "/bookings", apitest.Friday(by("", "zora@example.test")...)).Want(http.StatusUnprocessableEntity),
		s.Write(http.MethodPost, "/bookings?dry_run=true", apitest.Friday(by("", "zora@example.test")...)).Want(http.StatusUnprocessableEntity),
		s.Write(http.MethodPost, "/bookings?dry_run=true", apitest.Friday(by("", "yara@example.test")...)).Want(http.StatusOK),
		s.Write(http.MethodPut, "/bookings/"+mine, `{"customer":{"email":"yara@example.test"}}`),
	} {
		for _, word := range []string{"700", "Quell", "Zora", "Yara", "zznote", "blocked"} {
			if strings.Contains(string(a.Body), word) {
				t.Errorf("%d: %q in %s", a.Status, word, a.Body)
			}
		}
	}
	apitest.WantNoWrites(t, "what was refused or a dry run", before)
}

// TestLimitedKeysTakeNobodyOver: making somebody the customer of a booking, by their e-mail address, reveals
// nothing about them and changes nothing: the booking shows them as they were described, to every limited key
// and in every form, and to all others as they are stored.
func TestLimitedKeysTakeNobodyOver(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.StrangersSite(t)
	all, scope := s.Key, domain.Scope{Agents: []int64{5}}
	first, other := s.LimitedKey(scope), s.LimitedKey(scope)
	for i, c := range []struct{ id, email, phone string }{{"7100", "zora@example.test", "777100"}, {"7101", "yara@example.test", "777101"}} {
		s.Key = first
		described := fmt.Sprintf(`{"first_name":"Guéss","last_name":"Who","email":%q,"phone":"+49 30 5550"}`, strings.ToUpper(c.email[:1])+c.email[1:])
		body := apitest.Friday("start_time", fmt.Sprintf(`"1%d:00"`, 3+2*i), "customer_id", "", "customer", described)
		before := s.Database.Snapshot(t)
		dry := s.Write(http.MethodPost, "/bookings?dry_run=true", body).Want(http.StatusOK)
		expect.Equal(t, "0", fmt.Sprint(dry.At("data", "customer", "id")), "the id that a dry run shows")
		made := s.Write(http.MethodPost, "/bookings", body, "Idempotency-Key", c.id).Want(http.StatusCreated)
		for _, change := range fixtures.Changes(before, before.Again(t)) {
			if change.Table == "latepoint_customers" && len(change.Changed) > 1 || change.Table == "users" || change.Table == "usermeta" {
				t.Errorf("customer %s: %s of %s: %v", c.id, change.Op, change.Table, change.Changed)
			}
		}
		booking := fmt.Sprint(made.At("data", "id"))
		again := s.Write(http.MethodPost, "/bookings", body, "Idempotency-Key", c.id).Want(http.StatusCreated)
		moved := s.Write(http.MethodPut, "/bookings/"+booking, `{"notes":"moved"}`).Want(http.StatusOK)
		same := s.Write(http.MethodPut, "/bookings/"+booking, `{}`).Want(http.StatusOK)
		for _, s.Key = range []string{first, other} {
			for _, a := range []apitest.Answer{dry, made, again, moved, same, s.Get("/bookings/" + booking)} {
				customer, _ := a.At("data", "customer").(map[string]any)
				if customer["first_name"] != "Guéss" || customer["last_name"] != "Who" || customer["phone"] != "+49305550" || a.At("data", "order") != nil {
					t.Errorf("customer %s: %s", c.id, a.Body)
				}
			}
			for _, path := range []string{"/bookings?per_page=100", "/bookings?customer_id=" + c.id, "/bookings?search=Who", "/bookings?per_page=100&sort=customer_name", "/bookings/" + booking, "/changes?cursor=0&include=record"} {
				for _, accept := range []string{"application/json", "text/csv", "text/calendar"} {
					a := s.Write(http.MethodGet, path, "", "Accept", accept)
					if text := string(a.Body); strings.Contains(text, "zzqq") || strings.Contains(text, c.phone) || regexp.MustCompile(`[",](Zora|Yara)[",]`).MatchString(text) {
						t.Errorf("GET %s (%s): %s", path, accept, a.Body)
					}
				}
			}
			for query, found := range map[string]int{
				"customer_phone=" + c.phone: 0, "customer_phone=5550": 1 + i, "customer_email=" + c.email: 1, "search=Quell&customer_id=" + c.id: 0, "search=gUESs": 1 + i, "search=" + c.email[:4]: 1, "customer_id=" + c.id: 1,
			} {
				expect.Equal(t, found, len(s.Get("/bookings?"+query).Want(http.StatusOK).Records()), fmt.Sprintf("found by GET /bookings?%s", query))
			}
			if names := each(s.Get("/bookings?sort=customer_name&order=asc&per_page=100&date_from=2027-02-05&date_to=2027-02-05").Want(http.StatusOK).Records(), func(b map[string]any) string {
				return fmt.Sprint(b["customer"].(map[string]any)["first_name"])
			}); !slices.IsSorted(names) {
				t.Errorf("sorted by what is stored: %v", names)
			}
		}
		options := handlers.WebhookOptions(s.Platform, s.Keys, false)
		key := apitest.Scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
		if record, found, err := options.Record(t.Context(), key, jobs.HookFilter{}, journal.Bookings, int64(apitest.IDNumber(t, booking))); err != nil || !found || !strings.Contains(string(record), "Guéss") || strings.Contains(string(record), c.phone) {
			t.Errorf("webhook: %s, found %t, %v", record, found, err)
		}
		s.Key = all
		if a := s.Get("/bookings/" + booking).Want(http.StatusOK); a.At("data", "customer", "last_name") != "Quell" || !strings.HasSuffix(fmt.Sprint(a.At("data", "customer", "phone")), c.phone) {
			t.Errorf("%s", a.Body)
		}
		expect.Equal(t, 1, len(s.Get("/bookings?search=Quell&customer_id="+c.id+"&agent_id=5").Records()), "bookings found")
	}
	// A customer named by id is one whom the key sees, as it sees them.
	s.Key = other
	stored := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-26"`, "customer_id", "7102")).Want(http.StatusCreated)
	guessed := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-26"`, "start_time", `"13:00"`, "customer_id", "7101")).Want(http.StatusCreated)
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET phone = '+49309' WHERE id = 7102", "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE customer_id = 7102 AND id <> "+fmt.Sprint(stored.At("data", "id")))
	for _, a := range []apitest.Answer{stored, s.Get(fmt.Sprintf("/bookings/%v", stored.At("data", "id")))} {
		if a.At("data", "customer", "email") != "xaver@example.test" || a.At("data", "customer", "phone") != "+4930777102" {
			t.Errorf("%s", a.Body)
		}
	}
	if a := s.Get(fmt.Sprintf("/bookings/%v", guessed.At("data", "id"))); a.At("data", "customer", "first_name") != "Guéss" || a.At("data", "customer", "id") != guessed.At("data", "customer", "id") {
		t.Errorf("%s", a.Body)
	}
	// What is kept goes with the booking.
	s.Write(http.MethodDelete, fmt.Sprintf("/bookings/%v?force=true", stored.At("data", "id")), "").Want(http.StatusOK)
	if n, err := jobs.NewSweeper(s.Platform.DB, s.Platform.Now, slog.New(slog.DiscardHandler)).Forget(t.Context()); err != nil || n != 1 {
		t.Errorf("%d rows swept, %v", n, err)
	}
}

// TestNewKeysInheritNothing: if the tables of keys and webhooks were emptied, new ones do not get the ids
// of old ones, with the records that these created and the deliveries that were sent to them.
func TestNewKeysInheritNothing(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	admin := s.Key
	for range 3 { // so that the id of the key below exceeds those of new keys
		s.LimitedKey(domain.Scope{Agents: []int64{5}})
	}
	old, key := apitest.CreateKey(t, s.Keys, keys.NewKey{Permissions: []string{"read", "write", "delete", "write_webhooks"}, Scope: domain.Scope{Agents: []int64{5}}})
	for what, statements := range map[string][]string{
		"a webhook":      {"INSERT INTO wp_bookside_webhooks (name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at) VALUES ('', 'https://hook.example/', '*', '', '', '', 0, 0, %d, '', 'enabled', 0, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_webhooks"},
		"a hold":         {"INSERT INTO wp_bookside_holds SELECT NULL, %d, 1, 1, 1, '2027-01-01', '2027-01-01', 0, 0, 0, 0, 0, 1, UTC_TIMESTAMP(), UTC_TIMESTAMP(), ''", "TRUNCATE wp_bookside_holds"},
		"a change":       {"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, origin, actor_id, at) VALUES (1, 'bookings', 1, 'updated', 'api', %[1]d, UTC_TIMESTAMP()), (2, 'bookings', 1, 'updated', 'site', 99 + %[1]d, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_changes"},
		"a waiting one":  {"INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, actor_id, at) VALUES ('bookings', 1, 'updated', 'api', %d, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_change_inbox"},
		"nothing at all": {"DO %d", "DO 0"},
	} {
		s.Database.Execute(t, "TRUNCATE wp_bookside_api_keys", fmt.Sprintf(statements[0], key.ID))
		want := key.ID + 1
		if what == "nothing at all" {
			want = 1
		}
		for i := range int64(2) {
			if _, fresh, err := s.Keys.Create(t.Context(), keys.NewKey{Name: "new", Kind: keys.Live}); err != nil || fresh.ID != want+i {
				t.Errorf("%s: the new key has the id %d, want %d, %v", what, fresh.ID, want+i, err)
			}
		}
		s.Database.Execute(t, statements[1])
	}
	for _, statement := range []string{
		"INSERT INTO wp_bookside_webhook_deliveries (webhook_id, event, resource, resource_id, at, data, status, tries, due_at, created_at) VALUES (7, 'booking.created', 'bookings', 1, UTC_TIMESTAMP(), '', 'delivered', 1, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
		"INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES (8, 1, UTC_TIMESTAMP(), 200, 1, '', '')",
	} {
		s.Database.Execute(t, "TRUNCATE wp_bookside_webhooks", statement)
	}
	if _, err := s.Keys.Import(t.Context(), admin, keys.NewKey{Name: "admin", Permissions: []string{"read", "write", "read_changes", "write_webhooks"}}, true); err != nil {
		t.Fatal(err)
	}
	for want := 9; want < 11; want++ {
		expect.Equal(t, fmt.Sprint(want), fmt.Sprint(s.Write(http.MethodPost, "/webhooks", apitest.NewWebhook).Want(http.StatusCreated).At("data", "id")), "id of the new webhook")
	}
	s.Key = old
	s.Get("/status").Want(http.StatusUnauthorized)
}

// TestTotalsInOtherScopes: a limited key is told how many bookings it may see.
func TestTotalsInOtherScopes(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	for _, scope := range []domain.Scope{{}, {Agents: []int64{1}}, {Agents: []int64{5}}, {Agents: []int64{1, 5}}, {Locations: []int64{1}}, {Agents: []int64{1}, Locations: []int64{1}}} {
		s.Key = s.LimitedKey(scope)
		total := s.Get("/bookings?per_page=1").Want(http.StatusOK).At("pagination", "total")
		expect.Equal(t, fmt.Sprint(apitest.Scalar[int](t, s, "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE "+withinSQL(scope))), fmt.Sprint(total), fmt.Sprintf("limits %v: total %v", scope, total))
	}
}
