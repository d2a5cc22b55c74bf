package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestConcurrentBookingsOfASlotSucceedOnce sends requests of every kind for
// one slot to two servers at the same time: single and bulk bookings, bookings
// with any agent, and changes and approvals of others. One succeeds; the
// others name its booking as the conflict.
func TestConcurrentBookingsOfASlotSucceedOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	// Any agent means agent 5 here: no other agent gives the service at location 1.
	database.Execute(t, "DELETE FROM wp_latepoint_agents_services WHERE service_id = 4 AND agent_id <> 5")
	servers := []*server{newServer(t, database), newServer(t, database)}
	const slot = `"service_id":4,"location_id":1,"start_date":"2027-02-05","start_time":"10:00","customer_id":9`
	moving := make([]string, 20)
	for i := range moving {
		friday := time.Date(2027, 2, 12+7*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		created := servers[0].write(http.MethodPost, "/bookings",
			`{"service_id":4,"agent_id":5,"location_id":1,"start_date":"`+friday+`","start_time":"10:00","customer_id":9}`).want(http.StatusCreated)
		moving[i] = fmt.Sprint(created.at("data", "id"))
	}
	kinds := []func(s *server, i int) answer{
		func(s *server, _ int) answer { return s.write(http.MethodPost, "/bookings", `{"agent_id":5,`+slot+`}`) },
		func(s *server, _ int) answer {
			return s.write(http.MethodPost, "/bookings", `{"agent_id":"any",`+slot+`}`)
		},
		func(s *server, _ int) answer {
			return s.write(http.MethodPost, "/bookings/bulk", `{"bookings":[{"agent_id":-1,`+slot+`},{"agent_id":5,`+slot+`}]}`)
		},
		func(s *server, i int) answer {
			return s.write(http.MethodPut, "/bookings/"+moving[i%len(moving)], `{"start_date":"2027-02-05","start_time":"10:00"}`)
		},
	}
	var mu sync.Mutex
	var got []answer
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 200 {
		all.Go(func() {
			<-start
			a := kinds[i%len(kinds)](servers[i/len(kinds)%len(servers)], i/len(kinds))
			mu.Lock()
			defer mu.Unlock()
			got = append(got, a)
		})
	}
	close(start)
	all.Wait()
	for _, a := range got {
		switch a.status {
		case http.StatusOK, http.StatusCreated, http.StatusMultiStatus:
		case http.StatusBadRequest: // a bulk request that created nothing
			expect.Equal(t, "Time slot not available", a.at("results", "errors", 0, "error"), a.body)
		default:
			a.want(http.StatusConflict)
			if a.at("error", "details", "conflicting_booking_id") == nil {
				t.Errorf("no booking has the slot: %s", a.body)
			}
		}
	}
	var count int
	err := database.SQL.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM wp_latepoint_bookings WHERE status = 'approved' AND agent_id = 5 AND start_date = '2027-02-05'").Scan(&count)
	if err != nil || count != 1 {
		t.Errorf("%d bookings hold the slot, want 1 (%v)", count, err)
	}
}

