package apitest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers"
)

// Contract checks requests and responses against the OpenAPI document. Schemas are compiled once, and
// verdicts about texts are cached, because kin-openapi compiles the schema for every body, every parameter
// and every header.
type Contract struct {
	Document *openapi3.T
	Router   routers.Router

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by their place in the document

	verdicts sync.Map // error or nil, by parameterText
	allowed  sync.Map // of schemaText
}

// parameterText is everything that the verdict about a parameter depends on.
type parameterText struct {
	parameter *openapi3.Parameter
	sent      bool
	text      string
}

// schemaText is everything that the verdict about JSON depends on.
type schemaText struct {
	place string
	sum   [sha256.Size]byte
}

// TheContract is the contract of a server with the options of NewServer.
var TheContract = sync.OnceValue(func() *Contract {
	api := handlers.New(nil, nil, FixedClock, slog.New(slog.DiscardHandler), DefaultOptions())
	recorder := httptest.NewRecorder()
	api.ServeHTTP(recorder, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/openapi.json", nil))
	must := func(err error) {
		if err != nil {
			panic(fmt.Errorf("the API document: %w", err))
		}
	}
	document, err := openapi3.NewLoader().LoadFromData(recorder.Body.Bytes())
	must(err)
	must(document.Validate(context.Background(), openapi3.DisableExamplesValidation()))
	router, err := gorillamux.NewRouter(document)
	must(err)
	raw, err := jsonschema.UnmarshalJSON(recorder.Body)
	must(err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	must(compiler.AddResource(documentURL, raw))
	return &Contract{Document: document, Router: router, compiler: compiler, schemas: map[string]*jsonschema.Schema{}}
})

const documentURL = "https://site.example/openapi.json"

// schema returns the compiled schema at a place in the document.
func (c *Contract) schema(place string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.schemas[place]; known != nil {
		return known, nil
	}
	compiled, err := c.compiler.Compile(documentURL + place)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", place, err)
	}
	c.schemas[place] = compiled
	return compiled, nil
}

// Check validates JSON against the schema at a place in the document.
func (c *Contract) Check(place string, text []byte) error {
	of := schemaText{place, sha256.Sum256(text)}
	if _, allowed := c.allowed.Load(of); allowed {
		return nil
	}
	schema, err := c.schema(place)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	c.allowed.Store(of, true)
	return nil
}

// JSONSchema is the place of the JSON schema in a body or a response.
const JSONSchema = "/content/application~1json/schema"

// PlaceOf returns the place of an operation in the document.
func PlaceOf(route *routers.Route) string {
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(route.Path)
	return "#/paths/" + escaped + "/" + strings.ToLower(route.Method)
}

// conform fails the test if the document does not allow the response or, if the request succeeded, the
// request.
func conform(t testing.TB, request *http.Request, sent []byte, a Answer) {
	t.Helper()
	if err := TheContract().Judge(request, sent, a); err != nil {
		t.Errorf("%s %s, answered %d: the document does not allow it: %.3000v\nsent: %.500s\nanswer: %.1500s", request.Method, request.URL, a.Status, err, sent, a.Body)
	}
}

// Judge returns why the document does not allow a request or its response.
func (c *Contract) Judge(request *http.Request, sent []byte, a Answer) error {
	asked := request.Clone(request.Context())
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	if asked.URL.Path == "/" || strings.HasSuffix(asked.URL.Path, "/openapi.json") || strings.Contains(asked.URL.Path+"/", "/docs/") {
		return nil // the documents themselves
	}
	route, parameters, err := c.Router.FindRoute(asked)
	if err != nil {
		return judgeUndescribed(err, a)
	}
	for name, value := range parameters {
		if parameters[name], err = url.PathUnescape(value); err != nil {
			return err
		}
	}
	input := &openapi3filter.RequestValidationInput{Request: asked, PathParams: parameters, Route: route, Options: &openapi3filter.Options{
		IncludeResponseStatus: true, AuthenticationFunc: authenticate, SkipSettingDefaults: true, ExcludeRequestBody: true, ExcludeResponseBody: true,
	}}
	if a.Status < http.StatusBadRequest {
		if err := c.judgeRequest(input, sent, a); err != nil {
			return err
		}
	}
	return c.judgeAnswer(input, request.Method, sent, a)
}

// judgeUndescribed checks the response to a request that the document does not describe: it must say that
// there is no such route.
func judgeUndescribed(err error, a Answer) error {
	if a.Status == http.StatusNotFound && (len(a.Body) == 0 || bytes.Contains(a.Body, []byte(`"rest_no_route"`))) {
		return nil
	}
	return err
}

// authenticate looks for a key where a security scheme says it is.
func authenticate(_ context.Context, input *openapi3filter.AuthenticationInput) error {
	header := input.RequestValidationInput.Request.Header
	var key string
	switch scheme := input.SecurityScheme; {
	case scheme.Type == "http":
		key = header.Get("Authorization")
	case scheme.In == "query":
		key = input.RequestValidationInput.GetQueryParams().Get(scheme.Name)
	default:
		key = header.Get(scheme.Name)
	}
	if key == "" {
		return errors.New("no key")
	}
	return nil
}

// judgeRequest checks a request that was accepted, after converting the variants that the document's
// introduction allows to the schema's form.
func (c *Contract) judgeRequest(input *openapi3filter.RequestValidationInput, sent []byte, a Answer) error {
	operation := input.Route.Operation
	input.QueryParams = canonicalQuery(operation, input.Request.URL.RawQuery)
	if err := c.judgeParameters(input); err != nil || operation.RequestBody == nil {
		return err
	}
	document, err := compat.ParseBody(input.Request.Header.Get("Content-Type"), sent)
	if err != nil {
		return fmt.Errorf("an unreadable body was accepted: %w", err)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(document.JSON()))
	if err != nil {
		return err
	}
	if list, ok := body.([]any); ok && len(list) == 0 {
		body = map[string]any{}
	} else if ok {
		body = map[string]any{"bookings": list}
	}
	if a.Status == http.StatusMultiStatus {
		body.(map[string]any)["bookings"] = createdBookings(a, body.(map[string]any)["bookings"].([]any))
	}
	canonical, err := json.Marshal(canonicalValue(operation.RequestBody.Value.Content["application/json"].Schema, body))
	if err != nil {
		return err
	}
	if err := c.Check(PlaceOf(input.Route)+"/requestBody"+JSONSchema, canonical); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	return nil
}

// judgeParameters checks the key and the parameters of path, query and header.
func (c *Contract) judgeParameters(input *openapi3filter.RequestValidationInput) error {
	ctx, operation := input.Request.Context(), input.Route.Operation
	security := operation.Security
	if security == nil {
		security = &input.Route.Spec.Security
	}
	if err := openapi3filter.ValidateSecurityRequirements(ctx, input, *security); err != nil {
		return err
	}
	if len(input.Route.PathItem.Parameters) > 0 {
		return errors.New("parameters of a whole path are not judged")
	}
	for _, ref := range operation.Parameters {
		of := parameterText{parameter: ref.Value}
		switch ref.Value.In {
		case openapi3.ParameterInPath:
			of.text, of.sent = input.PathParams[ref.Value.Name]
		case openapi3.ParameterInQuery:
			all := input.QueryParams[ref.Value.Name]
			of.text, of.sent = input.QueryParams.Get(ref.Value.Name), len(all) == 1
		case openapi3.ParameterInHeader:
			of.text, of.sent = input.Request.Header.Get(ref.Value.Name), len(input.Request.Header.Values(ref.Value.Name)) > 0
		default:
			return fmt.Errorf("there is no check for a parameter in a %s", ref.Value.In)
		}
		verdict, known := c.verdicts.Load(of)
		if !known {
			verdict = openapi3filter.ValidateParameter(ctx, input, ref.Value)
			c.verdicts.Store(of, verdict)
		}
		if err, rejected := verdict.(error); rejected {
			return err
		}
	}
	return nil
}

// createdBookings returns the bookings of a bulk request that were created.
func createdBookings(a Answer, bookings []any) []any {
	var created []any
	for _, success := range a.At("results", "success").([]any) {
		index, _ := success.(map[string]any)["index"].(json.Number).Int64()
		created = append(created, bookings[index])
	}
	return created
}

// canonicalQuery returns a query without the parameters that count as not sent.
func canonicalQuery(operation *openapi3.Operation, raw string) url.Values {
	values, _ := url.ParseQuery(raw)
	for name, all := range values {
		last := strings.TrimSpace(all[len(all)-1])
		if last == "" {
			delete(values, name)
			continue
		}
		values.Set(name, last)
		if p := operation.Parameters.GetByInAndName("query", name); p != nil {
			values.Set(name, canonicalText(p.Schema, last))
		}
	}
	return values
}

func canonicalText(schema *openapi3.SchemaRef, text string) string {
	if schema.Value.Type.Is(openapi3.TypeArray) {
		words := slices.DeleteFunc(strings.Split(strings.ToLower(text), ","), func(w string) bool { return strings.TrimSpace(w) == "" })
		for i := range words {
			words[i] = strings.TrimSpace(words[i])
		}
		return strings.Join(words, ",")
	}
	return fmt.Sprint(canonicalValue(schema, text))
}

// canonicalValue converts a value of a request to the form of its schema.
func canonicalValue(schema *openapi3.SchemaRef, value any) any {
	switch sent := value.(type) {
	case map[string]any:
		return canonicalObject(schema, sent)
	case []any:
		if items := schema.Value.Items; items != nil {
			for i := range sent {
				sent[i] = canonicalValue(items, sent[i])
			}
		}
		return sent
	case string:
		if decoded, ok := jsonText(schema.Value, sent); ok {
			return canonicalValue(schema, decoded)
		}
		return canonicalScalar(schema.Value, sent)
	case json.Number:
		if schema.Value.Type.Includes(openapi3.TypeString) {
			return sent.String()
		}
		return canonicalScalar(schema.Value, sent.String())
	case bool:
		return sent
	default:
		return value
	}
}

// jsonText decodes a list or an object sent as a JSON text.
func jsonText(schema *openapi3.Schema, text string) (value any, ok bool) {
	if !schema.Type.Is(openapi3.TypeArray) && !schema.Type.Is(openapi3.TypeObject) {
		return nil, false
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	return value, err == nil
}

func canonicalObject(schema *openapi3.SchemaRef, object map[string]any) map[string]any {
	for name, value := range object {
		outer, inner, dotted := strings.Cut(name, ".")
		if within := schema.Value.Properties[outer]; dotted && within != nil {
			delete(object, name)
			members, ok := object[outer].(map[string]any)
			if !ok {
				members = map[string]any{}
			}
			members[inner] = value
			object[outer] = members
		}
	}
	for name, value := range object {
		property := schema.Value.Properties[name]
		text, isText := value.(string)
		blank := isText && strings.TrimSpace(text) == ""
		switch list, isList := value.([]any); {
		case property == nil, value == nil && slices.Contains(schema.Value.Required, name):
		case value == nil, blank && !FreeText(property.Value):
			delete(object, name)
		case isList && len(list) == 0 && property.Value.Type.Is(openapi3.TypeObject):
			object[name] = map[string]any{} // PHP encodes an empty array as a list
		default:
			object[name] = canonicalValue(property, value)
		}
	}
	return object
}

// FreeText reports whether even an empty text is a valid value.
func FreeText(schema *openapi3.Schema) bool {
	return schema.Type.Includes(openapi3.TypeString) && len(schema.Enum) == 0 && schema.Pattern == "" && schema.Format == ""
}

func canonicalScalar(schema *openapi3.Schema, text string) any {
	trimmed := strings.ToLower(strings.TrimSpace(text))
	number := json.Number(trimmed)
	_, notNumber := number.Float64()
	switch {
	case len(schema.AnyOf) > 0 && notNumber == nil:
		return withoutZeroFraction(number)
	case len(schema.AnyOf) > 0:
		return trimmed
	case schema.Type.Includes(openapi3.TypeBoolean) && slices.Contains([]string{"1", "true", "yes", "on"}, trimmed):
		return true
	case schema.Type.Includes(openapi3.TypeBoolean) && slices.Contains([]string{"0", "false", "no", "off"}, trimmed):
		return false
	case schema.Type.Includes(openapi3.TypeInteger) && notNumber == nil:
		return withoutZeroFraction(number)
	case schema.Type.Includes(openapi3.TypeNumber) && notNumber == nil:
		return number
	case len(schema.Enum) > 0, schema.Pattern != "" && regexp.MustCompile(schema.Pattern).MatchString(trimmed):
		return trimmed
	case schema.Pattern != "" || schema.Format != "":
		return strings.TrimSpace(text)
	default:
		return text
	}
}

// withoutZeroFraction returns a number without a fraction of zeros.
func withoutZeroFraction(n json.Number) json.Number {
	integer, fraction, _ := strings.Cut(n.String(), ".")
	if strings.Trim(fraction, "0") != "" {
		return n
	}
	return json.Number(integer)
}

// judgeAnswer checks status, body and headers, and that an error's code is documented.
func (c *Contract) judgeAnswer(input *openapi3filter.RequestValidationInput, method string, sent []byte, a Answer) error {
	response := input.Route.Operation.Responses.Status(a.Status)
	if response == nil {
		return errors.New("the status is not described")
	}
	place := cmp.Or(response.Ref, PlaceOf(input.Route)+"/responses/"+strconv.Itoa(a.Status))
	if method != http.MethodHead {
		if err := c.judgeHeaders(response.Value, place, a); err != nil {
			return err
		}
	}
	empty := len(response.Value.Content) == 0
	if empty && len(a.Body) > 0 {
		return errors.New("the answer has a body")
	}
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	if exported := a.Header.Get("X-Total-Count") != ""; method != http.MethodHead && !empty && !exported && response.Value.Content[media] == nil {
		return fmt.Errorf("Content-Type %q", media)
	}
	if method != http.MethodHead && media == "application/json" && !showsWhatWasSent(sent, a) {
		if err := c.Check(place+JSONSchema, a.Body); err != nil {
			return fmt.Errorf("the answer: %w", err)
		}
	}
	documented := response.Value
	for name := range input.Route.Spec.Components.Headers {
		if _, described := documented.Headers[name]; !described && a.Header.Get(name) != "" {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	return c.judgeCode(a)
}

// showsWhatWasSent reports whether an answer has the id and fields of the body only, as one to a key without
// read has when nothing changed. The document says so in words.
func showsWhatWasSent(sent []byte, a Answer) bool {
	var body map[string]any
	var shown struct{ Data map[string]any }
	if json.Unmarshal(sent, &body) != nil || json.Unmarshal(a.Body, &shown) != nil || shown.Data["id"] == nil {
		return false
	}
	for name := range shown.Data {
		if _, has := body[name]; !has && name != "id" {
			return name == "status" && len(shown.Data) <= len(body)+2 // of a move, by its path
		}
	}
	return true
}

// judgeHeaders checks the headers described for the response at a place.
func (c *Contract) judgeHeaders(documented *openapi3.Response, place string, a Answer) error {
	for name, header := range documented.Headers {
		sent := a.Header.Values(name)
		if len(sent) == 0 {
			if header.Value.Required {
				return fmt.Errorf("the header %s is missing", name)
			}
			continue
		}
		text := []byte(sent[0])
		if header.Value.Schema.Value.Type.Includes(openapi3.TypeString) {
			quoted, err := json.Marshal(sent[0])
			if err != nil {
				return err
			}
			text = quoted
		}
		if err := c.Check(cmp.Or(header.Ref, place+"/headers/"+name)+"/schema", text); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	return nil
}

// judgeCode looks for an error's code in the introduction.
func (c *Contract) judgeCode(a Answer) error {
	var failure struct {
		Code  string          `json:"code"`
		Error json.RawMessage `json:"error"`
	}
	if a.Status < http.StatusBadRequest || len(a.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(a.Body, &failure); err != nil {
		return err
	}
	if bytes.HasPrefix(failure.Error, []byte("{")) {
		if err := json.Unmarshal(failure.Error, &failure); err != nil {
			return err
		}
	}
	code := failure.Code
	if strings.HasSuffix(code, "_not_found") {
		code = "…_not_found"
	}
	if code != "" && !strings.Contains(c.Document.Info.Description, "`"+code+"`") {
		return fmt.Errorf("the code %s is not described", failure.Code)
	}
	return nil
}
