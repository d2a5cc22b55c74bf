package domain

import (
	"fmt"
	"slices"
)

// Limits are the agents, services and locations that an API key is limited to, by id. Without
// ids of a kind, all of it count. They intersect.
type Limits struct{ Agents, Services, Locations []int64 }

// None reports whether there are no limits.
func (l Limits) None() bool { return len(l.Agents)+len(l.Services)+len(l.Locations) == 0 }

// Cover reports whether a booking with these ids, 0 for none, is within the limits.
func (l Limits) Cover(agent, service, location int64) bool {
	return within(l.Agents, agent) && within(l.Services, service) && within(l.Locations, location)
}

// Refuse returns the CodeForbidden for what a request names outside of the limits, 0 for what
// it does not name.
func (l Limits) Refuse(agent, service, location int64) error {
	for _, named := range []struct {
		ids   []int64
		id    int64
		field string
	}{{l.Agents, agent, "agent_id"}, {l.Services, service, "service_id"}, {l.Locations, location, "location_id"}} {
		if named.id != 0 && !within(named.ids, named.id) {
			return refused(named.field, named.id)
		}
	}
	return nil
}

// RefuseAny is Refuse for the lists agents, services and locations.
func (l Limits) RefuseAny(named Limits) error {
	for _, of := range []struct {
		ids, named []int64
		field      string
	}{{l.Agents, named.Agents, "agents"}, {l.Services, named.Services, "services"}, {l.Locations, named.Locations, "locations"}} {
		for _, id := range of.named {
			if !within(of.ids, id) {
				return refused(of.field, id)
			}
		}
	}
	return nil
}

func refused(field string, id int64) error {
	return &Error{Code: CodeOutsideLimits, Message: fmt.Sprintf("This key is limited to others: %s %d", field, id)}
}

// OutsideLimits returns the error for a write that concerns others than those to whom the key
// is limited.
func OutsideLimits() error {
	return &Error{Code: CodeOutsideLimits, Message: "This key is limited to some agents, services or locations, and may not write this"}
}

// LimitsChanged returns the error for a request that was processed while its key had other limits: the
// response may show what the key no longer sees.
func LimitsChanged() error {
	return &Error{Code: CodeOutsideLimits, Message: "This request was processed while the key had other limits, and its response is not sent again. GET shows what the key sees of it now"}
}

// PersonalMasked returns the error for a parameter or field with personal data, from a key that
// masks it.
func PersonalMasked(name string) error {
	return &Error{Code: CodePersonalMasked, Message: "This key sees personal data masked, and may not send " + name}
}

func within(ids []int64, id int64) bool { return len(ids) == 0 || slices.Contains(ids, id) }

// String returns a text that is equal for equal limits.
func (l Limits) String() string { return fmt.Sprint(l.Agents, l.Services, l.Locations) }
