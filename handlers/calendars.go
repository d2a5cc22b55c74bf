package handlers

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
)

var (
	getAgentCalendar    = calendarOf("getAgentCalendar", agentID)
	getLocationCalendar = calendarOf("getLocationCalendar", locationID)
)

// calendarOf returns the operation that serves the calendars of agents or of locations.
func calendarOf(id string, parameter pathParameter) operation {
	return operation{
		id:      id,
		summary: "Subscribe to the calendar of " + article(parameter.resource),
		description: "Bookings from 90 days ago to 365 days ahead as a calendar (RFC 5545) for Google Calendar, Apple Calendar, Outlook and others, at most 2,000: the next ones first. " +
			"Times are in UTC. The UID of a booking stays the same, SEQUENCE rises with its changes, and cancelled bookings have STATUS:CANCELLED.",
		path:    []pathParameter{parameter},
		answers: []response{ok(file{typ: calendarType, text: []byte(exampleCalendar)})},
		serve: func(r *request) (response, error) {
			text, err := bookings.LoadCalendar(r.ctx(), r.session, r.principal.Key)
			return ok(file{calendarType, text}), err
		},
	}
}

func article(resource domain.Resource) string {
	if resource == domain.AgentResource {
		return "an agent"
	}
	return "a location"
}

const calendarType = "text/calendar; charset=utf-8"

const exampleCalendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Bookside//Bookside//EN\r\nMETHOD:PUBLISH\r\nNAME:Ada Lovelace\r\nX-WR-CALNAME:Ada Lovelace\r\n" +
	"BEGIN:VEVENT\r\nUID:booking-17@example.com\r\nDTSTAMP:20261120T093000Z\r\nSEQUENCE:86400\r\nDTSTART:20261201T090000Z\r\nDTEND:20261201T100000Z\r\n" +
	"SUMMARY:Busy\r\nSTATUS:CONFIRMED\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

// findCalendar finds the secret of a calendar by its path. On another path the secret is invalid.
func (a *api) findCalendar(ctx context.Context, c echo.Context, resource domain.Resource, secret string) (keys.Principal, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil {
		return keys.Principal{}, domain.Unauthorized()
	}
	return a.keys.AuthenticateCalendar(ctx, secret, resource, id)
}
