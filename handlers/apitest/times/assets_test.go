package times_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// newServerWithAssets serves a site with Pro Features and its assets, where everybody works from 09:00 to 12:00, services take an
// hour, and nobody has a booking. Services 1 and 2 are given by agents 1 and 3.
func newServerWithAssets(t *testing.T) *apitest.Server {
	t.Helper()
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now).WithAssets())
	database.Execute(t, "DELETE FROM wp_latepoint_bookings", "DELETE FROM wp_latepoint_work_periods", everyDay(t, "09:00", "12:00"),
		"UPDATE wp_latepoint_services SET duration = 60, timeblock_interval = 30, buffer_before = 0, buffer_after = 0, capacity_max = 1",
		"DELETE FROM wp_latepoint_service_meta", "UPDATE wp_latepoint_customers SET status = 'active'", "DELETE FROM wp_latepoint_agents_services WHERE agent_id NOT IN (1, 3)")
	s := apitest.NewServer(t, database)
	s.Platform.Pick = func(int) int { return 0 }
	return s
}

// tuesday is the body of a booking on the day after that of the tests.
func tuesday(service, agent, start string) string {
	return fmt.Sprintf(`{"service_id":%s,"agent_id":%s,"location_id":1,"start_date":"2026-11-24","start_time":"%s","customer_id":1}`, service, agent, start)
}

// holdOf is the body of a hold of what would be booked.
func holdOf(booking string) string { return strings.Replace(booking, `,"customer_id":1`, "", 1) }

