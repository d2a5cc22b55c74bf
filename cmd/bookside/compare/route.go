package compare

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bookside/bookside/compat"
)

// Route is a GET of the API.
type Route struct {
	Path       string                    // below a base path, such as /bookings/{id}
	Ours       bool                      // the PHP extension lacks it
	Parameters []compat.FieldDescription // of the query
}

// routes are all GETs of the API.
type routes []Route

var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// match returns the route of a path; ok is false if there is none. A fixed segment wins over a
// placeholder.
func (all routes) match(requested string) (found Route, ok bool) {
	for _, r := range all {
		if fits, _ := path.Match(placeholder.ReplaceAllString(r.Path, "*"), requested); fits && (!ok || len(r.placeholders()) < len(found.placeholders())) {
			found, ok = r, true
		}
	}
	return found, ok
}

// placeholders returns the names of the path's parameters.
func (r Route) placeholders() []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(r.Path, -1) {
		names = append(names, m[1])
	}
	return names
}

func (r Route) parameter(name string) (p compat.FieldDescription, ok bool) {
	i := slices.IndexFunc(r.Parameters, func(p compat.FieldDescription) bool { return p.Name == name })
	if i < 0 {
		return compat.FieldDescription{}, false
	}
	return r.Parameters[i], true
}

func (r Route) has(parameter string) bool {
	_, ok := r.parameter(parameter)
	return ok
}

// words returns all values that a parameter allows, and for a list also their combination; none if it
// allows others.
func words(p compat.FieldDescription) []string {
	if p.Schema.Items != nil {
		return append(slices.Clone(p.Schema.Items.Enum), strings.Join(p.Schema.Items.Enum, ","))
	}
	return p.Schema.Enum
}
