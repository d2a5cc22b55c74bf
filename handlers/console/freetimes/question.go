// Package freetimes has the question why a time is not free, as the address of a page has it and as the API is asked, the
// answer start by start, and the places in wp-admin where each reason is changed. It imports adapter/availability,
// adapter/slots and handlers/console/page, whose links it returns.
package freetimes

import (
	"net/url"
	"strconv"

	"github.com/bookside/bookside/adapter/availability"
)

// Question is what the page is asked.
type Question struct {
	Day                      availability.Day
	Service, Agent, Location int64 // agent and location may be 0 for any
}

// Read reads the question in the address of the page. The day is today unless it says another one.
func Read(query url.Values, today availability.Day) Question {
	q := Question{Day: today}
	if day, ok := availability.ParseDay(query.Get("day")); ok && day < availability.LastDay {
		q.Day = day
	}
	for name, id := range map[string]*int64{"service": &q.Service, "agent": &q.Agent, "location": &q.Location} {
		if number, err := strconv.ParseInt(query.Get(name), 10, 64); err == nil && number > 0 {
			*id = number
		}
	}
	return q
}

// Query is the question as Read reads it.
func (q Question) Query() string {
	query := url.Values{"day": {q.Day.String()}}
	for name, id := range map[string]int64{"service": q.Service, "agent": q.Agent, "location": q.Location} {
		if id != 0 {
			query.Set(name, strconv.FormatInt(id, 10))
		}
	}
	return query.Encode()
}

// Target is the question as a request to the API.
func (q Question) Target() string {
	query := url.Values{"date": {q.Day.String()}, "explain": {"1"}, "service_id": {strconv.FormatInt(q.Service, 10)}, "agent_id": {"any"}, "location_id": {"any"}}
	for name, id := range map[string]int64{"agent_id": q.Agent, "location_id": q.Location} {
		if id != 0 {
			query.Set(name, strconv.FormatInt(id, 10))
		}
	}
	return "/availability?" + query.Encode()
}

// Concerns reports whether what is for a scope may be the reason.
func (q Question) Concerns(scope availability.Scope) bool {
	one := func(asked, of int64) bool { return asked == 0 || of == 0 || asked == of }
	return one(q.Service, scope.Service) && one(q.Agent, scope.Agent) && one(q.Location, scope.Location)
}
