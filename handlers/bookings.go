package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listBookings = operation{
	id:          "listBookings",
	summary:     "List bookings",
	description: "A page of the bookings that match all parameters.",
	formats:     tablesAndCalendars,
	query:       compat.BookingParameters,
	answers:     []response{ok(compat.ListOf[compat.Booking]())},
	errors:      failures.Form{List: true},
	serve: func(r *request) (response, error) {
		filter, err := r.view.BookingFilter(r.ctx(), r.query, r.knowsBookingStatus)
		if err != nil {
			return response{}, err
		}
		page, err := bookings.List(r.ctx(), r.session, filter)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.BookingList(page)), nil
	},
}

var getBooking = operation{
	id:          "getBooking",
	summary:     "Read a booking",
	description: "A booking with its order and payments.",
	path:        []pathParameter{bookingID},
	answers:     []response{ok(compat.SingleOf[compat.BookingDetail]())},
	serve: func(r *request) (response, error) {
		id, err := r.id(bookingID)
		if err != nil {
			return response{}, err
		}
		booking, err := records.LoadBookingDetail(r.ctx(), r.session, id)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.BookingDetail(booking, r.times(booking.Booking))), nil
	},
}

var createBooking = operation{
	id:          "createBooking",
	summary:     "Create a booking",
	description: "Creates a booking if the agent is free, for a customer given by id or by data. The latter is found by the contact that identifies customers on the site (the e-mail address, or the phone number if the site's settings say so), or created, with the fields that the site requires. With hold_id, the booking gets the slot of that hold, and fields of the slot need not be sent. If the key has no such hold (any more), the response is 409; it names the free starts of the day if the hold expired less than an hour ago, or if service_id, agent_id, start_date and start_time were sent again. With dry_run, nothing is written and nobody is notified: the answer, with status 200, has the booking, its agent and its price as they would be, with 0 for the ids that would be new.",
	body:        compat.NewBookingFields,
	answers:     []response{created(compat.BookingCreated), ok(compat.BookingPossible)},
	errors:      failures.Form{Failure: "Failed to create booking", Others: []int{http.StatusConflict}},
	serve: func(r *request) (response, error) {
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		booking := compat.ReadNewBooking(body)
		booking.Address = r.echo.RealIP()
		if booking.DryRun {
			return r.dryRun(func(tx *session.Tx) (any, error) {
				draft, err := bookings.Create(r.ctx(), tx, booking.New)
				if err != nil {
					return nil, err
				}
				return r.view.BookingPossible(draft, r.times(draft.Booking)), nil
			})
		}
		return r.create(func(tx *session.Tx) (any, error) {
			record, err := bookings.Create(r.ctx(), tx, booking.New)
			if err != nil {
				return nil, err
			}
			return r.view.BookingCreated(record, r.times(record.Booking)), nil
		})
	},
}

var updateBooking = operation{
	id:          "updateBooking",
	summary:     "Change a booking",
	description: "Reschedules a booking, or gives it another status, such as completed or no_show. Changes only the fields that are sent. A new time is checked as for a new booking; if date and time stay, the agent's time must be open, even if customers are not offered this start. With dry_run, nothing is written and nobody is notified: the response has the booking as it would be.",
	path:        []pathParameter{bookingID},
	body:        compat.BookingPatchFields,
	extraPermissions: []extraPermission{
		{"write_customers", "to change a name, e-mail address or phone number that the customer already has"},
		{"delete_bookings", "to cancel a completed booking"},
	},
	answers: []response{ok(compat.StatusSingleOf[compat.BookingDetail]())},
	errors:  failures.Form{Failure: "Failed to update booking", Others: []int{http.StatusConflict}},
	serve:   patchBooking(compat.BookingPatchFields.Read),
}

var approveBooking = moveOfBooking(bookings.Patch{Status: new(records.StatusApproved)}, operation{
	id:          "approveBooking",
	summary:     "Approve a booking",
	description: "Gives a booking the status approved, as PUT of that status does: its time must be free if the present status does not block it.",
	errors:      failures.Form{Others: []int{http.StatusConflict, http.StatusUnprocessableEntity}},
})

