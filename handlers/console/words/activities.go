package words

import (
	"encoding/json"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/handlers/console/page"
)

// activities are the codes of LatePoint's activity log that bookings have.
var activities = map[string]page.Text{
	"booking_created": "Booking created", "booking_updated": "Booking updated", "booking_deleted": "Booking deleted", "booking_change_status": "Status changed",
	"booking_cancellation_reason": "Reason for the cancellation", "booking_reschedule_reason": "Reason for rescheduling",
	"email_sent": "E-mail sent", "sms_sent": "SMS sent", "http_request": "Web address called", "process_job_run": "Workflow run", "error": "Error",
}

// Activity names an entry of the activity log. Codes of extensions are shown as they are.
func Activity(code string) page.Phrase {
	if text, known := activities[code]; known {
		return text
	}
	return page.Name(domain.Capitalize(strings.ReplaceAll(code, "_", " ")))
}

// ActivityBy says who did what the activity log tells.
func ActivityBy(a records.Activity) g.Node {
	switch a.By {
	case "admin", "custom":
		return page.Textf("WordPress user %d", a.ByID)
	case "agent":
		return page.Textf("agent %d", a.ByID)
	case "customer":
		return page.Text("the customer")
	default:
		return page.Text("nobody who was logged in")
	}
}

// ActivityDetails shows a description that is a sentence, and of a message to whom it went and its subject. Other
// descriptions are whole records.
func ActivityDetails(a records.Activity) g.Node {
	if !strings.HasPrefix(a.Description, "{") {
		return g.Text(a.Description)
	}
	var message struct {
		To    string `json:"to"`
		Extra struct {
			Subject string `json:"subject"`
		} `json:"extra_data"`
	}
	if err := json.Unmarshal([]byte(a.Description), &message); err != nil || message.To == "" {
		return nil
	}
	if message.Extra.Subject == "" {
		return g.Text(message.To)
	}
	return page.Textf("%s: %s", message.To, message.Extra.Subject)
}
