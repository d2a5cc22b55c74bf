package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The most that a form or a query may hold, as PHP's max_input_vars and
// max_input_nesting_level have it.
const (
	maxVariables = 1000
	maxNesting   = 64
)

// maxFormJSON is how long a form may be as JSON, in bytes: the longest body twice.
// Bookings that fail are shown as JSON, where control characters take six bytes.
const maxFormJSON = 2 << 20

var (
	errTooManyVariables = &BodyError{fmt.Sprintf("The request body has more than %d variables", maxVariables)}
	errTooManyControls  = &BodyError{"The request body has too many control characters"}
	errNestsTooDeep     = &BodyError{fmt.Sprintf("The name of a variable in the request body nests deeper than %d levels", maxNesting)}
)

// array is a PHP array, as forms fill it: a list and a map in one. It has few
// keys, and most arrays of a hostile form have one: a map would cost more.
type array struct {
	keys   []string // in the order of their first appearance
	values []node   // formText or *array
	next   int64    // key of an element that names none
	named  bool     // some key is no index
}

// form is the variables of a form.
type form struct {
	array
	variables int
	length    int // about that of its texts as JSON
}

// parseForm reads application/x-www-form-urlencoded.
func parseForm(text []byte) (Document, error) {
	var f form
	for pair := range bytes.SplitSeq(text, []byte("&")) {
		name, value, _ := bytes.Cut(pair, []byte("="))
		if len(name) == 0 {
			continue
		}
		if err := f.count(); err != nil {
			return Document{}, err
		}
		if err := f.add(unescape(string(name)), unescape(string(value))); err != nil {
			return Document{}, err
		}
	}
	return f.document(), nil
}

// parseMultipart reads multipart/form-data. Files are left out.
func parseMultipart(boundary string, sent []byte) (Document, error) {
	broken := &BodyError{"The request body is not valid multipart/form-data"}
	if boundary == "" || !bytes.Contains(sent, []byte("--"+boundary+"--")) {
		return Document{}, broken // the reader would take some of these for whole
	}
	var f form
	for reader := multipart.NewReader(bytes.NewReader(sent), boundary); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return f.document(), nil
		}
		if err != nil {
			return Document{}, broken
		}
		if err := f.count(); err != nil {
			return Document{}, err
		}
		if part.FileName() != "" {
			continue
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return Document{}, broken
		}
		if err := f.add(part.FormName(), string(value)); err != nil {
			return Document{}, err
		}
	}
}

// count refuses a variable too many before it is read.
func (f *form) count() error {
	f.variables++
	if f.variables > maxVariables {
		return errTooManyVariables
	}
	return nil
}

// add stores a value of a form under its name.
func (f *form) add(name, value string) error {
	if !utf8.ValidString(name) || !utf8.ValidString(value) {
		return errNotUTF8
	}
	if f.length += jsonLength(name) + jsonLength(value); f.length > maxFormJSON {
		return errTooManyControls
	}
	path, err := splitName(name)
	if err != nil {
		return err
	}
	f.set(path, formText(value))
	return nil
}

// document is the form as an object, whatever its names are.
func (f *form) document() Document {
	f.named = true
	return Document{root: &f.array}
}

// splitName takes a[b][c] apart. A name that is no such path is one key, and
// none that is known.
func splitName(name string) ([]string, error) {
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
		if len(path) > maxNesting {
			return nil, errNestsTooDeep
		}
		path = append(path, key)
		rest, nested = strings.CutPrefix(behind, "[")
	}
	return path, nil
}

// set stores a value under a path. As in PHP, the last value of a name counts,
// and an empty key is the next index.
func (a *array) set(path []string, value node) {
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

// at is the value of a key, or nil.
func (a *array) at(key string) node {
	if i := slices.Index(a.keys, key); i >= 0 {
		return a.values[i]
	}
	return nil
}

func (a *array) put(key string, value node) {
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

func (a *array) null() bool { return false }

func (a *array) scalar() (text string, isText, single bool) { return "", false, false }

// object is what has a key that is no index; what has none is a list.
func (a *array) object() (members map[string]node, ok bool) {
	members = make(map[string]node, len(a.keys))
	for i, key := range a.keys {
		members[key] = a.values[i]
	}
	return members, a.named || len(a.keys) == 0
}

func (a *array) list() (elements []node, ok bool) { return a.values, !a.named }

func (a *array) json() json.RawMessage { return asJSON(a) }
