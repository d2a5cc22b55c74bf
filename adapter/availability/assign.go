package availability

import (
	"cmp"
	"slices"
)

// AgentOrder is the setting any_agent_order, which decides which agent gets a booking for any agent.
type AgentOrder string

// The orders that the plugin knows. With any other order the plugin offers times but finds no agent for
// them (OsBookingHelper::get_any_agent_for_booking_by_rule); here it counts as RandomAgent, so that what is
// offered can be booked. Prices do not depend on the agent, so both price orders choose the lowest id.
const (
	RandomAgent  AgentOrder = "random"
	PriceHigh    AgentOrder = "price_high"
	PriceLow     AgentOrder = "price_low"
	BusiestAgent AgentOrder = "busy_high"
	IdlestAgent  AgentOrder = "busy_low"
)

// Known reports whether the plugin knows the order, or uses RandomAgent because none is set.
func (o AgentOrder) Known() bool {
	return o == "" || slices.Contains([]AgentOrder{RandomAgent, PriceHigh, PriceLow, BusiestAgent, IdlestAgent}, o)
}

// Choice says how to choose one of several agents.
type Choice struct {
	Order AgentOrder // counts as RandomAgent if empty or not Known
	// Load is the number of bookings on the day by agent, whatever their status.
	Load map[int64]int
	// Pick returns a number below n, at random.
	Pick func(n int) int
}

// Free returns the resources that offer a start, by location and agent.
func (c *Calendar) Free(at Moment, q Request) []Resource {
	var free []Resource
	for _, r := range c.Resources {
		if q.wants(r) && c.offers(r, at, q) {
			free = append(free, r)
		}
	}
	return free
}

// FreeAgents returns the agents who can serve each offered start of a day, in ascending order.
func (c *Calendar) FreeAgents(day Day, q Request) map[Minutes][]int64 {
	agents := map[Minutes][]int64{}
	for _, r := range c.Resources {
		if !q.wants(r) {
			continue
		}
		for _, s := range c.appendSlots(nil, r, day, q) {
			if s.Reason == Free {
				agents[s.Start] = append(agents[s.Start], r.Agent)
			}
		}
	}
	for start, all := range agents { // who may be free at several locations
		slices.Sort(all)
		agents[start] = slices.Compact(all)
	}
	return agents
}

func (c *Calendar) offers(r Resource, at Moment, q Request) bool {
	return slices.ContainsFunc(c.appendSlots(nil, r, at.Day, q), func(s Slot) bool {
		return s.Start == at.Minutes && s.Reason == Free
	})
}

// Open returns the resources that work throughout a request and are free for it. The
// request may begin at any minute, on the grid or not.
func (c *Calendar) Open(at Moment, q Request) []Resource {
	var open []Resource
	for _, r := range c.Resources {
		if q.wants(r) && c.worksThroughout(c.schedule.hours(r, at.Day), at, q) &&
			c.slot(at, q, c.occupancyOn(at.Day, r, q)).Reason == Free {
			open = append(open, r)
		}
	}
	return open
}

// Assign chooses agent and location of a booking: the location with the lowest id that has a free agent,
// and one of its free agents according to choice (OsBookingModel::is_bookable). ok is false if no agent is
// free.
func (c *Calendar) Assign(at Moment, q Request, choice Choice) (r Resource, ok bool) {
	free := c.Free(at, q)
	if len(free) == 0 {
		return Resource{}, false
	}
	there := free[:0]
	for _, r := range free {
		if r.Location == free[0].Location {
			there = append(there, r)
		}
	}
	if q.Agent != 0 {
		return there[0], true
	}
	return choice.among(there), true
}

// among chooses one of several resources, which are sorted by agent. The first wins a tie.
func (ch Choice) among(free []Resource) Resource {
	byLoad := func(a, b Resource) int { return cmp.Compare(ch.Load[a.Agent], ch.Load[b.Agent]) }
	switch ch.Order {
	case PriceHigh, PriceLow:
		return free[0]
	case BusiestAgent:
		return slices.MaxFunc(free, byLoad)
	case IdlestAgent:
		return slices.MinFunc(free, byLoad)
	default:
		return free[ch.Pick(len(free))]
	}
}
