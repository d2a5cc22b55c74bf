package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"bookside/adapter"
	"bookside/compat"
	"bookside/wpdb"
)

// What requests cost in memory, in bytes: measured, and rounded up. The tests
// measure again.
const (
	maxWork     = 32 << 20  // of any request
	maxOrdinary = 2 << 20   // of one that need not wait behind heavy ones
	leastWork   = 256 << 10 // of any request
	recordWork  = 16 << 10  // of a record in the answer
	dayWork     = 128 << 10 // of a day of slots
	writeWork   = 1 << 20   // of one that changes something
	bulkWork    = 8 << 20   // of one that makes many bookings
	bodyFactor  = 14        // of a byte of the body
	readFactor  = 5         // of a byte that the database gave, see wpdb.Allow
	freeBytes   = 32 << 10  // of a body or an answer that are not counted
)

// LeastMemory is the least that requests need together, in bytes.
const LeastMemory = 2 * maxWork

// errNoMemory is a request for which no memory came free in time.
var errNoMemory = fmt.Errorf("no memory for the request: %w", errOverloaded)

// memory is what requests may use together. Its parts are apart, so that those
// who want one never wait for those who hold another: ordinary requests do not
// queue behind heavy ones, nor any behind clients that send or read slowly. A
// request that holds one part may wait for a later one, in the order given
// here, and never the reverse.
type memory struct {
	bodies   part // that are being sent or worked on
	ordinary part // work of up to maxOrdinary
	heavy    part // work beyond
	answers  part // that are being read by their clients
	wait     time.Duration
}

// newMemory divides a number of bytes; 0 bounds nothing.
func newMemory(bytes int64, wait time.Duration) memory {
	return memory{newPart(bytes / 8), newPart(bytes / 4), newPart(bytes / 2), newPart(bytes / 8), wait}
}

// work is the part from which so many bytes for work are taken.
func (m *memory) work(bytes int64) *part {
	if bytes > maxOrdinary {
		return &m.heavy
	}
	return &m.ordinary
}

// part is a number of bytes for which requests wait in the order in which they
// came.
type part struct {
	size  int64
	bytes *semaphore.Weighted // nil for any number
}

func newPart(size int64) part {
	if size == 0 {
		return part{}
	}
	return part{size, semaphore.NewWeighted(size)}
}

// take waits until so many bytes are free; errNoMemory where that takes too
// long.
func (p *part) take(ctx context.Context, bytes int64, wait time.Duration) (release func(), err error) {
	if p.bytes == nil || bytes == 0 {
		return func() {}, nil
	}
	bytes = min(bytes, p.size)
	if !p.bytes.TryAcquire(bytes) {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if p.bytes.Acquire(waiting, bytes) != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, errNoMemory
		}
	}
	return func() { p.bytes.Release(bytes) }, nil
}

// counted is how many bytes of a body or an answer are counted.
func counted(bytes int64) int64 {
	if bytes <= freeBytes {
		return 0
	}
	return bytes
}

// size is what a request grows with: the name of a parameter, and the memory of
// one of what it counts.
type size struct {
	parameter string
	each      int64
	count     func(*compat.Query) int64
}

// records are those of an answer, as many as a parameter asks for.
func records(parameter string) size {
	return size{parameter, recordWork, func(q *compat.Query) int64 { return q.Records(parameter) }}
}

// days are those of a range of slots.
var days = size{"date_to", dayWork, (*compat.Query).Days}

// memory is what a request costs by what is known before the work.
func (r *route) memory(query *compat.Query, sent int) int64 {
	bytes := int64(leastWork + bodyFactor*sent)
	switch {
	case r.method == http.MethodGet && r.operation.size.count != nil:
		bytes += r.operation.size.each * r.operation.size.count(query)
	case r.method != http.MethodGet:
		bytes += max(writeWork, r.operation.size.each)
	}
	return min(bytes, maxWork)
}

// answer is an encoded response.
type answer struct {
	status int
	body   *bytes.Buffer
	heavy  bool
	// release gives back the memory of the work.
	release func()
}

// answer works on a request, with the memory that it is likely to take, and once
// more with the most there is where the database gives more than that: what was
// written until then was rolled back.
func (r *request) answer() (answer, error) {
	likely := r.route.memory(r.query, len(r.sent))
	a, err := r.answerWithin(likely)
	if tooMuch(err) && likely < maxWork {
		a, err = r.answerWithin(maxWork)
	}
	if tooMuch(err) && r.route.operation.size.parameter != "" {
		err = r.route.operation.query.Invalid(map[string]string{r.route.operation.size.parameter: "The answer would be too large, ask for less"})
	}
	return a, err
}

func tooMuch(err error) bool {
	return errors.Is(err, wpdb.ErrTooMuch) || errors.Is(err, wpdb.ErrTooManyRows)
}

func (r *request) answerWithin(bytes int64) (answer, error) {
	memory := &r.api.memory
	release, err := memory.work(bytes).take(r.ctx(), bytes, memory.wait)
	if err != nil {
		return answer{}, err
	}
	a := answer{body: buffers.get(), heavy: bytes > maxOrdinary, release: release}
	complete := false
	defer func() {
		if !complete { // also where the work panicked
			a.done()
		}
	}()
	r.mayRead = bytes
	if r.route.method == http.MethodGet {
		r.mayRead /= readFactor
	}
	wpdb.Allow(r.ctx(), r.mayRead)
	response, err := r.work()
	if err != nil {
		return answer{}, err
	}
	a.status = response.status
	if err := encode(a.body, response.body); err != nil {
		return answer{}, err
	}
	complete = true
	return a, nil
}

func (a *answer) done() {
	a.release()
	buffers.put(a.body)
}

// work runs the route's function on the site as it is now, and leaves out of its
// answer what the key may not see.
func (r *request) work() (response response, err error) {
	principal, _ := principalOf(r.echo)
	err = r.api.gate.pass(func() error {
		return r.api.platform.Serve(r.ctx(), principal, func(site *adapter.Site) (err error) {
			r.site, r.view = site, compat.View{}
			if r.api.options.SiteTimestamps {
				r.view.Location = site.Zone.Location
			}
			response, err = r.route.operation.serve(r)
			return err
		})
	})
	if err == nil {
		response.body, err = visible(r.guard, response.body, principal.Key)
	}
	return response, err
}

// deliver sends the answer. The memory of the work is free for others by then,
// however slowly a client reads. An answer to a reading request is refused where
// too many clients are slow to take theirs; what was written is always told.
func (r *request) deliver(a answer) error {
	defer buffers.put(a.body)
	leave, err := r.keepAnswer(a)
	a.release()
	if err != nil {
		return err
	}
	defer leave()
	return r.echo.Blob(a.status, contentType, a.body.Bytes())
}

// keepAnswer takes the memory of the answer itself.
func (r *request) keepAnswer(a answer) (leave func(), err error) {
	writes := r.route.method != http.MethodGet
	wait := r.api.memory.wait
	if writes || !a.heavy {
		wait = 0
	}
	leave, err = r.api.memory.answers.take(r.ctx(), counted(int64(a.body.Len())), wait)
	if err != nil && writes {
		return func() {}, nil
	}
	return leave, err
}
