package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	golden(t, "status", newServer(t, small(t)).get("/status").want(http.StatusOK).body)
}

// TestTimeZoneOfTheSite sets the two options of WordPress for the time zone.
func TestTimeZoneOfTheSite(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Edge())
	s := newServer(t, database)
	for _, test := range []struct{ zone, offset, wantZone, wantTime string }{
		{"America/New_York", "", "America/New_York", "2026-11-20T19:43:00-05:00"},
		{"Asia/Kathmandu", "1", "Asia/Kathmandu", "2026-11-21T06:28:00+05:45"},
		{"UTC", "", "UTC", "2026-11-21T00:43:00+00:00"},
		{"", "", "+00:00", "2026-11-21T00:43:00+00:00"},
		{"", "0", "+00:00", "2026-11-21T00:43:00+00:00"},
		{"", "2", "+02:00", "2026-11-21T02:43:00+02:00"},
		{"", "-3.5", "-03:30", "2026-11-20T21:13:00-03:30"},
		{"", "-0.5", "+00:30", "2026-11-21T01:13:00+00:30"},
		{"Mars/Olympus", "2", "UTC", "2026-11-21T00:43:00+00:00"},
	} {
		t.Run(test.zone+" "+test.offset, func(t *testing.T) {
			database.Execute(t, "UPDATE wp_options SET option_value = '"+test.zone+"' WHERE option_name = 'timezone_string'",
				"UPDATE wp_options SET option_value = '"+test.offset+"' WHERE option_name = 'gmt_offset'")
			want := `{"status":"success","data":{"timezone":"` + test.wantZone + `","current_time":"` + test.wantTime + `"}}`
			if got := string(s.get("/status").want(http.StatusOK).body); got != want {
				t.Errorf("zone %q, offset %q: %s, want %s", test.zone, test.offset, got, want)
			}
		})
	}
	database.Execute(t, "DELETE FROM wp_options WHERE option_name IN ('timezone_string', 'gmt_offset')")
	s.wantFields(t, "/status", map[string]any{"timezone": "+00:00"})
}

func TestStatusOfTheHalfHourSite(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.HalfHour()))
	want := `{"status":"success","data":{"timezone":"+05:30","current_time":"2026-11-21T06:13:00+05:30"}}`
	if got := string(s.get("/status").want(http.StatusOK).body); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// siteTimestamps makes timestamps appear in the site's zone.
func siteTimestamps(o *handlers.Options) { o.SiteTimestamps = true }

// TestTimestamps compares the timestamps of every list with their columns: as
// stored, and in the time zone +05:30 of a site.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	database := fixtures.Shared(t, fixtures.HalfHour())
	for minutes, s := range map[int]*server{0: newServer(t, database), 330: newServer(t, database, siteTimestamps)} {
		for _, l := range []listing{agentList, serviceList, locationList, paymentList, orderList, couponList} {
			alias := l.alias()
			want := s.ids(t, fmt.Sprintf(`SELECT CONCAT_WS(' ', %[1]s.id, DATE_FORMAT(DATE_ADD(%[1]s.created_at, INTERVAL %[2]d MINUTE), '%%Y-%%m-%%d %%H:%%i:%%s'),
				DATE_FORMAT(DATE_ADD(%[1]s.updated_at, INTERVAL %[2]d MINUTE), '%%Y-%%m-%%d %%H:%%i:%%s')) FROM %[3]s ORDER BY %[4]s LIMIT 100`, alias, minutes, l.from, l.order))
			got := []string{}
			for _, record := range s.get(l.path + "?per_page=100").want(http.StatusOK).records() {
				got = append(got, fmt.Sprintf("%v %v %v", record["id"], record["created_at"], record["updated_at"]))
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("%s, %d minutes ahead: timestamps (-want +got):\n%s", l.path, minutes, diff)
			}
		}
	}
}

