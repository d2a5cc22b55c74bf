package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

	Example    any    `json:"-"` // of a value; nil to build it from the parts
	Unexampled bool   `json:"-"` // examples of objects leave it out
	Shared     string `json:"-"` // the name under which the document has it, see Share
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
	Null    = "null"
	Boolean = "boolean"
	Integer = "integer"
	Number  = "number"
	String  = "string"
	Array   = "array"
	Object  = "object"
)

// The names of the schemas of ids, and of ids for which the word any may stand.
const (
	IDName      = "ID"
	IDOrAnyName = "IDOrAny"
)

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

// Reference returns a schema that refers to the one under a name.
func Reference(name string) *Schema { return &Schema{Ref: schemasRef + name} }

// Record returns the name of the schema that the schema refers to; "" if it is written out.
func (s *Schema) Record() string { return strings.TrimPrefix(s.Ref, schemasRef) }

// Types returns the types that a schema allows.
func (s *Schema) Types() (words []string) {
	switch word := s.Type.(type) {
	case string:
		words = []string{word}
	case []string:
		words = word
	}
	for _, form := range s.AnyOf {
		words = append(words, form.Types()...)
	}
	return words
}

// AnyOf returns the schema of a value that has one of several forms.
func AnyOf(forms ...*Schema) *Schema {
	if len(forms) == 1 {
		return forms[0]
	}
	return &Schema{AnyOf: forms}
}

// Nullable allows null in addition to what a schema allows.
func Nullable(schema *Schema) *Schema {
	if schema.Ref != "" || schema.Enum != nil {
		return &Schema{AnyOf: []*Schema{schema, {Type: Null}}}
	}
	if word, ok := schema.Type.(string); ok {
		schema.Type = []string{word, Null}
		return schema
	}
	null := func(one *Schema) bool { return one.Type == Null }
	if len(schema.AnyOf) > 0 && !slices.ContainsFunc(schema.AnyOf, null) {
		schema.AnyOf = append(schema.AnyOf, &Schema{Type: Null})
	}
	return schema // it already allows null
}

const schemasRef = "#/components/schemas/"

// IDSchema returns the schema of ids.
func IDSchema() *Schema { return Reference(IDName) }

// Explain writes a field's text into its schema.
func (s *Schema) Explain(t texts.Field) {
	s.Description = cmp.Or(s.Description, t.About)
	s.fill(t)
	if s.Items != nil {
		s.Items.fill(t)
	}
}

// fill adds form and example to a single value.
func (s *Schema) fill(t texts.Field) {
	if s.Example != nil {
		return
	}
	switch s.word() {
	case String:
		if words, closed := t.Words(); closed {
			s.Enum = words
		} else {
			s.Pattern = cmp.Or(t.Form, s.Pattern)
		}
		s.Example = t.Example
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, t.Example) {
			s.Example = s.Enum[0]
		}
	case Integer, Number:
		s.Example = json.Number(t.Example)
	case Boolean:
		s.Example = t.Example == "true"
	case "":
		if s.Ref == schemasRef+IDOrAnyName {
			s.Example = json.Number(t.Example)
		}
		for _, one := range s.AnyOf {
			one.fill(t)
		}
	}
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

// Bound returns a bound of a number.
func Bound(n string) *json.Number { return new(json.Number(n)) }
