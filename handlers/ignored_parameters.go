package handlers

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/wordpress"
)

// PHP ignores parameters and fields that nothing reads, so a mistyped filter returns everything. We do the same, but name
// them. A client that asks for mistakes to be handled strictly (RFC 7240, section 4.4) is refused.

const (
	ignoredHeader = "X-Ignored-Parameters"
	preferHeader  = "Prefer"
	appliedHeader = "Preference-Applied"
)

// readAnywhere are parameters that may come with any request without affecting the response: those that
// WordPress reads on all its routes, those that its scripts and jQuery add, and the key.
var readAnywhere = []string{wordpress.RouteParameter, middleware.MethodParameter, "_locale", "_wpnonce", "_embed", "_", keys.SecretParameter}

// parameterNames are the names of the parameters that a route reads.
type parameterNames struct {
	anywhere map[string]bool // accepted on any route
	query    map[string]bool
	record   map[string]bool    // of the GET whose response a condition is compared with
	body     *jsonschema.Schema // of a write, whose fields may also be in the query
}

// parameterNames returns the route's parameters in the document, and those that any request may have.
func (a *api) parameterNames(r *route) parameterNames {
	known := parameterNames{map[string]bool{a.options.QueryParameter: true}, map[string]bool{}, map[string]bool{}, &jsonschema.Schema{}}
	for _, name := range readAnywhere {
		known.anywhere[name] = true
	}
	if r.method != http.MethodGet {
		known.anywhere[compat.DryRun] = true // refused where it is not supported
	}
	addNames(known.query, r.operation.query)
	if r.operation.body != nil {
		known.body = compat.SchemaOf(r.operation.body.Describe())
	}
	if read := readOf(r); read != nil {
		addNames(known.record, read.route.operation.query)
	}
	return known
}

func addNames(to map[string]bool, input compat.QueryInput) {
	if input == nil {
		return
	}
	for _, name := range input.Names() {
		to[name] = true
	}
}

func (p parameterNames) include(name string, conditional bool) bool {
	return p.anywhere[name] || p.query[name] || conditional && p.record[name]
}

// refuseUnknownParameters reports the parameters of a read that nothing reads.
func (p parameterNames) refuseUnknownParameters(c echo.Context, query *compat.Query) error {
	known, unknown := slices.Collect(maps.Keys(p.query)), map[string]string{}
	for _, name := range query.Others(func(name string) bool { return p.include(name, false) }) {
		unknown[name] = domain.Likely(name, known)
	}
	return refuseUnknown(c, "parameter", unknown, false, domain.InvalidParameters)
}

// refuseUnknownFields reports the fields of a write, of its body and of its query, that nothing reads.
func (r *request) refuseUnknownFields(document compat.Document) error {
	conditional := len(r.echo.Request().Header.Values(ifMatchHeader)) > 0
	unknown := document.Unknown(r.known.body, func(name string) bool { return r.known.include(name, conditional) })
	for name, likely := range unknown {
		if likely == "" {
			unknown[name] = domain.Likely(name, slices.Collect(maps.Keys(r.known.query)))
		}
	}
	return refuseUnknown(r.echo, "field", unknown, r.route.is(strict), domain.UnknownFields)
}

// refuseUnknown names what nothing reads, each with the name that is likely meant. It returns an error about it if mistakes
// are handled strictly.
func refuseUnknown(c echo.Context, what string, unknown map[string]string, strict bool, refusal func(map[string]string) error) error {
	header, names := c.Response().Header(), slices.Sorted(maps.Keys(unknown))
	shown := middleware.Legible(names)
	if len(shown) > 0 {
		header.Set(ignoredHeader, strings.Join(shown, ", "))
	}
	if asked := middleware.PreferredHandling(c.Request().Header.Values(preferHeader)); asked != "" {
		header.Set(appliedHeader, "handling="+string(asked))
		strict = strict || asked == middleware.Strict
	}
	if !strict || len(shown) == 0 {
		return nil
	}
	messages := map[string]string{}
	for i, name := range shown {
		messages[name] = "Unknown " + what
		if likely := unknown[names[i]]; likely != "" && name != middleware.More {
			messages[name] += "; did you mean " + likely + "?"
		}
	}
	return refusal(messages)
}
