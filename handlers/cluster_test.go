package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestCluster: servers on the two nodes of a Galera cluster, where nothing that one node locks is locked on the
// other, give a slot, an e-mail address or an Idempotency-Key to one of their rivals only, and both nodes have
// the same rows in the end.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := fixtures.NewGaleraPair(t, fixtures.SiteA().WithFewBookings())
	servers := []*apitest.Server{apitest.NewServerOver(t, nodes[0], 10, time.Minute)}
	waitForNodes(t, nodes) // for our tables
	servers = append(servers, apitest.NewServerOver(t, nodes[1], 10, time.Minute))
	servers[1].Key = servers[0].Key // an Idempotency-Key belongs to its key
	waitForNodes(t, nodes)

	const contests, rivals = 10, 6
	for _, c := range []struct {
		name  string
		send  func(s *apitest.Server, contest, rival int) apitest.Answer
		loser int // status of all rivals but one
		table string
		where string // a row of each winner
	}{
		{
			"a slot",
			func(s *apitest.Server, contest, _ int) apitest.Answer {
				day := time.Date(2027, 2, 5+7*contest, 0, 0, 0, 0, time.UTC)
				return s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", day.Format(`"2006-01-02"`)))
			},
			http.StatusConflict,
			"latepoint_bookings", "start_time = 600 AND start_date BETWEEN '2027-02-05' AND '2027-04-09'",
		},
		{
			"an e-mail address",
			func(s *apitest.Server, contest, rival int) apitest.Answer {
				const body = `{"first_name":"Rita","last_name":"Neu %d","email":"rita%d@example.test"}`
				return s.Write(http.MethodPost, "/customers", fmt.Sprintf(body, rival, contest))
			},
			http.StatusUnprocessableEntity,
			"latepoint_customers", "email LIKE 'rita%@example.test'",
		},
		{
			"an Idempotency-Key",
			func(s *apitest.Server, contest, _ int) apitest.Answer {
				return s.Write(http.MethodPost, "/payments", `{"booking_id":7,"amount":5,"notes":"cluster"}`, "Idempotency-Key", fmt.Sprint("once", contest))
			},
			http.StatusCreated, // all get the same answer
			"latepoint_transactions", "notes = 'cluster'",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for contest := range contests {
				statuses := make([]int, rivals)
				var all sync.WaitGroup
				for rival := range rivals {
					all.Go(func() {
						statuses[rival] = final(func() apitest.Answer { return c.send(servers[rival%2], contest, rival) })
					})
				}
				all.Wait()
				want := append([]int{http.StatusCreated}, slices.Repeat([]int{c.loser}, rivals-1)...)
				if slices.Sort(statuses); !slices.Equal(statuses, want) {
					t.Errorf("%d: %v, want %v", contest, statuses, want)
				}
			}
			waitForNodes(t, nodes)
			for i, s := range servers {
				expect.Equal(t, contests, s.Count(c.table, c.where), fmt.Sprintf("rows on node %d of %d contests", i, contests))
			}
		})
	}
	for _, change := range fixtures.Changes(nodes[0].Snapshot(t), nodes[1].Snapshot(t)) {
		t.Errorf("the nodes differ: %+v", change)
	}
}

// final repeats a request that is told to come again, and returns the status of its answer.
func final(send func() apitest.Answer) int {
	for {
		a := send()
		if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "" || a.Status == http.StatusConflict && a.At("error", "code") == "idempotency_in_progress" {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		return a.Status
	}
}

// waitForNodes waits until both nodes have applied what either has committed.
func waitForNodes(t *testing.T, nodes [2]*fixtures.Database) {
	t.Helper()
	for range 3000 {
		var committed [2]string
		for i, node := range nodes {
			node.Scan(t, "SHOW STATUS LIKE 'wsrep_last_committed'", new(string), &committed[i])
		}
		if committed[0] == committed[1] {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the nodes do not agree")
}
