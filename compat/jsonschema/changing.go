package jsonschema

import (
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/compat/jsontext"
	"github.com/bookside/bookside/compat/numbers"
)

// Changing returns the members of an object that differ from those that are shown. A required one stays, but empty.
func (s *Schema) Changing(sent, shown map[string]jsontext.Value) map[string]jsontext.Value {
	left := maps.Clone(sent)
	for name, value := range sent {
		property, present := s.Property(name), shown[name]
		if object, member, dotted := strings.Cut(name, "."); dotted && present == nil && shown[object] != nil {
			members, _ := shown[object].Object()
			property, present = s.Property(object).Property(member), members[member]
		}
		if present == nil {
			continue
		}
		if left[name] = property.left(value, present); left[name] != nil {
			continue
		}
		if delete(left, name); s != nil && slices.Contains(s.Required, name) {
			left[name] = jsontext.Value("{}")
		}
	}
	return left
}

// left returns what differs of a value from the one that is shown, nil for nothing.
func (s *Schema) left(sent, shown jsontext.Value) jsontext.Value {
	if shown[0] == '{' || shown[0] == '[' {
		sent = sent.Decoded()
	}
	switch {
	case sent[0] == '{' && shown[0] == '{':
		members, _ := sent.Object()
		present, _ := shown.Object()
		if members = s.Changing(members, present); len(members) > 0 {
			return jsontext.Object(members)
		}
		return nil
	case s.equal(sent, shown):
		return nil
	case sent[0] == '[' && shown[0] == '[':
		present, _ := shown.List()
		return sent.Each(func(_ string, element jsontext.Value) jsontext.Value { return s.items().withoutShown(element, present) })
	default:
		return sent
	}
}

// withoutShown returns an element of a list without what nothing reads of it, where the shown element of the same id has the same.
func (s *Schema) withoutShown(element jsontext.Value, shown []jsontext.Value) jsontext.Value {
	sent, _ := element.Object()
	for _, other := range shown {
		present, _ := other.Object()
		if sent["id"] == nil || present["id"] == nil || !s.Property("id").equal(sent["id"], present["id"]) {
			continue
		}
		return element.Each(func(name string, value jsontext.Value) jsontext.Value {
			if s.Property(name) == nil && present[name] != nil && s.Property(name).equal(value, present[name]) {
				return nil
			}
			return value
		})
	}
	return element
}

// equal reports whether a value is the one that is shown, as their schema reads them: 5 and "5.00" are the same, if it is
// that of a number. Forms cannot say null: some have an empty text for it, and others leave it out. PHP writes {} as [].
func (s *Schema) equal(sent, shown jsontext.Value) bool {
	switch {
	case sent[0] == '[' && shown[0] == '[':
		list, _ := sent.List()
		other, _ := shown.List()
		return slices.EqualFunc(list, other, s.items().equal)
	case shown[0] == '{':
		members, isObject := sent.Object()
		present, _ := shown.Object()
		maps.DeleteFunc(present, func(name string, value jsontext.Value) bool { return members[name] == nil && value.Null() })
		return isObject && len(members) == len(present) && !slices.ContainsFunc(slices.Collect(maps.Keys(members)), func(name string) bool {
			return present[name] == nil || !s.Property(name).equal(members[name], present[name])
		})
	}
	text, isText, single := sent.Scalar()
	other, isOther, isSingle := shown.Scalar()
	if shown.Null() && isText && text == "" {
		return true
	}
	if !single || !isSingle || sent.Null() != shown.Null() {
		return false
	}
	if text == other {
		return true
	}
	if s.allows(Boolean) {
		value, known := Booleans[strings.ToLower(text)]
		wanted, isWord := Booleans[strings.ToLower(other)]
		return known && isWord && value == wanted
	}
	n, isNumber := numbers.Exponential(text)
	m, isAlso := numbers.Exponential(other)
	return isNumber && isAlso && n.Equal(m) && (s.allows(Number) || s.allows(Integer) || !isText && !isOther)
}

func (s *Schema) allows(word string) bool {
	return s != nil && slices.Contains(s.Types(), word)
}

func (s *Schema) items() *Schema {
	if s == nil {
		return nil
	}
	return s.Items
}

// Booleans are the words for true and false, in any letter case.
var Booleans = map[string]bool{
	"1": true, "true": true, "yes": true, "on": true,
	"0": false, "false": false, "no": false, "off": false,
}
