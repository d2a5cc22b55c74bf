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
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/bookside/compare"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
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
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withoutLimits returns the environment of a server that answers any number of requests.
func withoutLimits(db *fixtures.Database) []string {
	return settingsFor(db, "BOOKSIDE_RATE_LIMIT__ENABLED=false", "BOOKSIDE_CONFLICTS__INTERVAL=0s", "BOOKSIDE_CHANGES__INTERVAL=0s")
}

// TestCompareCrawl: a crawl of the sample sites finds no difference between two servers on the same tables,
// and requests every route. A quick run crawls a site with the newest tables and one with the oldest.
func TestCompareCrawl(t *testing.T) {
	t.Parallel()
	sites := []fixtures.Site{fixtures.Small(now), fixtures.Edge(), fixtures.Legacy(), fixtures.SiteA().WithFewBookings().WithCoupons()}
	for _, site := range fixtures.Sample(sites, 2) {
		t.Run(site.Name, func(t *testing.T) {
			t.Parallel()
			env := withoutLimits(fixtures.New(t, site))
			key := keyFile(t, env)
			page := filepath.Join(t.TempDir(), "compare.html")
			got := run(t, nil, "", "compare", "--php", serve(t, env).url, "--php-key-file", key, "--bookside", serve(t, env).url,
				"--crawl", "--samples", "1", "--rate", "0", "--json", "--html", page).want(t, exit.OK)
			var result struct {
				Outcome                                          string
				Compared                                         int
				Routes                                           []struct{ Requests int }
				Differences, KnownDifferences, Failures, Remarks []any
				UnseenRoutes                                     []string `json:"unseen_routes"`
				UnseenParameters                                 []string `json:"unseen_parameters"`
			}
			if err := json.Unmarshal([]byte(got.stdout), &result); err != nil {
				t.Fatal(err)
			}
			if result.Outcome != "equal" || result.Compared < 200 || len(result.Failures)+len(result.Differences)+len(result.Remarks) > 0 {
				t.Errorf("%.4000s", got.stdout)
			}
			if len(result.UnseenRoutes)+len(result.UnseenParameters) > 0 {
				t.Errorf("not seen: %q, %q", result.UnseenRoutes, result.UnseenParameters)
			}
			if content, err := os.ReadFile(page); err != nil || !strings.Contains(string(content), "EQUAL: none of "+strconv.Itoa(result.Compared)+" requests differs") {
				t.Errorf("page %v: %.500s", err, content)
			}
		})
	}
}

// phpStandIn returns a server whose responses are those of another, with some changes.
func phpStandIn(t *testing.T, of string, change func(path string, body []byte) []byte) string {
	t.Helper()
	target, err := url.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
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
	env := withoutLimits(fixtures.Shared(t, fixtures.Small(now)))
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
	wantTexts(t, got.stdout, "EQUAL: none of 2 requests differs", "/bookings/{id}", "ROUTE", "include snippets/bookside-routes.conf;", "import bookside-routes.caddy", "Include bookside-routes.conf", "Remove that line")
	if strings.Contains(got.stdout+got.stderr, "s3cret") {
		t.Errorf("a key is printed: %s", got.stdout)
	}
	got = compared(php, "--log", log, older).want(t, exit.Different, "the answers of PHP and Bookside differ")
	wantTexts(t, got.stdout, "DIFFERENT: 1 of 3 requests differ, in 1 way", "/services  value at $.data[*].status", `PHP:      "on"`, `Bookside: "active"`)
	compared(php, "--log", log, older, "--ignore", "$.data[*].status").want(t, exit.OK)
	compared(php, "--requests", list).want(t, exit.OK)
	wantTexts(t, compared(php, "--log", log, "--json").want(t, exit.OK).stdout, `"outcome": "equal"`, `"source": "2 different requests of 2 GETs in 1 log files`)

	gone := httptest.NewServer(nil)
	gone.Close()
	compared(gone.URL, "--requests", list).want(t, exit.Failure, "nothing was compared: PHP: ", "does not answer")
	compared(php, "--log", textFile(t, "empty.log", "\n")).want(t, exit.Usage, "there is no GET of the API")
	compared(php, "--log", filepath.Join(t.TempDir(), "missing")).want(t, exit.Usage, "there is no log")
	for name, args := range map[string][]string{
		"one of --log, --crawl":           {},
		"write one of --log":              {"--log", log, "--crawl"},
		"1 words are left over":           {"--crawl", "user:password@tcp(db)/a"},
		"--writes needs --scenario":       {"--writes"},
		"are for --writes":                {"--crawl", "--scenario", "x"},
		"is not a JSON path":              {"--crawl", "--ignore", "a["},
		"--samples is at least 1":         {"--crawl", "--samples", "0"},
		"must not be negative":            {"--crawl", "--rate", "-1"},
		"--php: it must be a URL such as": {"--crawl", "--php", "example.com"},
		"--html: ":                        {"--crawl", "--html", filepath.Join(t.TempDir(), "missing", "page.html")},
		"--key-file: ":                    {"--crawl", "--key-file", filepath.Join(t.TempDir(), "missing")},
	} {
		if got := compared(php, args...).want(t, exit.Usage, name); strings.Contains(got.stderr, "password@") {
			t.Errorf("%s: a DSN is printed: %s", name, got.stderr)
		}
	}
}

// TestProgressLine: a terminal gets one line that is overwritten; other outputs get none.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	var terminal strings.Builder
	line := &progressLine{w: &terminal}
	line.show(compare.Progress{Done: 9, Planned: 12, Differing: 1, Waiting: "30s"})
	line.show(compare.Progress{Done: 10, Planned: 12, Differing: 1})
	line.clear()
	if got, want := terminal.String(), "\r9 of 12 compared, 1 differ; waiting 30s\r10 of 12 compared, 1 differ"+strings.Repeat(" ", 12)+"\r"+strings.Repeat(" ", 27)+"\r"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	var file strings.Builder
	other := newProgressLine(&file)
	other.show(compare.Progress{Done: 1, Planned: 2})
	other.clear()
	if file.Len() > 0 {
		t.Errorf("written to a file: %q", file.String())
	}
}
