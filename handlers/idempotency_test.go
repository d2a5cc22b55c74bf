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
	"github.com/bookside/bookside/handlers/apitest"
)

// TestRepeatedRequestsRunOnce: a repeated request gets the same response and runs once. Requests are the
// same if API key, endpoint (under any base path) and header are.
func TestRepeatedRequestsRunOnce(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	first := s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a").Want(http.StatusCreated)
	expect.Equal(t, "", first.Header.Get("Idempotent-Replayed"), "Idempotent-Replayed of the first answer")
	before := s.Database.Snapshot(t)
	s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a").WantReplayOf(t, first)
	header := http.Header{"X-Api-Key": {s.Key}, "Content-Type": {apitest.JSONType}, "Idempotency-Key": {"a"}}
	s.Send(http.MethodPost, "/wp-json/latepoint-api/v1/bookings/", header, apitest.Friday()).WantReplayOf(t, first)
	apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", apitest.Friday("notes", `"x"`), "Idempotency-Key", "a"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	apitest.WantNoWrites(t, "repetitions", before)

	for name, a := range map[string]apitest.Answer{
		"another name":      s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "A"),
		"none":              s.Write(http.MethodPost, "/bookings", apitest.Friday()),
		"another API key":   s.Send(http.MethodPost, "/v1/bookings", http.Header{"X-Api-Key": {s.NewKey("write")}, "Content-Type": {apitest.JSONType}, "Idempotency-Key": {"a"}}, apitest.Friday()),
		"a name of two":     s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a a"),
		"255 characters":    s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", strings.Repeat("~", 255)),
		"a quoted name":     s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", `"a"`),
		"after a refusal":   afterRefusal(t, s.Write(http.MethodPost, "/bookings", apitest.Friday("price", "-1"), "Idempotency-Key", "b"), s),
		"another site time": s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "c"),
	} {
		if a.Status != http.StatusConflict || a.At("error", "code") != "time_slot_unavailable" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	expect.Equal(t, 1, s.Count("bookside_idempotency", "1 = 1"), "stored answers")
	bulk := s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday("start_time", `"13:00"`)+`]`, "Idempotency-Key", "a").Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday("start_time", `"13:00"`)+`]`, "Idempotency-Key", "a").WantReplayOf(t, bulk)
}

// afterRefusal checks that a request was rejected, and sends a valid one with the same key.
func afterRefusal(t testing.TB, a apitest.Answer, s *apitest.Server) apitest.Answer {
	t.Helper()
	a.Want(http.StatusUnprocessableEntity)
	return s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "b")
}

// TestRejectedRequestsAreNotStored: a rejected request can be corrected and
// sent with the same key.
func TestRejectedRequestsAreNotStored(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	for _, body := range []string{`{}`, `{`, apitest.Friday("price", "-1"), apitest.Friday("service_id", "8388607")} {
		if a := s.Write(http.MethodPost, "/bookings", body, "Idempotency-Key", "a"); a.Status != http.StatusBadRequest && a.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	s.Write(http.MethodPost, "/bookings/bulk", `[{},{}]`, "Idempotency-Key", "a").Want(http.StatusBadRequest)
	apitest.WantNoWrites(t, "refusals", before)
	s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a").Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings/bulk", `[{},`+apitest.Friday("start_time", `"13:00"`)+`]`, "Idempotency-Key", "a").Want(http.StatusMultiStatus)
}

func TestIdempotencyKeySyntax(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	for name, headers := range map[string][]string{
		"empty": {"Idempotency-Key", ""}, "256 characters": {"Idempotency-Key", strings.Repeat("a", 256)}, "a control character": {"Idempotency-Key", "a\x01"},
		"a tab": {"Idempotency-Key", "a\tb"}, "letters of others": {"Idempotency-Key", "é"}, "two": {"Idempotency-Key", "a", "Idempotency-Key", "a"},
	} {
		for path, body := range map[string]string{"/bookings": apitest.Friday(), "/bookings/bulk": `[` + apitest.Friday() + `]`} {
			apitest.BadRequest("Idempotency-Key").Check(t, name, s.Write(http.MethodPost, path, body, headers...))
		}
	}
	apitest.WantNoWrites(t, "names", before)
	s.Write(http.MethodPut, "/bookings/7", `{}`, "Idempotency-Key", "").Want(http.StatusOK)
}

