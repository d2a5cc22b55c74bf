package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/wpdb"
)

// bookableService is what booking needs to know about a service.
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

// request returns the request for a new booking of the service.
func (v bookableService) request(duration, attendees int64) availability.Request {
	return availability.Request{
		Duration: availability.Minutes(duration), Attendees: int(attendees),
		BufferBefore: v.BufferBefore, BufferAfter: v.BufferAfter,
	}
}

// requestToMove returns the request for a booking that is to move, perhaps from another
// service: it keeps its duration and buffers if its service stays. Duration and attendees
// are nil for those that the booking has.
func (v bookableService) requestToMove(b Booking, duration, attendees *int64) availability.Request {
	q := v.request(domain.ValueOr(duration, v.duration), domain.ValueOr(attendees, b.Attendees))
	q.Exclude = []int64{b.ID}
	if v.ID == b.serviceID() {
		q.Duration = Minutes(domain.ValueOr(duration, b.Duration))
		q.BufferBefore, q.BufferAfter = Minutes(b.BufferBefore), Minutes(b.BufferAfter)
	}
	return q
}

// Meta keys of services and agents.
const (
	metaDurations      = "durations"
	metaBlockAtMinimum = "block_timeslot_when_minimum_capacity_met"
	metaBookingsPerDay = "max_bookings_per_day"
)

// bookableService reads a service and everything its bookings depend on; a
// CodeInvalidRequest if it does not exist.
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

func (s *Site) serviceOrAny(ctx context.Context, id int64) (bookableService, error) {
	if id != 0 {
		return s.bookableService(ctx, id)
	}
	any := bookableService{Service: availability.Service{CapacityMax: 1}, active: true, duration: defaultDuration}
	settings, err := s.slotSettings(ctx)
	any.settings = settings
	return any, err
}

// defaultDuration is the duration of a booking of any service, in minutes
// (OsBookingModel::get_total_duration).
const defaultDuration = 60

// step mirrors BookingResource::retrieve_service_data: the service's own step, otherwise
// the site's. Steps that are not positive count as unset.
func step(own availability.Minutes, setting string) availability.Minutes {
	if own > 0 {
		return own
	}
	if general := leadingInt(setting); general > 0 {
		return availability.Minutes(general)
	}
	return availability.DefaultStep
}

// listDurations mirrors OsServiceModel::get_all_durations_arr: it returns the service's
// own duration and those of its meta, a JSON object or list of objects, and stores the
// prices of the latter.
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

// listedDuration is an entry of the meta durations. Its numbers may be texts.
type listedDuration struct {
	Duration     json.RawMessage `json:"duration"`
	ChargeAmount json.RawMessage `json:"charge_amount"`
}

func unquoted(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

// price returns the price of a booking
// (OsBookingHelper::calculate_full_amount_for_service): that of a listed duration,
// otherwise the basic price.
func (v bookableService) price(duration int64) decimal.Decimal {
	if price, ok := v.prices[duration]; ok {
		return price
	}
	return v.prices[0]
}

// resources returns the bookable connections of a service, or of any service
// (OsConnectorHelper::get_connections_that_satisfy_booking_request). If there are none,
// it also returns what is missing. It returns a CodeInvalidRequest if the agent or
// location does not exist. A nil location stands for the one that firstLocation finds;
// agent and location may be 0 for any.
func (s *Site) resources(ctx context.Context, service bookableService, agent int64, location *int64) ([]availability.Resource, Missing, error) {
	locationID := domain.ValueOr(location, 0)
	stmt := sq.Select("x.agent_id", "x.service_id", "x.location_id").From(s.db.As(wpdb.AgentsServices, "x")).
		Join(s.db.As(wpdb.Agents, "a") + " ON a.id = x.agent_id AND a.status <> 'disabled'").
		Join(s.db.As(wpdb.Services, "s") + " ON s.id = x.service_id AND s.status = 'active'").
		Join(s.db.As(wpdb.Locations, "l") + " ON l.id = x.location_id AND l.status = 'active'")
	for _, narrow := range []connection{{"x.agent_id", &agent}, {"x.service_id", &service.ID}, {"x.location_id", &locationID}} {
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
		if location == nil {
			found = firstLocation(found)
		}
		return found, "", nil
	}
	missing, err := s.missing(ctx, service, agent, locationID)
	return nil, missing, err
}

// firstLocation keeps the resources of the location with the lowest id, where a booking
// without a location takes place: at the plugin's default, the active location with the
// lowest id, if the service is offered there. It is found before anybody looks at times,
// so that the same booking sent twice finds its slot occupied.
func firstLocation(resources []availability.Resource) []availability.Resource {
	first := slices.MinFunc(resources, func(a, b availability.Resource) int { return cmp.Compare(a.Location, b.Location) }).Location
	return slices.DeleteFunc(resources, func(r availability.Resource) bool { return r.Location != first })
}

// missing returns why nothing can be booked, or a CodeInvalidRequest that names what does
// not exist.
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

// Missing says what a service, agent or location lacks to be bookable at all.
type Missing string

// The things that can be missing, in the order in which they are checked.
const (
	MissingStatus     Missing = "status" // service, agent or location is not active
	MissingConnection Missing = "connection"
	MissingHours      Missing = "working_hours"
)