var declineBooking = moveOfBooking(bookings.Patch{Status: new(records.StatusCancelled), Declines: true}, operation{
	id:          "declineBooking",
	summary:     "Decline a pending booking",
	errors:      failures.Form{Others: []int{http.StatusUnprocessableEntity}},
	description: "Gives a pending booking the status cancelled, as Reject does in wp-admin: LatePoint has no status of its own for declined bookings. A booking with another status is refused with 422, except that one which is cancelled already stays so.",
})

var cancelBooking = moveOfBooking(bookings.Patch{Status: new(records.StatusCancelled)}, operation{
	id:               "cancelBooking",
	summary:          "Cancel a booking",
	description:      "Gives a booking the status cancelled, as PUT of that status does: it stays on record, and its time is free.",
	extraPermissions: []extraPermission{{"delete_bookings", "to cancel a completed booking"}},
	errors:           failures.Form{Others: []int{http.StatusUnprocessableEntity}},
})

// moveOfBooking completes the operation of a move, of which the body has only the rest.
func moveOfBooking(move bookings.Patch, o operation) operation {
	o.description += " A booking that has this status already stays as it is. With dry_run, nothing is written and nobody is notified: the response has the booking as it would be."
	o.path, o.body = []pathParameter{bookingID}, compat.BookingMoveFields
	o.answers, o.errors.Failure = updateBooking.answers, updateBooking.errors.Failure
	o.serve = patchBooking(func(b *compat.Body) compat.BookingPatch {
		patch := compat.BookingMoveFields.Read(b)
		patch.Status, patch.Declines = move.Status, move.Declines
		return patch
	})
	return o
}

// patchBooking changes a booking.
func patchBooking(read func(*compat.Body) compat.BookingPatch) func(*request) (response, error) {
	return func(r *request) (response, error) {
		id, err := r.id(bookingID)
		if err != nil {
			return response{}, err
		}
		return r.update(func(tx *session.Tx, body *compat.Body) (any, error) {
			booking, err := bookings.Update(r.ctx(), tx, id, read(body).Patch)
			if err != nil {
				return nil, err
			}
			return r.view.BookingUpdated(booking, r.times(booking.Booking)), nil
		})
	}
}

var deleteBooking = operation{
	id:          "deleteBooking",
	summary:     "Delete a booking",
	description: "Deletes a booking permanently. Approved and completed bookings are deleted only with force.",
	path:        []pathParameter{bookingID},
	query:       compat.DeleteBookingParameters,
	answers:     []response{ok(compat.BookingDeleted)},
	errors:      failures.Form{Failure: "Failed to delete booking", Code: "delete_error"},
	serve: func(r *request) (response, error) {
		id, err := r.id(bookingID)
		if err != nil {
			return response{}, err
		}
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		force, err := compat.ReadForce(body)
		if err != nil {
			return response{}, err
		}
		remove := func(tx *session.Tx) (any, error) {
			return compat.BookingDeleted, bookings.Delete(r.ctx(), tx, id, force)
		}
		// Extensions read the booking, so they are told before it is deleted, and only if the deletion is
		// not refused.
		told, release := false, func() {}
		defer func() { release() }()
		answer, err := r.write(http.StatusOK, func() error {
			if !r.session.Tells(extensions.BookingWillBeDeleted) {
				return nil
			}
			alone, err := r.session.Platform.Events.Alone(r.ctx(), id)
			if err != nil {
				return err
			}
			release = alone
			if _, err := r.dryRun(remove); err != nil {
				return err
			}
			told, err = r.session.Platform.Events.WillBeDeleted(r.ctx(), id)
			return err
		}, remove)
		if told && err != nil {
			r.session.Platform.Events.Stays(r.ctx(), id)
		}
		return answer, err
	},
}

// times returns when a booking begins and ends, in the site's time zone.
func (r *request) times(b records.Booking) compat.BookingTimes {
	return compat.BookingTimes{Zone: r.session.Zone.Name, Start: instant(records.Start(r.session, b)), End: instant(records.End(r.session, b))}
}

func instant(t time.Time, ok bool) *time.Time {
	if !ok {
		return nil
	}
	return &t
}

// knowsBookingStatus reports whether the site has a booking status.
func (r *request) knowsBookingStatus(ctx context.Context, status string) (bool, error) {
	return records.KnowsBookingStatus(ctx, r.session, status)
}
