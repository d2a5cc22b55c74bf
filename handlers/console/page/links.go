package page

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Link is one of several links to choose from.
type Link struct {
	Text Text
	Path string
	Here bool   // whether it leads to the current page
	Key  string // leads there after g, see script.js; "" for none
}

// View shows the link.
func (l Link) View() g.Node {
	return h.A(h.Href(l.Path), g.If(l.Key != "", h.Data("key", l.Key)), g.If(l.Here, h.Aria("current", "page")), l.Text)
}

// Links offers links to parts of a list.
func Links(label Text, links []Link) g.Node {
	return h.Nav(h.Class("filters"), Label(label), g.Map(links, Link.View))
}

// Button is a link that looks like a button.
func Button(path string, text ...g.Node) g.Node {
	return h.A(h.Class("button"), h.Href(path), g.Group(text))
}

// LinkList shows links to pages of wp-admin.
func LinkList(links []Link) g.Node {
	if len(links) == 0 {
		return nil
	}
	return h.Ul(h.Class("places"), g.Map(links, func(l Link) g.Node { return h.Li(h.A(h.Href(l.Path), h.Rel("noreferrer"), l.Text)) }))
}
