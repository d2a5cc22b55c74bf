package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

var locationList = listing{path: "/locations", from: "{locations} l", order: "l.id DESC"}

func TestLocations(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	golden(t, "location_list", s.get("/locations").want(http.StatusOK).body)
	locationList.pages(t, s)
	locationList.finds(t, s, []find{
		{query: ""},
		{query: "status=active", where: "l.id IN (1, 2)"},
		{query: "status=Inactive", where: "l.id = 3"},
		{query: "search=MITTE", where: "l.id = 1"},
		{query: "search=10627", where: "l.id = 2"},
		{query: "search=torstrasse", none: true}, // ß is a single letter
		{query: "search=torstraße", where: "l.id = 1"},
		{query: "search=str&status=active", where: "l.id IN (1, 2)"},
		{query: "search=str&status=inactive", where: "l.id = 3"},
		{query: "search=%25", none: true},
	})
	wantInvalidParameters(t, "the stored word", s.get("/locations?status=disabled"), "status")
	wantInvalidParameters(t, "several", s.get("/locations?status=open&page=0&per_page=101"), "status", "page", "per_page")
}

// TestLocationsOfTheEdgeSite: only a location whose status is exactly active is
// shown as active.
func TestLocationsOfTheEdgeSite(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.Edge()))
	locationList.pages(t, s)
	locationList.finds(t, s, []find{
		{query: "status=active", where: "l.id IN (1, 3, 4)"},
		{query: "status=inactive", where: "l.id IN (2, 5)"},
		{query: "search=100%25_sure", where: "l.id = 4"},
		{query: "search=🏖", where: "l.id = 4"},
		{query: `search="hall" <BR>`, where: "l.id = 2"},
		{query: "search=line 2&status=inactive", where: "l.id = 2"},
		{query: "search=line 2&status=active", none: true},
	})
	a := s.get("/locations").want(http.StatusOK)
	for _, want := range []string{
		`{"id":"5","name":"Closed","full_address":"","status":"inactive","category_id":"0","order_number":"5","selection_image_id":"0",`,
		`{"id":"4","name":"תל אביב 🏖","full_address":"100%_sure","status":"active","category_id":"2","order_number":"4","selection_image_id":"0",`,
		`{"id":"3","name":"Nowhere","full_address":"","status":"active","category_id":"0","order_number":null,"selection_image_id":"0","created_at":"","updated_at":""}`,
		`{"id":"2","name":"Foo \"Hall\" <br>","full_address":"Line 1\nLine 2","status":"inactive","category_id":"905","order_number":"2","selection_image_id":"0",`,
	} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
}
