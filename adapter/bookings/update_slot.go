package bookings

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
)

// slotChanges says what a patch changes of the slot of a booking.
type slotChanges struct {
	time, service bool
	extras        bool // or the service
	span          bool // time, duration, service or extras
	any           bool // including agent, location and attendees
}

// slotChanges compares the patch with the slot of a booking.
func (patch Patch) slotChanges(b records.Booking) slotChanges {
	var c slotChanges
	var start *availability.Day
	if day, known := availability.ParseDay(string(b.StartDate)); known {
		start = &day
	}
	c.time = differs(patch.StartDate, start) || differs(patch.StartTime, b.StartTime)
	c.service = differs(patch.ServiceID, new(b.ServiceID()))
	c.extras = patch.Extras != nil && (patch.Extras.Unreadable || c.service || !slots.SameExtras(patch.Extras.Chosen, slots.ExtrasOf(b)))
	c.span = c.time || c.service || c.extras || differs(patch.Duration, &b.Duration)
	c.any = c.span || differs(patch.AgentID, &b.Agent.ID) || differs(patch.LocationID, new(b.LocationID())) || differs(patch.Attendees, &b.Attendees)
	return c
}

// differs reports whether a value is to change; nil keeps a value, and stands for an unknown one that is stored.
func differs[T comparable](value, stored *T) bool {
	return value != nil && (stored == nil || *value != *stored)
}

// slotOfUpdate returns what a booking with the given status needs a slot for; nil if it needs none.
func slotOfUpdate(ctx context.Context, s *session.Session, b records.Booking, patch Patch, changes slotChanges, status string, p *domain.Validation) (*appointment, error) {
	statuses, err := session.BlockingStatuses(ctx, s)
	if err != nil {
		return nil, err
	}
	if !changes.any && (blocks(statuses, b.Status) || !blocks(statuses, status)) {
		return nil, nil
	}
	day, dayKnown := availability.ParseDay(string(b.StartDate))
	start := availability.Moment{
		Day: domain.ValueOr(patch.StartDate, day), Minutes: domain.ValueOr(cmp.Or(patch.StartTime, b.StartTime), 0),
	}
	if patch.StartDate == nil && !dayKnown || patch.StartTime == nil && b.StartTime == nil {
		p.Reject("start_time", "This booking has no start: send start_date and start_time")
	}
	if changes.time {
		if start.Day < availability.MomentOf(s.LocalNow()).Day {
			field := "start_time"
			if patch.StartDate != nil {
				field = "start_date"
			}
			p.Reject(field, "May not be in the past")
		}
		records.CheckClock(s, p, start)
	}
	agent, location := domain.ValueOr(patch.AgentID, b.Agent.ID), cmp.Or(patch.LocationID, b.AnyLocation())
	service, resources, err := slots.LoadServiceToBook(ctx, s, p, domain.ValueOr(patch.ServiceID, b.ServiceID()), agent, location)
	if err != nil {
		return nil, err
	}
	request := service.RequestToMove(b, patch.Duration, patch.Attendees)
	request.Agent = agent
	a := appointment{
		service: service, resources: resources, duration: b.Duration,
		request: slots.SlotRequest{Request: request, At: start, Window: changes.time, AnyLocation: slots.IsAny(location)},
	}
	if !changes.span {
		a.request.Duration = records.Length(s, b)
		return &a, nil
	}
	a.duration = int64(request.Duration)
	slots.CheckDuration(p, a.duration)
	minutes := b.ExtraMinutes()
	if changes.extras {
		if a.extras, a.meta, err = loadExtras(ctx, s, service, patch.Extras, p); err != nil {
			return nil, err
		}
		minutes = slots.ExtraMinutes(a.extras)
	}
	checkLength(p, a.duration, minutes)
	a.request.Duration += session.Minutes(minutes)
	return &a, nil
}

// blocks reports whether bookings with a status block their time. Like the database's
// collation, it ignores case and trailing blanks.
func blocks(statuses []string, status string) bool {
	return slices.ContainsFunc(statuses, func(s string) bool {
		return strings.EqualFold(strings.TrimRight(s, " "), strings.TrimRight(status, " "))
	})
}

// decideUpdate asks WordPress about the new slot of a booking, unless the change is invalid, and returns the
// slot as WordPress decides about it.
func decideUpdate(ctx context.Context, tx *session.Tx, u bookingUpdate, p *domain.Validation) (*appointment, error) {
	if u.slot == nil || !p.Valid() {
		return u.slot, nil
	}
	slot, draft := *u.slot, u.slot.draft()
	draft.ID, draft.Status, draft.CustomerID = u.before.Booking.ID, u.status, u.who.ID
	if !u.changes.extras {
		draft.Extras = slots.ExtrasText(slots.ExtrasOf(u.before.Booking.Booking))
	}
	var err error
	if draft.CustomFields, err = u.fields.encoded(); err != nil {
		return nil, err
	}
	decision, err := askWordPress(ctx, tx, draft, p, extensions.Times, extensions.Acceptance)
	if err != nil || decision == nil || decision.Offer == nil {
		return u.slot, err
	}
	slot.request.Offers = slots.OffersOf(slot.service.ID, *decision.Offer)
	if u.changes.span {
		slot.request.Duration = availability.Minutes(decision.Offer.Duration)
	}
	return &slot, nil
}
