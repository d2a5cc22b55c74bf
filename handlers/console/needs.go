package console

import (
	"cmp"
	"context"
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

// health is the state of the site and of its pending work.
type health struct {
	diagnose.Report
	rating   []diagnose.Rating // nil if pending work cannot be examined
	overlaps []slots.Conflict  // the first bookings that overlap, from today on
	bookings map[int64]slots.ConflictingBooking
	address  string // of WordPress; "" if it is not known
}

// shownOverlaps is how many pairs of overlapping bookings are listed.
const shownOverlaps = 20

func (s *Site) health(ctx context.Context) (health, error) {
	report, err := s.Examine(ctx)
	if err != nil {
		return health{}, err
	}
	found := health{Report: report}
	if work, err := upkeep.LoadWork(ctx, s.Platform); err == nil {
		found.rating = diagnose.Rate(work)
	}
	if report.Conflicts == nil || len(report.Conflicts.Conflicts) == 0 {
		return found, nil
	}
	found.overlaps = report.Conflicts.Conflicts[:min(len(report.Conflicts.Conflicts), shownOverlaps)]
	return session.ServeBackground(ctx, s.Platform, func(ctx context.Context, site *session.Session) (health, error) {
		if found.bookings, err = slots.ConflictingBookings(ctx, site, found.overlaps); err == nil {
			found.address, err = slots.Address(ctx, site)
		}
		return found, err
	})
}

// needs shows what needs a person and how bad it is, and the health of everything else folded away.
func (v *visit) needs() (needed g.Node, worst diagnose.Level, err error) {
	found, age, err := v.examined.health.Get(v.ctx())
	if err != nil {
		return nil, diagnose.Broken, err
	}
	var needs, rest []diagnose.Rating
	for _, problem := range found.Problems {
		needs = append(needs, diagnose.Rating{Finding: diagnose.Finding{Level: diagnose.Broken, Name: "cannot be served", Text: problem}})
	}
	all := slices.Clone(found.rating)
	for _, f := range found.Findings() {
		all = append(all, diagnose.Rating{Finding: f, Code: diagnose.Code(f.Name)})
	}
	slices.SortStableFunc(all, func(a, b diagnose.Rating) int { return cmp.Compare(b.Level, a.Level) })
	for _, r := range all {
		if _, known := remedies[r.Code]; r.Level == diagnose.Broken || r.Level == diagnose.Minor && known {
			needs = append(needs, r)
		} else {
			rest = append(rest, r)
		}
	}
	for _, warning := range found.Warnings {
		needs = append(needs, diagnose.Rating{Finding: diagnose.Finding{Level: diagnose.Minor, Name: "warning", Text: warning}})
	}
	for _, need := range needs {
		worst = max(worst, need.Level)
	}
	list := h.P(h.Class("done"), page.Text("The site can be served, and nothing needs you."))
	if len(needs) > 0 {
		list = g.Group{h.P(h.Strong(page.Count(len(needs), "%d thing needs you.", "%d things need you."))), h.Dl(h.Class("health"), g.Map(needs, ratingView))}
	}
	return g.Group{
		list,
		g.If(len(found.overlaps) > 0, found.overlapsView()),
		h.Details(h.Summary(page.Text("Technical details")),
			h.Dl(h.Class("health"), g.Map(rest, ratingView)),
			h.P(h.Class("hint"), page.Textf("Examined %s, like %s, which has the statements for missing rights too.", page.Ago(age), h.Kbd(page.Code("bookside check")))),
		),
	}, worst, nil
}

// overlapsView lists pairs of bookings that their agent, or an asset, cannot both have.
func (found health) overlapsView() g.Node {
	booking := func(id int64) g.Node {
		b := found.bookings[id]
		return h.Div(page.Away(bookingAddress(found.address, id), page.Name(page.Clock(b.Start)+"–"+page.Clock(b.End)+" "+b.Customer+", "+b.Service)))
	}
	return g.Group{h.H3(page.Text("Overlapping bookings")), page.Table([]page.Text{"Day", "Whose", "Bookings"}, g.Map(found.overlaps, func(pair slots.Conflict) g.Node {
		first := found.bookings[pair.First]
		head := h.Span(h.Class("name"), words.Date(first.Date))
		if day, ok := availability.ParseDay(first.Date); ok {
			head = page.A(dayAddress(day), h.Class("name"), words.LongDay(day))
		}
		return page.Row(head,
			page.Cell("Whose", g.Text(cmp.Or(found.Conflicts.Assets[pair.Asset], first.Agent)), g.If(pair.BuffersOnly, g.Group{g.Text(" "), page.Text("(buffers only)")})),
			page.Cell("Bookings", booking(pair.First), booking(pair.Second)))
	}))}
}

// levels are the marks of findings, with words for screen readers.
var levels = map[diagnose.Level]struct {
	class, mark string
	word        page.Text
}{
	diagnose.Good: {"good", "✓", "good"}, diagnose.Minor: {"minor", "!", "to look at"}, diagnose.Broken: {"broken", "✗", "broken"},
}

// remedy says what to do about a rating or a finding, and which page shows its items: all of them, or each by its id.
type remedy struct {
	all, each string
	text      page.Text
}

// remedies are what people can do, by the code of a rating or the name of a finding.
var remedies = map[diagnose.Code]remedy{
	diagnose.ChangesLate:      {all: changesPath},
	diagnose.RestoredUnder:    {all: changesPath},
	diagnose.WritesRefused:    {text: "Give the database user the right that it lacks."},
	diagnose.JobsUnscheduled:  {text: "Let the site's cron run."},
	diagnose.JobsLate:         {text: "Let the site's cron run."},
	diagnose.WebhooksFailing:  {each: webhooksPath + "/", text: "Open it: its log says what the receiver answered."},
	diagnose.WebhooksDisabled: {each: webhooksPath + "/", text: "Enable it once its receiver works, or delete it."},
	diagnose.KeysExpiring:     {each: keysPath + "/", text: "Roll it, and give the new key to those who use it."},

	diagnose.ExtensionsIgnored: {text: "Read what that means for bookings by the API."},
	diagnose.ExtensionsFailed:  {all: webhooksPath, text: "Tell them again once the extension works."},
	diagnose.ExtensionsLate:    {all: webhooksPath, text: "Find out why WordPress does not answer."},

	"LatePoint": {text: "Activate the plugin in wp-admin."},
	"API keys":  {all: keysPath + "/new", text: "Create a key for the first app."},
	"companion": {},
	"overlaps":  {text: "Move one of each pair."},
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

// ratingView names the items of a rating, with links, and says what to do.
func ratingView(r diagnose.Rating) g.Node {
	level, what := levels[r.Level], remedies[r.Code]
	content := g.Group{said(r.Text)}
	if what.all != "" {
		content = g.Group{page.A(what.all, said(r.Text))}
	}
	for i, item := range r.Items[:min(len(r.Items), diagnose.Named)] {
		separator, name := ", ", g.Text(item.String())
		if i == 0 {
			separator = ": "
		}
		if what.each != "" {
			name = page.A(what.each+number(item.ID), name)
		}
		content = append(content, g.Text(separator), name)
	}
	if len(r.Items) > diagnose.Named {
		content = append(content, g.Text(", "), page.Text("and more"))
	}
	if r.Level != diagnose.Good && what.text != "" {
		content = append(content, g.Text(". "), h.Strong(what.text))
	}
	return h.Div(
		h.Dt(h.Span(h.Class("mark "+level.class), h.Aria("hidden", "true"), g.Text(level.mark)), page.ScreenReaderText(page.Phrases{level.word, page.Name(": ")}), page.Text(r.Name)),
		h.Dd(content),
	)
}
