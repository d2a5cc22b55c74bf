package compat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsontext"
	"github.com/bookside/bookside/compat/texts"
)

// Field declares a parameter of a query or a field of a body, once: it reads the value into a T and
// describes it in the OpenAPI document.
type Field[T any] struct {
	declaration
	skip func(in input, into *T) bool // reports whether to ignore the field; may be nil
	read func(in input, into *T)      // sets a member of into if a value was sent
}

// declaration is the part of a field that does not depend on its target.
type declaration struct {
	name            string
	text            texts.Field // overrides the text for its name, where not empty
	required        bool
	alternative     string // the id that may replace this field, if it is required
	hideFromExample bool   // left out of examples, see notInExample
	impersonal      bool   // it does not search personal data
	members         bool   // an object, whose members may be sent one by one
	clears          bool   // null clears the field, see orNull
	defaultValue    any    // the default in the form in which it would be sent; nil for none
	valueType       description
}

// optional declares a field whose member stays nil unless it is sent.
func optional[T, V any](name string, k valueType[V], at func(*T) **V) Field[T] {
	return custom(name, k, func(into *T, sent V) { *at(into) = &sent })
}

// clearable declares an optional field that null clears: to 0, an empty text or an empty list.
func clearable[T, V any](name string, k valueType[V], at func(*T) **V) Field[T] {
	return optional(name, k, at).orNull(func(into *T) { *at(into) = new(V) })
}

// value declares a field whose member keeps its value unless it is sent.
func value[T, V any](name string, k valueType[V], at func(*T) *V) Field[T] {
	return custom(name, k, func(into *T, sent V) { *at(into) = sent })
}

// defaulted declares a field with a default.
func defaulted[T, V any](name string, k valueType[V], defaultValue V, at func(*T) *V) Field[T] {
	f := Field[T]{declaration: declaration{name: name, valueType: k.description, defaultValue: defaultValue}}
	if k.word != nil {
		f.defaultValue = k.word(defaultValue)
	}
	f.read = func(in input, into *T) {
		sent, ok := k.read(in, name)
		if !ok {
			sent = defaultValue
		}
		*at(into) = sent
	}
	return f
}

// custom declares a field that calls set if it is sent.
func custom[T, V any](name string, k valueType[V], set func(into *T, sent V)) Field[T] {
	return Field[T]{declaration: declaration{name: name, valueType: k.description}, read: func(in input, into *T) {
		if sent, ok := k.read(in, name); ok {
			set(into, sent)
		}
	}}
}

// object declares a field of a body that has members. They may also be sent one by one, under dotted names.
func object[T, M any](name string, members Fields[M], at func(*T) *M) Field[T] {
	return Field[T]{
		declaration: declaration{name: name, members: true, valueType: description{schema: func() *Schema { return SchemaOf(members.Describe()).Concerning(name) }}},
		read: func(in input, into *T) {
			if inner := in.(*Body).object(name); inner != nil {
				members.read(inner, at(into))
			}
		},
	}
}

// orNull makes null clear the field instead of counting as not sent. An empty text, which is all that a
// form can send, does the same unless it is a valid value.
func (f Field[T]) orNull(clear func(into *T)) Field[T] {
	name, read, typ := f.name, f.read, f.valueType
	f.clears = true
	f.valueType.schema = func() *Schema { return nullable(typ.schema()) }
	f.read = func(in input, into *T) {
		if b := in.(*Body); b.null(name) || typ.blank == blankIsNothing && b.blank(name) {
			clear(into)
			return
		}
		read(in, into)
	}
	return f
}

// changing returns the fields for a change: null clears a text, except for the fields in kept, and is
// rejected for whatever cannot be cleared, like 0 where it is not an id and an empty text where it is not a
// value. Otherwise the response would confirm a change that was not made.
func (fields Fields[T]) changing(kept ...string) Fields[T] {
	fields = slices.Clone(fields)
	for i, f := range fields {
		if !f.clears && f.defaultValue == nil {
			fields[i] = f.changing(f.valueType.blank == blankIsText && !slices.Contains(kept, f.name))
		}
	}
	return fields
}

