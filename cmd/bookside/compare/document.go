package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Document is what an OpenAPI document tells about the GETs of the API.
type Document struct{ routes []route }

// route is a path with GET.
type route struct {
	path       string // such as /bookings/{id}
	segments   []string
	parameters []parameter // of the query, in the document's order
}

// parameter is a parameter of the query.
type parameter struct {
	name, kind, format string   // kind is integer, number, boolean, string, array or empty
	values             []string // all that are allowed; none if there are others
	words              []string // that are allowed besides ids
	example            string
	required           bool
}

// ReadDocument parses an OpenAPI document.
func ReadDocument(text []byte) (Document, error) {
	v, err := parseJSON(text)
	if err != nil {
		return Document{}, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	paths, _ := v.get("paths")
	var d Document
	for _, m := range paths.members {
		operation, ok := m.value.get("get")
		if !ok {
			continue
		}
		r := route{path: m.name, segments: segmentsOf(m.name)}
		parameters, _ := operation.get("parameters")
		for _, p := range parameters.list {
			if in, _ := p.get("in"); in.text == "query" {
				r.parameters = append(r.parameters, parameterOf(p))
			}
		}
		d.routes = append(d.routes, r)
	}
	if len(d.routes) == 0 {
		return Document{}, errors.New("the OpenAPI document has no GET")
	}
	return d, nil
}

func parameterOf(v value) parameter {
	text := func(names ...string) string {
		found, _ := v.at(names...)
		return found.text
	}
	p := parameter{name: text("name"), kind: text("schema", "type"), format: text("schema", "format"), example: text("example"), required: text("required") == "true"}
	if examples := wordsOf(v, "schema", "examples"); p.example == "" && len(examples) > 0 {
		p.example = examples[0]
	}
	p.values = wordsOf(v, "schema", "enum")
	if p.kind == "array" { // written with commas
		p.values = wordsOf(v, "schema", "items", "enum")
		p.values = append(p.values, strings.Join(p.values, ","))
	}
	either, _ := v.at("schema", "anyOf")
	for _, one := range either.list { // an id or a word
		if word, ok := one.get("const"); ok && word.kind == kindText {
			p.words = append(p.words, word.text)
		}
	}
	return p
}

func wordsOf(v value, names ...string) []string {
	list, _ := v.at(names...)
	var words []string
	for _, w := range list.list {
		if w.scalar() {
			words = append(words, w.text)
		}
	}
	return words
}

func segmentsOf(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

var placeholder = regexp.MustCompile(`^\{([a-z_]+)\}$`)

// match returns the route of a path below the base path; ok is false if there is none.
// A fixed segment wins over a placeholder.
func (d Document) match(path string) (found route, ok bool) {
	segments := segmentsOf(path)
	best := -1
	for _, r := range d.routes {
		if fixed, fits := r.fits(segments); fits && fixed > best {
			found, best, ok = r, fixed, true
		}
	}
	return found, ok
}

// fits reports whether segments are a path of the route, and how many of them are fixed.
func (r route) fits(segments []string) (fixed int, ok bool) {
	if len(segments) != len(r.segments) {
		return 0, false
	}
	for i, s := range r.segments {
		switch {
		case placeholder.MatchString(s):
		case s == segments[i]:
			fixed++
		default:
			return 0, false
		}
	}
	return fixed, true
}

func (r route) parameter(name string) (parameter, bool) {
	i := slices.IndexFunc(r.parameters, func(p parameter) bool { return p.name == name })
	if i < 0 {
		return parameter{}, false
	}
	return r.parameters[i], true
}

// placeholders returns the names of the parameters of the path.
func (r route) placeholders() []string {
	var names []string
	for _, s := range r.segments {
		if m := placeholder.FindStringSubmatch(s); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

// ours reports whether only Bookside has the route.
func (r route) ours() bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	return slices.Contains([]string{"changes", "holds", "webhooks"}, first) || strings.HasSuffix(r.path, "/calendar.ics")
}

// oursOnly are parameters that the PHP extension does not know, by route: it ignores them.
var oursOnly = map[string][]string{
	"/bookings":            {"updated_from", "updated_to"},
	"/customers":           {"updated_from", "updated_to"},
	"/orders":              {"updated_from", "updated_to"},
	"/payments":            {"updated_from", "updated_to"},
	"/availability":        {"date_to", "explain", "any_duration", "booking_id", "total_attendees", "location_id"},
	"/agents/availability": {"limit"},
}
