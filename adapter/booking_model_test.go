package adapter

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// modelBooking is what the model knows of a booking.
type modelBooking struct {
	Status, Date string
	Start        int64
}

// TestBookingsAgainstModel creates, moves, cancels, approves and deletes bookings at random. After each
// step the database agrees with a model, what is offered can be booked, and no two bookings that hold a
// time overlap.
func TestBookingsAgainstModel(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	db := wpdbtest.Open(t, database, 2)
	site, err := session.NewPlatform(db, fixtures.RecordedNow).Session(t.Context())
	expect.NoError(t, err)
	first := parseDay(t, "2027-02-01") // a Monday after the recorded bookings
	week := 0
	rapid.Check(t, func(rt *rapid.T) {
		week++ // each run has a week to itself
		m := &bookingModel{site: site, database: database, monday: first + availability.Day(7*week), bookings: map[int64]modelBooking{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create":  m.create,
			"move":    m.move,
			"cancel":  func(rt *rapid.T) { m.setStatus(rt, records.StatusCancelled) },
			"approve": func(rt *rapid.T) { m.setStatus(rt, records.StatusApproved) },
			"delete":  m.delete,
			"":        m.check,
		})
	})
}

type bookingModel struct {
	site     *session.Session
	database *fixtures.Database
	monday   availability.Day
	bookings map[int64]modelBooking
}

// slot draws a service, an agent and a start, mostly from the grid. The choice is so small that bookings
// often compete.
func (m *bookingModel) slot(t *rapid.T) (service, agent int64, at availability.Moment) {
	service = rapid.SampledFrom([]int64{1, 2, 4}).Draw(t, "service")
	agent = rapid.SampledFrom([]int64{1, 5}).Draw(t, "agent")
	at.Day = m.monday + availability.Day(rapid.IntRange(0, 1).Draw(t, "day"))
	at.Minutes = session.Minutes(15 * rapid.IntRange(36, 42).Draw(t, "start"))
	return service, agent, at
}

// offered asks what the API offers, and which error it has for what it does not offer.
func (m *bookingModel) offered(t *rapid.T, service, agent int64, at availability.Moment) (bool, domain.Code) {
	grid, err := slots.Search(t.Context(), m.site, slots.Query{ServiceID: service, AgentID: &agent, LocationID: new(int64(1)), From: at.Day, To: at.Day})
	expect.NoError(t, err)
	refused := domain.CodeSlotUnavailable
	if grid.Missing == slots.MissingConnection {
		refused = domain.CodeInvalidRequest
	}
	return slices.ContainsFunc(availability.Offered(grid.Days[0].Slots), func(s availability.Slot) bool { return s.Start == at.Minutes }), refused
}

func (m *bookingModel) create(t *rapid.T) {
	service, agent, at := m.slot(t)
	offered, refused := m.offered(t, service, agent, at)
	created, err := txCreate(t.Context(), m.site, bookings.Create, bookings.New{ServiceID: service, AgentID: agent, LocationID: new(int64(1)), Start: at, Attendees: 1, CustomerID: 9})
	switch {
	case offered && err != nil:
		t.Fatalf("offered, and refused: %v", err)
	case !offered && domain.CodeOf(err) != refused:
		t.Fatalf("not offered, and %v", err)
	case err == nil:
		m.bookings[created.ID] = modelBooking{records.StatusApproved, at.Day.String(), int64(at.Minutes)}
	}
}

// any draws one of the bookings.
func (m *bookingModel) any(t *rapid.T) int64 {
	ids := make([]int64, 0, len(m.bookings))
	for id := range m.bookings {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		t.Skip("no bookings yet: another step is drawn instead of this one")
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "booking")
}

func (m *bookingModel) move(t *rapid.T) {
	id := m.any(t)
	_, agent, at := m.slot(t)
	before, err := records.LoadBooking(t.Context(), m.site, id)
	expect.NoError(t, err)
	_, refused := m.offered(t, before.ServiceID(), agent, at)
	_, err = txUpdate(t.Context(), m.site, bookings.Update, id, bookings.Patch{AgentID: &agent, StartDate: &at.Day, StartTime: &at.Minutes})
	switch {
	case err == nil:
		b := m.bookings[id]
		b.Date, b.Start = at.Day.String(), int64(at.Minutes)
		m.bookings[id] = b
	case domain.CodeOf(err) != refused:
		t.Fatal(err)
	}
}

func (m *bookingModel) setStatus(t *rapid.T, status string) {
	id := m.any(t)
	b := m.bookings[id]
	_, err := txUpdate(t.Context(), m.site, bookings.Update, id, bookings.Patch{Status: &status})
	switch {
	case err == nil:
		b.Status = status
		m.bookings[id] = b
	case domain.CodeOf(err) != domain.CodeSlotUnavailable || status != records.StatusApproved || b.Status == records.StatusApproved:
		t.Fatal(err)
	}
}

func (m *bookingModel) delete(t *rapid.T) {
	id := m.any(t)
	forced := rapid.Bool().Draw(t, "force")
	err := m.site.Transact(t.Context(), "delete booking", func(tx *session.Tx) error { return bookings.Delete(t.Context(), tx, id, forced) })
	switch {
	case err == nil && !forced && m.bookings[id].Status == records.StatusApproved:
		t.Fatal("an approved booking was deleted without force")
	case err == nil:
		delete(m.bookings, id)
	case domain.CodeOf(err) != domain.CodeForceRequired || forced:
		t.Fatal(err)
	}
}

// storedBooking is a row, with the time that it blocks.
type storedBooking struct {
	modelBooking

	agent, from, to int64
}

// overlaps reports whether two bookings block the same time of an agent.
func (b storedBooking) overlaps(other storedBooking) bool {
	return b.Status == records.StatusApproved && other.Status == records.StatusApproved && b.agent == other.agent && b.Date == other.Date && b.from < other.to && other.from < b.to
}

// check compares the model with the database.
func (m *bookingModel) check(t *rapid.T) {
	rows, err := m.database.SQL.QueryContext(t.Context(), `SELECT id, status, start_date, start_time, agent_id, start_time - buffer_before, end_time + buffer_after
		FROM wp_latepoint_bookings WHERE start_date BETWEEN ? AND ?`, m.monday.String(), (m.monday + 6).String())
	expect.NoError(t, err)
	defer rows.Close()
	stored := map[int64]modelBooking{}
	var all []storedBooking
	overlaps := 0
	for rows.Next() {
		var id int64
		var b storedBooking
		expect.NoError(t, rows.Scan(&id, &b.Status, &b.Date, &b.Start, &b.agent, &b.from, &b.to))
		for _, other := range all {
			if b.overlaps(other) {
				overlaps++
			}
		}
		stored[id] = b.modelBooking
		all = append(all, b)
	}
	expect.NoError(t, rows.Err())
	if diff := cmp.Diff(m.bookings, stored); diff != "" {
		t.Fatalf("model and database (-model +database):\n%s", diff)
	}
	if overlaps > 0 {
		t.Fatalf("%d overlapping pairs", overlaps)
	}
}
