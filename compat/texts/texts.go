// Package texts has what the API document says about records and fields. It imports nothing of the project.
package texts

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// files are one per resource for its records, fields.yaml and sent.yaml for names that mean the same everywhere,
// requests.yaml for what is sent and means something else in a request, forms.yaml for the forms of texts.
//
//go:embed *.yaml
var files embed.FS

// Record describes a record.
type Record struct {
	Noun   string // replaces {it} in the texts of its fields
	About  string
	Fields map[string]Field // fields that mean something else here than in other records
}

// Field describes a field: in words for people, by an example, and by its form if it is a text.
type Field struct {
	About   string
	Example string
	Form    string // a regular expression; "" for any text
}

// Sent describes a parameter or a field of a body.
type Sent struct {
	Field `yaml:",inline"`
	Rare  bool // examples of bodies leave it out, because another field stands for it or few requests have it
}

// all texts are read when the first field is described. It panics if a file is not valid YAML of its form.
var all = sync.OnceValue(func() (all struct {
	records      map[string]Record
	fields, sent map[string]Field
	requests     map[string]map[string]Sent
}) {
	var forms map[string]string
	parse("forms", &forms)
	parse("fields", &all.fields)
	parse("sent", &all.sent)
	parse("requests", &all.requests)
	list, _ := files.ReadDir(".") // embedded
	for _, f := range list {
		if name := strings.TrimSuffix(f.Name(), ".yaml"); !slices.Contains([]string{"forms", "fields", "requests", "sent"}, name) {
			parse(name, &all.records)
		}
	}
	named := func(fields map[string]Field) {
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

func parse(name string, into any) {
	file, err := files.ReadFile(name + ".yaml")
	if err == nil {
		decoder := yaml.NewDecoder(bytes.NewReader(file))
		decoder.KnownFields(true)
		err = decoder.Decode(into)
	}
	if err != nil {
		panic(fmt.Sprintf("texts of %s: %v", name, err))
	}
}

// Of returns the text for a record; none for a name without one.
func Of(record string) Record { return all().records[record] }

// OfField returns the text for a field of a record.
func OfField(record, name string) Field {
	if own, ok := all().records[record].Fields[name]; ok {
		return own
	}
	return all().fields[name]
}

// OfSent returns the text for a parameter or a field of a body, of which a section of requests.yaml may have other parts
// than the files for all requests. Its form is that of its type.
func OfSent(section, name string) Sent {
	text, sent := all().fields[name], all().requests[section][name]
	if own, ok := all().sent[name]; ok {
		text = own
	}
	return Sent{Field{About: cmp.Or(sent.About, text.About), Example: cmp.Or(sent.Example, text.Example)}, sent.Rare}
}

// Words returns the words of a form that allows only a few, such as ^(active|inactive)$.
func (t Field) Words() (words []string, closed bool) {
	list, starts := strings.CutPrefix(t.Form, "^(")
	list, ends := strings.CutSuffix(list, ")$")
	return strings.Split(list, "|"), starts && ends && !strings.ContainsAny(list, `[]().\\`)
}
