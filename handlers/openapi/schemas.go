package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/typed"
)

// simplifier turns schemas into simpler ones that allow no more, but for ids, which have the form of
// package typed.
type simplifier struct {
	schemas *compat.Schemas
	old     bool     // for OpenAPI 3.0
	unnamed []string // unions without a name
}

// unions are the names of unions, by the member that has one of their forms.
var unions = map[string]string{"written": "Written", "record": "ChangedRecord"}

// simplifyAll simplifies all schemas in a part of the document.
func (s *simplifier) simplifyAll(part any) {
	switch part := part.(type) {
	case members:
		for _, m := range part {
			s.simplifyAll(m.Value())
		}
	case []members:
		for _, one := range part {
			s.simplifyAll(one)
		}
	case *compat.Schema:
		s.simplify("", "", part)
	}
}

// named simplifies the named schemas and returns them.
func (s *simplifier) named() (members, error) {
	for _, m := range s.schemas.Named() {
		s.simplifyParts(m.Name(), m.Value().(*compat.Schema))
	}
	if len(s.unnamed) > 0 {
		return nil, fmt.Errorf("unions without a name: %s", strings.Join(s.unnamed, ", "))
	}
	if s.old {
		s.nameNullable()
	}
	return s.schemas.Named(), nil
}

// nameNullable names the records that may be null, because OpenAPI 3.0 allows null only where the type is.
func (s *simplifier) nameNullable() {
	for _, m := range s.schemas.Named() {
		for _, p := range m.Value().(*compat.Schema).Properties {
			schema := p.Value().(*compat.Schema)
			if forms := formsOf(schema); len(forms) == 1 && mayBeNull(schema) {
				record := *s.schemas.Record(forms[0].Record())
				record.Description, record.Type = schema.Description, typeLike("object", schema)
				*schema = *s.schemas.Name("Nullable"+forms[0].Record(), &record)
			}
		}
	}
}

// simplify simplifies the schema of a member of a record.
func (s *simplifier) simplify(record, name string, schema *compat.Schema) {
	switch {
	case typed.IsText(name, schema):
		becomeInteger(schema)
		schema.Minimum = number("0")
	case typed.IsAny(schema):
		becomeInteger(schema)
		schema.Minimum = number("-1")
		schema.Description = strings.ReplaceAll(schema.Description, ", or any", ", or -1 for any")
	case isIDOrAny(schema):
		id := schema.AnyOf[0]
		becomeInteger(schema)
		schema.Minimum, schema.Maximum = number("-1"), id.Maximum
		schema.Description = integerForAny(schema.Description)
		if *id.Minimum != "0" {
			schema.Not = &compat.Schema{Const: 0}
		}
	case isPrice(schema):
		becomeText(schema)
	case isFieldValue(schema):
		s.becomeFieldValue(schema)
	case isWordOrNull(schema):
		*schema = compat.Schema{Description: schema.Description, Type: typeLike("string", schema), Enum: schema.AnyOf[0].Enum}
	case schema.Const == true: // generators write a constant of this type as a text
		schema.Const, schema.Not = nil, &compat.Schema{Const: false}
	}
	if schema.Type == "number" {
		schema.Format = "double"
	}
	schema.Examples = nil
	if len(formsOf(schema)) > 1 {
		s.nameUnion(record, name, schema)
	}
	s.simplifyParts(record+capitalized(name), schema)
}

// simplifyParts simplifies the members, the elements and the forms of a schema, and gives a name to objects
// in it.
func (s *simplifier) simplifyParts(record string, schema *compat.Schema) {
	for _, p := range schema.Properties {
		s.simplifyPart(record, p.Name(), p.Value().(*compat.Schema))
	}
	if schema.Items != nil {
		s.simplifyPart(strings.TrimSuffix(record, "s"), "", schema.Items)
	}
	if values, open := schema.AdditionalProperties.(*compat.Schema); open {
		s.simplifyPart(record, "", values)
	}
	for _, form := range schema.AnyOf {
		s.simplifyPart(record, "", form)
	}
}

func (s *simplifier) simplifyPart(record, name string, part *compat.Schema) {
	s.simplify(record, name, part)
	if len(part.Properties) > 0 {
		whole := *part
		*part = compat.Schema{Ref: s.schemas.Name(record+capitalized(name), &whole).Ref, Description: whole.Description}
	}
}

// integerForAny returns a description with the number that stands for any instead of the word.
func integerForAny(about string) string { return strings.ReplaceAll(about, "any (or -1)", "-1") }

func capitalized(name string) string {
	if name == "" {
		return ""
	}
	return domain.Capitalize(name)
}

// nameUnion replaces a union by a reference to it under its name.
func (s *simplifier) nameUnion(record, name string, schema *compat.Schema) {
	union, known := unions[name]
	if !known {
		s.unnamed = append(s.unnamed, record+"."+name)
		return
	}
	named := &compat.Schema{Description: schema.Description, AnyOf: schema.AnyOf}
	*schema = compat.Schema{Ref: s.schemas.Name(union, named).Ref, Description: schema.Description}
}

// formsOf returns the forms of a union besides null.
func formsOf(schema *compat.Schema) []*compat.Schema {
	return slices.DeleteFunc(slices.Clone(schema.AnyOf), func(one *compat.Schema) bool { return one.Type == "null" })
}

