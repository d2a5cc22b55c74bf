package notify

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures/expect"
)

// The automations of the recorded site.
var (
	confirmationMail = Process{1, "Confirmation mail", "booking_created", recordedActions("pa_Aa1111", "Confirmed", "Hello {{customer_first_name}}")}
	changeMail       = Process{2, "Change mail", "booking_updated", recordedActions("pa_Bb2222", "Changed", "Hello {{customer_first_name}}, now {{booking_status}}")}
)

func recordedActions(id, subject, content string) string {
	return `[{"type":"group","trigger_condition":false,"items":[{"type":"action","id":"` + id + `","settings":{"status":"active","type":"send_email",` +
		`"settings":{"to_email":"{{customer_full_name}} <{{customer_email}}>","subject":"` + subject + `","content":"` + content + `"}}}],"time_offset":[]}]`
}

// bookingData returns the activity_data of a booking: numbers for a record that is new or was posted to the
// plugin, texts for one that it loaded.
func bookingData(booking, agent, service, customer any) object {
	return object{{"booking_id", booking}, {"agent_id", agent}, {"service_id", service}, {"customer_id", customer}}
}

// TestRecordedJobs compares with rows that LatePoint 5.6.5 wrote; the ids of new records are filled in.
func TestRecordedJobs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		process        Process
		customer       records.BookingCustomer
		status         string
		activityData   object
		settings, info string
	}{
		{
			"new customer", confirmationMail, records.BookingCustomer{FirstName: "Rita", LastName: "Neu", Email: "rita.neu@example.test"}, "approved",
			bookingData(2001, 5, 4, 301),
			`{"action_info":{"pa_Aa1111":{"type":"send_email"}},"action_data":{"pa_Aa1111":{"activity_data":{"booking_id":2001,"agent_id":5,"service_id":4,"customer_id":301},"to":"Rita Neu <rita.neu@example.test>","subject":"Confirmed","content":"Hello Rita","attachments":[]}}}`,
			`{"name":"Confirmation mail","event_type":"booking_created"}`,
		},
		{
			"existing customer", confirmationMail, records.BookingCustomer{FirstName: "Zoë", LastName: "Braun", Email: "customer9@example.test"}, "approved",
			bookingData(2001, 5, 4, "9"),
			`{"action_info":{"pa_Aa1111":{"type":"send_email"}},"action_data":{"pa_Aa1111":{"activity_data":{"booking_id":2001,"agent_id":5,"service_id":4,"customer_id":"9"},"to":"Zo\u00eb Braun <customer9@example.test>","subject":"Confirmed","content":"Hello Zo\u00eb","attachments":[]}}}`,
			`{"name":"Confirmation mail","event_type":"booking_created"}`,
		},
		{
			"special names", confirmationMail, records.BookingCustomer{FirstName: "Ríta x", LastName: "O'Neu & Söhne", Email: "rita.neu@example.test"}, "approved",
			bookingData(2001, 5, 4, 301),
			`{"action_info":{"pa_Aa1111":{"type":"send_email"}},"action_data":{"pa_Aa1111":{"activity_data":{"booking_id":2001,"agent_id":5,"service_id":4,"customer_id":301},"to":"R\u00edta x O'Neu & S\u00f6hne <rita.neu@example.test>","subject":"Confirmed","content":"Hello R\u00edta x","attachments":[]}}}`,
			`{"name":"Confirmation mail","event_type":"booking_created"}`,
		},
		{
			"status pending to cancelled", changeMail, records.BookingCustomer{FirstName: "Ben", LastName: "van der Berg", Email: "customer137@example.test"}, "cancelled",
			bookingData("16", "4", "4", "137"),
			`{"action_info":{"pa_Bb2222":{"type":"send_email"}},"action_data":{"pa_Bb2222":{"activity_data":{"booking_id":"16","agent_id":"4","service_id":"4","customer_id":"137"},"to":"Ben van der Berg <customer137@example.test>","subject":"Changed","content":"Hello Ben, now Cancelled","attachments":[]}}}`,
			`{"name":"Change mail","event_type":"booking_updated"}`,
		},
		{
			"status approved to no_show", changeMail, records.BookingCustomer{FirstName: "Björn", LastName: "Özdemir", Email: "customer2@example.test"}, "no_show",
			bookingData("7", "3", "5", "2"),
			`{"action_info":{"pa_Bb2222":{"type":"send_email"}},"action_data":{"pa_Bb2222":{"activity_data":{"booking_id":"7","agent_id":"3","service_id":"5","customer_id":"2"},"to":"Bj\u00f6rn \u00d6zdemir <customer2@example.test>","subject":"Changed","content":"Hello Bj\u00f6rn, now No Show","attachments":[]}}}`,
			`{"name":"Change mail","event_type":"booking_updated"}`,
		},
		{
			"reschedule", changeMail, records.BookingCustomer{FirstName: "Ben", LastName: "Koch", Email: "customer268@example.test"}, "approved",
			bookingData("10", "2", "4", "268"),
			`{"action_info":{"pa_Bb2222":{"type":"send_email"}},"action_data":{"pa_Bb2222":{"activity_data":{"booking_id":"10","agent_id":"2","service_id":"4","customer_id":"268"},"to":"Ben Koch <customer268@example.test>","subject":"Changed","content":"Hello Ben, now Approved","attachments":[]}}}`,
			`{"name":"Change mail","event_type":"booking_updated"}`,
		},
		{
			"customer changed in the order form", changeMail, records.BookingCustomer{FirstName: "Søren", LastName: "Weber", Email: "customer12@example.test"}, "approved",
			bookingData("10", 2, 4, "12"),
			`{"action_info":{"pa_Bb2222":{"type":"send_email"}},"action_data":{"pa_Bb2222":{"activity_data":{"booking_id":"10","agent_id":2,"service_id":4,"customer_id":"12"},"to":"S\u00f8ren Weber <customer12@example.test>","subject":"Changed","content":"Hello S\u00f8ren, now Approved","attachments":[]}}}`,
			`{"name":"Change mail","event_type":"booking_updated"}`,
		},
	} {
		variables := customerVariables(tc.customer, "")
		maps.Copy(variables, bookingVariables(session.WriteSettings{}, BookingSnapshot{Booking: records.Booking{Status: tc.status}}, ""))
		subject := Subject{Variables: messageVariables{text: variables}, ActivityData: tc.activityData}
		jobs := Jobs([]Process{confirmationMail, changeMail}, tc.process.EventType, subject, now, now)
		if len(jobs) != 1 {
			t.Fatalf("%s: Jobs = %v, want one", tc.name, jobs)
		}
		job := jobs[0]
		if job.ProcessID != tc.process.ID || !job.DueAt.Equal(now) {
			t.Errorf("%s: job of process %d due at %s, want %d at %s", tc.name, job.ProcessID, job.DueAt, tc.process.ID, now)
		}
		settings, err := job.SettingsJSON()
		if diff := cmp.Diff(tc.settings, settings); diff != "" || err != nil {
			t.Errorf("%s: SettingsJSON: %v (-want +got):\n%s", tc.name, err, diff)
		}
		info, err := job.InfoJSON()
		if diff := cmp.Diff(tc.info, info); diff != "" || err != nil {
			t.Errorf("%s: InfoJSON: %v (-want +got):\n%s", tc.name, err, diff)
		}
	}
}

