package slots

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// CalendarQuery says which days a calendar covers, and by which rules.
type CalendarQuery struct {
	From, To availability.Day
	Customer bool     // the booking window applies
	also     []string // blocking statuses in addition to the site's
	// asOf is the time that the booking window is relative to; the zero time for now.
	asOf time.Time
	// Except is the id of a hold that does not block, or 0.
	Except int64
	// anyLocation is set if any location will do. Then an agent with a booking at one location is not free
	// at another, even if the site allows it: otherwise a booking sent twice would be made twice.
	anyLocation bool
	offers      availability.Offers // nil unless extensions decide which starts are offered
}

// Calendar reads working hours, bookings and limits of a service's resources. The number
// of statements does not depend on the number of days.
func Calendar(ctx context.Context, s *session.Session, service Service, resources []availability.Resource, q CalendarQuery) (*availability.Calendar, error) {
	in := availability.Input{
		Service: service.Service, Resources: resources, Assets: service.activeAssets(), Clock: s.Zone.Clock(), Deviations: availability.DefaultDeviations, Offers: q.offers,
		Rules: availability.Rules{
			OneLocationAtTime:      service.settings[session.SettingOneLocation] == session.On || q.anyLocation,
			MultipleServicesAtTime: service.settings[session.SettingManyServices] == session.On,
			OneAgentAtLocation:     service.settings[session.SettingOneAgent] == session.On,
		},
	}
	if q.Customer {
		in.Window = BookingWindow(s, service, in.Deviations, q.asOf)
	}
	limited := service.With(s, extensions.ProFeatures)
	if limited {
		in.Limits.Service = service.bookingsPerDay
	}
	rules := rulesOf(service, q, in)
	rules.limited, rules.calendars = limited, activeCalendars(s, service.settings)
	content, err := readContent(ctx, s, rules, calendarPart{scopeOf(resources), q.From, q.To, q.To + 1})
	if err != nil {
		return nil, err
	}
	in.WorkPeriods, in.OffPeriods, in.Limits.Agents = content.workPeriods(), content.offPeriods(resources, q), content.limits()
	in.Bookings = content.bookings(s, lastDay(q, in.WorkPeriods))
	in.Events, in.AssetUses = availability.BlockedByEvents(content.events, q.From, q.To), shownUses(s, content.uses)
	return availability.NewCalendar(in), nil
}

// The kinds of a calendarRow.
const (
	bookingRow = iota
	holdRow
	hoursRow
	timeOffRow
	limitRow
)

// calendarRow is a row of calendarRows. Columns that do not apply to its kind are empty.
type calendarRow struct {
	kind int
	blockingRow
	weekday int
	limit   string // of an agent, in bookings per day
}

// calendarPart is a part of the calendar: some resources on some days.
type calendarPart struct {
	scope    resourceScope
	from, to availability.Day
	last     availability.Day // the last day with bookings that may block the part; perhaps the day after its own last day
}

// calendarContent is the data read for a part of the calendar.
type calendarContent struct {
	rows   []calendarRow
	events []availability.CalendarEvent
	uses   []assetUse
}

// ofKind yields the rows of some kinds.
func (c calendarContent) ofKind(kinds ...int) iter.Seq[calendarRow] {
	return func(yield func(calendarRow) bool) {
		for i := range c.rows {
			if slices.Contains(kinds, c.rows[i].kind) && !yield(c.rows[i]) {
				return
			}
		}
	}
}

func (c calendarContent) workPeriods() (periods []availability.WorkPeriod) {
	for r := range c.ofKind(hoursRow) {
		periods = append(periods, r.workPeriod())
	}
	return periods
}

func (c calendarContent) offPeriods(resources []availability.Resource, q CalendarQuery) (periods []availability.OffPeriod) {
	for r := range c.ofKind(timeOffRow) {
		off := r.offPeriod()
		if q.anyLocation && slices.ContainsFunc(resources, off.Covers) { // Pro Features no longer looks at the location of a period that it has found
			off.Location = 0
		}
		periods = append(periods, off)
	}
	return periods
}

// limits returns the bookings per day of agents. Of several rows of an agent, the first one counts.
func (c calendarContent) limits() map[int64]int {
	limits := map[int64]int{}
	rows := slices.SortedFunc(c.ofKind(limitRow), func(a, b calendarRow) int { return cmp.Compare(b.id, a.id) })
	for _, r := range rows {
		limits[r.agent] = max(session.LeadingInt(r.limit), 0)
	}
	return limits
}

