package console

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/charts"
	"github.com/bookside/bookside/handlers/console/overlaps"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

// overviewPage is the first page. A part that could not be loaded has a problem instead.
type overviewPage struct {
	zone                                                      *time.Location
	health                                                    health
	figures                                                   daystats.Day
	next                                                      next
	agenda                                                    slots.Agenda
	healthAge                                                 time.Duration
	healthProblem, nextProblem, figuresProblem, agendaProblem page.Text
}

func (p overviewPage) view() g.Node {
	return g.Group{
		page.ZoneHint(),
		section("needs", "What needs you", p.healthProblem, func() g.Node { return needsView(p.health) }),
		section("next", "Today and tomorrow", p.nextProblem, func() g.Node { return nextView(p.next) }),
		g.Iff(len(p.health.overlaps) > 0, func() g.Node {
			return section("overlaps", "Overlapping bookings", "", func() g.Node { return overlaps.View(p.health.overlaps, p.health.more) })
		}),
		section("bookings", "Bookings, 30 days back and ahead", p.agendaProblem, func() g.Node { return charts.Bookings(p.agenda) }),
		section("day", "The last 24 hours", p.figuresProblem, func() g.Node { return charts.Day(p.figures, p.zone) }),
		g.Iff(p.healthProblem == "", func() g.Node { return technicalView(p.health, p.healthAge) }),
		h.P(h.Class("hint"), page.Text("Visitors share what is found: the health, the overlaps and the counts of bookings for a minute, the requests for ten seconds.")),
	}
}

// section shows a part of a page, or the reason why it is missing.
func section(id string, title, problem page.Text, content func() g.Node) g.Node {
	inside := h.P(h.Class("problem"), problem)
	if problem == "" {
		inside = g.Group{content()}
	}
	return h.Section(h.Aria("labelledby", id), h.H2(h.ID(id), title), inside)
}

// levels are the marks of findings, with words for screen readers.
var levels = map[diagnose.Level]struct {
	class, mark string
	word        page.Text
}{
	diagnose.Good: {"good", "✓", "good"}, diagnose.Minor: {"minor", "!", "to look at"}, diagnose.Broken: {"broken", "✗", "broken"},
}

// needsView lists what needs a person, what is broken first, each with a link and what to do.
func needsView(found health) g.Node {
	needs := found.needs()
	if len(needs) == 0 {
		return h.P(h.Class("done"), page.Text("The site can be served, and nothing needs you."))
	}
	return g.Group{
		h.P(h.Strong(g.If(len(found.Problems) == 0, g.Group{page.Text("The site can be served."), g.Text(" ")}), page.Count(len(needs), "%d thing needs you.", "%d things need you."))),
		h.Dl(h.Class("health needs"), g.Map(needs, found.ratingView)),
	}
}

// needs returns what needs a person, what is broken first.
func (found health) needs() (needs []diagnose.Rating) {
	for _, problem := range found.Problems {
		needs = append(needs, diagnose.Rating{Finding: diagnose.Finding{Level: diagnose.Broken, Name: "cannot be served", Text: problem}})
	}
	all := slices.Clone(found.rating)
	for _, f := range found.Findings() {
		all = append(all, ratingOf(f))
	}
	slices.SortStableFunc(all, func(a, b diagnose.Rating) int { return cmp.Compare(b.Level, a.Level) })
	for _, r := range all {
		if r.Level != diagnose.Good && !plumbing(r) {
			needs = append(needs, r)
		}
	}
	for _, warning := range found.Warnings {
		needs = append(needs, diagnose.Rating{Finding: diagnose.Finding{Level: diagnose.Minor, Name: "warning", Text: warning}})
	}
	return needs
}

// ratingOf returns a finding as a rating, whose remedy goes by the finding's name.
func ratingOf(f diagnose.Finding) diagnose.Rating {
	return diagnose.Rating{Finding: f, Code: diagnose.Code(f.Name)}
}

// plumbing reports whether something could be better for those who run the server, while people notice nothing.
func plumbing(r diagnose.Rating) bool {
	_, known := remedies[r.Code]
	return r.Level == diagnose.Minor && !known
}

// technicalView is the health of everything, folded away.
func technicalView(found health, age time.Duration) g.Node {
	minor := 0
	for _, f := range found.Findings() {
		if plumbing(ratingOf(f)) {
			minor++
		}
	}
	return h.Details(h.Summary(page.Text("Technical details"), g.If(minor > 0, page.Textf(", %d to look at", minor))),
		h.Dl(h.Class("health"), g.Map(found.Findings(), findingView), g.Map(found.rating, found.ratingView)),
		h.P(h.Class("hint"), page.Textf("Examined %s, like %s, which has the statements for missing rights too.", page.Ago(age), h.Kbd(page.Code("bookside check")))),
	)
}

