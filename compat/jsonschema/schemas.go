package jsonschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/texts"
)

// Provider is a wire type that knows its schema.
type Provider interface{ JSONSchema() *Schema }

// Envelope is what surrounds a record. In the document it has no name: its texts and booleans always have
// the values of a sample.
type Envelope interface{ Envelope() }

// Published is what the document says of types beyond what they say themselves.
type Published struct {
	Names   map[reflect.Type]string // of types whose names differ there; generated clients name their types after them
	Samples map[string][]any        // of fields whose type says too little, by the name of the type and that of the field
}

// Schemas are the schemas of records, by name.
type Schemas struct {
	named     map[string]*Schema
	published Published
}

// NewSchemas returns schemas with those that have a name from the beginning.
func NewSchemas(named map[string]*Schema, published Published) *Schemas {
	return &Schemas{named, published}
}

// Named returns the schemas that others refer to, by name.
func (s *Schemas) Named() Members {
	var members Members
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		members = append(members, Member{name, s.named[name]})
	}
	return members
}

// Name stores a schema under a name and returns a Reference to it.
func (s *Schemas) Name(name string, schema *Schema) *Schema {
	s.named[name] = schema
	s.nameParts(name, schema)
	return Reference(name)
}

// nameParts gives names to the objects and unions inside a schema, because generators of clients name types that
// have none by counting them.
func (s *Schemas) nameParts(name string, schema *Schema) {
	for _, p := range schema.Properties {
		s.namePart(name+joined(p.Name()), p.Value().(*Schema))
	}
	if items := schema.Items; items != nil {
		if len(items.Properties) > 0 {
			items.Description = cmp.Or(items.Description, "One of: "+schema.Description)
		}
		s.namePart(strings.TrimSuffix(name, "s"), items)
	}
	if values, open := schema.AdditionalProperties.(*Schema); open {
		s.namePart(name+"Value", values)
	}
}

// Share replaces the schema of a value that the document has under a name by a Reference. Of words or null it makes
// texts of that form, because null would have to be one of the words.
func (s *Schema) Share() {
	short := &Schema{Type: String}
	null := slices.Contains(s.Types(), Null)
	switch {
	case s.Shared != "":
		short = Reference(s.Shared)
	case null && len(s.AnyOf) == 2 && s.AnyOf[0].Enum != nil:
		short.Pattern = "^(" + strings.Join(s.AnyOf[0].Enum, "|") + ")$"
	default:
		return
	}
	if null {
		short = Nullable(short)
	}
	short.Description, short.Example, short.Unexampled = s.Description, s.Example, s.Unexampled
	if short.Example == nil && len(s.AnyOf) > 0 {
		short.Example = s.AnyOf[0].Example
	}
	*s = *short
}

func (s *Schemas) namePart(name string, part *Schema) {
	part.Share()
	several := slices.DeleteFunc(slices.Clone(part.AnyOf), func(form *Schema) bool { return form.Type == Null })
	if len(part.Properties) == 0 && len(several) < 2 {
		s.nameParts(name, part)
		return
	}
	whole := *part
	for known, same := range s.named {
		if reflect.DeepEqual(same, &whole) {
			name = known
		}
	}
	*part = Schema{Ref: s.Name(name, &whole).Ref, Description: whole.Description, Example: whole.Example, Unexampled: whole.Unexampled}
}

// Of returns the schema of a sample's type. Records become named schemas; envelopes are written out with
// the texts of the sample.
func (s *Schemas) Of(sample any) *Schema { return s.schemaOf(reflect.ValueOf(sample)) }

func (s *Schemas) schemaOf(v reflect.Value) *Schema {
	if known, ok := v.Interface().(Provider); ok {
		return known.JSONSchema()
	}
	switch v.Interface().(type) {
	case json.Number:
		return &Schema{Type: Number}
	case json.RawMessage:
		return &Schema{Example: Members{}} // anything
	}
	switch v.Kind() {
	case reflect.Pointer:
		return Nullable(s.schemaOf(reflect.Zero(v.Type().Elem())))
	case reflect.Slice:
		return &Schema{Type: Array, Items: s.schemaOf(reflect.Zero(v.Type().Elem()))}
	case reflect.Map:
		return s.ofMap(v)
	case reflect.Struct:
		return s.ofStruct(v)
	default:
		return &Schema{Type: wordFor(v.Kind())}
	}
}

func wordFor(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return Boolean
	case reflect.String:
		return String
	default:
		return Integer
	}
}

func (s *Schemas) ofMap(v reflect.Value) *Schema {
	element := s.schemaOf(reflect.Zero(v.Type().Elem()))
	return &Schema{Type: Object, AdditionalProperties: element, Example: Members{}}
}

func (s *Schemas) ofStruct(v reflect.Value) *Schema {
	fields := Fields(v)
	name := s.published.NameOf(v.Type())
	if _, inline := v.Interface().(Envelope); inline {
		return s.object(name, fields, true)
	}
	if _, known := s.named[name]; !known {
		s.named[name] = nil // guards against recursive types
		record := s.object(name, fields, false)
		record.Description = texts.Of(name).About
		s.Name(name, record)
	}
	return Reference(name)
}

