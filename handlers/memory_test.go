package handlers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// limitMemory gives requests as much memory as the service unit leaves them.
func limitMemory(o *handlers.Options) { o.Memory, o.MemoryWait = 128<<20, 5*time.Second }

// TestTooManyVariables: requests with more variables than PHP reads are
// rejected, in both kinds of forms and in queries, on every route.
func TestTooManyVariables(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	header := func(contentType string) http.Header {
		return http.Header{"X-Api-Key": {s.key}, "Content-Type": {contentType}}
	}
	const form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	deep := "notes" + strings.Repeat("[a]", 65)
	for name, c := range map[string]struct{ contentType, body, message string }{
		"variables of a form": {form, strings.Repeat("notes=a&", 1001), "The request body has more than 1000 variables"},
		"levels of a form":    {form, deep + "=1", "The name of a variable in the request body nests deeper than 64 levels"},
		"parts":               {parts, strings.Repeat("--x\r\nContent-Disposition: form-data; name=\"notes\"\r\n\r\na\r\n", 1001) + "--x--\r\n", "The request body has more than 1000 variables"},
		"values of JSON":      {jsonType, `{"notes":[` + strings.Repeat("1,", 20_000) + `1]}`, "The request body has more than 20000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, route := range []string{http.MethodPost + " /v1/bookings", http.MethodPost + " /v1/bookings/bulk", http.MethodPost + " /v1/payments", http.MethodPut + " /v1/customers/1"} {
				method, path, _ := strings.Cut(route, " ")
				a := s.send(method, path, header(c.contentType), c.body).want(http.StatusBadRequest)
				if want := `{"code":"rest_invalid_json","message":"` + c.message + `","data":{"status":400}}`; string(a.body) != want {
					t.Errorf("%s: %s, want %s", route, a.body, want)
				}
			}
		})
	}
	for name, c := range map[string]struct{ query, message string }{
		"variables": {strings.Repeat("a&", 1001), "The query has more than 1000 variables"},
		"levels":    {deep, "The name of a variable in the query nests deeper than 64 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range routesOf(t) {
				a := s.do(r.Method, "/v1"+r.Path+"?"+c.query, http.Header{"X-Api-Key": {s.key}}).want(http.StatusBadRequest)
				if want := `{"code":"rest_invalid_json","message":"` + c.message + `","data":{"status":400}}`; string(a.body) != want {
					t.Errorf("%s %s: %s, want %s", r.Method, r.Path, a.body, want)
				}
			}
		})
	}
	s.do(http.MethodGet, "/v1/bookings?"+strings.Repeat("a&", 999)+"page=1", http.Header{"X-Api-Key": {s.key}}).want(http.StatusOK)
}

// TestHeavyRequestsWaitForMemory: heavy requests wait for others' memory, and
// are rejected with Retry-After if it is not freed in time; ordinary requests
// do not wait.
func TestHeavyRequestsWaitForMemory(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	s := newServerOver(t, database, 8, time.Minute, func(o *handlers.Options) {
		o.Memory, o.MemoryWait = handlers.MinMemory, 300*time.Millisecond
	})
	const heavy = "/availability?agent_id=any&date=2026-12-01&date_to=2027-01-31&service_id=1"
	s.get(heavy).want(http.StatusOK)
	unlock := lockAgents(t, database)
	running := make(chan answer)
	// A range of 62 days costs 8 MiB; all heavy requests together have 32 MiB.
	for i := range 4 { // of different services, because equal statements share one execution
		go func() { running <- s.get(fmt.Sprintf("%s%d", heavy, i)) }()
	}
	waitForLocks(t, database, 4)
	a := s.get(heavy).want(http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") == "" || a.at("code") != "platform_not_available" {
		t.Errorf("%s, Retry-After %q", a.body, a.header.Get("Retry-After"))
	}
	s.get("/status").want(http.StatusOK)
	s.get("/customers").want(http.StatusOK)
	s.write(http.MethodPost, "/customers", `{"first_name":"Ida","last_name":"Neu","email":"ida@example.test"}`).want(http.StatusCreated)
	if !strings.Contains(s.log.String(), "no memory for the request") {
		t.Errorf("refused for another reason:\n%s", s.log)
	}
	unlock()
	for range 4 {
		<-running // any status: on a slow machine the lock may have lasted too long
	}
	s.get(heavy).want(http.StatusOK)
}

