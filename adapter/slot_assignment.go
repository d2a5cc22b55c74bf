package adapter

import (
	"context"
	"fmt"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/wpdb"
)

// slotRequest is the request for the slot of a booking.
type slotRequest struct {
	availability.Request
	at     availability.Moment
	window bool // the rules for customers apply: nothing in the past, and the booking window
	// anyLocation is set if any location will do: see calendarQuery.
	anyLocation bool
	// hold is the hold that the booking has used, whose slot it gets; nil for none. lost
	// reports that there was none to use: the booking then gets no slot.
	hold *Hold
	lost bool
}

// covers returns the calendar that shows whether the slot is free.
func (q slotRequest) covers() calendarQuery {
	covers := calendarQuery{from: q.at.Day, to: q.at.Day, customer: q.window, anyLocation: q.anyLocation}
	if q.hold != nil && !q.lost {
		covers.asOf, _ = q.hold.CreatedAt.Time() // the customer came in time
	}
	return covers
}

// refused returns the error for a slot that the booking does not get.
func (q slotRequest) refused(conflict domain.SlotConflict) error {
	if q.lost {
		return domain.HoldLost(conflict)
	}
	return domain.SlotUnavailable(conflict)
}

// assignSlot chooses the resource that gets the booking; a CodeSlotUnavailable if
// none is free. The locks of the slot are held, so that no other server of ours takes it
// meanwhile; PHP, which takes no locks without the companion, may: see confirmSlot.
func (tx *Tx) assignSlot(ctx context.Context, service bookableService, resources []availability.Resource, q slotRequest) (*assignedSlot, error) {
	conflict := domain.SlotConflict{Start: q.at, AgentID: q.Agent}
	if len(resources) == 0 {
		return nil, q.refused(conflict)
	}
	covers := q.covers()
	calendar, err := tx.calendar(ctx, service, resources, covers)
	if err != nil {
		return nil, err
	}
	choice := availability.Choice{Order: availability.AgentOrder(service.settings[settingAgentOrder]), Pick: tx.pick}
	if q.Agent == 0 && (choice.Order == availability.BusiestAgent || choice.Order == availability.IdlestAgent) {
		if choice.Load, err = tx.bookingsOfDay(ctx, q.at.Day, scopeOf(resources).agents); err != nil {
			return nil, err
		}
	}
	if chosen, ok := calendar.Assign(q.at, q.Request, choice); ok && !q.lost {
		slot := &assignedSlot{slotRequest: q, resource: chosen, service: service, covers: covers, input: calendar.Input}
		tx.confirm = func(ctx context.Context) error { return tx.confirmSlot(ctx, *slot) }
		return slot, nil
	}
	for _, slot := range calendar.Day(q.at.Day, q.Request) {
		if slot.Reason == availability.Free {
			conflict.Free = append(conflict.Free, slot.Start)
		} else if slot.Start == q.at.Minutes && tx.requirePermission("read_bookings") == nil {
			conflict.BookingID = slot.Booking
		}
	}
	return nil, q.refused(conflict)
}

// assignedSlot is the slot that a transaction gives to a booking, with what is needed to
// check it again.
type assignedSlot struct {
	slotRequest
	resource availability.Resource
	service  bookableService
	covers   calendarQuery
	input    availability.Input
}

// confirmSlot reads the bookings and holds of the assigned slot again. It is the last statement
// before COMMIT: a booking that PHP added since assignSlot wins, and the transaction
// is run again, to find the slot occupied.
func (tx *Tx) confirmSlot(ctx context.Context, a assignedSlot) error {
	a.input.Resources = []availability.Resource{a.resource}
	rules := rulesOf(a.service, a.covers, a.input)
	part := calendarPart{scopeOf(a.input.Resources), a.covers.from, a.covers.to, lastDay(a.covers, a.input)}
	stmt := tx.blockingBookings(rules, part).Columns(blockingBookingColumns...)
	if tx.schema.Has(wpdb.Holds) {
		stmt = unionAll(stmt, tx.blockingHolds(rules, part).Columns(blockingHoldColumns...))
	}
	var err error
	if a.input.Bookings, err = wpdb.All(ctx, tx.db, "read blocking bookings", stmt, scanBlockingBooking); err != nil {
		return err
	}
	if len(availability.NewCalendar(a.input).Free(a.at, a.Request)) == 0 {
		return fmt.Errorf("slot was booked concurrently: %w", wpdb.ErrConflict)
	}
	return nil
}

// slotLocks returns the locks of everything over which bookings can collide: their
// agents, their locations if a location is used by one agent at a time, and their service
// if its bookings per day are limited.
func (s *Site) slotLocks(ctx context.Context, service bookableService, resources []availability.Resource) ([]lock, error) {
	limited, err := s.dailyLimitCounts(ctx, service)
	if err != nil {
		return nil, err
	}
	scope := scopeOf(resources)
	locks := locksOf(agentLock, scope.agents...)
	if service.settings[settingOneAgent] == on {
		locks = append(locks, locksOf(locationLock, scope.locations...)...)
	}
	if limited {
		locks = append(locks, locksOf(serviceLock, scope.services...)...)
	}
	return locks, nil
}

// dailyLimitCounts reports whether the bookings per day of a service are limited.
func (s *Site) dailyLimitCounts(ctx context.Context, service bookableService) (bool, error) {
	if service.bookingsPerDay == 0 {
		return false, nil
	}
	return s.addOnActive(ctx, service.settings[settingAddOns])
}

// bookingsOfDay counts the bookings of agents on a day, whatever their status
// (OsBookingHelper::get_any_agent_for_booking_by_rule). Uses the index on start_date.
func (s *Site) bookingsOfDay(ctx context.Context, day availability.Day, agents []int64) (map[int64]int, error) {
	stmt := sq.Select("agent_id", "COUNT(*)").From(s.db.Name(wpdb.Bookings)).
		Where(sq.Eq{"start_date": day.String(), "agent_id": agents}).GroupBy("agent_id")
	return wpdb.Map[int64, int](ctx, s.db.Whole(), "count bookings of agents", stmt)
}
