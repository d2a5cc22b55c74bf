package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

const (
	// faultLimit is the time limit of a request, and beyondLimit how much longer a response may take.
	faultLimit  = 3 * time.Second
	beyondLimit = time.Second
	// recovery is how long after a fault everything must be served again.
	recovery = 5 * time.Second
	// shutdownLimit is the time limit for running requests while the program ends.
	shutdownLimit = 4 * time.Second
	// drainDelay is how long the program accepts requests before that.
	drainDelay = time.Second
	// faultsAtOnce is how many programs have a fault at the same time; they wait for most of it.
	faultsAtOnce = 12
)

// faults are what can happen between the program and a dependency.
var faults = map[string]func(*fixtures.FaultProxy){
	"no answer":         func(p *fixtures.FaultProxy) { p.Set(fixtures.Weather{Silent: true}) },
	"one byte a second": func(p *fixtures.FaultProxy) { p.Set(fixtures.Weather{Rate: 1}) },
	"refused":           refuse,
}

// When requests are sent.
const beforeFault, duringFault, whileEnding = "before the fault", "during the fault", "while the program ends"

func refuse(p *fixtures.FaultProxy) {
	p.Set(fixtures.Weather{Refuses: true})
	p.CloseAll()
}

// dependencies are what the program depends on. A function puts the proxy in between.
var dependencies = map[string]struct {
	before   func(*faultySite) // runs before the program starts
	after    func(*faultySite) // runs after it has started
	statuses []int             // of requests during a fault, in addition to successful ones
	patience time.Duration     // additional time for each response and the recovery
	direct   bool              // requests that WordPress does not forward are pointless
	// again reports whether background work happens again; nil if there is none.
	again func(*faultySite) bool
}{
	"database": {
		before: func(s *faultySite) {
			dsn, proxy := fixtures.NewFaultProxy(s.t, s.db.DSN)
			// A lost connection keeps its place for as long as a statement may run.
			s.proxy, s.env = proxy, append(s.env, "BOOKSIDE_DB__DSN="+dsn, "BOOKSIDE_DB__MAX_OPEN=4", "LIMIT_AcquireTimeout=1s", "LIMIT_StatementTimeout=2s")
		},
		statuses: []int{http.StatusServiceUnavailable},
	},
	"Redis": {
		before: func(s *faultySite) {
			address, proxy := fixtures.NewProxyTo(s.t, "unix", strings.TrimPrefix(fixtures.NewRedis(s.t).URL(), "unix://"))
			s.proxy, s.env = proxy, append(s.env, "BOOKSIDE_RATE_LIMIT__REDIS=redis://"+address+"?read_timeout=1s")
		},
		again: func(s *faultySite) bool {
			s.get(s.t.Context(), s.api+"/services/1")
			log := s.program.stderr.String()
			return strings.Count(log, "Redis counts requests again") == strings.Count(log, "Redis does not count requests")
		},
	},
	"webhook": {
		before: func(s *faultySite) {
			var mu sync.Mutex
			var ids []string
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					mu.Lock()
					defer mu.Unlock()
					ids = append(ids, r.Header.Get("Webhook-Id"))
				}
			}))
			s.t.Cleanup(receiver.Close)
			address, proxy := fixtures.NewProxyTo(s.t, "tcp", strings.TrimPrefix(receiver.URL, "http://"))
			s.proxy, s.receiver, s.env = proxy, "http://"+address, append(s.env, "BOOKSIDE_WEBHOOKS__ALLOW_PRIVATE=true")
			s.arrived = func() []string {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(ids)
			}
		},
		after: func(s *faultySite) {
			newWebhook(s.t, s.program.url, s.key, `{"url":"`+s.receiver+`","events":["booking.created"]}`)
		},
		again: func(s *faultySite) bool { return s.distinct() > 0 },
	},
	"PHP": {
		after: func(s *faultySite) {
			address, proxy := fixtures.NewProxyTo(s.t, "tcp", strings.TrimPrefix(s.program.url, "http://"))
			s.proxy, s.through, s.api = proxy, "http://"+address, s.wordpress.URL+"/index.php/wp-json/latepoint-api/v1"
		},
		statuses: []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		// WordPress gives the server a second more than it takes, and after a timeout it waits for five, in
		// whole seconds.
		patience: 3 * time.Second,
		direct:   true,
	},
}

