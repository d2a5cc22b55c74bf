package documents

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Library is a set of documents. A nil *Library has none.
type Library struct {
	documents []Document
}

// Document is a rendered document.
type Document struct {
	Name  string // in addresses, for example "install"
	Title string
	HTML  []byte // without the title

	sections []section
}

// section is the text between two headings.
type section struct {
	heading, anchor, text string
}

// readers are the names of documents, ordered by reader: the owner of a site, the operator of the server,
// the author of a client.
var readers = []string{
	"install", "owner", "extensions", "companion", "without-root", "moving", "compare",
	"operation", "configuration", "backup", "metrics", "limits",
	"api", "permissions", "webhooks", "agents", "decisions",
}

// New renders the Markdown files of some directories. base is the address below which their pages are
// served.
func New(base string, sources ...fs.FS) (*Library, error) {
	texts := map[string][]byte{}
	for _, source := range sources {
		files, err := fs.Glob(source, "*.md")
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		for _, file := range files {
			if texts[nameOf(file)], err = fs.ReadFile(source, file); err != nil {
				return nil, fmt.Errorf("read a document: %w", err)
			}
		}
	}
	var l Library
	for name, content := range texts {
		d, err := render(name, content, base, texts)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", name, err)
		}
		l.documents = append(l.documents, d)
	}
	slices.SortFunc(l.documents, func(a, b Document) int {
		return cmp.Or(cmp.Compare(place(a.Name), place(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return &l, nil
}

func nameOf(file string) string { return strings.ToLower(strings.TrimSuffix(path.Base(file), ".md")) }

// place returns the position of a document; documents not in readers come last.
func place(name string) int {
	if i := slices.Index(readers, name); i >= 0 {
		return i
	}
	return len(readers)
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func render(name string, content []byte, base string, texts map[string][]byte) (Document, error) {
	root := markdown.Parser().Parse(text.NewReader(content))
	title, ok := root.FirstChild().(*ast.Heading)
	if !ok {
		return Document{}, errors.New("it does not begin with its title")
	}
	d := Document{Name: name, Title: plainText(title, content)}
	root.RemoveChild(root, title)
	for _, link := range links(root) {
		relink(link, base, texts)
	}
	d.sections = sections(d.Title, root, content)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, content, root); err != nil {
		return Document{}, err
	}
	d.HTML = b.Bytes()
	return d, nil
}

func links(root ast.Node) (all []*ast.Link) {
	_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if link, ok := node.(*ast.Link); ok && entering {
			all = append(all, link)
		}
		return ast.WalkContinue, nil
	})
	return all
}

// relink points a link to another document at its page. A link to a file that is not embedded becomes its
// text.
func relink(link *ast.Link, base string, texts map[string][]byte) {
	to, err := url.Parse(string(link.Destination))
	if err != nil || to.Scheme != "" || to.Path == "" {
		return
	}
	if name := nameOf(to.Path); path.Ext(to.Path) == ".md" && texts[name] != nil {
		link.Destination = []byte(base + "/" + name)
		if to.Fragment != "" {
			link.Destination = append(link.Destination, "#"+to.Fragment...)
		}
		return
	}
	for child := link.FirstChild(); child != nil; child = link.FirstChild() {
		link.Parent().InsertBefore(link.Parent(), link, child)
	}
	link.Parent().RemoveChild(link.Parent(), link)
}

func sections(title string, root ast.Node, content []byte) []section {
	all := []section{{heading: title}}
	for node := root.FirstChild(); node != nil; node = node.NextSibling() {
		heading, ok := node.(*ast.Heading)
		if !ok {
			all[len(all)-1].text += plainText(node, content) + " "
			continue
		}
		s := section{heading: plainText(heading, content)}
		if id, ok := heading.AttributeString("id"); ok {
			s.anchor = fmt.Sprintf("%s", id)
		}
		all = append(all, s)
	}
	return all
}

// plainText returns the words of a node, separated by single spaces.
func plainText(root ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		switch node := node.(type) {
		case *ast.Text:
			if entering {
				b.Write(node.Segment.Value(content))
				if node.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock:
			if entering {
				b.Write(node.Lines().Value(content))
			}
		default:
			if !entering && node.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// Documents returns all documents, grouped by reader.
func (l *Library) Documents() []Document {
	if l == nil {
		return nil
	}
	return l.documents
}

// Document returns a document by its name.
func (l *Library) Document(name string) (Document, bool) {
	for _, d := range l.Documents() {
		if d.Name == name {
			return d, true
		}
	}
	return Document{}, false
}

// Summary returns the first sentence of a document.
func (d Document) Summary() string { return firstSentence(d.sections[0].text) }

func firstSentence(text string) string {
	if end := strings.Index(text, ". "); end >= 0 {
		return text[:end+1]
	}
	return strings.TrimSpace(text)
}

// Match is a section that contains all words of a search.
type Match struct {
	Document, Title string // the document
	Heading, Anchor string // Anchor is "" for the text before the first heading
	Excerpt         string // around the first word found
}

const (
	maxMatches = 50
	// excerpt is the number of bytes shown before and after a word, about a line each.
	excerpt = 120
)

// Search returns the sections that contain all words of a query, ignoring case; those with one in the
// heading come first. An empty query finds nothing.
func (l *Library) Search(query string) []Match {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	var inHeading, others []Match
	for _, d := range l.Documents() {
		for _, s := range d.sections {
			heading, text := strings.ToLower(s.heading), strings.ToLower(s.text)
			if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(heading+" "+text, word) }) {
				continue
			}
			m := Match{Document: d.Name, Title: d.Title, Heading: s.heading, Anchor: s.anchor, Excerpt: around(s.text, strings.Index(text, words[0]))}
			if strings.Contains(heading, words[0]) {
				inHeading = append(inHeading, m)
			} else {
				others = append(others, m)
			}
		}
	}
	found := slices.Concat(inHeading, others)
	return found[:min(len(found), maxMatches)]
}

// around returns the whole words of a text around a position.
func around(text string, at int) string {
	from, to := max(0, min(at, len(text))-excerpt), min(len(text), max(0, at)+excerpt)
	cut := text[from:to]
	if from > 0 {
		_, cut, _ = strings.Cut(cut, " ")
		cut = "… " + cut
	}
	if to < len(text) {
		cut = cut[:max(0, strings.LastIndex(cut, " "))] + " …"
	}
	return strings.ToValidUTF8(cut, "")
}
