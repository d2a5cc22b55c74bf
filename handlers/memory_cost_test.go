//go:build !race

// The race detector slows down the many garbage collections needed to find a peak.

package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// sink is a client that discards the response.
type sink struct {
	header http.Header
	status int
	bytes  int
	begin  []byte
}

// Header is part of http.ResponseWriter.
func (s *sink) Header() http.Header { return s.header }

// WriteHeader is part of http.ResponseWriter.
func (s *sink) WriteHeader(status int) { s.status = status }

// Write is part of http.ResponseWriter.
func (s *sink) Write(p []byte) (int, error) {
	s.bytes += len(p)
	s.begin = append(s.begin, p[:min(len(p), 300-min(len(s.begin), 300))]...)
	return len(p), nil
}

// Flush is part of http.Flusher.
func (s *sink) Flush() {}

// alone reports whether the test has a process to itself, whose heap is small and whose collector stops
// everything and sweeps at once: beside other work, garbage would pile up before a concurrent collector gets
// its turn. If it has none, alone runs the test in one, with the same result.
func alone(t *testing.T) bool {
	t.Helper()
	const itself = "BOOKSIDE_TEST_ALONE"
	if os.Getenv(itself) != "" {
		return true
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), itself+"=1", "GODEBUG=gcstoptheworld=2")
	output, err := child.CombinedOutput()
	if t.Logf("%s", output); err != nil {
		t.Error(err)
	}
	return false
}

// growth returns how far the heap grows at most during work. Nothing else may run in the process.
func growth(work func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(4)) // 2 MiB of the fixtures' heap
	runtime.GC()
	runtime.GC() // the second run empties the pools
	heap := func() int64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, most := heap(), int64(0)
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			most = max(most, heap())
			select {
			case <-over:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	work()
	close(over)
	<-watched
	return most - before
}

// peak returns how far the heap grows at most while a request is answered.
func (s *server) peak(method, path, contentType, body string) (grown int64, answer *sink) {
	request := httptest.NewRequestWithContext(s.t.Context(), method, "/v1"+path, bytes.NewReader([]byte(body)))
	request.Header = http.Header{"X-Api-Key": {s.key}, "Content-Type": {contentType}}
	answer = &sink{header: http.Header{}}
	return growth(func() { s.handler.ServeHTTP(answer, request) }), answer
}

const mebibyte = 1 << 20

// fill repeats a text up to the largest allowed body, leaving some room.
func fill(text string, room int) string { return strings.Repeat(text, (mebibyte-room)/len(text)) }