// TestIdempotencyInProgress: while a request runs, a repetition of it is rejected; other requests run.
func TestIdempotencyInProgress(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	site := apitest.Begin(t, s.Database, "UPDATE wp_bookside_locks SET n = n + 1 WHERE kind = 4 AND id = 5")
	first := make(chan apitest.Answer, 1)
	go func() { first <- s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a") }()
	s.WaitForLock(t)
	repeated := s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a")
	apitest.WantCode(t, repeated, http.StatusConflict, "idempotency_in_progress")
	expect.Equal(t, "5", repeated.Header.Get("Retry-After"), "Retry-After")
	apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", `{"notes":"x"}`, "Idempotency-Key", "a"), http.StatusConflict, "idempotency_in_progress")
	s.Write(http.MethodPost, "/bookings", `{}`, "Idempotency-Key", "b").Want(http.StatusBadRequest)
	s.Write(http.MethodPost, "/bookings/bulk", `[{}]`, "Idempotency-Key", "a").Want(http.StatusBadRequest)
	expect.NoError(t, site.Rollback())
	created := (<-first).Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a").WantReplayOf(t, created)
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
	s.Get("/status").Want(http.StatusOK)
	before := database.Snapshot(t)
	for path, body := range map[string]string{"/bookings": apitest.Friday(), "/bookings/bulk": "[" + apitest.Friday() + "]"} {
		a := s.Write(http.MethodPost, path, body, "Idempotency-Key", "a").Want(http.StatusServiceUnavailable)
		if a.At("data", "written") != false || a.Header.Get("Retry-After") != "5" || a.At("code") != "platform_not_available" {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	apitest.WantNoWrites(t, "without a claim", before)
}

// TestConcurrentRepetitionsRunOnce: of many concurrent repetitions one runs,
// and the others get its response or are asked to wait.
func TestConcurrentRepetitionsRunOnce(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	answers := make([]apitest.Answer, 40)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i] = s.Write(http.MethodPost, "/bookings", apitest.Friday("agent_id", `"any"`, "location_id", ""), "Idempotency-Key", "a")
		})
	}
	all.Wait()
	done := s.Write(http.MethodPost, "/bookings", apitest.Friday("agent_id", `"any"`, "location_id", ""), "Idempotency-Key", "a").Want(http.StatusCreated)
	fresh := 0
	for _, a := range answers {
		switch {
		case a.Status == http.StatusCreated && a.Header.Get("Idempotent-Replayed") == "":
			fresh++
		case a.Status == http.StatusCreated:
			a.WantReplayOf(t, done)
		default:
			apitest.WantCode(t, a, http.StatusConflict, "idempotency_in_progress")
		}
	}
	if n := s.Count("latepoint_bookings", "start_date = '2027-02-05' AND id > 2000"); fresh != 1 || n != 1 {
		t.Errorf("%d answers, %d bookings", fresh, n)
	}
}

// TestIdempotencyKeysExpire: after a day the same key is a new request, and
// the stored response is deleted.
func TestIdempotencyKeysExpire(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	first := s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a").Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`), "Idempotency-Key", "b").Want(http.StatusCreated)
	s.Clock = apitest.Now.Add(24*time.Hour - time.Second)
	s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a").WantReplayOf(t, first)
	s.Clock = apitest.Now.Add(24 * time.Hour)
	apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", apitest.Friday(), "Idempotency-Key", "a"), http.StatusConflict, "time_slot_unavailable")
	expect.Equal(t, 1, s.Count("bookside_idempotency", "1 = 1"), "stored answers")
	monday := apitest.Friday("start_date", `"2027-02-08"`)
	again := s.Write(http.MethodPost, "/bookings", monday, "Idempotency-Key", "a").Want(http.StatusCreated) // with another body
	s.Write(http.MethodPost, "/bookings", monday, "Idempotency-Key", "a").WantReplayOf(t, again)
	old := strings.TrimSuffix(strings.Repeat("('%s', 0, '', 201, '', '2026-11-01 00:00:00'),", 250), ",")
	scopes := make([]any, 250)
	for i := range scopes {
		scopes[i] = fmt.Sprint(i)
	}
	s.Database.Execute(t, "INSERT INTO wp_bookside_idempotency (scope, item, body_hash, status, answer, created_at) VALUES "+fmt.Sprintf(old, scopes...))
	sweeper := jobs.NewSweeper(apitest.OpenDatabase(t, s.Database, 1, time.Minute), func() time.Time { return s.Clock }, slog.New(slog.DiscardHandler))
	if deleted, err := sweeper.Sweep(t.Context()); deleted != 251 || err != nil { // the 250 and b
		t.Errorf("%d answers were deleted, %v", deleted, err)
	}
	s.Write(http.MethodPost, "/bookings", monday, "Idempotency-Key", "a").WantReplayOf(t, again)
	expect.Equal(t, 1, s.Count("bookside_idempotency", "1 = 1"), "stored answers")
}

// faultyServer is a writer over a connection that can be cut.
func faultyServer(t *testing.T) (*apitest.Server, *fixtures.FaultProxy) {
	t.Helper()
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	direct := *database
	dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
	direct.DSN = dsn
	s := apitest.NewServer(t, &direct)
	database.Execute(t, apitest.FillLocks)
	s.Get("/status").Want(http.StatusOK)
	return s, proxy
}

