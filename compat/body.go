package compat

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"

	"bookside/adapter"
)

// Document is a request's body as JSON, whatever form it was sent in: an object
// or a list.
type Document json.RawMessage

// BodyError is a body that is not what its content type says, or not what the
// endpoint reads. Its text is for the client.
type BodyError struct{ Message string }

func (e *BodyError) Error() string { return e.Message }

// maxDepth is how deep a body may nest, as in PHP.
const maxDepth = 512

// ParseBody reads a body as WordPress does, and a little more leniently: JSON,
// the two kinds of forms, and JSON that goes by another type, such as that of a
// form, which curl gives it. Without a type it is a form. An empty body is an
// empty object. Every error is a *BodyError.
func ParseBody(contentType string, sent []byte) (Document, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	text := bytes.TrimSpace(sent)
	switch {
	case len(text) == 0:
		return Document("{}"), nil
	case media == "multipart/form-data":
		return parseMultipart(parameters["boundary"], sent)
	case (media == "" || media == "application/x-www-form-urlencoded") && text[0] != '{' && text[0] != '[':
		return parseForm(string(text))
	default:
		return parseJSON(text)
	}
}

var errNotUTF8 = &BodyError{"The request body is not valid UTF-8"}

func parseJSON(text []byte) (Document, error) {
	switch {
	case !utf8.Valid(text):
		return nil, errNotUTF8
	case !json.Valid(text), depth(text) > maxDepth:
		return nil, &BodyError{"The request body is not valid JSON"}
	case text[0] != '{' && text[0] != '[':
		return nil, &BodyError{"The request body must be a JSON object"}
	}
	return Document(text), nil
}

// depth is how deep valid JSON nests.
func depth(document []byte) (deepest int) {
	level, inText := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{', c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}', c == ']':
			level--
		}
	}
	return deepest
}

// isList tells a list from an object.
func (d Document) isList() bool { return d[0] == '[' }

// Body reads the fields of an object and collects what is wrong with them.
type Body struct {
	values
	path     string // in front of names in messages: "" or "customer."
	fields   map[string]json.RawMessage
	problems *adapter.Problems // shared with the objects within

	described *Reading
}

// Body is the document as an object. An empty list is one too: PHP writes an
// empty array so.
func (d Document) Body() (*Body, error) {
	fields, ok := objectOf(json.RawMessage(d))
	if !ok {
		return nil, &BodyError{"The request body must be a JSON object"}
	}
	return newBody("", fields, new(adapter.Problems)), nil
}

func newBody(path string, fields map[string]json.RawMessage, problems *adapter.Problems) *Body {
	b := &Body{path: path, fields: fields, problems: problems}
	b.source = b
	return b
}

// objectOf reads the members of an object, the last of those with one name.
func objectOf(raw json.RawMessage) (fields map[string]json.RawMessage, ok bool) {
	if raw[0] == '[' {
		elements, _ := listOf(raw)
		return map[string]json.RawMessage{}, len(elements) == 0
	}
	err := json.Unmarshal(raw, &fields)
	return fields, err == nil && fields != nil
}

func listOf(raw json.RawMessage) (elements []json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &elements)
	return elements, err == nil && elements != nil
}

func (b *Body) reading() *Reading { return b.described }

// note names a field by its whole path.
func (b *Body) note(name string, f fault) {
	if f.refused {
		b.problems.Refuse(b.path+name, f.message)
		return
	}
	b.problems.Malform(b.path+name, f.message)
}

// require notes a field that was not sent, or sent empty.
func (b *Body) require(name string) {
	b.described.require(name)
	if !b.given(name) {
		b.note(name, malformed(required))
	}
}

// sent is what was sent under a name; null is nothing.
func (b *Body) sent(name string) (raw json.RawMessage, ok bool) {
	raw, ok = b.fields[name]
	return raw, ok && string(raw) != "null"
}

// given tells whether anything but nothing was sent under a name.
func (b *Body) given(name string) bool {
	raw, ok := b.sent(name)
	if !ok || raw[0] != '"' {
		return ok
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return err == nil && strings.TrimSpace(text) != ""
}

// scalar is a single value's text. isText is false for numbers and booleans.
func (b *Body) scalar(name string) (text string, isText, ok bool) {
	raw, ok := b.sent(name)
	if !ok {
		return "", false, false
	}
	switch raw[0] {
	case '{', '[':
		b.note(name, malformed(notAList))
		return "", false, false
	case '"':
		err := json.Unmarshal(raw, &text)
		return text, true, err == nil
	default:
		return string(raw), false, true
	}
}

func (b *Body) text(name string) (value string, ok bool) {
	value, _, _ = b.scalar(name)
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) > maxText {
		b.note(name, tooLong)
		return "", false
	}
	return value, value != ""
}

// Text is any text as it was sent, an empty one too. A number is taken for its
// digits.
func (b *Body) Text(name string) *string {
	b.described.text(name)
	text, isText, ok := b.scalar(name)
	if !ok {
		return nil
	}
	if !isText && (text == "true" || text == "false") {
		b.note(name, malformed("Must be a text"))
		return nil
	}
	return &text
}

// Object is an object within, whose members may also come one by one, under
// names with a dot. It is nil where nothing of it was sent or it is no object.
func (b *Body) Object(name string) *Body {
	if b.described != nil {
		return b.describe(b.described.object(name))
	}
	fields := map[string]json.RawMessage{}
	raw, sent := b.sent(name)
	if sent {
		var ok bool
		if fields, ok = objectOf(raw); !ok {
			b.note(name, malformed("Must be an object"))
			return nil
		}
	}
	for key, raw := range b.fields {
		if member, dotted := strings.CutPrefix(key, name+"."); dotted {
			fields[member], sent = raw, true
		}
	}
	if !sent {
		return nil
	}
	return newBody(b.path+name+".", fields, b.problems)
}

// describe is a body that carries nothing and notes what it is asked for.
func (b *Body) describe(r *Reading) *Body {
	inner := newBody("", nil, b.problems)
	inner.described = r
	return inner
}

// List is the elements of a list. ok is false where none was sent, or no list.
func (b *Body) List(name string) (elements []json.RawMessage, ok bool) {
	raw, sent := b.sent(name)
	if !sent {
		return nil, false
	}
	if elements, ok = listOf(raw); !ok {
		b.note(name, malformed("Must be a list"))
	}
	return elements, ok
}

// Err is an adapter error naming every wrong field, or nil.
func (b *Body) Err() error { return b.problems.Err() }
