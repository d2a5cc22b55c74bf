package compat

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// bookingsEqual ignores Validation, which is compared separately.
var bookingsEqual = cmp.Options{
	cmp.Comparer(func(a, b decimal.Decimal) bool { return a.Equal(b) }),
	cmp.Comparer(func(a, b domain.Validation) bool { return true }),
}

func dayOf(t testing.TB, text string) availability.Day {
	t.Helper()
	day, ok := availability.ParseDay(text)
	if !ok {
		t.Fatal(text)
	}
	return day
}

func TestNewBooking(t *testing.T) {
	t.Parallel()
	const basis = `"service_id":4,"agent_id":5,"start_date":"2026-11-27","start_time":"10:00"`
	at := availability.Moment{Day: dayOf(t, "2026-11-27"), Minutes: 600}
	plain := bookings.New{ServiceID: 4, AgentID: 5, Start: at, Attendees: 1, Confirm: true}
	for name, c := range map[string]struct {
		body   string
		change func(*bookings.New)
	}{
		"an existing customer": {`{` + basis + `,"customer_id":"9","customer":{"email":[]}}`, func(b *bookings.New) { b.CustomerID = 9 }},
		"a new customer": {
			`{` + basis + `,"customer":{"first_name":" A ","last_name":"B","email":"c","phone":123}}`,
			func(b *bookings.New) {
				b.Customer = records.CustomerFields{FirstName: new(" A "), LastName: new("B"), Email: new("c"), Phone: new("123")}
			},
		},
		"everything": {
			`{` + basis + `,"customer_id":9,"location_id":2,"duration":"90","status":" Pending","notes":" x\n","price":"12.50","total_attendees":3,"send_confirmation":"no","unknown":{}}`,
			func(b *bookings.New) {
				b.CustomerID, b.LocationID, b.Duration, b.Status, b.Notes = 9, new(int64(2)), new(int64(90)), new("pending"), " x\n"
				b.Price, b.Attendees, b.Confirm = new(decimal.RequireFromString("12.5")), 3, false
			},
		},
		"custom fields": {
			`{` + basis + `,"customer_id":9,"custom_fields":{"a":" x ","b":["1",2,true],"c":false,"d":null,"e":{"f":1},"g":[[]]},"custom_fields.h":1.50}`,
			func(b *bookings.New) {
				const noValue = "Must be a single value or a list of such"
				b.CustomerID, b.Fields = 9, &bookings.SentFields{Values: map[string]bookings.FieldValue{
					"a": {Text: " x "}, "b": {List: []string{"1", "2", "on"}}, "c": {Text: "off"}, "d": {}, "e": {Wrong: noValue}, "g": {Wrong: noValue}, "h": {Text: "1.50"},
				}}
			},
		},
		"custom fields as a text": {
			`{` + basis + `,"customer_id":9,"custom_fields":"{\"a\":[]}"}`,
			func(b *bookings.New) {
				b.CustomerID, b.Fields = 9, &bookings.SentFields{Values: map[string]bookings.FieldValue{"a": {List: []string{}}}}
			},
		},
		"custom fields that are none": {
			`{` + basis + `,"customer_id":9,"custom_fields":"x"}`,
			func(b *bookings.New) { b.CustomerID, b.Fields = 9, &bookings.SentFields{NoObject: true} },
		},
		"no custom fields": {`{` + basis + `,"customer_id":9,"custom_fields":""}`, func(b *bookings.New) { b.CustomerID = 9 }},
		"nothing where it is optional": {
			`{` + basis + `,"customer_id":9,"location_id":"","duration":null,"status":"","notes":null,"price":"","total_attendees":"","send_confirmation":null}`,
			func(b *bookings.New) { b.CustomerID = 9 },
		},
		"any location": {`{` + basis + `,"customer_id":9,"location_id":"any"}`, func(b *bookings.New) { b.LocationID, b.CustomerID = new(int64), 9 }},
		"any agent":    {strings.Replace(`{`+basis+`,"customer_id":9}`, `"agent_id":5`, `"agent_id":"any"`, 1), func(b *bookings.New) { b.AgentID, b.CustomerID = 0, 9 }},
		"agent -1":     {strings.Replace(`{`+basis+`,"customer_id":9}`, `"agent_id":5`, `"agent_id":-1`, 1), func(b *bookings.New) { b.AgentID, b.CustomerID = 0, 9 }},
	} {
		t.Run(name, func(t *testing.T) {
			want := plain
			c.change(&want)
			got := ReadNewBooking(bodyOf(t, c.body)).New
			if diff := cmp.Diff(want, got, bookingsEqual); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if err := got.Err(); err != nil {
				_, fields := errorFields(t, err)
				t.Errorf("%s: %v", name, fields)
			}
		})
	}
}

