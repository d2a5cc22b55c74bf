package handlers_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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
)

// limitedKey creates a limited key with all permissions.
func (s *server) limitedKey(scope domain.Scope) string {
	s.t.Helper()
	all := []string{"read", "write", "delete", "read_changes", "write_users", "write_webhooks"}
	secret, _ := createKey(s.t, s.keys, keys.NewKey{Permissions: all, Scope: scope})
	return secret
}

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
			whole, reduced := newServer(t, fixtures.New(t, site)), newServer(t, fixtures.New(t, site))
			for _, s := range []*server{whole, reduced} {
				// Bookings without an order, and of services no longer offered there.
				s.database.Execute(t,
					"DELETE FROM wp_latepoint_agents_services WHERE (agent_id + service_id) % 3 = 0",
					"UPDATE wp_latepoint_bookings SET order_item_id = NULL WHERE id % 11 = 0",
					"UPDATE wp_latepoint_bookings SET location_id = 2 WHERE id % 5 = 0 AND location_id = 1")
			}
			whole.key = whole.limitedKey(scope)
			for _, statement := range reduction(scope) {
				reduced.database.Execute(t, statement)
			}
			different, records := 0, 0
			for _, r := range handlers.Routes() {
				if r.Method != http.MethodGet || r.Path == "/changes" || strings.HasPrefix(r.Path, "/time-off") || r.Path == "/business-hours" { // see TestLimitedKeysFollowTheirChanges, TestLimitedTimeOff and TestLimitedHours
					continue
				}
				for _, path := range limitedPaths(t, whole, r.Path) {
					got := whole.get(path)
					if beyondLimits(r) {
						wantCode(t, got, http.StatusForbidden, "outside_key_limits")
						continue
					}
					if named := got.status == http.StatusForbidden && got.at("error", "code") == "outside_key_limits"; named && strings.Contains(path, "availability") {
						continue // which agents may be named is not a secret
					}
					want := reduced.get(path)
					if got.status == http.StatusOK {
						records++
					}
					if r.Path == "/bookings/:id" && want.status == http.StatusOK {
						booking := want.object()
						data, _ := booking["data"].(map[string]any)
						data["order"], data["transactions"] = nil, []any{}
						expect.Equal(t, booking, got.object(), fmt.Sprintf("GET %s", path))
						continue
					}
					if got.status != want.status || string(got.body) != string(want.body) {
						if different++; different < 6 {
							t.Errorf("GET %s: %d, want %d\n%s", path, got.status, want.status, cmp.Diff(string(want.body), string(got.body)))
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
	s := sharedServer(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	for _, r := range handlers.Routes() {
		if r.Method != http.MethodGet || strings.Contains(r.Path, ":") || r.Path == "/changes" {
			continue
		}
		for name, queries := range generatedQueries(t, s, r.Path) {
			found := len(queries) == 0 || slices.ContainsFunc(queries, func(q string) bool {
				a := s.get(r.Path + "?" + q)
				if a.status != http.StatusOK {
					return false
				}
				list, isList := a.at("data").([]any)
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
func generatedQueries(t *testing.T, s *server, route string) map[string][]string {
	t.Helper()
	c := theContract()
	path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(route, "{$1}")
	item := c.document.Paths.Find(path)
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
			values = []string{goodValues[parameterKind(path, p.Value)]}
		}
		queries[name] = nil
		for _, value := range s.selected(values) {
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
	words := fixedWords(schema)
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
func (s *server) selected(values []string) (all []string) {
	s.t.Helper()
	for _, value := range values {
		if !strings.HasPrefix(value, "SELECT ") {
			all = append(all, value)
			continue
		}
		all = append(all, s.texts(value)...)
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
func limitedPaths(t *testing.T, s *server, route string) (paths []string) {
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
	for n, id := range s.selected([]string{of}) {
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
	s := ownWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, fillLocks)
	all := s.key
	mine := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)).want(http.StatusCreated).at("data", "id"))
	customer := fmt.Sprint(s.get("/bookings/"+mine).at("data", "customer", "id"))
	id := scalar[int64](t, s, "SELECT MIN(id) FROM wp_latepoint_bookings WHERE agent_id = 1 AND status = 'approved' AND customer_id NOT IN (SELECT customer_id FROM wp_latepoint_bookings WHERE agent_id = 5)")
	of := scalar[int64](t, s, fmt.Sprint("SELECT customer_id FROM wp_latepoint_bookings WHERE id = ", id))
	webhook := fmt.Sprint(s.write(http.MethodPost, "/webhooks", newWebhook).want(http.StatusCreated).at("data", "id"))
	hold := s.keepSlot(t, holdBody("start_time", `"15:00"`))
	timeOff := fmt.Sprint("/time-off/", s.write(http.MethodPost, "/time-off", `{"date":"2027-03-08","agent_id":1}`).want(http.StatusCreated).at("data", "id"))
	shared := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-19"`)).want(http.StatusCreated).at("data", "id"))
	s.database.Execute(t, "UPDATE wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id JOIN wp_latepoint_bookings c ON c.id = "+fmt.Sprint(id)+
		" JOIN wp_latepoint_order_items j ON j.id = c.order_item_id SET i.order_id = j.order_id WHERE b.id = "+shared)
	hidden := strings.NewReplacer("/webhooks/:id", "/webhooks/"+webhook, "/holds/:id", "/holds/"+hold, "/time-off/:id", timeOff, "/bookings/:id", fmt.Sprint("/bookings/", id), ":invoice_id", "1", ":code", "WELCOME10", ":id", "1")
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}, Services: []int64{4}})
	s.get("/status").want(http.StatusOK)
	before := s.database.Snapshot(t)
	untested := map[string]bool{} // routes that write and name no record
	for _, r := range handlers.Routes() {
		switch {
		case r.Method == http.MethodGet:
		case beyondLimits(r):
			for _, body := range []string{`{}`, `{"first_name":"A","last_name":"B","email":"new@example.test","name":"New","customer_id":` + customer + `,"subtotal":1,"total":1,"code":"NEW"}`} {
				wantCode(t, s.write(r.Method, hidden.Replace(r.Path), body), http.StatusForbidden, "outside_key_limits")
			}
		case strings.Contains(r.Path, ":"):
			s.write(r.Method, hidden.Replace(r.Path)+"?force=true", `{"notes":"x","name":"x","delivery_id":1}`).want(http.StatusNotFound)
		default:
			untested[r.Method+" "+r.Path] = true
		}
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"a booking with another agent":     {http.MethodPost, "/bookings", friday("agent_id", "1"), http.StatusForbidden},
		"bookings in bulk":                 {http.MethodPost, "/bookings/bulk", `[` + friday("agent_id", "1") + `]`, http.StatusBadRequest},
		"a webhook of another agent":       {http.MethodPost, "/webhooks", newWebhook, http.StatusForbidden},
		"a webhook of customers":           {http.MethodPost, "/webhooks", `{"url":"https://hook.example/","events":["customer.created"]}`, http.StatusForbidden},
		"a booking of another service":     {http.MethodPost, "/bookings", friday("service_id", "2"), http.StatusForbidden},
		"a dry run with another agent":     {http.MethodPost, "/bookings", friday("agent_id", "1", "dry_run", "true"), http.StatusForbidden},
		"time off of another agent":        {http.MethodPost, "/time-off", `{"date":"2027-03-08","agent_id":1}`, http.StatusForbidden},
		"hours of another agent":           {http.MethodPut, "/business-hours", `{"agent_id":1,"hours":{"monday":[]}}`, http.StatusForbidden},
		"a hold with another agent":        {http.MethodPost, "/holds", holdBody("agent_id", "1"), http.StatusForbidden},
		"a booking of a hidden customer":   {http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", fmt.Sprint(of)), http.StatusBadRequest},
		"a booking of an unknown customer": {http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", "99999"), http.StatusBadRequest},
		"a move to another agent":          {http.MethodPut, "/bookings/" + mine, `{"agent_id":1}`, http.StatusForbidden},
		"a booking to another customer":    {http.MethodPut, "/bookings/" + mine, fmt.Sprintf(`{"customer_id":%d}`, of), http.StatusForbidden},
		"a dry run of that":                {http.MethodPut, "/bookings/" + mine + "?dry_run=1", fmt.Sprintf(`{"customer_id":%d}`, of), http.StatusForbidden},
		"a customer of a booking":          {http.MethodPut, "/bookings/" + mine, `{"customer":{"last_name":"Mine"}}`, http.StatusForbidden},
		"the same by a flat name":          {http.MethodPut, "/bookings/" + mine, `{"customer.phone":"+49301"}`, http.StatusForbidden},
		"the price of others' order":       {http.MethodPut, "/bookings/" + shared, `{"price":1}`, http.StatusForbidden},
		"the notes of others' order":       {http.MethodPut, "/bookings/" + shared, `{"notes":"mine"}`, http.StatusForbidden},
	} {
		delete(untested, c.method+" "+c.path)
		a := s.write(c.method, c.path, c.body).want(c.status)
		if c.status == http.StatusForbidden && a.at("error", "code") != "outside_key_limits" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if len(untested) > 0 {
		t.Errorf("no case for %v", slices.Sorted(maps.Keys(untested)))
	}
	same := s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", "99998")).want(http.StatusBadRequest)
	expect.Equal(t, string(same.body), string(s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", fmt.Sprint(of))).body), "a hidden customer, instead of an unknown one")
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday("agent_id", "1")+`]`).want(http.StatusBadRequest)
	if strings.Contains(string(bulk.body), "available") {
		t.Errorf("%s", bulk.body)
	}
	wantNoWrites(t, "outside of the limits", before)

	// Any agent means one of its own; inside the scope everything works.
	any := s.write(http.MethodPost, "/bookings", friday("agent_id", `"any"`, "start_time", `"13:00"`, "customer_id", customer)).want(http.StatusCreated)
	expect.Equal(t, "5", any.at("data", "agent", "id"), "agent")
	s.write(http.MethodPut, "/bookings/"+mine, `{"start_date":"2027-02-12","price":12,"notes":"new"}`).want(http.StatusOK)
	conflict := s.write(http.MethodPut, "/bookings/"+mine, `{"status":"cancelled"}`).want(http.StatusOK)
	if conflict.at("data", "status") != "cancelled" || conflict.at("data", "order") != nil {
		t.Errorf("%s", conflict.body)
	}
	s.write(http.MethodDelete, "/bookings/"+mine, "").want(http.StatusOK)
	s.key = all
}

// TestConflictsTellNothingOfHiddenBookings: a slot occupied by a hidden booking is not free, but nobody
// learns whose booking it is.
func TestConflictsTellNothingOfHiddenBookings(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('one_location_at_time', 'on')")
	theirs := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET location_id = 2 WHERE id = "+theirs)
	conflicts := func(want any) {
		t.Helper()
		a := s.write(http.MethodPost, "/bookings", friday("customer_id", "", "customer", newCustomer)).want(http.StatusConflict)
		expect.Equal(t, fmt.Sprint(want), fmt.Sprint(a.at("error", "details", "conflicting_booking_id")), "the conflicting booking")
	}
	conflicts(theirs)
	s.key = s.limitedKey(domain.Scope{Locations: []int64{1}})
	conflicts(nil)
	day := s.get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05&explain=1").want(http.StatusOK)
	if strings.Contains(string(day.body), "booking_id") || slices.Contains(day.at("data", "available_slots").([]any), any("10:00")) {
		t.Errorf("%s", day.body)
	}
}

// TestLimitedKeysSeeRefunds: a limited key, which sees no order, is shown the same payment status of a booking
// in a list, alone and as the answer of a change.
func TestLimitedKeysSeeRefunds(t *testing.T) {
	s, _ := paidOrder(t)
	s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":35,"kind":"refund"}`).want(http.StatusCreated)
	agent, err := strconv.ParseInt(fmt.Sprint(s.get("/bookings/1441").at("data", "agent", "id")), 10, 64)
	expect.NoError(t, err)
	s.key = s.limitedKey(domain.Scope{Agents: []int64{agent}})
	for way, shown := range map[string]any{
		"list":   s.get("/bookings?booking_code="+fmt.Sprint(s.get("/bookings/1441").at("data", "booking_code"))).at("data", 0, "payment_status"),
		"alone":  s.get("/bookings/1441").at("data", "payment_status"),
		"change": s.write(http.MethodPut, "/bookings/1441", `{"custom_fields":{}}`).want(http.StatusOK).at("data", "payment_status"),
	} {
		expect.Equal(t, "partially_refunded", shown, way)
	}
}

// TestErrorsTellNothingOfHiddenCustomers: whether a hidden customer is blocked makes no difference when
// they are named by id, and an error that they cannot book with their address reveals nothing else.
func TestErrorsTellNothingOfHiddenCustomers(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	s.database.Execute(t, "INSERT INTO wp_latepoint_customers (id, first_name, last_name, email, phone, status, notes, created_at, updated_at) VALUES "+
		"(7001, 'Zora', 'Quell', 'zora@example.test', '+49 30 7001', 'blocked', 'zznote', '2026-01-01', '2026-01-01'), (7002, 'Yara', 'Quell', 'yara@example.test', '+49 30 7002', 'active', 'zznote', '2026-01-01', '2026-01-01')")
	mine := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}})
	s.get("/status").want(http.StatusOK)
	before := s.database.Snapshot(t)
	by := func(id, email string) []string {
		sent := map[bool]string{true: "", false: `{"first_name":"A","last_name":"B","email":"` + email + `"}`}[email == ""]
		return []string{"start_time", `"13:00"`, "customer_id", id, "customer", sent}
	}
	unknown := s.write(http.MethodPost, "/bookings", friday(by("7999", "")...)).want(http.StatusBadRequest)
	for _, id := range []string{"7001", "7002"} {
		for _, a := range []answer{s.write(http.MethodPost, "/bookings", friday(by(id, "")...)), s.write(http.MethodPost, "/bookings?dry_run=true", friday(by(id, "")...))} {
			if a.status != unknown.status || string(a.body) != string(unknown.body) {
				t.Errorf("customer %s: %d %s\nan unknown one: %s", id, a.status, a.body, unknown.body)
			}
		}
	}
	for _, a := range []answer{
		s.write(http.MethodPost, "/bookings", friday(by("", "zora@example.test")...)).want(http.StatusUnprocessableEntity),
		s.write(http.MethodPost, "/bookings?dry_run=true", friday(by("", "zora@example.test")...)).want(http.StatusUnprocessableEntity),
		s.write(http.MethodPost, "/bookings?dry_run=true", friday(by("", "yara@example.test")...)).want(http.StatusOK),
		s.write(http.MethodPut, "/bookings/"+mine, `{"customer":{"email":"yara@example.test"}}`),
	} {
		for _, word := range []string{"700", "Quell", "Zora", "Yara", "zznote", "blocked"} {
			if strings.Contains(string(a.body), word) {
				t.Errorf("%d: %q in %s", a.status, word, a.body)
			}
		}
	}
	wantNoWrites(t, "what was refused or a dry run", before)
}

// strangers are customers whose every field has a mark: 7100 has a booking of agent 1, 7101 has none, 7102
// has only bookings of agent 5. 7100 and 7102 are users of the site.
var strangers = []string{
	"INSERT INTO wp_users (ID, user_login, user_email, display_name) VALUES (7100, 'zora', 'zora@example.test', 'Zora'), (7102, 'xaver', 'xaver@example.test', 'Xaver')",
	`INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (7100, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (7102, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (7102, 'first_name', 'Xaver')`,
	"INSERT INTO wp_latepoint_customers (id, first_name, last_name, email, phone, status, notes, admin_notes, wordpress_user_id, created_at, updated_at) VALUES " +
		"(7100, 'Zora', 'Quell', 'zora@example.test', '+4930777100', 'active', 'zzqq', 'zzqq', 7100, '2026-01-01', '2026-01-01'), " +
		"(7101, 'Yara', 'Quell', 'yara@example.test', '+4930777101', 'active', 'zzqq', 'zzqq', NULL, '2026-01-01', '2026-01-01'), " +
		"(7102, 'Xaver', 'Quell', 'xaver@example.test', '+4930777102', 'active', 'note', 'admin', 7102, '2026-01-01', '2026-01-01')",
	"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) SELECT c.id, m.k, 'zzqq' FROM wp_latepoint_customers c JOIN (SELECT 'address' AS k UNION SELECT 'date_of_birth' UNION SELECT 'cf_zz') m WHERE c.id IN (7100, 7101)",
}

// strangersSite has the strangers and their bookings.
func strangersSite(t *testing.T) *server {
	t.Helper()
	s := usersSite(t)
	s.database.Execute(t, fillLocks)
	s.database.Execute(t, strangers...)
	s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-19"`, "customer_id", "7100")).want(http.StatusCreated)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE customer_id = 7100", "DELETE FROM wp_bookside_idempotency")
	s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-12"`, "customer_id", "7102")).want(http.StatusCreated)
	return s
}

// TestLimitedKeysTakeNobodyOver: making somebody the customer of a booking, by their e-mail address, reveals
// nothing about them and changes nothing: the booking shows them as they were described, to every limited key
// and in every form, and to all others as they are stored.
func TestLimitedKeysTakeNobodyOver(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := strangersSite(t)
	all, scope := s.key, domain.Scope{Agents: []int64{5}}
	first, other := s.limitedKey(scope), s.limitedKey(scope)
	for i, c := range []struct{ id, email, phone string }{{"7100", "zora@example.test", "777100"}, {"7101", "yara@example.test", "777101"}} {
		s.key = first
		described := fmt.Sprintf(`{"first_name":"Guéss","last_name":"Who","email":%q,"phone":"+49 30 5550"}`, strings.ToUpper(c.email[:1])+c.email[1:])
		body := friday("start_time", fmt.Sprintf(`"1%d:00"`, 3+2*i), "customer_id", "", "customer", described)
		before := s.database.Snapshot(t)
		dry := s.write(http.MethodPost, "/bookings?dry_run=true", body).want(http.StatusOK)
		expect.Equal(t, "0", fmt.Sprint(dry.at("data", "customer", "id")), "the id that a dry run shows")
		made := s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", c.id).want(http.StatusCreated)
		for _, change := range fixtures.Changes(before, before.Again(t)) {
			if change.Table == "latepoint_customers" && len(change.Changed) > 1 || change.Table == "users" || change.Table == "usermeta" {
				t.Errorf("customer %s: %s of %s: %v", c.id, change.Op, change.Table, change.Changed)
			}
		}
		booking := fmt.Sprint(made.at("data", "id"))
		again := s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", c.id).want(http.StatusCreated)
		moved := s.write(http.MethodPut, "/bookings/"+booking, `{"notes":"moved"}`).want(http.StatusOK)
		same := s.write(http.MethodPut, "/bookings/"+booking, `{}`).want(http.StatusOK)
		for _, s.key = range []string{first, other} {
			for _, a := range []answer{dry, made, again, moved, same, s.get("/bookings/" + booking)} {
				customer, _ := a.at("data", "customer").(map[string]any)
				if customer["first_name"] != "Guéss" || customer["last_name"] != "Who" || customer["phone"] != "+49305550" || a.at("data", "order") != nil {
					t.Errorf("customer %s: %s", c.id, a.body)
				}
			}
			for _, path := range []string{"/bookings?per_page=100", "/bookings?customer_id=" + c.id, "/bookings?search=Who", "/bookings?per_page=100&sort=customer_name", "/bookings/" + booking, "/changes?cursor=0&include=record"} {
				for _, accept := range []string{"application/json", "text/csv", "text/calendar"} {
					a := s.write(http.MethodGet, path, "", "Accept", accept)
					if text := string(a.body); strings.Contains(text, "zzqq") || strings.Contains(text, c.phone) || regexp.MustCompile(`[",](Zora|Yara)[",]`).MatchString(text) {
						t.Errorf("GET %s (%s): %s", path, accept, a.body)
					}
				}
			}
			for query, found := range map[string]int{
				"customer_phone=" + c.phone: 0, "customer_phone=5550": 1 + i, "customer_email=" + c.email: 1, "search=Quell&customer_id=" + c.id: 0, "search=gUESs": 1 + i, "search=" + c.email[:4]: 1, "customer_id=" + c.id: 1,
			} {
				expect.Equal(t, found, len(s.get("/bookings?"+query).want(http.StatusOK).records()), fmt.Sprintf("found by GET /bookings?%s", query))
			}
			if names := each(s.get("/bookings?sort=customer_name&order=asc&per_page=100&date_from=2027-02-05&date_to=2027-02-05").want(http.StatusOK).records(), func(b map[string]any) string {
				return fmt.Sprint(b["customer"].(map[string]any)["first_name"])
			}); !slices.IsSorted(names) {
				t.Errorf("sorted by what is stored: %v", names)
			}
		}
		options := handlers.WebhookOptions(s.platform, s.keys, false)
		key := scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
		if record, found, err := options.Record(t.Context(), key, jobs.HookFilter{}, journal.Bookings, int64(idNumber(t, booking))); err != nil || !found || !strings.Contains(string(record), "Guéss") || strings.Contains(string(record), c.phone) {
			t.Errorf("webhook: %s, found %t, %v", record, found, err)
		}
		s.key = all
		if a := s.get("/bookings/" + booking).want(http.StatusOK); a.at("data", "customer", "last_name") != "Quell" || !strings.HasSuffix(fmt.Sprint(a.at("data", "customer", "phone")), c.phone) {
			t.Errorf("%s", a.body)
		}
		expect.Equal(t, 1, len(s.get("/bookings?search=Quell&customer_id="+c.id+"&agent_id=5").records()), "bookings found")
	}
	// A customer named by id is one whom the key sees, as it sees them.
	s.key = other
	stored := s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-26"`, "customer_id", "7102")).want(http.StatusCreated)
	guessed := s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-26"`, "start_time", `"13:00"`, "customer_id", "7101")).want(http.StatusCreated)
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET phone = '+49309' WHERE id = 7102", "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE customer_id = 7102 AND id <> "+fmt.Sprint(stored.at("data", "id")))
	for _, a := range []answer{stored, s.get(fmt.Sprintf("/bookings/%v", stored.at("data", "id")))} {
		if a.at("data", "customer", "email") != "xaver@example.test" || a.at("data", "customer", "phone") != "+4930777102" {
			t.Errorf("%s", a.body)
		}
	}
	if a := s.get(fmt.Sprintf("/bookings/%v", guessed.at("data", "id"))); a.at("data", "customer", "first_name") != "Guéss" || a.at("data", "customer", "id") != guessed.at("data", "customer", "id") {
		t.Errorf("%s", a.body)
	}
	// What is kept goes with the booking.
	s.write(http.MethodDelete, fmt.Sprintf("/bookings/%v?force=true", stored.at("data", "id")), "").want(http.StatusOK)
	if n, err := jobs.NewSweeper(s.platform.DB, s.platform.Now, slog.New(slog.DiscardHandler)).Forget(t.Context()); err != nil || n != 1 {
		t.Errorf("%d rows swept, %v", n, err)
	}
}

// TestNewKeysInheritNothing: if the tables of keys and webhooks were emptied, new ones do not get the ids
// of old ones, with the records that these created and the deliveries that were sent to them.
func TestNewKeysInheritNothing(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	admin := s.key
	for range 3 { // so that the id of the key below exceeds those of new keys
		s.limitedKey(domain.Scope{Agents: []int64{5}})
	}
	old, key := createKey(t, s.keys, keys.NewKey{Permissions: []string{"read", "write", "delete", "write_webhooks"}, Scope: domain.Scope{Agents: []int64{5}}})
	for what, statements := range map[string][]string{
		"a webhook":      {"INSERT INTO wp_bookside_webhooks (name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at) VALUES ('', 'https://hook.example/', '*', '', '', '', 0, 0, %d, '', 'enabled', 0, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_webhooks"},
		"a hold":         {"INSERT INTO wp_bookside_holds SELECT NULL, %d, 1, 1, 1, '2027-01-01', '2027-01-01', 0, 0, 0, 0, 0, 1, UTC_TIMESTAMP(), UTC_TIMESTAMP(), ''", "TRUNCATE wp_bookside_holds"},
		"a change":       {"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, origin, actor_id, at) VALUES (1, 'bookings', 1, 'updated', 'api', %[1]d, UTC_TIMESTAMP()), (2, 'bookings', 1, 'updated', 'site', 99 + %[1]d, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_changes"},
		"a waiting one":  {"INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, actor_id, at) VALUES ('bookings', 1, 'updated', 'api', %d, UTC_TIMESTAMP())", "TRUNCATE wp_bookside_change_inbox"},
		"nothing at all": {"DO %d", "DO 0"},
	} {
		s.database.Execute(t, "TRUNCATE wp_bookside_api_keys", fmt.Sprintf(statements[0], key.ID))
		want := key.ID + 1
		if what == "nothing at all" {
			want = 1
		}
		for i := range int64(2) {
			if _, fresh, err := s.keys.Create(t.Context(), keys.NewKey{Name: "new", Kind: keys.Live}); err != nil || fresh.ID != want+i {
				t.Errorf("%s: the new key has the id %d, want %d, %v", what, fresh.ID, want+i, err)
			}
		}
		s.database.Execute(t, statements[1])
	}
	for _, statement := range []string{
		"INSERT INTO wp_bookside_webhook_deliveries (webhook_id, event, resource, resource_id, at, data, status, tries, due_at, created_at) VALUES (7, 'booking.created', 'bookings', 1, UTC_TIMESTAMP(), '', 'delivered', 1, UTC_TIMESTAMP(), UTC_TIMESTAMP())",
		"INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES (8, 1, UTC_TIMESTAMP(), 200, 1, '', '')",
	} {
		s.database.Execute(t, "TRUNCATE wp_bookside_webhooks", statement)
	}
	if _, err := s.keys.Import(t.Context(), admin, keys.NewKey{Name: "admin", Permissions: []string{"read", "write", "read_changes", "write_webhooks"}}, true); err != nil {
		t.Fatal(err)
	}
	for want := 9; want < 11; want++ {
		expect.Equal(t, fmt.Sprint(want), fmt.Sprint(s.write(http.MethodPost, "/webhooks", newWebhook).want(http.StatusCreated).at("data", "id")), "id of the new webhook")
	}
	s.key = old
	s.get("/status").want(http.StatusUnauthorized)
}
