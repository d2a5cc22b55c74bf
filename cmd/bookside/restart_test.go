package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// supervisor starts and stops the program like systemd with the units in docker/: it keeps the port open
// all the time and is notified when the program is ready.
type supervisor struct {
	t     *testing.T
	env   []string
	port  *os.File
	word  net.PacketConn
	child *exec.Cmd
	log   *fixtures.Buffer
}

func newSupervisor(t *testing.T, env []string) (s *supervisor, address string) {
	t.Helper()
	// A listening socket in Go accepts nothing until Accept is called.
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	port, err := listener.(*net.TCPListener).File()
	if err = errors.Join(err, listener.Close()); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "notify")
	word, err := new(net.ListenConfig).ListenPacket(t.Context(), "unixgram", socket)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = word.Close(); _ = port.Close() })
	env = append(slices.Clone(env), beProgram, "LISTEN_FDS=1", "NOTIFY_SOCKET="+socket)
	return &supervisor{t: t, env: env, port: port, word: word, log: &fixtures.Buffer{}}, listener.Addr().String()
}

// start returns when the program has notified that it is ready.
func (s *supervisor) start() {
	s.t.Helper()
	s.child = withSocket(s.t, s.env, s.port)
	s.child.Stderr = s.log
	expect.NoError(s.t, s.child.Start())
	s.hear("READY=1")
}

// stop returns when the program has exited.
func (s *supervisor) stop() {
	s.t.Helper()
	expect.NoError(s.t, s.child.Process.Signal(syscall.SIGTERM))
	s.hear("STOPPING=1")
	if err := s.child.Wait(); err != nil {
		s.t.Fatalf("the program ended with %v\n%s", err, s.log)
	}
}

func (s *supervisor) hear(want string) {
	s.t.Helper()
	expect.NoError(s.t, s.word.SetReadDeadline(time.Now().Add(time.Minute)))
	word := make([]byte, 100)
	n, _, err := s.word.ReadFrom(word)
	if err != nil || string(word[:n]) != want {
		s.t.Fatalf("the program said %q, %v, want %q\n%s", word[:n], err, want, s.log)
	}
}

// TestRestartBehindProxy: clients behind a proxy do not notice a restart. None of their requests fails,
// each confirmed booking exists once, and a hold survives.
//
// The proxy may send a request over an idle connection that is being closed, which no server can prevent,
// and then answers 502. Clients repeat such a request; it must not be needed often.
func TestRestartBehindProxy(t *testing.T) {
	db := fixtures.New(t, fixtures.Small(time.Now())) // the program uses the real clock
	env := lastWins(append(settingsFor(db, "LIMIT_DrainDelay=200ms"), unlimited...))
	before := countBookings(t, db)
	program, address := newSupervisor(t, env)
	l := &load{t: t, proxy: startNginx(t, address, "/nowhere", ""), key: newKey(t, env, "--permissions", "read,write")}
	program.start()
	l.findStarts()
	held := l.hold()

	var over atomic.Bool
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for !over.Load() && l.failed.Load() == 0 {
				l.ask(http.MethodGet, "/bookings?per_page=5", "", http.StatusOK)
				l.book()
			}
		})
	}
	for range 3 {
		program.stop()
		program.start()
		served := l.served.Load()
		(&testServer{t: t, stderr: program.log}).eventually("requests after the restart", func() bool {
			return l.served.Load() > served+20 || l.failed.Load() > 0
		})
	}
	over.Store(true)
	clients.Wait()
	l.bookHeld(held)
	program.stop()
	if created := countBookings(t, db) - before; created != l.booked.Load() || created == 0 {
		t.Errorf("%d bookings were made, %d were answered with 201", created, l.booked.Load())
	}
	if l.repeated.Load() > 10 {
		t.Errorf("%d requests of %d had to be repeated", l.repeated.Load(), l.served.Load())
	}
	t.Logf("%d requests, %d repeated, %d bookings", l.served.Load(), l.repeated.Load(), l.booked.Load())
}

func countBookings(t *testing.T, db *fixtures.Database) (n int64) {
	t.Helper()
	db.Scan(t, "SELECT COUNT(*) FROM "+db.Prefix+"latepoint_bookings", &n)
	return n
}

// load is the clients of a proxy.
type load struct {
	t                                *testing.T
	proxy                            *proxy
	key                              string
	starts                           []string // JSON members of a booking that set its start
	requests, served, booked, failed atomic.Int64
	repeated                         atomic.Int64
}

// ask sends a request and expects one of the statuses.
func (l *load) ask(method, path, body string, want ...int) (status int, answer []byte) {
	idempotencyKey := rand.Text()
	status, answer, err := l.send(method, path, body, idempotencyKey)
	if err == nil && status == http.StatusBadGateway {
		l.repeated.Add(1)
		status, answer, err = l.send(method, path, body, idempotencyKey)
	}
	l.served.Add(1)
	if err != nil || !slices.Contains(want, status) {
		l.failed.Add(1)
		l.t.Errorf("%s %s: %d %s %v\n%s", method, path, status, answer, err, l.proxy.stderr)
	}
	return status, answer
}

func (l *load) send(method, path, body, idempotencyKey string) (status int, answer []byte, err error) {
	request, err := l.proxy.request(l.t.Context(), method, "/wp-json/latepoint-api/v1"+path, body)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("X-API-Key", l.key)
	if method == http.MethodPost {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := l.proxy.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}

// findStarts reads all starts offered in two months.
func (l *load) findStarts() {
	l.t.Helper()
	first := time.Now().AddDate(0, 0, 2)
	_, body := l.ask(http.MethodGet, "/availability?service_id=1&agent_id=any&date="+first.Format(time.DateOnly)+
		"&date_to="+first.AddDate(0, 0, 60).Format(time.DateOnly), "", http.StatusOK)
	var answer struct {
		Data struct{ Days map[string][]string }
	}
	expect.NoError(l.t, json.Unmarshal(body, &answer))
	for day, starts := range answer.Data.Days {
		for _, start := range starts {
			l.starts = append(l.starts, fmt.Sprintf(`"start_date":%q,"start_time":%q`, day, start))
		}
	}
	if len(l.starts) == 0 {
		l.t.Fatalf("nothing is offered: %s", body)
	}
}

// book books the next start, which may meanwhile overlap with another booking.
func (l *load) book() {
	start := l.starts[int(l.requests.Add(1))%len(l.starts)]
	status, _ := l.ask(http.MethodPost, "/bookings", `{"service_id":1,"agent_id":"any","customer_id":1,`+start+`}`,
		http.StatusCreated, http.StatusConflict)
	if status == http.StatusCreated {
		l.booked.Add(1)
	}
}

// hold holds a start and returns the id of the hold.
func (l *load) hold() (id int64) {
	l.t.Helper()
	_, body := l.ask(http.MethodPost, "/holds", `{"service_id":1,"agent_id":"any","hold_minutes":30,`+l.starts[0]+`}`, http.StatusCreated)
	var answer struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal(body, &answer); err != nil {
		l.t.Fatalf("%v: %s", err, body)
	}
	return answer.Data.ID
}

// bookHeld turns a hold into a booking.
func (l *load) bookHeld(id int64) {
	l.t.Helper()
	if status, _ := l.ask(http.MethodPost, "/bookings", fmt.Sprintf(`{"hold_id":%d,"customer_id":1}`, id), http.StatusCreated); status == http.StatusCreated {
		l.booked.Add(1)
	}
}
