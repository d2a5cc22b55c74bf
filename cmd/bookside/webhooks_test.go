package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

// printed fails unless the command succeeds and prints all of the texts.
func printed(t *testing.T, r result, texts ...string) string {
	t.Helper()
	r.want(t, exit.OK)
	wantTexts(t, r.stdout, texts...)
	return r.stdout
}

func TestWebhooksAreManaged(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and \x1b[31mstout"))
	}))
	defer receiver.Close()
	bookside := func(args ...string) result { return run(t, env, "", append([]string{"webhooks"}, args...)...) }
	printed(t, bookside("list"), "There are no webhooks")
	secret := bookside("add", receiver.URL+"/?token=hush", "--events", "booking.created,customer.updated", "--allow-private", "--quiet").want(t, exit.OK).stdout
	if !regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{43}=\n$`).MatchString(secret) {
		t.Errorf("secret %q", secret)
	}
	printed(t, bookside("add", "https://example.com/hooks", "--events", "*", "--name", "shop", "--agents", "3,Jörg Thiessen", "--locations", "1", "--record"),
		"whsec_", "It is shown only once", "ID 2, name shop, events *\n")
	list := printed(t, bookside("list"), "/?***", "booking.created,customer.updated", "agents 2 Jörg Thiessen, 3 ", "; locations 1 ", "enabled")
	if strings.Contains(list, "hush") {
		t.Error("the query of the URL is listed")
	}
	var records []webhookRecord
	if err := json.Unmarshal([]byte(bookside("list", "--json").want(t, exit.OK).stdout), &records); err != nil || len(records) != 2 || !records[1].Record || fmt.Sprint(records[1].Agents) != "[2 3]" || !records[0].AllowPrivate {
		t.Errorf("%+v, error %v", records, err)
	}
	bookside("test", "1").want(t, exit.Failure, "the test failed: answered 418: short and  [31mstout")
	log := printed(t, bookside("log", "1"), "bookside.test  failed  evt_", "answered 418: short and  [31mstout after 1ms")
	if strings.Contains(log, "\x1b") {
		t.Errorf("the log has control characters: %q", log)
	}
	printed(t, bookside("replay", "1", "--delivery", "1"), "Delivery 1 is sent again.")
	printed(t, bookside("log", "1", "--state", "waiting", "--limit", "1"), "waiting")
	printed(t, bookside("log", "1", "--state", "delivered"), "Nothing was sent yet.")
	printed(t, bookside("replay", "1", "--since", "2h"), "Webhook 1 gets all changes since ")
	printed(t, bookside("disable", "1"), "Webhook 1 is disabled.")
	printed(t, bookside("list"), "disabled: disabled by an administrator")
	printed(t, bookside("enable", "1", "--skip"), "Webhook 1 is enabled.")
	if fresh := bookside("rotate", "1", "--quiet").want(t, exit.OK).stdout; fresh == secret || !strings.HasPrefix(fresh, "whsec_") {
		t.Errorf("rotated to %q", fresh)
	}
	printed(t, bookside("rotate", "1", "--overlap", "0s"), "The old secret has ended.")
	printed(t, bookside("delete", "2"), "Webhook 2 is deleted.")
	for _, command := range [][]string{{"test", "2"}, {"log", "2"}, {"delete", "2"}, {"enable", "9"}, {"disable", "9"}, {"rotate", "9"}, {"replay", "9", "--since", "1h"}, {"replay", "9", "--delivery", "1"}} {
		bookside(command...).want(t, exit.Failure, "there is no webhook with the ID "+command[1])
	}
	bookside("replay", "1", "--delivery", "77").want(t, exit.Failure, "webhook 1 has no delivery with the ID 77")
}

func TestWebhookFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want string
	}{
		{"add https://example.com/", "--events: write events such as"},
		{"add https://example.com/ --events booking.moved", `--events: "booking.moved" is not an event`},
		{"add http://127.0.0.1:9000/ --events *", "URL: the address is not public; only a webhook added with --allow-private may use it"},
		{"add https://user:hush@example.com/ --events *", "URL: write a URL without user name and password"},
		{"add https://example.com/ --events * --agents 0", "--agents: write ids such as 3"},
		{"add https://example.com/ --events * --agents=", "--agents: write ids such as 3"},
		{"add --events *", "it takes URL, got 0"},
		{"test x", "ID: write the number that webhooks list shows"},
		{"replay 1", "write either --delivery or --since"},
		{"replay 1 --delivery 2 --since 1h", "write either --delivery or --since"},
		{"rotate 1 --overlap 800h", "write a duration up to 720h"},
		{"log 1 --limit 0", "--limit: write a number from 1 to 1000"},
		{"listen", "write --secret-file, or set WEBHOOK_SECRET"},
		{"listen --secret-file /dev/null", "this is not the secret of a webhook"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			result := run(t, nil, "", append([]string{"webhooks"}, strings.Fields(test.args)...)...).want(t, exit.Usage, test.want)
			if strings.Contains(result.stderr, "hush") {
				t.Errorf("a password is printed: %s", result.stderr)
			}
		})
	}
}

func TestWebhookSecretsAreEncryptedByTheProgram(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db, "BOOKSIDE_WEBHOOKS__SECRET_KEY="+strings.Repeat("k", 32))
	secret := strings.TrimSpace(run(t, env, "", "webhooks", "add", "https://example.com/", "--events", "*", "--quiet").want(t, exit.OK).stdout)
	var stored string
	if err := db.SQL.QueryRowContext(t.Context(), "SELECT secret FROM "+db.Prefix+"bookside_webhooks").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if secret == "" || strings.Contains(stored, secret[6:]) || !strings.HasPrefix(stored, "gcm_") {
		t.Errorf("%s is stored as %s", secret, stored)
	}
	run(t, settingsFor(db, "BOOKSIDE_WEBHOOKS__SECRET_KEY=short"), "", "webhooks", "list").want(t, exit.Usage, "webhooks.secret_key: write at least 32 characters")
	masked := run(t, env, "", "serve", "--print-config").want(t, exit.OK).stdout
	if strings.Contains(masked, "kkkk") || !strings.Contains(masked, `secret_key: '***'`) {
		t.Errorf("%s", masked)
	}
}

// listener is webhooks listen in the background.
type listener struct {
	url   string
	lines *bufio.Scanner
}

// listenWith starts webhooks listen with a secret.
func listenWith(t *testing.T, secret string) *listener {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	p := program{stdout: write, stderr: t.Output(), now: fixedClock}
	ended := make(chan error, 1)
	go func() {
		ended <- p.run(t.Context(), []string{"webhooks", "listen", "--listen", "127.0.0.1:0", "--secret-file", file})
	}()
	t.Cleanup(func() {
		_ = read.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	l := &listener{lines: bufio.NewScanner(read)}
	l.url = strings.TrimPrefix(l.next(t), "listening on ")
	return l
}

// next waits for a line.
func (l *listener) next(t *testing.T) string {
	t.Helper()
	if !l.lines.Scan() {
		t.Fatalf("no line: %v", l.lines.Err())
	}
	return l.lines.Text()
}

func TestListenChecksSignatures(t *testing.T) {
	t.Parallel()
	secret := "whsec_" + strings.Repeat("a", 43) + "="
	l := listenWith(t, secret)
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"type":"booking.created","timestamp":"2026-11-22T10:00:00Z","data":{"number":7}}`
	post := func(body, signed string, age int64) int {
		t.Helper()
		at := now.Unix() - age
		signature, err := signer.Sign("evt_1", now, []byte(signed))
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("webhook-id", "evt_1")
		request.Header.Set("webhook-timestamp", fmt.Sprint(at))
		request.Header.Set("webhook-signature", signature)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	statuses := make(chan int, 1)
	go func() { statuses <- post(body, body, 0) }()
	if line := l.next(t); line != `2026-11-22T10:00:00Z booking.created evt_1 {"number":7}` {
		t.Errorf("line %q", line)
	}
	if status := <-statuses; status != http.StatusNoContent {
		t.Errorf("status %d", status)
	}
	if status := post(body, body+" ", 0); status != http.StatusBadRequest {
		t.Errorf("another body: %d", status)
	}
	if status := post(body, body, 600); status != http.StatusBadRequest {
		t.Errorf("another time: %d", status)
	}
	run(t, []string{"WEBHOOK_SECRET=" + secret}, "", "webhooks", "listen", "--listen", strings.TrimPrefix(l.url, "http://")).
		want(t, exit.PortTaken, "another program is listening on "+strings.TrimPrefix(l.url, "http://"), "set --listen to another address")
}

