package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
)

// logIn sends a token to the console and returns the status.
func logIn(t *testing.T, admin, token string) (client *http.Client, status int) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	expect.NoError(t, err)
	client = &http.Client{Jar: jar}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+admin+"/console/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	expect.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return client, statusOf(t, client, request)
}

func statusOf(t *testing.T, client *http.Client, request *http.Request) int {
	t.Helper()
	request.Close = true
	response, err := client.Do(request)
	expect.NoError(t, err)
	defer response.Body.Close()
	return response.StatusCode
}

// TestAdminToken opens the console of a running server, and that of a restarted one.
func TestAdminToken(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	quiet := run(t, env, "", "admin-token", "--quiet").want(t, exit.OK).stdout
	if !regexp.MustCompile(`^[A-Z2-7]{32}\n$`).MatchString(quiet) {
		t.Errorf("a token of %d characters", len(quiet))
	}
	s := serve(t, env)
	admin := s.admin()
	output := run(t, env, "", "admin-token", "--set", "admin.listen="+admin).want(t, exit.OK).stdout
	expect.Texts(t, output, "Open http://"+admin+"/console and enter it within 10 minutes. It works once.\n")
	client, status := logIn(t, admin, strings.TrimSpace(quiet))
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	if _, status := logIn(t, admin, strings.TrimSpace(quiet)); status != http.StatusForbidden {
		t.Errorf("the same token again: status %d", status)
	}
	expect.NoTexts(t, s.stderr.String()+output, strings.TrimSpace(quiet))
	expect.NoError(t, s.stop())
	env = append(env, "BOOKSIDE_ADMIN__LISTEN="+admin)
	again := serve(t, env)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/console/keys/new", nil)
	expect.NoError(t, err)
	if status := statusOf(t, client, request); status != http.StatusOK {
		t.Errorf("after a restart: status %d\n%s", status, again.stderr)
	}
	if _, status := logIn(t, admin, strings.Fields(output)[0]); status != http.StatusOK {
		t.Errorf("the second token: status %d", status)
	}
}

func TestAdminTokenWithoutConsole(t *testing.T) {
	t.Parallel()
	run(t, nil, "", "admin-token", "--set", "admin.listen=").want(t, exit.Failure, "admin.listen (BOOKSIDE_ADMIN__LISTEN) is empty")
	run(t, nil, "", "admin-token").want(t, exit.Usage, "db.dsn: ")
}

// TestAdminTokenWithoutCreatePrivilege: like keys create, the command needs its table.
func TestAdminTokenWithoutCreatePrivilege(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := account(t, db, "SELECT, INSERT, UPDATE, DELETE ON *")
	run(t, env, "", "admin-token").want(t, exit.Refused, "may not create the table wp_bookside_admin_tokens; run this command as one that may")
	newKey(t, settingsFor(db))
	run(t, env, "", "admin-token").want(t, exit.OK)
}
