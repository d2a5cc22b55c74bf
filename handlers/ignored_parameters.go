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
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/wordpress"
)

// PHP ignores parameters that nothing reads, so a mistyped filter returns everything. We do the same, but
// name such parameters. Where mistakes are handled strictly (RFC 7240, section 4.4), which a client may
// request and which is the default for test keys, the request is refused.

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
	fields   map[string]bool // of the body, which may also be in the query; members of objects under dotted names
	record   map[string]bool // of the GET whose response a condition is compared with
}

// parameterNames returns the route's parameters in the document, and those that any request may have.
func (a *api) parameterNames(r *route) parameterNames {
	known := parameterNames{map[string]bool{a.options.QueryParameter: true}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, name := range readAnywhere {
		known.anywhere[name] = true
	}
	if r.method != http.MethodGet {
		known.anywhere[compat.DryRun] = true // refused where it is not supported
	}
	addNames(known.query, r.operation.query)
	addNames(known.fields, r.operation.body)
	if read := readOf(r); read != nil {
		addNames(known.record, read.route.operation.query)
	}
	return known
}

func addNames(to map[string]bool, input compat.Input) {
	if input == nil {
		return
	}
	for _, name := range input.Names() {
		to[name] = true
	}
}

func (p parameterNames) include(name string, conditional bool) bool {
	object, _, _ := strings.Cut(name, ".")
	return p.anywhere[name] || p.query[name] || p.fields[object] || conditional && p.record[name]
}

// mistakes returns a message for each parameter, or field of a body, that nothing reads.
func (p parameterNames) mistakes(what string, ignored []string) map[string]string {
	known := slices.Concat(slices.Collect(maps.Keys(p.query)), slices.Collect(maps.Keys(p.fields)))
	messages := map[string]string{}
	for _, name := range ignored {
		messages[name] = "Unknown " + what
		if closest, likely := domain.Closest(strings.ToLower(name), known); likely {
			messages[name] += "; did you mean " + closest + "?"
		}
	}
	return messages
}

// refuseIgnored reports a request's parameters that nothing reads, and returns an error about them if they
// are handled strictly.
func (p parameterNames) refuseIgnored(c echo.Context, query *compat.Query) error {
	header, conditional := c.Response().Header(), len(c.Request().Header.Values(ifMatchHeader)) > 0
	ignored := middleware.Legible(query.Others(func(name string) bool { return p.include(name, conditional) }))
	if len(ignored) > 0 {
		header.Set(ignoredHeader, strings.Join(ignored, ", "))
	}
	asked := middleware.PreferredHandling(c.Request().Header.Values(preferHeader))
	if key, _ := keyOf(c); asked == "" && key.Kind == keys.Test {
		asked = middleware.Strict
	}
	if asked != "" {
		header.Set(appliedHeader, "handling="+string(asked))
	}
	if asked != middleware.Strict || len(ignored) == 0 {
		return nil
	}
	return domain.InvalidParameters(p.mistakes("parameter", ignored))
}
