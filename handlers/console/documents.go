package console

import (
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/documents"
)

// DocumentsPath is the path below which documents are shown.
const DocumentsPath = Path + "/documents"

// documentPath returns the address of a document; "" if the library, as that of the demo, does not have it.
func documentPath(library *documents.Library, name string) string {
	if _, ok := library.Document(name); !ok {
		return ""
	}
	return DocumentsPath + "/" + name
}

// listDocuments shows all documents, or the sections that a search finds.
func (c *Console) listDocuments(v *visit) error {
	library, err := v.Documents()
	if err != nil {
		return err
	}
	query := v.r.URL.Query().Get("q")
	content := documentList(library)
	if query != "" {
		content = matchList(library.Search(query))
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Documents")}, g.Group{documentSearch(query), content})
	return nil
}

func (c *Console) showDocument(v *visit) error {
	library, err := v.Documents()
	if err != nil {
		return err
	}
	document, ok := library.Document(v.r.PathValue("name"))
	if !ok {
		return c.noPage(v)
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Name(document.Title)}, g.Group{documentSearch(""), h.Article(h.Lang("en"), g.Raw(string(document.HTML)))})
	return nil
}

func documentSearch(query string) g.Node {
	return h.Form(h.Class("conditions"), h.Role("search"), h.Action(DocumentsPath),
		page.Condition("q", "Search in all documents", h.Input(h.Type("search"), h.ID("q"), h.Name("q"), h.Value(query))),
		h.Div(h.Class("actions"), h.Button(h.Class("main"), page.Text("Search"))),
	)
}

func documentList(library *documents.Library) g.Node {
	return h.Ul(h.Lang("en"), g.Map(library.Documents(), func(d documents.Document) g.Node {
		return h.Li(h.A(h.Href(DocumentsPath+"/"+d.Name), g.Text(d.Title)), h.Br(), g.Text(d.Summary()))
	}))
}

func matchList(found []documents.Match) g.Node {
	if len(found) == 0 {
		return h.P(page.Text("No document has all of these words."))
	}
	return h.Ul(h.Lang("en"), g.Map(found, func(m documents.Match) g.Node {
		address, title := DocumentsPath+"/"+m.Document, m.Title
		if m.Anchor != "" {
			address, title = address+"#"+m.Anchor, m.Title+": "+m.Heading
		}
		return h.Li(h.A(h.Href(address), g.Text(title)), h.Br(), g.Text(m.Excerpt))
	}))
}
