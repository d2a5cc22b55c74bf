package compare

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value. Unlike Go's own values, it keeps the order of keys and the text of numbers. The
// zero value stands for nothing.
type value struct {
	kind    jsontext.Kind // KindTrue for both booleans
	text    string        // of a boolean, number or string
	members []member
}

// member is a member of an object, or an element of a list with its position as name.
type member struct {
	name  string
	value value
}

func textValue(text string) value { return value{kind: jsontext.KindString, text: text} }

func numberValue(n int) value { return value{kind: jsontext.KindNumber, text: strconv.Itoa(n)} }

// parseJSON parses a JSON text in UTF-8; for repeated names in an object, the last one counts.
func parseJSON(text []byte) (value, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	v, err := readValue(decoder)
	if err != nil {
		return value{}, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("there is more after the value")
	}
	return v, nil
}

func readValue(decoder *jsontext.Decoder) (value, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return value{}, err
	}
	v := value{kind: token.Kind()}
	if v.kind == jsontext.KindFalse {
		v.kind = jsontext.KindTrue
	}
	if v.scalar() {
		v.text = token.String()
		return v, nil
	}
	for next := decoder.PeekKind(); next != jsontext.KindEndObject && next != jsontext.KindEndArray; next = decoder.PeekKind() {
		name, earlier := strconv.Itoa(len(v.members)), -1
		if v.kind == jsontext.KindBeginObject {
			token, err := decoder.ReadToken()
			if err != nil {
				return value{}, err
			}
			name = token.String()
			earlier = slices.IndexFunc(v.members, func(m member) bool { return m.name == name })
		}
		inner, err := readValue(decoder)
		switch {
		case err != nil:
			return value{}, err
		case earlier >= 0:
			v.members[earlier].value = inner
		default:
			v.members = append(v.members, member{name, inner})
		}
	}
	_, err = decoder.ReadToken() // the bracket
	return v, err
}

// listOfTexts returns a list of strings.
func listOfTexts(texts []string) value {
	list := value{kind: jsontext.KindBeginArray}
	for i, text := range texts {
		list.members = append(list.members, member{strconv.Itoa(i), textValue(text)})
	}
	return list
}

// names returns the names of the members.
func (v value) names() []string {
	var names []string
	for _, m := range v.members {
		names = append(names, m.name)
	}
	return names
}

// at returns the value at a path of names or positions, separated by dots, or nothing. In a list, a name
// refers to the first element.
func (v value) at(path string) value {
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(v.members, func(m member) bool { return m.name == name })
		switch {
		case i >= 0:
			v = v.members[i].value
		case v.kind == jsontext.KindBeginArray && len(v.members) > 0:
			v = v.members[0].value.at(name)
		default:
			return value{}
		}
	}
	return v
}

// scalar reports whether the value is a single text.
func (v value) scalar() bool {
	return v.kind != 0 && v.kind != jsontext.KindBeginArray && v.kind != jsontext.KindBeginObject
}

// empty reports whether the value is null, false, "", [], {} or nothing at all.
func (v value) empty() bool {
	return v.kind == jsontext.KindNull || v.kind == jsontext.KindTrue && v.text == "false" || v.text == "" && len(v.members) == 0
}

// equal reports whether two scalars of the same kind are equal. Numbers are compared by value: to a client,
// 5 and 5.0 are the same number.
func (v value) equal(other value) bool {
	if v.text == other.text {
		return true
	}
	if v.kind != jsontext.KindNumber || len(v.text) > maxNumber || len(other.text) > maxNumber {
		return false
	}
	a, okA := new(big.Rat).SetString(v.text)
	b, okB := new(big.Rat).SetString(other.text)
	return okA && okB && a.Cmp(b) == 0
}

// maxNumber limits the length of numbers that are compared by value.
const maxNumber = 24

// String returns the value as JSON.
func (v value) String() string {
	parts := make([]string, len(v.members))
	for i, m := range v.members {
		parts[i] = m.value.String()
		if v.kind == jsontext.KindBeginObject {
			parts[i] = textValue(m.name).String() + ": " + parts[i]
		}
	}
	switch v.kind {
	case jsontext.KindString:
		quoted, _ := jsontext.AppendQuote(nil, v.text) // fails if it replaces invalid UTF-8
		return string(quoted)
	case jsontext.KindBeginArray:
		return "[" + strings.Join(parts, ", ") + "]"
	case jsontext.KindBeginObject:
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return v.text
	}
}
