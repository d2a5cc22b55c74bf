package page

import (
	"embed"
	"net/http"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

//go:embed style.css frame.css script.js icon.svg
var files embed.FS

// file returns the content of an embedded file.
func file(name string) string {
	content, err := files.ReadFile(name)
	if err != nil { // it is embedded
		panic(err)
	}
	return string(content)
}

// ServeFiles serves the style sheet, the script and the icon below a path.
func ServeFiles(mux *http.ServeMux, path string) {
	for name, content := range map[string]string{"style.css": file("style.css") + file("frame.css"), "script.js": file("script.js"), "icon.svg": file("icon.svg")} {
		mux.HandleFunc("GET "+path+"/"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, name, time.Time{}, strings.NewReader(content))
		})
	}
}

// Layout is what is around the content of a page. Pages are built by functions instead of html/template,
// because executing a template makes the linker keep every exported method of the program.
type Layout struct {
	Title        Phrase
	Invalid      bool   // the content describes an error
	Files        string // the path below which ServeFiles serves
	Style        string // rules of this page alone
	Navigation   g.Node // nil before the login
	Account      g.Node // beside the navigation, where there is a header
	RefreshAfter int    // seconds until the browser reloads; 0 for never
}

// Document returns the whole page for a browser.
func (l Layout) Document(content g.Node) g.Node {
	return h.Doctype(h.HTML(Attr("lang", languageTag{}),
		l.head(),
		h.Body(
			h.A(h.Class("skip"), h.Href("#main"), Text("Skip to the content")),
			h.Header(
				h.P(h.Class("brand"), h.Img(h.Src(l.Files+"/icon.svg"), h.Alt(""), h.Width("28"), h.Height("28")), g.Text("Bookside")),
				l.Navigation, l.Account,
			),
			h.Main(h.ID("main"), h.H1(l.Title), content),
		),
	))
}

// Part returns the page for the inside of another one. It is in a shadow root, so that neither the styles of that page nor
// those of this one reach each other. The script is not, because it would not know itself there.
func (l Layout) Part(content g.Node) g.Node {
	return g.Group{
		h.Div(h.ID("bookside"), Attr("lang", languageTag{}), h.Template(g.Attr("shadowrootmode", "open"),
			h.StyleEl(g.Raw(file("style.css")+l.Style)), l.Navigation, h.H1(l.Title), content)),
		h.Script(g.Raw(file("script.js"))),
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
		g.If(l.Style != "", h.StyleEl(g.Raw(l.Style))),
		h.Script(h.Src(l.Files+"/script.js"), h.Defer()),
	)
}
