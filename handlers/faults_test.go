package handlers_test

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/wpdb"
)

// mockKey is the key that a faulty database contains.
const mockKey = "lp_0123456789abcdef"

// newFaultyServer serves a database that fails with err; if admits is set, only after the key was accepted.
func newFaultyServer(t *testing.T, admits bool, err error) *server {
	t.Helper()
	db, mock := wpdbtest.Mock(t)
	if admits {
		sum := sha256.Sum256([]byte(mockKey))
		rows := sqlmock.NewRows(strings.Fields("id key_hash name kind key_start last_four permissions networks status created_at last_used_at expires_at " +
			"requests_per_minute requests_per_hour agents services locations mask_personal details " + strings.Join(domain.OptionNames, " ")))
		rows.AddRow(1, hex.EncodeToString(sum[:]), "key", "live", "lp_0", "cdef", "read", "", "active",
			"2026-01-01 00:00:00", now.Format(time.DateTime), nil, nil, nil, "", "", "", 0, "",
			`a:1:{i:0;s:23:"latepoint/latepoint.php";}`, "2.3.1", nil, nil, nil, nil, nil, nil)
		mock.ExpectQuery("bookside_api_keys").WillReturnRows(rows)
	}
	mock.ExpectQuery("SELECT").WillReturnError(err)
	if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, wpdb.ErrSilent) {
		mock.ExpectQuery("SELECT").WillReturnError(err) // a read is retried once
	}
	if admits && outdatesSchema(err) {
		mock.ExpectQuery("SELECT").WillReturnError(err) // the schema is read again
	}
	s := &server{t: t, log: &logBuffer{}, keys: keys.NewStore(db, fixedClock, strings.NewReader("")), key: mockKey}
	s.handler = handlers.New(session.NewPlatform(db, fixedClock), s.keys, fixedClock, slog.New(slog.NewJSONHandler(s.log, nil)),
		handlers.Options{BasePaths: []string{"/v1"}, RequestTimeout: time.Minute})
	return s
}

// TestDatabaseFaults compares the status for every database error, without details in the response or the
// log.
func TestDatabaseFaults(t *testing.T) {
	t.Parallel()
	const secret = "customer@example.test"
	server := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: "near '" + secret + "'"} }
	const later, ours = http.StatusServiceUnavailable, http.StatusInternalServerError
	cases := map[string]struct {
		kind   error // the error that the case covers
		err    error
		status int
	}{
		"too many connections":  {wpdb.ErrUnavailable, server(1040), later},
		"connections of a user": {wpdb.ErrUnavailable, server(1226), later},
		"node not primary":      {wpdb.ErrUnavailable, server(1047), later},
		"proxy's own":           {wpdb.ErrUnavailable, server(9001), later},
		"no connection free":    {wpdb.ErrBusy, wpdb.ErrBusy, later},
		"no answer":             {wpdb.ErrSilent, wpdb.ErrSilent, later},
		"access denied":         {wpdb.ErrAccessDenied, server(1045), later},
		"no database":           {wpdb.ErrNoDatabase, server(1049), later},
		"deadlock":              {wpdb.ErrConflict, server(1213), later},
		"lock wait":             {wpdb.ErrConflict, server(1205), later},
		"group's rollback":      {wpdb.ErrConflict, server(3101), later},
		"read-only":             {wpdb.ErrReadOnly, server(1290), later},
		"statement too long":    {wpdb.ErrTimeout, server(1969), later},
		"link lost":             {wpdb.ErrLinkLost, mysql.ErrInvalidConn, later},
		"outcome unknown":       {wpdb.ErrOutcomeUnknown, wpdb.ErrOutcomeUnknown, later},
		"deadline":              {nil, context.DeadlineExceeded, later},
		"duplicate":             {wpdb.ErrDuplicate, server(1062), ours},
		"value does not fit":    {wpdb.ErrBadValue, server(1366), ours},
		"breaks a rule":         {wpdb.ErrRefused, server(4025), ours},
		"row unreadable":        {wpdb.ErrUnreadable, wpdb.ErrUnreadable, ours},
		"syntax":                {nil, server(1064), ours},
		"unknown number":        {nil, server(9999), ours},
		"bad value":             {nil, driver.ErrSkip, ours},
	}
	source, err := os.ReadFile("../wpdb/errors.go")
	expect.NoError(t, err)
	for _, text := range regexp.MustCompile(`(?m)^\tErr\w+ += errors\.New\("(.+)"\)`).FindAllSubmatch(source, -1) {
		// Schema changes and too large responses have their own tests. No request adds or drops an index.
		known := slices.Contains([]string{
			wpdb.ErrSchema.Error(), wpdb.ErrTooManyRows.Error(), wpdb.ErrTooMuch.Error(),
		}, string(text[1]))
		for _, c := range cases {
			known = known || c.kind != nil && c.kind.Error() == string(text[1])
		}
		if !known {
			t.Errorf("no case for %q", text[1])
		}
	}
	for name, c := range cases {
		for _, admits := range []bool{false, true} {
			for path, ours := range map[string]string{
				"/v1/bookings":    `{"code":"server_error","message":"Internal server error","data":{"status":500,"request_id":"REQUEST"}}`,
				"/v1/customers/1": `{"code":"server_error","message":"Internal server error","data":{"status":500,"request_id":"REQUEST"}}`,
				"/v1/payments":    `{"success":false,"error":"Failed to retrieve payments","data":{"status":500,"request_id":"REQUEST"}}`,
			} {
				s := newFaultyServer(t, admits, c.err)
				a := s.do(http.MethodGet, path, http.Header{"X-Api-Key": {s.key}})
				want, level := ours, slog.LevelError
				if c.status == http.StatusServiceUnavailable {
					level = slog.LevelWarn
					want = `{"code":"platform_not_available","message":"The booking platform is not available","data":{"status":503}}`
					if a.header.Get("Retry-After") == "" {
						t.Errorf("%s, %s: no Retry-After", name, path)
					}
				}
				if got := strings.ReplaceAll(string(a.body), a.header.Get("X-Request-Id"), "REQUEST"); a.status != c.status || got != want {
					t.Errorf("%s, admits %v, %s: %d %s", name, admits, path, a.status, got)
				}
				if strings.Contains(s.log.String(), secret) {
					t.Errorf("%s: the log quotes the database", name)
				}
				wantContains(t, a.header.Get("X-Request-Id"), s.log.String(), "%s: the log", name)
				wantContains(t, fmt.Sprintf(`"level":%q,"msg":"request failed"`, level), s.log.String(), "%s, status %d: the log", name, c.status)
			}
		}
	}
}

