package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/freetimes"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

// freeTimes explains which times of a day are free.
type freeTimes struct {
	freetimes.Question
	site     *session.Session
	today    availability.Day
	choices  map[domain.Resource][]slots.Choice
	address  string // of WordPress; "" if unknown
	answer   freetimes.Answer
	grid     []freetimes.Starts
	bookings map[int64]records.Booking // that are in the way
	off      []catalog.TimeOff         // likewise
	labels   slots.Labels              // of what the time off is for
}

func (c *Console) showFreeTimes(v *visit) error {
	site, err := v.site()
	if err != nil {
		return err
	}
	p := freeTimes{site: site, today: availability.MomentOf(site.LocalNow()).Day, choices: map[domain.Resource][]slots.Choice{}}
	p.Question = freetimes.Read(v.r.URL.Query(), p.today)
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
	status, result := http.StatusOK, h.P(page.Text("The site has no services yet. Create one in LatePoint, under Services."))
	if p.Service != 0 {
		var problems []page.Text
		if status, problems, err = p.ask(v); err != nil {
			return err
		}
		if err = p.loadCauses(v); err != nil {
			return err
		}
		p.labels = c.labels(v, len(p.off) > 0)
		if result = page.Alert(problems...); problems == nil {
			result = p.result()
		}
	}
	c.show(v, status, page.Layout{Title: page.Text("Why is this time not free?"), Invalid: status != http.StatusOK}, g.Group{p.form(), p.navigation(), result})
	return nil
}

// ask lets the API answer the question in the name of the person. Problems say why it does not.
func (p *freeTimes) ask(v *visit) (status int, problems []page.Text, err error) {
	r, err := http.NewRequestWithContext(v.ctx(), http.MethodGet, v.basePath()+p.Target(), nil)
	if err != nil {
		return 0, nil, fmt.Errorf("ask the API: %w", err)
	}
	asks := keys.Key{Kind: keys.Admin, Name: v.person, Permissions: []string{"read"}}
	if v.frame != nil {
		asks = keys.Key{Kind: keys.User, UserID: v.frame.UserID, Permissions: []string{"read"}}
	}
	status, _, body := v.Ask(asks, r)
	if status == http.StatusOK {
		err = json.Unmarshal(body, &p.answer)
		p.grid = p.answer.Grid()
		return status, nil, err
	}
	var refusal struct {
		Error struct {
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&refusal); err != nil || status >= http.StatusInternalServerError {
		return 0, nil, fmt.Errorf("ask the API: status %d, %s: %w", status, refusal.Error.Message, err)
	}
	problems = []page.Text{page.Text(page.Sentence(refusal.Error.Message))}
	var fields map[string]string
	_ = json.Unmarshal(refusal.Error.Details, &fields) // details of another kind say nothing to people
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		problems = append(problems, page.Text(page.Sentence(fields[name])))
	}
	return status, problems, nil
}

// loadCauses reads the bookings that the answer names, and the time off of the day if it blames that.
func (p *freeTimes) loadCauses(v *visit) error {
	found, err := records.LoadBookings(v.ctx(), p.site, freetimes.BookingsIn(p.grid))
	if err != nil {
		return err
	}
	p.bookings = make(map[int64]records.Booking, len(found))
	for _, b := range found {
		p.bookings[b.ID] = b
	}
	if p.answer.Data.Explain.Missing != slots.MissingDayOff && !slices.ContainsFunc(p.grid, func(s freetimes.Starts) bool { return s.Reason == availability.Off }) {
		return nil
	}
	off, err := catalog.ListTimeOff(v.ctx(), p.site, catalog.TimeOffFilter{Paging: session.Paging{Page: 1, PerPage: dayTimeOff}, From: &p.Day, To: &p.Day})
	p.off = slices.DeleteFunc(off.Records, func(t catalog.TimeOff) bool { return !p.Concerns(t.Scope) })
	return err
}

