package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat"
)

func (d *describer) operation(o *Operation) members {
	described := members{
		{"operationId", o.ID},
		{"summary", o.Summary},
		{"description", o.Description + o.AboutFormats + o.AboutPermission},
		{"tags", []string{o.Tag}},
	}
	if o.CalendarSecret {
		described = append(described, member{"security", []members{{{secretScheme, []string{}}}}})
	}
	if parameters := d.parameters(o); len(parameters) > 0 {
		described = append(described, member{"parameters", parameters})
	}
	if o.Body != nil {
		described = append(described, member{"requestBody", d.requestBody(o)})
	}
	return append(described, member{"responses", d.responses(o)})
}

func (d *describer) parameters(o *Operation) []members {
	var parameters []members
	for _, p := range o.PathParameters {
		parameters = append(parameters, p.describe())
	}
	for _, p := range o.Query {
		p.Schema.Concerning(o.Noun)
		if p.Name == "per_page" && o.Formats != nil {
			p.Schema.Description += fmt.Sprintf(", at most %s in JSON", *p.Schema.Maximum)
			p.Schema.Maximum = new(json.Number(strconv.Itoa(compat.MaxExported)))
		}
		parameters = append(parameters, d.queryParameter(p))
	}
	if o.Method == http.MethodPost && o.Idempotent {
		parameters = append(parameters, idempotencyParameter("", &compat.Schema{Type: "string", Pattern: "^[ -~]{1,255}$"}))
	}
	if o.Tagged {
		parameters = append(parameters, ifNoneMatchParameter())
	}
	if o.Conditional {
		parameters = append(parameters, ifMatchParameter())
	}
	if o.Conditional && o.Idempotent && o.Method != http.MethodPost {
		parameters = append(parameters, idempotencyParameter(". Without If-Match it is ignored", &compat.Schema{Type: "string"}))
	}
	return parameters
}

func (p PathParameter) describe() members {
	schema, about := &compat.Schema{Type: "integer", Minimum: new(json.Number("1"))}, "Id of the "+string(p.Resource)
	if p.Resource == domain.CouponResource {
		schema, about = &compat.Schema{Type: "string"}, "Code of the coupon, in any letter case"
	}
	return members{{"name", p.Name}, {"in", "path"}, {"required", true}, {"description", about}, {"schema", schema}, {"example", p.Example()}}
}

// Example returns an example value of the parameter.
func (p PathParameter) Example() any {
	switch p.Resource {
	case domain.CouponResource:
		return "WELCOME10"
	case domain.TimeOffResource: // whose ids are those of two tables
		return 412
	default:
		return 1
	}
}

// queryParameter describes a parameter. The example of an optional one is in the schema, because viewers
// fill in examples of parameters, and a list with every filter set is empty.
func (d *describer) queryParameter(p compat.FieldDescription) members {
	if d.clients {
		p.Schema.Description = integerForAny(p.Schema.Description)
	}
	parameter := members{{"name", p.Name}, {"in", "query"}, {"description", p.Schema.Description}}
	if p.Required || d.clients && p.Needed {
		parameter = append(parameter, member{"required", true})
	}
	if p.Schema.Items != nil { // comma-separated words
		parameter = append(parameter, member{"style", "form"}, member{"explode", false})
	}
	p.Schema.Description = ""
	if d.clients {
		return append(parameter, member{"schema", p.Schema})
	}
	example := d.schemas.Example(p.Schema)
	if p.Needed {
		return append(parameter, member{"schema", p.Schema}, member{"example", example})
	}
	p.Schema.Examples = []any{example}
	return append(parameter, member{"schema", p.Schema})
}

func idempotencyParameter(more string, schema *compat.Schema) members {
	return members{
		{"name", "Idempotency-Key"}, {"in", "header"},
		{"description", "A unique name for this request. If it is sent again within 24 hours with the same body, the first answer is repeated and nothing is done twice" + more},
		{"schema", withExample(schema, "4f1c7e9a")},
	}
}

// withExample adds an example that viewers do not fill in.
func withExample(schema *compat.Schema, example any) *compat.Schema {
	schema.Examples = []any{example}
	return schema
}

// ExampleTag is a sample ETag.
const ExampleTag = `"b1946ac92492d2347c6235b4d2611184"`

func ifNoneMatchParameter() members {
	return members{
		{"name", "If-None-Match"}, {"in", "header"},
		{"description", "Tags of answers that the client has, or *: if the answer would be one of them, it is 304 without a body. Weak tags count as strong ones"},
		{"schema", withExample(&compat.Schema{Type: "string"}, ExampleTag)},
	}
}

