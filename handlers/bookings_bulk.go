package handlers

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/wpdb"
)

var createBookings = operation{
	id:          "createBookings",
	summary:     "Create up to 50 bookings",
	description: "Creates each booking on its own: one that fails does not undo the others. Answers 201 if all were created, 207 if some were, and 400 if none was; an internal error in one is an error of that booking, and the others are still tried. Counts as one request per booking. The list may be sent without the object around it.",
	body:        compat.BulkBookingFields,
	answers: []response{
		{http.StatusCreated, compat.BulkResult{}}, {http.StatusMultiStatus, compat.BulkResult{}}, {http.StatusBadRequest, compat.BulkResult{}},
	},
	errors: failures.Form{Failure: "Failed to create booking", Bulk: true},
	serve: func(r *request) (response, error) {
		bookings, err := compat.BulkBookings(r.document)
		if err != nil {
			return response{}, err
		}
		if err := r.api.limiter.Charge(r.echo, int64(len(bookings))); err != nil {
			return response{}, err
		}
		attempt, err := r.beginAttempt(len(bookings))
		if err != nil {
			return response{}, err
		}
		b := bulk{request: r, bookings: bookings, attempt: attempt}
		err = attempt.End(r.ctx(), b.run())
		if err != nil && b.anyCreated() {
			err = errors.Join(err, failures.ErrPartlyWritten)
		}
		if err != nil {
			return response{}, err
		}
		return b.response(), nil
	},
}

// bulk creates bookings one after the other, each in its own transaction.
type bulk struct {
	*request
	bookings   []compat.BulkBooking
	attempt    *keys.IdempotentRequest // nil without an Idempotency-Key
	responses  []keys.Response         // so far, by item
	stored     int                     // how many of them are stored
	rejections []rejectedItem
}

// run continues after the responses that earlier attempts stored. Responses to rejected
// bookings are stored together with the next one that is created, or at the end.
func (b *bulk) run() error {
	b.responses = slices.Clone(b.attempt.Responses())
	b.stored = len(b.responses)
	if b.stored == len(b.bookings) {
		b.markReplayed()
	}
	for i := b.stored; i < len(b.bookings); i++ {
		item, err := b.create(i)
		if err != nil {
			item, err = b.rejection(i, err)
		}
		if err != nil {
			return err
		}
		b.responses = append(b.responses, item)
		if item.Status == http.StatusCreated {
			b.stored = len(b.responses)
		}
	}
	if err := b.failure(); err != nil {
		return err
	}
	for _, r := range b.rejections {
		b.api.logFailure(b.echo, r.failure, r.err)
		b.api.countRejection(b.echo, r.err)
	}
	if !b.anyCreated() {
		return nil
	}
	if b.attempt == nil || b.stored == len(b.responses) {
		return nil
	}
	return b.transact(func(tx *session.Tx) error { return tx.KeepResponses(b.ctx(), b.attempt, b.responses[b.stored:]...) })
}

// create creates one of the bookings.
func (b *bulk) create(i int) (item keys.Response, err error) {
	wpdb.Allow(b.ctx(), maxRead) // what was read for the previous one has been freed
	booking := b.bookings[i].New
	booking.Address = b.echo.RealIP()
	err = b.transact(func(tx *session.Tx) error {
		created, err := bookings.Create(b.ctx(), tx, booking)
		if err != nil {
			return err
		}
		record, err := encodeBody(visible(compat.BulkCreated(i, created), b.principal.Key))
		if err != nil {
			return err
		}
		item = keys.Response{Item: i, Status: http.StatusCreated, Body: record}
		return tx.KeepResponses(b.ctx(), b.attempt, append(slices.Clone(b.responses[b.stored:]), item)...)
	})
	return item, err
}

// rejection returns the response for a booking that could not be created. An internal failure is that
// booking's error, unless the request can be resumed: if its time or its claim is over, or if it has an
// Idempotency-Key and the platform is currently unavailable.
func (b *bulk) rejection(i int, err error) (keys.Response, error) {
	if domain.CodeOf(err) == domain.CodeInProgress {
		return keys.Response{}, err
	}
	failure, _ := b.api.describe(b.echo, err)
	var reason *domain.Error
	if !errors.As(err, &reason) || failure.Status >= http.StatusInternalServerError {
		later := b.ctx().Err() != nil || failure.Status == http.StatusServiceUnavailable
		if later && b.attempt != nil || b.ctx().Err() != nil && !b.anyCreated() {
			return keys.Response{}, err
		}
		reason = &domain.Error{Message: failure.Message}
		if failure.RequestID != "" {
			reason.Message = "Internal error"
		}
	}
	b.rejections = append(b.rejections, rejectedItem{failure, err})
	rejected := compat.BulkRejected(i, b.bookings[i].Submitted(), reason, failure.Written)
	rejected.RequestID = failure.RequestID
	record, err := encodeBody(rejected)
	return keys.Response{Item: i, Status: failure.Status, Body: record}, err
}

// rejectedItem is why a booking was not created.
type rejectedItem struct {
	failure compat.Failure
	err     error
}

// failure returns the first error if the server failed in every booking, because then nothing can be said
// about them; nil otherwise.
func (b *bulk) failure() error {
	for _, r := range b.rejections {
		if r.failure.Status < http.StatusInternalServerError {
			return nil
		}
	}
	if len(b.rejections) == 0 || len(b.rejections) < len(b.responses) {
		return nil
	}
	return b.rejections[0].err
}

// anyCreated reports whether a booking was created so far.
func (b *bulk) anyCreated() bool {
	return slices.ContainsFunc(b.responses, func(a keys.Response) bool { return a.Status == http.StatusCreated })
}

// response returns status 201 if all bookings were created, 207 for some, and 400 for none.
func (b *bulk) response() response {
	var succeeded, failed []json.RawMessage
	for _, a := range b.responses {
		if a.Status == http.StatusCreated {
			succeeded = append(succeeded, a.Body)
		} else {
			failed = append(failed, a.Body)
		}
	}
	status := http.StatusMultiStatus
	switch {
	case len(failed) == 0:
		status = http.StatusCreated
	case len(succeeded) == 0:
		status = http.StatusBadRequest
	}
	return response{status, compat.Bulk(succeeded, failed)}
}
