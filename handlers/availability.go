package handlers

func getAvailability(r *request) (response, error) {
	asked, err := r.view.AvailabilityRequest(r.query)
	if err != nil {
		return response{}, err
	}
	grid, err := r.site.Slots(r.ctx(), asked.SlotQuery)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.Availability(asked, grid, r.site.Zone.Name)), nil
}

func listFreeAgents(r *request) (response, error) {
	asked, err := r.view.AgentSlotQuery(r.query)
	if err != nil {
		return response{}, err
	}
	agents, err := r.site.FreeAgents(r.ctx(), asked)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.FreeAgents(asked, agents)), nil
}
