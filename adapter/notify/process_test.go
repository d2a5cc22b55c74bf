package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/bookside/bookside/fixtures/expect"
)

var now = time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC)

// mailTo returns the JSON of an action that sends a mail.
func mailTo(id, to string) string {
	return `{"type":"action","id":"` + id + `","settings":{"status":"active","type":"send_email","settings":{"to_email":"` + to + `","subject":"S {{booking_code}}","content":"Hello {{customer_first_name}}"}}}`
}

// group returns the JSON of a group without a condition.
func group(items ...string) string {
	return `{"type":"group","trigger_condition":false,"items":[` + strings.Join(items, ",") + `],"time_offset":[]}`
}

// branch returns the JSON of a group with a condition around another group.
func branch(property, value, inner string) string {
	return `{"type":"group","trigger_condition":{"property":"` + property + `"},"items":[{"type":"trigger_condition_branch","settings":{"operator":"equal","value":"` +
		value + `"},"items":[` + inner + `]}],"time_offset":[]}`
}

func subject() Subject {
	return Subject{
		Objects: map[string]map[string]string{
			"booking":     {"status": "approved", "service_id": "4", "duration": "60"},
			"old_booking": {"status": "pending", "service_id": "4"},
			"order":       {"order_item_counts": "2"},
		},
		Variables:    messageVariables{text: Variables{"booking_code": "WENLNP6", "customer_first_name": "Rita", "customer_full_name": "Rita Neu", "customer_email": "rita@example.test"}},
		ActivityData: map[string]int{"booking_id": 7},
	}
}

// TestAllConditionsHold: one branch that does not hold stops the whole process.
func TestAllConditionsHold(t *testing.T) {
	t.Parallel()
	good := branch("booking__status", "approved", group(mailTo("pa_1", "a@x.test")))
	bad := branch("booking__status", "pending", group(mailTo("pa_2", "b@x.test")))
	for actions, want := range map[string]int{"[" + good + "]": 1, "[" + good + "," + bad + "]": 0, "[" + bad + "," + good + "]": 0} {
		t.Run(fmt.Sprintf("%d of 2 jobs of %d bytes", want, len(actions)), func(t *testing.T) {
			expect.Equal(t, want, len(Jobs([]Process{{EventType: "e", ActionsJSON: actions}}, "e", subject(), now, now)), "jobs")
		})
	}
	nested := branch("booking__status", "approved", branch("booking__duration", "61", group(mailTo("pa_1", "a@x.test"))))
	expect.Equal(t, 0, len(Jobs([]Process{{EventType: "e", ActionsJSON: "[" + nested + "]"}}, "e", subject(), now, now)), "jobs under a nested condition that fails")
}

// TestNobodyAddsRecipients: a name cannot add a recipient or a header, and
// variables inside a value are not replaced.
func TestNobodyAddsRecipients(t *testing.T) {
	t.Parallel()
	s := subject()
	s.Variables.text["customer_full_name"] = "victim@x.test, \"Bob\" <b@x.test>\r\nBcc: c@x.test; {{customer_email}}"
	s.Variables.text["agent_additional_emails"] = "a@x.test, b@x.test"
	s.Variables.text["booking_code"] = "X\r\nBcc: c@x.test"
	actions := "[" + group(mailTo("pa_1", "{{customer_full_name}} <{{customer_email}}>, {{agent_additional_emails}}, {{unknown}} {{open")) + "]"
	a := Jobs([]Process{{EventType: "e", ActionsJSON: actions}}, "e", s, now, now)[0].Actions[0]
	if want := "victim@x.test  Bob b@x.test  Bcc: c@x.test  {{customer_email}} <rita@example.test>, a@x.test, b@x.test, {{unknown}} {{open"; a.To != want {
		t.Errorf("to %q, want %q", a.To, want)
	}
	expect.Equal(t, "S X  Bcc: c@x.test", a.Subject, "subject")
}
