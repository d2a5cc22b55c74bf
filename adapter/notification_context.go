package adapter

import (
	"cmp"
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/process"
	"bookside/wpdb"
)

// recordIDs are what an event is about, 0 for no booking or order.
type recordIDs struct{ customer, booking, order int64 }

// messageContext are what messages say beyond the records of an event.
type messageContext struct {
	customerNotes string
	staff         []staffMember // one at least where there is a booking
	orderKeys     manageKeys
}

// messageContext reads the surroundings of an event, once for all events about the same.
func (tx *Tx) messageContext(ctx context.Context, f bookingFacts, known map[recordIDs]messageContext) (messageContext, error) {
	ids := recordIDs{customer: f.Customer.ID, booking: f.ID}
	if f.Order != nil {
		ids.order = f.Order.ID
	}
	if found, ok := known[ids]; ok {
		return found, nil
	}
	var around messageContext
	var err error
	notes := sq.Select("COALESCE(notes, '')").From(tx.db.Name(wpdb.Customers)).Where(sq.Eq{"id": f.Customer.ID})
	if around.customerNotes, _, err = wpdb.One(ctx, tx.db, "read notes of customer", notes, wpdb.Value[string]); err != nil {
		return around, err
	}
	if around.staff, err = tx.staff(ctx, f); err != nil {
		return around, err
	}
	if f.Order != nil {
		around.orderKeys, err = tx.keysOfOrder(ctx, f)
	}
	known[ids] = around
	return around, err
}

// staffMember is the agent of a booking as templates show one, with the category
// of its service.
type staffMember struct {
	process.AgentVariables
	category string
}

// staff is that of a booking, or else of the bookings of an order. A booking has
// one always.
func (s *Site) staff(ctx context.Context, f bookingFacts) ([]staffMember, error) {
	bookings := []int64{f.ID}
	if f.ID == 0 {
		if f.Order == nil {
			return nil, nil
		}
		var err error
		if bookings, err = s.orderBookings(ctx, f.Order.CustomerID, f.items); err != nil || len(bookings) == 0 {
			return nil, err
		}
	}
	stmt := sq.Select("a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.extra_emails", "a.extra_phones", "c.name").
		From(s.db.As(wpdb.Bookings, "b")).
		LeftJoin(s.db.As(wpdb.Agents, "a") + " ON a.id = b.agent_id").
		LeftJoin(s.db.As(wpdb.Services, "s") + " ON s.id = b.service_id").
		LeftJoin(s.db.As(wpdb.ServiceCategories, "c") + " ON c.id = s.category_id").
		Where(sq.Eq{"b.id": bookings}).OrderBy("b.id")
	staff, err := wpdb.All(ctx, s.db, "read agents of bookings", stmt, func(row wpdb.Scanner) (m staffMember, err error) {
		err = row.Scan(wpdb.OrZero(&m.FirstName), wpdb.OrZero(&m.LastName), wpdb.OrZero(&m.DisplayName), wpdb.OrZero(&m.Email), wpdb.OrZero(&m.Phone),
			wpdb.OrZero(&m.AdditionalEmails), wpdb.OrZero(&m.AdditionalPhones), wpdb.OrZero(&m.category))
		m.DisplayName = cmp.Or(m.DisplayName, agentFullName(m.FirstName, m.LastName))
		return m, err
	})
	if err == nil && f.ID != 0 && len(staff) == 0 {
		staff = []staffMember{{}} // the booking was deleted a moment ago
	}
	return staff, err
}
