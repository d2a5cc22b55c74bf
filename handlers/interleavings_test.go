package handlers_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

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
			http.MethodPost, "/bookings", apitest.Friday("customer_id", "null", "customer", `{"first_name":"Rita","last_name":"Neu","email":"rita@example.test"}`), http.StatusCreated,
			"latepoint_customers", "wordpress_user_id = 801", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.UsersSite(t)
			arrangeCustomers(t, s.Database)
			s.Database.Execute(t, apitest.FillLocks, "DELETE FROM wp_bookside_locks WHERE kind = 8 AND id = 9001 MOD 1024",
				`INSERT INTO wp_latepoint_customers (id, uuid, first_name, last_name, email, phone, status) VALUES (8004, 'u8004', 'Ida', 'Neu', 'ida@example.test', '', 'active')`)
			site := apitest.Begin(t, s.Database, c.site...)
			answers := make(chan apitest.Answer, 1)
			go func() { answers <- s.Write(c.method, c.path, c.body) }()
			s.WaitForLock(t)
			expect.NoError(t, site.Commit())
			(<-answers).Want(c.status)
			expect.Equal(t, c.rows, s.Count(c.table, c.where), fmt.Sprintf("rows of %s", c.table))
		})
	}
}

// interleaving decides in which order the statements of two requests reach the database. Each request stops
// before each of its statements, and only one of them proceeds at a time, unless it waits for the other's
// locks.
type interleaving struct {
	arrived  chan arrival
	finished chan int
	done     chan struct{}      // closed when both requests have ended
	waiting  [2][]chan struct{} // stopped statements, in order of arrival
	over     [2]bool
}

// arrival is a statement of a request.
type arrival struct {
	request int
	pass    chan struct{}
}

// lockPatience is the time without a next statement after which a request counts as waiting for a lock.
const lockPatience = 15 * time.Millisecond

// stop waits until a request's statement may proceed.
func (i *interleaving) stop(request int) {
	pass := make(chan struct{})
	select {
	case i.arrived <- arrival{request, pass}:
	case <-i.done:
		return
	}
	select {
	case <-pass:
	case <-i.done:
	}
}

// run runs both requests in an order that depends only on the random numbers, except where locks delay
// requests.
func (i *interleaving) run(random *rand.Rand, requests [2]func()) {
	defer close(i.done)
	for n, request := range requests {
		go func() {
			request()
			i.finished <- n
		}()
	}
	switches := []int{2, 4, 8}[random.IntN(3)] // on average, the other request proceeds after this many statements
	turn := random.IntN(2)
	moving := [2]bool{true, true} // a request is between two of its statements
	for !i.over[0] || !i.over[1] {
		i.settle(&moving)
		if random.IntN(switches) == 0 {
			turn = 1 - turn
		}
		if len(i.waiting[turn]) == 0 {
			turn = 1 - turn
		}
		if len(i.waiting[turn]) > 0 {
			close(i.waiting[turn][0])
			i.waiting[turn] = i.waiting[turn][1:]
			moving[turn] = true
		}
	}
}

// settle returns when both requests are stopped, have ended, or seem to wait for a lock, and at least one
// has a statement to proceed with.
func (i *interleaving) settle(moving *[2]bool) {
	patience := time.After(lockPatience)
	for moving[0] || moving[1] || len(i.waiting[0])+len(i.waiting[1]) == 0 && (!i.over[0] || !i.over[1]) {
		select {
		case a := <-i.arrived:
			i.waiting[a.request] = append(i.waiting[a.request], a.pass)
			moving[a.request] = false
		case n := <-i.finished:
			i.over[n], moving[n] = true, false
		case <-patience:
			*moving = [2]bool{}
		}
	}
}

// contest is two requests that compete, or of which the second shows what the first changes.
type contest [2]string

