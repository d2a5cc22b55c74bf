package rowdiff

import (
	"testing"
	"time"

	"bookside/wpdb"
)

func row(key int64, values ...string) record {
	r := record{key: key, values: map[string]*string{}}
	for i := 0; i+1 < len(values); i += 2 {
		r.values[values[i]] = &values[i+1]
	}
	return r
}

// TestMapping: ids, codes and times that both sides made are the same; nothing else is.
func TestMapping(t *testing.T) {
	t.Parallel()
	m := newMapping(10 * time.Second)
	bookings := table{name: wpdb.Bookings, key: "id", columns: []string{"id", "booking_code", "status"}}
	m.learn(bookings, row(17, "booking_code", "ABC1234"), row(5001, "booking_code", "XYZ9876"))
	m.learn(table{name: wpdb.Customers, columns: []string{"id"}}, row(18), row(17))
	m.learn(table{name: wpdb.BookingMeta, columns: []string{"meta_key", "meta_value"}},
		row(1, "meta_key", "key_to_manage_for_agent", "meta_value", "aaaaaaaaaa"), row(1, "meta_key", "key_to_manage_for_agent", "meta_value", "bbbbbbbbbb"))
	tests := []struct {
		name          string
		table         wpdb.Table
		column        string
		php, bookside string
		want          bool
	}{
		{"equal", wpdb.Bookings, "status", "approved", "approved", true},
		{"another word", wpdb.Bookings, "status", "approved", "pending", false},
		{"mapped id", wpdb.OrderItems, "booking_id", "17", "5001", true},
		{"an id that is mapped to another one", wpdb.Bookings, "customer_id", "17", "17", false},
		{"an id that was there before", wpdb.Bookings, "agent_id", "3", "3", true},
		{"another id", wpdb.Bookings, "agent_id", "3", "4", false},
		{"object of metadata", wpdb.BookingMeta, "object_id", "17", "5001", true},
		{"object of other metadata", wpdb.OrderMeta, "object_id", "17", "5001", false},
		{"a number that is no id", wpdb.Bookings, "duration", "17", "5001", false},
		{"code", wpdb.Bookings, "booking_code", "ABC1234", "XYZ9876", true},
		{"unknown code", wpdb.Bookings, "booking_code", "ABC1234", "XYZ9877", false},
		{"key", wpdb.BookingMeta, "meta_value", "aaaaaaaaaa", "bbbbbbbbbb", true},
		{"nine seconds", wpdb.Bookings, "created_at", "2026-11-22 10:00:00", "2026-11-22 10:00:09", true},
		{"eleven seconds", wpdb.Bookings, "created_at", "2026-11-22 10:00:00", "2026-11-22 10:00:11", false},
		{"JSON", wpdb.OrderItems, "item_data", `{"booking_id":17,"code":"ABC1234","at":"2026-11-22T10:00:00Z","price":5}`, `{"code":"XYZ9876","booking_id":5001,"at":"2026-11-22T10:00:01Z","price":5.0}`, true},
		{"JSON with another value", wpdb.OrderItems, "item_data", `{"booking_id":17,"n":1}`, `{"booking_id":5001,"n":2}`, false},
		{"JSON with another type", wpdb.OrderItems, "item_data", `{"n":1}`, `{"n":"1"}`, false},
		{"JSON with one key more", wpdb.OrderItems, "item_data", `{"n":1}`, `{"n":1,"m":1}`, false},
		{"text", wpdb.Activities, "description", "Booking #17 (ABC1234) at 2026-11-22 10:00:00", "Booking #5001 (XYZ9876) at 2026-11-22 10:00:02", true},
		{"text with another word", wpdb.Activities, "description", "Booking #17 moved", "Booking #5001 deleted", false},
		{"empty and text", wpdb.Customers, "notes", "", "x", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := m.same(test.table, test.column, test.php, test.bookside); got != test.want {
				t.Errorf("same %t, want %t", got, test.want)
			}
		})
	}
}