func (f Field[T]) changing(clears bool) Field[T] {
	name, read, typ := f.name, f.read, f.valueType
	f.valueType.id = false // reads 0
	if clears {
		f.valueType.schema = func() *Schema { return nullable(typ.schema()) }
	}
	f.read = func(in input, into *T) {
		b := in.(*Body)
		switch {
		case b.null(name) && clears:
			read(b.with(name, jsontext.Value(`""`)), into)
		case b.null(name), typ.blank == blankIsNothing && b.blank(name), typ.id && zero(in, name):
			b.addProblem(name, rejected(mayNotBeEmpty))
		default:
			read(in, into)
		}
	}
	return f
}

// about overrides the text of the field, and optionally its example.
func (f Field[T]) about(about string, example ...string) Field[T] {
	f.text.About, f.text.Example = about, strings.Join(example, "")
	return f
}

// unless ignores the field, even if it is required, when the condition holds.
func (f Field[T]) unless(condition func(in input, into *T) bool) Field[T] {
	f.skip = condition
	return f
}

// notInExample leaves the field out of examples of bodies, because another field stands for it or few
// requests have it.
func (f Field[T]) notInExample() Field[T] {
	f.hideFromExample = true
	return f
}

// impersonal marks a parameter that searches texts without personal data. Keys that mask personal data may
// send it, but no other text search.
func (f Field[T]) impersonal() Field[T] {
	f.declaration.impersonal = true
	return f
}

// alternativeTo makes a required field optional if an id is sent.
func (f Field[T]) alternativeTo(id string) Field[T] {
	f.alternative = id
	return f
}

// Fields are the fields of a query or a body, in the order of the document.
type Fields[T any] []Field[T]

// position returns the index of a field. A member of an object, even under its dotted name, has the
// object's index. Other names come last.
func (fields Fields[T]) position(name string) int {
	name, _, _ = strings.Cut(name, ".")
	at := slices.IndexFunc(fields, func(f Field[T]) bool { return f.name == name })
	if at < 0 {
		return len(fields)
	}
	return at
}

// read sets the members of into, and records problems in the input.
func (fields Fields[T]) read(in input, into *T) {
	for i := range fields {
		f := &fields[i]
		needed := f.required && (f.alternative == "" || !sentID(in, f.alternative))
		if f.skip != nil && f.skip(in, into) || f.valueType.id && !needed && zero(in, f.name) {
			continue
		}
		f.read(in, into)
		if needed && !f.sent(in) {
			in.addProblem(f.name, invalid(required))
		}
	}
}

// Read reads a body. Its problems are in the Validation that the value must embed.
func (fields Fields[T]) Read(b *Body) T {
	var value T
	fields.read(b, &value)
	any(&value).(interface{ Adopt(found domain.Validation) }).Adopt(*b.validation)
	return value
}

// sent reports whether the field, or one of its members, was sent and is not empty, or is null to clear it.
func (f *Field[T]) sent(in input) bool {
	return in.present(f.name) || f.members && in.(*Body).dotted(f.name) || f.clears && in.(*Body).null(f.name)
}

// requiring returns the same fields with the named ones required.
func (fields Fields[T]) requiring(names ...string) Fields[T] {
	return fields.with(func(f *Field[T]) { f.required = true }, names...)
}

// exampled returns the same fields with another example for one of them.
func (fields Fields[T]) exampled(name, example string) Fields[T] {
	return fields.with(func(f *Field[T]) { f.text.Example = example }, name)
}

// only returns the named fields.
func (fields Fields[T]) only(names ...string) Fields[T] {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field[T]) bool { return !slices.Contains(names, f.name) })
}

