package handlers

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/openapi"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// describe returns the document's description of the route.
func (r *route) describe() (openapi.Operation, error) {
	o := openapi.Operation{
		ID: r.operation.id, Tag: r.tag, Method: r.method, Path: placeholders.ReplaceAllString(r.path, "{$1}"),
		Summary: r.operation.summary, Description: r.operation.description, AboutFormats: formatText(r), AboutPermission: " " + permissionText(r), Noun: r.noun(),
		Tagged: r.tagged(), Conditional: readOf(r) != nil, Idempotent: !r.operation.noIdempotency, CalendarSecret: r.operation.calendar != "",
		Headers: r.answerHeaders,
	}
	for _, p := range r.operation.path {
		o.PathParameters = append(o.PathParameters, openapi.PathParameter{Name: p.name, Resource: p.resource})
	}
	if r.operation.query != nil {
		o.Query = r.operation.query.Describe()
	}
	if r.operation.body != nil {
		o.Body, o.StrictBody = r.operation.body.Describe(), r.operation.strictBody
	}
	for _, f := range r.operation.formats {
		o.Formats = append(o.Formats, f.media)
	}
	for _, a := range r.operation.answers {
		answer := openapi.Answer{Status: a.status, Body: a.body}
		if f, is := a.body.(file); is {
			answer.Body = string(f.text)
			answer.Media, _, _ = strings.Cut(f.typ, ";")
		}
		o.Answers = append(o.Answers, answer)
	}
	all := errorsOf(r)
	if read := readOf(r); read != nil {
		changed, err := preconditionFailed(read)
		if err != nil {
			return openapi.Operation{}, err
		}
		all = append(all, changed)
	}
	for _, err := range all {
		failure, shape := failures.Of(r.operation.errors, "4YQZ6PXJ2M", err)
		failure.Written = failures.Written(r.method, failure.Status, err)
		o.Failures = append(o.Failures, openapi.Failure{Failure: failure, Shape: shape})
	}
	return o, nil
}

// described returns the API as the document shows it.
func (a *api) described() (openapi.API, error) {
	d := openapi.API{QueryParameter: a.options.QueryParameter, Headers: headersOfAnswers}
	for i := range routes {
		o, err := routes[i].describe()
		if err != nil {
			return openapi.API{}, err
		}
		d.Operations = append(d.Operations, o)
	}
	d.Codes = codesOfErrors(d.Operations)
	return d, nil
}

// codesOfErrors returns the codes that errors of the operations, and of requests that reach none, may have.
func codesOfErrors(operations []openapi.Operation) []string {
	codes := map[string]bool{}
	for _, e := range append(failures.Common(), errMessageTooLarge, errManyMessages, errForeignOrigin, errUnfit) {
		codes[e.Code] = true
	}
	for _, o := range operations {
		for _, f := range o.Failures {
			codes[f.Code] = true
		}
	}
	return slices.Sorted(maps.Keys(codes))
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
		text += fmt.Sprintf(" Such an answer may have up to %d records, and counts as one request for each %d of them.", compat.MaxExported, chargedRecords)
	}
	return text
}

