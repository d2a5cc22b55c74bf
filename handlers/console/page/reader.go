package page

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"

	"github.com/bookside/bookside/adapter/text"
)

// Reader is who reads a page, and where; the zero value reads English and UTC in a browser.
type Reader struct {
	Language string         // a tag such as de; "" for English
	Texts    text.Texts     // the translations into it
	Zone     *time.Location // of the site; nil for UTC
	Frame    Frame
}

// languageTag is the language of a page.
type languageTag struct{ Name }

func (languageTag) For(r Reader) string { return cmp.Or(r.Language, "en") }

// For lets a page be rendered for a reader: nodes find the reader in the writer that they get.
func For(w io.Writer, reader Reader) io.Writer { return output{w, reader} }

type output struct {
	io.Writer
	reader Reader
}

// WriteString implements io.StringWriter, which nodes use if there is one.
func (o output) WriteString(text string) (int, error) { return io.WriteString(o.Writer, text) }

func readerOf(w io.Writer) Reader {
	o, _ := w.(output)
	return o.reader
}

// Phrase is something to read: a Text, a Message, a Name, a Date or several of them.
type Phrase interface {
	g.Node
	For(Reader) string // without markup
}

// render writes a phrase as the content of an element.
func render(w io.Writer, p Phrase) error {
	return g.Text(p.For(readerOf(w))).Render(w)
}

// Text is a text in English, which readers see in their language. Constants of this type are the texts of the
// console in the catalogue; others, such as a status or an error with values in it, are translated if the catalogue has them, or
// their format.
type Text string

// For implements Phrase. What is before \x04 tells texts apart that are equal in English only.
func (t Text) For(r Reader) string {
	translated, known := r.Texts[string(t)]
	if !known {
		translated = t.madeOf(r)
	}
	if _, text, found := strings.Cut(translated, "\x04"); found {
		return text
	}
	return translated
}

// madeOf translates a text that the catalogue does not have by the format that it was made of.
func (t Text) madeOf(r Reader) string {
	format, values := r.Texts.FormatOf(string(t))
	if format == "" {
		return string(t)
	}
	message := Message{format: Text(format)}
	for _, value := range values {
		message.values = append(message.values, Name(r.Texts.Of(value)))
	}
	return message.For(r)
}

// Render implements Node.
func (t Text) Render(w io.Writer) error { return render(w, t) }

// Name is a text of the site, which is the same for every reader.
type Name string

// For implements Phrase.
func (n Name) For(Reader) string { return string(n) }

// Render implements Node.
func (n Name) Render(w io.Writer) error { return render(w, n) }

// Message is a text with values in it.
type Message struct {
	format Text
	values []any
}

// Textf returns a text with values in the place of %s, or of %1$s, %2$s in any order. A value is a phrase, a node or what fmt
// can print. Only messages without nodes are phrases.
func Textf(format Text, values ...any) Message { return Message{format, values} }

// Count returns a text with a number in the place of %d: one of two texts.
func Count(n int, one, many Text) Message {
	if n == 1 {
		many = one
	}
	return Textf(many, n)
}

// places are those of values in a format.
var places = regexp.MustCompile(`%(?:(\d+)\$)?[sd]`)

// parts returns the parts of the translated format, with the values in their places.
func (m Message) parts(r Reader) (parts []any) {
	format, next, end := m.format.For(r), 0, 0
	for _, at := range places.FindAllStringSubmatchIndex(format, -1) {
		if at[2] >= 0 {
			number, _ := strconv.Atoi(format[at[2]:at[3]]) // of digits
			next = number - 1
		}
		if next < 0 || next >= len(m.values) {
			continue // as it is
		}
		parts = append(parts, format[end:at[0]], m.values[next])
		next, end = next+1, at[1]
	}
	return append(parts, format[end:])
}

// For implements Phrase.
func (m Message) For(r Reader) string {
	var all strings.Builder
	for _, part := range m.parts(r) {
		if p, ok := part.(Phrase); ok {
			part = p.For(r)
		}
		fmt.Fprint(&all, part)
	}
	return all.String()
}

// Render implements Node.
func (m Message) Render(w io.Writer) error {
	for _, part := range m.parts(readerOf(w)) {
		node, ok := part.(g.Node)
		if !ok {
			node = Name(fmt.Sprint(part))
		}
		if err := node.Render(w); err != nil {
			return err
		}
	}
	return nil
}

// Phrases are several phrases in a row.
type Phrases []Phrase

// List separates phrases by commas.
func List(all ...Phrase) Phrases {
	var list Phrases
	for i, p := range all {
		if i > 0 {
			list = append(list, Name(", "))
		}
		list = append(list, p)
	}
	return list
}

// For implements Phrase.
func (p Phrases) For(r Reader) string {
	var all strings.Builder
	for _, one := range p {
		all.WriteString(one.For(r))
	}
	return all.String()
}

// Render implements Node.
func (p Phrases) Render(w io.Writer) error { return render(w, p) }

// attribute is an attribute with a phrase.
type attribute struct {
	name  string
	value Phrase
}

// Attr returns an attribute with a phrase, such as aria-label, title or placeholder.
func Attr(name string, value Phrase) g.Node { return attribute{name, value} }

// Label names an element for screen readers.
func Label(label Text) g.Node { return Attr("aria-label", label) }

// Placeholder is an example in an empty field.
func Placeholder(example Text) g.Node { return Attr("placeholder", example) }

// Type makes gomponents render it as an attribute.
func (a attribute) Type() g.NodeType { return g.AttributeType }

// Render implements Node.
func (a attribute) Render(w io.Writer) error {
	return g.Attr(a.name, a.value.For(readerOf(w))).Render(w)
}

// Code is the name of something in a program, which nobody translates.
type Code string

// Render implements Node.
func (c Code) Render(w io.Writer) error { return Name(c).Render(w) }
