package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

// shownRequests is the number of requests on a page.
const shownRequests = 100

// recordText matches a record, such as bookings/17 or bookings 17.
var recordText = regexp.MustCompile(`^([a-z-]+)[ /]([0-9]{1,18})$`)

// requestFilter reads the filter in the address of the list. A wrong id or status finds nothing; ok is false for a record
// that cannot be read.
func requestFilter(query url.Values) (filter keys.RequestFilter, ok bool) {
	filter = keys.RequestFilter{Route: query.Get("route"), RequestID: query.Get("request")}
	filter.KeyID, _ = strconv.ParseInt(query.Get("key"), 10, 64)
	filter.Status, _ = strconv.Atoi(query.Get("status"))
	filter.Before, _ = strconv.ParseInt(query.Get("before"), 10, 64)
	record := query.Get("record")
	if record == "" {
		return filter, true
	}
	parts := recordText.FindStringSubmatch(record)
	if parts == nil {
		return filter, false
	}
	filter.Resource = parts[1]
	filter.RecordID, _ = strconv.ParseInt(parts[2], 10, 64) // always fits
	return filter, true
}

// requestConditions are the parameters of the filter.
var requestConditions = []string{"key", "status", "route", "record", "request"}

// requestsOf returns the address of the list with one filter.
func requestsOf(filter, value string) string {
	return requestsPath + "?" + url.Values{filter: {value}}.Encode()
}

// requestList is the list of requests that match a filter.
type requestList struct {
	filter  url.Values // as it was sent
	problem page.Text  // with the record in the filter; "" for none
	entries []keys.LogEntry
	keys    map[int64]string // names
	routes  []string
}

func (c *Console) listRequests(v *visit) error {
	list := requestList{filter: url.Values{}}
	for _, name := range requestConditions {
		if value := v.r.URL.Query().Get(name); value != "" {
			list.filter.Set(name, value)
		}
	}
	filter, ok := requestFilter(v.r.URL.Query())
	status := http.StatusOK
	if !ok {
		list.problem, status = "Write a record as bookings/17.", http.StatusUnprocessableEntity
	}
	if err := list.load(v, filter); err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the tables there are no requests
		return err
	}
	c.show(v, status, page.Layout{Title: page.Text("Requests"), Invalid: !ok}, g.Group{
		page.ZoneHint(),
		h.P(page.Text("The latest requests to the API, by anybody. To see who touched a record, filter by it: that also finds the requests that changed it without naming it.")),
		g.Iff(v.Requests == nil, func() g.Node {
			return h.P(h.Class("warning"), page.Textf("This server keeps no requests: %s is 0.", h.Kbd(page.Code("requests.keep"))))
		}),
		g.Iff(v.Requests != nil && v.Requests.Dropped() > 0, func() g.Node {
			return h.P(h.Class("warning"), page.Count(int(v.Requests.Dropped()), "%d request is missing, because the database was too slow to store it.", "%d requests are missing, because the database was too slow to store them."))
		}),
		list.form(),
		list.view(),
		h.P(h.Class("hint"), page.Textf("A request appears a second after it has ended. Those without a valid key are counted by the minute: each minute has one line for each status, with the first of them. %s says how many requests are kept, for at most 7 days, without what they sent.",
			h.Kbd(page.Code("requests.keep")))),
	})
	return nil
}

func (l *requestList) load(v *visit, filter keys.RequestFilter) (err error) {
	if l.problem == "" {
		if l.entries, err = keys.ListRequests(v.ctx(), v.Platform.DB, filter, shownRequests); err != nil {
			return err
		}
	}
	if l.routes, err = keys.RequestRoutes(v.ctx(), v.Platform.DB); err != nil {
		return err
	}
	l.keys, err = v.keyNames()
	return err
}

func (l *requestList) view() g.Node {
	if len(l.entries) == 0 && len(l.filter) == 0 {
		return h.P(page.Textf("There are no requests yet. Every app that sends some needs a key: %s.", page.A(keysPath+"/new", page.Text("create one"))))
	}
	if len(l.entries) == 0 {
		return h.P(page.Text("There are no such requests."))
	}
	older := maps.Clone(l.filter)
	older.Set("before", number(l.entries[len(l.entries)-1].ID))
	return g.Group{
		page.Table([]page.Text{"Request", "Key", "Status", "Duration", "Statements", "Time", "Request ID"}, g.Map(l.entries, l.row)),
		g.If(len(l.entries) == shownRequests, h.P(page.A(requestsPath+"?"+older.Encode(), page.Text("Older requests")))),
	}
}

