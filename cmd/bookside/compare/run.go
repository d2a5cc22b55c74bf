package compare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Options say what to compare and how.
type Options struct {
	PHP, Bookside *Side
	Rate          float64 // requests to PHP in a second; 0 for no pause
	Ignore        []Pattern
	ShowPersonal  bool // do not mask examples
	Now           func() time.Time
	Routes        []Route
	Progress      func(Progress) // nil for none
}

// Progress is how far a run has come.
type Progress struct {
	Done, Planned, Differing int
	Left                     time.Duration // estimated; 0 if unknown
	Waiting                  string        // the reason, or empty
}

// Run compares requests.
type Run struct {
	options Options
	results *collector
	pace    *pace
	started time.Time
	planned int
	without []unhonoured
}

// stoppedError ends a run early. Its text is part of the verdict.
type stoppedError struct{ reason string }

func (e *stoppedError) Error() string { return e.reason }

// Start checks that both servers accept their keys.
func Start(ctx context.Context, o Options) (*Run, error) {
	for _, s := range []struct {
		name string
		side *Side
	}{{"PHP", o.PHP}, {"Bookside", o.Bookside}} {
		if err := s.side.check(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	r := &Run{options: o, results: newCollector(o.Routes, mask{show: o.ShowPersonal}), started: o.Now(), without: o.Bookside.unhonoured(ctx)}
	r.pace = &pace{sleep: o.PHP.sleep, now: time.Now}
	if o.Rate > 0 {
		r.pace.interval = time.Duration(requestsToPHP / o.Rate * float64(time.Second))
	}
	return r, nil
}

// requestsToPHP is how many requests to PHP a comparison takes.
const requestsToPHP = 2

// check requests the status, which every valid key may read, or a service if there is no status, as the
// extension's clients do.
func (s *Side) check(ctx context.Context) error {
	a, err := s.get(ctx, newRequest("/status", ""), nil)
	if err == nil && (a.status == http.StatusNotFound || a.status >= http.StatusInternalServerError) {
		a, err = s.get(ctx, newRequest("/services", "per_page=1"), nil)
	}
	address := s.base.Redacted()
	switch {
	case err != nil:
		return err
	case a.status == http.StatusOK && a.isJSON:
		return nil
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return fmt.Errorf("%s answers %d: the key is not accepted", address, a.status)
	case a.status >= 300 && a.status < 400:
		place, _, _ := strings.Cut(strings.ReplaceAll(a.header.Get("Location"), "#", "?"), "?") // a query may contain a key
		return fmt.Errorf("%s leads elsewhere, to %s: name the URL of that site", address, place)
	case a.status == http.StatusNotFound:
		return fmt.Errorf("%s answers 404: there is no API", address)
	default:
		return fmt.Errorf("%s answers %d instead of a JSON text with status 200", address, a.status)
	}
}

// Crawl returns requests for everything that the API offers.
func (r *Run) Crawl(ctx context.Context, samples int) ([]Request, error) {
	theirs := slices.DeleteFunc(slices.Clone(r.options.Routes), func(route Route) bool { return route.Ours })
	c := crawler{run: r, routes: theirs, samples: samples, lists: map[string]value{}, seen: map[string]bool{}}
	return c.crawl(ctx)
}

// Pick returns requests from logs or a list, see Traffic.pick. Routes that only Bookside has are left out.
func (r *Run) Pick(t *Traffic, most int) []Request {
	kept := *t
	kept.Requests = slices.DeleteFunc(slices.Clone(t.Requests), func(request Request) bool {
		found, ok := routes(r.options.Routes).match(request.path)
		return ok && found.Ours || slices.Contains([]string{"/openapi.json", "/docs"}, request.path)
	})
	return kept.pick(r.options.Routes, most)
}

// Compare compares requests until all are done or ctx ends, and returns the findings so far. Only failures
// of the run itself are errors.
func (r *Run) Compare(ctx context.Context, requests []Request) *Result {
	r.planned = len(requests)
	stopped := ""
	for _, request := range requests {
		if err := r.one(ctx, request); err != nil {
			stopped = r.reason(ctx, err)
			break
		}
	}
	result := r.results.result()
	result.Started, result.PHP, result.Bookside = r.started, r.options.PHP.Address(), r.options.Bookside.Address()
	result.Planned, result.Stopped = len(requests), stopped
	for _, p := range r.options.Ignore {
		result.Ignored = append(result.Ignored, p.String())
	}
	result.Reasons = result.reasons(r.without)
	result.conclude()
	return result
}

func (r *Run) reason(ctx context.Context, err error) string {
	var stop *stoppedError
	switch {
	case ctx.Err() != nil:
		return "Interrupted."
	case errors.As(err, &stop):
		return stop.reason
	default:
		return "Stopped: " + err.Error() + "."
	}
}

// maxFailures is how many consecutive requests may fail before the run stops: one of the servers is down,
// and more requests do no good.
const maxFailures = 5

// one compares a request. It goes to PHP before and after Bookside, so that a change of the site in between
// is recognised.
func (r *Run) one(ctx context.Context, request Request) error {
	if err := r.pace.wait(ctx, r.report); err != nil {
		return err
	}
	begin := time.Now()
	x := comparison{request: r.withoutKeys(request)}
	var err error
	if x.php, err = r.options.PHP.get(ctx, x.request, r.waiting); err == nil {
		if x.bookside, err = r.options.Bookside.get(ctx, x.request, r.waiting); err == nil {
			x.again, err = r.options.PHP.get(ctx, x.request, r.waiting)
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.results.fail(err)
		r.pace.failed++
		if r.pace.failed == maxFailures {
			return &stoppedError{fmt.Sprintf("Stopped: %d requests in a row failed, the last one because %v.", maxFailures, err)}
		}
		return nil
	}
	r.pace.failed = 0
	broken := x.php.status >= http.StatusInternalServerError && x.again.status >= http.StatusInternalServerError
	if worst := max(x.php.status, x.again.status); broken && worst > http.StatusInternalServerError { // maintenance or overload, which say nothing about the request
		r.results.fail(fmt.Errorf("%s answers %d", r.options.PHP.base.Host, worst))
	} else {
		r.results.add(x, r.options.Ignore)
	}
	r.pace.took(time.Since(begin))
	r.report("")
	if !broken {
		r.pace.broken = 0
	} else if r.pace.broken++; r.pace.broken == maxBroken {
		return &stoppedError{fmt.Sprintf("Stopped: PHP answered %d requests in a row with %d.", maxBroken, x.again.status)}
	}
	_, route := r.results.use(x.request)
	return r.pace.watch(route, x.php, x.again)
}

// maxBroken is how many consecutive 5xx responses PHP may return: it may be overloaded.
const maxBroken = 10

// withoutKeys drops parameters that hold the key of one of the sides, whatever their names.
func (r *Run) withoutKeys(request Request) Request {
	for name, values := range request.query {
		if slices.Contains(values, r.options.PHP.key) || slices.Contains(values, r.options.Bookside.key) {
			delete(request.query, name)
		}
	}
	return request
}

func (r *Run) waiting(pause time.Duration) {
	r.report(fmt.Sprintf("%v, because the request limit of the key is reached", pause.Round(time.Second)))
}

func (r *Run) report(waiting string) {
	if r.options.Progress == nil {
		return
	}
	done := r.results.compared + r.results.failed
	r.options.Progress(Progress{Done: done, Planned: r.planned, Differing: r.results.differ, Left: r.pace.left(r.planned - done), Waiting: waiting})
}
