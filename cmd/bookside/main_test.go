package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// beProgram is an environment variable that makes the test binary run as the program.
const beProgram = "BE_BOOKSIDE=1"

func TestMain(m *testing.M) {
	if os.Getenv("BE_BOOKSIDE") == "1" {
		if _, named := os.LookupEnv(settings.EnvFile); !named { // keeps a service's configuration on this machine out
			if err := os.Setenv(settings.EnvFile, ""); err != nil {
				panic(err)
			}
		}
		os.Exit(runProcess(limitsOf(os.Environ())))
	}
	os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements))
}

// now is the sample site's date, where the program's clock stands still.
var now = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// settingsFor returns the environment for a program on a sample site.
func settingsFor(db *fixtures.Database, more ...string) []string {
	return append([]string{
		"BOOKSIDE_DB__DSN=" + db.DSN,
		"BOOKSIDE_DB__PREFIX=" + db.Prefix,
		"BOOKSIDE_SERVER__LISTEN=127.0.0.1:0",
		"BOOKSIDE_ADMIN__LISTEN=127.0.0.1:0",
		"LIMIT_DrainDelay=0s",
	}, more...)
}

// limitsOf returns the limits of a program with an environment: those of serve, but for entries such as
// LIMIT_DrainDelay=0s.
func limitsOf(env []string) settings.Limits {
	limits := settings.StandardLimits()
	for _, entry := range env {
		if name, value, ok := strings.Cut(strings.TrimPrefix(entry, "LIMIT_"), "="); ok && strings.HasPrefix(entry, "LIMIT_") {
			d, err := time.ParseDuration(value)
			if err != nil {
				panic(err)
			}
			reflect.ValueOf(&limits).Elem().FieldByName(name).SetInt(int64(d))
		}
	}
	return limits
}

// unlimited lets keys send as many requests as they like.
var unlimited = []string{
	"BOOKSIDE_RATE_LIMIT__LIVE_PER_MINUTE=1000000", "BOOKSIDE_RATE_LIMIT__LIVE_PER_HOUR=1000000",
	"BOOKSIDE_RATE_LIMIT__TEST_PER_MINUTE=1000000", "BOOKSIDE_RATE_LIMIT__TEST_PER_HOUR=1000000",
}

// adminSettings returns the environment with an account that can see whether any table exists.
func adminSettings(db *fixtures.Database) []string {
	return lastWins(settingsFor(db, "BOOKSIDE_DB__DSN="+db.AdminDSN))
}

// small returns a new database with the small site.
func small(t *testing.T) *fixtures.Database {
	t.Helper()
	return fixtures.New(t, fixtures.Small(now))
}

// result is the outcome of a program that has exited.
type result struct {
	code           int
	stdout, stderr string
}

// run runs a command until it exits.
func run(t *testing.T, env []string, stdin string, args ...string) result {
	t.Helper()
	return runAt(t, fixedClock, env, stdin, args...)
}

// runAt is run with another clock.
func runAt(t *testing.T, clock domain.Clock, env []string, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr fixtures.Buffer
	p := program{env: env, stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, now: clock, limits: limitsOf(env)}
	code := exit.Report(&stderr, p.run(t.Context(), args))
	return result{code, stdout.String(), stderr.String()}
}

func fixedClock() time.Time { return now }

// want fails the test unless the program exited with the code and printed all of the
// texts to standard error.
func (f result) want(t *testing.T, code int, texts ...string) result {
	t.Helper()
	if f.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", f.code, code, f.stdout, f.stderr)
	}
	expect.Texts(t, f.stderr, texts...)
	return f
}

// testServer is a running server.
type testServer struct {
	t      *testing.T
	url    string // URL of the API
	stderr *fixtures.Buffer
	cancel context.CancelFunc
	ended  chan error
}

// serve starts the program and waits until it listens.
func serve(t *testing.T, env []string) *testServer {
	t.Helper()
	return serveAt(t, env, fixedClock)
}

// serveAt is like serve, with a clock.
func serveAt(t *testing.T, env []string, clock domain.Clock) *testServer {
	t.Helper()
	s, stdout := launchAt(t, env, clock)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no line on the standard output: %v; the program ended with: %v\n%s", err, <-s.ended, s.stderr)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("first line %q", line)
	}
	s.url = url
	return s
}

// launch starts the program; stdout is closed when it exits.
func launch(t *testing.T, env []string) (s *testServer, stdout io.Reader) {
	t.Helper()
	return launchAt(t, env, fixedClock)
}

