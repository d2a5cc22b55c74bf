package handlers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/webhooks"
	"bookside/compat"
	"bookside/handlers/ratelimit"
	"bookside/wpdb"
)

// members and member write the objects of the document in their order.
type (
	members = compat.Members
	member  = compat.Member
)

// indexOf returns the index of the member with a name, or -1.
func indexOf(all members, name string) int {
	return slices.IndexFunc(all, func(m member) bool { return m.Name() == name })
}

// document returns the OpenAPI document of the route table. servers are the base
// paths of the API, queryParameter is the query parameter for keys or "", and day is
// that of the examples, see dayOfExamples.
func document(servers []string, queryParameter string, day time.Time) ([]byte, error) {
	d := describer{schemas: compat.NewSchemas(), queryParameter: queryParameter}
	paths := d.paths()
	whole := members{
		{"openapi", "3.1.1"},
		{"info", members{
			{"title", "Bookside"},
			{"version", "v1"},
			{"summary", "Bookings, customers, services, payments and orders of a WordPress site with LatePoint"},
			{"description", introduction},
			{"contact", members{{"name", "The operator of this site"}}},
			{"license", members{{"name", "Apache License 2.0"}, {"identifier", "Apache-2.0"}}},
		}},
		{"servers", serversOf(servers)},
		{"security", d.security()},
		{"tags", tags()},
		{"paths", paths},
		{"webhooks", d.webhooks()},
		{"components", members{
			{"securitySchemes", d.securitySchemes()},
			{"headers", headerComponents},
			{"responses", d.shared},
			{"schemas", d.schemas.Named()},
		}},
	}
	if d.failure != nil {
		return nil, d.failure
	}
	text, err := encodeBody(whole)
	if err != nil {
		return nil, err
	}
	dates := strings.NewReplacer(compat.ExampleDay, day.Format(time.DateOnly), compat.ExampleLastDay, day.AddDate(0, 0, 6).Format(time.DateOnly))
	return []byte(dates.Replace(string(text))), nil
}

// dayOfExamples is the day of bookings in examples: a Tuesday after everything that is
// booked in the demo, so that requests with the examples find free times there.
func dayOfExamples(now time.Time) time.Time {
	day := time.Date(now.Year(), now.Month(), now.Day()+7*7, 0, 0, 0, 0, time.UTC)
	return day.AddDate(0, 0, (int(time.Tuesday-day.Weekday())+7)%7)
}

const introduction = "## Keys\n\n" +
	"Each request needs an API key, in the header `X-API-Key` or as a bearer token in `Authorization`. " +
	"A key has permissions; each operation below says which ones it needs. Without a valid key the answer is 401, without the permission 403.\n\n" +
	"## Pages\n\n" +
	"Lists have pages: `page` counts from 1, and `per_page` is at most 100. `pagination` says how many records and pages there are. " +
	"Filters are joined by AND. All of them are optional.\n\n" +
	"## Errors\n\n" +
	"An error has an HTTP status, a code for programs and a message for people, in one of the forms that each operation shows. " +
	"Errors about fields name each of them under `details`. Failures of the server have a `request_id`, which is also in the header `X-Request-Id`: send it to the operator. " +
	"Where a write may be retried, `written` says whether it took effect.\n\n" +
	"## Idempotency\n\n" +
	"Send a unique `Idempotency-Key` with a POST, and send the request again with the same key if no answer came: within 24 hours the first answer is repeated, and nothing is done twice. " +
	"A PUT or DELETE with `If-Match` takes effect only if the record still is as its `ETag` says; otherwise the answer is 412 with the present record.\n\n" +
	"## Limits\n\n" +
	"A key may send a number of requests per minute and per hour; the headers `RateLimit` and `RateLimit-Policy` say how many are left. Beyond that the answer is 429, and `Retry-After` says how many seconds to wait. " +
	"Bodies have at most a megabyte.\n\n" +
	"## Changes\n\n" +
	"Instead of asking for lists again and again, follow `GET /changes` with a cursor, or add a webhook: both tell of changes whoever made them, also on the site itself.\n\n" +
	"## Input\n\n" +
	"Input is read leniently: numbers and booleans may be sent as strings, " +
	"booleans also as 1, 0, yes, no, on and off, words in any letter case, members of objects under dotted names, and lists and objects as JSON texts. " +
	"An empty value counts as not sent, and so do null and, for an id that is not required, 0; but null clears a field of an update that can be null. Fields that a body lacks are taken from the query. If a parameter is sent twice, the last one counts. Unknown fields are ignored, and so are unknown parameters, but `X-Ignored-Parameters` names them; with `Prefer: handling=strict`, which is the default for test keys, they are rejected, and `Prefer: handling=lenient` ignores them. " +
	"Any other value that does not match its description is rejected with an error that names the field.\n\n" +
	"Every path that answers GET also answers HEAD. A POST may stand for another method, named by the parameter `_method` or the header `X-HTTP-Method-Override`. GET on the base path lists the routes and needs no key; its `fingerprint` tells the site from others. Any other path or method answers 404 with the code rest_no_route."

