package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// TestActivitiesShowBundles: the activity log shows a bundle among the items of an order by id and name, and nothing of one that
// is no more.
func TestActivitiesShowBundles(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	bundle := rowsOf(t, s.database, "SELECT id, name FROM wp_latepoint_bundles ORDER BY id LIMIT 1")[0]
	s.database.Execute(t,
		`INSERT INTO wp_latepoint_order_items (order_id, variant, item_data, subtotal, total) SELECT 1403, 'bundle', CONCAT('{"bundle_id":', MIN(id), '}'), 200, 200 FROM wp_latepoint_bundles`,
		`INSERT INTO wp_latepoint_order_items (order_id, variant, item_data, subtotal, total) VALUES (1403, 'bundle', '{"bundle_id":"4711"}', 5, 5)`)
	if a := s.write(http.MethodPut, "/orders/1403", `{"status":"completed"}`); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var logged struct {
		Vars map[string]struct {
			Items []struct {
				Variant string          `json:"variant"`
				Data    json.RawMessage `json:"item_data"`
			} `json:"order_items"`
		} `json:"order_data_vars"`
	}
	description := rowsOf(t, s.database, "SELECT description FROM wp_latepoint_activities WHERE code = 'order_updated'")[0]
	if err := json.Unmarshal([]byte(description), &logged); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"new", "old"} {
		var shown []string
		for _, item := range logged.Vars[state].Items {
			if item.Variant == "bundle" {
				var data struct{ ID, Name any }
				if err := json.Unmarshal(item.Data, &data); err != nil {
					t.Fatal(err)
				}
				shown = append(shown, fmt.Sprintf("%T %v|%v", data.ID, data.ID, data.Name))
			}
		}
		if diff := cmp.Diff([]string{"string " + bundle, "<nil> <nil>|<nil>"}, shown); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
	}
}
