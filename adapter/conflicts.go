package adapter

import (
	"context"
	"log/slog"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/availability"
	"bookside/wpdb"
)

// Conflict is two bookings that one agent cannot both keep. The plugin takes no
// lock and lets its administrators book what they like, so there are such pairs
// however careful we are.
type Conflict = availability.Conflict

// ConflictReport is what a search for conflicts found.
type ConflictReport struct {
	Conflicts []Conflict // the earliest ones first
	Bookings  int        // that were compared
	// Cut tells that there are more bookings or conflicts than are looked at.
	Cut bool
}

// Limits of a search for conflicts.
const (
	conflictDays     = 7 // how far back a booking may begin that lasts until today
	conflictPage     = 5_000
	conflictBookings = 200_000
	conflictPairs    = 1_000
)

// Conflicts finds conflicts on the site as it is now; see Site.Conflicts.
func (p *Platform) Conflicts(ctx context.Context) (ConflictReport, error) {
	return serveBackground(ctx, p, (*Site).Conflicts)
}

// Conflicts finds the bookings from today on that stand in each other's way by
// the rules of the site's own calendar: those whose status blocks, buffers
// included, of one agent. Seats of a service are shared, and what the settings
// one_location_at_time and multiple_services_at_time allow is none.
func (s *Site) Conflicts(ctx context.Context) (ConflictReport, error) {
	var report ConflictReport
	settings, err := s.slotSettings(ctx)
	if err != nil {
		return report, err
	}
	capacity, err := s.capacities(ctx)
	if err != nil {
		return report, err
	}
	today := availability.MomentOf(s.localNow()).Day
	bookings, more, err := s.blockingFrom(ctx, today, availability.BlockingStatuses(settings[settingBlockingStatuses]))
	if err != nil {
		return report, err
	}
	rules := availability.Rules{OneLocationAtTime: settings[settingOneLocation] == on, MultipleServicesAtTime: settings[settingManyServices] == on}
	report.Conflicts = availability.Conflicts(bookings, today, rules, capacity, conflictPairs)
	report.Bookings = len(bookings)
	report.Cut = more || len(report.Conflicts) == conflictPairs
	return report, nil
}

// capacities returns the seats of services, by id.
func (s *Site) capacities(ctx context.Context) (map[int64]int, error) {
	stmt := sq.Select("id", "COALESCE(capacity_max, 1)").From(s.db.Name(wpdb.Services))
	return wpdb.Map[int64, int](ctx, s.db, "read capacities", stmt)
}

// blockingFrom reads the bookings of some statuses that end on a day or later,
// in pages along the index on start_date, so that no statement is long; more
// tells that there are others behind them.
func (s *Site) blockingFrom(ctx context.Context, day availability.Day, statuses []string) (bookings []availability.Booking, more bool, err error) {
	date, id := (day - conflictDays).String(), int64(0)
	for {
		page, err := s.blockingPage(ctx, day, statuses, date, id)
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

// blockingPage returns the page behind the booking of this id on this date.
func (s *Site) blockingPage(ctx context.Context, day availability.Day, statuses []string, date string, id int64) ([]availability.Booking, error) {
	stmt := sq.Select(blockingBookingColumns...).From(s.db.Name(wpdb.Bookings)).
		Where(sq.GtOrEq{"start_date": date}).Where(sq.Or{sq.Gt{"start_date": date}, sq.Gt{"id": id}}).
		Where(sq.GtOrEq{"end_date": day.String()}).Where(sq.Eq{"status": statuses}).
		OrderBy("start_date", "id").Limit(conflictPage)
	return wpdb.All(ctx, s.db, "read blocking bookings", stmt, scanBlockingBooking)
}

// ConflictWatch looks for conflicts again and again and reports each once, as
// long as it lasts. Of a conflict it logs the ids alone.
type ConflictWatch struct {
	platform *Platform
	log      *slog.Logger
	told     func(found ConflictReport, fresh int)
	known    map[Conflict]bool // of the last look: no more than one look can find
}

// NewConflictWatch tells the log of each conflict, and told, after each look,
// what there is and how many conflicts of it are new.
func NewConflictWatch(platform *Platform, log *slog.Logger, told func(found ConflictReport, fresh int)) *ConflictWatch {
	return &ConflictWatch{platform: platform, log: log, told: told}
}

// Run looks at once and then every interval, until ctx ends.
func (w *ConflictWatch) Run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("conflicts could not be looked for", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look looks once.
func (w *ConflictWatch) look(ctx context.Context) error {
	report, err := w.platform.Conflicts(ctx)
	if err != nil {
		return err
	}
	fresh := 0
	known := make(map[Conflict]bool, len(report.Conflicts))
	for _, c := range report.Conflicts {
		known[c] = true
		if w.known[c] {
			continue
		}
		fresh++
		w.log.LogAttrs(ctx, slog.LevelWarn, "bookings overlap", slog.Int64("agent_id", c.Agent),
			slog.Any("booking_ids", []int64{c.First, c.Second}), slog.Bool("buffers_only", c.BuffersOnly))
	}
	w.known = known
	w.told(report, fresh)
	return nil
}
