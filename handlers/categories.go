package handlers

import (
	"bookside/adapter/catalog"
	"bookside/compat"
)

var listCategories = operation{
	id:          "listCategories",
	summary:     "List service categories",
	description: "A page of the service categories, in their order.",
	size:        recordsBy("per_page"),
	formats:     tables,
	query:       compat.PageParameters,
	answers:     []response{ok(compat.CategoryList{})},
	errors:      errorForm{list: true},
	serve: func(r *request) (response, error) {
		paging, err := r.view.Paging(r.query)
		if err != nil {
			return response{}, err
		}
		page, err := catalog.ListServiceCategories(r.ctx(), r.session, paging)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.CategoryList(page)), nil
	},
}
