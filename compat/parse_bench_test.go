package compat

import (
	"context"
	"testing"
)

// What each request costs before the database is queried.

func BenchmarkReadBookingParameters(b *testing.B) {
	known := func(context.Context, string) (bool, error) { return true, nil }
	for name, raw := range map[string]string{
		"none": "", "page": "per_page=20&page=3",
		"many": "per_page=50&page=2&status=approved&customer_id=10&agent_id=3&date_from=2026-01-01&date_to=2026-12-31&created_date_from=2026-01-01&price_min=10.50&search=anna&sort=id&order=asc&include_meta=1",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (View{}).BookingFilter(b.Context(), ParseQuery(raw), known); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadNewBooking(b *testing.B) {
	sent := []byte(`{"service_id":4,"agent_id":"any","start_date":"2027-02-05","start_time":"10:00","duration":60,"price":"12.50","notes":"a",` +
		`"customer":{"first_name":"A","last_name":"B","email":"a@example.test","phone":"1"},"send_confirmation":true}`)
	b.ReportAllocs()
	for b.Loop() {
		document, err := ParseBody("application/json", sent)
		if err != nil {
			b.Fatal(err)
		}
		body, err := document.Body()
		if err != nil {
			b.Fatal(err)
		}
		booking := ReadNewBooking(body)
		if err := booking.Err(); err != nil {
			b.Fatal(err)
		}
	}
}