// TestSlowBodiesBlockOnlyEachOther: large bodies that arrive slowly use memory
// that no other requests need.
func TestSlowBodiesBlockOnlyEachOther(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), func(o *handlers.Options) {
		o.Memory, o.MemoryWait = handlers.MinMemory, 10*time.Millisecond
	})
	const slow = 8 // requests of 1 MiB each, an eighth of the memory
	arrived, ends := make(chan struct{}), make(chan struct{})
	answers := make(chan int)
	for i := range slow {
		go func() {
			text := fmt.Sprintf(`{"first_name":"Ida","last_name":"Neu","email":"ida%d@example.test","x":"%s"}`, i, strings.Repeat("x", 1<<20-200))
			body := callbackReader{strings.NewReader(text), sync.OnceFunc(func() { arrived <- struct{}{}; <-ends })}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/customers", body)
			request.ContentLength = int64(len(text))
			request.Header = http.Header{"X-Api-Key": {s.key}, "Content-Type": {jsonType}}
			recorder := httptest.NewRecorder()
			s.handler.ServeHTTP(recorder, request)
			answers <- recorder.Code
		}()
	}
	for range slow {
		<-arrived
	}
	s.write(http.MethodPost, "/customers", `{"x":"`+strings.Repeat("x", 1<<20-200)+`"}`).want(http.StatusServiceUnavailable)
	s.write(http.MethodPost, "/customers", `{"first_name":"Uta","last_name":"Neu","email":"uta@example.test"}`).want(http.StatusCreated)
	s.get("/bookings?per_page=100").want(http.StatusOK)
	close(ends)
	for range slow {
		if status := <-answers; status != http.StatusCreated && status != http.StatusServiceUnavailable {
			t.Errorf("status %d", status)
		}
	}
}

// TestSlowReadersFreeTheirMemory: clients that read responses slowly do not
// occupy the memory for processing.
func TestSlowReadersFreeTheirMemory(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.Small(now), func(o *handlers.Options) {
		o.Memory, o.MemoryWait = handlers.MinMemory, 10*time.Millisecond
	})
	const slow = 20 // at most 12 of them may run at a time
	reading, ends := make(chan struct{}), make(chan struct{})
	ended := make(chan int)
	for i := range slow {
		go func() {
			text := fmt.Sprintf(`{"first_name":"Ida","last_name":"Neu","email":"ida%d@example.test"}`, i)
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/customers", strings.NewReader(text))
			request.Header = http.Header{"X-Api-Key": {s.key}, "Content-Type": {jsonType}}
			reader := &slowReader{httptest.NewRecorder(), func() { reading <- struct{}{}; <-ends }}
			s.handler.ServeHTTP(reader, request)
			ended <- reader.Code
		}()
		<-reading
	}
	close(ends)
	for range slow {
		if status := <-ended; status != http.StatusCreated {
			t.Errorf("status %d", status)
		}
	}
}

// slowReader is a client that reads nothing for a while.
type slowReader struct {
	*httptest.ResponseRecorder
	wait func()
}

// Write is part of http.ResponseWriter.
func (r *slowReader) Write(p []byte) (int, error) {
	r.wait()
	return r.ResponseRecorder.Write(p)
}

// TestPanicsFreeTheirMemory: a panic frees the memory of its request.
func TestPanicsFreeTheirMemory(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.Small(now), func(o *handlers.Options) {
		o.Memory, o.MemoryWait = handlers.MinMemory, 10*time.Millisecond
	})
	random := s.platform.Random
	s.platform.Random = panicReader{}
	for i := range 20 { // at most 12 of them fit at a time
		s.write(http.MethodPost, "/customers", fmt.Sprintf(`{"first_name":"Ida","last_name":"Neu","email":"ida%d@example.test"}`, i)).want(http.StatusInternalServerError)
	}
	s.platform.Random = random
	s.write(http.MethodPost, "/customers", `{"first_name":"Ida","last_name":"Neu","email":"ida@example.test"}`).want(http.StatusCreated)
}

// panicReader panics when it is read.
type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("read") }
