package compat

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/masks"
)

// Viewer is what a key may see of the records in a response. The fields of records say by tags what it takes
// to see them:
//
//	needs:"read_payments"           empty without the permission
//	needs:"read_bookings,included"  there only where the parameter include asks
//	                                for it, which is refused without the permission
//	mask:"email"                    masked for keys that mask personal data
type Viewer struct {
	Holds  func(permission string) bool
	Masked bool
}

// maskOf are the masks that fields name.
var maskOf = map[string]func(string) string{"email": masks.Email, "phone": masks.Phone, "url": masks.URL, "date": masks.Date, "text": masks.Text}

// View returns a body as the viewer may see it. The body itself does not change.
func (v Viewer) View(body any) any {
	if body == nil {
		return nil
	}
	return v.view(reflect.ValueOf(body)).Interface()
}

func (v Viewer) view(value reflect.Value) reflect.Value {
	if !guards(value.Type()) {
		return value
	}
	switch value.Kind() {
	case reflect.Interface, reflect.Pointer:
		if value.IsNil() {
			return value
		}
		seen := v.view(value.Elem())
		if value.Kind() == reflect.Interface {
			return seen
		}
		pointer := reflect.New(seen.Type())
		pointer.Elem().Set(seen)
		return pointer
	case reflect.Slice:
		if value.IsNil() {
			return value
		}
		seen := reflect.MakeSlice(value.Type(), value.Len(), value.Len())
		for i := range value.Len() {
			seen.Index(i).Set(v.view(value.Index(i)))
		}
		return seen
	default: // a struct
		seen := reflect.New(value.Type()).Elem()
		seen.Set(value)
		v.fields(seen)
		return seen
	}
}

// fields changes the fields of a record, which is a copy, to what the viewer sees of them.
func (v Viewer) fields(record reflect.Value) {
	for i := range record.NumField() {
		switch f := record.Type().Field(i); {
		case f.Anonymous:
			v.fields(record.Field(i))
		case f.IsExported():
			record.Field(i).Set(v.field(f.Tag, record.Field(i)))
		}
	}
}

// field returns the value of a field of a record.
func (v Viewer) field(tag reflect.StructTag, value reflect.Value) reflect.Value {
	needs, _, _ := strings.Cut(tag.Get("needs"), ",")
	switch {
	case value.IsZero():
		return value
	case needs != "" && !v.Holds(needs):
		return emptied(value.Type())
	case v.Masked && tag.Get("mask") != "":
		return masked(value, maskOf[tag.Get("mask")])
	default:
		return v.view(value)
	}
}

// emptied returns the value that a record has for nothing.
func emptied(t reflect.Type) reflect.Value {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.MakeSlice(t, 0, 0)
	case reflect.Map:
		return reflect.MakeMap(t)
	default:
		return reflect.Zero(t)
	}
}

// masked masks a text, or each text of a map.
func masked(value reflect.Value, mask func(string) string) reflect.Value {
	seen := reflect.New(value.Type()).Elem()
	switch value.Kind() {
	case reflect.Pointer:
		seen.Set(reflect.New(value.Type().Elem()))
		seen.Elem().Set(masked(value.Elem(), mask))
	case reflect.Map:
		seen.Set(reflect.MakeMap(value.Type()))
		for name, text := range value.Seq2() {
			seen.SetMapIndex(name, masked(text, mask))
		}
	default:
		seen.SetString(mask(value.String()))
	}
	return seen
}

// guarded remembers by type what guards returns.
var guarded sync.Map

// guards reports whether values of a type may have fields with tags of a Viewer.
func guards(t reflect.Type) bool {
	if known, ok := guarded.Load(t); ok {
		return known.(bool)
	}
	found := false
	switch t.Kind() {
	case reflect.Interface:
		found = true
	case reflect.Pointer, reflect.Slice:
		found = guards(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			found = found || (f.Anonymous || f.IsExported()) && (f.Tag.Get("needs")+f.Tag.Get("mask") != "" || guards(f.Type))
		}
	}
	guarded.Store(t, found)
	return found
}

// Guarded is a member of a response that needs a permission.
type Guarded struct {
	Path           []string // the names leading to it, its own last
	Permission     string
	OnlyIfIncluded bool // refused instead of emptied
}

// Name returns the member's own name.
func (g Guarded) Name() string { return g.Path[len(g.Path)-1] }

// GuardedIn returns the members of responses that need a permission, ordered by path, without nested members
// that need the same one.
func GuardedIn(samples ...any) (all []Guarded) {
	for _, sample := range samples {
		all = append(all, guardedIn(reflect.ValueOf(sample))...)
	}
	compare := func(a, b Guarded) int { return slices.Compare(a.Path, b.Path) }
	slices.SortFunc(all, compare)
	return slices.CompactFunc(all, func(a, b Guarded) bool { return compare(a, b) == 0 && a.Permission == b.Permission })
}

func guardedIn(v reflect.Value) (all []Guarded) {
	switch {
	case v.Kind() == reflect.Interface && !v.IsNil():
		return guardedIn(v.Elem())
	case v.Kind() == reflect.Pointer, v.Kind() == reflect.Slice:
		return guardedIn(reflect.Zero(v.Type().Elem()))
	case v.Kind() != reflect.Struct:
		return nil
	}
	for _, f := range jsonschema.Fields(v) {
		if f.Needs != "" {
			all = append(all, Guarded{[]string{f.Name}, f.Needs, f.OnlyIfIncluded})
		}
		for _, inner := range GuardedIn(published.SamplesOf(published.NameOf(v.Type()), f)...) {
			if inner.Permission != f.Needs {
				all = append(all, Guarded{append([]string{f.Name}, inner.Path...), inner.Permission, inner.OnlyIfIncluded})
			}
		}
	}
	return all
}

// IncludeParameter is the name of the parameter that requests more of a record.
const IncludeParameter = "include"

// Includes returns the words sent in the parameter include, valid or not.
func (q *Query) Includes() []string {
	words := strings.Split(strings.ToLower(q.sent[IncludeParameter]), ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// OnlySent returns the response to a write that changed nothing as a key that may not read the record sees it:
// the record's id, and the fields that it sent itself.
func OnlySent(response any, sent jsonschema.Members) any {
	record := response
	around, enveloped := response.(writeEnvelope)
	if enveloped {
		record = around.record()
	}
	for _, f := range jsonschema.Fields(reflect.ValueOf(record)) {
		if f.Name == "id" {
			sent = append(jsonschema.Members{{"id", f.Value.Interface()}}, slices.DeleteFunc(sent, func(m jsonschema.Member) bool { return m.Name() == "id" })...)
		}
	}
	if enveloped {
		return around.around(sent)
	}
	return sent
}

// writeEnvelope is the envelope of a record that was written.
type writeEnvelope interface {
	record() any
	around(record any) any // the same envelope around another record
}

func (m BothMessage[R]) record() any    { return m.Data }
func (s StatusSingle[R]) record() any   { return s.Data }
func (m SuccessMessage[R]) record() any { return m.Data }

func (m BothMessage[R]) around(record any) any {
	return BothMessage[any]{m.Success, m.Status, m.Message, record}
}

func (s StatusSingle[R]) around(record any) any { return StatusSingle[any]{s.Status, record} }

func (m SuccessMessage[R]) around(record any) any {
	return SuccessMessage[any]{m.Success, m.Message, record}
}