// faultyKinds are the requests of each kind that are sent at the same time.
var faultyKinds = map[string]struct {
	times  int
	direct bool // it cannot be sent through WordPress
	send   func(context.Context, *faultySite) reply
}{
	"livez": {1, false, func(ctx context.Context, s *faultySite) reply {
		return s.get(ctx, "http://"+s.program.admin()+"/livez")
	}},
	"readyz": {1, false, func(ctx context.Context, s *faultySite) reply {
		return s.get(ctx, "http://"+s.program.admin()+"/readyz?verbose")
	}},
	"index": {1, false, func(ctx context.Context, s *faultySite) reply { return s.get(ctx, s.api) }},
	"console": {1, false, func(ctx context.Context, s *faultySite) reply {
		return s.get(ctx, "http://"+s.program.admin()+"/console/webhooks")
	}},
	"list": {1, false, func(ctx context.Context, s *faultySite) reply { return s.get(ctx, s.api+"/customers?per_page=5") }},
	"shared": {4, false, func(ctx context.Context, s *faultySite) reply {
		return s.get(ctx, s.api+"/bookings?per_page=5&status=approved")
	}},
	"record": {1, false, func(ctx context.Context, s *faultySite) reply { return s.get(ctx, s.api+"/services/1") }},
	"write": {1, false, func(ctx context.Context, s *faultySite) reply {
		return s.send(ctx, http.MethodPost, s.api+"/bookings", s.booking(0), "Idempotency-Key", "one")
	}},
	"bulk": {1, false, func(ctx context.Context, s *faultySite) reply {
		return s.send(ctx, http.MethodPost, s.api+"/bookings/bulk", "["+s.booking(1)+","+s.booking(2)+","+s.booking(3)+"]", "Idempotency-Key", "many")
	}},
	"tool": {1, true, func(ctx context.Context, s *faultySite) reply {
		return s.send(ctx, http.MethodPost, s.program.url+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"business_hours","arguments":{}}}`, "Accept", "application/json, text/event-stream")
	}},
	"export": {1, true, func(ctx context.Context, s *faultySite) reply {
		return s.send(ctx, http.MethodGet, s.api+"/bookings", "", "Accept", "text/csv")
	}},
}

const faultyBookings = 1 + 3 + 1 // created by the write and the bulk request, and by another write after the fault

// faultySite is a program with a fault between it and a dependency.
type faultySite struct {
	t         *testing.T
	db        *fixtures.Database
	env       []string
	clock     *movedClock
	program   *testServer
	proxy     *fixtures.FaultProxy
	client    *http.Client
	api, key  string
	starts    []string
	arrived   func() []string // the ids of received webhooks, including repetitions; nil if there are none
	wordpress *fixtures.WordPressWorkers
	receiver  string // the address of the webhook
	through   string // the address to which WordPress forwards
}

// movedClock runs from the sample site's date at normal speed, and can be moved ahead.
type movedClock struct {
	began time.Time
	ahead atomic.Int64
}

func (c *movedClock) now() time.Time {
	return now.Add(time.Since(c.began) + time.Duration(c.ahead.Load()))
}

// reply is a response to a request, or the reason why there is none.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
	took   time.Duration
}

func (s *faultySite) get(ctx context.Context, address string) reply {
	return s.send(ctx, http.MethodGet, address, "")
}

// send sends a request. Headers are pairs of name and value.
func (s *faultySite) send(ctx context.Context, method, address, body string, headers ...string) (r reply) {
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	request.Header.Set("X-Api-Key", s.key)
	request.Header.Set("X-Forward-To", s.through)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return reply{err: err}
	}
	text, err := io.ReadAll(response.Body)
	return reply{status: response.StatusCode, header: response.Header, body: string(text), err: errors.Join(err, response.Body.Close())}
}

// booking returns the body of a booking at the n-th of some free starts.
func (s *faultySite) booking(n int) string {
	return `{"service_id":1,"agent_id":"any","customer_id":1,"send_confirmation":true,` + s.starts[n] + `}`
}

// newFaultySite starts a program.
func newFaultySite(t *testing.T, dependency string, wordpress *fixtures.WordPressWorkers) *faultySite {
	t.Helper()
	s := &faultySite{t: t, db: small(t), clock: &movedClock{began: time.Now()}, wordpress: wordpress}
	s.env = settingsFor(s.db, "BOOKSIDE_SERVER__REQUEST_TIMEOUT="+faultLimit.String(), "LIMIT_ShutdownTimeout="+shutdownLimit.String(), "LIMIT_DrainDelay="+drainDelay.String(),
		"LIMIT_ChangesInterval=1s", "BOOKSIDE_RATE_LIMIT__LIVE_PER_MINUTE=100000", "BOOKSIDE_RATE_LIMIT__LIVE_PER_HOUR=100000")
	s.key = newKey(t, s.env, "--permissions", "read,write,read_changes,write_webhooks")
	token := run(t, s.env, "", "admin-token", "--quiet").want(t, exit.OK).stdout
	s.addBookings()
	d := dependencies[dependency]
	if d.before != nil {
		d.before(s)
	}
	s.env = lastWins(s.env)
	s.program = serveAt(t, s.env, s.clock.now)
	s.api = s.program.url + "/v1"
	client, status := logIn(t, s.program.admin(), strings.TrimSpace(token))
	if status != http.StatusOK {
		t.Fatalf("the console: status %d", status)
	}
	transport := &http.Transport{DialContext: dialSlowReader}
	t.Cleanup(transport.CloseIdleConnections)
	client.Transport, client.CheckRedirect = transport, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = client
	s.findStarts()
	if d.after != nil {
		d.after(s)
	}
	return s
}

// dialSlowReader opens a connection whose server soon notices that nobody reads.
func dialSlowReader(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if socket, ok := conn.(*net.TCPConn); ok {
		err = errors.Join(err, socket.SetReadBuffer(32<<10))
	}
	return conn, err
}

// findStarts finds a free start on each of some days.
func (s *faultySite) findStarts() {
	s.t.Helper()
	first := now.AddDate(0, 0, 2)
	r := s.get(s.t.Context(), s.api+"/availability?service_id=1&agent_id=any&date="+first.Format(time.DateOnly)+"&date_to="+first.AddDate(0, 0, 30).Format(time.DateOnly))
	var answer struct {
		Data struct{ Days map[string][]string }
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		s.t.Fatalf("%v: %+v", err, r)
	}
	for _, day := range slices.Sorted(maps.Keys(answer.Data.Days)) {
		if starts := answer.Data.Days[day]; len(starts) > 0 {
			s.starts = append(s.starts, fmt.Sprintf(`"start_date":%q,"start_time":%q`, day, starts[0]))
		}
	}
}

// addBookings makes an export take several parts, by copying the bookings to years ago.
func (s *faultySite) addBookings() {
	s.t.Helper()
	bookings := s.db.Prefix + "latepoint_bookings"
	s.db.Execute(s.t, "CREATE TABLE earlier SELECT * FROM "+bookings)
	for range 5 {
		s.db.Execute(s.t, "UPDATE earlier SET id = id + 10000, start_date = start_date - INTERVAL 2 YEAR, end_date = start_date")
		s.db.Execute(s.t, "INSERT INTO "+bookings+" SELECT * FROM earlier")
	}
	s.db.Execute(s.t, "DROP TABLE earlier")
	// The rows that writes lock exist after a while.
	s.db.Execute(s.t, "INSERT IGNORE INTO "+s.db.Prefix+"bookside_locks (kind, id) SELECT k.kind, b.id MOD 1024 FROM "+bookings+
		" b, (SELECT 1 AS kind UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8) k")
}

// distinct returns how many webhooks have arrived, each counted once.
func (s *faultySite) distinct() int {
	if s.arrived == nil {
		return 0
	}
	ids := s.arrived()
	slices.Sort(ids)
	return len(slices.Compact(ids))
}

// createdRows returns the number of rows in the tables that get one row per new booking.
func (s *faultySite) createdRows() map[string]int {
	s.t.Helper()
	rows := map[string]int{}
	for _, table := range []string{"bookings", "orders", "order_items", "order_invoices"} {
		var n int
		s.db.Scan(s.t, "SELECT COUNT(*) FROM "+s.db.Prefix+"latepoint_"+table, &n)
		rows[table] = n
	}
	return rows
}

// underWay are requests that began before the fault.
type underWay struct {
	*faultySite
	requests sync.WaitGroup // requests that end by themselves
	stream   sync.WaitGroup
	end      context.CancelFunc
	read     chan struct{} // closed when reading the export may continue
	export   reply
	waited   reply

	mu     sync.Mutex
	events map[string]int // of new bookings, by their ids in the stream
}

// begin returns once the requests are in progress.
func (s *faultySite) begin() *underWay {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	u := &underWay{faultySite: s, end: cancel, read: make(chan struct{}), events: map[string]int{}}
	u.requests.Go(func() { u.waited = s.get(ctx, s.program.url+"/v1/changes?wait=60") })
	exporting, streaming := make(chan struct{}), make(chan struct{})
	u.requests.Go(func() { u.download(ctx, exporting) })
	u.stream.Go(func() { u.listen(ctx, streaming) })
	for name, begun := range map[string]chan struct{}{"export": exporting, "stream": streaming} {
		select {
		case <-begun:
		case <-time.After(10 * time.Second):
			close(u.read)
			cancel()
			s.t.Fatalf("the %s does not begin: %s", name, s.program.stderr)
		}
	}
	return u
}

// open sends a GET and returns its response, whose body is read by the caller.
func (s *faultySite) open(ctx context.Context, path string, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.program.url+"/v1"+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", s.key)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.client.Do(request)
}

// download exports all bookings, and reads most of them after the fault has begun.
func (u *underWay) download(ctx context.Context, begun chan<- struct{}) {
	response, err := u.open(ctx, "/bookings?per_page=100000", "Accept", "text/csv")
	close(begun)
	if err != nil {
		u.export.err = err
		return
	}
	<-u.read
	began := time.Now()
	text, err := io.ReadAll(response.Body)
	u.export = reply{response.StatusCode, response.Header, string(text), errors.Join(err, response.Body.Close()), time.Since(began)}
}

// listen follows the changes, and reconnects when the stream ends.
func (u *underWay) listen(ctx context.Context, begun chan<- struct{}) {
	began := sync.OnceFunc(func() { close(begun) })
	last := ""
	for ctx.Err() == nil {
		response, err := u.open(ctx, "/changes", "Accept", "text/event-stream", "Last-Event-Id", last)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				last = value
			case "data":
				if strings.Contains(value, `"resource":"bookings"`) && strings.Contains(value, `"kind":"created"`) {
					u.mu.Lock()
					u.events[last]++
					u.mu.Unlock()
				}
			case "":
				began()
			}
		}
		_ = response.Body.Close() // whatever ended it
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// heard returns how many events of new bookings the stream brought.
func (u *underWay) heard() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.events)
}

// TestAnswersInTime: whatever a dependency does, every request is answered in time, nothing is written
// twice or in part, everything is served again soon after, and the program ends when told to.
func TestAnswersInTime(t *testing.T) {
	fixtures.RequireTime(t)
	w := fixtures.NewWordPress(t, small(t))
	installCompanion(t, w)
	// WordPress forwards to the program that a request names.
	writeBelow(t, w.Content, map[string]string{"mu-plugins/a.php": `<?php define('BOOKSIDE_FORWARDED_AT_ONCE', 64);
		add_filter('pre_option_bookside_companion', fn() => ['forward' => $_SERVER['HTTP_X_FORWARD_TO'] ?? '']);`})
	table := &faultTable{wordpress: w.ServeByWorkers(t, 64), worst: map[string]time.Duration{}}
	var running sync.WaitGroup
	places := make(chan struct{}, faultsAtOnce)
	for i, dependency := range []string{"database", "PHP", "Redis", "webhook"} { // longest first
		all := slices.Sorted(maps.Keys(faults))
		if i > 0 { // of these, each fault in turn with another half
			all = fixtures.Sample(slices.Concat(all[i%2:], all[:i%2]), 2)
		}
		for _, fault := range all {
			places <- struct{}{}
			running.Go(func() {
				defer func() { <-places }()
				t.Run(dependency+", "+fault, func(t *testing.T) { table.testFault(t, dependency, fault) })
			})
		}
	}
	running.Wait()
	t.Logf("the slowest answers during a fault: %v", table.worst)
	expect.Equal(t, "", w.Faults(t))
}

// faultTable is what all rows of the table share.
type faultTable struct {
	wordpress *fixtures.WordPressWorkers
	starting  sync.Mutex // so that a starting program takes no time from one with a fault

	mu    sync.Mutex
	worst map[string]time.Duration // slowest response during faults, by dependency
}

// site starts a program.
func (f *faultTable) site(t *testing.T, dependency string) *faultySite {
	t.Helper()
	f.starting.Lock()
	defer f.starting.Unlock()
	return newFaultySite(t, dependency, f.wordpress)
}

// note records how long a response took.
func (f *faultTable) note(dependency string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.worst[dependency] = max(f.worst[dependency], took)
}

// testFault tests a row of the table: a fault of a dependency, with requests of all kinds.
func (f *faultTable) testFault(t *testing.T, dependency, fault string) {
	s := f.site(t, dependency)
	d := dependencies[dependency]
	limit := faultLimit + beyondLimit + d.patience
	fails := func(r reply) bool {
		return r.err != nil || r.status >= http.StatusMultipleChoices && !slices.Contains(d.statuses, r.status)
	}
	// sendAll sends requests of all kinds at once, and checks that they are answered in time.
	sendAll := func(when string) {
		var requests sync.WaitGroup
		for name, k := range faultyKinds {
			if k.direct && d.direct || when == beforeFault && (name == "write" || name == "bulk") {
				continue
			}
			for range k.times {
				requests.Go(func() {
					r := k.send(t.Context(), s)
					bad := fails(r)
					switch {
					case when == beforeFault:
						bad = r.status != http.StatusOK
					case name == "readyz" && when == whileEnding:
						bad = r.status != http.StatusServiceUnavailable && r.status != http.StatusOK
					case when == duringFault:
						f.note(dependency, r.took)
					}
					if bad || r.took > limit {
						t.Errorf("%s, %s: %d %v after %v: %.300s", when, name, r.status, r.err, r.took, r.body)
					}
				})
			}
		}
		requests.Wait()
	}
	before := s.createdRows()
	u := s.begin()
	readOn := sync.OnceFunc(func() { close(u.read) })
	defer u.stream.Wait()
	defer u.requests.Wait()
	defer u.end()
	defer readOn()
	sendAll(beforeFault)

	faults[fault](s.proxy)
	readOn()
	sendAll(duringFault)
	s.proxy.Set(fixtures.Weather{})

	// Everything is served again, and repeated requests took effect once.
	ended := time.Now()
	for name, k := range faultyKinds {
		if k.direct && d.direct {
			continue
		}
		r := k.send(t.Context(), s)
		for r.err != nil || r.status >= http.StatusInternalServerError || r.status == http.StatusConflict {
			if time.Since(ended) > recovery+d.patience {
				t.Fatalf("%s, %v after the fault: %d %v: %.300s", name, time.Since(ended), r.status, r.err, r.body)
			}
			time.Sleep(50 * time.Millisecond)
			r = k.send(t.Context(), s)
		}
		if r.status >= http.StatusBadRequest {
			t.Errorf("%s, after the fault: %d %.300s", name, r.status, r.body)
		}
	}
	if r := s.send(t.Context(), http.MethodPost, s.api+"/bookings", s.booking(4), "Idempotency-Key", "another"); r.status != http.StatusCreated {
		t.Errorf("another booking: %d %v: %.300s", r.status, r.err, r.body)
	}
	for d.again != nil && !d.again(s) {
		if time.Since(ended) > recovery+beyondLimit {
			t.Fatalf("%v after the fault, nothing happens again: %s", time.Since(ended), s.program.stderr)
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.program.eventually("events of all new bookings", func() bool { return u.heard() >= faultyBookings })
	u.requests.Wait()
	u.end()
	u.stream.Wait()
	if fails(u.waited) {
		t.Errorf("wait=60: %d %v: %.300s", u.waited.status, u.waited.err, u.waited.body)
	}
	// An export that breaks off does not look complete.
	if rows := strings.Count(u.export.body, "\n") - 1; u.export.took > limit || u.export.err == nil && u.export.status == http.StatusOK && rows < before["bookings"] || u.export.err != nil && dependency != "database" {
		t.Errorf("the export: %d %v after %v, %d of %d rows", u.export.status, u.export.err, u.export.took, rows, before["bookings"])
	}
	for id, times := range u.events {
		expect.Equal(t, 1, times, "event ", id)
	}

	// The program ends in time, whatever still waits.
	faults[fault](s.proxy)
	var requests sync.WaitGroup
	requests.Go(func() { sendAll(whileEnding) })
	told := time.Now()
	err := s.program.stop()
	if took := time.Since(told); err != nil || took > drainDelay+shutdownLimit+beyondLimit {
		t.Errorf("the program ended after %v with %v", took, err)
	}
	requests.Wait()
	s.proxy.Set(fixtures.Weather{})

	for table, want := range before {
		if n := s.createdRows()[table]; n != want+faultyBookings {
			t.Errorf("%d rows more in %s, want %d", n-want, table, faultyBookings)
		}
	}
	if s.arrived == nil {
		return
	}
	// Everything promised arrives, at the latest from the next program.
	s.clock.ahead.Add(int64(20 * time.Minute)) // more than the time until a fourth try
	s.program = serveAt(t, s.env, s.clock.now)
	s.program.eventually("whatever is to be sent", func() bool { return s.distinct() >= faultyBookings })
	if n := s.distinct(); n != faultyBookings {
		t.Errorf("%d different webhooks have arrived, want %d: %v", n, faultyBookings, s.arrived())
	}
}

// TestCommandsEndInTime: a command beside a hanging database waits for one statement, not for every one,
// and says what is wrong, whether the database hung before or starts to.
func TestCommandsEndInTime(t *testing.T) {
	t.Parallel()
	const statementTimeout = time.Second
	db := small(t)
	run(t, settingsFor(db), "", "migrate").want(t, exit.OK)
	for name, c := range map[string]struct {
		on   string // the statement that hangs first; "" for all
		args []string
	}{
		"check":              {"", []string{"check"}},
		"check, later":       {"latepoint_db_version", []string{"check"}},
		"check, in a fact":   {"innodb_flush_log_at_trx_commit", []string{"check"}},
		"keys create, later": {"INSERT INTO `wp_bookside_api_keys`", []string{"keys", "create", "--name", "x", "--permissions", "read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, proxy := fixtures.NewFaultProxy(t, db.DSN)
			if c.on == "" {
				proxy.Set(fixtures.Weather{Silent: true})
			} else {
				proxy.Arm(fixtures.Fault{On: c.on, Silent: true})
				go func() {
					for t.Context().Err() == nil && proxy.Pending() > 0 {
						time.Sleep(time.Millisecond)
					}
					proxy.Set(fixtures.Weather{Silent: true})
				}()
			}
			env := lastWins(settingsFor(db, "BOOKSIDE_DB__DSN="+dsn, "LIMIT_StatementTimeout="+statementTimeout.String()))
			begun := time.Now()
			got := run(t, env, "", c.args...)
			took := time.Since(begun)
			expect.Equal(t, exit.Unreachable, got.code, "exit code")
			expect.Texts(t, got.stderr, "it accepts connections, but does not answer")
			// One statement, the network's five seconds, and the wait for an abandoned connection.
			if limit := statementTimeout + 5*time.Second + 5*time.Second; took > limit {
				t.Errorf("it took %v, and %v are allowed", took, limit)
			}
			t.Logf("%v: %s", took.Round(100*time.Millisecond), strings.TrimSpace(got.stderr))
		})
	}
}
