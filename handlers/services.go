package handlers

import (
	"bookside/adapter"
	"bookside/compat"
)

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
	id, err := r.id("id", adapter.ServiceResource)
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

func createService(r *request) (response, error) {
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	service := adapter.NewService{ServicePatch: compat.ServicePatch(body)}
	return create(r, service, (*adapter.Site).CreateService, r.view.ServiceCreated)
}

func updateService(r *request) (response, error) {
	id, err := r.id("id", adapter.ServiceResource)
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	service, err := r.site.UpdateService(r.ctx(), id, compat.ServicePatch(body))
	if err != nil {
		return response{}, err
	}
	return ok(r.view.ServiceUpdated(service)), nil
}
