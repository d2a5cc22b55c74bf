package handlers_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

// count returns the number of rows of a table that match a condition.
func (s *server) count(table, where string) (n int) {
	s.t.Helper()
	s.database.Scan(s.t, "SELECT COUNT(*) FROM wp_"+table+" WHERE "+where, &n)
	return n
}

// wantReplayOf checks that the response is a replay of the first one.
func (a answer) wantReplayOf(t testing.TB, first answer) {
	t.Helper()
	if a.status != first.status || string(a.body) != string(first.body) || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("not replayed: %d, Idempotent-Replayed %q, %s, first %d %s", a.status, a.header.Get("Idempotent-Replayed"), a.body, first.status, first.body)
	}
}

func wantCode(t testing.TB, a answer, status int, code string) {
	t.Helper()
	if a.status != status || a.at("error", "code") != code || a.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%d %s, want %d %s", a.status, a.body, status, code)
	}
}

// TestRepeatedRequestsRunOnce: a repeated request gets the same response and runs once. Requests are the
// same if API key, endpoint (under any base path) and header are.
func TestRepeatedRequestsRunOnce(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	first := s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a").want(http.StatusCreated)
	expect.Equal(t, "", first.header.Get("Idempotent-Replayed"), "Idempotent-Replayed of the first answer")
	before := s.database.Snapshot(t)
	s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a").wantReplayOf(t, first)
	header := http.Header{"X-Api-Key": {s.key}, "Content-Type": {jsonType}, "Idempotency-Key": {"a"}}
	s.send(http.MethodPost, "/wp-json/latepoint-api/v1/bookings/", header, friday()).wantReplayOf(t, first)
	wantCode(t, s.write(http.MethodPost, "/bookings", friday("notes", `"x"`), "Idempotency-Key", "a"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	wantNoWrites(t, "repetitions", before)

	for name, a := range map[string]answer{
		"another name":      s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "A"),
		"none":              s.write(http.MethodPost, "/bookings", friday()),
		"another API key":   s.send(http.MethodPost, "/v1/bookings", http.Header{"X-Api-Key": {s.newKey("write")}, "Content-Type": {jsonType}, "Idempotency-Key": {"a"}}, friday()),
		"a name of two":     s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a a"),
		"255 characters":    s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", strings.Repeat("~", 255)),
		"a quoted name":     s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", `"a"`),
		"after a refusal":   s.write(http.MethodPost, "/bookings", friday("price", "-1"), "Idempotency-Key", "b").afterRefusal(t, s),
		"another site time": s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "c"),
	} {
		if a.status != http.StatusConflict || a.at("error", "code") != "time_slot_unavailable" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	expect.Equal(t, 1, s.count("bookside_idempotency", "1 = 1"), "stored answers")
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday("start_time", `"13:00"`)+`]`, "Idempotency-Key", "a").want(http.StatusCreated)
	s.write(http.MethodPost, "/bookings/bulk", `[`+friday("start_time", `"13:00"`)+`]`, "Idempotency-Key", "a").wantReplayOf(t, bulk)
}

// afterRefusal checks that a request was rejected, and sends a valid one with the same key.
func (a answer) afterRefusal(t testing.TB, s *server) answer {
	t.Helper()
	a.want(http.StatusUnprocessableEntity)
	return s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "b")
}

