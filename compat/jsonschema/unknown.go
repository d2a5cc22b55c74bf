package jsonschema

import (
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsontext"
)

// Unknown returns the members of an object that the schema does not have, at any depth, by their path, with the name that was
// probably meant, or "".
func (s *Schema) Unknown(members map[string]jsontext.Value) map[string]string {
	unknown := map[string]string{}
	s.unknownAmong(members, "", unknown)
	return unknown
}

// unknownAmong adds the members of an object at a path that the schema does not have.
func (s *Schema) unknownAmong(members map[string]jsontext.Value, path string, unknown map[string]string) {
	if s.AdditionalProperties != nil { // any name is read
		return
	}
	for name, value := range members {
		if property := s.Property(name); property != nil {
			property.unknownIn(value, path+name+".", unknown)
			continue
		}
		object, member, dotted := strings.Cut(name, ".")
		if property := s.Property(object); dotted && property != nil && (property.Properties != nil || property.AdditionalProperties != nil) {
			property.unknownAmong(map[string]jsontext.Value{member: value}, path+object+".", unknown)
			continue
		}
		likely := domain.Likely(name, s.names())
		if likely != "" {
			likely = path + likely
		}
		unknown[path+name] = likely
	}
}

// unknownIn adds what the schema of a value at a path does not have of it. Names have no positions in a list.
func (s *Schema) unknownIn(value jsontext.Value, path string, unknown map[string]string) {
	value = value.Decoded()
	if elements, ok := value.List(); ok && s.Items != nil {
		for _, element := range elements {
			s.Items.unknownIn(element, path, unknown)
		}
	}
	if members, ok := value.Object(); ok && s.Properties != nil {
		s.unknownAmong(members, path, unknown)
	}
}

// Property returns the schema of a member of an object, or nil.
func (s *Schema) Property(name string) *Schema {
	if s == nil {
		return nil
	}
	at := slices.IndexFunc(s.Properties, func(m Member) bool { return m.Name() == name })
	if at < 0 {
		return nil
	}
	return s.Properties[at].Value().(*Schema)
}

func (s *Schema) names() []string {
	names := make([]string, len(s.Properties))
	for i, m := range s.Properties {
		names[i] = m.Name()
	}
	return names
}
