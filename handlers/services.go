package handlers

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listServices = operation{
	id:          "listServices",
	summary:     "List services",
	description: "A page of the services that match all parameters.",
	formats:     tables,
	query:       compat.ServiceParameters,
	answers:     []response{ok(compat.ServiceList{List: compat.ListOf[compat.Service]()})},
	errors:      failures.Form{List: true},
	serve: func(r *request) (response, error) {
		filter, include, err := r.view.ServiceFilter(r.query)
		if err != nil {
			return response{}, err
		}
		page, err := catalog.ListServices(r.ctx(), r.session, filter)
		if err != nil {
			return response{}, err
		}
		var categories []catalog.ServiceCategory
		if include.Categories {
			categories, err = catalog.LoadServiceCategories(r.ctx(), r.session)
			if err != nil {
				return response{}, err
			}
		}
		return ok(r.view.ServiceList(page, include, categories)), nil
	},
}

var getService = operation{
	id:          "getService",
	summary:     "Read a service",
	description: "A service. Its numbers are strings.",
	path:        []pathParameter{serviceID},
	query:       compat.ServiceIncludeParameters,
	answers:     []response{ok(compat.SingleOf[compat.ServiceDetail]())},
	serve: func(r *request) (response, error) {
		id, err := r.id(serviceID)
		if err != nil {
			return response{}, err
		}
		include, err := compat.ServiceIncludeParameters.Read(r.view, r.query)
		if err != nil {
			return response{}, err
		}
		service, err := catalog.LoadService(r.ctx(), r.session, id, include.ServiceIncludes)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.ServiceDetail(service, include)), nil
	},
}

var createService = operation{
	id:          "createService",
	summary:     "Create a service",
	description: "Creates a service.",
	body:        compat.NewServiceFields,
	answers:     []response{created(compat.ServiceCreated)},
	serve:       create(compat.NewServiceFields.Read, catalog.CreateService, compat.View.ServiceCreated),
}

var updateService = operation{
	id:          "updateService",
	summary:     "Change a service",
	description: "Changes only the fields that are sent.",
	path:        []pathParameter{serviceID},
	body:        compat.ServiceFields,
	answers:     []response{ok(compat.ServiceUpdated)},
	serve:       update(compat.ServiceFields.Read, catalog.UpdateService, compat.View.ServiceUpdated),
}