// launchAt is like launch, with a clock.
func launchAt(t *testing.T, env []string, clock domain.Clock) (s *testServer, stdout io.Reader) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	s = &testServer{t: t, stderr: &fixtures.Buffer{}, cancel: cancel, ended: make(chan error, 1)}
	p := program{env: env, stdin: strings.NewReader(""), stdout: writer, stderr: s.stderr, now: clock, limits: limitsOf(env)}
	go func() {
		err := p.run(ctx, []string{"serve"})
		s.ended <- err
		close(s.ended)
		_ = writer.Close()
	}()
	t.Cleanup(func() {
		cancel()
		for range s.ended { // until it is closed
		}
	})
	return s, reader
}

// stop stops the program and returns its error.
func (s *testServer) stop() error {
	s.cancel()
	return <-s.ended
}

// admin returns the address of the probes, and early that of the API, from the log.
func (s *testServer) admin() string { return s.logged("serving probes") }
func (s *testServer) early() string {
	return "http://" + s.logged("listening; requests wait for the site")
}

// logged returns the address in a line of the log.
func (s *testServer) logged(message string) string {
	s.t.Helper()
	var address string
	s.eventually("a line with an address: "+message, func() bool {
		for line := range strings.Lines(s.stderr.String()) {
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == message {
				address = entry.Address
			}
		}
		return address != ""
	})
	return address
}

// eventually waits for a change made by another goroutine or process.
func (s *testServer) eventually(what string, happened func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !happened() {
		if time.Now().After(deadline) {
			s.t.Fatalf("still waiting for %s\n%s", what, s.stderr)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// get sends a GET over a new connection.
func get(t *testing.T, url, key string) (status int, body string) {
	t.Helper()
	status, body, err := tryGet(t.Context(), url, key)
	expect.NoError(t, err)
	return status, body
}

func tryGet(ctx context.Context, url, key string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("X-API-Key", key)
	return sendOnce(request)
}

// apiRequest returns a request to the API with a JSON body.
func apiRequest(t *testing.T, method, url, key, body string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	expect.NoError(t, err)
	request.Header.Set("X-API-Key", key)
	request.Header.Set("Content-Type", "application/json")
	return request
}

// write sends a JSON body over a new connection.
func write(t *testing.T, method, url, key, body string) (status int, answer string) {
	t.Helper()
	status, answer, err := sendOnce(apiRequest(t, method, url, key, body))
	expect.NoError(t, err)
	return status, answer
}

// sendOnce sends a request over a new connection.
func sendOnce(request *http.Request) (status int, body string, err error) {
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), errors.Join(err, response.Body.Close())
}

// wantStatus sends a GET and fails the test unless it is answered with a status.
func wantStatus(t *testing.T, want int, url, key string, what ...any) {
	t.Helper()
	if status, body := get(t, url, key); status != want {
		t.Errorf("%s: status %d, want %d: %s", fmt.Sprint(what...), status, want, body)
	}
}

// newKey creates a key with the command line.
func newKey(t *testing.T, env []string, args ...string) string {
	t.Helper()
	args = append([]string{"keys", "create", "--quiet", "--name", "test", "--permissions", "read"}, args...)
	return strings.TrimSpace(run(t, env, "", args...).want(t, exit.OK).stdout)
}

// TestProcess runs a real process and checks signals, standard streams and exit code.
func TestProcess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		signal syscall.Signal
	}{{"SIGTERM", syscall.SIGTERM}, {"SIGINT", syscall.SIGINT}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), os.Args[0], "serve")
			db := fixtures.Shared(t, fixtures.Small(now))
			command.Env = append(settingsFor(db), beProgram)
			var stderr fixtures.Buffer
			command.Stderr = &stderr
			stdout, err := command.StdoutPipe()
			expect.NoError(t, err)
			expect.NoError(t, command.Start())
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "listening on http://127.0.0.1:") {
				t.Errorf("first line %q, %v\n%s", line, err, stderr.String())
			}
			expect.Succeeded(t, command.Process.Signal(test.signal))
			if err := command.Wait(); err != nil {
				t.Errorf("the program ended with %v\n%s", err, stderr.String())
			}
		})
	}
}

func TestProcessExitCode(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0], "serve")
	command.Env = []string{beProgram}
	text, err := command.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exit.Usage {
		t.Fatalf("ended with %v, want exit code %d\n%s", err, exit.Usage, text)
	}
	expect.Texts(t, string(text), "db.dsn: write user:password@tcp(host:3306)/database")
}