// TestAssetsCloseTimes: an asset whose units are taken closes times of every service and agent that takes it, as long as Pro
// Features is active and assets are switched on.
func TestAssetsCloseTimes(t *testing.T) {
	t.Parallel()
	const (
		day    = "&date=2026-11-24"
		off    = "UPDATE wp_latepoint_settings SET value = 'off' WHERE name = 'enable_assets_functionality'"
		buffer = "UPDATE wp_latepoint_services SET buffer_before = 15, buffer_after = 15 WHERE id = 2"
	)
	all, closed := []string{"09:00", "09:30", "10:00", "10:30", "11:00"}, []string{"09:00", "11:00"}
	for name, c := range map[string]struct {
		arrange  []string
		asset    func(testing.TB, *apitest.Server)
		offered  map[string][]string // by query
		explains string              // of service 1 with agent 3
	}{
		"one unit": {nil, func(t testing.TB, s *apitest.Server) { s.Database.InsertAsset(t, 1, []int{1, 2}) }, map[string][]string{
			"service_id=1&agent_id=3": closed, "service_id=1&agent_id=any": closed, "service_id=1&agent_id=3&location_id=2": closed, "service_id=2&agent_id=3": closed, "service_id=3&agent_id=3": all,
		}, "09:30 asset 7001, 10:00 asset 7001, 10:30 asset 7001"},
		"two units":             {nil, func(t testing.TB, s *apitest.Server) { s.Database.InsertAsset(t, 2, []int{1, 2}) }, map[string][]string{"service_id=1&agent_id=3": all, "service_id=1&agent_id=1": closed}, ""},
		"of one agent":          {nil, func(t testing.TB, s *apitest.Server) { s.Database.InsertAsset(t, 1, []int{1, 2}, 1) }, map[string][]string{"service_id=1&agent_id=3": all, "service_id=1&agent_id=any": all}, ""},
		"of both agents":        {nil, func(t testing.TB, s *apitest.Server) { s.Database.InsertAsset(t, 1, []int{1, 2}, 1, 3) }, map[string][]string{"service_id=1&agent_id=3": closed, "service_id=1&agent_id=any": {"09:00", "11:00"}}, ""},
		"disabled":              {nil, func(t testing.TB, s *apitest.Server) { disableAsset(t, s, s.Database.InsertAsset(t, 1, []int{1, 2})) }, map[string][]string{"service_id=1&agent_id=3": all}, ""},
		"switched off":          {[]string{off}, func(t testing.TB, s *apitest.Server) { s.Database.InsertAsset(t, 1, []int{1, 2}) }, map[string][]string{"service_id=1&agent_id=3": all}, ""},
		"Pro is not active":     {[]string{apitest.Activate(apitest.PluginFile)}, func(t testing.TB, s *apitest.Server) { s.Database.InsertAsset(t, 1, []int{1, 2}) }, map[string][]string{"service_id=1&agent_id=3": all}, ""},
		"its buffers, not ours": {[]string{buffer}, func(t testing.TB, s *apitest.Server) { s.Database.InsertAsset(t, 1, []int{1, 2}) }, map[string][]string{"service_id=1&agent_id=3": {}, "service_id=2&agent_id=3": {}, "service_id=3&agent_id=3": all}, "09:00 asset 7001, 09:30 asset 7001, 10:00 asset 7001, 10:30 asset 7001, 11:00 asset 7001"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServerWithAssets(t)
			c.asset(t, s)
			s.Database.Execute(t, c.arrange...)
			// Pro Features wrote this booking, as long as it was active.
			s.Database.Execute(t, "INSERT INTO wp_latepoint_bookings (id, booking_code, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id, total_attendees, order_item_id) "+
				"SELECT 7001, 'ASSET', '2026-11-24', '2026-11-24', 600, 660, 60, buffer_before, buffer_after, 'approved', 1, 2, 1, 1, 1, 1 FROM wp_latepoint_services WHERE id = 2",
				"INSERT INTO wp_latepoint_bookings_assets (booking_id, asset_id) SELECT 7001, asset_id FROM wp_latepoint_services_assets WHERE service_id = 2",
				"INSERT INTO wp_latepoint_bookings_assets (booking_id, asset_id) SELECT 7001, asset_id FROM wp_latepoint_services_assets WHERE service_id = 2")
			for query, want := range c.offered {
				a := dayOf(t, s, query+day+"&explain=1")
				expect.Equal(t, want, a.AvailableSlots, query)
				if got := strings.Join(a.unavailable(), ", "); c.explains != "" && query == "service_id=1&agent_id=3" && got != c.explains {
					t.Errorf("%s: %s", query, got)
				}
				ranged := s.Get("/availability?" + query + "&date=2026-11-23&date_to=2026-11-25").Want(http.StatusOK)
				expect.Equal(t, fmt.Sprint(want, all), fmt.Sprint(ranged.At("data", "days", "2026-11-24"), ranged.At("data", "days", "2026-11-25")), fmt.Sprintf("%s in a range", query))
			}
			s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'cancelled'")
			expect.Equal(t, all, dayOf(t, s, "service_id=1&agent_id=3"+day).AvailableSlots, "after it was cancelled")
		})
	}
}

// disableAsset gives an asset the status disabled.
func disableAsset(t testing.TB, s *apitest.Server, id int64) {
	t.Helper()
	s.Database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_assets SET status = 'disabled' WHERE id = %d", id))
}

