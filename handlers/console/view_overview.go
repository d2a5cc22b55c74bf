package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/handlers/console/page"
)

// overviewPage is the first page. A part that could not be loaded has a problem instead.
type overviewPage struct {
	health                                       health
	figures                                      daystats.Day
	agenda                                       agenda
	healthAge, agendaAge                         time.Duration
	healthProblem, figuresProblem, agendaProblem string
}

func (p overviewPage) view() g.Node {
	return g.Group{
		section("health", "Health", p.healthProblem, func() g.Node { return healthView(p.health, p.healthAge) }),
		section("day", "The last 24 hours", p.figuresProblem, func() g.Node { return dayView(p.figures) }),
		section("bookings", "Bookings", p.agendaProblem, func() g.Node { return agendaView(p.agenda) }),
		section("overlaps", "Overlapping bookings", p.agendaProblem, func() g.Node { return overlapsView(p.agenda) }),
		h.P(h.Class("hint"), g.Text("Visitors share what is found: the health and the bookings for a minute, the requests for ten seconds.")),
	}
}

// section shows a part of a page, or the reason why it is missing.
func section(id, title, problem string, content func() g.Node) g.Node {
	inside := h.P(h.Class("problem"), g.Text(problem))
	if problem == "" {
		inside = g.Group{content()}
	}
	return h.Section(h.Aria("labelledby", id), h.H2(h.ID(id), g.Text(title)), inside)
}

// levels are the marks of findings, with words for screen readers.
var levels = map[diagnose.Level]struct{ class, mark, word string }{
	diagnose.Good: {"good", "✓", "good"}, diagnose.Minor: {"minor", "!", "to look at"}, diagnose.Broken: {"broken", "✗", "broken"},
}

func healthView(found health, age time.Duration) g.Node {
	findings := found.Findings()
	for _, r := range found.rating {
		findings = append(findings, r.Finding)
	}
	var flagged []string
	for _, f := range findings {
		if f.Level != diagnose.Good && !slices.Contains(flagged, f.Name) {
			flagged = append(flagged, f.Name)
		}
	}
	summary := h.P(h.Class("done"), g.Text("The site can be served."))
	if len(flagged) > 0 {
		summary = h.P(h.Class("done"), g.Text("The site can be served; "+page.Count(len(flagged), "thing is", "things are")+" worth a look: "+strings.Join(flagged, ", ")+"."))
	}
	if len(found.Problems) > 0 {
		summary = h.Div(h.Class("problem"), h.P(g.Text("The site cannot be served:")), textList(found.Problems))
	}
	return g.Group{
		summary,
		g.If(len(found.Warnings) > 0, h.Div(h.Class("warning"), textList(found.Warnings))),
		h.Dl(h.Class("health"), g.Map(found.Findings(), findingView), g.Map(found.rating, ratingView)),
		h.P(h.Class("hint"), g.Text("Examined "+page.Ago(age)+", like "), h.Kbd(g.Text("bookside check")), g.Text(", which has the statements for missing rights too.")),
	}
}

func textList(texts []string) g.Node {
	return h.Ul(g.Map(texts, func(text string) g.Node { return h.Li(g.Text(text)) }))
}

func findingView(f diagnose.Finding) g.Node { return findingRow(f, g.Text(f.Text)) }

func findingRow(f diagnose.Finding, content ...g.Node) g.Node {
	level := levels[f.Level]
	return h.Div(
		h.Dt(h.Span(h.Class("mark "+level.class), h.Aria("hidden", "true"), g.Text(level.mark)), page.ScreenReaderText(level.word+": "), g.Text(f.Name)),
		h.Dd(content...),
	)
}

// ratedPages are the pages that show the items of a rating: all of them, or each by its id.
var ratedPages = map[diagnose.Code]struct{ all, each string }{
	diagnose.ChangesLate:      {all: journalPath},
	diagnose.RestoredUnder:    {all: journalPath},
	diagnose.WebhooksFailing:  {each: webhooksPath + "/"},
	diagnose.WebhooksDisabled: {each: webhooksPath + "/"},
	diagnose.MailsGood:        {all: outboxPath},
	diagnose.MailsLate:        {all: outboxPath + "?state=waiting"},
	diagnose.MailsFailed:      {all: outboxPath + "?state=failed"},
	diagnose.MailsHeld:        {all: outboxPath + "?state=held"},
	diagnose.KeysExpiring:     {each: keysPath + "/"},

	diagnose.ExtensionsIgnored: {all: DocumentsPath + "/extensions"},
	diagnose.ExtensionsFailed:  {all: extensionsPath + "?state=failed"},
	diagnose.ExtensionsLate:    {all: extensionsPath},
}

