package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bookside/bookside/fixtures/browser"
)

// person uses the console as somebody would who knows it from its texts alone.
type person struct {
	t    *testing.T
	page context.Context
}

// visible finds the element that shows a text, or whose name it is: a link or a button, or else the row that has the
// text.
const visible = `text => {
	const named = e => [e.textContent, e.title, e.getAttribute("aria-label")].some(name => name && name.trim().replace(/\s+/g, " ") === text);
	return [...document.querySelectorAll("main a, nav a, button, summary")].find(named) || [...document.querySelectorAll("main a")].find(e => e.textContent.includes(text) || e.title.includes(text));
}`

// sees waits until the page shows all texts.
func (p person) sees(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.until("document.readyState === 'complete' && document.body.innerText.includes(" + quote(text) + ")")
	}
}

// follows clicks the link or the button with a text.
func (p person) follows(text string) {
	p.t.Helper()
	p.until("(e => e && (e.click(), true))((" + visible + ")(" + quote(text) + "))")
}

// enters puts a value into the field with a label.
func (p person) enters(label, value string) {
	p.t.Helper()
	p.until(`(field => field && (field.value = ` + quote(value) + `, true))([...document.querySelectorAll("label")].find(l => l.textContent.trim() === ` + quote(label) + `)?.control)`)
}

// until waits until an expression is true in the page; it fails while the browser is between pages.
func (p person) until(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		holds, err := chromedp.Run(p.page, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			shown, _ := chromedp.Run(p.page, chromedp.Evaluate[string]("location.pathname + '\\n' + document.body.innerText"))
			p.t.Fatalf("%s: %v, at %s", expression, err, shown)
		}
	}
}

// awaits reloads the page until an expression is true in it.
func (p person) awaits(expression string) {
	p.t.Helper()
	for range 40 {
		if holds, err := chromedp.Run(p.page, chromedp.Evaluate[bool]("Boolean("+expression+")")); err == nil && holds {
			return
		}
		time.Sleep(500 * time.Millisecond)
		if err := chromedp.Do(p.page, chromedp.Reload()); err != nil {
			p.t.Fatal(err)
		}
	}
	p.t.Fatalf("never: %s", expression)
}

func quote(text string) string { return "`" + text + "`" }

var loginToken = regexp.MustCompile(`ten minutes: (\w+)`)

// TestFirstHour goes from the first lines of the demo to a webhook, cancels a booking through the API, and finds the
// request that did it and what the webhook was sent, by what the pages say and without a document.
func TestFirstHour(t *testing.T) {
	page := browser.New(t)
	d := startDemo(t, time.Now, "--now", "2027-01-11T08:00")
	token := loginToken.FindStringSubmatch(d.line("console"))
	if token == nil {
		t.Fatalf("no token is printed: %q", d.lines)
	}
	received := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- string(body)
	}))
	t.Cleanup(receiver.Close)
	if err := chromedp.Do(page, chromedp.Navigate(d.admin)); err != nil {
		t.Fatal(err)
	}
	p := person{t, page}

	p.enters("Token", token[1])
	p.follows("Log in")
	p.sees("What needs you", "Today and tomorrow")

	p.follows("Webhooks")
	p.follows("New webhook")
	p.enters("URL", receiver.URL)
	p.follows("Add the webhook")
	p.sees("The webhook was added")

	var list struct{ Data []struct{ ID json.Number } }
	if status := ask(t, http.MethodGet, d.api+"/bookings?status=approved&sort=start_date&order=desc&per_page=1", d.key, "", &list); status != http.StatusOK || len(list.Data) != 1 {
		t.Fatalf("status %d, %v", status, list)
	}
	changed := "/bookings/" + list.Data[0].ID.String()
	if status := ask(t, http.MethodPut, d.api+changed, d.key, `{"status":"cancelled"}`, &struct{}{}); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}

	select {
	case body := <-received:
		if !strings.Contains(body, "booking.") {
			t.Errorf("the webhook sent %s", body)
		}
	case <-time.After(time.Minute):
		t.Error("the webhook sent nothing")
	}
	p.follows("Requests")
	p.awaits("document.body.innerText.includes(" + quote("PUT "+changed) + ")")
	p.follows("Webhooks")
	p.follows(strings.TrimPrefix(receiver.URL, "http://"))
	p.awaits("document.body.innerText.includes('booking.status_changed') && document.body.innerText.includes('delivered')")
	p.follows("Payload of booking.status_changed")
	p.sees(`"resource":"bookings"`)
	p.follows("Changes")
	p.sees("Booking")
}
