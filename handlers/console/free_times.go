package console

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/api"
	"github.com/bookside/bookside/handlers/console/page"
)

const freeTimesPath = bookingsPath + "/free-times"

// freeTimesQuestion is what the page is asked, as its address says it.
type freeTimesQuestion struct {
	Day                      availability.Day
	Service, Agent, Location int64 // agent and location may be 0 for any
	Booking                  int64 // to be moved; 0 for a new one
}

func readFreeTimesQuestion(query url.Values, today availability.Day) freeTimesQuestion {
	q := freeTimesQuestion{Day: today}
	if day, ok := availability.ParseDay(query.Get("day")); ok && day < availability.LastDay {
		q.Day = day
	}
	for name, id := range map[string]*int64{"service": &q.Service, "agent": &q.Agent, "location": &q.Location, "booking": &q.Booking} {
		if number, err := strconv.ParseInt(query.Get(name), 10, 64); err == nil && number > 0 {
			*id = number
		}
	}
	return q
}

// path is the address of the question.
func (q freeTimesQuestion) path() string {
	query := url.Values{"day": {q.Day.String()}}
	for name, id := range map[string]int64{"service": q.Service, "agent": q.Agent, "location": q.Location, "booking": q.Booking} {
		if id != 0 {
			query.Set(name, strconv.FormatInt(id, 10))
		}
	}
	return freeTimesPath + "?" + query.Encode()
}

// target is the question as a request to the API.
func (q freeTimesQuestion) target() string {
	query := url.Values{"date": {q.Day.String()}, "explain": {"1"}, "service_id": {strconv.FormatInt(q.Service, 10)}, "agent_id": {"any"}, "location_id": {"any"}}
	for name, id := range map[string]int64{"agent_id": q.Agent, "location_id": q.Location, "booking_id": q.Booking} {
		if id != 0 {
			query.Set(name, strconv.FormatInt(id, 10))
		}
	}
	return "/availability?" + query.Encode()
}

// freeTimesAnswer is the response of the API.
type freeTimesAnswer struct {
	Data struct {
		Free    []string `json:"available_slots"`
		Explain struct {
			Missing     slots.Missing `json:"missing"`
			Message     string        `json:"message"`
			Unavailable []start       `json:"unavailable"`
		} `json:"explain"`
	} `json:"data"`
}

// start is a start that is free, or why it is not.
type start struct {
	At        string              `json:"start_time"`
	Reason    availability.Reason `json:"reason"`
	Message   string              `json:"message"`
	Booking   int64               `json:"booking_id"`
	Extension string              `json:"extension"`
}

// starts are those that follow each other and are free, or not free for the same reason.
type starts struct {
	start
	all []string
}

// grid returns all starts of the day in order.
func (a freeTimesAnswer) grid() (grid []starts) {
	day := slices.Clone(a.Data.Explain.Unavailable)
	for _, at := range a.Data.Free {
		day = append(day, start{At: at, Message: "Free."})
	}
	slices.SortFunc(day, func(a, b start) int { return cmp.Compare(a.At, b.At) })
	for _, s := range day {
		if last := len(grid) - 1; last >= 0 && grid[last].Reason == s.Reason && grid[last].Booking == s.Booking {
			grid[last].all = append(grid[last].all, s.At)
			continue
		}
		grid = append(grid, starts{s, []string{s.At}})
	}
	return grid
}

// freeTimesPage explains which times of a day are free.
type freeTimesPage struct {
	freeTimesQuestion
	site     *session.Session
	choices  map[domain.Resource][]slots.Choice
	address  string    // of WordPress; "" if unknown
	problem  page.Text // why the API gave no answer
	answer   freeTimesAnswer
	grid     []starts
	bookings map[int64]records.Booking // that are in the way
}

func (c *Console) showFreeTimes(v *visit) error {
	site, err := v.Platform.Session(v.ctx())
	if err != nil {
		return err
	}
	p := freeTimesPage{site: site, choices: map[domain.Resource][]slots.Choice{}}
	p.freeTimesQuestion = readFreeTimesQuestion(v.r.URL.Query(), availability.MomentOf(site.LocalNow()).Day)
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
	if v.wordpress {
		v.send(http.StatusOK, p.facts())
		return nil
	}
	c.show(v, status, page.Layout{Title: page.Text("Why is this time not free?"), Invalid: p.problem != ""}, p.view())
	return nil
}

// ask lets the API answer the question, and reads the bookings that its answer names.
func (p *freeTimesPage) ask(v *visit) (status int, err error) {
	answer, err := v.askAsAdmin(api.Request{Method: http.MethodGet, Target: p.target()})
	if err != nil {
		return 0, err
	}
	if answer.Refused() {
		problem := api.Sentence(answer.Error.Message)
		problems := answer.Problems()
		for _, field := range slices.Sorted(maps.Keys(problems)) {
			problem += " " + api.Sentence(problems[field])
		}
		p.problem = page.Text(problem)
		return answer.Status, nil
	}
	if err := answer.Read(&p.answer); err != nil {
		return 0, err
	}
	p.grid = p.answer.grid()
	var ids []int64
	for _, s := range p.grid {
		if s.Booking != 0 && !slices.Contains(ids, s.Booking) {
			ids = append(ids, s.Booking)
		}
	}
	found, err := records.LoadBookings(v.ctx(), p.site, ids, false)
	p.bookings = make(map[int64]records.Booking, len(found))
	for _, b := range found {
		p.bookings[b.ID] = b
	}
	return answer.Status, err
}
