package load

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
	"net/url"
	"slices"
	"strings"
	"time"
)

// Client sends requests with a key to an API, whose URL ends before the paths, such as http://host/v1.
type Client struct {
	URL, Key string
	HTTP     *http.Client
}

// NewClient returns a client that keeps so many connections.
func NewClient(url, key string, connections int) *Client {
	return &Client{url, key, &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: connections}}}
}

// Request is a request that may be sent repeatedly. Its path is below the URL of the client.
type Request struct {
	Method, Path   string
	Body           any // becomes JSON; nil for none
	IdempotencyKey string
}

// Get returns the request that reads a path.
func Get(path string) Request { return Request{Method: http.MethodGet, Path: path} }

// Post returns the request that creates a record below a path.
func Post(path string, body any) Request {
	return Request{Method: http.MethodPost, Path: path, Body: body}
}

// Put returns the request that changes the record of a path.
func Put(path string, body any) Request {
	return Request{Method: http.MethodPut, Path: path, Body: body}
}

// Delete returns the request that deletes the record of a path.
func Delete(path string) Request { return Request{Method: http.MethodDelete, Path: path} }

// String returns the method and the path.
func (r Request) String() string { return r.Method + " " + r.Path }

// Answer is a response with its whole body.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// String returns the status and the beginning of the body.
func (a Answer) String() string { return fmt.Sprintf("%d %.300s", a.Status, a.Body) }

// Busy reports whether the client is told to retry.
func (a Answer) Busy() bool {
	return a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != ""
}

// Replayed reports whether the answer repeats that of an earlier request with the same Idempotency-Key.
func (a Answer) Replayed() bool { return a.Header.Get("Idempotent-Replayed") == "true" }

// InProgress reports whether an earlier request with the same Idempotency-Key is still being processed.
func (a Answer) InProgress() bool {
	return a.Status == http.StatusConflict && a.Code() == "idempotency_in_progress"
}

// Code returns the code of an error, and "" for any other response.
func (a Answer) Code() string {
	var body struct {
		Code  string
		Error struct{ Code string }
	}
	_ = json.Unmarshal(a.Body, &body) // a response that is not JSON has no code
	return body.Error.Code + body.Code
}

// Data decodes the member "data".
func (a Answer) Data(into any) error {
	if err := json.Unmarshal(a.Body, &struct{ Data any }{into}); err != nil {
		return fmt.Errorf("read %s: %w", a, err)
	}
	return nil
}

// ID returns the id of the record read or written, and an error unless the status is 200 or 201.
func (a Answer) ID() (int64, error) {
	var record struct{ ID json.Number }
	if err := a.Data(&record); err != nil {
		return 0, err
	}
	if a.Status != http.StatusOK && a.Status != http.StatusCreated {
		return 0, errors.New(a.String())
	}
	return record.ID.Int64()
}

// Send sends a request once.
func (c *Client) Send(ctx context.Context, r Request) (a Answer, err error) {
	var body io.Reader = http.NoBody
	if r.Body != nil {
		content, err := json.Marshal(r.Body)
		if err != nil {
			return a, fmt.Errorf("%s: %w", r, err)
		}
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, c.URL+r.Path, body)
	if err != nil {
		return a, fmt.Errorf("%s: %w", r, err)
	}
	request.Header.Set("X-API-Key", c.Key)
	request.Header.Set("Content-Type", "application/json")
	if r.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return a, fmt.Errorf("%s: %w", r, err)
	}
	a.Status, a.Header = response.StatusCode, response.Header
	a.Body, err = io.ReadAll(response.Body)
	return a, errors.Join(err, response.Body.Close())
}

// patience limits how long a request is repeated.
const patience = time.Minute

// Ask repeats a request until its answer is final: it is not Busy, and after the first attempt it is not
// InProgress either. It calls seen with every answer that is Busy, and returns how often the request was
// sent.
func (c *Client) Ask(ctx context.Context, r Request, seen func()) (a Answer, sent int, err error) {
	for deadline := time.Now().Add(patience); ; Pause() {
		a, err = c.Send(ctx, r)
		sent++
		switch {
		case err != nil || time.Now().After(deadline):
			return a, sent, err
		case a.Busy():
			seen()
		case sent == 1 || !a.InProgress():
			return a, sent, nil
		}
	}
}

// Pause waits much less than Retry-After, because there are no other clients to spare.
func Pause() { time.Sleep(20*time.Millisecond + rand.N(80*time.Millisecond)) }

// Start is when a booking begins.
type Start struct {
	Day  string `json:"start_date"`
	Time string `json:"start_time"`
}

// Minutes returns the minutes since midnight.
func (s Start) Minutes() int {
	at, err := time.Parse("15:04", s.Time)
	if err != nil {
		panic(err) // the API sent it
	}
	return at.Hour()*60 + at.Minute()
}

// Availability returns the path of the free starts of a service and an agent, a number or "any", from one day
// to another, counted from today.
func Availability(service int, agent any, first, last int) string {
	day := func(n int) string { return time.Now().AddDate(0, 0, n).Format(time.DateOnly) }
	return fmt.Sprintf("/availability?service_id=%d&agent_id=%v&date=%s&date_to=%s", service, agent, day(first), day(last))
}

// FreeStarts reads the free starts of an Availability in their order.
func (c *Client) FreeStarts(ctx context.Context, path string, more ...string) (starts []Start, err error) {
	for i := 0; i < len(more); i += 2 {
		path += "&" + more[i] + "=" + url.QueryEscape(more[i+1])
	}
	a, err := c.Send(ctx, Get(path))
	if err != nil {
		return nil, err
	}
	var data struct{ Days map[string][]string }
	if err := a.Data(&data); err != nil || a.Status != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %w", path, a, err)
	}
	for day, times := range data.Days {
		for _, at := range times {
			starts = append(starts, Start{day, at})
		}
	}
	slices.SortFunc(starts, func(a, b Start) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Time, b.Time))
	})
	return starts, nil
}