// ratingView names the items of a rating, with links.
func ratingView(r diagnose.Rating) g.Node {
	page := ratedPages[r.Code]
	text := g.Text(r.Text)
	if page.all != "" {
		text = h.A(h.Href(page.all), text)
	}
	content := []g.Node{text}
	for i, item := range r.Items[:min(len(r.Items), diagnose.Named)] {
		separator, name := ", ", g.Text(item.String())
		if i == 0 {
			separator = ": "
		}
		if page.each != "" {
			name = h.A(h.Href(page.each+strconv.FormatInt(item.ID, 10)), name)
		}
		content = append(content, g.Text(separator), name)
	}
	if len(r.Items) > diagnose.Named {
		content = append(content, g.Text(", and more"))
	}
	return findingRow(r.Finding, content...)
}

// dayView shows charts of the last 24 hours.
func dayView(day daystats.Day) g.Node {
	all := day.Total()
	total := func(which ...daystats.Outcome) string { return strconv.FormatInt(all.Of(which...), 10) }
	values := func(valueOf func(*daystats.Minute) float64) []float64 {
		list := make([]float64, len(day.Slots))
		for i := range day.Slots {
			list[i] = valueOf(&day.Slots[i])
		}
		return list
	}
	requests := func(name, class string, which ...daystats.Outcome) page.Series {
		return page.Series{Name: name, Class: class, Values: values(func(m *daystats.Minute) float64 { return float64(m.Of(which...)) }), Total: total(which...)}
	}
	percentile := func(name, class string, share float64) page.Series {
		valueOf := func(m *daystats.Minute) float64 {
			took, _ := m.Durations.Percentile(share)
			return float64(took) / float64(time.Millisecond)
		}
		return page.Series{Name: name, Class: class, Values: values(valueOf), Total: milliseconds(valueOf(&all))}
	}
	labels, axis := slotLabels(day)
	picture := func(id, title string, format func(float64) string, all ...page.Series) page.Chart {
		return page.Chart{ID: id, Title: title, Series: all, Labels: labels, Axis: axis, Format: format, Mark: -1}
	}
	durations := picture("durations", "Time to respond", milliseconds, percentile("median", "first", .5), percentile("95 % within", "second", .95))
	durations.Lines = true
	connections := picture("connections", "Connections to the database", whole, page.Series{
		Name: "most in use", Class: "first", Values: values(func(m *daystats.Minute) float64 { return float64(m.Connections) }), Total: fmt.Sprintf("%d of %d", all.Connections, all.ConnectionLimit),
	})
	refused := []daystats.Outcome{daystats.Limited, daystats.Throttled, daystats.Overloaded, daystats.Disconnected}
	return g.Group{
		g.If(day.Alone, h.P(h.Class("warning"), g.Text("The table of figures cannot be used, so these are those of this server alone, since it was started."))),
		g.If(all.Total() == 0, h.P(g.Text("There were no requests."))),
		h.Div(h.Class("charts"),
			picture("requests", "Requests", whole, requests("succeeded", "good", daystats.Succeeded), requests("rejected", "minor", daystats.Rejected),
				requests("refused", "second", refused...), requests("failed", "broken", daystats.Failed)).View(),
			durations.View(),
			picture("refusals", "Refused requests", whole, requests("limit of a key", "first", daystats.Limited), requests("invalid keys", "second", daystats.Throttled),
				requests("too many at a time", "minor", daystats.Overloaded), requests("no connection free", "broken", daystats.Disconnected)).View(),
			connections.View(),
		),
		h.P(h.Class("hint"), g.Text("Times are in UTC; a column is 15 minutes of all servers. Rejected requests were wrong themselves, such as 401 or 404. Requests that wait for changes do not count in the time to respond.")),
	}
}

// slotLabels returns the labels of a day's columns, and of five places below them.
func slotLabels(day daystats.Day) (labels, axis []string) {
	for i := range day.Slots {
		labels = append(labels, day.Start.Add(time.Duration(i)*daystats.SlotWidth).Format("15:04"))
	}
	for hours := 0; hours <= 24; hours += 6 {
		axis = append(axis, day.Start.Add(time.Duration(hours)*time.Hour).Format("15:04"))
	}
	return labels, axis
}

