package typed

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"strings"

	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/jsontext"
)

// Header asks for this form with the value Integer, as does the parameter ids of a media type in Accept.
const (
	Header  = "X-Ids"
	Integer = "integer"
)

// Wanted reports whether a request asks for this form.
func Wanted(header http.Header) bool {
	if strings.EqualFold(strings.TrimSpace(header.Get(Header)), Integer) {
		return true
	}
	for _, value := range header.Values("Accept") {
		if !strings.Contains(strings.ToLower(value), "ids") {
			continue // most requests
		}
		for media := range strings.SplitSeq(value, ",") {
			typ, parameters, err := mime.ParseMediaType(media)
			if err == nil && typ == "application/json" && strings.EqualFold(parameters["ids"], Integer) {
				return true
			}
		}
	}
	return false
}

// Tag returns the tag of a response in this form; usual is its tag in the usual one, which is quoted.
func Tag(usual string) string { return strings.TrimSuffix(usual, `"`) + `.ids"` }

// anyID is sent for the word any, as clients may send it.
const anyID = "-1"

// IDs are the places of ids in a response. nil has none that need a change.
type IDs struct {
	id       bool // the value itself is an id, or the word any
	members  map[string]*IDs
	elements *IDs
}

// IDsIn returns the places of ids in responses like the samples.
func IDsIn(samples ...any) *IDs {
	schemas := compat.NewSchemas()
	var all *IDs
	for _, sample := range samples {
		all = all.merge(finder{schemas, map[string]bool{}}.in("", schemas.Of(sample)))
	}
	return all
}

// finder finds ids in schemas.
type finder struct {
	schemas *compat.Schemas
	within  map[string]bool // the named schemas that it is in
}

func (f finder) in(name string, s *compat.Schema) *IDs {
	if IsText(name, s) || IsAny(s) {
		return &IDs{id: true}
	}
	var all *IDs
	if record := s.Record(); record != "" && !f.within[record] {
		f.within[record] = true
		all = f.in(name, f.schemas.Record(record))
		delete(f.within, record)
	}
	for _, form := range s.AnyOf {
		all = all.merge(f.in(name, form))
	}
	if s.Items != nil {
		if elements := f.in("", s.Items); elements != nil {
			all = all.merge(&IDs{elements: elements})
		}
	}
	for _, p := range s.Properties {
		if member := f.in(p.Name(), p.Value().(*compat.Schema)); member != nil {
			all = all.merge(&IDs{members: map[string]*IDs{p.Name(): member}})
		}
	}
	return all
}

// IsText reports whether a member with a schema is an id as text, which may be null, or empty for none.
func IsText(name string, s *compat.Schema) bool {
	return (name == "id" || strings.HasSuffix(name, "_id")) && (s.Pattern == "^[0-9]+$" || s.Pattern == "^[0-9]*$")
}

// IsAny reports whether a schema is of an id or the word any, as in responses.
func IsAny(s *compat.Schema) bool {
	return len(s.AnyOf) == 2 && s.AnyOf[0].Type == "integer" && s.AnyOf[1].Const == "any"
}

func (ids *IDs) merge(other *IDs) *IDs {
	switch {
	case ids == nil:
		return other
	case other == nil:
		return ids
	}
	merged := IDs{id: ids.id || other.id, elements: ids.elements.merge(other.elements), members: maps.Clone(ids.members)}
	for name, member := range other.members {
		if merged.members == nil {
			merged.members = map[string]*IDs{}
		}
		merged.members[name] = merged.members[name].merge(member)
	}
	return &merged
}

// Member returns the places within a member.
func (ids *IDs) Member(name string) *IDs {
	if ids == nil {
		return nil
	}
	return ids.members[name]
}

// Integers returns a response, which is JSON, with integers for all ids: 0 for an empty one, -1 for any.
func (ids *IDs) Integers(response []byte) ([]byte, error) {
	if ids == nil || len(response) == 0 {
		return response, nil
	}
	root, err := jsontext.Parse(response)
	if err != nil {
		return nil, fmt.Errorf("ids of a response: %w", err)
	}
	return ids.integers(root), nil
}

func (ids *IDs) integers(value jsontext.Value) jsontext.Value {
	switch {
	case ids == nil:
		return value
	case value[0] == '"':
		return ids.integer(value)
	}
	return value.Each(func(name string, inner jsontext.Value) jsontext.Value {
		if value[0] == '[' {
			return ids.elements.integers(inner)
		}
		return ids.members[name].integers(inner)
	})
}

// integer returns a text as an integer if it is an id.
func (ids *IDs) integer(value jsontext.Value) jsontext.Value {
	text, _, _ := value.Scalar()
	switch {
	case !ids.id || strings.Trim(text, "0123456789") != "" && text != "any":
		return value
	case text == "any":
		return jsontext.Value(anyID)
	}
	if text = strings.TrimLeft(text, "0"); text == "" {
		text = "0"
	}
	return jsontext.Value(text)
}