// NameOf returns a type's name in the document, including type parameters.
func (p Published) NameOf(t reflect.Type) string {
	if name, ok := p.Names[t]; ok {
		return name
	}
	return joined(t.Name())
}

// joined joins the words of a name, each capitalized.
func joined(name string) string {
	text := ""
	for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		text += domain.Capitalize(word)
	}
	return text
}

// object returns the schema of a struct. The texts and booleans of an envelope are
// constants.
func (s *Schemas) object(name string, fields []Field, envelope bool) *Schema {
	object := &Schema{Type: Object, AdditionalProperties: false}
	for _, f := range fields {
		schema := s.ofField(name, f)
		if envelope && (f.Value.Kind() == reflect.String || f.Value.Kind() == reflect.Bool) && !f.Value.IsZero() {
			schema.Example = f.Value.Interface()
			schema.Description = fmt.Sprintf("Always %v", schema.Example)
			if f.Value.Kind() == reflect.String { // generators write other constants as texts
				schema.Const = schema.Example
			}
		} else {
			schema.Explain(texts.OfField(name, f.Name))
			schema.Description += f.needsText()
			schema.Concerning(texts.Of(name).Noun)
			schema.becomeID(f.Name)
			if schema.Ref == "" && schema.Example != nil && schema.word() != Object {
				schema.Examples = []any{schema.Example}
			}
		}
		object.Properties = append(object.Properties, Member{f.Name, schema})
		if !f.Optional {
			object.Required = append(object.Required, f.Name)
		}
	}
	return object
}

// becomeID makes the schema of a member that is an id refer to that of ids. An id that may be an empty text stays
// a text.
func (s *Schema) becomeID(name string) {
	number, text := s.word() == Integer, s.Pattern == "^[0-9]+$"
	if name != "id" && !strings.HasSuffix(name, "_id") || !number && !text {
		return
	}
	_, null := s.Type.([]string)
	about, example := s.Description, s.Example
	*s = *Reference(IDName)
	if null {
		*s = *Nullable(Reference(IDName))
	}
	s.Description, s.Example = about, example
}

func (s *Schemas) ofField(record string, f Field) *Schema {
	var forms []*Schema
	for _, sample := range s.published.SamplesOf(record, f) {
		forms = append(forms, s.Of(sample))
	}
	return AnyOf(forms...)
}

// SamplesOf returns samples of a field of a record with a name.
func (p Published) SamplesOf(record string, f Field) []any {
	samples, ok := p.Samples[record+"."+f.Name]
	switch {
	case ok:
		return samples
	case f.Optional && f.Needs == "" && f.Value.Kind() == reflect.Pointer: // absent instead of null
		return []any{reflect.Zero(f.Value.Type().Elem()).Interface()}
	default:
		return []any{f.Value.Interface()}
	}
}

// Field is a field of a struct on the wire.
type Field struct {
	Name           string
	Value          reflect.Value
	Optional       bool
	Needs          string // a permission, see compat.Viewer
	OnlyIfIncluded bool   // likewise
}

// needsText describes in the document what a member needs.
func (f Field) needsText() string {
	switch {
	case f.Needs == "":
		return ""
	case f.OnlyIfIncluded:
		return "; requires the permission " + f.Needs
	default:
		return "; empty without the permission " + f.Needs
	}
}

// Fields returns the fields that encoding/json writes, including those of an embedded struct unless the
// outer one has a field of that name.
func Fields(v reflect.Value) []Field {
	own := map[string]bool{}
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "" {
			own[name] = true
		}
	}
	var fields []Field
	for i := range v.NumField() {
		t := v.Type().Field(i)
		if t.Anonymous {
			for _, inner := range Fields(v.Field(i)) {
				if !own[inner.Name] {
					fields = append(fields, inner)
				}
			}
			continue
		}
		name, options, _ := strings.Cut(t.Tag.Get("json"), ",")
		needs, included, _ := strings.Cut(t.Tag.Get("needs"), ",")
		fields = append(fields, Field{name, v.Field(i), options != "", needs, included == "included"})
	}
	return fields
}

// Example returns a value that a schema allows.
func (s *Schemas) Example(schema *Schema) any {
	switch {
	case schema.Example != nil:
		return schema.Example
	case schema.Ref != "":
		return s.Example(s.named[schema.Record()])
	case len(schema.AnyOf) > 0:
		return s.Example(schema.AnyOf[0])
	case schema.Items != nil:
		return []any{s.Example(schema.Items)}
	case schema.word() == Object:
		object := make(Members, 0, len(schema.Properties))
		for _, p := range schema.Properties {
			if value := p.Value().(*Schema); !value.Unexampled {
				object = append(object, Member{p.Name(), s.Example(value)})
			}
		}
		return object
	default:
		return nil
	}
}
