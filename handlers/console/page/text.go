package page

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// ScreenReaderText is text that only screen readers see.
func ScreenReaderText(text Phrase) g.Node { return h.Span(h.Class("visually-hidden"), text) }

// TakesFocus makes an element take the focus when the page opens.
func TakesFocus() g.Node { return g.Group{h.TabIndex("-1"), h.AutoFocus()} }

// Alert shows a problem with the whole page, in sentences; none, or "", for no problem.
func Alert(sentences ...Text) g.Node {
	var problem Phrases
	for i, sentence := range sentences {
		if i > 0 {
			problem = append(problem, Name(" "))
		}
		problem = append(problem, sentence)
	}
	return g.If(problem.For(Reader{}) != "", h.P(h.Class("problem"), h.Role("alert"), TakesFocus(), problem))
}

// Done says what was just done; nil for nothing.
func Done(text Phrase) g.Node {
	return g.If(text != nil, h.P(h.Class("done"), h.Role("status"), TakesFocus(), text))
}

// Secret shows a secret, with a button that copies it.
func Secret(label Text, secret string) g.Node {
	return h.Div(h.Class("field secret"),
		h.Label(h.For("secret"), label),
		h.Div(h.Class("copy"),
			h.Textarea(h.ID("secret"), h.Class("code"), h.Rows("2"), h.ReadOnly(), h.AutoFocus(), h.AutoComplete("off"), g.Attr("spellcheck", "false"), g.Text(secret)),
			h.Button(h.Type("button"), h.Class("main"), h.ID("copy"), g.Attr("hidden"), Text("Copy")),
		),
		h.P(h.Class("hint"), h.ID("copied"), h.Role("status"), Attr("data-copied", Text("Copied.")),
			Attr("data-selected", Text("The browser does not allow this page to copy. The key is selected: press Ctrl+C."))),
	)
}
