package compat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/compat/jsonschema"
)

// Availability lists the free starts of a day.
type Availability struct {
	Date           string       `json:"date"`
	Timezone       string       `json:"timezone"`
	ServiceID      int64        `json:"service_id"`
	AgentID        idOrAny      `json:"agent_id"`
	LocationID     idOrAny      `json:"location_id"`
	Duration       int64        `json:"duration"`
	AvailableSlots []string     `json:"available_slots"`
	Slots          []Slot       `json:"slots"`
	Explain        *Explanation `json:"explain,omitempty"`
}

// AvailabilityDays lists the free starts of several days, by date.
type AvailabilityDays struct {
	Date       string              `json:"date"`
	DateTo     string              `json:"date_to"`
	Timezone   string              `json:"timezone"`
	ServiceID  int64               `json:"service_id"`
	AgentID    idOrAny             `json:"agent_id"`
	LocationID idOrAny             `json:"location_id"`
	Duration   int64               `json:"duration"`
	Days       map[string][]string `json:"days"`
}

// Slot is a free start.
type Slot struct {
	StartTime         string  `json:"start_time"`
	EndTime           string  `json:"end_time"`
	AvailableCapacity int     `json:"available_capacity"`
	Agents            []int64 `json:"agents,omitempty"`
}

// Explanation says why starts of the grid are not offered, or why there is no grid.
type Explanation struct {
	Missing     *string       `json:"missing"`
	Message     *string       `json:"message"`
	Unavailable []Unavailable `json:"unavailable"`
}

