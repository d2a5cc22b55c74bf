package handlers

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listCategories = operation{
	id:          "listCategories",
	summary:     "List service categories",
	description: "A page of the service categories, in their order.",
	formats:     tables,
	query:       compat.PageParameters,
	answers:     []response{ok(compat.CategoryList{})},
	errors:      failures.Form{List: true},
	serve:       list(compat.PageParameters.Read, catalog.ListServiceCategories, compat.View.CategoryList),
}
