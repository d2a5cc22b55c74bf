package bookings

import (
	"errors"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestTransitionsAreThoseOfTheContract covers every pair of statuses. The contract's table has ten
// transitions.
func TestTransitionsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	statuses := []string{records.StatusPending, records.StatusApproved, records.StatusCancelled, records.StatusCompleted, records.StatusNoShow}
	want := map[string]string{ // to each of them, in this order
		records.StatusPending:   "=yy--",
		records.StatusApproved:  "-=yyy",
		records.StatusCancelled: "yy=--",
		records.StatusCompleted: "--!=-", // by special permission
		records.StatusNoShow:    "-yy-=",
	}
	for _, from := range statuses {
		for i, to := range statuses {
			answer := want[from][i]
			expect.Equal(t, answer == 'y' || answer == '!', records.TransitionAllowed(from, to, []string{"waiting", from}), from, " to ", to)
			expect.Equal(t, from == records.StatusCompleted && to != from, records.ReopensCompleted(from, to), from, " to ", to, " takes back what was completed")
			var p domain.Validation
			checkTransition(&p, from, to, nil)
			expect.Equal(t, answer != '-', p.Err() == nil, from, " to ", to, ": ", p.Err())
		}
	}
}

func TestInvalidTransitionIsRejected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, from, to, want string }{
		{"refused", records.StatusPending, records.StatusNoShow, "Cannot change from pending to no_show"},
		{"to no status at all", records.StatusApproved, "confirmed", "Cannot change from approved to confirmed"},
		{"to a status of the site's own", records.StatusCompleted, "in_progress", ""},
		{"from a status of the site's own", "in_progress", records.StatusNoShow, ""},
		{"between two of the site's own", "in_progress", "waiting", ""},
		{"staying in a status of the site's own", "in_progress", "in_progress", ""},
		{"from a status that the site no longer has", "gone", records.StatusApproved, "Bookings with the status gone cannot change to another status"},
		{"from it to a status of the site's own", "gone", "waiting", "Bookings with the status gone cannot change to another status"},
		{"from one of the site's own to no status at all", "in_progress", "gone", "Cannot change from in_progress to gone"},
		{"while a payment runs", "payment_pending", "waiting", "Bookings with the status payment_pending cannot change to another status"},
		{"case counts", records.StatusPending, "Approved", "Cannot change from pending to Approved"},
	} {
		var p domain.Validation
		checkTransition(&p, tt.from, tt.to, []string{"in_progress", "waiting"})
		expect.Equal(t, tt.want, fieldsOf(p.Err())["status"], tt.name, ": message")
	}
	var known domain.Validation
	known.Invalid("status", "Not a text")
	checkTransition(&known, records.StatusPending, records.StatusNoShow, nil)
	expect.Equal(t, map[string]string{"status": "Not a text"}, fieldsOf(known.Err()), "what is malformed is not looked at again")
}

// fieldsOf returns the messages of a validation error by field.
func fieldsOf(err error) map[string]string {
	if known, ok := errors.AsType[*domain.Error](err); ok {
		return known.Fields
	}
	return nil
}
