package domain

import (
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestScope: what a limited key covers, and what it refuses by name. 0 stands for none.
func TestScope(t *testing.T) {
	t.Parallel()
	all, agents := Scope{}, Scope{Agents: []int64{1, 2}}
	services, locations := Scope{Services: []int64{5}}, Scope{Locations: []int64{7}}
	for name, c := range map[string]struct {
		scope                    Scope
		agent, service, location int64
		covers                   bool
		refused                  string // "" for nothing
	}{
		"all of nothing":                 {all, 0, 0, 0, true, ""},
		"all of something":               {all, 3, 4, 5, true, ""},
		"an agent":                       {agents, 2, 5, 7, true, ""},
		"another agent":                  {agents, 3, 5, 7, false, "agent_id 3"},
		"no agent":                       {agents, 0, 5, 7, false, ""},
		"a service":                      {services, 3, 5, 7, true, ""},
		"another service":                {services, 3, 6, 7, false, "service_id 6"},
		"a location":                     {locations, 3, 5, 7, true, ""},
		"another location":               {locations, 3, 5, 8, false, "location_id 8"},
		"an agent, but another location": {Scope{Agents: []int64{1}, Locations: []int64{7}}, 1, 5, 8, false, "location_id 8"},
	} {
		expect.Equal(t, c.covers, c.scope.Covers(c.agent, c.service, c.location), name, ": covers")
		got, want := "", ""
		if err := c.scope.Refuse(c.agent, c.service, c.location); err != nil {
			got = err.Error()
		}
		if c.refused != "" {
			want = "outside_key_limits: This key is limited to others: " + c.refused
		}
		expect.Equal(t, want, got, name)
	}
	if !all.Unlimited() || agents.Unlimited() || services.Unlimited() || locations.Unlimited() ||
		(Scope{Agents: []int64{1}, Services: []int64{1}}).Unlimited() || (Scope{Agents: []int64{1}, Locations: []int64{1}}).Unlimited() {
		t.Error("a scope with ids is limited, one without is not")
	}
	if err := agents.RefuseAny(Scope{Agents: []int64{1, 3}}); CodeOf(err) != CodeOutsideScope {
		t.Errorf("an agent of two is another: %v", err)
	}
	expect.Succeeded(t, agents.RefuseAny(Scope{Agents: []int64{1, 2}, Services: []int64{9}}))
}
