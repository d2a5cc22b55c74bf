package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// object is an object in a document.
type object = map[string]any

// theDocument returns the document with a query.
func theDocument(t testing.TB, query string) object {
	t.Helper()
	api := handlers.New(nil, nil, fixedClock, slog.New(slog.DiscardHandler), defaultOptions())
	recorder := httptest.NewRecorder()
	api.ServeHTTP(recorder, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/openapi.json"+query, nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", query, recorder.Code, recorder.Body)
	}
	if _, err := openapi3.NewLoader().LoadFromData(recorder.Body.Bytes()); err != nil {
		t.Errorf("%s: %v", query, err)
	}
	var document object
	if err := json.Unmarshal(recorder.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// TestClientsDocumentAllowsNoMore proves that the whole document allows what the document for clients allows:
// each operation, parameter, body and response. In responses, ids are integers instead of texts, and errors
// have their own form, with the statuses of the whole document.
func TestClientsDocumentAllowsNoMore(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	whole := theDocument(t, "")
	for name, query := range map[string]string{"3.1": "?for=clients", "3.0": "?for=clients&version=3.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			small := theDocument(t, query)
			compared := 0
			for path, item := range small["paths"].(object) {
				for method, operation := range item.(object) {
					of, known := whole["paths"].(object)[path].(object)[method].(object)
					if !known {
						t.Errorf("%s %s is not in the whole document", method, path)
						continue
					}
					c := comparison{t: t, small: small, whole: whole, place: method + " " + path}
					c.operation(operation.(object), of)
					compared++
				}
			}
			if compared < 60 {
				t.Errorf("only %d operations", compared)
			}
		})
	}
}

// comparison compares parts of the document for clients with those of the whole one.
type comparison struct {
	t            *testing.T
	small, whole object
	place        string
	response     bool
}

func (c comparison) at(place string) comparison {
	c.place += " " + place
	return c
}

func (c comparison) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s: %s", c.place, fmt.Sprintf(format, args...))
}

// resolve follows a reference.
func resolve(document object, part object) object {
	ref, is := part["$ref"].(string)
	if !is {
		return part
	}
	found := any(document)
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		found = found.(object)[name]
	}
	return resolve(document, found.(object))
}

func (c comparison) operation(small, whole object) {
	parameters := func(operation object) map[string]object {
		all := map[string]object{}
		list, _ := operation["parameters"].([]any)
		for _, p := range list {
			all[fmt.Sprint(p.(object)["in"], " ", p.(object)["name"])] = p.(object)
		}
		return all
	}
	ours, theirs := parameters(small), parameters(whole)
	for name, p := range ours {
		if of, known := theirs[name]; known {
			c.at(name).allowed(p["schema"].(object), of["schema"].(object))
		} else {
			c.errorf("%s is not in the whole document", name)
		}
	}
	for name, p := range theirs {
		if p["required"] == true && ours[name]["required"] != true {
			c.errorf("%s is not required", name)
		}
	}
	if body, sent := small["requestBody"].(object); sent {
		of := whole["requestBody"].(object)
		if of["required"] == true && body["required"] != true {
			c.errorf("the body is not required")
		}
		if media := slices.Collect(maps.Keys(body["content"].(object))); len(media) != 1 || media[0] != "application/json" {
			c.errorf("media types %s", media)
		}
		c.at("body").allowed(jsonOf(body), jsonOf(of))
	}
	c.response = true
	for status, response := range small["responses"].(object) {
		of, known := whole["responses"].(object)[status].(object)
		if !known {
			c.errorf("status %s is not in the whole document", status)
			continue
		}
		ours, theirs := resolve(c.small, response.(object)), resolve(c.whole, of)
		switch {
		case (ours["content"] == nil) != (theirs["content"] == nil):
			c.errorf("status %s: content %v, in the whole document %v", status, ours["content"], theirs["content"])
		case ours["content"] != nil:
			c.at(status).allowed(jsonOf(ours), jsonOf(theirs))
		}
	}
}

func jsonOf(content object) object {
	return content["content"].(object)["application/json"].(object)["schema"].(object)
}