// describer makes the parts of the document.
type describer struct {
	schemas        *compat.Schemas
	shared         members // responses that several operations refer to, by name
	queryParameter string
	failure        error // to make an example
}

func serversOf(bases []string) []members {
	servers := make([]members, len(bases))
	for i, base := range bases {
		servers[i] = members{{"url", cmp.Or(base, "/")}, {"description", "This site"}}
	}
	return servers
}

func tags() []members {
	var all []members
	for i, r := range routes { // routes with the same tag stand together
		if i == 0 || r.tag != routes[i-1].tag {
			all = append(all, members{{"name", r.tag}, {"description", tagTexts[r.tag]}})
		}
	}
	return all
}

// tagTexts say what the operations of a tag are about.
var tagTexts = map[string]string{
	"status":       "Whether the API answers, and the time of the site",
	"bookings":     "Appointments of customers with agents: search, make, move and cancel them",
	"holds":        "Slots that are kept while a customer is still typing",
	"customers":    "The people who book",
	"agents":       "The people who are booked, and who of them is free",
	"services":     "What can be booked, and the categories of it",
	"locations":    "Where agents work",
	"calendars":    "Bookings for calendar programs, each at a secret address",
	"availability": "The times at which a booking can begin",
	"payments":     "What was paid for orders, and what was paid back",
	"orders":       "What customers ordered: bookings with their prices, invoices and transactions",
	"changes":      "What changed on the site, in order, whoever changed it",
	"coupons":      "Codes that give a discount",
	"webhooks":     "Addresses to which changes are sent",
}

const (
	headerScheme = "apiKeyHeader"
	bearerScheme = "bearer"
	queryScheme  = "apiKeyQuery"
	secretScheme = "calendarSecret"
)

func (d *describer) security() []members {
	schemes := []members{{{headerScheme, []string{}}}, {{bearerScheme, []string{}}}}
	if d.queryParameter != "" {
		schemes = append(schemes, members{{queryScheme, []string{}}})
	}
	return schemes
}

func (d *describer) securitySchemes() members {
	schemes := members{
		{headerScheme, members{{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}, {"description", "The key of an API client"}}},
		{bearerScheme, members{{"type", "http"}, {"scheme", "bearer"}, {"description", "The same key as a bearer token"}}},
	}
	if d.queryParameter != "" {
		about := "The same key in the URL, where it may end up in logs: prefer a header"
		schemes = append(schemes, member{queryScheme, members{{"type", "apiKey"}, {"in", "query"}, {"name", d.queryParameter}, {"description", about}}})
	}
	about := "The secret in the address of a calendar, which opens nothing else"
	return append(schemes, member{secretScheme, members{{"type", "apiKey"}, {"in", "query"}, {"name", keys.SecretParameter}, {"description", about}}})
}

// paths returns the routes by path, in the order of the table.
func (d *describer) paths() members {
	var paths members
	for _, r := range routes {
		path := placeholders.ReplaceAllString(r.path, "{$1}")
		i := indexOf(paths, path)
		if i < 0 {
			i = len(paths)
			paths = append(paths, member{path, members{}})
		}
		paths[i][1] = append(paths[i].Value().(members), member{strings.ToLower(r.method), d.operation(r)})
	}
	return paths
}

