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

// jobCron is the scheduled hook in whose runs the site sends what is due.
const jobCron = "latepoint_process_scheduled_jobs"

// eventTypes are the types of processes that an event sets off; reminders are
// those of start and end (OsProcessJobsHelper).
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

// notify hands over what the site's automations say about events: to the site
// itself where it sends in its cron, else to our outbox where there is one.
// Without tell, reminders alone are handed over. told says that a message to the
// customer is among what goes out now.
//
// What an earlier state of a record had scheduled is taken back first.
func (tx *Tx) notify(ctx context.Context, w writeSettings, events []event, tell bool) (told bool, err error) {
	if !tx.hasAutomations() {
		return false, nil
	}
	for _, e := range events {
		if err := tx.deleteScheduledJobs(ctx, e); err != nil {
			return false, err
		}
	}
	processes, err := tx.processes(ctx, processTypes(events, tell))
	if err != nil || len(processes) == 0 {
		return false, err
	}
	var rows []row
	var mails []outbox.Mail
	byCron := strings.Contains(w.cron, jobCron) && w.settings[settingMailProcessor] != ""
	known := map[recordIDs]messageContext{}
	for _, e := range events {
		if !triggers(e, processes) {
			continue
		}
		around, err := tx.messageContext(ctx, e.facts, known)
		if err != nil {
			return false, err
		}
		subject := tx.notificationSubject(w, e, around)
		for _, eventType := range eventTypes[e.kind] {
			subject.At = tx.eventTime(e, eventType)
			for _, job := range process.Jobs(processes, eventType, subject, tx.Now) {
				switch later := job.DueAt.After(tx.Now); {
				case later || byCron:
					stored, err := tx.jobRow(e, job, subject, later)
					if err != nil {
						return false, err
					}
					rows = append(rows, stored)
				case tx.outbox != nil:
					mails = append(mails, mailsOf(job)...)
				default:
					continue
				}
				told = told || !job.DueAt.After(tx.Now) && mailsTo(job, e.facts.Customer.Email)
			}
		}
	}
	if _, err := tx.insert(ctx, wpdb.ProcessJobs, rows...); err != nil {
		return false, err
	}
	if len(mails) > 0 {
		err = outbox.Add(ctx, tx.db, tx.Now, mails)
	}
	return told, err
}

// hasAutomations tells whether the site has tables for automations.
func (s *Site) hasAutomations() bool {
	return s.schema.Has(wpdb.Processes) && s.schema.Has(wpdb.ProcessJobs)
}

// deleteScheduledJobs deletes what is scheduled for a record that has changed
// (OsProcessJobsHelper::handle_booking_updated and its like).
func (tx *Tx) deleteScheduledJobs(ctx context.Context, e event) error {
	switch e.kind {
	case bookingUpdated:
		return tx.deleteJobs(ctx, sq.Eq{"status": jobScheduled, "object_id": e.facts.ID, "object_model_type": "booking"})
	case orderUpdated:
		return tx.deleteJobs(ctx, sq.Eq{"status": jobScheduled, "object_id": e.facts.Order.ID, "object_model_type": "order"})
	default:
		return nil
	}
}

// processTypes are the types of processes to look for.
func processTypes(events []event, tell bool) []string {
	var types []string
	for _, e := range events {
		for _, eventType := range eventTypes[e.kind] {
			if tell || eventType == bookingStart || eventType == bookingEnd {
				types = append(types, eventType)
			}
		}
	}
	return types
}

// processes are the site's active automations of some types.
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

// triggers tells whether any of the automations waits for an event.
func triggers(e event, processes []process.Process) bool {
	return slices.ContainsFunc(processes, func(p process.Process) bool { return slices.Contains(eventTypes[e.kind], p.EventType) })
}

// eventTime is when an event of a type happens.
func (s *Site) eventTime(e event, eventType string) time.Time {
	var at time.Time
	known := false
	switch eventType {
	case bookingStart:
		at, known = s.Start(e.facts.Booking)
	case bookingEnd:
		at, known = s.End(e.facts.Booking)
	}
	if !known {
		return s.Now.UTC()
	}
	return at.UTC()
}

// jobRow is a job for the site to do. One that is due now must outlive the next
// change of its record, at which the site takes back what carries the record's
// type; one that is due later must not.
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

// record is the record that an event is about, by the platform's word and id.
func (e event) record() (objectType string, id int64) {
	switch e.kind {
	case customerCreated, customerUpdated:
		return "customer", e.facts.Customer.ID
	case orderCreated, orderUpdated:
		return "order", e.facts.Order.ID
	case transactionCreated:
		return "transaction", e.payment.ID
	default:
		return "booking", e.facts.ID
	}
}

// mailsTo tells whether a job mails to an address.
func mailsTo(job process.Job, address string) bool {
	return slices.ContainsFunc(mailsOf(job), func(m outbox.Mail) bool {
		return slices.ContainsFunc(m.Recipients(), func(to mail.Address) bool { return strings.EqualFold(to.Address, address) })
	})
}

func mailsOf(job process.Job) []outbox.Mail {
	var mails []outbox.Mail
	for _, a := range job.Actions {
		if a.Type != process.SendEmail {
			continue
		}
		mails = append(mails, outbox.Mail{To: a.To, Subject: a.Subject, Content: a.Content})
	}
	return mails
}
