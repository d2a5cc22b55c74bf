package handlers

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listLocations = operation{
	id:          "listLocations",
	summary:     "List locations",
	description: "A page of the locations that match all parameters.",
	formats:     tables,
	query:       compat.LocationParameters,
	answers:     []response{ok(compat.ListOf[compat.Location]())},
	errors:      failures.Form{List: true},
	serve:       list(compat.LocationParameters.Read, catalog.ListLocations, compat.View.LocationList),
}
