package handlers

import (
	"net/http"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listTimeOff = operation{
	id:          "listTimeOff",
	summary:     "List time off",
	description: "A page of the times at which an agent, a service, a location or the whole site takes no bookings, by first day. Whole days are LatePoint's custom days without hours; hours are the off periods of its add-on Pro Features.",
	query:       compat.TimeOffParameters,
	answers:     []response{ok(compat.ListOf[compat.TimeOff]())},
	errors:      failures.Form{List: true},
	serve:       list(compat.TimeOffParameters.Read, catalog.ListTimeOff, compat.View.TimeOffList),
}

var getTimeOff = operation{
	id:          "getTimeOff",
	summary:     "Read time off",
	description: "A time without bookings.",
	path:        []pathParameter{timeOffID},
	answers:     []response{ok(compat.BothSingleOf[compat.TimeOff]())},
	serve:       get(catalog.LoadTimeOff, compat.View.TimeOffDetail),
}

var createTimeOff = operation{
	id:      "createTimeOff",
	summary: "Enter time off",
	description: "Closes whole days for new bookings, or hours of one day on a site with LatePoint Pro Features. It is for the agent, service and location that are named, or for all. " +
		"Bookings in it stay: the response has their ids, at most 100. Time off for the same agent, service, location, days and hours as one that is entered already is refused with 409, which has its id. With dry_run, nothing is written.",
	body:    compat.NewTimeOffFields,
	answers: []response{created(compat.TimeOffCreated), ok(compat.TimeOffPossible)},
	errors:  failures.Form{Failure: "Failed to enter time off", Others: []int{http.StatusConflict, http.StatusUnprocessableEntity}},
	serve: func(r *request) (response, error) {
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		off, answer := compat.NewTimeOffFields.Read(body), compat.TimeOffCreated
		create := func(tx *session.Tx) (any, error) {
			made, err := catalog.CreateTimeOff(r.ctx(), tx, off)
			if err != nil {
				return nil, err
			}
			return answer.With(made), nil
		}
		if off.DryRun {
			answer = compat.TimeOffPossible
			return r.dryRun(create)
		}
		return r.create(create)
	},
}

var deleteTimeOff = operation{
	id:          "deleteTimeOff",
	summary:     "End time off",
	description: "Deletes time off, all its days at once.",
	path:        []pathParameter{timeOffID},
	answers:     []response{ok(compat.TimeOffDeleted)},
	errors:      failures.Form{Failure: "Failed to end time off", Code: "delete_error"},
	serve: func(r *request) (response, error) {
		id, err := r.id(timeOffID)
		if err != nil {
			return response{}, err
		}
		return r.change(func(tx *session.Tx) (any, error) {
			return compat.TimeOffDeleted, catalog.DeleteTimeOff(r.ctx(), tx, id)
		})
	},
}