// webhooks describes the requests that are sent to webhooks, by event.
func (d *describer) webhooks() members {
	var all members
	for _, event := range webhooks.Events() {
		resource, _ := webhooks.ResourceOf(event)
		sample := d.schemas.Of(compat.WebhookEvent{Type: event})
		all = append(all, member{event, members{{"post", members{
			{"operationId", "on" + domain.Capitalize(strings.ReplaceAll(event, ".", "_"))},
			{"summary", event},
			{"description", eventText(event, string(resource))},
			{"tags", []string{"webhooks"}},
			{"security", []members{}},
			{"parameters", eventHeaders},
			{"requestBody", members{{"required", true}, {"content", members{{"application/json", members{{"schema", sample}, {"example", eventExample(event, string(resource))}}}}}}},
			{"responses", members{
				{"2XX", members{{"description", "The event was accepted"}}},
				{"410", members{{"description", "Nothing more is sent to this webhook"}}},
				{"default", members{{"description", "The event is sent again, ten times within three days; redirects are not followed"}}},
			}},
		}}}})
	}
	return all
}

func eventText(event, resource string) string {
	switch {
	case event == webhooks.StatusChanged:
		return "The status of a booking changed. A webhook that lists booking.updated and not this event gets it as booking.updated."
	case strings.HasSuffix(event, ".created"):
		return "A record of " + resource + " was created, whoever did it."
	case event == "booking.deleted":
		return "A booking was deleted, whoever did it; or it moved to an agent, service or location that the webhook or its key is not about, then `left` is true."
	case strings.HasSuffix(event, ".deleted"):
		return "A record of " + resource + " was deleted, whoever did it."
	default:
		return "A record of " + resource + " changed, whoever did it."
	}
}

