package compat

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
)

// ServiceCategory is a category of services.
type ServiceCategory struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	ShortDescription string `json:"short_description"`
	ParentID         string `json:"parent_id"`
	SelectionImageID string `json:"selection_image_id"`
	OrderNumber      string `json:"order_number"`
	ServicesCount    int64  `json:"services_count"`
}

// CategoryList is the envelope of the category list. Unlike every other list,
// it names its pagination differently.
type CategoryList struct {
	Success    bool               `json:"success"`
	Data       []ServiceCategory  `json:"data"`
	Pagination CategoryPagination `json:"pagination"`
}

// CategoryPagination is a page's place in the category list.
type CategoryPagination struct {
	CurrentPage int64 `json:"current_page"`
	PerPage     int64 `json:"per_page"`
	TotalItems  int64 `json:"total_items"`
	TotalPages  int64 `json:"total_pages"`
}

// CategoryList returns a page of categories.
func (v View) CategoryList(page records.Page[catalog.ServiceCategory]) CategoryList {
	return CategoryList{
		Success: true,
		Data:    each(page.Records, serviceCategory),
		Pagination: CategoryPagination{
			CurrentPage: page.Page, PerPage: page.PerPage, TotalItems: page.Total, TotalPages: totalPages(page.Total, page.PerPage),
		},
	}
}

func serviceCategory(c catalog.ServiceCategory) ServiceCategory {
	return ServiceCategory{
		ID: domain.IDText(c.ID), Name: c.Name, ShortDescription: c.ShortDescription, ParentID: domain.IDText(c.ParentID),
		SelectionImageID: domain.IDText(c.SelectionImageID), OrderNumber: domain.IDText(c.OrderNumber), ServicesCount: c.ServicesCount,
	}
}
