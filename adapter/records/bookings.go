package records

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Booking is a booking with the records it refers to. A dangling reference
// keeps its id and has empty texts.
type Booking struct {
	ID           int64
	Code         string
	Status       string
	StartDate    session.Date
	EndDate      session.Date
	StartTime    *session.Minutes // as stored, which may not be a time: see IsTime
	EndTime      *session.Minutes // likewise, on EndDate; 1440 for an end at midnight; nil if there is no start
	EndCorrected bool             // the stored end cannot be right, and EndTime replaces it
	Duration     int64            // minutes
	BufferBefore int64            // minutes
	BufferAfter  int64            // minutes
	Attendees    int64
	Customer     BookingCustomer
	Agent        BookingAgent
	Service      *BookingService // nil where none exists
	Location     BookingLocation
	OrderItemID  int64           // 0 if none is stored
	Order        *BookingOrder   // nil where none exists
	Price        decimal.Decimal // the order item's total; 0 without an order item
	CreatedAt    domain.Timestamp
	UpdatedAt    domain.Timestamp
	Meta         map[string]string // nil unless requested
	Extras       []BookingExtra    // nil on sites without extras, see HasExtraTables
	Reasons      map[string]string // why it was cancelled or changed, see AskedReasons
}

// BookingCustomer is the part of a customer that bookings show.
type BookingCustomer struct {
	ID                                int64
	FirstName, LastName, Email, Phone string
}

// FullName is both names of the customer; "" if they have none.
func (c BookingCustomer) FullName() string { return strings.TrimSpace(c.FirstName + " " + c.LastName) }

// BookingAgent is the part of an agent that bookings show.
type BookingAgent struct {
	ID                     int64
	FullName, Email, Phone string
}

// BookingService is the part of a service that bookings and agents show.
type BookingService struct {
	ID                             int64
	Name, ShortDescription, Status string
	Duration                       int64 // minutes
	PriceMin, PriceMax             decimal.Decimal
}

// BookingLocation is the part of a location that bookings show.
type BookingLocation struct {
	ID                *int64 // nil where the booking has none
	Name, FullAddress string
	Category          *CategoryName // nil where it has none
}

// CategoryName is the id and name of a category.
type CategoryName struct {
	ID   int64
	Name string
}

// BookingOrder is the part of an order that bookings show.
type BookingOrder struct {
	ID              int64
	PaymentStatus   string // as the API shows it
	CustomerComment *string
}

// Assignment returns the agent, service, location and customer of the booking.
func (b Booking) Assignment() journal.Assignment {
	return journal.Assignment{AgentID: b.Agent.ID, ServiceID: b.ServiceID(), LocationID: b.LocationID(), CustomerID: b.Customer.ID}
}

// AgentFullName mirrors OsAgentModel::get_full_name, LatePoint 5.6.5.
func AgentFullName(first, last string) string {
	if name := strings.TrimSpace(first + " " + last); name != "" {
		return name
	}
	return "Agent"
}

const startsAfter = "(b.start_date > ? OR b.start_date = ? AND b.start_time > ?)"

// StartsAfterNow returns the condition that a booking, b, begins after the site's present minute
// (OsCustomerModel::get_future_bookings, LatePoint 5.6.5).
func StartsAfterNow(s *session.Session) sq.Sqlizer {
	return sq.Expr(startsAfter, s.Today(), s.Today(), s.MinuteOfDay())
}

// HasBegun returns the opposite condition, which bookings without a start meet too.
func HasBegun(s *session.Session) sq.Sqlizer {
	return sq.Expr("NOT COALESCE("+startsAfter+", FALSE)", s.Today(), s.Today(), s.MinuteOfDay())
}

// LoadBookings reads bookings with their to-one associations, each by primary key, in the order of the ids, without
// their meta. The payment status is the stored one.
func LoadBookings(ctx context.Context, s *session.Session, ids []int64) ([]Booking, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stored := func(stmt sq.SelectBuilder) sq.SelectBuilder { return stmt.Column("o.payment_status") }
	return ReadBookings(ctx, s, ids, stored, new(Total))
}

// ReadBookings reads bookings in the order of their ids. Bookings deleted in the meantime are left out.
// withStatus adds the payment status of their orders, o.
func ReadBookings(ctx context.Context, s *session.Session, ids []int64, withStatus func(sq.SelectBuilder) sq.SelectBuilder, size *Total) ([]Booking, error) {
	stmt := withStatus(BookingRecords(s).From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids})).Column(size.Column())
	found, err := wpdb.All(ctx, s.DB, "read bookings", stmt, NewListedRow(size).Scan)
	if err != nil {
		return nil, err
	}
	records := make([]Booking, 0, len(found))
	for _, b := range InOrder(ids, ByID(found, func(b *Booking) int64 { return b.ID })) {
		correctEnd(s, b)
		records = append(records, *b)
	}
	return records, addProFeatures(ctx, s, records)
}

