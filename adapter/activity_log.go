package adapter

import (
	"context"
	"slices"

	"bookside/adapter/process"
	"bookside/wpdb"
)

// activity is an entry of the site's activity log.
type activity struct {
	code                                                string
	bookingID, customerID, orderID, serviceID, couponID *int64
	description                                         any // nil for none
}

// logActivities adds entries to the activity log. They name nobody as their author, like
// the plugin's entries about what no logged-in user did.
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
			stored = nil // truncated JSON could not be read
		}
		rows[i] = append(row{
			{"agent_id", nil}, {"booking_id", a.bookingID}, {"service_id", a.serviceID}, {"customer_id", a.customerID}, {"location_id", nil},
			{"order_id", a.orderID}, {"order_item_id", nil}, {"coupon_id", a.couponID},
			{"code", a.code}, {"description", stored}, {"initiated_by", ""}, {"initiated_by_id", 0},
		}, tx.newTimestamps()...)
	}
	_, err := tx.insertLater(ctx, wpdb.Activities, rows...)
	return err
}

// logEvents adds events to the activity log.
func (tx *Tx) logEvents(ctx context.Context, w writeSettings, events []event) error {
	activities := make([]activity, len(events))
	for i, e := range events {
		activities[i] = tx.eventActivity(w, e)
	}
	return tx.logActivities(ctx, activities...)
}

// The descriptions of entries.
type (
	customerEntry struct {
		Vars any `json:"customer_data_vars"`
	}
	bookingEntry struct {
		Vars any `json:"booking_data_vars"`
	}
	// orderEntry describes what happened to an order.
	orderEntry struct {
		Vars any `json:"order_data_vars"`
	}
)

// eventActivity mirrors OsActivitiesHelper::create_activity for an event. A new record
// has numbers where a loaded one has texts, as in PHP.
func (s *Site) eventActivity(w writeSettings, e event) activity {
	a := activity{code: string(e.kind)}
	switch e.kind {
	case customerCreated, customerUpdated:
		a.customerID = &e.after.customer.ID
		vars := customerVarsOf(e.after.customer)
		vars.ID = e.after.customer.ID
		a.description = customerEntry{vars}
		if e.before != nil {
			a.description = customerEntry{change{New: vars, Old: customerVarsOf(e.before.customer)}}
		}
	case orderCreated, orderUpdated:
		a.orderID = &e.after.order.ID
		vars := s.orderVars(w, e.after)
		vars.ID, vars.SourceURL = e.after.order.ID, false
		a.description = orderEntry{vars}
		if e.before != nil {
			a.description = orderEntry{change{New: vars, Old: s.orderVars(w, *e.before)}}
		}
	default:
		a.bookingID = &e.after.booking.ID
		vars := s.bookingVars(w, e.after)
		if e.kind == bookingCreated {
			vars.ID, vars.Duration = e.after.booking.ID, e.after.booking.Duration
		}
		a.description = bookingEntry{vars}
		if e.before != nil {
			a.description = bookingEntry{change{New: vars, Old: s.bookingVars(w, *e.before)}}
		}
	}
	return a
}

// logOrderUpdate adds an updated order to the activity log, and returns the event to
// notify about. Of the state before, only the order itself and its customer count: the
// plugin reads items and payments when it writes the entry.
func (tx *Tx) logOrderUpdate(ctx context.Context, w writeSettings, before Order, now orderWithBookings) (event, error) {
	old := now
	old.order.Order = before
	var err error
	if before.CustomerID != now.order.CustomerID {
		if old.customer, _, err = tx.orderCustomer(ctx, before.CustomerID); err != nil {
			return event{}, err
		}
		old.order.payments = slices.Clone(now.order.payments) // they went along
		for i := range old.order.payments {
			old.order.payments[i].CustomerID = before.CustomerID
		}
	}
	entry := orderEntry{change{New: tx.orderActivityVars(w, now), Old: tx.orderActivityVars(w, old)}}
	err = tx.logActivities(ctx, activity{code: string(orderUpdated), orderID: &before.ID, description: entry})
	return event{kind: orderUpdated, after: now.snapshot(), before: new(old.snapshot())}, err
}
