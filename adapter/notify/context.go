package notify

import (
	"cmp"
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// messageContext is what messages show beyond the snapshot of an event.
type messageContext struct {
	customerNotes string
	staff         []staffMember // at least one if there is a booking
	orderKeys     records.ManageKeys
	order         *OrderContent // nil if no template shows it
	logoURL       string        // "" if no template shows it
}

// messageContexts are the contexts of the snapshots of a write. Each is read once for all
// events that share it, and only as far as templates show it.
type messageContexts struct {
	w       session.WriteSettings
	needs   templateNeeds
	logoURL string
	known   map[Snapshot]messageContext
}

func newMessageContexts(ctx context.Context, tx *session.Tx, w session.WriteSettings, needs templateNeeds) (contexts messageContexts, err error) {
	contexts = messageContexts{w: w, needs: needs, known: map[Snapshot]messageContext{}}
	if needs.logo {
		contexts.logoURL, err = logoURL(ctx, tx.Session, w)
	}
	return contexts, err
}

// load returns the context of a snapshot.
func (c messageContexts) load(ctx context.Context, tx *session.Tx, snapshot Snapshot) (messageContext, error) {
	if found, ok := c.known[snapshot]; ok {
		return found, nil
	}
	read := messageContext{logoURL: c.logoURL}
	var err error
	if read.staff, read.customerNotes, err = staffAndNotes(ctx, tx.Session, snapshot); err != nil {
		return read, err
	}
	if snapshot.Order != nil {
		if read.orderKeys, err = ensureOrderKeys(ctx, tx, snapshot.Order); err != nil {
			return read, err
		}
	}
	if snapshot.Order != nil && c.needs.order {
		if read.order, err = orderContent(ctx, tx.Session, c.w, snapshot); err != nil {
			return read, err
		}
	}
	c.known[snapshot] = read
	return read, nil
}

// staffAndNotes returns the agents of a snapshot and the notes of its customer.
func staffAndNotes(ctx context.Context, s *session.Session, snapshot Snapshot) (staff []staffMember, notes string, err error) {
	if snapshot.Booking != nil && snapshot.Booking.Shown != nil {
		return []staffMember{snapshot.Booking.Shown.staff}, snapshot.Booking.Shown.customerNotes, nil
	}
	stmt := sq.Select("COALESCE(notes, '')").From(s.DB.Name(wpdb.Customers)).Where(sq.Eq{"id": snapshot.Customer.ID})
	if notes, _, err = wpdb.One(ctx, s.DB, "read notes of customer", stmt, wpdb.Value[string]); err != nil {
		return nil, "", err
	}
	staff, err = loadStaff(ctx, s, snapshot)
	return staff, notes, err
}

// NewBooking reads a booking that was just written, whose only metadata are its keys, and what messages
// show of it.
func NewBooking(ctx context.Context, s *session.Session, id int64) (records.Booking, ShownInMessages, error) {
	type found struct {
		*records.Booking
		ShownInMessages
	}
	stmt := records.BookingRecords(s).From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": id}).Column("o.payment_status").Column(new(records.Total).Column()).
		Columns("c.notes", "a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.extra_emails", "a.extra_phones", "sc.name").
		LeftJoin(s.DB.As(wpdb.ServiceCategories, "sc") + " ON sc.id = s.category_id")
	listed := records.NewListedRow(new(records.Total))
	read, ok, err := wpdb.One(ctx, s.DB, "read new booking", stmt, func(row wpdb.Scanner) (f found, err error) {
		f.Booking, err = listed.Scan(scannerOfMore{row, append([]any{wpdb.OrZero(&f.customerNotes)}, f.staff.columns()...)})
		f.staff.complete()
		return f, err
	})
	if err != nil {
		return records.Booking{}, ShownInMessages{}, err
	}
	if !ok {
		return records.Booking{}, ShownInMessages{}, domain.NotFound(domain.BookingResource, id)
	}
	return *read.Booking, read.ShownInMessages, nil
}

// scannerOfMore is a row with more columns than its reader knows.
type scannerOfMore struct {
	wpdb.Scanner
	more []any
}

// Scan implements wpdb.Scanner.
func (s scannerOfMore) Scan(dest ...any) error { return s.Scanner.Scan(slices.Concat(dest, s.more)...) }

// staffMember is the agent of a booking as templates show agents, with the category of
// the booking's service.
type staffMember struct {
	AgentVariables
	category string
}

// columns are the variables that a member's columns are scanned into.
func (m *staffMember) columns() []any {
	return []any{wpdb.OrZero(&m.FirstName), wpdb.OrZero(&m.LastName), wpdb.OrZero(&m.DisplayName), wpdb.OrZero(&m.Email), wpdb.OrZero(&m.Phone),
		wpdb.OrZero(&m.AdditionalEmails), wpdb.OrZero(&m.AdditionalPhones), wpdb.OrZero(&m.category)}
}

// complete sets the fields derived from the columns.
func (m *staffMember) complete() {
	m.DisplayName = cmp.Or(m.DisplayName, records.AgentFullName(m.FirstName, m.LastName))
}

// loadStaff reads the agent of the booking or, without one, the agents of the order's bookings. A booking
// always has one.
func loadStaff(ctx context.Context, s *session.Session, snapshot Snapshot) ([]staffMember, error) {
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
	stmt := sq.Select("a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.extra_emails", "a.extra_phones", "c.name").
		From(s.DB.As(wpdb.Bookings, "b")).
		LeftJoin(s.DB.As(wpdb.Agents, "a") + " ON a.id = b.agent_id").
		LeftJoin(s.DB.As(wpdb.Services, "s") + " ON s.id = b.service_id").
		LeftJoin(s.DB.As(wpdb.ServiceCategories, "c") + " ON c.id = s.category_id").
		Where(sq.Eq{"b.id": bookings}).OrderBy("b.id")
	staff, err := wpdb.All(ctx, s.DB, "read agents of bookings", stmt, func(row wpdb.Scanner) (m staffMember, err error) {
		err = row.Scan(m.columns()...)
		m.complete()
		return m, err
	})
	if err == nil && snapshot.Booking != nil && len(staff) == 0 {
		staff = []staffMember{{}} // the booking was just deleted
	}
	return staff, err
}
