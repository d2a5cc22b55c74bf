package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
)

// kind is a type of JSON.
type kind string

const (
	kindNull    kind = "null"
	kindBoolean kind = "boolean"
	kindNumber  kind = "number"
	kindText    kind = "string"
	kindList    kind = "array"
	kindObject  kind = "object"
)

// value is a JSON value. It keeps the order of keys, which maps lose.
type value struct {
	kind    kind
	text    string // of a boolean, number or string
	list    []value
	members []member
}

type member struct {
	name  string
	value value
}

// maxDepth limits how deep values are nested.
const maxDepth = 100

var errTooDeep = errors.New("nested too deep")

// parseJSON parses a JSON text; of equal names in an object, the last one counts.
func parseJSON(text []byte) (value, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	v, err := readValue(decoder, 0)
	if err != nil {
		return value{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("there is more after the value")
	}
	return v, nil
}

func readValue(decoder *json.Decoder, depth int) (value, error) {
	token, err := decoder.Token()
	if err != nil {
		return value{}, err
	}
	switch t := token.(type) {
	case nil:
		return value{kind: kindNull, text: "null"}, nil
	case bool:
		if t {
			return value{kind: kindBoolean, text: "true"}, nil
		}
		return value{kind: kindBoolean, text: "false"}, nil
	case json.Number:
		return value{kind: kindNumber, text: t.String()}, nil
	case string:
		return textValue(t), nil
	case json.Delim:
		if depth == maxDepth {
			return value{}, errTooDeep
		}
		if t == '[' {
			return readList(decoder, depth+1)
		}
		return readObject(decoder, depth+1)
	default:
		return value{}, errors.New("unknown token")
	}
}

func readList(decoder *json.Decoder, depth int) (value, error) {
	v := value{kind: kindList}
	for decoder.More() {
		element, err := readValue(decoder, depth)
		if err != nil {
			return value{}, err
		}
		v.list = append(v.list, element)
	}
	_, err := decoder.Token() // the bracket
	return v, err
}

func readObject(decoder *json.Decoder, depth int) (value, error) {
	v := value{kind: kindObject}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return value{}, err
		}
		name, _ := token.(string)
		content, err := readValue(decoder, depth)
		if err != nil {
			return value{}, err
		}
		if i := v.index(name); i >= 0 {
			v.members[i].value = content
			continue
		}
		v.members = append(v.members, member{name, content})
	}
	_, err := decoder.Token() // the brace
	return v, err
}

func textValue(text string) value { return value{kind: kindText, text: text} }

func (v value) index(name string) int {
	return slices.IndexFunc(v.members, func(m member) bool { return m.name == name })
}

// get returns a member of an object.
func (v value) get(name string) (value, bool) {
	if i := v.index(name); i >= 0 {
		return v.members[i].value, true
	}
	return value{}, false
}

// at returns the value under names of nested objects; of an array on the way, the first
// element.
func (v value) at(names ...string) (value, bool) {
	for _, name := range names {
		if v.kind == kindList && len(v.list) > 0 {
			v = v.list[0]
		}
		var ok bool
		if v, ok = v.get(name); !ok {
			return value{}, false
		}
	}
	return v, true
}

// scalar reports whether the value has a text of its own.
func (v value) scalar() bool { return v.kind != kindList && v.kind != kindObject }

// empty reports whether the value says nothing: null, false, "", [] or {}.
func (v value) empty() bool {
	return v.kind == kindNull || v.kind == kindBoolean && v.text == "false" || v.kind == kindText && v.text == "" ||
		v.kind == kindList && len(v.list) == 0 || v.kind == kindObject && len(v.members) == 0
}

// equal reports whether two scalars of one kind are the same. Numbers are compared by value:
// to a client, 5 and 5.0 are one number.
func (v value) equal(other value) bool {
	if v.text == other.text {
		return true
	}
	if v.kind != kindNumber || len(v.text) > maxNumber || len(other.text) > maxNumber {
		return false
	}
	a, okA := new(big.Rat).SetString(v.text)
	b, okB := new(big.Rat).SetString(other.text)
	return okA && okB && a.Cmp(b) == 0
}

// integer reports whether a value is no number with a point or an exponent.
func (v value) integer() bool { return v.kind != kindNumber || !strings.ContainsAny(v.text, ".eE") }

// maxNumber limits the length of numbers that are compared by value; an exponent can make
// a short text an enormous number.
const maxNumber = 24

// String returns the value as JSON.
func (v value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v value) write(b *strings.Builder) {
	switch v.kind {
	case kindText:
		b.WriteString(quoteJSON(v.text))
	case kindList:
		b.WriteByte('[')
		for i, element := range v.list {
			if i > 0 {
				b.WriteString(", ")
			}
			element.write(b)
		}
		b.WriteByte(']')
	case kindObject:
		b.WriteByte('{')
		for i, m := range v.members {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteJSON(m.name) + ": ")
			m.value.write(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString(v.text)
	}
}

// quoteJSON returns a text as a JSON string, with <, > and & as they are.
func quoteJSON(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil { // a string always encodes
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
