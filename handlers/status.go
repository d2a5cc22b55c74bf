package handlers

import (
	"bookside/compat"
)

var status = operation{
	id:          "status",
	summary:     "Time zone and current time of the site",
	description: "The name of the site's time zone and the current time there.",
	answers:     []response{ok(compat.StatusSingleOf[compat.Status]())},
	noETag:      true,
	serve: func(r *request) (response, error) {
		return ok(compat.StatusDetail(r.session.Zone, r.session.Now)), nil
	},
}
