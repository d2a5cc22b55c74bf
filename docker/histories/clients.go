package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/bookside/bookside/docker/load"
	"github.com/bookside/bookside/fixtures/history"
)

// Each history is of one agent and day. Those of all agents are recorded at the same time, one day after
// the other.
const (
	agents    = 3 // of the sample site
	clients   = 4 // of a history
	firstDay  = 2 // from now
	lastDay   = 60
	customer  = 3
	spacing   = 90 // minutes between starts, so that slots do not touch
	lasts     = 20 * time.Second
	decision  = 2 * time.Minute  // time limit of the checker
	patience  = 20 * time.Second // of a client: longer than a server may take to answer
	clientGap = 10 * time.Millisecond
)

// chapter is the history of an agent and day.
type chapter struct {
	*trial
	*history.History
	agent   int
	day     string
	slots   []string // starts
	verdict history.Verdict

	mu        sync.Mutex
	made      map[int64]string // codes of confirmed bookings, by id
	cancelled map[int64]bool   // confirmed cancellations
}

// record records the histories of an agent, and has each checked.
func (t *trial) record(ctx context.Context, agent int) {
	for n := 0; ctx.Err() == nil; n++ {
		c := &chapter{trial: t, agent: agent, made: map[int64]string{}, cancelled: map[int64]bool{}}
		c.day = time.Now().AddDate(0, 0, firstDay+n%(lastDay-firstDay)).Format(time.DateOnly)
		until, cancel := context.WithTimeout(ctx, lasts)
		for c.begin(until) != nil && until.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		if len(c.slots) < 2 { // a day off, or no server answered
			cancel()
			continue
		}
		var all sync.WaitGroup
		for client := range clients {
			all.Go(func() { c.run(until, client) })
		}
		all.Wait()
		cancel()
		c.verdict = c.Check(decision)
		t.mu.Lock()
		t.chapters = append(t.chapters, c)
		t.mu.Unlock()
	}
}

// anyServer returns a server that answered its last request, or nil.
func (t *trial) anyServer() *server {
	for _, i := range rand.Perm(len(t.servers)) {
		if s := t.servers[i]; !s.away.Load() {
			return s
		}
	}
	return nil
}

// calendar returns the path of the free starts.
func (c *chapter) calendar() string {
	return fmt.Sprintf("/availability?service_id=1&agent_id=%d&location_id=1&date=%s", c.agent, c.day)
}

// found is what the API says.
type found struct {
	history.Data
	Code string `json:"booking_code"`
}

// begin chooses free slots.
func (c *chapter) begin(ctx context.Context) error {
	s := c.anyServer()
	if s == nil {
		return errors.New("no server answers")
	}
	status, found := c.exchange(ctx, s, load.Get(c.calendar()))
	if status != http.StatusOK {
		return errors.New("no answer")
	}
	last := time.Time{}
	for _, text := range found.AvailableSlots {
		at, err := time.Parse("15:04", text)
		if err != nil {
			return fmt.Errorf("read a start: %w", err)
		}
		if len(c.slots) < history.MaxSlots && (len(c.slots) == 0 || at.Sub(last) >= spacing*time.Minute) {
			c.slots, last = append(c.slots, text), at
		}
	}
	c.History = history.New(len(c.slots))
	return nil
}

// exchange sends a request to a server, and returns the status, 0 for no answer. After that the server is
// left alone until it answers again: the more requests have an unknown outcome, the longer the checker
// takes.
func (c *chapter) exchange(ctx context.Context, s *server, r load.Request) (status int, data found) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	client := load.Client{URL: s.URL, Key: c.keys[c.agent-1], HTTP: s.HTTP}
	a, err := client.Send(ctx, r)
	switch {
	case err != nil || a.Status == http.StatusServiceUnavailable:
		s.away.Store(true)
		return 0, data
	case a.Status == http.StatusConflict:
		return a.Status, data
	case a.Status == http.StatusOK || a.Status == http.StatusCreated:
		if err := a.Data(&data); err == nil {
			return a.Status, data
		}
	}
	c.Problem("%s through %s: %s", r, s.Name, a)
	return 0, data
}

// run sends requests.
func (c *chapter) run(ctx context.Context, client int) {
	for ; ctx.Err() == nil; time.Sleep(clientGap) {
		if s := c.anyServer(); s != nil {
			r := c.Draw(rand.IntN)
			c.Record(client, r, func() history.Answer { return c.ask(ctx, s, r) })
		}
	}
}

// ask sends a request and reads the answer.
func (c *chapter) ask(ctx context.Context, s *server, r history.Request) history.Answer {
	booking := fmt.Sprint("/bookings/", r.ID)
	slot := map[string]any{"service_id": 1, "agent_id": c.agent, "location_id": 1, "start_date": c.day, "start_time": c.slots[r.Slot]}
	request := load.Get(booking)
	switch r.Kind {
	case history.Create:
		slot["customer_id"] = customer
		request = load.Post("/bookings", slot)
	case history.Hold:
		request = load.Post("/holds", slot)
	case history.BookHold:
		request = load.Post("/bookings", map[string]any{"hold_id": r.ID, "customer_id": customer})
	case history.Move:
		request = load.Put(booking, map[string]any{"start_time": c.slots[r.Slot]})
	case history.Cancel:
		request = load.Put(booking, map[string]any{"status": "cancelled"})
	case history.Availability:
		request = load.Get(c.calendar())
	}
	status, found := c.exchange(ctx, s, request)
	switch status {
	case 0:
		return history.Answer{Outcome: history.Unknown}
	case http.StatusConflict:
		return history.Answer{Outcome: history.Refused}
	}
	a := r.Done(found.Data, c.slots)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Kind {
	case history.Create, history.BookHold:
		c.made[a.ID] = found.Code
	case history.Cancel:
		c.cancelled[r.ID] = true
	}
	return a
}