// TestMemoryOfBodies: no body of any kind costs more than 16 MiB, valid or not.
func TestMemoryOfBodies(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	fixtures.RequireThorough(t)
	if !alone(t) {
		return
	}
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), limitMemory)
	const most = 16 * mebibyte
	const form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	part := func(name, value string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	var manyNames, manyParts, deepParts, keys, bookings, formBookings strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&manyNames, "n%d%s=%d&", i, strings.Repeat("[a]", 64), i)
		manyParts.WriteString(part(fmt.Sprintf("n%d", i), strings.Repeat("x", 900)))
		deepParts.WriteString(part(fmt.Sprintf("n%d%s", i, strings.Repeat("[a]", 64)), "x"))
	}
	for i := range 9_999 {
		fmt.Fprintf(&keys, `"%05d":"%090d",`, i, i)
	}
	for i := range 50 {
		fmt.Fprintf(&bookings, `{"service_id":%d,"notes":"%s"},`, i, strings.Repeat(`\u0001`, 3400))
		fmt.Fprintf(&formBookings, "bookings[%d][notes]=%s&", i, strings.Repeat("\x01", 20_000))
	}
	bodies := map[string]struct{ contentType, body string }{
		"JSON: a long text":               {jsonType, `{"first_name":"a","notes":"` + fill("x", 100) + `"}`},
		"JSON: escapes":                   {jsonType, `{"first_name":"a","notes":"` + fill(`\u0001`, 100) + `"}`},
		"JSON: surrogates":                {jsonType, `{"first_name":"a","description":"` + fill(`\ud83d\ude00`, 100) + `"}`},
		"JSON: tags":                      {jsonType, `{"name":"a","description":"` + fill(`<a href=//a>`, 100) + `"}`},
		"JSON: open tags":                 {jsonType, `{"name":"a","notes":"` + fill(`<`, 100) + `","description":"x"}`},
		"JSON: tags that are read":        {jsonType, `{"name":"a","short_description":"` + strings.Repeat(`<a href=//a>`, 20_000) + `","description":"` + strings.Repeat(`<b>`, 80_000) + `"}`},
		"JSON: open tags in a name":       {jsonType, `{"first_name":"` + strings.Repeat(`<`, 250_000) + `","last_name":"` + strings.Repeat(`<a`, 125_000) + `","notes":"` + strings.Repeat(`<`, 250_000) + `","admin_notes":"` + strings.Repeat(`%41<`, 60_000) + `"}`},
		"JSON: ampersands":                {jsonType, `{"name":"` + fill(`&`, 100) + `"}`},
		"JSON: percent octets":            {jsonType, `{"first_name":"` + fill(`%2525`, 100) + `"}`},
		"JSON: a list":                    {jsonType, `[` + fill(`1,`, 100) + `1]`},
		"JSON: a list within":             {jsonType, `{"bookings":[` + strings.Repeat(`1,`, 19_000) + `1]}`},
		"JSON: deep lists":                {jsonType, fill(`[`, 100)},
		"JSON: deep objects":              {jsonType, strings.Repeat(`{"customer":`, 511) + `{"a":"` + fill("x", 10_000) + `"}` + strings.Repeat(`}`, 511)},
		"JSON: many keys":                 {jsonType, `{` + strings.TrimSuffix(keys.String(), ",") + `}`},
		"JSON: many custom fields":        {jsonType, `{"first_name":"a","last_name":"b","email":"c@example.test","custom_fields":{` + strings.TrimSuffix(keys.String(), ",") + `}}`},
		"JSON: too many keys":             {jsonType, `{` + fill(`"a":1,`, 100) + `"a":1}`},
		"JSON: duplicate keys":            {jsonType, `{` + strings.Repeat(`"customer":{"email":"`+strings.Repeat("x", 900)+`"},`, 1000) + `"a":1}`},
		"JSON: a long key":                {jsonType, `{"` + fill("x", 100) + `":1}`},
		"JSON: a long number":             {jsonType, `{"price":` + fill("9", 100) + `}`},
		"JSON: bookings":                  {jsonType, `{"bookings":[` + strings.TrimSuffix(bookings.String(), ",") + `]}`},
		"JSON: objects in a booking":      {jsonType, `{"bookings":[{"customer":[` + strings.Repeat(`{},`, 9_000) + `{}]}]}`},
		"JSON in a text":                  {jsonType, `{"customer":"` + fill(`{\"a\":`, 100) + `"}`},
		"form: a long value":              {form, "notes=" + fill("x", 100)},
		"form: control characters":        {form, "notes=" + fill("\x01", 100)},
		"form: escapes":                   {form, "notes=" + fill("%01", 100)},
		"form: broken escapes":            {form, "notes=" + fill("%", 100)},
		"form: nested variables":          {form, strings.TrimSuffix(manyNames.String(), "&")},
		"form: nested lists":              {form, strings.ReplaceAll(manyNames.String(), "[a]", "[]")},
		"form: more variables":            {form, fill("a[b][c][d]=1&", 100)},
		"form: a deep name":               {form, "a" + fill("[a]", 100) + "=1"},
		"form: an open name":              {form, "a" + fill("[", 100) + "=1"},
		"form: bookings":                  {form, formBookings.String()},
		"form: JSON in a value":           {form, "customer=" + url.QueryEscape(strings.Repeat(`{"a":`, 70_000))},
		"form: JSON":                      {form, `{"notes":"` + fill("x", 100) + `"}`},
		"multipart: a long value":         {parts, part("notes", fill("x", 200)) + "--x--\r\n"},
		"multipart: control characters":   {parts, part("notes", fill("\x01", 200)) + "--x--\r\n"},
		"multipart: parts":                {parts, manyParts.String() + "--x--\r\n"},
		"multipart: nested names":         {parts, deepParts.String() + "--x--\r\n"},
		"multipart: more parts":           {parts, fill(part("a", ""), 100) + "--x--\r\n"},
		"multipart: a file":               {parts, strings.Replace(part("a", fill("x", 200)), `"a"`, `"a"; filename="b"`, 1) + "--x--\r\n"},
		"multipart: a long head":          {parts, "--x\r\nContent-Disposition: form-data; name=\"" + fill("x", 200) + "\"\r\n\r\n1\r\n--x--\r\n"},
		"multipart: many head lines":      {parts, "--x\r\n" + fill("a:b\r\n", 200) + "\r\n1\r\n--x--\r\n"},
		"multipart: many different lines": {parts, "--x\r\n" + headLines() + "\r\n1\r\n--x--\r\n"},
	}
	for name, c := range bodies {
		if len(c.body) > mebibyte {
			t.Fatalf("%s: %d bytes", name, len(c.body))
		}
		routes := []string{"POST /bookings"}
		switch {
		case strings.Contains(c.body, "bookings"), strings.HasPrefix(c.body, "["), strings.Contains(name, "nested"):
			routes = append(routes, "POST /bookings/bulk")
		case strings.Contains(c.body[:100], "name"):
			routes = append(routes, "POST /customers", "PUT /services/1")
		}
		for _, route := range routes {
			method, path, _ := strings.Cut(route, " ")
			grown, a := s.peak(method, path, c.contentType, c.body)
			t.Logf("%6.1f MiB, status %d, answer of %d bytes: %s, %s", float64(grown)/mebibyte, a.status, a.bytes, name, route)
			if grown > most || a.status >= http.StatusInternalServerError {
				t.Errorf("%s, %s: %.1f MiB, status %d: %s", name, route, float64(grown)/mebibyte, a.status, a.begin)
			}
		}
	}
}

