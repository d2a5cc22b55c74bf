package records_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestTimeZoneOfTheSite sets the two options of WordPress for the time zone.
func TestTimeZoneOfTheSite(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	for _, test := range []struct{ zone, offset, wantZone, wantTime string }{
		{"America/New_York", "", "America/New_York", "2026-11-20T19:43:00-05:00"},
		{"Asia/Kathmandu", "1", "Asia/Kathmandu", "2026-11-21T06:28:00+05:45"},
		{"UTC", "", "UTC", "2026-11-21T00:43:00+00:00"},
		{"", "", "+00:00", "2026-11-21T00:43:00+00:00"},
		{"", "0", "+00:00", "2026-11-21T00:43:00+00:00"},
		{"", "2", "+02:00", "2026-11-21T02:43:00+02:00"},
		{"", "-3.5", "-03:30", "2026-11-20T21:13:00-03:30"},
		{"", "-0.5", "+00:30", "2026-11-21T01:13:00+00:30"},
		{"+02:00", "5", "+02:00", "2026-11-21T02:43:00+02:00"},
		{"america/new_york", "", "America/New_York", "2026-11-20T19:43:00-05:00"},
		{"Mars/Olympus", "2", "UTC", "2026-11-21T00:43:00+00:00"},
	} {
		s.Database.Execute(t, "UPDATE wp_options SET option_value = '"+test.zone+"' WHERE option_name = 'timezone_string'",
			"UPDATE wp_options SET option_value = '"+test.offset+"' WHERE option_name = 'gmt_offset'")
		want := `{"status":"success","data":{"timezone":"` + test.wantZone + `","current_time":"` + test.wantTime + `"}}`
		expect.Equal(t, want, string(s.Get("/status").Want(http.StatusOK).Body), fmt.Sprintf("zone %q, offset %q", test.zone, test.offset))
	}
	s.Database.Execute(t, "DELETE FROM wp_options WHERE option_name IN ('timezone_string', 'gmt_offset')")
	s.WantFields(t, "/status", map[string]any{"timezone": "+00:00"})
}

// siteTimestamps makes timestamps appear in the site's zone.
func siteTimestamps(o *handlers.Options) { o.SiteTimestamps = true }

// TestTimestamps compares the timestamps of every list with their columns: as
// stored, and in the time zone +05:30 of a site.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	database := fixtures.Shared(t, fixtures.HalfHour())
	for minutes, s := range map[int]*apitest.Server{0: apitest.NewServer(t, database), 330: apitest.NewServer(t, database, siteTimestamps)} {
		for _, l := range []listing{agentList, serviceList, locationList, paymentList, orderList, couponList} {
			alias := l.alias()
			want := s.Texts(fmt.Sprintf(`SELECT CONCAT_WS(' ', %[1]s.id, DATE_FORMAT(DATE_ADD(%[1]s.created_at, INTERVAL %[2]d MINUTE), '%%Y-%%m-%%d %%H:%%i:%%s'),
				DATE_FORMAT(DATE_ADD(%[1]s.updated_at, INTERVAL %[2]d MINUTE), '%%Y-%%m-%%d %%H:%%i:%%s')) FROM %[3]s ORDER BY %[4]s LIMIT 100`, alias, minutes, l.from, l.order))
			got := []string{}
			for _, record := range s.Get(l.path + "?per_page=100").Want(http.StatusOK).Records() {
				got = append(got, fmt.Sprintf("%v %v %v", record["id"], record["created_at"], record["updated_at"]))
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("%s, %d minutes ahead: timestamps (-want +got):\n%s", l.path, minutes, diff)
			}
		}
	}
}

// TestRecordsOfTheEdgeSite compares what odd rows look like with golden files: each list, and each record with all that it can include.
func TestRecordsOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	for name, c := range map[string]struct{ list, ids, record string }{
		"bookings":  {"/bookings?include_meta=1&sort=id&order=asc&per_page=100", "SELECT id FROM {bookings} ORDER BY id", "/bookings/%s"},
		"customers": {"/customers?per_page=100", "SELECT id FROM {customers} ORDER BY id", "/customers/%s"},
		"agents":    {"/agents?per_page=100", "SELECT id FROM {agents} ORDER BY id", "/agents/%s"},
		"services":  {"/services?include=category&per_page=100", "SELECT id FROM {services} ORDER BY id", "/services/%s?include=category,agents,locations"},
		"locations": {"/locations?per_page=100", "", ""},
		"payments":  {"/payments?per_page=100", "SELECT id FROM {transactions} ORDER BY id", "/payments/%s"},
		"orders":    {"/orders?per_page=100", "SELECT id FROM {orders} ORDER BY id", "/orders/%s"},
		"invoices":  {"/orders/7/invoices", "SELECT CONCAT(i.order_id, '/invoices/', i.id) FROM {order_invoices} i JOIN {orders} o ON o.id = i.order_id ORDER BY i.id", "/orders/%s"},
		"coupons":   {"/coupons?per_page=100", "SELECT REPLACE(REPLACE(REPLACE(code, '%', '%25'), '/', '%2F'), ' ', '%20') FROM {coupons} ORDER BY id", "/coupons/%s"},
	} {
		bodies := []string{string(s.Get(c.list).Want(http.StatusOK).Body)}
		if c.ids != "" {
			for _, id := range s.Texts(c.ids) {
				bodies = append(bodies, string(s.Get(fmt.Sprintf(c.record, id)).Want(http.StatusOK).Body))
			}
		}
		apitest.Golden(t, "edge_"+name, []byte("["+strings.Join(bodies, ",")+"]"))
	}
}

// TestRecordsOfEverySite reads every list, and its first records one by one, on every site; each response is
// compared with the document.
func TestRecordsOfEverySite(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, site := range apitest.Sites {
		t.Run(name, func(t *testing.T) {
			s := apitest.Shared(t, site)
			lists := []string{"/bookings", "/customers", "/agents", "/services", "/services/categories", "/locations", "/payments", "/orders", "/coupons"}
			for _, order := range s.Texts("SELECT id FROM {orders} ORDER BY id LIMIT 15") {
				lists = append(lists, "/orders/"+order+"/invoices", "/orders/"+order+"/transactions")
			}
			read := 0
			for _, path := range lists {
				records := s.Get(path + "?per_page=100").Want(http.StatusOK).Records()
				if path == "/services/categories" || path == "/locations" {
					continue // have no single records
				}
				for _, record := range records[:min(len(records), 15)] {
					key := fmt.Sprint(record["id"])
					if path == "/coupons" {
						key = url.PathEscape(fmt.Sprint(record["code"]))
					}
					s.Get(path + "/" + key).Want(http.StatusOK)
					read++
				}
			}
			if read < 20 {
				t.Errorf("only %d records", read)
			}
		})
	}
}
