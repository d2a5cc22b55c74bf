package main

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"
)

// target is a measured system, with what its clients know about the site.
type target struct {
	*client

	services, agents            []int
	bookings, customers, orders []int
	days, emails                []string
	pages                       int // of the list of bookings, 20 on each

	series uint64          // number of drawn sequences, so that no measurement repeats another's
	texts  map[string]bool // already searched for
}

// list reads a list.
func list[T any](ctx context.Context, t *target, path string) (records []T, total int, err error) {
	var body struct {
		Data       []T
		Pagination struct{ Total int }
	}
	if err := t.read(ctx, path, &body); err != nil {
		return nil, 0, err
	}
	if len(body.Data) == 0 {
		return nil, 0, fmt.Errorf("GET %s%s: the site has none", t.url, path)
	}
	return body.Data, body.Pagination.Total, nil
}

// learn reads what the clients need to know about the site.
func (t *target) learn(ctx context.Context) error {
	type record struct {
		ID        json.Number
		Email     string
		StartDate string `json:"start_date"`
	}
	for path, into := range map[string]*[]int{
		"/services?per_page=100": &t.services, "/agents?per_page=100": &t.agents, "/orders?per_page=100": &t.orders,
		"/bookings?per_page=100&page=%d": &t.bookings, "/customers?per_page=100&page=%d": &t.customers,
	} {
		for page, last := 1, 1; page <= last; page++ {
			text := strings.Replace(path, "%d", fmt.Sprint(page), 1)
			records, total, err := list[record](ctx, t, text)
			if err != nil {
				return err
			}
			if text != path {
				last = min((total+99)/100, 20)
			}
			for _, r := range records {
				id, err := r.ID.Int64()
				if err != nil {
					return fmt.Errorf("GET %s: %w", text, err)
				}
				*into = append(*into, int(id))
				if r.Email != "" && into == &t.customers {
					t.emails = append(t.emails, r.Email)
				}
				if r.StartDate != "" {
					t.days, t.pages = append(t.days, r.StartDate), (total+19)/20
				}
			}
		}
	}
	// Nobody asks for the free times of a service without agents.
	var offered []int
	for _, service := range t.services {
		starts, err := t.freeStarts(ctx, availability(service, "any", 1, 14))
		if err != nil {
			return err
		}
		if len(starts) > 0 {
			offered = append(offered, service)
		}
	}
	t.services, t.texts = offered, map[string]bool{}
	if len(offered) == 0 {
		return errors.New("no service has free times in the next fortnight")
	}
	return nil
}

// draw returns the n-th request of a measurement.
type draw func(n int) (request, error)

// row is a kind of traffic.
type row struct {
	name  string
	start func(t *target, ctx context.Context) (draw, error)
	ours  bool // PHP has no such request
}

var rows = []row{
	{name: "mixed traffic", start: drawn((*target).mixed)},
	{name: "booking widget", start: drawn((*target).widget)},
	{name: "first search", start: (*target).firstSearches},
	{name: "deep page", start: drawn((*target).deepPage)},
	{name: "create", start: (*target).creates},
	{name: "sync", start: (*target).syncs, ours: true},
}

// drawn returns a row of paths that are drawn independently of each other.
func drawn(path func(t *target, random *rand.Rand) string) func(*target, context.Context) (draw, error) {
	return func(t *target, _ context.Context) (draw, error) {
		t.series++
		return func(n int) (request, error) {
			return get(path(t, rand.New(rand.NewPCG(t.series, uint64(n))))), nil //nolint:gosec // an order of requests, no secret
		}, nil
	}
}

// one draws one of several.
func one[T any](random *rand.Rand, values []T) T { return values[random.IntN(len(values))] }

// mixed is typical traffic: 30 % free times, 20 % single records, 27 % filtered lists, 8 % searches, 15 %
// catalogue.
func (t *target) mixed(random *rand.Rand) string {
	switch n := random.IntN(100); {
	case n < 30:
		agent := any("any")
		if random.IntN(2) == 0 {
			agent = one(random, t.agents)
		}
		return fmt.Sprintf("/availability?service_id=%d&agent_id=%v&date=%s", one(random, t.services), agent, time.Now().AddDate(0, 0, 1+random.IntN(30)).Format(time.DateOnly))
	case n < 50:
		return one(random, []string{
			fmt.Sprint("/bookings/", one(random, t.bookings)), fmt.Sprint("/bookings/", one(random, t.bookings)),
			fmt.Sprint("/customers/", one(random, t.customers)), fmt.Sprint("/orders/", one(random, t.orders)),
		})
	case n < 77:
		day := one(random, t.days)
		return one(random, []string{
			"/bookings?date_from=" + day + "&date_to=" + day,
			"/bookings?date_from=" + day + "&status=approved",
			fmt.Sprintf("/bookings?agent_id=%d&date_from=%s", one(random, t.agents), day),
			fmt.Sprint("/bookings?customer_id=", one(random, t.customers)),
			fmt.Sprintf("/bookings?service_id=%d&status=%s", one(random, t.services), one(random, []string{"approved", "pending", "cancelled", "completed"})),
			fmt.Sprint("/bookings?sort=created_at&page=", 1+random.IntN(3)),
			"/customers?created_after=" + day,
			fmt.Sprint("/payments?customer_id=", one(random, t.customers)),
			fmt.Sprint("/orders?page=", 1+random.IntN(3)),
		})
	case n < 85:
		name, _, _ := strings.Cut(one(random, t.emails), "@")
		return "/bookings?search=" + url.QueryEscape(name[:min(len(name), 3+random.IntN(4))])
	}
	return one(random, []string{"/services?per_page=50", "/agents", "/locations", "/services/categories", fmt.Sprint("/services/", one(random, t.services))})
}

