// Package changes makes changes through several servers and by plain SQL, follows them at each server,
// receives their webhooks, and compares all of that with the journal.
package changes

import (
	"context"
	"database/sql"
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
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/docker/load"
)

// resources are those whose changes are followed, events those that are received.
const (
	resources = "bookings,customers"
	events    = "booking.*,customer.*"
)

// trial is shared by writers, readers and the receiver. If a request's server or database was killed,
// nobody knows whether it happened.
type trial struct {
	*load.Tally
	servers  []*load.Server
	db       *sql.DB
	receiver *load.Receiver
	reliable atomic.Bool // whether the receiver accepts everything
	readers  []*reader

	mu        sync.Mutex
	starts    []load.Start // that nobody has booked
	confirmed []load.Record
	lives     []*life
	contested []int64
}

// Run changes the sample site fixtures.Small for a while. Every confirmed change must be in the journal,
// once; readers of the changes at every server must see all of them; every entry must be received; and all
// in commit order for each record. Meanwhile, faults may happen until its context ends. It returns a
// summary.
func Run(ctx context.Context, servers []*load.Server, db *sql.DB, tally *load.Tally, duration time.Duration, faults func(until context.Context) error) (summary string, err error) {
	t := &trial{Tally: tally, servers: servers, db: db}
	if err := t.startReceiver(ctx); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.receiver.Close()) }()
	// Changes made before all rows have been seen once are not found.
	for seen := false; !seen; load.Pause() {
		err := db.QueryRowContext(ctx, "SELECT COALESCE(COUNT(*) = SUM(position > floor), 0) FROM wp_bookside_change_positions WHERE name NOT IN ('journal', 'search', 'site')").Scan(&seen)
		if err != nil {
			return "", err
		}
	}
	if t.starts, err = servers[0].FreeStarts(ctx, load.Availability(1, 1, 70, 130), "location_id", "1"); err != nil {
		return "", err
	}
	first, err := read(ctx, servers[0], "")
	if err != nil {
		return "", err
	}
	until, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var writers, readers sync.WaitGroup
	for _, s := range servers {
		r := &reader{server: s, cursor: first.Cursor}
		t.readers = append(t.readers, r)
		readers.Go(func() { r.follow(reading) })
	}
	for i := range 4 {
		writers.Go(func() { t.writeBySQL(until) })
		writers.Go(func() { t.write(until, i) })
	}
	if err = faults(until); err != nil {
		return "", err
	}
	writers.Wait()
	t.reliable.Store(true)
	err = t.settle(ctx)
	stop()
	readers.Wait()
	if err != nil {
		return "", err
	}
	return t.compare(ctx, number(first.Cursor))
}

// startReceiver receives the webhooks. It refuses every second delivery, but no message twice, because the
// third attempt would come much later.
func (t *trial) startReceiver(ctx context.Context) (err error) {
	refused := map[string]bool{}
	t.receiver, err = load.NewReceiver(ctx, t.Tally, func(id string) bool {
		refuse := !t.reliable.Load() && !refused[id] && rand.N(2) == 0
		refused[id] = refused[id] || refuse
		return refuse
	})
	if err != nil {
		return err
	}
	secret, err := t.servers[0].Run(ctx, "webhooks", "add", t.receiver.URL, "--events", events, "--allow-private", "--quiet")
	if err != nil {
		return err
	}
	return t.receiver.Verify(secret)
}

// pause lets the database recover after an error.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	}
}

// writeBySQL creates customers, and changes them in a way that leaves no trace.
func (t *trial) writeBySQL(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx) {
		// Not the run's context: a statement that was sent must be awaited.
		result, err := t.db.ExecContext(context.WithoutCancel(ctx), "INSERT INTO wp_latepoint_customers (first_name, last_name, email, status, created_at, updated_at) VALUES ('S', 'Q', ?, 'active', '2020-01-01', '2020-01-01')",
			fmt.Sprintf("%d@example.test", rand.Int64()))
		if err != nil {
			continue
		}
		if id, err := result.LastInsertId(); err == nil {
			t.created(load.Record{Resource: "customers", ID: id})
			if _, err := t.db.ExecContext(context.WithoutCancel(ctx), "UPDATE wp_latepoint_customers SET notes = 'changed' WHERE id = ?", id); err == nil {
				t.Count("changes")
			}
		}
	}
}

// created notes a record whose creation was confirmed.
func (t *trial) created(r load.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.confirmed = append(t.confirmed, r)
}

// life is a booking that one client changes, each time through another server: the journal must have its
// steps in order.
type life struct {
	id    int64
	steps []string
}

// step describes the state of the booking in an entry.
func step(c load.Change) string { return c.Kind + " " + c.NewStatus }

// statuses are those that a booking goes through repeatedly.
var statuses = []string{"approved", "completed", "cancelled", "pending"}

// rounds is how often a client changes its booking.
const rounds = 12

