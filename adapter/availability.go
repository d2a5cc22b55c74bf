package adapter

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/wpdb"
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

// defaultDuration is the length of what is no certain service, in minutes
// (OsBookingModel::get_total_duration).
const defaultDuration = 60

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

func (s *Site) serviceOrAny(ctx context.Context, id int64) (bookableService, error) {
	if id != 0 {
		return s.bookableService(ctx, id)
	}
	any := bookableService{Service: availability.Service{CapacityMax: 1}, active: true, duration: defaultDuration}
	settings, err := s.slotSettings(ctx)
	any.settings = settings
	return any, err
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

// bookableService is what booking needs to know of a service.
type bookableService struct {
	availability.Service
	active         bool
	name           string
	duration       int64 // minutes
	durations      []int64
	prices         map[int64]decimal.Decimal // by duration; the basic price is that of 0
	bounds         availability.Bounds
	bookingsPerDay int // 0 for no limit
	settings       map[string]string
}

// request asks for a new booking of the service.
func (v bookableService) request(duration, attendees int64) availability.Request {
	return availability.Request{
		Duration: availability.Minutes(duration), Attendees: int(attendees),
		BufferBefore: v.BufferBefore, BufferAfter: v.BufferAfter,
	}
}

// Meta keys of services and agents.
const (
	metaDurations      = "durations"
	metaBlockAtMinimum = "block_timeslot_when_minimum_capacity_met"
	metaBookingsPerDay = "max_bookings_per_day"
)

// Settings that decide about slots.
const (
	settingBlockingStatuses = "timeslot_blocking_statuses"
	settingStep             = "timeblock_interval"
	settingEarliest         = "earliest_possible_booking"
	settingLatest           = "latest_possible_booking"
	settingOneLocation      = "one_location_at_time"
	settingManyServices     = "multiple_services_at_time"
	settingOneAgent         = "one_agent_at_location"
	settingAgentOrder       = "any_agent_order"
	settingAddOns           = "active_addons"
)

// on is how a switch among settings is stored; anything else is off.
const on = "on"

// bookableService reads a service with what its bookings depend on; a
// CodeInvalidRequest where it does not exist.
func (s *Site) bookableService(ctx context.Context, id int64) (bookableService, error) {
	v := bookableService{Service: availability.Service{ID: id}}
	var basic decimal.NullDecimal
	stmt := sq.Select("status = 'active'", "duration", "buffer_before", "buffer_after", "timeblock_interval", "capacity_min", "COALESCE(capacity_max, 1)", "name", "charge_amount").
		Columns(s.schema.Columns(wpdb.Services, "s", settingEarliest, settingLatest)...).
		From(s.db.As(wpdb.Services, "s")).Where(sq.Eq{"id": id})
	_, ok, err := wpdb.One(ctx, s.db, "read service", stmt, func(row wpdb.Scanner) (struct{}, error) {
		return struct{}{}, row.Scan(wpdb.OrZero(&v.active), &v.duration, wpdb.OrZero((*int)(&v.BufferBefore)), wpdb.OrZero((*int)(&v.BufferAfter)),
			wpdb.OrZero((*int)(&v.Step)), wpdb.OrZero(&v.CapacityMin), &v.CapacityMax, &v.name, &basic,
			wpdb.OrZero(&v.bounds.Earliest), wpdb.OrZero(&v.bounds.Latest))
	})
	if err != nil {
		return v, err
	}
	if !ok {
		return v, domain.InvalidField("service_id", "Service not found")
	}
	metas, err := s.metas(ctx, wpdb.ServiceMeta, []int64{id}, sq.Eq{"meta_key": []string{metaDurations, metaBlockAtMinimum, metaBookingsPerDay}})
	if err != nil {
		return v, err
	}
	v.settings, err = s.slotSettings(ctx)
	if err != nil {
		return v, err
	}
	v.prices = map[int64]decimal.Decimal{0: basic.Decimal}
	v.durations = v.listDurations(metas[id][metaDurations])
	v.BlockAtMinimum = metas[id][metaBlockAtMinimum] == on
	v.bookingsPerDay = leadingInt(metas[id][metaBookingsPerDay])
	v.Step = step(v.Step, v.settings[settingStep])
	return v, nil
}

func (s *Site) slotSettings(ctx context.Context) (map[string]string, error) {
	return s.db.SettingValues(ctx, settingBlockingStatuses, settingStep, settingEarliest, settingLatest,
		settingOneLocation, settingManyServices, settingOneAgent, settingAgentOrder, settingAddOns)
}

// step mirrors BookingResource::retrieve_service_data: the service's own step,
// else the site's. A step that leads nowhere is none.
func step(own availability.Minutes, setting string) availability.Minutes {
	if own > 0 {
		return own
	}
	if general := leadingInt(setting); general > 0 {
		return availability.Minutes(general)
	}
	return availability.DefaultStep
}

// leadingInt is the integer a text begins with, as PHP counts with texts; 0 for
// none.
func leadingInt(text string) int {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		text = text[:end]
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// listDurations mirrors OsServiceModel::get_all_durations_arr: the service's own
// duration and those of its meta, a JSON object or list of objects. It notes
// the prices of the latter.
func (v bookableService) listDurations(meta string) []int64 {
	var entries map[string]listedDuration
	var list []listedDuration
	if json.Unmarshal([]byte(meta), &entries) == nil {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			list = append(list, entries[key])
		}
	} else if json.Unmarshal([]byte(meta), &list) != nil {
		list = nil
	}
	all := []int64{v.duration}
	for _, entry := range list {
		minutes := int64(leadingInt(unquoted(entry.Duration)))
		all = append(all, minutes)
		if price, err := decimal.NewFromString(unquoted(entry.ChargeAmount)); err == nil && minutes != v.duration {
			v.prices[minutes] = price
		}
	}
	return slices.DeleteFunc(all, func(minutes int64) bool { return minutes < 1 })
}

// listedDuration is an entry of the meta durations; numbers occur as texts too.
type listedDuration struct {
	Duration     json.RawMessage `json:"duration"`
	ChargeAmount json.RawMessage `json:"charge_amount"`
}

func unquoted(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

// price is what a booking costs (OsBookingHelper::calculate_full_amount_for_service):
// that of a listed duration, else the basic one.
func (v bookableService) price(duration int64) decimal.Decimal {
	if price, ok := v.prices[duration]; ok {
		return price
	}
	return v.prices[0]
}

// resources are the connections of a service, or of any, that can be booked
// (OsConnectorHelper::get_connections_that_satisfy_booking_request), and where
// there are none, what is missing. An agent or location that does not exist is
// a CodeInvalidRequest.
func (s *Site) resources(ctx context.Context, service bookableService, agent, location int64) ([]availability.Resource, Missing, error) {
	stmt := sq.Select("x.agent_id", "x.service_id", "x.location_id").From(s.db.As(wpdb.AgentsServices, "x")).
		Join(s.db.As(wpdb.Agents, "a") + " ON a.id = x.agent_id AND a.status <> 'disabled'").
		Join(s.db.As(wpdb.Services, "s") + " ON s.id = x.service_id AND s.status = 'active'").
		Join(s.db.As(wpdb.Locations, "l") + " ON l.id = x.location_id AND l.status = 'active'")
	for _, narrow := range []connection{{"x.agent_id", &agent}, {"x.service_id", &service.ID}, {"x.location_id", &location}} {
		if *narrow.id != 0 {
			stmt = stmt.Where(sq.Eq{narrow.column: *narrow.id})
		}
	}
	found, err := wpdb.All(ctx, s.db, "read connections", stmt, func(row wpdb.Scanner) (availability.Resource, error) {
		var r availability.Resource
		err := row.Scan(&r.Agent, &r.Service, &r.Location)
		return r, err
	})
	if err != nil {
		return nil, "", err
	}
	if len(found) > 0 {
		return found, "", nil
	}
	missing, err := s.missing(ctx, service, agent, location)
	return nil, missing, err
}

// missing tells why there is nothing to book, and refuses what does not exist.
func (s *Site) missing(ctx context.Context, service bookableService, agent, location int64) (Missing, error) {
	enabled := service.active
	unknown := map[string]string{}
	for _, named := range []struct {
		id             int64
		table          wpdb.Table
		enabled        string
		field, message string
	}{
		{agent, wpdb.Agents, "status <> 'disabled'", "agent_id", "Agent not found"},
		{location, wpdb.Locations, "status = 'active'", "location_id", "Location not found"},
	} {
		if named.id == 0 {
			continue
		}
		stmt := sq.Select(named.enabled).From(s.db.Name(named.table)).Where(sq.Eq{"id": named.id})
		active, ok, err := wpdb.One(ctx, s.db, "read status", stmt, func(row wpdb.Scanner) (active bool, err error) {
			err = row.Scan(wpdb.OrZero(&active))
			return active, err
		})
		if err != nil {
			return "", err
		}
		if !ok {
			unknown[named.field] = named.message
		}
		enabled = enabled && active
	}
	switch {
	case len(unknown) > 0:
		return "", domain.InvalidRequest(unknown)
	case !enabled:
		return MissingStatus, nil
	default:
		return MissingConnection, nil
	}
}

// calendarQuery says which days a calendar is to cover and for whom.
type calendarQuery struct {
	from, to availability.Day
	customer bool     // the booking window counts
	also     []string // statuses that block besides the site's
}

// calendar reads working hours, bookings and limits of some resources of a
// service: a fixed number of statements, whatever the number of days.
func (s *Site) calendar(ctx context.Context, service bookableService, resources []availability.Resource, q calendarQuery) (*availability.Calendar, error) {
	in := availability.Input{
		Service: service.Service, Resources: resources, Deviations: availability.DefaultDeviations,
		Rules: availability.Rules{
			OneLocationAtTime:      service.settings[settingOneLocation] == on,
			MultipleServicesAtTime: service.settings[settingManyServices] == on,
			OneAgentAtLocation:     service.settings[settingOneAgent] == on,
		},
	}
	if q.customer {
		in.Window = s.bookingWindow(service, in.Deviations)
	}
	scope := scopeOf(resources)
	var err error
	if in.WorkPeriods, err = s.workPeriods(ctx, scope, q.from, q.to); err != nil {
		return nil, err
	}
	limited, err := s.addOnActive(ctx, service.settings[settingAddOns])
	if err != nil {
		return nil, err
	}
	if limited {
		if err := s.readLimits(ctx, service, scope, q, &in); err != nil {
			return nil, err
		}
	}
	if in.Bookings, err = s.blockingBookings(ctx, service, scope, q, in); err != nil {
		return nil, err
	}
	return availability.NewCalendar(in), nil
}

// bookingWindow is when customers may book a service.
func (s *Site) bookingWindow(service bookableService, deviations availability.Deviations) *availability.Window {
	general := availability.Bounds{Earliest: service.settings[settingEarliest], Latest: service.settings[settingLatest]}
	return availability.NewWindow(s.Now.In(s.Zone.Location), service.bounds, general, deviations)
}

// resourceScope is the ids that occur in some resources.
type resourceScope struct{ agents, services, locations []int64 }

func scopeOf(resources []availability.Resource) (scope resourceScope) {
	for _, r := range resources {
		scope.agents = append(scope.agents, r.Agent)
		scope.services = append(scope.services, r.Service)
		scope.locations = append(scope.locations, r.Location)
	}
	for _, ids := range []*[]int64{&scope.agents, &scope.services, &scope.locations} {
		slices.Sort(*ids)
		*ids = slices.Compact(*ids)
	}
	return scope
}

// covering keeps the rows of rules that are for any of the resources, or for
// all; a zero stands for all.
func (scope resourceScope) covering() sq.And {
	orAll := func(ids []int64) []int64 { return append([]int64{0}, ids...) }
	return sq.And{
		sq.Eq{"agent_id": orAll(scope.agents)},
		sq.Eq{"service_id": orAll(scope.services)},
		sq.Eq{"location_id": orAll(scope.locations)},
	}
}

// workPeriods reads the working hours that may count on the days. The general
// hours are read for the whole week: whether the plugin would fill it up depends
// on all of it.
func (s *Site) workPeriods(ctx context.Context, scope resourceScope, from, to availability.Day) ([]availability.WorkPeriod, error) {
	general := sq.Eq{"agent_id": 0, "service_id": 0, "location_id": 0, "custom_date": nil}
	onDays := sq.And{
		sq.Eq{"week_day": weekdays(from, to)},
		sq.Or{sq.Eq{"custom_date": nil}, sq.And{sq.GtOrEq{"custom_date": from.String()}, sq.LtOrEq{"custom_date": to.String()}}},
	}
	stmt := sq.Select("agent_id", "service_id", "location_id", "week_day", "custom_date", "start_time", "end_time").
		From(s.db.Name(wpdb.WorkPeriods)).Where(scope.covering()).Where(sq.Or{general, onDays})
	return wpdb.All(ctx, s.db, "read working hours", stmt, func(row wpdb.Scanner) (p availability.WorkPeriod, err error) {
		var date string
		err = row.Scan(&p.Agent, &p.Service, &p.Location, &p.Weekday, wpdb.OrZero(&date), (*int)(&p.Start), (*int)(&p.End))
		if err == nil && date != "" {
			p.Date, _ = availability.ParseDay(date) // a zero date is no day that is asked for
			p.Dated = true
		}
		return p, err
	})
}

// weekdays are the ISO weekdays of some days.
func weekdays(from, to availability.Day) []int {
	var days []int
	for day := from; day <= min(to, from+6); day++ {
		days = append(days, day.Weekday())
	}
	return days
}

// blockingBookings reads the bookings that may block the resources, from the day
// before the first, for those that run past midnight; and on the day after the
// last where working hours do so. Uses the index on start_date.
func (s *Site) blockingBookings(ctx context.Context, service bookableService, scope resourceScope, q calendarQuery, in availability.Input) ([]availability.Booking, error) {
	last := q.to
	if slices.ContainsFunc(in.WorkPeriods, func(p availability.WorkPeriod) bool { return p.End > minutesPerDay }) {
		last++
	}
	stmt := sq.Select(blockingBookingColumns...).From(s.db.Name(wpdb.Bookings)).
		Where(sq.Eq{"status": append(availability.BlockingStatuses(service.settings[settingBlockingStatuses]), q.also...)}).
		Where(sq.GtOrEq{"start_date": (q.from - 1).String()}).Where(sq.LtOrEq{"start_date": last.String()})
	concerned := sq.Or{sq.Eq{"agent_id": scope.agents}}
	if in.Rules.OneAgentAtLocation {
		concerned = append(concerned, sq.Eq{"location_id": scope.locations})
	}
	if in.Limits.Service > 0 {
		concerned = append(concerned, sq.Eq{"service_id": service.ID})
	}
	return wpdb.All(ctx, s.db, "read blocking bookings", stmt.Where(concerned), scanBlockingBooking)
}

// blockingBookingColumns are what scanBlockingBooking reads.
var blockingBookingColumns = []string{
	"id", "agent_id", "service_id", "location_id", "start_date", "start_time", "end_date", "end_time",
	"buffer_before", "buffer_after", "COALESCE(total_attendees, 1)",
}

func scanBlockingBooking(row wpdb.Scanner) (b availability.Booking, err error) {
	var startDate, endDate string
	var start, end, before, after *int
	err = row.Scan(&b.ID, &b.Agent, &b.Service, wpdb.OrZero(&b.Location), wpdb.OrZero(&startDate), &start, wpdb.OrZero(&endDate), &end,
		&before, &after, &b.Attendees)
	if err != nil {
		return b, err
	}
	var startKnown, endKnown bool
	b.Start.Day, startKnown = availability.ParseDay(startDate)
	b.End.Day, endKnown = availability.ParseDay(endDate)
	if !startKnown || !endKnown || start == nil || end == nil || before == nil || after == nil {
		b.Incomplete = true
		return b, nil
	}
	b.Start.Minutes, b.End.Minutes = availability.Minutes(*start), availability.Minutes(*end)
	b.BufferBefore, b.BufferAfter = availability.Minutes(*before), availability.Minutes(*after)
	return b, nil
}

// addOn is the add-on that makes off periods and daily limits count, by its
// folder and by its file.
const (
	addOn     = "latepoint-pro-features"
	addOnFile = addOn + ".php"
)

// addOnActive looks for the add-on in the plugin's own list, in the site's, and
// in the network's where the plugin itself is active by that.
func (s *Site) addOnActive(ctx context.Context, setting string) (bool, error) {
	switch {
	case strings.Contains(setting, addOn):
		return true, nil
	case wpdb.ListsPlugin(s.activePlugins, pluginFile):
		return wpdb.ListsPlugin(s.activePlugins, addOnFile), nil
	default:
		return s.db.PluginActive(ctx, s.activePlugins, addOnFile)
	}
}

// readLimits reads what the add-on makes count: time off and the most bookings a
// day.
func (s *Site) readLimits(ctx context.Context, service bookableService, scope resourceScope, q calendarQuery, in *availability.Input) error {
	in.Limits = availability.DailyLimits{Service: service.bookingsPerDay, Agents: map[int64]int{}}
	metas, err := s.metas(ctx, wpdb.AgentMeta, scope.agents, sq.Eq{"meta_key": metaBookingsPerDay})
	if err != nil {
		return err
	}
	for agent, values := range metas {
		if most := leadingInt(values[metaBookingsPerDay]); most > 0 {
			in.Limits.Agents[agent] = most
		}
	}
	if !s.schema.Has(wpdb.BlockedPeriods) {
		return nil
	}
	stmt := sq.Select("agent_id", "service_id", "location_id", "start_date", "start_time", "end_time").
		From(s.db.Name(wpdb.BlockedPeriods)).Where(scope.covering()).
		Where(sq.GtOrEq{"start_date": q.from.String()}).Where(sq.LtOrEq{"start_date": q.to.String()})
	in.OffPeriods, err = wpdb.All(ctx, s.db, "read off periods", stmt, func(row wpdb.Scanner) (p availability.OffPeriod, err error) {
		var date string
		err = row.Scan(&p.Agent, &p.Service, &p.Location, wpdb.OrZero(&date), wpdb.OrZero((*int)(&p.Start)), wpdb.OrZero((*int)(&p.End)))
		p.Day, _ = availability.ParseDay(date)
		return p, err
	})
	return err
}
