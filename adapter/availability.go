package adapter

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
)

// SlotQuery asks for the free start times of a range of days.
type SlotQuery struct {
	ServiceID           int64
	AgentID, LocationID int64 // 0 for any
	From, To            availability.Day
	Duration            *int64 // minutes; nil for the service's own
	Attendees           int64
}

// SlotGrid has the grid of each day of a query.
type SlotGrid struct {
	SlotQuery
	Days []SlotDay
	// Missing says why no day has a grid; empty if one has.
	Missing Missing
}

// SlotDay is the grid of one day.
type SlotDay struct {
	Day   availability.Day
	Slots []availability.Slot
}

// Slots returns the grid of each day, as the site's public calendar shows it to a
// customer. It returns a CodeInvalidRequest if the service, agent or location does not
// exist or the service does not offer the duration.
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

// slotResources reads the service of a query and its bookable resources. Everything that
// does not exist is reported at once.
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

// joinNumbers formats numbers for a message.
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
	At                    *availability.Moment // nil for all who work there
	Duration              *int64               // minutes; nil for the service's own, else 60
	Limit                 int64
}

// extraBlockingStatuses are the booking statuses that keep an agent from being free, in
// addition to those that block slots.
var extraBlockingStatuses = []string{"approved", "pending"}

// FreeAgents returns the agents who can provide a service at a start of its grid, by id;
// for any service, those who work then and have no booking. It returns a
// CodeInvalidRequest if the service or location does not exist.
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
