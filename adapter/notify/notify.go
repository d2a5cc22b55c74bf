package notify

import (
	"context"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// JobCron is the WordPress cron hook that makes the site send what is due.
const JobCron = "latepoint_process_scheduled_jobs"

// Messages returns which messages of automations go out: extensions.AllMessages, or only reminders.
func Messages(wanted bool) string {
	if wanted {
		return extensions.AllMessages
	}
	return extensions.Reminders
}

// Notify hands over the messages, extensions.AllMessages or Reminders, that the site's automations send about events: to
// the plugin if it sends itself, see leaveToPlugin, otherwise to the site's cron. notified reports whether a message to the
// customer goes out now.
//
// Jobs scheduled for an earlier state of a record are deleted first.
func Notify(ctx context.Context, tx *session.Tx, w session.WriteSettings, events []Event, messages string) (notified bool, err error) {
	Announce(tx, events...) // in their order, whichever of them has messages
	if !HasAutomations(tx.Session) {
		return false, nil
	}
	for _, e := range events {
		objectType, id := e.record()
		if err := deleteScheduledJobs(ctx, tx, e.Kind, objectType, id); err != nil {
			return false, err
		}
	}
	processes, err := LoadProcesses(ctx, tx.Session, processTypes(events, messages))
	if err != nil || len(processes) == 0 {
		return false, err
	}
	events = slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return !triggers(e, processes) })
	subjects, err := loadSubjects(ctx, tx, w, processes, events)
	if err != nil {
		return false, err
	}
	senders := senders{plugin: tx.PluginSends(w), cron: strings.Contains(w.Cron, JobCron) && w.Settings[session.SettingMailProcessor] != ""}
	var rows []session.Row
	for i, e := range events {
		d, err := deliver(tx.Session, senders, e, eventJobs(tx.Session, e, processes, subjects[i]))
		if err != nil {
			return false, err
		}
		notified = notified || d.notifies
		if !senders.plugin {
			rows = append(rows, d.rows...)
		} else if err := leaveToPlugin(tx, e, d, messages); err != nil {
			return false, err
		}
	}
	_, err = tx.InsertLater(ctx, wpdb.ProcessJobs, rows...)
	return notified, err
}

// senders says who sends what is due now.
type senders struct {
	plugin bool // is asked first
	cron   bool
}

// delivery is what the site gets of an event's jobs.
type delivery struct {
	rows         []session.Row
	notifies     bool // a message to the customer goes out now
	onlyByPlugin bool // something is due now that is not among the rows, because no cron sends it
}

// deliver returns the delivery of an event's jobs. What is due now is sent by the site's cron or by the plugin, or else
// by nobody: a job that runs when the cron is back would be about what was long ago.
func deliver(s *session.Session, by senders, e Event, jobs []Job) (delivery, error) {
	var d delivery
	for _, job := range jobs {
		later := job.DueAt.After(s.Now)
		if !later && !by.cron && !by.plugin {
			continue
		}
		d.notifies = d.notifies || !later && job.mails(e.After.Customer.Email)
		if !later && !by.cron {
			d.onlyByPlugin = true
			continue
		}
		row, err := job.row(s, e)
		if err != nil {
			return delivery{}, err
		}
		d.rows = append(d.rows, row)
	}
	return d, nil
}

// eventJobs returns the jobs of an event.
func eventJobs(s *session.Session, e Event, processes []Process, subject Subject) []Job {
	var jobs []Job
	for _, eventType := range EventTypes[e.Kind] {
		jobs = append(jobs, Jobs(processes, eventType, subject, eventTime(s, e, eventType), s.Now)...)
	}
	return jobs
}

// eventTime returns when an event of a type happens; the zero time stands for now.
func eventTime(s *session.Session, e Event, eventType string) (at time.Time) {
	switch eventType {
	case bookingStart:
		at, _ = records.Start(s, e.After.Booking.Booking)
	case bookingEnd:
		at, _ = records.End(s, e.After.Booking.Booking)
	}
	return at
}

// HasAutomations reports whether the site has tables for automations.
func HasAutomations(s *session.Session) bool {
	return s.Schema.Has(wpdb.Processes) && s.Schema.Has(wpdb.ProcessJobs)
}

// processTypes returns the event types of the processes that events may trigger.
func processTypes(events []Event, messages string) []string {
	var types []string
	for _, e := range events {
		for _, eventType := range EventTypes[e.Kind] {
			if messages == extensions.AllMessages || eventType == bookingStart || eventType == bookingEnd {
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
	return wpdb.All(ctx, s.DB, "read automations", stmt, wpdb.Into(func(p *Process) []any {
		return []any{&p.ID, &p.Name, &p.EventType, wpdb.OrZero(&p.ActionsJSON)}
	}))
}

// triggers reports whether an event triggers any of the processes.
func triggers(e Event, processes []Process) bool {
	return slices.ContainsFunc(processes, func(p Process) bool { return slices.Contains(EventTypes[e.Kind], p.EventType) })
}

// deleteScheduledJobs deletes the jobs scheduled for a record, if the event is one of a booking or an order that was updated
// (OsProcessJobsHelper::handle_booking_updated and the like). Its other updates have no messages.
func deleteScheduledJobs(ctx context.Context, tx *session.Tx, kind eventKind, objectType string, id int64) error {
	if kind != BookingUpdated && kind != OrderUpdated {
		return nil
	}
	return DeleteJobs(ctx, tx, sq.Eq{"status": session.JobScheduled, "object_id": id, "object_model_type": objectType})
}

// DeleteJobs deletes jobs, if the site has such a table.
func DeleteJobs(ctx context.Context, tx *session.Tx, which sq.Eq) error {
	if !tx.Schema.Has(wpdb.ProcessJobs) {
		return nil
	}
	return tx.DeleteWhere(ctx, wpdb.ProcessJobs, which)
}
