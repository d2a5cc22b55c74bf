package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"strconv"
	"strings"
	"unicode/utf8"
)

// array is a PHP array, as forms fill it: a list and a map in one.
type array struct {
	values map[string]any // string or *array
	keys   []string       // in the order of their first appearance
	next   int64          // key of an element that names none
	named  bool           // some key is no index
}

func newArray() *array { return &array{values: map[string]any{}} }

// maxNesting is how deep the names of a form may nest; PHP drops what is deeper.
const maxNesting = 64

// parseForm reads application/x-www-form-urlencoded.
func parseForm(text string) (Document, error) {
	form := newArray()
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if err := form.add(unescape(name), unescape(value)); err != nil {
			return nil, err
		}
	}
	return form.document()
}

// parseMultipart reads multipart/form-data. Files are left out.
func parseMultipart(boundary string, sent []byte) (Document, error) {
	broken := &BodyError{"The request body is not valid multipart/form-data"}
	if boundary == "" || !bytes.Contains(sent, []byte("--"+boundary+"--")) {
		return nil, broken // the reader would take some of these for whole
	}
	form := newArray()
	for reader := multipart.NewReader(bytes.NewReader(sent), boundary); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return form.document()
		}
		if err != nil {
			return nil, broken
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, broken
		}
		if part.FileName() != "" {
			continue
		}
		if err := form.add(part.FormName(), string(value)); err != nil {
			return nil, err
		}
	}
}

// add stores a value of a form under its name.
func (a *array) add(name, value string) error {
	if !utf8.ValidString(name) || !utf8.ValidString(value) {
		return errNotUTF8
	}
	a.set(splitName(name), value)
	return nil
}

// splitName takes a[b][c] apart. A name that is no such path is one key, and
// none that is known.
func splitName(name string) []string {
	name = strings.TrimLeft(name, " ")
	base, rest, nested := strings.Cut(name, "[")
	if base == "" {
		return []string{name}
	}
	path := []string{base}
	for nested {
		key, behind, closed := strings.Cut(rest, "]")
		if !closed {
			return []string{name}
		}
		path = append(path, key)
		rest, nested = strings.CutPrefix(behind, "[")
	}
	return path
}

// set stores a value under a path. As in PHP, the last value of a name counts,
// and an empty key is the next index.
func (a *array) set(path []string, value string) {
	if path[0] == "" && len(path) == 1 || len(path) > maxNesting {
		return
	}
	for ; len(path) > 1; path = path[1:] {
		key := a.keyOf(path[0])
		within, ok := a.values[key].(*array)
		if !ok {
			within = newArray()
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

func (a *array) put(key string, value any) {
	if _, known := a.values[key]; !known {
		a.keys = append(a.keys, key)
	}
	a.values[key] = value
	index, err := strconv.ParseInt(key, 10, 32)
	if err != nil || strconv.FormatInt(index, 10) != key {
		a.named = true
		return
	}
	a.next = max(a.next, index+1)
}

// tree is a list where all keys are indexes, else an object.
func (a *array) tree() any {
	if a.named {
		return a.object()
	}
	list := make([]any, len(a.keys))
	for i, key := range a.keys {
		list[i] = treeOf(a.values[key])
	}
	return list
}

func (a *array) object() map[string]any {
	object := make(map[string]any, len(a.keys))
	for _, key := range a.keys {
		object[key] = treeOf(a.values[key])
	}
	return object
}

func treeOf(value any) any {
	if within, ok := value.(*array); ok {
		return within.tree()
	}
	return value
}

// document writes the form as JSON.
func (a *array) document() (Document, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a.object()); err != nil {
		return nil, fmt.Errorf("write form as JSON: %w", err)
	}
	return Document(bytes.TrimSpace(b.Bytes())), nil
}