// contestRequest returns a request of a contest. Each request that moves a booking moves its own; the first
// one's is the one that is cancelled.
func contestRequest(kind string, of int, ids contestIDs) (method, path, body string) {
	customer := fmt.Sprint(historyCustomers[of])
	switch kind {
	case "create":
		return http.MethodPost, "/bookings", apitest.Friday("customer_id", customer)
	case "move":
		return http.MethodPut, "/bookings/" + ids.bookings[of], `{"start_time":"10:00"}`
	case "cancel":
		return http.MethodPut, "/bookings/" + ids.bookings[0], `{"status":"cancelled"}`
	case "hold":
		return http.MethodPost, "/holds", apitest.HoldBody()
	case "availability":
		return http.MethodGet, "/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05", ""
	case "read":
		return http.MethodGet, "/bookings/" + ids.bookings[0], ""
	default:
		return http.MethodPost, "/bookings", fmt.Sprintf(`{"hold_id":%s,"customer_id":%s}`, ids.hold, customer)
	}
}

// The initial states of contests: the slot at 10:00 is free, has the booking that is cancelled, or is held.
var contestStates = map[string][]contest{
	"the slot is free": {
		{"create", "create"}, {"create", "move"}, {"create", "hold"},
		{"move", "move"}, {"move", "hold"}, {"move", "cancel"}, {"hold", "hold"},
		{"create", "availability"}, {"move", "availability"}, {"hold", "availability"}, {"move", "read"},
	},
	"the slot is booked": {
		{"create", "cancel"}, {"hold", "cancel"}, {"cancel", "cancel"},
		{"cancel", "availability"}, {"cancel", "read"},
	},
	"the slot is held": {
		{"create", "book hold"}, {"move", "book hold"}, {"cancel", "book hold"},
		{"hold", "book hold"}, {"book hold", "book hold"}, {"book hold", "availability"},
	},
}

// contestIDs are the records that contests use.
type contestIDs struct {
	bookings [2]string
	hold     string
}

// arena is a database for contests. Each of the two requests has its own server.
type arena struct {
	t        *testing.T
	database *fixtures.Database
	servers  [2]*apitest.Server
	ids      contestIDs
	prepared *fixtures.Snapshot

	mu      sync.Mutex
	see     [2]func(text string) []string // replaces statements
	running *interleaving                 // nil while nothing is stopped
}

// newArena prepares a state of contestStates.
func newArena(t *testing.T, state string) *arena {
	t.Helper()
	a := &arena{t: t, database: fixtures.New(t, fixtures.SiteA().WithFewBookings())}
	for i := range a.servers {
		through := *a.database
		var proxy *fixtures.FaultProxy
		through.DSN, proxy = fixtures.NewFaultProxy(t, through.AdminDSN)
		proxy.Intercept(func(text string) []string { return a.stop(i, text) })
		a.servers[i] = apitest.NewServerOver(t, &through, 4, time.Minute)
	}
	a.servers[1].Key = a.servers[0].Key // a hold belongs to its key
	s := a.servers[0]
	starts := [2]string{`"13:00"`, `"15:00"`}
	switch state {
	case "the slot is booked":
		starts[0] = `"10:00"`
	case "the slot is held":
		a.ids.hold = s.KeepSlot(t, apitest.HoldBody("hold_minutes", `30`))
	}
	for i, start := range starts {
		a.ids.bookings[i] = fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", start, "customer_id", "2")).Want(http.StatusCreated).At("data", "id"))
	}
	a.database.Execute(t, apitest.FillLocks)
	for _, s := range a.servers {
		s.Get("/status").Want(http.StatusOK)
	}
	a.prepared = a.database.Snapshot(t)
	return a
}

