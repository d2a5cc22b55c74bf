package records

import (
	"slices"
)

// The booking statuses of the contract.
const (
	StatusPending   = "pending"
	StatusApproved  = "approved"
	StatusCancelled = "cancelled"
	StatusCompleted = "completed"
	StatusNoShow    = "no_show"
)

// BookingTransitions maps each booking status to those that may follow it. The plugin
// itself accepts every transition.
var BookingTransitions = map[string][]string{
	StatusPending:   {StatusApproved, StatusCancelled},
	StatusApproved:  {StatusCompleted, StatusCancelled, StatusNoShow},
	StatusCancelled: {StatusPending, StatusApproved},
	StatusCompleted: {StatusCancelled}, // needs the permission to delete bookings
	StatusNoShow:    {StatusApproved, StatusCancelled},
}

// TransitionAllowed reports whether a booking may go from one status to another, on a site with custom
// statuses: to and from those every transition is allowed.
func TransitionAllowed(from, to string, custom []string) bool {
	if BookingTransitions[from] != nil && BookingTransitions[to] != nil {
		return slices.Contains(BookingTransitions[from], to)
	}
	known := func(status string) bool { return BookingTransitions[status] != nil || slices.Contains(custom, status) }
	return known(from) && known(to)
}

// ReopensCompleted reports whether a transition leaves the status completed.
func ReopensCompleted(from, to string) bool { return from == StatusCompleted && to != from }

// ForceRequiredStatuses are the statuses of bookings that are deleted only with force.
var ForceRequiredStatuses = []string{StatusApproved, StatusCompleted}