// sites are sample sites of every version, zone and prefix.
var sites = map[string]fixtures.Site{
	"small":        fixtures.Small(now),
	"half hour":    fixtures.HalfHour(),
	"prefixed":     fixtures.Prefixed(),
	"edge":         fixtures.Edge(),
	"legacy":       fixtures.Legacy(),
	"with coupons": fixtures.SiteA().WithCoupons(),
}

// The envelopes of single records; an order has none.
var (
	success       = shape{"success true", "data object"}
	successStatus = shape{"success true", "status text", "data object"}
)

// reading is a list whose records can also be read one by one.
type reading struct {
	listing
	key      string           // in the path
	envelope shape            // nil for none
	single   shape            // of the record
	nested   map[string]shape // of the elements of its arrays
}

var readings = []reading{
	{listing: agentList, key: "id", envelope: successStatus, single: agentShape, nested: agentList.nested},
	{listing: serviceList, key: "id", envelope: success, single: serviceDetailShape},
	{listing: paymentList, key: "id", envelope: success, single: paymentDetailShape},
	{listing: orderList, key: "id", single: orderDetailShape, nested: map[string]shape{"items": orderItemShape}},
	{listing: couponList, key: "code", envelope: success, single: couponDetailShape, nested: map[string]shape{"recent_orders": orderShape}},
}

// TestRecordsOfEverySite reads every list, and its first records one by one,
// on every site, and compares all keys, their order and the types of the
// values.
func TestRecordsOfEverySite(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, site := range sites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, fixtures.Shared(t, site))
			shape{"status text", "data object"}.check(t, "/status", s.get("/status").want(http.StatusOK).body)
			categoryList.check(t, s)
			locationList.check(t, s)
			for _, r := range readings {
				records := r.check(t, s)
				if len(records) == 0 && (r.path != "/coupons" || name != "legacy") {
					t.Errorf("%s is empty", r.path)
				}
				for _, record := range records[:min(len(records), 15)] {
					r.checkSingle(t, s, r.path+"/"+url.PathEscape(record[r.key].(string)))
				}
			}
			invoices, transactions := 0, 0
			for _, order := range s.ids(t, "SELECT id FROM {orders} ORDER BY id LIMIT 15") {
				invoices += checkBelow(t, s, "/orders/"+order+"/invoices", invoiceShape)
				transactions += checkBelow(t, s, "/orders/"+order+"/transactions", paymentShape)
			}
			if invoices == 0 || transactions == 0 {
				t.Errorf("%d invoices and %d transactions: the case proves nothing", invoices, transactions)
			}
		})
	}
}

// check compares the first hundred records of a list with their shape.
func (l listing) check(t *testing.T, s *server) []map[string]any {
	t.Helper()
	a := s.get(l.path + "?per_page=100").want(http.StatusOK)
	shape{"success true", "data array", "pagination object"}.check(t, l.path, a.body)
	for i, record := range l.shape.elements(t, l.path, dataOf(t, a)) {
		for name, inner := range l.nested {
			inner.elements(t, fmt.Sprintf("%s %d %s", l.path, i, name), record[name])
		}
	}
	return a.records()
}

// checkSingle compares one record with its shape.
func (r reading) checkSingle(t *testing.T, s *server, path string) {
	t.Helper()
	record := json.RawMessage(s.get(path).want(http.StatusOK).body)
	if r.envelope != nil {
		record = r.envelope.check(t, path, record)["data"]
	}
	values := r.single.check(t, path, record)
	for name, inner := range r.nested {
		inner.elements(t, path+" "+name, values[name])
	}
}

// checkBelow compares the records below an order with their shape, in their
// list and one by one, and returns how many there are.
func checkBelow(t *testing.T, s *server, path string, record shape) int {
	t.Helper()
	found := listing{path: path, shape: record}.check(t, s)
	for _, one := range found {
		single := fmt.Sprintf("%s/%s", path, one["id"])
		record.check(t, single, successStatus.check(t, single, s.get(single).want(http.StatusOK).body)["data"])
	}
	return len(found)
}
