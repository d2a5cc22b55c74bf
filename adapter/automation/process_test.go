package automation

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
)

// TestFormatDate compares with PHP's own date(); testdata/dates.json holds
// time, zone, format and PHP 8.2's result.
func TestFormatDate(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/dates.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][4]string
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		zone, err := time.LoadLocation(row[1])
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.ParseInLocation(time.DateTime, row[0], zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatDate(at, row[2]); got != row[3] {
			t.Errorf("%s %s as %q: %q, want %q", row[0], row[1], row[2], got, row[3])
		}
	}
}

func TestEncodePHP(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":        `"plain"`,
		"a/b <b>&'":    `"a\/b <b>&'"`,
		"Zoë \u2028":   `"Zo\u00eb \u2028"`,
		"😀":            `"\ud83d\ude00"`,
		"\"\\\n\t":     `"\"\\\n\t"`,
		"\xff invalid": `"\ufffd invalid"`,
	} {
		t.Run(in, func(t *testing.T) {
			got, err := EncodePHP(in)
			if err != nil || got != want {
				t.Errorf("%q: %s (%v), want %s", in, got, err, want)
			}
		})
	}
	if _, err := EncodePHP(func() {}); err == nil {
		t.Error("a function became JSON")
	}
}

var now = time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC)

// mailTo returns the JSON of an action that sends a mail.
func mailTo(id, to string) string {
	return `{"type":"action","id":"` + id + `","settings":{"status":"active","type":"send_email","settings":{"to_email":"` + to + `","subject":"S {{booking_code}}","content":"Hello {{customer_first_name}}"}}}`
}

// group returns the JSON of a group without a condition.
func group(offset string, items ...string) string {
	return `{"type":"group","trigger_condition":false,"items":[` + strings.Join(items, ",") + `],"time_offset":` + offset + `}`
}

// branch returns the JSON of a group with a condition around another group.
func branch(property, operator, value, inner string) string {
	return `{"type":"group","trigger_condition":{"property":"` + property + `"},"items":[{"type":"trigger_condition_branch","settings":{"operator":"` +
		operator + `","value":"` + value + `"},"items":[` + inner + `]}],"time_offset":[]}`
}

func subject() Subject {
	return Subject{
		Objects: map[string]map[string]string{
			"booking":     {"status": "approved", "service_id": "4", "duration": "60"},
			"old_booking": {"status": "pending", "service_id": "4"},
			"order":       {"order_item_counts": "2"},
		},
		Variables:    map[string]string{"booking_code": "WENLNP6", "customer_first_name": "Rita", "customer_full_name": "Rita Neu", "customer_email": "rita@example.test"},
		ActivityData: map[string]int{"booking_id": 7},
		At:           now,
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		property, operator, value string
		want                      bool
	}{
		{"booking__status", "equal", "approved", true},
		{"booking__status", "equal", "pending,approved", true},
		{"booking__status", "equal", "pending", false},
		{"booking__status", "not_equal", "pending,cancelled", true},
		{"booking__status", "not_equal", "pending,approved", false},
		{"booking__service_id", "equal", "4.0", true},
		{"booking__duration", "greater_than", "59", true},
		{"booking__duration", "greater_than", "60", false},
		{"booking__duration", "less_than", "61", true},
		{"booking__duration", "less_than", "60", false},
		{"booking__duration", "greater_or_equal", "60", true},
		{"booking__duration", "less_or_equal", "60", true},
		{"booking__duration", "less_or_equal", "59 minutes", false},
		{"old_booking__status", "changed", "", true},
		{"old_booking__service_id", "changed", "", false},
		{"old_booking__service_id", "not_changed", "", false},
		{"order__order_item_counts", "equal", "2", true},
		{"transaction__status", "equal", "succeeded", true}, // not part of the event
		{"old_order__status", "changed", "", true},
		{"nonsense", "equal", "x", true},
		{"booking__status", "sounds_like", "x", true},
	} {
		t.Run(c.property+" "+c.operator+" "+c.value, func(t *testing.T) {
			p := Process{ID: 3, Name: "P", EventType: "booking_updated", ActionsJSON: "[" + branch(c.property, c.operator, c.value, group("[]", mailTo("pa_1", "a@x.test"))) + "]"}
			if got := len(Jobs([]Process{p}, "booking_updated", subject(), now)) == 1; got != c.want {
				t.Errorf("%s %s %q: %t, want %t", c.property, c.operator, c.value, got, c.want)
			}
		})
	}
}

