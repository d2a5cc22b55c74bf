package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// client sends requests with a key to an API, whose URL ends before the paths, such as http://host/v1.
type client struct {
	url, key string
	http     *http.Client
}

// newClient returns a client that keeps so many connections.
func newClient(url, key string, connections int) *client {
	return &client{url, key, &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: connections}}}
}

// request is a request that may be sent repeatedly. Its path is below the URL of the client.
type request struct {
	method, path string
	body         any // becomes JSON; nil for none
}

func get(path string) request            { return request{method: http.MethodGet, path: path} }
func post(path string, body any) request { return request{http.MethodPost, path, body} }
func put(path string, body any) request  { return request{http.MethodPut, path, body} }

func (r request) String() string { return r.method + " " + r.path }

// content returns the body as it is sent.
func (r request) content() ([]byte, error) {
	if r.body == nil {
		return nil, nil
	}
	return json.Marshal(r.body)
}

// answer is a response with its whole body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// String returns the status and the beginning of the body.
func (a answer) String() string { return fmt.Sprintf("%d %.300s", a.status, a.body) }

// busy reports whether the client is told to retry.
func (a answer) busy() bool {
	return a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != ""
}

// send sends a request once.
func (c *client) send(ctx context.Context, r request) (a answer, err error) {
	content, err := r.content()
	if err != nil {
		return a, fmt.Errorf("%s: %w", r, err)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, c.url+r.path, bytes.NewReader(content))
	if err != nil {
		return a, fmt.Errorf("%s: %w", r, err)
	}
	sent.Header.Set("X-API-Key", c.key)
	sent.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(sent)
	if err != nil {
		return a, fmt.Errorf("%s: %w", r, err)
	}
	a.status, a.header = response.StatusCode, response.Header
	a.body, err = io.ReadAll(response.Body)
	return a, errors.Join(err, response.Body.Close())
}

// sendOK sends a request once, and returns an error unless its answer has status 200.
func (c *client) sendOK(ctx context.Context, r request) (answer, error) {
	a, err := c.send(ctx, r)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s %s%s: %s", r.method, c.url, r.path, a)
	}
	return a, err
}

// patience limits how long a request is repeated.
const patience = time.Minute

// ask repeats a request until its answer is not busy, and returns how often it was.
func (c *client) ask(ctx context.Context, r request) (a answer, busy int, err error) {
	for deadline := time.Now().Add(patience); ; busy++ {
		a, err = c.send(ctx, r)
		if err != nil || !a.busy() || time.Now().After(deadline) {
			return a, busy, err
		}
		time.Sleep(20*time.Millisecond + rand.N(80*time.Millisecond)) // less than Retry-After: there are no other clients to spare
	}
}

// read reads a path into a value.
func (c *client) read(ctx context.Context, path string, into any) error {
	a, err := c.sendOK(ctx, get(path))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("GET %s%s: %s: %w", c.url, path, a, err)
	}
	return nil
}

// start is when a booking begins.
type start struct{ day, time string }

// minutes returns the minutes since midnight.
func (s start) minutes() int {
	at, err := time.Parse("15:04", s.time)
	if err != nil {
		panic(err) // the API sent it
	}
	return at.Hour()*60 + at.Minute()
}

// availability returns the path of the free starts of a service and an agent, a number or "any", from one day
// to another, counted from today.
func availability(service int, agent any, first, last int) string {
	day := func(n int) string { return time.Now().AddDate(0, 0, n).Format(time.DateOnly) }
	return fmt.Sprintf("/availability?service_id=%d&agent_id=%v&date=%s&date_to=%s", service, agent, day(first), day(last))
}

// freeStarts reads the free starts of an availability in their order.
func (c *client) freeStarts(ctx context.Context, path string) (starts []start, err error) {
	var body struct {
		Data struct{ Days map[string][]string }
	}
	if err := c.read(ctx, path, &body); err != nil {
		return nil, err
	}
	for day, times := range body.Data.Days {
		for _, at := range times {
			starts = append(starts, start{day, at})
		}
	}
	slices.SortFunc(starts, func(a, b start) int {
		return cmp.Or(strings.Compare(a.day, b.day), strings.Compare(a.time, b.time))
	})
	return starts, nil
}
