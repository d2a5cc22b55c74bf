package compat

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Redactor knows which members of an answer a key sees only with a permission
// beyond that of the route. Records say it themselves, by the tag
//
//	needs:"read_payments"        empty without the permission
//	needs:"read_bookings,included"  there only where the parameter include asks
//	                             for it, which is refused without the permission
//
// Redactors work on answers as they are sent, so that one that was stored for
// a repeated request is redacted as well: the key may have lost a permission
// since. A nil Redactor hides nothing.
type Redactor struct {
	permission     string          // "" for none
	onlyIfIncluded bool            // see above
	empty          json.RawMessage // what is sent in place of the value
	members        map[string]*Redactor
	elements       *Redactor  // of a list
	redacted       []Redacted // at the root: all of them
}

// NewRedactor finds the tags in everything that is built like one of the samples. It
// panics where two of them contradict each other about the same member.
func NewRedactor(samples ...any) *Redactor {
	g := redactorOfAny(samples)
	if g == nil {
		return nil
	}
	root := *g // the samples of another redactor may share g
	root.redacted = root.all()
	return &root
}

func redactorOfAny(samples []any) (g *Redactor) {
	for _, sample := range samples {
		g = g.merge(redactorOf(reflect.ValueOf(sample)))
	}
	return g
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

// emptyRecords are the redactors of records without values, by type: many answers hold the same
// records.
var emptyRecords sync.Map

func redactorOfRecord(v reflect.Value) *Redactor {
	members := map[string]*Redactor{}
	for _, f := range fieldsOf(v) {
		samples, ok := fieldSamples[schemaName(v.Type())+"."+f.name]
		if !ok {
			samples = []any{f.value.Interface()}
		}
		g := redactorOfAny(samples)
		if f.needs != "" {
			g = g.merge(&Redactor{permission: f.needs, onlyIfIncluded: f.onlyIfIncluded, empty: emptyForm(f.value.Kind())})
		}
		if g != nil {
			members[f.name] = g
		}
	}
	if len(members) == 0 {
		return nil
	}
	return &Redactor{members: members}
}

// emptyForm is how a record writes that it has no value.
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

// merge hides what either of two redactors does. It panics where they hide
// a member in two ways, since one of them would be lost.
func (g *Redactor) merge(other *Redactor) *Redactor {
	switch {
	case g == nil:
		return other
	case other == nil:
		return g
	}
	merged := *g
	if merged.permission == "" {
		merged.permission, merged.onlyIfIncluded, merged.empty = other.permission, other.onlyIfIncluded, other.empty
	}
	merged.elements = g.elements.merge(other.elements)
	merged.members = maps.Clone(g.members)
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

// contradicts tells whether two redactors of one member need different things for
// the member itself.
func (g *Redactor) contradicts(other *Redactor) bool {
	return g != nil && g.permission != "" && other.permission != "" && g.tag() != other.tag()
}

// tag is what the record says about the member, and what is sent in its place.
func (g *Redactor) tag() string {
	included := ""
	if g.onlyIfIncluded {
		included = ",included"
	}
	return fmt.Sprintf("%q, else %s", g.permission+included, g.empty)
}

// Redacted is a member that needs a permission.
type Redacted struct {
	Path           []string // the names on the way to it; the last is its own
	Permission     string
	OnlyIfIncluded bool // refused, not emptied
}

// Name is the member's own name.
func (g Redacted) Name() string { return g.Path[len(g.Path)-1] }

// Redacted are the members that need a permission, in the order of their paths,
// without those of a member that needs the same one.
func (g *Redactor) Redacted() []Redacted {
	if g == nil {
		return nil
	}
	return g.redacted
}

func (g *Redactor) all() (all []Redacted) {
	if g == nil {
		return nil
	}
	for name, member := range g.members {
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
	all = append(all, g.elements.all()...)
	slices.SortFunc(all, func(a, b Redacted) int { return slices.Compare(a.Path, b.Path) })
	return all
}

// Hide empties what the caller may not see in an answer as it is sent.
func (g *Redactor) Hide(answer []byte, may func(permission string) bool) ([]byte, error) {
	if g == nil || len(answer) == 0 {
		return answer, nil
	}
	root, err := parseAnswer(answer)
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	return g.hide(root, may), nil
}

func (g *Redactor) hide(value node, may func(string) bool) node {
	switch {
	case g == nil:
		return value
	case g.permission != "" && !may(g.permission):
		return node(g.empty)
	}
	return value.each(func(name string, inner node) node {
		if value[0] == '[' {
			return g.elements.hide(inner, may)
		}
		return g.members[name].hide(inner, may)
	})
}

// IncludeParameter names the parameter that asks for more of a record.
const IncludeParameter = "include"

// Includes are the words that the parameter include was sent with, right or
// wrong.
func (q *Query) Includes() []string {
	words := strings.Split(strings.ToLower(q.sent[IncludeParameter]), ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// needsText says in the document what a member needs.
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
