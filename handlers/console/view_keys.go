package console

import (
	"fmt"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"bookside/adapter/keys"
)

// listView shows all keys, below a confirmation of what was just done.
func listView(confirmation string, active, inactive []keyRow) g.Node {
	inUse := h.P(g.Text("No key is in use."))
	if len(active) > 0 {
		inUse = g.Group{h.H2(h.ID("active"), g.Text("In use")), keyTable(active)}
	}
	return g.Group{
		g.If(confirmation != "", h.P(h.Class("done"), h.Role("status"), takesFocus(), g.Text(confirmation))),
		h.P(h.A(h.Class("button main"), h.Href(keysPath+"/new"), g.Text("New key"))),
		inUse,
		g.If(len(inactive) > 0, h.Details(
			h.Summary(g.Textf("Revoked and expired keys (%d)", len(inactive))),
			keyTable(inactive),
		)),
		h.P(h.Class("hint"), g.Text("Times are in UTC. The last use is recorded at most once a minute.")),
	}
}

// keyTable sets the roles of its parts, because browsers no longer see a table
// where the style sheet turns its rows into cards.
func keyTable(rows []keyRow) g.Node {
	heads := []string{"Name", "Kind", "Permissions", "Networks", "Requests", "Created", "Last use", "Status"}
	return h.Table(h.Class("keys"), h.Role("table"),
		h.THead(h.Role("rowgroup"), h.Tr(h.Role("row"),
			g.Map(heads, func(head string) g.Node { return columnHead(g.Text(head)) }),
			columnHead(screenReaderText("Actions")),
		)),
		h.TBody(h.Role("rowgroup"), g.Map(rows, keyRow.view)),
	)
}

func columnHead(content g.Node) g.Node {
	return h.Th(h.Role("columnheader"), h.Scope("col"), content)
}

func (r keyRow) view() g.Node {
	return h.Tr(h.Role("row"),
		r.nameCell(),
		cell("Kind", g.Text(string(r.Kind))),
		cell("Permissions", g.Text(r.permissionText())),
		cell("Networks", r.networks()),
		cell("Requests", r.limits()),
		cell("Created", r.Created.view("never")),
		cell("Last use", r.LastUsed.view("never")),
		cell("Status", r.status()),
		r.actions(),
	)
}

// cell repeats the head of its column, which cards show.
func cell(head string, content ...g.Node) g.Node {
	return h.Td(h.Role("cell"), h.Data("label", head), h.Div(content...))
}

func (r keyRow) nameCell() g.Node {
	return h.Th(h.Role("rowheader"), h.Scope("row"),
		h.Span(h.Class("name"), g.Text(r.Name)),
		g.Text(" "),
		h.Span(h.Class("hint"),
			g.Text(strconv.FormatInt(r.ID, 10)),
			g.If(r.maskedSecret() != "", g.Group{g.Text(" · "), h.Code(g.Text(r.maskedSecret()))}),
		),
	)
}

func (r keyRow) networks() g.Node {
	if len(r.Networks) == 0 {
		return g.Text("any")
	}
	var lines g.Group
	for i, network := range r.Networks {
		lines = append(lines, g.If(i > 0, h.Br()), h.Code(g.Text(keys.FormatNetwork(network))))
	}
	return lines
}

func (r keyRow) limits() g.Node {
	if !r.Limited {
		return g.Text("no limit")
	}
	rate := func(requests int64, per string) g.Node {
		return h.Span(h.Class("rate"), g.Text(fmt.Sprintf("%d %s", requests, per)))
	}
	return g.Group{rate(r.PerMinute, "a minute"), h.Br(), rate(r.PerHour, "an hour")}
}

func (r keyRow) status() g.Node {
	end := "since "
	if r.Status == keys.Active {
		end = "until "
	}
	return g.Group{
		h.Span(h.Class("status "+string(r.Status)), g.Text(string(r.Status))),
		g.If(r.Expires.Text != "", g.Group{h.Br(), h.Span(h.Class("hint"), g.Text(end), r.Expires.view(""))}),
	}
}

// actions is an empty cell for a revoked key; the style sheet hides it.
func (r keyRow) actions() g.Node {
	return h.Td(h.Role("cell"), h.Class("actions"), g.If(r.Status != keys.Revoked, g.Group{
		button(keyPath(r.ID), g.Text("Change"), screenReaderText(" "+r.Name)),
		g.Text(" "),
		button(keyPath(r.ID)+"/revoke", g.Text("Revoke"), screenReaderText(" "+r.Name)),
	}))
}
