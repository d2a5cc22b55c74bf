// Package phpform parses the variables of forms and queries as PHP does, including names such as a[b][] and
// PHP's limits. Its error messages are for the client, once capitalized. It imports compat/jsontext, as whose values it returns
// them, and nothing else of the project.
package phpform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bookside/bookside/compat/jsontext"
)

// Limits of a form or a query, those of PHP's max_input_vars and max_input_nesting_level.
const (
	MaxVariables = 1000
	MaxNesting   = 64
)

// maxFormJSON is how long a form may be as JSON, in bytes: twice the longest body. Failed bookings are
// returned as JSON, where control characters take six bytes.
const maxFormJSON = 2 << 20

var (
	// ErrNotUTF8 is the error for a form that is not UTF-8.
	ErrNotUTF8 = errors.New("the request body is not valid UTF-8")

	errTooManyVariables = fmt.Errorf("the request body has more than %d variables", MaxVariables)
	errTooManyControls  = errors.New("the request body has too many control characters")
	errNestsTooDeep     = fmt.Errorf("the name of a variable in the request body nests deeper than %d levels", MaxNesting)
	errBroken           = errors.New("the request body is not valid multipart/form-data")
)

// array is a PHP array as forms fill it: a list and a map in one. It has few keys, and in a hostile form
// usually one: a map would cost more.
type array struct {
	keys   []string // in the order of their first appearance
	values []any    // a text or an *array
	next   int64    // the next element's key if it names none
	named  bool     // some key is not an index
}

// form holds the variables of a form.
type form struct {
	array
	variables int
	length    int // approximate length of its texts as JSON
}

// Parse reads application/x-www-form-urlencoded and returns an object.
func Parse(text []byte) (jsontext.Value, error) {
	var f form
	for pair := range bytes.SplitSeq(text, []byte("&")) {
		name, value, _ := bytes.Cut(pair, []byte("="))
		if len(name) == 0 {
			continue
		}
		if err := f.count(); err != nil {
			return nil, err
		}
		if err := f.add(Unescape(string(name)), Unescape(string(value))); err != nil {
			return nil, err
		}
	}
	return f.object(), nil
}

// ParseMultipart reads multipart/form-data and returns an object. Files are left out.
func ParseMultipart(boundary string, sent []byte) (jsontext.Value, error) {
	if boundary == "" || !bytes.Contains(sent, []byte("--"+boundary+"--")) {
		return nil, errBroken // the reader would accept some broken ones
	}
	var f form
	for reader := multipart.NewReader(bytes.NewReader(sent), boundary); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return f.object(), nil
		}
		if err != nil {
			return nil, errBroken
		}
		if err := f.count(); err != nil {
			return nil, err
		}
		if part.FileName() != "" {
			continue
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, errBroken
		}
		if err := f.add(part.FormName(), string(value)); err != nil {
			return nil, err
		}
	}
}

// count rejects a surplus variable before it is read.
func (f *form) count() error {
	f.variables++
	if f.variables > MaxVariables {
		return errTooManyVariables
	}
	return nil
}

// add stores a value of a form under its name.
func (f *form) add(name, value string) error {
	if !utf8.ValidString(name) || !utf8.ValidString(value) {
		return ErrNotUTF8
	}
	if f.length += jsonLength(name) + jsonLength(value); f.length > maxFormJSON {
		return errTooManyControls
	}
	path, err := SplitName(name)
	if err != nil {
		return err
	}
	f.set(path, value)
	return nil
}

// object returns the form as an object, whatever its names are.
func (f *form) object() jsontext.Value {
	f.named = true
	var text bytes.Buffer
	text.Grow(f.length)
	writeJSON(&text, &f.array)
	return text.Bytes()
}

// SplitName splits a[b][c] into its parts. A malformed name is a single, unknown key.
func SplitName(name string) ([]string, error) {
	name = strings.TrimLeft(name, " ")
	base, rest, nested := strings.Cut(name, "[")
	if base == "" {
		return []string{name}, nil
	}
	path := []string{base}
	for nested {
		key, behind, closed := strings.Cut(rest, "]")
		if !closed {
			return []string{name}, nil
		}
		if len(path) > MaxNesting {
			return nil, errNestsTooDeep
		}
		path = append(path, key)
		rest, nested = strings.CutPrefix(behind, "[")
	}
	return path, nil
}

// set stores a value under a path. As in PHP, the last value of a name counts,
// and an empty key is the next index.
func (a *array) set(path []string, value any) {
	if path[0] == "" && len(path) == 1 {
		return
	}
	for ; len(path) > 1; path = path[1:] {
		key := a.keyOf(path[0])
		within, ok := a.at(key).(*array)
		if !ok {
			within = &array{}
			a.put(key, within)
		}
		a = within
	}
	a.put(a.keyOf(path[0]), value)
}

func (a *array) keyOf(key string) string {
	if key == "" {
		return strconv.FormatInt(a.next, 10)
	}
	return key
}

// at returns the value of a key, or nil.
func (a *array) at(key string) any {
	if i := slices.Index(a.keys, key); i >= 0 {
		return a.values[i]
	}
	return nil
}

func (a *array) put(key string, value any) {
	if i := slices.Index(a.keys, key); i >= 0 {
		a.values[i] = value
		return
	}
	a.keys, a.values = append(a.keys, key), append(a.values, value)
	index, err := strconv.ParseInt(key, 10, 32)
	if err != nil || strconv.FormatInt(index, 10) != key {
		a.named = true
		return
	}
	a.next = max(a.next, index+1)
}

// writeJSON writes a variable of a form: an array with a key that is not an index as an object, any other
// as a list.
func writeJSON(to *bytes.Buffer, value any) {
	array, ok := value.(*array)
	if !ok {
		jsontext.WriteText(to, value.(string))
		return
	}
	brackets := "[]"
	if array.named {
		brackets = "{}"
	}
	to.WriteByte(brackets[0])
	for i, key := range array.keys {
		if i > 0 {
			to.WriteByte(',')
		}
		if array.named {
			jsontext.WriteText(to, key)
			to.WriteByte(':')
		}
		writeJSON(to, array.values[i])
	}
	to.WriteByte(brackets[1])
}

// jsonLength returns the length of a text in JSON, or slightly less.
func jsonLength(text string) int {
	length := len(text)
	for i := range len(text) {
		if text[i] < ' ' && text[i] != '\n' && text[i] != '\r' {
			length += len(`\u0001`) - 1
		}
	}
	return length
}

// Unescape decodes valid escapes and keeps everything else.
func Unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s):
			code, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				b.WriteByte('%')
				continue
			}
			b.WriteByte(byte(code))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
