package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"bookside/compat"
	"bookside/handlers"
)

// contract is the OpenAPI document as a judge of requests and answers.
type contract struct {
	document *openapi3.T
	router   routers.Router
}

// theContract is that of a server with the options of newServer.
var theContract = sync.OnceValues(func() (*contract, error) {
	api := handlers.New(nil, nil, fixedClock, slog.New(slog.DiscardHandler), defaultOptions())
	recorder := httptest.NewRecorder()
	api.ServeHTTP(recorder, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/openapi.json", nil))
	document, err := openapi3.NewLoader().LoadFromData(recorder.Body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("load the document: %w", err)
	}
	if err := document.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("the document: %w", err)
	}
	router, err := gorillamux.NewRouter(document)
	return &contract{document, router}, err
})

// conform fails the test where the document does not allow the answer or, if
// that tells of success, the request.
func conform(t testing.TB, request *http.Request, sent []byte, a answer) {
	t.Helper()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.judge(request, sent, a); err != nil {
		t.Errorf("%s %s, answered %d: the document says otherwise: %.3000v\nsent: %.500s\nanswer: %.1500s", request.Method, request.URL, a.status, err, sent, a.body)
	}
}

func (c *contract) judge(request *http.Request, sent []byte, a answer) error {
	asked := request.Clone(request.Context())
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	asked.URL.Path, asked.URL.RawPath = strings.TrimSuffix(asked.URL.Path, "/"), strings.TrimSuffix(asked.URL.RawPath, "/")
	if strings.HasSuffix(asked.URL.Path, "/openapi.json") || strings.Contains(asked.URL.Path+"/", "/docs/") {
		return nil // the documents themselves
	}
	route, parameters, err := c.router.FindRoute(asked)
	if err != nil {
		return undescribed(err, a)
	}
	for name, value := range parameters {
		if parameters[name], err = url.PathUnescape(value); err != nil {
			return err
		}
	}
	input := &openapi3filter.RequestValidationInput{Request: asked, PathParams: parameters, Route: route, Options: &openapi3filter.Options{
		IncludeResponseStatus: true, AuthenticationFunc: authenticated, SkipSettingDefaults: true,
	}}
	if a.status < http.StatusBadRequest {
		if err := c.judgeRequest(input, sent, a); err != nil {
			return err
		}
	}
	return judgeAnswer(input, request.Method, a)
}

// undescribed is a request to what the document does not know: the answer must
// say that there is no such route.
func undescribed(err error, a answer) error {
	if a.status == http.StatusNotFound && (len(a.body) == 0 || bytes.Contains(a.body, []byte(`"rest_no_route"`))) {
		return nil
	}
	return err
}

// authenticated looks for a key where a security scheme says it is.
func authenticated(_ context.Context, input *openapi3filter.AuthenticationInput) error {
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

// judgeRequest checks a request that was accepted, once what the document's
// introduction allows is written in full.
func (c *contract) judgeRequest(input *openapi3filter.RequestValidationInput, sent []byte, a answer) error {
	operation := input.Route.Operation
	input.QueryParams = canonicalQuery(operation, input.Request.URL.RawQuery)
	if operation.RequestBody == nil {
		return openapi3filter.ValidateRequest(input.Request.Context(), input)
	}
	document, err := compat.ParseBody(input.Request.Header.Get("Content-Type"), sent)
	if err != nil {
		return fmt.Errorf("an unreadable body was accepted: %w", err)
	}
	var body any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&body); err != nil {
		return err
	}
	if list, ok := body.([]any); ok && len(list) == 0 {
		body = map[string]any{}
	} else if ok {
		body = map[string]any{"bookings": list}
	}
	if a.status == http.StatusMultiStatus {
		body.(map[string]any)["bookings"] = made(a, body.(map[string]any)["bookings"].([]any))
	}
	const media = "application/json"
	canonical, err := json.Marshal(canonicalValue(operation.RequestBody.Value.Content[media].Schema, body))
	if err != nil {
		return err
	}
	input.Request.Header.Set("Content-Type", media)
	input.Request.Body, input.Request.ContentLength = io.NopCloser(bytes.NewReader(canonical)), int64(len(canonical))
	return openapi3filter.ValidateRequest(input.Request.Context(), input)
}

