package console_test

import (
	"crypto/rand"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// now is the time at which the tests begin.
var now = fixtures.RecordedNow()

func fixedClock() time.Time { return now }

// api is the booking API of a site, which checks the keys that the console
// manages.
type api struct {
	t       testing.TB
	handler http.Handler
	keys    *keys.Store
	figures *daystats.Recorder
	kept    *requestlog.Log
	key     string // with all permissions
	clock   time.Time
	log     *fixtures.Buffer
}

func newAPI(t testing.TB, database *fixtures.Database) *api {
	t.Helper()
	db := openDatabase(t, database)
	if err := db.CreateOwnTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := &api{t: t, clock: now, log: &fixtures.Buffer{}}
	clock := func() time.Time { return a.clock }
	a.keys = keys.NewStore(db, clock, rand.Reader)
	secret, _, err := a.keys.Create(t.Context(), keys.NewKey{Name: t.Name(), Kind: keys.Live, Permissions: []string{"read", "write", "delete"}})
	if err != nil {
		t.Fatal(err)
	}
	a.key = secret
	a.figures = daystats.NewRecorder(db, clock, slog.New(slog.NewTextHandler(a.log, nil)))
	a.kept = requestlog.New(db, clock, slog.New(slog.NewTextHandler(a.log, nil)), 1000)
	a.handler = handlers.New(session.NewPlatform(db, clock), a.keys, clock, slog.New(slog.NewJSONHandler(a.log, nil)), handlers.Options{
		BasePaths: []string{"/v1"}, RequestTimeout: time.Minute, Figures: a.figures, Requests: a.kept,
	})
	return a
}

func openDatabase(t testing.TB, database *fixtures.Database) *wpdb.DB {
	t.Helper()
	return wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: 4, AcquireTimeout: time.Minute, LockWait: time.Minute})
}

// get sends a request to the API.
func (a *api) get(path string, header http.Header) response {
	a.t.Helper()
	request := httptest.NewRequestWithContext(a.t.Context(), http.MethodGet, path, nil)
	maps.Copy(request.Header, header)
	recorder := httptest.NewRecorder()
	a.handler.ServeHTTP(recorder, request)
	return response{t: a.t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

// response is a response that was read to the end.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// want fails the test unless the response has this status.
func (r response) want(status int) {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %.2000s", r.status, status, r.body)
	}
}