// write creates customers, and bookings that it changes, each time through another server: every second
// booking in competition with another client.
func (t *trial) write(ctx context.Context, first int) {
	for n := first; ctx.Err() == nil; n++ {
		if id, confirmed := t.ask(ctx, n, load.Post("/customers", map[string]string{"first_name": "A", "last_name": "B", "email": fmt.Sprintf("%d@example.test", rand.Int64())})); confirmed {
			t.created(load.Record{Resource: "customers", ID: id})
		}
		id, confirmed := t.createBooking(ctx, n)
		switch {
		case !confirmed:
			pause(ctx)
		case n%2 == 0:
			t.lead(ctx, id, n)
		default:
			t.mu.Lock()
			t.contested = append(t.contested, id)
			t.mu.Unlock()
			var both sync.WaitGroup
			for client := range 2 {
				both.Go(func() { t.toggle(ctx, id, n+client) })
			}
			both.Wait()
		}
	}
}

// createBooking books a free slot.
func (t *trial) createBooking(ctx context.Context, server int) (id int64, confirmed bool) {
	t.mu.Lock()
	if len(t.starts) == 0 {
		t.mu.Unlock()
		return 0, false
	}
	at := t.starts[0]
	t.starts = t.starts[1:]
	t.mu.Unlock()
	id, confirmed = t.ask(ctx, server, load.Post("/bookings", map[string]any{
		"service_id": 1, "agent_id": 1, "location_id": 1, "customer_id": 1, "start_date": at.Day, "start_time": at.Time, "status": "pending", "send_confirmation": false,
	}))
	if confirmed {
		t.created(load.Record{Resource: "bookings", ID: id})
	}
	return id, confirmed
}

// lead takes a booking through its statuses and deletes it. Its steps are compared if all were confirmed.
func (t *trial) lead(ctx context.Context, id int64, first int) {
	one, path := &life{id, []string{"created pending"}}, fmt.Sprint("/bookings/", id)
	for i := range rounds {
		status := statuses[i%len(statuses)]
		if _, confirmed := t.ask(ctx, first+i, load.Put(path, map[string]string{"status": status})); !confirmed {
			return
		}
		one.steps = append(one.steps, "updated "+status)
	}
	if _, confirmed := t.ask(ctx, first+rounds, load.Delete(path+"?force=true")); confirmed {
		one.steps = append(one.steps, "deleted ")
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lives = append(t.lives, one)
	}
}

// toggle cancels and restores a booking, in competition with another client.
func (t *trial) toggle(ctx context.Context, id int64, first int) {
	for i := range rounds {
		t.ask(ctx, first+i, load.Put(fmt.Sprint("/bookings/", id), map[string]string{"status": []string{"cancelled", "pending"}[i%2]}))
	}
}

// ask sends a request to one of the servers, and reports whether its success is certain: it was confirmed,
// and no earlier attempt has an unknown outcome.
func (t *trial) ask(ctx context.Context, to int, r load.Request) (id int64, confirmed bool) {
	server := t.servers[to%len(t.servers)]
	// Not the run's context: a request that was sent must be awaited.
	a, err := server.Send(context.WithoutCancel(ctx), r)
	switch {
	case err != nil:
		t.Count("unanswered")
		return 0, false
	case a.Busy():
		t.Count("503")
		return 0, false
	case a.Status != http.StatusOK && a.Status != http.StatusCreated:
		t.Problem("%s through %s: %s", r, server.Name, a)
		return 0, false
	}
	if r.Method != http.MethodPost {
		t.Count("changes")
		return 0, true
	}
	if id, err = a.ID(); err != nil {
		t.Problem("%s through %s: %v", r, server.Name, err)
	}
	return id, err == nil
}

// reader follows the changes at one server.
type reader struct {
	server *load.Server

	mu     sync.Mutex
	cursor string
	seen   []load.Change
}

// page is a response of GET /changes.
type page struct {
	Data   []load.Change
	Cursor string
}