// BookingRecords selects bookings, b, and the records that they refer to. The caller adds the payment
// status of their orders, o, and the total; ListedRow then scans the rows.
func BookingRecords(s *session.Session) sq.SelectBuilder {
	own := s.Schema.Columns(wpdb.Bookings, "b", "id", "booking_code", "status", "start_date", "end_date", "start_time", "end_time",
		"duration", "buffer_before", "buffer_after", "total_attendees", "customer_id", "agent_id", "location_id", "created_at", "updated_at")
	return sq.Select(strings.Join(own, ", "), "c.first_name, c.last_name, c.email, c.phone",
		"a.id, a.first_name, a.last_name, a.email, a.phone",
		"s.id, s.name, s.short_description, s.status, s.duration, s.price_min, s.price_max",
		"l.name, l.full_address, lc.id, lc.name", "b.order_item_id, i.total, o.id, o.customer_comment").
		LeftJoin(session.JoinCustomer(s)).
		LeftJoin(s.DB.As(wpdb.Agents, "a") + " ON a.id = b.agent_id").
		LeftJoin(s.DB.As(wpdb.Services, "s") + " ON s.id = b.service_id").
		LeftJoin(s.DB.As(wpdb.Locations, "l") + " ON l.id = b.location_id").
		LeftJoin(s.DB.As(wpdb.LocationCategories, "lc") + " ON lc.id = l.category_id").
		LeftJoin(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").
		LeftJoin(s.DB.As(wpdb.Orders, "o") + " ON o.id = i.order_id")
}

// ListedRow has the variables that the rows of ReadBookings are scanned into, one row after the other:
// allocating them for each row would cost more than everything else.
type ListedRow struct {
	Booking
	service                   BookingService
	category                  CategoryName
	order                     BookingOrder
	agentID                   int64 // 0 if there is none, like the other ids
	agentFirst, agentLast     string
	duration                  *int64
	price, priceMin, priceMax decimal.NullDecimal
	columns                   []any
}

// NewListedRow returns a row to scan into, including the list's total if the statement has it. more is what the columns
// are scanned into that the caller added.
func NewListedRow(size *Total, more ...any) *ListedRow {
	r := new(ListedRow)
	r.columns = append([]any{wpdb.OrZero(&r.ID), wpdb.OrZero(&r.Code), &r.Status, wpdb.OrZero((*string)(&r.StartDate)), wpdb.OrZero((*string)(&r.EndDate)), &r.StartTime, &r.EndTime,
		&r.duration, wpdb.OrZero(&r.BufferBefore), wpdb.OrZero(&r.BufferAfter), wpdb.OrZero(&r.Attendees),
		wpdb.OrZero(&r.Customer.ID), wpdb.OrZero(&r.Agent.ID), &r.Location.ID, wpdb.OrZero((*string)(&r.CreatedAt)), wpdb.OrZero((*string)(&r.UpdatedAt)),
		wpdb.OrZero(&r.Customer.FirstName), wpdb.OrZero(&r.Customer.LastName), wpdb.OrZero(&r.Customer.Email), wpdb.OrZero(&r.Customer.Phone),
		wpdb.OrZero(&r.agentID), wpdb.OrZero(&r.agentFirst), wpdb.OrZero(&r.agentLast), wpdb.OrZero(&r.Agent.Email), wpdb.OrZero(&r.Agent.Phone),
		wpdb.OrZero(&r.service.ID), wpdb.OrZero(&r.service.Name), wpdb.OrZero(&r.service.ShortDescription), wpdb.OrZero(&r.service.Status), wpdb.OrZero(&r.service.Duration), &r.priceMin, &r.priceMax,
		wpdb.OrZero(&r.Location.Name), wpdb.OrZero(&r.Location.FullAddress), wpdb.OrZero(&r.category.ID), wpdb.OrZero(&r.category.Name),
		wpdb.OrZero(&r.OrderItemID), &r.price, wpdb.OrZero(&r.order.ID), &r.order.CustomerComment,
		wpdb.OrZero(&r.order.PaymentStatus), size.Dest()}, more...)
	return r
}

// Scan reads a row. It scans all columns, so that nothing is left of the previous row.
func (r *ListedRow) Scan(row wpdb.Scanner) (*Booking, error) {
	if err := row.Scan(r.columns...); err != nil {
		return nil, err
	}
	b := r.Booking
	b.Price = orZeroAmount(r.price)
	if b.Attendees == 0 {
		b.Attendees = 1
	}
	if r.agentID != 0 {
		b.Agent.FullName = AgentFullName(r.agentFirst, r.agentLast)
	}
	if r.service.ID != 0 {
		service := r.service
		service.PriceMin, service.PriceMax = orZeroAmount(r.priceMin), orZeroAmount(r.priceMax)
		b.Service = &service
	}
	if r.category.ID != 0 {
		category := r.category
		b.Location.Category = &category
	}
	if r.order.ID != 0 {
		order := r.order
		b.Order = &order
	}
	b.SetTimes(r.duration)
	return &b, nil
}

// orZeroAmount returns an amount, or 0 for NULL, where a scan leaves the previous amount in place.
func orZeroAmount(amount decimal.NullDecimal) decimal.Decimal {
	if !amount.Valid {
		return decimal.Decimal{}
	}
	return amount.Decimal
}

// MinutesPerDay is also the end time stored for an end at midnight.
const MinutesPerDay = 24 * 60

// IsTime reports whether a stored number is a time of day. Work past midnight extends to the end of the
// next day.
func IsTime(m *session.Minutes) bool { return m != nil && *m >= 0 && *m <= 2*MinutesPerDay }

// SetTimes fills in what the plugin's abilities interface leaves NULL: the duration from the service, and
// the end from start and duration.
func (b *Booking) SetTimes(duration *int64) {
	switch {
	case duration != nil:
		b.Duration = *duration
	case b.Service != nil:
		b.Duration = b.Service.Duration
	}
	if b.EndTime != nil || !IsTime(b.StartTime) {
		return
	}
	end := *b.StartTime + b.usualLength()
	if end > MinutesPerDay {
		end %= MinutesPerDay
	}
	b.EndTime, b.EndCorrected = &end, true
}

// UsualDuration returns how long a booking without a usable end takes: for its own duration, otherwise for
// that of its service.
func UsualDuration(own, service int64) int64 {
	if own > 0 {
		return own
	}
	return max(service, 0)
}

func (b *Booking) usualLength() session.Minutes {
	var service int64
	if b.Service != nil {
		service = b.Service.Duration
	}
	return session.Minutes(UsualDuration(b.Duration, service))
}

// LoadBooking returns one booking with its meta, or a CodeNotFound.
func LoadBooking(ctx context.Context, s *session.Session, id int64) (Booking, error) {
	records, err := LoadBookings(ctx, s, []int64{id})
	if err == nil {
		err = AddBookingMeta(ctx, s, records)
	}
	return Only(records, err, domain.BookingResource, id)
}

// Start returns the instant at which the booking begins, in the site's zone. ok is false
// if no date or time is stored.
func Start(s *session.Session, b Booking) (instant time.Time, ok bool) {
	if !IsTime(b.StartTime) {
		return time.Time{}, false
	}
	return s.Zone.Instant(b.StartDate, *b.StartTime)
}

// End returns the instant at which the booking ends, in the site's zone: when the clock shows the stored
// end, if that can be right. It ignores the stored UTC columns, which the plugin leaves NULL or a day late
// around midnight.
func End(s *session.Session, b Booking) (instant time.Time, ok bool) {
	_, end, ok := Span(s, b)
	if !ok {
		return time.Time{}, false
	}
	return s.Zone.Clock().Instant(end), true
}

// Span returns when the booking takes place; see availability.Clock. ok is false if no start is stored.
func Span(s *session.Session, b Booking) (start, end availability.Moment, ok bool) {
	start, ok = storedMoment(b.StartDate, b.StartTime)
	if !ok {
		return start, end, false
	}
	return start, s.Zone.Clock().StoredEnd(start, storedEnd(b, start), b.usualLength()), true
}

// storedEnd returns the stored end of a booking: on the day of its start if it has no date, and at minute 0 if
// it has no time.
func storedEnd(b Booking, start availability.Moment) availability.Moment {
	end := availability.Moment{Day: start.Day}
	if day, known := availability.ParseDay(string(b.EndDate)); known {
		end.Day = day
	}
	if IsTime(b.EndTime) {
		end.Minutes = *b.EndTime
	}
	return end
}

// storedMoment returns a stored date and time; ok is false if either is invalid.
func storedMoment(date session.Date, minutes *session.Minutes) (m availability.Moment, ok bool) {
	day, known := availability.ParseDay(string(date))
	if !known || !IsTime(minutes) {
		return m, false
	}
	return availability.Moment{Day: day, Minutes: *minutes}, true
}

// correctEnd replaces a stored end that cannot be right with the effective one, in the plugin's format.
func correctEnd(s *session.Session, b *Booking) {
	start, known := storedMoment(b.StartDate, b.StartTime)
	_, dated := availability.ParseDay(string(b.EndDate))
	if !known || dated && availability.CanEnd(start, storedEnd(*b, start)) {
		return
	}
	_, end, _ := Span(s, *b)
	right := SpanUntil(s, start, end).End
	b.EndDate, b.EndTime, b.EndCorrected = session.Date(right.Day.String()), &right.Minutes, true
}

// Length returns how many minutes the booking takes until the same end as End.
func Length(s *session.Session, b Booking) session.Minutes {
	if start, end, ok := Span(s, b); ok {
		return s.Zone.Clock().Length(start, end)
	}
	return session.Minutes(b.Duration)
}

// knownStatuses are the booking statuses of every site.
var knownStatuses = []string{"pending", "approved", "cancelled", "completed", "no_show", "payment_pending"}

// KnowsBookingStatus reports whether a status is one of the platform's or of the site's custom ones
// (OsBookingHelper::get_statuses_list, LatePoint 5.6.5).
func KnowsBookingStatus(ctx context.Context, s *session.Session, status string) (bool, error) {
	if slices.Contains(knownStatuses, status) {
		return true, nil
	}
	all, err := BookingStatuses(ctx, s)
	return slices.Contains(all, status), err
}

// BookingStatuses returns the platform's statuses of bookings and the site's custom ones.
func BookingStatuses(ctx context.Context, s *session.Session) ([]string, error) {
	settings, err := s.DB.SettingValues(ctx, session.SettingOwnStatuses)
	return BookingStatusesOf(settings), err
}

// BookingStatusesOf is BookingStatuses with the site's settings.
func BookingStatusesOf(settings map[string]string) []string {
	return append(slices.Clone(knownStatuses), OwnStatuses(settings[session.SettingOwnStatuses])...)
}

// maxStatus is how many characters the column of a booking's status holds.
const maxStatus = 30

// OwnStatuses returns the codes of a site's custom booking statuses, from the setting with their labels. No booking can have
// one that is longer than the column: WordPress fails to store it.
func OwnStatuses(labels string) []string {
	var codes []string
	for label := range strings.SplitSeq(labels, ",") {
		if code := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(label)), " ", "_"); code != "" && utf8.RuneCountInString(code) <= maxStatus {
			codes = append(codes, code)
		}
	}
	return codes
}

