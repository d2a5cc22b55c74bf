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

// moves are the statuses a booking may move to, by the one it has. The plugin
// itself accepts every move.
var moves = map[string][]string{
	StatusPending:   {StatusApproved, StatusCancelled},
	StatusApproved:  {StatusCompleted, StatusCancelled, StatusNoShow},
	StatusCancelled: {StatusPending, StatusApproved},
	StatusCompleted: {StatusCancelled}, // with a special permission
	StatusNoShow:    {StatusApproved, StatusCancelled},
}

// mayMove tells whether a booking may move from one status to another.
func mayMove(from, to string) bool { return slices.Contains(moves[from], to) }

// uncompletes tells whether a move takes back what was completed.
func uncompletes(from, to string) bool { return from == StatusCompleted && to != from }

// keptWithoutForce are the statuses of bookings that are not deleted by
// accident.
var keptWithoutForce = []string{StatusApproved, StatusCompleted}
