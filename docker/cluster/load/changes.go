package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// change is an entry of the journal, as the API and webhooks show it.
type change struct {
	Number    int64  `json:"number"`
	ID        int    `json:"resource_id"`
	Kind      string `json:"kind"`
	Origin    string `json:"origin"`
	OldStatus string `json:"old_status"`
	NewStatus string `json:"new_status"`
}

// step is what an entry says about the state of its booking.
func (c change) step() string { return c.Kind + " " + c.NewStatus }

// life is a booking that one client changes, each time through another sidecar: the journal
// must have its steps in their order.
type life struct {
	id    int
	steps []string
}

// cycle is the statuses that a booking goes through, again and again.
var cycle = []string{"approved", "completed", "cancelled", "pending"}

// changes checks the journal and the webhooks. Bookings are created, changed and deleted
// through all sidecars, while a reader at each of them follows GET /changes, and a receiver
// gets the webhooks. Everybody must see every change once, receivers at least once, and those
// of a booking in the order of the commits.
func (l *load) changes(ctx context.Context, bookings int) error {
	receiver, err := l.startReceiver(ctx)
	if err != nil {
		return err
	}
	defer receiver.close()
	readers, stopped, err := l.startReaders(ctx)
	if err != nil {
		return err
	}
	lives, contested, err := l.live(ctx, bookings)
	if err == nil {
		err = l.settle(ctx, readers)
	}
	close(stopped)
	for _, r := range readers {
		<-r.done
		err = errors.Join(err, r.err)
	}
	if err != nil {
		return err
	}
	l.compareFeeds(readers, receiver, lives, contested)
	return nil
}

// live creates bookings and changes them. Half of them have one client each, the others two.
func (l *load) live(ctx context.Context, bookings int) (lives []*life, contested []int, err error) {
	var all sync.WaitGroup
	for i := range bookings {
		s, err := l.slots.take(anybody)
		if err != nil {
			return nil, nil, err
		}
		text, err := l.create(ctx, "/bookings", with(at(s.start, shortService, s.agents[0]), body{"status": "pending"}))
		if err != nil {
			return nil, nil, err
		}
		id, err := strconv.Atoi(text)
		if err != nil {
			return nil, nil, fmt.Errorf("id of a booking: %w", err)
		}
		if i%2 == 0 {
			one := &life{id, []string{"created pending"}}
			lives = append(lives, one)
			all.Go(func() { l.lead(ctx, one, i) })
			continue
		}
		contested = append(contested, id)
		for client := range 2 {
			all.Go(func() { l.toggle(ctx, id, i+client) })
		}
	}
	all.Wait()
	return lives, contested, nil
}

// rounds is how often a client changes its booking.
const rounds = 12

// lead takes a booking through its statuses and deletes it, through the sidecars in turn.
func (l *load) lead(ctx context.Context, one *life, first int) {
	path := fmt.Sprint("/bookings/", one.id)
	for i := range rounds {
		status := cycle[i%len(cycle)]
		if l.put(ctx, first+i, request{method: http.MethodPut, path: path, body: body{"status": status}}) {
			one.steps = append(one.steps, "updated "+status)
		}
	}
	if l.put(ctx, first+rounds, request{method: http.MethodDelete, path: path + "?force=true"}) {
		one.steps = append(one.steps, "deleted ")
	}
}

// toggle cancels a booking and brings it back, in competition with another client.
func (l *load) toggle(ctx context.Context, id, first int) {
	for i := range rounds {
		l.put(ctx, first+i, request{method: http.MethodPut, path: fmt.Sprint("/bookings/", id), body: body{"status": []string{"cancelled", "pending"}[i%2]}})
	}
}

// put sends a request to one of the sidecars and reports whether it was served.
func (l *load) put(ctx context.Context, to int, r request) bool {
	sidecar := l.sidecars[to%len(l.sidecars)]
	a, err := l.ask(ctx, sidecar, r)
	if err != nil {
		return false // ask has noted it
	}
	if a.status != http.StatusOK {
		l.unexpected(sidecar, r, a)
		return false
	}
	l.count(func(s *stage) { s.won++ })
	return true
}

// reader follows the changes of bookings at one sidecar.
type reader struct {
	sidecar *sidecar
	done    chan struct{}

	mu     sync.Mutex
	cursor string
	seen   []change
	err    error // read after done
}

// startReaders starts a reader at each sidecar, all from the present end. They end once
// stopped is closed.
func (l *load) startReaders(ctx context.Context) (readers []*reader, stopped chan struct{}, err error) {
	stopped = make(chan struct{})
	page, err := l.page(ctx, l.sidecars[0], "")
	if err != nil {
		return nil, nil, err
	}
	for _, s := range l.sidecars {
		r := &reader{sidecar: s, done: make(chan struct{}), cursor: page.Cursor}
		readers = append(readers, r)
		go func() {
			defer close(r.done)
			for r.err == nil {
				select {
				case <-stopped:
					return
				default:
					r.err = l.follow(ctx, r)
				}
			}
		}()
	}
	return readers, stopped, nil
}

// page is an answer of GET /changes.
type page struct {
	Data   []change
	Cursor string
}