// bookings returns the bookings and holds until a last day. Those that are hidden from the caller have no id.
func (c calendarContent) bookings(s *session.Session, last availability.Day) (bookings []availability.Booking) {
	for r := range c.ofKind(bookingRow, holdRow) {
		b := r.booking()
		if b.Start.Day > last {
			continue
		}
		b.Hold = r.kind == holdRow
		if !s.Scope().Covers(r.agent, r.service, r.location) {
			b.ID = 0
		}
		bookings = append(bookings, b)
	}
	return bookings
}

// readContent reads bookings, holds and working hours in one statement and, if limits apply, also time off
// and the daily limits of agents. Events of agents take another statement for each add-on, and assets one.
// It reads one more day of bookings, because only the working hours show whether the last one counts.
func readContent(ctx context.Context, s *session.Session, rules blockingRules, part calendarPart) (content calendarContent, err error) {
	if content.rows, err = calendarRows(ctx, s, rules, part); err != nil {
		return content, err
	}
	if content.events, err = calendarEvents(ctx, s, rules.calendars, part); err != nil {
		return content, err
	}
	content.uses, err = assetUses(ctx, s, rules, part)
	return content, err
}

func calendarRows(ctx context.Context, s *session.Session, rules blockingRules, part calendarPart) ([]calendarRow, error) {
	bookings := blockingBookings(s, rules, part).Column("?", bookingRow).Columns(blockingBookingColumns...).Columns("NULL", "NULL")
	others := []sq.SelectBuilder{workPeriods(s, part.scope, part.from, part.to)}
	if s.Schema.Has(wpdb.Holds) {
		others = append(others, blockingHolds(s, rules, part).Column("?", holdRow).Columns(blockingHoldColumns...).Columns("NULL", "NULL"))
	}
	if rules.limited {
		others = append(others, dailyLimits(s, part.scope.agents))
		if s.Schema.Has(wpdb.BlockedPeriods) {
			others = append(others, timeOff(s, part.scope, part.from, part.to))
		}
	}
	// A time hidden from the caller is not free either.
	return session.ReadStatement(ctx, s, records.UnionAll(bookings, others...), func(ctx context.Context, stmt sq.Sqlizer) ([]calendarRow, error) {
		return wpdb.All(ctx, s.DB.Unfiltered(), "read calendar", stmt, scanCalendarRow)
	})
}

func scanCalendarRow(row wpdb.Scanner) (r calendarRow, err error) {
	dests := append([]any{&r.kind}, r.dests()...)
	err = row.Scan(append(dests, wpdb.OrZero(&r.weekday), wpdb.OrZero(&r.limit))...)
	for _, date := range []*string{&r.startDate, &r.endDate} {
		*date, _, _ = strings.Cut(*date, " ") // the demo's engine appends a time to a date if another part of the union has NULL
	}
	return r, err
}

// lastDay returns the last day whose bookings count: one more day if working hours run past midnight.
func lastDay(q CalendarQuery, periods []availability.WorkPeriod) availability.Day {
	if slices.ContainsFunc(periods, func(p availability.WorkPeriod) bool { return p.End > records.MinutesPerDay }) {
		return q.To + 1
	}
	return q.To
}

// BookingWindow returns the time in which customers may book a service, as of an instant, or as of now for
// the zero time.
func BookingWindow(s *session.Session, service Service, deviations availability.Deviations, asOf time.Time) *availability.Window {
	if asOf.IsZero() {
		asOf = s.Now
	}
	general := availability.Bounds{Earliest: service.settings[session.SettingEarliest], Latest: service.settings[session.SettingLatest]}
	return availability.NewWindow(asOf.In(s.Zone.Location), service.bounds, general, deviations)
}

// resourceScope holds the distinct ids of some resources.
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

// covering returns the condition that a row of rules applies to any of the resources. A zero in the row
// stands for all.
func (scope resourceScope) covering() sq.And {
	orAll := func(ids []int64) []int64 { return append([]int64{0}, ids...) }
	return sq.And{
		sq.Eq{"agent_id": orAll(scope.agents)},
		sq.Eq{"service_id": orAll(scope.services)},
		sq.Eq{"location_id": orAll(scope.locations)},
	}
}