// TestAllConditionsHold: one branch that does not hold stops the whole process.
func TestAllConditionsHold(t *testing.T) {
	t.Parallel()
	good := branch("booking__status", "equal", "approved", group("[]", mailTo("pa_1", "a@x.test")))
	bad := branch("booking__status", "equal", "pending", group("[]", mailTo("pa_2", "b@x.test")))
	for actions, want := range map[string]int{"[" + good + "]": 1, "[" + good + "," + bad + "]": 0, "[" + bad + "," + good + "]": 0} {
		t.Run(fmt.Sprintf("%d of 2 jobs of %d bytes", want, len(actions)), func(t *testing.T) {
			if got := Jobs([]Process{{EventType: "e", ActionsJSON: actions}}, "e", subject(), now); len(got) != want {
				t.Errorf("%d jobs, want %d", len(got), want)
			}
		})
	}
	nested := branch("booking__status", "equal", "approved", branch("booking__duration", "equal", "61", group("[]", mailTo("pa_1", "a@x.test"))))
	if got := Jobs([]Process{{EventType: "e", ActionsJSON: "[" + nested + "]"}}, "e", subject(), now); len(got) != 0 {
		t.Errorf("%d jobs, though an inner condition does not hold", len(got))
	}
}

func TestTimeOffset(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		offset string
		want   string // "" for no job
	}{
		{`[]`, "2026-11-27 09:00:00"},
		{`{"value":"1","unit":"day","before_after":"before"}`, "2026-11-26 09:00:00"},
		{`{"value":2,"unit":"hours","before_after":"after"}`, "2026-11-27 11:00:00"},
		{`{"value":"30","unit":"minute","before_after":"before"}`, "2026-11-27 08:30:00"},
		{`{"value":"1","unit":"week","before_after":"before"}`, ""},
		{`{"value":"1","unit":"month","before_after":"after"}`, "2026-12-27 09:00:00"},
		{`{"value":"","unit":"day","before_after":"before"}`, "2026-11-27 09:00:00"},
		{`"x"`, "2026-11-27 09:00:00"},
	} {
		t.Run(c.offset, func(t *testing.T) {
			s := subject()
			s.At = start
			jobs := Jobs([]Process{{EventType: "booking_start", ActionsJSON: "[" + group(c.offset, mailTo("pa_1", "a@x.test")) + "]"}}, "booking_start", s, now)
			got := ""
			if len(jobs) == 1 {
				got = jobs[0].DueAt.Format(time.DateTime)
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.offset, got, c.want)
			}
		})
	}
}

// TestLateJobs: a job may be up to five minutes late.
func TestLateJobs(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]int{5 * time.Minute: 1, 5*time.Minute + time.Second: 0, -time.Hour: 1} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			s := subject()
			s.At = now.Add(-late)
			if got := Jobs([]Process{{EventType: "e", ActionsJSON: "[" + group("[]", mailTo("pa_1", "a@x.test")) + "]"}}, "e", s, now); len(got) != want {
				t.Errorf("%v late: %d jobs, want %d", late, len(got), want)
			}
		})
	}
}

