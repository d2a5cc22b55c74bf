package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// keyFile creates a key with all read permissions and returns a file that contains it.
func keyFile(t *testing.T, env []string) string {
	t.Helper()
	key := run(t, env, "", "keys", "create", "--name", "compare", "--permissions", "read,write,delete", "--quiet").want(t, exit.OK).stdout
	return textFile(t, "key", key)
}

func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// phpStandIn returns a server whose responses are those of another, with some changes.
func phpStandIn(t *testing.T, of string, change func(path string, body []byte) []byte) string {
	t.Helper()
	target, err := url.Parse(of)
	expect.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body = change(r.Request.URL.Path, body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		r.Header.Del("Content-Length")
		r.ContentLength = int64(len(body))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// TestCompareCommand covers sources, exit codes and output.
func TestCompareCommand(t *testing.T) {
	t.Parallel()
	env := settingsFor(fixtures.Shared(t, fixtures.Small(now)), unlimited...)
	key := keyFile(t, env)
	bookside := serve(t, env).url
	php := phpStandIn(t, bookside, func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/services") {
			return []byte(strings.ReplaceAll(string(body), `"status":"active"`, `"status":"on"`))
		}
		return body
	})
	compared := func(php string, more ...string) result {
		return run(t, nil, "", append([]string{"compare", "--php", php, "--php-key-file", key, "--bookside", bookside, "--rate", "0"}, more...)...)
	}
	const line = `192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] "GET /wp-json/latepoint-api/v1%s HTTP/1.1" 200 1 "-" "-"` + "\n"
	log := textFile(t, "access.log", strings.ReplaceAll(line, "%s", "/bookings?per_page=2&api_key=s3cret")+strings.ReplaceAll(line, "%s", "/agents"))
	older := textFile(t, "access.log.1", strings.ReplaceAll(line, "%s", "/services?page=1"))
	list := textFile(t, "list", "/bookings\nGET /agents/1\n")

	got := compared(php, "--log", log).want(t, exit.OK)
	expect.Texts(t, got.stdout, "ROUTE", "/bookings  1", "2 of 2 requests compared\n")
	expect.NoTexts(t, got.stdout+got.stderr, "s3cret")
	got = compared(php, "--log", log, "--log", older).want(t, exit.Different, "the answers of PHP and Bookside differ")
	expect.Texts(t, got.stdout, "/services  1         1\n", "/services  $.data[*].status: value, in 1\n  GET /services?page=1\n", `PHP:      "on"`, `Bookside: "active"`)
	compared(php, "--requests", list).want(t, exit.OK)
	got = compared(php, "--log", log, "--log", older, "--json").want(t, exit.Different)
	var found struct {
		Compared    int
		Routes      []struct{ Differing int }
		Differences []struct{ Route, Field, Kind, PHP, Bookside string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &found); err != nil || found.Compared != 3 || len(found.Routes) != 3 || len(found.Differences) != 1 || found.Differences[0].Field != "$.data[*].status" {
		t.Errorf("%v: %s", err, got.stdout)
	}

	gone := httptest.NewServer(nil)
	gone.Close()
	compared(gone.URL, "--requests", list).want(t, exit.Failure, "nothing was compared: PHP: ", "does not answer")
	compared(php, "--requests", textFile(t, "list", "/bookings\n"), "--php-key-file", textFile(t, "key", "wrong")).want(t, exit.Failure, "rejects the key with 401")
	limited := textFile(t, "key", run(t, env, "", "keys", "create", "--name", "limited", "--permissions", "read_services", "--quiet").want(t, exit.OK).stdout)
	compared(php, "--requests", list, "--php-key-file", limited).want(t, exit.Incomplete, "both sides answer /bookings with 403")
	compared(php, "--log", textFile(t, "empty.log", "\n")).want(t, exit.Usage, "there is no GET of the API")
	compared(php, "--log", filepath.Join(t.TempDir(), "missing")).want(t, exit.Usage, "there is no log")
	for name, args := range map[string][]string{
		"write one of --log and --requests": {},
		"write one of --log":                {"--log", log, "--requests", list},
		"must not be negative":              {"--log", log, "--rate", "-1"},
		"--php: it must be a URL such as":   {"--log", log, "--php", "example.com"},
		"--key-file: ":                      {"--log", log, "--key-file", filepath.Join(t.TempDir(), "missing")},
	} {
		compared(php, args...).want(t, exit.Usage, name)
	}
}