// eventHeaders are the headers of requests to webhooks. They are written out: generators
// do not find what only webhooks refer to.
var eventHeaders = []members{
	eventHeader(webhooks.IDHeader, "Unique id of the delivery, the same for each try: do nothing for one that was processed before", "evt_1f0a3c5e7b9d2468ace013579bdf2468"),
	eventHeader(webhooks.TimestampHeader, "Time of the try, in seconds since 1970: refuse one that is more than five minutes away", "1795341600"),
	eventHeader(webhooks.SignatureHeader, "Signatures of webhook-id, webhook-timestamp and body, joined by dots: v1, and HMAC-SHA256 in base64, one for each valid secret", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
}

func eventHeader(name, about, example string) members {
	return members{{"name", name}, {"in", "header"}, {"required", true}, {"description", about}, {"schema", &compat.Schema{Type: "string"}}, {"example", example}}
}

// eventExample is the body of an event without a record.
func eventExample(event, resource string) members {
	_, kind, _ := strings.Cut(event, ".")
	data := members{{"number", 1204}, {"resource", resource}, {"resource_id", 17}, {"kind", kind}, {"at", exampleInstant}, {"origin", "found"}}
	if event == webhooks.StatusChanged {
		data[3] = member{"kind", "updated"}
		data = append(data, member{"old_status", "pending"}, member{"new_status", "approved"})
	}
	return members{{"type", event}, {"timestamp", exampleInstant}, {"data", data}}
}

const exampleInstant = "2026-11-22T10:00:00Z"

// placeholders are the parameters of a path in the router's notation.
var placeholders = regexp.MustCompile(`:([a-z_]+)`)

func (d *describer) operation(r route) members {
	described := members{
		{"operationId", r.operation.id},
		{"summary", r.operation.summary},
		{"description", r.operation.description + formText(r) + " " + permissionText(r)},
		{"tags", []string{r.tag}},
	}
	if r.operation.calendar != "" {
		described = append(described, member{"security", []members{{{secretScheme, []string{}}}}})
	}
	if parameters := d.parameters(r); len(parameters) > 0 {
		described = append(described, member{"parameters", parameters})
	}
	if r.operation.body != nil {
		described = append(described, member{"requestBody", d.requestBody(r)})
	}
	return append(described, member{"responses", d.responses(r)})
}

// formText says in which other forms a list is sent.
func formText(r route) string {
	var text string
	for _, f := range r.operation.formats {
		text += fmt.Sprintf(" With `Accept: %s`, %s.", f.media, f.about)
	}
	if text != "" {
		text += fmt.Sprintf(" Such an answer may have up to %d records, and counts as one request for each %d of them.", compat.MaxExported, chargedRecords)
	}
	return text
}

// permissionText says which permission a route needs, and which ones it takes to
// see or do everything that it offers.
func permissionText(r route) string {
	switch {
	case r.operation.calendar != "":
		return "Only the secret of this calendar opens it, in its address; API keys do not."
	case r.permission == "":
		return "Any valid key will do."
	}
	text := "Requires the permission `" + r.permission + "`."
	for _, a := range r.operation.extraPermissions {
		text += " Also requires `" + a.permission + "` " + a.purpose + "."
	}
	if read := readOf(&r); read != nil {
		text += " Also requires `" + read.route.permission + "` to send tags in If-Match."
	}
	asked := namesByPermission(r.includes())
	for _, permission := range slices.Sorted(maps.Keys(asked)) {
		text += " Also requires `" + permission + "` to include " + enumerate(asked[permission], "or") + "."
	}
	emptied := slices.DeleteFunc(slices.Clone(r.guard().Guarded()), func(g compat.Guarded) bool { return g.Asked || g.Permission == r.permission })
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

// namesByPermission returns the names of members, each once, by the permission they
// need.
func namesByPermission(guarded []compat.Guarded) map[string][]string {
	names := map[string][]string{}
	for _, g := range guarded {
		if !slices.Contains(names[g.Permission], g.Name()) {
			names[g.Permission] = append(names[g.Permission], g.Name())
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

// alsoNeeded returns the permissions, besides the route's own, without which some of
// its requests are rejected.
func alsoNeeded(r route) []string {
	var permissions []string
	for _, a := range r.operation.extraPermissions {
		permissions = append(permissions, a.permission)
	}
	if read := readOf(&r); read != nil {
		permissions = append(permissions, read.route.permission)
	}
	return append(permissions, slices.Sorted(maps.Keys(namesByPermission(r.includes())))...)
}

func (d *describer) parameters(r route) []members {
	var parameters []members
	for _, p := range r.operation.path {
		parameters = append(parameters, p.describe())
	}
	if r.operation.query != nil {
		for _, p := range r.operation.query.Describe() {
			p.Schema.Concerning(r.noun())
			if p.Name == "per_page" && r.operation.formats != nil {
				p.Schema.Description += fmt.Sprintf(", at most %s in JSON", *p.Schema.Maximum)
				p.Schema.Maximum = new(json.Number(strconv.Itoa(compat.MaxExported)))
			}
			parameters = append(parameters, d.queryParameterOf(p))
		}
	}
	if r.method == http.MethodPost && !r.operation.noIdempotency {
		parameters = append(parameters, idempotencyParameter("", &compat.Schema{Type: "string", Pattern: "^[ -~]{1,255}$"}))
	}
	if r.tagged() {
		parameters = append(parameters, ifNoneMatchParameter)
	}
	if readOf(&r) != nil {
		parameters = append(parameters, ifMatchParameter)
	}
	if readOf(&r) != nil && !r.operation.noIdempotency {
		parameters = append(parameters, idempotencyParameter(". Without If-Match it is ignored", &compat.Schema{Type: "string"}))
	}
	return parameters
}

// noun is what descriptions call a record of the route's resource.
func (r *route) noun() string {
	if last := len(r.operation.path) - 1; last >= 0 {
		return string(r.operation.path[last].resource)
	}
	return strings.TrimSuffix(r.tag, "s")
}

func (p pathParameter) describe() members {
	schema, about := &compat.Schema{Type: "integer", Minimum: new(json.Number("1"))}, "Id of the "+string(p.resource)
	if p.resource == domain.CouponResource {
		schema, about = &compat.Schema{Type: "string"}, "Code of the coupon, in any letter case"
	}
	return members{{"name", p.name}, {"in", "path"}, {"required", true}, {"description", about}, {"schema", schema}, {"example", p.example()}}
}

func (p pathParameter) example() any {
	if p.resource == domain.CouponResource {
		return "WELCOME10"
	}
	return 1
}

// queryParameterOf describes a parameter. An optional one has its example in the schema:
// viewers fill in examples of parameters, and a list asked for every filter is empty.
func (d *describer) queryParameterOf(p compat.FieldDescription) members {
	parameter := members{{"name", p.Name}, {"in", "query"}, {"description", p.Schema.Description}}
	if p.Required {
		parameter = append(parameter, member{"required", true})
	}
	if p.Schema.Items != nil { // words with commas between them
		parameter = append(parameter, member{"style", "form"}, member{"explode", false})
	}
	p.Schema.Description = ""
	example := d.schemas.Example(p.Schema)
	if p.Needed {
		return append(parameter, member{"schema", p.Schema}, member{"example", example})
	}
	p.Schema.Examples = []any{example}
	return append(parameter, member{"schema", p.Schema})
}

func idempotencyParameter(more string, schema *compat.Schema) members {
	return members{
		{"name", idempotencyKey}, {"in", "header"},
		{"description", "A unique name for this request. If it is sent again within 24 hours with the same body, the first answer is repeated and nothing is done twice" + more},
		{"schema", withExample(schema, "4f1c7e9a")},
	}
}

// withExample adds an example that viewers do not fill in.
func withExample(schema *compat.Schema, example any) *compat.Schema {
	schema.Examples = []any{example}
	return schema
}

// exampleTag is a sample of a tag.
const exampleTag = `"b1946ac92492d2347c6235b4d2611184"`

var ifNoneMatchParameter = members{
	{"name", ifNoneMatchHeader}, {"in", "header"},
	{"description", "Tags of answers that the client has, or *: if the answer would be one of them, it is 304 without a body. Weak tags count as strong ones"},
	{"schema", withExample(&compat.Schema{Type: "string"}, exampleTag)},
}

var ifMatchParameter = members{
	{"name", ifMatchHeader}, {"in", "header"},
	{"description", "Tags of the record's states to which the request applies, or *. A tag is the ETag of the answer to a GET of the same URL. If the record has another tag by now, nothing is written, and the answer is 412 with the record. Weak tags count as strong ones"},
	{"schema", withExample(&compat.Schema{Type: "string"}, exampleTag)},
}

// requestBody describes a body under each content type that is read.
func (d *describer) requestBody(r route) members {
	schema := compat.SchemaOf(r.operation.body.Describe()).Concerning(r.noun())
	schema.Description = "What is sent to " + strings.ToLower(r.operation.summary[:1]) + r.operation.summary[1:]
	named := d.schemas.Name(domain.Capitalize(r.operation.id)+"Body", schema)
	example := d.schemas.Example(schema)
	content := make(members, len(bodyTypes))
	for i, media := range bodyTypes {
		content[i] = member{media, members{{"schema", named}, {"example", example}}}
	}
	if len(schema.Required) > 0 {
		return members{{"required", true}, {"content", content}}
	}
	return members{{"content", content}}
}

// bodyTypes are the types of bodies that compat reads.
var bodyTypes = []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}

// outcome is an answer of an operation, or an error.
type outcome struct {
	name    string
	schema  *compat.Schema
	example any    // nil for one that is made of the schema
	media   string // "" for JSON
}

func (d *describer) responses(r route) members {
	byStatus := map[int][]outcome{}
	for _, answer := range r.operation.answers {
		byStatus[answer.status] = append(byStatus[answer.status], d.answer(answer.body))
	}
	for _, err := range append(errorsOf(r), d.preconditionFailed(r)...) {
		failure, shape := failureOf(r.operation.errors, "4YQZ6PXJ2M", err)
		failure.Written = writeOutcome(r.method, failure.Status, err)
		name := cmp.Or(failure.Code, "error")
		if shape == compat.TextError {
			name = "error"
		}
		byStatus[failure.Status] = append(byStatus[failure.Status], outcome{name, d.schemas.ErrorSchema(shape), failure.Body(shape), ""})
	}
	if r.tagged() {
		byStatus[http.StatusNotModified] = nil
	}
	var responses members
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		response := d.response(r, status, byStatus[status])
		if status >= http.StatusMultipleChoices {
			response = d.share(strings.ReplaceAll(http.StatusText(status), " ", ""), response)
		}
		responses = append(responses, member{strconv.Itoa(status), response})
	}
	return responses
}

// answer describes the body of an answer, of which there is a sample.
func (d *describer) answer(sample any) outcome {
	if f, is := sample.(file); is {
		media, _, _ := strings.Cut(f.typ, ";")
		return outcome{"answer", &compat.Schema{Type: "string"}, string(f.text), media}
	}
	return outcome{"answer", d.schemas.Of(sample), nil, ""}
}

// share keeps a response under a name and returns a reference to it. Different
// responses of one name are numbered.
func (d *describer) share(name string, response members) members {
	numbered := name
	for n := 2; ; n++ {
		i := indexOf(d.shared, numbered)
		if i < 0 {
			d.shared = append(d.shared, member{numbered, response})
		}
		if i < 0 || reflect.DeepEqual(d.shared[i].Value(), response) {
			return members{{"$ref", "#/components/responses/" + numbered}}
		}
		numbered = name + strconv.Itoa(n)
	}
}

func (d *describer) response(r route, status int, outcomes []outcome) members {
	var forms []*compat.Schema
	var examples members
	for _, o := range outcomes {
		if !slices.ContainsFunc(forms, func(s *compat.Schema) bool { return s.Ref != "" && s.Ref == o.schema.Ref }) {
			forms = append(forms, o.schema)
		}
		if o.example == nil {
			o.example = d.schemas.Example(o.schema)
		}
		name := o.name
		for n := 2; indexOf(examples, name) >= 0; n++ {
			name = o.name + "_" + strconv.Itoa(n)
		}
		examples = append(examples, member{name, members{{"value", o.example}}})
	}
	response := members{{"description", http.StatusText(status)}, {"headers", headersOf(r, status)}}
	if len(outcomes) == 0 {
		return response
	}
	media := cmp.Or(outcomes[0].media, "application/json")
	content := members{{media, members{{"schema", compat.AnyOf(forms...)}, {"examples", examples}}}}
	if status == http.StatusOK {
		for _, f := range r.operation.formats {
			content = append(content, member{f.media, members{{"schema", &compat.Schema{Type: "string"}}}})
		}
	}
	return append(response, member{"content", content})
}

var headerComponents = members{
	{requestIDHeader, headerOf("Id of the request: the client's own, if it sent a valid one", "string", "4YQZ6PXJ2M")},
	{"X-RateLimit-Limit", headerOf("Limit of the window with the fewest requests left, if limits are on", "integer", 60)},
	{"X-RateLimit-Remaining", headerOf("Requests left in that window", "integer", 59)},
	{"X-RateLimit-Reset", headerOf("End of that window, in seconds since 1970", "integer", 1795255200)},
	{"RateLimit-Policy", headerOf("All windows with their limits, as in the IETF draft", "string", `"minute";q=60;w=60, "hour";q=3600;w=3600`)},
	{"RateLimit", headerOf("What is left of all windows, as in the IETF draft", "string", `"minute";r=59;t=30, "hour";r=3599;t=1830`)},
	{tagHeader, headerOf("Tag of the answer: a hash of its body", "string", exampleTag)},
	{echo.HeaderWWWAuthenticate, headerOf("How a key is sent", "string", keyChallenge)},
	{retryAfterHeader, headerOf("Seconds to wait before retrying", "integer", 5)},
	{replayedHeader, headerOf("true if the answer is that of an earlier request with the same Idempotency-Key", "string", "true")},
	{totalHeader, headerOf("Size of the list, where the answer is no JSON", "integer", 41)},
	{linkHeader, headerOf("The next page, if there is one, where the answer is no JSON", "string", `<?per_page=20&page=2>; rel="next"`)},
	{ignoredHeader, headerOf("Parameters of the query that nothing reads, perhaps because they are misspelt: escaped as in a query, and no more than sixteen", "string", exampleMistake)},
	{appliedHeader, headerOf("handling=strict if such parameters are rejected, handling=lenient if the client prefers that they are not", "string", "handling=strict")},
	{totalAgeHeader, headerOf("Age of the total in seconds, if it took long to count and was counted for an earlier request", "integer", 3)},
}

func headerOf(about, word string, example any) members {
	return members{{"description", about}, {"schema", &compat.Schema{Type: word}}, {"example", example}}
}

// mayWait are the statuses of answers that may carry Retry-After: with 207, and with the
// 400 of a bulk request, some of the bookings could not be made for now, with 409 the same
// request may still be running.
var mayWait = []int{http.StatusMultiStatus, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// headersOf returns the headers of an answer. Rate limits are reported once the key
// is known.
func headersOf(r route, status int) members {
	names := []string{requestIDHeader}
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
	if r.operation.errors.list && status < http.StatusBadRequest {
		names = append(names, totalAgeHeader)
	}
	if r.operation.formats != nil && status == http.StatusOK {
		names = append(names, totalHeader, linkHeader)
	}
	if r.tagged() && status < http.StatusBadRequest {
		names = append(names, tagHeader)
	}
	headers := make(members, len(names))
	for i, name := range names {
		headers[i] = member{name, members{{"$ref", "#/components/headers/" + name}}}
	}
	return headers
}

// errorsOf returns the errors that the document shows for a route. They are made
// as those that are sent: TestDocumentedErrorsAreReal provokes each of them.
func errorsOf(r route) []error {
	all := []error{
		domain.Unauthorized(),
		&ratelimit.Error{Message: ratelimit.Message, RetryAfter: 30},
		errOverloaded,
		errInternal,
	}
	if r.permission != "" {
		all = append(all, keys.Key{Permissions: []string{otherPermission(r.permission)}}.Require(r.permission))
	}
	for _, permission := range alsoNeeded(r) {
		all = append(all, keys.Key{Permissions: []string{r.permission}}.Require(permission))
	}
	all = append(all, domain.InvalidParameters(new(api).parameterNames(&r).mistakes([]string{exampleMistake})))
	if r.operation.query != nil {
		all = append(all, r.operation.query.Invalid(compat.InvalidExample(r.operation.query.Describe())))
	}
	if r.operation.body == nil {
		all = append(all, compat.ErrTooManyParameters)
	} else {
		fields := r.operation.body.Describe()
		all = append(all, compat.ErrNotJSON, errBodyTooLarge, domain.InvalidRequest(compat.InvalidExample(fields)))
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
			all = append(all, errNoRoute) // for what is no id
		}
		all = append(all, domain.NotFound(p.resource, fmt.Sprint(p.example())))
	}
	return append(all, r.operation.exampleErrors...)
}

// personal returns a parameter or field with personal data that the route reads; ok is false if
// there is none.
func (r *route) personal() (name string, ok bool) {
	if r.operation.query != nil {
		name, ok = compat.SearchesPersonal(r.resource(), r.operation.query.Describe())
	}
	if !ok && r.operation.body != nil {
		name, ok = compat.WritesPersonal(r.operation.body.Describe())
	}
	return name, ok
}

// preconditionFailed returns the error that the document shows for a record that has
// changed, if a route changes records. It has an example of the record.
func (d *describer) preconditionFailed(r route) []error {
	read := readOf(&r)
	if read == nil {
		return nil
	}
	sample := read.route.operation.answers[0].body
	response, err := encodeBody(d.schemas.Example(d.schemas.Of(sample)))
	if err != nil {
		d.failure = err
		return nil
	}
	record, err := compat.RecordIn(sample, response)
	if err != nil {
		d.failure = err
		return nil
	}
	return []error{domain.PreconditionFailed(domain.PresentRecord{Tag: exampleTag, Record: record})}
}

// exampleMistake is the name of a parameter that is mistyped.
const exampleMistake = "agentid"

// errInternal is an example of an error that is no client's fault.
var errInternal = errors.New("internal error")

// otherPermission is one that a key may hold and that is not the one it needs.
func otherPermission(needed string) string {
	if needed == "read_agents" {
		return "read_services"
	}
	return "read_agents"
}
