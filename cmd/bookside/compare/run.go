package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Run compares requests.
type Run struct {
	PHP, Bookside *Side
	Rate          float64  // requests to PHP in a second; 0 for no pause
	Routes        []string // of the API, such as /bookings/{id}
}

// Result holds the findings. It is the output of --json.
type Result struct {
	Planned     int       `json:"planned"`
	Compared    int       `json:"compared"`
	Routes      []Route   `json:"routes"`
	Differences []Finding `json:"differences"`
	Failures    []string  `json:"failures"` // why requests were not compared, or prove nothing
}

// Route is a row of the table of routes.
type Route struct {
	Route    string `json:"route"`
	Requests int    `json:"requests"`
	Differ   int    `json:"differing"` // but for known differences
}

// Finding is a kind of difference in one field of a route, with an example.
type Finding struct {
	Route    string `json:"route"`
	Field    string `json:"field"`
	Kind     Kind   `json:"kind"`
	Known    string `json:"known,omitempty"` // why it is no fault
	Requests int    `json:"requests"`        // in which it occurs
	Request  string `json:"request"`         // an example, as are the values
	PHP      string `json:"php"`
	Bookside string `json:"bookside"`
}

// place is what differences share that are reported as one finding.
type place struct {
	route, field, known string
	kind                Kind
}

// maxFailures is how many requests in a row may fail: then a server is down, and more do no good.
const maxFailures = 5

// Compare compares requests until all are done or ctx ends, and returns the findings so far.
func (r Run) Compare(ctx context.Context, requests []Request) Result {
	result := Result{Planned: len(requests)}
	routes, findings, failures := map[string]Route{}, map[place]Finding{}, map[string]int{}
	failed := 0
	for _, request := range requests {
		begin := time.Now()
		c, found, err := r.one(ctx, request)
		if ctx.Err() != nil {
			failures["interrupted"]++
			break
		}
		if err != nil {
			failures[err.Error()]++
			if failed++; failed == maxFailures {
				failures["stopped, because requests in a row failed"]++
				break
			}
			continue
		}
		failed = 0
		result.Compared++
		differs := false
		for at, f := range found {
			differs = differs || at.known == ""
			f.Requests = findings[at].Requests + 1
			findings[at] = f
		}
		row := routes[c.route]
		row.Route, row.Requests = c.route, row.Requests+1
		if differs {
			row.Differ++
		}
		routes[c.route] = row
		if c.refused() {
			failures[fmt.Sprintf("both sides answer %s with %d", c.route, c.php.status)]++
		}
		if r.Rate > 0 {
			_ = sleep(ctx, time.Duration(float64(time.Second)/r.Rate)-time.Since(begin)) // the next request fails
		}
	}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		result.Routes = append(result.Routes, routes[name])
	}
	result.Differences = slices.SortedFunc(maps.Values(findings), func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Known, b.Known), strings.Compare(a.Route, b.Route), strings.Compare(a.Field, b.Field), cmp.Compare(a.Kind, b.Kind))
	})
	for _, text := range slices.Sorted(maps.Keys(failures)) {
		result.Failures = append(result.Failures, fmt.Sprintf("%s (%d)", text, failures[text]))
	}
	return result
}

// refused reports whether both sides only say that the key may not read this.
func (c comparison) refused() bool {
	return c.php.status == c.bookside.status && (c.php.status == http.StatusUnauthorized || c.php.status == http.StatusForbidden)
}

// one compares a request. If the answers differ, PHP is asked again, because the site may have changed in
// between: what PHP itself answers differently, or no longer, does not count.
func (r Run) one(ctx context.Context, request Request) (c comparison, found map[place]Finding, err error) {
	request = r.withoutKeys(request)
	c = comparison{request: request, route: routeOf(r.Routes, request.path)}
	if c.php, err = r.ask(ctx, r.PHP, request); err != nil {
		return c, nil, err
	}
	if c.bookside, err = r.Bookside.get(ctx, request); err != nil {
		return c, nil, err
	}
	if found = c.findings(); len(found) == 0 {
		return c, nil, nil
	}
	again := c
	if again.php, err = r.ask(ctx, r.PHP, request); err != nil {
		return c, nil, err
	}
	still := again.findings()
	noise := comparison{request, c.route, c.php, again.php}.findings()
	maps.DeleteFunc(found, func(at place, _ Finding) bool {
		_, remains := still[at]
		changed := slices.ContainsFunc(slices.Collect(maps.Keys(noise)), func(n place) bool { return n.field == at.field && n.kind != NotJSON })
		return !remains || changed
	})
	return c, found, nil
}

