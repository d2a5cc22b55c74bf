package compat

import (
	"fmt"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/slots"
)

// BusinessHours are the working hours of several days.
type BusinessHours struct {
	Date     string    `json:"date"`
	DateTo   string    `json:"date_to"`
	Timezone string    `json:"timezone"`
	Days     []OpenDay `json:"days"`
}

// OpenDay holds the working hours of a day; none on a day off.
type OpenDay struct {
	Date  string      `json:"date"`
	Hours []OpenHours `json:"hours"`
}

// OpenHours span two times of day.
type OpenHours struct {
	StartTime string `json:"start_time"`
	EndTime   string `json:"end_time"`
}

// hoursQuery is slots.HoursQuery with the last day as sent.
type hoursQuery struct {
	slots.HoursQuery
	dateTo *availability.Day
}

// BusinessHoursParameters are the parameters of the working hours.
var BusinessHoursParameters = parameters(domain.InvalidRequest, Fields[hoursQuery]{
	value("agent_id", id(maxMediumInt), func(h *hoursQuery) *int64 { return &h.AgentID }).about("Id of the agent; without one, the hours that apply to all"),
	value("service_id", id(maxMediumInt), func(h *hoursQuery) *int64 { return &h.ServiceID }).about("Id of the service; without one, the hours that apply to all"),
	value("location_id", id(maxMediumInt), func(h *hoursQuery) *int64 { return &h.LocationID }).about("Id of the location; without one, the hours that apply to all"),
	value("date", day(), func(h *hoursQuery) *availability.Day { return &h.From }),
	optional("date_to", day(), func(h *hoursQuery) **availability.Day { return &h.dateTo }),
}.requiring("date")...)

// HoursQuery reads the parameters of the working hours.
func (v View) HoursQuery(q *Query) (slots.HoursQuery, error) {
	var h hoursQuery
	BusinessHoursParameters.read(v, q, &h)
	h.To = domain.ValueOr(h.dateTo, h.From)
	if h.To < h.From || h.To >= h.From+maxDays {
		q.addProblem("date_to", rejected(fmt.Sprintf("Must be a date from date on, at most %d days in all", maxDays)))
	}
	return h.HoursQuery, BusinessHoursParameters.err(q)
}

// BusinessHours returns the response to a request for working hours.
func (v View) BusinessHours(q slots.HoursQuery, days []availability.DayHours, timezone string) BothSingle[BusinessHours] {
	return bothSingle(BusinessHours{
		Date: q.From.String(), DateTo: q.To.String(), Timezone: timezone,
		Days: each(days, func(d availability.DayHours) OpenDay {
			return OpenDay{Date: d.Day.String(), Hours: each(d.Open, openHours)}
		}),
	})
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
