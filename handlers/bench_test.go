package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// BenchmarkEndpoints sends every kind of read to the recorded site, one request
// after the other. docker/bench measures the same under load.
func BenchmarkEndpoints(b *testing.B) {
	s := newServer(b, fixtures.Shared(b, fixtures.SiteA()))
	for _, path := range []string{
		"/status",
		"/bookings?per_page=20", "/bookings?per_page=100", "/bookings?per_page=20&page=50", "/bookings?search=anna", "/bookings?sort=customer_name", "/bookings/53",
		"/customers?per_page=20", "/customers/5",
		"/agents", "/agents/1",
		"/services", "/services?include=category,agents,locations,categories", "/services/6", "/services/categories",
		"/locations",
		"/availability?service_id=6&agent_id=2&date=2027-01-12", "/availability?service_id=6&agent_id=any&date=2027-01-12",
		"/availability?service_id=6&agent_id=any&date=2026-12-01&date_to=2027-01-31", "/agents/availability?service_id=6&date=2027-01-12&start_time=10:00",
		"/payments", "/payments/3",
		"/orders", "/orders/52", "/orders/52/invoices", "/orders/52/transactions",
	} {
		b.Run(path[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.serveGet(b, path)
			}
		})
	}
}

// serveGet sends a request with as little work besides the server's own as possible.
func (s *server) serveGet(t testing.TB, path string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1"+path, nil)
	request.Header.Set("X-Api-Key", s.key)
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
}

// BenchmarkCreateBooking books with 16 clients, each for a different agent
// while there are enough agents, and always for a new customer.
func BenchmarkCreateBooking(b *testing.B) {
	s := newWriter(b, fixtures.SiteA(), func(o *handlers.Options) { o.RateLimit.Enabled = false })
	s.database.Execute(b, fillLocks)
	slots := freeSlots(b, s)
	var next atomic.Int64
	b.SetParallelism(16 / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := int(next.Add(1)) - 1
			if n >= len(slots) {
				b.Error("no more slots; choose a smaller -benchtime")
				return
			}
			body := fmt.Sprintf(`{"service_id":%d,"agent_id":%d,"start_date":%q,"start_time":%q,"customer":{"first_name":"Rita","last_name":"Neu","email":"rita%d@example.test"}}`,
				slots[n].service, slots[n].agent, slots[n].day, slots[n].start, n)
			request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/bookings", strings.NewReader(body))
			request.Header.Set("X-Api-Key", s.key)
			request.Header.Set("Content-Type", jsonType)
			recorder := httptest.NewRecorder()
			s.handler.ServeHTTP(recorder, request)
			if recorder.Code != http.StatusCreated {
				b.Errorf("status %d: %s", recorder.Code, recorder.Body)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "bookings/s")
}

type slot struct {
	service, agent int
	day, start     string
}

// freeSlots returns starts that do not conflict with each other, taking the
// agents in turn.
func freeSlots(b *testing.B, s *server) []slot {
	b.Helper()
	byAgent := map[int][]slot{}
	for agent := 1; agent <= 11; agent++ {
		for _, from := range []string{"2026-12-01", "2027-02-01", "2027-04-01", "2027-06-01"} {
			first, err := time.Parse(time.DateOnly, from)
			if err != nil {
				b.Fatal(err)
			}
			a := s.get(fmt.Sprintf("/availability?service_id=6&agent_id=%d&date=%s&date_to=%s", agent, from, first.AddDate(0, 0, 55).Format(time.DateOnly)))
			if a.status != http.StatusOK {
				break // does not offer the service
			}
			days := a.at("data", "days").(map[string]any)
			for _, day := range slices.Sorted(maps.Keys(days)) {
				free := -1 << 30
				for _, start := range days[day].([]any) {
					if at := minutesOf(b, start.(string)); at >= free {
						byAgent[agent] = append(byAgent[agent], slot{6, agent, day, start.(string)})
						free = at + 180
					}
				}
			}
		}
	}
	var slots []slot
	for i := 0; ; i++ {
		before := len(slots)
		for _, agent := range slices.Sorted(maps.Keys(byAgent)) {
			if i < len(byAgent[agent]) {
				slots = append(slots, byAgent[agent][i])
			}
		}
		if len(slots) == before {
			return slots
		}
	}
}

// BenchmarkEventsOfAgents requests the free times of a fortnight on the recorded site: without a calendar
// add-on, with 500 events and 100 series of all agents, and with 20,000 more that are over.
func BenchmarkEventsOfAgents(b *testing.B) {
	database := fixtures.New(b, fixtures.SiteA())
	database.AddCalendars(b)
	insert := func(events, series int, first string) {
		database.Execute(b, fmt.Sprintf(`INSERT INTO wp_latepoint_gcal_events (agent_id, start_date, start_time, end_date, end_time)
			WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999)
			SELECT 1 + i %% 11, '%[1]s' + INTERVAL j + i %% 30 DAY, 480 + 15 * (i %% 30), '%[1]s' + INTERVAL j + i %% 30 DAY, 510 + 15 * (i %% 30)
			FROM n JOIN (SELECT i AS j FROM n) m WHERE i < LEAST(%[2]d, 500) AND j < CEIL(%[2]d / 500)`, first, events))
		database.Execute(b, fmt.Sprintf("INSERT INTO wp_latepoint_gcal_recurrences (lp_event_id, frequency, `interval`, weekday) "+
			"SELECT id, ELT(1 + id %% 3, 'DAILY', 'WEEKLY', 'MONTHLY'), 1 + id %% 2, ELT(1 + id %% 3, NULL, 'TU', NULL) FROM wp_latepoint_gcal_events ORDER BY id LIMIT %d", series))
	}
	for _, c := range []struct {
		name    string
		arrange func()
	}{
		{"without", func() {}},
		{"500 events, 100 series", func() { insert(500, 100, "2026-12-01"); database.Execute(b, activate(pluginFile, googleFile)) }},
		{"and 20,000 gone by", func() { insert(20_000, 0, "2026-08-01") }},
	} {
		c.arrange()
		s := newServer(b, database)
		for _, agent := range []string{"2", "any"} {
			b.Run(c.name+", agent "+agent, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.serveGet(b, "/availability?service_id=6&agent_id="+agent+"&date=2026-12-01&date_to=2026-12-14")
				}
				b.ReportMetric(float64(s.log.last(b).Queries), "statements")
			})
		}
	}
}
