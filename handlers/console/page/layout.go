package page

import (
	"embed"
	"net/http"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

//go:embed style.css script.js icon.svg
var files embed.FS

// ServeFiles serves the style sheet, the script and the icon below a path.
func ServeFiles(mux *http.ServeMux, path string) {
	for _, name := range []string{"style.css", "script.js", "icon.svg"} {
		mux.HandleFunc("GET "+path+"/"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, name) })
	}
}

// Layout is the frame around the content of a page. Pages are built by functions instead of html/template,
// because executing a template makes the linker keep every exported method of the program.
type Layout struct {
	Title        Phrase
	Invalid      bool   // the content describes an error
	Files        string // the path below which ServeFiles serves
	Style        string // the path of a style sheet that this page needs, too; "" for none
	Banner       g.Node // the navigation; nil before the login
	RefreshAfter int    // seconds until the browser reloads; 0 for never
}

// Around returns the page with its content.
func (l Layout) Around(content g.Node) g.Node {
	return h.Doctype(h.HTML(Attr("lang", languageTag{}),
		l.head(),
		h.Body(
			h.A(h.Class("skip"), h.Href("#main"), Text("Skip to the content")),
			h.Header(
				h.P(h.Class("brand"), h.Img(h.Src(l.Files+"/icon.svg"), h.Alt(""), h.Width("28"), h.Height("28")), g.Text("Bookside")),
				l.Banner,
			),
			h.Main(h.ID("main"), h.H1(l.Title), content),
		),
	))
}

// FrameID is the id of the element that has a page inside of a page of wp-admin.
const FrameID = "bookside"

//go:embed style.css
var style string

//go:embed script.js
var script string

// Inner returns what a page shows inside of a page of wp-admin: the navigation, the title and the content.
func (l Layout) Inner(content g.Node) g.Node {
	return g.Group{h.Header(h.Role("presentation"), l.Banner), h.Div(h.Class("inner"), h.H1(l.Title), content)}
}

// Part returns what Inner returned, rendered, with styles and the script. It is in a shadow root, so that neither the styles of
// wp-admin nor those of the page reach each other. The script is not, because it would not know itself there.
func (l Layout) Part(inner g.Node) g.Node {
	return g.Group{
		h.Div(h.ID(FrameID), Attr("lang", languageTag{}), h.Template(g.Attr("shadowrootmode", "open"), h.StyleEl(g.Raw(style)), inner)),
		h.Script(scriptTexts(), g.Raw("(() => {"+script+"})();")),
	}
}

// scriptTexts are the texts of the script.
func scriptTexts() g.Node {
	return g.Group{
		Attr("data-shortcuts", Text("Shortcuts")), Attr("data-search", Text("Search")), Attr("data-list", Text("This list")), Attr("data-close", Text("Close")),
	}
}

func (l Layout) head() g.Node {
	title := Phrase(Phrases{l.Title, Name(" – Bookside")})
	if l.Invalid {
		title = Textf("Error: %s", title)
	}
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		g.If(l.RefreshAfter > 0, h.Meta(g.Attr("http-equiv", "refresh"), h.Content(strconv.Itoa(l.RefreshAfter)))),
		h.TitleEl(title),
		h.Link(h.Rel("icon"), h.Type("image/svg+xml"), h.Href(l.Files+"/icon.svg")),
		h.Link(h.Rel("stylesheet"), h.Href(l.Files+"/style.css")),
		g.If(l.Style != "", h.Link(h.Rel("stylesheet"), h.Href(l.Style))),
		h.Script(h.Src(l.Files+"/script.js"), h.Defer(), scriptTexts()),
	)
}
