package adapter

import (
	"cmp"
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/process"
	"bookside/wpdb"
)

// messageContext is what messages show beyond the snapshot of an event.
type messageContext struct {
	customerNotes string
	staff         []staffMember // at least one where there is a booking
	orderKeys     manageKeys
	order         *process.OrderContent // nil where no template shows it
	logoURL       string                // "" likewise
}

// messageContexts are the contexts of the snapshots of a write. Each is read once for all
// events that share it, and only as far as templates show it.
type messageContexts struct {
	w       writeSettings
	needs   templateNeeds
	logoURL string
	known   map[snapshot]messageContext
}

func (tx *Tx) newMessageContexts(ctx context.Context, w writeSettings, needs templateNeeds) (contexts messageContexts, err error) {
	contexts = messageContexts{w: w, needs: needs, known: map[snapshot]messageContext{}}
	if needs.logo {
		contexts.logoURL, err = tx.logoURL(ctx, w)
	}
	return contexts, err
}

// of returns the context of a snapshot.
func (c messageContexts) of(ctx context.Context, tx *Tx, of snapshot) (messageContext, error) {
	if found, ok := c.known[of]; ok {
		return found, nil
	}
	read := messageContext{logoURL: c.logoURL}
	var err error
	notes := sq.Select("COALESCE(notes, '')").From(tx.db.Name(wpdb.Customers)).Where(sq.Eq{"id": of.customer.ID})
	if read.customerNotes, _, err = wpdb.One(ctx, tx.db, "read notes of customer", notes, wpdb.Value[string]); err != nil {
		return read, err
	}
	if read.staff, err = tx.staff(ctx, of); err != nil {
		return read, err
	}
	if of.order != nil {
		if read.orderKeys, err = tx.ensureOrderKeys(ctx, of.order); err != nil {
			return read, err
		}
	}
	if of.order != nil && c.needs.order {
		if read.order, err = tx.orderContent(ctx, c.w, of); err != nil {
			return read, err
		}
	}
	c.known[of] = read
	return read, nil
}

// staffMember is the agent of a booking as templates show agents, with the category of
// the booking's service.
type staffMember struct {
	process.AgentVariables
	category string
}

// staff reads the agent of the booking, or else the agents of the order's bookings. A
// booking always has one.
func (s *Site) staff(ctx context.Context, of snapshot) ([]staffMember, error) {
	var bookings []int64
	switch {
	case of.booking != nil:
		bookings = []int64{of.booking.ID}
	case of.order != nil:
		var err error
		if bookings, err = s.orderBookings(ctx, of.order.CustomerID, of.order.items); err != nil {
			return nil, err
		}
	}
	if len(bookings) == 0 {
		return nil, nil
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
	if err == nil && of.booking != nil && len(staff) == 0 {
		staff = []staffMember{{}} // the booking was just deleted
	}
	return staff, err
}