// stop stops a statement of a server, and returns what to send instead.
func (a *arena) stop(server int, text string) []string {
	a.mu.Lock()
	running := a.running
	a.mu.Unlock()
	if running != nil {
		running.stop(server)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if see := a.see[server]; see != nil {
		return see(text)
	}
	return []string{text}
}

// contestOutcome is the responses to both requests, and what they leave in the database.
type contestOutcome struct {
	status [2]int
	shown  string // the response to the reading request, if there is one
	rows   string
}

// String returns the outcome on several lines.
func (o contestOutcome) String() string { return fmt.Sprintf("%v\n%s\n%s", o.status, o.shown, o.rows) }

// send sends a request of a contest, and records the response.
func (a *arena) send(c contest, of int, o *contestOutcome) {
	method, path, body := contestRequest(c[of], of, a.ids)
	got := a.servers[of].Write(method, path, body)
	if method == http.MethodGet {
		o.shown = string(got.Body)
	}
	if got.Status >= http.StatusInternalServerError {
		a.t.Errorf("%s: %d %s", c[of], got.Status, got.Body)
	}
	o.status[of] = got.Status
}

// oneByOne returns the outcome if one request follows the other.
func (a *arena) oneByOne(c contest, first int) (o contestOutcome) {
	for _, of := range []int{first, 1 - first} {
		a.send(c, of, &o)
	}
	o.rows = a.rows()
	return o
}

// interleaved returns the outcome if both requests run at the same time, and how many transactions had to
// run again.
func (a *arena) interleaved(c contest, seed uint64) (o contestOutcome, retried int64) {
	for _, s := range a.servers {
		retried -= s.Platform.TransactionConflicts()
	}
	i := &interleaving{arrived: make(chan arrival), finished: make(chan int), done: make(chan struct{})}
	a.mu.Lock()
	a.running = i
	a.mu.Unlock()
	i.run(rand.New(rand.NewPCG(seed, 0)), [2]func(){func() { a.send(c, 0, &o) }, func() { a.send(c, 1, &o) }})
	a.mu.Lock()
	a.running = nil
	a.mu.Unlock()
	o.rows = a.rows()
	for _, s := range a.servers {
		retried += s.Platform.TransactionConflicts()
	}
	return o, retried
}

// madeUp are the columns with unpredictable values, and those with texts that contain them.
var madeUp = []string{"id", "booking_code", "confirmation_code", "meta_value", "description", "item_data", "invoice_number", "access_key"}

// references are the columns with the id of a row of another table.
var references = map[string][]string{
	"order_id": {"latepoint_orders"}, "order_item_id": {"latepoint_order_items"}, "booking_id": {"latepoint_bookings"},
	"object_id": {"latepoint_bookings", "latepoint_orders"},
}

// rows returns what has changed since the arena was prepared, without what differs each time, and reverts
// it.
func (a *arena) rows() string {
	now := a.prepared.Again(a.t)
	changes := fixtures.Changes(a.prepared, now)
	inserted := map[string]bool{}
	for _, c := range changes {
		if c.Op == fixtures.Insert {
			inserted[c.Table+" "+c.Key] = true
		}
	}
	var lines []string
	for _, c := range changes {
		line := string(c.Op) + " " + c.Table
		if c.Op == fixtures.Update {
			line += " " + c.Key
		}
		values := c.Values
		if c.Op == fixtures.Update {
			values = map[string]any{}
			for column, pair := range c.Changed {
				values[column] = pair[1]
			}
		}
		for _, column := range sortedKeys(values) {
			value := fmt.Sprint(values[column])
			switch {
			case slices.Contains(madeUp, column):
				continue
			case slices.ContainsFunc(references[column], func(table string) bool { return inserted[table+" "+value] }):
				value = "new"
			}
			line += " " + column + "=" + value
		}
		lines = append(lines, line)
	}
	a.prepared.RestoreFrom(a.t, now)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// sortedKeys returns the columns of a row in order.
func sortedKeys(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }

// flaw is a problem with an interleaving: an outcome that neither order of the requests has, or a
// transaction that had to run again.
type flaw string

const (
	neitherOrder flaw = "the outcome is that of neither order"
	runAgain     flaw = "a transaction was run again"
)

// walk tries interleavings of a contest until found, which receives each flaw, returns that it has seen
// enough.
func (a *arena) walk(c contest, seeds int, found func(flaw flaw, text string) (enough bool)) {
	orders := []contestOutcome{a.oneByOne(c, 0), a.oneByOne(c, 1)}
	for seed := range seeds {
		got, retried := a.interleaved(c, uint64(seed))
		where := fmt.Sprintf("%s and %s, seed %d", c[0], c[1], seed)
		if retried != 0 && found(runAgain, where) {
			return
		}
		if !slices.Contains(orders, got) && found(neitherOrder, fmt.Sprintf("%s: %v\nwant\n%v\nor\n%v", where, got, orders[0], orders[1])) {
			return
		}
	}
}

// TestInterleavings: whatever the order of the statements of two requests, their responses and the rows
// that they leave are the same as if one had followed the other.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	fixtures.RequireTime(t)
	for state, contests := range contestStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, state)
			for _, c := range contests {
				a.walk(c, apitest.Seeds(t), func(flaw flaw, text string) bool {
					t.Errorf("%s: %s", flaw, text)
					return false
				})
			}
		})
	}
}