// workPeriods selects the working hours that may apply to the days, and the general hours of the whole
// week, which decide whether the plugin would add default hours.
func workPeriods(s *session.Session, scope resourceScope, from, to availability.Day) sq.SelectBuilder {
	general := sq.Eq{"agent_id": 0, "service_id": 0, "location_id": 0, "custom_date": nil}
	onDays := sq.And{
		sq.Eq{"week_day": weekdays(from, to)},
		sq.Or{sq.Eq{"custom_date": nil}, sq.And{sq.GtOrEq{"custom_date": from.String()}, sq.LtOrEq{"custom_date": to.String()}}},
	}
	return sq.Select().Column("?", hoursRow).
		Columns("NULL", "agent_id", "service_id", "location_id", "custom_date", "start_time", "custom_date", "end_time", "NULL", "NULL", "NULL", "NULL", "NULL", "week_day", "NULL").
		From(s.DB.Name(wpdb.WorkPeriods)).Where(scope.covering()).Where(sq.Or{general, onDays})
}

func (r calendarRow) workPeriod() availability.WorkPeriod {
	p := availability.WorkPeriod{
		Scope: r.scope(), Weekday: r.weekday,
		Start: session.Minutes(domain.ValueOr(r.start, 0)), End: session.Minutes(domain.ValueOr(r.end, 0)),
	}
	if r.startDate != "" {
		p.Date, _ = availability.ParseDay(r.startDate) // a zero date is not one of the days
		p.Dated = true
	}
	return p
}

// weekdays returns the ISO weekdays of a range of days.
func weekdays(from, to availability.Day) []int {
	var days []int
	for day := from; day <= min(to, from+6); day++ {
		days = append(days, day.Weekday())
	}
	return days
}

// blockingRules say which bookings and holds may block resources, and what else counts.
type blockingRules struct {
	statuses   []string
	atLocation bool  // a booking blocks its location for other agents
	service    int64 // the service whose bookings count towards its daily limit; 0 for none
	limited    bool  // time off and daily limits apply
	calendars  []eventCalendar
	assets     []availability.Asset
	except     int64 // see CalendarQuery
}

func rulesOf(service Service, q CalendarQuery, in availability.Input) blockingRules {
	rules := blockingRules{
		statuses:   append(availability.BlockingStatuses(service.settings[session.SettingBlockingStatuses]), q.also...),
		atLocation: in.Rules.OneAgentAtLocation, assets: in.Assets, except: q.Except,
	}
	if in.Limits.Service > 0 {
		rules.service = service.ID
	}
	return rules
}

// blockingBookings selects the bookings that may block the resources, starting one day early because of
// those that run past midnight. Uses the index on start_date.
func blockingBookings(s *session.Session, rules blockingRules, part calendarPart) sq.SelectBuilder {
	return bookingsWithDuration(s).Where(sq.Eq{"status": rules.statuses}).Where(part.blockingRows(rules))
}

// blockingRows returns the condition that a booking or hold may block the resources: by its
// date, and by its agent, location or service.
func (p calendarPart) blockingRows(rules blockingRules) sq.And {
	concerned := sq.Or{sq.Eq{"agent_id": p.scope.agents}}
	if rules.atLocation {
		concerned = append(concerned, sq.Eq{"location_id": p.scope.locations})
	}
	if rules.service != 0 {
		concerned = append(concerned, sq.Eq{"service_id": rules.service})
	}
	first, last := p.starts()
	return sq.And{sq.GtOrEq{"start_date": first.String()}, sq.LtOrEq{"start_date": last.String()}, concerned}
}

// starts returns the first and the last start date of bookings and holds that may block the part. The last
// one is a date that databases support: MySQL fails on a comparison with a later one, and as a text
// 10000-01-01 is less than 9999-12-31.
func (p calendarPart) starts() (first, last availability.Day) {
	return p.from - 1, min(p.last, availability.LastDay)
}

// blockingHolds is like blockingBookings, for the holds that have not expired.
func blockingHolds(s *session.Session, rules blockingRules, part calendarPart) sq.SelectBuilder {
	return sq.Select().From(s.DB.Name(wpdb.Holds)).
		Where(sq.Gt{"expires_at": domain.Stamp(s.Now)}).Where(sq.NotEq{"id": rules.except}).Where(part.blockingRows(rules))
}

