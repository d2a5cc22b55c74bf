package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// node is a value of a request's body: one value of a valid JSON document, without blanks around
// it. Forms are made JSON. Nothing of it is copied before it is asked for.
type node json.RawMessage

// json is the value as JSON.
func (v node) json() json.RawMessage { return json.RawMessage(v) }

// null tells a value that stands for none.
func (v node) null() bool { return v[0] == 'n' }

// scalar is a single value's text; isText is false for numbers and booleans.
// single is false for lists and objects.
func (v node) scalar() (text string, isText, single bool) {
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

// object is the members of an object, of repeated names the last. An empty
// list is one too: PHP writes an empty array so.
func (v node) object() (members map[string]node, ok bool) {
	if v[0] == '[' {
		return map[string]node{}, len(v.inside()) == 0
	}
	if v[0] != '{' {
		return nil, false
	}
	members = map[string]node{}
	for rest := v.inside(); len(rest) > 0; {
		var name node
		name, rest = rest.cut()
		key, _, _ := name.scalar()
		members[key], rest = rest.cut()
	}
	return members, true
}

func (v node) list() (elements []node, ok bool) {
	if v[0] != '[' {
		return nil, false
	}
	elements = []node{}
	for rest := v.inside(); len(rest) > 0; {
		var element node
		element, rest = rest.cut()
		elements = append(elements, element)
	}
	return elements, true
}

// parseAnswer is an answer as it is sent.
func parseAnswer(answer []byte) (node, error) {
	if !json.Valid(answer) {
		return nil, errors.New("an answer is no JSON")
	}
	return bytes.TrimSpace(answer), nil
}

// quoted is a text as a value, in which HTML stays as it is.
func quoted(text string) node {
	var to bytes.Buffer
	writeText(&to, text)
	return to.Bytes()
}

// writeText writes a text like quoted. Most texts need no escapes, and an encoder for each of them would
// cost more than a hostile form itself.
func writeText(to *bytes.Buffer, text string) {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= utf8.RuneSelf }) < 0 {
		to.WriteByte('"')
		to.WriteString(text)
		to.WriteByte('"')
		return
	}
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)  // a text, to memory
	to.Truncate(to.Len() - 1) // the line feed
}

// each is the list or the object with other values, in the same order: nil leaves one out. Elements have
// no name. A single value is itself.
func (v node) each(replace func(name string, inner node) node) node {
	if v[0] != '{' && v[0] != '[' {
		return v
	}
	to := append(make(node, 0, len(v)), v[0])
	for rest := v.inside(); len(rest) > 0; {
		var name, value node
		var key string
		if v[0] == '{' {
			name, rest = rest.cut()
			key, _, _ = name.scalar()
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

// separators are what stands between values of a valid document.
const separators = " \t\r\n:,"

// inside is what stands between the brackets of a list or an object.
func (v node) inside() node { return bytes.Trim(v[1:len(v)-1], separators) }

// cut takes the first value from a row of values.
func (v node) cut() (first, rest node) {
	end := v.end()
	return v[:end], bytes.TrimLeft(v[end:], separators)
}

// end is where the value ends with which the text begins.
func (v node) end() int {
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

// endOfText is where the text ends whose quote stands at i.
func (v node) endOfText(i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// extent is how deep a valid document nests and how many values it has.
func (v node) extent() (levels, values int) {
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
