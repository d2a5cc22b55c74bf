package console

import (
	"net/http"
	"slices"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/api"
	"github.com/bookside/bookside/handlers/console/freetimes"
	"github.com/bookside/bookside/handlers/console/page"
)

const freeTimesPath = bookingsPath + "/free-times"

// freeTimesOf returns the address of a question.
func freeTimesOf(q freetimes.Question) string { return freeTimesPath + "?" + q.Query() }

// freeTimesPage explains which times of a day are free.
type freeTimesPage struct {
	freetimes.Question
	site     *session.Session
	choices  map[domain.Resource][]slots.Choice
	address  string      // of WordPress; "" if unknown
	problems []page.Text // why the API gave no answer
	answer   freetimes.Answer
	grid     []freetimes.Starts
	bookings map[int64]records.Booking // that are in the way
	off      []timeoff.TimeOff         // likewise
	labels   slots.Labels              // of what the time off is for
}

func (c *Console) showFreeTimes(v *visit) error {
	site, err := v.site()
	if err != nil {
		return err
	}
	p := freeTimesPage{site: site, choices: map[domain.Resource][]slots.Choice{}}
	p.Question = freetimes.Read(v.r.URL.Query(), availability.MomentOf(site.LocalNow()).Day)
	for _, resource := range []domain.Resource{domain.AgentResource, domain.ServiceResource, domain.LocationResource} {
		if p.choices[resource], err = slots.Choices(v.ctx(), site, resource); err != nil {
			return err
		}
	}
	if services := p.choices[domain.ServiceResource]; p.Service == 0 && len(services) > 0 {
		p.Service = services[0].ID
	}
	if p.address, err = slots.Address(v.ctx(), site); err != nil {
		return err
	}
	status := http.StatusOK
	if p.Service != 0 {
		if status, err = p.ask(v); err != nil {
			return err
		}
	}
	if err = p.loadTimeOff(v); err != nil {
		return err
	}
	p.labels = c.labels(v, len(p.off) > 0)
	if v.wordpress {
		return v.send(http.StatusOK, p.facts())
	}
	c.show(v, status, page.Layout{Title: page.Text("Why is this time not free?"), Invalid: len(p.problems) > 0}, p.view())
	return nil
}

// ask lets the API answer the question, and reads the bookings that its answer names.
func (p *freeTimesPage) ask(v *visit) (status int, err error) {
	answer, err := v.askAsAdmin(api.Request{Method: http.MethodGet, Target: p.Target()})
	if err != nil {
		return 0, err
	}
	if answer.Refused() {
		p.problems = answer.Sentences()
		return answer.Status, nil
	}
	if err := answer.Read(&p.answer); err != nil {
		return 0, err
	}
	p.grid = p.answer.Grid()
	found, err := records.LoadBookings(v.ctx(), p.site, freetimes.BookingsIn(p.grid), false)
	p.bookings = make(map[int64]records.Booking, len(found))
	for _, b := range found {
		p.bookings[b.ID] = b
	}
	return answer.Status, err
}

// loadTimeOff reads the time off of the day, if the answer blames it.
func (p *freeTimesPage) loadTimeOff(v *visit) error {
	if p.answer.Data.Explain.Missing != slots.MissingDayOff && !slices.ContainsFunc(p.grid, func(s freetimes.Starts) bool { return s.Reason == availability.Off }) {
		return nil
	}
	found, err := timeoff.List(v.ctx(), p.site, timeoff.Filter{Paging: session.Paging{Page: 1, PerPage: agendaTimeOff}, From: &p.Day, To: &p.Day})
	p.off = slices.DeleteFunc(found.Records, func(t timeoff.TimeOff) bool { return !p.Concerns(t.Scope) })
	return err
}
