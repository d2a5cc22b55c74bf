package masks_test

import (
	"strings"
	"testing"

	"github.com/bookside/bookside/compat/masks"
)

func TestQueriesAreMasked(t *testing.T) {
	t.Parallel()
	plain := func(name string) bool { return name == "page" || name == "date_from" || name == "status" }
	for raw, want := range map[string]string{
		"":                                  "",
		"page=2&status=approved":            "page=2&status=approved",
		"date_from=2026-12-01":              "date_from=2026-12-01",
		"status=approved%2Cpending":         "status=approved,pending",
		"search=rita%40example.test&page=1": "search=***&page=1",
		"search=&page":                      "search=&page",
		"page=rita@example.test":            "page=***",
		"date_from=%3Cb%3E":                 "date_from=***",
		"api_key=lp_live_secret":            "api_key=***",
		"rita@example.test":                 "***",
		"+49301234=1":                       "***=***",
		"customer[email]=a":                 "customer[email]=***",
		"page=%zz":                          "page=***",
		"page=" + strings.Repeat("1", 100):  "page=***",
	} {
		if got := masks.Query(raw, plain); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
	if long := masks.Query(strings.Repeat("a=rita@example.test&", 5000), plain); len(long) > 4<<10 || strings.Contains(long, "rita") || !strings.HasSuffix(long, "&…") {
		t.Errorf("%d bytes: %s", len(long), long)
	}
}

func TestBodiesAreMasked(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                                     "",
		`{"service_id": 1, "agent_id": "any"}`: `{"service_id":1,"agent_id":"any"}`,
		`{"start_date":"2026-12-01","start_time":"10:00","duration":45,"price":"20.00"}`:       `{"start_date":"2026-12-01","start_time":"10:00","duration":45,"price":"20.00"}`,
		`{"customer":{"first_name":"Rita","phone":4930123456,"email":"rita@example.test"}}`:    `{"customer":{"first_name":"***","phone":"***","email":"***"}}`,
		`{"dry_run":true,"notes":null,"custom_fields":{"cf_1":"Rita"},"service_id":"<b>"}`:     `{"dry_run":true,"notes":null,"custom_fields":{"cf_1":"***"},"service_id":"***"}`,
		`{"rita@example.test":1,"bookings":[{"id":7,"date_of_birth":"1990-01-01"},"x",[1,2]]}`: `{"bookings":[{"id":7,"date_of_birth":"***"},"***",["***","***"]]}`,
		`{"customer_id":{"name":"Rita"}}`:       `{"customer_id":{"name":"***"}}`,
		"service_id=1&customer[email]=r%40e.io": "service_id=1&customer[email]=***",
		"Rita":                                  "***",
		`{"custom_fields":{"birth_date":"1990-01-01","national_id":12,"status":"divorced","deep":{"spouse_id":7}},"meta":[{"x_id":5}]}`: `{"custom_fields":{"birth_date":"***","national_id":"***","status":"***","deep":{"spouse_id":"***"}},"meta":[{"x_id":"***"}]}`,
		`{"agent_id":"Rita Neumann","customer_id":"+49 30 123456","status":"Rita","payment_status":"not_paid"}`:                         `{"agent_id":"***","customer_id":"***","status":"***","payment_status":"not_paid"}`,
		"status=Rita+Neumann&birth_date=1990-01-01&custom_fields[x_id]=7":                                                               "status=***&birth_date=1990-01-01&custom_fields[x_id]=***",
		"--b\r\nContent-Disposition: form-data; name=\"notes\"\r\n\r\na&Rita=b&Neumann\r\n--b--":                                        "***",
		`{"notes":"x&Rita&Neumann=1"`:                    "***",
		`{"service_id":1`:                                "***",
		`{"notes":"` + strings.Repeat("x", 17000) + `"}`: "…",
	} {
		if got := masks.Body([]byte(sent)); got != want {
			t.Errorf("%.200s: %s, want %s", sent, got, want)
		}
	}
}

func TestMessagesAreMasked(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Must be a number from 1":                     "Must be a number from 1",
		`There is no agent "Rita Neumann"; write ids`: `There is no agent ***; write ids`,
		"rita@example.test is already in use":         "*** is already in use",
	} {
		if got := masks.Message(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
