package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"bookside/adapter"
	"bookside/fixtures"
	"bookside/handlers"
	"bookside/wpdb"
)

// probe asks the admin address.
func probe(t *testing.T, admin *handlers.Admin, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	admin.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return recorder
}

// wantReadiness fails the test unless /readyz says this, with the status for it.
func wantReadiness(t *testing.T, admin *handlers.Admin, want handlers.Readiness) {
	t.Helper()
	recorder := probe(t, admin, http.MethodGet, "/readyz")
	var got handlers.Readiness
	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	status := http.StatusServiceUnavailable
	if want.Status == handlers.StatusReady {
		status = http.StatusOK
	}
	if recorder.Code != status {
		t.Errorf("status %d, want %d", recorder.Code, status)
	}
	if got := recorder.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q", got)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	admin := handlers.NewAdmin()
	for _, stopping := range []bool{false, true} {
		if stopping {
			admin.Stopping()
		}
		if r := probe(t, admin, http.MethodGet, "/livez"); r.Code != http.StatusOK || r.Body.String() != "ok" {
			t.Errorf("stopping %v: %d %q", stopping, r.Code, r.Body)
		}
	}
	if r := probe(t, admin, http.MethodHead, "/livez"); r.Code != http.StatusOK {
		t.Errorf("HEAD: %d", r.Code)
	}
}

func TestAdminKnowsNothingElse(t *testing.T) {
	t.Parallel()
	for _, ask := range [][2]string{{http.MethodGet, "/"}, {http.MethodGet, "/v1/status"}, {http.MethodPost, "/readyz"}} {
		if r := probe(t, handlers.NewAdmin(), ask[0], ask[1]); r.Code != http.StatusNotFound || r.Body.Len() != 0 {
			t.Errorf("%s %s: %d %q", ask[0], ask[1], r.Code, r.Body)
		}
	}
}

func TestReadinessOfSite(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	db, err := wpdb.Open(t.Context(), wpdb.Config{DSN: database.DSN, Prefix: database.Prefix})
	if err != nil {
		t.Fatal(err)
	}
	admin := handlers.NewAdmin()
	wantReadiness(t, admin, handlers.Readiness{Status: "starting", Database: "not open yet", Platform: "unknown"})
	admin.Started(adapter.NewPlatform(db, fixedClock))
	wantReadiness(t, admin, handlers.Readiness{Status: "ready", Database: "ok", Platform: "ok"})
	if _, err := database.SQL.ExecContext(t.Context(), "UPDATE "+database.Prefix+"options SET option_value = '' WHERE option_name = 'active_plugins'"); err != nil {
		t.Fatal(err)
	}
	wantReadiness(t, admin, handlers.Readiness{Status: "unavailable", Database: "ok", Platform: "LatePoint is not active on this site"})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	wantReadiness(t, admin, handlers.Readiness{Status: "unavailable", Database: "failed", Platform: "unknown"})
	admin.Stopping()
	wantReadiness(t, admin, handlers.Readiness{Status: "stopping", Database: "unknown", Platform: "unknown"})
}

func TestReadinessOfDatabase(t *testing.T) {
	t.Parallel()
	const secret = "customer@example.test"
	server := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: secret} }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"too many connections": {server(1040), "unreachable"},
		"link lost":            {mysql.ErrInvalidConn, "unreachable"},
		"access denied":        {server(1045), "refuses the user or password"},
		"unknown database":     {server(1049), "does not exist"},
		"statement too long":   {server(1969), "does not answer in time"},
		"deadline":             {context.DeadlineExceeded, "does not answer in time"},
		"anything else":        {errors.New(secret), "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, mock, err := sqlmock.New()
			if err != nil {
				t.Fatal(err)
			}
			mock.ExpectQuery("SELECT").WillReturnError(c.err)
			mock.ExpectQuery("SELECT").WillReturnError(c.err) // a read is tried once more where the link was lost
			admin := handlers.NewAdmin()
			admin.Started(adapter.NewPlatform(wpdb.New(pool, "wp_"), fixedClock))
			wantReadiness(t, admin, handlers.Readiness{Status: "unavailable", Database: c.want, Platform: "unknown"})
			if r := probe(t, admin, http.MethodGet, "/readyz"); strings.Contains(r.Body.String(), secret) {
				t.Errorf("a server's text is told: %s", r.Body)
			}
			mock.ExpectClose()
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
