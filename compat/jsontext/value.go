// Package jsontext represents the values of JSON documents by their text, copying as little as possible.
// It imports nothing of the project, and does not know what a document is about.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Value is one value of a valid JSON document, without surrounding blanks. Nothing is copied until it is
// needed.
type Value json.RawMessage

// JSON returns the value as JSON.
func (v Value) JSON() json.RawMessage { return json.RawMessage(v) }

// Null reports whether the value is null.
func (v Value) Null() bool { return v[0] == 'n' }

// Scalar returns a single value's text; isText is false for numbers and booleans.
// single is false for lists and objects.
func (v Value) Scalar() (text string, isText, single bool) {
	switch {
	case v[0] == '{', v[0] == '[':
		return "", false, false
	case v[0] != '"':
		return string(v), false, true
	case bytes.IndexByte(v, '\\') < 0:
		return string(v[1 : len(v)-1]), true, true
	default:
		err := json.Unmarshal(v, &text)
		return text, true, err == nil
	}
}

// Object returns the members of an object, the last one for a repeated name. An empty list counts as an
// object: that is how PHP writes an empty array.
func (v Value) Object() (members map[string]Value, ok bool) {
	if v[0] == '[' {
		return map[string]Value{}, len(v.inside()) == 0
	}
	if v[0] != '{' {
		return nil, false
	}
	members = map[string]Value{}
	for rest := v.inside(); len(rest) > 0; {
		var name Value
		name, rest = rest.cut()
		key, _, _ := name.Scalar()
		members[key], rest = rest.cut()
	}
	return members, true
}

// List returns the elements of a list.
func (v Value) List() (elements []Value, ok bool) {
	if v[0] != '[' {
		return nil, false
	}
	elements = []Value{}
	for rest := v.inside(); len(rest) > 0; {
		var element Value
		element, rest = rest.cut()
		elements = append(elements, element)
	}
	return elements, true
}

// Object returns an object, its members in alphabetical order.
func Object(members map[string]Value) Value {
	to := Value{'{'}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(to) > 1 {
			to = append(to, ',')
		}
		to = append(append(append(to, Quote(name)...), ':'), members[name]...)
	}
	return append(to, '}')
}

// Quote returns a text as a value; HTML is not escaped.
func Quote(text string) Value {
	var to bytes.Buffer
	WriteText(&to, text)
	return to.Bytes()
}

// WriteText writes a text like Quote. Most texts need no escapes, and an encoder for each would cost more
// than a hostile form itself.
func WriteText(to *bytes.Buffer, text string) {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }) < 0 {
		to.WriteByte('"')
		to.WriteString(text)
		to.WriteByte('"')
		return
	}
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)  // encoding a text to memory cannot fail
	to.Truncate(to.Len() - 1) // the line feed
}

// Each returns the list or the object with its values replaced, in the same order; a nil replacement
// removes one. Elements have no name. A single value is returned unchanged.
func (v Value) Each(replace func(name string, inner Value) Value) Value {
	if v[0] != '{' && v[0] != '[' {
		return v
	}
	to := append(make(Value, 0, len(v)), v[0])
	for rest := v.inside(); len(rest) > 0; {
		var name, value Value
		var key string
		if v[0] == '{' {
			name, rest = rest.cut()
			key, _, _ = name.Scalar()
		}
		value, rest = rest.cut()
		if value = replace(key, value); value == nil {
			continue
		}
		if len(to) > 1 {
			to = append(to, ',')
		}
		if v[0] == '{' {
			to = append(append(to, name...), ':')
		}
		to = append(to, value...)
	}
	return append(to, v[len(v)-1])
}

// separators are the characters between values of a valid document.
const separators = " \t\r\n:,"

// inside returns the text between the brackets of a list or an object.
func (v Value) inside() Value { return bytes.Trim(v[1:len(v)-1], separators) }

// cut returns the first of several values, and the rest.
func (v Value) cut() (first, rest Value) {
	end := v.end()
	return v[:end], bytes.TrimLeft(v[end:], separators)
}

// end returns where the first value of the text ends.
func (v Value) end() int {
	switch v[0] {
	case '"':
		return v.endOfText(0)
	case '{', '[':
		for i, level := 0, 0; ; i++ {
			switch v[i] {
			case '"':
				i = v.endOfText(i) - 1
			case '{', '[':
				level++
			case '}', ']':
				level--
			}
			if level == 0 {
				return i + 1
			}
		}
	default:
		if end := bytes.IndexAny(v, separators); end >= 0 {
			return end
		}
		return len(v)
	}
}

// endOfText returns the end of the text whose quote is at i.
func (v Value) endOfText(i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// extent returns how deep a valid document nests and how many values it has.
func (v Value) extent() (levels, values int) {
	values = 1
	for i, level := 0, 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = v.endOfText(i) - 1
		case '{', '[':
			level++
			values++
			levels = max(levels, level)
		case '}', ']':
			level--
		case ',':
			values++
		}
	}
	return levels, values
}

// Limits of what clients send. PHP's json_decode accepts the same depth, and no request needs a tenth of the values.
const (
	maxDepth  = 512
	maxValues = 20_000
)

// The errors of Parse.
var (
	ErrNotUTF8 = errors.New("not valid UTF-8")
	ErrNotJSON = errors.New("not valid JSON")
	ErrTooMany = fmt.Errorf("more than %d values", maxValues)
)

// Parse returns the value that a text is as JSON.
func Parse(text []byte) (Value, error) {
	switch {
	case !utf8.Valid(text):
		return nil, ErrNotUTF8
	case !json.Valid(text):
		return nil, ErrNotJSON
	}
	v := Value(text)
	switch levels, values := v.extent(); {
	case levels > maxDepth:
		return nil, ErrNotJSON
	case values > maxValues:
		return nil, ErrTooMany
	}
	return v, nil
}

// Decoded returns the list or object that a text contains as JSON, which is how clients send them in
// forms. Any other value is returned unchanged.
func (v Value) Decoded() Value {
	text, isText, single := v.Scalar()
	if text = strings.TrimSpace(text); !single || !isText || text == "" || text[0] != '{' && text[0] != '[' {
		return v
	}
	if decoded, err := Parse([]byte(text)); err == nil {
		return decoded
	}
	return v
}
