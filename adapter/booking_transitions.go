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

// bookingTransitions maps each booking status to those that may follow it. The plugin
// itself accepts every transition.
var bookingTransitions = map[string][]string{
	StatusPending:   {StatusApproved, StatusCancelled},
	StatusApproved:  {StatusCompleted, StatusCancelled, StatusNoShow},
	StatusCancelled: {StatusPending, StatusApproved},
	StatusCompleted: {StatusCancelled}, // needs the permission to delete bookings
	StatusNoShow:    {StatusApproved, StatusCancelled},
}

// transitionAllowed reports whether a booking may go from one status to another.
func transitionAllowed(from, to string) bool { return slices.Contains(bookingTransitions[from], to) }

// reopensCompleted reports whether a transition leaves the status completed.
func reopensCompleted(from, to string) bool { return from == StatusCompleted && to != from }

// forceRequiredStatuses are the statuses of bookings that are deleted with force only.
var forceRequiredStatuses = []string{StatusApproved, StatusCompleted}