func ifMatchParameter() members {
	return members{
		{"name", "If-Match"}, {"in", "header"},
		{"description", "Tags of the record's states to which the request applies, or *. A tag is the ETag of the answer to a GET of the same URL. If the record has another tag by now, nothing is written, and the answer is 412 with the record. Weak tags count as strong ones"},
		{"schema", withExample(&compat.Schema{Type: "string"}, ExampleTag)},
	}
}

// requestBody describes a body under each supported content type.
func (d *describer) requestBody(o *Operation) members {
	schema := compat.SchemaOf(o.Body).Concerning(o.Noun)
	if d.clients {
		schema.Required = neededIn(o)
	}
	if o.StrictBody {
		schema.AdditionalProperties = false
	}
	schema.Description = "What is sent to " + strings.ToLower(o.Summary[:1]) + o.Summary[1:]
	named := d.schemas.Name(domain.Capitalize(o.ID)+"Body", schema)
	example := d.schemas.Example(schema)
	content := make(members, len(bodyTypes))
	for i, media := range bodyTypes {
		content[i] = member{media, members{{"schema", named}, {"example", example}}}
	}
	if d.clients {
		content = jsonContent(named)
	}
	if len(schema.Required) > 0 {
		return members{{"required", true}, {"content", content}}
	}
	return members{{"content", content}}
}

// bodyTypes are the content types that compat reads.
var bodyTypes = []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}

// outcome is a response or an error of an operation.
type outcome struct {
	name    string
	schema  *compat.Schema
	example any    // nil to derive it from the schema
	media   string // "" for JSON
}

func (d *describer) responses(o *Operation) members {
	if d.clients {
		return d.typedResponses(o)
	}
	byStatus := map[int][]outcome{}
	for _, answer := range o.Answers {
		byStatus[answer.Status] = append(byStatus[answer.Status], d.answer(answer))
	}
	for _, f := range o.Failures {
		name := cmp.Or(f.Code, "error")
		if f.Shape == compat.TextError {
			name = "error"
		}
		byStatus[f.Status] = append(byStatus[f.Status], outcome{name, d.schemas.ErrorSchema(f.Shape), f.Body(f.Shape), ""})
	}
	if o.Tagged {
		byStatus[http.StatusNotModified] = nil
	}
	var responses members
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		response := d.response(o, status, byStatus[status])
		if status >= http.StatusMultipleChoices {
			response = d.share(strings.ReplaceAll(http.StatusText(status), " ", ""), response)
		}
		responses = append(responses, member{strconv.Itoa(status), response})
	}
	return responses
}

// answer describes the body of a response.
func (d *describer) answer(a Answer) outcome {
	if a.Media != "" {
		return outcome{"answer", &compat.Schema{Type: "string"}, a.Body, a.Media}
	}
	return outcome{"answer", d.schemas.Of(a.Body), nil, ""}
}

// share stores a response under a name and returns a reference to it. Different responses with one name are
// numbered.
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

func (d *describer) response(o *Operation, status int, outcomes []outcome) members {
	var forms []*compat.Schema
	var examples members
	for _, one := range outcomes {
		if !slices.ContainsFunc(forms, func(s *compat.Schema) bool { return s.Ref != "" && s.Ref == one.schema.Ref }) {
			forms = append(forms, one.schema)
		}
		if one.example == nil {
			one.example = d.schemas.Example(one.schema)
		}
		name := one.name
		for n := 2; indexOf(examples, name) >= 0; n++ {
			name = one.name + "_" + strconv.Itoa(n)
		}
		examples = append(examples, member{name, members{{"value", one.example}}})
	}
	headers := members{}
	for _, name := range o.Headers(status) {
		headers = append(headers, member{name, members{{"$ref", "#/components/headers/" + name}}})
	}
	response := members{{"description", http.StatusText(status)}, {"headers", headers}}
	if len(outcomes) == 0 {
		return response
	}
	content := members{{cmp.Or(outcomes[0].media, "application/json"), members{{"schema", compat.AnyOf(forms...)}, {"examples", examples}}}}
	if status == http.StatusOK {
		for _, media := range o.Formats {
			content = append(content, member{media, members{{"schema", &compat.Schema{Type: "string"}}}})
		}
	}
	return append(response, member{"content", content})
}
