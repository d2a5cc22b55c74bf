package handlers

import (
	"fmt"
	"net/http"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var getBusinessHours = operation{
	id:          "getBusinessHours",
	summary:     "Read the weekly hours",
	description: "The hours of each weekday: the general ones of the site, or the own ones of an agent, a service, a location or a combination of them. Where hours are null, there are no own ones, and those of others apply.",
	query:       compat.WeeklyHoursParameters,
	answers:     []response{ok(compat.BothSingleOf[compat.WeeklyHours]())},
	serve:       list(compat.WeeklyHoursParameters.Read, catalog.LoadWeek, compat.View.WeeklyHours),
}

var updateBusinessHours = operation{
	id:      "updateBusinessHours",
	summary: "Change the weekly hours",
	description: "Changes the hours of the weekdays that are named, and of no others: the general hours of the site, or those of an agent, a service, a location or a combination of them. " +
		"Bookings outside of the new hours stay. With dry_run, nothing is written.",
	body:    compat.WeeklyHoursFields,
	answers: []response{ok(compat.BothMessage[compat.WeeklyHours]{Success: true, Status: "success"})}, // with either message
	errors:  failures.Form{Failure: "Failed to change the weekly hours", Others: []int{http.StatusUnprocessableEntity}},
	serve: func(r *request) (response, error) {
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		sent, answer := compat.WeeklyHoursFields.Read(body), compat.WeeklyHoursUpdated
		r.recordQuery = fmt.Sprintf("agent_id=%d&service_id=%d&location_id=%d", sent.Agent, sent.Service, sent.Location)
		if r.asksForDryRun() {
			answer = compat.WeeklyHoursPossible
		}
		return r.update(func(tx *session.Tx, body *compat.Body) (any, error) {
			patch := compat.WeeklyHoursFields.Read(body)
			patch.Scope = sent.Scope // which says what hours they are, and is no change of them
			week, err := catalog.UpdateWeek(r.ctx(), tx, patch)
			return r.view.ChangedWeek(answer, week), err
		})
	},
}
