package apitest

import (
	std "cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// Now is the time at which the recorded site was recorded.
var Now = fixtures.RecordedNow()

// Server is the API on a database, as a client sees it.
type Server struct {
	T        testing.TB
	Handler  http.Handler
	Database *fixtures.Database
	Platform *session.Platform
	Hooks    *jobs.HookStore
	Keys     *keys.Store
	Key      string    // with all permissions
	Clock    time.Time // the server's current time
	Log      *LogBuffer
	Blind    bool   // the key may not read what it writes, and gets answers that the document describes in words only
	Restart  func() // serves like a new process; nil unless the test sets it
}

// FixedClock always shows Now.
func FixedClock() time.Time { return Now }

// LogBuffer keeps the log lines of a server.
type LogBuffer struct{ fixtures.Buffer }

// Last returns the log line of the last request.
func (l *LogBuffer) Last(t testing.TB) LogLine {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(l.String()), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		var line LogLine
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatalf("log line %q: %v", lines[i], err)
		}
		if line.Message == "request" {
			return line
		}
	}
	t.Fatal("no request was logged")
	return LogLine{}
}

// LogLine is what tests read of a log line.
type LogLine struct {
	Message   string `json:"msg"`
	Route     string `json:"route"`
	Method    string `json:"method"`
	RequestID string `json:"request_id"`
	Status    int    `json:"status"`
	Queries   int    `json:"queries"`
	Rows      int    `json:"rows"`
	KeyID     int64  `json:"key_id"`
}

// DefaultOptions returns the options of a server that needs no others.
func DefaultOptions() handlers.Options {
	return handlers.Options{
		BasePaths: []string{"/v1", "/wp-json/latepoint-api/v1"}, QueryParameter: "api_key", RequestTimeout: time.Minute,
		RateLimit: ratelimit.Options{Live: ratelimit.Limits{PerMinute: 60, PerHour: 3600}, Test: ratelimit.Limits{PerMinute: 100, PerHour: 1000}},
	}
}

// NewServer serves a database; change adjusts the options.
func NewServer(t testing.TB, database *fixtures.Database, change ...func(*handlers.Options)) *Server {
	t.Helper()
	return NewServerOver(t, database, 4, time.Minute, change...)
}

// The following serve a site to a test, which they let run beside others: they call t.Parallel before they make the
// database.

// Small serves the small site, which no test changes.
func Small(t *testing.T, change ...func(*handlers.Options)) *Server {
	t.Helper()
	return Shared(t, fixtures.Small(Now), change...)
}

// Shared serves a site that no test changes.
func Shared(t *testing.T, site fixtures.Site, change ...func(*handlers.Options)) *Server {
	t.Helper()
	t.Parallel()
	return NewServer(t, fixtures.Shared(t, site), change...)
}

// Own serves a copy of a site for the test alone.
func Own(t *testing.T, site fixtures.Site, change ...func(*handlers.Options)) *Server {
	t.Helper()
	t.Parallel()
	return NewServer(t, fixtures.New(t, site), change...)
}

// OwnWriter is Own with codes and keys that are always the same.
func OwnWriter(t *testing.T, site fixtures.Site, change ...func(*handlers.Options)) *Server {
	t.Helper()
	t.Parallel()
	return NewWriter(t, site, change...)
}

// NewServerOver is NewServer with a number of database connections, and the time that a request waits for
// one.
func NewServerOver(t testing.TB, database *fixtures.Database, connections int, wait time.Duration, change ...func(*handlers.Options)) *Server {
	t.Helper()
	db := OpenDatabase(t, database, connections, wait)
	haveOwnTables(t, database)
	options := DefaultOptions()
	for _, c := range change {
		c(&options)
	}
	s := &Server{T: t, Database: database, Clock: Now, Log: &LogBuffer{}}
	clock := func() time.Time { return s.Clock }
	s.Keys = keys.NewStore(db, clock, rand.Reader)
	s.Key = s.NewKey("read", "write", "delete", "read_changes", "write_users", "write_webhooks")
	s.Platform = session.NewPlatform(db, clock)
	s.Hooks = jobs.NewHookStore(db, clock, rand.Reader, jobs.Vault{}, s.Platform.Journal)
	options.Webhooks = s.Hooks
	s.Handler = handlers.New(s.Platform, s.Keys, clock, slog.New(slog.NewJSONHandler(s.Log, nil)), options)
	return s
}

// ownTables has a function for each database, by DSN, that creates our own tables.
var ownTables sync.Map

// haveOwnTables creates our own tables unless another server of the same database has. Servers that are to be short of connections
// do not wait long enough for that.
func haveOwnTables(t testing.TB, database *fixtures.Database) {
	t.Helper()
	create, _ := ownTables.LoadOrStore(database.DSN, sync.OnceValue(func() error {
		return OpenDatabase(t, database, 2, time.Minute).CreateOwnTables(t.Context())
	}))
	expect.NoError(t, create.(func() error)())
}