// TestBookingOfThePluginWins: the plugin takes no locks, so it may book a slot after we found it free. If
// it commits before we do, its booking wins: ours gets the 409 that names it, and leaves nothing behind.
func TestBookingOfThePluginWins(t *testing.T) {
	t.Parallel()
	const customer = "SELECT id FROM wp_latepoint_customers WHERE id = 9 FOR UPDATE"
	for name, c := range map[string]struct {
		method, path, body string
		row                string // written after the slot was found free
		bulk               bool
	}{
		"a new booking":  {http.MethodPost, "/bookings", friday(), customer, false},
		"a bulk booking": {http.MethodPost, "/bookings/bulk", `[` + friday() + `]`, customer, true},
		"a booking that moves": {http.MethodPut, "/bookings/7", `{"service_id":4,"agent_id":5,"location_id":1,"start_date":"2027-02-05","start_time":"10:00"}`,
			"SELECT id FROM wp_latepoint_order_items WHERE id = (SELECT order_item_id FROM wp_latepoint_bookings WHERE id = 7) FOR UPDATE", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := ownWriter(t, fixtures.SiteA().WithFewBookings())
			s.database.Execute(t, fillLocks)
			other := begin(t, s.database, c.row)
			before := s.database.Snapshot(t)
			answers := make(chan answer, 1)
			go func() { answers <- s.write(c.method, c.path, c.body, "Idempotency-Key", "x") }()
			s.waitForLock(t)
			theirs := appointment{id: 5001, agent: 5, service: 4, location: 1, date: "2027-02-05", start: "10:30", end: "11:30"}
			run(t, other, theirs.sql(t))
			expect.NoError(t, other.Commit())
			a := <-answers
			if c.bulk {
				expect.Equal(t, "Time slot not available", a.want(http.StatusBadRequest).at("results", "errors", 0, "error"), a.body)
			} else if id := fmt.Sprint(a.want(http.StatusConflict).at("error", "details", "conflicting_booking_id")); id != "5001" {
				t.Errorf("conflicting booking %s", id)
			}
			for _, change := range summarizeChanges(fixtures.Changes(before, before.Again(t))) {
				theirs := strings.HasPrefix(change, "bookings insert") && strings.Contains(change, "start_time=630")
				if !theirs && !strings.HasPrefix(change, "bookside_") {
					t.Errorf("left behind: %s", change)
				}
			}
		})
	}
}

// TestCustomersWhileTheSiteWrites: a request that conflicts with a transaction
// of the site waits for it and acts on its result.
func TestCustomersWhileTheSiteWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		site               []string // not committed when the request arrives
		method, path, body string
		status             int
		table, where       string // the rows to count at the end
		rows               int
	}{
		"payment of a customer who is being deleted": {
			[]string{"DELETE FROM wp_latepoint_customers WHERE id = 8003"},
			http.MethodPost, "/payments", `{"order_id":1030,"customer_id":8003,"amount":5}`, http.StatusBadRequest,
			"latepoint_transactions", "customer_id = 8003", 0,
		},
		"deletion of a customer who gets an order": {
			[]string{"SELECT id FROM wp_latepoint_customers WHERE id = 8004 FOR UPDATE", "INSERT INTO wp_latepoint_orders (id, customer_id, status) VALUES (9001, 8004, 'open')"},
			http.MethodDelete, "/customers/8004", "", http.StatusOK,
			"bookside_locks", "kind = 8 AND id = 9001 MOD 1024 AND n > 0", 1,
		},
		"user who is being connected": {
			[]string{"SELECT ID FROM wp_users WHERE ID = 801 FOR UPDATE", "UPDATE wp_latepoint_customers SET wordpress_user_id = 801 WHERE id = 8004"},
			http.MethodPost, "/bookings", friday("customer_id", "null", "customer", `{"first_name":"Rita","last_name":"Neu","email":"rita@example.test"}`), http.StatusCreated,
			"latepoint_customers", "wordpress_user_id = 801", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := usersSite(t)
			arrangeCustomers(t, s.database)
			s.database.Execute(t, fillLocks, "DELETE FROM wp_bookside_locks WHERE kind = 8 AND id = 9001 MOD 1024",
				`INSERT INTO wp_latepoint_customers (id, uuid, first_name, last_name, email, phone, status) VALUES (8004, 'u8004', 'Ida', 'Neu', 'ida@example.test', '', 'active')`)
			site := begin(t, s.database, c.site...)
			answers := make(chan answer, 1)
			go func() { answers <- s.write(c.method, c.path, c.body) }()
			s.waitForLock(t)
			expect.NoError(t, site.Commit())
			(<-answers).want(c.status)
			expect.Equal(t, c.rows, s.count(c.table, c.where), fmt.Sprintf("rows of %s", c.table))
		})
	}
}
