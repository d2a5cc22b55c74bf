package handlers_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"bookside/fixtures/browser"
	"bookside/handlers"
)

// TestDocsInABrowser opens the page at the root and under every base path,
// enters a key, sends a request and reads the response. The page contacts only
// the server.
func TestDocsInABrowser(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	page := browser.New(t) // one for all pages, because it caches the compiled Swagger UI
	for _, path := range []string{"/docs", "/v1/docs", "/wp-json/latepoint-api/v1/docs/"} {
		t.Run(path, func(t *testing.T) {
			traffic := browser.Watch(page, t)
			const operation = "#operations-status-status "
			// A click is sometimes lost while the page is still moving: start again, each time with more
			// patience for a slow machine.
			var err error
			for _, patience := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second} {
				attempt, cancel := context.WithTimeout(page, patience)
				err = chromedp.Do(attempt,
					chromedp.EmulateViewport(1200, 1000),
					chromedp.Navigate(server.URL+path),
					chromedp.Click(chromedp.CSS(".btn.authorize")),
					chromedp.SendKeys(chromedp.CSS(".auth-container input"), s.key),
					chromedp.Click(chromedp.CSS(".auth-btn-wrapper .authorize")),
					chromedp.Click(chromedp.CSS(".auth-btn-wrapper .btn-done")),
					chromedp.Click(chromedp.CSS(operation+".opblock-summary-control")),
					chromedp.Click(chromedp.CSS(operation+".execute")),
					chromedp.WaitVisible(chromedp.CSS(operation+".live-responses-table .response-col_status")),
				)
				cancel()
				if err == nil {
					break
				}
			}
			if err != nil {
				t.Fatalf("%v; faults: %q", err, traffic.Faults(server.URL))
			}
			browser.Screenshot(page, t, "docs"+strings.ReplaceAll(path, "/", "-"))
			answer, err := chromedp.Run(page, chromedp.Text(chromedp.CSS(operation+".live-responses-table tbody")))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"200", `"status": "success"`, `"timezone"`} {
				if !strings.Contains(answer, want) {
					t.Errorf("the answer lacks %s: %s", want, answer)
				}
			}
			for _, fault := range traffic.Faults(server.URL) {
				t.Error(fault)
			}
		})
	}
}

// TestSwaggerUIMatchesItsChecksums compares the embedded Swagger UI with the
// checksums of the release.
func TestSwaggerUIMatchesItsChecksums(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	sums, err := os.Open("swaggerui/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	files := 0
	for lines := bufio.NewScanner(sums); lines.Scan(); files++ {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		plain := s.do(http.MethodGet, "/v1/docs/"+name, nil).want(http.StatusOK)
		if got := sha256.Sum256(plain.body); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s differs from its checksum", name)
		}
		zipped := s.do(http.MethodGet, "/v1/docs/"+name, http.Header{"Accept-Encoding": {"gzip, br"}}).want(http.StatusOK)
		r, err := gzip.NewReader(bytes.NewReader(zipped.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if content, err := io.ReadAll(r); err != nil || !bytes.Equal(content, plain.body) {
			t.Errorf("%s differs when compressed: %v", name, err)
		}
	}
	if files != 2 {
		t.Errorf("%d files have a checksum, want 2", files)
	}
}

// TestDocsHeaders requests every file of the page, and files that are not part
// of it.
func TestDocsHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	for path, typ := range map[string]string{
		"/": "text/html", "/docs/docs.front.css": "text/css", "/docs": "text/html", "/v1/docs": "text/html", "/docs/docs.js": "text/javascript", "/v1/docs/swagger-ui.css": "text/css",
		"/docs/LICENSE": "text/plain", "/docs/NOTICE": "text/plain", "/docs/swagger-ui-bundle.js.LICENSE.txt": "text/plain",
	} {
		t.Run(path, func(t *testing.T) {
			a := s.do(http.MethodGet, path, nil).want(http.StatusOK)
			if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, typ) {
				t.Errorf("%s: Content-Type %q", path, got)
			}
			policy := a.header.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
				t.Errorf("%s: Content-Security-Policy %q", path, policy)
			}
		})
	}
	for _, path := range []string{"/docs/renew", "/docs/nothing.js", "/docs/..%2Fapi.go", "/v1/docs/swaggerui/docs.js"} {
		s.do(http.MethodGet, path, nil).want(http.StatusNotFound)
	}
	a := s.do(http.MethodGet, "/v1/docs/", nil).want(http.StatusPermanentRedirect)
	if got := a.header.Get("Location"); got != "../docs" {
		t.Errorf("a trailing slash redirects to %q", got)
	}
}

// TestFrontPageLeadsOn follows the links of the page at the root.
func TestFrontPageLeadsOn(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	front := s.do(http.MethodGet, "/", nil).want(http.StatusOK)
	links := regexp.MustCompile(`href="([a-z][^":]*)"`).FindAllSubmatch(front.body, -1)
	if len(links) != 3 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		s.do(http.MethodGet, "/"+string(link[1]), nil).want(http.StatusOK)
	}
	s.do(http.MethodPost, "/", nil).want(http.StatusNotFound)
}

// TestDocsVaryByOrigin: a cached document of one origin is not used for
// another.
func TestDocsVaryByOrigin(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) { o.AllowedOrigins = []string{"https://a.example", "https://b.example"} })
	for _, origin := range []string{"https://a.example", "https://b.example"} {
		a := s.do(http.MethodGet, "/v1/openapi.json", http.Header{"Origin": {origin}}).want(http.StatusOK)
		if got := a.header.Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("%s: allowed is %q", origin, got)
		}
		if vary := a.header.Values("Vary"); !slices.Contains(vary, "Origin") || !slices.Contains(vary, "Accept-Encoding") {
			t.Errorf("%s: Vary %q", origin, vary)
		}
	}
}