// nextView lists the bookings of today and tomorrow.
func nextView(n next) g.Node {
	today := availability.MomentOf(n.site.LocalNow()).Day
	var days g.Group
	for day := today; day < today+nextDays; day++ {
		booked := slices.DeleteFunc(slices.Clone(n.bookings), func(b records.Booking) bool { return !words.TakesPlaceOn(n.site, b, day) })
		var list g.Node
		if len(booked) > 0 {
			list = page.Table([]page.Text{"Time", "Customer", "Service", "Agent", "Location", "Status"}, g.Map(booked, func(b records.Booking) g.Node { return nextRow(n.site, b) }))
		}
		title := words.LongDay(day)
		if !n.more {
			title = page.Textf("%s: %s", title, page.Count(len(booked), "%d booking", "%d bookings"))
		}
		choice := agendaChoice{Day: day, Of: domain.AgentResource}
		days = append(days, h.H3(h.A(h.Href(choice.path()), title)), list)
	}
	return g.Group{days, g.If(n.more, h.P(h.Class("warning"), page.Textf("Only the first %d are shown: %s.", shownNext, h.A(h.Href(bookingListPath), page.Text("the list has all")))))}
}

func nextRow(s *session.Session, b records.Booking) g.Node {
	return page.Row(h.A(h.Class("name"), h.Href(bookingPath(b.ID)), words.BookingHours(s, b)),
		page.Cell("Customer", words.Customer(b)),
		page.Cell("Service", words.Service(b)),
		page.Cell("Agent", words.Agent(b)),
		page.Cell("Location", g.Text(b.Location.Name)),
		page.Cell("Status", words.StatusView(b.Status)))
}

func findingView(f diagnose.Finding) g.Node { return findingRow(f, said(f.Text)) }

func findingRow(f diagnose.Finding, content ...g.Node) g.Node {
	level := levels[f.Level]
	return h.Div(
		h.Dt(h.Span(h.Class("mark "+level.class), h.Aria("hidden", "true"), g.Text(level.mark)), page.ScreenReaderText(page.Phrases{level.word, page.Name(": ")}), page.Text(f.Name)),
		h.Dd(content...),
	)
}

// remedy says what to do about a rating or a finding, and which page shows its items: all of them, or each by its id.
type remedy struct {
	all, each string
	text      page.Text
}

// remedies are what people can do, by the code of a rating or the name of a finding.
var remedies = map[diagnose.Code]remedy{
	diagnose.ChangesLate:      {all: journalPath},
	diagnose.RestoredUnder:    {all: journalPath},
	diagnose.WritesRefused:    {text: "Give the database user the right that it lacks."},
	diagnose.JobsUnscheduled:  {text: "Let the site's cron run, or set mail.enabled."},
	diagnose.JobsLate:         {text: "Let the site's cron run."},
	diagnose.WebhooksFailing:  {each: webhooksPath + "/", text: "Open it: its log says what the receiver answered."},
	diagnose.WebhooksDisabled: {each: webhooksPath + "/", text: "Enable it once its receiver works, or delete it."},
	diagnose.MailsLate:        {text: "Check the settings of mails and the mail server."},
	diagnose.MailsFailed:      {text: "Correct the address or the mail server, then tell the customer."},
	diagnose.MailsHeld:        {text: "Decide whether they are still to be sent."},
	diagnose.KeysExpiring:     {each: keysPath + "/", text: "Roll it, and give the new key to those who use it."},

	diagnose.ExtensionsIgnored: {text: "Read what that means for bookings by the API."},
	diagnose.ExtensionsFailed:  {all: extensionsPath + "?state=failed", text: "Tell them again once the extension works."},
	diagnose.ExtensionsLate:    {all: extensionsPath, text: "Find out why WordPress does not answer."},

	"LatePoint": {text: "Activate the plugin in wp-admin."},
	"API keys":  {all: keysPath + "/new", text: "Create a key for the first app."},
	"overlaps":  {all: bookingsPath, text: "Move one of each pair."},
}

// said is a sentence of a diagnosis, with its times in the site's zone.
func said(s diagnose.Sentence) g.Node {
	values := slices.Clone(s.Values)
	for i, value := range values {
		switch value := value.(type) {
		case diagnose.Sentence:
			values[i] = said(value)
		case diagnose.Moment:
			values[i] = page.Time(value.Time)
		}
	}
	return page.Textf(page.Text(s.Format), values...)
}

// ratingView names the items of a rating, with links, and its time in the site's zone.
func (found health) ratingView(r diagnose.Rating) g.Node {
	what := remedies[r.Code]
	text := said(r.Text)
	if what.all != "" {
		text = h.A(h.Href(what.all), text)
	}
	content := []g.Node{text}
	for i, item := range r.Items[:min(len(r.Items), diagnose.Named)] {
		separator, name := ", ", g.Text(item.String())
		if i == 0 {
			separator = ": "
		}
		if what.each != "" {
			name = h.A(h.Href(what.each+strconv.FormatInt(item.ID, 10)), name)
		}
		content = append(content, g.Text(separator), name)
	}
	if len(r.Items) > diagnose.Named {
		content = append(content, g.Text(", "), page.Text("and more"))
	}
	if r.Level != diagnose.Good && what.text != "" {
		content = append(content, g.Text(". "), h.Strong(what.text))
	}
	return findingRow(r.Finding, content...)
}
