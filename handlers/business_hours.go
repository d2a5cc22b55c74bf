package handlers

import (
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/compat"
)

// getBusinessHours has no route; a tool calls it, see mcp.go.
var getBusinessHours = operation{
	id:            "getBusinessHours",
	summary:       "Read the working hours",
	description:   "The working hours of each day, whether or not anything is booked then: the general ones of the site, or those of an agent, a service or a location.",
	size:          days,
	query:         compat.BusinessHoursParameters,
	exampleErrors: []error{errExampleRefusal},
	answers:       []response{ok(compat.BothSingleOf[compat.BusinessHours]())},
	serve: func(r *request) (response, error) {
		query, err := r.view.HoursQuery(r.query)
		if err != nil {
			return response{}, err
		}
		days, err := slots.BusinessHours(r.ctx(), r.session, query)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.BusinessHours(query, days, r.session.Zone.Name)), nil
	},
}
