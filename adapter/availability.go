package adapter

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
)

// SlotQuery asks for the starts that are free on some days.
type SlotQuery struct {
	ServiceID           int64
	AgentID, LocationID int64 // 0 for any
	From, To            availability.Day
	Duration            *int64 // minutes; nil for the service's own
	Attendees           int64
}

// SlotGrid is the grid of each day that was asked for.
type SlotGrid struct {
	SlotQuery
	Days []SlotDay
	// Missing is why no day has a grid; empty where one has.
	Missing Missing
}

// SlotDay is the grid of one day.
type SlotDay struct {
	Day   availability.Day
	Slots []availability.Slot
}

// Missing is what a service, agent or location lacks to be booked at all.
type Missing string

// What can be missing, in the order in which it is looked for.
const (
	MissingStatus     Missing = "status" // service, agent or location is not active
	MissingConnection Missing = "connection"
	MissingHours      Missing = "working_hours"
)

// Slots is the grid of the days, as the public calendar of the site has it for
// a customer. A service, agent or location that does not exist and a duration
// that the service does not offer are a CodeInvalidRequest.
func (s *Site) Slots(ctx context.Context, q SlotQuery) (SlotGrid, error) {
	service, resources, missing, err := s.slotResources(ctx, q)
	if err != nil {
		return SlotGrid{}, err
	}
	if q.Duration == nil {
		q.Duration = &service.duration
	}
	grid := SlotGrid{SlotQuery: q, Missing: missing, Days: make([]SlotDay, 0, q.To-q.From+1)}
	var calendar *availability.Calendar
	if len(resources) > 0 {
		calendar, err = s.calendar(ctx, service, resources, calendarQuery{from: q.From, to: q.To, customer: true})
		if err != nil {
			return SlotGrid{}, err
		}
		grid.Missing = MissingHours
	}
	request := service.request(*q.Duration, q.Attendees)
	for day := q.From; day <= q.To; day++ {
		d := SlotDay{Day: day}
		if calendar != nil {
			d.Slots = calendar.Day(day, request)
		}
		if len(d.Slots) > 0 {
			grid.Missing = ""
		}
		grid.Days = append(grid.Days, d)
	}
	return grid, nil
}

// slotResources reads what a question names, and refuses at once all of it that does
// not exist.
func (s *Site) slotResources(ctx context.Context, q SlotQuery) (service bookableService, resources []availability.Resource, missing Missing, err error) {
	var problems domain.Validation
	service, err = s.bookableService(ctx, q.ServiceID)
	if err := problems.Absorb(err); err != nil {
		return service, nil, "", err
	}
	resources, missing, err = s.resources(ctx, service, q.AgentID, q.LocationID)
	if err := problems.Absorb(err); err != nil {
		return service, nil, "", err
	}
	if q.Duration != nil && !problems.Has("service_id") && !slices.Contains(service.durations, *q.Duration) {
		problems.Invalid("duration", "Must be one of the service's durations: "+joinNumbers(service.durations))
	}
	return service, resources, missing, problems.Err()
}

// joinNumbers writes numbers for a message.
func joinNumbers(numbers []int64) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(words, ", ")
}

// AgentSlotQuery asks which agents are free.
type AgentSlotQuery struct {
	ServiceID, LocationID int64                // 0 for any
	At                    *availability.Moment // nil asks who works there at all
	Duration              *int64               // minutes; nil for the service's own, else 60
	Limit                 int64
}

// extraBlockingStatuses are the statuses of bookings that keep an agent from being free,
// besides those that block slots.
var extraBlockingStatuses = []string{"approved", "pending"}

// FreeAgents are the agents who can give a service at a start of its grid; for
// any service, those who work then and have no booking. They are ordered by id.
// A service or location that does not exist is a CodeInvalidRequest.
func (s *Site) FreeAgents(ctx context.Context, q AgentSlotQuery) ([]Agent, error) {
	var problems domain.Validation
	service, err := s.serviceOrAny(ctx, q.ServiceID)
	if err := problems.Absorb(err); err != nil {
		return nil, err
	}
	free, _, err := s.resources(ctx, service, 0, q.LocationID)
	if err := problems.Absorb(err); err != nil {
		return nil, err
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if q.At != nil && len(free) > 0 {
		free, err = s.freeAt(ctx, service, free, q)
		if err != nil {
			return nil, err
		}
	}
	agents := scopeOf(free).agents
	return s.agentsByID(ctx, agents[:min(len(agents), int(q.Limit))])
}

func (s *Site) freeAt(ctx context.Context, service bookableService, resources []availability.Resource, q AgentSlotQuery) ([]availability.Resource, error) {
	calendar, err := s.calendar(ctx, service, resources, calendarQuery{
		from: q.At.Day, to: q.At.Day, customer: true, also: extraBlockingStatuses,
	})
	if err != nil {
		return nil, err
	}
	if q.Duration == nil {
		q.Duration = &service.duration
	}
	request := service.request(*q.Duration, 1)
	if q.ServiceID != 0 {
		return calendar.Free(*q.At, request), nil
	}
	calendar.Rules.OneLocationAtTime, calendar.Rules.MultipleServicesAtTime = true, false
	return calendar.Open(*q.At, request), nil
}

// addOn is the add-on that makes off periods and daily limits count, by its
// folder and by its file.
const (
	addOn     = "latepoint-pro-features"
	addOnFile = addOn + ".php"
)
