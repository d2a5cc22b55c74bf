package handlers_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/adapter/journal"
)

// envelopes matches the names of responses.
var envelopes = regexp.MustCompile(`Result\d*$`)

// documentNames are the names of fields in the document. Schemas named …Body… are sent by clients.
type documentNames struct {
	records map[string]map[string]bool // of named schemas, by the name of the schema; "" for envelopes
	sent    map[string]bool
}

// namesInDocument walks through the document, and fails the test for a field without a text.
func namesInDocument(t *testing.T, document map[string]any) documentNames {
	names := documentNames{map[string]map[string]bool{"": {}}, map[string]bool{}}
	var walk func(path string, value any, into map[string]bool)
	walk = func(path string, value any, into map[string]bool) {
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				walk(path, element, into)
			}
		case map[string]any:
			properties, _ := value["properties"].(map[string]any)
			for name, property := range properties {
				into[name] = true
				if schema, _ := property.(map[string]any); schema["description"] == nil {
					t.Errorf("%s: %s has no text", path, name)
				}
			}
			if name, ok := value["name"].(string); ok && value["in"] == "query" {
				names.sent[name] = true
				if value["description"] == nil {
					t.Errorf("%s: the parameter %s has no text", path, name)
				}
			}
			for key, inner := range value {
				switch {
				case path == "/components" && key == "schemas":
					for record, schema := range inner.(map[string]any) {
						if strings.Contains(record, "Body") {
							walk(record, schema, names.sent)
							continue
						}
						if envelopes.MatchString(record) && record != "BulkResult" {
							walk(record, schema, names.records[""])
							continue
						}
						if schema.(map[string]any)["properties"] == nil {
							continue
						}
						names.records[record] = map[string]bool{}
						walk(record, schema, names.records[record])
					}
				case key != "examples" && key != "example":
					walk(path+"/"+key, inner, into)
				}
			}
		}
	}
	walk("", document, names.records[""])
	return names
}

// TestEveryFieldHasAText: and every text in compat/texts has a field in the document.
func TestEveryFieldHasAText(t *testing.T) {
	t.Parallel()
	server := newServer(t, small(t))
	names := namesInDocument(t, server.do(http.MethodGet, "/openapi.json", nil).want(http.StatusOK).object())
	type text struct{ About, Example, Form string }
	texts := map[string]map[string]text{}
	own := map[string]map[string]text{}
	files, err := filepath.Glob("../compat/texts/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		records, fields := map[string]struct {
			Noun, About string
			Fields      map[string]text
		}{}, map[string]text{}
		var into any = &records
		switch name {
		case "forms":
			continue
		case "fields", "sent":
			texts[name], into = fields, &fields
		}
		decoder := yaml.NewDecoder(bytes.NewReader(content))
		decoder.KnownFields(true)
		if err := decoder.Decode(into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for name, r := range records {
			if own[name] != nil {
				t.Errorf("%s: %s stands in two files", path, name)
			}
			own[name] = map[string]text{}
			named := names.records[name]
			if named == nil {
				named = names.records[""] // of an envelope
			}
			if (r.About == "") != (names.records[name] == nil) || (r.Noun == "") != (r.About == "") {
				t.Errorf("%s: %s has the noun %q and the text %q", path, name, r.Noun, r.About)
			}
			for field, text := range r.Fields {
				own[name][field] = text
				if !named[field] || text.About == "" {
					t.Errorf("%s: %s has no field %s with a text", path, name, field)
				}
			}
		}
	}
	used := map[string]bool{}
	for name := range names.sent {
		if _, ok := texts["sent"][name]; !ok {
			used[name] = true
		}
	}
	for record, fields := range names.records {
		if own[record] == nil && record != "" {
			t.Errorf("%s has no text", record)
		}
		for field := range fields {
			if _, ok := own[record][field]; !ok {
				used[field] = true
			}
		}
	}
	for name, text := range texts["sent"] {
		if !names.sent[name] || text.About == "" {
			t.Errorf("sent.yaml: nothing named %s is sent", name)
		}
	}
	for name, text := range texts["fields"] {
		if !used[name] || text.About == "" {
			t.Errorf("fields.yaml: no field is named %s, or each has a text of its own", name)
		}
	}
	for _, r := range journal.Resources {
		if !strings.Contains(own["Change"]["resource"].About, string(r)) {
			t.Errorf("the text of Change.resource lacks %s", r)
		}
	}
	if form := texts["fields"]["cursor"].Form; form != journal.CursorPattern {
		t.Errorf("cursors have the form %s", form)
	}
}
