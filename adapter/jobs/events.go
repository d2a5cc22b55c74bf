package jobs

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bookside/bookside/adapter/journal"
)

// StatusChanged is the event of an existing booking whose status changed. Webhooks that list
// booking.updated but not this event get such a change as booking.updated.
const StatusChanged = "booking.status_changed"

// TestEvent is the event of deliveries that test a webhook. No webhook lists it.
const TestEvent = "bookside.test"

// AllEvents stands for every event of the journal.
const AllEvents = "*"

// kinds are all kinds of changes.
var kinds = []journal.Kind{journal.Created, journal.Updated, journal.Deleted}

// Events are the names of all events, by resource.
func Events() (names []string) {
	for _, resource := range journal.Resources {
		for _, kind := range kinds {
			names = append(names, eventName(resource, kind))
			if resource == journal.Bookings && kind == journal.Updated {
				names = append(names, StatusChanged)
			}
		}
	}
	return names
}

// eventName returns the name of a change, such as booking.created.
func eventName(resource journal.Resource, kind journal.Kind) string {
	return singular(resource) + "." + string(kind)
}

func singular(resource journal.Resource) string { return strings.TrimSuffix(string(resource), "s") }

// ResourceOf returns the resource of an event, or of a pattern such as booking.*; ok is false for AllEvents
// and unknown events.
func ResourceOf(event string) (r journal.Resource, ok bool) {
	name, _, _ := strings.Cut(event, ".")
	for _, resource := range journal.Resources {
		if singular(resource) == name {
			return resource, true
		}
	}
	return "", false
}

// ParseEvents parses a list of events, separated by commas or spaces: names such as
// booking.created, all events of a resource such as booking.*, or AllEvents. The error
// says what to write, without naming the field.
func ParseEvents(text string) ([]string, error) {
	return CheckEvents(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }))
}

// CheckEvents is ParseEvents for words. It removes duplicates.
func CheckEvents(words []string) (events []string, err error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("write events such as booking.created,customer.updated, or * for all")
	}
	known := Events()
	for _, word := range words {
		resource, found := ResourceOf(word)
		all := word == AllEvents || found && word == singular(resource)+".*"
		if !all && !slices.Contains(known, word) {
			return nil, fmt.Errorf("%q is not an event; write names such as booking.created, booking.* or *", word)
		}
		if !slices.Contains(events, word) {
			events = append(events, word)
		}
	}
	return events, nil
}

// eventOf returns the event name under which an entry is sent to a webhook that lists events; ok is false
// if it is not sent. An entry is sent at most once.
func eventOf(e journal.Entry, listed []string) (event string, ok bool) {
	if e.StatusChanged() && lists(listed, StatusChanged) {
		return StatusChanged, true
	}
	event = eventName(e.Resource, e.Kind)
	return event, lists(listed, event)
}

// lists reports whether a list of events contains an event, by name or by pattern.
func lists(listed []string, event string) bool {
	resource, _, _ := strings.Cut(event, ".")
	return slices.ContainsFunc(listed, func(l string) bool { return l == AllEvents || l == event || l == resource+".*" })
}
