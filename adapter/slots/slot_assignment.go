package slots

import (
	"context"
	"fmt"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// SlotRequest is the request for the slot of a booking.
type SlotRequest struct {
	availability.Request
	At     availability.Moment
	Window bool // the rules for customers apply: nothing in the past, and the booking window
	// AnyLocation is set if any location will do: see CalendarQuery.
	AnyLocation bool
	Offers      availability.Offers // nil unless extensions decide which starts are offered
	// Hold is the hold that the booking uses, whose slot it gets; nil for none. Lost is set if that hold
	// did not exist: the booking then gets no slot.
	Hold *Hold
	Lost bool
}

// covers returns the query for the calendar that shows whether the slot is free.
func (q SlotRequest) covers() CalendarQuery {
	covers := CalendarQuery{From: q.At.Day, To: q.At.Day, Customer: q.Window, anyLocation: q.AnyLocation, offers: q.Offers}
	if q.Hold != nil && !q.Lost {
		covers.asOf, _ = q.Hold.CreatedAt.Time() // the customer was in time then
	}
	return covers
}

// refused returns the error for a refused slot.
func (q SlotRequest) refused(conflict domain.SlotConflict) error {
	if q.Lost {
		return domain.HoldLost(conflict)
	}
	return domain.SlotUnavailable(conflict)
}

// Assign chooses the resource that gets the booking, or returns a CodeSlotUnavailable. The slot's locks are
// held, so no other server of ours can take it meanwhile; PHP can, because without the companion it takes
// no locks: see confirmSlot.
func Assign(ctx context.Context, tx *session.Tx, service Service, resources []availability.Resource, q SlotRequest) (*AssignedSlot, error) {
	conflict := domain.SlotConflict{Day: q.At.Day.String(), Start: int(q.At.Minutes), AgentID: q.Agent}
	if len(resources) == 0 {
		return nil, q.refused(conflict)
	}
	covers := q.covers()
	calendar, err := Calendar(ctx, tx.Session, service, resources, covers)
	if err != nil {
		return nil, err
	}
	choice := availability.Choice{Order: availability.AgentOrder(service.settings[session.SettingAgentOrder]), Pick: tx.Platform.Pick}
	if q.Agent == 0 && (choice.Order == availability.BusiestAgent || choice.Order == availability.IdlestAgent) {
		if choice.Load, err = bookingsOfDay(ctx, tx.Session, q.At.Day, scopeOf(resources).agents); err != nil {
			return nil, err
		}
	}
	if chosen, ok := calendar.Assign(q.At, q.Request, choice); ok && !q.Lost {
		slot := &AssignedSlot{SlotRequest: q, Resource: chosen, service: service, Covers: covers, input: calendar.Input}
		tx.Confirm = func(ctx context.Context) error { return confirmSlot(ctx, tx, *slot) }
		return slot, nil
	}
	for _, slot := range calendar.Day(q.At.Day, q.Request) {
		if slot.Reason == availability.Free {
			conflict.Free = append(conflict.Free, int(slot.Start))
		} else if slot.Start == q.At.Minutes && tx.RequirePermission("read_bookings") == nil {
			conflict.BookingID = slot.Booking
		}
	}
	return nil, q.refused(conflict)
}

// AssignedSlot is the slot that a transaction gives to a booking, with the data needed to check it again.
type AssignedSlot struct {
	SlotRequest
	Resource availability.Resource
	service  Service
	Covers   CalendarQuery
	input    availability.Input
}

// confirmSlot reads the bookings and holds of the assigned slot again. Nothing follows it but
// COMMIT: if PHP has added a booking since Assign, that booking wins, and the transaction runs again and
// finds the slot occupied.
func confirmSlot(ctx context.Context, tx *session.Tx, a AssignedSlot) error {
	a.input.Resources = []availability.Resource{a.Resource}
	rules := rulesOf(a.service, a.Covers, a.input)
	part := calendarPart{scopeOf(a.input.Resources), a.Covers.From, a.Covers.To, lastDay(a.Covers, a.input.WorkPeriods)}
	stmt := blockingBookings(tx.Session, rules, part).Columns(blockingBookingColumns...)
	if tx.Schema.Has(wpdb.Holds) {
		stmt = records.UnionAll(stmt, blockingHolds(tx.Session, rules, part).Columns(blockingHoldColumns...))
	}
	var err error
	if a.input.Bookings, err = wpdb.All(ctx, tx.DB, "read blocking bookings", stmt, scanBlockingBooking); err != nil {
		return err
	}
	uses, err := assetUses(ctx, tx.Session, rules, part)
	if err != nil {
		return err
	}
	a.input.AssetUses = shownUses(tx.Session, uses)
	if len(availability.NewCalendar(a.input).Free(a.At, a.Request)) == 0 {
		return fmt.Errorf("slot was booked concurrently: %w", wpdb.ErrConflict)
	}
	return nil
}

// Locks returns the locks of everything that bookings can compete for: their agents, their locations if one
// agent at a time uses a location, their service if its bookings per day are limited, and their assets.
func Locks(s *session.Session, service Service, resources []availability.Resource) []session.Lock {
	scope := scopeOf(resources)
	locks := session.LocksOf(session.AgentLock, scope.agents...)
	if service.settings[session.SettingOneAgent] == session.On {
		locks = append(locks, session.LocksOf(session.LocationLock, scope.locations...)...)
	}
	if service.bookingsPerDay > 0 && service.With(s, extensions.ProFeatures) {
		locks = append(locks, session.LocksOf(session.ServiceLock, scope.services...)...)
	}
	return append(locks, service.assetLocks(scope.agents)...)
}

// bookingsOfDay counts the bookings of agents on a day, whatever their status
// (OsBookingHelper::get_any_agent_for_booking_by_rule). Uses the index on start_date.
func bookingsOfDay(ctx context.Context, s *session.Session, day availability.Day, agents []int64) (map[int64]int, error) {
	stmt := sq.Select("agent_id", "COUNT(*)").From(s.DB.Name(wpdb.Bookings)).
		Where(sq.Eq{"start_date": day.String(), "agent_id": agents}).GroupBy("agent_id")
	return wpdb.Map[int64, int](ctx, s.DB.Unfiltered(), "count bookings of agents", stmt)
}
