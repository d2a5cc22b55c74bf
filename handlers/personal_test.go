package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// maskedKey creates a key with all permissions that masks personal data.
func (s *server) maskedKey() string {
	s.t.Helper()
	all := []string{"read", "write", "delete", "read_changes", "write_users", "write_webhooks"}
	secret, _, err := s.keys.Create(context.Background(), keys.NewKey{Name: "masked", Kind: keys.Live, Permissions: all, MaskPersonal: true})
	noError(s.t, err)
	return secret
}

// TestPersonalDataIsMaskedEverywhere writes a mark into all personal data and requests every route that
// reads: the mark appears without masking, and never with it.
func TestPersonalDataIsMaskedEverywhere(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	const mark = "zzqq"
	s.database.Execute(t,
		"UPDATE wp_latepoint_customers SET email = CONCAT('c', id, '-zzqq@zzqq.example'), phone = CONCAT('zzqq ', id), notes = 'zzqq', admin_notes = 'zzqq'",
		"UPDATE wp_latepoint_agents SET email = CONCAT('a', id, '-zzqq@zzqq.example'), phone = 'zzqq'",
		"UPDATE wp_latepoint_orders SET customer_comment = 'zzqq', ip_address = 'zzqq', source_url = CONCAT('https://site.example/book?e=', 'zzqq#zzqq')",
		"UPDATE wp_latepoint_transactions SET notes = 'zzqq'",
		`UPDATE wp_latepoint_order_invoices SET data = '{"to":"zzqq"}'`,
		"UPDATE wp_latepoint_customer_meta SET meta_value = 'zzqq' WHERE meta_key LIKE 'cf%'",
		"UPDATE wp_latepoint_booking_meta SET meta_value = 'zzqq' WHERE meta_key LIKE 'cf%'",
		"UPDATE wp_latepoint_order_meta SET meta_value = 'zzqq' WHERE meta_key = 'notes'")
	for _, name := range []string{"address", "city", "state", "zipcode", "country", "gender"} {
		s.database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) SELECT id, '"+name+"', 'zzqq' FROM wp_latepoint_customers")
	}
	s.write(http.MethodPut, "/customers/9", `{"custom_fields":{"color":"zzqq"}}`).want(http.StatusOK)
	all, masked := s.key, s.maskedKey()
	shown := 0
	for _, r := range handlers.Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		for _, path := range limitedPaths(t, s, r.Path) {
			if regexp.MustCompile(`\b(search|email|phone|customer_email|customer_phone|meta_key)=|order_by=email`).MatchString(path) {
				continue // see TestMaskedKeysNeitherSearchNorWritePersonalData
			}
			s.key = all
			plain := s.get(path)
			s.key = masked
			a := s.get(path).want(plain.status)
			if strings.Contains(string(plain.body), mark) {
				shown++
			}
			if strings.Contains(string(a.body), mark) {
				t.Fatalf("GET %s: %s", path, a.body)
			}
			if tag := plain.header.Get("ETag"); tag != "" && strings.Contains(string(plain.body), mark) && tag == a.header.Get("ETag") {
				t.Errorf("GET %s: the same tag", path)
			}
		}
	}
	if shown < 40 {
		t.Errorf("only %d answers have personal data", shown)
	}
	// Masked data keep their form.
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'rita.neu@shop.example', phone = '+49 30 1234567' WHERE id = 9")
	customer := s.get("/customers/9").want(http.StatusOK)
	if email, phone := customer.at("data", "email"), customer.at("data", "phone"); email != "r***@***.example" || phone != "+** ** *****67" {
		t.Errorf("email %v, phone %v", email, phone)
	}
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = 'rita@localhost' WHERE id = 9")
	s.database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (9, 'date_of_birth', '1990-02-28')")
	customer = s.get("/customers/9").want(http.StatusOK)
	if email, born := customer.at("data", "email"), customer.at("data", "date_of_birth"); email != "r***@***" || born != "" {
		t.Errorf("email %v, born %v", email, born)
	}
	options := handlers.WebhookOptions(s.platform, s.keys, false)
	id := scalar[int64](t, s, "SELECT MAX(id) FROM wp_bookside_api_keys")
	if record, found, err := options.Record(t.Context(), id, jobs.HookFilter{}, journal.Customers, 10); err != nil || !found || strings.Contains(string(record), mark) {
		t.Errorf("webhook: %s, found %t, %v", record, found, err)
	}
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday("customer_id", "10")+`]`).want(http.StatusCreated)
	if strings.Contains(string(bulk.body), mark) {
		t.Errorf("%s", bulk.body)
	}
}

