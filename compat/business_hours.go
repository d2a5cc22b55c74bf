package compat

import "github.com/bookside/bookside/adapter/availability"

// OpenHours span two times of day.
type OpenHours struct {
	StartTime string `json:"start_time"`
	EndTime   string `json:"end_time"`
}

func openHours(h availability.Hours) OpenHours {
	return OpenHours{StartTime: clock(&h.Start), EndTime: endTime(h.End)}
}

// endTime returns a time of day; one past midnight is on the next day.
func endTime(end availability.Minutes) string {
	if end > maxDuration {
		end -= maxDuration
	}
	return clock(&end)
}
