package compare

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Result holds the findings. It is the output of --json.
type Result struct {
	Verdict  string    `json:"verdict"` // a line for people
	Outcome  Outcome   `json:"outcome"`
	Started  time.Time `json:"started"`
	PHP      string    `json:"php"`      // URL
	Bookside string    `json:"bookside"` // URL
	Source   string    `json:"source"`   // where the requests come from
	Planned  int       `json:"planned"`
	Compared int       `json:"compared"`
	Failed   int       `json:"failed"`  // not compared, because a server did not respond
	Refused  int       `json:"refused"` // compared, but both sides refused the request for lack of permission
	Stopped  string    `json:"stopped"` // why it ended early, or empty

	Routes      []RouteResult `json:"routes"`
	Times       Times         `json:"times"` // of all routes
	Differences []Finding     `json:"differences"`
	Known       []Finding     `json:"known_differences"`
	Noise       []Finding     `json:"noise"`
	Remarks     []Finding     `json:"remarks"` // differences in the order of keys and the form of numbers
	Failures    []string      `json:"failures"`
	Ignored     []string      `json:"ignored"`
	Reasons     []string      `json:"reasons"` // what extensions of the site decide without Bookside, where it may explain a difference

	UnseenRoutes     []string `json:"unseen_routes"`
	UnseenParameters []string `json:"unseen_parameters"` // as route?name
	Writes           *Writes  `json:"writes,omitempty"`
}

// Outcome is the verdict in one word.
type Outcome string

// The outcomes.
const (
	Equal      Outcome = "equal"
	Different  Outcome = "different"
	Incomplete Outcome = "incomplete" // nothing differs so far
)

// RouteResult is a row of the table of routes.
type RouteResult struct {
	Route    string `json:"route"`
	Requests int    `json:"requests"`
	Equal    int    `json:"equal"`
	Noise    int    `json:"equal_but_noise"`
	Known    int    `json:"known_differences"`
	Differ   int    `json:"differing"`
	Times    Times  `json:"times"`
}

// Times are how long both sides took.
type Times struct {
	PHP50      Milliseconds `json:"php_p50_ms"`
	PHP99      Milliseconds `json:"php_p99_ms"`
	Bookside50 Milliseconds `json:"bookside_p50_ms"`
	Bookside99 Milliseconds `json:"bookside_p99_ms"`
	Factor     float64      `json:"factor"` // of the medians; 0 if nothing was measured
}

// Milliseconds is a duration in a table.
type Milliseconds float64

// String returns the duration with two or three digits.
func (m Milliseconds) String() string {
	switch {
	case m < 1:
		return fmt.Sprintf("%.2f ms", float64(m))
	case m < 10:
		return fmt.Sprintf("%.1f ms", float64(m))
	default:
		return fmt.Sprintf("%.0f ms", float64(m))
	}
}

// Finding is a kind of difference at one place, with an example.
type Finding struct {
	Route    string `json:"route"`
	Kind     Kind   `json:"kind"`
	Path     string `json:"path"`
	Requests int    `json:"requests"`       // in which it occurs
	Name     string `json:"name,omitempty"` // of a known difference
	Why      string `json:"why,omitempty"`
	// An example; personal data are masked.
	Request string `json:"request"`
	Exact   string `json:"exact_path"`
	Example
}

// Example is what both sides have at one place, in displayable form.
type Example struct {
	PHP      string `json:"php_value"`
	Bookside string `json:"bookside_value"`
	Note     string `json:"note,omitempty"` // set if the mask hides the difference
}

// collector builds a Result from comparisons, one after the other.
type collector struct {
	all      routes
	mask     mask
	routes   map[string]*routeCollector
	findings map[findingKey]*finding
	used     map[string]bool // paths of routes, and parameters as route?name
	failures map[string]int
	compared int
	failed   int
	refused  int
	differ   int // differing requests, some of them perhaps noise
}

type routeCollector struct {
	noise         routeNoise
	requests      [][]*finding
	quiet         []bool
	php, bookside []time.Duration
}

// findingKey is what differences share that are reported as one finding.
type findingKey struct {
	verdict            verdict
	known, route, path string
	kind               Kind
}

