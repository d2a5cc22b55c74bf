package compat

import (
	"context"
	"strings"
	"time"

	"bookside/adapter"
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
	Service        []ServiceSummary  `json:"service"`
	Location       BookingLocation   `json:"location"`
	TotalAttendees int64             `json:"total_attendees"`
	Notes          string            `json:"notes"`
	CreatedAt      string            `json:"created_at"`
	UpdatedAt      string            `json:"updated_at"`
	Meta           map[string]string `json:"meta,omitzero"`
}

// BookingCustomer is the customer in a booking.
type BookingCustomer struct {
	ID        int64  `json:"id"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
}

// BookingAgent is the agent in a booking.
type BookingAgent struct {
	ID       string `json:"id"`
	FullName string `json:"full_name"`
	Email    string `json:"email"`
	Phone    string `json:"phone"`
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

// BookingLocation is the location in a booking; its category is a list of one
// or none.
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
	CustomerComment *string           `json:"customer_comment"`
	CreatedDatetime *string           `json:"created_datetime"`
	BufferBefore    int64             `json:"buffer_before"`
	BufferAfter     int64             `json:"buffer_after"`
	Transactions    []Payment         `json:"transactions" needs:"read_payments"`
	Order           *OrderRow         `json:"order"`
	Meta            map[string]string `json:"meta"`
}

// bookingSorts are the words for the orders of bookings.
var bookingSorts = map[string]adapter.BookingSort{
	"start_date":    adapter.BookingsByStart,
	"created_at":    adapter.BookingsByCreation,
	"customer_name": adapter.BookingsByCustomerName,
	"status":        adapter.BookingsByStatus,
	"id":            adapter.BookingsByID,
}

// KnownStatus tells whether a site has a booking status.
type KnownStatus func(ctx context.Context, status string) (bool, error)

// BookingFilter reads the parameters of the booking list. The error is about
// parameters, or the one that known failed with.
func (v View) BookingFilter(ctx context.Context, q *Query, known KnownStatus) (adapter.BookingFilter, error) {
	status, err := q.bookingStatus(ctx, "status", known)
	if err != nil {
		return adapter.BookingFilter{}, err
	}
	f := adapter.BookingFilter{
		Paging:        q.Paging(20),
		Status:        status,
		CustomerID:    q.IDOrNone("customer_id", maxMediumInt),
		AgentID:       q.IDOrNone("agent_id", maxMediumInt),
		ServiceID:     q.IDOrNone("service_id", maxMediumInt),
		LocationID:    q.IDOrNone("location_id", maxMediumInt),
		DateFrom:      q.Date("date_from"),
		DateTo:        q.Date("date_to"),
		CreatedFrom:   v.from(q, "created_date_from"),
		CreatedBefore: v.through(q, "created_date_to"),
		Code:          q.Text("booking_code"),
		PaymentStatus: q.Text("payment_status"),
		DurationMin:   q.Integer("duration_min", 0, maxMediumInt),
		DurationMax:   q.Integer("duration_max", 0, maxMediumInt),
		PriceMin:      q.Amount("price_min"),
		PriceMax:      q.Amount("price_max"),
		CustomerEmail: q.Text("customer_email"),
		CustomerPhone: q.Text("customer_phone"),
		WithMeta:      q.Flag("include_meta"),
		MetaKey:       q.Text("meta_key"),
		MetaValue:     q.Text("meta_value"),
		Search:        q.Text("search"),
		Sort:          wordOr(q, "sort", bookingSorts, adapter.BookingsByStart, unknownSort),
		Descending:    q.descending(true),
	}
	if f.MetaKey == nil && f.MetaValue != nil {
		q.refuse("meta_key", "Required together with meta_value")
	}
	if f.MetaKey != nil && f.MetaValue == nil {
		q.refuse("meta_value", "Required together with meta_key")
	}
	return f, q.Err()
}

// bookingStatus is a status of the site; confirmed is another word for
// approved.
func (q *Query) bookingStatus(ctx context.Context, name string, known KnownStatus) (*string, error) {
	q.described.text(name)
	text, ok := q.text(name)
	if !ok {
		return nil, nil
	}
	status := strings.ToLower(text)
	if status == "confirmed" {
		status = "approved"
	}
	ok, err := known(ctx, status)
	if err != nil {
		return nil, err
	}
	if !ok {
		q.refuse(name, "Unknown booking status")
	}
	return &status, nil
}

// BookingList is a page of bookings.
func (v View) BookingList(page adapter.Page[adapter.Booking]) List { return list(page, v.booking) }

func (v View) booking(b adapter.Booking) Booking {
	record := Booking{
		ID: b.ID, BookingCode: b.Code, Status: b.Status,
		StartDate: string(b.StartDate), StartTime: clock(b.StartTime), EndTime: clock(b.EndTime), Duration: b.Duration,
		Price: money(b.Price),
		Customer: BookingCustomer{
			ID: b.Customer.ID, FirstName: b.Customer.FirstName, LastName: b.Customer.LastName, Email: b.Customer.Email, Phone: b.Customer.Phone,
		},
		Agent:          BookingAgent{ID: number(b.Agent.ID), FullName: b.Agent.FullName, Email: b.Agent.Email, Phone: b.Agent.Phone},
		Service:        []ServiceSummary{},
		Location:       bookingLocation(b.Location),
		TotalAttendees: b.Attendees,
		CreatedAt:      v.timestamp(b.CreatedAt), UpdatedAt: v.timestamp(b.UpdatedAt),
		Meta: b.Meta,
	}
	if b.Service != nil {
		record.Service = append(record.Service, serviceSummary(*b.Service))
	}
	if b.Order != nil {
		record.PaymentStatus, record.Notes = b.Order.PaymentStatus, valueOr(b.Order.CustomerComment, "")
	}
	return record
}

func serviceSummary(s adapter.BookingService) ServiceSummary {
	return ServiceSummary{
		ID: number(s.ID), Name: s.Name, ShortDescription: s.ShortDescription, Duration: number(s.Duration),
		PriceMin: money(s.PriceMin), PriceMax: money(s.PriceMax), Status: s.Status,
	}
}

func bookingLocation(l adapter.BookingLocation) BookingLocation {
	record := BookingLocation{ID: valueOr(optionalNumber(l.ID), ""), Name: l.Name, FullAddress: l.FullAddress, Category: []CategoryName{}}
	if l.Category != nil {
		record.Category = append(record.Category, CategoryName{ID: number(l.Category.ID), Name: l.Category.Name})
	}
	return record
}

// BookingTimes are when a booking is, in the site's zone.
type BookingTimes struct {
	Zone       string
	Start, End *time.Time // nil where no date is stored
}

// BookingDetail is one booking with its order and payments.
func (v View) BookingDetail(d adapter.BookingDetail, times BookingTimes) Single {
	return single(v.bookingDetail(d, times))
}

func (v View) bookingDetail(d adapter.BookingDetail, times BookingTimes) BookingDetail {
	record := BookingDetail{
		Booking:       v.booking(d.Booking),
		StartDatetime: rfc3339(times.Start), EndDatetime: rfc3339(times.End), EndDate: string(d.EndDate), Timezone: times.Zone,
		BufferBefore: d.BufferBefore, BufferAfter: d.BufferAfter,
		Transactions: each(d.Payments, v.payment),
		Meta:         d.Meta,
	}
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
		order := v.orderRow(*d.Order)
		record.Order = &order
	}
	return record
}

func rfc3339(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(t.Format(offsetLayout))
}
