package compat

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/bookside/bookside/compat/jsontext"
)

// Redactor knows which members of a response need a permission beyond the route's. Records declare this
// with the tag
//
//	needs:"read_payments"        empty without the permission
//	needs:"read_bookings,included"  there only where the parameter include asks
//	                             for it, which is refused without the permission
//
// Redactors work on responses as they are sent, so that a response stored for a repeated request is
// redacted too: the key may have lost a permission since. A nil Redactor hides nothing.
type Redactor struct {
	permission     string          // "" for none
	onlyIfIncluded bool            // see above
	empty          json.RawMessage // what is sent instead of the value
	members        map[string]*Redactor
	elements       *Redactor  // of a list
	redacted       []Redacted // at the root: all of them
}

// NewRedactor finds the tags in the types of the samples. It panics if two tags contradict each other about
// the same member.
func NewRedactor(samples ...any) *Redactor {
	r := redactorOfAny(samples)
	if r == nil {
		return nil
	}
	root := *r // the samples of another redactor may share r
	root.redacted = root.all()
	return &root
}

func redactorOfAny(samples []any) (r *Redactor) {
	for _, sample := range samples {
		r = r.merge(redactorOf(reflect.ValueOf(sample)))
	}
	return r
}

func redactorOf(v reflect.Value) *Redactor {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return redactorOf(v.Elem())
	case reflect.Pointer:
		return redactorOf(reflect.Zero(v.Type().Elem()))
	case reflect.Slice:
		if elements := redactorOf(reflect.Zero(v.Type().Elem())); elements != nil {
			return &Redactor{elements: elements}
		}
		return nil
	case reflect.Struct:
		if !v.IsZero() {
			return redactorOfRecord(v)
		}
		known, ok := emptyRecords.Load(v.Type())
		if !ok {
			known, _ = emptyRecords.LoadOrStore(v.Type(), redactorOfRecord(v))
		}
		return known.(*Redactor)
	default:
		return nil
	}
}

// emptyRecords are the redactors of zero records, by type: many responses hold the same records.
var emptyRecords sync.Map

func redactorOfRecord(v reflect.Value) *Redactor {
	members := map[string]*Redactor{}
	for _, f := range fieldsOf(v) {
		samples, ok := fieldSamples[schemaName(v.Type())+"."+f.name]
		if !ok {
			samples = []any{f.value.Interface()}
		}
		r := redactorOfAny(samples)
		if f.needs != "" {
			r = r.merge(&Redactor{permission: f.needs, onlyIfIncluded: f.onlyIfIncluded, empty: emptyForm(f.value.Kind())})
		}
		if r != nil {
			members[f.name] = r
		}
	}
	if len(members) == 0 {
		return nil
	}
	return &Redactor{members: members}
}

// emptyForm returns how a record encodes that it has no value.
func emptyForm(kind reflect.Kind) json.RawMessage {
	switch kind {
	case reflect.Slice:
		return json.RawMessage(`[]`)
	case reflect.Map:
		return json.RawMessage(`{}`)
	case reflect.String:
		return json.RawMessage(`""`)
	default:
		return json.RawMessage(`null`)
	}
}

// merge hides what either of two redactors hides. It panics if they hide a member in two ways, because one
// of them would be lost.
func (r *Redactor) merge(other *Redactor) *Redactor {
	switch {
	case r == nil:
		return other
	case other == nil:
		return r
	}
	merged := *r
	if merged.permission == "" {
		merged.permission, merged.onlyIfIncluded, merged.empty = other.permission, other.onlyIfIncluded, other.empty
	}
	merged.elements = r.elements.merge(other.elements)
	merged.members = maps.Clone(r.members)
	for name, member := range other.members {
		if merged.members == nil {
			merged.members = map[string]*Redactor{}
		}
		if known := merged.members[name]; known.contradicts(member) {
			panic(fmt.Sprintf("compat: two records differ in what %s needs: %s and %s", name, known.tag(), member.tag()))
		}
		merged.members[name] = merged.members[name].merge(member)
	}
	return &merged
}

// contradicts reports whether two redactors need different things for the same member.
func (r *Redactor) contradicts(other *Redactor) bool {
	return r != nil && r.permission != "" && other.permission != "" && r.tag() != other.tag()
}

// tag describes what the record declares about the member, and what is sent instead.
func (r *Redactor) tag() string {
	included := ""
	if r.onlyIfIncluded {
		included = ",included"
	}
	return fmt.Sprintf("%q, else %s", r.permission+included, r.empty)
}

// Redacted is a member that needs a permission.
type Redacted struct {
	Path           []string // the names leading to it, its own last
	Permission     string
	OnlyIfIncluded bool // refused instead of emptied
}

// Name returns the member's own name.
func (r Redacted) Name() string { return r.Path[len(r.Path)-1] }

// Redacted returns the members that need a permission, ordered by path, without nested members that need
// the same one.
func (r *Redactor) Redacted() []Redacted {
	if r == nil {
		return nil
	}
	return r.redacted
}

func (r *Redactor) all() (all []Redacted) {
	if r == nil {
		return nil
	}
	for name, member := range r.members {
		if member.permission != "" {
			all = append(all, Redacted{[]string{name}, member.permission, member.onlyIfIncluded})
		}
		for _, inner := range member.all() {
			if inner.Permission == member.permission {
				continue
			}
			inner.Path = append([]string{name}, inner.Path...)
			all = append(all, inner)
		}
	}
	all = append(all, r.elements.all()...)
	slices.SortFunc(all, func(a, b Redacted) int { return slices.Compare(a.Path, b.Path) })
	return all
}

// Hide empties what the caller may not see in a response as it is sent.
func (r *Redactor) Hide(answer []byte, may func(permission string) bool) ([]byte, error) {
	if r == nil || len(answer) == 0 {
		return answer, nil
	}
	root, err := jsontext.Parse(answer)
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	return r.hide(root, may), nil
}

func (r *Redactor) hide(value jsontext.Value, may func(string) bool) jsontext.Value {
	switch {
	case r == nil:
		return value
	case r.permission != "" && !may(r.permission):
		return jsontext.Value(r.empty)
	}
	return value.Each(func(name string, inner jsontext.Value) jsontext.Value {
		if value[0] == '[' {
			return r.elements.hide(inner, may)
		}
		return r.members[name].hide(inner, may)
	})
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

// needsText describes in the document what a member needs.
func (f field) needsText() string {
	switch {
	case f.needs == "":
		return ""
	case f.onlyIfIncluded:
		return "; requires the permission " + f.needs
	default:
		return "; empty without the permission " + f.needs
	}
}
