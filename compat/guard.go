package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Guard knows which members of an answer a key sees only with a permission
// beyond that of the route. Records say it themselves, by the tag
//
//	needs:"read_payments"        empty without the permission
//	needs:"read_bookings,asked"  there only where the parameter include asks
//	                             for it, which is refused without the permission
//
// Guards work on answers as they are sent, so that one that was stored for
// a repeated request is guarded as well: the key may have lost a permission
// since. A nil Guard guards nothing.
type Guard struct {
	permission string          // "" for none
	asked      bool            // see above
	empty      json.RawMessage // what is sent in place of the value
	members    map[string]*Guard
	elements   *Guard    // of a list
	guarded    []Guarded // at the root: all of them
}

// NewGuard finds the tags in everything that is built like one of the samples. It
// panics where two of them contradict each other about the same member.
func NewGuard(samples ...any) *Guard {
	g := guardOfAny(samples)
	if g == nil {
		return nil
	}
	root := *g // the samples of another guard may share g
	root.guarded = root.all()
	return &root
}

func guardOfAny(samples []any) (g *Guard) {
	for _, sample := range samples {
		g = g.merge(guardOf(reflect.ValueOf(sample)))
	}
	return g
}

func guardOf(v reflect.Value) *Guard {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return guardOf(v.Elem())
	case reflect.Pointer:
		return guardOf(reflect.Zero(v.Type().Elem()))
	case reflect.Slice:
		if elements := guardOf(reflect.Zero(v.Type().Elem())); elements != nil {
			return &Guard{elements: elements}
		}
		return nil
	case reflect.Struct:
		if !v.IsZero() {
			return guardOfRecord(v)
		}
		known, ok := emptyRecords.Load(v.Type())
		if !ok {
			known, _ = emptyRecords.LoadOrStore(v.Type(), guardOfRecord(v))
		}
		return known.(*Guard)
	default:
		return nil
	}
}

// emptyRecords are the guards of records without values, by type: many answers hold the same
// records.
var emptyRecords sync.Map

func guardOfRecord(v reflect.Value) *Guard {
	members := map[string]*Guard{}
	for _, f := range fieldsOf(v) {
		samples, ok := fieldSamples[schemaName(v.Type())+"."+f.name]
		if !ok {
			samples = []any{f.value.Interface()}
		}
		g := guardOfAny(samples)
		if f.needs != "" {
			g = g.merge(&Guard{permission: f.needs, asked: f.asked, empty: emptyForm(f.value.Kind())})
		}
		if g != nil {
			members[f.name] = g
		}
	}
	if len(members) == 0 {
		return nil
	}
	return &Guard{members: members}
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

// merge guards what either of two guards does. It panics where they guard
// a member in two ways, since one of them would be lost.
func (g *Guard) merge(other *Guard) *Guard {
	switch {
	case g == nil:
		return other
	case other == nil:
		return g
	}
	merged := *g
	if merged.permission == "" {
		merged.permission, merged.asked, merged.empty = other.permission, other.asked, other.empty
	}
	merged.elements = g.elements.merge(other.elements)
	merged.members = maps.Clone(g.members)
	for name, member := range other.members {
		if merged.members == nil {
			merged.members = map[string]*Guard{}
		}
		if known := merged.members[name]; known.contradicts(member) {
			panic(fmt.Sprintf("compat: two records differ in what %s needs: %s and %s", name, known.tag(), member.tag()))
		}
		merged.members[name] = merged.members[name].merge(member)
	}
	return &merged
}

// contradicts tells whether two guards of one member need different things for
// the member itself.
func (g *Guard) contradicts(other *Guard) bool {
	return g != nil && g.permission != "" && other.permission != "" && g.tag() != other.tag()
}

// tag is what the record says about the member, and what is sent in its place.
func (g *Guard) tag() string {
	asked := ""
	if g.asked {
		asked = ",asked"
	}
	return fmt.Sprintf("%q, else %s", g.permission+asked, g.empty)
}

// Guarded is a member that needs a permission.
type Guarded struct {
	Path       []string // the names on the way to it; the last is its own
	Permission string
	Asked      bool // refused, not emptied
}

// Name is the member's own name.
func (g Guarded) Name() string { return g.Path[len(g.Path)-1] }

// Guarded are the members that need a permission, in the order of their paths,
// without those of a member that needs the same one.
func (g *Guard) Guarded() []Guarded {
	if g == nil {
		return nil
	}
	return g.guarded
}

func (g *Guard) all() (all []Guarded) {
	if g == nil {
		return nil
	}
	for name, member := range g.members {
		if member.permission != "" {
			all = append(all, Guarded{[]string{name}, member.permission, member.asked})
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
	slices.SortFunc(all, func(a, b Guarded) int { return slices.Compare(a.Path, b.Path) })
	return all
}

// Hide empties what the caller may not see in an answer as it is sent.
func (g *Guard) Hide(answer []byte, may func(permission string) bool) ([]byte, error) {
	switch {
	case g == nil || len(answer) == 0:
		return answer, nil
	case g.permission != "" && !may(g.permission):
		return g.empty, nil
	case answer[0] == '[' && g.elements != nil:
		return g.hideInList(answer, may)
	case answer[0] == '{' && g.members != nil:
		return g.hideInRecord(answer, may)
	default:
		return answer, nil
	}
}

func (g *Guard) hideInList(list []byte, may func(string) bool) ([]byte, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(list, &elements); err != nil {
		return nil, fmt.Errorf("guard list: %w", err)
	}
	shown := make([][]byte, len(elements))
	for i, element := range elements {
		var err error
		if shown[i], err = g.elements.Hide(element, may); err != nil {
			return nil, err
		}
	}
	return slices.Concat([]byte("["), bytes.Join(shown, []byte(",")), []byte("]")), nil
}

// hideInRecord keeps the order of the members.
func (g *Guard) hideInRecord(record []byte, may func(string) bool) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(record))
	_, err := decoder.Token() // the brace
	var members [][]byte
	for err == nil && decoder.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = decoder.Token(); err != nil {
			break
		}
		if err = decoder.Decode(&value); err != nil {
			break
		}
		member := fmt.Sprint(name)
		if value, err = g.members[member].Hide(value, may); err != nil {
			break
		}
		quoted, _ := json.Marshal(member) // a text
		members = append(members, slices.Concat(quoted, []byte(":"), value))
	}
	if err == nil {
		_, err = decoder.Token() // the other brace
	}
	if err != nil {
		return nil, fmt.Errorf("guard record: %w", err)
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
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
	case f.asked:
		return "; requires the permission " + f.needs
	default:
		return "; empty without the permission " + f.needs
	}
}
