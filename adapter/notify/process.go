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

// lateness is how late a job may be and still run.
const lateness = 5 * time.Minute

// Jobs returns the jobs of the processes for an event type, in the order of processes
// (OsProcessJobsHelper::create_jobs_for_process, LatePoint 5.6.5). It leaves out processes whose conditions
// do not hold, that have no actions or that cannot be parsed, and jobs that were due more than five minutes
// ago. The event happens at an instant; the zero time stands for now, as PHP reads NULL.
//
// It does not know whether a job is already scheduled for a process and record; in that case the plugin
// adds none.
func Jobs(processes []Process, eventType string, subject Subject, at, now time.Time) []Job {
	if at.IsZero() {
		at = now
	}
	var jobs []Job
	for _, p := range processes {
		if p.EventType != eventType {
			continue
		}
		if job, ok := p.job(subject, at.UTC(), now); ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// lastInstant is the last instant that a database column can hold.
var lastInstant = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

func (p Process) job(subject Subject, at, now time.Time) (Job, bool) {
	a, ok := parseAutomation(p.ActionsJSON)
	if !ok || !subject.satisfies(a.conditions) {
		return Job{}, false
	}
	due := a.offset.apply(at)
	if due.Add(lateness).Before(now) {
		return Job{}, false
	}
	if due.After(lastInstant) {
		due = lastInstant
	}
	actions := subject.Variables.render(a.actions)
	return Job{ProcessID: p.ID, Name: p.Name, EventType: p.EventType, DueAt: due, Actions: actions, ActivityData: subject.ActivityData}, len(actions) > 0
}