// ask asks PHP. Maintenance and overload say nothing about the request.
func (r Run) ask(ctx context.Context, php *Side, request Request) (answer, error) {
	a, err := php.get(ctx, request)
	if err == nil && a.status > http.StatusInternalServerError {
		err = fmt.Errorf("%s answers %d", php.base.Host, a.status)
	}
	return a, err
}

// findings returns the differences of a comparison, one for each place.
func (c comparison) findings() map[place]Finding {
	found := map[place]Finding{}
	for _, d := range answerDifferences(c.php, c.bookside) {
		at := place{c.route, d.path(), knownAs(c, d), d.kind}
		if _, ok := found[at]; !ok {
			found[at] = Finding{
				Route: at.route, Field: at.field, Kind: at.kind, Known: at.known,
				Request: c.request.String(), PHP: shorten(d.php), Bookside: shorten(d.bookside),
			}
		}
	}
	return found
}

// shorten returns a value as JSON, which has no control characters, in at most 200 characters.
func shorten(v value) string {
	text := []rune(v.String())
	if len(text) > 200 {
		return string(text[:200]) + "…"
	}
	return string(text)
}

// withoutKeys drops parameters that hold the key of one of the sides, whatever their names.
func (r Run) withoutKeys(request Request) Request {
	request.query = maps.Clone(request.query)
	maps.DeleteFunc(request.query, func(_ string, values []string) bool {
		return slices.Contains(values, r.PHP.key) || slices.Contains(values, r.Bookside.key)
	})
	return request
}

// Try checks that both servers accept their keys.
func (r Run) Try(ctx context.Context) error {
	for name, side := range map[string]*Side{"PHP": r.PHP, "Bookside": r.Bookside} {
		a, err := side.get(ctx, Request{path: "/services"})
		switch {
		case err != nil:
		case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
			err = fmt.Errorf("%s rejects the key with %d", side.base, a.status)
		case a.header.Get("Location") != "":
			err = fmt.Errorf("%s redirects: name the URL of that site", side.base)
		case a.status != http.StatusOK || !a.isJSON:
			err = fmt.Errorf("%s answers %d instead of a JSON text with status 200", side.base, a.status)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Different reports whether anything differs but for known differences.
func (r Result) Different() bool {
	return slices.ContainsFunc(r.Differences, func(f Finding) bool { return f.Known == "" })
}

// Err returns an error if not everything was compared.
func (r Result) Err() error {
	if len(r.Failures) > 0 || r.Compared < r.Planned {
		return errors.New("the comparison is not complete: " + strings.Join(r.Failures, "; "))
	}
	return nil
}

// Text returns the result for a terminal.
func (r Result) Text() string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ROUTE\tREQUESTS\tDIFFER") // a strings.Builder never fails
	for _, row := range r.Routes {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\n", row.Route, row.Requests, row.Differ)
	}
	_ = table.Flush()
	for _, f := range r.Differences {
		fmt.Fprintf(&b, "\n%s  %s: %s, in %d", f.Route, f.Field, f.Kind, f.Requests)
		if f.Known != "" {
			fmt.Fprintf(&b, " (known: %s)\n", f.Known)
			continue
		}
		fmt.Fprintf(&b, "\n  GET %s\n  PHP:      %s\n  Bookside: %s\n", f.Request, cmp.Or(f.PHP, "–"), cmp.Or(f.Bookside, "–"))
	}
	for _, text := range r.Failures {
		fmt.Fprintf(&b, "\nNot compared: %s\n", text)
	}
	fmt.Fprintf(&b, "\n%d of %d requests compared\n", r.Compared, r.Planned)
	return b.String()
}