func whole(value float64) string { return strconv.FormatFloat(value, 'f', 0, 64) }

func milliseconds(value float64) string {
	if value > 0 && value < 10 {
		return strconv.FormatFloat(value, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(value, 'f', 0, 64) + " ms"
}

func agendaView(a agenda) g.Node {
	here, there := page.Series{Name: "made through Bookside", Class: "first"}, page.Series{Name: "made on the site", Class: "second"}
	var labels []string
	var ours, all, today int
	mark := -1
	for i, d := range a.Days {
		here.Values, there.Values = append(here.Values, float64(d.Here)), append(there.Values, float64(d.All-d.Here))
		labels = append(labels, string(d.Day))
		ours, all = ours+d.Here, all+d.All
		if d.Day == a.Today {
			mark, today = i, d.All
		}
	}
	here.Total, there.Total = strconv.Itoa(ours), strconv.Itoa(all-ours)
	hint := "Counted by the day on which they begin, without cancelled ones. The journal says which were made through Bookside; it is empty so far, so all count as made on the site."
	if !a.Since.IsZero() {
		hint = "Counted by the day on which they begin, without cancelled ones. The journal says which were made through Bookside; it goes back to " +
			a.Since.Format(time.DateOnly) + ", and what was booked before counts as made on the site."
	}
	return g.Group{
		h.P(g.Text("Today: "), h.Strong(g.Text(page.Count(today, "booking", "bookings"))), g.Text(".")),
		h.Div(h.Class("charts"), page.Chart{
			ID: "bookings-a-day", Title: "Bookings a day", Series: []page.Series{here, there}, Labels: labels, Format: whole, Mark: mark, Hint: hint,
			Axis: []string{"30 days ago", "today", "in 30 days"},
		}.View()),
	}
}

func overlapsView(a agenda) g.Node {
	if len(a.overlaps) == 0 {
		return h.P(g.Text("From today on, no bookings of an agent, a room or a device overlap."))
	}
	return g.Group{
		g.Map(a.overlaps, overlap.view),
		g.If(a.more > 0, h.P(g.Text(page.Count(a.more, "more pair", "more pairs")+": see "), h.Kbd(g.Text("bookside check --conflicts")), g.Text("."))),
		h.P(h.Class("hint"), g.Text("Times are those of the site.")),
	}
}

// view shows the bookings below each other on the timeline of a day.
func (o overlap) view() g.Node {
	title := o.Whose
	if day, err := time.Parse(time.DateOnly, o.Date); err == nil {
		title += ", " + day.Format("Monday 2006-01-02")
	}
	return h.Div(h.Class("timeline"),
		h.H3(g.Text(title), g.If(o.BuffersOnly, g.Text(" (buffers only)"))),
		h.Ul(g.Map(o.Bookings, func(b overlappingBooking) g.Node {
			name := g.Text(fmt.Sprintf("booking %d", b.ID))
			if b.URL != "" {
				name = h.A(h.Href(b.URL), h.Rel("noreferrer"), name)
			}
			return h.Li(
				h.Span(h.Class("when"), h.Strong(g.Text(page.Clock(b.From)+"–"+page.Clock(b.To)))),
				h.Span(h.Class("what"), g.Text(b.Customer+", "+b.Service+", "), name),
				g.El("svg", g.Attr("viewBox", fmt.Sprintf("0 0 %d 10", o.End-o.Start)), g.Attr("preserveAspectRatio", "none"), h.Aria("hidden", "true"),
					o.hours(), page.Rect("first", float64(b.From-o.Start), 1, float64(b.To-b.From), 8)),
			)
		})),
		h.Div(h.Class("axis"), h.Aria("hidden", "true"), h.Span(g.Text(page.Clock(o.Start))), h.Span(g.Text(page.Clock(o.End)))),
	)
}

// hours draws a line at each full hour.
func (o overlap) hours() g.Node {
	var lines g.Group
	for minute := o.Start; minute <= o.End; minute += 60 {
		lines = append(lines, g.El("path", h.Class("hour"), g.Attr("d", fmt.Sprintf("M%d 0v10", minute-o.Start)), g.Attr("vector-effect", "non-scaling-stroke")))
	}
	return lines
}