// TestRejectedRequestsAreNotStored: a rejected request can be corrected and
// sent with the same key.
func TestRejectedRequestsAreNotStored(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	for _, body := range []string{`{}`, `{`, friday("price", "-1"), friday("service_id", "8388607")} {
		if a := s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", "a"); a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	s.write(http.MethodPost, "/bookings/bulk", `[{},{}]`, "Idempotency-Key", "a").want(http.StatusBadRequest)
	wantNoWrites(t, "refusals", before)
	s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a").want(http.StatusCreated)
	s.write(http.MethodPost, "/bookings/bulk", `[{},`+friday("start_time", `"13:00"`)+`]`, "Idempotency-Key", "a").want(http.StatusMultiStatus)
}

func TestIdempotencyKeySyntax(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	for name, headers := range map[string][]string{
		"empty": {"Idempotency-Key", ""}, "256 characters": {"Idempotency-Key", strings.Repeat("a", 256)}, "a control character": {"Idempotency-Key", "a\x01"},
		"a tab": {"Idempotency-Key", "a\tb"}, "letters of others": {"Idempotency-Key", "é"}, "two": {"Idempotency-Key", "a", "Idempotency-Key", "a"},
	} {
		for path, body := range map[string]string{"/bookings": friday(), "/bookings/bulk": `[` + friday() + `]`} {
			badRequest("Idempotency-Key").check(t, name, s.write(http.MethodPost, path, body, headers...))
		}
	}
	wantNoWrites(t, "names", before)
	s.write(http.MethodPut, "/bookings/7", `{}`, "Idempotency-Key", "").want(http.StatusOK)
}

// waitForLock waits until a transaction of this database waits for a row.
func (s *server) waitForLock(t testing.TB) {
	t.Helper()
	for range 100 {
		time.Sleep(200 * time.Millisecond) // queried more often, the table shows nothing new
		waiting, err := s.database.Threads(t.Context(), "db = DATABASE() AND id IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT')")
		expect.NoError(t, err)
		if len(waiting) > 0 {
			return
		}
	}
	t.Fatal("no request waits")
}

// fillLocks inserts the lock rows that a site in use has.
const fillLocks = `INSERT IGNORE INTO wp_bookside_locks (kind, id)
	SELECT k.kind, b.id MOD 1024 FROM wp_latepoint_bookings b,
		(SELECT 1 AS kind UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8) k`

// TestIdempotencyInProgress: while a request runs, a repetition of it is rejected; other requests run.
func TestIdempotencyInProgress(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	site := begin(t, s.database, "UPDATE wp_bookside_locks SET n = n + 1 WHERE kind = 4 AND id = 5")
	first := make(chan answer, 1)
	go func() { first <- s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a") }()
	s.waitForLock(t)
	repeated := s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a")
	wantCode(t, repeated, http.StatusConflict, "idempotency_in_progress")
	expect.Equal(t, "5", repeated.header.Get("Retry-After"), "Retry-After")
	wantCode(t, s.write(http.MethodPost, "/bookings", `{"notes":"x"}`, "Idempotency-Key", "a"), http.StatusConflict, "idempotency_in_progress")
	s.write(http.MethodPost, "/bookings", `{}`, "Idempotency-Key", "b").want(http.StatusBadRequest)
	s.write(http.MethodPost, "/bookings/bulk", `[{}]`, "Idempotency-Key", "a").want(http.StatusBadRequest)
	expect.NoError(t, site.Rollback())
	created := (<-first).want(http.StatusCreated)
	s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a").wantReplayOf(t, created)
}

// TestLockWaitOfAClaim: a request that cannot claim its key because the table is locked gets the same
// response as one without a key: nothing was written, try again.
func TestLockWaitOfAClaim(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	s := tappedServer(t, database, func(shown statement) error {
		if strings.HasPrefix(shown.text, "INSERT INTO `wp_bookside_idempotency`") {
			return &mysql.MySQLError{Number: 1205}
		}
		return nil
	})
	s.get("/status").want(http.StatusOK)
	before := database.Snapshot(t)
	for path, body := range map[string]string{"/bookings": friday(), "/bookings/bulk": "[" + friday() + "]"} {
		a := s.write(http.MethodPost, path, body, "Idempotency-Key", "a").want(http.StatusServiceUnavailable)
		if a.at("data", "written") != false || a.header.Get("Retry-After") != "5" || a.at("code") != "platform_not_available" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	wantNoWrites(t, "without a claim", before)
}

// TestConcurrentRepetitionsRunOnce: of many concurrent repetitions one runs,
// and the others get its response or are asked to wait.
func TestConcurrentRepetitionsRunOnce(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	answers := make([]answer, 40)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i] = s.write(http.MethodPost, "/bookings", friday("agent_id", `"any"`, "location_id", ""), "Idempotency-Key", "a")
		})
	}
	all.Wait()
	done := s.write(http.MethodPost, "/bookings", friday("agent_id", `"any"`, "location_id", ""), "Idempotency-Key", "a").want(http.StatusCreated)
	fresh := 0
	for _, a := range answers {
		switch {
		case a.status == http.StatusCreated && a.header.Get("Idempotent-Replayed") == "":
			fresh++
		case a.status == http.StatusCreated:
			a.wantReplayOf(t, done)
		default:
			wantCode(t, a, http.StatusConflict, "idempotency_in_progress")
		}
	}
	if n := s.count("latepoint_bookings", "start_date = '2027-02-05' AND id > 2000"); fresh != 1 || n != 1 {
		t.Errorf("%d answers, %d bookings", fresh, n)
	}
}