type finding struct {
	Finding
	verdict verdict
}

func newCollector(all routes, m mask) *collector {
	return &collector{all: all, mask: m, routes: map[string]*routeCollector{}, findings: map[findingKey]*finding{}, used: map[string]bool{}, failures: map[string]int{}}
}

// unknownRoute stands for requests to paths that the API does not have.
const unknownRoute = "(other paths)"

func (c *collector) use(r Request) (found Route, name string) {
	found, ok := c.all.match(r.path)
	if !ok {
		return found, unknownRoute
	}
	c.used[found.Path] = true
	for p := range r.query {
		c.used[found.Path+"?"+p] = true
	}
	return found, found.Path
}

func (c *collector) add(x comparison, ignore []Pattern) {
	var name string
	x.route, name = c.use(x.request)
	r := c.routes[name]
	if r == nil {
		r = &routeCollector{noise: routeNoise{}}
		c.routes[name] = r
	}
	found, quiet := x.judge(ignore, r.noise)
	var noted []*finding
	for _, j := range found {
		if f := c.note(name, x, j); !slices.Contains(noted, f) {
			noted = append(noted, f)
			f.Requests++
		}
	}
	if slices.ContainsFunc(noted, func(f *finding) bool { return f.verdict == differs }) {
		c.differ++
	}
	if refuses(x.php) && refuses(x.again) && refuses(x.bookside) {
		c.refused++
		c.failures[fmt.Sprintf("%s: both sides answer %d", name, x.bookside.status)]++
	}
	r.requests, r.quiet = append(r.requests, noted), append(r.quiet, quiet)
	r.php, r.bookside = append(r.php, x.php.took, x.again.took), append(r.bookside, x.bookside.took)
	c.compared++
}

// refuses reports whether a response only says that the key may not read this.
func refuses(a answer) bool {
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
}

func (c *collector) fail(err error) {
	c.failed++
	c.failures[err.Error()]++
}

// note adds a difference.
func (c *collector) note(name string, x comparison, j judged) *finding {
	key := findingKey{j.verdict, j.name, name, j.path(), j.kind}
	if c.findings[key] == nil {
		c.findings[key] = &finding{Finding{
			Route: name, Kind: j.kind, Path: j.path(), Name: j.name, Why: j.why,
			Request: c.mask.request(c.all, x.request), Exact: j.exact(), Example: c.mask.example(j.difference),
		}, j.verdict}
	}
	return c.findings[key]
}

// example returns both values of a difference in displayable form.
func (m mask) example(d difference) Example {
	shown := func(v value) string {
		if v.kind == 0 {
			return absent
		}
		return shorten(m.value(d.at, v).String())
	}
	return newExample(shown(d.php), shown(d.bookside))
}

func newExample(php, bookside string) Example {
	if php == bookside {
		return Example{php, bookside, "the masked characters differ"}
	}
	return Example{PHP: php, Bookside: bookside}
}

const maxExample = 600 // characters

// absent is shown if one of the responses has nothing.
const absent = "–"

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) > maxExample {
		return string(runes[:maxExample]) + "…"
	}
	return text
}

// result returns the findings so far.
func (c *collector) result() *Result {
	r := &Result{Compared: c.compared, Failed: c.failed, Refused: c.refused}
	found := slices.SortedFunc(maps.Values(c.findings), func(a, b *finding) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Route, b.Route), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path), cmp.Compare(a.verdict, b.verdict))
	})
	lists := map[verdict]*[]Finding{equal: &r.Remarks, equalButNoise: &r.Noise, knownOnly: &r.Known, differs: &r.Differences}
	for _, f := range found {
		if f.verdict == differs && c.routes[f.Route].noise.covers(f.Path, f.Kind, f.Requests) { // it is noise elsewhere on the route
			f.verdict = equalButNoise
		}
		list := lists[f.verdict]
		if last := len(*list) - 1; last >= 0 && (*list)[last].Route == f.Route && (*list)[last].place() == f.place() && (*list)[last].Name == f.Name {
			(*list)[last].Requests += f.Requests
			continue
		}
		*list = append(*list, f.Finding)
	}
	var php, bookside []time.Duration
	for _, route := range append(slices.Clone(c.all), Route{Path: unknownRoute}) {
		if collected := c.routes[route.Path]; collected != nil {
			r.Routes = append(r.Routes, collected.result(route.Path))
			php, bookside = append(php, collected.php...), append(bookside, collected.bookside...)
		}
		c.unseen(r, route)
	}
	r.Times = timesOf(php, bookside)
	for _, text := range slices.Sorted(maps.Keys(c.failures)) {
		r.Failures = append(r.Failures, fmt.Sprintf("%s (%s)", text, count(c.failures[text], "request")))
	}
	return r
}

