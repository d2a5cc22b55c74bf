package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// Friday returns a booking that fits the recorded site. The pairs of name and value replace fields or add
// them; an empty value removes one.
func Friday(fields ...string) string {
	booking := map[string]json.RawMessage{
		"service_id": json.RawMessage(`4`), "agent_id": json.RawMessage(`5`), "location_id": json.RawMessage(`1`),
		"start_date": json.RawMessage(`"2027-02-05"`), "start_time": json.RawMessage(`"10:00"`), "customer_id": json.RawMessage(`9`),
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			delete(booking, fields[i])
			continue
		}
		booking[fields[i]] = json.RawMessage(fields[i+1])
	}
	text, err := json.Marshal(booking)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// NewCustomer is a customer that the recorded site does not have.
const NewCustomer = `{"first_name":"Rita","last_name":"Neu","email":"rita.neu@example.test","phone":"+49 30 1234"}`

// Setting stores a setting of the plugin.
func Setting(name, value string) string {
	return fmt.Sprintf("REPLACE INTO wp_latepoint_settings (id, name, value) SELECT (SELECT MIN(s.id) FROM wp_latepoint_settings s WHERE s.name = '%[1]s'), '%[1]s', '%[2]s'", name, value)
}

// FullCustomer is a new customer with every field.
const FullCustomer = `{"first_name":" Rita ","last_name":"<b>Neu</b>","email":"Rita.Neu@example.test","phone":"+49 (30) 12-34 x5","status":"pending","is_guest":"no",
	"address":"Hauptstraße 1","city":"Köln","state":"NW","zipcode":50667,"country":"de","date_of_birth":"1985-03-15","gender":"Female","notes":"two\r\nlines","admin_notes":"<i>VIP</i>",
	"avatar_image_id":"77","custom_fields":{"cf_insur1":"private","colour":"blue","visits":3,"member":true,"banned":false,"zero":"0","none":"","nothing":null},"unknown":{}}`

// FullCustomerPatch changes every field of a customer.
const FullCustomerPatch = `{"first_name":"Rita","last_name":"Neu","email":"rita.neu@example.test","phone":"+49301234","status":"inactive","is_guest":true,
	"address":"Hauptstraße 1","city":"Köln","state":"NW","zipcode":"50667","country":"DE","notes":"two\r\nlines","avatar_image_id":77,
	"custom_fields":{"cf_insur1":"private","colour":"blue"},"date_of_birth":"1985-03-15","gender":"female","admin_notes":"VIP"}`

// HoldBody returns the slot of Friday; pairs of name and value replace fields or add them.
func HoldBody(fields ...string) string {
	return Friday(append([]string{"customer_id", ""}, fields...)...)
}

// KeepSlot creates a hold and returns its id.
func (s *Server) KeepSlot(t testing.TB, body string) string {
	t.Helper()
	return fmt.Sprint(s.Write(http.MethodPost, "/holds", body).Want(http.StatusCreated).At("data", "id"))
}

// Explained returns why the start of Friday is not offered, or "" if it is.
func (s *Server) Explained(t testing.TB) string {
	t.Helper()
	a := s.Get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05&explain=1").Want(http.StatusOK)
	for _, slot := range a.At("data", "explain", "unavailable").([]any) {
		if slot := slot.(map[string]any); slot["start_time"] == "10:00" {
			expect.Equal(t, nil, slot["booking_id"], fmt.Sprintf("a booking is in the way: %v", slot))
			return slot["reason"].(string)
		}
	}
	if !slices.Contains(a.At("data", "available_slots").([]any), any("10:00")) {
		t.Errorf("10:00 is neither offered nor explained: %s", a.Body)
	}
	return ""
}

// OldCoupon inserts a coupon.
const OldCoupon = "INSERT INTO wp_latepoint_coupons (id, code, discount_type, discount_value, status) VALUES (900, 'OLD', 'percent', 5, 'active')"

// NewWebhook is a webhook with every field.
const NewWebhook = `{"url":"https://example.test/hooks?token=1","events":["booking.created","order.*"],"agents":[3],"name":"shop","include_record":true}`