func TestJobsDue(t *testing.T) {
	t.Parallel()
	reminder := func(offset string) Process {
		return Process{3, "Reminder", "booking_start", `[{"type":"group","items":[` + mailAction + `],"time_offset":` + offset + `}]`}
	}
	const dayBefore = `{"value":"1","unit":"day","before_after":"before"}`
	for _, tc := range []struct {
		name   string
		offset string
		at     time.Time
		want   []time.Time
	}{
		{"no offset", `[]`, now.Add(time.Hour), []time.Time{now.Add(time.Hour)}},
		{"in another zone", `[]`, now.In(time.FixedZone("+05:30", 19800)), []time.Time{now}},
		{"before, ahead", dayBefore, now.AddDate(0, 0, 3), []time.Time{now.AddDate(0, 0, 2)}},
		{"before, now", dayBefore, now.AddDate(0, 0, 1), []time.Time{now}},
		{"before, five minutes ago", dayBefore, now.AddDate(0, 0, 1).Add(-lateness), []time.Time{now.Add(-lateness)}},
		{"before, longer ago", dayBefore, now.AddDate(0, 0, 1).Add(-lateness - time.Second), nil},
		{"after", `{"value":2,"unit":"hour","before_after":"after"}`, now, []time.Time{now.Add(2 * time.Hour)}},
		{"unknown instant", `[]`, time.Time{}, []time.Time{now}},
		{"before an unknown instant", dayBefore, time.Time{}, nil},
		{"after an unknown instant", `{"value":2,"unit":"week","before_after":"after"}`, time.Time{}, []time.Time{now.AddDate(0, 0, 14)}},
	} {
		var got []time.Time
		for _, job := range Jobs([]Process{reminder(tc.offset)}, "booking_start", Subject{}, tc.at, now) {
			got = append(got, job.DueAt)
			if job.DueAt.Location() != time.UTC {
				t.Errorf("%s: due at %s, want UTC", tc.name, job.DueAt)
			}
		}
		expect.Equal(t, tc.want, got, tc.name, ": due")
	}
}

