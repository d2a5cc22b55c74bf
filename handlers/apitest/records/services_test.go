package records_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

var serviceList = listing{path: "/services", from: "{services} s", order: "s.id"}

func TestServices(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "service", s.Get("/services/6?include=category,agents,locations").Want(http.StatusOK).Body)
	apitest.Golden(t, "service_disabled", s.Get("/services/12").Want(http.StatusOK).Body)
	apitest.Golden(t, "service_list", s.Get("/services?include=Category,agents,+locations,categories&order_by=name&order=desc&per_page=2&page=2").Want(http.StatusOK).Body)
	serviceList.pages(t, s)
	serviceList.finds(t, s, []find{
		{query: ""},
		{query: "search=massage", where: "s.name LIKE '%massage%'"},
		{query: "search=SHORT DESCRIPTION", all: true},
		{query: "search=check – short", where: "s.id = 1"},
		{query: "search=%25", none: true},
		{query: "name=WORKSHOP", where: "s.id = 9"},
		{query: "name=Massage (choose length)", where: "s.id = 6"},
		{query: "status=active", where: "s.id <= 11"},
		{query: "status=disabled", where: "s.id = 12"},
		{query: "visibility=hidden", where: "s.id = 11"},
		{query: "category_id=2", where: "s.id IN (4, 5, 6)"},
		{query: "location_id=3", where: connectionCondition("service_id = s.id", "x.location_id = 3"), all: true},
		{query: "agent_id=7&location_id=1", where: connectionCondition("service_id = s.id", "x.agent_id = 7 AND x.location_id = 1")},
		{query: "price_min=49.50001", where: "s.charge_amount > 49.5"},
		{query: "price_max=49.5", where: "s.charge_amount <= 49.5"},
		{query: "price_min=20&price_max=75.0", where: "s.charge_amount BETWEEN 20 AND 75"},
		{query: "duration_min=60", where: "s.duration >= 60"},
		{query: "duration_max=45.0", where: "s.duration <= 45"},
		{query: "duration_min=30&duration_max=30", where: "s.id IN (2, 11)"},
		{query: "search=e&status=active&visibility=visible&category_id=2&price_min=80&duration_max=60", where: "s.id = 4"},
		{query: "order_by=ID&order=asc", order: "s.id"},
		{query: "order_by=name&order=DESC", order: "s.name DESC, s.id DESC"},
		{query: "order_by=price&order=desc", order: "s.charge_amount DESC, s.id DESC"},
		{query: "order_by=charge_amount&order=desc", order: "s.charge_amount DESC, s.id DESC"},
		{query: "order_by=duration&order=desc", order: "s.duration DESC, s.id DESC"},
		{query: "order_by=created_date&order=desc", order: "s.created_at DESC, s.id DESC"},
		{query: "order_by=updated_date", order: "s.updated_at, s.id"},
		{query: "duration_min=60&order_by=price&order=desc", where: "s.duration >= 60", order: "s.charge_amount DESC, s.id DESC"},
	})
}

// TestServicesByDateAndMeta gives the services different days, and some of
// them metadata: a description and a limit.
func TestServicesByDateAndMeta(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	s.Database.Execute(t,
		"UPDATE wp_latepoint_services SET created_at = CONCAT('2026-03-0', id, ' 23:59:59'), updated_at = CONCAT('2026-04-0', 7 - id, ' 00:00:00')",
		"UPDATE wp_latepoint_services SET created_at = NULL WHERE id = 6",
		"UPDATE wp_latepoint_services SET duration = 60, charge_amount = 75 WHERE id IN (3, 4)",
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (2, 'description', '<p>Zwölf Boxkämpfer & 1 \"Sylter\" Deich</p>'), "+
			"(2, 'description', 'a second row'), (3, 'customer_limit', '5'), (4, 'description', '')")
	serviceList.pages(t, s)
	serviceList.finds(t, s, []find{
		{query: "created_after=2026-03-02", where: "s.id IN (2, 3, 4, 5)"},
		{query: "created_before=2026-03-02", where: "s.id IN (1, 2)"},
		{query: "created_before=9999-12-31", where: "s.id <= 5"},
		{query: "updated_after=2026-04-02", where: "s.id <= 5"},
		{query: "updated_before=2026-04-02", where: "s.id IN (5, 6)"},
		{query: "created_after=2026-03-02&updated_after=2026-04-04", where: "s.id IN (2, 3)"},
		{query: "search=boxkampfer", where: "s.id = 2"},
		{query: "order_by=created_date&order=desc", order: "s.created_at DESC, s.id DESC"},
		{query: "order_by=updated_date", order: "s.updated_at, s.id"},
	})
	s.WantFields(t, "/services/2", map[string]any{"description": `<p>Zwölf Boxkämpfer & 1 "Sylter" Deich</p>`, "customer_limit": ""})
	s.WantFields(t, "/services/3", map[string]any{"description": nil, "customer_limit": "5"})
	s.WantFields(t, "/services/4", map[string]any{"description": ""})
	for i, want := range []any{nil, `<p>Zwölf Boxkämpfer & 1 "Sylter" Deich</p>`, nil, ""} {
		expect.Equal(t, want, s.Get("/services").At("data", i, "description"), fmt.Sprintf("description of service %d", i+1))
	}
}

