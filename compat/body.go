package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"bookside/adapter/domain"
)

// Document is a request's body, whatever form it was sent in: an object or a
// list.
type Document struct{ root node }

// JSON is the document as JSON.
func (d Document) JSON() json.RawMessage { return d.root.json() }

// BodyError is a body that is not what its content type says, or not what the
// endpoint reads. Its text is for the client.
type BodyError struct{ Message string }

func (e *BodyError) Error() string { return e.Message }

// The most that a JSON body may hold: PHP's json_decode goes as deep, and no
// request needs a tenth of the values.
const (
	maxDepth  = 512
	maxValues = 20_000
)

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
		return Document{jsonValue("{}")}, nil
	case media == "multipart/form-data":
		return parseMultipart(parameters["boundary"], sent)
	case (media == "" || media == "application/x-www-form-urlencoded") && text[0] != '{' && text[0] != '[':
		return parseForm(text)
	default:
		return parseJSON(text)
	}
}

var (
	errNotUTF8  = &BodyError{"The request body is not valid UTF-8"}
	errNoObject = &BodyError{"The request body must be a JSON object"}
)

func parseJSON(text []byte) (Document, error) {
	if !utf8.Valid(text) {
		return Document{}, errNotUTF8
	}
	noJSON := &BodyError{"The request body is not valid JSON"}
	if !json.Valid(text) {
		return Document{}, noJSON
	}
	root := jsonValue(text)
	levels, values := root.extent()
	switch {
	case levels > maxDepth:
		return Document{}, noJSON
	case values > maxValues:
		return Document{}, &BodyError{fmt.Sprintf("The request body has more than %d values", maxValues)}
	case levels == 0:
		return Document{}, errNoObject
	}
	return Document{root}, nil
}

// isList tells a list from an object.
func (d Document) isList() bool {
	_, list := d.root.list()
	return list
}

// Body reads the fields of an object and collects what is wrong with them.
type Body struct {
	values
	path     string // in front of names in messages: "" or "customer."
	fields   map[string]node
	problems *domain.Validation // shared with the objects within

	described *Reading
}

// Body is the document as an object. An empty list is one too: PHP writes an
// empty array so.
func (d Document) Body() (*Body, error) {
	fields, ok := d.root.object()
	if !ok {
		return nil, errNoObject
	}
	return newBody("", fields, new(domain.Validation)), nil
}

func newBody(path string, fields map[string]node, problems *domain.Validation) *Body {
	b := &Body{path: path, fields: fields, problems: problems}
	b.source = b
	return b
}

func (b *Body) reading() *Reading { return b.described }

// note names a field by its whole path.
func (b *Body) note(name string, f fault) {
	if f.refused {
		b.problems.Reject(b.path+name, f.message)
		return
	}
	b.problems.Invalid(b.path+name, f.message)
}

// require notes a field that was not sent, or sent empty.
func (b *Body) require(name string) {
	b.described.require(name)
	if !b.given(name) {
		b.note(name, malformed(required))
	}
}

// sent is what was sent under a name; null is nothing.
func (b *Body) sent(name string) (value node, ok bool) {
	value, ok = b.fields[name]
	return value, ok && !value.null()
}

// given tells whether anything but nothing was sent under a name.
func (b *Body) given(name string) bool {
	value, ok := b.sent(name)
	if !ok {
		return false
	}
	text, isText, single := value.scalar()
	return !single || !isText || strings.TrimSpace(text) != ""
}

// scalar is a single value's text. isText is false for numbers and booleans.
func (b *Body) scalar(name string) (text string, isText, ok bool) {
	value, ok := b.sent(name)
	if !ok {
		return "", false, false
	}
	text, isText, single := value.scalar()
	if !single {
		b.note(name, malformed(notAList))
	}
	return text, isText, single
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

// maxLongText is the longest text that is looked at, in bytes: four times what a
// column of the plugin holds. To take tags from a text costs many times its
// length.
const maxLongText = 256 << 10

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
	if len(text) > maxLongText {
		b.note(name, refused("Too long"))
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
	fields := map[string]node{}
	value, sent := b.sent(name)
	if sent {
		var ok bool
		if fields, ok = value.object(); !ok {
			b.note(name, malformed("Must be an object"))
			return nil
		}
	}
	for key, value := range b.fields {
		if member, dotted := strings.CutPrefix(key, name+"."); dotted {
			fields[member], sent = value, true
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

// list is the elements of a list. ok is false where none was sent, or no list.
func (b *Body) list(name string) (elements []node, ok bool) {
	value, sent := b.sent(name)
	if !sent {
		return nil, false
	}
	if elements, ok = value.list(); !ok {
		b.note(name, malformed("Must be a list"))
	}
	return elements, ok
}

// Err is an adapter error naming every wrong field, or nil.
func (b *Body) Err() error { return b.problems.Err() }
