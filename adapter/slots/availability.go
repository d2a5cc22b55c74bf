package slots

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// Query asks for the free start times of a range of days, for a new booking or for moving one. A booking to
// move supplies whatever is not sent.
type Query struct {
	BookingID  int64 // of the booking to move; 0 for a new one
	ServiceID  int64
	AgentID    *int64 // 0 for any
	LocationID *int64 // 0 for any; nil for the first one that offers the service
	From, To   availability.Day
	Duration   *int64 // minutes; nil for the service's own
	// AnyDuration is set if Duration need not be one of the service's, as for a booking.
	AnyDuration bool
	Attendees   *int64  // nil for 1
	Extras      *Extras // nil for none, or for those of the booking to move
	WithAgents  bool    // the grid says who can serve each start
}

// Grid holds the grid of each day of a query.
type Grid struct {
	Query
	Days []Day
	// Missing says why no day has a grid; empty if one has.
	Missing Missing
	// Extensions are the titles of extensions that decide which starts are offered.
	Extensions []string
	clock      availability.Clock
}

// End returns when a booking in a slot ends: 24:00 or a time of day.
func (g Grid) End(day availability.Day, slot availability.Slot) session.Minutes {
	return g.clock.End(availability.Moment{Day: day, Minutes: slot.Start}, session.Minutes(*g.Duration)).Minutes
}

// Day is the grid of one day.
type Day struct {
	Day   availability.Day
	Slots []availability.Slot
	// Agents are those who can serve each offered start, if requested.
	Agents map[availability.Minutes][]int64
}

// Search returns the grid of each day, as the site's public calendar shows it to a customer. In the grid's
// query, whatever was not sent has its effective value, and the duration includes extras.
//
// It returns a CodeInvalidRequest if the booking, service, agent or location does not exist or the service
// does not offer the duration, and a CodeForbidden if the caller's key may not read the booking.
func Search(ctx context.Context, s *session.Session, q Query) (Grid, error) {
	search, err := newSlotSearch(ctx, s, q)
	if err != nil {
		return Grid{}, err
	}
	var offered extensionOffers
	if len(search.resources) > 0 {
		if offered, err = askOffers(ctx, s, search.draft(), search.request.Duration, q.From, q.To); err != nil {
			return Grid{}, err
		}
		search.request.Duration, search.Duration = offered.duration, new(int64(offered.duration))
	}
	grid := Grid{Extensions: offered.titles, Query: search.Query, Missing: search.missing, clock: s.Zone.Clock(), Days: make([]Day, 0, q.To-q.From+1)}
	var calendar *availability.Calendar
	if len(search.resources) > 0 {
		calendar, err = Calendar(ctx, s, search.service, search.resources, CalendarQuery{
			From: q.From, To: q.To, Customer: true, anyLocation: IsAny(search.LocationID), offers: offered.starts,
		})
		if err != nil {
			return Grid{}, err
		}
		grid.Missing = MissingHours
	}
	for day := q.From; day <= q.To; day++ {
		d := Day{Day: day}
		if calendar != nil {
			d.Slots = calendar.Day(day, search.request)
			if q.WithAgents {
				d.Agents = calendar.FreeAgents(day, search.request)
			}
		}
		switch {
		case len(d.Slots) > 0:
			grid.Missing = ""
		case q.From == q.To && grid.Missing == MissingHours && calendar.DayOff(day, search.request):
			grid.Missing = MissingDayOff
		case q.From == q.To && grid.Missing == MissingHours && calendar.Works(day, search.request):
			grid.Missing = MissingLongHours
		}
		grid.Days = append(grid.Days, d)
	}
	return grid, nil
}

// IsAny reports whether any location was requested.
func IsAny(location *int64) bool { return location != nil && *location == 0 }

// slotSearch is a slot query with the data read for it.
type slotSearch struct {
	Query
	service   Service
	resources []availability.Resource
	missing   Missing // says why there are no resources
	request   availability.Request
	// The duration without extras, and the extras.
	plainDuration int64
	chosen        []ChosenExtra
}

// newSlotSearch reads the booking and the service of a query and the bookable resources, and reports
// everything that does not exist at once.
func newSlotSearch(ctx context.Context, s *session.Session, q Query) (slotSearch, error) {
	var problems domain.Validation
	booking, err := bookingToMove(ctx, s, q.BookingID)
	if err := problems.Absorb(err); err != nil {
		return slotSearch{}, err
	}
	found := slotSearch{Query: q.completedBy(booking)}
	if found.ServiceID == 0 && problems.Err() != nil {
		return found, problems.Err()
	}
	found.service, found.resources, found.missing, err = LoadService(ctx, s, &problems, found.ServiceID, domain.ValueOr(found.AgentID, 0), found.LocationID)
	if err != nil {
		return found, err
	}
	if found.LocationID == nil && len(found.resources) > 0 {
		found.LocationID = &found.resources[0].Location
	}
	if booking != nil {
		found.request = found.service.RequestToMove(*booking, q.Duration, q.Attendees)
	} else {
		found.request = found.service.Request(domain.ValueOr(q.Duration, found.service.Duration), domain.ValueOr(q.Attendees, 1))
	}
	CheckDuration(&problems, int64(found.request.Duration))
	durations := found.service.durations
	if booking != nil && !slices.Contains(durations, booking.Duration) {
		durations = append(slices.Clone(durations), booking.Duration)
	}
	if q.Duration != nil && !q.AnyDuration && !problems.Has("service_id") && !slices.Contains(durations, *q.Duration) {
		problems.Invalid("duration", "Must be one of the service's durations: "+joinNumbers(found.service.durations)+"; any_duration=1 allows any")
	}
	extras, err := LoadExtras(ctx, s, &problems, found.service, q.Extras)
	if err != nil {
		return found, err
	}
	minutes := ExtraMinutes(extras)
	found.plainDuration, found.chosen = int64(found.request.Duration), ChosenOf(extras)
	if q.Extras == nil && booking != nil {
		minutes, found.chosen = booking.ExtraMinutes(), ExtrasOf(*booking)
	}
	found.request.Duration += session.Minutes(minutes)
	found.Duration = new(int64(found.request.Duration))
	return found, problems.Err()
}

