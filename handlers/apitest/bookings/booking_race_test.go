package bookings_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
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
	servers := []*apitest.Server{apitest.NewServer(t, database), apitest.NewServer(t, database)}
	const slot = `"service_id":4,"location_id":1,"start_date":"2027-02-05","start_time":"10:00","customer_id":9`
	moving := make([]string, 20)
	for i := range moving {
		friday := time.Date(2027, 2, 12+7*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		created := servers[0].Write(http.MethodPost, "/bookings",
			`{"service_id":4,"agent_id":5,"location_id":1,"start_date":"`+friday+`","start_time":"10:00","customer_id":9}`).Want(http.StatusCreated)
		moving[i] = fmt.Sprint(created.At("data", "id"))
	}
	kinds := []func(s *apitest.Server, i int) apitest.Answer{
		func(s *apitest.Server, _ int) apitest.Answer {
			return s.Write(http.MethodPost, "/bookings", `{"agent_id":5,`+slot+`}`)
		},
		func(s *apitest.Server, _ int) apitest.Answer {
			return s.Write(http.MethodPost, "/bookings", `{"agent_id":"any",`+slot+`}`)
		},
		func(s *apitest.Server, _ int) apitest.Answer {
			return s.Write(http.MethodPost, "/bookings/bulk", `{"bookings":[{"agent_id":-1,`+slot+`},{"agent_id":5,`+slot+`}]}`)
		},
		func(s *apitest.Server, i int) apitest.Answer {
			return s.Write(http.MethodPut, "/bookings/"+moving[i%len(moving)], `{"start_date":"2027-02-05","start_time":"10:00"}`)
		},
	}
	var mu sync.Mutex
	var got []apitest.Answer
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
		switch a.Status {
		case http.StatusOK, http.StatusCreated, http.StatusMultiStatus:
		case http.StatusBadRequest: // a bulk request that created nothing
			expect.Equal(t, "Time slot not available", a.At("results", "errors", 0, "error"), a.Body)
		default:
			a.Want(http.StatusConflict)
			if a.At("error", "details", "conflicting_booking_id") == nil {
				t.Errorf("no booking has the slot: %s", a.Body)
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
