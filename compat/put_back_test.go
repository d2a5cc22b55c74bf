package compat

import "testing"

// TestChanging: what of an update differs from the record that is shown.
func TestChanging(t *testing.T) {
	t.Parallel()
	const (
		booking  = `{"id":7,"price":"49.5000","notes":"a","total_attendees":1,"meta":{"x":"1"},"customer":{"id":9,"last_name":"","phone":"0123"},"extras":[{"id":4,"quantity":2}]}`
		customer = `{"is_guest":"1","avatar_image_id":null,"custom_fields":{"cf_a":"05","cf_b":"x"}}`
		hours    = `{"agent_id":5,"hours":{"monday":[{"start_time":"09:00","end_time":"17:00"}],"sunday":[]}}`
	)
	for name, c := range map[string]struct {
		fields      Input
		shown, sent string
		want        string
	}{
		"all of it":                   {BookingPatchFields, booking, booking, `{}`},
		"one field":                   {BookingPatchFields, booking, `{"notes":"b","price":"49.5000","id":7}`, `{"notes":"b"}`},
		"a price as a number":         {BookingPatchFields, booking, `{"price":49.5}`, `{}`},
		"a price in a form":           {BookingPatchFields, booking, `{"price":"49.50","total_attendees":"1"}`, `{}`},
		"another price":               {BookingPatchFields, booking, `{"price":"49.5001"}`, `{"price":"49.5001"}`},
		"a number in a text":          {BookingPatchFields, `{"notes":"1.0"}`, `{"notes":"1"}`, `{"notes":"1"}`},
		"a member":                    {BookingPatchFields, booking, `{"customer":{"id":9,"last_name":"","phone":"123"}}`, `{"customer":{"phone":"123"}}`},
		"a dotted member":             {BookingPatchFields, booking, `{"customer.last_name":"","customer.phone":"123","customer.mail":""}`, `{"customer.mail":"","customer.phone":"123"}`},
		"an object as a text":         {BookingPatchFields, booking, `{"customer":"{\"last_name\":\"\"}"}`, `{}`},
		"the same list":               {BookingPatchFields, booking, `{"extras":[{"quantity":2,"id":"4"}]}`, `{}`},
		"a list of less":              {BookingPatchFields, booking, `{"extras":[{"id":4}]}`, `{"extras":[{"id":4}]}`},
		"an element of a list":        {BookingPatchFields, `{"extras":[{"id":4,"name":"a","quantity":2},{"id":5,"name":"b","quantity":1}]}`, `{"extras":[{"id":"5","name":"b","quantity":3},{"id":6,"name":"b"},7]}`, `{"extras":[{"id":"5","quantity":3},{"id":6,"name":"b"},7]}`},
		"an empty object of PHP":      {BookingPatchFields, `{"meta":{}}`, `{"meta":[]}`, `{}`},
		"an empty list":               {BookingPatchFields, booking, `{"extras":[],"meta":[]}`, `{"extras":[],"meta":[]}`},
		"the last of equal names":     {BookingPatchFields, booking, `{"notes":"b","notes":"a"}`, `{}`},
		"null for a text":             {BookingPatchFields, `{"notes":"null"}`, `{"notes":null}`, `{"notes":null}`},
		"a text for null":             {CustomerPatchFields, customer, `{"avatar_image_id":"null"}`, `{"avatar_image_id":"null"}`},
		"null":                        {CustomerPatchFields, customer, `{"avatar_image_id":null}`, `{}`},
		"a boolean":                   {CustomerPatchFields, customer, `{"is_guest":true}`, `{}`},
		"a word for it":               {CustomerPatchFields, customer, `{"is_guest":"Yes"}`, `{}`},
		"another boolean":             {CustomerPatchFields, customer, `{"is_guest":0}`, `{"is_guest":0}`},
		"a custom field is a text":    {CustomerPatchFields, customer, `{"custom_fields":{"cf_a":5,"cf_b":"x"}}`, `{"custom_fields":{"cf_a":5}}`},
		"a required object":           {WeeklyHoursFields, hours, hours, `{"hours":{}}`},
		"one day":                     {WeeklyHoursFields, hours, `{"hours":{"monday":[],"sunday":[]}}`, `{"hours":{"monday":[]}}`},
		"a day of other hours":        {WeeklyHoursFields, hours, `{"hours":{"monday":[{"start_time":"09:00","end_time":"12:00"}]}}`, `{"hours":{"monday":[{"start_time":"09:00","end_time":"12:00"}]}}`},
		"null left out of a list":     {BookingPatchFields, `{"transactions":[{"id":1,"notes":null}]}`, `{"transactions":[{"id":"1"}]}`, `{}`},
		"an empty text for null":      {BookingPatchFields, `{"transactions":[{"id":1,"notes":null}]}`, `{"transactions":[{"id":"1","notes":""}]}`, `{}`},
		"an empty text for another":   {BookingPatchFields, booking, `{"notes":"","total_attendees":""}`, `{"notes":"","total_attendees":""}`},
		"no hours, as none are shown": {WeeklyHoursFields, `{"hours":null}`, `{"hours":null}`, `{"hours":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := ParseBody(typeJSON, []byte(c.sent))
			if err != nil {
				t.Fatal(err)
			}
			changing, dropped := document.Changing([]byte(c.shown), SchemaOf(c.fields.Describe()))
			if got := string(changing.JSON()); got != c.want || !dropped && c.want != c.sent {
				t.Errorf("%s, %v, want %s", got, dropped, c.want)
			}
		})
	}
}