// TestBookingsRespectAssets: whatever makes or moves a booking is refused where an asset that it would take is taken, by a booking
// or by a hold, and leaves nothing behind.
func TestBookingsRespectAssets(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*apitest.Server) (give func()){
		"by a booking": func(s *apitest.Server) func() {
			id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", tuesday("2", "1", "10:00")).Want(http.StatusCreated).At("data", "id"))
			return func() { s.Write(http.MethodPut, "/bookings/"+id, `{"status":"cancelled"}`).Want(http.StatusOK) }
		},
		"by a hold": func(s *apitest.Server) func() {
			id := fmt.Sprint(s.Write(http.MethodPost, "/holds", holdOf(tuesday("2", "1", "10:00"))).Want(http.StatusCreated).At("data", "id"))
			return func() { s.Write(http.MethodDelete, "/holds/"+id, "").Want(http.StatusOK) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServerWithAssets(t)
			s.Database.InsertAsset(t, 1, []int{1, 2}, 1, 3)
			give := take(s)
			early := fmt.Sprint(s.Write(http.MethodPost, "/bookings", tuesday("1", "3", "09:00")).Want(http.StatusCreated).At("data", "id"))
			other := fmt.Sprint(s.Write(http.MethodPost, "/bookings", tuesday("3", "3", "10:00")).Want(http.StatusCreated).At("data", "id"))
			apitest.WantContains(t, "09:00 booked", strings.Join(dayOf(t, s, "service_id=2&agent_id=3&date=2026-11-24&explain=1").unavailable(), ", "), "not offered")
			before := s.Database.Snapshot(t)
			for what, send := range map[string]func() apitest.Answer{
				"a booking": func() apitest.Answer { return s.Write(http.MethodPost, "/bookings", tuesday("1", "1", "10:30")) },
				"any agent": func() apitest.Answer { return s.Write(http.MethodPost, "/bookings", tuesday("2", `"any"`, "10:30")) },
				"a rehearsal": func() apitest.Answer {
					return s.Write(http.MethodPost, "/bookings?dry_run=1", tuesday("1", `"any"`, "10:30"))
				},
				"a hold": func() apitest.Answer {
					return s.Write(http.MethodPost, "/holds", holdOf(tuesday("1", `"any"`, "10:30")))
				},
				"a move":          func() apitest.Answer { return s.Write(http.MethodPut, "/bookings/"+early, `{"start_time":"09:30"}`) },
				"a longer visit":  func() apitest.Answer { return s.Write(http.MethodPut, "/bookings/"+early, `{"duration":90}`) },
				"another service": func() apitest.Answer { return s.Write(http.MethodPut, "/bookings/"+other, `{"service_id":1}`) },
				"in a rehearsal": func() apitest.Answer {
					return s.Write(http.MethodPut, "/bookings/"+other+"?dry_run=1", `{"service_id":2}`)
				},
			} {
				a := send()
				apitest.WantCode(t, a, http.StatusConflict, "time_slot_unavailable")
				apitest.WantNoWrites(t, what, before)
			}
			some := s.Write(http.MethodPost, "/bookings/bulk", `[`+tuesday("1", "1", "10:00")+`,`+tuesday("1", `"any"`, "11:00")+`,`+tuesday("2", `"any"`, "11:00")+`]`).Want(http.StatusMultiStatus)
			expect.Equal(t, 2, strings.Count(string(some.Body), "Time slot not available"), fmt.Sprintf("bulk: %s", some.Body))
			give()
			s.Write(http.MethodPut, "/bookings/"+other, `{"service_id":1}`).Want(http.StatusOK)
			apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", tuesday("2", "1", "10:00")), http.StatusConflict, "time_slot_unavailable")
			s.Write(http.MethodPut, "/bookings/"+other, `{"agent_id":1}`).Want(http.StatusOK) // it has the unit itself
		})
	}
}

// TestHoldTakesOneUnit: a hold takes a unit until it is used, and who uses it gets that unit.
func TestHoldTakesOneUnit(t *testing.T) {
	s := newServerWithAssets(t)
	s.Database.InsertAsset(t, 2, []int{1, 2})
	first := s.Write(http.MethodPost, "/holds", holdOf(tuesday("1", "1", "10:00"))).Want(http.StatusCreated)
	second := s.Write(http.MethodPost, "/holds", holdOf(tuesday("2", "3", "10:00"))).Want(http.StatusCreated)
	again := tuesday("1", "3", "10:30")
	apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", again), http.StatusConflict, "time_slot_unavailable")
	s.Write(http.MethodPost, "/bookings", fmt.Sprintf(`{"hold_id":%v,"customer_id":1}`, first.At("data", "id"))).Want(http.StatusCreated)
	apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", again), http.StatusConflict, "time_slot_unavailable")
	s.Database.Execute(t, fmt.Sprintf("UPDATE wp_bookside_holds SET expires_at = '2026-01-01' WHERE id = %v", second.At("data", "id")))
	s.Write(http.MethodPost, "/bookings", again).Want(http.StatusCreated)
}

