package handlers

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/compat"
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
	serve:       list(compat.LocationParameters.Read, catalog.ListLocations, compat.View.LocationList),
}
