package compat

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"bookside/adapter/domain"
)

// Reading is what a function reads from a query or a body. It is found by
// running the function on one that carries nothing and notes what it is asked
// for, so that what is described is what is read.
type Reading struct {
	Fields []*Field
	plain  bool // a query
}

// Field is a value that is read.
type Field struct {
	Name     string
	Schema   *Schema
	Required bool
	within   *Reading // the members of an object, or of a list's elements
}

// ReadingOfQuery runs a function that reads the parameters of a query.
func ReadingOfQuery(read func(*Query)) *Reading {
	q := ParseQuery("")
	q.described = &Reading{plain: true}
	read(q)
	return q.described
}

// ReadingOfBody runs a function that reads the fields of a body.
func ReadingOfBody(read func(*Body)) *Reading {
	b := newBody("", nil, new(domain.Validation))
	b.described = &Reading{}
	read(b)
	return b.described
}

// field is the field of a name, new or known. A nil Reading has none.
func (r *Reading) field(name string) *Field {
	i := slices.IndexFunc(r.Fields, func(f *Field) bool { return f.Name == name })
	if i >= 0 {
		return r.Fields[i]
	}
	f := &Field{Name: name}
	r.Fields = append(r.Fields, f)
	return f
}

// add notes a value. Every method of a nil Reading does nothing: that is the
// one of a real request.
func (r *Reading) add(name string, schema *Schema) {
	f := r.field(name)
	f.Schema = schema
	explain(schema, "", name)
}

func (r *Reading) text(name string) {
	if r == nil {
		return
	}
	schema := &Schema{Type: typeString}
	if r.plain {
		schema.MaxLength = maxText
	}
	r.add(name, schema)
}

func (r *Reading) pattern(name, pattern string) {
	if r != nil {
		r.add(name, &Schema{Type: typeString, Pattern: pattern})
	}
}

func (r *Reading) date(name string) {
	if r != nil {
		r.add(name, &Schema{Type: typeString, Format: "date"})
	}
}

func (r *Reading) boolean(name string) {
	if r != nil {
		r.add(name, &Schema{Type: typeBoolean})
	}
}

func (r *Reading) integer(name string, least, most int64) {
	if r != nil {
		r.add(name, &Schema{Type: typeInteger, Minimum: bound(strconv.FormatInt(least, 10)), Maximum: bound(strconv.FormatInt(most, 10))})
	}
}

// anyID is an id or one of the words for any.
func (r *Reading) anyID(name string) {
	if r == nil {
		return
	}
	r.add(name, &Schema{AnyOf: []*Schema{
		{Type: typeInteger, Minimum: bound("1"), Maximum: bound(strconv.Itoa(maxMediumInt))},
		{Type: typeInteger, Const: -1},
		{Type: typeString, Const: "any"},
	}})
}

func (r *Reading) amount(name, least string) {
	if r != nil {
		r.add(name, &Schema{Type: typeNumber, Minimum: bound(least), Maximum: bound(maxAmount.String())})
	}
}

// list is a list, of words from a query and of anything in a body.
func (r *Reading) list(name string, items *Schema) {
	if r != nil {
		r.add(name, &Schema{Type: typeArray, Items: items})
	}
}

func (r *Reading) require(name string) {
	if r != nil {
		r.field(name).Required = true
	}
}

func (r *Reading) standard(name string, value any) {
	if r != nil {
		r.field(name).Schema.Default = value
	}
}

// object notes an object, and is what notes its members.
func (r *Reading) object(name string) *Reading {
	f := r.field(name)
	if f.Schema == nil {
		r.add(name, &Schema{Type: typeObject})
	}
	f.within = &Reading{}
	return f.within
}

// elements notes a list of objects, and is what notes the members of each.
func (r *Reading) elements(name string, least, most int) *Reading {
	r.add(name, &Schema{Type: typeArray, Items: &Schema{}, MinItems: least, MaxItems: most})
	f := r.field(name)
	f.within = &Reading{}
	return f.within
}

// values notes an object of single values, under any names.
func (r *Reading) values(name string) {
	if r != nil {
		scalar := &Schema{Type: []string{typeString, typeNumber, typeBoolean, typeNull}}
		r.add(name, &Schema{Type: typeObject, AdditionalProperties: scalar})
	}
}

// optionalDate notes a date that may be unset by sending none, or the zero date.
func (r *Reading) optionalDate(name string) {
	r.pattern(name, optionalDateForm)
}

// describeWords notes a value that is one of the words of a map.
func describeWords[T any](r *Reading, name string, words map[string]T) {
	if r != nil {
		r.add(name, &Schema{Type: typeString, Enum: slices.Sorted(maps.Keys(words))})
	}
}

// describeFallback notes the word that stands for one that was not sent.
func describeFallback[T comparable](r *Reading, name string, words map[string]T, fallback T) {
	if r == nil {
		return
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if words[word] == fallback {
			r.standard(name, word)
			return
		}
	}
}

func bound(n string) *json.Number { return new(json.Number(n)) }

// Schema is the schema of the fields as an object. Unknown members are ignored,
// so that they are allowed.
func (r *Reading) Schema() *Schema {
	object := &Schema{Type: typeObject}
	for _, f := range r.Fields {
		schema := f.Schema
		if f.within != nil {
			inner := f.within.Schema()
			switch {
			case schema.Items != nil:
				schema.Items = inner
			case len(inner.Properties) > 0:
				schema.Properties, schema.Required = inner.Properties, inner.Required
			}
		}
		object.Properties = append(object.Properties, Member{f.Name, schema})
		if f.Required {
			object.Required = append(object.Required, f.Name)
		}
	}
	return object
}
