package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/jsontext"
	"github.com/bookside/bookside/compat/phpform"
)

// Document is a request's body, whatever format it was sent in: an object or a list.
type Document struct {
	root  jsontext.Value
	query map[string]jsontext.Value // fields of the query, see WithQuery
}

// JSON returns the document as JSON.
func (d Document) JSON() json.RawMessage { return d.root.JSON() }

// BodyError is the error for a body that does not match its content type or that the endpoint does not
// accept. Its text is for the client.
type BodyError struct{ Message string }

func (e *BodyError) Error() string { return e.Message }

// ParseBody parses a body as WordPress does, but slightly more leniently: JSON, both kinds of forms, and
// JSON sent with another type, such as that of a form, which is curl's default. Without a type the body is
// a form. An empty body is an empty object. Every error is a *BodyError.
func ParseBody(contentType string, sent []byte) (Document, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(sent, []byte("\ufeff"))) // editors of Windows begin a file with it
	switch {
	case len(text) == 0:
		return Document{root: jsontext.Value("{}")}, nil
	case media == "multipart/form-data":
		return formDocument(phpform.ParseMultipart(parameters["boundary"], sent))
	case (media == "" || media == "application/x-www-form-urlencoded") && text[0] != '{' && text[0] != '[':
		return formDocument(phpform.Parse(text))
	default:
		return parseJSON(text)
	}
}

var (
	// ErrNotJSON is the error for a body that should be JSON and is not.
	ErrNotJSON = &BodyError{"The request body is not valid JSON"}

	errNotUTF8      = formError(phpform.ErrNotUTF8)
	errQueryNotUTF8 = &BodyError{"The query is not valid UTF-8"}
	errNoObject     = &BodyError{"The request body must be a JSON object"}
)

// formDocument returns the document of a parsed form.
func formDocument(root jsontext.Value, err error) (Document, error) {
	if err != nil {
		return Document{}, formError(err)
	}
	return Document{root: root}, nil
}

func formError(err error) error { return &BodyError{domain.Capitalize(err.Error())} }

func parseJSON(text []byte) (Document, error) {
	root, err := jsontext.Parse(text)
	switch {
	case errors.Is(err, jsontext.ErrNotUTF8):
		return Document{}, errNotUTF8
	case errors.Is(err, jsontext.ErrTooMany):
		return Document{}, &BodyError{"The request body has " + err.Error()}
	case err != nil:
		return Document{}, ErrNotJSON
	case root[0] != '{' && root[0] != '[':
		return Document{}, errNoObject
	}
	return Document{root: root}, nil
}

// isList reports whether the document is a list.
func (d Document) isList() bool {
	_, list := d.root.List()
	return list
}

// Body reads the fields of an object and collects their problems.
type Body struct {
	path       string // prefix of names in messages: "" or "customer."
	fields     map[string]jsontext.Value
	validation *domain.Validation // shared with nested objects
}

// WithQuery returns the document with the fields that it lacks taken from a raw query, as
// WP_REST_Request::get_param does, WordPress 7.0. Null counts as lacking. reserved are parameters that are
// not fields.
func (d Document) WithQuery(raw string, reserved ...string) (Document, error) {
	if raw = FieldsOfQuery(raw, reserved...); raw == "" {
		return d, nil
	}
	root, err := phpform.Parse([]byte(raw))
	if errors.Is(err, phpform.ErrNotUTF8) {
		return Document{}, errQueryNotUTF8
	}
	if err != nil {
		return Document{}, formError(err)
	}
	d.query, _ = root.Object()
	return d, nil
}

// FieldsOfQuery returns a raw query without the reserved parameters.
func FieldsOfQuery(raw string, reserved ...string) string {
	pairs := slices.DeleteFunc(strings.Split(raw, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		name, _, _ = strings.Cut(strings.TrimLeft(phpform.Unescape(name), " "), "[")
		return name == "" || slices.Contains(reserved, name)
	})
	return strings.Join(pairs, "&")
}

// fields returns the members of the document as an object. An empty list counts as one: that is how PHP
// writes an empty array.
func (d Document) fields() (fields map[string]jsontext.Value, ok bool) {
	if fields, ok = d.root.Object(); ok {
		d.complete(fields)
	}
	return fields, ok
}

// complete adds the query's fields that an object lacks. A dry run requested in either applies.
func (d Document) complete(fields map[string]jsontext.Value) {
	for name, value := range d.query {
		if sent, found := fields[name]; !found || sent.Null() || name == dryRun && !asksForDryRun(fields) {
			fields[name] = value
		}
	}
}

// DryRun is the name of the field that requests a dry run.
const DryRun = dryRun

// dryRun makes a write only report what would happen.
const dryRun = "dry_run"

// AsksForDryRun reports whether the document asks for a dry run.
func (d Document) AsksForDryRun() bool {
	fields, _ := d.root.Object()
	return asksForDryRun(fields)
}

func asksForDryRun(fields map[string]jsontext.Value) bool {
	value, sent := fields[dryRun]
	if !sent || value.Null() {
		return false
	}
	text, _, single := value.Scalar()
	return !single || wantsDryRun(text)
}

// wantsDryRun reports whether a value means anything but no.
func wantsDryRun(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	wanted, known := jsonschema.Booleans[text]
	return wanted || !known && text != ""
}

// NoDryRun returns the error for dry_run on a route that does not support it: ignoring the field would
// write what the client only meant to try.
func NoDryRun() error { return domain.InvalidField(dryRun, noDryRun) }

