// Command load runs the clients of the endurance run. They read, book, move and delete without a pause,
// retry requests that get a 503, and check every response. Other clients disconnect before they get a
// response.
//
//	KEY=lp_live_… load -url http://127.0.0.1:8080 -duration 10m -folder /tmp/x
//
// It writes two files into the folder: bookings.tsv says for each booking's note how many bookings must
// exist in the end (0 or 1); refused.tsv has the time in seconds, the method and the path of each 503.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bookside/bookside/docker/load"
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
	c := &clients{Client: load.NewClient(*url+"/v1", os.Getenv("KEY"), 64), constants: map[string][]byte{}, expected: map[string]int{}}
	if err := c.learn(context.Background()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), *duration)
	defer cancel()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() { c.read(ctx) })
		all.Go(func() { c.write(ctx) })
	}
	for range leavers {
		all.Go(func() { c.leave(ctx) })
	}
	all.Wait()
	if err := c.store(*folder); err != nil {
		return err
	}
	fmt.Println(&c.Tally)
	return c.Err()
}

// The numbers of clients.
const (
	writers = 6 // the same number of clients read
	leavers = 20
)

// lockedBooking is the booking whose row docker/endurance/run keeps locked most of
// the time.
const lockedBooking = "/bookings/1"

// clients is shared by all clients.
type clients struct {
	load.Tally // by method and status
	*load.Client
	constants map[string][]byte // responses that must not change, by path
	starts    []load.Start      // offered at the beginning

	mu       sync.Mutex
	expected map[string]int // bookings by note
	rejected []string
}

// learn reads the responses and the starts that the clients use later.
func (c *clients) learn(ctx context.Context) (err error) {
	for _, path := range []string{"/agents", "/services", "/services/categories", "/locations", "/coupons", "/services/1", "/agents/1", "/customers/2"} {
		a, err := c.Send(ctx, load.Get(path))
		if err != nil || a.Status != http.StatusOK {
			return fmt.Errorf("GET %s: %s: %w", path, a, err)
		}
		c.constants[path] = a.Body
	}
	c.starts, err = c.FreeStarts(ctx, load.Availability(1, "any", 2, 62))
	if err == nil && len(c.starts) == 0 {
		err = errors.New("no start is offered in the next two months")
	}
	return err
}

// ask sends a request until the answer is not a 503, and returns how often it was sent. It records a status
// not in want as a problem, and returns a zero answer for a request without one.
func (c *clients) ask(r load.Request, want ...int) (a load.Answer, sent int) {
	if r.Method == http.MethodPost {
		r.IdempotencyKey = rand.Text()
	}
	// Not the load's context: a request that was sent must be awaited.
	a, sent, err := c.Ask(context.Background(), r, func() {
		c.Count(r.Method + " 503")
		c.mu.Lock()
		defer c.mu.Unlock()
		c.rejected = append(c.rejected, fmt.Sprintf("%.3f\t%s", float64(time.Now().UnixMilli())/1000, r))
	})
	if err != nil {
		c.Problem("%s: %v", r, err)
		return load.Answer{}, sent
	}
	c.Count(fmt.Sprint(r.Method, " ", a.Status))
	if !slices.Contains(want, a.Status) {
		c.Problem("%s: %s", r, a)
	}
	return a, sent
}

func (c *clients) read(ctx context.Context) {
	for ctx.Err() == nil {
		for path, want := range c.constants {
			if got, _ := c.ask(load.Get(path), http.StatusOK); got.Status != 0 && !bytes.Equal(got.Body, want) {
				c.Problem("GET %s has changed: %s", path, got.Body)
			}
		}
		// A page may lack bookings that are deleted while it is read.
		var list []json.RawMessage
		page, _ := c.ask(load.Get("/bookings?per_page=20"), http.StatusOK)
		if err := page.Data(&list); err != nil || len(list) > 20 || len(list) < 20-writers {
			c.Problem("GET /bookings: %d bookings, %v", len(list), err)
		}
		c.ask(load.Get("/availability?service_id=1&agent_id=any&date="+c.anyStart().Day), http.StatusOK)
	}
}

func (c *clients) anyStart() load.Start { return c.starts[mathrand.IntN(len(c.starts))] }

// write creates a booking, reads it, moves it and, nine times out of ten, deletes it.
func (c *clients) write(ctx context.Context) {
	for ctx.Err() == nil {
		note, at := rand.Text(), c.anyStart()
		created, _ := c.ask(load.Post("/bookings", map[string]any{
			"service_id": 1, "agent_id": "any", "customer_id": 1, "notes": note, "start_date": at.Day, "start_time": at.Time,
		}), http.StatusCreated, http.StatusConflict)
		c.expect(note, 0)
		if created.Status != http.StatusCreated {
			continue
		}
		c.expect(note, 1)
		id, err := created.ID()
		if err != nil {
			c.Problem("POST /bookings: %v", err)
			continue
		}
		path := fmt.Sprint("/bookings/", id)
		c.begins(path, at)
		to := c.anyStart()
		if moved, _ := c.ask(load.Put(path, to), http.StatusOK, http.StatusConflict); moved.Status == http.StatusOK {
			c.begins(path, to)
		}
		if mathrand.IntN(10) == 0 {
			continue
		}
		// A DELETE that was interrupted may have succeeded.
		if deleted, sent := c.ask(load.Delete(path+"?force=true"), http.StatusOK, http.StatusNotFound); deleted.Status == http.StatusNotFound && sent == 1 {
			c.Problem("DELETE %s: %s", path, deleted)
		}
		c.expect(note, 0)
	}
}

// leave sends requests that wait for a lock or are expensive, and disconnects before their response.
func (c *clients) leave(ctx context.Context) {
	for ctx.Err() == nil {
		patience, cancel := context.WithTimeout(ctx, time.Duration(5+mathrand.IntN(200))*time.Millisecond)
		r := load.Put(lockedBooking, map[string]string{"notes": rand.Text()})
		if mathrand.IntN(4) == 0 {
			r = load.Get("/bookings?per_page=100&search=" + rand.Text())
		}
		// Any response will do.
		if _, err := c.Send(patience, r); err != nil && patience.Err() != nil {
			c.Count("left")
		}
		cancel()
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *clients) expect(note string, bookings int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected[note] = bookings
}

// begins reads a booking and checks its start.
func (c *clients) begins(path string, want load.Start) {
	var got load.Start
	a, _ := c.ask(load.Get(path), http.StatusOK)
	if err := a.Data(&got); err != nil || got != want {
		c.Problem("GET %s: begins %v, want %v (%v)", path, got, want, err)
	}
}

func (c *clients) store(folder string) error {
	var bookings strings.Builder
	for note, n := range c.expected {
		fmt.Fprintf(&bookings, "%s\t%d\n", note, n)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "bookings.tsv"), []byte(bookings.String()), 0o600),
		os.WriteFile(filepath.Join(folder, "refused.tsv"), []byte(strings.Join(c.rejected, "\n")+"\n"), 0o600),
	)
}
