package handlers

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/compat"
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
	serve:       list(compat.PageParameters.Read, catalog.ListServiceCategories, compat.View.CategoryList),
}