func (p *freeTimes) form() g.Node {
	choices := func(of domain.Resource) (choices []page.Choice) {
		for _, c := range p.choices[of] {
			choices = append(choices, page.Choice{Value: number(c.ID), Text: page.Name(c.Name)})
		}
		return choices
	}
	return page.GetForm(freeTimesPath, h.Class("conditions"),
		page.Condition("service", "Service", page.Select("service", number(p.Service), choices(domain.ServiceResource))),
		page.Condition("agent", "Agent", page.Selection("agent", number(p.Agent), choices(domain.AgentResource))),
		page.Condition("location", "Location", page.Selection("location", number(p.Location), choices(domain.LocationResource))),
		page.Condition("day", "Day", h.Input(h.ID("day"), h.Name("day"), h.Type("date"), h.Value(p.Day.String()), h.Required())),
		h.Div(h.Class("actions"), h.Button(h.Class("main"), page.Text("Explain"))),
	)
}

// navigation leads to the days around, and to what happens on the day.
func (p *freeTimes) navigation() g.Node {
	on := func(day availability.Day) string {
		other := p.Question
		other.Day = day
		return freeTimesPath + "?" + other.Query()
	}
	return h.Div(h.Class("toolbar"), dayArrows(p.Day, on, p.today), page.A(dayAddress(p.Day), page.Text("Agenda of this day")), page.ZoneHint())
}

func (p *freeTimes) result() g.Node {
	day := words.LongDay(p.Day)
	if missing := p.answer.Data.Explain.Missing; missing != "" {
		return h.Div(h.Class("warning"),
			h.P(page.Textf("Nothing can be booked on %s. %s", day, page.Text(p.answer.Data.Explain.Message))),
			p.timeOff(),
			changedAt("Change it in wp-admin:", p.PlacesOfMissing(p.address, missing)),
		)
	}
	free := len(p.answer.Data.Free)
	return g.Group{
		h.P(h.Strong(page.Textf("%d of %d starts are free on %s.", free, free+len(p.answer.Data.Explain.Unavailable), day))),
		page.Table([]page.Text{"Starts", "Why", "Cause", "Change it in wp-admin"}, g.Map(p.grid, p.row)),
		changedAt("Starts that are not in the list are outside of the working hours, or between the starts that the service offers. Change that in wp-admin:", p.PlacesOfMissing(p.address, slots.MissingHours)),
	}
}

func (p *freeTimes) row(s freetimes.Starts) g.Node {
	class := "start"
	if s.Reason == availability.Free {
		class = "start free"
	}
	message := page.Phrase(page.Text(s.Message))
	if s.Extension != "" {
		message = page.Textf("%s (%s)", message, s.Extension)
	}
	return page.Row(
		g.Map(s.Times, func(at string) g.Node { return g.Group{h.Span(h.Class(class), g.Text(at)), g.Text(" ")} }),
		page.Cell("Why", message),
		page.Cell("Cause", p.cause(s.Start)),
		page.Cell("Change it in wp-admin", page.Places(p.Places(p.address, s.Start))),
	)
}

// cause says what is in the way.
func (p *freeTimes) cause(s freetimes.Start) g.Node {
	if s.Booking != 0 {
		text := g.Node(page.Textf("booking %d", s.Booking))
		if b, known := p.bookings[s.Booking]; known {
			text = g.Group{words.Customer(b), g.Text(", "), words.BookingTime(p.site, b)}
		}
		return page.Away(bookingAddress(p.address, s.Booking), text)
	}
	switch s.Reason {
	case availability.Free, availability.Past, availability.OutsideWindow, availability.NotOffered:
		return nil
	case availability.Off:
		if len(p.off) > 0 {
			return p.timeOff()
		}
	}
	return page.A(dayAddress(p.Day), page.Text("agenda of the day"))
}

// timeOff lists the time off that is in the way.
func (p *freeTimes) timeOff() g.Node {
	return g.Map(p.off, func(t catalog.TimeOff) g.Node {
		return h.P(words.TimeOff(t, p.labels), h.Br(), h.Span(h.Class("hint"), words.TimeOffSpan(t), g.Text(", "), words.Concerned(t.Scope, p.labels)))
	})
}

// changedAt says where something is changed, if that is known.
func changedAt(text page.Text, places []page.Place) g.Node {
	return g.If(len(places) > 0, g.Group{h.P(h.Class("hint"), text), page.Places(places)})
}
