package openapi

import (
	_ "embed"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/typed"
)

// form is a form of the document. The zero form is the whole document.
type form struct {
	clients  bool // for generators of clients
	old      bool // OpenAPI 3.0 instead of 3.1
	webhooks bool // with the requests sent to webhooks
}

var forms = []form{{}, {clients: true}, {clients: true, webhooks: true}, {clients: true, old: true}, {clients: true, old: true, webhooks: true}}

// formOf returns the form that a query asks for.
func formOf(query url.Values) (form, error) {
	f := form{clients: query.Get("for") == "clients", old: query.Get("version") == "3.0", webhooks: query.Get("webhooks") == "1"}
	wrong := map[string]string{}
	for name, allowed := range map[string][]string{"for": {"clients"}, "version": {"3.0", "3.1"}, "webhooks": {"0", "1"}} {
		sent := query.Get(name)
		switch {
		case sent == "":
		case !slices.Contains(allowed, sent):
			wrong[name] = "Must be " + strings.Join(allowed, " or ")
		case !f.clients && name != "for":
			wrong[name] = "Only with for=clients"
		}
	}
	if len(wrong) > 0 {
		return form{}, domain.InvalidParameters(wrong)
	}
	return f, nil
}

// write returns the document in the form.
func (f form) write(a *API, servers []string, day time.Time) ([]byte, error) {
	if !f.clients {
		return a.document(servers, day)
	}
	return a.forClients(f, servers, day)
}

//go:embed clients.md
var clientsIntroduction string

// forClients returns the document for generators of clients: what it allows, the whole document allows, but
// for responses in the form of package typed. Examples are left out.
func (a *API) forClients(f form, servers []string, day time.Time) ([]byte, error) {
	small := *a
	small.Operations = nil
	for _, o := range a.Operations {
		if o.CalendarSecret {
			continue // no JSON
		}
		o.Formats, o.AboutFormats = nil, ""
		small.Operations = append(small.Operations, o)
	}
	d := describer{API: &small, schemas: compat.NewSchemas(), clients: true}
	paths := d.paths()
	var hooks members
	if f.webhooks {
		hooks = d.typedWebhooks()
	}
	whole := members{
		{"openapi", "3.1.1"},
		{"info", members{
			{"title", "Bookside"},
			{"version", "v1"},
			{"description", strings.TrimSpace(clientsIntroduction)},
			{"contact", members{{"name", "The operator of this site"}}},
			{"license", members{{"name", "Apache License 2.0"}, {"url", "https://www.apache.org/licenses/LICENSE-2.0"}}},
		}},
		{"servers", serversOf(servers)},
		{"security", []members{{{headerScheme, []string{}}}}},
		{"tags", d.tags()},
		{"paths", paths},
		{"components", members{
			{"securitySchemes", slices.DeleteFunc(d.securitySchemes(), func(m member) bool { return m.Name() != headerScheme })},
			{"headers", slices.DeleteFunc(d.headers(), func(m member) bool { return !slices.Contains(typedHeaders, m.Name()) })},
			{"responses", d.shared},
		}},
	}
	s := simplifier{schemas: d.schemas, old: f.old}
	s.simplifyAll(whole)
	if f.webhooks {
		name := "webhooks"
		if f.old {
			name = "x-webhooks"
		}
		s.simplifyAll(hooks)
		whole = append(whole, member{name, hooks})
	}
	schemas, err := s.named()
	if err != nil {
		return nil, err
	}
	components := indexOf(whole, "components")
	whole[components][1] = append(whole[components].Value().(members), member{"schemas", schemas})
	if f.old {
		whole[0] = member{"openapi", "3.0.3"}
		whole = oldSchemas(whole).(members)
	}
	return encode(whole, day)
}

// typedHeaders are the headers that the document for clients describes.
var typedHeaders = []string{"X-Request-Id", "ETag", "Retry-After", "Idempotent-Replayed", "X-Ignored-Parameters", "Warning"}

func (d *describer) typedHeaders(o *Operation, status int) members {
	headers := members{}
	for _, name := range o.Headers(status) {
		if slices.Contains(typedHeaders, name) {
			headers = append(headers, member{name, members{{"$ref", "#/components/headers/" + name}}})
		}
	}
	return headers
}

// jsonContent describes a body that is JSON.
func jsonContent(schema *compat.Schema) members {
	return members{{"application/json", members{{"schema", schema}}}}
}

