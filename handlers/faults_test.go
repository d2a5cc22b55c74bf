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
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/wpdb"
)

// TestAvailabilityFailsWithAnyStatement makes each statement fail in turn: no
// error is ignored.
func TestAvailabilityFailsWithAnyStatement(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now).WithAssets())
	database.AddCalendars(t)
	database.InsertAsset(t, 1, []int{1})
	database.Execute(t, apitest.Activate(apitest.PluginFile, apitest.AddOnFile, apitest.GoogleFile, apitest.OutlookFile))
	left, ran := -1, 0 // statements left until one fails, and statements run so far
	s := tappedServer(t, database, func(statement) error {
		left--
		ran++
		if left == -1 {
			return &mysql.MySQLError{Number: 9999, Message: "secret"}
		}
		return nil
	})
	for _, path := range []string{
		"/availability?service_id=1&agent_id=1&date=2026-11-24",
		"/availability?service_id=6&agent_id=1&location_id=1&date=2026-11-24",
		"/agents/availability?service_id=1&date=2026-11-24&start_time=10:00",
		"/agents/availability?date=2026-11-24&start_time=10:00",
	} {
		left = -1
		s.Get(path).Want(http.StatusOK) // records the use of the key and probes the schema
		ran = 0
		s.Get(path).Want(http.StatusOK)
		statements := ran
		if statements < 4 {
			t.Errorf("%s: %d statements", path, statements)
		}
		for fails := range statements {
			left = fails
			if a := s.Get(path).Want(http.StatusInternalServerError); a.At("code") != "server_error" || strings.Contains(string(a.Body), "secret") {
				t.Errorf("%s, statement %d: %s", path, fails, a.Body)
			}
		}
		left = statements
		s.Get(path).Want(http.StatusOK)
	}
}

// mockKey is the key that a faulty database contains.
const mockKey = "lp_0123456789abcdef"

// newFaultyServer serves a database that fails with err; if admits is set, only after the key was accepted.
func newFaultyServer(t *testing.T, admits bool, err error) *apitest.Server {
	t.Helper()
	db, mock := wpdbtest.Mock(t)
	if admits {
		sum := sha256.Sum256([]byte(mockKey))
		rows := sqlmock.NewRows(strings.Fields("id key_hash name kind key_start last_four permissions networks status created_at last_used_at expires_at " +
			"requests_per_minute requests_per_hour agents services locations mask_personal details " + strings.Join(domain.OptionNames, " ")))
		rows.AddRow(1, hex.EncodeToString(sum[:]), "key", "live", "lp_0", "cdef", "read", "", "active",
			"2026-01-01 00:00:00", apitest.Now.Format(time.DateTime), nil, nil, nil, "", "", "", 0, "",
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
	s := &apitest.Server{T: t, Log: &apitest.LogBuffer{}, Keys: keys.NewStore(db, apitest.FixedClock, strings.NewReader("")), Key: mockKey}
	s.Handler = handlers.New(session.NewPlatform(db, apitest.FixedClock), s.Keys, apitest.FixedClock, slog.New(slog.NewJSONHandler(s.Log, nil)),
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
				a := s.Do(http.MethodGet, path, http.Header{"X-Api-Key": {s.Key}})
				want, level := ours, slog.LevelError
				if c.status == http.StatusServiceUnavailable {
					level = slog.LevelWarn
					want = `{"code":"platform_not_available","message":"The booking platform is not available","data":{"status":503}}`
					if a.Header.Get("Retry-After") == "" {
						t.Errorf("%s, %s: no Retry-After", name, path)
					}
				}
				if got := strings.ReplaceAll(string(a.Body), a.Header.Get("X-Request-Id"), "REQUEST"); a.Status != c.status || got != want {
					t.Errorf("%s, admits %v, %s: %d %s", name, admits, path, a.Status, got)
				}
				if strings.Contains(s.Log.String(), secret) {
					t.Errorf("%s: the log quotes the database", name)
				}
				apitest.WantContains(t, a.Header.Get("X-Request-Id"), s.Log.String(), "%s: the log", name)
				apitest.WantContains(t, fmt.Sprintf(`"level":%q,"msg":"request failed"`, level), s.Log.String(), "%s, status %d: the log", name, c.status)
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
	bulk := "[" + apitest.Friday() + "," + apitest.Friday("start_time", `"14:00"`) + "]"
	for name, c := range map[string]struct{ method, path, body string }{
		"create":  {http.MethodPost, "/bookings", apitest.Friday()},
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
			s.Get("/status").Want(http.StatusOK)
			before := database.Snapshot(t)
			for _, number := range []uint16{1205, 1213, 3101, 1047, 9001} {
				fails = &mysql.MySQLError{Number: number}
				a := s.Write(c.method, c.path, c.body).Want(http.StatusServiceUnavailable)
				if a.At("data", "written") != false || a.Header.Get("Retry-After") == "" || a.At("code") != "platform_not_available" {
					t.Errorf("%d: %s", number, a.Body)
				}
			}
			if changes := fixtures.Changes(before, before.Again(t)); len(changes) > 0 {
				t.Errorf("written: %s", apitest.Tally(changes))
			}
		})
		t.Run(name+", cut at COMMIT", func(t *testing.T) {
			s, proxy := faultyServer(t)
			before := s.Database.Snapshot(t)
			for _, lost := range []bool{true, false} {
				proxy.Arm(fixtures.Fault{On: "\x03COMMIT", Lost: lost})
				a := s.Write(c.method, c.path, c.body)
				if name == "bulk" { // the outcome of one booking says nothing about the others; the second time, the other slot is taken
					status := http.StatusBadRequest
					if lost {
						status = http.StatusMultiStatus
					}
					expect.Equal(t, "unknown", a.Want(status).At("results", "errors", 0, "written"), a.Body)
					continue
				}
				if a.Want(http.StatusServiceUnavailable).At("data", "written") != "unknown" || a.Header.Get("Retry-After") == "" || a.At("code") != "platform_not_available" {
					t.Errorf("%s", a.Body)
				}
			}
			waitForCommits(s)
			if changes := fixtures.Changes(before, before.Again(t)); len(changes) == 0 {
				t.Error("the second try wrote nothing")
			}
		})
	}
}

// waitForCommits waits until the database no longer runs a transaction of a
// connection that was cut.
func waitForCommits(s *apitest.Server) {
	s.T.Helper()
	for {
		running, err := s.Database.Threads(s.T.Context(), "db = DATABASE() AND info = 'COMMIT'")
		expect.NoError(s.T, err)
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
	body := "[" + apitest.Friday() + "," + apitest.Friday("start_time", `"14:00"`) + "]"
	inserts := 0
	s := tappedServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), func(shown statement) error {
		if strings.HasPrefix(shown.text, "INSERT INTO `wp_latepoint_bookings` ") {
			if inserts++; inserts > 1 {
				return &mysql.MySQLError{Number: 1213}
			}
		}
		return nil
	})
	a := s.Write(http.MethodPost, "/bookings/bulk", body).Want(http.StatusMultiStatus)
	if a.At("results", "errors", 0, "written") != false || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s", a.Body)
	}
	inserts = 0
	body = strings.ReplaceAll(body, "2027-02-05", "2027-02-12")
	a = s.Write(http.MethodPost, "/bookings/bulk", body, "Idempotency-Key", "a").Want(http.StatusServiceUnavailable)
	expect.Equal(t, "unknown", a.At("data", "written"), a.Body)
	inserts = -10
	s.Write(http.MethodPost, "/bookings/bulk", body, "Idempotency-Key", "a").Want(http.StatusCreated)
}