// widget is what a visitor sees first: the free times of a service in a fortnight.
func (t *target) widget(random *rand.Rand) string {
	first := 1 + random.IntN(28)
	return availability(one(random, t.services), "any", first, first+13)
}

// deepPage is a page in the last half of all bookings.
func (t *target) deepPage(random *rand.Rand) string {
	return fmt.Sprint("/bookings?per_page=20&page=", t.pages-random.IntN(max(1, t.pages/2)))
}

// firstSearches are parts of e-mail addresses that were not searched for yet.
func (t *target) firstSearches(context.Context) (draw, error) {
	t.series++
	random := rand.New(rand.NewPCG(t.series, 0)) //nolint:gosec // an order of requests, no secret
	var mu sync.Mutex
	return func(n int) (request, error) {
		mu.Lock()
		defer mu.Unlock()
		for try := 0; ; try++ {
			email := one(random, t.emails)
			from := random.IntN(max(1, len(email)-4))
			text := email[from : from+min(len(email)-from, 4+random.IntN(20))]
			if try > 20 { // there are few customers
				text = fmt.Sprint(text[:min(len(text), 4)], " ", t.series, " ", n)
			}
			if !t.texts[text] {
				t.texts[text] = true
				return get("/bookings?search=" + url.QueryEscape(text)), nil
			}
		}
	}, nil
}

// creates books slots that do not touch each other, each for a new customer.
func (t *target) creates(ctx context.Context) (draw, error) {
	const apart, window, windows = 3 * 60, 60, 6 // minutes, and days
	var bodies []map[string]any
	for _, agent := range t.agents {
		for i := range windows {
			starts, err := t.freeStarts(ctx, availability(t.services[0], agent, 1+i*window, (i+1)*window))
			if err != nil {
				return nil, err
			}
			last := start{time: "00:00"}
			for _, at := range starts {
				if at.day == last.day && at.minutes() < last.minutes()+apart {
					continue
				}
				last = at
				bodies = append(bodies, map[string]any{"service_id": t.services[0], "agent_id": agent, "start_date": at.day, "start_time": at.time})
			}
		}
	}
	t.series++
	random := rand.New(rand.NewPCG(t.series, 0)) //nolint:gosec // an order of requests, no secret
	random.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	return func(n int) (request, error) {
		if n >= len(bodies) {
			return request{}, errNoMore
		}
		bodies[n]["customer"] = map[string]any{"first_name": "Rita", "last_name": "Neu", "email": strings.ToLower(crand.Text()) + "@example.test"}
		return post("/bookings", bodies[n]), nil
	}, nil
}

// changesPage is a page of changes.
type changesPage struct {
	Data []struct {
		ID int `json:"resource_id"`
	}
	Cursor string
}

// syncs changes bookings and follows these changes once. What it asked for meanwhile is repeated.
func (t *target) syncs(ctx context.Context) (draw, error) {
	const changed = 200
	var end changesPage
	if err := t.read(ctx, "/changes", &end); err != nil {
		return nil, err
	}
	for i := range changed {
		if _, err := t.sendOK(ctx, put(fmt.Sprint("/bookings/", t.bookings[i%len(t.bookings)]), map[string]any{"notes": crand.Text()})); err != nil {
			return nil, err
		}
	}
	requests, err := t.follow(ctx, end.Cursor, changed)
	if err != nil {
		return nil, err
	}
	return func(n int) (request, error) { return requests[n%len(requests)], nil }, nil
}

// follow reads so many changes after a cursor, and returns the requests of a client that does: for each page of them, and for
// the bookings that it names.
func (t *target) follow(ctx context.Context, cursor string, changed int) (requests []request, err error) {
	for seen := 0; seen < changed; {
		path := "/changes?resources=bookings&limit=20&wait=10&cursor=" + cursor
		var page changesPage
		if err := t.read(ctx, path, &page); err != nil {
			return nil, err
		}
		if len(page.Data) == 0 {
			return nil, fmt.Errorf("of %d changes, %d have come", changed, seen)
		}
		seen, cursor = seen+len(page.Data), page.Cursor
		requests = append(requests, get(path))
		for _, c := range page.Data {
			requests = append(requests, get(fmt.Sprint("/bookings/", c.ID)))
		}
	}
	return requests, nil
}
