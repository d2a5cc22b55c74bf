package slots

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Conflict is a pair of bookings that one agent or one asset cannot both have. The plugin takes no locks and lets
// administrators book anything, so such pairs can always exist.
type Conflict = availability.Conflict

// ConflictReport is the result of a search for conflicts.
type ConflictReport struct {
	Conflicts []Conflict       // those of agents and then those of assets, each earliest first
	Assets    map[int64]string // names of assets, by id
	Bookings  int              // compared
	// Cut is set if there are more bookings or conflicts than the limits below.
	Cut bool
}

// Limits of a search for conflicts.
const (
	conflictPage     = 5_000
	conflictBookings = 200_000
	conflictPairs    = 1_000
)

// ConflictsNow finds the conflicts of the site as it is now; see FindConflicts.
func ConflictsNow(ctx context.Context, p *session.Platform) (ConflictReport, error) {
	return session.ServeBackground(ctx, p, FindConflicts)
}

// FindConflicts finds the bookings from today on that conflict by the rules of the site's own calendar:
// bookings of one agent whose status blocks, including their buffers. Sharing the seats of a service is not
// a conflict, nor is anything that the settings one_location_at_time and multiple_services_at_time allow. Where bookings take assets,
// it also finds those that take more units of one than there are.
func FindConflicts(ctx context.Context, s *session.Session) (ConflictReport, error) {
	settings, err := s.DB.SettingValues(ctx, session.SlotSettings...)
	if err != nil {
		return ConflictReport{}, err
	}
	capacity, err := capacities(ctx, s)
	if err != nil {
		return ConflictReport{}, err
	}
	today := availability.MomentOf(s.LocalNow()).Day
	bookings, more, err := blockingFrom(ctx, s, today, availability.BlockingStatuses(settings[session.SettingBlockingStatuses]))
	if err != nil {
		return ConflictReport{}, err
	}
	ofAgents := availability.Conflicts(bookings, today, s.Zone.Clock(), conflictRules(settings), capacity, conflictPairs)
	ofAssets, names, err := overbookedAssets(ctx, s, settings, bookings, today)
	conflicts := slices.Concat(ofAgents, ofAssets)
	return ConflictReport{conflicts, names, len(bookings), more || len(conflicts) >= conflictPairs}, err
}

// conflictRules are the settings that decide which bookings of an agent conflict.
func conflictRules(settings map[string]string) availability.Rules {
	return availability.Rules{OneLocationAtTime: settings[session.SettingOneLocation] == session.On, MultipleServicesAtTime: settings[session.SettingManyServices] == session.On}
}

// overbookedAssets finds the conflicts of assets among bookings, and the names of the assets, by id.
func overbookedAssets(ctx context.Context, s *session.Session, settings map[string]string, bookings []availability.Booking, today availability.Day) ([]Conflict, map[int64]string, error) {
	if uses, err := records.UsesAssets(ctx, s, settings); err != nil || !uses || len(bookings) == 0 {
		return nil, nil, err
	}
	type taken struct {
		booking int64
		availability.TakenAsset
		name string
	}
	stmt := sq.Select("b.id", "a.id", "a.quantity", "a.name").Distinct().From(s.DB.As(wpdb.Bookings, "b")).
		Join(s.DB.As(wpdb.BookingsAssets, "x") + " ON x.booking_id = b.id").Join(s.DB.As(wpdb.Assets, "a") + " ON a.id = x.asset_id").
		Where(sq.GtOrEq{"b.start_date": today.String()}).Where(sq.Eq{"a.status": "active", "b.status": availability.BlockingStatuses(settings[session.SettingBlockingStatuses])}).
		Limit(conflictBookings)
	rows, err := wpdb.All(ctx, s.DB, "read assets of bookings", stmt, wpdb.Into(func(t *taken) []any {
		return []any{&t.booking, &t.ID, wpdb.OrZero(&t.Stock), &t.name}
	}))
	names, takes := map[int64]string{}, map[int64][]availability.TakenAsset{}
	for _, t := range rows {
		names[t.ID] = t.name
		takes[t.booking] = append(takes[t.booking], t.TakenAsset)
	}
	return availability.AssetConflicts(bookings, today, s.Zone.Clock(), takes, conflictPairs), names, err
}