// Unavailable is a start that is not offered, with the conflicting booking if there is one.
type Unavailable struct {
	StartTime string `json:"start_time"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	BookingID *int64 `json:"booking_id,omitempty" needs:"read_bookings"`
	// Extension has the titles of those that may be the reason.
	Extension *string `json:"extension,omitempty"`
}

// idOrAny is an id; 0 is sent as "any".
type idOrAny int64

// JSONSchema refers to the named schema.
func (idOrAny) JSONSchema() *jsonschema.Schema { return jsonschema.Reference(jsonschema.IDOrAnyName) }

func (id idOrAny) MarshalJSON() ([]byte, error) {
	if id == 0 {
		return []byte(`"any"`), nil
	}
	return strconv.AppendInt(nil, int64(id), 10), nil
}

// orAny returns an id that is nil for any.
func orAny(id *int64) idOrAny { return idOrAny(domain.ValueOr(id, 0)) }

// maxDays is how many days one request may cover.
const maxDays = 62

// maxDuration is the longest possible booking, in minutes.
const maxDuration = 24 * 60

// AvailabilityRequest is the query of GET /availability.
type AvailabilityRequest struct {
	slots.Query
	ManyDays bool // date_to was sent
	Explain  bool
}

// availabilityQuery is AvailabilityRequest with its days as sent.
type availabilityQuery struct {
	AvailabilityRequest
	date, dateTo *availability.Day
}

// AvailabilityParameters are the parameters of GET /availability.
var AvailabilityParameters = parameters("GET /availability", domain.InvalidRequest, func(a *availabilityQuery) Fields {
	return Fields{
		flag("explain", &a.Explain),
		custom("with", words("agents"), func(words map[string]bool) { a.WithAgents = words["agents"] }),
		flag("any_duration", &a.AnyDuration),
		optional("duration", integer(1, maxDuration), &a.Duration),
		value("booking_id", id(maxInt), &a.BookingID),
		value("service_id", id(maxMediumInt), &a.ServiceID),
		optional("agent_id", anyID, &a.AgentID),
		optional("location_id", anyID, &a.LocationID),
		optional("total_attendees", integer(1, maxMediumInt), &a.Attendees),
		extras(func() *jsonschema.Schema { return &jsonschema.Schema{Type: jsonschema.String} }, &a.Extras),
		optional("date", day, &a.date),
		optional("date_to", day, &a.dateTo),
	}.requiring("date").requiringUnless("booking_id", "service_id", "agent_id")
})

// AvailabilityRequest reads the parameters of GET /availability.
func (v View) AvailabilityRequest(q *Query) (AvailabilityRequest, error) {
	var a availabilityQuery
	AvailabilityParameters.read(v, q, &a)
	r := a.AvailabilityRequest
	r.From, r.ManyDays = domain.ValueOr(a.date, 0), a.dateTo != nil
	r.To = domain.ValueOr(a.dateTo, r.From)
	switch {
	case r.ManyDays && r.Explain:
		q.addProblem("explain", rejected("Explains one day: leave out date_to"))
	case r.ManyDays && r.WithAgents:
		q.addProblem("with", rejected("Shows the agents of one day: leave out date_to"))
	case a.date != nil && (r.To < r.From || r.To >= r.From+maxDays):
		q.addProblem("date_to", rejected(fmt.Sprintf("Must be a date from date on, at most %d days in all", maxDays)))
	}
	return r, AvailabilityParameters.err(q)
}

// AvailabilityCost returns how many requests a request for free starts counts as: one per week or part of a
// week. If parameters are wrong it is one.
func AvailabilityCost(q *Query) int64 {
	if _, err := (View{}).AvailabilityRequest(q); err != nil {
		return 1
	}
	return (q.Days() + 6) / 7
}

// Days returns how many days from date to date_to are requested, or 1 if that is unclear.
func (q *Query) Days() int64 {
	from, dated := availability.ParseDay(strings.TrimSpace(q.sent["date"]))
	to, ranged := availability.ParseDay(strings.TrimSpace(q.sent["date_to"]))
	if !dated || !ranged || to < from || to >= from+maxDays {
		return 1
	}
	return int64(to-from) + 1
}

// Availability returns the response to GET /availability: a BothSingle of an Availability, or of
// AvailabilityDays if several days were requested.
func (v View) Availability(r AvailabilityRequest, grid slots.Grid, timezone string) any {
	if r.ManyDays {
		return bothSingle(availabilityDays(grid, timezone))
	}
	day := grid.Days[0]
	a := Availability{
		Date: day.Day.String(), Timezone: timezone, ServiceID: grid.ServiceID,
		AgentID: orAny(grid.AgentID), LocationID: orAny(grid.LocationID), Duration: *grid.Duration,
	}
	offered := availability.Offered(day.Slots)
	a.AvailableSlots = each(offered, startTime)
	a.Slots = make([]Slot, len(offered))
	for i, s := range offered {
		a.Slots[i] = Slot{StartTime: a.AvailableSlots[i], EndTime: clock(new(grid.End(day.Day, s))), AvailableCapacity: s.Capacity, Agents: day.Agents[s.Start]}
	}
	if r.Explain {
		a.Explain = explanation(grid, day.Slots)
	}
	return bothSingle(a)
}

func availabilityDays(grid slots.Grid, timezone string) AvailabilityDays {
	a := AvailabilityDays{
		Date: grid.From.String(), DateTo: grid.To.String(), Timezone: timezone, ServiceID: grid.ServiceID,
		AgentID: orAny(grid.AgentID), LocationID: orAny(grid.LocationID), Duration: *grid.Duration,
		Days: make(map[string][]string, len(grid.Days)),
	}
	for _, day := range grid.Days {
		a.Days[day.Day.String()] = each(availability.Offered(day.Slots), startTime)
	}
	return a
}

func startTime(s availability.Slot) string { return clock(&s.Start) }

func explanation(grid slots.Grid, day []availability.Slot) *Explanation {
	e := &Explanation{Missing: orNil(string(grid.Missing)), Message: orNil(grid.Missing.Message()), Unavailable: []Unavailable{}}
	for _, s := range day {
		if s.Reason == availability.Free {
			continue
		}
		u := Unavailable{StartTime: startTime(s), Reason: string(s.Reason), Message: s.Message(), BookingID: orNil(s.Booking)}
		if s.Reason == availability.NotOffered {
			u.Extension = new(strings.Join(grid.Extensions, ", "))
		}
		e.Unavailable = append(e.Unavailable, u)
	}
	return e
}

// FreeAgents lists the free agents, with the query.
type FreeAgents struct {
	ServiceID  idOrAny `json:"service_id"`
	LocationID idOrAny `json:"location_id"`
	Date       *string `json:"date"`
	StartTime  *string `json:"start_time"`
	Duration   *int64  `json:"duration"`
	Total      int     `json:"total"`
	Agents     []Agent `json:"agents"`
}

// freeAgentQuery is slots.AgentQuery with day and time as sent.
type freeAgentQuery struct {
	slots.AgentQuery
	date  *availability.Day
	start *availability.Minutes
}

// FreeAgentParameters are the parameters of GET /agents/availability.
var FreeAgentParameters = parameters("GET /agents/availability", domain.InvalidRequest, func(f *freeAgentQuery) Fields {
	return Fields{
		optional("duration", integer(1, maxDuration), &f.Duration),
		value("service_id", anyID, &f.ServiceID),
		optional("location_id", anyID, &f.LocationID),
		defaulted("limit", integer(1, 100), 50, &f.Limit),
		optional("date", day, &f.date),
		optional("start_time", timeOrMinutes, &f.start),
	}
})

// AgentSlotQuery reads the parameters of GET /agents/availability. Date and start time take effect only
// together.
func (v View) AgentSlotQuery(q *Query) (slots.AgentQuery, error) {
	var f freeAgentQuery
	FreeAgentParameters.read(v, q, &f)
	if f.date != nil && f.start != nil {
		f.At = &availability.Moment{Day: *f.date, Minutes: *f.start}
	}
	return f.AgentQuery, FreeAgentParameters.err(q)
}

// FreeAgents returns the response to GET /agents/availability.
func (v View) FreeAgents(q slots.AgentQuery, agents []catalog.Agent) BothSingle[FreeAgents] {
	f := FreeAgents{
		ServiceID: idOrAny(q.ServiceID), LocationID: orAny(q.LocationID), Duration: q.Duration,
		Total: len(agents), Agents: each(agents, v.agent),
	}
	if q.At != nil {
		f.Date, f.StartTime = new(q.At.Day.String()), new(clock(&q.At.Minutes))
	}
	return bothSingle(f)
}
