package handlers_test

import (
	"cmp"
	"context"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// parameter is a query parameter as the document describes it.
type parameter struct {
	kind  string   // type of its values; see badValues
	words []string // accepted words, if these are fixed
}

// parameters returns the query parameters of the GET routes by path, with 1 for {id}, and name.
var parameters = sync.OnceValue(func() map[string]map[string]parameter {
	c, err := theContract()
	if err != nil {
		panic(err)
	}
	all := map[string]map[string]parameter{}
	for path, item := range c.document.Paths.Map() {
		if item.Get == nil {
			continue
		}
		found := map[string]parameter{}
		for _, p := range item.Get.Parameters {
			if p.Value.In == "query" && p.Value.Name != "extras" { // known only to sites with Pro Features
				found[p.Value.Name] = parameter{parameterKind(path, p.Value), fixedWords(p.Value.Schema.Value)}
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

func parameterKind(path string, p *openapi3.Parameter) string {
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
	case len(fixedWords(schema)) > 0:
		return "word"
	case schema.Type.Is("string"):
		return "text"
	default:
		return schema.Type.Slice()[0] // integer, number or boolean
	}
}

// fixedWords returns the words that a schema accepts, alone or in a list.
func fixedWords(schema *openapi3.Schema) (words []string) {
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

// fieldsUnlikeTheirSchema holds the types of body fields whose schema leaves open what they accept, and ""
// for those that the tests of fields do not send.
var fieldsUnlikeTheirSchema = map[string]string{
	"/services name": "needed text", "/services/4 name": "needed text", "/coupons code": "code",
	"/orders customer_id": "id", "/orders/10 customer_id": "id", "/payments order_id": "id", "/payments booking_id": "id",
	"/orders force": "", "/orders/10 force": "", "/payments force": "", "/payments/7 force": "",
	"transaction_id": "", // another name for token
}

// documentedFields returns the fields of a write's body, by the type of their value.
func documentedFields(method, path string) map[string]string {
	c, err := theContract()
	if err != nil {
		panic(err)
	}
	route, _, err := c.router.FindRoute(httptest.NewRequestWithContext(context.Background(), method, "/v1"+path, nil))
	if err != nil {
		panic(err)
	}
	fields := map[string]string{}
	for name, property := range bodyProperties(route.Operation) {
		kind, ok := fieldsUnlikeTheirSchema[path+" "+name]
		if !ok {
			kind, ok = fieldsUnlikeTheirSchema[name]
		}
		if !ok {
			kind = fieldKind(property)
		}
		if kind != "" {
			fields[name] = kind
		}
	}
	return fields
}

// refersTo reports whether a value, which may also be null, has the schema with a name.
func refersTo(value *openapi3.SchemaRef, name string) bool {
	if len(value.Value.AnyOf) == 2 && value.Ref == "" {
		value = value.Value.AnyOf[0]
	}
	return value.Ref == "#/components/schemas/"+name
}

func fieldKind(property *openapi3.SchemaRef) string {
	schema := property.Value
	switch {
	case refersTo(property, "Price"):
		return "amount"
	case refersTo(property, "ID"):
		return "id or none"
	case schema.Type.Includes("integer") && *schema.Min == 1:
		return "count"
	case schema.Type.Includes("integer"):
		return "number"
	case schema.Type.Is("boolean"):
		return "boolean"
	case len(fixedWords(schema)) > 0:
		return "word"
	case schema.Pattern != "":
		return "date"
	default:
		return "text"
	}
}
