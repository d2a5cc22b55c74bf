package compat

import (
	"slices"
	"strings"
	"sync"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/texts"
)

// Field is a parameter of a query or a field of a body: its name, the type of its values, and where a value goes. It
// reads the value, and describes it in the OpenAPI document.
type Field struct {
	description
	name         string
	set          func(in input)      // puts a value that was sent where it goes
	clear        func()              // puts there what null means, if it clears the field
	skip         func(in input) bool // reports whether to ignore the field; may be nil
	required     bool
	unless       string // the id that may be sent instead of a required field
	change       bool   // the body changes a record
	defaultValue any    // as it would be sent; nil for none
}

// custom declares a field that calls set if it is sent.
func custom[V any](name string, t valueType[V], set func(sent V)) Field {
	read := func(in input) {
		if sent, ok := t.read(in, name); ok {
			set(sent)
		}
	}
	return Field{description: t.description, name: name, set: read, clear: func() { set(*new(V)) }}
}

// value declares a field whose target keeps its value unless it is sent.
func value[V any](name string, t valueType[V], to *V) Field {
	return custom(name, t, func(sent V) { *to = sent })
}

// optional declares a field whose target stays nil unless it is sent.
func optional[V any](name string, t valueType[V], to **V) Field {
	return custom(name, t, func(sent V) { *to = &sent })
}

// clearable declares an optional field that null clears: to 0, an empty text or an empty list.
func clearable[V any](name string, t valueType[V], to **V) Field {
	return optional(name, t, to).orNull(func() { *to = new(V) })
}

// defaulted declares a field with a default.
func defaulted[V any](name string, t valueType[V], standard V, to *V) Field {
	f := value(name, t, to)
	*to, f.defaultValue = standard, standard
	return f
}

// choice declares a field with one of several words, of which one is the default. message is for all others.
func choice[V any](name string, words map[string]V, message, standard string, to *V) Field {
	f := value(name, word(words, message), to)
	*to, f.defaultValue = words[standard], standard
	return f
}

// flag declares a boolean that is false by default.
func flag(name string, to *bool) Field { return defaulted(name, boolean, false, to) }

// object declares a field of a body that has members. They may also be sent one by one, under dotted names.
func object(name string, members Fields) Field {
	schema := func() *jsonschema.Schema { return SchemaOf(members.Describe("")).Concerning(name) }
	return Field{description: description{schema: schema, blank: isValue, members: true}, name: name, set: func(in input) {
		if inner := in.(*Body).object(name); inner != nil {
			members.read(inner)
		}
	}}
}

// orNull makes null clear the field, and an empty text too unless it is a value.
func (f Field) orNull(clear func()) Field {
	f.clear, f.null = clear, isCleared
	if f.blank == isNothing {
		f.blank = isCleared
	}
	return f
}

// ignoredIf ignores the field, even if it is required, when the condition holds.
func (f Field) ignoredIf(condition func(in input) bool) Field {
	f.skip = condition
	return f
}

// Fields are the fields of a query or a body, in the order of the document.
type Fields []Field

// requiring returns the same fields with the named ones required.
func (fields Fields) requiring(names ...string) Fields { return fields.requiringUnless("", names...) }

// requiringUnless returns the same fields with the named ones required unless an id is sent.
func (fields Fields) requiringUnless(id string, names ...string) Fields {
	for i := range fields {
		if slices.Contains(names, fields[i].name) {
			fields[i].required, fields[i].unless = true, id
		}
	}
	return fields
}

// changing returns the fields for a change: whatever counts as not sent in a new record is refused, because the response
// would confirm a change that was not made.
func (fields Fields) changing() Fields {
	for i := range fields {
		fields[i].change = true
	}
	return fields
}

// only returns the named fields.
func (fields Fields) only(names ...string) Fields {
	return slices.DeleteFunc(fields, func(f Field) bool { return !slices.Contains(names, f.name) })
}

// position returns the index of a field. A member of an object, even under its dotted name, has the object's index.
// Other names come last.
func (fields Fields) position(name string) int {
	name, _, _ = strings.Cut(name, ".")
	at := slices.IndexFunc(fields, func(f Field) bool { return f.name == name })
	if at < 0 {
		return len(fields)
	}
	return at
}

// read puts what was sent where it goes, and records problems in the input.
func (fields Fields) read(in input) {
	for i := range fields {
		fields[i].read(in)
	}
}

func (f *Field) read(in input) {
	if f.skip != nil && f.skip(in) {
		return
	}
	needed := f.required && (f.unless == "" || !sentID(in, f.unless))
	switch meaning := f.meaning(in, needed); {
	case meaning == isCleared:
		f.clear()
	case meaning == isNothing && f.change && f.defaultValue == nil:
		in.addProblem(f.name, rejected(mayNotBeEmpty))
	case meaning == isValue, f.members: // which may have been sent one by one
		f.set(in)
	}
	if needed && !f.sent(in) {
		in.addProblem(f.name, invalid(required))
	}
}

