package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// clearedByNull are the fields that TestNullIsNeverConfirmedInVain and TestFormsClearNumbersOfCoupons clear.
var clearedByNull = map[string][]string{
	"customers": {"phone", "notes", "admin_notes", "avatar_image_id", "address", "city", "state", "zipcode", "country", "date_of_birth", "gender"},
	"bookings":  {"notes"},
	"services":  {"short_description", "description", "customer_limit", "selection_image_id", "category_id"},
	"orders":    {"notes", "customer_comment", "coupon_code", "ip_address", "source_id", "source_url"},
	"payments":  {"token", "transaction_id", "notes"},
	"webhooks":  {"agents", "services", "locations"},
	"coupons":   {"max_discount_amount", "usage_limit", "min_order_amount", "name", "description", "active_from", "active_to"},
}

// TestNullIsNeverConfirmedInVain sends null and an empty text, as JSON and, where possible, as a form, for
// every field of a PUT: either the field is cleared, or the change is refused with its name.
func TestNullIsNeverConfirmedInVain(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings().WithCoupons())
	booking := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("notes", `"n"`)).want(http.StatusCreated).at("data", "id"))
	order := fmt.Sprint(s.get("/bookings/"+booking).at("data", "order", "id"))
	payment := fmt.Sprint(s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":5,"notes":"n","token":"t"}`).want(http.StatusCreated).at("data", "id"))
	service := fmt.Sprint(s.write(http.MethodPost, "/services", `{"name":"Cut","short_description":"s","description":"d","customer_limit":"3","selection_image_id":7}`).want(http.StatusCreated).at("data", "id"))
	s.write(http.MethodPut, "/customers/9", `{"phone":"+491","notes":"n","admin_notes":"a","city":"Ulm","gender":"other","avatar_image_id":7}`).want(http.StatusOK)
	s.write(http.MethodPut, "/orders/"+order, `{"notes":"n","customer_comment":"c","source_id":"s","source_url":"https://example.test/"}`).want(http.StatusOK)
	coupon := "/coupons/" + fmt.Sprint(s.write(http.MethodPost, "/coupons", `{"code":"NULL","name":"n","description":"d","discount_type":"percent","discount_value":10,"max_discount_amount":20,"usage_limit":5,"min_order_amount":7,"active_from":"2026-01-01","active_to":"2028-01-01"}`).want(http.StatusCreated).at("data", "code"))
	webhook := "/webhooks/" + fmt.Sprint(s.write(http.MethodPost, "/webhooks", newWebhook).want(http.StatusCreated).at("data", "id"))
	invoice := fmt.Sprintf("/orders/%s/invoices/%v", order, s.get("/orders/" + order + "/invoices").records()[0]["id"])
	before := s.database.Snapshot(t)
	type fields struct{ kept, texts []string } // kept is never cleared; in texts an empty text is a value
	resources := map[string]fields{
		"/customers/9": {
			kept: []string{"first_name", "last_name", "email", "status", "is_guest"},
		},
		"/bookings/" + booking: {
			kept: []string{"service_id", "agent_id", "location_id", "customer_id", "start_date", "start_time", "duration", "total_attendees", "status", "price"},
		},
		"/services/" + service: {
			kept: []string{"name", "duration", "price_min", "price_max", "charge_amount", "deposit_amount", "capacity_min", "capacity_max", "order_number", "status", "visibility"},
		},
		"/orders/" + order: {
			kept: []string{"customer_id", "subtotal", "total", "tax_total", "discount_total", "coupon_discount", "status", "payment_status", "fulfillment_status", "confirmation_code"},
		},
		"/payments/" + payment: {
			kept:  []string{"amount", "status", "receipt_number"},
			texts: []string{"processor", "payment_method", "payment_portion", "kind"},
		},
		coupon: {
			kept: []string{"discount_type", "discount_value", "status"},
		},
		invoice: {
			kept: []string{"status", "charge_amount"},
		},
		webhook: {
			kept: []string{"url", "events", "name", "include_record", "status"},
		},
	}
	refusing := map[string][]string{}
	for path, resource := range resources {
		refusing[resourceAt(path)] = slices.Concat(resource.kept, resource.texts)
	}
	requireEveryField(t, refusing)
	for path, resource := range resources {
		shown := func(field string) string {
			a := s.get(path).want(http.StatusOK)
			var answer struct{ Data map[string]any }
			noError(t, json.Unmarshal(a.body, &answer))
			if answer.Data == nil && json.Unmarshal(a.body, &answer.Data) != nil {
				t.Fatalf("%s", a.body)
			}
			if strings.HasPrefix(path, "/bookings") && field == "notes" {
				answer.Data = answer.Data["order"].(map[string]any)
				field = "customer_comment"
			}
			if field == "transaction_id" { // another name
				field = "token"
			}
			if value := answer.Data[field]; value != nil {
				return strings.Trim(fmt.Sprint(value), "[]")
			}
			return ""
		}
		clears := func(field string, a answer) {
			t.Helper()
			a.want(http.StatusOK)
			if got := shown(field); got != "" && got != "0" && got != "0000-00-00" {
				t.Errorf("%s: %s is still %q", path, field, got)
			}
			before.Restore(t)
		}
		refuses := func(field string, a answer) {
			t.Helper()
			want := http.StatusUnprocessableEntity
			if strings.HasPrefix(path, "/customers") || strings.HasPrefix(path, "/payments") { // the contract has a single status
				want = http.StatusBadRequest
			}
			wantEqual(t, want, a.status, "%s: %s %s", path, field, a.body)
			wantNoWrites(t, path+" "+field, before)
		}
		for _, field := range clearedByNull[resourceAt(path)] {
			clears(field, s.write(http.MethodPut, path, `{"`+field+`":null}`))
			clears(field, s.writeAs(http.MethodPut, path, formType, url.Values{field: {""}}.Encode()))
		}
		for _, field := range resource.kept {
			refuses(field, s.write(http.MethodPut, path, `{"`+field+`":null}`))
			refuses(field, s.writeAs(http.MethodPut, path, formType, url.Values{field: {""}}.Encode()))
		}
		for _, field := range resource.kept { // nor is 0, which is not an id
			if strings.HasSuffix(field, "_id") {
				refuses(field, s.write(http.MethodPut, path, `{"`+field+`":0}`))
				refuses(field, s.writeAs(http.MethodPut, path, formType, url.Values{field: {"0"}}.Encode()))
			}
		}
		for _, field := range resource.texts {
			refuses(field, s.write(http.MethodPut, path, `{"`+field+`":null}`))
		}
	}
	s.write(http.MethodPut, "/bookings/"+booking, `{"customer":{"phone":null}}`).want(http.StatusOK)
	wantEqual(t, "", s.get("/bookings/"+booking).at("data", "customer", "phone"), "phone of the booking's customer")
	unprocessable("customer.email", "customer.first_name").check(t, "members", s.write(http.MethodPut, "/bookings/"+booking, `{"customer":{"email":null,"first_name":""}}`))
	unprocessable("events").check(t, "an empty list", s.write(http.MethodPut, webhook, `{"events":[]}`))
	unprocessable("customer").check(t, "an object", s.write(http.MethodPut, "/bookings/"+booking, `{"customer":null}`))
	wantUpdateRejected(t, "custom fields", s.write(http.MethodPut, "/customers/9", `{"custom_fields":null}`), "custom_fields")
}

// resourceAt returns the resource of a record's path.
func resourceAt(path string) string {
	parts := strings.Split(path, "/")
	return parts[len(parts)-2]
}

// fieldsOfOtherTests are the fields of a PUT that have nothing to clear, have members, or mean nothing
// without Pro Features.
var fieldsOfOtherTests = []string{"cancellation_reason", "dry_run", "extras", "force", "reschedule_reason", "send_notification", "skip", "customer", "custom_fields"}

// requireEveryField fails unless null clears every documented field of a PUT, or is refused for it.
func requireEveryField(t *testing.T, refusing map[string][]string) {
	t.Helper()
	contract, err := theContract()
	noError(t, err)
	for path, item := range contract.document.Paths.Map() {
		if item.Put == nil || path == "/business-hours" { // see TestWeeklyHours
			continue
		}
		resource := resourceAt(path)
		for field := range item.Put.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
			if !slices.Contains(slices.Concat(fieldsOfOtherTests, clearedByNull[resource], refusing[resource]), field) {
				t.Errorf("nothing tests what null does to %s of %s", field, resource)
			}
		}
	}
}
