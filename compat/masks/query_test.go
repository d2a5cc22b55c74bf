package masks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/compat/masks"
)

// known is what a small API reads.
var known = masks.Known{
	Name: func(name string) bool {
		return slices.Contains([]string{"page", "name", "date_from", "status", "search", "api_key", "customer", "email", "phone", "first_name", "bookings", "id", "date_of_birth", "custom_fields", "meta", "dry_run", "notes",
			"service_id", "agent_id", "customer_id", "payment_status", "start_date", "start_time", "duration", "price"}, name)
	},
	Word: func(word string) bool { return word == "approved" || word == "not_paid" },
	Value: func(name, value string) bool {
		return name == "page" && value != "x" || name == "status" && value == "approved"
	},
}

func TestQueriesAreMasked(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                  "",
		"page=2&status=approved":            "page=2&status=approved",
		"status=Theo%20Winter&page=x":       "status=***&page=***",
		"search=rita%40example.test&page=1": "search=***&page=1",
		"search=&page":                      "search=&page",
		"page=493023125016":                 "page=***",
		"api_key=lp_live_secret":            "api_key=***",
		"rita@example.test":                 "***",
		"search=Rita&Neumann":               "search=***&***",
		"+49301234=1":                       "***=***",
		"customer[email]=a":                 "customer[email]=***",
		"customer[rita]=a":                  "***=***",
		"search=%zz":                        "search=***",
	} {
		if got := (&masks.Request{Known: known}).Query(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
	if long := (&masks.Request{Known: known}).Query(strings.Repeat("search=rita@example.test&", 5000)); len(long) > 4<<10 || strings.Contains(long, "rita") || !strings.HasSuffix(long, "&…") {
		t.Errorf("%d bytes: %s", len(long), long)
	}
}

func TestBodiesAreMasked(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                                     "",
		`{"service_id": 1, "agent_id": "any"}`: `{"service_id":1,"agent_id":"any"}`,
		`{"start_date":"2026-12-01","start_time":"10:00","duration":45,"price":"20.00"}`:            `{"start_date":"2026-12-01","start_time":"10:00","duration":45,"price":"20.00"}`,
		`{"customer":{"first_name":"Rita","phone":4930123456,"email":"rita@example.test"}}`:         `{"customer":{"first_name":"***","phone":"***","email":"***"}}`,
		`{"dry_run":true,"notes":null,"custom_fields":{"cf_1":"Rita"},"service_id":"<b>","theo":1}`: `{"dry_run":true,"notes":null,"custom_fields":{"cf_1":"***"},"service_id":"***"}`,
		`{"rita@example.test":1,"bookings":[{"id":7,"date_of_birth":"1990-01-01"},"x",[1,2]]}`:      `{"bookings":[{"id":7,"date_of_birth":"***"},"***",["***","***"]]}`,
		`{"customer_id":{"name":"Rita"}}`:       `{"customer_id":{"name":"***"}}`,
		"service_id=1&customer[email]=r%40e.io": "service_id=1&customer[email]=***",
		"Rita":                                  "***",
		`{"custom_fields":{"cf_1":"1990-01-01","id":12,"status":"divorced","cf_2":{"service_id":7}},"meta":[{"service_id":5}]}`: `{"custom_fields":{"cf_1":"***","id":"***","status":"***","cf_2":{"service_id":"***"}},"meta":[{"service_id":"***"}]}`,
		`{"agent_id":"theo","customer_id":493023125016,"status":"winter","start_date":"12:00","start_time":"1990-01-01"}`:       `{"agent_id":"***","customer_id":"***","status":"***","start_date":"***","start_time":"***"}`,
		"notes=a&theo=1": "notes=***&***=***",
		`{"agent_id":"Rita Neumann","customer_id":"+49 30 123456","status":"Rita","payment_status":"not_paid"}`: `{"agent_id":"***","customer_id":"***","status":"***","payment_status":"not_paid"}`,
		"status=Rita+Neumann&start_date=1990-01-01&custom_fields[id]=7":                                         "status=***&start_date=1990-01-01&custom_fields[id]=***",
		"--b\r\nContent-Disposition: form-data; name=\"notes\"\r\n\r\na&Rita=b&Neumann\r\n--b--":                "***",
		`{"notes":"x&Rita&Neumann=1"`:                    "***",
		`{"service_id":1`:                                "***",
		`{"notes":"` + strings.Repeat("x", 17000) + `"}`: "…",
	} {
		if got := (&masks.Request{Known: known}).Body([]byte(sent)); got != want {
			t.Errorf("%.200s: %s, want %s", sent, got, want)
		}
	}
}

func TestMessagesAreMasked(t *testing.T) {
	t.Parallel()
	var r masks.Request
	r.Known = known
	r.Query("search=493023125&status=approved")
	r.Body([]byte(`{"status":" Theo  Winter ","first_name":"A","notes":"(B+"}`))
	for message, want := range map[string]string{
		"Must be a number from 1":                      "Must be *** number from 1",
		`There is no agent "Rita Neumann"; write ids`:  `There is no agent ***; write ids`,
		"rita@example.test is already in use":          "*** is already in use",
		"Cannot change from approved to theo winter":   "Cannot change from approved to ***",
		"493023125 and (b+, but not winter or theodor": "*** and ***, but not winter or theodor",
	} {
		if got := r.Message(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
	r.Body([]byte("--b\r\nContent-Disposition: form-data; name=\"notes\"\r\n\r\nRita"))
	if got := r.Message("Must be Rita"); got != "***" {
		t.Errorf("%q after a body that was not read", got)
	}
}