// made are the bookings of a bulk request that were not refused.
func made(a answer, bookings []any) []any {
	var kept []any
	for _, success := range a.at("results", "success").([]any) {
		index, _ := success.(map[string]any)["index"].(json.Number).Int64()
		kept = append(kept, bookings[index])
	}
	return kept
}

// canonicalQuery is a query without what counts as not sent.
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

// canonicalValue writes a value of a request as its schema has it.
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
		return canonicalScalar(schema.Value, sent)
	case json.Number:
		if schema.Value.Type.Is(openapi3.TypeString) {
			return sent.String()
		}
		return canonicalScalar(schema.Value, sent.String())
	case bool:
		return sent
	default:
		return value
	}
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
		empty := value == nil || value == "" && property != nil && !property.Value.Type.Is(openapi3.TypeString)
		switch list, isList := value.([]any); {
		case property == nil:
		case empty, value == "" && (len(property.Value.Enum) > 0 || property.Value.Pattern != "" || property.Value.Format != ""):
			delete(object, name)
		case isList && len(list) == 0 && property.Value.Type.Is(openapi3.TypeObject):
			object[name] = map[string]any{} // as PHP writes an empty array
		default:
			object[name] = canonicalValue(property, value)
		}
	}
	return object
}

func canonicalScalar(schema *openapi3.Schema, text string) any {
	trimmed := strings.ToLower(strings.TrimSpace(text))
	number := json.Number(trimmed)
	_, notNumber := number.Float64()
	switch {
	case len(schema.AnyOf) > 0 && notNumber == nil:
		return whole(number)
	case len(schema.AnyOf) > 0:
		return trimmed
	case schema.Type.Is(openapi3.TypeBoolean) && slices.Contains([]string{"1", "true", "yes", "on"}, trimmed):
		return true
	case schema.Type.Is(openapi3.TypeBoolean) && slices.Contains([]string{"0", "false", "no", "off"}, trimmed):
		return false
	case schema.Type.Is(openapi3.TypeInteger) && notNumber == nil:
		return whole(number)
	case schema.Type.Is(openapi3.TypeNumber) && notNumber == nil:
		return number
	case len(schema.Enum) > 0:
		return trimmed
	case schema.Pattern != "" || schema.Format != "":
		return strings.TrimSpace(text)
	default:
		return text
	}
}

// whole is a number without a fraction of zeros.
func whole(n json.Number) json.Number {
	integer, fraction, _ := strings.Cut(n.String(), ".")
	if strings.Trim(fraction, "0") != "" {
		return n
	}
	return json.Number(integer)
}

// judgeAnswer checks status, body and headers, and that an error's code is one
// of those that are told.
func judgeAnswer(input *openapi3filter.RequestValidationInput, method string, a answer) error {
	header := a.header.Clone()
	header.Set("Content-Type", "application/json")
	output := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: a.status, Header: header, Options: input.Options}
	if method == http.MethodHead {
		options := *input.Options
		options.ExcludeResponseBody = true
		output.Options = &options
	}
	output.SetBodyBytes(a.body)
	if err := openapi3filter.ValidateResponse(input.Request.Context(), output); err != nil {
		return err
	}
	told := input.Route.Operation.Responses.Status(a.status).Value
	for name := range input.Route.Spec.Components.Headers {
		if _, described := told.Headers[name]; !described && a.header.Get(name) != "" {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	if got := a.header.Get("Content-Type"); method != http.MethodHead && !strings.HasPrefix(got, "application/json") {
		return fmt.Errorf("Content-Type %q", got)
	}
	return judgeCode(told, a)
}

// judgeCode looks for the code of an error among the examples.
func judgeCode(told *openapi3.Response, a answer) error {
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
	if _, known := told.Content["application/json"].Examples[failure.Code]; failure.Code != "" && !known {
		return fmt.Errorf("the code %s is not described", failure.Code)
	}
	return nil
}
