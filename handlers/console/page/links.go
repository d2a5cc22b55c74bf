package page

import (
	"io"
	"maps"
	"net/url"
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Frame is where pages of the console are shown: in a browser by themselves, which is the zero value, or in a page of another
// program.
type Frame struct {
	Address func(path string) string // of a page; nil for its path itself
	Guard   g.Node                   // a field of every form that changes something
}

// address returns the address of a page of the console in the frame of the reader.
func (r Reader) address(path string) string {
	if r.Frame.Address == nil {
		return path
	}
	return r.Frame.Address(path)
}

// reference is an attribute with the address of a page.
type reference struct{ name, path string }

// Type makes gomponents render it as an attribute.
func (a reference) Type() g.NodeType { return g.AttributeType }

// Render implements Node.
func (a reference) Render(w io.Writer) error {
	return g.Attr(a.name, readerOf(w).address(a.path)).Render(w)
}

// Href leads to a page of the console, in the frame of the reader.
func Href(path string) g.Node { return reference{"href", path} }

// A is a link to a page of the console.
func A(path string, content ...g.Node) g.Node { return h.A(Href(path), g.Group(content)) }

// PostForm is a form that changes something.
func PostForm(path string, content ...g.Node) g.Node {
	guard := g.NodeFunc(func(w io.Writer) error {
		if field := readerOf(w).Frame.Guard; field != nil {
			return field.Render(w)
		}
		return nil
	})
	return h.Form(h.Method("post"), reference{"action", path}, guard, g.Group(content))
}

// GetForm is a form that asks for a page. Browsers drop the query of its address, which is sent in hidden fields instead.
func GetForm(path string, content ...g.Node) g.Node {
	return g.NodeFunc(func(w io.Writer) error {
		address, err := url.Parse(readerOf(w).address(path))
		if err != nil {
			return err
		}
		query, hidden := address.Query(), g.Group{}
		for _, name := range slices.Sorted(maps.Keys(query)) {
			hidden = append(hidden, Hidden(name, query.Get(name)))
		}
		return h.Form(g.If(address.Path != "", h.Action(address.Path)), hidden, g.Group(content)).Render(w)
	})
}

// Link is one of several links to choose from.
type Link struct {
	Text Text
	Path string // of a page of the console
	Here bool   // whether it leads to the current page
}

// View shows the link.
func (l Link) View() g.Node { return A(l.Path, g.If(l.Here, h.Aria("current", "page")), l.Text) }

// Links offers links to parts of a list.
func Links(label Text, links []Link) g.Node {
	return h.Nav(h.Class("filters"), Label(label), g.Map(links, Link.View))
}

// Button is a link that looks like a button.
func Button(path string, text ...g.Node) g.Node { return A(path, h.Class("button"), g.Group(text)) }

// MainButton is a link to what people mostly do on a page.
func MainButton(path string, text Text) g.Node { return A(path, h.Class("button main"), text) }

// Place is a page of wp-admin.
type Place struct {
	Text    Text
	Address string
}

// Away leads to a page of wp-admin, or shows its text alone if the address is "".
func Away(address string, content ...g.Node) g.Node {
	if address == "" {
		return h.Span(content...)
	}
	return h.A(h.Href(address), h.Rel("noreferrer"), g.Group(content))
}

// Places lists pages of wp-admin.
func Places(places []Place) g.Node {
	if len(places) == 0 {
		return nil
	}
	return h.Ul(h.Class("places"), g.Map(places, func(p Place) g.Node { return h.Li(Away(p.Address, p.Text)) }))
}
