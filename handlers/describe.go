package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/openapi"
)

// describe returns the document's description of the route.
func (r *route) describe() openapi.Operation {
	o := openapi.Operation{
		ID: r.operation.id, Tag: r.tag, Method: r.method, Path: placeholders.ReplaceAllString(r.path, "{$1}"),
		Summary: r.operation.summary, Description: r.operation.description, AboutFormats: formatText(r), AboutPermission: " " + permissionText(r), Noun: r.noun(),
		Tagged: r.tagged(), Conditional: readOf(r) != nil, Idempotent: !r.is(unrepeatable), CalendarSecret: r.is(ofCalendar),
		Failures: r.failures(), Headers: r.answerHeaders, Exported: r.operation.formats != nil,
	}
	for _, p := range r.operation.path {
		o.PathParameters = append(o.PathParameters, openapi.PathParameter{Name: p.name, Resource: p.resource})
	}
	if r.operation.query != nil {
		o.Query = r.operation.query.Describe()
	}
	if r.operation.body != nil {
		o.Body, o.StrictBody = r.operation.body.Describe(), r.is(strict)
	}
	for _, a := range r.operation.answers {
		answer := openapi.Answer{Status: a.status, Body: a.body}
		if f, is := a.body.(file); is {
			answer.Body = string(f.text)
			answer.Media, _, _ = strings.Cut(f.typ, ";")
		}
		o.Answers = append(o.Answers, answer)
	}
	return o
}

// described returns the API as the document shows it.
func (a *api) described() openapi.API {
	d := openapi.API{QueryParameter: a.options.QueryParameter, Headers: headersOfAnswers}
	for i := range routes {
		d.Operations = append(d.Operations, routes[i].describe())
	}
	return d
}

// placeholders matches the parameters of a path in the router's notation.
var placeholders = regexp.MustCompile(`:([a-z_]+)`)

// noun returns what descriptions call a record of the route's resource.
func (r *route) noun() string {
	if last := len(r.operation.path) - 1; last >= 0 {
		return string(r.operation.path[last].resource)
	}
	return strings.TrimSuffix(r.tag, "s")
}

// formatText says in which other formats a list can be sent.
func formatText(r *route) string {
	var text string
	for _, f := range r.operation.formats {
		text += fmt.Sprintf(" With `Accept: %s`, %s.", f.media, f.about)
	}
	if text != "" {
		text += fmt.Sprintf(" Such an answer is in the order of ids, may have up to %d records, and counts as one request for each %d of them.", compat.MaxExported, chargedRecords)
	}
	return text
}

// permissionText says which permission a route needs, and which ones are needed to see or do everything
// that it offers.
func permissionText(r *route) string {
	switch {
	case r.is(ofCalendar):
		return "Only the secret of this calendar opens it, in its address; API keys do not."
	case r.permission == "":
		return "Any valid key will do."
	}
	text := "Requires the permission `" + r.permission + "`."
	for _, a := range r.alsoNeeded() {
		text += " Also requires `" + a.permission + "` " + a.purpose + "."
	}
	if reading := r.readPermission(); readOf(r) != nil && r.method != http.MethodDelete && reading != r.permission {
		text += " Without `" + reading + "`, a request that changes nothing is answered with the id and the fields that were sent."
	}
	emptied := slices.DeleteFunc(r.guarded(), func(g compat.Guarded) bool { return g.OnlyIfIncluded || g.Permission == r.permission })
	empty := namesByPermission(emptied)
	for _, permission := range slices.Sorted(maps.Keys(empty)) {
		verb := " is empty."
		if len(empty[permission]) > 1 {
			verb = " are empty."
		}
		text += " Without `" + permission + "`, " + enumerate(empty[permission], "and") + verb
	}
	return text
}

// namesByPermission returns the names of members, each once, by the permission that they need.
func namesByPermission(guarded []compat.Guarded) map[string][]string {
	names := map[string][]string{}
	for _, r := range guarded {
		if !slices.Contains(names[r.Permission], r.Name()) {
			names[r.Permission] = append(names[r.Permission], r.Name())
		}
	}
	return names
}