// headLines returns many short header lines, no two alike.
func headLines() string {
	var b strings.Builder
	for i := 0; b.Len() < mebibyte-200; i++ {
		fmt.Fprintf(&b, "%x:\r\n", i)
	}
	return b.String()
}

// TestMemoryOfRequests: no request costs more than 32 MiB, not even on a site with very long texts; one
// that would is rejected with advice.
func TestMemoryOfRequests(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	fixtures.RequireThorough(t)
	if !alone(t) {
		return
	}
	s := newServer(t, fixtures.New(t, fixtures.Large(now)), limitMemory)
	const most = 32 * mebibyte
	for path, status := range map[string]int{
		"/availability?service_id=1001&agent_id=any&location_id=any&date=2030-01-07&date_to=2030-03-09": http.StatusOK,
		"/availability?service_id=1001&agent_id=any&location_id=any&date=2030-01-07":                    http.StatusOK,
		"/availability?service_id=1001&agent_id=any&location_id=any&date=2030-01-07&explain=1":          http.StatusOK,
		"/agents/availability?service_id=1001&date=2030-01-07&start_time=15:00&limit=100":               http.StatusOK,
		"/bookings?date_from=2032-01-01&per_page=100&include_meta=1":                                    http.StatusBadRequest,
		"/bookings?date_from=2032-01-01&per_page=5&include_meta=1":                                      http.StatusOK,
		"/bookings?date_to=2031-01-01&per_page=100&include_meta=1":                                      http.StatusOK,
		"/customers?per_page=100": http.StatusBadRequest,
		"/customers?per_page=7":   http.StatusOK,
		"/customers/2001?include=bookings,upcoming_bookings&bookings_limit=100": http.StatusBadRequest,
		"/customers/2001?include=bookings,upcoming_bookings&bookings_limit=2":   http.StatusOK,
		"/orders?per_page=100":                   http.StatusBadRequest,
		"/orders?per_page=7":                     http.StatusOK,
		"/orders/2001/transactions?per_page=100": http.StatusBadRequest,
		"/payments?per_page=100":                 http.StatusBadRequest,
		"/payments?per_page=7":                   http.StatusOK,
		"/agents?per_page=100":                   http.StatusOK,
		"/services?per_page=100&include=category,agents,locations,categories": http.StatusOK,
		"/locations?per_page=100": http.StatusOK,
		"/coupons?per_page=100":   http.StatusOK,
	} {
		t.Run(path, func(t *testing.T) {
			grown, a := s.peak(http.MethodGet, path, "", "")
			t.Logf("%6.1f MiB, status %d, answer of %d bytes: %s", float64(grown)/mebibyte, a.status, a.bytes, path)
			if grown > most || a.status != status {
				t.Errorf("%s: %.1f MiB, status %d, want %d: %s", path, float64(grown)/mebibyte, a.status, status, a.begin)
			}
			if a.status == http.StatusBadRequest && !bytes.Contains(a.begin, []byte("The response would be too large; ask for less")) {
				t.Errorf("%s: %s", path, a.begin)
			}
		})
	}
}

