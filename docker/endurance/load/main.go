// Command load runs the clients of the endurance run. They read, book, move and
// delete without a pause, retry requests that get a 503, and check every response.
// Other clients disconnect before they get a response.
//
//	KEY=lp_live_… load -url http://127.0.0.1:8080 -duration 10m -folder /tmp/x
//
// It writes two files into the folder: bookings.tsv has, for each booking's note,
// how many bookings must exist in the end (0 or 1); refused.tsv has the time in
// seconds, the method and the path of each 503.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run() error {
	url := flag.String("url", "", "URL of the server")
	duration := flag.Duration("duration", time.Minute, "duration of the load")
	folder := flag.String("folder", ".", "directory for the results")
	flag.Parse()
	l := &load{url: *url + "/v1", key: os.Getenv("KEY"), statuses: map[string]int{}, expected: map[string]int{},
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if err := l.learn(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), *duration)
	defer cancel()
	var clients sync.WaitGroup
	for range writers {
		clients.Go(func() { l.read(ctx) })
		clients.Go(func() { l.write(ctx) })
	}
	for range leavers {
		clients.Go(func() { l.leave(ctx) })
	}
	clients.Wait()
	if err := l.store(*folder); err != nil {
		return err
	}
	fmt.Println(l.summary())
	if len(l.wrong) > 0 {
		return fmt.Errorf("%d wrong responses, such as\n%s", len(l.wrong), strings.Join(l.wrong[:min(len(l.wrong), 20)], "\n"))
	}
	return nil
}

// The numbers of clients.
const (
	writers = 6 // and as many that read
	leavers = 20
)

// lockedBooking is the booking whose row docker/endurance/run keeps locked most of
// the time.
const lockedBooking = "/bookings/1"

// load is shared by all clients.
type load struct {
	url, key  string
	client    *http.Client
	constants map[string][]byte // responses that must not change, by path
	starts    []start           // the starts offered at the beginning

	mu       sync.Mutex
	statuses map[string]int // by method and status
	expected map[string]int // bookings by note
	rejected []string
	wrong    []string
	left     int // requests whose client disconnected
}

// start is when a booking begins.
type start struct {
	Day  string `json:"start_date"`
	Time string `json:"start_time"`
}

