package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"bookside/fixtures"
)

// newBrowser opens a page of a headless Chromium with a profile of its own, for
// chromedp.Run. Both end with the test, and the test ends before a page can
// hang for ever.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(fixtures.RequireTool(t, "chromium")), chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-extensions", true), chromedp.Flag("disable-dev-shm-usage", true),
		// Processes started in advance, for a window that nobody sees and for the next site.
		chromedp.Flag("disable-features", "PreloadTopChromeWebUI,SpareRendererForSitePerProcess"),
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	opened, closePage := chromedp.NewContext(allocator)
	ctx, cancel := context.WithTimeout(opened, 6*time.Minute)
	t.Cleanup(func() {
		// The browser must have ended before its profile is removed.
		if err := chromedp.Cancel(opened); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		cancel()
		closePage()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return ctx
}

// traffic is what the page of a browser asked for and complained of.
type traffic struct {
	mu         sync.Mutex
	addresses  []string
	complaints []string
}

// watchTraffic notes everything from now on.
func watchTraffic(browser context.Context, t *testing.T) *traffic {
	t.Helper()
	seen := &traffic{}
	err := chromedp.Listen(browser, func(event any) {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			seen.addresses = append(seen.addresses, e.Request.URL)
		case *network.EventWebSocketCreated:
			seen.addresses = append(seen.addresses, e.URL)
		case *runtime.EventExceptionThrown:
			thrown := chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}
			seen.complaints = append(seen.complaints, thrown.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source == log.EntrySourceSecurity {
				seen.complaints = append(seen.complaints, e.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(browser, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return seen
}

// faults are requests to any other origin, scripts that failed and breaches of
// the Content-Security-Policy. What a page carries itself (data:, blob:) is no
// request.
func (s *traffic) faults(origin string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults := slices.Clone(s.complaints)
	for _, address := range s.addresses {
		carried := strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "blob:"+origin)
		if !carried && !strings.HasPrefix(address, origin+"/") {
			faults = append(faults, "request to "+address)
		}
	}
	return faults
}

// screenshot leaves a picture of the whole page in the folder that
// BOOKSIDE_TEST_SCREENSHOTS names, for a person to look at.
func screenshot(browser context.Context, t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("BOOKSIDE_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(browser, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder+"/"+name+".png", picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBrowserTellsFaults opens a page that does everything a page must not do.
func TestBrowserTellsFaults(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	const broken = `<!doctype html><title>broken</title><img src="%s/pixel"><script src="forbidden.js"></script><script nonce="n">throw new Error("thrown")</script>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "script-src 'nonce-n'")
		w.Header().Set("Content-Type", "text/html")
		if _, err := fmt.Fprintf(w, broken, other.URL); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	browser := newBrowser(t)
	seen := watchTraffic(browser, t)
	if err := chromedp.Do(browser, chromedp.Navigate(server.URL)); err != nil {
		t.Fatal(err)
	}
	screenshot(browser, t, "broken")
	faults := strings.Join(seen.faults(server.URL), "\n")
	for _, want := range []string{"request to " + other.URL, "Content Security Policy", "thrown"} {
		if !strings.Contains(faults, want) {
			t.Errorf("no %q among the faults:\n%s", want, faults)
		}
	}
}
