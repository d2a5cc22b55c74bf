package compare

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/bookside/bookside/fixtures/browser"
)

// TestPage: the page is well laid out on desktops and phones, in light and dark mode, needs nothing else,
// and ends with the switch.
func TestPage(t *testing.T) {
	t.Parallel()
	php := &standIn{replies: []reply{
		{body: `{"data":[{"id":"7","status":"approved","customer":{"first_name":"Ada","email":"ada@example.com"},"notes":"` + strings.Repeat("long text ", 40) + `"}],"n":1}`},
		{body: `{"data":[{"id":"7","status":"approved","customer":{"first_name":"Ada","email":"ada@example.com"},"notes":"` + strings.Repeat("long text ", 40) + `"}],"n":2}`},
	}}
	bookside := &standIn{replies: []reply{{body: `{"n":3,"data":[{"id":7,"status":"pending","customer":{"first_name":"Eva","email":"ada@example.com"}}],"success":true}`}}}
	run := startRun(t, php, bookside)
	result := run.Compare(t.Context(), []Request{requestOf(t, "/bookings?customer_email=ada@example.com&page=2"), requestOf(t, "/customers"), requestOf(t, "/bookings/8")})
	result.Source = "3 requests of a list"
	var page strings.Builder
	if err := result.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	last := 0
	for _, want := range []string{"DIFFERENT: 3 of 3 requests differ", "<h2>Routes</h2>", "<h2>Times</h2>", "<svg", "Differences (", "Known differences (", "Noise (", "Remarks (", "not seen in the requests", "The switch", "include snippets/bookside-routes.conf;", "way back"} {
		at := strings.Index(text, want)
		if at < last {
			t.Errorf("%q is missing, or stands too early", want)
		}
		last = max(last, at)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	tab := browser.New(t)
	traffic := browser.Watch(tab, t)
	for name, screen := range map[string]chromedp.Action[chromedp.Void]{
		"desktop": chromedp.EmulateViewport(1280, 900), "phone": chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile),
	} {
		for _, scheme := range []string{"light", "dark"} {
			_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			if err == nil {
				err = chromedp.Do(tab, screen)
			}
			if err == nil {
				err = chromedp.Do(tab, chromedp.Navigate(server.URL))
			}
			if err != nil {
				t.Fatal(err)
			}
			wide, err := chromedp.Run(tab, chromedp.Evaluate[float64]("document.documentElement.scrollWidth - window.innerWidth"))
			if err != nil || wide > 0 {
				t.Errorf("%s, %s: wider than the screen by %v, %v", name, scheme, wide, err)
			}
			browser.Screenshot(tab, t, "compare "+name+" "+scheme)
		}
	}
	faults := slices.DeleteFunc(traffic.Faults(server.URL), func(fault string) bool { return strings.Contains(fault, "favicon") })
	if len(faults) > 0 {
		t.Errorf("the page needs or breaks: %q", faults)
	}
}
