package slots

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Service is what booking needs to know about a service.
type Service struct {
	availability.Service
	active         bool
	Name           string
	Duration       int64 // minutes
	durations      []int64
	prices         map[int64]decimal.Decimal // by duration; 0 has the basic price
	bounds         availability.Bounds
	bookingsPerDay int // 0 for no limit
	settings       map[string]string
	Assets         []records.Asset // none where assets are switched off
}

// Request returns the request for a new booking of the service.
func (v Service) Request(duration, attendees int64) availability.Request {
	return availability.Request{
		Duration: availability.Minutes(duration), Attendees: int(attendees),
		BufferBefore: v.BufferBefore, BufferAfter: v.BufferAfter,
	}
}

// RequestToMove returns the request for a booking being moved, perhaps to another service: if its service
// stays, it keeps its duration and buffers, and may keep its start. If duration and attendees are nil, the
// booking's own apply.
func (v Service) RequestToMove(b records.Booking, duration, attendees *int64) availability.Request {
	q := v.Request(domain.ValueOr(duration, v.Duration), domain.ValueOr(attendees, b.Attendees))
	q.Exclude = []int64{b.ID}
	if day, known := availability.ParseDay(string(b.StartDate)); known && records.IsTime(b.StartTime) {
		q.Own = &availability.Moment{Day: day, Minutes: *b.StartTime}
	}
	if v.ID == b.ServiceID() {
		q.Duration = session.Minutes(domain.ValueOr(duration, records.UsualDuration(b.Duration, v.Duration)))
		q.BufferBefore, q.BufferAfter = session.Minutes(b.BufferBefore), session.Minutes(b.BufferAfter)
	}
	return q
}

// Meta keys of services and agents.
const (
	metaDurations      = "durations"
	metaBlockAtMinimum = "block_timeslot_when_minimum_capacity_met"
	metaBookingsPerDay = "max_bookings_per_day"
)

// LoadBookable reads a service with everything its bookings depend on, and its bookable connections
// (OsConnectorHelper::get_connections_that_satisfy_booking_request). Service 0 stands for any service.
// known is false if there is no such service. Agent and location may be 0 for any; a nil location stands
// for the one that firstLocation finds.
func LoadBookable(ctx context.Context, s *session.Session, service, agent int64, location *int64) (v Service, resources []availability.Resource, known bool, err error) {
	at := domain.ValueOr(location, 0)
	rows, err := session.ReadStatement(ctx, s, bookableRows(s, service, agent, at), func(ctx context.Context, stmt sq.Sqlizer) ([]bookableRow, error) {
		return wpdb.All(ctx, s.DB, "read service", stmt, scanBookableRow)
	})
	v = Service{Service: availability.Service{ID: service}}
	settings, first := map[string]string{}, map[string]int64{}
	for _, row := range rows {
		switch {
		case row.service != nil:
			v, known = row.Service, true
			v.ID = service
		case row.setting == nil:
			resources = append(resources, row.resource)
		case first[row.name] == 0 || *row.setting < first[row.name]: // the first row with a name counts
			settings[row.name], first[row.name] = wpdb.PlainText(row.value), *row.setting
		}
	}
	resources = session.ResourcesInScope(s, resources)
	v.settings = settings
	v.Step = step(v.Step, settings[session.SettingStep])
	if location == nil && len(resources) > 0 {
		resources = firstLocation(resources)
	}
	if err == nil {
		v.Assets, err = loadAssets(ctx, s, service, settings)
	}
	return v, resources, known, err
}

// bookableRow is a row of a service, a setting or a connection. The columns of the other two are empty.
type bookableRow struct {
	service *int64 // the id, in a service's row
	Service
	setting     *int64 // the id, in a setting's row
	name, value string
	resource    availability.Resource
}

// bookableRows selects a service, the settings and the connections that LoadBookable reads.
func bookableRows(s *session.Session, service, agent, location int64) sq.Sqlizer {
	const ofSetting, ofConnection = 3, 3
	stmt := sq.Select("s.id", "s.status = 'active'", "s.duration", "s.buffer_before", "s.buffer_after", "s.timeblock_interval", "s.capacity_min",
		"COALESCE(s.capacity_max, 1)", "s.name", "s.charge_amount").
		Columns(s.Schema.Columns(wpdb.Services, "s", session.SettingEarliest, session.SettingLatest)...).
		Column(session.LoadMeta(s, wpdb.ServiceMeta, "s.id", metaDurations)).Column(session.LoadMeta(s, wpdb.ServiceMeta, "s.id", metaBlockAtMinimum)).
		Column(session.LoadMeta(s, wpdb.ServiceMeta, "s.id", metaBookingsPerDay)).
		Columns(records.Nulls(ofSetting + ofConnection)...).
		From(s.DB.As(wpdb.Services, "s")).Where(sq.Eq{"s.id": service})
	const ofService = 15
	settings := sq.Select(records.Nulls(ofService)...).Columns("id", "name", "value").Columns(records.Nulls(ofConnection)...).
		From(s.DB.Name(wpdb.Settings)).Where(sq.Eq{"name": session.SlotSettings})
	connections := sq.Select(records.Nulls(ofService+ofSetting)...).Columns("x.agent_id", "x.service_id", "x.location_id").
		From(s.DB.As(wpdb.AgentsServices, "x")).
		Join(s.DB.As(wpdb.Agents, "a") + " ON a.id = x.agent_id AND a.status <> 'disabled'").
		Join(s.DB.As(wpdb.Services, "s") + " ON s.id = x.service_id AND s.status = 'active'").
		Join(s.DB.As(wpdb.Locations, "l") + " ON l.id = x.location_id AND l.status = 'active'")
	for _, narrow := range []Connection{{"x.agent_id", &agent}, {"x.service_id", &service}, {"x.location_id", &location}} {
		if *narrow.ID != 0 {
			connections = connections.Where(sq.Eq{narrow.Column: *narrow.ID})
		}
	}
	return records.UnionAll(settings, connections, stmt)
}

