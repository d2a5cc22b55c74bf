package handlers

import (
	"time"

	"bookside/adapter"
	"bookside/compat"
)

var status = operation{
	id:      "status",
	summary: "Time zone and present time of the site",
	about:   "The name of the site's time zone and the present time there.",
	answers: []response{ok(compat.StatusDetail(adapter.Zone{Location: time.UTC}, time.Time{}))},
	serve: func(r *request) (response, error) {
		return ok(compat.StatusDetail(r.site.Zone, r.site.Now)), nil
	},
}
