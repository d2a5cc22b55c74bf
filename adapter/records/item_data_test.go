package records

import (
	"encoding/json"
	"testing"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures/expect"
)

// fullItem is an item's data as the plugin's order form writes it.
const fullItem = `{"id":10,"customer_id":"268","agent_id":2,"location_id":1,"service_id":4,"recurrence_id":null,"start_date":"2027-01-07","start_time":840,` +
	`"end_date":"2027-01-07","end_time":900,"status":"approved","buffer_before":0,"buffer_after":15,"duration":60,"generate_recurrent_sequence":[]}`

func TestWithItemData(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stored string
		columns      session.Row
		want         string
	}{
		{"nothing changes", fullItem, nil, fullItem},
		{"numbers, texts and dates", fullItem, session.Row{{Name: "customer_id", Value: int64(12)}, {Name: "agent_id", Value: int64(3)}, {Name: "start_date", Value: "2027-01-08"}, {Name: "start_time", Value: int64(600)}, {Name: "status", Value: "cancelled"}},
			`{"id":10,"customer_id":"12","agent_id":3,"location_id":1,"service_id":4,"recurrence_id":null,"start_date":"2027-01-08","start_time":600,` +
				`"end_date":"2027-01-07","end_time":900,"status":"cancelled","buffer_before":0,"buffer_after":15,"duration":60,"generate_recurrent_sequence":[]}`},
		{"columns that it does not repeat", fullItem, session.Row{{Name: "start_datetime_utc", Value: "2027-01-08 09:00:00"}, {Name: "id", Value: int64(9)}, {Name: "booking_code", Value: "X"}}, fullItem},
		{"values that it has already", fullItem, session.Row{{Name: "status", Value: "approved"}, {Name: "customer_id", Value: int64(268)}}, fullItem},
		{"however it is written", "{ \"id\" : 1 , \"status\" : \"approved\" }\n", session.Row{{Name: "status", Value: "approved"}}, "{ \"id\" : 1 , \"status\" : \"approved\" }\n"},
		{"an add-on's keys", `{"custom_fields":{"cf_a":"\u00e4\/b","n":[1,2.50]},"status":"pending","total_attendees":"2"}`, session.Row{{Name: "status", Value: "approved"}},
			`{"custom_fields":{"cf_a":"\u00e4\/b","n":[1,2.50]},"status":"approved","total_attendees":"2"}`},
		{"a key that PHP escapes", `{"\u00e4\/\"":1,"status":"pending"}`, session.Row{{Name: "status", Value: "approved"}}, `{"\u00e4\/\"":1,"status":"approved"}`},
		{"a status that PHP escapes", `{"status":"pending"}`, session.Row{{Name: "status", Value: "fällig"}}, `{"status":"f\u00e4llig"}`},
		{"only an id", `{"id":10}`, session.Row{{Name: "status", Value: "approved"}}, `{"id":10}`},
		{"a bundle", `{"bundle_id":1}`, session.Row{{Name: "status", Value: "approved"}}, `{"bundle_id":1}`},
		{"a key twice", `{"status":"pending","status":"pending"}`, session.Row{{Name: "status", Value: "approved"}}, `{"status":"approved","status":"approved"}`},
		{"a null", `{"location_id":null}`, session.Row{{Name: "location_id", Value: int64(2)}}, `{"location_id":2}`},
		{"nothing stored", "", session.Row{{Name: "status", Value: "approved"}}, ""},
		{"a list", `["status"]`, session.Row{{Name: "status", Value: "approved"}}, `["status"]`},
		{"no JSON", `{"status":`, session.Row{{Name: "status", Value: "approved"}}, `{"status":`},
		{"more than one object", `{"status":"pending"}{}`, session.Row{{Name: "status", Value: "approved"}}, `{"status":"pending"}{}`},
	} {
		got, err := WithItemData(tt.stored, tt.columns)
		if got != tt.want || err != nil {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tt.name, err, got, tt.want)
		}
	}
}

// FuzzWithItemData: an object keeps its keys and only the given values change;
// anything else is unchanged.
func FuzzWithItemData(f *testing.F) {
	f.Add(fullItem, "approved", int64(3))
	f.Add(`{"status":"a","agent_id":"1","x":{"status":"b"}}`, "ä/\"", int64(-1))
	f.Add(`{"a":1}}`, "", int64(0))
	f.Add("[]", "", int64(0))
	f.Fuzz(func(t *testing.T, stored, status string, agent int64) {
		got, err := WithItemData(stored, session.Row{{Name: "status", Value: status}, {Name: "agent_id", Value: agent}})
		expect.NoError(t, err)
		before, err := ObjectMembers(stored)
		if err != nil {
			expect.Equal(t, stored, got, "became")
			return
		}
		after, err := ObjectMembers(got)
		if err != nil || len(after) != len(before) {
			t.Fatalf("%q became %q: %v", stored, got, err)
		}
		for i, m := range after {
			expect.Equal(t, before[i].Key, m.Key, "key")
			if m.Key != "status" && m.Key != "agent_id" && string(m.Value) != string(before[i].Value) {
				t.Errorf("%s: %s became %s", m.Key, before[i].Value, m.Value)
			}
		}
	})
}

func TestInvalidItemDataIsAnEmptyList(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{fullItem: fullItem, `{}`: `{}`, "": "[]", "null": "[]", `{"a"`: "[]", `"{}"`: "[]"} {
		got, err := json.Marshal(RawObject(stored))
		if string(got) != want || err != nil {
			t.Errorf("%q is shown as %s, %v", stored, got, err)
		}
	}
}

// TestWithMembersKeepsOtherMembers: other members keep their texts and their order.
func TestWithMembersKeepsOtherMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stored, want string }{
		"no text":             {"", `{"limit_total":"5"}`},
		"no rules":            {"{}", `{"limit_total":"5"}`},
		"PHP's empty array":   {"[]", `{"limit_total":"5"}`},
		"cut off":             {`{"limit_total":`, `{"limit_total":"5"}`},
		"in its place":        {`{"a":[1, 2],"limit_total":"1","b":{"c":null}}`, `{"a":[1, 2],"limit_total":"5","b":{"c":null}}`},
		"at the end":          {`{"a":1.50}`, `{"a":1.50,"limit_total":"5"}`},
		"all of its name":     {`{"limit_total":1,"a":2,"limit_total":3}`, `{"limit_total":"5","a":2}`},
		"escapes and accents": {`{"\u00e4":"\u00f6\/","limit_total":1}`, `{"\u00e4":"\u00f6\/","limit_total":"5"}`},
	} {
		got, err := WithMembers(c.stored, []Member{{Key: "limit_total", Value: json.RawMessage(`"5"`)}})
		if err != nil || got != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, err)
		}
	}
}