// isIDOrAny reports whether a schema is of an id or a word for any, as requests have it.
func isIDOrAny(s *compat.Schema) bool {
	return len(s.AnyOf) == 3 && s.AnyOf[0].Type == "integer" && s.AnyOf[1].Const == -1
}

// isPrice reports whether a schema is of an amount as a number or a text.
func isPrice(s *compat.Schema) bool {
	return len(s.AnyOf) > 1 && s.AnyOf[0].Type == "number" && s.AnyOf[1].Type == "string" && s.AnyOf[1].Pattern != ""
}

// isFieldValue reports whether a schema is of the value of a custom field.
func isFieldValue(s *compat.Schema) bool {
	return len(s.AnyOf) > 2 && mayBeNull(s.AnyOf[0]) && s.AnyOf[1].Type == "number"
}

// isWordOrNull reports whether a schema is of one of several words, or null.
func isWordOrNull(s *compat.Schema) bool {
	return len(s.AnyOf) == 2 && s.AnyOf[0].Enum != nil && mayBeNull(s)
}

// becomeInteger makes a schema that of an integer, or of null if it allows that.
func becomeInteger(s *compat.Schema) {
	*s = compat.Schema{Description: s.Description, Type: typeLike("integer", s), Default: s.Default}
}

// becomeText makes a schema that of a price that of its text.
func becomeText(s *compat.Schema) {
	*s = compat.Schema{Description: s.Description, Type: typeLike("string", s), Pattern: s.AnyOf[1].Pattern}
}

// becomeFieldValue makes a schema that of the value of a custom field: a text, for several options a list of
// texts where that is allowed, or null.
func (s *simplifier) becomeFieldValue(schema *compat.Schema) {
	last := schema.AnyOf[len(schema.AnyOf)-1]
	if last.Type != "array" {
		*schema = compat.Schema{Description: schema.Description, Type: schema.AnyOf[0].Type}
		return
	}
	several := &compat.Schema{Type: "array", Items: &compat.Schema{Type: "string"}}
	value := &compat.Schema{Description: "Value of a custom field: a text, or a list for several options", AnyOf: []*compat.Schema{{Type: "string"}, several, {Type: "null"}}}
	*schema = compat.Schema{Ref: s.schemas.Name("CustomFieldValue", value).Ref, Description: schema.Description}
}

// typeLike returns a type, with null if a schema allows null.
func typeLike(word string, s *compat.Schema) any {
	if mayBeNull(s) {
		return []string{word, "null"}
	}
	return word
}

func mayBeNull(s *compat.Schema) bool {
	words, several := s.Type.([]string)
	return several && slices.Contains(words, "null") || slices.ContainsFunc(s.AnyOf, func(form *compat.Schema) bool { return form.Type == "null" })
}

func number(n string) *json.Number { return new(json.Number(n)) }

// oldSchemas returns a part of the document with its schemas as in OpenAPI 3.0.
func oldSchemas(part any) any {
	switch part := part.(type) {
	case members:
		old := make(members, len(part))
		for i, m := range part {
			old[i] = member{m.Name(), oldSchemas(m.Value())}
		}
		return old
	case []members:
		old := make([]members, len(part))
		for i, one := range part {
			old[i] = oldSchemas(one).(members)
		}
		return old
	case *compat.Schema:
		return oldSchema(part)
	default:
		return part
	}
}

// oldSchema returns a schema as in OpenAPI 3.0, which has nullable instead of the type null, and neither
// const nor members beside $ref.
func oldSchema(s *compat.Schema) members {
	if s.Ref != "" {
		return members{{"$ref", s.Ref}}
	}
	var old members
	add := func(name string, value any, there bool) {
		if there {
			old = append(old, member{name, value})
		}
	}
	add("description", s.Description, s.Description != "")
	if types, several := s.Type.([]string); several {
		add("type", types[0], true)
	} else {
		add("type", s.Type, s.Type != nil)
	}
	add("nullable", true, mayBeNull(s) && s.AnyOf == nil)
	add("enum", []any{s.Const}, s.Const != nil)
	add("enum", s.Enum, s.Enum != nil)
	add("format", s.Format, s.Format != "")
	add("pattern", s.Pattern, s.Pattern != "")
	add("maxLength", s.MaxLength, s.MaxLength > 0)
	add("minimum", s.Minimum, s.Minimum != nil)
	add("maximum", s.Maximum, s.Maximum != nil)
	add("default", s.Default, s.Default != nil)
	add("minItems", s.MinItems, s.MinItems > 0)
	add("maxItems", s.MaxItems, s.MaxItems > 0)
	add("required", s.Required, s.Required != nil)
	if s.Items != nil {
		add("items", oldSchema(s.Items), true)
	}
	if s.Not != nil {
		add("not", oldSchema(s.Not), true)
	}
	if values, open := s.AdditionalProperties.(*compat.Schema); open {
		add("additionalProperties", oldSchema(values), true)
	} else {
		add("additionalProperties", s.AdditionalProperties, s.AdditionalProperties != nil)
	}
	add("properties", oldSchemas(s.Properties), s.Properties != nil)
	if s.AnyOf != nil {
		add("anyOf", oldForms(s), true)
	}
	if old == nil {
		old = members{} // anything
	}
	return old
}

// oldForms returns the forms of a union. If it may be null, so may the first form.
func oldForms(union *compat.Schema) []members {
	var all []members
	for _, one := range formsOf(union) {
		all = append(all, oldSchema(one))
	}
	if mayBeNull(union) {
		all[0] = append(all[0], member{"nullable", true})
	}
	return all
}