// TestMemoryOfExports: a list that is ten times as long needs no more memory, in every format, from the
// server and from the program itself.
func TestMemoryOfExports(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	fixtures.RequireThorough(t)
	if !alone(t) {
		return
	}
	const short, long = 2_000, 20_000 // records; of as many bookings, about a tenth are before 2030
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	s.key = s.newKey("read")
	database.Execute(t,
		`INSERT INTO wp_latepoint_customers (first_name, last_name, email, notes, status, created_at, updated_at)
			SELECT 'Jo', 'Doe', CONCAT(a.id, '.', b.id, '@example.com'), REPEAT('x', 300), 'active', '2026-01-01', '2026-01-01' FROM wp_latepoint_bookings a JOIN wp_latepoint_bookings b LIMIT 20000`,
		`INSERT INTO wp_latepoint_bookings (agent_id, service_id, location_id, customer_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, created_at, updated_at)
			SELECT a.agent_id, a.service_id, a.location_id, a.customer_id, 'approved', IF(b.id % 10 = 0, '2029-01-01', '2030-01-01'), 540, IF(b.id % 10 = 0, '2029-01-01', '2030-01-01'), 600, 0, 0, '2026-01-01', '2026-01-01' FROM wp_latepoint_bookings a JOIN wp_latepoint_bookings b LIMIT 20000`)
	// from measures sending a number of records.
	type from func(t *testing.T, records int) (grown int64, sent int)
	server := func(path, accept string) from {
		return func(t *testing.T, records int) (grown int64, sent int) {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/v1%s?per_page=%d", path, records), nil)
			request.Header = http.Header{"X-Api-Key": {s.key}, "Accept": {accept}}
			answer := &sink{header: http.Header{}}
			grown = growth(func() { s.handler.ServeHTTP(answer, request) })
			if answer.status != http.StatusOK {
				t.Fatalf("status %d: %s", answer.status, answer.begin)
			}
			return grown, answer.bytes
		}
	}
	for name, measure := range map[string]from{
		"customers as CSV":       server("/customers", "text/csv"),
		"bookings as CSV":        server("/bookings", "text/csv"),
		"bookings as a calendar": server("/bookings", "text/calendar"),
	} {
		t.Run(name, func(t *testing.T) {
			before, few := measure(t, short)
			grown, many := measure(t, long)
			t.Logf("%.1f MiB for %.1f MiB, %.1f MiB for %.1f MiB", float64(before)/mebibyte, float64(few)/mebibyte, float64(grown)/mebibyte, float64(many)/mebibyte)
			if many < few+4*mebibyte || grown > before+4*mebibyte { // one garbage collection more or less
				t.Error("memory grows with the list")
			}
		})
	}
}

// TestDocsWithoutCompression: clients without gzip do not make the server decompress a file each time. It
// is not parallel, because it measures allocations.
func TestDocsWithoutCompression(t *testing.T) {
	s := newServer(t, small(t))
	const path, requests = "/docs/swagger-ui-bundle.js", 20
	size := len(s.do(http.MethodGet, path, nil).want(http.StatusOK).body)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		client := &sink{header: http.Header{}}
		if s.handler.ServeHTTP(client, request); client.bytes != size {
			t.Fatalf("%d of %d bytes", client.bytes, size)
		}
	}
	runtime.ReadMemStats(&after)
	if each := int(after.TotalAlloc-before.TotalAlloc) / requests; each > size/10 {
		t.Errorf("each request allocates %d bytes", each)
	}
}
