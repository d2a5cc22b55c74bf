package typed_test

import (
	"net/http"
	"testing"

	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/typed"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header http.Header
		want   bool
	}{
		"nothing":         {http.Header{}, false},
		"JSON":            {http.Header{"Accept": {"application/json"}}, false},
		"integer ids":     {http.Header{"Accept": {"application/json; ids=integer"}}, true},
		"quoted":          {http.Header{"Accept": {`application/json;ids="integer"`}}, true},
		"in capitals":     {http.Header{"Accept": {"APPLICATION/JSON; IDS=integer"}}, true},
		"among others":    {http.Header{"Accept": {"text/html, application/json;q=0.9;ids=integer"}}, true},
		"of another type": {http.Header{"Accept": {"text/csv; ids=integer"}}, false},
		"ids as texts":    {http.Header{"Accept": {"application/json; ids=text"}}, false},
		"the header":      {http.Header{"X-Ids": {"integer"}}, true},
		"another value":   {http.Header{"X-Ids": {"text"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := typed.Wanted(test.header); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestIntegers: only ids change, wherever they are, and nothing else does.
func TestIntegers(t *testing.T) {
	t.Parallel()
	payments := typed.IDsIn(compat.ListOf[compat.Payment]())
	for name, test := range map[string]struct {
		ids        *typed.IDs
		sent, want string
	}{
		"ids":         {payments, `{"data":[{"id":"17","token":"12","receipt_number":"5"}]}`, `{"data":[{"id":17,"token":"12","receipt_number":"5"}]}`},
		"no id":       {payments, `{"data":[{"invoice_id":null,"order_id":""}]}`, `{"data":[{"invoice_id":null,"order_id":0}]}`},
		"zeros":       {payments, `{"data":[{"id":"007","order_id":"0"}]}`, `{"data":[{"id":7,"order_id":0}]}`},
		"not ids":     {payments, `{"id":"17","data":[{"notes":"17"}]}`, `{"id":"17","data":[{"notes":"17"}]}`},
		"integers":    {payments, `{"data":[{"id":17}]}`, `{"data":[{"id":17}]}`},
		"any":         {typed.IDsIn(compat.BothSingleOf[compat.Availability]()), `{"data":{"agent_id":"any","location_id":3,"timezone":"any"}}`, `{"data":{"agent_id":-1,"location_id":3,"timezone":"any"}}`},
		"one of many": {typed.IDsIn(compat.ChangeList{}), `{"data":[{"record":{"id":"4","customer":{"id":9},"agent":{"id":"3"}}}]}`, `{"data":[{"record":{"id":4,"customer":{"id":9},"agent":{"id":3}}}]}`},
		"none":        {nil, `{"id":"1"}`, `{"id":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.ids.Integers([]byte(test.sent))
			if err != nil || string(got) != test.want {
				t.Errorf("%s %v, want %s", got, err, test.want)
			}
		})
	}
}
