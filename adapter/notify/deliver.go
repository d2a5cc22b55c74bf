package notify

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/extensions"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// JobCron is the WordPress cron hook that makes the site send what is due.
const JobCron = "latepoint_process_scheduled_jobs"

// EventTypes are the event types of processes that an event triggers. Those for start and end are reminders
// (OsProcessJobsHelper).
var EventTypes = map[eventKind][]string{
	CustomerCreated: {"customer_created"},
	BookingCreated:  {"booking_created", bookingStart, bookingEnd},
	BookingUpdated:  {"booking_updated", bookingStart, bookingEnd},
	OrderCreated:    {"order_created"},
	OrderUpdated:    {"order_updated"},

	TransactionCreated: {"transaction_created"},
}

const (
	bookingStart = "booking_start"
	bookingEnd   = "booking_end"
)

// Notify hands over what the site's automations send about events: to the plugin if it sends itself, see leaveToPlugin, otherwise
// to the site's cron. Unless all is true, it hands over only reminders. notified reports whether a message to the
// customer goes out now.
//
// Jobs scheduled for an earlier state of a record are deleted first.
func Notify(ctx context.Context, tx *session.Tx, w session.WriteSettings, events []Event, all bool) (notified bool, err error) {
	Announce(tx, events...) // in their order, whichever of them has messages
	if !HasAutomations(tx.Session) {
		return false, nil
	}
	for _, e := range events {
		if err := deleteScheduledJobs(ctx, tx, e); err != nil {
			return false, err
		}
	}
	processes, err := LoadProcesses(ctx, tx.Session, processTypes(events, all))
	if err != nil || len(processes) == 0 {
		return false, err
	}
	messages := extensions.Reminders
	if all {
		messages = extensions.AllMessages
	}
	d := deliveries{byPlugin: tx.PluginSends(w), byCron: strings.Contains(w.Cron, JobCron) && w.Settings[session.SettingMailProcessor] != ""}
	contexts, err := newMessageContexts(ctx, tx, w, needsOf(processes))
	if err != nil {
		return false, err
	}
	for _, e := range events {
		if !triggers(e, processes) {
			continue
		}
		context, err := contexts.load(ctx, tx, e.After)
		if err != nil {
			return false, err
		}
		if err := deliver(tx.Session, &d, e, processes, notificationSubject(tx.Session, w, e, context)); err != nil {
			return false, err
		}
		if d.byPlugin {
			if err := leaveToPlugin(tx, e, &d, messages); err != nil {
				return false, err
			}
		}
	}
	return d.notified, d.hand(ctx, tx)
}

// deliveries are the jobs that automations produce for events.
type deliveries struct {
	byPlugin     bool // it is asked to send first
	byCron       bool // the site's cron sends what is due now
	jobs         []session.Row
	notified     bool // a message to the customer goes out now
	onlyByPlugin bool // something is due now that is not among the jobs, because no cron sends it
}

// hand stores the jobs for the site.
func (d deliveries) hand(ctx context.Context, tx *session.Tx) error {
	_, err := tx.InsertLater(ctx, wpdb.ProcessJobs, d.jobs...)
	return err
}

// deliver adds what automations produce for an event. What is due now is sent by the site's cron or by the plugin, or
// else by nobody: a job that runs when the cron is back would be about what was long ago.
func deliver(s *session.Session, d *deliveries, e Event, processes []Process, subject Subject) error {
	for _, eventType := range EventTypes[e.Kind] {
		subject.At = eventTime(s, e, eventType)
		for _, job := range Jobs(processes, eventType, subject, s.Now) {
			later := job.DueAt.After(s.Now)
			switch {
			case later, d.byCron:
				stored, err := jobRow(s, e, job, subject, later)
				if err != nil {
					return err
				}
				d.jobs = append(d.jobs, stored)
			case d.byPlugin:
				d.onlyByPlugin = true
			default:
				continue
			}
			d.notified = d.notified || !later && mailsTo(job, e.After.Customer.Email)
		}
	}
	return nil
}

// HasAutomations reports whether the site has tables for automations.
func HasAutomations(s *session.Session) bool {
	return s.Schema.Has(wpdb.Processes) && s.Schema.Has(wpdb.ProcessJobs)
}