func TestRendering(t *testing.T) {
	t.Parallel()
	off := strings.Replace(mailTo("pa_2", "off@x.test"), `"active"`, `"disabled"`, 1)
	sms := strings.Replace(mailTo("pa_3", "sms@x.test"), "send_email", "send_sms", 1)
	actions := "[" + group("[]", mailTo("pa_1", "{{customer_full_name}} <{{customer_email}}>"), off, sms) + "]"
	jobs := Jobs([]Process{{ID: 1, Name: "Confirmation", EventType: "booking_created", ActionsJSON: actions}, {EventType: "other", ActionsJSON: actions}},
		"booking_created", subject(), now)
	want := []Job{{
		ProcessID: 1, Name: "Confirmation", EventType: "booking_created", DueAt: now,
		Actions: []Action{{ID: "pa_1", Type: SendEmail, To: "Rita Neu <rita@example.test>", Subject: "S WENLNP6", Content: "Hello Rita", Attachments: []string{}}},
	}}
	if diff := cmp.Diff(want, jobs); diff != "" {
		t.Fatalf("jobs (-want +got):\n%s", diff)
	}
	settings, err := jobs[0].SettingsJSON(subject().ActivityData)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"action_info":{"pa_1":{"type":"send_email"}},"action_data":{"pa_1":{"activity_data":{"booking_id":7},"to":"Rita Neu <rita@example.test>","subject":"S WENLNP6","content":"Hello Rita","attachments":[]}}}`; settings != want {
		t.Errorf("settings %s, want %s", settings, want)
	}
	info, err := jobs[0].InfoJSON()
	if want := `{"name":"Confirmation","event_type":"booking_created"}`; err != nil || info != want {
		t.Errorf("info %s (%v), want %s", info, err, want)
	}
}

// TestNobodyAddsRecipients: a name cannot add a recipient or a header, and
// variables inside a value are not replaced.
func TestNobodyAddsRecipients(t *testing.T) {
	t.Parallel()
	s := subject()
	s.Variables["customer_full_name"] = "victim@x.test, \"Bob\" <b@x.test>\r\nBcc: c@x.test; {{customer_email}}"
	s.Variables["agent_additional_emails"] = "a@x.test, b@x.test"
	s.Variables["booking_code"] = "X\r\nBcc: c@x.test"
	actions := "[" + group("[]", mailTo("pa_1", "{{customer_full_name}} <{{customer_email}}>, {{agent_additional_emails}}, {{unknown}} {{open")) + "]"
	a := Jobs([]Process{{EventType: "e", ActionsJSON: actions}}, "e", s, now)[0].Actions[0]
	if want := "victim@x.test  Bob b@x.test  Bcc: c@x.test  {{customer_email}} <rita@example.test>, a@x.test, b@x.test, {{unknown}} {{open"; a.To != want {
		t.Errorf("to %q, want %q", a.To, want)
	}
	if a.Subject != "S X  Bcc: c@x.test" {
		t.Errorf("subject %q", a.Subject)
	}
}

// TestOddAutomations: an automation that cannot be read does nothing.
func TestOddAutomations(t *testing.T) {
	t.Parallel()
	object := `{"0":` + group("[]", mailTo("pa_1", "a@x.test")) + `}`
	for actions, want := range map[string]int{
		"": 0, "null": 0, "[]": 0, "{}": 0, "7": 0, "[1]": 0, "[[]]": 0, `[{"type":"group","items":{}}]`: 0, `[{"type":"group","items":"x"}]`: 0,
		object: 1, `[{"type":"group","items":{"a":` + mailTo("pa_1", "a@x.test") + `},"time_offset":[]}]`: 1,
		`[{"type":"group","items":[{"type":"action","settings":7}]}]`: 0,
		"[" + group("[]", mailTo("pa_1", "a@x.test")):                 0,
		strings.Repeat(`[{"items":`, 2000):                            0,
	} {
		t.Run(fmt.Sprintf("%.40q", actions), func(t *testing.T) {
			if got := Jobs([]Process{{EventType: "e", ActionsJSON: actions}}, "e", subject(), now); len(got) != want {
				t.Errorf("%.60s: %d jobs, want %d", actions, len(got), want)
			}
		})
	}
}

func FuzzJobs(f *testing.F) {
	f.Add("[" + group(`{"value":"1","unit":"day","before_after":"before"}`, mailTo("pa_1", "{{customer_email}}")) + "]")
	f.Add("[" + branch("booking__status", "equal", "approved", group("[]")) + "]")
	f.Add(`{"a":{"items":[{"type":"action"}]}}`)
	f.Fuzz(func(t *testing.T, actions string) {
		for _, job := range Jobs([]Process{{EventType: "e", ActionsJSON: actions}}, "e", subject(), now) {
			if _, err := job.SettingsJSON(nil); err != nil {
				t.Error(err)
			}
			for _, a := range job.Actions {
				if strings.ContainsAny(a.To+a.Subject, "\r\n") {
					t.Errorf("a header of two lines: %q %q", a.To, a.Subject)
				}
			}
		}
	})
}