// TestRowsOfAssets: a booking is stored with the assets of its service and agent, disabled ones too, and whenever it changes they are
// stored anew.
func TestRowsOfAssets(t *testing.T) {
	s := newServerWithAssets(t)
	room := s.Database.InsertAsset(t, 3, []int{1, 2})
	old := s.Database.InsertAsset(t, 3, []int{2, 1}, 3, 1)
	disableAsset(t, s, old)
	s.Database.InsertAsset(t, 3, []int{1}, 3)
	beamer := s.Database.InsertAsset(t, 3, []int{2})
	const rows = "SELECT asset_id, created_at, updated_at FROM wp_latepoint_bookings_assets WHERE booking_id = ? ORDER BY id"
	made := s.Write(http.MethodPost, "/bookings", tuesday("1", "1", "10:00")).Want(http.StatusCreated)
	id := fmt.Sprint(made.At("data", "id"))
	stamp := apitest.Now.UTC().Format("2006-01-02 15:04:05")
	of := func(at string, assets ...int64) (want []string) {
		for _, asset := range assets {
			want = append(want, fmt.Sprintf("%d|%s|%[2]s", asset, at))
		}
		return want
	}
	stored := func(what string, want []string) {
		t.Helper()
		expect.Equal(t, want, apitest.RowsOf(t, s.Database, rows, id), what)
	}
	stored("created", of(stamp, room, old))
	s.Clock = s.Clock.Add(time.Minute)
	later := s.Clock.UTC().Format("2006-01-02 15:04:05")
	s.Write(http.MethodPut, "/bookings/"+id+"?dry_run=1", `{"status":"cancelled"}`).Want(http.StatusOK)
	s.Write(http.MethodPut, "/bookings/"+id, `{"start_time":"10:00"}`).Want(http.StatusOK) // nothing changes
	stored("not changed", of(stamp, room, old))
	s.Write(http.MethodPut, "/bookings/"+id, `{"service_id":2}`).Want(http.StatusOK)
	stored("another service", of(later, room, old, beamer))
	s.Clock = s.Clock.Add(time.Minute)
	again := s.Clock.UTC().Format("2006-01-02 15:04:05")
	s.Database.Execute(t, fmt.Sprintf("DELETE FROM wp_latepoint_services_assets WHERE asset_id = %d", old))
	s.Write(http.MethodPut, "/bookings/"+id, `{"status":"cancelled"}`).Want(http.StatusOK)
	stored("cancelled, with another asset less", of(again, room, beamer))
	s.Clock = s.Clock.Add(time.Minute)
	s.Write(http.MethodPut, fmt.Sprint("/orders/", made.At("data", "order", "id")), `{"customer_id":2}`).Want(http.StatusOK)
	stored("of another customer", of(s.Clock.UTC().Format("2006-01-02 15:04:05"), room, beamer))

	s.Database.Execute(t, "UPDATE wp_latepoint_settings SET value = 'off' WHERE name = 'enable_assets_functionality'")
	s.Write(http.MethodPut, "/bookings/"+id, `{"service_id":1}`).Want(http.StatusOK)
	stored("switched off", of(s.Clock.UTC().Format("2006-01-02 15:04:05"), room, beamer))
	id = fmt.Sprint(s.Write(http.MethodPost, "/bookings", tuesday("1", "1", "10:00")).Want(http.StatusCreated).At("data", "id"))
	stored("created meanwhile", nil)
}

