package compare

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCrawl: a crawl has every route, filter, order, page and id of the extension, with values from the
// lists, and sends nothing to PHP.
func TestCrawl(t *testing.T) {
	t.Parallel()
	records := list(`{"id":"7","status":"approved","start_date":"2026-12-01","updated_at":"2026-11-03 10:00:00","customer":{"email":"ada@example.com"}}`,
		`{"id":"9","status":"approved","start_date":"2026-12-24","updated_at":"2026-11-05 10:00:00","customer":{"email":"eva@example.com"},"service":{"id":"4"},"extras":[{"id":7,"quantity":2}]}`)
	records = strings.Replace(records, `"total":2`, `"total":250,"total_pages":3`, 1)
	bookside := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/bookings") {
			reply{body: records}.send(w)
			return
		}
		reply{body: `{}`}.send(w)
	})
	php := &standIn{replies: []reply{{body: `{}`}}}
	run := startRun(t, php, bookside)
	requests, err := run.Crawl(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/status",
		"/bookings", "/bookings?per_page=1", "/bookings?per_page=5", "/bookings?per_page=100", "/bookings?page=2", "/bookings?page=2&per_page=5",
		"/bookings?page=3&per_page=100", "/bookings?page=1000000&per_page=100",
		"/bookings?status=approved", "/bookings?customer_email=ada%40example.com", "/bookings?customer_email=eva%40example.com",
		"/bookings?date_from=2026-12-01", "/bookings?date_from=2026-12-24", "/bookings?updated_from=2026-11-03", "/bookings?updated_from=2026-11-05",
		"/bookings?sort=status", "/bookings?sort=id",
		"/bookings/7", "/bookings/9", "/bookings/8388607",
		"/customers", "/customers/8388607",
		"/availability?date=2026-11-23", "/availability?date=2026-12-22",
		"/availability?date=2026-11-23&extras=%5B%7B%22id%22%3A%227%22%2C%22quantity%22%3A%222%22%7D%5D&service_id=4",
		"/payments/8388607",
	}
	if diff := cmp.Diff(want, texts(requests)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if n := php.asked.Load(); n > 0 {
		t.Errorf("PHP was asked %d times", n)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		n    int
		want string
	}{{1, "a"}, {2, "a e"}, {3, "a c e"}, {9, "a b c d e"}} {
		if got := strings.Join(spread([]string{"a", "b", "a", "c", "d", "e", "e"}, test.n), " "); got != test.want {
			t.Errorf("%d of them: %s, want %s", test.n, got, test.want)
		}
	}
}