// outdatesSchema reports whether an error means that the tables may have changed.
func outdatesSchema(err error) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server) && (server.Number == 1366 || server.Number == 4025)
}

// TestFailedWritesReportTheirOutcome: a write with status 503 reports that nothing was written, or that
// something may have been.
func TestFailedWritesReportTheirOutcome(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	bulk := "[" + friday() + "," + friday("start_time", `"14:00"`) + "]"
	for name, c := range map[string]struct{ method, path, body string }{
		"create":  {http.MethodPost, "/bookings", friday()},
		"bulk":    {http.MethodPost, "/bookings/bulk", bulk},
		"move":    {http.MethodPut, "/bookings/7", `{"notes":"other","customer":{"phone":"+49 30 1000"}}`},
		"delete":  {http.MethodDelete, "/bookings/7?force=true", ""},
		"payment": {http.MethodPost, "/payments", `{"booking_id":7,"amount":5}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fails := error(nil)
			database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			s := tappedServer(t, database, func(shown statement) error {
				if !strings.HasPrefix(shown.text, "SELECT") && strings.Contains(shown.text, "_latepoint_") {
					return fails
				}
				return nil
			})
			s.get("/status").want(http.StatusOK)
			before := database.Snapshot(t)
			for _, number := range []uint16{1205, 1213, 3101, 1047, 9001} {
				fails = &mysql.MySQLError{Number: number}
				a := s.write(c.method, c.path, c.body).want(http.StatusServiceUnavailable)
				if a.at("data", "written") != false || a.header.Get("Retry-After") == "" || a.at("code") != "platform_not_available" {
					t.Errorf("%d: %s", number, a.body)
				}
			}
			if changes := fixtures.Changes(before, before.Again(t)); len(changes) > 0 {
				t.Errorf("written: %s", tally(changes))
			}
		})
		t.Run(name+", cut at COMMIT", func(t *testing.T) {
			s, proxy := faultyServer(t)
			before := s.database.Snapshot(t)
			for _, lost := range []bool{true, false} {
				proxy.Arm(fixtures.Fault{On: "\x03COMMIT", Lost: lost})
				a := s.write(c.method, c.path, c.body)
				if name == "bulk" { // the outcome of one booking says nothing about the others; the second time, the other slot is taken
					status := http.StatusBadRequest
					if lost {
						status = http.StatusMultiStatus
					}
					expect.Equal(t, "unknown", a.want(status).at("results", "errors", 0, "written"), a.body)
					continue
				}
				if a.want(http.StatusServiceUnavailable).at("data", "written") != "unknown" || a.header.Get("Retry-After") == "" || a.at("code") != "platform_not_available" {
					t.Errorf("%s", a.body)
				}
			}
			s.waitForCommits()
			if changes := fixtures.Changes(before, before.Again(t)); len(changes) == 0 {
				t.Error("the second try wrote nothing")
			}
		})
	}
}

// waitForCommits waits until the database no longer runs a transaction of a
// connection that was cut.
func (s *server) waitForCommits() {
	s.t.Helper()
	for {
		running, err := s.database.Threads(s.t.Context(), "db = DATABASE() AND info = 'COMMIT'")
		expect.NoError(s.t, err)
		if len(running) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestBulkReportsTheOutcomeOfEachBooking: earlier bookings remain, and each failed one reports whether it
// can be sent again.
func TestBulkReportsTheOutcomeOfEachBooking(t *testing.T) {
	t.Parallel()
	body := "[" + friday() + "," + friday("start_time", `"14:00"`) + "]"
	inserts := 0
	s := tappedServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), func(shown statement) error {
		if strings.HasPrefix(shown.text, "INSERT INTO `wp_latepoint_bookings` ") {
			if inserts++; inserts > 1 {
				return &mysql.MySQLError{Number: 1213}
			}
		}
		return nil
	})
	a := s.write(http.MethodPost, "/bookings/bulk", body).want(http.StatusMultiStatus)
	if a.at("results", "errors", 0, "written") != false || a.header.Get("Retry-After") == "" {
		t.Errorf("%s", a.body)
	}
	inserts = 0
	body = strings.ReplaceAll(body, "2027-02-05", "2027-02-12")
	a = s.write(http.MethodPost, "/bookings/bulk", body, "Idempotency-Key", "a").want(http.StatusServiceUnavailable)
	expect.Equal(t, "unknown", a.at("data", "written"), a.body)
	inserts = -10
	s.write(http.MethodPost, "/bookings/bulk", body, "Idempotency-Key", "a").want(http.StatusCreated)
}

// TestCancelledWritesAreCompleteOrAbsent cancels a request at each of its
// statements: either everything was written, or nothing.
func TestCancelledWritesAreCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	created := friday("customer_id", "", "customer", newCustomer)
	for name, c := range map[string]struct{ method, path, body, once string }{
		"create":                          {http.MethodPost, "/bookings", created, ""},
		"create under an Idempotency-Key": {http.MethodPost, "/bookings", created, "once"},
		"move": {http.MethodPut, "/bookings/7", `{"start_date":"2027-02-05","start_time":"10:00","agent_id":5,"service_id":4,"location_id":1,
			"price":12,"notes":"moved","customer":{"phone":"+49 30 1000"}}`, ""},
		"delete": {http.MethodDelete, "/bookings/7?force=true", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := -1 // statements until the client disconnects
			goes := func() {}
			s := tappedServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), func(statement) error {
				if left--; left == -1 {
					goes()
				}
				return nil
			})
			s.get("/status").want(http.StatusOK)
			before := s.database.Snapshot(t)
			var done []string // what was written, by the statement at which the client disconnected
			for stayed := false; !stayed; {
				ctx, cancel := context.WithCancel(t.Context())
				left, goes = len(done), cancel
				request := httptest.NewRequestWithContext(ctx, c.method, "/v1"+c.path, strings.NewReader(c.body))
				request.Header.Set("X-Api-Key", s.key)
				request.Header.Set("Content-Type", jsonType)
				if c.once != "" {
					request.Header.Set("Idempotency-Key", c.once)
				}
				s.serve(request)
				cancel()
				stayed = left >= 0
				left = -1
				done = append(done, tally(fixtures.Changes(before, before.Again(t))))
				before.Restore(t)
			}
			whole, nothing := done[len(done)-1], tally(nil)
			if whole == nothing || len(done) < 15 {
				t.Fatalf("%d runs, the last of which wrote %s", len(done), whole)
			}
			for n, work := range done {
				if work != whole && work != nothing {
					t.Errorf("cancelled at statement %d: %s, want %s or nothing", n, work, whole)
				}
			}
		})
	}
}
