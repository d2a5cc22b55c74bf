package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"bookside/fixtures/history"
)

// Histories are of one agent and day each, of days on which the other clients do not book. Between two of the
// same day pass minutes, in which whatever was under way has ended.
const (
	historyClients = 4
	historyLasts   = 20 * time.Second
	historyFirst   = 63 // days from now
	historyDays    = 7
	historyAgents  = 3
	historyLimit   = time.Minute // for the checker
	// historyCustomer has no booking that docker/endurance/run keeps locked.
	historyCustomer = 3
	// historySpace is how many minutes lie between the slots of a history, so that none touches another.
	historySpace = 90
)

// chapter is the history of an agent and day.
type chapter struct {
	*load
	*history.History
	agent int
	day   string
	slots []string // starts
}

// record records histories, one after the other, and has each checked.
func (l *load) record(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		c := &chapter{load: l, agent: 1 + n%historyAgents, day: time.Now().AddDate(0, 0, historyFirst+n/historyAgents%historyDays).Format(time.DateOnly)}
		if err := c.begin(); err != nil {
			time.Sleep(100 * time.Millisecond) // the database is away
			continue
		}
		if len(c.slots) < 2 {
			continue
		}
		until, cancel := context.WithTimeout(ctx, historyLasts)
		var clients sync.WaitGroup
		for client := range historyClients {
			clients.Go(func() { c.run(until, client) })
		}
		clients.Wait()
		cancel()
		if verdict := c.Check(historyLimit); verdict != history.Linearizable {
			l.fail("the history of agent %d on %s is %s:\n%s", c.agent, c.day, verdict, c)
		}
		l.mu.Lock()
		l.histories++
		for what, requests := range c.Outcomes() {
			_, outcome, _ := strings.Cut(strings.Replace(what, "book hold", "book", 1), " ")
			l.recorded[outcome] += requests
		}
		l.mu.Unlock()
	}
}

var errNotAnswered = errors.New("not answered")

// exchange sends a request once, and counts the answer.
func (c *chapter) exchange(method, path string, body any) (status int, found history.Data, err error) {
	status, content, err := c.send(method, path, "", body)
	c.count(method, status)
	switch {
	case err != nil:
		c.fail("%s %s: %d %v", method, path, status, err)
		return 0, found, err
	case status == http.StatusServiceUnavailable:
		c.refuse(method, path)
		return status, found, nil
	case status == http.StatusConflict:
		return status, found, nil
	case status != http.StatusOK && status != http.StatusCreated:
		c.fail("%s %s: %d %s", method, path, status, content)
		return status, found, errNotAnswered
	}
	var answer struct{ Data history.Data }
	if err := json.Unmarshal(content, &answer); err != nil {
		c.fail("%s %s: %v: %s", method, path, err, content)
		return status, found, err
	}
	return status, answer.Data, nil
}

// calendar is the path of the free starts.
func (c *chapter) calendar() string {
	return fmt.Sprintf("/availability?service_id=1&agent_id=%d&location_id=1&date=%s", c.agent, c.day)
}

// begin chooses slots that are free.
func (c *chapter) begin() error {
	status, found, err := c.exchange(http.MethodGet, c.calendar(), nil)
	if err != nil || status != http.StatusOK {
		return errors.Join(errNotAnswered, err)
	}
	last := time.Time{}
	for _, text := range found.AvailableSlots {
		at, err := time.Parse("15:04", text)
		if err != nil {
			return fmt.Errorf("read a start: %w", err)
		}
		if len(c.slots) < history.MaxSlots && (len(c.slots) == 0 || at.Sub(last) >= historySpace*time.Minute) {
			c.slots, last = append(c.slots, text), at
		}
	}
	c.History = history.New(len(c.slots))
	return nil
}

// run sends requests. After one whose outcome is unknown, it waits until the server answers again: the more
// such requests there are, the longer the checker takes.
func (c *chapter) run(ctx context.Context, client int) {
	for ctx.Err() == nil {
		a := c.request(client, c.Draw(mathrand.IntN))
		for a.Outcome == history.Unknown && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
			a = c.request(client, history.Request{Kind: history.Availability})
		}
	}
}

// request sends a request and records it.
func (c *chapter) request(client int, r history.Request) history.Answer {
	return c.Record(client, r, func() history.Answer { return c.answer(r) })
}

// answer sends a request and reads the answer.
func (c *chapter) answer(r history.Request) history.Answer {
	method, path, body := http.MethodGet, fmt.Sprint("/bookings/", r.ID), any(nil)
	slot := map[string]any{"service_id": 1, "agent_id": c.agent, "location_id": 1, "start_date": c.day, "start_time": c.slots[r.Slot]}
	switch r.Kind {
	case history.Create:
		slot["customer_id"] = historyCustomer
		method, path, body = http.MethodPost, "/bookings", slot
	case history.Hold:
		method, path, body = http.MethodPost, "/holds", slot
	case history.BookHold:
		method, path, body = http.MethodPost, "/bookings", map[string]any{"hold_id": r.ID, "customer_id": historyCustomer}
	case history.Move:
		method, body = http.MethodPut, map[string]any{"start_time": c.slots[r.Slot]}
	case history.Cancel:
		method, body = http.MethodPut, map[string]any{"status": "cancelled"}
	case history.Availability:
		path = c.calendar()
	}
	status, found, err := c.exchange(method, path, body)
	switch {
	case err != nil || status == http.StatusServiceUnavailable:
		return history.Answer{Outcome: history.Unknown}
	case status == http.StatusConflict:
		return history.Answer{Outcome: history.Refused}
	}
	return r.Done(found, c.slots)
}
