package adapter

import "slices"

// The booking statuses of the contract.
const (
	StatusPending   = "pending"
	StatusApproved  = "approved"
	StatusCancelled = "cancelled"
	StatusCompleted = "completed"
	StatusNoShow    = "no_show"
)

// bookingTransitions are the statuses a booking may move to, by the one it has. The plugin
// itself accepts every move.
var bookingTransitions = map[string][]string{
	StatusPending:   {StatusApproved, StatusCancelled},
	StatusApproved:  {StatusCompleted, StatusCancelled, StatusNoShow},
	StatusCancelled: {StatusPending, StatusApproved},
	StatusCompleted: {StatusCancelled}, // with a special permission
	StatusNoShow:    {StatusApproved, StatusCancelled},
}

// transitionAllowed tells whether a booking may move from one status to another.
func transitionAllowed(from, to string) bool { return slices.Contains(bookingTransitions[from], to) }

// reopensCompleted tells whether a move takes back what was completed.
func reopensCompleted(from, to string) bool { return from == StatusCompleted && to != from }

// forceRequiredStatuses are the statuses of bookings that are not deleted by
// accident.
var forceRequiredStatuses = []string{StatusApproved, StatusCompleted}
