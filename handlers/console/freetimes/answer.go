package freetimes

import (
	"cmp"
	"slices"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/slots"
)

// Answer is the response of the API.
type Answer struct {
	Data struct {
		Free    []string `json:"available_slots"`
		Explain struct {
			Missing     slots.Missing `json:"missing"`
			Message     string        `json:"message"`
			Unavailable []Start       `json:"unavailable"`
		} `json:"explain"`
	} `json:"data"`
}

// Start is a start that is free, or why it is not.
type Start struct {
	At        string              `json:"start_time"`
	Reason    availability.Reason `json:"reason"`
	Message   string              `json:"message"`
	Booking   int64               `json:"booking_id"`
	Extension string              `json:"extension"`
}

// Starts are those that follow each other and are free, or not free for the same reason.
type Starts struct {
	Start
	Times []string
}

// Grid returns all starts of the day in order.
func (a Answer) Grid() (grid []Starts) {
	day := slices.Clone(a.Data.Explain.Unavailable)
	for _, at := range a.Data.Free {
		day = append(day, Start{At: at, Message: "Free."})
	}
	slices.SortFunc(day, func(a, b Start) int { return cmp.Compare(a.At, b.At) })
	for _, s := range day {
		if last := len(grid) - 1; last >= 0 && grid[last].Reason == s.Reason && grid[last].Booking == s.Booking {
			grid[last].Times = append(grid[last].Times, s.At)
			continue
		}
		grid = append(grid, Starts{s, []string{s.At}})
	}
	return grid
}

// BookingsIn returns the ids of the bookings that are in the way.
func BookingsIn(grid []Starts) (ids []int64) {
	for _, s := range grid {
		if s.Booking != 0 && !slices.Contains(ids, s.Booking) {
			ids = append(ids, s.Booking)
		}
	}
	return ids
}