// TestCancelledWritesAreCompleteOrAbsent cancels a request at each of its
// statements: either everything was written, or nothing.
func TestCancelledWritesAreCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	created := apitest.Friday("customer_id", "", "customer", apitest.NewCustomer)
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
			s.Get("/status").Want(http.StatusOK)
			before := s.Database.Snapshot(t)
			var done []string // what was written, by the statement at which the client disconnected
			for stayed := false; !stayed; {
				ctx, cancel := context.WithCancel(t.Context())
				left, goes = len(done), cancel
				request := httptest.NewRequestWithContext(ctx, c.method, "/v1"+c.path, strings.NewReader(c.body))
				request.Header.Set("X-Api-Key", s.Key)
				request.Header.Set("Content-Type", apitest.JSONType)
				if c.once != "" {
					request.Header.Set("Idempotency-Key", c.once)
				}
				s.Serve(request)
				cancel()
				stayed = left >= 0
				left = -1
				done = append(done, apitest.Tally(fixtures.Changes(before, before.Again(t))))
				before.Restore(t)
			}
			whole, nothing := done[len(done)-1], apitest.Tally(nil)
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

// TestUnexpectedErrorsOfWrites: an unexpected error is reported in the endpoint's shape, without details, and nothing
// is written.
func TestUnexpectedErrorsOfWrites(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, apitest.OldCoupon, "DELETE FROM wp_latepoint_bookings WHERE customer_id = 268", "UPDATE wp_latepoint_transactions SET status = 'failed' WHERE customer_id = 268")
	for _, table := range []string{"bookings", "customers", "services", "transactions", "orders", "order_invoices", "coupons"} {
		for _, op := range []string{"INSERT", "UPDATE", "DELETE"} {
			s.Database.Execute(t, "CREATE TRIGGER fail_"+table+op+" BEFORE "+op+" ON wp_latepoint_"+table+" FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a secret'")
		}
	}
	before := s.Database.Snapshot(t)
	const data = `,"data":{"status":500,"request_id":"%s"}}`
	internal := func(code, message string) string { return `{"code":"` + code + `","message":"` + message + `"` + data }
	failed := func(message string) string { return `{"success":false,"error":"` + message + `"` + data }
	plain := internal("server_error", "Internal server error")
	for name, want := range map[string]string{
		"booking": internal("server_error", "Failed to create booking"), "bookings": internal("server_error", "Failed to create booking"),
		"moved booking": internal("server_error", "Failed to update booking"), "deleted booking": internal("delete_error", "Failed to delete booking"),
		"customer": internal("server_error", "Failed to create customer"), "changed customer": internal("server_error", "Error updating customer"),
		"deleted customer": internal("delete_error", "Error deleting customer"), "service": plain, "changed service": plain,
		"payment": failed("Failed to create payment"), "changed payment": failed("Failed to update payment"), "deleted payment": failed("Failed to delete payment"),
		"order": plain, "transferred order": plain, "invoice": plain, "coupon": plain, "changed coupon": plain, "deleted coupon": internal("delete_error", "Failed to delete coupon"),
	} {
		request := writeRequests[name]
		a := s.Write(request[0], request[1], request[2], "Idempotency-Key", name)
		if want = strings.ReplaceAll(want, "%s", a.Header.Get("X-Request-Id")); a.Status != http.StatusInternalServerError || string(a.Body) != want {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, want)
		}
	}
	bulk := s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday()+`,{}]`).Want(http.StatusBadRequest)
	expect.Equal(t, "Internal error", bulk.At("results", "errors", 0, "error"), "bulk")
	apitest.WantNoWrites(t, "failed writes", before)
	if strings.Contains(s.Log.String(), "secret") {
		t.Error("the log quotes the database")
	}
}
