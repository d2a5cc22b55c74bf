package handlers

import (
	"github.com/bookside/bookside/compat"
)

var status = operation{
	id:          "status",
	summary:     "Time zone and current time of the site",
	description: "The name of the site's time zone and the current time there.",
	answers:     []response{ok(compat.StatusSingleOf[compat.Status]())},
	serve: func(r *request) (response, error) {
		return ok(compat.StatusDetail(r.session.Zone, r.session.Now)), nil
	},
}

var site = operation{
	id:          "site",
	summary:     "Extensions of the site",
	description: "The extensions of the plugin on this site, and how this API treats them. Those with parts that are not honoured come first: the site does them, the API does not.",
	answers:     []response{ok(compat.StatusSingleOf[compat.Site]())},
	serve: func(r *request) (response, error) {
		active, err := r.session.Extensions(r.ctx())
		return ok(compat.SiteDetail(active)), err
	},
}
