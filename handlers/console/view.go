package console

import (
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/handlers/console/page"
)

// banner is the navigation for those who are logged in.
func (v *visit) banner() g.Node {
	if v.session == "" {
		return nil
	}
	here, searched := pageAt(v.r.URL.Path), ""
	if v.r.URL.Path == searchPath {
		here, searched = page.Link{}, v.r.URL.Query().Get("q")
	}
	return g.Group{
		h.Nav(page.Label("Pages"), g.Map(pages, func(p page.Link) g.Node {
			p.Here = p == here
			return p.View()
		})),
		searchField(searched),
		g.If(v.proxied == "" && v.frame == nil, h.Form(h.Method("post"), h.Action(logoutPath),
			page.Hidden("csrf", csrfToken(v.session)),
			h.Button(h.Class("quiet"), page.Text("Log out")),
		)),
	}
}

// pages are the entries of the navigation, each with the key that leads there after g.
var pages = []page.Link{
	{Text: "Overview", Path: Path, Key: "o"},
	{Text: "Bookings", Path: bookingsPath, Key: "b"},
	{Text: "Keys", Path: keysPath, Key: "k"},
	{Text: "Calendars", Path: calendarsPath, Key: "c"},
	{Text: "Webhooks", Path: webhooksPath, Key: "w"},
	{Text: "Extensions", Path: extensionsPath, Key: "e"},
	{Text: "Requests", Path: requestsPath, Key: "r"},
	{Text: "Journal", Path: journalPath, Key: "j"},
}

// pageAt returns the page to which a path belongs.
func pageAt(path string) page.Link {
	for _, p := range pages[1:] {
		if path == p.Path || strings.HasPrefix(path, p.Path+"/") {
			return p
		}
	}
	return pages[0]
}

func listLink(text page.Text) g.Node { return h.A(h.Href(keysPath), text) }

// messageView shows a text and a link back.
func messageView(session, path string, text page.Text) g.Node {
	back := pageAt(path)
	return g.Group{
		h.P(text),
		g.If(session != "", h.P(h.A(h.Href(back.Path), page.Textf("Back to: %s", back.Text)))),
	}
}

// sessionExpiredView answers a form sent after its session expired.
func sessionExpiredView() g.Node {
	return g.Group{
		page.Alert("Nothing was changed."),
		h.Ol(
			h.Li(page.Textf("%s, in another tab.", h.A(h.Href(loginPath), h.Target("_blank"), page.Text("Log in again")))),
			h.Li(page.Text("Come back here, reload this page and let the browser send the form again. Your input is kept and shown to you before anything happens.")),
		),
	}
}

func loginView(problem page.Text) g.Node {
	return h.Form(h.Method("post"), h.Action(loginPath), h.AutoComplete("off"), h.Class("narrow"),
		h.P(h.ID("token-hint"), page.Textf("On the server, %s prints a token. It can be used once, within ten minutes.", h.Kbd(page.Code("bookside admin-token")))),
		h.Div(h.Class("field"),
			h.Label(h.For("token"), page.Text("Token")),
			page.Error("token", problem),
			h.Input(h.ID("token"), h.Name("token"), h.Class("code"), h.Required(), h.AutoFocus(), h.AutoComplete("one-time-code"),
				g.Attr("autocapitalize", "characters"), g.Attr("spellcheck", "false"), page.DescribedBy("token", problem)),
		),
		h.Button(h.Class("main"), page.Text("Log in")),
	)
}
