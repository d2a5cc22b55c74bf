package handlers

import "bookside/adapter"

func listAgents(r *request) (response, error) {
	filter, err := r.view.AgentFilter(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Agents(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.AgentList(page)), nil
}

func getAgent(r *request) (response, error) {
	id, err := r.id("id", adapter.AgentResource)
	if err != nil {
		return response{}, err
	}
	agent, err := r.site.Agent(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.AgentDetail(agent)), nil
}
