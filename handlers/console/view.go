package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// layout is the frame around the content of a page. Pages are built by functions instead of html/template,
// because executing a template makes the linker keep every exported method of the program.
type layout struct {
	Title        string
	Invalid      bool   // the content describes an error
	Session      string // "" before the login
	Path         string // of the page
	Proxied      bool   // whether a proxy logs people in and out
	Agenda       bool   // the page needs the style sheet of the agenda
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
		g.If(l.Agenda, h.Link(h.Rel("stylesheet"), h.Href(agendaStylePath))),
		h.Script(h.Src(Path+"/script.js"), h.Defer()),
	)
}

// banner is the top of the page, with navigation for those who are logged in.
func (l layout) banner() g.Node {
	return h.Header(
		h.P(h.Class("brand"), h.Img(h.Src(Path+"/icon.svg"), h.Alt(""), h.Width("28"), h.Height("28")), g.Text("Bookside")),
		g.If(l.Session != "", g.Group{
			h.Nav(h.Aria("label", "Pages"), g.Map(pages, func(p filter) g.Node {
				p.Here = p == pageAt(l.Path)
				return p.link()
			})),
			g.If(!l.Proxied, h.Form(h.Method("post"), h.Action(logoutPath),
				hidden("csrf", csrfToken(l.Session)),
				h.Button(h.Class("quiet"), g.Text("Log out")),
			)),
		}),
	)
}

// pages are the entries of the navigation.
var pages = []filter{{Text: "Overview", Path: Path}, {Text: "Bookings", Path: bookingsPath}, {Text: "Keys", Path: keysPath}, {Text: "Calendars", Path: calendarsPath}, {Text: "Webhooks", Path: webhooksPath}, {Text: "Extensions", Path: extensionsPath}, {Text: "Outbox", Path: outboxPath}, {Text: "Requests", Path: requestsPath}, {Text: "Journal", Path: journalPath}, {Text: "Documents", Path: DocumentsPath}}

// pageAt returns the page to which a path belongs.
func pageAt(path string) filter {
	for _, p := range pages[1:] {
		if path == p.Path || strings.HasPrefix(path, p.Path+"/") {
			return p
		}
	}
	return pages[0]
}

// filter is one of several links to choose from.
type filter struct {
	Text, Path string
	Here       bool // whether it leads to the current page
}

func (f filter) link() g.Node {
	return h.A(h.Href(f.Path), g.If(f.Here, h.Aria("current", "page")), g.Text(f.Text))
}

// filterList offers links to parts of a list.
func filterList(label string, filters []filter) g.Node {
	return h.Nav(h.Class("filters"), h.Aria("label", label), g.Map(filters, filter.link))
}

// condition is a field of a form that filters a list.
func condition(name, label string, control g.Node) g.Node {
	return h.Div(h.Label(h.For(name), g.Text(label)), control)
}

// selection is a list of values and their texts to choose from, or any.
func selection(name, chosen string, choices [][2]string) g.Node {
	return h.Select(h.ID(name), h.Name(name), h.Option(h.Value(""), g.Text("any")), g.Map(choices, func(c [2]string) g.Node {
		return h.Option(h.Value(c[0]), g.If(c[0] == chosen, h.Selected()), g.Text(c[1]))
	}))
}

// dataTable sets the roles of its parts, because browsers no longer recognise a table whose rows the style
// sheet turns into cards.
func dataTable(heads []string, rows g.Node) g.Node {
	return h.Table(h.Class("keys"), h.Role("table"),
		h.THead(h.Role("rowgroup"), h.Tr(h.Role("row"), g.Map(heads, func(head string) g.Node {
			if head == "" {
				return columnHead(screenReaderText("Actions"))
			}
			return columnHead(g.Text(head))
		}))),
		h.TBody(h.Role("rowgroup"), rows),
	)
}

func dataRow(head g.Node, cells ...g.Node) g.Node {
	return h.Tr(h.Role("row"), h.Th(h.Role("rowheader"), h.Scope("row"), head), g.Group(cells))
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

// alert shows a problem with the whole page; "" for none.
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

// view shows the time, or the given word for none.
func (t utcTime) view(none string) g.Node {
	if t.Text == "" {
		return g.Text(none)
	}
	return h.Time(h.DateTime(t.Machine), g.Text(t.Text))
}

// relative says how long ago something was.
func relative(age time.Duration) string {
	switch {
	case age < 10*time.Second:
		return "just now"
	case age < time.Minute:
		return fmt.Sprintf("%d seconds ago", int(age.Seconds()))
	case age < time.Hour:
		return count(int(age.Minutes()), "minute", "minutes") + " ago"
	case age < 48*time.Hour:
		return count(int(age.Hours()), "hour", "hours") + " ago"
	case age < 90*24*time.Hour:
		return count(int(age.Hours()/24), "day", "days") + " ago"
	default:
		return count(int(age.Hours()/24/30), "month", "months") + " ago"
	}
}

// messageView shows a text and a link back.
func messageView(session, path, text string) g.Node {
	back := pageAt(path)
	return g.Group{
		h.P(g.Text(text)),
		g.If(session != "", h.P(h.A(h.Href(back.Path), g.Text("Back to: "+back.Text)))),
	}
}

// sessionExpiredView answers a form sent after its session expired.
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
