// Package charts has the charts of the console's overview: of requests and of bookings. It imports the adapter's packages whose
// figures it shows, and handlers/console/page.
package charts

import (
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
)

// Day shows charts of the last 24 hours.
func Day(day daystats.Day, zone *time.Location) g.Node {
	all := day.Total()
	total := func(which ...daystats.Outcome) page.Phrase { return page.Name(strconv.FormatInt(all.Of(which...), 10)) }
	values := func(valueOf func(*daystats.Minute) float64) []float64 {
		list := make([]float64, len(day.Slots))
		for i := range day.Slots {
			list[i] = valueOf(&day.Slots[i])
		}
		return list
	}
	requests := func(name page.Text, class string, which ...daystats.Outcome) page.Series {
		return page.Series{Name: name, Class: class, Values: values(func(m *daystats.Minute) float64 { return float64(m.Of(which...)) }), Total: total(which...)}
	}
	percentile := func(name page.Text, class string, share float64) page.Series {
		valueOf := func(m *daystats.Minute) float64 {
			took, _ := m.Durations.Percentile(share)
			return float64(took) / float64(time.Millisecond)
		}
		return page.Series{Name: name, Class: class, Values: values(valueOf), Total: page.Name(milliseconds(valueOf(&all)))}
	}
	labels, axis := slotLabels(day, zone)
	picture := func(id string, title page.Text, format func(float64) string, all ...page.Series) page.Chart {
		return page.Chart{ID: id, Title: title, Series: all, Labels: labels, Axis: axis, Format: format, Mark: -1}
	}
	durations := picture("durations", "Time to respond", milliseconds, percentile("median", "first", .5), percentile("95 % within", "second", .95))
	durations.Lines = true
	connections := picture("connections", "Connections to the database", whole, page.Series{
		Name: "most in use", Class: "first", Values: values(func(m *daystats.Minute) float64 { return float64(m.Connections) }), Total: page.Textf("%d of %d", all.Connections, all.ConnectionLimit),
	})
	refused := []daystats.Outcome{daystats.Limited, daystats.Throttled, daystats.Overloaded, daystats.Disconnected}
	return g.Group{
		g.If(day.Alone, h.P(h.Class("warning"), page.Text("The table of figures cannot be used, so these are those of this server alone, since it was started."))),
		g.If(all.Total() == 0, h.P(page.Text("There were no requests."))),
		h.Div(h.Class("charts"),
			picture("requests", "Requests", whole, requests("succeeded", "good", daystats.Succeeded), requests("rejected", "minor", daystats.Rejected),
				requests("refused", "second", refused...), requests("failed", "broken", daystats.Failed)).View(),
			durations.View(),
			picture("refusals", "Refused requests", whole, requests("limit of a key", "first", daystats.Limited), requests("invalid keys", "second", daystats.Throttled),
				requests("too many at a time", "minor", daystats.Overloaded), requests("no connection free", "broken", daystats.Disconnected)).View(),
			connections.View(),
		),
		h.P(h.Class("hint"), page.Text("A column is 15 minutes of all servers. Rejected requests were wrong themselves, such as 401 or 404. Requests that wait for changes do not count in the time to respond.")),
	}
}

// slotLabels returns the labels of a day's columns, and of five places below them.
func slotLabels(day daystats.Day, zone *time.Location) (labels []string, axis []page.Text) {
	start := day.Start.In(zone)
	for i := range day.Slots {
		labels = append(labels, start.Add(time.Duration(i)*daystats.SlotWidth).Format("15:04"))
	}
	for hours := 0; hours <= 24; hours += 6 {
		axis = append(axis, page.Text(start.Add(time.Duration(hours)*time.Hour).Format("15:04")))
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

// Bookings shows a chart of the bookings around today.
func Bookings(a slots.Agenda) g.Node {
	here, there := page.Series{Name: "made through Bookside", Class: "first"}, page.Series{Name: "made on the site", Class: "second"}
	var labels []string
	var ours, all int
	mark := -1
	for i, d := range a.Days {
		here.Values, there.Values = append(here.Values, float64(d.Here)), append(there.Values, float64(d.All-d.Here))
		labels = append(labels, string(d.Day))
		ours, all = ours+d.Here, all+d.All
		if d.Day == a.Today {
			mark = i
		}
	}
	here.Total, there.Total = page.Name(strconv.Itoa(ours)), page.Name(strconv.Itoa(all-ours))
	hint := page.Phrase(page.Text("Counted by the day on which they begin, without cancelled ones. The journal says which were made through Bookside; it is empty so far, so all count as made on the site."))
	if !a.Since.IsZero() {
		hint = page.Textf("Counted by the day on which they begin, without cancelled ones. The journal says which were made through Bookside; it goes back to %s, and what was booked before counts as made on the site.",
			page.NewDate(a.Since, "2006-01-02"))
	}
	return h.Div(h.Class("charts"), page.Chart{
		ID: "bookings-a-day", Title: "Bookings a day", Series: []page.Series{here, there}, Labels: labels, Format: whole, Mark: mark, Hint: hint,
		Axis: []page.Text{"30 days ago", "today", "in 30 days"},
	}.View())
}
