package handlers

import "bookside/compat"

func status(r *request) (response, error) {
	return ok(compat.StatusDetail(r.site.Zone, r.site.Now)), nil
}