func (l *load) page(ctx context.Context, from *sidecar, cursor string) (p page, err error) {
	query := url.Values{"resources": {"bookings"}}
	if cursor != "" {
		query = url.Values{"resources": {"bookings"}, "cursor": {cursor}, "wait": {"1"}}
	}
	a, _, err := l.send(ctx, from, request{method: http.MethodGet, path: "/changes?" + query.Encode()})
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("GET /changes after %q through %s: %d %.300s", cursor, from.name, a.status, a.body)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(a.body, &p)
}

// follow reads the next changes.
func (l *load) follow(ctx context.Context, r *reader) error {
	p, err := l.page(ctx, r.sidecar, r.cursor)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cursor, r.seen = p.Cursor, append(r.seen, p.Data...)
	return nil
}

// receiver gets the webhooks. It answers some of them with 500, but none twice: the third try
// would come after settle has lost patience.
type receiver struct {
	server *http.Server

	mu      sync.Mutex
	seen    []change
	refused map[string]bool // by id of the message
}

func (l *load) startReceiver(ctx context.Context) (*receiver, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{refused: map[string]bool{}}
	r.server = &http.Server{Handler: http.HandlerFunc(r.receive), ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(listener) }() // until close
	_, err = l.run(ctx, "webhooks", "add", "http://"+listener.Addr().String(), "--events", "booking.*", "--allow-private", "--quiet")
	return r, err
}

func (r *receiver) close() { _ = r.server.Close() }

func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	var event struct{ Data change }
	err := json.NewDecoder(request.Body).Decode(&event)
	id := request.Header.Get("Webhook-Id")
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || rand.N(50) == 0 && !r.refused[id] {
		r.refused[id] = true
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.seen = append(r.seen, event.Data)
}

// settle waits until the journal has everything, every reader has read it, and every delivery
// has arrived.
func (l *load) settle(ctx context.Context, readers []*reader) error {
	const left = "SELECT (SELECT COUNT(*) FROM wp_bookside_change_inbox) + (SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE status <> 'delivered') + " +
		"(SELECT COUNT(*) FROM wp_bookside_changes WHERE resource = 'bookings' AND number > (SELECT MAX(position) FROM wp_bookside_webhooks))"
	for end := time.Now().Add(patience); ; pause() {
		waiting, err := l.counts(ctx, left)
		if err != nil {
			return err
		}
		last, err := l.counts(ctx, "SELECT position FROM wp_bookside_change_positions WHERE name = 'journal'")
		if err != nil {
			return err
		}
		late := slices.ContainsFunc(readers, func(r *reader) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			_, number, _ := strings.Cut(r.cursor, "-") // behind its epoch
			return number != strconv.Itoa(slices.Max(last))
		})
		if slices.Max(waiting) == 0 && !late {
			return nil
		}
		if time.Now().After(end) {
			l.problem("after %v, the nodes still have %v entries or deliveries to work on, or readers are late: %t", patience, waiting, late)
			return nil
		}
	}
}

// compareFeeds compares what was seen with what was done.
func (l *load) compareFeeds(readers []*reader, receiver *receiver, lives []*life, contested []int) {
	first := readers[0].seen
	for _, r := range readers[1:] {
		if !slices.Equal(first, r.seen) {
			l.problem("the readers at %s and %s have seen different changes: %d and %d", readers[0].sidecar.name, r.sidecar.name, len(first), len(r.seen))
		}
	}
	steps := map[int][]change{}
	for i, c := range first {
		if i > 0 && c.Number <= first[i-1].Number {
			l.problem("change %d follows %d", c.Number, first[i-1].Number)
		}
		if c.Origin != "api" {
			l.problem("change %d of booking %d, which a request made, has the origin %s", c.Number, c.ID, c.Origin)
		}
		steps[c.ID] = append(steps[c.ID], c)
	}
	for _, one := range lives {
		var got []string
		for _, c := range steps[one.id] {
			got = append(got, c.step())
		}
		if !slices.Equal(got, one.steps) {
			l.count(func(s *stage) { s.wrong++ })
			l.problem("booking %d: the journal has %q, want %q", one.id, got, one.steps)
		}
	}
	for _, id := range contested {
		status := ""
		for _, c := range steps[id] {
			// A status that did not change is an update; two equal ones in a row are out of order.
			if c.OldStatus != status || c.Kind == "updated" && c.OldStatus != c.NewStatus && c.NewStatus == status {
				l.count(func(s *stage) { s.wrong++ })
				l.problem("booking %d: change %d is from %q to %q after %q", id, c.Number, c.OldStatus, c.NewStatus, status)
			}
			status = c.NewStatus
		}
		if len(steps[id]) < 2 {
			l.problem("booking %d has %d changes", id, len(steps[id]))
		}
	}
	l.compareReceived(receiver, first)
}

// compareReceived compares what was received with the journal.
func (l *load) compareReceived(receiver *receiver, all []change) {
	received, last := map[int64]int{}, map[int]int64{}
	for _, c := range receiver.seen {
		if received[c.Number]++; received[c.Number] == 1 && c.Number < last[c.ID] {
			l.problem("booking %d: change %d was received after %d", c.ID, c.Number, last[c.ID])
		}
		last[c.ID] = max(last[c.ID], c.Number)
	}
	for _, c := range all {
		if received[c.Number] == 0 {
			l.problem("change %d of booking %d was not received", c.Number, c.ID)
		}
	}
	l.now().facts = fmt.Sprintf("%d changes of bookings, read by %d readers; %d deliveries, %d of them again", len(all), len(l.sidecars), len(receiver.seen), len(receiver.seen)-len(received))
}