// meaning returns what was sent: by the type of the values if it is null, an empty text or, for an id, 0.
func (f *Field) meaning(in input, needed bool) meaning {
	switch b, isBody := in.(*Body); {
	case isBody && b.null(f.name):
		return f.ofNull()
	case isBody && b.blank(f.name):
		return f.blank
	case f.zeroIsNothing && !needed && zero(in, f.name):
		return isNothing
	default:
		return isValue
	}
}

// ofNull returns what null means.
func (f *Field) ofNull() meaning {
	switch {
	case f.null != clearsInChange:
		return f.null
	case f.change:
		return isCleared
	default:
		return isNothing
	}
}

// sent reports whether the field, or one of its members, was sent and is not empty, or is null and that means something.
func (f *Field) sent(in input) bool {
	if in.present(f.name) {
		return true
	}
	b, isBody := in.(*Body)
	return isBody && (f.members && b.dotted(f.name) || b.null(f.name) && f.ofNull() != isNothing)
}

// FieldDescription is a field as the document shows it.
type FieldDescription struct {
	Name     string
	Required bool
	Needed   bool // required, unless another field replaces it
	Schema   *jsonschema.Schema
}

// Describe returns the fields as the document shows them. A section of requests.yaml has the texts that differ from those
// of other fields of the same names.
func (fields Fields) Describe(section string) []FieldDescription {
	all := make([]FieldDescription, len(fields))
	for i, f := range fields {
		schema := f.schema()
		if f.ofNull() == isCleared {
			schema = jsonschema.Nullable(schema)
		}
		if f.zeroIsNothing && !f.change && (!f.required || f.unless != "") {
			allowZero(schema)
		}
		text := texts.OfSent(section, f.name)
		schema.Explain(text.Field)
		schema.Default, schema.Unexampled = f.defaultValue, text.Rare
		if f.defaultValue != nil && f.name != dryRun { // examples write nothing
			schema.Example = f.defaultValue
		}
		// A field that may be ignored or replaced is not always required.
		all[i] = FieldDescription{Name: f.name, Required: f.required && f.skip == nil && f.unless == "", Needed: f.required, Schema: schema}
	}
	return all
}

// SchemaOf returns the schema of an object with these members. Other members are ignored, so they are
// allowed.
func SchemaOf(members []FieldDescription) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: jsonschema.Object}
	for _, m := range members {
		schema.Properties = append(schema.Properties, jsonschema.Member{m.Name, m.Schema})
		if m.Required {
			schema.Required = append(schema.Required, m.Name)
		}
	}
	return schema
}

// Declaration declares the fields of a query or a body.
type Declaration[T any] struct {
	request string               // the section of their texts, see Fields.Describe
	fields  func(into *T) Fields // with their places in a T, which gets their defaults
	targets *sync.Pool           // of *target[T]: making fields costs more than reading them
}

// target is a T with fields that have their places in it.
type target[T any] struct {
	value, defaults T
	fields          Fields
}

func declare[T any](request string, fields func(into *T) Fields) Declaration[T] {
	return Declaration[T]{request, fields, &sync.Pool{New: func() any {
		t := new(target[T])
		t.fields = fields(&t.value)
		t.defaults = t.value
		return t
	}}}
}

// Read reads a body. Its problems are in the Validation that the value must embed.
func (d Declaration[T]) Read(b *Body) T {
	var value T
	d.read(b, &value)
	any(&value).(interface{ Adopt(found domain.Validation) }).Adopt(*b.validation)
	return value
}

// read sets into to what was sent, and records problems in the input.
func (d Declaration[T]) read(in input, into *T) {
	t := d.targets.Get().(*target[T])
	t.fields.read(in)
	*into, t.value = t.value, t.defaults
	d.targets.Put(t)
}

// Describe returns the fields as the document shows them.
func (d Declaration[T]) Describe() []FieldDescription { return d.fields(new(T)).Describe(d.request) }

// Names returns the names of the fields.
func (d Declaration[T]) Names() []string {
	fields := d.fields(new(T))
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// Parameters are the parameters of a query.
type Parameters[T any] struct {
	Declaration[T]
	report func(messages map[string]string) error
}

// parameters declares parameters; report creates the error about wrong ones.
func parameters[T any](request string, report func(map[string]string) error, fields func(into *T) Fields) Parameters[T] {
	return Parameters[T]{declare(request, fields), report}
}

// read sets the members of into, and records problems in the query. Dates for timestamps are in the view's
// zone.
func (p Parameters[T]) read(v View, q *Query, into *T) {
	q.zone = v.Location
	p.Declaration.read(q, into)
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