// again repeats a request whose connection was cut until the server has noticed: until then, the first
// attempt counts as in progress.
func again(s *apitest.Server, path, body, name string) (a apitest.Answer) {
	s.T.Helper()
	for range 100 {
		a = s.Write(http.MethodPost, path, body, "Idempotency-Key", name)
		if a.Status != http.StatusConflict {
			return a
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.T.Fatalf("still in progress: %s", a.Body)
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
		body, at := apitest.Friday("start_time", c.start), "start_date = '2027-02-05' AND start_time = "+map[string]string{`"10:00"`: "600", `"13:00"`: "780"}[c.start]
		proxy.Arm(c.fault)
		a := s.Write(http.MethodPost, "/bookings", body, "Idempotency-Key", name).Want(http.StatusServiceUnavailable)
		if a.At("code") != "platform_not_available" || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s", name, a.Body)
		}
		expect.Equal(t, map[bool]int{true: 1}[c.created], s.Count("latepoint_bookings", at+" AND agent_id = 5"), fmt.Sprintf("%s: bookings after the cut", name))
		again := again(s, "/bookings", body, name).Want(http.StatusCreated)
		expect.Equal(t, c.created, again.Header.Get("Idempotent-Replayed") == "true", fmt.Sprintf("%s: replayed", name))
		s.Write(http.MethodPost, "/bookings", body, "Idempotency-Key", name).WantReplayOf(t, again)
		expect.Equal(t, 1, s.Count("latepoint_bookings", at+" AND agent_id = 5"), fmt.Sprintf("%s: bookings", name))
	}
}

// fridays returns a bulk request with seven bookings. The third conflicts with
// the first, and the last two are invalid.
func fridays() string {
	return `[` + strings.Join([]string{
		apitest.Friday(), apitest.Friday("start_time", `"13:00"`), apitest.Friday("customer_id", `10`), apitest.Friday("start_date", `"2027-02-08"`), apitest.Friday("start_date", `"2027-02-08"`, "start_time", `"13:00"`),
		apitest.Friday("price", `-1`), `null`,
	}, ",") + `]`
}

// TestRepeatedBulkResumes cuts the connection at each statement that begins or ends a transaction: attempts
// with the same key resume after the last stored response, create each booking once, and respond like a
// single attempt.
func TestRepeatedBulkResumes(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s, proxy := faultyServer(t)
	before := s.Database.Snapshot(t)
	for _, on := range []string{"START TRANSACTION", "INSERT INTO `wp_bookside_idempotency`", "COMMIT"} {
		for _, lost := range []bool{true, false} {
			for _, skip := range fixtures.Sample([]int{0, 1, 2, 3, 4}, 2) {
				where := fmt.Sprintf("%s %d, lost %t", on, skip, lost)
				proxy.Arm(fixtures.Fault{On: on, Skip: skip, Lost: lost})
				tries := 1
				a := s.Write(http.MethodPost, "/bookings/bulk", fridays(), "Idempotency-Key", "a")
				for ; a.Status == http.StatusServiceUnavailable && tries < 4; tries++ {
					a = again(s, "/bookings/bulk", fridays(), "a")
				}
				expect.Equal(t, tries == 2, proxy.Disarm() == 0, fmt.Sprintf("%s: it was cut, after %d tries", where, tries))
				a.Want(http.StatusMultiStatus)
				expect.Equal(t, "Bulk booking operation completed. 4 successful, 3 failed out of 7 total.", a.At("message"), where)
				for i, want := range []string{"0", "1", "3", "4"} {
					id := a.At("results", "success", i, "booking_id")
					if got := fmt.Sprint(a.At("results", "success", i, "index")); got != want || s.Count("latepoint_bookings", fmt.Sprintf("id = %v", id)) != 1 {
						t.Errorf("%s: booking %v is item %s, want %s", where, id, got, want)
					}
				}
				s.Write(http.MethodPost, "/bookings/bulk", fridays(), "Idempotency-Key", "a").WantReplayOf(t, a)
				expect.Equal(t, 4, s.Count("latepoint_bookings", "id > 2000"), fmt.Sprintf("%s: bookings", where))
				before.Restore(t)
			}
		}
	}
}

