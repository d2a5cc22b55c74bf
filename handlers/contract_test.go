package handlers_test

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
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

// contract checks requests and responses against the OpenAPI document. Schemas are compiled once, and
// verdicts about texts are cached, because kin-openapi compiles the schema for every body, every parameter
// and every header.
type contract struct {
	document *openapi3.T
	router   routers.Router

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

// theContract is the contract of a server with the options of newServer.
var theContract = sync.OnceValue(func() *contract {
	api := handlers.New(nil, nil, fixedClock, slog.New(slog.DiscardHandler), defaultOptions())
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
	return &contract{document: document, router: router, compiler: compiler, schemas: map[string]*jsonschema.Schema{}}
})

const documentURL = "https://site.example/openapi.json"

// schema returns the compiled schema at a place in the document.
func (c *contract) schema(place string) (*jsonschema.Schema, error) {
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

// check validates JSON against the schema at a place in the document.
func (c *contract) check(place string, text []byte) error {
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

// jsonSchema is the place of the JSON schema in a body or a response.
const jsonSchema = "/content/application~1json/schema"

// placeOf returns the place of an operation in the document.
func placeOf(route *routers.Route) string {
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(route.Path)
	return "#/paths/" + escaped + "/" + strings.ToLower(route.Method)
}

// conform fails the test if the document does not allow the response or, if the request succeeded, the
// request.
func conform(t testing.TB, request *http.Request, sent []byte, a answer) {
	t.Helper()
	if err := theContract().judge(request, sent, a); err != nil {
		t.Errorf("%s %s, answered %d: the document does not allow it: %.3000v\nsent: %.500s\nanswer: %.1500s", request.Method, request.URL, a.status, err, sent, a.body)
	}
}

func (c *contract) judge(request *http.Request, sent []byte, a answer) error {
	asked := request.Clone(request.Context())
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	if asked.URL.Path == "/" || strings.HasSuffix(asked.URL.Path, "/openapi.json") || strings.Contains(asked.URL.Path+"/", "/docs/") {
		return nil // the documents themselves
	}
	route, parameters, err := c.router.FindRoute(asked)
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
	if a.status < http.StatusBadRequest {
		if err := c.judgeRequest(input, sent, a); err != nil {
			return err
		}
	}
	return c.judgeAnswer(input, request.Method, sent, a)
}

// judgeUndescribed checks the response to a request that the document does not describe: it must say that
// there is no such route.
func judgeUndescribed(err error, a answer) error {
	if a.status == http.StatusNotFound && (len(a.body) == 0 || bytes.Contains(a.body, []byte(`"rest_no_route"`))) {
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
func (c *contract) judgeRequest(input *openapi3filter.RequestValidationInput, sent []byte, a answer) error {
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
	if a.status == http.StatusMultiStatus {
		body.(map[string]any)["bookings"] = createdBookings(a, body.(map[string]any)["bookings"].([]any))
	}
	canonical, err := json.Marshal(canonicalValue(operation.RequestBody.Value.Content["application/json"].Schema, body))
	if err != nil {
		return err
	}
	if err := c.check(placeOf(input.Route)+"/requestBody"+jsonSchema, canonical); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	return nil
}

// judgeParameters checks the key and the parameters of path, query and header.
func (c *contract) judgeParameters(input *openapi3filter.RequestValidationInput) error {
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
func createdBookings(a answer, bookings []any) []any {
	var created []any
	for _, success := range a.at("results", "success").([]any) {
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
		case value == nil, blank && !freeText(property.Value):
			delete(object, name)
		case isList && len(list) == 0 && property.Value.Type.Is(openapi3.TypeObject):
			object[name] = map[string]any{} // PHP encodes an empty array as a list
		default:
			object[name] = canonicalValue(property, value)
		}
	}
	return object
}

// freeText reports whether even an empty text is a valid value.
func freeText(schema *openapi3.Schema) bool {
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
func (c *contract) judgeAnswer(input *openapi3filter.RequestValidationInput, method string, sent []byte, a answer) error {
	response := input.Route.Operation.Responses.Status(a.status)
	if response == nil {
		return errors.New("the status is not described")
	}
	place := cmp.Or(response.Ref, placeOf(input.Route)+"/responses/"+strconv.Itoa(a.status))
	if method != http.MethodHead {
		if err := c.judgeHeaders(response.Value, place, a); err != nil {
			return err
		}
	}
	empty := len(response.Value.Content) == 0
	if empty && len(a.body) > 0 {
		return errors.New("the answer has a body")
	}
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if exported := a.header.Get("X-Total-Count") != ""; method != http.MethodHead && !empty && !exported && response.Value.Content[media] == nil {
		return fmt.Errorf("Content-Type %q", media)
	}
	if method != http.MethodHead && media == "application/json" && !showsWhatWasSent(sent, a) {
		if err := c.check(place+jsonSchema, a.body); err != nil {
			return fmt.Errorf("the answer: %w", err)
		}
	}
	documented := response.Value
	for name := range input.Route.Spec.Components.Headers {
		if _, described := documented.Headers[name]; !described && a.header.Get(name) != "" {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	return c.judgeCode(a)
}

// showsWhatWasSent reports whether an answer has the id and fields of the body only, as one to a key without
// read has when nothing changed. The document says so in words.
func showsWhatWasSent(sent []byte, a answer) bool {
	var body map[string]any
	var shown struct{ Data map[string]any }
	if json.Unmarshal(sent, &body) != nil || json.Unmarshal(a.body, &shown) != nil || shown.Data["id"] == nil {
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
func (c *contract) judgeHeaders(documented *openapi3.Response, place string, a answer) error {
	for name, header := range documented.Headers {
		sent := a.header.Values(name)
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
		if err := c.check(cmp.Or(header.Ref, place+"/headers/"+name)+"/schema", text); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	return nil
}

// judgeCode looks for an error's code in the introduction.
func (c *contract) judgeCode(a answer) error {
	var failure struct {
		Code  string          `json:"code"`
		Error json.RawMessage `json:"error"`
	}
	if a.status < http.StatusBadRequest || len(a.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(a.body, &failure); err != nil {
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
	if code != "" && !strings.Contains(c.document.Info.Description, "`"+code+"`") {
		return fmt.Errorf("the code %s is not described", failure.Code)
	}
	return nil
}

// TestContractRejectsDeviations passes responses and requests with one deviation each to the contract's
// check.
func TestContractRejectsDeviations(t *testing.T) {
	s := smallServer(t)
	c := theContract()
	const path = "/v1/customers?per_page=1"
	right := s.get("/customers?per_page=1").want(http.StatusOK)
	rejected := s.get("/customers?page=0").want(http.StatusBadRequest)
	for name, test := range map[string]struct {
		path   string
		answer answer
		with   func(body string) string
		allow  bool
	}{
		"right":              {path, right, func(b string) string { return b }, true},
		"refused":            {"/v1/customers?page=0", rejected, func(b string) string { return b }, true},
		"another key":        {path, right, func(b string) string { return strings.Replace(b, `"id":`, `"spare":1,"id":`, 1) }, false},
		"missing key":        {path, right, func(b string) string { return strings.Replace(b, `"phone":`, `"fax":`, 1) }, false},
		"number for text":    {path, right, func(b string) string { return strings.Replace(b, `"is_guest":"1"`, `"is_guest":1`, 1) }, false},
		"timestamp":          {path, right, func(b string) string { return strings.Replace(b, `"created_at":"2026-`, `"created_at":"26-`, 1) }, false},
		"unknown code":       {"/v1/customers?page=0", rejected, func(b string) string { return strings.Replace(b, "invalid_parameters", "invalid_fields", 1) }, false},
		"parameter accepted": {"/v1/customers?per_page=200000", right, func(b string) string { return b }, false},
		"path not described": {"/v1/nothing", right, func(b string) string { return b }, false},
	} {
		shown := test.answer
		shown.body = []byte(test.with(string(shown.body)))
		if !test.allow && bytes.Equal(shown.body, test.answer.body) && strings.HasPrefix(test.path, path) {
			t.Errorf("%s: nothing was changed in %s", name, shown.body)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		request.Header.Set("X-API-Key", s.key)
		if err := c.judge(request, nil, shown); (err == nil) != test.allow {
			t.Errorf("%s: %v", name, err)
		}
	}
	unsigned := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err := c.judge(unsigned, nil, right); err == nil {
		t.Error("an answer without a key passes")
	}
	counted := right
	counted.header = right.header.Clone()
	counted.header.Set("X-Total-Count", "many")
	signed := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	signed.Header.Set("X-API-Key", s.key)
	if err := c.judge(signed, nil, counted); err == nil || !strings.Contains(err.Error(), "the header X-Total-Count") {
		t.Errorf("a count that is no number: %v", err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/services", nil)
	request.Header.Set("X-API-Key", s.key)
	request.Header.Set("Content-Type", "application/json")
	for _, body := range []string{`{}`, `{"name":"x","duration":"long"}`, `{"name":"x","status":"gone"}`} {
		if err := c.judge(request, []byte(body), answer{t: t, status: http.StatusCreated, header: right.header}); err == nil || !strings.Contains(err.Error(), "the body") {
			t.Errorf("%s passes: %v", body, err)
		}
	}
}

// TestDocumentExamples compares every example with its schema.
func TestDocumentExamples(t *testing.T) {
	t.Parallel()
	c := theContract()
	examples := 0
	check := func(place string, all ...any) {
		examples += len(all)
		for _, value := range all {
			text, err := json.Marshal(value)
			expect.NoError(t, err)
			if err := c.check(place, text); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
	}
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			place := placeOf(&routers.Route{Path: path, Method: method})
			for i, p := range operation.Parameters {
				all := p.Value.Schema.Value.Examples
				if p.Value.Example != nil {
					all = append(slices.Clone(all), p.Value.Example)
				}
				check(fmt.Sprintf("%s/parameters/%d/schema", place, i), all...)
			}
			if operation.RequestBody != nil {
				check(place+"/requestBody"+jsonSchema, operation.RequestBody.Value.Content["application/json"].Example)
			}
		}
	}
	for name, schema := range c.document.Components.Schemas {
		for property, of := range schema.Value.Properties {
			if of.Ref == "" {
				check("#/components/schemas/"+name+"/properties/"+property, of.Value.Examples...)
			}
		}
	}
	if examples < 400 {
		t.Errorf("only %d examples", examples)
	}
}
