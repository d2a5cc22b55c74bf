package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// body is a JSON object.
type body = map[string]any

// with returns the object with other members.
func with(b, more body) body {
	b = maps.Clone(b)
	maps.Copy(b, more)
	return b
}

// anyAgent leaves the choice to the site.
const anyAgent = "any"

func at(s start, service int, agent any) body {
	return body{"service_id": service, "agent_id": agent, "location_id": 1, "customer_id": 1, "start_date": s.Day, "start_time": s.Time, "send_confirmation": false}
}

// contests runs all contests.
func (l *load) contests(ctx context.Context, pairs, storms, size int) error {
	kinds := []struct {
		name    string
		of, n   int // contests, and requests in each
		contest func(ctx context.Context, i, n int) (contest, error)
	}{
		{"slots, pairs", pairs, 2, l.slotPair},
		{"slots, storms", storms, size, l.slotStorm},
		{"e-mails, pairs", pairs, 2, l.emailContest},
		{"e-mails, storms", storms, size, l.emailContest},
		{"idempotency, pairs", pairs, 2, l.onceContest},
		{"idempotency, storms", storms, size, l.onceContest},
	}
	for _, kind := range kinds {
		err := l.measure(ctx, kind.name, func() error {
			for i := range kind.of {
				c, err := kind.contest(ctx, i, kind.n)
				if err != nil {
					return err
				}
				if err := l.runContest(ctx, c, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := l.measure(ctx, "site's settings, storms", func() error { return l.settingStorms(ctx, size) }); err != nil {
		return err
	}
	if err := l.measure(ctx, "connections cut, storms", func() error { return l.cutStorms(ctx, size) }); err != nil {
		return err
	}
	if !l.galera {
		return nil // group replication cannot disable a member and keep its connections
	}
	return l.measure(ctx, "node out of service", func() error { return l.outOfService(ctx) })
}

// slotIsGone reports whether a request lost the contest for a slot.
func slotIsGone(a answer) bool {
	return a.status == http.StatusConflict && a.code() == "time_slot_unavailable"
}

// book is POST /bookings.
func (l *load) book(b body) attempt {
	return l.compete(request{method: http.MethodPost, path: "/bookings", body: b}, func(a answer) (int, bool) {
		if a.status == http.StatusCreated {
			return 1, true
		}
		return 0, slotIsGone(a)
	})
}

// bulk is POST /bookings/bulk.
func (l *load) bulk(bookings ...body) attempt {
	return l.compete(request{method: http.MethodPost, path: "/bookings/bulk", body: body{"bookings": bookings}}, func(a answer) (int, bool) {
		var answered struct {
			Results struct {
				Success []struct{}
				Errors  []struct{ Error string }
			}
		}
		if err := json.Unmarshal(a.body, &answered); err != nil {
			return 0, false
		}
		for _, e := range answered.Results.Errors {
			if e.Error != "Time slot not available" {
				return len(answered.Results.Success), false
			}
		}
		return len(answered.Results.Success), len(answered.Results.Success)+len(answered.Results.Errors) == len(bookings)
	})
}

// move is PUT /bookings/{id}, which approves a pending booking.
func (l *load) move(ctx context.Context, to body) (attempt, error) {
	id, err := l.create(ctx, "/bookings", with(to, body{"status": "pending"}))
	if err != nil {
		return nil, err
	}
	return l.compete(request{method: http.MethodPut, path: "/bookings/" + id, body: body{"status": "approved"}}, func(a answer) (int, bool) {
		if a.status == http.StatusOK {
			return 1, true
		}
		return 0, slotIsGone(a)
	}), nil
}

// create creates a record before a contest and returns its id.
func (l *load) create(ctx context.Context, path string, b body) (id string, err error) {
	for deadline := time.Now().Add(patience); ; pause() {
		a, retryAfter, err := l.send(ctx, l.sidecars[0], request{method: http.MethodPost, path: path, body: b})
		if err != nil {
			return "", err
		}
		if a.status == http.StatusServiceUnavailable && retryAfter != "" && time.Now().Before(deadline) {
			continue
		}
		var created struct {
			Data struct{ ID json.RawMessage }
		}
		if err := json.Unmarshal(a.body, &created); err != nil || a.status != http.StatusCreated {
			return "", fmt.Errorf("POST %s: %d %.300s", path, a.status, a.body)
		}
		return strings.Trim(string(created.Data.ID), `"`), l.sync(ctx)
	}
}

// slotContest is a contest for a slot; each winner has an approved booking.
func (l *load) slotContest(name string, s slot, service, capacity int) contest {
	return contest{
		name: name, capacity: capacity,
		rows: "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE id > ? AND status = 'approved' AND start_date = ? AND start_time = ? AND service_id = ?",
		args: []any{l.lastOld, s.Day, s.minutes(), service},
	}
}

// slotPair is two requests of which only one can succeed.
func (l *load) slotPair(ctx context.Context, i, _ int) (contest, error) {
	if i%7 == 6 {
		s, err := l.slots.takeCourse()
		if err != nil {
			return contest{}, err
		}
		c := l.slotContest("four of six places, twice", s, courseService, 1)
		four := l.book(with(at(s.start, courseService, courseAgent), body{"total_attendees": 4}))
		c.attempts = []attempt{four, four}
		return c, nil
	}
	s, err := l.slots.take(one)
	if err != nil {
		return contest{}, err
	}
	oneAgent, anyone := at(s.start, shortService, s.agents[0]), at(s.start, shortService, anyAgent)
	c := l.slotContest("", s, shortService, 1)
	switch i % 7 {
	case 0:
		c.name, c.attempts = "one agent, twice", []attempt{l.book(oneAgent), l.book(oneAgent)}
	case 1:
		c.name, c.attempts = "any agent, twice", []attempt{l.book(anyone), l.book(anyone)}
	case 2:
		c.name, c.attempts = "any agent and one", []attempt{l.book(anyone), l.book(oneAgent)}
	case 3:
		c.name, c.attempts = "bulk and one", []attempt{l.bulk(oneAgent, anyone), l.book(oneAgent)}
	case 4:
		moved, err := l.move(ctx, oneAgent)
		c.name, c.attempts = "move and one", []attempt{moved, l.book(oneAgent)}
		return c, err
	case 5:
		moved, err := l.move(ctx, oneAgent)
		other, otherErr := l.move(ctx, oneAgent)
		c.name, c.attempts = "move, twice", []attempt{moved, other}
		return c, errors.Join(err, otherErr)
	}
	return c, nil
}

// repeat returns n attempts that cycle through kinds.
func repeat(n int, kinds ...attempt) []attempt {
	attempts := make([]attempt, n)
	for i := range attempts {
		attempts[i] = kinds[i%len(kinds)]
	}
	return attempts
}

// slotStorm is many requests for one slot.
func (l *load) slotStorm(ctx context.Context, i, n int) (c contest, err error) {
	switch i % 4 {
	case 0:
		return l.mixedStorm(ctx, n)
	case 1:
		s, err := l.slots.take(several)
		if err != nil {
			return contest{}, err
		}
		c := l.slotContest("any of several agents", s, shortService, len(s.agents))
		c.attempts = repeat(n, l.book(at(s.start, shortService, anyAgent)))
		return c, nil
	default:
		s, err := l.slots.takeCourse()
		if err != nil {
			return contest{}, err
		}
		each := i%4 - 1
		c := l.slotContest(fmt.Sprintf("places of a course by %d", each), s, courseService, seats/each)
		b := with(at(s.start, courseService, courseAgent), body{"total_attendees": each})
		c.attempts = repeat(n, l.book(b), l.book(b), l.bulk(b))
		return c, nil
	}
}

// mixedStorm is requests of every kind for one slot.
func (l *load) mixedStorm(ctx context.Context, n int) (contest, error) {
	s, err := l.slots.take(one)
	if err != nil {
		return contest{}, err
	}
	oneAgent, anyone := at(s.start, shortService, s.agents[0]), at(s.start, shortService, anyAgent)
	c := l.slotContest("requests of every kind", s, shortService, 1)
	for i := range n {
		next := l.book(oneAgent)
		switch i % 6 {
		case 1:
			next = l.book(anyone)
		case 3:
			next = l.bulk(anyone, oneAgent)
		case 5:
			if next, err = l.move(ctx, oneAgent); err != nil {
				return c, err
			}
		}
		c.attempts = append(c.attempts, next)
	}
	return c, nil
}

// under runs work while a setting of the site has another value.
func (l *load) under(ctx context.Context, name, value string, work func() error) error {
	remove := "DELETE FROM wp_latepoint_settings WHERE name = '" + name + "'"
	if err := l.execute(ctx, remove, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('"+name+"', '"+value+"')"); err != nil {
		return err
	}
	return errors.Join(work(), l.execute(ctx, remove))
}

// perDay is the limit of the limited service.
const perDay = 5

// settingStorms are those where settings make more than the agent scarce.
func (l *load) settingStorms(ctx context.Context, n int) error {
	const rounds = 4
	err := l.under(ctx, "one_agent_at_location", "on", func() error {
		for i := range rounds {
			s, err := l.slots.take(everybody)
			if err != nil {
				return err
			}
			c := l.slotContest("one agent at a location", s, shortService, 1)
			c.attempts = repeat(n, l.book(at(s.start, shortService, anyAgent)), l.book(at(s.start, shortService, 1)),
				l.book(at(s.start, shortService, 2)), l.book(at(s.start, shortService, 3)))
			if err := l.runContest(ctx, c, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = l.under(ctx, "one_location_at_time", "on", func() error {
		for i := range rounds {
			s, err := l.slots.take(everybody)
			if err != nil {
				return err
			}
			c := l.slotContest("one location at a time", s, shortService, 1)
			here := at(s.start, shortService, 1)
			c.attempts = repeat(n, l.book(here), l.book(with(here, body{"location_id": 2})))
			if err := l.runContest(ctx, c, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	limit := fmt.Sprintf("INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (%d, 'max_bookings_per_day', '%d')", limitedService, perDay)
	if err := l.execute(ctx, limit); err != nil {
		return err
	}
	return l.under(ctx, "active_addons", `["latepoint-pro-features"]`, func() error {
		for i := range rounds {
			day, err := l.slots.takeDay()
			if err != nil {
				return err
			}
			c := contest{name: "a service's bookings of a day", capacity: perDay, rows: "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE start_date = ? AND service_id = ?",
				args: []any{day[0].Day, limitedService}}
			var kinds []attempt
			for _, s := range day {
				for _, agent := range s.agents {
					kinds = append(kinds, l.book(at(s.start, limitedService, agent)))
				}
			}
			c.attempts = repeat(n, kinds...)
			if err := l.runContest(ctx, c, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// pendingBooking is a booking that blocks no slot, so that any number of them can be
// created.
func (l *load) pendingBooking(b body) body {
	s := l.slots.parking
	return with(at(s.start, shortService, s.agents[0]), with(body{"status": "pending"}, b))
}

// emailContest is requests that create or change customers to the same e-mail
// address. Only one customer may get it; bookings all succeed, for that customer.
func (l *load) emailContest(ctx context.Context, i, n int) (contest, error) {
	email := strings.ToLower(rand.Text()) + "@example.test"
	person := body{"first_name": "Rita", "last_name": "Neu", "email": email}
	upperCase := with(person, body{"email": strings.ToUpper(email)})
	booking := l.pendingBooking(body{"notes": email, "customer": person})
	delete(booking, "customer_id")
	upperCaseBooking := with(booking, body{"customer": upperCase})
	c := contest{capacity: 1, silent: true, rows: "SELECT COUNT(*) FROM wp_latepoint_customers WHERE email = ?", args: []any{email}}
	changed, err := l.emailChange(ctx, person)
	if err != nil {
		return c, err
	}
	create, book := l.person(http.MethodPost, "/customers", person), l.bookFor(booking)
	switch kinds := [][]attempt{
		{create, book}, {book, l.bookFor(upperCaseBooking)}, {create, l.person(http.MethodPost, "/customers", upperCase)}, {changed, book}, {changed, create},
	}; n {
	case 2:
		c.name, c.attempts = "one e-mail, twice", kinds[i%len(kinds)]
	default:
		c.name, c.attempts = "one e-mail", repeat(n, create, book, l.bookFor(upperCaseBooking), changed)
	}
	return c, nil
}

// emailChange is PUT /customers/{id} of another customer.
func (l *load) emailChange(ctx context.Context, person body) (attempt, error) {
	id, err := l.create(ctx, "/customers", with(person, body{"email": strings.ToLower(rand.Text()) + "@example.test"}))
	return l.person(http.MethodPut, "/customers/"+id, body{"email": person["email"]}), err
}

// person is a request that sets a customer's e-mail address.
func (l *load) person(method, path string, b body) attempt {
	return l.compete(request{method: method, path: path, body: b}, func(a answer) (int, bool) {
		if a.status == http.StatusCreated || a.status == http.StatusOK {
			return 1, true
		}
		clash := a.status == http.StatusBadRequest || a.status == http.StatusConflict || a.status == http.StatusUnprocessableEntity
		return 0, clash && strings.Contains(string(a.body), "email")
	})
}

// bookFor is POST /bookings with the customer's data.
func (l *load) bookFor(b body) attempt {
	return l.compete(request{method: http.MethodPost, path: "/bookings", body: b}, func(a answer) (int, bool) {
		return 1, a.status == http.StatusCreated
	})
}

// onceContest is one request with an Idempotency-Key, sent many times. Without the
// key, each of them would succeed.
func (l *load) onceContest(ctx context.Context, i, n int) (contest, error) {
	note := rand.Text()
	r := request{method: http.MethodPost, path: "/bookings", idempotency: note, body: l.pendingBooking(body{"notes": note})}
	c := contest{name: "one Idempotency-Key", capacity: 1, rows: "SELECT COUNT(*) FROM wp_latepoint_orders WHERE customer_comment = ?", args: []any{note}}
	switch i % 3 {
	case 1:
		r.path, r.body = "/payments", body{"order_id": 1, "amount": "1.00", "notes": note}
		c.rows = "SELECT COUNT(*) FROM wp_latepoint_transactions WHERE notes = ?"
	case 2:
		r.path, r.body = "/bookings/bulk", body{"bookings": []body{l.pendingBooking(body{"notes": note})}}
	}
	var mu sync.Mutex
	var first []byte
	same := func(content []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = content
		}
		return string(first) == string(content)
	}
	c.attempts = repeat(n, l.compete(r, func(a answer) (int, bool) {
		switch {
		case a.status == http.StatusCreated && a.replayed:
			return 0, same(a.body)
		case a.status == http.StatusCreated:
			return 1, same(a.body)
		default:
			return 0, a.status == http.StatusConflict && a.code() == inProgress
		}
	}))
	return c, nil
}

// cutEvery is short enough to hit requests, and long enough for most attempts to end.
const cutEvery = 200 * time.Millisecond

// cutStorms runs contests while the proxy keeps cutting its connections. Each request
// has an Idempotency-Key and is repeated until it gets a response.
func (l *load) cutStorms(ctx context.Context, n int) error {
	stop := make(chan struct{})
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(cutEvery):
				l.proxy.cut()
			}
		}
	})
	defer cutting.Wait()
	defer close(stop)
	for i := range 6 {
		c, b, err := l.cutStorm(i)
		if err != nil {
			return err
		}
		for range n {
			r := request{method: http.MethodPost, path: "/bookings", idempotency: rand.Text(), careful: true, body: b}
			c.attempts = append(c.attempts, l.compete(r, func(a answer) (int, bool) {
				if a.status == http.StatusCreated {
					return 1, true
				}
				return 0, slotIsGone(a)
			}))
		}
		if err := l.runContest(ctx, c, i); err != nil {
			return err
		}
	}
	return nil
}

// cutStorm is a contest without its attempts, and the body of these.
func (l *load) cutStorm(i int) (contest, body, error) {
	if i%2 == 1 {
		s, err := l.slots.takeCourse()
		if err != nil {
			return contest{}, nil, err
		}
		return l.slotContest("places of a course", s, courseService, seats), at(s.start, courseService, courseAgent), nil
	}
	s, err := l.slots.take(one)
	if err != nil {
		return contest{}, nil, err
	}
	return l.slotContest("one agent", s, shortService, 1), at(s.start, shortService, anyAgent), nil
}

// outOfService makes the last node reject every statement, like a node that has lost
// the others. Its sidecar must answer 503 with Retry-After, and the other nodes'
// sidecars must work.
func (l *load) outOfService(ctx context.Context) (err error) {
	node, sidecar := l.nodes[len(l.nodes)-1], l.sidecars[len(l.nodes)-1]
	reject := func(ctx context.Context, queries string) error {
		_, err := node.db.ExecContext(ctx, "SET GLOBAL wsrep_reject_queries = ?", queries)
		return err
	}
	if err := reject(ctx, "ALL"); err != nil {
		return err
	}
	// The cluster may not be ours: never leave it like this.
	defer func() { err = errors.Join(err, reject(context.WithoutCancel(ctx), "NONE")) }()
	for _, r := range []request{
		{method: http.MethodGet, path: "/bookings"},
		{method: http.MethodPost, path: "/bookings", body: l.pendingBooking(nil)},
	} {
		l.count(func(s *stage) { s.requests++ })
		a, retryAfter, err := l.send(ctx, sidecar, r)
		switch {
		case err != nil:
			return err
		case a.status == http.StatusServiceUnavailable && retryAfter != "":
			l.count(func(s *stage) { s.later++ })
		default:
			l.unexpected(sidecar, r, a)
		}
	}
	book := l.bookFor(l.pendingBooking(nil))
	book(ctx, l.sidecars[0])
	if err := reject(ctx, "NONE"); err != nil {
		return err
	}
	book(ctx, sidecar)
	return nil
}

// throughput measures how many bookings of different slots are created per second.
func (l *load) throughput(ctx context.Context, n int) error {
	over := map[string][]*sidecar{"creates on one node": l.sidecars[:1]}
	names := []string{"creates on one node"}
	if len(l.nodes) > 1 {
		names = append(names, "creates on every node", "creates through the proxy")
		over[names[1]], over[names[2]] = l.sidecars[:len(l.nodes)], l.sidecars[len(l.nodes):]
	}
	for _, name := range names {
		var attempts []attempt
		for len(attempts) < n {
			s, err := l.slots.take(anybody)
			if err != nil {
				return err
			}
			for _, agent := range s.agents {
				attempts = append(attempts, l.book(at(s.start, shortService, agent)))
			}
		}
		if err := l.measure(ctx, name, func() error { return l.all(ctx, attempts[:n], over[name]) }); err != nil {
			return err
		}
		l.now().rate = true
	}
	return nil
}

// clients is the number of concurrent clients when measuring throughput.
const clients = 8

// all runs each attempt once. All of them must win.
func (l *load) all(ctx context.Context, attempts []attempt, to []*sidecar) error {
	next := make(chan int)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range next {
				if attempts[i](ctx, to[i%len(to)]) == 0 {
					l.problem("a booking of a free slot was rejected")
				}
			}
		})
	}
	for i := range attempts {
		next <- i
	}
	close(next)
	all.Wait()
	return l.sync(ctx)
}
