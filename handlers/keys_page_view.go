package handlers

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// frame is what stands around the content of a page. Pages are made by
// functions, not by html/template: a template that is executed makes the linker
// keep every exported method of the program.
type frame struct {
	Title   string
	Failed  bool   // the content tells of errors
	Session string // "" before the login
	Waits   int    // seconds until the browser asks again; 0 for never
}

// around is the page with its content.
func (f frame) around(content g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		f.head(),
		h.Body(
			h.A(h.Class("skip"), h.Href("#main"), g.Text("Skip to the content")),
			f.banner(),
			h.Main(h.ID("main"), h.H1(g.Text(f.Title)), content),
		),
	))
}

func (f frame) head() g.Node {
	title := f.Title + " – Bookside"
	if f.Failed {
		title = "Error: " + title
	}
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		g.If(f.Waits > 0, h.Meta(g.Attr("http-equiv", "refresh"), h.Content(strconv.Itoa(f.Waits)))),
		h.TitleEl(g.Text(title)),
		h.Link(h.Rel("icon"), h.Type("image/svg+xml"), h.Href("/keys/icon.svg")),
		h.Link(h.Rel("stylesheet"), h.Href("/keys/style.css")),
		h.Script(h.Src("/keys/script.js"), h.Defer()),
	)
}

// banner is the top of the page. Only who is logged in has where to go.
func (f frame) banner() g.Node {
	return h.Header(
		h.P(h.Class("brand"), h.Img(h.Src("/keys/icon.svg"), h.Alt(""), h.Width("28"), h.Height("28")), g.Text("Bookside")),
		g.If(f.Session != "", g.Group{
			h.Nav(h.Aria("label", "Pages"), toAllKeys("All keys")),
			h.Form(h.Method("post"), h.Action("/keys/logout"),
				hidden("csrf", csrfOf(f.Session)),
				h.Button(h.Class("quiet"), g.Text("Log out")),
			),
		}),
	)
}

func toAllKeys(text string) g.Node { return h.A(h.Href("/keys"), g.Text(text)) }

// button is a link in the look of one.
func button(path string, text ...g.Node) g.Node {
	return h.A(h.Class("button"), h.Href(path), g.Group(text))
}

func hidden(name, value string) g.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

// unseen is text for those who have the page read aloud.
func unseen(text string) g.Node { return h.Span(h.Class("unseen"), g.Text(text)) }

// focused takes the focus when the page opens.
func focused() g.Node { return g.Group{h.TabIndex("-1"), h.AutoFocus()} }

// alert is a problem of the whole page; "" for none.
func alert(problem string) g.Node {
	return g.If(problem != "", h.P(h.Class("problem"), h.Role("alert"), focused(), g.Text(problem)))
}

// fieldErrorText is what is wrong with a field; "" for nothing.
func fieldErrorText(field, problem string) g.Node {
	return g.If(problem != "", h.P(h.Class("error"), h.ID(field+"-error"), g.Text(problem)))
}

// describedBy leads from a field to its hint, and to what is wrong with it.
func describedBy(field, problem string) g.Node {
	if problem == "" {
		return h.Aria("describedby", field+"-hint")
	}
	return g.Group{h.Aria("describedby", field+"-hint "+field+"-error"), h.Aria("invalid", "true")}
}

// view is the instant, or the word for none.
func (m moment) view(none string) g.Node {
	if m.Text == "" {
		return g.Text(none)
	}
	return h.Time(h.DateTime(m.Machine), g.Text(m.Text))
}

// messageView is all that a page says, and the way back.
func messageView(session, text string) g.Node {
	return g.Group{
		h.P(g.Text(text)),
		g.If(session != "", h.P(toAllKeys("All keys"))),
	}
}

// overView is what a form comes to whose login is over.
func overView() g.Node {
	return g.Group{
		alert("Nothing was changed."),
		h.Ol(
			h.Li(h.A(h.Href("/keys/login"), h.Target("_blank"), g.Text("Log in again")), g.Text(", in another tab.")),
			h.Li(g.Text("Come back here, reload this page and let it send the form again. What you typed is kept, and shown to you before anything happens.")),
		),
	}
}

func loginView(problem string) g.Node {
	return h.Form(h.Method("post"), h.Action("/keys/login"), h.AutoComplete("off"), h.Class("narrow"),
		h.P(h.ID("token-hint"), g.Text("On the server, "), h.Kbd(g.Text("bookside admin-token")), g.Text(" prints a token. It works once, within ten minutes.")),
		h.Div(h.Class("field"),
			h.Label(h.For("token"), g.Text("Token")),
			fieldErrorText("token", problem),
			h.Input(h.ID("token"), h.Name("token"), h.Class("code"), h.Required(), h.AutoFocus(), h.AutoComplete("one-time-code"),
				g.Attr("autocapitalize", "characters"), g.Attr("spellcheck", "false"), describedBy("token", problem)),
		),
		h.Button(h.Class("main"), g.Text("Log in")),
	)
}

// createdView is the only page that ever holds a secret.
func createdView(name, secret string) g.Node {
	return g.Group{
		h.P(g.Text("This is the only time that the key "), h.Strong(g.Text(name)),
			g.Text(" is shown: Bookside keeps nothing but a hash of it. Copy it now.")),
		h.Div(h.Class("field secret"),
			h.Label(h.For("secret"), g.Text("Key")),
			h.Div(h.Class("copy"),
				h.Textarea(h.ID("secret"), h.Class("code"), h.Rows("2"), h.ReadOnly(), h.AutoFocus(), h.AutoComplete("off"), g.Attr("spellcheck", "false"),
					g.Text(secret)),
				h.Button(h.Type("button"), h.Class("main"), h.ID("copy"), g.Attr("hidden"), g.Text("Copy")),
			),
			h.P(h.Class("hint"), h.ID("copied"), h.Role("status")),
		),
		h.P(g.Text("A client sends it as "), h.Code(g.Text("X-API-Key")), g.Text(".")),
		h.P(toAllKeys("I have kept it: back to all keys")),
	}
}

func revokeView(key keyRow, csrf, problem string) g.Node {
	use := g.Group{g.Text("It was never used.")}
	if key.LastUsed.Text != "" {
		use = g.Group{g.Text("It was last used on "), key.LastUsed.view(""), g.Text(" (UTC).")}
	}
	return g.Group{
		alert(problem),
		h.P(g.Text("Clients that use the key "), h.Strong(g.Text(key.Name)),
			g.If(key.shown() != "", g.Group{g.Text(" ("), h.Code(g.Text(key.shown())), g.Text(")")}),
			g.Text(" will be refused at once. This cannot be taken back.")),
		h.P(use),
		h.Form(h.Method("post"), h.Action(keyPath(key.ID)+"/revoke"),
			hidden("csrf", csrf),
			h.P(h.Class("actions"),
				h.Button(h.Class("danger"), g.Text("Revoke the key")),
				button("/keys", g.Text("Keep it")),
			),
		),
	}
}

// keyPath is where the terms of a key are.
func keyPath(id int64) string { return "/keys/" + strconv.FormatInt(id, 10) }