const noDryRun = "Not supported here"

// Sent returns the fields of the document with these names, as they were sent.
func (d Document) Sent(names []string) (sent jsonschema.Members) {
	fields, _ := d.fields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if parts := partsOfName(name); len(parts) > 0 && slices.Contains(names, parts[0]) {
			sent = append(sent, jsonschema.Member{name, fields[name].JSON()})
		}
	}
	return sent
}

// Body returns the document as an object.
func (d Document) Body() (*Body, error) {
	fields, ok := d.fields()
	if !ok {
		return nil, errNoObject
	}
	return newBody("", fields, new(domain.Validation)), nil
}

func newBody(path string, fields map[string]jsontext.Value, validation *domain.Validation) *Body {
	return &Body{path: path, fields: fields, validation: validation}
}

func (b *Body) location() *time.Location { return nil }

// addProblem records a problem under the full path of the field.
func (b *Body) addProblem(name string, f problem) {
	if f.rejected {
		b.validation.Reject(b.path+name, f.message)
		return
	}
	b.validation.Invalid(b.path+name, f.message)
}

// sent returns the value sent under a name; null counts as nothing.
func (b *Body) sent(name string) (value jsontext.Value, ok bool) {
	value, ok = b.fields[name]
	return value, ok && !value.Null()
}

// null reports whether null was sent under a name.
func (b *Body) null(name string) bool {
	value, ok := b.fields[name]
	return ok && value.Null()
}

// blank reports whether an empty text was sent under a name.
func (b *Body) blank(name string) bool {
	_, sent := b.sent(name)
	return sent && !b.present(name)
}

// present reports whether a value was sent under a name and is not empty.
func (b *Body) present(name string) bool {
	value, ok := b.sent(name)
	if !ok {
		return false
	}
	text, isText, single := value.Scalar()
	return !single || !isText || strings.TrimSpace(text) != ""
}

// dotted reports whether a member of an object was sent under a dotted name.
func (b *Body) dotted(name string) bool {
	for key := range b.fields {
		if strings.HasPrefix(key, name+".") {
			return true
		}
	}
	return false
}

// scalar returns a single value's text; isText is false for numbers and booleans.
func (b *Body) scalar(name string) (text string, isText, ok bool) {
	value, ok := b.sent(name)
	if !ok {
		return "", false, false
	}
	text, isText, single := value.Scalar()
	if !single {
		b.addProblem(name, invalid(notSingle))
	}
	return text, isText, single
}

func (b *Body) text(name string) (value string, ok bool) {
	value, _, _ = b.scalar(name)
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) > maxText {
		b.addProblem(name, tooLong)
		return "", false
	}
	return value, value != ""
}

// maxLongText is the longest text that is accepted, in bytes: four times what a column of the plugin holds.
// Removing tags from a text takes many times its length.
const maxLongText = 256 << 10

// anyText is any text as sent, even an empty one. A number is read as its digits.
var anyText = textOf(clearsInChange, isValue)

// fixedText is like anyText, but null does not empty it.
var fixedText = textOf(isNothing, isValue)

// filledText is like fixedText, but an empty text counts as not sent.
var filledText = textOf(isNothing, isNothing)

func textOf(null, blank meaning) valueType[string] {
	about := description{schema: plain(jsonschema.Schema{Type: jsonschema.String}), null: null, blank: blank}
	return valueType[string]{description: about, read: func(in input, name string) (value string, ok bool) {
		b := in.(*Body)
		value, isText, ok := b.scalar(name)
		switch {
		case ok && !isText && (value == "true" || value == "false"):
			b.addProblem(name, invalid("Must be a text"))
		case ok && len(value) > maxLongText:
			b.addProblem(name, rejected("Too long"))
		default:
			return value, ok
		}
		return "", false
	}}
}

// object returns a nested object. Its members may also be sent one by one, under dotted names. It is nil if
// nothing of it was sent, or if it is not an object.
func (b *Body) object(name string) *Body {
	fields := map[string]jsontext.Value{}
	value, sent := b.sent(name)
	if sent {
		var ok bool
		if fields, ok = value.Decoded().Object(); !ok {
			b.addProblem(name, invalid(notAnObject))
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
	return newBody(b.path+name+".", fields, b.validation)
}

// list returns the elements of a list; ok is false if none was sent, or something else.
func (b *Body) list(name string) (elements []jsontext.Value, ok bool) {
	value, sent := b.sent(name)
	if !sent {
		return nil, false
	}
	if elements, ok = value.Decoded().List(); !ok {
		b.addProblem(name, invalid(notAList))
	}
	return elements, ok
}

// elements is a list of objects with their own members.
func elements(least, most int, called string, members func() []FieldDescription) valueType[[]jsontext.Value] {
	schema := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: jsonschema.Array, Items: SchemaOf(members()), MinItems: least, MaxItems: most}
	}
	size := invalid(fmt.Sprintf("Must be a list of %d to %d %s", least, most, called))
	return valueType[[]jsontext.Value]{description: description{schema: schema, blank: isValue}, read: func(in input, name string) ([]jsontext.Value, bool) {
		list, ok := in.(*Body).list(name)
		if ok && (len(list) < least || len(list) > most) {
			in.addProblem(name, size)
		}
		return list, ok
	}}
}

// Err returns an adapter error that names every wrong field, or nil.
func (b *Body) Err() error { return b.validation.Err() }
