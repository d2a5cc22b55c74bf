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
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"bookside/adapter"
	"bookside/handlers"
	"bookside/wpdb"
)

// admittedKey is the key that a faulty database knows.
const admittedKey = "lp_0123456789abcdef"

// faulty serves a database that fails with err: where admits is set, only after
// it has let the key in.
func faulty(t *testing.T, admits bool, err error) *server {
	t.Helper()
	pool, mock, mockErr := sqlmock.New()
	if mockErr != nil {
		t.Fatal(mockErr)
	}
	t.Cleanup(func() {
		if err := mock.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
		mock.ExpectClose()
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	if admits {
		sum := sha256.Sum256([]byte(admittedKey))
		rows := sqlmock.NewRows(strings.Fields("id key_hash name kind key_start last_four permissions networks status created_at last_used_at expires_at " +
			"requests_per_minute requests_per_hour option_name option_value"))
		for name, value := range map[string]string{"active_plugins": `a:1:{i:0;s:23:"latepoint/latepoint.php";}`, "latepoint_db_version": "2.3.1"} {
			rows.AddRow(1, hex.EncodeToString(sum[:]), "key", "live", "lp_0", "cdef", "read", "", "active",
				"2026-01-01 00:00:00", now.Format(time.DateTime), nil, nil, nil, name, value)
		}
		mock.ExpectQuery("bookside_api_keys").WillReturnRows(rows)
	}
	mock.ExpectQuery("SELECT").WillReturnError(err)
	if errors.Is(err, mysql.ErrInvalidConn) {
		mock.ExpectQuery("SELECT").WillReturnError(err) // a read is tried once more
	}
	db := wpdb.New(pool, "wp_")
	s := &server{t: t, log: &logBuffer{}, keys: adapter.NewKeys(db, fixedClock, strings.NewReader("")), key: admittedKey}
	s.handler = handlers.New(adapter.NewPlatform(db, fixedClock), s.keys, fixedClock, slog.New(slog.NewJSONHandler(s.log, nil)),
		handlers.Options{BasePaths: []string{"/v1"}, RequestTimeout: time.Minute})
	return s
}

// TestDatabaseFaults turns every fault of the database into the status it
// means, with no detail of it in the answer or in the log.
func TestDatabaseFaults(t *testing.T) {
	t.Parallel()
	const secret = "customer@example.test"
	server := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: "near '" + secret + "'"} }
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"too many connections":  {server(1040), http.StatusServiceUnavailable},
		"connections of a user": {server(1226), http.StatusServiceUnavailable},
		"access denied":         {server(1045), http.StatusServiceUnavailable},
		"statement too long":    {server(1969), http.StatusServiceUnavailable},
		"link lost":             {mysql.ErrInvalidConn, http.StatusServiceUnavailable},
		"deadline":              {context.DeadlineExceeded, http.StatusServiceUnavailable},
		"syntax":                {server(1064), http.StatusInternalServerError},
		"unknown number":        {server(9999), http.StatusInternalServerError},
		"bad value":             {driver.ErrSkip, http.StatusInternalServerError},
	} {
		for _, admits := range []bool{false, true} {
			for path, ours := range map[string]string{
				"/v1/bookings":    `{"code":"server_error","message":"Internal server error","data":{"status":500,"request_id":"REQUEST"}}`,
				"/v1/customers/1": `{"code":"server_error","message":"Internal server error","data":{"status":500,"request_id":"REQUEST"}}`,
				"/v1/payments":    `{"success":false,"error":"Failed to retrieve payments","data":{"status":500,"request_id":"REQUEST"}}`,
			} {
				s := faulty(t, admits, c.err)
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
				if !strings.Contains(s.log.String(), a.header.Get("X-Request-Id")) {
					t.Errorf("%s: the log does not name the request", name)
				}
				if !strings.Contains(s.log.String(), fmt.Sprintf(`"level":%q,"msg":"request failed"`, level)) {
					t.Errorf("%s, status %d: the log tells no failure of level %s", name, c.status, level)
				}
			}
		}
	}
}
