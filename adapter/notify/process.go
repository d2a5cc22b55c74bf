package notify

import (
	"time"
)

// Process is an active automation of the site: a row of processes.
type Process struct {
	ID          int64
	Name        string
	EventType   string // such as booking_created
	ActionsJSON string // as stored; "" if the column is NULL
}

// Subject is everything about an event that automations can use.
type Subject struct {
	// Objects are the values that conditions compare, by object and attribute:
	// Objects["booking"]["status"]. NULL is "". For updates only, old_booking and the like exist in
	// addition to the present object.
	Objects map[string]map[string]string
	// Variables are the values of template variables.
	Variables Variables
	// HTML are the variables that are HTML in the content of mails: HTMLOf of the same records.
	HTML Variables
	// ActivityData says what a message is about in the activity log: an object with the members booking_id,
	// agent_id, service_id and customer_id for a booking, or order_id and customer_id for an order.
	ActivityData any
	// Data is what webhooks post: the record as the activity log describes it. Without
	// it, webhooks are left out.
	Data any
	// At is the instant of the event: the creation, the update, the start or the end. The zero time stands
	// for now, as PHP reads NULL.
	At time.Time
}

// Job is the work that a process does because of an event.
type Job struct {
	ProcessID int64
	Name      string // of the process
	EventType string
	DueAt     time.Time // in UTC; not after now if the job is due at once
	Actions   []Action  // at least one
}

// Action is an action of a job, with its templates rendered.
type Action struct {
	ID   string // of the action within its process
	Type string // SendEmail, SendSMS or TriggerWebhook
	// To are the recipients of a mail, such as Jane Doe <jane@example.com>,
	// office@example.com, or the phone number of a text message. Like Subject, it
	// is a single line.
	To, Subject string
	Content     string   // HTML of a mail, or the text of a message
	Attachments []string // ids of media of the site, for a mail; never nil
	URL         string   // of a webhook, escaped for HTML as the plugin stores it
	Data        any      // posted by a webhook
}

// The action types that are rendered. Others, such as WhatsApp templates and those of
// add-ons, need data that only the site's PHP has, and are left out.
const (
	SendEmail      = "send_email"
	SendSMS        = "send_sms"
	TriggerWebhook = "trigger_webhook"
)

// lateness is how late a job may be and still run.
const lateness = 5 * time.Minute

// Jobs returns the jobs of the processes for an event type, in the order of processes
// (OsProcessJobsHelper::create_jobs_for_process, LatePoint 5.6.5). It leaves out processes whose conditions
// do not hold, that have no actions or that cannot be parsed, and jobs that were due more than five minutes
// ago.
//
// It does not know whether a job is already scheduled for a process and record; in that case the plugin
// adds none.
func Jobs(processes []Process, eventType string, subject Subject, now time.Time) []Job {
	var jobs []Job
	for _, p := range processes {
		if p.EventType != eventType {
			continue
		}
		if job, ok := p.job(subject, now); ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// lastInstant is the last instant that a database column can hold.
var lastInstant = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

func (p Process) job(subject Subject, now time.Time) (Job, bool) {
	a, ok := parseAutomation(p.ActionsJSON)
	if !ok || !subject.satisfies(a.conditions) {
		return Job{}, false
	}
	at := subject.At
	if at.IsZero() {
		at = now
	}
	due := a.offset.apply(at.UTC())
	if due.Add(lateness).Before(now) {
		return Job{}, false
	}
	if due.After(lastInstant) {
		due = lastInstant
	}
	actions := subject.render(a.actions)
	return Job{ProcessID: p.ID, Name: p.Name, EventType: p.EventType, DueAt: due, Actions: actions}, len(actions) > 0
}
