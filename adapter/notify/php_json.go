package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bookside/bookside/adapter/text"
)

// Decoded JSON is nil, bool, string, json.Number, []any or object. Unlike a map,
// object keeps the order of its members, which is the order of the actions if
// PHP wrote a list with gaps as an object.
type (
	object []member
	member struct {
		key   string
		value any
	}
)

// get returns the value of a member, nil if there is none.
func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// set changes or adds a member. As in a PHP array, a changed member keeps its place.
func (o object) set(key string, value any) object {
	for i := range o {
		if o[i].key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

// members returns the objects in a list or object, in the order of PHP's foreach.
func members(value any) []object {
	var found []object
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if o, ok := item.(object); ok {
				found = append(found, o)
			}
		}
	case object:
		for _, m := range v {
			if o, ok := m.value.(object); ok {
				found = append(found, o)
			}
		}
	}
	return found
}

// first returns element 0 of a list or object.
func first(value any) object {
	var found any
	switch v := value.(type) {
	case []any:
		if len(v) > 0 {
			found = v[0]
		}
	case object:
		found = v.get("0")
	}
	o, _ := found.(object)
	return o
}

// scalarText returns a scalar as PHP converts it to a string, and "" for anything else.
func scalarText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "1"
		}
	}
	return ""
}

// commaList returns a scalar, or the scalars of a list, separated by commas.
func commaList(value any) string {
	list, ok := value.([]any)
	if !ok {
		return scalarText(value)
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = scalarText(item)
	}
	return strings.Join(texts, ",")
}

// maxDepth is the nesting that PHP's json_decode accepts.
const maxDepth = 512

var (
	errTooDeep  = errors.New("JSON is nested too deeply")
	errTrailing = errors.New("text after JSON")
	errEncoding = errors.New("JSON is not UTF-8")
)

// decodeTree decodes JSON within the limits of PHP's json_decode.
func decodeTree(source string) (any, error) {
	if !utf8.ValidString(source) {
		return nil, errEncoding
	}
	decoder := json.NewDecoder(strings.NewReader(source))
	decoder.UseNumber()
	value, err := decodeValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return value, nil
}

func decodeValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	opening, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if depth == maxDepth {
		return nil, errTooDeep
	}
	if opening == '[' {
		return decodeList(decoder, depth+1)
	}
	return decodeObject(decoder, depth+1)
}

func decodeList(decoder *json.Decoder, depth int) (any, error) {
	list := []any{}
	for decoder.More() {
		value, err := decodeValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := decoder.Token()
	return list, err
}

func decodeObject(decoder *json.Decoder, depth int) (any, error) {
	o := object{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := decodeValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder accepts nothing else
		o = o.set(name, value)
	}
	_, err := decoder.Token()
	return o, err
}

// MarshalJSON encodes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		key, err := text.EncodeJSON(m.key)
		if err != nil {
			return nil, err
		}
		value, err := text.EncodeJSON(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
