package adapter

import (
	"cmp"
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
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
	if read.staff, read.customerNotes, err = tx.staffAndNotes(ctx, of); err != nil {
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

// staffAndNotes returns the agents of a snapshot and the notes of its customer.
func (s *Site) staffAndNotes(ctx context.Context, of snapshot) (staff []staffMember, notes string, err error) {
	if of.booking != nil && of.booking.shown != nil {
		return []staffMember{of.booking.shown.staff}, of.booking.shown.customerNotes, nil
	}
	stmt := sq.Select("COALESCE(notes, '')").From(s.db.Name(wpdb.Customers)).Where(sq.Eq{"id": of.customer.ID})
	if notes, _, err = wpdb.One(ctx, s.db, "read notes of customer", stmt, wpdb.Value[string]); err != nil {
		return nil, "", err
	}
	staff, err = s.staff(ctx, of)
	return staff, notes, err
}

// newBooking reads a booking that was just written, which has no metadata but its keys, and what
// messages show of it.
func (s *Site) newBooking(ctx context.Context, id int64) (Booking, shownInMessages, error) {
	type found struct {
		*Booking
		shownInMessages
	}
	stmt := s.bookingRecords().From(s.db.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": id}).Column("o.payment_status").Column(new(total).column()).
		Columns("c.notes", "a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.extra_emails", "a.extra_phones", "sc.name").
		LeftJoin(s.db.As(wpdb.ServiceCategories, "sc") + " ON sc.id = s.category_id")
	listed := newListedRow(new(total))
	read, ok, err := wpdb.One(ctx, s.db, "read new booking", stmt, func(row wpdb.Scanner) (f found, err error) {
		f.Booking, err = listed.scan(scannerOfMore{row, append([]any{wpdb.OrZero(&f.customerNotes)}, f.staff.columns()...)})
		f.staff.complete()
		return f, err
	})
	if err != nil {
		return Booking{}, shownInMessages{}, err
	}
	if !ok {
		return Booking{}, shownInMessages{}, domain.NotFound(domain.BookingResource, id)
	}
	read.Meta = map[string]string{}
	return *read.Booking, read.shownInMessages, nil
}

// scannerOfMore is a row with columns beyond those that its reader knows.
type scannerOfMore struct {
	wpdb.Scanner
	more []any
}

// Scan implements wpdb.Scanner.
func (s scannerOfMore) Scan(dest ...any) error { return s.Scanner.Scan(slices.Concat(dest, s.more)...) }

// staffMember is the agent of a booking as templates show agents, with the category of
// the booking's service.
type staffMember struct {
	process.AgentVariables
	category string
}

// columns are where the columns of a member are scanned to.
func (m *staffMember) columns() []any {
	return []any{wpdb.OrZero(&m.FirstName), wpdb.OrZero(&m.LastName), wpdb.OrZero(&m.DisplayName), wpdb.OrZero(&m.Email), wpdb.OrZero(&m.Phone),
		wpdb.OrZero(&m.AdditionalEmails), wpdb.OrZero(&m.AdditionalPhones), wpdb.OrZero(&m.category)}
}

// complete sets what follows from the columns.
func (m *staffMember) complete() {
	m.DisplayName = cmp.Or(m.DisplayName, agentFullName(m.FirstName, m.LastName))
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
		err = row.Scan(m.columns()...)
		m.complete()
		return m, err
	})
	if err == nil && of.booking != nil && len(staff) == 0 {
		staff = []staffMember{{}} // the booking was just deleted
	}
	return staff, err
}
