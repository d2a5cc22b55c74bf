package automation_test

import (
	"fmt"
	"time"

	"github.com/bookside/bookside/adapter/automation"
)

// An automation of the site sends a mail to customers whose booking was
// approved.
func ExampleJobs() {
	confirmation := automation.Process{
		ID: 1, Name: "Confirmation", EventType: "booking_created",
		ActionsJSON: `[{"type": "group", "trigger_condition": {"property": "booking__status"}, "items": [
			{"type": "trigger_condition_branch", "settings": {"operator": "equal", "value": "approved"}, "items": [
				{"type": "group", "trigger_condition": false, "time_offset": [], "items": [
					{"type": "action", "id": "pa_1", "settings": {"status": "active", "type": "send_email", "settings": {
						"to_email": "{{customer_email}}", "subject": "Booking {{booking_code}}", "content": "<p>Hello {{customer_first_name}}!</p>"}}}]}]}]}]`,
	}
	subject := automation.Subject{
		Objects: map[string]map[string]string{"booking": {"status": "approved"}},
		Variables: automation.VariablesOf(
			automation.BookingVariables{Code: "KX7R2"},
			automation.CustomerVariables{FirstName: "Jane", Email: "jane@example.com"},
		),
	}
	now := time.Date(2026, time.November, 22, 9, 0, 0, 0, time.UTC)
	for _, job := range automation.Jobs([]automation.Process{confirmation}, "booking_created", subject, now) {
		for _, action := range job.Actions {
			fmt.Println(action.To, "|", action.Subject, "|", action.Content)
		}
	}
	// Output: jane@example.com | Booking KX7R2 | <p>Hello Jane!</p>
}

func ExampleFormatDate() {
	at := time.Date(2026, time.November, 22, 14, 5, 0, 0, time.UTC)
	fmt.Println(automation.FormatDate(at, `l, F jS Y \a\t g:ia`))
	// Output: Sunday, November 22nd 2026 at 2:05pm
}

// Unlike encoding/json, PHP escapes slashes and leaves < and > alone.
func ExampleEncodePHP() {
	text, err := automation.EncodePHP(map[string]string{"url": "https://example.com/<café>"})
	fmt.Println(text, err)
	// Output: {"url":"https:\/\/example.com\/<caf\u00e9>"} <nil>
}

func ExampleBookingStatusLabel() {
	fmt.Println(automation.BookingStatusLabel("no_show", "", nil))
	fmt.Println(automation.BookingStatusLabel("in_progress", "In Progress, Waiting", nil))
	// Output:
	// No Show
	// In Progress
}
