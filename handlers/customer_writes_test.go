package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bookside/fixtures"
)

// fullCustomer is a new customer with every field.
const fullCustomer = `{"first_name":" Rita ","last_name":"<b>Neu</b>","email":"Rita.Neu@example.test","phone":"+49 (30) 12-34 x5","status":"pending","is_guest":"no",
	"address":"Hauptstraße 1","city":"Köln","state":"NW","zipcode":50667,"country":"de","date_of_birth":"1985-03-15","gender":"Female","notes":"two\r\nlines","admin_notes":"<i>VIP</i>",
	"avatar_image_id":"77","custom_fields":{"cf_insur1":"private","colour":"blue","visits":3,"member":true,"banned":false,"zero":"0","none":"","nothing":null},"unknown":{}}`

func TestCreateCustomer(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA())
	full := s.write(http.MethodPost, "/customers", fullCustomer).want(http.StatusCreated)
	golden(t, "customer_created", full.body)
	least := s.write(http.MethodPost, "/customers", `{"first_name":"Rita","last_name":"Neu"}`).want(http.StatusCreated)
	golden(t, "customer_created_least", least.body)
	for _, a := range []answer{full, least} {
		read := s.get(fmt.Sprintf("/customers/%v", a.at("data", "id"))).want(http.StatusOK).at("data").(map[string]any)
		made := a.at("data").(map[string]any)
		if _, isNumber := made["id"].(json.Number); !isNumber || fmt.Sprint(made["id"]) != read["id"] {
			t.Errorf("id %v, read %v", made["id"], read["id"])
		}
		made["id"] = read["id"]
		if diff := cmp.Diff(read, made); diff != "" {
			t.Errorf("created and read differ (-read +created):\n%s", diff)
		}
	}
}
