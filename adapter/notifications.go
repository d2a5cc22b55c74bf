package adapter

import (
	"context"
	"net/mail"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/outbox"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// jobCron is the WordPress cron hook in which the site sends what is due.
const jobCron = "latepoint_process_scheduled_jobs"

// eventTypes are the event types of processes that an event triggers. Those of start and
// end are reminders (OsProcessJobsHelper).
var eventTypes = map[eventKind][]string{
	customerCreated: {"customer_created"},
	bookingCreated:  {"booking_created", bookingStart, bookingEnd},
	bookingUpdated:  {"booking_updated", bookingStart, bookingEnd},
	orderCreated:    {"order_created"},
	orderUpdated:    {"order_updated"},

	transactionCreated: {"transaction_created"},
}

const (
	bookingStart = "booking_start"
	bookingEnd   = "booking_end"
)

// notify hands over what the site's automations send about events: to the site itself if
// its cron sends, otherwise to our outbox if there is one. If all is false, it hands over
// reminders only. notified reports whether a message to the customer goes out now.
//
// Jobs scheduled for an earlier state of a record are deleted first.
func (tx *Tx) notify(ctx context.Context, w writeSettings, events []event, all bool) (notified bool, err error) {
	if !tx.hasAutomations() {
		return false, nil
	}
	for _, e := range events {
		if err := tx.deleteScheduledJobs(ctx, e); err != nil {
			return false, err
		}
	}
	processes, err := tx.processes(ctx, processTypes(events, all))
	if err != nil || len(processes) == 0 {
		return false, err
	}
	d := deliveries{w: w, byCron: strings.Contains(w.cron, jobCron) && w.settings[settingMailProcessor] != ""}
	contexts, err := tx.newMessageContexts(ctx, w, needsOf(processes))
	if err != nil {
		return false, err
	}
	for _, e := range events {
		if !triggers(e, processes) {
			continue
		}
		context, err := contexts.of(ctx, tx, e.after)
		if err != nil {
			return false, err
		}
		if err := tx.deliver(&d, e, processes, tx.notificationSubject(w, e, context)); err != nil {
			return false, err
		}
	}
	if _, err := tx.insertLater(ctx, wpdb.ProcessJobs, d.jobs...); err != nil {
		return false, err
	}
	if len(d.mails) > 0 {
		err = outbox.Add(ctx, tx.db, tx.Now, d.mails)
	}
	return d.notified, err
}

// deliveries are the jobs and mails that automations make of events.
type deliveries struct {
	w        writeSettings
	byCron   bool // the site's cron sends what is due now
	jobs     []row
	mails    []outbox.Mail
	notified bool // a message to the customer goes out now
}

// deliver adds what automations make of an event. A job that is due now becomes mails of
// our outbox, unless the site's cron sends it. Even then mails with a calendar file go to
// our outbox if there is one: the site can attach only files of its own disk.
func (s *Site) deliver(d *deliveries, e event, processes []process.Process, subject process.Subject) error {
	for _, eventType := range eventTypes[e.kind] {
		subject.At = s.eventTime(e, eventType)
		for _, job := range process.Jobs(processes, eventType, subject, s.Now) {
			later := job.DueAt.After(s.Now)
			queued, own := job, process.Job{}
			switch {
			case later:
			case d.byCron && s.outbox != nil:
				queued.Actions, own.Actions = withoutCalendar(job.Actions)
			case d.byCron:
			case s.outbox != nil:
				queued, own = process.Job{}, job
			default:
				continue
			}
			if len(queued.Actions) > 0 {
				stored, err := s.jobRow(e, queued, subject, later)
				if err != nil {
					return err
				}
				d.jobs = append(d.jobs, stored)
			}
			for _, m := range mailsOf(own) {
				if m.Calendar.Name != "" {
					m.Calendar.Content = s.calendarFile(d.w, e.after.booking.Booking)
				}
				if m.Calendar.Content == "" {
					m.Calendar = outbox.Attachment{}
				}
				d.mails = append(d.mails, m)
			}
			d.notified = d.notified || !later && mailsTo(job, e.after.customer.Email)
		}
	}
	return nil
}

// hasAutomations reports whether the site has tables for automations.
func (s *Site) hasAutomations() bool {
	return s.schema.Has(wpdb.Processes) && s.schema.Has(wpdb.ProcessJobs)
}

// deleteScheduledJobs deletes the jobs scheduled for a record that was updated
// (OsProcessJobsHelper::handle_booking_updated and its like).
func (tx *Tx) deleteScheduledJobs(ctx context.Context, e event) error {
	if e.kind != bookingUpdated && e.kind != orderUpdated {
		return nil
	}
	objectType, id := e.record()
	return tx.deleteJobs(ctx, sq.Eq{"status": jobScheduled, "object_id": id, "object_model_type": objectType})
}

// processTypes returns the event types of the processes that events may trigger: all of
// them, or those of reminders.
func processTypes(events []event, all bool) []string {
	var types []string
	for _, e := range events {
		for _, eventType := range eventTypes[e.kind] {
			if all || eventType == bookingStart || eventType == bookingEnd {
				types = append(types, eventType)
			}
		}
	}
	return types
}

// processes reads the site's active automations of some event types.
func (s *Site) processes(ctx context.Context, types []string) ([]process.Process, error) {
	if len(types) == 0 {
		return nil, nil
	}
	stmt := sq.Select("id", "name", "event_type", "actions_json").From(s.db.Name(wpdb.Processes)).
		Where(sq.Eq{"status": "active", "event_type": types}).OrderBy("id")
	return wpdb.All(ctx, s.db, "read automations", stmt, func(row wpdb.Scanner) (p process.Process, err error) {
		err = row.Scan(&p.ID, &p.Name, &p.EventType, wpdb.OrZero(&p.ActionsJSON))
		return p, err
	})
}

// triggers reports whether an event triggers any of the processes.
func triggers(e event, processes []process.Process) bool {
	return slices.ContainsFunc(processes, func(p process.Process) bool { return slices.Contains(eventTypes[e.kind], p.EventType) })
}

// eventTime returns when an event of a type happens, in UTC.
func (s *Site) eventTime(e event, eventType string) time.Time {
	var at time.Time
	known := false
	switch eventType {
	case bookingStart:
		at, known = s.Start(e.after.booking.Booking)
	case bookingEnd:
		at, known = s.End(e.after.booking.Booking)
	}
	if !known {
		return s.Now.UTC()
	}
	return at.UTC()
}

// jobRow returns the row of a job for the site to run. When a record is updated, the site
// deletes the scheduled jobs that carry its type: those due later must carry it, those
// due now must not.
func (s *Site) jobRow(e event, job process.Job, subject process.Subject, later bool) (row, error) {
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
	return append(row{
		{"process_id", processID}, {"object_id", id}, {"object_model_type", objectType}, {"settings", settings},
		{"to_run_after_utc", domain.Stamp(job.DueAt)}, {"status", jobScheduled}, {"run_result", nil}, {"process_info", info},
	}, s.newTimestamps()...), nil
}

// mailsTo reports whether a job sends a mail to an address.
func mailsTo(job process.Job, address string) bool {
	return slices.ContainsFunc(mailsOf(job), func(m outbox.Mail) bool {
		return slices.ContainsFunc(m.Recipients(), func(to mail.Address) bool { return strings.EqualFold(to.Address, address) })
	})
}

// mailsOf returns the mails that a job sends. Of calendar files they have the name.
func mailsOf(job process.Job) []outbox.Mail {
	var mails []outbox.Mail
	for _, a := range job.Actions {
		if a.Type != process.SendEmail {
			continue
		}
		mails = append(mails, outbox.Mail{To: a.To, Subject: a.Subject, Content: a.Content, Calendar: outbox.Attachment{Name: a.Calendar}})
	}
	return mails
}

// withoutCalendar separates actions from mails with a calendar file.
func withoutCalendar(actions []process.Action) (without, with []process.Action) {
	for _, a := range actions {
		if a.Calendar == "" {
			without = append(without, a)
		} else {
			with = append(with, a)
		}
	}
	return without, with
}

// deleteJobs deletes jobs, on sites that have them.
func (tx *Tx) deleteJobs(ctx context.Context, which sq.Eq) error {
	if !tx.schema.Has(wpdb.ProcessJobs) {
		return nil
	}
	return tx.deleteWhere(ctx, wpdb.ProcessJobs, which)
}
