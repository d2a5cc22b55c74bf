package compare

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Result is what was found. It is the output of --json.
type Result struct {
	Verdict  string    `json:"verdict"` // a line for people
	Outcome  Outcome   `json:"outcome"`
	Started  time.Time `json:"started"`
	PHP      string    `json:"php"`      // URL
	Bookside string    `json:"bookside"` // URL
	Source   string    `json:"source"`   // where the requests come from
	Planned  int       `json:"planned"`
	Compared int       `json:"compared"`
	Failed   int       `json:"failed"`  // not compared, because one of the servers did not answer
	Refused  int       `json:"refused"` // compared, but both sides refuse the keys what they ask for
	Stopped  string    `json:"stopped"` // why it ended early, or empty

	Routes      []RouteResult `json:"routes"`
	Times       Times         `json:"times"` // of all routes
	Differences []Finding     `json:"differences"`
	Known       []Finding     `json:"known_differences"`
	Noise       []Finding     `json:"noise"`
	Remarks     []Finding     `json:"remarks"` // other orders of keys and forms of numbers
	Failures    []string      `json:"failures"`
	Ignored     []string      `json:"ignored"`

	UnseenRoutes     []string `json:"unseen_routes"`
	UnseenParameters []string `json:"unseen_parameters"` // as route?name
	Writes           *Writes  `json:"writes,omitempty"`
}

// Outcome is the verdict in a word.
type Outcome string

// The outcomes.
const (
	Equal      Outcome = "equal"
	Different  Outcome = "different"
	Incomplete Outcome = "incomplete" // nothing differs so far
)

// RouteResult is a line of the table of routes.
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
	Request  string `json:"request"`
	Exact    string `json:"exact_path"`
	PHP      string `json:"php_value"`
	Bookside string `json:"bookside_value"`
	Note     string `json:"note,omitempty"` // if the mask hides what differs
}

// collector makes a Result of comparisons, one after the other.
type collector struct {
	all      routes
	mask     mask
	noise    map[string]routeNoise
	routes   map[string]*routeCollector
	findings map[string]*Finding // by route, kind and path
	used     map[string]bool     // paths of routes, and parameters as route?name
	php      []time.Duration
	bookside []time.Duration
	failures map[string]int
	compared int
	failed   int
	refused  int
	differ   int // requests that differ, some of them perhaps by noise
}

type routeCollector struct {
	requests      [][]string // the keys of the findings of each
	quiet         []bool
	php, bookside []time.Duration
}

func newCollector(all routes, m mask) *collector {
	return &collector{
		all: all, mask: m, noise: map[string]routeNoise{}, routes: map[string]*routeCollector{}, findings: map[string]*Finding{},
		used: map[string]bool{}, failures: map[string]int{},
	}
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
	if c.noise[name] == nil {
		c.noise[name], c.routes[name] = routeNoise{}, &routeCollector{}
	}
	found, quiet := x.judge(ignore, c.noise[name])
	var keys []string
	for _, j := range found {
		key := c.note(name, x, j)
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
			c.findings[key].Requests++
		}
	}
	if slices.ContainsFunc(found, func(j judged) bool { return j.verdict == differs }) {
		c.differ++
	}
	if refuses(x.php) && refuses(x.again) && refuses(x.bookside) {
		c.refused++
		c.failures[fmt.Sprintf("%s: both sides answer %d", name, x.bookside.status)]++
	}
	r := c.routes[name]
	r.requests, r.quiet = append(r.requests, keys), append(r.quiet, quiet)
	r.php = append(r.php, x.php.took, x.again.took)
	r.bookside = append(r.bookside, x.bookside.took)
	c.php = append(c.php, x.php.took, x.again.took)
	c.bookside = append(c.bookside, x.bookside.took)
	c.compared++
}

// refuses reports an answer that only says that the key may not read this.
func refuses(a answer) bool {
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
}

func (c *collector) fail(err error) {
	c.failed++
	c.failures[err.Error()]++
}

// The verdict of a finding is the beginning of its key.
var verdictNames = map[verdict]string{equal: "remark", equalButNoise: "noise", knownOnly: "known", differs: "differs"}

