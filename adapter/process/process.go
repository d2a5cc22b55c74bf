package process

import (
	"time"
)

// Process is an automation of the site: a row of processes that is active.
type Process struct {
	ID          int64
	Name        string
	EventType   string // booking_created and the like
	ActionsJSON string // as stored; "" where the column is NULL
}

// Subject is what an event is about.
type Subject struct {
	// Objects are the values that conditions look at, by object and attribute:
	// Objects["booking"]["status"]. NULL is "". old_booking and its like are there
	// for updates only, beside the object as it is now.
	Objects map[string]map[string]string
	// Variables fill in templates.
	Variables Variables
	// ActivityData is what the history will say a message was about: an object
	// with the members booking_id, agent_id, service_id, customer_id for a
	// booking, order_id and customer_id for an order.
	ActivityData any
	// Data is what webhooks post: the record as the history describes it. Without
	// it webhooks are left out.
	Data any
	// At is the instant of the event: the creation, the change, the start or the
	// end. The zero time stands for now, as PHP reads NULL.
	At time.Time
}

// Job is what is to be done because of an event.
type Job struct {
	ProcessID int64
	Name      string // of the process
	EventType string
	DueAt     time.Time // in UTC; not after now for what is done at once
	Actions   []Action  // at least one
}

// Action is one rendered action of a job.
type Action struct {
	ID   string // of the action in its process
	Type string // SendEmail, SendSMS or TriggerWebhook
	// To are the recipients of a mail, such as Jane Doe <jane@example.com>,
	// office@example.com, or the phone number of a text message. Like Subject it
	// is of one line.
	To, Subject string
	Content     string   // HTML of a mail, or the text of a message
	Attachments []string // ids of the site's media, of a mail; never nil
	URL         string   // of a webhook, escaped for HTML as the plugin keeps it
	Data        any      // what a webhook posts
}

// The types of actions that are rendered. Others, WhatsApp templates and those of
// further add-ons, need what only the site's PHP knows, and are left out.
const (
	SendEmail      = "send_email"
	SendSMS        = "send_sms"
	TriggerWebhook = "trigger_webhook"
)

// lateness is how late a job may be and still be done.
const lateness = 5 * time.Minute

// Jobs returns what the processes of an event's type do, in the order of processes
// (OsProcessJobsHelper::create_jobs_for_process, LatePoint 5.6.5). Left out are
// processes whose conditions do not hold, that have nothing to do, that cannot be
// read, and what was due more than five minutes before now.
//
// It cannot know which jobs of a process and record wait already: the plugin adds
// none to those.
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
	actions := subject.render(a.actions)
	return Job{ProcessID: p.ID, Name: p.Name, EventType: p.EventType, DueAt: due, Actions: actions}, len(actions) > 0
}
