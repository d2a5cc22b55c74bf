package compat

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// knownStatus answers for a site with one custom status.
func knownStatus(_ context.Context, status string) (bool, error) {
	return status == "approved" || status == "pending" || status == "in_progress", nil
}

func TestBookingFilter(t *testing.T) {
	t.Parallel()
	day := func(text string) *time.Time {
		instant, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return &instant
	}
	unfiltered := bookings.Filter{Paging: session.Paging{Page: 1, PerPage: 20}, Order: bookings.Order{Sort: bookings.ByStart, Descending: true}}
	for name, c := range map[string]struct {
		query  url.Values
		change func(*bookings.Filter)
	}{
		"nothing": {url.Values{}, func(*bookings.Filter) {}},
		"empty":   {url.Values{"status": {""}, "agent_id": {" "}, "sort": {""}, "meta_key": {""}}, func(*bookings.Filter) {}},
		"unknown": {url.Values{"colour": {"red"}, "Status": {"x"}}, func(*bookings.Filter) {}},
		"everything": {
			url.Values{
				"page": {"3"}, "per_page": {"100"}, "status": {"Pending"}, "customer_id": {"1"}, "agent_id": {"2"}, "service_id": {"3"}, "location_id": {"8388607"},
				"date_from": {"2026-11-21"}, "date_to": {"2026-11-22"}, "created_date_from": {"2026-11-01"}, "created_date_to": {"2026-11-30"}, "booking_code": {" AB "},
				"payment_status": {"Any Text"}, "duration_min": {"0"}, "duration_max": {"60.0"}, "price_min": {"-1.50"}, "price_max": {"99.9999"},
				"customer_email": {"a@b"}, "customer_phone": {"+49"}, "include_meta": {"Yes"}, "meta_key": {"cf_reason"}, "meta_value": {"100%"},
				"search": {"Zoë"}, "sort": {"CUSTOMER_NAME"}, "order": {"ASC"},
			},
			func(f *bookings.Filter) {
				*f = bookings.Filter{
					Paging:     session.Paging{Page: 3, PerPage: 100},
					References: bookings.References{CustomerID: new(int64(1)), AgentID: new(int64(2)), ServiceID: new(int64(3)), LocationID: new(int64(8388607))},
					Times: bookings.Times{
						DateFrom: new(session.Date("2026-11-21")), DateTo: new(session.Date("2026-11-22")),
						CreatedFrom: day("2026-11-01"), CreatedBefore: day("2026-12-01"),
					},
					Values: bookings.Values{
						Status: new("pending"), PaymentStatus: new("Any Text"), DurationMin: new(int64(0)), DurationMax: new(int64(60)),
						PriceMin: new(decimal.RequireFromString("-1.5")), PriceMax: new(decimal.RequireFromString("99.9999")),
					},
					Texts: bookings.Texts{
						Code: new("AB"), CustomerEmail: new("a@b"), CustomerPhone: new("+49"), MetaKey: new("cf_reason"), MetaValue: new("100%"), Search: new("Zoë"),
					},
					Order: bookings.Order{Sort: bookings.ByCustomerName}, WithMeta: true,
				}
			},
		},
		"confirmed is approved": {url.Values{"status": {"CONFIRMED"}}, func(f *bookings.Filter) { f.Status = new("approved") }},
		"a status of the site":  {url.Values{"status": {"In_Progress"}}, func(f *bookings.Filter) { f.Status = new("in_progress") }},
		"by creation":           {url.Values{"sort": {"created_at"}}, func(f *bookings.Filter) { f.Sort = bookings.ByCreation }},
		"by status":             {url.Values{"sort": {"status"}}, func(f *bookings.Filter) { f.Sort = bookings.ByStatus }},
		"by id, ascending":      {url.Values{"sort": {"id"}, "order": {"asc"}}, func(f *bookings.Filter) { f.Sort, f.Descending = bookings.ByID, false }},
	} {
		t.Run(name, func(t *testing.T) {
			want := unfiltered
			c.change(&want)
			got, err := View{}.BookingFilter(t.Context(), ParseQuery(c.query.Encode()), knownStatus)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// TestBookingStatusAsksTheSite: the site is asked only about a well-formed
// status, and a failure to find out is not reported as a wrong parameter.
func TestBookingStatusAsksTheSite(t *testing.T) {
	t.Parallel()
	asked, broken := []string{}, errors.New("no database")
	ask := func(_ context.Context, status string) (bool, error) {
		asked = append(asked, status)
		return false, broken
	}
	for _, raw := range []string{"", "status=", "status[]=x", "status=%00"} {
		if _, err := (View{}).BookingFilter(t.Context(), ParseQuery(raw), ask); errors.Is(err, broken) {
			t.Errorf("?%s asks the site", raw)
		}
	}
	if _, err := (View{}).BookingFilter(t.Context(), ParseQuery("status=Waiting&page=x"), ask); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]string{"waiting"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestEmptyBooking: a booking without anything has every key of the contract,
// and null only where that is allowed.
func TestEmptyBooking(t *testing.T) {
	t.Parallel()
	list := `{"id":0,"booking_code":"","status":"","start_date":"","start_time":"","end_time":"","duration":0,"price":"0.0000","payment_status":"",` +
		`"customer":{"id":0,"first_name":"","last_name":"","email":"","phone":""},"agent":{"id":"0","full_name":"","email":"","phone":""},"service":[],` +
		`"location":{"id":"","name":"","full_address":"","category":[]},"total_attendees":0,"notes":"","created_at":"","updated_at":""`
	detail := strings.Replace(list, `"last_name":"",`, `"last_name":"","full_name":"",`, 1) + `,"start_datetime":null,"end_datetime":null,"end_date":"","timezone":"","service_name":"","customer_comment":null,"created_datetime":null,` +
		`"buffer_before":0,"buffer_after":0,"transactions":[],"order":null,"meta":{}`
	for name, c := range map[string]struct {
		record any
		want   string
	}{
		"in a list":             {View{}.booking(records.Booking{}), list + `}`},
		"in a list with meta":   {View{}.booking(records.Booking{Meta: map[string]string{}}), list + `,"meta":{}}`},
		"alone":                 {View{}.BookingDetail(records.BookingDetail{Booking: records.Booking{Meta: map[string]string{}}}, BookingTimes{}), `{"success":true,"data":` + detail + `}}`},
		"a list":                {View{}.BookingList(records.Page[records.Booking]{Paging: session.Paging{Page: 1, PerPage: 20}}), `{"success":true,"data":[],"pagination":{"page":1,"per_page":20,"total":0,"total_pages":0,"has_next_page":false,"has_previous_page":false}}`},
		"a page beyond the end": {View{}.BookingList(records.Page[records.Booking]{Paging: session.Paging{Page: 9, PerPage: 20}, Total: 41}), `{"success":true,"data":[],"pagination":{"page":9,"per_page":20,"total":41,"total_pages":3,"has_next_page":false,"has_previous_page":true}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(c.record)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
			}
		})
	}
}

// TestBookingDetailInSiteTime: in the site's zone, a single booking's
// timestamps change zone together with those of its order and payments;
// created_datetime is always UTC.
func TestBookingDetailInSiteTime(t *testing.T) {
	t.Parallel()
	stamps := domain.Timestamp("2026-07-01 12:00:00")
	booking := records.Booking{CreatedAt: stamps, UpdatedAt: stamps, Order: &records.BookingOrder{ID: 1}}
	detail := records.BookingDetail{
		Booking: booking, Order: &records.Order{ID: 1, CreatedAt: stamps, UpdatedAt: stamps},
		Payments: []records.Payment{{CreatedAt: stamps, UpdatedAt: stamps}},
	}
	body, err := json.Marshal(View{Location: location(t, "Europe/Berlin")}.BookingDetail(detail, BookingTimes{}))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(body), `"2026-07-01 14:00:00"`); n != 6 {
		t.Errorf("%d timestamps in the site's zone, want 6: %s", n, body)
	}
	if !strings.Contains(string(body), `"created_datetime":"2026-07-01T12:00:00+00:00"`) {
		t.Errorf("created_datetime is not UTC: %s", body)
	}
}
