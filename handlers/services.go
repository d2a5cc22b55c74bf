package handlers

import "bookside/adapter"

func listServices(r *request) (response, error) {
	filter, include, err := r.view.ServiceFilter(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Services(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	var categories []adapter.ServiceCategory
	if include.Categories {
		categories, err = r.site.AllServiceCategories(r.ctx())
		if err != nil {
			return response{}, err
		}
	}
	return ok(r.view.ServiceList(page, include, categories)), nil
}

func getService(r *request) (response, error) {
	id, err := r.id("id", maxMediumInt, adapter.ServiceResource)
	if err != nil {
		return response{}, err
	}
	include, err := r.view.ServiceIncludes(r.query)
	if err != nil {
		return response{}, err
	}
	service, err := r.site.Service(r.ctx(), id, include.ServiceIncludes)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.ServiceDetail(service, include)), nil
}
