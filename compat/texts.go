package compat

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// textFiles hold what the document says about records and fields: one file per resource for its records,
// fields.yaml and sent.yaml for names that mean the same everywhere, forms.yaml for the forms of texts.
//
//go:embed texts
var textFiles embed.FS

// recordText describes a record.
type recordText struct {
	Noun   string // replaces {it} in the texts of its fields
	About  string
	Fields map[string]fieldText // fields that mean something else here than in other records
}

// fieldText describes a field: in words for people, by an example, and by its form if it is a text.
type fieldText struct {
	About   string
	Example string
	Form    string // a regular expression; "" for any text
}

// Days in examples of what is sent. The document replaces them with future days.
const (
	ExampleDay     = "2026-12-01"
	ExampleLastDay = "2026-12-07"
)

// The forms of texts that are read.
const (
	clockPattern           = `^([01]?[0-9]|2[0-3]):[0-5][0-9]$`
	clockOrMidnightPattern = `^(([01]?[0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	timeOrMinutesPattern   = `^(([01]?[0-9]|2[0-3]):[0-5][0-9]|[0-9]{1,4})$`
	spanPattern            = `^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$`
	optionalDatePattern    = `^([0-9]{4}-[0-9]{2}-[0-9]{2})?$`
)

// texts are read when the first field is described. It panics if a file is not valid YAML of its form.
var texts = sync.OnceValue(func() (all struct {
	records      map[string]recordText
	fields, sent map[string]fieldText
}) {
	var forms map[string]string
	parseTexts("forms", &forms)
	parseTexts("fields", &all.fields)
	parseTexts("sent", &all.sent)
	files, _ := textFiles.ReadDir("texts") // embedded
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".yaml"); !slices.Contains([]string{"forms", "fields", "sent"}, name) {
			parseTexts(name, &all.records)
		}
	}
	named := func(fields map[string]fieldText) {
		for name, t := range fields {
			t.Form = cmp.Or(forms[t.Form], t.Form)
			fields[name] = t
		}
	}
	named(all.fields)
	for _, r := range all.records {
		named(r.Fields)
	}
	return all
})

func parseTexts(name string, into any) {
	file, err := textFiles.ReadFile("texts/" + name + ".yaml")
	if err == nil {
		decoder := yaml.NewDecoder(bytes.NewReader(file))
		decoder.KnownFields(true)
		err = decoder.Decode(into)
	}
	if err != nil {
		panic(fmt.Sprintf("compat: texts of %s: %v", name, err))
	}
}

// textOf returns the text for a field of a record.
func textOf(record, name string) fieldText {
	if own, ok := texts().records[record].Fields[name]; ok {
		return own
	}
	return texts().fields[name]
}

// textOfSent returns the text for a parameter or a field of a body. Its form is that of its type.
func textOfSent(name string) fieldText {
	if own, ok := texts().sent[name]; ok {
		return own
	}
	return texts().fields[name]
}

// explain writes a field's text into its schema.
func (t fieldText) explain(schema *Schema) {
	schema.Description = cmp.Or(schema.Description, t.About)
	t.fill(schema)
	if schema.Items != nil {
		t.fill(schema.Items)
	}
}

// fill adds form and example to a single value.
func (t fieldText) fill(schema *Schema) {
	if schema.example != nil {
		return
	}
	switch schema.word() {
	case typeString:
		if words, closed := t.words(); closed {
			schema.Enum = words
		} else {
			schema.Pattern = cmp.Or(t.Form, schema.Pattern)
		}
		schema.example = t.Example
		if len(schema.Enum) > 0 && !slices.Contains(schema.Enum, t.Example) {
			schema.example = schema.Enum[0]
		}
	case typeInteger, typeNumber:
		schema.example = json.Number(t.Example)
	case typeBoolean:
		schema.example = t.Example == "true"
	case "":
		for _, one := range schema.AnyOf {
			t.fill(one)
		}
	}
}

// words returns the words of a form that allows only a few, such as ^(active|inactive)$.
func (t fieldText) words() (words []string, closed bool) {
	list, starts := strings.CutPrefix(t.Form, "^(")
	list, ends := strings.CutSuffix(list, ")$")
	return strings.Split(list, "|"), starts && ends && !strings.ContainsAny(list, `[]().\\`)
}

// word returns the type of a schema, ignoring null.
func (s *Schema) word() string {
	switch word := s.Type.(type) {
	case string:
		return word
	case []string:
		return word[0]
	default:
		return ""
	}
}
