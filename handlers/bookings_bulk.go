package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/compat"
	"bookside/wpdb"
)

var createBookings = operation{
	id:      "createBookings",
	summary: "Create up to 50 bookings",
	about:   "Makes each booking by itself: one that fails undoes no other. Answers 201 where all were made, 207 where some were, 400 where none was. Counts as one request for each booking. The bare list may be sent in place of the object.",
	size:    size{each: bulkWork},
	body:    compat.DescribeBulkBookings,
	answers: []response{
		{http.StatusCreated, compat.Bulk(nil, nil)}, {http.StatusMultiStatus, compat.Bulk(nil, nil)}, {http.StatusBadRequest, compat.Bulk(nil, nil)},
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
		if err := r.api.limiter.charge(r.echo, int64(len(bookings))); err != nil {
			return response{}, err
		}
		b := bulk{request: r, bookings: bookings}
		err = r.attempt(len(bookings), b.run)
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
	answers  []adapter.Answer // so far, by item
	kept     int              // how many of them are in the ledger
}

// run goes on behind what the ledger holds. Answers to bookings that were
// refused are kept together with the next one that is made, or at the end.
func (b *bulk) run(l *adapter.Ledger) error {
	b.answers = slices.Clone(l.Answers())
	b.kept = len(b.answers)
	if b.kept == len(b.bookings) {
		b.replayed()
	}
	for i := b.kept; i < len(b.bookings); i++ {
		answer, err := b.create(l, i)
		if err != nil {
			answer, err = b.refused(i, l != nil, err)
		}
		if err != nil {
			return err
		}
		b.answers = append(b.answers, answer)
		if answer.Status == http.StatusCreated {
			b.kept = len(b.answers)
		}
	}
	if !b.made() {
		return nil
	}
	return b.site.KeepAnswers(b.ctx(), l, b.answers[b.kept:]...)
}

// create makes one of the bookings.
func (b *bulk) create(l *adapter.Ledger, i int) (answer adapter.Answer, err error) {
	wpdb.Allow(b.ctx(), b.mayRead) // what was read for the one before is no longer needed
	booking := b.bookings[i].NewBooking
	booking.Address = b.echo.RealIP()
	_, err = b.site.CreateBooking(b.ctx(), booking, func(ctx context.Context, tx *adapter.Site, made adapter.MadeBooking) error {
		record, err := encoded(compat.BulkMade(i, made))
		if err != nil {
			return err
		}
		answer = adapter.Answer{Item: i, Status: http.StatusCreated, Body: record}
		return l.Keep(ctx, tx, append(slices.Clone(b.answers[b.kept:]), answer)...)
	})
	return answer, err
}

// refused is the answer for a booking that could not be made. A failure of ours
// ends the request, unless that would hide what was made before: under an
// Idempotency-Key the next try goes on and tells.
func (b *bulk) refused(i int, repeatable bool, err error) (adapter.Answer, error) {
	if domain.CodeOf(err) == domain.CodeInProgress {
		return adapter.Answer{}, err
	}
	failure, _ := b.api.describe(b.echo, err)
	var reason *domain.Error
	if !errors.As(err, &reason) || failure.Status >= http.StatusInternalServerError {
		if repeatable || !b.made() {
			return adapter.Answer{}, err
		}
		b.api.logFailure(b.echo, failure, err)
		reason = &domain.Error{Message: failure.Message}
	}
	b.api.metrics.refused(b.echo, err)
	record, err := encoded(compat.BulkRefused(i, b.bookings[i].Submitted(), reason, failure.Written))
	return adapter.Answer{Item: i, Status: failure.Status, Body: record}, err
}

// made tells whether any booking was made so far.
func (b *bulk) made() bool {
	return slices.ContainsFunc(b.answers, func(a adapter.Answer) bool { return a.Status == http.StatusCreated })
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
