package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"bookside/fixtures"
)

// BenchmarkEndpoints asks every kind of read on the recorded site, one request
// after the other. docker/bench measures the same under load.
func BenchmarkEndpoints(b *testing.B) {
	s := newServer(b, fixtures.Shared(b, fixtures.SiteA()))
	for _, path := range []string{
		"/status",
		"/bookings?per_page=20", "/bookings?per_page=100", "/bookings?per_page=20&page=50", "/bookings?search=anna", "/bookings?sort=customer_name", "/bookings/53",
		"/customers?per_page=20", "/customers/5",
		"/agents", "/agents/1",
		"/services", "/services?include=category,agents,locations,categories", "/services/6", "/services/categories",
		"/locations",
		"/availability?service_id=6&agent_id=2&date=2027-01-12", "/availability?service_id=6&agent_id=any&date=2027-01-12",
		"/availability?service_id=6&agent_id=any&date=2026-12-01&date_to=2027-01-31", "/agents/availability?service_id=6&date=2027-01-12&start_time=10:00",
		"/payments", "/payments/3",
		"/orders", "/orders/52", "/orders/52/invoices", "/orders/52/transactions",
	} {
		b.Run(path[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1"+path, nil)
				request.Header.Set("X-Api-Key", s.key)
				recorder := httptest.NewRecorder()
				s.handler.ServeHTTP(recorder, request)
				if recorder.Code != http.StatusOK {
					b.Fatalf("status %d: %s", recorder.Code, recorder.Body)
				}
			}
		})
	}
}
