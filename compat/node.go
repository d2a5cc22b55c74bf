package compat

import (
	"bytes"
	"encoding/json"
)

// node is a value of a request's body: a part of a JSON document, or what the
// fields of a form make. Nothing of it is copied before it is asked for.
type node interface {
	// null tells a value that stands for none.
	null() bool
	// scalar is a single value's text; isText is false for numbers and booleans.
	// single is false for lists and objects.
	scalar() (text string, isText, single bool)
	// object is the members of an object, of repeated names the last. An empty
	// list is one too: PHP writes an empty array so.
	object() (members map[string]node, ok bool)
	list() (elements []node, ok bool)
	// json is the value as JSON.
	json() json.RawMessage
}

// jsonValue is one value of a valid JSON document, without blanks around it.
type jsonValue json.RawMessage

func (v jsonValue) json() json.RawMessage { return json.RawMessage(v) }

func (v jsonValue) null() bool { return v[0] == 'n' }

func (v jsonValue) scalar() (text string, isText, single bool) {
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

func (v jsonValue) object() (members map[string]node, ok bool) {
	if v[0] == '[' {
		return map[string]node{}, len(v.inside()) == 0
	}
	if v[0] != '{' {
		return nil, false
	}
	members = map[string]node{}
	for rest := v.inside(); len(rest) > 0; {
		var name jsonValue
		name, rest = rest.cut()
		key, _, _ := name.scalar()
		members[key], rest = rest.cut()
	}
	return members, true
}

func (v jsonValue) list() (elements []node, ok bool) {
	if v[0] != '[' {
		return nil, false
	}
	elements = []node{}
	for rest := v.inside(); len(rest) > 0; {
		var element jsonValue
		element, rest = rest.cut()
		elements = append(elements, element)
	}
	return elements, true
}

// separators are what stands between values of a valid document.
const separators = " \t\r\n:,"

// inside is what stands between the brackets of a list or an object.
func (v jsonValue) inside() jsonValue { return bytes.Trim(v[1:len(v)-1], separators) }

// cut takes the first value from a row of values.
func (v jsonValue) cut() (first, rest jsonValue) {
	end := v.end()
	return v[:end], bytes.TrimLeft(v[end:], separators)
}

// end is where the value ends with which the text begins.
func (v jsonValue) end() int {
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
func (v jsonValue) endOfText(i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// extent is how deep a valid document nests and how many values it has.
func (v jsonValue) extent() (levels, values int) {
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

// formText is a text of a form.
type formText string

func (v formText) null() bool { return false }

func (v formText) scalar() (text string, isText, single bool) { return string(v), true, true }

func (v formText) object() (members map[string]node, ok bool) { return nil, false }

func (v formText) list() (elements []node, ok bool) { return nil, false }

func (v formText) json() json.RawMessage { return asJSON(v) }

// asJSON writes what a form sent.
func asJSON(v node) json.RawMessage {
	var w jsonWriter
	w.add(v)
	return w.Bytes()
}

// jsonWriter writes values of forms as JSON.
type jsonWriter struct{ bytes.Buffer }

func (w *jsonWriter) add(v node) {
	array, ok := v.(*array)
	if !ok {
		text, _, _ := v.scalar()
		w.text(text)
		return
	}
	opening, closing := byte('['), byte(']')
	if array.named {
		opening, closing = '{', '}'
	}
	w.WriteByte(opening)
	for i, key := range array.keys {
		if i > 0 {
			w.WriteByte(',')
		}
		if array.named {
			w.text(key)
			w.WriteByte(':')
		}
		w.add(array.values[i])
	}
	w.WriteByte(closing)
}

// text writes valid UTF-8 in quotes.
func (w *jsonWriter) text(text string) {
	const hex = "0123456789abcdef"
	w.Grow(len(text) + len(`""`))
	w.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			w.Write([]byte{'\\', c})
		case c == '\n':
			w.WriteString(`\n`)
		case c == '\r':
			w.WriteString(`\r`)
		case c < ' ':
			w.Write([]byte{'\\', 'u', '0', '0', hex[c>>4], hex[c&15]})
		default:
			w.WriteByte(c)
		}
	}
	w.WriteByte('"')
}

// jsonLength is how long a text is in JSON, or a little less than that.
func jsonLength(text string) int {
	length := len(text)
	for i := range len(text) {
		if text[i] < ' ' && text[i] != '\n' && text[i] != '\r' {
			length += len(`\u0001`) - 1
		}
	}
	return length
}
