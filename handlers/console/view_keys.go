package console

import (
	"fmt"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

// keyList has the keys that match a search.
type keyList struct {
	Search           string // "" for all
	Confirmation     string // describes the action just done; "" for none
	Total            int    // number of all keys, including those that do not match
	Active, Inactive []keyRow
}

func (l keyList) view() g.Node {
	inUse := h.P(g.Text("No key is in use."))
	switch {
	case len(l.Active) > 0:
		inUse = g.Group{h.H2(h.ID("active"), g.Text("In use")), keyTable(l.Active)}
	case l.Search != "":
		inUse = h.P(g.Text("No key in use matches."))
	}
	return g.Group{
		page.Done(l.Confirmation),
		h.Div(h.Class("toolbar"),
			h.A(h.Class("button main"), h.Href(keysPath+"/new"), g.Text("New key")),
			g.If(l.Total > 0, l.searchForm()),
		),
		inUse,
		g.If(len(l.Inactive) > 0, h.Details(g.If(l.Search != "", g.Attr("open")),
			h.Summary(g.Textf("Revoked and expired keys (%d)", len(l.Inactive))),
			keyTable(l.Inactive),
		)),
		h.P(h.Class("hint"), g.Text("Times are in UTC. The last use is recorded at most once a minute.")),
	}
}

func (l keyList) searchForm() g.Node {
	return h.Form(h.Class("search"), h.Role("search"), h.Action(keysPath),
		h.Label(h.For("q"), h.Class("visually-hidden"), g.Text("Search keys")),
		h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Value(l.Search), h.Placeholder("name, permission, maker")),
		h.Button(g.Text("Search")),
		g.If(l.Search != "", h.A(h.Href(keysPath), g.Text("All keys"))),
	)
}

func keyTable(rows []keyRow) g.Node {
	return page.Table([]string{"Name", "Permissions", "Networks", "Requests", "Last use", "Made", "Status", ""}, g.Map(rows, keyRow.view))
}

func (r keyRow) view() g.Node {
	return h.Tr(h.Role("row"),
		r.nameCell(),
		page.Cell("Permissions", g.Text(r.permissionText()), r.narrow()),
		page.Cell("Networks", r.networks()),
		page.Cell("Requests", r.limits()),
		page.Cell("Last use", r.lastUse()),
		page.Cell("Made", r.Created.View("never"), g.If(r.CreatedBy != "", g.Group{h.Br(), h.Span(h.Class("hint word"), g.Text(r.CreatedBy))})),
		page.Cell("Status", r.status()),
		r.actions(),
	)
}

func (r keyRow) nameCell() g.Node {
	return h.Th(h.Role("rowheader"), h.Scope("row"),
		h.Span(h.Class("name"), g.Text(r.Name)),
		g.Text(" "),
		h.Span(h.Class("hint"),
			g.Text(strconv.FormatInt(r.ID, 10)+" · "+string(r.Kind)),
			g.If(r.maskedSecret() != "", g.Group{g.Text(" · "), h.Code(g.Text(r.maskedSecret()))}),
		),
	)
}

// narrow describes the key's scope; nothing for most keys.
func (r keyRow) narrow() g.Node {
	var lines g.Group
	for _, part := range []struct {
		resource domain.Resource
		ids      []int64
	}{{domain.AgentResource, r.Scope.Agents}, {domain.ServiceResource, r.Scope.Services}, {domain.LocationResource, r.Scope.Locations}} {
		noun := string(part.resource)
		switch len(part.ids) {
		case 0:
			continue
		case 1:
		default:
			noun += "s"
		}
		lines = append(lines, h.Br(), h.Span(h.Class("hint"), g.Text("only "+noun+" "+r.Labels.Text(part.resource, part.ids))))
	}
	if r.MaskPersonal {
		lines = append(lines, h.Br(), h.Span(h.Class("hint"), g.Text("personal data masked")))
	}
	return lines
}

// lastUse shows a relative time, with the exact one as its title.
func (r keyRow) lastUse() g.Node {
	if r.LastUsed.Text == "" {
		return g.Text("never")
	}
	return h.Time(h.DateTime(r.LastUsed.Machine), h.Title(r.LastUsed.Text+" UTC"), g.Text(page.Ago(r.Unused)))
}

func (r keyRow) networks() g.Node {
	if len(r.Networks) == 0 {
		return g.Text("any")
	}
	var lines g.Group
	for i, network := range r.Networks {
		lines = append(lines, g.If(i > 0, h.Br()), words.Network(network))
	}
	return lines
}

func (r keyRow) limits() g.Node {
	recent := h.A(h.Class("rate"), h.Href(requestsOf("key", strconv.FormatInt(r.ID, 10))), h.Strong(g.Text(strconv.FormatInt(r.LastDay, 10))), g.Text(" in 24 hours"), page.ScreenReaderText(", of "+r.Name))
	if !r.Limited {
		return g.Group{recent, h.Br(), h.Span(h.Class("hint"), g.Text("no limit"))}
	}
	rate := func(requests int64, per string) g.Node {
		return h.Span(h.Class("rate hint"), g.Text(fmt.Sprintf("%d %s", requests, per)))
	}
	return g.Group{recent, h.Br(), rate(r.PerMinute, "a minute"), h.Br(), rate(r.PerHour, "an hour")}
}

func (r keyRow) status() g.Node {
	end := "since "
	if r.Status == keys.Active {
		end = "until "
	}
	return g.Group{
		h.Span(h.Class("status "+string(r.Status)), g.Text(string(r.Status))),
		g.If(r.Expires.Text != "", g.Group{h.Br(), h.Span(h.Class("hint"), g.Text(end), r.Expires.View(""))}),
	}
}

// actions is an empty cell for a revoked key; the style sheet hides it.
func (r keyRow) actions() g.Node {
	return h.Td(h.Role("cell"), h.Class("actions"), g.If(r.Status != keys.Revoked, g.Group{
		page.Button(keyPath(r.ID), g.Text("Change"), page.ScreenReaderText(" "+r.Name)),
		g.Text(" "),
		g.If(r.Status == keys.Active, g.Group{page.Button(keyPath(r.ID)+"/roll", g.Text("Roll"), page.ScreenReaderText(" "+r.Name)), g.Text(" ")}),
		page.Button(keyPath(r.ID)+"/revoke", g.Text("Revoke"), page.ScreenReaderText(" "+r.Name)),
	}))
}