func TestNewBookingProblems(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]map[string]string{
		`{}`: {"service_id": required, "agent_id": required, "start_date": required, "start_time": required, "customer": required},
		`{"service_id":"","agent_id":" ","start_date":null,"start_time":"","customer_id":"","customer":null}`: {
			"service_id": required, "agent_id": required, "start_date": required, "start_time": required, "customer": required,
		},
		`{"service_id":0,"agent_id":"x","start_date":"2026-02-30","start_time":"24:00","customer":{}}`: {
			"service_id": "Minimum allowed value is 1", "agent_id": "Must be an integer", "start_date": "Must be a date in the format YYYY-MM-DD",
			"start_time": "Invalid time format, use HH:MM", "customer.first_name": required, "customer.last_name": required, "customer.email": required,
		},
		`{"service_id":1,"agent_id":1,"start_date":"2026-11-27","start_time":"10:00","customer_id":-1,"customer":{"email":1}}`: {"customer_id": "Minimum allowed value is 1"},
		`{"service_id":1,"agent_id":1,"start_date":"2026-11-27","start_time":"10:00","customer_id":0}`:                         {"customer": required},
		`{"service_id":0,"agent_id":0,"start_date":"2026-11-27","start_time":"10:00","customer_id":1}`:                         {"service_id": "Minimum allowed value is 1", "agent_id": "Minimum allowed value is 1"},
		`{"service_id":1,"agent_id":1,"start_date":"2026-11-27","start_time":"10:00","customer":"x"}`:                          {"customer": "Must be an object"},
		`{"service_id":1,"agent_id":1,"start_date":"2026-11-27","start_time":"10:00","customer":{"first_name":" ","last_name":{},"email":null,"phone":true}}`: {
			"customer.first_name": required, "customer.last_name": notSingle, "customer.email": required, "customer.phone": "Must be a text",
		},
		`{"service_id":1,"agent_id":1,"start_date":"2026-11-27","start_time":"10:00","customer_id":1,"duration":0,"price":-1,"total_attendees":0,"location_id":[],"notes":{},"status":false,"send_confirmation":"x"}`: {
			"duration": "Minimum allowed value is 1", "price": "May not be negative", "total_attendees": "Minimum allowed value is 1", "location_id": notSingle,
			"notes": notSingle, "status": "Must be a text", "send_confirmation": "Must be true or false",
		},
	} {
		t.Run(body, func(t *testing.T) {
			booking := ReadNewBooking(bodyOf(t, body))
			_, fields := errorFields(t, booking.Err())
			if diff := cmp.Diff(want, fields); diff != "" {
				t.Errorf("%s (-want +got):\n%s", body, diff)
			}
		})
	}
}

func TestBookingPatch(t *testing.T) {
	t.Parallel()
	day := dayOf(t, "2026-11-27")
	for body, want := range map[string]bookings.Patch{
		`{}`:                                   {},
		`{"notes":null}`:                       {Notes: new("")},
		`{"notes":"","customer":{"phone":""}}`: {Notes: new(""), Customer: records.CustomerFields{Phone: new("")}},
		`{"service_id":1,"agent_id":"any","location_id":2,"start_date":"2026-11-27","start_time":"00:00","duration":1440,"status":"NO_SHOW","customer_id":3,"customer.email":"x","price":0,"send_notification":1}`: {
			ServiceID: new(int64(1)), AgentID: new(int64(0)), LocationID: new(int64(2)), StartDate: &day, StartTime: new(session.Minutes(0)), Duration: new(int64(1440)),
			Status: new("no_show"), CustomerID: new(int64(3)), Customer: records.CustomerFields{Email: new("x")}, Price: new(decimal.Zero), Notify: true,
		},
	} {
		got := BookingPatchFields.Read(bodyOf(t, body)).Patch
		if diff := cmp.Diff(want, got, bookingsEqual); diff != "" || got.Err() != nil {
			t.Errorf("%s: %v (-want +got):\n%s", body, got.Err(), diff)
		}
	}
	empty := BookingPatchFields.Read(bodyOf(t, `{"service_id":"","agent_id":null,"start_date":"","start_time":null,"duration":"","status":" ","price":null,"customer":{"email":null}}`))
	_, fields := errorFields(t, empty.Err())
	want := []string{"agent_id", "customer.email", "duration", "price", "service_id", "start_date", "start_time", "status"}
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(want, got) {
		t.Errorf("may not be empty: %v, want %v", got, want)
	}
}

