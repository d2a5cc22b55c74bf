package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

const (
	chartDays  = 30 // before and after today
	chartHours = 24
	nextDays   = 2 // today and tomorrow
	shownNext  = 200
)

// showOverview shows every part that it can load; a broken database must not hide the others.
func (c *Console) showOverview(v *visit) error {
	part := func(id string, title page.Text, content func() (g.Node, error)) g.Node {
		inside, err := content()
		if err != nil {
			inside = h.P(h.Class("problem"), c.problemOf(v, err))
		}
		return h.Section(h.Aria("labelledby", id), h.H2(h.ID(id), title), inside)
	}
	chart := func(content func() (g.Node, error)) g.Node {
		inside, err := content()
		if err != nil {
			return h.P(h.Class("problem"), c.problemOf(v, err))
		}
		return inside
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Overview")}, g.Group{
		page.ZoneHint(),
		part("needs", "What needs you", func() (g.Node, error) {
			needs, _, err := v.needs()
			return needs, err
		}),
		part("next", "Today and tomorrow", v.next),
		h.Div(h.Class("charts"), chart(v.bookingsADay), chart(v.requestsAnHour)),
		h.P(h.Class("hint"), page.Text("What needs you and the counts of bookings are at most a minute old.")),
	})
	return nil
}

func (c *Console) problemOf(v *visit, err error) page.Text {
	problem, _ := c.explain(v, err)
	if errors.Is(err, wpdb.ErrReadOnly) || errors.Is(err, wpdb.ErrAccessDenied) {
		return "The database does not let Bookside read this."
	}
	return problem
}

// next lists the bookings of today and tomorrow.
func (v *visit) next() (g.Node, error) {
	site, err := v.site()
	if err != nil {
		return nil, err
	}
	bookings, more, err := slots.NextBookings(v.ctx(), site, nextDays, shownNext)
	if err != nil {
		return nil, err
	}
	address, err := slots.Address(v.ctx(), site)
	if err != nil {
		return nil, err
	}
	today := availability.MomentOf(site.LocalNow()).Day
	var days g.Group
	for day := today; day < today+nextDays; day++ {
		booked := slices.DeleteFunc(slices.Clone(bookings), func(b records.Booking) bool { return !words.TakesPlaceOn(site, b, day) })
		title := words.LongDay(day)
		if !more {
			title = page.Textf("%s: %s", title, page.Count(len(booked), "%d booking", "%d bookings"))
		}
		days = append(days, h.H3(page.A(dayAddress(day), title)))
		if len(booked) > 0 {
			days = append(days, page.Table([]page.Text{"Time", "Customer", "Service", "Agent", "Location", "Status"}, g.Map(booked, func(b records.Booking) g.Node {
				return page.Row(page.Away(bookingAddress(address, b.ID), h.Class("name"), words.BookingHours(site, b)),
					page.Cell("Customer", words.Customer(b)),
					page.Cell("Service", words.Service(b)),
					page.Cell("Agent", words.Agent(b)),
					page.Cell("Location", g.Text(b.Location.Name)),
					page.Cell("Status", words.StatusView(b.Status)))
			})))
		}
	}
	return g.Group{days, g.If(more, h.P(h.Class("warning"), page.Textf("Only the first %d are shown.", shownNext)))}, nil
}

// bookingAddress returns the address of LatePoint's page of a booking; "" if that of the site is not known.
func bookingAddress(site string, id int64) string {
	if site == "" {
		return ""
	}
	return slots.BookingURL(site, id)
}

func (v *visit) bookingsADay() (g.Node, error) {
	a, _, err := v.agenda.Get(v.ctx())
	if err != nil {
		return nil, err
	}
	ours, others := page.Series{Name: "made through Bookside", Class: "first"}, page.Series{Name: "made on the site", Class: "second"}
	chart := page.Chart{ID: "bookings-a-day", Title: "Bookings a day", Axis: []page.Text{"30 days ago", "today", "in 30 days"}, Mark: -1}
	for i, d := range a.Days {
		ours.Values, others.Values = append(ours.Values, d.Here), append(others.Values, d.All-d.Here)
		chart.Labels = append(chart.Labels, string(d.Day))
		if d.Day == a.Today {
			chart.Mark = i
		}
	}
	chart.Series = []page.Series{ours, others}
	chart.Hint = page.Text("By the day on which they begin, without cancelled ones. The journal, which says how they were made, is empty so far.")
	if !a.Since.IsZero() {
		chart.Hint = page.Textf("By the day on which they begin, without cancelled ones. The journal says how they were made since %s; earlier ones count as made on the site.", page.NewDate(a.Since, "2006-01-02"))
	}
	return chart.View(), nil
}

func (v *visit) requestsAnHour() (g.Node, error) {
	now := v.Platform.Now()
	first := now.UTC().Truncate(time.Hour).Add(-(chartHours - 1) * time.Hour)
	hours, err := keys.RequestHours(v.ctx(), v.Platform.DB, first)
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no requests
		return nil, err
	}
	zone := time.UTC
	if known := v.zone(); known != nil {
		zone = known
	}
	done, refused, failed := page.Series{Name: "done", Class: "good"}, page.Series{Name: "refused", Class: "minor"}, page.Series{Name: "failed", Class: "broken"}
	chart := page.Chart{ID: "requests-an-hour", Title: "Requests an hour", Mark: -1, Hint: page.Textf("From the log of requests. %s says how many it keeps.", page.Code("requests.keep"))}
	for i := range chartHours {
		at := first.Add(time.Duration(i) * time.Hour)
		hour := hours[at]
		done.Values, refused.Values, failed.Values = append(done.Values, hour.Done), append(refused.Values, hour.Refused), append(failed.Values, hour.Failed)
		chart.Labels = append(chart.Labels, at.In(zone).Format("15:04"))
		if i%6 == 0 {
			chart.Axis = append(chart.Axis, page.Text(at.In(zone).Format("15:04")))
		}
	}
	chart.Axis = append(chart.Axis, page.Text(now.In(zone).Format("15:04")))
	chart.Series = []page.Series{done, refused, failed}
	return chart.View(), nil
}

// number formats an id.
func number(id int64) string { return strconv.FormatInt(id, 10) }