// alternativeTo returns the same fields, with the named ones optional if an id is sent.
func (fields Fields[T]) alternativeTo(id string, names ...string) Fields[T] {
	return fields.with(func(f *Field[T]) { f.alternative = id }, names...)
}

// with returns the same fields with the named ones changed.
func (fields Fields[T]) with(change func(*Field[T]), names ...string) Fields[T] {
	fields = slices.Clone(fields)
	for i := range fields {
		if slices.Contains(names, fields[i].name) {
			change(&fields[i])
		}
	}
	return fields
}

// within turns the fields of a part of a T into fields of the T.
func within[T, M any](part Fields[M], at func(*T) *M) Fields[T] {
	fields := make(Fields[T], len(part))
	for i, f := range part {
		fields[i] = Field[T]{declaration: f.declaration, read: func(in input, into *T) { f.read(in, at(into)) }}
		if f.skip != nil {
			fields[i].skip = func(in input, into *T) bool { return f.skip(in, at(into)) }
		}
	}
	return fields
}

// FieldDescription is a field as the document shows it.
type FieldDescription struct {
	Name     string
	Required bool
	Needed   bool // required, unless another field replaces it
	Schema   *Schema
}

// Describe returns the fields as the document shows them.
func (fields Fields[T]) Describe() []FieldDescription {
	all := make([]FieldDescription, len(fields))
	for i, f := range fields {
		schema := f.valueType.schema()
		if f.valueType.id && (!f.required || f.alternative != "") {
			allowZero(schema)
		}
		text := texts.OfSent(f.name)
		schema.explain(texts.Field{About: cmp.Or(f.text.About, text.About), Example: cmp.Or(f.text.Example, text.Example)})
		schema.Default, schema.unexampled = f.defaultValue, f.hideFromExample
		if f.defaultValue != nil && f.name != dryRun { // examples write nothing
			schema.example = f.defaultValue
		}
		// A field that may be ignored or replaced is not always required.
		all[i] = FieldDescription{Name: f.name, Required: f.required && f.skip == nil && f.alternative == "", Needed: f.required, Schema: schema}
	}
	return all
}

// Names returns the names of the fields.
func (fields Fields[T]) Names() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// SchemaOf returns the schema of an object with these members. Other members are ignored, so they are
// allowed.
func SchemaOf(members []FieldDescription) *Schema {
	schema := &Schema{Type: typeObject}
	for _, m := range members {
		schema.Properties = append(schema.Properties, Member{m.Name, m.Schema})
		if m.Required {
			schema.Required = append(schema.Required, m.Name)
		}
	}
	return schema
}

// Parameters are the parameters of a query.
type Parameters[T any] struct {
	Fields[T]
	report func(messages map[string]string) error
}

// parameters declares parameters; report creates the error about wrong ones.
func parameters[T any](report func(map[string]string) error, fields ...Field[T]) Parameters[T] {
	return Parameters[T]{fields, report}
}

// read sets the members of into, and records problems in the query. Dates for timestamps are in the view's
// zone.
func (p Parameters[T]) read(v View, q *Query, into *T) {
	q.zone = v.Location
	p.Fields.read(q, into)
}

// Read reads a query. The error names all wrong parameters.
func (p Parameters[T]) Read(v View, q *Query) (T, error) {
	var value T
	p.read(v, q, &value)
	return value, p.err(q)
}

// err returns the error that names every wrong parameter, or nil.
func (p Parameters[T]) err(q *Query) error {
	if len(q.wrong) == 0 {
		return nil
	}
	return p.report(q.wrong)
}

// Invalid returns the error about wrong parameters, each with its message.
func (p Parameters[T]) Invalid(messages map[string]string) error { return p.report(messages) }

// Input describes what an operation reads from a body.
type Input interface {
	Names() []string
	Describe() []FieldDescription // includes the texts of the document; for names alone, Names costs less
}

// QueryInput describes what an operation reads from a query.
type QueryInput interface {
	Input
	Personal() []string // the names of parameters that search personal data
	Invalid(messages map[string]string) error
}
