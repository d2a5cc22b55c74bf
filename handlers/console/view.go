package console

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// layout is the frame around the content of a page. Pages are built by functions
// and not by html/template: executing a template makes the linker keep every
// exported method of the program.
type layout struct {
	Title        string
	Invalid      bool   // the content describes an error
	Session      string // "" before the login
	RefreshAfter int    // seconds until the browser reloads; 0 for never
}

// around returns the page with its content.
func (l layout) around(content g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		l.head(),
		h.Body(
			h.A(h.Class("skip"), h.Href("#main"), g.Text("Skip to the content")),
			l.banner(),
			h.Main(h.ID("main"), h.H1(g.Text(l.Title)), content),
		),
	))
}

func (l layout) head() g.Node {
	title := l.Title + " – Bookside"
	if l.Invalid {
		title = "Error: " + title
	}
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		g.If(l.RefreshAfter > 0, h.Meta(g.Attr("http-equiv", "refresh"), h.Content(strconv.Itoa(l.RefreshAfter)))),
		h.TitleEl(g.Text(title)),
		h.Link(h.Rel("icon"), h.Type("image/svg+xml"), h.Href(Path+"/icon.svg")),
		h.Link(h.Rel("stylesheet"), h.Href(Path+"/style.css")),
		h.Script(h.Src(Path+"/script.js"), h.Defer()),
	)
}

// banner is the top of the page, with navigation for those who are logged in.
func (l layout) banner() g.Node {
	return h.Header(
		h.P(h.Class("brand"), h.Img(h.Src(Path+"/icon.svg"), h.Alt(""), h.Width("28"), h.Height("28")), g.Text("Bookside")),
		g.If(l.Session != "", g.Group{
			h.Nav(h.Aria("label", "Pages"), listLink("All keys"), g.Text(" "), webhooksLink("Webhooks")),
			h.Form(h.Method("post"), h.Action(logoutPath),
				hidden("csrf", csrfToken(l.Session)),
				h.Button(h.Class("quiet"), g.Text("Log out")),
			),
		}),
	)
}

func listLink(text string) g.Node { return h.A(h.Href(keysPath), g.Text(text)) }

// button is a link that looks like a button.
func button(path string, text ...g.Node) g.Node {
	return h.A(h.Class("button"), h.Href(path), g.Group(text))
}

func hidden(name, value string) g.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

// screenReaderText is text that only screen readers see.
func screenReaderText(text string) g.Node { return h.Span(h.Class("visually-hidden"), g.Text(text)) }

// takesFocus makes an element take the focus when the page opens.
func takesFocus() g.Node { return g.Group{h.TabIndex("-1"), h.AutoFocus()} }

// alert shows a problem of the whole page; "" for none.
func alert(problem string) g.Node {
	return g.If(problem != "", h.P(h.Class("problem"), h.Role("alert"), takesFocus(), g.Text(problem)))
}

// errorView shows the error of a field; "" for none.
func errorView(field, problem string) g.Node {
	return g.If(problem != "", h.P(h.Class("error"), h.ID(field+"-error"), g.Text(problem)))
}

// describedBy links a field to its hint and to its error.
func describedBy(field, problem string) g.Node {
	if problem == "" {
		return h.Aria("describedby", field+"-hint")
	}
	return g.Group{h.Aria("describedby", field+"-hint "+field+"-error"), h.Aria("invalid", "true")}
}

// view shows the time, or the given word if there is none.
func (t utcTime) view(none string) g.Node {
	if t.Text == "" {
		return g.Text(none)
	}
	return h.Time(h.DateTime(t.Machine), g.Text(t.Text))
}

// messageView shows a text and a link back.
func messageView(session, text string) g.Node {
	return g.Group{
		h.P(g.Text(text)),
		g.If(session != "", h.P(listLink("All keys"))),
	}
}

// sessionExpiredView answers a form that is sent after the session has expired.
func sessionExpiredView() g.Node {
	return g.Group{
		alert("Nothing was changed."),
		h.Ol(
			h.Li(h.A(h.Href(loginPath), h.Target("_blank"), g.Text("Log in again")), g.Text(", in another tab.")),
			h.Li(g.Text("Come back here, reload this page and let the browser send the form again. Your input is kept and shown to you before anything happens.")),
		),
	}
}

func loginView(problem string) g.Node {
	return h.Form(h.Method("post"), h.Action(loginPath), h.AutoComplete("off"), h.Class("narrow"),
		h.P(h.ID("token-hint"), g.Text("On the server, "), h.Kbd(g.Text("bookside admin-token")), g.Text(" prints a token. It can be used once, within ten minutes.")),
		h.Div(h.Class("field"),
			h.Label(h.For("token"), g.Text("Token")),
			errorView("token", problem),
			h.Input(h.ID("token"), h.Name("token"), h.Class("code"), h.Required(), h.AutoFocus(), h.AutoComplete("one-time-code"),
				g.Attr("autocapitalize", "characters"), g.Attr("spellcheck", "false"), describedBy("token", problem)),
		),
		h.Button(h.Class("main"), g.Text("Log in")),
	)
}

// createdView is the only page that ever contains a secret.
func createdView(name, secret string) g.Node {
	return g.Group{
		h.P(g.Text("This is the only time the key "), h.Strong(g.Text(name)),
			g.Text(" is shown: Bookside stores only a hash of it. Copy it now.")),
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
		h.P(listLink("I have copied it: back to all keys")),
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
			g.If(key.maskedSecret() != "", g.Group{g.Text(" ("), h.Code(g.Text(key.maskedSecret())), g.Text(")")}),
			g.Text(" will be rejected immediately. This cannot be undone.")),
		h.P(use),
		h.Form(h.Method("post"), h.Action(keyPath(key.ID)+"/revoke"),
			hidden("csrf", csrf),
			h.P(h.Class("actions"),
				h.Button(h.Class("danger"), g.Text("Revoke the key")),
				button(keysPath, g.Text("Keep it")),
			),
		),
	}
}

// keyPath returns the path of the page that changes a key.
func keyPath(id int64) string { return keysPath + "/" + strconv.FormatInt(id, 10) }