// ConflictingBooking is what people need to know about a conflicting booking.
type ConflictingBooking struct {
	Code                     string // of the booking
	Agent, Service, Customer string // names
	Date                     string // the start date
	Start, End               int    // minutes after midnight
}

// ConflictingBookings describes the bookings of conflicts, by id.
func ConflictingBookings(ctx context.Context, s *session.Session, conflicts []Conflict) (map[int64]ConflictingBooking, error) {
	var ids []int64
	for _, c := range conflicts {
		ids = append(ids, c.First, c.Second)
	}
	const name = "TRIM(CONCAT_WS(' ', %[1]s.first_name, %[1]s.last_name))"
	stmt := sq.Select("b.id", "b.booking_code", fmt.Sprintf(name, "a"), "s.name", fmt.Sprintf(name, "c"), "b.start_date", "b.start_time", "b.end_time").
		From(s.DB.Name(wpdb.Bookings) + " AS b").
		LeftJoin(s.DB.Name(wpdb.Agents) + " AS a ON a.id = b.agent_id").
		LeftJoin(s.DB.Name(wpdb.Services) + " AS s ON s.id = b.service_id").
		LeftJoin(s.DB.Name(wpdb.Customers) + " AS c ON c.id = b.customer_id").
		Where(sq.Eq{"b.id": ids})
	return wpdb.MapBy(ctx, s.DB, "describe conflicting bookings", stmt, func(row wpdb.Scanner) (id int64, b ConflictingBooking, err error) {
		err = row.Scan(&id, wpdb.OrZero(&b.Code), wpdb.OrZero(&b.Agent), wpdb.OrZero(&b.Service), wpdb.OrZero(&b.Customer), wpdb.OrZero(&b.Date), wpdb.OrZero(&b.Start), wpdb.OrZero(&b.End))
		return id, b, err
	})
}

// WrongEnds returns the ids of at most limit bookings from yesterday on whose stored end is missing or cannot be right, see
// availability.CanEnd. It uses the index on start_date.
func WrongEnds(ctx context.Context, s *session.Session, limit uint64) ([]int64, error) {
	yesterday := availability.MomentOf(s.LocalNow()).Day - 1
	stmt := sq.Select("id").From(s.DB.Name(wpdb.Bookings)).Where(sq.GtOrEq{"start_date": yesterday.String()}).
		Where("start_time IS NOT NULL AND (COALESCE(DATEDIFF(end_date, start_date), -1) NOT BETWEEN 0 AND 1 OR COALESCE(end_time, 0) = 0 OR end_date = start_date AND end_time <= start_time)").
		OrderBy("start_date", "id").Limit(limit) // ordered by id alone, the whole table is read
	return wpdb.All(ctx, s.DB, "find bookings with a wrong end", stmt, wpdb.Value[int64])
}

// UnconfirmedStatuses returns the statuses other than approved that the site gives to new bookings.
func UnconfirmedStatuses(ctx context.Context, s *session.Session) ([]string, error) {
	settings, err := s.DB.SettingValues(ctx, session.SettingDefaultStatus, session.SettingOwnStatuses)
	if err != nil {
		return nil, err
	}
	stmt := sq.Select(s.Schema.Expr(wpdb.Services, "s", "override_default_booking_status")).Distinct().From(s.DB.As(wpdb.Services, "s")).Where(sq.Eq{"s.status": "active"})
	statuses, err := wpdb.All(ctx, s.DB, "read default statuses of services", stmt, wpdb.Value[*string])
	found := []string{settings[session.SettingDefaultStatus]}
	for _, status := range statuses {
		found = append(found, domain.ValueOr(status, ""))
	}
	known := records.BookingStatusesOf(settings)
	found = slices.DeleteFunc(found, func(status string) bool { return status == records.StatusApproved || !slices.Contains(known, status) })
	slices.Sort(found)
	return slices.Compact(found), err
}