// ServiceID returns the id of the service, or 0 if there is none.
func (b Booking) ServiceID() int64 {
	if b.Service == nil {
		return 0
	}
	return b.Service.ID
}

// LocationID returns the id of the location, or 0 if there is none.
func (b Booking) LocationID() int64 { return domain.ValueOr(b.Location.ID, 0) }

// AnyLocation returns the id of the location, or nil if none is stored.
func (b Booking) AnyLocation() *int64 {
	if b.LocationID() == 0 {
		return nil
	}
	return b.Location.ID
}

// AddBookingMeta reads the visible meta of bookings.
func AddBookingMeta(ctx context.Context, s *session.Session, records []Booking) error {
	if len(records) == 0 {
		return nil
	}
	var metas []session.MetaRow
	if err := wpdb.Together(ctx, s.DB, queryBookingMeta(s, &metas, records)); err != nil {
		return err
	}
	return showMeta(ctx, s, records, metas)
}

func queryBookingMeta(s *session.Session, into *[]session.MetaRow, records []Booking) wpdb.Query {
	ids := IDsOf(records, func(b Booking) int64 { return b.ID })
	return session.QueryMetas(s, into, wpdb.BookingMeta, ids, NotSecret("meta_key"))
}

// showMeta gives bookings the meta that the API shows.
func showMeta(ctx context.Context, s *session.Session, records []Booking, rows []session.MetaRow) error {
	metas := session.MetasOf(rows)
	shown := VisibleMeta{Site: s}
	for i := range records {
		records[i].Meta = map[string]string{}
		for key, value := range metas[records[i].ID] {
			visible, err := shown.Has(ctx, key)
			if err != nil {
				return err
			}
			if visible {
				records[i].Meta[key] = value
			}
		}
	}
	return nil
}
