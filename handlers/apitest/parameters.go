package apitest

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Parameter is a query parameter as the document describes it.
type Parameter struct {
	Kind  string   // type of its values
	Words []string // accepted words, if these are fixed
}

// Parameters returns the query parameters of the GET routes by path, with 1 for {id}, and name.
var Parameters = sync.OnceValue(func() map[string]map[string]Parameter {
	c := TheContract()
	all := map[string]map[string]Parameter{}
	for path, item := range c.Document.Paths.Map() {
		if item.Get == nil {
			continue
		}
		found := map[string]Parameter{}
		for _, p := range item.Get.Parameters {
			if p.Value.In == "query" && p.Value.Name != "extras" { // known only to sites with Pro Features
				found[p.Value.Name] = Parameter{ParameterKind(path, p.Value), FixedWords(p.Value.Schema.Value)}
			}
		}
		if len(found) > 0 {
			all[strings.ReplaceAll(path, "{id}", "1")] = found
		}
	}
	return all
})

// unlikeTheirSchema holds the types of parameters whose schema leaves open what they accept: a site adds
// its own statuses, and some take a day or a day with a time.
var unlikeTheirSchema = map[string]string{
	"page": "page", "cursor": "integer", "meta_key": "key", "start_time": "word", "created_at": "date", "updated_at": "date",
	"/bookings status": "word", "bookings_status": "word",
}

// ParameterKind returns the type of the values of a parameter.
func ParameterKind(path string, p *openapi3.Parameter) string {
	schema := p.Schema.Value
	switch kind := cmp.Or(unlikeTheirSchema[path+" "+p.Name], unlikeTheirSchema[p.Name]); {
	case kind != "":
		return kind
	case refersTo(p.Schema, "ID"):
		return "integer"
	case refersTo(p.Schema, "IDOrAny"):
		return "id or any"
	case schema.Format == "date":
		return "date"
	case len(FixedWords(schema)) > 0:
		return "word"
	case schema.Type.Is("string"):
		return "text"
	default:
		return schema.Type.Slice()[0] // integer, number or boolean
	}
}

// FixedWords returns the words that a schema accepts, alone or in a list.
func FixedWords(schema *openapi3.Schema) (words []string) {
	if schema.Items != nil {
		schema = schema.Items.Value
	}
	for _, word := range schema.Enum {
		if text, ok := word.(string); ok {
			words = append(words, text)
		}
	}
	return words
}

// refersTo reports whether a value, which may also be null, has the schema with a name.
func refersTo(value *openapi3.SchemaRef, name string) bool {
	if len(value.Value.AnyOf) == 2 && value.Ref == "" {
		value = value.Value.AnyOf[0]
	}
	return value.Ref == "#/components/schemas/"+name
}

// Companions are valid values for parameters that another one needs.
var Companions = map[string]string{"meta_key": "meta_value=b&", "meta_value": "meta_key=cf_a&"}

// InvalidCode returns the code with which a route rejects parameters.
func InvalidCode(path string) string {
	if strings.HasSuffix(path, "/availability") || path == "/business-hours" {
		return "invalid_request"
	}
	return "invalid_parameters"
}

// WantInvalidParameters checks for the 400 of a list that names exactly these parameters.
func WantInvalidParameters(t *testing.T, where string, a Answer, names ...string) {
	t.Helper()
	WantInvalid(t, where, a, http.StatusBadRequest, "invalid_parameters", names...)
}

// IDsOf returns the ids of a list of records, whether numbers or strings.
func IDsOf(records any) []string {
	ids := []string{}
	for _, record := range records.([]any) {
		ids = append(ids, fmt.Sprint(record.(map[string]any)["id"]))
	}
	return ids
}

// EscapeQuery escapes spaces and characters that are not allowed in a URL.
func EscapeQuery(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`<>"{}\`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
