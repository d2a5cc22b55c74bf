package handlers

func listLocations(r *request) (response, error) {
	filter, err := r.view.LocationFilter(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Locations(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.LocationList(page)), nil
}