// statusChoices are the statuses to choose from; one digit stands for all that begin with it.
func statusChoices() []page.Choice {
	choices := []page.Choice{{Value: "2", Text: page.Text("2xx: done")}, {Value: "4", Text: page.Text("4xx: refused")}, {Value: "5", Text: page.Text("5xx: failed")}}
	for _, status := range []string{"400", "401", "403", "404", "409", "412", "422", "429", "500", "503"} {
		choices = append(choices, page.Choice{Value: status, Text: page.Name(status)})
	}
	return choices
}

// exampleRecord is how a record is written in the filter.
const exampleRecord = "bookings/17"

func (l *requestList) form() g.Node {
	var ofKeys, ofRoutes []page.Choice
	for _, id := range slices.Sorted(maps.Keys(l.keys)) {
		ofKeys = append(ofKeys, page.Choice{Value: number(id), Text: page.Name(l.keys[id])})
	}
	for _, route := range l.routes {
		text := page.Phrase(page.Name(route))
		if method, none := strings.CutSuffix(route, " "+keys.NoRoute); none {
			text = page.Textf("%s, no route", method)
		}
		ofRoutes = append(ofRoutes, page.Choice{Value: route, Text: text})
	}
	return page.GetForm(requestsPath, h.Class("conditions"), h.Role("search"),
		page.Condition("key", "Key", page.Selection("key", l.filter.Get("key"), ofKeys)),
		page.Condition("status", "Status", page.Selection("status", l.filter.Get("status"), statusChoices())),
		page.Condition("route", "Route", page.Selection("route", l.filter.Get("route"), ofRoutes)),
		page.Condition("record", "Record", g.Group{page.Error("record", l.problem),
			h.Input(h.ID("record"), h.Name("record"), h.Value(l.filter.Get("record")), h.Placeholder(exampleRecord), g.If(l.problem != "", g.Group{h.Aria("invalid", "true"), h.Aria("describedby", "record-error")}))}),
		page.Condition("request", "Request ID", h.Input(h.ID("request"), h.Name("request"), h.Value(l.filter.Get("request")))),
		h.Div(h.Class("actions"), h.Button(h.Class("main"), page.Text("Filter")), g.If(len(l.filter) > 0, page.A(requestsPath, h.Class("button quiet"), page.Text("All requests")))),
	)
}

func (l *requestList) row(e keys.LogEntry) g.Node {
	text := g.Node(words.Request(e))
	if e.RecordID > 0 {
		text = page.A(requestsOf("record", words.RequestRecord(e)), text)
	}
	id := h.Code(h.Class("word"), g.Text(e.RequestID))
	if e.Method != http.MethodGet && e.Refused == 0 && e.Status < http.StatusBadRequest {
		id = g.Group{id, h.Br(), page.A(changesOf(e.RequestID), page.Text("what it changed"), page.ScreenReaderText(page.Phrases{page.Name(" "), page.Name(e.RequestID)}))}
	}
	return page.Row(
		h.Span(h.Class("name"), text),
		page.Cell("Key", callerView(e, l.keys)),
		page.Cell("Status", words.RequestStatus(e), g.If(len(e.Fields) > 0, g.Group{h.Br(), h.Span(h.Class("hint word"), page.Textf("refused: %s", strings.Join(e.Fields, ", ")))})),
		page.Cell("Duration", g.Text(words.Duration(e.Took))),
		page.Cell("Statements", g.Text(number(e.Statements))),
		page.Cell("Time", words.RequestTime(e)),
		page.Cell("Request ID", id),
	)
}

// callerView says who sent a request.
func callerView(e keys.LogEntry, names map[int64]string) g.Node {
	switch e.Caller() {
	case keys.NoCaller:
		return page.Count(int(e.Refused), "%d request without a valid key", "%d requests without a valid key")
	case keys.CalendarCaller:
		return page.A(keysPath, h.Class("word"), page.Textf("calendar %s", names[e.KeyID]))
	case keys.KeyCaller:
		return keyLink(e.KeyID, names)
	case keys.ConsoleCaller:
		return page.Text("the console")
	case keys.UserCaller:
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
	return page.A(keyPath(id), h.Class("word"), name)
}

// keyNames returns the names of all keys and calendars, by id.
func (v *visit) keyNames() (map[int64]string, error) {
	names := map[int64]string{}
	all, err := v.Keys.List(v.ctx())
	if err != nil {
		return names, err
	}
	calendars, err := v.Keys.Calendars(v.ctx())
	for _, key := range slices.Concat(all, calendars) {
		names[key.ID] = key.Name
	}
	return names, err
}

// keyNamesIn returns the names of keys if an entry of the journal needs them.
func (v *visit) keyNamesIn(entries []journal.Entry) (map[int64]string, error) {
	if !slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Origin == journal.FromAPI }) {
		return nil, nil
	}
	names, err := v.keyNames()
	if errors.Is(err, wpdb.ErrSchema) {
		return nil, nil
	}
	return names, err
}