func TestBulkBookings(t *testing.T) {
	t.Parallel()
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("{},", n), ",") + "]" }
	const bounds = "Must be a list of 1 to 50 bookings"
	for body, want := range map[string]struct {
		n       int
		confirm bool
		wrong   map[string]string
	}{
		`[{}]`:                          {n: 1},
		many(50):                        {n: 50},
		`{"bookings":[{},null,1]}`:      {n: 3},
		`{"bookings":` + many(50) + `}`: {n: 50},
		`{"bookings":[{"send_confirmation":"x"}],"send_confirmation":true}`: {n: 1, confirm: true},
		many(51):                        {wrong: map[string]string{"bookings": bounds}},
		`[]`:                            {wrong: map[string]string{"bookings": bounds}},
		`{"bookings":[]}`:               {wrong: map[string]string{"bookings": bounds}},
		`{}`:                            {wrong: map[string]string{"bookings": required}},
		`{"bookings":null}`:             {wrong: map[string]string{"bookings": required}},
		`{"bookings":{"service_id":1}}`: {wrong: map[string]string{"bookings": "Must be a list"}},
		`{"bookings":"x","send_confirmation":[]}`: {wrong: map[string]string{"bookings": "Must be a list", "send_confirmation": notSingle}},
	} {
		t.Run(body, func(t *testing.T) {
			document, err := ParseBody(typeJSON, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			bookings, err := BulkBookings(document)
			code, fields := errorFields(t, err)
			if diff := cmp.Diff(want.wrong, fields); diff != "" || err != nil && code != domain.CodeInvalidRequest || len(bookings) != want.n {
				t.Errorf("%.60s: %d bookings, %s (-want +got):\n%s", body, len(bookings), code, diff)
			}
			for _, b := range bookings {
				if b.Confirm != want.confirm || b.Has("send_confirmation") {
					t.Errorf("%.60s: confirm %t", body, b.Confirm)
				}
			}
		})
	}
}

func TestBulkRejection(t *testing.T) {
	t.Parallel()
	submitted := json.RawMessage(`{"a":"<b>"}`)
	for name, c := range map[string]struct {
		reason domain.Error
		want   string
	}{
		"the first missing field": {
			domain.Error{Code: domain.CodeInvalidRequest, Message: "Invalid input data", Fields: map[string]string{"start_time": required, "agent_id": required, "service_id": "Must be an integer"}},
			`"error":"Missing required field: agent_id","booking_data":{"a":"<b>"}}`,
		},
		"missing of the customer": {
			domain.Error{Code: domain.CodeInvalidRequest, Message: "Invalid input data", Fields: map[string]string{"customer.email": required}},
			`"error":"Missing required field: customer.email","booking_data":{"a":"<b>"}}`,
		},
		"no slot": {domain.Error{Code: domain.CodeSlotUnavailable, Message: "x"}, `"error":"Time slot not available","booking_data":{"a":"<b>"}}`},
		"others": {
			domain.Error{Code: domain.CodeValidationFailed, Message: "Validation failed", Fields: map[string]string{"price": "May not be negative"}},
			`"error":"price: May not be negative","booking_data":{"a":"<b>"},"details":{"price":"May not be negative"}}`,
		},
		"the first of several": {
			domain.Error{Code: domain.CodeValidationFailed, Message: "Validation failed", Fields: map[string]string{"customer.phone": "b", "customer.email": "a", "price": "c", "status": "d"}},
			`"error":"customer.email: a","booking_data":{"a":"<b>"},"details":{"customer.email":"a","customer.phone":"b","price":"c","status":"d"}}`,
		},
		"no reason of a field": {domain.Error{Message: "The booking platform is not available"}, `"error":"The booking platform is not available","booking_data":{"a":"<b>"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			encoder := json.NewEncoder(&b)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(BulkRejected(3, submitted, &c.reason, WriteNotReported)); err != nil {
				t.Fatal(err)
			}
			if want := `{"index":3,` + c.want + "\n"; b.String() != want {
				t.Errorf("%s: %swant %s", name, b.String(), want)
			}
		})
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	const day = "2026-11-27"
	for want, c := range map[string]domain.SlotConflict{
		`{"requested_time":"2026-11-27 10:00","agent_id":"any","conflicting_booking_id":null,"available_slots":[]}`:         {Day: day, Start: 600},
		`{"requested_time":"2026-11-27 10:00","agent_id":5,"conflicting_booking_id":7,"available_slots":["09:00","23:30"]}`: {Day: day, Start: 600, AgentID: 5, BookingID: 7, Free: []int{540, 1410}},
	} {
		got, err := json.Marshal(Conflict(c))
		if err != nil || string(got) != want {
			t.Errorf("%s, want %s (%v)", got, want, err)
		}
	}
}

// TestDottedCustomerOfANewBooking: the fields of a new customer may be sent one
// by one, under dotted names.
func TestDottedCustomerOfANewBooking(t *testing.T) {
	t.Parallel()
	booking := ReadNewBooking(bodyOf(t, `{"service_id":1,"agent_id":"any","start_date":"2027-02-05","start_time":"10:00",`+
		`"customer.first_name":"A","customer.last_name":"B","customer.email":"a@example.test"}`))
	if err := booking.Err(); err != nil || booking.Customer.Email == nil || *booking.Customer.Email != "a@example.test" {
		t.Errorf("%v, customer %v", err, booking.Customer)
	}
}
