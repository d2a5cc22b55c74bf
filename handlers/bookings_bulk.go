package handlers

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/adapter/idempotency"
	"bookside/compat"
	"bookside/wpdb"
)

var createBookings = operation{
	id:      "createBookings",
	summary: "Create up to 50 bookings",
	about:   "Creates each booking on its own: one that fails does not undo the others. Answers 201 if all were created, 207 if some were, and 400 if none was. Counts as one request per booking. The list may be sent without the object around it.",
	size:    size{each: bulkWork},
	body:    compat.BulkBookingFields,
	answers: []response{
		{http.StatusCreated, compat.BulkResult{}}, {http.StatusMultiStatus, compat.BulkResult{}}, {http.StatusBadRequest, compat.BulkResult{}},
	},
	errors: errorForm{failure: "Failed to create booking"},
	serve: func(r *request) (response, error) {
		document, err := r.document()
		if err != nil {
			return response{}, err
		}
		bookings, err := compat.BulkBookings(document)
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
		if err != nil && b.made() {
			err = errors.Join(err, errPartlyWritten)
		}
		if err != nil {
			return response{}, err
		}
		return b.answer(), nil
	},
}

// bulk makes bookings one after the other, each on its own.
type bulk struct {
	*request
	bookings []compat.BulkBooking
	attempt  *idempotency.Request   // nil without an Idempotency-Key
	answers  []idempotency.Response // so far, by item
	stored   int                    // how many of them are stored
}

// run continues behind the responses that earlier attempts stored. Responses to bookings
// that were refused are stored together with the next one that is created, or at the end.
func (b *bulk) run() error {
	b.answers = slices.Clone(b.attempt.Responses())
	b.stored = len(b.answers)
	if b.stored == len(b.bookings) {
		b.replayed()
	}
	for i := b.stored; i < len(b.bookings); i++ {
		answer, err := b.create(i)
		if err != nil {
			answer, err = b.refused(i, err)
		}
		if err != nil {
			return err
		}
		b.answers = append(b.answers, answer)
		if answer.Status == http.StatusCreated {
			b.stored = len(b.answers)
		}
	}
	if !b.made() {
		return nil
	}
	if b.attempt == nil || b.stored == len(b.answers) {
		return nil
	}
	return b.transact(func(tx *adapter.Tx) error { return tx.KeepResponses(b.ctx(), b.attempt, b.answers[b.stored:]...) })
}

// create makes one of the bookings.
func (b *bulk) create(i int) (answer idempotency.Response, err error) {
	wpdb.Allow(b.ctx(), b.mayRead) // what was read for the one before is no longer needed
	booking := b.bookings[i].NewBooking
	booking.Address = b.echo.RealIP()
	err = b.transact(func(tx *adapter.Tx) error {
		made, err := tx.CreateBooking(b.ctx(), booking)
		if err != nil {
			return err
		}
		record, err := encoded(compat.BulkMade(i, made))
		if err != nil {
			return err
		}
		answer = idempotency.Response{Item: i, Status: http.StatusCreated, Body: record}
		return tx.KeepResponses(b.ctx(), b.attempt, append(slices.Clone(b.answers[b.stored:]), answer)...)
	})
	return answer, err
}

// refused is the answer for a booking that could not be made. A failure of ours
// ends the request, unless that would hide what was made before: under an
// Idempotency-Key the next try goes on and tells.
func (b *bulk) refused(i int, err error) (idempotency.Response, error) {
	if domain.CodeOf(err) == domain.CodeInProgress {
		return idempotency.Response{}, err
	}
	failure, _ := b.api.describe(b.echo, err)
	var reason *domain.Error
	if !errors.As(err, &reason) || failure.Status >= http.StatusInternalServerError {
		if b.attempt != nil || !b.made() {
			return idempotency.Response{}, err
		}
		b.api.logFailure(b.echo, failure, err)
		reason = &domain.Error{Message: failure.Message}
	}
	b.api.metrics.countRejection(b.echo, err)
	record, err := encoded(compat.BulkRefused(i, b.bookings[i].Submitted(), reason, failure.Written))
	return idempotency.Response{Item: i, Status: failure.Status, Body: record}, err
}

// made tells whether any booking was made so far.
func (b *bulk) made() bool {
	return slices.ContainsFunc(b.answers, func(a idempotency.Response) bool { return a.Status == http.StatusCreated })
}

// answer is 201 where all were made, 207 where some were, and 400 for none.
func (b *bulk) answer() response {
	var made, failed []json.RawMessage
	for _, a := range b.answers {
		if a.Status == http.StatusCreated {
			made = append(made, a.Body)
		} else {
			failed = append(failed, a.Body)
		}
	}
	status := http.StatusMultiStatus
	switch {
	case len(failed) == 0:
		status = http.StatusCreated
	case len(made) == 0:
		status = http.StatusBadRequest
	}
	return response{status, compat.Bulk(made, failed)}
}
