package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/jsonschema"
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
		if p.Name == "per_page" && o.Exported {
			p.Schema.Description += fmt.Sprintf(", at most %s in JSON", *p.Schema.Maximum)
			p.Schema.Maximum = new(json.Number(strconv.Itoa(compat.MaxExported)))
		}
		parameters = append(parameters, d.queryParameter(p))
	}
	if o.Method == http.MethodPost && o.Idempotent {
		parameters = append(parameters, idempotencyParameter("", &jsonschema.Schema{Type: "string", Pattern: "^[ -~]{1,255}$"}))
	}
	if o.Tagged {
		parameters = append(parameters, ifNoneMatchParameter())
	}
	if o.Conditional {
		parameters = append(parameters, ifMatchParameter())
	}
	if o.Conditional && o.Idempotent && o.Method != http.MethodPost {
		parameters = append(parameters, idempotencyParameter(". Without If-Match it is ignored", &jsonschema.Schema{Type: "string"}))
	}
	return parameters
}

func (p PathParameter) describe() members {
	schema, about := jsonschema.IDSchema(), "Id of the "+string(p.Resource)
	if p.Resource == domain.CouponResource {
		schema, about = &jsonschema.Schema{Type: "string"}, "Code of the coupon, in any letter case"
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
	parameter := members{{"name", p.Name}, {"in", "query"}, {"description", p.Schema.Description}}
	if p.Required {
		parameter = append(parameter, member{"required", true})
	}
	if p.Schema.Items != nil { // comma-separated words
		parameter = append(parameter, member{"style", "form"}, member{"explode", false})
	}
	p.Schema.Description = ""
	p.Schema.Share()
	example := d.schemas.Example(p.Schema)
	if p.Needed {
		return append(parameter, member{"schema", p.Schema}, member{"example", example})
	}
	if p.Schema.Ref == "" {
		p.Schema.Examples = []any{example}
	}
	return append(parameter, member{"schema", p.Schema})
}

func idempotencyParameter(more string, schema *jsonschema.Schema) members {
	return members{
		{"name", "Idempotency-Key"}, {"in", "header"},
		{"description", "A unique name for this request. If it is sent again within 24 hours with the same body, the first answer is repeated and nothing is done twice" + more},
		{"schema", withExample(schema, "4f1c7e9a")},
	}
}

// withExample adds an example that viewers do not fill in.
func withExample(schema *jsonschema.Schema, example any) *jsonschema.Schema {
	schema.Examples = []any{example}
	return schema
}

// ExampleTag is a sample ETag.
const ExampleTag = `"b1946ac92492d2347c6235b4d2611184"`

func ifNoneMatchParameter() members {
	return members{
		{"name", "If-None-Match"}, {"in", "header"},
		{"description", "Tags of answers that the client has, or *: if the answer would be one of them, it is 304 without a body. Weak tags count as strong ones"},
		{"schema", withExample(&jsonschema.Schema{Type: "string"}, ExampleTag)},
	}
}

func ifMatchParameter() members {
	return members{
		{"name", "If-Match"}, {"in", "header"},
		{"description", "Tags of the record's states to which the request applies, or *. A tag is the ETag of the answer to a GET of the same URL. If the record has another tag by now, nothing is written, and the answer is 412 with the record. Weak tags count as strong ones"},
		{"schema", withExample(&jsonschema.Schema{Type: "string"}, ExampleTag)},
	}
}

// requestBody describes a body as JSON. Forms are read as well, which the introduction says once for all.
func (d *describer) requestBody(o *Operation) members {
	schema := compat.SchemaOf(o.Body).Concerning(o.Noun)
	if o.StrictBody {
		schema.AdditionalProperties = false
	}
	schema.Description = "What is sent to " + lowered(o.Summary)
	example := d.schemas.Example(schema)
	content := members{{jsonMedia, members{{"schema", d.schemas.Name(domain.Capitalize(o.ID)+"Body", schema)}, {"example", example}}}}
	if len(schema.Required) > 0 {
		return members{{"required", true}, {"content", content}}
	}
	return members{{"content", content}}
}

const jsonMedia = "application/json"

func lowered(sentence string) string { return strings.ToLower(sentence[:1]) + sentence[1:] }

func (d *describer) responses(o *Operation) members {
	byStatus := map[int]members{}
	for _, answer := range o.Answers {
		if byStatus[answer.Status] == nil {
			byStatus[answer.Status] = d.response(o, answer.Status)
		}
	}
	if o.Tagged {
		byStatus[http.StatusNotModified] = members{{"description", http.StatusText(http.StatusNotModified)}, {"headers", d.headersOf(o, http.StatusNotModified)}}
	}
	for _, status := range o.Failures {
		if byStatus[status] == nil {
			byStatus[status] = d.failure(o, status)
		}
	}
	var responses members
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		responses = append(responses, member{strconv.Itoa(status), byStatus[status]})
	}
	return responses
}

// response describes the answers that have a status.
func (d *describer) response(o *Operation, status int) members {
	var forms []*jsonschema.Schema
	media := jsonMedia
	for _, answer := range o.Answers {
		switch {
		case answer.Status != status:
		case answer.Media != "":
			media = answer.Media
			forms = append(forms, &jsonschema.Schema{Type: "string"})
		default:
			forms = append(forms, d.schemas.Of(answer.Body))
		}
	}
	if slices.Contains(o.Failures, status) {
		forms = append(forms, compat.ErrorSchema(d.schemas))
	}
	content := members{{media, members{{"schema", d.named(o, status, forms)}}}}
	return members{{"description", http.StatusText(status)}, {"headers", d.headersOf(o, status)}, {"content", content}}
}

// named returns a reference to the schema of a response, which may have one of several forms. Names that end in
// Response would be those that oapi-codegen gives to its own types.
func (d *describer) named(o *Operation, status int, forms []*jsonschema.Schema) *jsonschema.Schema {
	name := domain.Capitalize(o.ID) + "Result"
	if o.Answers[0].Status != status {
		name += strconv.Itoa(status)
	}
	about := "The response to the request to " + lowered(o.Summary)
	for i, form := range forms {
		if len(form.Properties) == 0 { // a reference, or a file
			continue
		}
		form.Description = about
		inner := name
		if len(forms) > 1 {
			inner = recordOf(form) + "Result"
		}
		forms[i] = d.schemas.Name(inner, form)
	}
	if len(forms) == 1 {
		return forms[0]
	}
	union := jsonschema.AnyOf(forms...)
	union.Description = about + ", in one of these forms"
	return d.schemas.Name(name, union)
}

// recordOf returns the name of the record in an envelope.
func recordOf(envelope *jsonschema.Schema) string {
	return envelope.Properties[indexOf(envelope.Properties, "data")].Value().(*jsonschema.Schema).Record()
}

// failure returns a reference to the response for failures with a status, which all operations share.
func (d *describer) failure(o *Operation, status int) members {
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	if indexOf(d.errors, name) < 0 {
		d.errors = append(d.errors, member{name, members{
			{"description", http.StatusText(status)}, {"headers", d.headersOf(o, status)},
			{"content", members{{jsonMedia, members{{"schema", compat.ErrorSchema(d.schemas)}}}}},
		}})
	}
	return members{{"$ref", "#/components/responses/" + name}}
}

func (d *describer) headersOf(o *Operation, status int) members {
	headers := members{}
	for _, name := range o.Headers(status) {
		headers = append(headers, member{name, members{{"$ref", "#/components/headers/" + name}}})
	}
	return headers
}