// note enters a difference and returns its key.
func (c *collector) note(name string, x comparison, j judged) string {
	key := verdictNames[j.verdict] + "\x00" + j.known + "\x00" + name + "\x00" + noiseKey(j.path(), j.kind)
	if c.findings[key] != nil {
		return key
	}
	f := &Finding{Route: name, Kind: j.kind, Path: j.path(), Name: j.known, Request: c.mask.request(c.all, x.request), Exact: j.exact()}
	f.PHP, f.Bookside, f.Note = c.mask.pair(j.difference)
	for _, k := range knownDifferences {
		if k.Name == j.known {
			f.Why = k.Why
		}
	}
	c.findings[key] = f
	return key
}

// pair returns both values of a difference as they are shown.
func (m mask) pair(d difference) (php, bookside, note string) {
	php, bookside = m.example(d.at, d.php), m.example(d.at, d.bookside)
	if php == bookside && d.php.kind != 0 && d.bookside.kind != 0 {
		note = masksDiffer
	}
	return php, bookside, note
}

const maxExample = 600 // characters

const masksDiffer = "the masked characters differ"

// absent is shown where one of the answers has nothing.
const absent = "–"

func (m mask) example(at location, v value) string {
	if v.kind == 0 {
		return absent
	}
	return shorten(m.value(at, v).String())
}

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) > maxExample {
		return string(runes[:maxExample]) + "…"
	}
	return text
}

// settle turns differences that are noise elsewhere on their route into noise.
func (c *collector) settle() {
	renamed := map[string]string{}
	for key, f := range c.findings {
		noise := c.noise[f.Route]
		if len(key) < 7 || key[:7] != verdictNames[differs] || !noise.covers(f.Path, f.Kind, f.Requests) {
			continue
		}
		to := verdictNames[equalButNoise] + key[7:]
		renamed[key] = to
		if other := c.findings[to]; other != nil {
			other.Requests += f.Requests
		} else {
			c.findings[to] = f
		}
	}
	for from := range renamed {
		delete(c.findings, from)
	}
	for _, r := range c.routes {
		for _, keys := range r.requests {
			for i, key := range keys {
				keys[i] = cmp.Or(renamed[key], key)
			}
		}
	}
}

// result returns what was found so far.
func (c *collector) result() *Result {
	c.settle()
	r := &Result{Compared: c.compared, Failed: c.failed, Refused: c.refused, Times: timesOf(c.php, c.bookside)}
	for _, route := range append(slices.Clone(c.all), Route{Path: unknownRoute}) {
		if collected := c.routes[route.Path]; collected != nil {
			r.Routes = append(r.Routes, collected.result(route.Path))
		}
		c.unseen(r, route)
	}
	for _, key := range slices.Sorted(maps.Keys(c.findings)) {
		list := map[byte]*[]Finding{'r': &r.Remarks, 'n': &r.Noise, 'k': &r.Known, 'd': &r.Differences}[key[0]]
		*list = append(*list, *c.findings[key])
	}
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
	line := RouteResult{Route: name, Requests: len(r.requests), Times: timesOf(r.php, r.bookside)}
	for i, keys := range r.requests {
		worst := byte('r')
		for _, key := range keys {
			if rank(key[0]) > rank(worst) {
				worst = key[0]
			}
		}
		switch {
		case worst == 'd':
			line.Differ++
		case worst == 'k':
			line.Known++
		case worst == 'n' || !r.quiet[i]:
			line.Noise++
		default:
			line.Equal++
		}
	}
	return line
}

func rank(verdict byte) int { return slices.Index([]byte("rnkd"), verdict) }

func timesOf(php, bookside []time.Duration) Times {
	t := Times{PHP50: quantile(php, 50), PHP99: quantile(php, 99), Bookside50: quantile(bookside, 50), Bookside99: quantile(bookside, 99)}
	if t.Bookside50 > 0 {
		t.Factor = float64(t.PHP50 / t.Bookside50)
	}
	return t
}

// quantile returns the duration that so many per cent do not exceed (nearest rank).
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

// factorText tells how many times faster Bookside is.
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

// differing returns how many requests differ so far.
func (c *collector) differing() int { return c.differ }