// TestPersonalFieldsAreMasked: the fields of all responses with personal data have a mask, and no others.
func TestPersonalFieldsAreMasked(t *testing.T) {
	t.Parallel()
	personal := regexp.MustCompile(`^(email|phone|notes?|admin_notes|customer_comment|ip_address|source_url|address|city|state|zipcode|country|date_of_birth|gender|custom_fields|meta|item_data|cancellation_reason|reschedule_reason)$`)
	walked, masked := map[reflect.Type]bool{}, 0
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		if of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			walk(of.Elem())
		}
		if of.Kind() != reflect.Struct || walked[of] {
			return
		}
		walked[of] = true
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if of == reflect.TypeFor[compat.WebhookDelivery]() && name == "state" {
				continue // of the delivery
			}
			has, want := f.Tag.Get("mask") != "", personal.MatchString(name) || name == "data" && f.Type == reflect.TypeFor[*string]()
			wantEqual(t, want, has, "%s.%s: masked", of, f.Name)
			if has {
				masked++
			}
			walk(f.Type)
		}
	}
	for _, sample := range handlers.Samples() {
		walk(reflect.TypeOf(sample))
	}
	if masked < 30 {
		t.Errorf("only %d fields", masked)
	}
}

// TestMaskedKeysNeitherSearchNorWritePersonalData: every parameter that searches or sorts by personal data,
// and every field that holds it, is refused, in whatever format it is sent.
func TestMaskedKeysNeitherSearchNorWritePersonalData(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, fillLocks)
	s.key = s.maskedKey()
	s.get("/status").want(http.StatusOK)
	before := s.database.Snapshot(t)
	refused := func(a answer, name string) {
		t.Helper()
		if a.want(http.StatusForbidden).at("error", "code") != "personal_data_masked" || !strings.HasSuffix(fmt.Sprint(a.at("error", "message")), " "+name) {
			t.Errorf("%s", a.body)
		}
	}
	for path, names := range map[string][]string{
		"/bookings":  {"search", "customer_email", "customer_phone", "meta_key", "meta_value"},
		"/customers": {"search", "email", "phone"},
		"/agents":    {"search", "email", "phone"},
		"/orders":    {"search"},
		"/payments":  {"search"},
		"/locations": {"search"},
	} {
		for _, name := range names {
			refused(s.get(path+"?"+name+"=a"), name)
		}
	}
	refused(s.get("/agents?order_by=email"), "order_by")
	refused(s.get("/agents?order_by=Phone"), "order_by")
	for _, c := range []struct{ method, path, contentType, body, name string }{
		{http.MethodPost, "/bookings", jsonType, friday("customer_id", "", "customer", newCustomer), "email"},
		{http.MethodPost, "/bookings", jsonType, friday("notes", `"x"`), "notes"},
		{http.MethodPost, "/bookings", formType, "customer[phone]=1&service_id=4", "phone"},
		{http.MethodPost, "/bookings?customer.email=x", jsonType, friday(), "customer.email"},
		{http.MethodPost, "/bookings?customer[email]=x", jsonType, friday(), "email"},
		{http.MethodPost, "/bookings?customer=" + url.QueryEscape(newCustomer), jsonType, friday("customer_id", ""), "email"},
		{http.MethodPost, "/bookings", jsonType, friday("customer_id", "", "customer", strconv.Quote(newCustomer)), "email"},
		{http.MethodPost, "/bookings", formType, "service_id=4&customer=" + url.QueryEscape(newCustomer), "email"},
		{http.MethodPost, "/bookings/bulk", jsonType, `[` + friday("notes", `"x"`) + `]`, "notes"},
		{http.MethodPost, "/bookings/bulk", jsonType, `{"bookings":` + strconv.Quote(` [`+friday("notes", `"x"`)+`]`) + `}`, "notes"},
		{http.MethodPost, "/bookings/bulk", jsonType, `[` + strconv.Quote(friday("customer_id", "", "customer", strconv.Quote(newCustomer))) + `]`, "email"},
		{http.MethodPut, "/bookings/7", jsonType, `{"customer":{"email":"x@example.test"}}`, "email"},
		{http.MethodPut, "/customers/9", jsonType, `{"phone":"1"}`, "phone"},
		{http.MethodPut, "/customers/9", jsonType, `{"custom_fields":{"color":"x"}}`, "custom_fields"},
		{http.MethodPut, "/customers/9", jsonType, `{"city":"x"}`, "city"},
		{http.MethodPut, "/customers/9", jsonType, `{"date_of_birth":"2000-01-01"}`, "date_of_birth"},
		{http.MethodPost, "/payments", jsonType, `{"order_id":10,"amount":1,"notes":"x"}`, "notes"},
		{http.MethodPut, "/orders/10", jsonType, `{"customer_comment":"x"}`, "customer_comment"},
		{http.MethodPut, "/orders/10", jsonType, `{"source_url":"https://site.example/"}`, "source_url"},
		{http.MethodPost, "/orders", jsonType, `{"customer_id":9,"source_url":""}`, "source_url"},
	} {
		a := s.writeAs(c.method, c.path, c.contentType, c.body).want(http.StatusForbidden)
		wantEqual(t, "personal_data_masked", a.at("error", "code"), "%s %s: %s", c.method, c.path, a.body)
	}
	wantNoWrites(t, "refused", before)
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	s.get("/services?search=a").want(http.StatusOK)
}
