package compat

import (
	"strings"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
)

// Location is a location.
type Location struct {
	ID               string  `json:"id"`
	Name             string  `json:"name"`
	FullAddress      string  `json:"full_address"`
	Status           string  `json:"status"`
	CategoryID       string  `json:"category_id"`
	OrderNumber      *string `json:"order_number"`
	SelectionImageID string  `json:"selection_image_id"`
	CreatedAt        string  `json:"created_at"`
	UpdatedAt        string  `json:"updated_at"`
}

// activeWords are the statuses of locations and coupons: the plugin stores
// disabled for what the API calls inactive.
var activeWords = map[string]bool{"active": true, "inactive": false}

const activeMessage = "Must be active or inactive"

// shownStatus returns a location's or coupon's stored status in the API's
// words.
func shownStatus(stored string) string {
	if strings.EqualFold(stored, "active") {
		return "active"
	}
	return "inactive"
}

// LocationParameters are the parameters of the location list.
var LocationParameters = parameters("GET /locations", domain.InvalidParameters, func(f *catalog.LocationFilter) Fields {
	return Fields{
		page(&f.Page),
		perPage(10, &f.PerPage),
		optional("search", text, &f.Search),
		optional("status", word(activeWords, activeMessage), &f.Active),
	}
})

// LocationList returns a page of locations.
func (v View) LocationList(page records.Page[catalog.Location]) List[Location] {
	return list(page, v.location)
}

func (v View) location(l catalog.Location) Location {
	return Location{
		ID: domain.IDText(l.ID), Name: l.Name, FullAddress: l.FullAddress, Status: shownStatus(l.Status),
		CategoryID: domain.IDText(l.CategoryID), OrderNumber: domain.OptionalIDText(l.OrderNumber), SelectionImageID: domain.IDText(l.SelectionImageID),
		CreatedAt: v.timestamp(l.CreatedAt), UpdatedAt: v.timestamp(l.UpdatedAt),
	}
}
