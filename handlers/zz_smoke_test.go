package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"bookside/fixtures"
)

func TestSmoke(t *testing.T) {
	s := newServer(t, fixtures.New(t, fixtures.SiteA()))
	h := http.Header{"X-Api-Key": {s.key}, "Content-Type": {"application/json"}}
	for _, c := range [][3]string{
		{"POST", "/v1/bookings", `{"service_id":4,"agent_id":5,"start_date":"2027-02-05","start_time":"10:00","customer_id":9}`},
		{"POST", "/v1/bookings", `{"service_id":4,"agent_id":5,"start_date":"2027-02-05","start_time":"10:00","customer_id":9}`},
		{"POST", "/v1/bookings", `{}`},
		{"POST", "/v1/bookings/bulk", `[{"service_id":4,"agent_id":5,"start_date":"2027-02-05","start_time":"11:30","customer":{"first_name":"A","last_name":"B","email":"a@example.test"}}, null, {"service_id":4,"agent_id":5,"start_date":"2027-02-05","start_time":"11:30","customer_id":9},{"service_id":4,"agent_id":5,"start_date":"2020-02-05","start_time":"11:30","customer_id":9}]`},
		{"PUT", "/v1/bookings/7", `{"notes":"x <b>y</b>"}`},
		{"PUT", "/v1/bookings/7", ``},
		{"DELETE", "/v1/bookings/7", ``},
		{"DELETE", "/v1/bookings/7?force=true", ``},
		{"DELETE", "/v1/bookings/7", ``},
	} {
		a := s.send(c[0], c[1], h, c[2])
		fmt.Printf("%s %s %s\n%d %s\n%v queries\n", c[0], c[1], c[2], a.status, a.body, s.log.last(t).Queries)
	}
}
