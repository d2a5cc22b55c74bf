package compare

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// headers are the headers that clients of the extension can rely on.
var headers = []string{
	"Content-Type", "Content-Disposition", "Location", "Link", "WWW-Authenticate", "Retry-After", "X-WP-Total", "X-WP-TotalPages",
}

// answerDifferences returns how a response of Bookside differs from PHP's.
func answerDifferences(php, bookside answer) []difference {
	var found []difference
	if php.status != bookside.status {
		found = append(found, difference{kind: StatusDiffers, php: numberValue(php.status), bookside: numberValue(bookside.status)})
	}
	for _, name := range headers {
		a, b := headerValue(php.header, name), headerValue(bookside.header, name)
		if a != b {
			found = append(found, difference{kind: HeaderDiffers, at: location{{name: name}}, php: headerText(php.header, name), bookside: headerText(bookside.header, name)})
		}
	}
	switch {
	case (php.status < http.StatusBadRequest) != (bookside.status < http.StatusBadRequest):
		// A record and an error have nothing in common to compare.
	case php.isJSON && bookside.isJSON:
		found = append(found, differencesOf(php.json, bookside.json)...)
	case php.isJSON != bookside.isJSON || string(php.body) != string(bookside.body):
		found = append(found, difference{kind: NotJSON, php: bodyText(php), bookside: bodyText(bookside)})
	}
	return found
}

// headerValue returns a header in the form in which it is compared: case and spaces of a media type do not
// matter, and the character set of JSON is always UTF-8.
func headerValue(header http.Header, name string) string {
	text := header.Get(name)
	if name != "Content-Type" {
		return text
	}
	media, parameters, err := mime.ParseMediaType(text)
	if err != nil {
		return text
	}
	if media == "application/json" {
		return media
	}
	return media + " " + strings.ToLower(parameters["charset"])
}

func headerText(header http.Header, name string) value {
	if len(header.Values(name)) == 0 {
		return value{}
	}
	return textValue(header.Get(name))
}

// bodyText returns the beginning of a body that is not JSON.
func bodyText(a answer) value {
	if a.isJSON {
		return a.json
	}
	const most = 200
	return textValue(strings.ToValidUTF8(string(a.body[:min(len(a.body), most)]), "\uFFFD"))
}

// verdict is the result for a request: the worst of its differences.
type verdict int

const (
	equal verdict = iota
	equalButNoise
	knownOnly
	differs
)

// judged is a difference with its verdict.
type judged struct {
	difference
	verdict   verdict
	name, why string // of a known difference
}

// comparison is a request with its three responses.
type comparison struct {
	request    Request
	route      Route // zero for none
	php, again answer
	bookside   answer
}

// routeNoise counts the comparisons of a route in which PHP's responses differ from each other, by path and
// kind. Two responses may also be equal by chance, so what PHP changes at least as often as Bookside seems
// to differ is noise wherever it occurs on the route.
type routeNoise map[place]int

// place is a path, and how responses differ there.
type place struct {
	path string
	kind Kind
}

// covers reports whether this many differences at one place are noise of the route. Statuses, bodies and
// elements of a list never are: one failure, or one new record, would hide all others.
func (n routeNoise) covers(path string, k Kind, requests int) bool {
	switch k {
	case StatusDiffers, NotJSON, MissingElement, AdditionalElement:
		return false
	default:
		return requests <= n[place{path, k}]
	}
}

// noisy reports whether PHP's two responses have the same difference.
func noisy(noise []difference, d difference) bool {
	return slices.ContainsFunc(noise, func(n difference) bool {
		switch n.kind {
		case KeyOrder, NumberForm:
			return false
		case OrderDiffers:
			return d.kind == OrderDiffers && slices.Equal(n.at, d.at)
		case MissingElement, AdditionalElement:
			return d.isElement() && slices.Equal(n.at[:len(n.at)-1], d.at[:len(d.at)-1]) && sameElement(n, d)
		default:
			return inside(d.exact(), n.exact())
		}
	})
}

// sameElement reports whether PHP itself had the element once and not the other time. For elements without
// an id this cannot be known.
func sameElement(n, d difference) bool {
	one, okOne := n.element()
	other, okOther := d.element()
	return !okOne || !okOther || n.kind == d.kind && one == other
}

// inside reports whether a path equals another one or leads to something inside it.
func inside(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// judge returns the differences of a comparison, and adds its noise to that of the route. collector.result
// finds what is noise only on the route, once all requests are known.
func (c comparison) judge(ignore []Pattern, noise routeNoise) (found []judged, quiet bool) {
	php, again := c.php, c.again
	var own []difference
	switch {
	case alike(php, again):
		own = answerDifferences(php, again)
		quiet = len(own) == 0
	case !alike(php, c.bookside) && (alike(again, c.bookside) || again.sound() && !php.sound()):
		php = again
		c.php = again
	}
	changed := map[place]bool{}
	for _, n := range own {
		if !ignored(ignore, n) {
			changed[place{n.path(), n.kind}] = true
		}
	}
	for p := range changed {
		noise[p]++
	}
	for _, d := range answerDifferences(php, c.bookside) {
		if ignored(ignore, d) {
			continue
		}
		j := judged{difference: d, verdict: differs}
		name, why := knownOf(knownDifferences, c, d)
		switch {
		case d.kind.remark():
			j.verdict = equal
		case php.isJSON == c.bookside.isJSON && noisy(own, d):
			j.verdict = equalButNoise
		case name != "":
			j.verdict, j.name, j.why = knownOnly, name, why
		}
		found = append(found, j)
	}
	return found, quiet
}

// alike reports whether two responses can be compared: otherwise one of them failed.
func alike(a, b answer) bool { return a.status == b.status && a.isJSON == b.isJSON }

// sound reports whether a response is neither a failure nor mixed with other output.
func (a answer) sound() bool { return a.status < http.StatusInternalServerError && a.isJSON }

func ignored(ignore []Pattern, d difference) bool {
	return d.kind != StatusDiffers && d.kind != HeaderDiffers && slices.ContainsFunc(ignore, func(p Pattern) bool { return p.matches(d.at) })
}