// OpenDatabase opens connections to a database.
func OpenDatabase(t testing.TB, database *fixtures.Database, connections int, wait time.Duration) *wpdb.DB {
	t.Helper()
	return wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: connections, AcquireTimeout: wait, LockWait: time.Minute, StatementTimeout: time.Minute})
}

// NewKey creates a key with permissions.
func (s *Server) NewKey(permissions ...string) string {
	s.T.Helper()
	secret, _ := CreateKey(s.T, s.Keys, keys.NewKey{Permissions: permissions})
	return secret
}

// CreateKey creates a key, which is live and named after the test unless n says otherwise.
func CreateKey(t testing.TB, store *keys.Store, n keys.NewKey) (secret string, key keys.Key) {
	t.Helper()
	n.Name, n.Kind = std.Or(n.Name, t.Name()[:min(190, len(t.Name()))]), std.Or(n.Kind, keys.Live)
	secret, key, err := store.Create(context.Background(), n)
	expect.NoError(t, err)
	return secret, key
}

// Get requests a path below /v1 with the server's key.
func (s *Server) Get(path string) Answer {
	return s.Do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {s.Key}})
}

// Do sends a request without a body.
func (s *Server) Do(method, path string, header http.Header) Answer {
	s.T.Helper()
	return s.Send(method, path, header, "")
}

// Send is Do with a body. Request and response are compared with the OpenAPI document.
func (s *Server) Send(method, path string, header http.Header, body string) Answer {
	s.T.Helper()
	request := httptest.NewRequestWithContext(s.T.Context(), method, path, strings.NewReader(body))
	maps.Copy(request.Header, header)
	a := s.Serve(request)
	if !s.Blind {
		conform(s.T, request, []byte(body), a)
	}
	return a
}

// Serve serves a request that the document need not describe.
func (s *Server) Serve(request *http.Request) Answer {
	recorder := httptest.NewRecorder()
	s.Handler.ServeHTTP(recorder, request)
	return Answer{T: s.T, Status: recorder.Code, Header: recorder.Header(), Body: recorder.Body.Bytes()}
}

// Content types of requests.
const (
	JSONType = "application/json"
	FormType = "application/x-www-form-urlencoded"
)

// Write sends JSON with the server's key; headers are pairs of name and value.
func (s *Server) Write(method, path, body string, headers ...string) Answer {
	s.T.Helper()
	return s.WriteAs(method, path, JSONType, body, headers...)
}

// WriteAs is Write with a content type; "" sends none.
func (s *Server) WriteAs(method, path, contentType, body string, headers ...string) Answer {
	s.T.Helper()
	header := http.Header{"X-Api-Key": {s.Key}}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		header.Add(headers[i], headers[i+1])
	}
	return s.Send(method, "/v1"+path, header, body)
}

// Calendar creates the secret address of a calendar and returns the request that reads it.
func (s *Server) Calendar(details keys.Details, of domain.Resource, id int64) Request {
	s.T.Helper()
	secret, key := CreateKey(s.T, s.Keys, keys.NewKey{Kind: keys.Calendar, Scope: keys.CalendarScope(of, id), Details: details})
	path, query, _ := strings.Cut(key.Address("", secret), "?")
	return Request{Path: path, Query: query}
}

// Read reads a calendar.
func (s *Server) Read(r Request) Answer {
	s.T.Helper()
	return s.Do(http.MethodGet, "/v1"+r.Path+"?"+r.Query, nil)
}

// Request is a request that succeeds.
type Request struct {
	Method, Path, Query, Body, ContentType string
	Header                                 http.Header
}

// Export requests a path below /v1 in a format other than JSON.
func (s *Server) Export(path, accept string) Answer {
	return s.Do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {s.Key}, "Accept": {accept}})
}

// LimitedKey creates a limited key with all permissions.
func (s *Server) LimitedKey(scope domain.Scope) string {
	s.T.Helper()
	all := []string{"read", "write", "delete", "read_changes", "write_users", "write_webhooks"}
	secret, _ := CreateKey(s.T, s.Keys, keys.NewKey{Permissions: all, Scope: scope})
	return secret
}

// As sends a request with a key that has these permissions.
func (s *Server) As(permissions []string, method, path, body string) Answer {
	s.T.Helper()
	return s.Send(method, "/v1"+path, http.Header{"X-Api-Key": {s.NewKey(permissions...)}, "Content-Type": {JSONType}}, body)
}

// MaskedKey creates a key with all permissions that masks personal data.
func (s *Server) MaskedKey() string {
	s.T.Helper()
	all := []string{"read", "write", "delete", "read_changes", "write_users", "write_webhooks"}
	secret, _ := CreateKey(s.T, s.Keys, keys.NewKey{Permissions: all, MaskPersonal: true})
	return secret
}

// LimitRate enables the rate limit.
func LimitRate(minute, hour int64) func(*handlers.Options) {
	return func(o *handlers.Options) {
		o.RateLimit.Enabled, o.RateLimit.Live = true, ratelimit.Limits{PerMinute: minute, PerHour: hour}
	}
}
