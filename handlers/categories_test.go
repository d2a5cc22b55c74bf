package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// NULL comes first in an ascending order.
var categoryList = listing{path: "/services/categories", from: "{service_categories} c", order: "c.order_number, c.id"}

func TestCategories(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	golden(t, "category_list", s.get("/services/categories").want(http.StatusOK).body)
}

// TestCategoryPages pages through the only list whose pagination fields have
// other names.
func TestCategoryPages(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.Edge()))
	every := s.ids(t, categoryList.sql(find{}))
	if len(every) != 7 {
		t.Fatalf("%d categories", len(every))
	}
	for _, size := range []int{1, 3, 100} {
		last := (len(every) + size - 1) / size
		for _, page := range []int{1, 2, last, last + 1, 9007199254740992} {
			a := s.get(fmt.Sprintf("/services/categories?page=%d&per_page=%d", page, size)).want(http.StatusOK)
			want := []string{}
			if page <= last {
				want = every[(page-1)*size : min(page*size, len(every))]
			}
			if diff := cmp.Diff(want, idsOf(a.at("data"))); diff != "" {
				t.Errorf("page %d of %d: ids (-want +got):\n%s", page, size, diff)
			}
			root := members(t, a.body)
			pagination := fmt.Sprintf(`{"current_page":%d,"per_page":%d,"total_items":%d,"total_pages":%d}`, page, size, len(every), last)
			if got := string(root["pagination"]); got != pagination {
				t.Errorf("page %d of %d: pagination %s, want %s", page, size, got, pagination)
			}
		}
	}
	if size := s.get("/services/categories").at("pagination", "per_page"); size != json.Number("10") {
		t.Errorf("default per_page %v", size)
	}
	for _, query := range []string{"per_page=0", "per_page=101", "per_page=x"} {
		wantInvalidParameters(t, query, s.get("/services/categories?"+query), "per_page")
	}
	wantInvalidParameters(t, "both", s.get("/services/categories?page=0&per_page=-1"), "page", "per_page")
}

// TestCategoryFields: only the active services of the category itself are
// counted, not those of its descendants; NULL and 0 both mean the top level.
func TestCategoryFields(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.Edge()))
	got := map[string][5]any{}
	for _, c := range s.get("/services/categories").want(http.StatusOK).records() {
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

// TestCategoriesPathIsNoServiceID: the path of the categories is not mistaken
// for the id of a service.
func TestCategoriesPathIsNoServiceID(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	if n := len(s.get("/services/categories/").want(http.StatusOK).records()); n != 3 {
		t.Errorf("%d categories", n)
	}
	s.get("/services/Categories").want(http.StatusNotFound)
	s.get("/services/categories/1").want(http.StatusNotFound)
}