// learn reads the responses and the starts that the clients use later.
func (l *load) learn() error {
	l.constants = map[string][]byte{}
	for _, path := range []string{"/agents", "/services", "/services/categories", "/locations", "/coupons", "/services/1", "/agents/1", "/customers/2"} {
		status, body, err := l.send(http.MethodGet, path, "", nil)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("GET %s: %d %w", path, status, err)
		}
		l.constants[path] = body
	}
	first := time.Now().AddDate(0, 0, 2)
	path := "/availability?service_id=1&agent_id=any&date=" + first.Format(time.DateOnly) + "&date_to=" + first.AddDate(0, 0, 60).Format(time.DateOnly)
	_, body, err := l.send(http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	var answer struct {
		Data struct{ Days map[string][]string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	for day, times := range answer.Data.Days {
		for _, at := range times {
			l.starts = append(l.starts, start{day, at})
		}
	}
	if len(l.starts) == 0 {
		return errors.New("no start is offered in the next two months")
	}
	return nil
}

func (l *load) send(method, path, idempotency string, body any) (status int, answer []byte, err error) {
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(context.Background(), method, l.url+path, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("X-API-Key", l.key)
	request.Header.Set("Content-Type", "application/json")
	if idempotency != "" {
		request.Header.Set("Idempotency-Key", idempotency)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	if status = response.StatusCode; status == http.StatusServiceUnavailable && response.Header.Get("Retry-After") == "" {
		err = errors.New("503 without Retry-After")
	}
	return status, answer, errors.Join(err, response.Body.Close())
}

// ask sends a request until the response is not a 503, and returns how often it was
// sent. It records a status that is not in want as a failure.
func (l *load) ask(method, path string, body any, want ...int) (status int, answer []byte, sent int) {
	idempotency := ""
	if method == http.MethodPost {
		idempotency = rand.Text()
	}
	for {
		sent++
		status, answer, err := l.send(method, path, idempotency, body)
		l.count(method, status)
		switch {
		case err != nil:
			l.fail("%s %s: %d %v", method, path, status, err)
			return 0, nil, sent
		case status == http.StatusServiceUnavailable:
			l.refuse(method, path)
			time.Sleep(100 * time.Millisecond)
		// An earlier try that was interrupted may still hold the key for a moment.
		case sent > 1 && status == http.StatusConflict && bytes.Contains(answer, []byte("idempotency_in_progress")):
			time.Sleep(100 * time.Millisecond)
		case !slices.Contains(want, status):
			l.fail("%s %s: %d %s", method, path, status, answer)
			return status, answer, sent
		default:
			return status, answer, sent
		}
	}
}

func (l *load) count(method string, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses[fmt.Sprintf("%s %d", method, status)]++
}

func (l *load) refuse(method, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rejected = append(l.rejected, fmt.Sprintf("%.3f\t%s %s", float64(time.Now().UnixMilli())/1000, method, path))
}

func (l *load) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, time.Now().Format(time.TimeOnly)+" "+fmt.Sprintf(format, args...))
}

func (l *load) read(ctx context.Context) {
	for ctx.Err() == nil {
		for path, want := range l.constants {
			if _, got, _ := l.ask(http.MethodGet, path, nil, http.StatusOK); got != nil && !bytes.Equal(got, want) {
				l.fail("GET %s has changed: %s", path, got)
			}
		}
		// A page lacks bookings that are deleted while it is read.
		_, body, _ := l.ask(http.MethodGet, "/bookings?per_page=20", nil, http.StatusOK)
		var list struct{ Data []json.RawMessage }
		if err := json.Unmarshal(body, &list); err != nil || len(list.Data) > 20 || len(list.Data) < 20-writers {
			l.fail("GET /bookings: %d bookings, %v", len(list.Data), err)
		}
		l.ask(http.MethodGet, "/availability?service_id=1&agent_id=any&date="+l.anyStart().Day, nil, http.StatusOK)
	}
}

func (l *load) anyStart() start { return l.starts[mathrand.IntN(len(l.starts))] }

// write creates a booking, reads it, moves it and, nine times out of ten, deletes it.
func (l *load) write(ctx context.Context) {
	for ctx.Err() == nil {
		note, at := rand.Text(), l.anyStart()
		status, body, _ := l.ask(http.MethodPost, "/bookings", map[string]any{
			"service_id": 1, "agent_id": "any", "customer_id": 1, "notes": note, "start_date": at.Day, "start_time": at.Time,
		}, http.StatusCreated, http.StatusConflict)
		l.expect(note, 0)
		if status != http.StatusCreated {
			continue
		}
		l.expect(note, 1)
		path := "/bookings/" + idOf(body)
		l.begins(path, at)
		moved := l.anyStart()
		if status, _, _ = l.ask(http.MethodPut, path, moved, http.StatusOK, http.StatusConflict); status == http.StatusOK {
			l.begins(path, moved)
		}
		if mathrand.IntN(10) == 0 {
			continue
		}
		// A DELETE that was interrupted may have succeeded.
		if status, body, sent := l.ask(http.MethodDelete, path+"?force=true", nil, http.StatusOK, http.StatusNotFound); status == http.StatusNotFound && sent == 1 {
			l.fail("DELETE %s: %d %s", path, status, body)
		}
		l.expect(note, 0)
	}
}

// leave sends requests that wait for a lock or are expensive, and disconnects before
// their response.
func (l *load) leave(ctx context.Context) {
	for ctx.Err() == nil {
		patience, cancel := context.WithTimeout(ctx, time.Duration(5+mathrand.IntN(200))*time.Millisecond)
		method, path, body := http.MethodPut, lockedBooking, `{"notes":"`+rand.Text()+`"}`
		if mathrand.IntN(4) == 0 {
			method, path, body = http.MethodGet, "/bookings?per_page=100&search="+rand.Text(), ""
		}
		request, err := http.NewRequestWithContext(patience, method, l.url+path, strings.NewReader(body))
		if err != nil {
			l.fail("%s %s: %v", method, path, err)
			cancel()
			return
		}
		request.Header.Set("X-API-Key", l.key)
		request.Header.Set("Content-Type", "application/json")
		if response, err := l.client.Do(request); err == nil {
			_ = response.Body.Close() // any response will do
		} else if patience.Err() != nil {
			l.mu.Lock()
			l.left++
			l.mu.Unlock()
		}
		cancel()
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *load) expect(note string, bookings int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected[note] = bookings
}

// begins reads a booking and checks when it begins.
func (l *load) begins(path string, want start) {
	_, body, _ := l.ask(http.MethodGet, path, nil, http.StatusOK)
	var answer struct{ Data start }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data != want {
		l.fail("GET %s: begins %v, want %v (%v)", path, answer.Data, want, err)
	}
}

func idOf(body []byte) string {
	var answer struct {
		Data struct{ ID json.RawMessage }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err.Error()
	}
	return strings.Trim(string(answer.Data.ID), `"`)
}

func (l *load) store(folder string) error {
	var bookings strings.Builder
	for note, n := range l.expected {
		fmt.Fprintf(&bookings, "%s\t%d\n", note, n)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "bookings.tsv"), []byte(bookings.String()), 0o600),
		os.WriteFile(filepath.Join(folder, "refused.tsv"), []byte(strings.Join(l.rejected, "\n")+"\n"), 0o600),
	)
}

// summary returns the number of responses by method and status.
func (l *load) summary() string {
	var lines []string
	for what, n := range l.statuses {
		lines = append(lines, fmt.Sprintf("%-10s %8d", what, n))
	}
	slices.Sort(lines)
	lines = append(lines, fmt.Sprintf("%-10s %8d", "left", l.left))
	return strings.Join(lines, "\n")
}
