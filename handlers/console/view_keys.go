package console

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

// keyList has the keys that match a search.
type keyList struct {
	Search           string      // "" for all
	Confirmation     page.Phrase // describes the action just done; nil for none
	Total            int         // number of all keys, including those that do not match
	Active, Inactive []keyRow
}

func (l keyList) view() g.Node {
	inUse := h.P(page.Text("No key is in use. Every app needs one: create it here, and enter it in the app."))
	switch {
	case len(l.Active) > 0:
		inUse = g.Group{h.H2(h.ID("active"), page.Text("In use")), keyTable(l.Active)}
	case l.Search != "":
		inUse = h.P(page.Text("No key in use matches."))
	}
	return g.Group{
		page.Done(l.Confirmation),
		page.ZoneHint(),
		h.Div(h.Class("toolbar"),
			h.A(h.Class("button main"), h.Href(keysPath+"/new"), page.Text("New key")),
			g.If(l.Total > 0, l.searchForm()),
		),
		inUse,
		g.If(len(l.Inactive) > 0, h.Details(g.If(l.Search != "", g.Attr("open")),
			h.Summary(page.Textf("Revoked and expired keys (%s)", len(l.Inactive))),
			keyTable(l.Inactive),
		)),
		h.P(h.Class("hint"), page.Text("The last use is recorded at most once a minute.")),
	}
}

func (l keyList) searchForm() g.Node {
	return h.Form(h.Class("search"), h.Role("search"), h.Action(keysPath),
		h.Label(h.For("q"), h.Class("visually-hidden"), page.Text("Search keys")),
		h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Value(l.Search), page.Placeholder("name, permission, maker")),
		h.Button(page.Text("Search")),
		g.If(l.Search != "", h.A(h.Href(keysPath), page.Text("All keys"))),
	)
}

func keyTable(rows []keyRow) g.Node {
	return page.Table([]page.Text{"Name", "Permissions", "Networks", "Requests", "Last use", "Made", "Status", ""}, g.Map(rows, keyRow.view))
}

func (r keyRow) view() g.Node {
	return h.Tr(h.Role("row"),
		r.nameCell(),
		page.Cell("Permissions", r.permissionView(), r.narrow()),
		page.Cell("Networks", r.networks()),
		page.Cell("Requests", r.limits()),
		page.Cell("Last use", r.lastUse()),
		page.Cell("Made", page.Stamp(r.CreatedAt, "never"), g.If(r.CreatedBy != "", g.Group{h.Br(), h.Span(h.Class("hint word"), g.Text(r.CreatedBy))})),
		page.Cell("Status", r.status()),
		r.actions(),
	)
}

func (r keyRow) nameCell() g.Node {
	return h.Th(h.Role("rowheader"), h.Scope("row"),
		h.Span(h.Class("name"), g.Text(r.Name)),
		g.Text(" "),
		h.Span(h.Class("hint"),
			g.Text(strconv.FormatInt(r.ID, 10)+" · "), page.Text(r.Kind),
			g.If(r.maskedSecret() != "", g.Group{g.Text(" · "), h.Code(g.Text(r.maskedSecret()))}),
		),
	)
}

// narrow describes the key's scope; nothing for most keys.
func (r keyRow) narrow() g.Node {
	var lines g.Group
	for _, part := range words.Scope(r.Scope, r.Labels) {
		lines = append(lines, h.Br(), h.Span(h.Class("hint"), page.Textf("only %s", part)))
	}
	if r.MaskPersonal {
		lines = append(lines, h.Br(), h.Span(h.Class("hint"), page.Text("personal data masked")))
	}
	return lines
}

// lastUse shows a relative time, with the exact one as its title.
func (r keyRow) lastUse() g.Node {
	used, ok := r.LastUsedAt.Time()
	if !ok {
		return page.Text("never")
	}
	return page.TimeAs(used, page.Ago(r.Unused))
}

func (r keyRow) networks() g.Node {
	if len(r.Networks) == 0 {
		return page.Text("any")
	}
	var lines g.Group
	for i, network := range r.Networks {
		lines = append(lines, g.If(i > 0, h.Br()), words.Network(network))
	}
	return lines
}

func (r keyRow) limits() g.Node {
	recent := h.A(h.Class("rate"), h.Href(requestsOf("key", strconv.FormatInt(r.ID, 10))), page.Textf("%s in 24 hours", h.Strong(g.Text(strconv.FormatInt(r.LastDay, 10)))), page.ScreenReaderText(page.Phrases{page.Name(", "), page.Textf("of %s", r.Name)}))
	if !r.Limited {
		return g.Group{recent, h.Br(), h.Span(h.Class("hint"), page.Text("no limit"))}
	}
	rate := func(format page.Text, requests int64) g.Node {
		return h.Span(h.Class("rate hint"), page.Textf(format, requests))
	}
	return g.Group{recent, h.Br(), rate("%s a minute", r.PerMinute), h.Br(), rate("%s an hour", r.PerHour)}
}

func (r keyRow) status() g.Node {
	end := page.Text("since %s")
	if r.Status == keys.Active {
		end = "until %s"
	}
	return g.Group{
		h.Span(h.Class("status "+string(r.Status)), page.Text(r.Status)),
		g.If(r.ExpiresAt != "", g.Group{h.Br(), h.Span(h.Class("hint"), page.Textf(end, page.Stamp(r.ExpiresAt, "")))}),
	}
}

// actions is an empty cell for a revoked key; the style sheet hides it.
func (r keyRow) actions() g.Node {
	return h.Td(h.Role("cell"), h.Class("actions"), g.If(r.Status != keys.Revoked, g.Group{
		page.Button(keyPath(r.ID), page.Text("Change"), page.ScreenReaderText(page.Name(" "+r.Name))),
		g.Text(" "),
		g.If(r.Status == keys.Active, g.Group{page.Button(keyPath(r.ID)+"/roll", page.Text("Roll"), page.ScreenReaderText(page.Name(" "+r.Name))), g.Text(" ")}),
		page.Button(keyPath(r.ID)+"/revoke", page.Text("Revoke"), page.ScreenReaderText(page.Name(" "+r.Name))),
	}))
}
