package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func requestPath(id int64) string { return requestsPath + "/" + strconv.FormatInt(id, 10) }

// requestsOf returns the address of the list with one filter.
func requestsOf(filter, value string) string {
	return requestsPath + "?" + url.Values{filter: {value}}.Encode()
}

func (l requestList) view() g.Node {
	list := h.P(page.Text("There are no such requests."))
	if l.Filter == (requestFilter{}) && !l.Off {
		list = h.P(page.Textf("There are no requests yet. Every app that sends some needs a key: %s.", h.A(h.Href(keysPath+"/new"), page.Text("create one"))))
	}
	if len(l.Entries) > 0 {
		list = page.Table([]page.Text{"Request", "Key", "Status", "Duration", "Statements", "Time"}, g.Map(l.Entries, l.row))
	}
	return g.Group{
		page.ZoneHint(),
		h.P(page.Text("The latest requests to the API, by anybody. To see who touched a record, filter by it: that also finds the requests that changed it without naming it.")),
		g.If(l.Off, h.P(h.Class("warning"), page.Textf("This server keeps no requests: %s is 0.", h.Kbd(page.Code("requests.keep"))))),
		g.If(l.Dropped > 0, h.P(h.Class("warning"), page.Count(int(l.Dropped), "%d request is missing, because the database was too slow to store it.", "%d requests are missing, because the database was too slow to store them."))),
		l.form(),
		list,
		g.Iff(len(l.Entries) == shownRequests, func() g.Node {
			return h.P(h.A(h.Href(requestsPath+"?"+l.Filter.values(l.Entries[len(l.Entries)-1].ID).Encode()), page.Text("Older requests")))
		}),
		h.P(h.Class("hint"), page.Textf("A request appears a second after it has ended. Those without a valid key are counted by the minute: each minute has one line for each status, with the first of them. %s says how many requests are kept, for at most 7 days; personal data is not.",
			h.Kbd(page.Code("requests.keep")))),
	}
}

