package notify

import (
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// Job is the work that a process does because of an event.
type Job struct {
	ProcessID    int64
	Name         string // of the process
	EventType    string
	DueAt        time.Time // in UTC; not after now if the job is due at once
	Actions      []Action  // at least one
	ActivityData any       // of the Subject
}

// Action is an action of a job, with its templates rendered.
type Action struct {
	ID   string // of the action within its process
	Type string // SendEmail or SendSMS
	// To are the recipients of a mail, such as Jane Doe <jane@example.com>,
	// office@example.com, or the phone number of a text message. Like Subject, it
	// is a single line.
	To, Subject string
	Content     string   // HTML of a mail, or the text of a message
	Attachments []string // ids of media of the site, for a mail; never nil
}

// The action types that are rendered. Others, such as webhooks, WhatsApp templates and those of
// add-ons, need data that only the site's PHP has, and are left out.
const (
	SendEmail = "send_email"
	SendSMS   = "send_sms"
)

// mails reports whether a job sends a mail to an address.
func (j Job) mails(address string) bool {
	return slices.ContainsFunc(j.Actions, func(a Action) bool {
		return a.Type == SendEmail && slices.ContainsFunc(recipients(a.To), func(to string) bool { return strings.EqualFold(to, address) })
	})
}

// recipients returns the addresses in a list as the plugin's processes have it, such as Jane Doe <jane@example.com>,
// office@example.com. A name may have commas.
func recipients(list string) (addresses []string) {
	for part := range strings.SplitSeq(list, ",") {
		address := strings.TrimSpace(part)
		if start := strings.LastIndexByte(address, '<'); start >= 0 && strings.HasSuffix(address, ">") {
			address = strings.TrimSpace(address[start+1 : len(address)-1])
		}
		if text.ValidEmail(address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// row returns the job of an event as a row for the site to run. When a record is updated, the site deletes the
// scheduled jobs that carry the record's type, so jobs due later must carry it and jobs due now must not.
func (j Job) row(s *session.Session, e Event) (session.Row, error) {
	settings, err := j.SettingsJSON()
	if err != nil {
		return nil, err
	}
	info, err := j.InfoJSON()
	if err != nil {
		return nil, err
	}
	objectType, id := e.record()
	processID := j.ProcessID
	if !j.DueAt.After(s.Now) {
		processID, objectType = 0, "n/a"
	}
	return append(session.Row{
		{Name: "process_id", Value: processID}, {Name: "object_id", Value: id}, {Name: "object_model_type", Value: objectType}, {Name: "settings", Value: settings},
		{Name: "to_run_after_utc", Value: domain.Stamp(j.DueAt)}, {Name: "status", Value: session.JobScheduled}, {Name: "run_result", Value: nil}, {Name: "process_info", Value: info},
	}, s.NewTimestamps()...), nil
}

// SettingsJSON returns the column settings of the job's row: its actions with their
// content (OsProcessJobModel, LatePoint 5.6.5). The column holds 64 KiB.
func (j Job) SettingsJSON() (string, error) {
	var info, data object
	for _, a := range j.Actions {
		settings := object{{"activity_data", j.ActivityData}, {"to", a.To}, {"subject", a.Subject}, {"content", a.Content}, {"attachments", a.Attachments}}
		if a.Type == SendSMS {
			settings = object{{"activity_data", j.ActivityData}, {"to", a.To}, {"content", a.Content}}
		}
		info = info.set(a.ID, object{{"type", a.Type}})
		data = data.set(a.ID, settings)
	}
	return text.EncodePHP(object{{"action_info", info}, {"action_data", data}})
}

// InfoJSON returns the column process_info of the job's row.
func (j Job) InfoJSON() (string, error) {
	return text.EncodePHP(object{{"name", j.Name}, {"event_type", j.EventType}})
}
