package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/handlers/monitor"
)

// shownOverlaps is how many pairs of overlapping bookings are listed.
const shownOverlaps = 20

// needs shows what needs a person and how bad it is, and all other entries of the report folded away.
func (v *visit) needs() (needed g.Node, worst monitor.Level, err error) {
	found, age, err := v.Reports.Report(v.ctx(), time.Minute)
	if err != nil {
		return nil, monitor.Broken, err
	}
	slices.SortStableFunc(found.Entries, func(a, b monitor.Entry) int { return cmp.Compare(b.Level, a.Level) })
	var needs, rest []monitor.Entry
	for _, entry := range found.Entries {
		if entry.Level == monitor.Broken || entry.Level == monitor.Minor && entry.Do.Format != "" {
			needs, worst = append(needs, entry), max(worst, entry.Level)
		} else {
			rest = append(rest, entry)
		}
	}
	list := h.P(h.Class("done"), page.Text("The site can be served, and nothing needs you."))
	if len(needs) > 0 {
		list = g.Group{h.P(h.Strong(page.Count(len(needs), "%d thing needs you.", "%d things need you."))), h.Dl(h.Class("health"), g.Map(needs, entryView))}
	}
	return g.Group{
		list,
		g.If(len(found.Conflicts.Conflicts) > 0, overlapsView(found)),
		h.Details(h.Summary(page.Text("Technical details")),
			h.Dl(h.Class("health"), g.Map(rest, entryView)),
			h.P(h.Class("hint"), page.Textf("Examined %s, like %s, which has the statements for missing rights too.", page.Ago(age), h.Kbd(page.Code("bookside check")))),
		),
	}, worst, nil
}

// overlapsView lists the first pairs of bookings that their agent, or an asset, cannot both have.
func overlapsView(found monitor.Report) g.Node {
	pairs := found.Conflicts.Conflicts
	booking := func(id int64) g.Node {
		b := found.Bookings[id]
		return h.Div(page.Away(bookingAddress(found.Address, id), page.Name(page.Clock(b.Start)+"–"+page.Clock(b.End)+" "+b.Customer+", "+b.Service)))
	}
	return g.Group{h.H3(page.Text("Overlapping bookings")), page.Table([]page.Text{"Day", "Whose", "Bookings"}, g.Map(pairs[:min(len(pairs), shownOverlaps)], func(pair slots.Conflict) g.Node {
		first := found.Bookings[pair.First]
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
var levels = map[monitor.Level]struct {
	class, mark string
	word        page.Text
}{
	monitor.Good: {"good", "✓", "good"}, monitor.Minor: {"minor", "!", "to look at"}, monitor.Broken: {"broken", "✗", "broken"},
}

// links are the pages on which people can do something about an entry: one for all of its items, or, if it ends with a slash,
// one for each by its id.
var links = map[monitor.Code]string{
	monitor.ChangesLate:      changesPath,
	monitor.RestoredUnder:    changesPath,
	monitor.WebhooksFailing:  webhooksPath + "/",
	monitor.WebhooksDisabled: webhooksPath + "/",
	monitor.KeysExpiring:     keysPath + "/",
	monitor.KeysWeak:         keysPath + "/",
	monitor.ExtensionsFailed: webhooksPath,
	monitor.ExtensionsLate:   webhooksPath,
	monitor.KeysGood:         keysPath + "/new",
}

// said is a sentence of a diagnosis, with its times in the site's zone.
func said(s monitor.Sentence) g.Node {
	values := slices.Clone(s.Values)
	for i, value := range values {
		switch value := value.(type) {
		case monitor.Sentence:
			values[i] = said(value)
		case monitor.Moment:
			values[i] = page.Time(value.Time)
		}
	}
	return page.Textf(page.Text(s.Format), values...)
}

// entryView names the items of an entry, with links, and says what to do.
func entryView(e monitor.Entry) g.Node {
	level, link := levels[e.Level], links[e.Code]
	each := strings.HasSuffix(link, "/")
	content := g.Group{said(e.Text)}
	if link != "" && !each && e.Level != monitor.Good {
		content = g.Group{page.A(link, said(e.Text))}
	}
	for i, item := range e.Items[:min(len(e.Items), monitor.Named)] {
		separator, name := ", ", g.Text(item.String())
		if i == 0 {
			separator = ": "
		}
		if each {
			name = page.A(link+number(item.ID), name)
		}
		content = append(content, g.Text(separator), name)
	}
	if len(e.Items) > monitor.Named {
		content = append(content, g.Text(", "), page.Text("and more"))
	}
	if e.Do.Format != "" {
		content = append(content, g.Text(". "), h.Strong(said(e.Do)))
	}
	return h.Div(
		h.Dt(h.Span(h.Class("mark "+level.class), h.Aria("hidden", "true"), g.Text(level.mark)), page.ScreenReaderText(page.Phrases{level.word, page.Name(": ")}), page.Text(e.Code.Words())),
		h.Dd(content),
	)
}
