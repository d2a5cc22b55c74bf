package compat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/slots"
)

func TestParseTimeOfDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]availability.Minutes{
		"00:00": 0, "0:00": 0, "9:05": 545, "09:05": 545, "14:30": 870, "23:59": 1439,
		"0": 0, "7": 7, "870": 870, "1439": 1439, "0870": 870, "00000000000000000000870": 870,
	} {
		t.Run(text, func(t *testing.T) {
			if got, ok := parseTimeOfDay(text); !ok || got != want {
				t.Errorf("%q is %d, %t, want %d", text, got, ok, want)
			}
		})
	}
	for _, text := range []string{
		"", ":", "9:", ":30", "09:5", "09:005", "009:05", "24:00", "23:60", "1440", "-1", "+1", "-0", "9.5", "09:05:00", "9h", "09 05", " 9:05",
		"+9:05", "9:+5", "0x10", "1e2", "1_000", "٠٩:٠٥", "65536", "99999999999999999999", "\x00",
	} {
		if got, ok := parseTimeOfDay(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestAvailabilityRequest(t *testing.T) {
	t.Parallel()
	day := func(text string) availability.Day {
		d, ok := availability.ParseDay(text)
		if !ok {
			t.Fatalf("no day: %s", text)
		}
		return d
	}
	ninety := int64(90)
	for query, want := range map[string]AvailabilityRequest{
		"service_id=3&agent_id=2&date=2026-11-24": {Query: slots.Query{
			ServiceID: 3, AgentID: new(int64(2)), From: day("2026-11-24"), To: day("2026-11-24"),
		}},
		"service_id=3&agent_id=any&location_id=4&date=2026-11-24&duration=90&total_attendees=5&explain=on": {Explain: true, Query: slots.Query{
			ServiceID: 3, AgentID: new(int64), LocationID: new(int64(4)), From: day("2026-11-24"), To: day("2026-11-24"), Attendees: new(int64(5)), Duration: &ninety,
		}},
		"service_id=3&agent_id=-1&location_id=ANY&date=2026-11-24&date_to=2027-01-24": {ManyDays: true, Query: slots.Query{
			ServiceID: 3, AgentID: new(int64), LocationID: new(int64), From: day("2026-11-24"), To: day("2027-01-24"),
		}},
		"booking_id=17&service_id=0&agent_id=0&date=2026-11-24": {Query: slots.Query{BookingID: 17, From: day("2026-11-24"), To: day("2026-11-24")}},
	} {
		got, err := View{}.AvailabilityRequest(ParseQuery(query))
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	for _, query := range []string{"", "booking_id=0&date=2026-11-24", "booking_id=17", "service_id=3&agent_id=2&date=2026-11-24&date_to=2027-01-25", "service_id=3&agent_id=2&date=2026-11-24&date_to=2026-11-23"} {
		if _, err := (View{}).AvailabilityRequest(ParseQuery(query)); domain.CodeOf(err) != domain.CodeInvalidRequest {
			t.Errorf("%q: %v", query, err)
		}
	}
}

func TestAgentSlotQuery(t *testing.T) {
	t.Parallel()
	got, err := View{}.AgentSlotQuery(ParseQuery(""))
	if diff := cmp.Diff(slots.AgentQuery{Limit: 50}, got); err != nil || diff != "" {
		t.Errorf("nothing sent: %v (-want +got):\n%s", err, diff)
	}
	day, _ := availability.ParseDay("2026-11-24")
	thirty := int64(30)
	want := slots.AgentQuery{ServiceID: 3, LocationID: new(int64(1)), At: &availability.Moment{Day: day, Minutes: 870}, Duration: &thirty, Limit: 7}
	got, err = View{}.AgentSlotQuery(ParseQuery("service_id=3&location_id=1&date=2026-11-24&start_time=14:30&duration=30&limit=7"))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("everything sent: %v (-want +got):\n%s", err, diff)
	}
}

// grid is a day of an agent with a start every 15 minutes, every third of which
// is booked.
func grid() (AvailabilityRequest, slots.Grid) {
	day, _ := availability.ParseDay("2026-11-24")
	duration := int64(60)
	query := slots.Query{ServiceID: 3, AgentID: new(int64(2)), From: day, To: day, Duration: &duration}
	d := slots.Day{Day: day}
	for start := availability.Minutes(8 * 60); start <= 17*60; start += 15 {
		slot := availability.Slot{Start: start, Capacity: 1}
		if start%45 == 0 {
			slot = availability.Slot{Start: start, Reason: availability.Booked, Booking: 17}
		}
		d.Slots = append(d.Slots, slot)
	}
	return AvailabilityRequest{Query: query}, slots.Grid{Query: query, Days: []slots.Day{d}}
}

func TestAvailability(t *testing.T) {
	t.Parallel()
	asked, answer := grid()
	answer.Days[0].Slots = []availability.Slot{
		{Start: 540, Capacity: 2}, {Start: 600, Reason: availability.Booked, Booking: 17}, {Start: 660, Capacity: 0, Reason: availability.Past},
		{Start: 1380, Capacity: 1}, {Start: 1410, Capacity: 1},
	}
	asked.Explain, answer.LocationID = true, nil
	want := `{"success":true,"status":"success","data":{"date":"2026-11-24","timezone":"UTC","service_id":3,"agent_id":2,"location_id":"any","duration":60,` +
		`"available_slots":["09:00","23:00","23:30"],"slots":[{"start_time":"09:00","end_time":"10:00","available_capacity":2},` +
		`{"start_time":"23:00","end_time":"24:00","available_capacity":1},{"start_time":"23:30","end_time":"00:30","available_capacity":1}],` +
		`"explain":{"missing":null,"message":null,"unavailable":[{"start_time":"10:00","reason":"booked","message":"Another booking overlaps.","booking_id":17},` +
		`{"start_time":"11:00","reason":"past","message":"It is in the past."}]}}}`
	wantJSON(t, want, View{}.Availability(asked, answer, "UTC"))

	answer.Extensions = []string{"Lunch", "Holidays"}
	answer.Days[0].Slots[2].Reason = availability.NotOffered
	wantJSON(t, strings.Replace(want, `"reason":"past","message":"It is in the past."`, `"reason":"extension","message":"An extension of the site does not offer it.","extension":"Lunch, Holidays"`, 1), View{}.Availability(asked, answer, "UTC"))

	asked.Explain, asked.ManyDays, answer.AgentID = false, true, nil
	answer.Days = append([]slots.Day{{Day: answer.From - 1}}, answer.Days...)
	answer.From--
	want = `{"success":true,"status":"success","data":{"date":"2026-11-23","date_to":"2026-11-24","timezone":"UTC","service_id":3,"agent_id":"any","location_id":"any",` +
		`"duration":60,"days":{"2026-11-23":[],"2026-11-24":["09:00","23:00","23:30"]}}}`
	wantJSON(t, want, View{}.Availability(asked, answer, "UTC"))

	asked, answer = grid()
	asked.Explain, answer.Missing, answer.Days[0].Slots = true, slots.MissingHours, nil
	want = `{"success":true,"status":"success","data":{"date":"2026-11-24","timezone":"UTC","service_id":3,"agent_id":2,"location_id":"any","duration":60,` +
		`"available_slots":[],"slots":[],"explain":{"missing":"working_hours","message":"Nobody works on that day.","unavailable":[]}}}`
	wantJSON(t, want, View{}.Availability(asked, answer, "UTC"))
}

func wantJSON(t *testing.T, want string, body any) {
	t.Helper()
	got, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}