func (c *collector) unseen(r *Result, route Route) {
	if route.Ours || route.Path == unknownRoute {
		return
	}
	if !c.used[route.Path] {
		r.UnseenRoutes = append(r.UnseenRoutes, route.Path)
		return
	}
	for _, p := range route.Parameters {
		if name := route.Path + "?" + p.Name; !c.used[name] {
			r.UnseenParameters = append(r.UnseenParameters, name)
		}
	}
}

func (r *routeCollector) result(name string) RouteResult {
	requests := map[verdict]int{}
	for i, found := range r.requests {
		worst := equal
		if !r.quiet[i] {
			worst = equalButNoise
		}
		for _, f := range found {
			worst = max(worst, f.verdict)
		}
		requests[worst]++
	}
	return RouteResult{name, len(r.requests), requests[equal], requests[equalButNoise], requests[knownOnly], requests[differs], timesOf(r.php, r.bookside)}
}

func timesOf(php, bookside []time.Duration) Times {
	t := Times{PHP50: quantile(php, 50), PHP99: quantile(php, 99), Bookside50: quantile(bookside, 50), Bookside99: quantile(bookside, 99)}
	if t.Bookside50 > 0 {
		t.Factor = float64(t.PHP50 / t.Bookside50)
	}
	return t
}

// quantile returns the duration that a percentage does not exceed (nearest rank).
func quantile(all []time.Duration, percent int) Milliseconds {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	rank := (len(sorted)*percent + 99) / 100
	return Milliseconds(float64(sorted[max(rank, 1)-1].Microseconds()) / 1000)
}

// conclude sets the verdict.
func (r *Result) conclude() {
	if r.Writes != nil {
		r.concludeWrites()
		return
	}
	var noise, known, differ int
	for _, route := range r.Routes {
		noise, known, differ = noise+route.Noise, known+route.Known, differ+route.Differ
	}
	faster := ""
	if r.Times.Factor > 0 {
		faster = fmt.Sprintf(" Half of the answers took PHP at most %v and Bookside %v%s.", r.Times.PHP50, r.Times.Bookside50, factorText(r.Times.Factor))
	}
	reason := ""
	if r.Stopped != "" {
		reason = " " + r.Stopped
	}
	if r.Refused > 0 {
		reason += fmt.Sprintf(" Both sides refused %s: the keys may not read everything.", count(r.Refused, "request"))
	}
	switch {
	case differ > 0:
		r.Outcome = Different
		r.Verdict = fmt.Sprintf("DIFFERENT: %d of %s differ, in %s.%s%s", differ, count(r.Compared, "request"), count(len(r.Differences), "way"), faster, reason)
	case r.Stopped != "" || r.Failed > 0 || r.Refused > 0 || r.Compared == 0:
		r.Outcome = Incomplete
		r.Verdict = fmt.Sprintf("INCOMPLETE: %d of %s compared, none of which differs.%s", r.Compared, count(r.Planned, "request"), reason)
	default:
		r.Outcome = Equal
		r.Verdict = fmt.Sprintf("EQUAL: none of %s differs (%d but for noise, %d with known differences).%s", count(r.Compared, "request"), noise, known, faster)
	}
}

// factorText says how many times faster Bookside is.
func factorText(factor float64) string {
	switch {
	case factor >= 1.05:
		return fmt.Sprintf(", %.1f times faster", factor)
	case factor <= 0.95:
		return fmt.Sprintf(", %.1f times slower", 1/factor)
	default:
		return ""
	}
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
