package notify

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// agent is the agent of a booking as templates show agents, with the category of the booking's service.
type agent struct {
	firstName, lastName, displayName   string
	email, phone                       string
	additionalEmails, additionalPhones string // comma-separated
	category                           string
}

// agentColumns are the columns of an agent, and columns what they are scanned into.
var agentColumns = []string{"a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.extra_emails", "a.extra_phones", "sc.name"}

func (a *agent) columns() []any {
	return []any{wpdb.OrZero(&a.firstName), wpdb.OrZero(&a.lastName), wpdb.OrZero(&a.displayName), wpdb.OrZero(&a.email), wpdb.OrZero(&a.phone),
		wpdb.OrZero(&a.additionalEmails), wpdb.OrZero(&a.additionalPhones), wpdb.OrZero(&a.category)}
}

// loadAgentsAndNotes returns the agents of a snapshot's bookings and the notes of its customer.
func loadAgentsAndNotes(ctx context.Context, s *session.Session, snapshot Snapshot) ([]agent, string, error) {
	if snapshot.Booking != nil && snapshot.Booking.inMessages != nil {
		return []agent{snapshot.Booking.inMessages.agent}, snapshot.Booking.inMessages.customerNotes, nil
	}
	stmt := sq.Select("COALESCE(notes, '')").From(s.DB.Name(wpdb.Customers)).Where(sq.Eq{"id": snapshot.Customer.ID})
	notes, _, err := wpdb.One(ctx, s.DB, "read notes of customer", stmt, wpdb.Value[string])
	if err != nil {
		return nil, "", err
	}
	agents, err := loadAgents(ctx, s, snapshot)
	return agents, notes, err
}

// loadAgents reads the agent of the booking or, without one, the agents of the order's bookings. A booking
// always has one.
func loadAgents(ctx context.Context, s *session.Session, snapshot Snapshot) ([]agent, error) {
	var bookings []int64
	switch {
	case snapshot.Booking != nil:
		bookings = []int64{snapshot.Booking.ID}
	case snapshot.Order != nil:
		var err error
		if bookings, err = OrderBookings(ctx, s, snapshot.Order.CustomerID, snapshot.Order.Items); err != nil {
			return nil, err
		}
	}
	if len(bookings) == 0 {
		return nil, nil
	}
	stmt := sq.Select(agentColumns...).From(s.DB.As(wpdb.Bookings, "b")).
		LeftJoin(s.DB.As(wpdb.Agents, "a") + " ON a.id = b.agent_id").
		LeftJoin(s.DB.As(wpdb.Services, "s") + " ON s.id = b.service_id").
		LeftJoin(s.DB.As(wpdb.ServiceCategories, "sc") + " ON sc.id = s.category_id").
		Where(sq.Eq{"b.id": bookings}).OrderBy("b.id")
	agents, err := wpdb.All(ctx, s.DB, "read agents of bookings", stmt, wpdb.Into((*agent).columns))
	if err == nil && snapshot.Booking != nil && len(agents) == 0 {
		agents = []agent{{}} // the booking was just deleted
	}
	return agents, err
}

// inMessages is what messages show of a booking beyond its record.
type inMessages struct {
	agent         agent
	customerNotes string
}

// LoadNewBooking reads a booking that was just written, whose only metadata are its keys, and what messages
// show of it.
func LoadNewBooking(ctx context.Context, s *session.Session, id int64, keys records.ManageKeys) (*BookingSnapshot, error) {
	stmt := records.BookingRecords(s).From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": id}).Column("o.payment_status").Column(new(records.Total).Column()).
		Column("c.notes").Columns(agentColumns...).
		LeftJoin(s.DB.As(wpdb.ServiceCategories, "sc") + " ON sc.id = s.category_id")
	var shown inMessages
	row := records.NewListedRow(new(records.Total), append([]any{wpdb.OrZero(&shown.customerNotes)}, shown.agent.columns()...)...)
	booking, ok, err := wpdb.One(ctx, s.DB, "read new booking", stmt, row.Scan)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, domain.NotFound(domain.BookingResource, id)
	}
	return &BookingSnapshot{Booking: *booking, Keys: keys, inMessages: &shown}, nil
}
