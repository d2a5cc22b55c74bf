package slots

import (
	"context"
	"fmt"
	"slices"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// calendarPart is a part of the calendar: some resources on some days.
type calendarPart struct {
	scope    resourceScope
	from, to availability.Day
	last     availability.Day // the last day with bookings that may block the part; perhaps the day after its own last day
}

// with returns the smallest part that contains both.
func (p calendarPart) with(other calendarPart) calendarPart {
	return calendarPart{p.scope.with(other.scope), min(p.from, other.from), max(p.to, other.to), max(p.last, other.last)}
}

// concerns reports whether a row that was read for a larger part belongs to this one. It repeats the
// conditions of the statement.
func (p calendarPart) concerns(r calendarRow, rules blockingRules) bool {
	between := func(first, last availability.Day) bool {
		return r.startDate >= first.String() && r.startDate <= last.String()
	}
	switch r.kind {
	case hoursRow:
		general := r.agent == 0 && r.service == 0 && r.location == 0 && r.startDate == ""
		return p.scope.covers(r.blockingRow) && (general || slices.Contains(weekdays(p.from, p.to), r.weekday) && (r.startDate == "" || between(p.from, p.to)))
	case timeOffRow:
		return p.scope.covers(r.blockingRow) && between(p.from, p.to)
	case limitRow:
		return slices.Contains(p.scope.agents, r.agent)
	default:
		return between(p.starts()) && (slices.Contains(p.scope.agents, r.agent) ||
			rules.atLocation && slices.Contains(p.scope.locations, r.location) || rules.service != 0 && r.service == rules.service)
	}
}

// sharedDays is how many days apart short parts that share a statement may be. The days between them are
// read too.
const sharedDays = 8

// maxParts is how many parts are read together. MariaDB chooses another plan for lists of a thousand
// values.
const maxParts = 8

// calendarReads read parts of the calendar. Parts that are requested at the same time, such as the days of
// a week, share a statement, which begins after all of their requests have arrived.
type calendarReads struct {
	queues session.ReadQueues[calendarReadKey, calendarRead, calendarFound]
}

// calendarReadKey says which parts may share a statement: those read by the same rules, if they are short
// and close together, or cover the same days.
type calendarReadKey struct {
	schema *wpdb.Schema
	rules  string
	now    string // the instant by which holds expire
	days   [2]availability.Day
}

// nearDays returns a key that is equal for parts that may share a statement.
func (p calendarPart) nearDays() [2]availability.Day {
	if p.to-p.from >= sharedDays {
		return [2]availability.Day{p.from, p.to}
	}
	near := p.from / sharedDays * sharedDays
	return [2]availability.Day{near, near}
}

type calendarRead struct {
	site    *session.Session
	mayRead int64 // see wpdb.Allow
	calendarPart
	rules blockingRules
}

type calendarFound struct {
	parts int // that shared the statement
	calendarContent
}

func newCalendarReads() *calendarReads {
	r := new(calendarReads)
	r.queues.Run, r.queues.Again, r.queues.Most = r.run, wpdb.IsInterrupted, maxParts
	return r
}

// load reads a part of the calendar, and perhaps more. The rows must not be changed.
func (c *calendarReads) load(ctx context.Context, s *session.Session, rules blockingRules, part calendarPart) (calendarContent, error) {
	if s.NoSharing {
		return readContent(ctx, s, rules, part)
	}
	by := fmt.Sprintf("%q %v %d %v %d %v %v", rules.statuses, rules.atLocation, rules.service, rules.limited, rules.except, rules.calendars, rules.assets)
	key := calendarReadKey{s.Schema, by, domain.Stamp(s.Now), part.nearDays()}
	found, err := c.queues.Do(ctx, key, calendarRead{s, wpdb.Allowed(ctx), part, rules})
	if found.parts > 1 && session.MayConcernAnotherRequest(err) {
		return readContent(ctx, s, rules, part)
	}
	return found.calendarContent, err
}

// run reads several parts in one statement, on behalf of the request that arrived last, with the sum of all
// their read limits.
func (c *calendarReads) run(ctx context.Context, reads []calendarRead) (found calendarFound, err error) {
	latest, part, mayRead := reads[0], reads[0].calendarPart, reads[0].mayRead
	for _, read := range reads[1:] {
		part, mayRead = part.with(read.calendarPart), mayRead+read.mayRead
		if read.site.AuthenticatedAt > latest.site.AuthenticatedAt {
			latest = read
		}
	}
	if len(reads) > 1 {
		ctx, _ = wpdb.WithUsage(ctx)
		wpdb.Allow(ctx, mayRead)
	}
	found.parts = len(reads)
	found.calendarContent, err = readContent(ctx, latest.site, latest.rules, part)
	return found, err
}
