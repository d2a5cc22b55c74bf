package handlers

import (
	"net/http"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var getAvailability = operation{
	id:               "getAvailability",
	summary:          "Find the free start times of a day",
	description:      "The times at which a booking can start on a day; with date_to, the times by day. Counts as one request per week or part of one.",
	query:            compat.AvailabilityParameters,
	extraPermissions: []extraPermission{{"read_bookings", "to send booking_id"}},
	errors:           failures.Form{Others: []int{http.StatusUnprocessableEntity}},
	answers:          []response{ok(compat.BothSingleOf[compat.Availability]()), ok(compat.BothSingleOf[compat.AvailabilityDays]())},
	serve: func(r *request) (response, error) {
		asked, err := r.view.AvailabilityRequest(r.query)
		if err != nil {
			return response{}, err
		}
		grid, err := slots.Search(r.ctx(), r.session, asked.Query)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.Availability(asked, grid, r.session.Zone.Name)), nil
	},
}

var listFreeAgents = operation{
	id:          "listFreeAgents",
	summary:     "Find the agents who are free",
	description: "Agents who offer the service and, if date and start_time are sent, are free at that time.",
	query:       compat.FreeAgentParameters,
	errors:      failures.Form{Others: []int{http.StatusUnprocessableEntity}},
	answers:     []response{ok(compat.BothSingleOf[compat.FreeAgents]())},
	serve: func(r *request) (response, error) {
		asked, err := r.view.AgentSlotQuery(r.query)
		if err != nil {
			return response{}, err
		}
		agents, err := catalog.FreeAgents(r.ctx(), r.session, asked)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.FreeAgents(asked, agents)), nil
	},
}