// TestLastUnitOfAnAsset sends requests of every kind, for two services and two agents, for the last unit of an asset to two servers
// at the same time. One succeeds.
func TestLastUnitOfAnAsset(t *testing.T) {
	one := newServerWithAssets(t)
	one.Database.InsertAsset(t, 1, []int{1, 2})
	var servers [2]*apitest.Server
	commits := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	for i := range servers {
		through := *one.Database
		dsn, proxy := fixtures.NewFaultProxy(t, through.DSN)
		through.DSN = dsn
		servers[i] = apitest.NewServerOver(t, &through, 15, time.Minute) // none waits for a connection
		servers[i].Key = one.Key
		proxy.Intercept(func(text string) []string {
			if text == "COMMIT" { // together with one of the other server, so that neither sees what the other wrote
				select {
				case commits[i] <- struct{}{}:
				case <-commits[1-i]:
				case <-time.After(200 * time.Millisecond):
				}
			}
			return []string{text}
		})
		proxy.CloseAll()
	}
	moving := make([]string, 5)
	for i := range moving {
		body := strings.Replace(tuesday(fmt.Sprint(1+i%2), "3", "10:00"), "2026-11-24", fmt.Sprintf("2026-12-%02d", 1+i), 1)
		moving[i] = fmt.Sprint(one.Write(http.MethodPost, "/bookings", body).Want(http.StatusCreated).At("data", "id"))
	}
	request := func(service, agent, start, day, customer string) string {
		return strings.NewReplacer("2026-11-24", day, `"customer_id":1`, `"customer_id":`+customer).Replace(tuesday(service, agent, start))
	}
	kinds := []func(s *apitest.Server, i int, day, customer string) apitest.Answer{
		func(s *apitest.Server, _ int, day, customer string) apitest.Answer {
			return s.Write(http.MethodPost, "/bookings", request("1", "1", "10:00", day, customer))
		},
		func(s *apitest.Server, _ int, day, customer string) apitest.Answer {
			return s.Write(http.MethodPost, "/bookings", request("2", "3", "10:30", day, customer))
		},
		func(s *apitest.Server, _ int, day, _ string) apitest.Answer {
			return s.Write(http.MethodPost, "/holds", holdOf(request("2", "1", "10:00", day, "1")))
		},
		func(s *apitest.Server, _ int, day, customer string) apitest.Answer {
			return s.Write(http.MethodPost, "/bookings/bulk", `[`+request("1", "3", "10:00", day, customer)+`]`)
		},
		func(s *apitest.Server, i int, day, _ string) apitest.Answer {
			return s.Write(http.MethodPut, "/bookings/"+moving[i], `{"start_date":"`+day+`","start_time":"10:00","agent_id":1}`)
		},
	}
	for round := range 5 {
		day := fmt.Sprintf("2026-11-%d", 23+round)
		var won atomic.Int64
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range 2 * len(kinds) {
			all.Go(func() {
				<-start
				a := kinds[i%len(kinds)](servers[i%2], round, day, fmt.Sprint(1+i)) // the row of a customer is locked
				switch {
				case a.Status < http.StatusMultipleChoices:
					won.Add(1)
				case a.Status != http.StatusConflict && !strings.Contains(string(a.Body), "Time slot not available"):
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
		}
		close(start)
		all.Wait()
		taken := apitest.RowOf(t, one.Database, "SELECT (SELECT COUNT(*) FROM wp_latepoint_bookings WHERE start_date = ?), (SELECT COUNT(*) FROM wp_bookside_holds WHERE start_date = ?)", day, day)
		if won.Load() != 1 || taken != "1|0" && taken != "0|1" {
			t.Errorf("%s: %d requests succeeded, bookings and holds %s", day, won.Load(), taken)
		}
	}
}

// TestHiddenBookingsTakeAssets: a key that sees one agent is not offered what the bookings of others take, and is not told of them.
func TestHiddenBookingsTakeAssets(t *testing.T) {
	s := newServerWithAssets(t)
	s.Database.InsertAsset(t, 1, []int{1, 2})
	s.Write(http.MethodPost, "/bookings", tuesday("2", "1", "10:00")).Want(http.StatusCreated)
	s.Key = s.LimitedKey(domain.Scope{Agents: []int64{3}})
	expect.Equal(t, "09:30 asset, 10:00 asset, 10:30 asset", strings.Join(dayOf(t, s, "service_id=1&agent_id=any&date=2026-11-24&explain=1").unavailable(), ", "), "not offered")
	apitest.WantCode(t, s.Write(http.MethodPost, "/holds", holdOf(tuesday("1", "3", "10:00"))), http.StatusConflict, "time_slot_unavailable")
}