// plant returns what replaces the statements of a server in an arena.
type plant func(a *arena, server int) func(text string) []string

// takesLocks reports whether a statement is the one in adapter/session/locks.go.
func takesLocks(text string) bool { return strings.HasPrefix(text, "UPDATE `wp_bookside_locks` ") }

// leaveLocksOut makes a server take locks that nobody else takes.
func leaveLocksOut(a *arena, server int) func(string) []string {
	own := ownLocks(a.t, a.database, server)
	return func(text string) []string { return []string{own(text)} }
}

// readBeforeLocks makes a server take its locks after it has read everything, before it writes.
func readBeforeLocks(a *arena, server int) func(string) []string {
	own := ownLocks(a.t, a.database, server)
	var late []string
	return func(text string) []string {
		switch {
		case text == "START TRANSACTION":
			late = nil
		case takesLocks(text):
			late = append(late, text)
			return []string{own(text)} // finds as many rows
		case own(text) != text: // adds a row to lock
			return []string{own(text), text}
		case !strings.HasPrefix(strings.TrimLeft(text, "("), "SELECT"):
			late = append(late, text)
			defer func() { late = nil }()
			return late
		}
		return []string{text}
	}
}

// swapLocks makes a server take the second locks of a transaction before the first ones, using those of the
// previous transaction.
func swapLocks(*arena, int) func(string) []string {
	var first, second string
	taken := 0
	return func(text string) []string {
		switch {
		case text == "START TRANSACTION":
			taken = 0
		case takesLocks(text) && taken == 0:
			taken, first = 1, text
			if second != "" {
				return []string{second}
			}
		case takesLocks(text) && taken == 1:
			taken = 2
			if second != "" {
				return []string{first, text}
			}
			second = text
		}
		return []string{text}
	}
}

// TestInterleavingsFindFaults: faults planted between the servers and the database are found.
func TestInterleavingsFindFaults(t *testing.T) {
	t.Parallel()
	fixtures.RequireTime(t)
	for name, c := range map[string]struct {
		plants  [2]plant
		contest contest
		want    flaw
	}{
		"a lock left out":        {[2]plant{leaveLocksOut, leaveLocksOut}, contest{"create", "create"}, neitherOrder},
		"a read before the lock": {[2]plant{readBeforeLocks, readBeforeLocks}, contest{"create", "move"}, runAgain},
		"two locks swapped":      {[2]plant{nil, swapLocks}, contest{"move", "cancel"}, runAgain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, "the slot is free")
			for server, plant := range c.plants {
				if plant != nil {
					see := plant(a, server)
					a.mu.Lock()
					a.see[server] = see
					a.mu.Unlock()
				}
			}
			var found bool
			a.walk(c.contest, 400, func(flaw flaw, _ string) bool {
				found = found || flaw == c.want
				return found
			})
			if !found {
				t.Error("not found")
			}
		})
	}
}
