package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bookside/docker/load"
)

// life is a booking that one client changes, each time through another sidecar: the journal
// must have its steps in their order.
type life struct {
	id    int64
	steps []string
}

// step is what an entry says about the state of its booking.
func step(c load.Change) string { return c.Kind + " " + c.NewStatus }

// cycle is the statuses that a booking goes through, again and again.
var cycle = []string{"approved", "completed", "cancelled", "pending"}

// changes checks the journal and the webhooks. Bookings are created, changed and deleted
// through all sidecars, while a reader at each of them follows GET /changes, and a receiver
// gets the webhooks. Everybody must see every change once, receivers at least once, and those
// of a booking in the order of the commits.
func (l *trial) changes(ctx context.Context, bookings int) error {
	receiver, err := l.startReceiver(ctx)
	if err != nil {
		return err
	}
	defer receiver.Close() //nolint:errcheck // nothing is sent any more
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
func (l *trial) live(ctx context.Context, bookings int) (lives []*life, contested []int64, err error) {
	var all sync.WaitGroup
	for i := range bookings {
		s, err := l.slots.take(anybody)
		if err != nil {
			return nil, nil, err
		}
		id, err := l.create(ctx, "/bookings", with(at(s.Start, shortService, s.agents[0]), body{"status": "pending"}))
		if err != nil {
			return nil, nil, err
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
func (l *trial) lead(ctx context.Context, one *life, first int) {
	path := fmt.Sprint("/bookings/", one.id)
	for i := range rounds {
		status := cycle[i%len(cycle)]
		if l.put(ctx, first+i, load.Put(path, body{"status": status})) {
			one.steps = append(one.steps, "updated "+status)
		}
	}
	if l.put(ctx, first+rounds, load.Delete(path+"?force=true")) {
		one.steps = append(one.steps, "deleted ")
	}
}

// toggle cancels a booking and brings it back, in competition with another client.
func (l *trial) toggle(ctx context.Context, id int64, first int) {
	for i := range rounds {
		l.put(ctx, first+i, load.Put(fmt.Sprint("/bookings/", id), body{"status": []string{"cancelled", "pending"}[i%2]}))
	}
}

// put sends a request to one of the sidecars and reports whether it was served.
func (l *trial) put(ctx context.Context, to int, r load.Request) bool {
	sidecar := l.sidecars[to%len(l.sidecars)]
	a, err := l.ask(ctx, sidecar, r)
	if err != nil {
		return false // ask has noted it
	}
	if a.Status != http.StatusOK {
		l.unexpected(sidecar, r, a)
		return false
	}
	l.now().Count("won")
	return true
}

// reader follows the changes of bookings at one sidecar.
type reader struct {
	sidecar *load.Server
	done    chan struct{}

	mu     sync.Mutex
	cursor string
	seen   []load.Change
	err    error // read after done
}

// startReaders starts a reader at each sidecar, all from the present end. They end once
// stopped is closed.
func (l *trial) startReaders(ctx context.Context) (readers []*reader, stopped chan struct{}, err error) {
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
	Data   []load.Change
	Cursor string
}

func (l *trial) page(ctx context.Context, from *load.Server, cursor string) (p page, err error) {
	query := url.Values{"resources": {"bookings"}}
	if cursor != "" {
		query = url.Values{"resources": {"bookings"}, "cursor": {cursor}, "wait": {"1"}}
	}
	a, err := from.Send(ctx, load.Get("/changes?"+query.Encode()))
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("GET /changes after %q through %s: %s", cursor, from.Name, a)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(a.Body, &p)
}

// follow reads the next changes.
func (l *trial) follow(ctx context.Context, r *reader) error {
	p, err := l.page(ctx, r.sidecar, r.cursor)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cursor, r.seen = p.Cursor, append(r.seen, p.Data...)
	return nil
}

// startReceiver receives the webhooks. It refuses some of them, but none twice: the third try would come after settle
// has lost patience.
func (l *trial) startReceiver(ctx context.Context) (*load.Receiver, error) {
	refused := map[string]bool{}
	r, err := load.NewReceiver(ctx, "127.0.0.1:0", &l.now().Tally, func(id string) bool {
		refuse := rand.N(50) == 0 && !refused[id]
		refused[id] = refused[id] || refuse
		return refuse
	})
	if err != nil {
		return nil, err
	}
	secret, err := l.sidecars[0].Run(ctx, "webhooks", "add", r.URL, "--events", "booking.*", "--allow-private", "--quiet")
	if err == nil {
		err = r.Verify(secret)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// patience limits how long settle waits.
const patience = time.Minute

// settle waits until the journal has everything, every reader has read it, and every delivery
// has arrived.
func (l *trial) settle(ctx context.Context, readers []*reader) error {
	const left = "SELECT (SELECT COUNT(*) FROM wp_bookside_change_inbox) + (SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE status <> 'delivered') + " +
		"(SELECT COUNT(*) FROM wp_bookside_changes WHERE resource = 'bookings' AND number > (SELECT MAX(position) FROM wp_bookside_webhooks))"
	for end := time.Now().Add(patience); ; load.Pause() {
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
			l.now().Problem("after %v, the nodes still have %v entries or deliveries to work on, or readers are late: %t", patience, waiting, late)
			return nil
		}
	}
}

// compareFeeds compares what was seen with what was done.
func (l *trial) compareFeeds(readers []*reader, receiver *load.Receiver, lives []*life, contested []int64) {
	first := readers[0].seen
	for _, r := range readers[1:] {
		if !slices.Equal(first, r.seen) {
			l.now().Problem("the readers at %s and %s have seen different changes: %d and %d", readers[0].sidecar.Name, r.sidecar.Name, len(first), len(r.seen))
		}
	}
	steps := map[int64][]load.Change{}
	for i, c := range first {
		if i > 0 && c.Number <= first[i-1].Number {
			l.now().Problem("change %d follows %d", c.Number, first[i-1].Number)
		}
		if c.Origin != "api" {
			l.now().Problem("change %d of booking %d, which a request made, has the origin %s", c.Number, c.ID, c.Origin)
		}
		steps[c.ID] = append(steps[c.ID], c)
	}
	for _, one := range lives {
		var got []string
		for _, c := range steps[one.id] {
			got = append(got, step(c))
		}
		if !slices.Equal(got, one.steps) {
			l.now().Count("wrong")
			l.now().Problem("booking %d: the journal has %q, want %q", one.id, got, one.steps)
		}
	}
	for _, id := range contested {
		status := ""
		for _, c := range steps[id] {
			// A status that did not change is an update; two equal ones in a row are out of order.
			if c.OldStatus != status || c.Kind == "updated" && c.OldStatus != c.NewStatus && c.NewStatus == status {
				l.now().Count("wrong")
				l.now().Problem("booking %d: change %d is from %q to %q after %q", id, c.Number, c.OldStatus, c.NewStatus, status)
			}
			status = c.NewStatus
		}
		if len(steps[id]) < 2 {
			l.now().Problem("booking %d has %d changes", id, len(steps[id]))
		}
	}
	for _, c := range first {
		receiver.Check(c)
	}
	l.now().facts = fmt.Sprintf("%d changes of bookings, read by %d readers; %d deliveries, %d of them again", len(first), len(l.sidecars), l.now().Counted("webhooks")+l.now().Counted("webhooks again"), l.now().Counted("webhooks again"))
}
