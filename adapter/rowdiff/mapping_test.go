package rowdiff

import (
	"testing"
	"time"

	"github.com/bookside/bookside/wpdb"
)

func row(key int64, values ...string) record {
	r := record{key: key, values: map[string]*string{}}
	for i := 0; i+1 < len(values); i += 2 {
		r.values[values[i]] = &values[i+1]
	}
	return r
}

// TestMapping: ids, codes and times that both sides created are equivalent; nothing else is.
func TestMapping(t *testing.T) {
	t.Parallel()
	m := newMapping(10 * time.Second)
	bookings := table{name: wpdb.Bookings, key: "id", columns: []string{"id", "booking_code", "status"}}
	m.learn(bookings, row(17, "booking_code", "ABC1234"), row(5001, "booking_code", "XYZ9876"))
	m.learn(table{name: wpdb.Customers, columns: []string{"id"}}, row(18), row(17))
	m.learn(table{name: wpdb.BookingMeta, columns: []string{"meta_key", "meta_value"}},
		row(1, "meta_key", "key_to_manage_for_agent", "meta_value", "aaaaaaaaaa"), row(1, "meta_key", "key_to_manage_for_agent", "meta_value", "bbbbbbbbbb"))
	m.learn(bookings, row(19, "booking_code", "DEF123456"), row(5002, "booking_code", "XYZ987654"))
	m.learn(bookings, row(20, "booking_code", "GHI123"), row(5003, "booking_code", "UVW987"))
	m.learn(bookings, row(21, "booking_code", "JKL12"), row(5004, "booking_code", "RST98"))
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
		{"a code of six characters", wpdb.Bookings, "booking_code", "GHI123", "UVW987", true},
		{"a code of five, which may be a word", wpdb.Bookings, "booking_code", "JKL12", "RST98", false},
		{"an id of a table that has no name here", wpdb.Bookings, "recurrence_id", "3", "3", true},
		{"a mapped id of a table that has no name here", wpdb.Bookings, "recurrence_id", "17", "5001", true},
		{"another id of a table that has no name here", wpdb.Bookings, "recurrence_id", "3", "4", false},
		{"no id, written in two ways", wpdb.Bookings, "agent_id", "0", "00", false},
		{"an amount, written in two ways", wpdb.Bookings, "price", "80.50", "80.5", false},
		{"ten seconds", wpdb.Bookings, "created_at", "2026-11-22 10:00:00", "2026-11-22 10:00:10", true},
		{"nine seconds", wpdb.Bookings, "created_at", "2026-11-22 10:00:00", "2026-11-22 10:00:09", true},
		{"eleven seconds", wpdb.Bookings, "created_at", "2026-11-22 10:00:00", "2026-11-22 10:00:11", false},
		{"JSON", wpdb.OrderItems, "item_data", `{"booking_id":17,"code":"ABC1234","at":"2026-11-22T10:00:00Z","price":5}`, `{"code":"XYZ9876","booking_id":5001,"at":"2026-11-22T10:00:01Z","price":5.0}`, true},
		{"JSON with another value", wpdb.OrderItems, "item_data", `{"booking_id":17,"n":1}`, `{"booking_id":5001,"n":2}`, false},
		{"JSON with another type", wpdb.OrderItems, "item_data", `{"n":1}`, `{"n":"1"}`, false},
		{"JSON with one key more", wpdb.OrderItems, "item_data", `{"n":1}`, `{"n":1,"m":1}`, false},
		{"a list in JSON", wpdb.OrderItems, "item_data", `[{"booking_id":17},true,null]`, `[ {"booking_id":5001}, true, null ]`, true},
		{"a shorter list in JSON", wpdb.OrderItems, "item_data", `[1,2]`, `[1]`, false},
		{"another list in JSON", wpdb.OrderItems, "item_data", `[true]`, `[ false ]`, false},
		{"a code that begins with another", wpdb.Activities, "description", "Booking DEF123456", "Booking XYZ987654", true},
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
