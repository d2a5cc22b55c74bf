package compat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsontext"
	"github.com/bookside/bookside/compat/texts"
)

// Schema is a JSON Schema 2020-12, as used in OpenAPI 3.1.
type Schema struct {
	Ref                  string       `json:"$ref,omitempty"`
	Description          string       `json:"description,omitempty"`
	Type                 any          `json:"type,omitempty"` // a word or a list of words
	Const                any          `json:"const,omitempty"`
	Enum                 []string     `json:"enum,omitempty"`
	Format               string       `json:"format,omitempty"`
	Pattern              string       `json:"pattern,omitempty"`
	MaxLength            int          `json:"maxLength,omitempty"`
	Minimum              *json.Number `json:"minimum,omitempty"`
	Maximum              *json.Number `json:"maximum,omitempty"`
	Default              any          `json:"default,omitempty"`
	Examples             []any        `json:"examples,omitempty"`
	Items                *Schema      `json:"items,omitempty"`
	MinItems             int          `json:"minItems,omitempty"`
	MaxItems             int          `json:"maxItems,omitempty"`
	Properties           Members      `json:"properties,omitempty"`
	Required             []string     `json:"required,omitempty"`
	AdditionalProperties any          `json:"additionalProperties,omitempty"` // false or a *Schema
	AnyOf                []*Schema    `json:"anyOf,omitempty"`
	GoType               string       `json:"x-go-type,omitempty"` // of oapi-codegen, which has no unions of values

	example    any    // of a value; nil to build it from the parts
	unexampled bool   // examples of objects leave it out
	shared     string // the name under which the document has it, see Share
}

// Member is the name of a member of an object, and its value.
type Member [2]any

// Name returns the member's name.
func (m Member) Name() string { return fmt.Sprint(m[0]) }

// Value returns the member's value.
func (m Member) Value() any { return m[1] }

// Members are the members of an object that keeps their order.
type Members []Member

// MarshalJSON writes an object.
func (m Members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(member.Value())
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", member.Name(), err)
		}
		b.Write(jsontext.Quote(member.Name()))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// The words for types.
const (
	typeNull    = "null"
	typeBoolean = "boolean"
	typeInteger = "integer"
	typeNumber  = "number"
	typeString  = "string"
	typeArray   = "array"
	typeObject  = "object"
)

// schemaProvider is a wire type that knows its schema.
type schemaProvider interface{ schema() *Schema }

// Concerning sets which record the descriptions of a value and its parts are about: noun replaces {it}.
func (s *Schema) Concerning(noun string) *Schema {
	s.Description = strings.ReplaceAll(s.Description, "{it}", noun)
	for _, p := range s.Properties {
		p.Value().(*Schema).Concerning(noun)
	}
	if s.Items != nil {
		s.Items.Concerning(noun)
	}
	return s
}

// Schemas are the schemas of records, by name.
type Schemas struct{ named map[string]*Schema }

// The names of values that have more than one form.
const (
	idName      = "ID"
	idOrAnyName = "IDOrAny"
	writtenName = "WriteOutcome"
	fieldName   = "CustomFieldValue"
	priceName   = "Price"
)

// NewSchemas returns Schemas without any record.
func NewSchemas() *Schemas {
	return &Schemas{named: map[string]*Schema{
		idName: {
			Description: "An id: a number or its digits as text, as the PHP extension has it in each place. Requests accept both",
			AnyOf:       []*Schema{{Type: typeInteger, Minimum: bound("0")}, {Type: typeString, Pattern: "^[0-9]+$"}}, GoType: "json.Number",
		},
		idOrAnyName: {
			Description: "An id, or the word any",
			AnyOf:       []*Schema{{Type: typeInteger, Minimum: bound("-1")}, {Type: typeString, Pattern: "^([0-9]+|any|-1)$"}}, GoType: "any",
		},
		writtenName: {
			Description: "Whether a failed write took effect",
			AnyOf:       []*Schema{{Type: typeBoolean}, {Type: typeString, Const: string(WriteUnknown)}},
		},
		priceName: {
			Description: "An amount that is not negative, as a number or as a text",
			AnyOf:       []*Schema{{Type: typeNumber}, {Type: typeString, Pattern: pricePattern}}, GoType: "json.Number",
		},
		fieldName: {
			Description: "The value of a custom field: for several options a list, otherwise a text, a number, or on or off for a checkbox",
			AnyOf:       []*Schema{{Type: typeString}, {Type: typeNumber}, {Type: typeBoolean}, {Type: typeArray, Items: &Schema{Type: typeString}}},
		},
	}}
}

// reference returns a schema that refers to the one under a name.
func reference(name string) *Schema { return &Schema{Ref: schemasRef + name} }

// Named returns the schemas that others refer to, by name.
func (s *Schemas) Named() Members {
	var members Members
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		members = append(members, Member{name, s.named[name]})
	}
	return members
}