// TestIdempotencyKeysExpire: after a day the same key is a new request, and
// the stored response is deleted.
func TestIdempotencyKeysExpire(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	first := s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a").want(http.StatusCreated)
	s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`), "Idempotency-Key", "b").want(http.StatusCreated)
	s.clock = now.Add(24*time.Hour - time.Second)
	s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a").wantReplayOf(t, first)
	s.clock = now.Add(24 * time.Hour)
	wantCode(t, s.write(http.MethodPost, "/bookings", friday(), "Idempotency-Key", "a"), http.StatusConflict, "time_slot_unavailable")
	expect.Equal(t, 1, s.count("bookside_idempotency", "1 = 1"), "stored answers")
	monday := friday("start_date", `"2027-02-08"`)
	again := s.write(http.MethodPost, "/bookings", monday, "Idempotency-Key", "a").want(http.StatusCreated) // with another body
	s.write(http.MethodPost, "/bookings", monday, "Idempotency-Key", "a").wantReplayOf(t, again)
	old := strings.TrimSuffix(strings.Repeat("('%s', 0, '', 201, '', '2026-11-01 00:00:00'),", 250), ",")
	scopes := make([]any, 250)
	for i := range scopes {
		scopes[i] = fmt.Sprint(i)
	}
	s.database.Execute(t, "INSERT INTO wp_bookside_idempotency (scope, item, body_hash, status, answer, created_at) VALUES "+fmt.Sprintf(old, scopes...))
	sweeper := jobs.NewSweeper(openDatabase(t, s.database, 1, time.Minute), func() time.Time { return s.clock }, slog.New(slog.DiscardHandler))
	if deleted, err := sweeper.Sweep(t.Context()); deleted != 251 || err != nil { // the 250 and b
		t.Errorf("%d answers were deleted, %v", deleted, err)
	}
	s.write(http.MethodPost, "/bookings", monday, "Idempotency-Key", "a").wantReplayOf(t, again)
	expect.Equal(t, 1, s.count("bookside_idempotency", "1 = 1"), "stored answers")
}

// faultyServer is a writer over a connection that can be cut.
func faultyServer(t *testing.T) (*server, *fixtures.FaultProxy) {
	t.Helper()
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	direct := *database
	dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
	direct.DSN = dsn
	s := newServer(t, &direct)
	database.Execute(t, fillLocks)
	s.get("/status").want(http.StatusOK)
	return s, proxy
}

// again repeats a request whose connection was cut until the server has noticed: until then, the first
// attempt counts as in progress.
func (s *server) again(path, body, name string) (a answer) {
	s.t.Helper()
	for range 100 {
		a = s.write(http.MethodPost, path, body, "Idempotency-Key", name)
		if a.status != http.StatusConflict {
			return a
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("still in progress: %s", a.body)
	return a
}

// TestIdempotencyAfterALostCommit: a client that got no response to its booking gets it from the next
// attempt.
func TestIdempotencyAfterALostCommit(t *testing.T) {
	s, proxy := faultyServer(t)
	for name, c := range map[string]struct {
		fault   fixtures.Fault
		created bool
		start   string
	}{
		"before the server has it": {fixtures.Fault{On: "COMMIT", Lost: true}, false, `"10:00"`},
		"before the answer":        {fixtures.Fault{On: "COMMIT"}, true, `"13:00"`},
	} {
		body, at := friday("start_time", c.start), "start_date = '2027-02-05' AND start_time = "+map[string]string{`"10:00"`: "600", `"13:00"`: "780"}[c.start]
		proxy.Arm(c.fault)
		a := s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", name).want(http.StatusServiceUnavailable)
		if a.at("code") != "platform_not_available" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %s", name, a.body)
		}
		expect.Equal(t, map[bool]int{true: 1}[c.created], s.count("latepoint_bookings", at+" AND agent_id = 5"), fmt.Sprintf("%s: bookings after the cut", name))
		again := s.again("/bookings", body, name).want(http.StatusCreated)
		expect.Equal(t, c.created, again.header.Get("Idempotent-Replayed") == "true", fmt.Sprintf("%s: replayed", name))
		s.write(http.MethodPost, "/bookings", body, "Idempotency-Key", name).wantReplayOf(t, again)
		expect.Equal(t, 1, s.count("latepoint_bookings", at+" AND agent_id = 5"), fmt.Sprintf("%s: bookings", name))
	}
}

// fridays returns a bulk request with seven bookings. The third conflicts with
// the first, and the last two are invalid.
func fridays() string {
	return `[` + strings.Join([]string{
		friday(), friday("start_time", `"13:00"`), friday("customer_id", `10`), friday("start_date", `"2027-02-08"`), friday("start_date", `"2027-02-08"`, "start_time", `"13:00"`),
		friday("price", `-1`), `null`,
	}, ",") + `]`
}

// TestRepeatedBulkResumes cuts the connection at each statement that begins or ends a transaction: attempts
// with the same key resume after the last stored response, create each booking once, and respond like a
// single attempt.
func TestRepeatedBulkResumes(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s, proxy := faultyServer(t)
	before := s.database.Snapshot(t)
	for _, on := range []string{"START TRANSACTION", "INSERT INTO `wp_bookside_idempotency`", "COMMIT"} {
		for _, lost := range []bool{true, false} {
			for _, skip := range fixtures.Sample([]int{0, 1, 2, 3, 4}, 2) {
				where := fmt.Sprintf("%s %d, lost %t", on, skip, lost)
				proxy.Arm(fixtures.Fault{On: on, Skip: skip, Lost: lost})
				tries := 1
				a := s.write(http.MethodPost, "/bookings/bulk", fridays(), "Idempotency-Key", "a")
				for ; a.status == http.StatusServiceUnavailable && tries < 4; tries++ {
					a = s.again("/bookings/bulk", fridays(), "a")
				}
				expect.Equal(t, tries == 2, proxy.Disarm() == 0, fmt.Sprintf("%s: it was cut, after %d tries", where, tries))
				a.want(http.StatusMultiStatus)
				expect.Equal(t, "Bulk booking operation completed. 4 successful, 3 failed out of 7 total.", a.at("message"), where)
				for i, want := range []string{"0", "1", "3", "4"} {
					id := a.at("results", "success", i, "booking_id")
					if got := fmt.Sprint(a.at("results", "success", i, "index")); got != want || s.count("latepoint_bookings", fmt.Sprintf("id = %v", id)) != 1 {
						t.Errorf("%s: booking %v is item %s, want %s", where, id, got, want)
					}
				}
				s.write(http.MethodPost, "/bookings/bulk", fridays(), "Idempotency-Key", "a").wantReplayOf(t, a)
				expect.Equal(t, 4, s.count("latepoint_bookings", "id > 2000"), fmt.Sprintf("%s: bookings", where))
				before.Restore(t)
			}
		}
	}
}

// TestConcurrentBulksDoNotDeadlock: bulk requests that create the same
// customers in different orders do not deadlock.
func TestConcurrentBulksDoNotDeadlock(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	var all sync.WaitGroup
	for i, date := range []string{`"2027-02-05"`, `"2027-02-08"`, `"2027-02-09"`, `"2027-02-10"`} {
		bookings := make([]string, 8)
		for j := range bookings {
			customer := j
			if i%2 == 1 {
				customer = len(bookings) - 1 - j
			}
			bookings[j] = friday("start_date", date, "start_time", fmt.Sprintf(`"%02d:00"`, 8+j), "customer_id", "",
				"customer", fmt.Sprintf(`{"first_name":"A","last_name":"B","email":"c%d@example.test"}`, customer))
		}
		all.Go(func() {
			a := s.write(http.MethodPost, "/bookings/bulk", `[`+strings.Join(bookings, ",")+`]`, "Idempotency-Key", date)
			if a.status != http.StatusMultiStatus && a.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", date, a.status, a.body)
			}
		})
	}
	all.Wait()
}

// TestBulkWithoutIdempotencyKeyReportsFailures: a failure in the middle is
// reported along with the created bookings, because the request cannot be
// repeated.
func TestBulkWithoutIdempotencyKeyReportsFailures(t *testing.T) {
	s, proxy := faultyServer(t)
	proxy.Arm(fixtures.Fault{On: "INSERT INTO `wp_latepoint_bookings`", Skip: 1, Lost: true})
	a := s.write(http.MethodPost, "/bookings/bulk", fridays()).want(http.StatusMultiStatus)
	if got := a.at("results", "errors", 0, "error"); got != "The booking platform is not available" || fmt.Sprint(a.at("results", "errors", 0, "index")) != "1" {
		t.Errorf("%s", a.body)
	}
	if n := s.count("latepoint_bookings", "id > 2000"); fmt.Sprint(a.at("results", "summary", "successful")) != fmt.Sprint(n) || n != 3 {
		t.Errorf("%d bookings: %s", n, a.at("message"))
	}
	wantContains(t, `"request failed"`, s.log.String(), "the log")
	proxy.Arm(fixtures.Fault{On: "START TRANSACTION", Lost: true})
	s.write(http.MethodPost, "/bookings/bulk", `[`+friday("start_date", `"2027-02-09"`)+`]`).want(http.StatusServiceUnavailable)
}

// TestFailureOfOneBulkBooking: an internal failure is the error of its booking, wherever it is in the list,
// and if a request created nothing, its claim is free at once.
func TestFailureOfOneBulkBooking(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	fails := func(start int) {
		s.database.Execute(t, "DROP TRIGGER IF EXISTS fails", fmt.Sprintf("CREATE TRIGGER fails BEFORE INSERT ON wp_bookside_change_inbox FOR EACH ROW "+
			"IF NEW.resource = 'bookings' AND (SELECT start_time FROM wp_latepoint_bookings WHERE id = NEW.resource_id) = %d THEN SIGNAL SQLSTATE '45000'; END IF", start))
	}
	bad, good := friday("start_time", `"13:00"`), friday("start_time", `"14:00"`)
	fails(780)
	for i, header := range [][]string{nil, {"Idempotency-Key", "several"}} {
		date := fmt.Sprintf("2027-02-%02d", 12+7*i)
		a := s.write(http.MethodPost, "/bookings/bulk", strings.ReplaceAll("["+bad+","+good+"]", "2027-02-05", date), header...).want(http.StatusMultiStatus)
		if a.at("results", "errors", 0, "error") != "Internal error" || a.at("results", "errors", 0, "request_id") != a.header.Get("X-Request-ID") || fmt.Sprint(a.at("results", "success", 0, "index")) != "1" {
			t.Errorf("%v: %s", header, a.body)
		}
	}
	s.write(http.MethodPost, "/bookings/bulk", "["+bad+"]").want(http.StatusInternalServerError)
	a := s.write(http.MethodPost, "/bookings/bulk", "[{},"+bad+"]", "Idempotency-Key", "none").want(http.StatusBadRequest)
	expect.Equal(t, "Internal error", a.at("results", "errors", 1, "error"), a.body)
	s.database.Execute(t, "DROP TRIGGER fails")
	s.again("/bookings/bulk", "[{},"+bad+"]", "none").want(http.StatusMultiStatus)
}

// TestWithoutIdempotencyKey: without the header nothing is looked up or
// stored.
func TestWithoutIdempotencyKey(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	plain := s.log.last(t).Queries
	s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`), "Idempotency-Key", "a").want(http.StatusCreated)
	if more := s.log.last(t).Queries - plain; more != 3 { // look up, claim, store
		t.Errorf("the header costs %d queries", more)
	}
	expect.Equal(t, 1, s.count("bookside_idempotency", "1 = 1"), "stored answers")
	s.database.Execute(t, "DROP TABLE wp_bookside_idempotency")
	s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-08"`)).want(http.StatusCreated)
	before := s.database.Snapshot(t)
	s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-09"`), "Idempotency-Key", "b").want(http.StatusServiceUnavailable)
	wantNoWrites(t, "without the table", before)
}

// TestReplayedHeaderIsExposed: pages of other origins can read the header.
func TestReplayedHeaderIsExposed(t *testing.T) {
	s := smallServer(t, func(o *handlers.Options) { o.AllowedOrigins = []string{"https://app.example"} })
	a := s.do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {s.key}, "Origin": {"https://app.example"}})
	wantContains(t, "Idempotent-Replayed", a.header.Get("Access-Control-Expose-Headers"), "Access-Control-Expose-Headers")
}
