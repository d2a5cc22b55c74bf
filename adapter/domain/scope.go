package domain

import (
	"fmt"
	"slices"
)

// Scope is the agents, services and locations that an API key is limited to, by id. A kind without ids is
// not limited. The limits intersect.
type Scope struct{ Agents, Services, Locations []int64 }

// Unlimited reports whether the scope is everything.
func (s Scope) Unlimited() bool { return len(s.Agents)+len(s.Services)+len(s.Locations) == 0 }

// Covers reports whether a booking with these ids, 0 for none, is in scope.
func (s Scope) Covers(agent, service, location int64) bool {
	return within(s.Agents, agent) && within(s.Services, service) && within(s.Locations, location)
}

// Refuse returns the CodeForbidden for anything in a request that is outside the scope; 0 stands for what
// the request does not name.
func (s Scope) Refuse(agent, service, location int64) error {
	for _, named := range []struct {
		ids   []int64
		id    int64
		field string
	}{{s.Agents, agent, "agent_id"}, {s.Services, service, "service_id"}, {s.Locations, location, "location_id"}} {
		if named.id != 0 && !within(named.ids, named.id) {
			return refused(named.field, named.id)
		}
	}
	return nil
}

// RefuseAny is like Refuse, for lists of agents, services and locations.
func (s Scope) RefuseAny(named Scope) error {
	for _, part := range []struct {
		ids, named []int64
		field      string
	}{{s.Agents, named.Agents, "agents"}, {s.Services, named.Services, "services"}, {s.Locations, named.Locations, "locations"}} {
		for _, id := range part.named {
			if !within(part.ids, id) {
				return refused(part.field, id)
			}
		}
	}
	return nil
}

func refused(field string, id int64) error {
	return &Error{Code: CodeOutsideScope, Message: fmt.Sprintf("This key is limited to others: %s %d", field, id)}
}

// OutsideScope returns the error for a request outside the key's scope.
func OutsideScope() error {
	return &Error{Code: CodeOutsideScope, Message: "This key is limited to some agents, services or locations, and reaches only their bookings and times"}
}

// ScopeChanged returns the error for a request that was processed while its key had other rights: the
// response may show what the key no longer sees.
func ScopeChanged() error {
	return &Error{Code: CodeOutsideScope, Message: "This request was processed while the key had other rights, and its response is not sent again. GET shows what the key sees of it now"}
}

// PersonalMasked returns the error for a parameter or field with personal data, sent with a key that masks
// it.
func PersonalMasked(name string) error {
	return &Error{Code: CodePersonalMasked, Message: "This key sees personal data masked, and may not send " + name}
}

func within(ids []int64, id int64) bool { return len(ids) == 0 || slices.Contains(ids, id) }

// String returns a text that is equal for equal scopes.
func (s Scope) String() string { return fmt.Sprint(s.Agents, s.Services, s.Locations) }