// process is the program as a separate process, with the real time.
type process struct {
	*exec.Cmd
	url    string
	stderr *fixtures.Buffer
}

// startProcess starts serve and waits until it listens.
func startProcess(t *testing.T, env []string) process {
	t.Helper()
	p := process{Cmd: exec.CommandContext(t.Context(), os.Args[0], "serve"), stderr: &fixtures.Buffer{}}
	p.Env, p.Stderr = append(slices.Clone(env), beProgram), p.stderr
	stdout, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("first line %q, %v\n%s", line, err, p.stderr)
	}
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return p
}

// TestChangesArriveWhoeverMadeThem is the demonstration in the README: changes through the API and by plain
// SQL both arrive at a receiver, although the server is killed while sending.
func TestChangesArriveWhoeverMadeThem(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	env := settingsFor(db, "BOOKSIDE_CHANGES__INTERVAL=1s")
	key := newKey(t, env, "--permissions", "read,write")
	events, release := make(chan string), make(chan bool)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- string(body)
		<-release
	}))
	defer receiver.Close()
	defer close(release)
	run(t, env, "", "webhooks", "add", receiver.URL, "--events", "service.*,booking.*", "--allow-private", "--record", "--quiet").want(t, exit.OK)
	server := startProcess(t, env)
	next := func() string {
		t.Helper()
		select {
		case event := <-events:
			return event
		case <-time.After(time.Minute):
			t.Fatal("no event arrives")
			return ""
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.url+"/v1/services/1", strings.NewReader(`{"name":"Renamed"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	byAPI := []string{`"type":"service.updated"`, `"origin":"api"`, `"name":"Renamed"`}
	wantTexts(t, next(), byAPI...)
	// Changes by others are found once the first pass has ended.
	for passed := 0; passed == 0; time.Sleep(5 * time.Millisecond) {
		if err := db.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+db.Prefix+"bookside_change_positions WHERE name = 'bookings' AND position > floor").Scan(&passed); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	release <- true
	// While no server runs.
	execute(t, db.SQL, "UPDATE "+db.Prefix+"latepoint_bookings SET status = 'cancelled' WHERE status <> 'cancelled' ORDER BY id LIMIT 1")
	execute(t, db.SQL, "UPDATE "+db.Prefix+"bookside_webhook_deliveries SET due_at = created_at") // lets the claim run out
	execute(t, db.SQL, "UPDATE "+db.Prefix+"bookside_change_positions SET expires_at = NULL")     // and the journal's lease
	server = startProcess(t, env)
	arrived := []string{next()}
	release <- true
	arrived = append(arrived, next())
	release <- true
	if !strings.Contains(arrived[0], byAPI[0]) { // events about different records have no order
		slices.Reverse(arrived)
	}
	wantTexts(t, arrived[0], byAPI...)
	wantTexts(t, arrived[1], `"type":"booking.status_changed"`, `"new_status":"cancelled"`, `"origin":"found"`, `"record":{"id":`)
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the program ended with %v\n%s", err, server.stderr)
	}
	printed(t, run(t, env, "", "webhooks", "log", "1"), "service.updated of services 1  delivered", "booking.status_changed of bookings", "answered 200")
}