func TestJobsOfProcesses(t *testing.T) {
	t.Parallel()
	const ifApproved = `[{"type":"group","trigger_condition":{"property":"booking__status"},"items":[{"type":"trigger_condition_branch",` +
		`"settings":{"operator":"equal","value":"approved"},"items":[{"type":"group","trigger_condition":false,"items":[` + mailAction + `]}]}]}]`
	const whatsApp = `[{"type":"action","id":"w","settings":{"status":"active","type":"send_whatsapp","settings":{"to_phone":"1"}}}]`
	processes := []Process{
		{ID: 1, EventType: "booking_created", ActionsJSON: `[{"type":"group","items":[`},
		{ID: 2, EventType: "booking_created", ActionsJSON: `[` + mailAction + `]`},
		{ID: 3, EventType: "booking_start", ActionsJSON: `[` + mailAction + `]`},
		{ID: 4, EventType: "booking_created", ActionsJSON: ""},
		{ID: 5, EventType: "booking_created", ActionsJSON: `[]`},
		{ID: 6, EventType: "booking_created", ActionsJSON: ifApproved},
		{ID: 7, EventType: "booking_created", ActionsJSON: whatsApp},
	}
	for status, want := range map[string][]int64{"approved": {2, 6}, "pending": {2}} {
		var got []int64
		for _, job := range Jobs(processes, "booking_created", Subject{Objects: map[string]map[string]string{"booking": {"status": status}}}, now, now) {
			got = append(got, job.ProcessID)
		}
		expect.Equal(t, want, got, "processes for a booking that is ", status)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	const actions = `[{"type":"group","items":[
		{"type":"action","id":"pa_Z","settings":{"type":"send_email","settings":{"to_email":"{{agent_full_name}} <{{agent_email}}>, {{agent_additional_emails}}",
			"subject":"{{customer_full_name}}","content":"<p>{{customer_notes}}</p>{{unknown}}","attachments":"12, 7,"}}},
		{"type":"action","id":"pa_M","settings":{"type":"send_sms","settings":{"to_phone":"{{agent_additional_phones}}","content":"{{customer_full_name}}"}}},
		{"type":"action","id":"pa_A","settings":{"type":"trigger_webhook","settings":{"url":"https://hook.example/"}}},
		{"type":"action","id":"pa_W","settings":{"type":"send_whatsapp","settings":{"to_phone":"1"}}},
		{"type":"action","id":"pa_N","settings":{"type":"send_email","settings":{"to_email":"{{customer_email}}","subject":"to nobody"}}},
		{"type":"action","id":"pa_M","settings":{"type":"send_sms","settings":{"to_phone":2,"content":3}}}]}]`
	variables := customerVariables(records.BookingCustomer{FirstName: "Eve", LastName: "<b>\"x\"\r\nBcc: a@b.c"}, "{{agent_phone}}\n<i>")
	maps.Copy(variables, agentVariables(agent{firstName: "Ann", lastName: "Lee, <spam@b.c>", email: "ann@b.c", phone: "5", additionalEmails: "x@b.c, y@b.c", additionalPhones: "1, 2"}))
	subject := Subject{Variables: messageVariables{text: variables}, ActivityData: object{{"customer_id", 9}}}
	jobs := Jobs([]Process{{ID: 1, EventType: "customer_created", ActionsJSON: actions}}, "customer_created", subject, now, now)
	if len(jobs) != 1 {
		t.Fatalf("Jobs = %v, want one", jobs)
	}
	want := []Action{
		{ID: "pa_Z", Type: SendEmail, To: "Ann Lee  spam@b.c <ann@b.c>, x@b.c, y@b.c", Subject: `Eve <b>"x"  Bcc: a@b.c`,
			Content: "<p>{{agent_phone}}\n<i></p>{{unknown}}", Attachments: []string{"12", "7"}},
		{ID: "pa_M", Type: SendSMS, To: "1, 2", Content: "Eve <b>\"x\"\r\nBcc: a@b.c", Attachments: []string{}},
		{ID: "pa_M", Type: SendSMS, To: "2", Content: "3", Attachments: []string{}},
	}
	expect.Equal(t, want, jobs[0].Actions, "actions")
	settings, err := jobs[0].SettingsJSON()
	wantSettings := `{"action_info":{"pa_Z":{"type":"send_email"},"pa_M":{"type":"send_sms"}},"action_data":{` +
		`"pa_Z":{"activity_data":{"customer_id":9},"to":"Ann Lee  spam@b.c <ann@b.c>, x@b.c, y@b.c","subject":"Eve <b>\"x\"  Bcc: a@b.c","content":"<p>{{agent_phone}}\n<i><\/p>{{unknown}}","attachments":["12","7"]},` +
		`"pa_M":{"activity_data":{"customer_id":9},"to":"2","content":"3"}}}`
	if diff := cmp.Diff(wantSettings, settings); diff != "" || err != nil {
		t.Errorf("SettingsJSON: %v (-want +got):\n%s", err, diff)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	v := Variables{"customer_email": "a@b.c", "customer_notes": "{{customer_email}}", "empty": ""}
	fill := v.replacer()
	for template, want := range map[string]string{
		"":                                "",
		"{{customer_email}}":              "a@b.c",
		"{{customer_email}}{{empty}}|":    "a@b.c|",
		"{{{customer_email}}}":            "{a@b.c}",
		"{{ customer_email }}":            "{{ customer_email }}",
		"{{customer_notes}}":              "{{customer_email}}",
		"{{nobody}} {{customer_email}} ä": "{{nobody}} a@b.c ä",
		"{{customer_email":                "{{customer_email",
		"{{{{{{":                          "{{{{{{",
		"{{Customer_Email}}":              "{{Customer_Email}}",
	} {
		expect.Equal(t, want, fill.Replace(template), template)
	}
}

func FuzzSubjects(f *testing.F) {
	f.Add(confirmationMail.ActionsJSON, "Rita\r\nBcc: x@y.z", "rita@example.test")
	f.Add(`{"0":{"type":"action","id":1,"settings":{"type":"send_sms","settings":{"to_phone":[],"content":{}}},"items":{"a":`+mailAction+`}}}`, "", "")
	f.Add(`[{"type":"group","trigger_condition":{"property":7},"items":[{"type":"trigger_condition_branch","settings":[],"items":null}]}]`, "x", "y")
	f.Add(strings.Repeat(`[{"items":`, 600), "x", "y")
	f.Fuzz(func(t *testing.T, actionsJSON, name, address string) {
		subject := Subject{
			Objects:      map[string]map[string]string{"booking": {"status": name}, "old_booking": {"status": address}},
			Variables:    messageVariables{text: customerVariables(records.BookingCustomer{FirstName: name, Email: address}, "")},
			ActivityData: bookingData(1, 2, 3, 4),
		}
		jobs := Jobs([]Process{{EventType: "booking_updated", ActionsJSON: actionsJSON}}, "booking_updated", subject, now, now)
		for _, job := range jobs {
			if len(job.Actions) == 0 || job.DueAt.Before(now.Add(-lateness)) {
				t.Errorf("job %+v, want actions that are not too late", job)
			}
			for _, a := range job.Actions {
				if strings.ContainsFunc(a.To+a.Subject, unicode.IsControl) {
					t.Errorf("head of %+v has control characters", a)
				}
			}
			settings, err := job.SettingsJSON()
			if err != nil || !json.Valid([]byte(settings)) {
				t.Errorf("SettingsJSON = %s, %v", settings, err)
			}
		}
	})
}
