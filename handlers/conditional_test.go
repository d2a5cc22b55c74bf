package handlers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// tagOfBody returns the tag that a response with a body must have.
func tagOfBody(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// TestEveryReadHasATag: the response of every GET, except that of the current time, has a tag of its body,
// and is not sent again to a client that names the tag.
func TestEveryReadHasATag(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	p := newEveryOperation(t)
	p.valid["listFreeAgents"] = request{path: "/agents/availability", query: "service_id=4"}
	p.each(t, http.MethodGet, func(t *testing.T, p *everyOperation, id string, r request) {
		a := p.send(r).want(http.StatusOK)
		tag := a.header.Get("ETag")
		if id == "status" {
			if tag != "" || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("ETag %q, Cache-Control %q", tag, a.header.Get("Cache-Control"))
			}
			return
		}
		if tag != tagOfBody(a.body) || a.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("ETag %q, Cache-Control %q", tag, a.header.Get("Cache-Control"))
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r.method = method
			for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, `W/"a,b",W/` + tag, strings.Trim(tag, `"`), strings.TrimSuffix(tag, `"`) + `-gzip"`, "*"} {
				r.header = http.Header{"If-None-Match": {sent}}
				same := p.send(r)
				if same.status != http.StatusNotModified || len(same.body) > 0 || same.header.Get("ETag") != tag ||
					same.header.Get("Cache-Control") != "private, no-cache" || same.header.Get("X-Request-Id") == "" || same.header.Get("Content-Type") != "" {
					t.Errorf("%s, If-None-Match %s: %d %v %s", method, sent, same.status, same.header, same.body)
				}
			}
			for _, sent := range []string{"", `""`, `"other"`, `"*"`, `"other,` + strings.Trim(tag, `"`) + `"`, strings.ToUpper(tag), tag[:20] + `"`} {
				r.header = http.Header{"If-None-Match": {sent}}
				if again := p.send(r); again.status != http.StatusOK || again.header.Get("ETag") != tag || string(again.body) != string(a.body) {
					t.Errorf("%s, If-None-Match %s: %d %s", method, sent, again.status, again.body)
				}
			}
		}
	})
}

// TestNotModifiedAnswersAreLimitedAndExposed: a response without a body costs a request like any other, and
// has the same headers for pages of other origins.
func TestNotModifiedAnswersAreLimitedAndExposed(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), func(o *handlers.Options) {
		o.RateLimit.Enabled, o.AllowedOrigins = true, []string{"https://app.example"}
	})
	const path = "/v1/agents/1"
	header := http.Header{"X-Api-Key": {s.key}, "Origin": {"https://app.example"}}
	first := s.do(http.MethodGet, path, header).want(http.StatusOK)
	header.Set("If-None-Match", first.header.Get("ETag"))
	same := s.do(http.MethodGet, path, header).want(http.StatusNotModified)
	if before, after := first.header.Get("X-RateLimit-Remaining"), same.header.Get("X-RateLimit-Remaining"); before != "59" || after != "58" {
		t.Errorf("%s requests left, then %s", before, after)
	}
	for name := range first.header {
		if name != "Content-Type" && len(same.header.Values(name)) == 0 {
			t.Errorf("304 lacks %s", name)
		}
	}
	if exposed := strings.Split(same.header.Get("Access-Control-Expose-Headers"), ","); !slices.Contains(exposed, "ETag") {
		t.Errorf("exposed: %v", exposed)
	}
	preflight := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, path, nil)
	preflight.Header.Set("Origin", "https://app.example")
	preflight.Header.Set("Access-Control-Request-Method", http.MethodPut)
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, preflight)
	allowed := recorder.Header().Get("Access-Control-Allow-Headers")
	for _, name := range []string{"If-None-Match"} {
		if !slices.Contains(strings.Split(allowed, ","), name) {
			t.Errorf("%s is not allowed: %s", name, allowed)
		}
	}
}

// TestErrorsHaveNoTag: an error is never stored, and no condition changes it.
func TestErrorsHaveNoTag(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	for path, status := range map[string]int{
		"/v1/bookings/8000000": http.StatusNotFound, "/v1/bookings?page=0": http.StatusBadRequest, "/v1/nothing": http.StatusNotFound,
	} {
		a := s.do(http.MethodGet, path, http.Header{"X-Api-Key": {s.key}, "If-None-Match": {"*"}}).want(status)
		if a.header.Get("ETag") != "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: ETag %q, Cache-Control %q", path, a.header.Get("ETag"), a.header.Get("Cache-Control"))
		}
	}
}

// TestTagsFollowTheContent: a change by plain SQL changes the tag, and so does anything that a key may not
// see.
func TestTagsFollowTheContent(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()))
	all, also, some := s.newKey("read"), s.newKey("read", "write_bookings"), s.newKey("read_bookings")
	tag := func(path, key string) string {
		return s.do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {key}}).want(http.StatusOK).header.Get("ETag")
	}
	const path = "/bookings/53"
	if len(s.get(path).at("data", "transactions").([]any)) == 0 {
		t.Fatal("the booking has no payment to hide")
	}
	first := tag(path, all)
	if tag(path, also) != first {
		t.Error("keys that see the same get different tags")
	}
	hidden := tag(path, some)
	if hidden == first {
		t.Error("a key that does not see the payments gets the same tag")
	}
	s.do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {some}, "If-None-Match": {first}}).want(http.StatusOK)
	listPath := fmt.Sprint("/bookings?per_page=100&customer_id=", s.get(path).at("data", "customer", "id"))
	list := tag(listPath, all)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET total_attendees = total_attendees + 1 WHERE id = 53")
	for what, tags := range map[string][2]string{"booking": {first, tag(path, all)}, "guarded booking": {hidden, tag(path, some)}, "list": {list, tag(listPath, all)}} {
		if tags[0] == tags[1] {
			t.Errorf("%s: the tag is the same after a change", what)
		}
	}
}

// TestSharedReadsHaveTheTagOfTheirBody: requests that share one execution are each answered by their own
// condition.
func TestSharedReadsHaveTheTagOfTheirBody(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	const path = "/v1/bookings?per_page=100"
	first := s.do(http.MethodGet, path, http.Header{"X-Api-Key": {s.key}}).want(http.StatusOK)
	tag := first.header.Get("ETag")
	var readers sync.WaitGroup
	for i := range 16 {
		readers.Go(func() {
			for range 10 {
				header := http.Header{"X-Api-Key": {s.key}}
				want := http.StatusOK
				if i%2 == 0 {
					header.Set("If-None-Match", tag)
					want = http.StatusNotModified
				}
				a := s.do(http.MethodGet, path, header)
				if a.status != want || a.header.Get("ETag") != tag || want == http.StatusOK && string(a.body) != string(first.body) {
					t.Errorf("%d, want %d: ETag %s", a.status, want, a.header.Get("ETag"))
				}
			}
		})
	}
	readers.Wait()
}
