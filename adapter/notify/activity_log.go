package notify

import (
	"context"
	"slices"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Activity is an entry of the site's activity log.
type Activity struct {
	Code                           string
	bookingID, customerID, orderID *int64
	ServiceID, CouponID            *int64
	Description                    any // nil for none; a sentence, or what becomes JSON
}

// LogActivities adds entries to the activity log. They have no author, like the plugin's entries about what
// no logged-in user did.
func LogActivities(ctx context.Context, tx *session.Tx, activities ...Activity) error {
	rows := make([]session.Row, len(activities))
	for i, a := range activities {
		description, err := a.text()
		if err != nil {
			return err
		}
		var stored any = description
		c, ok := tx.Schema.Column(wpdb.Activities, "description")
		if a.Description == nil || ok && !c.Holds(description) {
			stored = nil // truncated JSON would be unreadable
		}
		rows[i] = append(session.Row{
			{Name: "agent_id", Value: nil}, {Name: "booking_id", Value: a.bookingID}, {Name: "service_id", Value: a.ServiceID}, {Name: "customer_id", Value: a.customerID}, {Name: "location_id", Value: nil},
			{Name: "order_id", Value: a.orderID}, {Name: "order_item_id", Value: nil}, {Name: "coupon_id", Value: a.CouponID},
			{Name: "code", Value: a.Code}, {Name: "description", Value: stored}, {Name: "initiated_by", Value: ""}, {Name: "initiated_by_id", Value: 0},
		}, tx.NewTimestamps()...)
	}
	_, err := tx.InsertLater(ctx, wpdb.Activities, rows...)
	return err
}

// sentence is a description that is no JSON.
type sentence string

func (a Activity) text() (string, error) {
	if text, plain := a.Description.(sentence); plain {
		return string(text), nil
	}
	return text.EncodePHP(a.Description)
}

// reasonTitles are how entries of the activity log begin that say why a booking was cancelled or changed, in English: the
// add-on's translations are not read.
var reasonTitles = map[string]string{records.CancellationReason: "Cancellation reason: ", records.RescheduleReason: "Reschedule reason: "}

// ReasonText returns the description of such an entry.
func ReasonText(key, text string) string { return reasonTitles[key] + text }

// LogReason adds the reason with a key of booking meta to the activity log
// (OsFeatureBookingReasonsHelper::log_booking_reason_activity, Pro Features 1.6).
func LogReason(ctx context.Context, tx *session.Tx, booking, customer int64, key, text string) error {
	return LogActivities(ctx, tx, Activity{Code: "booking_" + key, bookingID: &booking, customerID: &customer, Description: sentence(ReasonText(key, text))})
}

// LogEvents adds events to the activity log.
func LogEvents(ctx context.Context, tx *session.Tx, w session.WriteSettings, events []Event) error {
	activities := make([]Activity, len(events))
	for i, e := range events {
		activities[i] = eventActivity(tx.Session, w, e)
	}
	if err := LogActivities(ctx, tx, activities...); err != nil {
		return err
	}
	Announce(tx, events...)
	return nil
}

// Announce queues events for the extensions of the site.
func Announce(tx *session.Tx, all ...Event) {
	told := make([]extensions.Event, len(all))
	for i, e := range all {
		_, id := e.record()
		told[i] = extensions.Event{Name: string(e.Kind), RecordID: id}
	}
	tx.Announce(told...)
}

// eventActivity mirrors OsActivitiesHelper::create_activity for an event. What PHP reads from the database are texts; what it
// has set itself in the state after the event keeps its type: the ids of customers and orders, new or not, that an order has no
// source, and the id and duration of a new booking.
func eventActivity(s *session.Session, w session.WriteSettings, e Event) Activity {
	a := Activity{Code: string(e.Kind)}
	objectType, id := e.record()
	var vars func(Snapshot) object
	var typed object // what PHP has set
	switch objectType {
	case "customer":
		a.customerID = &id
		vars = func(of Snapshot) object { return customerVars(of.Customer) }
		typed = object{{"id", id}}
	case "order":
		a.orderID = &id
		vars = func(of Snapshot) object { return fullOrderVars(s, w, of.Customer, *of.Order, of.bookings()...) }
		typed = object{{"id", id}, {"source_url", false}}
	default:
		a.bookingID = &id
		vars = func(of Snapshot) object { return fullBookingVars(s, w, of) }
		if e.Kind == BookingCreated {
			typed = object{{"id", id}, {"duration", e.After.Booking.Duration}}
		}
	}
	after := vars(e.After)
	for _, m := range typed {
		after = after.set(m.key, m.value)
	}
	if e.Before == nil {
		a.Description = description(objectType, after)
	} else {
		a.Description = description(objectType, changed(vars(*e.Before), after))
	}
	return a
}

// description is that of an entry about a record.
func description(objectType string, vars object) object {
	return object{{objectType + "_data_vars", vars}}
}

func changed(before, after object) object { return object{{"new", after}, {"old", before}} }

// logOrderUpdate adds an updated order to the activity log, and returns the event to notify about. Only the
// order itself and its customer count as the state before: the plugin reads items and payments when it
// writes the entry.
func logOrderUpdate(ctx context.Context, tx *session.Tx, w session.WriteSettings, before records.Order, now OrderWithBookings) (Event, error) {
	old := now
	old.Order.Order = before
	var err error
	if before.CustomerID != now.Order.CustomerID {
		if old.Customer, _, err = records.OrderCustomer(ctx, tx.Session, before.CustomerID); err != nil {
			return Event{}, err
		}
		old.Order.Payments = slices.Clone(now.Order.Payments) // they moved with the order
		for i := range old.Order.Payments {
			old.Order.Payments[i].CustomerID = before.CustomerID
		}
	}
	entry := description("order", changed(old.vars(tx.Session, w), now.vars(tx.Session, w)))
	if err := LogActivities(ctx, tx, Activity{Code: string(OrderUpdated), orderID: &before.ID, Description: entry}); err != nil {
		return Event{}, err
	}
	updated := Event{Kind: OrderUpdated, After: now.Snapshot(), Before: new(old.Snapshot())}
	Announce(tx, updated)
	return updated, nil
}