// bookingToMove reads the booking of a query, or returns nil if it names none. It returns a CodeInvalidRequest if
// there is no such booking.
func bookingToMove(ctx context.Context, s *session.Session, id int64) (*records.Booking, error) {
	if id == 0 {
		return nil, nil
	}
	if err := s.RequirePermission("read_bookings"); err != nil {
		return nil, err
	}
	booking, err := records.LoadBooking(ctx, s, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, domain.InvalidField("booking_id", "Booking not found")
	}
	return &booking, err
}

// completedBy returns the query with the service, agent and location of a booking, nil for none, unless they were sent.
func (q Query) completedBy(booking *records.Booking) Query {
	if booking != nil {
		q.ServiceID = cmp.Or(q.ServiceID, booking.ServiceID())
		q.AgentID = cmp.Or(q.AgentID, &booking.Agent.ID)
		q.LocationID = cmp.Or(q.LocationID, booking.AnyLocation())
	}
	return q
}

// joinNumbers formats numbers for a message.
func joinNumbers(numbers []int64) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(words, ", ")
}

// AgentQuery asks which agents are free.
type AgentQuery struct {
	ServiceID  int64                // 0 for any
	LocationID *int64               // nil for any; 0 too, but then an agent busy at one location is not free
	At         *availability.Moment // nil for all agents who work there
	Duration   *int64               // minutes; nil for the service's own, otherwise 60
	Limit      int64
}

// extraBlockingStatuses are the booking statuses that keep an agent from being free, in
// addition to those that block slots.
var extraBlockingStatuses = []string{"approved", "pending"}

// FreeAgents returns the ids of the agents who can provide a service at a start of its grid, in ascending
// order; for any service, those who work then and have no booking. It returns a CodeInvalidRequest if the
// service or location does not exist.
func FreeAgents(ctx context.Context, s *session.Session, q AgentQuery) ([]int64, error) {
	var problems domain.Validation
	if err := s.Scope().Refuse(0, q.ServiceID, domain.ValueOr(q.LocationID, 0)); err != nil {
		return nil, err
	}
	service, free, known, err := LoadBookable(ctx, s, q.ServiceID, 0, cmp.Or(q.LocationID, new(int64)))
	if err != nil {
		return nil, err
	}
	switch {
	case q.ServiceID == 0:
		service = anyService(service.settings)
	case !known:
		problems.Invalid("service_id", "Service not found")
	}
	if len(free) == 0 {
		_, err := findLack(ctx, s, service, 0, domain.ValueOr(q.LocationID, 0))
		if err := problems.Absorb(err); err != nil {
			return nil, err
		}
	}
	if q.At != nil {
		CheckDuration(&problems, domain.ValueOr(q.Duration, service.Duration))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if q.At != nil && len(free) > 0 {
		free, err = freeAt(ctx, s, service, free, q)
		if err != nil {
			return nil, err
		}
	}
	agents := scopeOf(free).agents
	return agents[:min(len(agents), int(q.Limit))], nil
}

func freeAt(ctx context.Context, s *session.Session, service Service, resources []availability.Resource, q AgentQuery) ([]availability.Resource, error) {
	if q.Duration == nil {
		q.Duration = &service.Duration
	}
	request := service.Request(*q.Duration, 1)
	var offered extensionOffers
	if q.ServiceID != 0 {
		var err error
		draft := NewDraft(q.ServiceID, 0, domain.ValueOr(q.LocationID, 0), *q.Duration, request, nil)
		if offered, err = askOffers(ctx, s, draft, request.Duration, q.At.Day, q.At.Day); err != nil {
			return nil, err
		}
		request.Duration = offered.duration
	}
	calendar, err := Calendar(ctx, s, service, resources, CalendarQuery{
		From: q.At.Day, To: q.At.Day, Customer: true, also: extraBlockingStatuses, anyLocation: IsAny(q.LocationID), offers: offered.starts,
	})
	if err != nil {
		return nil, err
	}
	if q.ServiceID != 0 {
		return calendar.Free(*q.At, request), nil
	}
	calendar.Rules.OneLocationAtTime, calendar.Rules.MultipleServicesAtTime = true, false
	return calendar.Open(*q.At, request), nil
}