// permissionText says which permission a route needs, and which ones are needed to see or do everything
// that it offers.
func permissionText(r *route) string {
	switch {
	case r.operation.calendar != "":
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
	if read := readOf(r); read != nil {
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

// headersOfAnswers describe the headers of responses.
var headersOfAnswers = []openapi.Header{
	{Name: middleware.RequestIDHeader, Description: "Id of the request: the client's own, if it sent a valid one", Type: "string", Example: "4YQZ6PXJ2M"},
	{Name: "X-RateLimit-Limit", Description: "Limit of the window with the fewest requests left, if limits are on", Type: "integer", Example: 60},
	{Name: "X-RateLimit-Remaining", Description: "Requests left in that window", Type: "integer", Example: 59},
	{Name: "X-RateLimit-Reset", Description: "End of that window, in seconds since 1970", Type: "integer", Example: 1795255200},
	{Name: "RateLimit-Policy", Description: "All windows with their limits, as in the IETF draft", Type: "string", Example: `"minute";q=60;w=60, "hour";q=3600;w=3600`},
	{Name: "RateLimit", Description: "What is left of all windows, as in the IETF draft", Type: "string", Example: `"minute";r=59;t=30, "hour";r=3599;t=1830`},
	{Name: tagHeader, Description: "Tag of the answer: a hash of its body", Type: "string", Example: openapi.ExampleTag},
	{Name: echo.HeaderWWWAuthenticate, Description: "How a key is sent", Type: "string", Example: keyChallenge},
	{Name: retryAfterHeader, Description: "Seconds to wait before retrying", Type: "integer", Example: 5},
	{Name: replayedHeader, Description: "true if the answer is that of an earlier request with the same Idempotency-Key", Type: "string", Example: "true"},
	{Name: totalHeader, Description: "Size of the list, where the answer is no JSON", Type: "integer", Example: 41},
	{Name: linkHeader, Description: "The next page, if there is one, where the answer is no JSON", Type: "string", Example: `<?per_page=20&page=2>; rel="next"`},
	{Name: ignoredHeader, Description: "Parameters of the query that nothing reads, perhaps because they are misspelt: escaped as in a query, and no more than sixteen", Type: "string", Example: exampleMistake},
	{Name: appliedHeader, Description: "handling=strict if such parameters are rejected, handling=lenient if the client prefers that they are not", Type: "string", Example: "handling=strict"},
	{Name: warningHeader, Description: "What the site's own form would have said against the write, or what the answer is without, because WordPress did not answer; up to ten times", Type: "string", Example: `199 bookside "Customer 10 has as many future bookings as the site's form lets a customer have"`},
	{Name: totalAgeHeader, Description: "Age of the total in seconds, if it took long to count and was counted for an earlier request", Type: "integer", Example: 3},
}

// mayWait are the statuses of responses that may carry Retry-After: with 207, and with the 400 of a bulk
// request, some of the bookings could not be created for now; with 409 the same request may still be
// running.
var mayWait = []int{http.StatusMultiStatus, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// answerHeaders returns the headers of a response. Rate limits are reported once the key is known.
func (r *route) answerHeaders(status int) []string {
	names := []string{middleware.RequestIDHeader}
	if status == http.StatusUnauthorized {
		names = append(names, echo.HeaderWWWAuthenticate)
	} else {
		names = append(names, ratelimit.Headers...)
		names = append(names, ignoredHeader, appliedHeader)
	}
	bulk := status == http.StatusBadRequest && slices.ContainsFunc(r.operation.answers, func(a response) bool { return a.status == status })
	if bulk || slices.Contains(mayWait, status) {
		names = append(names, retryAfterHeader)
	}
	if r.method != http.MethodGet && status < http.StatusMultipleChoices {
		names = append(names, replayedHeader)
	}
	if (r.operation.decided || r.operation.warns) && status < http.StatusMultipleChoices {
		names = append(names, warningHeader)
	}
	if r.operation.errors.List && status < http.StatusBadRequest {
		names = append(names, totalAgeHeader)
	}
	if r.operation.formats != nil && status == http.StatusOK {
		names = append(names, totalHeader, linkHeader)
	}
	if r.tagged() && status < http.StatusBadRequest {
		names = append(names, tagHeader)
	}
	return names
}

// errorsOf returns the errors that the document shows for a route. They are created like those that are
// sent: TestDocumentedErrorsAreReal provokes each of them.
func errorsOf(r *route) []error {
	all := []error{
		domain.Unauthorized(),
		&ratelimit.Error{Message: ratelimit.Message, RetryAfter: 30},
		middleware.ErrOverloaded,
		errInternal,
	}
	if r.permission != "" {
		all = append(all, keys.Key{Permissions: []string{otherPermission(r.permission)}}.Require(r.permission))
	}
	for _, a := range r.alsoNeeded() {
		all = append(all, keys.Key{Permissions: []string{r.permission}}.Require(a.permission))
	}
	all = append(all, domain.InvalidParameters(new(api).parameterNames(r).mistakes("parameter", []string{exampleMistake})))
	if r.operation.query != nil {
		all = append(all, r.operation.query.Invalid(compat.InvalidExample(r.operation.query.Describe())))
	}
	if r.operation.body == nil {
		all = append(all, compat.ErrTooManyParameters)
	} else {
		fields := r.operation.body.Describe()
		all = append(all, compat.ErrNotJSON, middleware.ErrBodyTooLarge, domain.InvalidRequest(compat.InvalidExample(fields)))
		if rejected := compat.RejectedExample(fields); rejected != nil {
			all = append(all, domain.ValidationFailed(rejected))
		}
	}
	if r.operation.formats != nil {
		all = append(all, errUnfit)
	}
	if name, ok := r.personal(); ok {
		all = append(all, domain.PersonalMasked(name))
	}
	if r.method != http.MethodGet {
		all = append(all, wpdb.ErrOutcomeUnknown)
	}
	if r.method == http.MethodPost && r.operation.noIdempotency && r.operation.body == nil {
		all = append(all, nameRefused())
	}
	if r.method != http.MethodGet && !r.operation.noIdempotency {
		all = append(all, domain.RequestInProgress(nil), domain.IdempotencyKeyReused())
	}
	for _, p := range r.operation.path {
		if p.resource != domain.CouponResource && r.operation.calendar == "" {
			all = append(all, failures.ErrNoRoute) // for paths without a valid id
		}
		all = append(all, domain.NotFound(p.resource, fmt.Sprint(openapi.PathParameter{Resource: p.resource}.Example())))
	}
	return append(all, r.operation.exampleErrors...)
}

// personal returns a parameter or field with personal data that the route reads; ok is false if
// there is none.
func (r *route) personal() (name string, ok bool) {
	if r.operation.query != nil {
		if names := r.operation.query.Personal(); len(names) > 0 {
			return names[0], true
		}
	}
	if r.operation.body != nil {
		return compat.WritesPersonal(r.operation.body.Describe())
	}
	return "", false
}

// preconditionFailed returns the error for a changed record, with an example of the record.
func preconditionFailed(read *recordRead) (example, err error) {
	sample, schemas := read.route.operation.answers[0].body, compat.NewSchemas()
	response, err := encodeBody(schemas.Example(schemas.Of(sample)))
	if err != nil {
		return nil, err
	}
	record, err := compat.RecordIn(sample, response)
	return domain.PreconditionFailed(domain.PresentRecord{Tag: openapi.ExampleTag, Record: record}), err
}

// exampleMistake is the name of a mistyped parameter.
const exampleMistake = "agentid"

// errInternal is an example of an error that is not the client's fault.
var errInternal = errors.New("internal error")

// otherPermission returns a permission that a key may hold other than the one it needs.
func otherPermission(needed string) string {
	if needed == "read_agents" {
		return "read_services"
	}
	return "read_agents"
}
