package console

import (
	"cmp"
	"fmt"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
)

func calendarsLink(text page.Text) g.Node { return h.A(h.Href(calendarsPath), text) }

// calendarsView shows all calendars.
func calendarsView(rows []keyRow) g.Node {
	list := h.P(page.Text("There are no calendars."))
	if len(rows) > 0 {
		list = page.Table([]page.Text{"Name", "Bookings of", "Shows", "Requests", "Made", "Last use", "Status", ""}, g.Map(rows, keyRow.calendarView))
	}
	return g.Group{
		page.ZoneHint(),
		h.P(page.Text("A calendar is a secret address at which Google Calendar, Apple Calendar or Outlook reads the bookings of an agent or a location.")),
		h.P(h.A(h.Class("button main"), h.Href(calendarsPath+"/new"), newCalendarTitle)),
		list,
	}
}

func (r keyRow) calendarView() g.Node {
	resource, id := r.Subject()
	return h.Tr(h.Role("row"),
		r.nameCell(),
		page.Cell("Bookings of", page.Textf("%s %s", page.Text(resource), r.Labels.Text(resource, []int64{id}))),
		page.Cell("Shows", page.Text(r.Details)),
		page.Cell("Requests", g.Text(strconv.FormatInt(r.Requests, 10))),
		page.Cell("Made", page.Stamp(r.CreatedAt, "never"), g.If(r.CreatedBy != "", g.Group{h.Br(), h.Span(h.Class("hint word"), g.Text(r.CreatedBy))})),
		page.Cell("Last use", page.Stamp(r.LastUsedAt, "never")),
		page.Cell("Status", r.status()),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(r.Status != keys.Revoked,
			page.Button(calendarsPath+"/"+strconv.FormatInt(r.ID, 10)+"/revoke", page.Text("Revoke"), page.ScreenReaderText(page.Name(" "+r.Name))))),
	)
}

// calendarSubjects are what a calendar may be of.
var calendarSubjects = []domain.Resource{domain.AgentResource, domain.LocationResource}

// subjectChoices are the agents and the locations, each with the value that setSubject reads.
func subjectChoices(names slots.Labels) []page.Choice {
	var choices []page.Choice
	for _, resource := range calendarSubjects {
		for _, c := range names.Choices(resource) {
			choices = append(choices, page.Choice{Value: fmt.Sprint(resource, " ", c.ID), Text: page.Textf("%s %s", page.Text(resource), c.String())})
		}
	}
	return choices
}

// view shows the form of a new calendar below its errors.
func (f *calendarForm) view(csrf string, names slots.Labels) g.Node {
	return g.Group{
		f.Summary(),
		h.Form(h.Method("post"), h.Action(calendarsPath+"/new"), h.AutoComplete("off"), g.Attr("novalidate"),
			page.Hidden("csrf", csrf), f.Guard(),
			f.Radios("subject", "Bookings of", "", subjectChoices(names)),
			terms.Fields(&f.Form, keys.CalendarTerms, names),
			h.P(h.Class("actions"), h.Button(h.Class("main"), page.Text("Make the calendar")), page.Button(calendarsPath, page.Text("Cancel"))),
		),
	}
}

// calendarAddressView is the only page that ever shows the address of a calendar.
func calendarAddressView(key keys.Key, api apiAddresses, secret string) g.Node {
	address := key.Address(cmp.Or(api.public, api.local), secret)
	use := h.P(page.Text("Subscribe to it in a calendar program; a phone opens it from this code:"))
	if api.public == "" {
		use = h.P(page.Textf("It leads to this machine, because Bookside does not know the address of the API outside. Replace what is before %s, and subscribe to it in a calendar program.",
			h.Code(g.Text(key.Address("", "")))))
	}
	return g.Group{
		h.P(page.Textf("This is the only time the address of %s is shown: Bookside stores only a hash of its secret.", h.Strong(g.Text(key.Name)))),
		page.Secret("Address", address),
		use,
		g.If(api.public != "", h.P(page.QR(address, "The address as a QR code"))),
		h.P(page.Text("Anybody who has the address can read the calendar.")),
		h.P(calendarsLink("I have copied it: back to all calendars")),
	}
}

func revokeCalendarView(key keys.Key, csrf string, problem page.Text) g.Node {
	return g.Group{
		page.Alert(problem),
		h.P(page.Textf("Programs that subscribe to %s get nothing any more, at once and for good.", h.Strong(g.Text(key.Name)))),
		h.Form(h.Method("post"), h.Action(calendarsPath+"/"+strconv.FormatInt(key.ID, 10)+"/revoke"), page.Hidden("csrf", csrf),
			h.P(h.Class("actions"), h.Button(h.Class("danger"), page.Text("Revoke")), page.Button(calendarsPath, page.Text("Cancel")))),
	}
}