// deleteScheduledJobs deletes the jobs scheduled for an updated record
// (OsProcessJobsHelper::handle_booking_updated and the like).
func deleteScheduledJobs(ctx context.Context, tx *session.Tx, e Event) error {
	if e.Kind != BookingUpdated && e.Kind != OrderUpdated {
		return nil
	}
	objectType, id := e.record()
	return deleteScheduled(ctx, tx, objectType, id)
}

func deleteScheduled(ctx context.Context, tx *session.Tx, objectType string, id int64) error {
	return DeleteJobs(ctx, tx, sq.Eq{"status": session.JobScheduled, "object_id": id, "object_model_type": objectType})
}

// processTypes returns the event types of the processes that events may trigger: all of them, or only
// reminders.
func processTypes(events []Event, all bool) []string {
	var types []string
	for _, e := range events {
		for _, eventType := range EventTypes[e.Kind] {
			if all || eventType == bookingStart || eventType == bookingEnd {
				types = append(types, eventType)
			}
		}
	}
	return types
}

// LoadProcesses reads the site's active automations of some event types.
func LoadProcesses(ctx context.Context, s *session.Session, types []string) ([]Process, error) {
	if len(types) == 0 {
		return nil, nil
	}
	stmt := sq.Select("id", "name", "event_type", "actions_json").From(s.DB.Name(wpdb.Processes)).
		Where(sq.Eq{"status": "active", "event_type": types}).OrderBy("id")
	return wpdb.All(ctx, s.DB, "read automations", stmt, func(row wpdb.Scanner) (p Process, err error) {
		err = row.Scan(&p.ID, &p.Name, &p.EventType, wpdb.OrZero(&p.ActionsJSON))
		return p, err
	})
}

// triggers reports whether an event triggers any of the processes.
func triggers(e Event, processes []Process) bool {
	return slices.ContainsFunc(processes, func(p Process) bool { return slices.Contains(EventTypes[e.Kind], p.EventType) })
}

// eventTime returns when an event of a type happens, in UTC.
func eventTime(s *session.Session, e Event, eventType string) time.Time {
	var at time.Time
	known := false
	switch eventType {
	case bookingStart:
		at, known = records.Start(s, e.After.Booking.Booking)
	case bookingEnd:
		at, known = records.End(s, e.After.Booking.Booking)
	}
	if !known {
		return s.Now.UTC()
	}
	return at.UTC()
}

// jobRow returns the row of a job for the site to run. When a record is updated, the site deletes the
// scheduled jobs that carry the record's type, so jobs due later must carry it and jobs due now must not.
func jobRow(s *session.Session, e Event, job Job, subject Subject, later bool) (session.Row, error) {
	settings, err := job.SettingsJSON(subject.ActivityData)
	if err != nil {
		return nil, err
	}
	info, err := job.InfoJSON()
	if err != nil {
		return nil, err
	}
	objectType, id := e.record()
	processID := job.ProcessID
	if !later {
		processID, objectType = 0, "n/a"
	}
	return append(session.Row{
		{Name: "process_id", Value: processID}, {Name: "object_id", Value: id}, {Name: "object_model_type", Value: objectType}, {Name: "settings", Value: settings},
		{Name: "to_run_after_utc", Value: domain.Stamp(job.DueAt)}, {Name: "status", Value: session.JobScheduled}, {Name: "run_result", Value: nil}, {Name: "process_info", Value: info},
	}, s.NewTimestamps()...), nil
}

// mailsTo reports whether a job sends a mail to an address.
func mailsTo(job Job, address string) bool {
	for _, a := range job.Actions {
		if a.Type == SendEmail && slices.ContainsFunc(recipients(a.To), func(to string) bool { return strings.EqualFold(to, address) }) {
			return true
		}
	}
	return false
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

// DeleteJobs deletes jobs, if the site has such a table.
func DeleteJobs(ctx context.Context, tx *session.Tx, which sq.Eq) error {
	if !tx.Schema.Has(wpdb.ProcessJobs) {
		return nil
	}
	return tx.DeleteWhere(ctx, wpdb.ProcessJobs, which)
}