// allowed checks that whatever a schema of the document for clients allows, one of the whole document allows.
func (c comparison) allowed(small, whole object) {
	c.t.Helper()
	if why := c.excess(small, whole, "", map[string]bool{}); why != "" {
		c.errorf("%s", why)
	}
}

// excess returns what a schema allows that another one does not; "" for nothing.
func (c comparison) excess(small, whole object, name string, within map[string]bool) string {
	if c.response && small["$ref"] == "#/components/schemas/Error" {
		return ""
	}
	pair := fmt.Sprint(small["$ref"], whole["$ref"])
	if small["$ref"] != nil && whole["$ref"] != nil {
		if within[pair] {
			return ""
		}
		within[pair] = true
	}
	small, whole = usual(resolve(c.small, small)), usual(resolve(c.whole, whole))
	if forms, union := small["anyOf"].([]any); union {
		for _, form := range forms {
			if why := c.excess(form.(object), whole, name, within); why != "" {
				return why
			}
		}
		return ""
	}
	if forms, union := whole["anyOf"].([]any); union {
		if c.response && small["type"] == "integer" && small["minimum"] == -1.0 && fmt.Sprint(forms) == fmt.Sprint([]any{object{"type": "integer", "minimum": 1.0}, object{"type": "string", "const": "any"}}) {
			return "" // -1 stands for any, and there is no other
		}
		for _, one := range c.apart(small) {
			if why := c.excessOfUnion(one, forms, name, within); why != "" {
				return why
			}
		}
		return ""
	}
	return c.excessOfOne(small, whole, name, within)
}

// apart returns a schema once for each form of its data, with the data in that form.
func (c comparison) apart(small object) []object {
	properties, _ := small["properties"].(object)
	data, _ := properties["data"].(object)
	forms, union := resolve(c.small, data)["anyOf"].([]any)
	if !union {
		return []object{small}
	}
	var all []object
	for _, form := range forms {
		one := maps.Clone(small)
		one["properties"] = maps.Clone(properties)
		one["properties"].(object)["data"] = form
		all = append(all, one)
	}
	return all
}

// excessOfUnion compares with a union: an integer from -1 except 0 is one of its parts or the other.
func (c comparison) excessOfUnion(small object, forms []any, name string, within map[string]bool) string {
	var reasons []string
	for _, form := range forms {
		why := c.excess(small, form.(object), name, maps.Clone(within))
		if why == "" {
			return ""
		}
		reasons = append(reasons, why)
	}
	if small["type"] == "integer" && small["minimum"] == -1.0 {
		minusOne := object{"type": "integer", "const": -1.0}
		rest := maps.Clone(small)
		rest["minimum"] = 0.0
		if small["not"] != nil {
			rest["minimum"] = 1.0
			delete(rest, "not")
		}
		if c.excessOfUnion(minusOne, forms, name, within) == "" && c.excessOfUnion(rest, forms, name, within) == "" {
			return ""
		}
	}
	return fmt.Sprintf("%s: no form allows it: %s", name, strings.Join(reasons, "; "))
}

// usual returns a schema of OpenAPI 3.0 as one of 3.1, a list of types as a union, and what is not false as true.
func usual(schema object) object {
	schema = maps.Clone(schema)
	if values, ok := schema["enum"].([]any); ok && len(values) == 1 {
		schema["const"] = values[0]
		delete(schema, "enum")
	}
	if not, ok := schema["not"].(object); ok {
		schema["not"] = usual(not)
		if schema["type"] == "boolean" && reflect.DeepEqual(schema["not"], object{"const": false}) {
			schema["const"] = true
			delete(schema, "not")
		}
	}
	null := schema["nullable"] == true
	delete(schema, "nullable")
	if types, ok := schema["type"].([]any); ok {
		null = slices.Contains(types, any("null"))
		schema["type"] = types[0]
	}
	if !null {
		return schema
	}
	if forms, union := schema["anyOf"].([]any); union {
		return object{"anyOf": append(slices.Clone(forms), object{"type": "null"})}
	}
	return object{"anyOf": []any{schema, object{"type": "null"}}}
}

