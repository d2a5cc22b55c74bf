package handlers

import (
	"bookside/adapter/catalog"
	"bookside/compat"
)

var listLocations = operation{
	id:          "listLocations",
	summary:     "List locations",
	description: "A page of the locations that match all parameters.",
	size:        recordsBy("per_page"),
	formats:     tables,
	query:       compat.LocationParameters,
	answers:     []response{ok(compat.ListOf[compat.Location]())},
	errors:      errorForm{list: true},
	serve: func(r *request) (response, error) {
		filter, err := r.view.LocationFilter(r.query)
		if err != nil {
			return response{}, err
		}
		page, err := catalog.ListLocations(r.ctx(), r.session, filter)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.LocationList(page)), nil
	},
}
