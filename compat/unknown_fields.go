package compat

import (
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsontext"
)

// Unknown returns the fields of a document that the schema of a body does not have, at any depth, each with the one that is
// likely meant, or "". A member of an object is named customer.emial, however it was sent. known are other names.
func (d Document) Unknown(body *Schema, known func(name string) bool) map[string]string {
	unknown, fields := map[string]string{}, d.members(body)
	maps.DeleteFunc(fields, func(name string, _ jsontext.Value) bool { return known(name) })
	body.unknownAmong(fields, "", unknown)
	return unknown
}

// members returns the members of the document, even of the bare list of a bulk request.
func (d Document) members(body *Schema) map[string]jsontext.Value {
	fields, ok := d.fields()
	if !ok {
		fields = map[string]jsontext.Value{}
		if body.property(bulkList) != nil {
			fields[bulkList] = d.root
		}
		d.complete(fields)
	}
	return fields
}

// unknownAmong adds the members of an object at a path that the schema does not have.
func (s *Schema) unknownAmong(members map[string]jsontext.Value, path string, unknown map[string]string) {
	if s.AdditionalProperties != nil { // any name is read
		return
	}
	for name, value := range members {
		if property := s.property(name); property != nil {
			property.unknownIn(value, path+name+".", unknown)
			continue
		}
		object, member, dotted := strings.Cut(name, ".")
		if property := s.property(object); dotted && property != nil && (property.Properties != nil || property.AdditionalProperties != nil) {
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
	value = decodeText(value)
	if elements, ok := value.List(); ok && s.Items != nil {
		for _, element := range elements {
			s.Items.unknownIn(element, path, unknown)
		}
	}
	if members, ok := value.Object(); ok && s.Properties != nil {
		s.unknownAmong(members, path, unknown)
	}
}

// property returns the schema of a member of an object, or nil.
func (s *Schema) property(name string) *Schema {
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