// notCompared are members of schemas that allow or forbid nothing, or are compared on their own.
var notCompared = []string{"description", "examples", "example", "default", "properties", "required", "additionalProperties", "items", "type", "format"}

func (c comparison) excessOfOne(small, whole object, name string, within map[string]bool) string {
	if _, any := whole["type"]; !any && whole["const"] == nil && whole["enum"] == nil {
		return ""
	}
	id := c.response && small["type"] == "integer" && (name == "id" || strings.HasSuffix(name, "_id")) &&
		slices.Contains([]any{"^[0-9]+$", "^[0-9]*$"}, whole["pattern"])
	if id {
		return ""
	}
	if small["type"] != whole["type"] && (small["type"] != "integer" || whole["type"] != "number") {
		return fmt.Sprintf("%s: type %v, in the whole document %v", name, small["type"], whole["type"])
	}
	if whole["format"] != nil && small["format"] != whole["format"] {
		return fmt.Sprintf("%s: format %v, in the whole document %v", name, small["format"], whole["format"])
	}
	for keyword, limit := range whole {
		if slices.Contains(notCompared, keyword) {
			continue
		}
		ours := small[keyword]
		switch keyword {
		case "minimum":
			if n, ok := ours.(float64); small["const"] == nil && (!ok || n < limit.(float64)) {
				return fmt.Sprintf("%s: minimum %v, in the whole document %v", name, ours, limit)
			}
			if n, ok := small["const"].(float64); ok && n < limit.(float64) {
				return fmt.Sprintf("%s: %v, in the whole document from %v", name, n, limit)
			}
		case "maximum", "maxLength", "maxItems":
			if n, ok := ours.(float64); small["const"] == nil && (!ok || n > limit.(float64)) {
				return fmt.Sprintf("%s: %s %v, in the whole document %v", name, keyword, ours, limit)
			}
		case "minItems":
			if n, ok := ours.(float64); !ok || n < limit.(float64) {
				return fmt.Sprintf("%s: minItems %v, in the whole document %v", name, ours, limit)
			}
		case "enum":
			values, _ := ours.([]any)
			if value := small["const"]; value != nil {
				values = []any{value}
			}
			if len(values) == 0 || slices.ContainsFunc(values, func(v any) bool { return !slices.Contains(limit.([]any), v) }) {
				return fmt.Sprintf("%s: words %v, in the whole document %v", name, ours, limit)
			}
		default:
			if !reflect.DeepEqual(ours, limit) {
				return fmt.Sprintf("%s: %s %v, in the whole document %v", name, keyword, ours, limit)
			}
		}
	}
	return c.excessOfParts(small, whole, name, within)
}

func (c comparison) excessOfParts(small, whole object, name string, within map[string]bool) string {
	if items, list := whole["items"].(object); list {
		if ours, ok := small["items"].(object); !ok {
			return name + ": any elements"
		} else if why := c.excess(ours, items, "", within); why != "" {
			return name + "[]: " + why
		}
	}
	if small["type"] != "object" {
		return ""
	}
	ours, _ := small["properties"].(object)
	theirs, _ := whole["properties"].(object)
	required, _ := whole["required"].([]any)
	present, _ := small["required"].([]any)
	for _, member := range required {
		if !slices.Contains(present, member) {
			return fmt.Sprintf("%s.%v: not required", name, member)
		}
	}
	for member, schema := range ours {
		of, known := theirs[member].(object)
		if !known {
			of, known = whole["additionalProperties"].(object)
			if !known && whole["additionalProperties"] == false {
				return fmt.Sprintf("%s.%s: not in the whole document", name, member)
			}
		}
		if known {
			if why := c.excess(schema.(object), of, member, within); why != "" {
				return name + "." + why
			}
		}
	}
	switch more := whole["additionalProperties"].(type) {
	case bool:
		if small["additionalProperties"] != false {
			return name + ": other members"
		}
	case object:
		if of, ok := small["additionalProperties"].(object); !ok {
			return name + ": any values"
		} else if why := c.excess(of, more, "", within); why != "" {
			return name + ".*: " + why
		}
	}
	return ""
}