func scanBookableRow(row wpdb.Scanner) (r bookableRow, err error) {
	var basic decimal.Decimal
	var durations, blockAtMinimum, perDay string
	err = row.Scan(&r.service, wpdb.OrZero(&r.active), wpdb.OrZero(&r.Duration), wpdb.OrZero((*int)(&r.BufferBefore)), wpdb.OrZero((*int)(&r.BufferAfter)),
		wpdb.OrZero((*int)(&r.Step)), wpdb.OrZero(&r.CapacityMin), wpdb.OrZero(&r.CapacityMax), wpdb.OrZero(&r.Name), wpdb.OrZero(&basic),
		wpdb.OrZero(&r.bounds.Earliest), wpdb.OrZero(&r.bounds.Latest), wpdb.OrZero(&durations), wpdb.OrZero(&blockAtMinimum), wpdb.OrZero(&perDay),
		&r.setting, wpdb.OrZero(&r.name), wpdb.OrZero(&r.value),
		wpdb.OrZero(&r.resource.Agent), wpdb.OrZero(&r.resource.Service), wpdb.OrZero(&r.resource.Location))
	if err != nil || r.service == nil {
		return r, err
	}
	r.prices = map[int64]decimal.Decimal{0: basic}
	r.durations = r.listDurations(durations)
	r.BlockAtMinimum = blockAtMinimum == session.On
	r.bookingsPerDay = session.LeadingInt(perDay)
	return r, nil
}

// anyService stands for any service, with the given settings.
func anyService(settings map[string]string) Service {
	return Service{Service: availability.Service{CapacityMax: 1}, active: true, Duration: defaultDuration, settings: settings}
}

// LoadService reads a service and its bookable resources or, if there are none, what is missing. Unknown
// ids are reported, including those of agent and location if the service is unknown. An id outside the
// caller's scope is a CodeOutsideScope.
func LoadService(ctx context.Context, s *session.Session, p *domain.Validation, service, agent int64, location *int64) (v Service, resources []availability.Resource, missing Missing, err error) {
	v, resources, lack, err := loadService(ctx, s, p, service, agent, location)
	return v, resources, lack.missing, err
}

// LoadServiceToBook is LoadService for a booking: what can never be booked is reported as well.
func LoadServiceToBook(ctx context.Context, s *session.Session, p *domain.Validation, service, agent int64, location *int64) (Service, []availability.Resource, error) {
	v, resources, lack, err := loadService(ctx, s, p, service, agent, location)
	for field, message := range lack.fields {
		p.Invalid(field, message)
	}
	return v, resources, err
}

func loadService(ctx context.Context, s *session.Session, p *domain.Validation, service, agent int64, location *int64) (v Service, resources []availability.Resource, found lack, err error) {
	if err := s.Scope().Refuse(agent, service, domain.ValueOr(location, 0)); err != nil {
		return v, nil, found, err
	}
	v, resources, known, err := LoadBookable(ctx, s, service, agent, location)
	if err != nil {
		return v, nil, found, err
	}
	if !known {
		p.Invalid("service_id", "Service not found")
	}
	if len(resources) > 0 {
		return v, resources, found, nil
	}
	found, err = findLack(ctx, s, v, agent, domain.ValueOr(location, 0))
	return v, nil, found, p.Absorb(err)
}

// CheckDuration rejects a booking without a duration, in minutes, if its service has none of its own either.
func CheckDuration(p *domain.Validation, minutes int64) {
	if minutes < 1 && !p.Has("service_id") {
		p.Reject("duration", "Required: the service has no duration of its own")
	}
}

// defaultDuration is the duration of a booking of any service, in minutes
// (OsBookingModel::get_total_duration).
const defaultDuration = 60

// step mirrors BookingResource::retrieve_service_data: the service's own step, otherwise the site's. A step
// that is not positive counts as unset.
func step(own availability.Minutes, setting string) availability.Minutes {
	if own > 0 {
		return own
	}
	if general := session.LeadingInt(setting); general > 0 {
		return availability.Minutes(general)
	}
	return availability.DefaultStep
}