// values returns the filter as parameters, for the entries before one.
func (f requestFilter) values(before int64) url.Values {
	values := url.Values{"before": {strconv.FormatInt(before, 10)}}
	for name, value := range map[string]string{"key": f.Key, "status": f.Status, "route": f.Route, "record": f.Record, "request": f.Request} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// statusChoices are the statuses to choose from; one digit stands for all that begin with it.
var statusChoices = []page.Choice{{Value: "2", Text: page.Text("2xx: done")}, {Value: "4", Text: page.Text("4xx: refused")}, {Value: "5", Text: page.Text("5xx: failed")}, {Value: "400", Text: page.Name("400")}, {Value: "401", Text: page.Name("401")}, {Value: "403", Text: page.Name("403")}, {Value: "404", Text: page.Name("404")}, {Value: "409", Text: page.Name("409")}, {Value: "412", Text: page.Name("412")}, {Value: "422", Text: page.Name("422")}, {Value: "429", Text: page.Name("429")}, {Value: "500", Text: page.Name("500")}, {Value: "503", Text: page.Name("503")}}

// exampleRecord is how a record is written in the filter.
const exampleRecord = "bookings/17"

func (l requestList) form() g.Node {
	var keys, routes []page.Choice
	for _, id := range slices.Sorted(maps.Keys(l.Keys)) {
		keys = append(keys, page.Choice{Value: strconv.FormatInt(id, 10), Text: page.Name(l.Keys[id])})
	}
	for _, route := range l.Routes {
		text := page.Phrase(page.Name(route))
		if method, none := strings.CutSuffix(route, " "+requestlog.NoRoute); none {
			text = page.Textf("%s, no route", method)
		}
		routes = append(routes, page.Choice{Value: route, Text: text})
	}
	return g.Group{
		h.Form(h.Class("conditions"), h.Role("search"), h.Action(requestsPath),
			page.Condition("key", "Key", page.Selection("key", l.Filter.Key, keys)),
			page.Condition("status", "Status", page.Selection("status", l.Filter.Status, statusChoices)),
			page.Condition("route", "Route", page.Selection("route", l.Filter.Route, routes)),
			page.Condition("record", "Record", g.Group{page.Error("record", l.Problem),
				h.Input(h.ID("record"), h.Name("record"), h.Value(l.Filter.Record), h.Placeholder(exampleRecord), g.If(l.Problem != "", g.Group{h.Aria("invalid", "true"), h.Aria("describedby", "record-error")}))}),
			g.If(l.Filter.Request != "", page.Hidden("request", l.Filter.Request)),
			h.Div(h.Class("actions"), h.Button(h.Class("main"), page.Text("Filter")), g.If(l.Filter != requestFilter{}, h.A(h.Class("button quiet"), h.Href(requestsPath), page.Text("All requests")))),
		),
		g.If(l.Filter.Request != "", h.P(page.Textf("Requests with the id %s:", h.Code(g.Text(l.Filter.Request))))),
	}
}

func (l requestList) row(e requestlog.Entry) g.Node {
	return page.Row(
		h.A(h.Class("name"), h.Href(requestPath(e.ID)), words.Request(e)),
		page.Cell("Key", callerView(e, l.Keys)),
		page.Cell("Status", words.RequestStatus(e)),
		page.Cell("Duration", g.Text(words.Duration(e.Took))),
		page.Cell("Statements", g.Text(strconv.FormatInt(e.Statements, 10))),
		page.Cell("Time", words.RequestTime(e)),
	)
}

// callerView says who sent a request.
func callerView(e requestlog.Entry, names map[int64]string) g.Node {
	switch e.Caller() {
	case requestlog.NoCaller:
		return page.Count(int(e.Refused), "%d request without a valid key", "%d requests without a valid key")
	case requestlog.CalendarCaller:
		return h.A(h.Class("word"), h.Href(calendarsPath), page.Textf("calendar %s", names[e.KeyID]))
	case requestlog.KeyCaller:
		return keyLink(e.KeyID, names)
	case requestlog.ConsoleCaller:
		return page.Text("the console")
	case requestlog.UserCaller:
		return page.Textf("WordPress user %d", e.UserID)
	default:
		return page.Text("a visitor of the site")
	}
}

// keyLink shows the name of a key, or its number if it has none.
func keyLink(id int64, names map[int64]string) g.Node {
	name := page.Phrase(page.Textf("key %d", id))
	if names[id] != "" {
		name = page.Name(names[id])
	}
	return h.A(h.Class("word"), h.Href(keyPath(id)), name)
}

func (p *requestPage) view() g.Node {
	e := p.Entry
	facts := []page.Fact{
		{Name: "Status", Content: words.RequestStatus(e)},
		{Name: "Key", Content: callerView(e, p.keyNames)},
		{Name: "Time", Content: words.RequestTime(e)},
		page.TextFact("Duration", words.Duration(e.Took)),
		page.TextFact("Statements", strconv.FormatInt(e.Statements, 10)),
		{Name: "Request ID", Content: h.Code(g.Text(e.RequestID))},
		page.TextFact("Route", e.Route),
		page.TextFact("Tool", e.Tool),
		{Name: "Query", Content: g.If(e.Query != "", h.Code(g.Text(e.Query)))},
		{Name: "Body", Content: g.If(e.Body != "", h.Code(g.Text(e.Body)))},
		page.TextFact("Ignored", strings.Join(e.Ignored, ", ")),
	}
	refused := slices.Sorted(maps.Keys(e.Fields))
	return g.Group{
		page.ZoneHint(),
		g.If(e.Refused > 0, h.P(h.Class("hint"), page.Text("This is the first of the requests without a valid key that got this status in its minute; the others are only counted."))),
		h.Div(h.Class("facts"), page.Facts("Request", facts)),
		g.If(len(refused) > 0, g.Group{h.H2(page.Text("What was refused")), page.Table([]page.Text{"Field", "Why"}, g.Map(refused, func(name string) g.Node {
			return page.Row(h.Span(h.Class("name"), g.Text(name)), page.Cell("Why", page.Text(page.Sentence(e.Fields[name]))))
		}))}),
		g.If(len(p.changes) > 0, g.Group{h.H2(page.Text("What it changed")), page.Table([]page.Text{"What changed", "Number", "Details"}, g.Map(p.changes, p.changeRow))}),
		g.If(len(p.deliveries) > 0, g.Group{h.H2(page.Text("What webhooks sent about it")), page.Table([]page.Text{"Webhook", "Event", "State"}, g.Map(p.deliveries, p.deliveryRow))}),
		h.P(h.Class("hint"), page.Text("Texts in the query and the body are masked. Parameters that nothing reads are ignored.")),
		g.If(e.RecordID > 0, h.P(h.A(h.Href(requestsOf("record", words.RequestRecord(e))), page.Textf("All requests about %s", words.RequestRecord(e))))),
		h.P(h.A(h.Href(requestsPath), page.Text("All requests"))),
	}
}

func (p *requestPage) changeRow(e journal.Entry) g.Node {
	return page.Row(h.A(h.Class("name"), h.Href(requestsOf("record", fmt.Sprintf("%s/%d", e.Resource, e.ID))), words.Changed(e)),
		page.Cell("Number", g.Text(strconv.FormatInt(e.Number, 10))),
		page.Cell("Details", words.Change(e, p.labels)))
}

func (p *requestPage) deliveryRow(d webhooks.Delivery) g.Node {
	return page.Row(h.A(h.Class("name"), h.Href(webhookPath(d.WebhookID)), g.Text(p.hookNames[d.WebhookID])),
		page.Cell("Event", g.Text(d.Event)),
		page.Cell("State", deliveryState(d)))
}