// TestConcurrentBulksDoNotDeadlock: bulk requests that create the same
// customers in different orders do not deadlock.
func TestConcurrentBulksDoNotDeadlock(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	var all sync.WaitGroup
	for i, date := range []string{`"2027-02-05"`, `"2027-02-08"`, `"2027-02-09"`, `"2027-02-10"`} {
		bookings := make([]string, 8)
		for j := range bookings {
			customer := j
			if i%2 == 1 {
				customer = len(bookings) - 1 - j
			}
			bookings[j] = apitest.Friday("start_date", date, "start_time", fmt.Sprintf(`"%02d:00"`, 8+j), "customer_id", "",
				"customer", fmt.Sprintf(`{"first_name":"A","last_name":"B","email":"c%d@example.test"}`, customer))
		}
		all.Go(func() {
			a := s.Write(http.MethodPost, "/bookings/bulk", `[`+strings.Join(bookings, ",")+`]`, "Idempotency-Key", date)
			if a.Status != http.StatusMultiStatus && a.Status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", date, a.Status, a.Body)
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
	a := s.Write(http.MethodPost, "/bookings/bulk", fridays()).Want(http.StatusMultiStatus)
	if got := a.At("results", "errors", 0, "error"); got != "The booking platform is not available" || fmt.Sprint(a.At("results", "errors", 0, "index")) != "1" {
		t.Errorf("%s", a.Body)
	}
	if n := s.Count("latepoint_bookings", "id > 2000"); fmt.Sprint(a.At("results", "summary", "successful")) != fmt.Sprint(n) || n != 3 {
		t.Errorf("%d bookings: %s", n, a.At("message"))
	}
	apitest.WantContains(t, `"request failed"`, s.Log.String(), "the log")
	proxy.Arm(fixtures.Fault{On: "START TRANSACTION", Lost: true})
	s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday("start_date", `"2027-02-09"`)+`]`).Want(http.StatusServiceUnavailable)
}

// TestFailureOfOneBulkBooking: an internal failure is the error of its booking, wherever it is in the list,
// and if a request created nothing, its claim is free at once.
func TestFailureOfOneBulkBooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	fails := func(start int) {
		s.Database.Execute(t, "DROP TRIGGER IF EXISTS fails", fmt.Sprintf("CREATE TRIGGER fails BEFORE INSERT ON wp_bookside_change_inbox FOR EACH ROW "+
			"IF NEW.resource = 'bookings' AND (SELECT start_time FROM wp_latepoint_bookings WHERE id = NEW.resource_id) = %d THEN SIGNAL SQLSTATE '45000'; END IF", start))
	}
	bad, good := apitest.Friday("start_time", `"13:00"`), apitest.Friday("start_time", `"14:00"`)
	fails(780)
	for i, header := range [][]string{nil, {"Idempotency-Key", "several"}} {
		date := fmt.Sprintf("2027-02-%02d", 12+7*i)
		a := s.Write(http.MethodPost, "/bookings/bulk", strings.ReplaceAll("["+bad+","+good+"]", "2027-02-05", date), header...).Want(http.StatusMultiStatus)
		if a.At("results", "errors", 0, "error") != "Internal error" || a.At("results", "errors", 0, "request_id") != a.Header.Get("X-Request-ID") || fmt.Sprint(a.At("results", "success", 0, "index")) != "1" {
			t.Errorf("%v: %s", header, a.Body)
		}
	}
	s.Write(http.MethodPost, "/bookings/bulk", "["+bad+"]").Want(http.StatusInternalServerError)
	a := s.Write(http.MethodPost, "/bookings/bulk", "[{},"+bad+"]", "Idempotency-Key", "none").Want(http.StatusBadRequest)
	expect.Equal(t, "Internal error", a.At("results", "errors", 1, "error"), a.Body)
	s.Database.Execute(t, "DROP TRIGGER fails")
	again(s, "/bookings/bulk", "[{},"+bad+"]", "none").Want(http.StatusMultiStatus)
}

// TestWithoutIdempotencyKey: without the header nothing is looked up or
// stored.
func TestWithoutIdempotencyKey(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	plain := s.Log.Last(t).Queries
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`), "Idempotency-Key", "a").Want(http.StatusCreated)
	if more := s.Log.Last(t).Queries - plain; more != 3 { // look up, claim, store
		t.Errorf("the header costs %d queries", more)
	}
	expect.Equal(t, 1, s.Count("bookside_idempotency", "1 = 1"), "stored answers")
	s.Database.Execute(t, "DROP TABLE wp_bookside_idempotency")
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-08"`)).Want(http.StatusCreated)
	before := s.Database.Snapshot(t)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-09"`), "Idempotency-Key", "b").Want(http.StatusServiceUnavailable)
	apitest.WantNoWrites(t, "without the table", before)
}

// TestReplayedHeaderIsExposed: pages of other origins can read the header.
func TestReplayedHeaderIsExposed(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.AllowedOrigins = []string{"https://app.example"} })
	a := s.Do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {s.Key}, "Origin": {"https://app.example"}})
	apitest.WantContains(t, "Idempotent-Replayed", a.Header.Get("Access-Control-Expose-Headers"), "Access-Control-Expose-Headers")
}
