package notify

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/session"
)

// Subject is everything about an event that automations can use.
type Subject struct {
	// Objects are the values that conditions compare, by object and attribute:
	// Objects["booking"]["status"]. NULL is "". For updates only, old_booking and the like exist in
	// addition to the present object.
	Objects   map[string]map[string]string
	Variables messageVariables
	// ActivityData says what a message is about in the activity log: an object with the members booking_id,
	// agent_id, service_id and customer_id for a booking, or order_id and customer_id for an order.
	ActivityData any
}

// loadSubjects returns the subjects of events, as far as templates show them. The variables of a snapshot are read
// once for all events that share it.
func loadSubjects(ctx context.Context, tx *session.Tx, w session.WriteSettings, processes []Process, events []Event) ([]Subject, error) {
	business, err := loadBusinessVariables(ctx, tx.Session, w, processes)
	if err != nil {
		return nil, err
	}
	bySnapshot := map[Snapshot]messageVariables{}
	subjects := make([]Subject, len(events))
	for i, e := range events {
		if _, read := bySnapshot[e.After]; !read {
			if bySnapshot[e.After], err = loadVariables(ctx, tx, w, processes, e.After); err != nil {
				return nil, err
			}
		}
		variables := business.with(bySnapshot[e.After])
		if e.Payment != nil {
			maps.Copy(variables.text, transactionVariables(w, *e.Payment))
		}
		subjects[i] = Subject{conditionObjects(tx.Session, e), variables, e.activityData()}
	}
	return subjects, nil
}

// show reports whether a template of the processes has one of the variables, each of which is given as its beginning.
func show(processes []Process, variables ...string) bool {
	return slices.ContainsFunc(processes, func(p Process) bool {
		return slices.ContainsFunc(variables, func(name string) bool { return strings.Contains(p.ActionsJSON, "{{"+name) })
	})
}

func loadBusinessVariables(ctx context.Context, s *session.Session, w session.WriteSettings, processes []Process) (messageVariables, error) {
	if !show(processes, "business_logo_") {
		return businessVariables(w, ""), nil
	}
	logo, err := logoURL(ctx, s, w)
	return businessVariables(w, logo), err
}

// loadVariables returns the variables of the records of a snapshot.
func loadVariables(ctx context.Context, tx *session.Tx, w session.WriteSettings, processes []Process, snapshot Snapshot) (messageVariables, error) {
	agents, notes, err := loadAgentsAndNotes(ctx, tx.Session, snapshot)
	if err != nil {
		return messageVariables{}, err
	}
	all := messageVariables{text: customerVariables(snapshot.Customer, notes)}
	if snapshot.Booking != nil {
		maps.Copy(all.text, bookingVariables(w, *snapshot.Booking, agents[0].category))
		maps.Copy(all.text, agentVariables(agents[0]))
	}
	if snapshot.Order == nil {
		return all, nil
	}
	keys, err := ensureOrderKeys(ctx, tx, *snapshot.Order)
	if err != nil {
		return messageVariables{}, err
	}
	maps.Copy(all.text, orderVariables(w, *snapshot.Order, keys, agents))
	if show(processes, "order_summary_breakdown}}", "order_items}}", "order_transactions_breakdown}}") {
		content, err := loadOrderContent(ctx, tx.Session, w, snapshot)
		if err != nil {
			return messageVariables{}, err
		}
		all = all.with(content.variables())
	}
	return all, nil
}