// TestExcessIsNoticed: the comparison notices what a schema allows too much.
func TestExcessIsNoticed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		small, whole string
		want         bool
	}{
		"equal":                    {`{"type":"string","pattern":"^a$"}`, `{"type":"string","pattern":"^a$"}`, false},
		"any text":                 {`{"type":"string"}`, `{"type":"string","pattern":"^a$"}`, true},
		"another type":             {`{"type":"integer"}`, `{"type":"string"}`, true},
		"an integer is a number":   {`{"type":"integer"}`, `{"type":"number"}`, false},
		"null":                     {`{"type":["string","null"]}`, `{"type":"string"}`, true},
		"nullable":                 {`{"type":"string","nullable":true}`, `{"type":"string"}`, true},
		"without null":             {`{"type":"string"}`, `{"type":["string","null"]}`, false},
		"a lower bound":            {`{"type":"integer","minimum":0}`, `{"type":"integer","minimum":1}`, true},
		"no upper bound":           {`{"type":"integer"}`, `{"type":"integer","maximum":9}`, true},
		"another word":             {`{"type":"string","enum":["a","b"]}`, `{"type":"string","enum":["a","c"]}`, true},
		"fewer words":              {`{"type":"string","enum":["a"]}`, `{"type":"string","enum":["a","c"]}`, false},
		"a field less required":    {`{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`, true},
		"a new field":              {`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"type":"object","additionalProperties":false}`, true},
		"open":                     {`{"type":"object"}`, `{"type":"object","additionalProperties":false}`, true},
		"a field of another type":  {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, true},
		"elements":                 {`{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"integer"}}`, true},
		"a form of a union":        {`{"type":"string"}`, `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, false},
		"no form of a union":       {`{"type":"boolean"}`, `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, true},
		"data of two forms":        {`{"type":"object","properties":{"data":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, `{"anyOf":[{"type":"object","properties":{"data":{"type":"string"}}},{"type":"object","properties":{"data":{"type":"integer"}}}]}`, false},
		"data of another form":     {`{"type":"object","properties":{"data":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, `{"anyOf":[{"type":"object","properties":{"data":{"type":"string"}}},{"type":"object","properties":{"data":{"type":"boolean"}}}]}`, true},
		"true":                     {`{"type":"boolean","not":{"const":false}}`, `{"type":"boolean","const":true}`, false},
		"true or false":            {`{"type":"boolean"}`, `{"type":"boolean","const":true}`, true},
		"from -1":                  {`{"type":"integer","minimum":-1,"maximum":9}`, `{"anyOf":[{"type":"integer","minimum":0,"maximum":9},{"type":"integer","const":-1}]}`, false},
		"from -1 with 0":           {`{"type":"integer","minimum":-1,"maximum":9}`, `{"anyOf":[{"type":"integer","minimum":1,"maximum":9},{"type":"integer","const":-1}]}`, true},
		"from -1 without 0":        {`{"type":"integer","minimum":-1,"maximum":9,"not":{"const":0}}`, `{"anyOf":[{"type":"integer","minimum":1,"maximum":9},{"type":"integer","const":-1}]}`, false},
		"from -1, but no constant": {`{"type":"integer","minimum":-1,"maximum":9}`, `{"anyOf":[{"type":"integer","minimum":0,"maximum":9},{"type":"string"}]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			var small, whole object
			if err := json.Unmarshal([]byte(test.small), &small); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.whole), &whole); err != nil {
				t.Fatal(err)
			}
			if why := (comparison{t: t}).excess(small, whole, "", map[string]bool{}); (why != "") != test.want {
				t.Errorf("excess %q", why)
			}
		})
	}
}

// TestClientsDocument checks what the document for clients promises to generators.
func TestClientsDocument(t *testing.T) {
	t.Parallel()
	for query, old := range map[string]bool{"?for=clients": false, "?for=clients&version=3.0": true, "?for=clients&webhooks=1": false, "?for=clients&version=3.0&webhooks=1": true} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			d := theDocument(t, query)
			if want := map[bool]string{false: "3.1.1", true: "3.0.3"}[old]; d["openapi"] != want {
				t.Errorf("version %v", d["openapi"])
			}
			if _, there := d[map[bool]string{false: "webhooks", true: "x-webhooks"}[old]]; there != strings.Contains(query, "webhooks") {
				t.Errorf("webhooks: %v", there)
			}
			components := d["components"].(object)
			for path, item := range d["paths"].(object) {
				for method, operation := range item.(object) {
					for status, response := range operation.(object)["responses"].(object) {
						content, _ := resolve(d, response.(object))["content"].(object)
						for media := range content {
							if media != "application/json" {
								t.Errorf("%s %s %s: %s", method, path, status, media)
							}
						}
						if status >= "400" && status+path != "400/bookings/bulk" && jsonOf(resolve(d, response.(object)))["$ref"] != "#/components/schemas/Error" {
							t.Errorf("%s %s %s: no Error", method, path, status)
						}
					}
				}
			}
			inside(d["paths"], "paths", old, t)
			inside(d["webhooks"], "webhooks", old, t)
			for name, schema := range components["schemas"].(object) {
				schema := maps.Clone(schema.(object))
				inside(schema["anyOf"], name, old, t)
				seen := map[string]bool{}
				forms, _ := schema["anyOf"].([]any)
				for _, form := range forms {
					if text := fmt.Sprint(form); seen[text] {
						t.Errorf("%s: %s twice, which oapi-codegen cannot name", name, text)
					} else {
						seen[text] = true
					}
				}
				delete(schema, "anyOf") // which has a name here
				inside(schema, name, old, t)
			}
			codes, _ := components["schemas"].(object)["Error"].(object)["properties"].(object)["code"].(object)["enum"].([]any)
			if len(codes) < 30 {
				t.Errorf("codes %v", codes)
			}
			body := components["schemas"].(object)["CreateBookingBody"].(object)
			if fmt.Sprint(body["required"]) != "[service_id agent_id start_date start_time]" {
				t.Errorf("a booking requires %v", body["required"])
			}
		})
	}
	api := handlers.New(nil, nil, fixedClock, slog.New(slog.DiscardHandler), defaultOptions())
	for _, query := range []string{"?for=people", "?for=clients&version=2", "?version=3.0", "?for=clients&webhooks=all"} {
		recorder := httptest.NewRecorder()
		api.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json"+query, nil))
		if recorder.Code != http.StatusBadRequest || !strings.Contains(recorder.Body.String(), `"invalid_parameters"`) {
			t.Errorf("%s: %d %s", query, recorder.Code, recorder.Body)
		}
	}
}

// inside looks for unions without a name, ids that are texts, and what the version does not have.
func inside(part any, place string, old bool, t *testing.T) {
	switch part := part.(type) {
	case []any:
		for i, one := range part {
			inside(one, fmt.Sprintf("%s[%d]", place, i), old, t)
		}
	case object:
		if forms, union := part["anyOf"].([]any); union {
			null := slices.ContainsFunc(forms, func(form any) bool { return form.(object)["type"] == "null" })
			if len(forms) != 2 || !null {
				t.Errorf("%s: a union without a name", place)
			}
		}
		if pattern := part["pattern"]; pattern == "^[0-9]+$" && (strings.HasSuffix(place, ".id") || strings.HasSuffix(place, "_id")) {
			t.Errorf("%s: an id as text", place)
		}
		_, several := part["type"].([]any)
		if old && (several || part["const"] != nil || part["type"] == "null" || part["examples"] != nil) {
			t.Errorf("%s: not in OpenAPI 3.0: %v", place, part)
		}
		if part["nullable"] == true && part["type"] == nil {
			t.Errorf("%s: null without a type, which OpenAPI 3.0 ignores", place)
		}
		for name, inner := range part {
			if name != "example" {
				inside(inner, place+"."+name, old, t)
			}
		}
	}
}
