package compat

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/bookside/bookside/compat/texts"
)

// Days in examples of what is sent. The document replaces them with future days.
const (
	ExampleDay     = "2026-12-01"
	ExampleLastDay = "2026-12-07"
)

// The forms of texts that are read.
const (
	clockPattern           = `^([01]?[0-9]|2[0-3]):[0-5][0-9]$`
	clockOrMidnightPattern = `^(([01]?[0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	timeOrMinutesPattern   = `^(([01]?[0-9]|2[0-3]):[0-5][0-9]|[0-9]{1,4})$`
	spanPattern            = `^([0-9]{1,3}|[0-9]{4}(-([0-9]?|[0-9]{2}(-([0-9]?|[0-9]{2}( ([0-9]?|[0-9]{2}(:([0-9]?|[0-9]{2}(:[0-9]{0,2})?))?))?))?))?)$`
	optionalDatePattern    = `^([0-9]{4}-[0-9]{2}-[0-9]{2})?$`
)

// explain writes a field's text into its schema.
func (s *Schema) explain(t texts.Field) {
	s.Description = cmp.Or(s.Description, t.About)
	s.fill(t)
	if s.Items != nil {
		s.Items.fill(t)
	}
}

// fill adds form and example to a single value.
func (s *Schema) fill(t texts.Field) {
	if s.example != nil {
		return
	}
	switch s.word() {
	case typeString:
		if words, closed := t.Words(); closed {
			s.Enum = words
		} else {
			s.Pattern = cmp.Or(t.Form, s.Pattern)
		}
		s.example = t.Example
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, t.Example) {
			s.example = s.Enum[0]
		}
	case typeInteger, typeNumber:
		s.example = json.Number(t.Example)
	case typeBoolean:
		s.example = t.Example == "true"
	case "":
		if s.Ref == schemasRef+idOrAnyName {
			s.example = json.Number(t.Example)
		}
		for _, one := range s.AnyOf {
			one.fill(t)
		}
	}
}

// word returns the type of a schema, ignoring null.
func (s *Schema) word() string {
	switch word := s.Type.(type) {
	case string:
		return word
	case []string:
		return word[0]
	default:
		return ""
	}
}