// neededIn returns the fields that a body must have, besides those that stand for each other. A client
// that sends hold_id sends the fields of its slot as well.
func neededIn(o *Operation) []string {
	var names []string
	for _, f := range o.Body {
		if f.Required || f.Needed && !slices.Contains(replaceable, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// replaceable are fields of bodies that are required unless another one is sent, each with its own record:
// customer or customer_id, order_id or booking_id.
var replaceable = []string{"customer", "order_id"}

// typedResponses describes the responses of an operation, each with a named schema.
func (d *describer) typedResponses(o *Operation) members {
	byStatus := map[int][]*compat.Schema{}
	for _, answer := range o.Answers {
		byStatus[answer.Status] = append(byStatus[answer.Status], d.schemas.Of(answer.Body))
	}
	failing := map[int]bool{}
	for _, f := range o.Failures {
		if f.Status != http.StatusHTTPVersionNotSupported { // only for other formats
			failing[f.Status] = true
		}
	}
	if o.Tagged {
		byStatus[http.StatusNotModified] = nil
	}
	for status := range failing {
		byStatus[status] = append(byStatus[status], d.errorSchema())
	}
	var responses members
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		schemas := byStatus[status]
		response := members{{"description", http.StatusText(status)}, {"headers", d.typedHeaders(o, status)}}
		if len(schemas) > 0 {
			response = append(response, member{"content", jsonContent(d.nameResponse(o, status, schemas))})
		}
		if status >= http.StatusMultipleChoices {
			response = d.share(strings.ReplaceAll(http.StatusText(status), " ", ""), response)
		}
		responses = append(responses, member{strconv.Itoa(status), response})
	}
	return responses
}

// nameResponse returns a reference to the schema of a response, which may have one of several forms. Names that
// end in Response would be those that oapi-codegen gives to its own types.
func (d *describer) nameResponse(o *Operation, status int, forms []*compat.Schema) *compat.Schema {
	name := domain.Capitalize(o.ID) + "Result"
	if len(o.Answers) > 1 && o.Answers[0].Status != status {
		name += strconv.Itoa(status)
	}
	about := "The response to the request to " + strings.ToLower(o.Summary[:1]) + o.Summary[1:]
	if same := d.sameEnvelope(o, forms); same != nil {
		forms = []*compat.Schema{same}
	}
	for i, one := range forms {
		if one.Ref != "" {
			continue
		}
		one.Description = about
		inner := name
		if len(forms) > 1 {
			inner = recordOf(one) + "Result"
		}
		forms[i] = d.schemas.Name(inner, one)
	}
	if len(forms) == 1 {
		return forms[0]
	}
	union := compat.AnyOf(forms...)
	union.Description = about + ", in one of these forms"
	return d.schemas.Name(name, union)
}

// sameEnvelope returns one envelope for several whose data differ, because generators without unions take the
// members of all forms for those of one record, which has data only once. It returns nil for other responses.
func (d *describer) sameEnvelope(o *Operation, forms []*compat.Schema) *compat.Schema {
	if len(forms) < 2 || slices.ContainsFunc(forms, func(one *compat.Schema) bool { return one.Ref != "" }) {
		return nil
	}
	same := forms[0]
	data := indexOf(same.Properties, "data")
	var records []*compat.Schema
	for _, one := range forms {
		records = append(records, one.Properties[data].Value().(*compat.Schema))
	}
	union := compat.AnyOf(records...)
	union.Description = "The data of the response, in one of these forms"
	named := d.schemas.Name(domain.Capitalize(o.ID)+"Data", union)
	named.Description = union.Description
	same.Properties[data][1] = named
	return same
}

// recordOf returns the name of the record in an envelope.
func recordOf(envelope *compat.Schema) string {
	return envelope.Properties[indexOf(envelope.Properties, "data")].Value().(*compat.Schema).Record()
}

// errorSchema returns a reference to the schema of errors.
func (d *describer) errorSchema() *compat.Schema {
	schema := d.schemas.Of(typed.Error{})
	properties := d.schemas.Record(schema.Record()).Properties
	properties[indexOf(properties, "code")].Value().(*compat.Schema).Enum = d.Codes
	return schema
}

// typedWebhooks describes the requests sent to webhooks. Their records have the usual form, whatever their
// readers prefer, so any object is allowed.
func (d *describer) typedWebhooks() members {
	usual := describer{API: d.API, schemas: compat.NewSchemas()}
	all := usual.webhooks()
	change := usual.schemas.Record("Change")
	record := change.Properties[indexOf(change.Properties, "record")].Value().(*compat.Schema)
	*record = compat.Schema{Description: record.Description + ", in the usual form: some ids are texts", Type: "object"}
	named := d.schemas.Name("WebhookChange", change)
	for _, event := range all {
		post := event.Value().(members)[0].Value().(members)
		body := post[indexOf(post, "requestBody")].Value().(members)
		media := body[indexOf(body, "content")].Value().(members)[0].Value().(members)
		sent := media[indexOf(media, "schema")].Value().(*compat.Schema)
		sent.Properties[indexOf(sent.Properties, "data")].Value().(*compat.Schema).Ref = named.Ref
	}
	return all
}