// TestServiceIncludes requests every combination of includes: exactly their keys are added.
func TestServiceIncludes(t *testing.T) {
	s := apitest.Small(t)
	for include, added := range map[string][]string{
		"": nil, "category": {"category"}, "agents": {"agents"}, "locations": {"locations"}, "AGENTS, category": {"agents", "category"},
		",locations,,agents,category,locations,": {"agents", "category", "locations"},
	} {
		query := "?include=" + apitest.EscapeQuery(include)
		for _, record := range append(s.Get("/services"+query).Records(), record(s.Get("/services/3"+query))) {
			for _, name := range []string{"category", "agents", "locations"} {
				if _, shown := record[name]; shown != slices.Contains(added, name) {
					t.Errorf("%s, service %v: %s is shown: %t", include, record["id"], name, shown)
				}
			}
		}
	}
	categories := s.Get("/services?include=categories&per_page=1").Want(http.StatusOK).At("categories")
	expect.Equal(t, s.Texts(categoryList.sql(find{})), apitest.IDsOf(categories), "categories")
	for _, path := range []string{"/services?include=nothing", "/services?include=category;agents", "/services/1?include=categories"} {
		apitest.WantInvalidParameters(t, path, s.Get(path), "include")
	}
}

func TestServicesOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	serviceList.finds(t, s, []find{
		{query: "search=100%25_", where: "s.id = 2"},
		{query: `search=\`, where: "s.id = 2"},
		{query: `name=100%25_sure \ <i>deal</i>`, where: "s.id = 2"},
		{query: "name=100", none: true},
		{query: "search=🧘", where: "s.id = 4"},
		{query: "search=alte", where: "s.id = 4"},
		{query: "category_id=905", where: "s.id = 4"},
		{query: "category_id=0", where: "COALESCE(s.category_id, 0) = 0"}, // 0 and NULL are both uncategorised
		{query: "price_min=12.3456&price_max=12.3456", where: "s.id = 2"},
		{query: "price_max=0", where: "s.id = 5"}, // a missing price is not the price 0
		{query: "agent_id=1&location_id=2", where: "s.id = 1"},
	})
}

// TestServicesWithExtras: services show the extras that can be booked with them, on a site that has any, in a fixed number of statements.
func TestServicesWithExtras(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, "INSERT INTO wp_latepoint_services_service_extras (service_id, service_extra_id) VALUES (4, 7)", // connected twice
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (4, 'minimum_service_extras_required', 'on'), (4, 'minimum_service_extras_value', '1'), (4, 'maximum_service_extras_required', 'off'), (4, 'maximum_service_extras_value', '2'), "+
			"(2, 'minimum_service_extras_required', 'on'), (2, 'minimum_service_extras_value', '1'), (1, 'maximum_service_extras_required', 'on'), (1, 'maximum_service_extras_value', '3')")
	shown := func(service any) string {
		t.Helper()
		parts := map[string]any{}
		for _, name := range []string{"extras", "min_extras", "max_extras"} {
			if value, there := service.(map[string]any)[name]; there {
				parts[name] = value
			}
		}
		text, err := json.Marshal(parts)
		expect.NoError(t, err)
		return string(text)
	}
	want := map[string]string{
		"4": `{"extras":[{"duration":15,"id":4,"max_quantity":3,"name":"Hot stones","per_attendee":false,"price":"10.0000"},{"duration":0,"id":7,"max_quantity":1,"name":"Lunch","per_attendee":true,"price":"7.5000"}],"min_extras":1}`,
		"1": `{"extras":[{"duration":0,"id":9,"max_quantity":1,"name":"Parking","per_attendee":false,"price":"4.0000"}],"max_extras":3}`,
		"2": `{"extras":[]}`,
	}
	s.Get("/services").Want(http.StatusOK) // records the use of the key
	list := s.Get("/services?include=extras&per_page=100").Want(http.StatusOK)
	all := s.Log.Last(t).Queries
	for _, service := range list.Records() {
		if id := service["id"].(string); want[id] != "" && shown(service) != want[id] {
			t.Errorf("service %s in the list: %s", id, shown(service))
		}
	}
	for id, want := range want {
		expect.Equal(t, want, shown(s.Get("/services/"+id+"?include=agents,extras").Want(http.StatusOK).At("data")), fmt.Sprintf("service %s", id))
	}
	s.Get("/services?include=extras&per_page=1").Want(http.StatusOK)
	one := s.Log.Last(t).Queries
	without := s.Get("/services?per_page=100").Want(http.StatusOK)
	if none := s.Log.Last(t).Queries; all != one || all != none+2 {
		t.Errorf("%d statements for all services, %d for one, %d without extras", all, one, none)
	}
	expect.Equal(t, "{}", shown(without.Records()[0]), "not asked for")
	apitest.WantContains(t, "Hot stones; Lunch", string(s.Send(http.MethodGet, "/v1/services?include=extras", http.Header{"X-Api-Key": {s.Key}, "Accept": {"text/csv"}}, "").Want(http.StatusOK).Body), "as a table")

	s.Database.Execute(t, apitest.Activate(apitest.PluginFile))
	expect.Equal(t, "{}", shown(s.Get("/services/4?include=extras").Want(http.StatusOK).At("data")), "Pro Features is not active")
	s.Database.Execute(t, apitest.Setting("active_addons", `["latepoint-pro-features"]`))
	expect.Equal(t, want["4"], shown(s.Get("/services/4?include=extras").Want(http.StatusOK).At("data")), "in the plugin's own list")
	plain := apitest.NewServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()))
	plain.Get("/services").Want(http.StatusOK)
	plain.Get("/services?per_page=100").Want(http.StatusOK)
	none := plain.Log.Last(t).Queries
	if got := shown(plain.Get("/services?include=extras&per_page=100").Want(http.StatusOK).Records()[0]); got != "{}" || plain.Log.Last(t).Queries != none {
		t.Errorf("a plain site: %s, %d statements, %d without", got, plain.Log.Last(t).Queries, none)
	}
}

// NULL comes first in an ascending order.
var categoryList = listing{path: "/services/categories", from: "{service_categories} c", order: "c.order_number, c.id",
	pagination: `{"current_page":%d,"per_page":%d,"total_items":%d,"total_pages":%d}`}

func TestCategories(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "category_list", s.Get("/services/categories").Want(http.StatusOK).Body)
	apitest.Golden(t, "category_list", s.Get("/services/categories/").Want(http.StatusOK).Body)
	for _, path := range []string{"/services/Categories", "/services/categories/1"} { // no ids of services
		s.Get(path).Want(http.StatusNotFound)
	}
}

// TestCategoryPages pages through the only list whose pagination fields have
// other names.
func TestCategoryPages(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	categoryList.pages(t, s)
	expect.Equal[any](t, json.Number("10"), s.Get("/services/categories").At("pagination", "per_page"), "default per_page")
	for _, query := range []string{"per_page=0", "per_page=101", "per_page=x"} {
		apitest.WantInvalidParameters(t, query, s.Get("/services/categories?"+query), "per_page")
	}
	apitest.WantInvalidParameters(t, "both", s.Get("/services/categories?page=0&per_page=-1"), "page", "per_page")
}

// TestCategoryFields: only the active services of the category itself are
// counted, not those of its descendants; NULL and 0 both mean the top level.
func TestCategoryFields(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	got := map[string][5]any{}
	for _, c := range s.Get("/services/categories").Want(http.StatusOK).Records() {
		got[c["id"].(string)] = [5]any{c["name"], c["short_description"], c["parent_id"], c["order_number"], c["services_count"]}
	}
	want := map[string][5]any{
		"1": {"Top", "Parent NULL", "0", "1", json.Number("1")},
		"2": {"Top too", "Parent 0", "0", "2", json.Number("0")},
		"3": {"Child", "Of 1", "1", "1", json.Number("1")},
		"4": {"Grandchild", "Of 3", "3", "1", json.Number("1")}, // one more is disabled
		"5": {"Orphan", "Its parent is gone", "905", "0", json.Number("0")},
		"6": {"Ouroboros", "", "6", "0", json.Number("0")},
		"7": {"", "", "0", "0", json.Number("0")},
	}
	expect.Equal(t, want, got, "categories")
}

var locationList = listing{path: "/locations", from: "{locations} l", order: "l.id DESC"}

func TestLocations(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "location_list", s.Get("/locations").Want(http.StatusOK).Body)
	locationList.pages(t, s)
	locationList.finds(t, s, []find{
		{query: ""},
		{query: "status=active", where: "l.id IN (1, 2)"},
		{query: "status=Inactive", where: "l.id = 3"},
		{query: "search=MITTE", where: "l.id = 1"},
		{query: "search=10627", where: "l.id = 2"},
		{query: "search=torstrasse", none: true}, // ß is a single letter
		{query: "search=torstraße", where: "l.id = 1"},
		{query: "search=str&status=active", where: "l.id IN (1, 2)"},
		{query: "search=str&status=inactive", where: "l.id = 3"},
		{query: "search=%25", none: true},
	})
	apitest.WantInvalidParameters(t, "the stored word", s.Get("/locations?status=disabled"), "status")
	apitest.WantInvalidParameters(t, "several", s.Get("/locations?status=open&page=0&per_page=101"), "status", "page", "per_page")
}

// TestLocationsOfTheEdgeSite: only a location whose status is exactly active is
// shown as active.
func TestLocationsOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	locationList.pages(t, s)
	locationList.finds(t, s, []find{
		{query: "status=active", where: "l.id IN (1, 3, 4)"},
		{query: "status=inactive", where: "l.id IN (2, 5)"},
		{query: "search=100%25_sure", where: "l.id = 4"},
		{query: "search=🏖", where: "l.id = 4"},
		{query: `search="hall" <BR>`, where: "l.id = 2"},
		{query: "search=line 2&status=inactive", where: "l.id = 2"},
		{query: "search=line 2&status=active", none: true},
	})
}
