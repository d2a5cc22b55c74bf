package handlers

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// The memory of requests in bytes, measured by tests and rounded up.
const (
	maxWork    = 32 << 20  // at most, of any request
	minWork    = 256 << 10 // at least, of any request
	recordWork = 16 << 10  // of a record in the response
	dayWork    = 128 << 10 // of a day of start times
	writeWork  = 1 << 20   // for a request that writes
	bulkWork   = 8 << 20   // for a bulk request
	bodyFactor = 14        // times the bytes of the body
	readFactor = 5         // times the bytes read from the database, see wpdb.Allow
	maxRead    = maxWork / readFactor
)

// MinMemory is the minimum memory for all requests together, in bytes.
const MinMemory = 2 * maxWork

// size is what the memory of a request depends on: a parameter, the number of items that it requests, and
// the bytes of an item.
type size struct {
	parameter string
	each      int64
	count     func(*compat.Query) int64
}

// recordsBy returns the size of a response with as many records as a parameter requests.
func recordsBy(parameter string) size {
	return size{parameter, recordWork, func(q *compat.Query) int64 { return q.Records(parameter) }}
}

// one is the count of a size that does not depend on the request.
func one(*compat.Query) int64 { return 1 }

// days is the size of a range of start times.
var days = size{"date_to", dayWork, (*compat.Query).Days}

// memory estimates the bytes of a request before it is processed.
func (r *route) memory(query *compat.Query, sent int) int64 {
	bytes := int64(minWork + bodyFactor*sent)
	switch {
	case r.method == http.MethodGet && r.operation.size.count != nil:
		bytes += r.operation.size.each * r.operation.size.count(query)
	case r.method != http.MethodGet:
		bytes += max(writeWork, r.operation.size.each)
	}
	return min(bytes, maxWork)
}

// encodedResponse is a response that is ready to send. Its memory is counted (for a write, as far as there
// was any left) until it is discarded.
type encodedResponse struct {
	status  int
	typ     string // of its content
	body    *bytes.Buffer
	release func()
	// totalAge is the age of a list's size that was counted for another request; nil if
	// the response has none.
	totalAge *time.Duration
	tag      string // "" if the response has none
	warnings []string
}

// totalAgeHeader carries the age of a list's size, in seconds, if it was not counted for this request.
const totalAgeHeader = "X-Total-Age"

// warningHeader has what an answer is without, or what the site would have said against a write.
const warningHeader = "Warning"

// maxWarnings is how many of them are sent: proxies limit the size of all headers, some to 4 KiB.
const maxWarnings = 10

// send sends the response, or 304 if the client has it already.
func (e encodedResponse) send(c echo.Context) error {
	if e.totalAge != nil {
		c.Response().Header().Set(totalAgeHeader, strconv.Itoa(int(e.totalAge.Seconds())))
	}
	for _, text := range e.warnings[:min(len(e.warnings), maxWarnings)] {
		c.Response().Header().Add(warningHeader, "199 bookside "+strconv.QuoteToASCII(text))
	}
	if tag := e.tag; tag != "" {
		mayKeep(c, tag)
		if middleware.ParseETags(c.Request().Header.Values(ifNoneMatchHeader)).Include(tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.Blob(e.status, e.typ, e.body.Bytes())
}

func (e encodedResponse) discard() {
	e.release()
	middleware.Buffers.Put(e.body)
}

// run processes a request with its estimated memory. If the database returns more than that, it processes
// it once more with the maximum; what was written before is rolled back.
func (r *request) run() (encodedResponse, error) {
	estimate := r.route.memory(r.query, len(r.rawBody))
	response, err := r.runWithin(estimate)
	if failures.TooLarge(err) && estimate < maxWork {
		response, err = r.runWithin(maxWork)
	}
	if failures.TooLarge(err) && r.route.operation.size.parameter != "" {
		err = r.route.operation.query.Invalid(map[string]string{r.route.operation.size.parameter: "The response would be too large; ask for less"})
	}
	return response, err
}

// runWithin processes a request within this many bytes. They are free again when it returns, however slowly
// the client reads the response.
func (r *request) runWithin(bytes int64) (encoded encodedResponse, err error) {
	done, err := r.api.memory.Work(r.ctx(), bytes)
	if err != nil {
		return encodedResponse{}, err
	}
	defer done()
	r.mayRead = bytes
	if r.route.method == http.MethodGet {
		r.mayRead /= readFactor
	}
	wpdb.Allow(r.ctx(), r.mayRead)
	response, err := r.serve()
	if err != nil {
		return encodedResponse{}, err
	}
	body := middleware.Buffers.Get()
	complete := false
	defer func() {
		if !complete { // even after a panic
			middleware.Buffers.Put(body)
		}
	}()
	typ, err := encodeAny(body, response.body)
	if err != nil {
		return encodedResponse{}, err
	}
	release, err := r.acquireResponse(body.Len(), bytes > middleware.MaxOrdinary)
	if err != nil {
		return encodedResponse{}, err
	}
	complete = true
	var tag string
	if r.route.tagged() {
		tag = middleware.ETag(body.Bytes())
	}
	return encodedResponse{response.status, typ, body, release, r.session.TotalAge, tag, r.session.Warnings}, nil
}

// atSite calls work with the present state of the site, perhaps twice.
func (r *request) atSite(work func() error) error {
	return r.api.inFlight.Do(func() error {
		return r.api.platform.Serve(r.ctx(), r.principal, func(site *session.Session) error {
			r.session, r.view = site, compat.View{}
			if r.api.options.SiteTimestamps {
				r.view.Location = site.Zone.Location
			}
			if r.cursor != nil {
				site.ExportWith(r.cursor)
			}
			if r.mayRead == maxRead { // whether a response is too large must not depend on other requests
				site.ReadAlone()
			}
			return work()
		})
	})
}

// serve calls the route's operation, and returns its response as the key may see it.
func (r *request) serve() (response response, err error) {
	err = r.atSite(func() (err error) {
		response, err = r.route.operation.serve(r)
		return err
	})
	response.body = visible(response.body, r.principal.Key)
	return response, err
}

// acquireResponse acquires the memory for a response. If too many clients read slowly, the response to a
// read is replaced by an error; the response to a write is always sent.
func (r *request) acquireResponse(bytes int, heavy bool) (release func(), err error) {
	writes := r.route.method != http.MethodGet
	wait := r.api.memory.Wait
	if writes || !heavy {
		wait = 0
	}
	release, err = r.api.memory.Response(r.ctx(), bytes, wait)
	if err != nil && writes {
		return func() {}, nil
	}
	return release, err
}