// blockingBookingColumns are what scanBlockingBooking reads of bookingsWithDuration.
var blockingBookingColumns = []string{
	"id", "agent_id", "service_id", "location_id", "start_date", "start_time", "end_date", "end_time",
	"duration", "usual_duration", "buffer_before", "buffer_after", "COALESCE(total_attendees, 1)",
}

// bookingsWithDuration selects from the bookings, with the usual duration of their services.
func bookingsWithDuration(s *session.Session) sq.SelectBuilder {
	usual := sq.Select("id AS usual_service", "duration AS usual_duration").From(s.DB.Name(wpdb.Services))
	return sq.Select().From(s.DB.Name(wpdb.Bookings)).JoinClause(sq.ConcatExpr("LEFT JOIN (", usual, ") AS u ON usual_service = service_id"))
}

// blockingHoldColumns are what scanBlockingBooking reads of a hold.
var blockingHoldColumns = []string{
	"0", "agent_id", "service_id", "location_id", "start_date", "start_time", "end_date", "end_time", "duration", "NULL", "buffer_before", "buffer_after", "total_attendees",
}

// blockingRow is a stored booking or hold.
type blockingRow struct {
	id, agent, service, location int64
	startDate, endDate           string
	start, end, before, after    *int
	duration, usual              *int // usual is the service's
	attendees                    int
}

// dests returns where to scan blockingBookingColumns of a row.
func (r *blockingRow) dests() []any {
	return []any{
		wpdb.OrZero(&r.id), wpdb.OrZero(&r.agent), wpdb.OrZero(&r.service), wpdb.OrZero(&r.location), wpdb.OrZero(&r.startDate), &r.start,
		wpdb.OrZero(&r.endDate), &r.end, &r.duration, &r.usual, &r.before, &r.after, wpdb.OrZero(&r.attendees),
	}
}

func (r blockingRow) scope() availability.Scope {
	return availability.Scope{Agent: r.agent, Service: r.service, Location: r.location}
}

func (r blockingRow) booking() availability.Booking {
	b := availability.Booking{ID: r.id, Agent: r.agent, Service: r.service, Location: r.location, Attendees: r.attendees}
	day, known := availability.ParseDay(r.startDate)
	if !known || r.start == nil {
		b.Incomplete = true
		return b
	}
	b.Start = availability.Moment{Day: day, Minutes: session.Minutes(*r.start)}
	b.End = availability.Moment{Day: day, Minutes: session.Minutes(domain.ValueOr(r.end, 0))}
	if day, known := availability.ParseDay(r.endDate); known {
		b.End.Day = day
	}
	b.Duration = session.Minutes(records.UsualDuration(int64(domain.ValueOr(r.duration, 0)), int64(domain.ValueOr(r.usual, 0))))
	b.BufferBefore, b.BufferAfter = session.Minutes(domain.ValueOr(r.before, 0)), session.Minutes(domain.ValueOr(r.after, 0))
	return b
}

func scanBlockingBooking(row wpdb.Scanner) (availability.Booking, error) {
	var r blockingRow
	err := row.Scan(r.dests()...)
	return r.booking(), err
}

// dailyLimits selects the bookings per day of agents, which require the add-on.
func dailyLimits(s *session.Session, agents []int64) sq.SelectBuilder {
	return sq.Select().Column("?", limitRow).Columns("id", "object_id").Columns(records.Nulls(12)...).Column("meta_value").
		From(s.DB.Name(wpdb.AgentMeta)).Where(sq.Eq{"object_id": agents, "meta_key": metaBookingsPerDay})
}

// timeOff selects the blocked periods, which require the add-on.
func timeOff(s *session.Session, scope resourceScope, from, to availability.Day) sq.SelectBuilder {
	return sq.Select().Column("?", timeOffRow).
		Columns("NULL", "agent_id", "service_id", "location_id", "start_date", "start_time", "start_date", "end_time", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL").
		From(s.DB.Name(wpdb.BlockedPeriods)).Where(scope.covering()).
		Where(sq.GtOrEq{"start_date": from.String()}).Where(sq.LtOrEq{"start_date": to.String()})
}

func (r calendarRow) offPeriod() availability.OffPeriod {
	p := availability.OffPeriod{
		Scope: r.scope(),
		Start: session.Minutes(domain.ValueOr(r.start, 0)), End: session.Minutes(domain.ValueOr(r.end, 0)),
	}
	p.Day, _ = availability.ParseDay(r.startDate)
	return p
}