// read reads the changes after a cursor, and waits for the first of them.
func read(ctx context.Context, from *load.Server, cursor string) (p page, err error) {
	query := url.Values{"resources": {resources}}
	if cursor != "" {
		query = url.Values{"resources": {resources}, "cursor": {cursor}, "wait": {"1"}}
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

// follow reads changes until the end.
func (r *reader) follow(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := read(ctx, r.server, r.cursor)
		if err != nil { // the server was killed, or its database
			pause(ctx)
			continue
		}
		r.mu.Lock()
		r.cursor, r.seen = p.Cursor, append(r.seen, p.Data...)
		r.mu.Unlock()
	}
}

// number returns the number in a cursor, which follows its journal.
func number(cursor string) int64 {
	_, text, _ := strings.Cut(cursor, "-")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// late reports whether a reader has not reached a number.
func (r *reader) late(last int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return number(r.cursor) != last
}

// patience limits how long settle waits; quiet is how many consecutive seconds nothing may be missing.
const (
	patience = 10 * time.Minute
	quiet    = 15
)

// settle waits until the journal is complete, every reader has read it, and every delivery has arrived.
func (t *trial) settle(ctx context.Context) error {
	end := time.Now().Add(patience)
	for n := 0; n < quiet; time.Sleep(time.Second) {
		// Deliveries whose next attempt is in an hour are tried now.
		_, err := t.db.ExecContext(ctx, "UPDATE wp_bookside_webhook_deliveries SET due_at = UTC_TIMESTAMP() WHERE status = 'waiting'")
		// Rows inserted by plain SQL while no server led are found when all rows are examined again.
		var missing, last int64
		if err == nil {
			err = t.db.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE status NOT IN ('delivered', 'failed')) + (SELECT COUNT(*) FROM wp_bookside_change_inbox) + "+
				"(SELECT COUNT(*) FROM wp_bookside_changes WHERE resource IN ('bookings', 'customers') AND number > (SELECT MIN(position) FROM wp_bookside_webhooks)) + "+
				"(SELECT COUNT(*) FROM wp_latepoint_customers AS c WHERE c.first_name IN ('A', 'S') AND NOT EXISTS (SELECT 1 FROM wp_bookside_changes AS h WHERE h.resource = 'customers' AND h.resource_id = c.id)), "+
				"(SELECT position FROM wp_bookside_change_positions WHERE name = 'journal')").Scan(&missing, &last)
		}
		late := slices.ContainsFunc(t.readers, func(r *reader) bool { return r.late(last) })
		if n++; err != nil || missing > 0 || late {
			n = 0
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d changes are unknown or deliveries waiting, or readers are late: %t, %w", missing, late, err)
		}
	}
	return nil
}

// compare compares the journal with what was confirmed, read and received.
func (t *trial) compare(ctx context.Context, previous int64) (string, error) {
	rows, err := t.db.QueryContext(ctx, "SELECT number, resource, resource_id, kind, origin, COALESCE(old_status, ''), COALESCE(new_status, '') FROM wp_bookside_changes WHERE number > ? ORDER BY number", previous)
	if err != nil {
		return "", err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var journal []load.Change
	byRecord, created, origins := map[load.Record][]load.Change{}, map[load.Record]int{}, map[string]int{}
	for rows.Next() {
		var c load.Change
		if err := rows.Scan(&c.Number, &c.Resource, &c.ID, &c.Kind, &c.Origin, &c.OldStatus, &c.NewStatus); err != nil {
			return "", err
		}
		if c.Number != previous+1 {
			t.Problem("%d follows %d in the journal", c.Number, previous)
		}
		previous = c.Number
		if !strings.Contains(resources, c.Resource) {
			continue
		}
		if c.Resource == "bookings" && c.Origin != "api" {
			t.Problem("change %d of booking %d, which a request made, has the origin %s", c.Number, c.ID, c.Origin)
		}
		if c.Kind == "created" {
			created[c.Record()]++
		}
		journal, byRecord[c.Record()] = append(journal, c), append(byRecord[c.Record()], c)
		origins[c.Origin]++
		t.receiver.Check(c)
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	for _, r := range t.readers {
		if !slices.Equal(r.seen, journal) {
			t.Problem("the reader at %s has seen %d changes, which are not the %d of the journal in their order", r.server.Name, len(r.seen), len(journal))
		}
	}
	for _, r := range t.confirmed {
		if created[r] != 1 {
			t.Problem("%s %d was created, and has %d entries about that", r.Resource, r.ID, created[r])
		}
	}
	t.checkBookings(byRecord)
	if len(t.lives) == 0 || len(t.contested) == 0 {
		t.Problem("%d bookings were changed by one client in all steps, and %d by two", len(t.lives), len(t.contested))
	}
	return fmt.Sprintf("%d records created, %d changes of them; %d entries of the journal (%d api, %d found), read by %d readers; %d deliveries, %d of them again, %d refused",
		len(t.confirmed), t.Counted("changes"), len(journal), origins["api"], origins["found"], len(t.readers),
		t.Counted("webhooks")+t.Counted("webhooks again"), t.Counted("webhooks again"), t.Counted("webhooks refused")), nil
}

// checkBookings compares the order of bookings' changes with what was confirmed.
func (t *trial) checkBookings(byRecord map[load.Record][]load.Change) {
	for _, one := range t.lives {
		var got []string
		for _, c := range byRecord[load.Record{Resource: "bookings", ID: one.id}] {
			got = append(got, step(c))
		}
		if !slices.Equal(got, one.steps) {
			t.Problem("booking %d: the journal has %q, want %q", one.id, got, one.steps)
		}
	}
	for _, id := range t.contested {
		status := ""
		for _, c := range byRecord[load.Record{Resource: "bookings", ID: id}] {
			// An unchanged status is an update; two equal ones in a row are out of order.
			if c.OldStatus != status || c.Kind == "updated" && c.OldStatus != c.NewStatus && c.NewStatus == status {
				t.Problem("booking %d: change %d is from %q to %q after %q", id, c.Number, c.OldStatus, c.NewStatus, status)
			}
			status = c.NewStatus
		}
	}
}
