package adapter

import (
	"context"

	"bookside/adapter/process"
	"bookside/wpdb"
)

// bookingFacts is a booking with all that its history says of it.
type bookingFacts struct {
	BookingDetail
	items           []OrderItem
	keys, orderKeys manageKeys // orderKeys where they are known
}

// activity is an entry of the site's history.
type activity struct {
	code                                                string
	bookingID, customerID, orderID, serviceID, couponID *int64
	description                                         any // nil for none
}

// logActivities adds entries to the site's history. Nobody is named as their author:
// the plugin does the same for what no logged-in user did.
func (tx *Tx) logActivities(ctx context.Context, activities ...activity) error {
	rows := make([]row, len(activities))
	for i, a := range activities {
		description, err := process.EncodePHP(a.description)
		if err != nil {
			return err
		}
		var stored any = description
		c, ok := tx.schema.Column(wpdb.Activities, "description")
		if a.description == nil || ok && !c.Holds(description) {
			stored = nil // a text cut off would be no JSON
		}
		rows[i] = append(row{
			{"agent_id", nil}, {"booking_id", a.bookingID}, {"service_id", a.serviceID}, {"customer_id", a.customerID}, {"location_id", nil},
			{"order_id", a.orderID}, {"order_item_id", nil}, {"coupon_id", a.couponID},
			{"code", a.code}, {"description", stored}, {"initiated_by", ""}, {"initiated_by_id", 0},
		}, tx.newTimestamps()...)
	}
	_, err := tx.insert(ctx, wpdb.Activities, rows...)
	return err
}

// logEvents adds events to the site's history, so that it shows what was done
// here.
func (tx *Tx) logEvents(ctx context.Context, w writeSettings, events []event) error {
	activities := make([]activity, len(events))
	for i, e := range events {
		activities[i] = tx.eventActivity(w, e)
	}
	return tx.logActivities(ctx, activities...)
}

// The descriptions of history entries.
type (
	customerEntry struct {
		Vars any `json:"customer_data_vars"`
	}
	bookingEntry struct {
		Vars any `json:"booking_data_vars"`
	}
	orderEntry struct {
		Vars any `json:"order_data_vars"`
	}
)

// eventActivity mirrors OsActivitiesHelper::create_activity for an event. A new
// record has numbers where a loaded one has texts, as in PHP.
func (s *Site) eventActivity(w writeSettings, e event) activity {
	a := activity{code: string(e.kind)}
	switch e.kind {
	case customerCreated, customerUpdated:
		a.customerID = &e.facts.Customer.ID
		vars := customerVarsOf(e.facts.Customer)
		vars.ID = e.facts.Customer.ID
		a.description = customerEntry{vars}
		if e.kind == customerUpdated {
			a.description = customerEntry{change{New: vars, Old: customerVarsOf(e.old.Customer)}}
		}
	case orderCreated, orderUpdated:
		a.orderID = &e.facts.Order.ID
		vars := s.orderVars(w, e.facts)
		vars.ID, vars.SourceURL = e.facts.Order.ID, false
		a.description = orderEntry{vars}
		if e.kind == orderUpdated {
			a.description = orderEntry{change{New: vars, Old: s.orderVars(w, e.old)}}
		}
	default:
		a.bookingID = &e.facts.ID
		vars := s.bookingVars(w, e.facts)
		if e.kind == bookingCreated {
			vars.ID, vars.Duration = e.facts.ID, e.facts.Duration
		}
		a.description = bookingEntry{vars}
		if e.kind == bookingUpdated {
			a.description = bookingEntry{change{New: vars, Old: s.bookingVars(w, e.old)}}
		}
	}
	return a
}

// logOrderUpdate adds a changed order to the site's history, and is the event
// to announce. Of what was before only the order itself and its customer count:
// the plugin reads items and payments when it writes the entry.
func (tx *Tx) logOrderUpdate(ctx context.Context, w writeSettings, before Order, now orderFacts) (event, error) {
	old := now
	old.Order = before
	var err error
	if before.CustomerID != now.CustomerID {
		if old.customer, _, err = tx.orderCustomer(ctx, before.CustomerID); err != nil {
			return event{}, err
		}
	}
	entry := orderEntry{change{New: tx.orderActivityVars(w, now), Old: tx.orderActivityVars(w, old)}}
	err = tx.logActivities(ctx, activity{code: string(orderUpdated), orderID: &now.ID, description: entry})
	return event{kind: orderUpdated, facts: now.facts(), old: old.facts()}, err
}
