package handlers

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listAgents = operation{
	id:          "listAgents",
	summary:     "List agents",
	description: "A page of the agents that match all parameters, with their services and locations.",
	formats:     tables,
	query:       compat.AgentParameters,
	answers:     []response{ok(compat.ListOf[compat.Agent]())},
	errors:      failures.Form{List: true},
	serve:       list(compat.AgentParameters.Read, catalog.ListAgents, compat.View.AgentList),
}

var getAgent = operation{
	id:          "getAgent",
	summary:     "Read an agent",
	description: "An agent with their services and locations.",
	path:        []pathParameter{agentID},
	answers:     []response{ok(compat.BothSingleOf[compat.Agent]())},
	serve:       get(catalog.LoadAgent, compat.View.AgentDetail),
}
