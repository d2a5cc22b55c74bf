package bookings

import (
	"context"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// How holds keep slots free
//
// A row of {prefix}bookside_holds keeps a slot for a customer who has yet to book: a client of
// the API asked for it, or the customer is checking out in WordPress. Until it expires, it blocks what a booking with the same columns would block, if that booking's
// status blocked its time. From then on it means nothing.
//
//	SELECT agent_id, service_id, location_id, start_date, start_time, end_date, end_time,
//	       buffer_before, buffer_after, total_attendees
//	FROM wp_bookside_holds
//	WHERE expires_at > UTC_TIMESTAMP()
//	  AND start_date BETWEEN '2026-11-30' AND '2026-12-07'
//
//	agent_id, service_id,      ids of rows of the plugin's tables, never 0
//	location_id
//	start_date, start_time     the start: a date, and minutes since midnight, both by the
//	                           site's clock
//	end_date, end_time         the end, as the plugin stores it in a booking: an end at
//	                           midnight is minute 1440 of the next date
//	duration                   of the booking without its extras, in minutes
//	extras                     those of the add-on Pro Features, which the end includes, as
//	                           it stores them with an order: ids and quantities, 4:2,7:1
//	buffer_before,             minutes that must also stay free before and after
//	buffer_after
//	total_attendees            seats that it takes of a service with several
//	expires_at                 in UTC, to the second
//	key_id                     the API key that made it, which alone may use it; 0 for the
//	                           companion in WordPress
//
// The rules for everyone who reads these rows:
//
//   - Only Bookside and its companion write them. They insert a row under the locks of the
//     slot (see locks.go). When the customer books, Bookside deletes the row in the transaction
//     that inserts the booking. The companion has two connections: it deletes the row under
//     the locks, and commits that when the booking is there. Whoever reads committed data may
//     see both for a moment, but never neither.
//   - The companion keeps each booking of a cart by a hold of five minutes from when
//     LatePoint has looked at it until it is saved. While the payment runs, it renews the
//     hold as long as PHP shows that it is alive.
//   - Rows stay for a while after they have expired. Always compare expires_at.
//   - Read one day more than you show, at its beginning: a hold may run past midnight.
//   - A hold of a service with one seat closes the time of its agent from start_time minus
//     buffer_before to end_time plus buffer_after, at all locations if the setting
//     one_location_at_time is on and at its own otherwise. If one_agent_at_location is on,
//     it also closes its location for all other agents.
//   - A hold of a service with several seats takes total_attendees of them, and closes the
//     time of its agent for other services only. A reader that cannot count seats should
//     leave the service itself open, and let the plugin count the seats that are booked.
//   - Holds count towards daily limits like bookings, and take a unit of each asset of Pro
//     Features that a booking of their service and agent would take.

// NewHold is a hold to create. It keeps the slot of the booking, and checks price, coupon and custom fields, which are
// sent again with the booking.
type NewHold struct {
	New
	Minutes int64 // until it expires
}

// MaxHolds is how many holds a key may have at once.
const MaxHolds = 100

// CreateHold holds a slot if Create would book it. It returns the errors of Create, and a CodeTooManyHolds.
func CreateHold(ctx context.Context, tx *session.Tx, n NewHold) (slots.Hold, error) {
	p := n.Problems()
	what, err := newAppointment(ctx, tx.Session, n.New, nil, &p)
	if err != nil {
		return slots.Hold{}, err
	}
	w, pro, err := orderSettings(ctx, tx, n)
	if err != nil {
		return slots.Hold{}, err
	}
	if pro {
		if _, err := readCustomFields(tx.Session, w, n.Fields, nil, "{}", &p); err != nil {
			return slots.Hold{}, err
		}
	}
	chooses := n.AgentID == 0 && !p.Has("agent_id") // the coupon may be for the agent who is chosen
	if pro && !chooses && !p.Has("service_id") {
		if _, err := chargeFor(ctx, tx, w, n.New, what, nil, nil, &p); err != nil {
			return slots.Hold{}, err
		}
	}
	if err := p.Err(); err != nil {
		return slots.Hold{}, err
	}
	locks := slots.Locks(tx.Session, what.service, what.resources)
	if err := tx.Lock(ctx, append(locks, session.LockOf(session.KeyLock, tx.CallerID()))...); err != nil {
		return slots.Hold{}, err
	}
	if err := checkHolds(ctx, tx); err != nil {
		return slots.Hold{}, err
	}
	what, _, err = what.decide(ctx, tx, n.New, "", 0, customFields{}, &p, extensions.Times)
	if err != nil {
		return slots.Hold{}, err
	}
	assigned, err := what.assign(ctx, tx)
	if err != nil {
		return slots.Hold{}, err
	}
	if pro && chooses {
		n.AgentID = assigned.Resource.Agent
		if _, err := chargeFor(ctx, tx, w, n.New, what, nil, nil, &p); err != nil {
			return slots.Hold{}, err
		}
		if err := p.Err(); err != nil {
			return slots.Hold{}, err
		}
	}
	span := what.span(tx.Session)
	hold := slots.Hold{
		Resource: assigned.Resource, Start: n.Start, End: span.End, Duration: what.duration, Attendees: n.Attendees, Extras: slots.ChosenOf(what.extras),
		CreatedAt: domain.Timestamp(domain.Stamp(tx.Now)), ExpiresAt: domain.Timestamp(domain.Stamp(tx.Now.Add(time.Duration(n.Minutes) * time.Minute))),
	}
	hold.ID, err = tx.Insert(ctx, wpdb.Holds, slices.Concat(span.Columns(), what.columns(assigned.Resource), session.Row{
		{Name: "key_id", Value: tx.CallerID()}, {Name: "extras", Value: slots.ExtrasText(hold.Extras)},
		{Name: "expires_at", Value: string(hold.ExpiresAt)}, {Name: "created_at", Value: string(hold.CreatedAt)},
	}))
	assigned.Covers.Except = hold.ID
	return hold, err
}

// orderSettings returns the settings that a hold is checked by, and whether there is something that Pro Features has to do with
// besides the slot.
func orderSettings(ctx context.Context, tx *session.Tx, n NewHold) (w session.WriteSettings, pro bool, err error) {
	if n.CouponCode == "" && n.Fields == nil {
		return w, false, nil
	}
	w, err = tx.WriteSettings(ctx)
	return w, err == nil && tx.Extension(extensions.ProFeatures, w.Settings), err
}

// checkHolds returns a CodeTooManyHolds if the caller may have no more holds. Uses the index on
// key_id.
func checkHolds(ctx context.Context, tx *session.Tx) error {
	type holds struct {
		number int64
		first  domain.Timestamp // to expire
	}
	stmt := sq.Select("COUNT(*)", "MIN(expires_at)").From(tx.DB.Name(wpdb.Holds)).
		Where(sq.Eq{"key_id": tx.CallerID()}).Where(sq.Gt{"expires_at": domain.Stamp(tx.Now)})
	found, _, err := wpdb.One(ctx, tx.DB, "count holds", stmt, wpdb.Into(func(h *holds) []any {
		return []any{&h.number, wpdb.OrZero((*string)(&h.first))}
	}))
	if err != nil || found.number < MaxHolds {
		return err
	}
	expires, _ := found.first.Time()
	return domain.TooManyHolds(MaxHolds, int64(max(time.Second, expires.Sub(tx.Now)).Round(time.Second).Seconds()))
}

// LoadHold returns a hold of the caller, or a CodeNotFound if it does not exist or has expired.
func LoadHold(ctx context.Context, s *session.Session, id int64) (slots.Hold, error) {
	h, found, err := hold(ctx, s, id)
	if err == nil && (!found || string(h.ExpiresAt) <= domain.Stamp(s.Now)) {
		err = domain.NotFound(domain.HoldResource, id)
	}
	return h, err
}

// DeleteHold releases a hold, or returns a CodeNotFound if the caller has no such hold.
func DeleteHold(ctx context.Context, tx *session.Tx, id int64) error {
	if err := tx.LockRows(ctx, wpdb.Holds, []int64{id}); err != nil {
		return err
	}
	if _, err := LoadHold(ctx, tx.Session, id); err != nil {
		return err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return err
	}
	_, err := useHold(ctx, tx, id)
	return err
}

// useHold ends a hold of the caller, and reports whether there was one. It deletes the row, so that of two
// bookings with the same hold only one finds it.
func useHold(ctx context.Context, tx *session.Tx, id int64) (bool, error) {
	stmt := sq.Delete(tx.DB.Name(wpdb.Holds)).Where(sq.Eq{"id": id, "key_id": tx.CallerID()}).Where(sq.Gt{"expires_at": domain.Stamp(tx.Now)})
	result, err := tx.Exec(ctx, wpdb.Holds, "delete hold", stmt)
	return result.Rows > 0, err
}

// withHold returns a booking with the slot of its hold, which may have expired, and the hold; nil for none.
// Sent fields of the slot must match the hold.
func withHold(ctx context.Context, s *session.Session, b New, p *domain.Validation) (New, *slots.Hold, error) {
	if p.Has("hold_id") {
		return b, nil, p.Err() // without the slot, the rest cannot be checked
	}
	if b.HoldID == 0 {
		return b, nil, nil
	}
	hold, found, err := hold(ctx, s, b.HoldID)
	if err != nil {
		return b, nil, err
	}
	sent := func(field string) bool { return slices.Contains(b.Sent, field) && !p.Has(field) }
	if !found {
		if err := p.Err(); err != nil || sent("service_id") && sent("agent_id") && sent("start_date") && sent("start_time") {
			return b, nil, err
		}
		return b, nil, domain.HoldLost(domain.SlotConflict{})
	}
	for field, differs := range map[string]bool{
		"service_id":      b.ServiceID != 0 && b.ServiceID != hold.Service,
		"agent_id":        b.AgentID != 0 && b.AgentID != hold.Agent,
		"location_id":     domain.ValueOr(b.LocationID, 0) != 0 && *b.LocationID != hold.Location,
		"start_date":      b.Start.Day != hold.Start.Day,
		"start_time":      b.Start.Minutes != hold.Start.Minutes,
		"duration":        b.Duration != nil && *b.Duration != hold.Duration,
		"total_attendees": b.Attendees != hold.Attendees,
		"extras":          b.Extras != nil && !slots.SameExtras(b.Extras.Chosen, hold.Extras),
	} {
		if differs && sent(field) {
			p.Reject(field, "Differs from the hold")
		}
	}
	b.ServiceID, b.AgentID, b.LocationID = hold.Service, hold.Agent, &hold.Location
	b.Start, b.Duration, b.Attendees = hold.Start, &hold.Duration, hold.Attendees
	b.Extras = &slots.Extras{Chosen: hold.Extras}
	return b, &hold, nil
}

// hold reads a hold of the caller, even if it has expired.
func hold(ctx context.Context, s *session.Session, id int64) (h slots.Hold, found bool, err error) {
	stmt := sq.Select("id", "agent_id", "service_id", "location_id", "start_date", "start_time", "end_date", "end_time", "duration", "total_attendees", "extras",
		"created_at", "expires_at").From(s.DB.Name(wpdb.Holds)).Where(sq.Eq{"id": id, "key_id": s.CallerID()})
	return wpdb.One(ctx, s.DB, "read hold", stmt, func(row wpdb.Scanner) (h slots.Hold, err error) {
		var start, end, extras string
		err = row.Scan(&h.ID, &h.Agent, &h.Service, &h.Location, &start, (*int)(&h.Start.Minutes), &end, (*int)(&h.End.Minutes), &h.Duration, &h.Attendees, &extras,
			(*string)(&h.CreatedAt), (*string)(&h.ExpiresAt))
		h.Start.Day, _ = availability.ParseDay(start)
		h.End.Day, _ = availability.ParseDay(end)
		h.Extras = slots.ParseExtras(extras)
		return h, err
	})
}
