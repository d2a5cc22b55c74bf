package compat

import (
	"context"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
)

// Booking is a booking as lists return it.
type Booking struct {
	ID             int64             `json:"id"`
	BookingCode    string            `json:"booking_code"`
	Status         string            `json:"status"`
	StartDate      string            `json:"start_date"`
	StartTime      string            `json:"start_time"`
	EndTime        string            `json:"end_time"`
	Duration       int64             `json:"duration"`
	Price          string            `json:"price"`
	PaymentStatus  string            `json:"payment_status"`
	Customer       BookingCustomer   `json:"customer"`
	Agent          BookingAgent      `json:"agent"`
	Service        []ServiceSummary  `json:"service"` // a list of one, or of none, as in PHP
	Location       BookingLocation   `json:"location"`
	TotalAttendees int64             `json:"total_attendees"`
	Notes          string            `json:"notes" mask:"text"`
	CreatedAt      string            `json:"created_at"`
	UpdatedAt      string            `json:"updated_at"`
	Meta           map[string]string `json:"meta,omitzero" mask:"text"`
	Extras         []BookingExtra    `json:"extras,omitzero"` // missing on sites without extras, [] for a booking without any

	CancellationReason *string `json:"cancellation_reason,omitzero" mask:"text"`
	RescheduleReason   *string `json:"reschedule_reason,omitzero" mask:"text"`
}

// BookingCustomer is the customer in a booking.
type BookingCustomer struct {
	ID        int64   `json:"id"`
	FirstName string  `json:"first_name"`
	LastName  string  `json:"last_name"`
	FullName  *string `json:"full_name,omitempty"` // in single reads only
	Email     string  `json:"email" mask:"email"`
	Phone     string  `json:"phone" mask:"phone"`
}

// BookingAgent is the agent in a booking.
type BookingAgent struct {
	ID       string `json:"id"`
	FullName string `json:"full_name"`
	Email    string `json:"email" mask:"email"`
	Phone    string `json:"phone" mask:"phone"`
}

// ServiceSummary is a service in a booking or an agent, its numbers as strings.
type ServiceSummary struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	ShortDescription string `json:"short_description"`
	Duration         string `json:"duration"`
	PriceMin         string `json:"price_min"`
	PriceMax         string `json:"price_max"`
	Status           string `json:"status"`
}

// BookingLocation is the location in a booking; its category is a list of at
// most one.
type BookingLocation struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	FullAddress string         `json:"full_address"`
	Category    []CategoryName `json:"category"`
}

// CategoryName is a location's category.
type CategoryName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// BookingDetail is a booking as a single read returns it.
type BookingDetail struct {
	Booking
	StartDatetime   *string           `json:"start_datetime"`
	EndDatetime     *string           `json:"end_datetime"`
	EndDate         string            `json:"end_date"`
	Timezone        string            `json:"timezone"`
	ServiceName     string            `json:"service_name"`
	CustomerComment *string           `json:"customer_comment" mask:"text"`
	CreatedDatetime *string           `json:"created_datetime"`
	BufferBefore    int64             `json:"buffer_before"`
	BufferAfter     int64             `json:"buffer_after"`
	Transactions    []Payment         `json:"transactions" needs:"read_payments"`
	Order           *OrderRow         `json:"order"`
	Meta            map[string]string `json:"meta" mask:"text"`
}

// bookingSorts are the words for the sort orders of bookings.
var bookingSorts = map[string]bookings.Sort{
	"start_date":    bookings.ByStart,
	"created_at":    bookings.ByCreation,
	"customer_name": bookings.ByCustomerName,
	"status":        bookings.ByStatus,
	"id":            bookings.ByID,
}

// KnownStatus reports whether a site has a booking status.
type KnownStatus func(ctx context.Context, status string) (bool, error)

// BookingParameters are the parameters of the booking list.
var BookingParameters = parameters("GET /bookings", domain.InvalidParameters, func(f *bookings.Filter) Fields {
	return Fields{
		optional("status", bookingStatus, &f.Status),
		page(&f.Page),
		perPage(20, &f.PerPage),
		optional("customer_id", id(maxMediumInt), &f.CustomerID),
		optional("agent_id", id(maxMediumInt), &f.AgentID),
		optional("service_id", id(maxMediumInt), &f.ServiceID),
		optional("location_id", id(maxMediumInt), &f.LocationID),
		optional("date_from", date, &f.DateFrom),
		optional("date_to", date, &f.DateTo),
		optional("created_date_from", beginning, &f.CreatedFrom),
		optional("created_date_to", end, &f.CreatedBefore),
		optional("updated_from", beginning, &f.UpdatedFrom),
		optional("updated_to", end, &f.UpdatedBefore),
		optional("booking_code", plainText, &f.Code),
		optional("payment_status", plainText, &f.PaymentStatus),
		optional("duration_min", integer(0, maxMediumInt), &f.DurationMin),
		optional("duration_max", integer(0, maxMediumInt), &f.DurationMax),
		optional("price_min", amount, &f.PriceMin),
		optional("price_max", amount, &f.PriceMax),
		optional("customer_email", text, &f.CustomerEmail),
		optional("customer_phone", text, &f.CustomerPhone),
		flag("include_meta", &f.WithMeta),
		optional("meta_key", text, &f.MetaKey),
		optional("meta_value", text, &f.MetaValue),
		optional("search", text, &f.Search),
		choice("sort", bookingSorts, unknownSort, "start_date", &f.Sort),
		descending("desc", &f.Descending),
	}
})