// listDurations mirrors OsServiceModel::get_all_durations_arr: it returns the service's own duration and
// those in its meta, which is a JSON object or a list of objects, and stores the prices of the latter.
func (v Service) listDurations(meta string) []int64 {
	var entries map[string]listedDuration
	var list []listedDuration
	if json.Unmarshal([]byte(meta), &entries) == nil {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			list = append(list, entries[key])
		}
	} else if json.Unmarshal([]byte(meta), &list) != nil {
		list = nil
	}
	all := []int64{v.Duration}
	for _, entry := range list {
		minutes := int64(session.LeadingInt(unquoted(entry.Duration)))
		all = append(all, minutes)
		if price, err := decimal.NewFromString(unquoted(entry.ChargeAmount)); err == nil && minutes != v.Duration {
			v.prices[minutes] = price
		}
	}
	return slices.DeleteFunc(all, func(minutes int64) bool { return minutes < 1 })
}

// listedDuration is an entry of the meta durations. Its numbers may be texts.
type listedDuration struct {
	Duration     json.RawMessage `json:"duration"`
	ChargeAmount json.RawMessage `json:"charge_amount"`
}

func unquoted(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

// Price returns the price of a booking
// (OsBookingHelper::calculate_full_amount_for_service): that of a listed duration,
// otherwise the basic price.
func (v Service) Price(duration int64) decimal.Decimal {
	if price, ok := v.prices[duration]; ok {
		return price
	}
	return v.prices[0]
}

// firstLocation keeps the resources of the location with the lowest id, where a booking without a location
// takes place: this is the plugin's default, the active location with the lowest id, if it offers the
// service. It is chosen before times are considered, so that the same booking sent twice finds its slot
// occupied.
func firstLocation(resources []availability.Resource) []availability.Resource {
	first := slices.MinFunc(resources, func(a, b availability.Resource) int { return cmp.Compare(a.Location, b.Location) }).Location
	return slices.DeleteFunc(resources, func(r availability.Resource) bool { return r.Location != first })
}

// lack says why nothing can be booked, and which fields of a request are to blame.
type lack struct {
	missing Missing
	fields  map[string]string
}

// findLack returns why nothing can be booked, or a CodeInvalidRequest that names what does not exist.
func findLack(ctx context.Context, s *session.Session, service Service, agent, location int64) (lack, error) {
	unknown, inactive := map[string]string{}, map[string]string{}
	if !service.active {
		inactive["service_id"] = "The service is not active"
	}
	for _, named := range []struct {
		id      int64
		table   wpdb.Table
		enabled string
		field   string
		noun    string
	}{
		{agent, wpdb.Agents, "status <> 'disabled'", "agent_id", "agent"},
		{location, wpdb.Locations, "status = 'active'", "location_id", "location"},
	} {
		if named.id == 0 {
			continue
		}
		stmt := sq.Select(named.enabled).From(s.DB.Name(named.table)).Where(sq.Eq{"id": named.id})
		active, ok, err := wpdb.One(ctx, s.DB, "read status", stmt, wpdb.Into(func(active *bool) []any {
			return []any{wpdb.OrZero(active)}
		}))
		switch {
		case err != nil:
			return lack{}, err
		case !ok:
			unknown[named.field] = strings.ToUpper(named.noun[:1]) + named.noun[1:] + " not found"
		case !active:
			inactive[named.field] = "The " + named.noun + " is not active"
		}
	}
	switch {
	case len(unknown) > 0:
		return lack{}, domain.InvalidRequest(unknown)
	case len(inactive) > 0:
		return lack{MissingStatus, inactive}, nil
	case agent != 0:
		return lack{MissingConnection, map[string]string{"agent_id": "Does not offer this service there"}}, nil
	case location != 0:
		return lack{MissingConnection, map[string]string{"location_id": "Nobody offers this service there"}}, nil
	default:
		return lack{MissingConnection, map[string]string{"service_id": "Nobody offers this service"}}, nil
	}
}

// Missing says what a service, agent or location lacks to be bookable at all.
type Missing string

// The things that can be missing, in the order in which they are checked.
const (
	MissingStatus     Missing = "status" // service, agent or location is not active
	MissingConnection Missing = "connection"
	MissingHours      Missing = "working_hours"
	MissingDayOff     Missing = "day_off"    // working hours, because the day is off
	MissingLongHours  Missing = "long_hours" // working hours that are as long as the service
)

// missingMessages say what is missing as Reason.Message does.
var missingMessages = map[Missing]string{
	MissingStatus:     "The service, the agent or the location is not active.",
	MissingConnection: "Nobody gives this service with this agent and location.",
	MissingHours:      "Nobody works on that day.",
	MissingDayOff:     "That day is off.",
	MissingLongHours:  "No working hours of that day are long enough for the service.",
}

// Message returns what is missing as a sentence.
func (m Missing) Message() string { return missingMessages[m] }
