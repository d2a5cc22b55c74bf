package compat

import "testing"

// TestUnread: a response shows what was sent, in any form of JSON, and empties the rest.
func TestUnread(t *testing.T) {
	t.Parallel()
	fields := NewCustomerFields.Describe()
	for name, c := range map[string]struct{ sent, answer, want string }{
		"a text":         {`{"phone":"+49 151"}`, `{"phone":"49151","notes":"x"}`, `{"phone":"49151","notes":""}`},
		"a long number":  {`{"phone":4915112345678}`, `{"phone":"4915112345678"}`, `{"phone":"4915112345678"}`},
		"another number": {`{"phone":4915112345678}`, `{"phone":"4915112345679"}`, `{"phone":""}`},
		"free names":     {`{"custom_fields":{"a":"1"}}`, `{"custom_fields":{"a":"1","b":"2"}}`, `{"custom_fields":{"a":"1"}}`},
		"statistics":     {`{}`, `{"stats":{"total":"3","spent":"9.00","count":3,"next_date":"2026-12-01"}}`, `{"stats":{"total":"0","spent":"0.00","count":0,"next_date":null}}`},
		"around it":      {`{}`, `{"message":"Done","data":{"notes":"x","list":["y",7]}}`, `{"message":"Done","data":{"notes":"","list":["",7]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := ParseBody("application/json", []byte(c.sent))
			if err != nil {
				t.Fatal(err)
			}
			shown, err := Unread([]byte(c.answer), document.Sent(fields))
			if err != nil || string(shown) != c.want {
				t.Errorf("%s, %v, want %s", shown, err, c.want)
			}
		})
	}
	if shown, err := Unread([]byte(`{"notes":`), nil); err == nil {
		t.Errorf("a broken answer gives %s", shown)
	}
}
