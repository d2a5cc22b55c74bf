package handlers

import (
	"bookside/adapter/catalog"
	"bookside/compat"
)

var listAgents = operation{
	id:          "listAgents",
	summary:     "List agents",
	description: "A page of the agents that match all parameters, with their services and locations.",
	size:        recordsBy("per_page"),
	formats:     tables,
	query:       compat.AgentParameters,
	answers:     []response{ok(compat.ListOf[compat.Agent]())},
	errors:      errorForm{list: true},
	serve: func(r *request) (response, error) {
		filter, err := r.view.AgentFilter(r.query)
		if err != nil {
			return response{}, err
		}
		page, err := catalog.ListAgents(r.ctx(), r.session, filter)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.AgentList(page)), nil
	},
}

var getAgent = operation{
	id:          "getAgent",
	summary:     "Read an agent",
	description: "An agent with their services and locations.",
	path:        []pathParameter{agentID},
	answers:     []response{ok(compat.BothSingleOf[compat.Agent]())},
	serve: func(r *request) (response, error) {
		id, err := r.id(agentID)
		if err != nil {
			return response{}, err
		}
		agent, err := catalog.LoadAgent(r.ctx(), r.session, id)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.AgentDetail(agent)), nil
	},
}