// capacities returns the seats of services, by id.
func capacities(ctx context.Context, s *session.Session) (map[int64]int, error) {
	stmt := sq.Select("id", "COALESCE(capacity_max, 1)").From(s.DB.Name(wpdb.Services))
	return wpdb.Map[int64, int](ctx, s.DB, "read capacities", stmt)
}

// blockingFrom reads the bookings with some statuses that may end on a day or later. It reads them in pages
// along the index on start_date, to keep each statement short. more reports whether there are others.
func blockingFrom(ctx context.Context, s *session.Session, day availability.Day, statuses []string) (bookings []availability.Booking, more bool, err error) {
	date, id := (day - 1).String(), int64(0) // a booking occupies at most two days
	for {
		page, err := blockingPage(ctx, s, day, statuses, date, id)
		if err != nil {
			return nil, false, err
		}
		bookings = append(bookings, page...)
		if len(page) < conflictPage || len(bookings) >= conflictBookings {
			return bookings, len(page) == conflictPage, nil
		}
		last := page[len(page)-1]
		date, id = last.Start.Day.String(), last.ID
	}
}

// blockingPage returns the page after the booking with this date and id.
func blockingPage(ctx context.Context, s *session.Session, day availability.Day, statuses []string, date string, id int64) ([]availability.Booking, error) {
	stmt := bookingsWithDuration(s).Columns(blockingBookingColumns...).
		Where(sq.GtOrEq{"start_date": date}).Where(sq.Or{sq.Gt{"start_date": date}, sq.Gt{"id": id}}).
		Where(sq.Or{sq.GtOrEq{"start_date": day.String()}, mayPassMidnight}).
		Where(sq.Eq{"status": statuses}).
		OrderBy("start_date", "id").Limit(conflictPage)
	return wpdb.All(ctx, s.DB, "read blocking bookings", stmt, scanBlockingBooking)
}

// ConflictWatch searches for conflicts at intervals and reports each conflict once while it lasts. It logs
// only the ids.
type ConflictWatch struct {
	platform *session.Platform
	log      *slog.Logger
	report   func(found ConflictReport, fresh int)
	known    map[Conflict]bool // conflicts of the last search, which bounds their number
}

// NewConflictWatch returns a watch that logs each new conflict. After each search it calls report with the
// result and the number of new conflicts.
func NewConflictWatch(platform *session.Platform, log *slog.Logger, report func(found ConflictReport, fresh int)) *ConflictWatch {
	return &ConflictWatch{platform: platform, log: log, report: report}
}

// Run searches at once and then at each interval, until ctx ends.
func (w *ConflictWatch) Run(ctx context.Context, interval time.Duration) {
	domain.Repeat(ctx, interval, nil, func() {
		if err := w.search(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("search for conflicting bookings failed", "error", err)
		}
	})
}

// search searches once.
func (w *ConflictWatch) search(ctx context.Context) error {
	found, err := ConflictsNow(ctx, w.platform)
	if err != nil {
		return err
	}
	fresh := 0
	known := make(map[Conflict]bool, len(found.Conflicts))
	for _, c := range found.Conflicts {
		known[c] = true
		if w.known[c] {
			continue
		}
		fresh++
		attrs := []slog.Attr{slog.Int64("agent_id", c.Agent), slog.Any("booking_ids", []int64{c.First, c.Second}), slog.Bool("buffers_only", c.BuffersOnly)}
		if c.Asset != 0 {
			attrs = append(attrs, slog.Int64("asset_id", c.Asset))
		}
		w.log.LogAttrs(ctx, slog.LevelWarn, "bookings overlap", attrs...)
	}
	w.known = known
	w.report(found, fresh)
	return nil
}
