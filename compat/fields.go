package compat

import (
	"cmp"
	"slices"
	"strings"
)

// Field is a parameter of a query or a field of a body. It is the one description
// of it: from it the value is read into a T, and the OpenAPI document is made.
type Field[T any] struct {
	name     string
	doc      fieldDoc // what is not "" stands in place of the field docs
	required bool
	standard any // what stands for a value that was not sent, as it would be sent; nil for nothing
	kind     description
	unread   func(in source, into *T) bool // reports whether it is not looked at; nil for never
	read     func(in source, into *T)      // sets a member of into, if it was sent
}

// optional is a field whose member is nil unless it was sent.
func optional[T, V any](name string, k kind[V], at func(*T) **V) Field[T] {
	return custom(name, k, func(into *T, sent V) { *at(into) = &sent })
}

// value is a field whose member stays as it is unless it was sent.
func value[T, V any](name string, k kind[V], at func(*T) *V) Field[T] {
	return custom(name, k, func(into *T, sent V) { *at(into) = sent })
}

// defaulted is a field with a value that stands for one that was not sent.
func defaulted[T, V any](name string, k kind[V], standard V, at func(*T) *V) Field[T] {
	f := Field[T]{name: name, kind: k.description, standard: standard}
	if k.word != nil {
		f.standard = k.word(standard)
	}
	f.read = func(in source, into *T) {
		sent, ok := k.read(in, name)
		if !ok {
			sent = standard
		}
		*at(into) = sent
	}
	return f
}

// custom is a field that set keeps, if it was sent.
func custom[T, V any](name string, k kind[V], set func(into *T, sent V)) Field[T] {
	return Field[T]{name: name, kind: k.description, read: func(in source, into *T) {
		if sent, ok := k.read(in, name); ok {
			set(into, sent)
		}
	}}
}

// object is a field of a body with members of its own, which may also come one by
// one, under names with a dot.
func object[T, M any](name string, members Fields[M], at func(*T) *M) Field[T] {
	return Field[T]{
		name: name, kind: description{schema: func() *Schema { return SchemaOf(members.Describe()) }, invalid: notAnObject},
		read: func(in source, into *T) {
			if inner := in.(*Body).object(name); inner != nil {
				members.read(inner, at(into))
			}
		},
	}
}

// described has words, and perhaps an example, of its own.
func (f Field[T]) described(about string, example ...string) Field[T] {
	f.doc.about, f.doc.example = about, strings.Join(example, "")
	return f
}

// unless is not looked at where the condition holds, nor is it required then.
func (f Field[T]) unless(condition func(in source, into *T) bool) Field[T] {
	f.unread = condition
	return f
}

// Fields are those of a query or a body, in the order of the document.
type Fields[T any] []Field[T]

// read sets the members of into. What is wrong is noted in the source.
func (fields Fields[T]) read(in source, into *T) {
	for i := range fields {
		f := &fields[i]
		if f.unread != nil && f.unread(in, into) {
			continue
		}
		f.read(in, into)
		if f.required && !in.present(f.name) {
			in.note(f.name, invalid(required))
		}
	}
}

// requiring are the same fields, of which some must be sent.
func (fields Fields[T]) requiring(names ...string) Fields[T] {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i].required = fields[i].required || slices.Contains(names, fields[i].name)
	}
	return fields
}

// within are the fields of a T that are those of a part of it.
func within[T, M any](part Fields[M], at func(*T) *M) Fields[T] {
	fields := make(Fields[T], len(part))
	for i, f := range part {
		fields[i] = Field[T]{name: f.name, doc: f.doc, required: f.required, standard: f.standard, kind: f.kind}
		fields[i].read = func(in source, into *T) { f.read(in, at(into)) }
		if f.unread != nil {
			fields[i].unread = func(in source, into *T) bool { return f.unread(in, at(into)) }
		}
	}
	return fields
}

// Described is a field as the document shows it.
type Described struct {
	Name     string
	Required bool
	Schema   *Schema
	// Invalid and Rejected are examples of what is wrong with a value: with one
	// that is malformed, and with one that is not allowed. "" for none.
	Invalid, Rejected string
}

// Describe returns the fields as the document shows them.
func (fields Fields[T]) Describe() []Described {
	all := make([]Described, len(fields))
	for i, f := range fields {
		schema := f.kind.schema()
		doc := fieldDocOf("", f.name)
		fieldDoc{about: cmp.Or(f.doc.about, doc.about), example: cmp.Or(f.doc.example, doc.example)}.explain(schema)
		schema.Default = f.standard
		// Where something else may be sent in its place, it is not required.
		all[i] = Described{Name: f.name, Required: f.required && f.unread == nil, Schema: schema, Invalid: f.kind.invalid, Rejected: f.kind.rejected}
	}
	return all
}

// InvalidExample is what is reported of a field that is invalid: of one that is
// required and missing, else of the first that can be wrong in a way of its own.
func InvalidExample(fields []Described) map[string]string {
	best := fields[0]
	for _, f := range fields {
		if f.Required {
			return map[string]string{f.Name: required}
		}
		if best.Invalid == notSingle {
			best = f
		}
	}
	return map[string]string{best.Name: best.Invalid}
}

// RejectedExample is what is reported of the first field whose value can be
// well-formed and not allowed; nil where there is none.
func RejectedExample(fields []Described) map[string]string {
	for _, f := range fields {
		if f.Rejected != "" {
			return map[string]string{f.Name: f.Rejected}
		}
	}
	return nil
}

// SchemaOf is the schema of an object with these members. Unknown ones are
// ignored, so that they are allowed.
func SchemaOf(members []Described) *Schema {
	schema := &Schema{Type: typeObject}
	for _, m := range members {
		schema.Properties = append(schema.Properties, Member{m.Name, m.Schema})
		if m.Required {
			schema.Required = append(schema.Required, m.Name)
		}
	}
	return schema
}

// Parameters are those of a query.
type Parameters[T any] struct {
	Fields[T]
	report func(messages map[string]string) error
}

// parameters are reported by a function where some are wrong.
func parameters[T any](report func(map[string]string) error, fields ...Field[T]) Parameters[T] {
	return Parameters[T]{fields, report}
}

// read sets the members of into, as the view sees them. What is wrong is kept in
// the query.
func (p Parameters[T]) read(v View, q *Query, into *T) {
	q.seen = v
	p.Fields.read(q, into)
}

// err returns an error that names every parameter found wrong so far, or nil.
func (p Parameters[T]) err(q *Query) error {
	if len(q.wrong) == 0 {
		return nil
	}
	return p.report(q.wrong)
}

// Invalid returns the error that reports wrong parameters, each with its message.
func (p Parameters[T]) Invalid(messages map[string]string) error { return p.report(messages) }

// Input is what an operation reads from a body.
type Input interface{ Describe() []Described }

// QueryInput is what an operation reads from a query.
type QueryInput interface {
	Input
	Invalid(messages map[string]string) error
}
