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
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func requestPath(id int64) string { return requestsPath + "/" + strconv.FormatInt(id, 10) }

// requestsOf returns the address of the list with one filter.
func requestsOf(filter, value string) string {
	return requestsPath + "?" + url.Values{filter: {value}}.Encode()
}

func (l requestList) view() g.Node {
	list := h.P(g.Text("There are no such requests."))
	if len(l.Entries) > 0 {
		list = page.Table([]string{"Request", "Key", "Status", "Duration", "Statements", "Time"}, g.Map(l.Entries, l.row))
	}
	return g.Group{
		h.P(g.Text("The latest requests to the API, by anybody. To see who touched a record, filter by it: that also finds the requests that changed it without naming it.")),
		g.If(l.Off, h.P(h.Class("warning"), g.Text("This server keeps no requests: "), h.Kbd(g.Text("requests.keep")), g.Text(" is 0."))),
		g.If(l.Dropped > 0, h.P(h.Class("warning"), g.Text(page.Count(int(l.Dropped), "request is", "requests are")+" missing, because the database was too slow to store them."))),
		l.form(),
		list,
		g.Iff(len(l.Entries) == shownRequests, func() g.Node {
			return h.P(h.A(h.Href(requestsPath+"?"+l.Filter.values(l.Entries[len(l.Entries)-1].ID).Encode()), g.Text("Older requests")))
		}),
		h.P(h.Class("hint"), g.Text("Times are in UTC. A request appears a second after it has ended. Those without a valid key are counted by the minute: each minute has one line, with the first of them. "), h.Kbd(g.Text("requests.keep")),
			g.Text(" says how many requests are kept, for at most 7 days; neither bodies nor personal data are.")),
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
var statusChoices = []page.Choice{{Value: "2", Text: "2xx: done"}, {Value: "4", Text: "4xx: refused"}, {Value: "5", Text: "5xx: failed"}, {Value: "400", Text: "400"}, {Value: "401", Text: "401"}, {Value: "403", Text: "403"}, {Value: "404", Text: "404"}, {Value: "409", Text: "409"}, {Value: "412", Text: "412"}, {Value: "422", Text: "422"}, {Value: "429", Text: "429"}, {Value: "500", Text: "500"}, {Value: "503", Text: "503"}}

func (l requestList) form() g.Node {
	var keys, routes []page.Choice
	for _, id := range slices.Sorted(maps.Keys(l.Keys)) {
		keys = append(keys, page.Choice{Value: strconv.FormatInt(id, 10), Text: l.Keys[id]})
	}
	for _, route := range l.Routes {
		routes = append(routes, page.Choice{Value: route, Text: route})
	}
	return g.Group{
		h.Form(h.Class("conditions"), h.Role("search"), h.Action(requestsPath),
			page.Condition("key", "Key", page.Selection("key", l.Filter.Key, keys)),
			page.Condition("status", "Status", page.Selection("status", l.Filter.Status, statusChoices)),
			page.Condition("route", "Route", page.Selection("route", l.Filter.Route, routes)),
			page.Condition("record", "Record", g.Group{page.Error("record", l.Problem),
				h.Input(h.ID("record"), h.Name("record"), h.Value(l.Filter.Record), h.Placeholder("bookings/17"), g.If(l.Problem != "", g.Group{h.Aria("invalid", "true"), h.Aria("describedby", "record-error")}))}),
			g.If(l.Filter.Request != "", page.Hidden("request", l.Filter.Request)),
			h.Div(h.Class("actions"), h.Button(h.Class("main"), g.Text("Filter")), g.If(l.Filter != requestFilter{}, h.A(h.Class("button quiet"), h.Href(requestsPath), g.Text("All requests")))),
		),
		g.If(l.Filter.Request != "", h.P(g.Text("Requests with the id "), h.Code(g.Text(l.Filter.Request)), g.Text(":"))),
	}
}

func (l requestList) row(e requestlog.Entry) g.Node {
	return page.Row(
		h.A(h.Class("name"), h.Href(requestPath(e.ID)), g.Text(words.Request(e))),
		page.Cell("Key", callerView(e, l.Keys)),
		page.Cell("Status", words.RequestStatus(e)),
		page.Cell("Duration", g.Text(words.Duration(e.Took))),
		page.Cell("Statements", g.Text(strconv.FormatInt(e.Statements, 10))),
		page.Cell("Time", words.RequestTime(e).View("")),
	)
}

// callerView says who sent a request.
func callerView(e requestlog.Entry, names map[int64]string) g.Node {
	switch e.Caller() {
	case requestlog.NoCaller:
		return g.Text(page.Count(int(e.Refused), "request", "requests") + " without a valid key")
	case requestlog.CalendarCaller:
		return h.A(h.Class("word"), h.Href(calendarsPath), g.Text("calendar "+names[e.KeyID]))
	case requestlog.KeyCaller:
		return keyLink(e.KeyID, names)
	case requestlog.ConsoleCaller:
		return g.Text("the console")
	case requestlog.UserCaller:
		return g.Text(fmt.Sprintf("WordPress user %d", e.UserID))
	default:
		return g.Text("a visitor of the site")
	}
}

// keyLink shows the name of a key, or its number if it has none.
func keyLink(id int64, names map[int64]string) g.Node {
	name := names[id]
	if name == "" {
		name = fmt.Sprintf("key %d", id)
	}
	return h.A(h.Class("word"), h.Href(keyPath(id)), g.Text(name))
}

// requestView shows a request with everything that is known about it.
func requestView(e requestlog.Entry, names map[int64]string, changes []journal.Entry) g.Node {
	facts := []page.Fact{
		{Name: "Status", Content: words.RequestStatus(e)},
		{Name: "Key", Content: callerView(e, names)},
		{Name: "Time (UTC)", Content: words.RequestTime(e).View("")},
		page.TextFact("Duration", words.Duration(e.Took)),
		page.TextFact("Statements", strconv.FormatInt(e.Statements, 10)),
		{Name: "Request id", Content: h.Code(g.Text(e.RequestID))},
		page.TextFact("Route", e.Route),
		page.TextFact("Tool", e.Tool),
		{Name: "Query", Content: g.If(e.Query != "", h.Code(g.Text(e.Query)))},
		{Name: "Body", Content: g.If(e.Body != "", h.Code(g.Text(e.Body)))},
		page.TextFact("Ignored", strings.Join(e.Ignored, ", ")),
	}
	refused := slices.Sorted(maps.Keys(e.Fields))
	return g.Group{
		g.If(e.Refused > 0, h.P(h.Class("hint"), g.Text("This is the first of the requests without a valid key in its minute; the others are only counted."))),
		h.Div(h.Class("facts"), page.Facts("Request", facts)),
		g.If(len(refused) > 0, g.Group{h.H2(g.Text("What was refused")), page.Table([]string{"Field", "Why"}, g.Map(refused, func(name string) g.Node {
			return page.Row(h.Span(h.Class("name"), g.Text(name)), page.Cell("Why", g.Text(e.Fields[name])))
		}))}),
		g.If(len(changes) > 0, g.Group{h.H2(g.Text("What it changed")), page.Table([]string{"Change", "Number", "Details"}, g.Map(changes, requestChangeRow))}),
		h.P(h.Class("hint"), g.Text("Texts in the query and the body are masked. Parameters that nothing reads are ignored.")),
		g.If(e.RecordID > 0, h.P(h.A(h.Href(requestsOf("record", words.RequestRecord(e))), g.Text("All requests about "+words.RequestRecord(e))))),
		h.P(h.A(h.Href(requestsPath), g.Text("All requests"))),
	}
}

func requestChangeRow(e journal.Entry) g.Node {
	record := fmt.Sprintf("%s/%d", e.Resource, e.ID)
	return page.Row(g.Group{h.A(h.Class("name"), h.Href(requestsOf("record", record)), g.Text(record)), g.Text(" " + string(e.Kind))},
		page.Cell("Number", g.Text(strconv.FormatInt(e.Number, 10))),
		page.Cell("Details", g.Text(words.Change(e.Booking))))
}