// Record returns the name of the schema that the schema refers to; "" if it is written out.
func (s *Schema) Record() string { return strings.TrimPrefix(s.Ref, schemasRef) }

// Name stores a schema under a name and returns a reference to it.
func (s *Schemas) Name(name string, schema *Schema) *Schema {
	s.named[name] = schema
	s.nameParts(name, schema)
	return reference(name)
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

// Share replaces the schema of a value that the document has under a name by a reference. Of words or null it makes
// texts of that form, because null would have to be one of the words.
func (s *Schema) Share() {
	short := &Schema{Type: typeString}
	null := slices.Contains(s.types(), typeNull)
	switch {
	case s.shared != "":
		short = reference(s.shared)
	case null && len(s.AnyOf) == 2 && s.AnyOf[0].Enum != nil:
		short.Pattern = "^(" + strings.Join(s.AnyOf[0].Enum, "|") + ")$"
	default:
		return
	}
	if null {
		short = nullable(short)
	}
	short.Description, short.example, short.unexampled = s.Description, s.example, s.unexampled
	if short.example == nil && len(s.AnyOf) > 0 {
		short.example = s.AnyOf[0].example
	}
	*s = *short
}

// types returns the types that a schema allows.
func (s *Schema) types() (words []string) {
	switch word := s.Type.(type) {
	case string:
		words = []string{word}
	case []string:
		words = word
	}
	for _, form := range s.AnyOf {
		words = append(words, form.types()...)
	}
	return words
}

func (s *Schemas) namePart(name string, part *Schema) {
	part.Share()
	several := slices.DeleteFunc(slices.Clone(part.AnyOf), func(form *Schema) bool { return form.Type == typeNull })
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
	*part = Schema{Ref: s.Name(name, &whole).Ref, Description: whole.Description, example: whole.example, unexampled: whole.unexampled}
}

// Of returns the schema of a sample's type. Records become named schemas; envelopes are written out with
// the texts of the sample.
func (s *Schemas) Of(sample any) *Schema { return s.schemaOf(reflect.ValueOf(sample)) }

// AnyOf returns the schema of a value that has one of several forms.
func AnyOf(forms ...*Schema) *Schema {
	if len(forms) == 1 {
		return forms[0]
	}
	return &Schema{AnyOf: forms}
}

func (s *Schemas) schemaOf(v reflect.Value) *Schema {
	if known, ok := v.Interface().(schemaProvider); ok {
		return known.schema()
	}
	switch v.Interface().(type) {
	case json.Number:
		return &Schema{Type: typeNumber}
	case json.RawMessage:
		return &Schema{example: Members{}} // anything
	}
	switch v.Kind() {
	case reflect.Pointer:
		return nullable(s.schemaOf(reflect.Zero(v.Type().Elem())))
	case reflect.Slice:
		return &Schema{Type: typeArray, Items: s.schemaOf(reflect.Zero(v.Type().Elem()))}
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
		return typeBoolean
	case reflect.String:
		return typeString
	default:
		return typeInteger
	}
}

func (s *Schemas) ofMap(v reflect.Value) *Schema {
	element := s.schemaOf(reflect.Zero(v.Type().Elem()))
	return &Schema{Type: typeObject, AdditionalProperties: element, example: Members{}}
}

// nullable allows null in addition to what a schema allows.
func nullable(schema *Schema) *Schema {
	if schema.Ref != "" || schema.Enum != nil {
		return &Schema{AnyOf: []*Schema{schema, {Type: typeNull}}}
	}
	if word, ok := schema.Type.(string); ok {
		schema.Type = []string{word, typeNull}
		return schema
	}
	null := func(one *Schema) bool { return one.Type == typeNull }
	if len(schema.AnyOf) > 0 && !slices.ContainsFunc(schema.AnyOf, null) {
		schema.AnyOf = append(schema.AnyOf, &Schema{Type: typeNull})
	}
	return schema // it already allows null
}

const schemasRef = "#/components/schemas/"

func (s *Schemas) ofStruct(v reflect.Value) *Schema {
	fields := fieldsOf(v)
	name := schemaName(v.Type())
	if _, inline := v.Interface().(envelope); inline {
		return s.object(name, fields, true)
	}
	if _, known := s.named[name]; !known {
		s.named[name] = nil // guards against recursive types
		record := s.object(name, fields, false)
		record.Description = texts.Of(name).About
		s.Name(name, record)
	}
	return reference(name)
}

// publishedNames are the types whose names in the document differ from those here. Generated clients name
// their types after them.
var publishedNames = map[reflect.Type]string{
	reflect.TypeFor[anyError]():                    "Error",
	reflect.TypeFor[AgentName[string]]():           "ServiceAgent",
	reflect.TypeFor[AgentName[int64]]():            "ServiceDetailAgent",
	reflect.TypeFor[ServiceCategoryName[string]](): "ServiceCategoryName",
	reflect.TypeFor[ServiceCategoryName[int64]]():  "ServiceDetailCategory",
	reflect.TypeFor[writtenCoupon[int64]]():        "CreatedCoupon",
	reflect.TypeFor[writtenCoupon[string]]():       "UpdatedCoupon",
}

// schemaName returns a type's name in the document, including type parameters.
func schemaName(t reflect.Type) string {
	if name, ok := publishedNames[t]; ok {
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
func (s *Schemas) object(name string, fields []field, envelope bool) *Schema {
	object := &Schema{Type: typeObject, AdditionalProperties: false}
	for _, f := range fields {
		schema := s.ofField(name, f)
		if envelope && (f.value.Kind() == reflect.String || f.value.Kind() == reflect.Bool) && !f.value.IsZero() {
			schema.example = f.value.Interface()
			schema.Description = fmt.Sprintf("Always %v", schema.example)
			if f.value.Kind() == reflect.String { // generators write other constants as texts
				schema.Const = schema.example
			}
		} else {
			schema.explain(texts.OfField(name, f.name))
			schema.Description += f.needsText()
			schema.Concerning(texts.Of(name).Noun)
			schema.becomeID(f.name)
			if schema.Ref == "" && schema.example != nil && schema.word() != typeObject {
				schema.Examples = []any{schema.example}
			}
		}
		object.Properties = append(object.Properties, Member{f.name, schema})
		if !f.optional {
			object.Required = append(object.Required, f.name)
		}
	}
	return object
}

// becomeID makes the schema of a member that is an id refer to that of ids. An id that may be an empty text stays
// a text.
func (s *Schema) becomeID(name string) {
	number, text := s.word() == typeInteger, s.Pattern == "^[0-9]+$"
	if name != "id" && !strings.HasSuffix(name, "_id") || !number && !text {
		return
	}
	_, null := s.Type.([]string)
	about, example := s.Description, s.example
	*s = *reference(idName)
	if null {
		*s = *nullable(reference(idName))
	}
	s.Description, s.example = about, example
}

func (s *Schemas) ofField(record string, f field) *Schema {
	samples, ok := fieldSamples[record+"."+f.name]
	if !ok {
		samples = []any{f.value.Interface()}
		if f.optional && f.needs == "" && f.value.Kind() == reflect.Pointer { // absent instead of null
			samples = []any{reflect.Zero(f.value.Type().Elem()).Interface()}
		}
	}
	forms := make([]*Schema, len(samples))
	for i, sample := range samples {
		forms[i] = s.Of(sample)
	}
	return AnyOf(forms...)
}

// fieldSamples are samples for fields whose type says too little.
var fieldSamples = map[string][]any{
	"Change.record":       changedRecordSamples,
	"BulkResults.success": {[]BulkSuccess{}},
	"BulkResults.errors":  {[]BulkError{}},
	"Error.error":         {errorObject{}, ""},
	"ErrorData.details":   {map[string]string{}},
	"ErrorObject.details": {map[string]string{}, PermissionDetails{}, ConflictDetails{}, TimeOffDetails{}, PresentDetails{}},
}

// field is a field of a struct on the wire.
type field struct {
	name           string
	value          reflect.Value
	optional       bool
	needs          string // a permission, see Viewer
	onlyIfIncluded bool   // likewise
}

// fieldsOf returns the fields that encoding/json writes, including those of an embedded struct unless the
// outer one has a field of that name.
func fieldsOf(v reflect.Value) []field {
	own := map[string]bool{}
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "" {
			own[name] = true
		}
	}
	var fields []field
	for i := range v.NumField() {
		t := v.Type().Field(i)
		if t.Anonymous {
			for _, inner := range fieldsOf(v.Field(i)) {
				if !own[inner.name] {
					fields = append(fields, inner)
				}
			}
			continue
		}
		name, options, _ := strings.Cut(t.Tag.Get("json"), ",")
		needs, included, _ := strings.Cut(t.Tag.Get("needs"), ",")
		fields = append(fields, field{name, v.Field(i), options != "", needs, included == "included"})
	}
	return fields
}

// Example returns a value that a schema allows.
func (s *Schemas) Example(schema *Schema) any {
	switch {
	case schema.example != nil:
		return schema.example
	case schema.Ref != "":
		return s.Example(s.named[schema.Record()])
	case len(schema.AnyOf) > 0:
		return s.Example(schema.AnyOf[0])
	case schema.Items != nil:
		return []any{s.Example(schema.Items)}
	case schema.word() == typeObject:
		object := make(Members, 0, len(schema.Properties))
		for _, p := range schema.Properties {
			if value := p.Value().(*Schema); !value.unexampled {
				object = append(object, Member{p.Name(), s.Example(value)})
			}
		}
		return object
	default:
		return nil
	}
}

// Error returns the schema of errors, whatever their shape.
func (s *Schemas) Error() *Schema { return s.Of(anyError{}) }

// IDSchema returns the schema of ids.
func IDSchema() *Schema { return reference(idName) }