// enumerate writes names as part of a sentence.
func enumerate(names []string, before string) string {
	last := len(names) - 1
	text := "`" + names[last] + "`"
	if last > 0 {
		text = "`" + strings.Join(names[:last], "`, `") + "` " + before + " " + text
	}
	return text
}

// alsoNeeded returns the permissions, in addition to the route's own, without which some of its requests
// are rejected.
func (r *route) alsoNeeded() []extraPermission {
	needed := slices.Clone(r.operation.extraPermissions)
	if read := readOf(r); read != nil { // the GET of the record that the route changes
		needed = append(needed, extraPermission{read.route.permission, "to send tags in If-Match"})
	}
	if r.allowsDryRun() {
		needed = append(needed, extraPermission{r.readPermission(), "for a dry run"})
	}
	asked := namesByPermission(r.includes())
	for _, permission := range slices.Sorted(maps.Keys(asked)) {
		needed = append(needed, extraPermission{permission, "to include " + enumerate(asked[permission], "or")})
	}
	return needed
}

// headersOfAnswers describe the headers of some responses; the introduction has those of all.
var headersOfAnswers = []openapi.Header{
	{Name: tagHeader, Description: "Tag of the answer: a hash of its body", Type: "string", Example: openapi.ExampleTag},
	{Name: echo.HeaderWWWAuthenticate, Description: "How a key is sent", Type: "string", Example: keyChallenge},
	{Name: retryAfterHeader, Description: "Seconds to wait before retrying", Type: "integer", Example: 5},
	{Name: replayedHeader, Description: "true if the answer is that of an earlier request with the same Idempotency-Key", Type: "string", Example: "true"},
	{Name: totalHeader, Description: "Size of the list, where the answer is no JSON", Type: "integer", Example: 41},
	{Name: linkHeader, Description: "The next page, if there is one, where the answer is no JSON", Type: "string", Example: `<?per_page=20&page=2>; rel="next"`},
	{Name: warningHeader, Description: "What the site's own form would have said against the write, or what the answer is without, because WordPress did not answer; up to ten times", Type: "string", Example: `199 bookside "Customer 10 has as many future bookings as the site's form lets a customer have"`},
}

// mayWait are the statuses of responses that may carry Retry-After: with 207, and with the 400 of a bulk
// request, some of the bookings could not be created for now; with 409 the same request may still be
// running.
var mayWait = []int{http.StatusMultiStatus, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// answerHeaders returns the headers of a response.
func (r *route) answerHeaders(status int) []string {
	var names []string
	if status == http.StatusUnauthorized {
		names = append(names, echo.HeaderWWWAuthenticate)
	}
	bulk := status == http.StatusBadRequest && slices.ContainsFunc(r.operation.answers, func(a response) bool { return a.status == status })
	if bulk || slices.Contains(mayWait, status) {
		names = append(names, retryAfterHeader)
	}
	if r.method != http.MethodGet && status < http.StatusMultipleChoices {
		names = append(names, replayedHeader)
	}
	if r.is(decided|warns) && status < http.StatusMultipleChoices {
		names = append(names, warningHeader)
	}
	if r.operation.formats != nil && status == http.StatusOK {
		names = append(names, totalHeader, linkHeader)
	}
	if r.tagged() && status < http.StatusBadRequest {
		names = append(names, tagHeader)
	}
	return names
}

// failures returns the statuses of the errors of a route.
func (r *route) failures() []int {
	statuses := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if r.permission != "" {
		statuses = append(statuses, http.StatusForbidden)
	}
	if len(r.operation.path) > 0 {
		statuses = append(statuses, http.StatusNotFound)
	}
	if r.operation.body != nil {
		statuses = append(statuses, http.StatusUnprocessableEntity)
	}
	if r.method != http.MethodGet {
		statuses = append(statuses, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if r.method != http.MethodGet && !r.is(unrepeatable) {
		statuses = append(statuses, http.StatusConflict, http.StatusUnprocessableEntity)
	}
	if readOf(r) != nil {
		statuses = append(statuses, http.StatusPreconditionFailed)
	}
	if r.operation.formats != nil {
		statuses = append(statuses, http.StatusHTTPVersionNotSupported)
	}
	return append(statuses, r.operation.errors.Others...)
}
