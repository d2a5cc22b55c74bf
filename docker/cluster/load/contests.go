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

	"github.com/bookside/bookside/docker/load"
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

func at(s load.Start, service int, agent any) body {
	return body{"service_id": service, "agent_id": agent, "location_id": 1, "customer_id": 1, "start_date": s.Day, "start_time": s.Time, "send_confirmation": false}
}

// contests runs all contests.
func (l *trial) contests(ctx context.Context, pairs, storms, size int) error {
	kinds := []struct {
		name        string
		contests, n int // contests, and requests in each
		contest     func(ctx context.Context, i, n int) (contest, error)
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
			for i := range kind.contests {
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
func slotIsGone(a load.Answer) bool {
	return a.Status == http.StatusConflict && a.Code() == "time_slot_unavailable"
}

// book is POST /bookings.
func (l *trial) book(b body) attempt {
	return l.compete(load.Post("/bookings", b), func(a load.Answer) (int, bool) {
		if a.Status == http.StatusCreated {
			return 1, true
		}
		return 0, slotIsGone(a)
	})
}

// bulk is POST /bookings/bulk.
func (l *trial) bulk(bookings ...body) attempt {
	return l.compete(load.Post("/bookings/bulk", body{"bookings": bookings}), func(a load.Answer) (int, bool) {
		var answered struct {
			Results struct {
				Success []struct{}
				Errors  []struct{ Error string }
			}
		}
		if err := json.Unmarshal(a.Body, &answered); err != nil {
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

// move is PUT /bookings/{id} that approves a pending booking.
func (l *trial) move(ctx context.Context, to body) (attempt, error) {
	id, err := l.create(ctx, "/bookings", with(to, body{"status": "pending"}))
	if err != nil {
		return nil, err
	}
	return l.compete(load.Put(fmt.Sprint("/bookings/", id), body{"status": "approved"}), func(a load.Answer) (int, bool) {
		if a.Status == http.StatusOK {
			return 1, true
		}
		return 0, slotIsGone(a)
	}), nil
}

// create creates a record before a contest and returns its id.
func (l *trial) create(ctx context.Context, path string, b body) (id int64, err error) {
	r := load.Post(path, b)
	a, _, err := l.sidecars[0].Ask(ctx, r, func() {})
	if err == nil {
		id, err = a.ID()
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", r, err)
	}
	return id, l.sync(ctx)
}

// slotContest is a contest for a slot; each winner has an approved booking.
func (l *trial) slotContest(name string, s slot, service, capacity int) contest {
	return contest{
		name: name, capacity: capacity,
		rows: "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE id > ? AND status = 'approved' AND start_date = ? AND start_time = ? AND service_id = ?",
		args: []any{l.lastOld, s.Day, s.Minutes(), service},
	}
}

// slotPair is two requests of which only one can succeed.
func (l *trial) slotPair(ctx context.Context, i, _ int) (contest, error) {
	if i%7 == 6 {
		s, err := l.slots.takeCourse()
		if err != nil {
			return contest{}, err
		}
		c := l.slotContest("four of six places, twice", s, courseService, 1)
		four := l.book(with(at(s.Start, courseService, courseAgent), body{"total_attendees": 4}))
		c.attempts = []attempt{four, four}
		return c, nil
	}
	s, err := l.slots.take(one)
	if err != nil {
		return contest{}, err
	}
	oneAgent, anyone := at(s.Start, shortService, s.agents[0]), at(s.Start, shortService, anyAgent)
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
func (l *trial) slotStorm(ctx context.Context, i, n int) (c contest, err error) {
	switch i % 4 {
	case 0:
		return l.mixedStorm(ctx, n)
	case 1:
		s, err := l.slots.take(several)
		if err != nil {
			return contest{}, err
		}
		c := l.slotContest("any of several agents", s, shortService, len(s.agents))
		c.attempts = repeat(n, l.book(at(s.Start, shortService, anyAgent)))
		return c, nil
	default:
		s, err := l.slots.takeCourse()
		if err != nil {
			return contest{}, err
		}
		each := i%4 - 1
		c := l.slotContest(fmt.Sprintf("places of a course by %d", each), s, courseService, seats/each)
		b := with(at(s.Start, courseService, courseAgent), body{"total_attendees": each})
		c.attempts = repeat(n, l.book(b), l.book(b), l.bulk(b))
		return c, nil
	}
}

// mixedStorm is requests of every kind for one slot.
func (l *trial) mixedStorm(ctx context.Context, n int) (contest, error) {
	s, err := l.slots.take(one)
	if err != nil {
		return contest{}, err
	}
	oneAgent, anyone := at(s.Start, shortService, s.agents[0]), at(s.Start, shortService, anyAgent)
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
func (l *trial) under(ctx context.Context, name, value string, work func() error) error {
	remove := "DELETE FROM wp_latepoint_settings WHERE name = '" + name + "'"
	if err := l.execute(ctx, remove, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('"+name+"', '"+value+"')"); err != nil {
		return err
	}
	return errors.Join(work(), l.execute(ctx, remove))
}

// perDay is the limit of the limited service.
const perDay = 5

// settingStorms are contests where settings limit more than the agent.
func (l *trial) settingStorms(ctx context.Context, n int) error {
	const rounds = 4
	limit := fmt.Sprintf("INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (%d, 'max_bookings_per_day', '%d')", limitedService, perDay)
	if err := l.execute(ctx, limit); err != nil {
		return err
	}
	for _, kind := range []struct {
		setting, value string
		contest        func() (contest, []attempt, error)
	}{
		{"one_agent_at_location", "on", func() (contest, []attempt, error) {
			s, err := l.slots.take(everybody)
			if err != nil {
				return contest{}, nil, err
			}
			return l.slotContest("one agent at a location", s, shortService, 1), []attempt{
				l.book(at(s.Start, shortService, anyAgent)), l.book(at(s.Start, shortService, 1)), l.book(at(s.Start, shortService, 2)), l.book(at(s.Start, shortService, 3)),
			}, nil
		}},
		{"one_location_at_time", "on", func() (contest, []attempt, error) {
			s, err := l.slots.take(everybody)
			if err != nil {
				return contest{}, nil, err
			}
			here := at(s.Start, shortService, 1)
			return l.slotContest("one location at a time", s, shortService, 1), []attempt{l.book(here), l.book(with(here, body{"location_id": 2}))}, nil
		}},
		{"active_addons", `["latepoint-pro-features"]`, func() (c contest, attempts []attempt, err error) {
			day, err := l.slots.takeDay()
			if err != nil {
				return c, nil, err
			}
			for _, s := range day {
				for _, agent := range s.agents {
					attempts = append(attempts, l.book(at(s.Start, limitedService, agent)))
				}
			}
			return contest{name: "a service's bookings of a day", capacity: perDay, rows: "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE start_date = ? AND service_id = ?",
				args: []any{day[0].Day, limitedService}}, attempts, nil
		}},
	} {
		err := l.under(ctx, kind.setting, kind.value, func() error {
			for i := range rounds {
				c, attempts, err := kind.contest()
				if err != nil {
					return err
				}
				c.attempts = repeat(n, attempts...)
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
	return nil
}

// pendingBooking is a booking that blocks no slot, so any number can be created.
func (l *trial) pendingBooking(b body) body {
	s := l.slots.parking
	return with(at(s.Start, shortService, s.agents[0]), with(body{"status": "pending"}, b))
}

// emailContest has requests that give customers the same e-mail address. Only one customer may get it; all
// bookings succeed, for that customer.
func (l *trial) emailContest(ctx context.Context, i, n int) (contest, error) {
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
	create, book := l.person(load.Post("/customers", person)), l.bookFor(booking)
	switch kinds := [][]attempt{
		{create, book}, {book, l.bookFor(upperCaseBooking)}, {create, l.person(load.Post("/customers", upperCase))}, {changed, book}, {changed, create},
	}; n {
	case 2:
		c.name, c.attempts = "one e-mail, twice", kinds[i%len(kinds)]
	default:
		c.name, c.attempts = "one e-mail", repeat(n, create, book, l.bookFor(upperCaseBooking), changed)
	}
	return c, nil
}

// emailChange is PUT /customers/{id} of another customer.
func (l *trial) emailChange(ctx context.Context, person body) (attempt, error) {
	id, err := l.create(ctx, "/customers", with(person, body{"email": strings.ToLower(rand.Text()) + "@example.test"}))
	return l.person(load.Put(fmt.Sprint("/customers/", id), body{"email": person["email"]})), err
}

// person is a request that sets a customer's e-mail address.
func (l *trial) person(r load.Request) attempt {
	return l.compete(r, func(a load.Answer) (int, bool) {
		if a.Status == http.StatusCreated || a.Status == http.StatusOK {
			return 1, true
		}
		clash := a.Status == http.StatusBadRequest || a.Status == http.StatusConflict || a.Status == http.StatusUnprocessableEntity
		return 0, clash && strings.Contains(string(a.Body), "email")
	})
}

// bookFor is POST /bookings with the customer's data.
func (l *trial) bookFor(b body) attempt {
	return l.compete(load.Post("/bookings", b), func(a load.Answer) (int, bool) {
		return 1, a.Status == http.StatusCreated
	})
}

// onceContest is one request with an Idempotency-Key, sent many times. Without the key, each of them would
// succeed.
func (l *trial) onceContest(ctx context.Context, i, n int) (contest, error) {
	note := rand.Text()
	r := load.Request{Method: http.MethodPost, Path: "/bookings", IdempotencyKey: note, Body: l.pendingBooking(body{"notes": note})}
	c := contest{name: "one Idempotency-Key", capacity: 1, rows: "SELECT COUNT(*) FROM wp_latepoint_orders WHERE customer_comment = ?", args: []any{note}}
	switch i % 3 {
	case 1:
		r.Path, r.Body = "/payments", body{"order_id": 1, "amount": "1.00", "notes": note}
		c.rows = "SELECT COUNT(*) FROM wp_latepoint_transactions WHERE notes = ?"
	case 2:
		r.Path, r.Body = "/bookings/bulk", body{"bookings": []body{l.pendingBooking(body{"notes": note})}}
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
	c.attempts = repeat(n, l.compete(r, func(a load.Answer) (int, bool) {
		switch {
		case a.Status == http.StatusCreated && a.Replayed():
			return 0, same(a.Body)
		case a.Status == http.StatusCreated:
			return 1, same(a.Body)
		default:
			return 0, a.InProgress()
		}
	}))
	return c, nil
}

// cutEvery is short enough to hit requests, and long enough for most attempts to end.
const cutEvery = 200 * time.Millisecond

// cutStorms runs contests while the proxy keeps cutting its connections. Each request
// has an Idempotency-Key and is repeated until it gets a response.
func (l *trial) cutStorms(ctx context.Context, n int) error {
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
			r := load.Request{Method: http.MethodPost, Path: "/bookings", IdempotencyKey: rand.Text(), Body: b}
			c.attempts = append(c.attempts, l.compete(r, func(a load.Answer) (int, bool) {
				if a.Status == http.StatusCreated {
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

// cutStorm is a contest without its attempts, and their body.
func (l *trial) cutStorm(i int) (contest, body, error) {
	if i%2 == 1 {
		s, err := l.slots.takeCourse()
		if err != nil {
			return contest{}, nil, err
		}
		return l.slotContest("places of a course", s, courseService, seats), at(s.Start, courseService, courseAgent), nil
	}
	s, err := l.slots.take(one)
	if err != nil {
		return contest{}, nil, err
	}
	return l.slotContest("one agent", s, shortService, 1), at(s.Start, shortService, anyAgent), nil
}

// outOfService makes the last node reject every statement, like a node that has lost
// the others. Its sidecar must answer 503 with Retry-After, and the other nodes'
// sidecars must work.
func (l *trial) outOfService(ctx context.Context) (err error) {
	node, sidecar := l.nodes[len(l.nodes)-1], l.sidecars[len(l.nodes)-1]
	reject := func(ctx context.Context, queries string) error {
		_, err := node.db.ExecContext(ctx, "SET GLOBAL wsrep_reject_queries = ?", queries)
		return err
	}
	if err := reject(ctx, "ALL"); err != nil {
		return err
	}
	// The cluster may not be ours, so always restore it.
	defer func() { err = errors.Join(err, reject(context.WithoutCancel(ctx), "NONE")) }()
	for _, r := range []load.Request{load.Get("/bookings"), load.Post("/bookings", l.pendingBooking(nil))} {
		l.now().Count("requests")
		switch a, err := sidecar.Send(ctx, r); {
		case err != nil:
			return err
		case a.Busy():
			l.now().Count("503")
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
func (l *trial) throughput(ctx context.Context, n int) error {
	over := map[string][]*load.Server{"creates on one node": l.sidecars[:1]}
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
				attempts = append(attempts, l.book(at(s.Start, shortService, agent)))
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
func (l *trial) all(ctx context.Context, attempts []attempt, to []*load.Server) error {
	_, err := load.Measure(ctx, clients, time.Hour, func(ctx context.Context, i int) error {
		if i >= len(attempts) {
			return load.ErrNoMore
		}
		if attempts[i](ctx, to[i%len(to)]) == 0 {
			l.now().Problem("a booking of a free slot was rejected")
		}
		return nil
	})
	return errors.Join(err, l.sync(ctx))
}