// BookingFilter reads the parameters of the booking list. The error is about
// parameters, or is known's own.
func (v View) BookingFilter(ctx context.Context, q *Query, known KnownStatus) (bookings.Filter, error) {
	var f bookings.Filter
	BookingParameters.read(v, q, &f)
	if err := q.checkStatus(ctx, "status", f.Status, known); err != nil {
		return bookings.Filter{}, err
	}
	if f.MetaKey == nil && f.MetaValue != nil {
		q.addProblem("meta_key", rejected("Required together with meta_value"))
	}
	if f.MetaKey != nil && f.MetaValue == nil {
		q.addProblem("meta_value", rejected("Required together with meta_key"))
	}
	return f, BookingParameters.err(q)
}

// bookingStatus is a word that only the site can check; confirmed is another
// word for approved.
var bookingStatus = fromText(plainText.schema, func(text string) (string, *problem) {
	status := strings.ToLower(text)
	if status == "confirmed" {
		status = "approved"
	}
	return status, nil
})

// checkStatus records a problem if the site does not have a status.
func (q *Query) checkStatus(ctx context.Context, name string, status *string, known KnownStatus) error {
	if status == nil {
		return nil
	}
	ok, err := known(ctx, *status)
	if err == nil && !ok {
		q.addProblem(name, rejected("Unknown booking status"))
	}
	return err
}

// BookingList returns a page of bookings.
func (v View) BookingList(page records.Page[records.Booking]) List[Booking] {
	return list(page, v.booking)
}

// booking returns a booking as lists have it: notes and payment status are its order's.
func (v View) booking(b records.Booking) Booking {
	record := Booking{
		ID: b.ID, BookingCode: b.Code, Status: b.Status,
		StartDate: string(b.StartDate), StartTime: clock(b.StartTime), EndTime: clock(b.EndTime), Duration: b.Duration,
		Price: domain.AmountText(b.Price),
		Customer: BookingCustomer{
			ID: b.Customer.ID, FirstName: b.Customer.FirstName, LastName: b.Customer.LastName, Email: b.Customer.Email, Phone: b.Customer.Phone,
		},
		Agent:          BookingAgent{ID: domain.IDText(b.Agent.ID), FullName: b.Agent.FullName, Email: b.Agent.Email, Phone: b.Agent.Phone},
		Service:        []ServiceSummary{},
		Location:       bookingLocation(b.Location),
		TotalAttendees: b.Attendees,
		CreatedAt:      v.timestamp(b.CreatedAt), UpdatedAt: v.timestamp(b.UpdatedAt),
		Meta: b.Meta,
	}
	if b.Extras != nil {
		record.Extras = each(b.Extras, bookingExtra)
	}
	record.CancellationReason, record.RescheduleReason = reasonOf(b, records.CancellationReason), reasonOf(b, records.RescheduleReason)
	if b.Service != nil {
		record.Service = append(record.Service, serviceSummary(*b.Service))
	}
	if b.Order != nil {
		record.PaymentStatus, record.Notes = b.Order.PaymentStatus, domain.ValueOr(b.Order.CustomerComment, "")
	}
	return record
}

// reasonOf returns a reason of a booking, "" where nobody gave one; nil where the site does not ask for it.
func reasonOf(b records.Booking, key string) *string {
	if text, asked := b.Reasons[key]; asked {
		return &text
	}
	return nil
}

func serviceSummary(s records.BookingService) ServiceSummary {
	return ServiceSummary{
		ID: domain.IDText(s.ID), Name: s.Name, ShortDescription: s.ShortDescription, Duration: domain.IDText(s.Duration),
		PriceMin: domain.AmountText(s.PriceMin), PriceMax: domain.AmountText(s.PriceMax), Status: s.Status,
	}
}

func bookingLocation(l records.BookingLocation) BookingLocation {
	record := BookingLocation{ID: domain.ValueOr(domain.OptionalIDText(l.ID), ""), Name: l.Name, FullAddress: l.FullAddress, Category: []CategoryName{}}
	if l.Category != nil {
		record.Category = append(record.Category, CategoryName{ID: domain.IDText(l.Category.ID), Name: l.Category.Name})
	}
	return record
}

// BookingTimes are when a booking takes place, in the site's zone.
type BookingTimes struct {
	Zone       string
	Start, End *time.Time // nil if no date is stored
}

// BookingDetail returns one booking with its order and payments.
func (v View) BookingDetail(d records.BookingDetail, times BookingTimes) Single[BookingDetail] {
	return single(v.bookingDetail(d, times))
}

func (v View) bookingDetail(d records.BookingDetail, times BookingTimes) BookingDetail {
	record := BookingDetail{
		Booking:       v.booking(d.Booking),
		StartDatetime: rfc3339(times.Start), EndDatetime: rfc3339(times.End), EndDate: string(d.EndDate), Timezone: times.Zone,
		BufferBefore: d.BufferBefore, BufferAfter: d.BufferAfter,
		Transactions: each(d.Payments, v.payment),
		Meta:         d.Meta,
	}
	record.Customer.FullName = new(d.Customer.FullName())
	if d.Service != nil {
		record.ServiceName = d.Service.Name
	}
	if d.Booking.Order != nil {
		record.CustomerComment = d.Booking.Order.CustomerComment
	}
	if created, ok := d.CreatedAt.Time(); ok {
		record.CreatedDatetime = rfc3339(&created)
	}
	if d.Order != nil {
		record.PaymentStatus = d.Order.DisplayPaymentStatus
		order := v.orderRow(*d.Order)
		record.Order = &order
	}
	return record
}

func rfc3339(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(t.Format(domain.OffsetLayout))
}
