package compat

import (
	"context"

	"bookside/adapter"
)

// Customer is a customer as lists return it.
type Customer struct {
	ID           string            `json:"id"`
	FirstName    string            `json:"first_name"`
	LastName     string            `json:"last_name"`
	Email        string            `json:"email"`
	Phone        string            `json:"phone"`
	Status       string            `json:"status"`
	IsGuest      string            `json:"is_guest"`
	Notes        string            `json:"notes"`
	AdminNotes   string            `json:"admin_notes"`
	CMSUserID    *int64            `json:"cms_user_id"`
	CreatedAt    string            `json:"created_at"`
	UpdatedAt    string            `json:"updated_at"`
	Stats        CustomerStats     `json:"stats"`
	CustomFields map[string]string `json:"custom_fields"`
}

// CustomerStats mixes strings and integers: the strings were counted by the
// database, the integers by PHP.
type CustomerStats struct {
	TotalBookings     string  `json:"total_bookings"`
	CompletedBookings int64   `json:"completed_bookings"`
	CancelledBookings int64   `json:"cancelled_bookings"`
	FutureBookings    string  `json:"future_bookings"`
	TotalSpent        string  `json:"total_spent"`
	LastBookingDate   *string `json:"last_booking_date"`
	NextBookingDate   *string `json:"next_booking_date"`
}

// CustomerDetail is a customer as a single read returns it. The bookings are
// there only when asked for.
type CustomerDetail struct {
	Customer
	Address          string    `json:"address"`
	City             string    `json:"city"`
	State            string    `json:"state"`
	Zipcode          string    `json:"zipcode"`
	Country          string    `json:"country"`
	AvatarImageID    *int64    `json:"avatar_image_id"`
	DateOfBirth      string    `json:"date_of_birth"`
	Gender           string    `json:"gender"`
	Bookings         []Booking `json:"bookings,omitzero" needs:"read_bookings,asked"`
	UpcomingBookings []Booking `json:"upcoming_bookings,omitzero" needs:"read_bookings,asked"`
	PastBookings     []Booking `json:"past_bookings,omitzero" needs:"read_bookings,asked"`
}

var customerStatuses = sameWords("active", "inactive", "blocked", "pending_verification")

const customerStatusWords = "Must be active, inactive, blocked or pending_verification"

// CustomerFilter reads the parameters of the customer list.
func (v View) CustomerFilter(q *Query) (adapter.CustomerFilter, error) {
	f := adapter.CustomerFilter{
		Paging:          q.Paging(20),
		Status:          Word(q, "status", customerStatuses, customerStatusWords),
		CreatedFrom:     v.from(q, "created_after"),
		CreatedBefore:   v.through(q, "created_before"),
		CreatedWithin:   v.span(q, "created_at"),
		UpdatedWithin:   v.span(q, "updated_at"),
		HasBookings:     q.Boolean("has_bookings"),
		FirstName:       q.Text("first_name"),
		LastName:        q.Text("last_name"),
		Email:           q.Text("email"),
		Phone:           q.Text("phone"),
		IsGuest:         q.Boolean("is_guest"),
		WordPressUserID: q.ID("cms_user_id", maxInt),
		Search:          q.Text("search"),
	}
	if f.WordPressUserID == nil {
		f.WordPressUserID = q.ID("wordpress_user_id", maxInt)
	}
	return f, q.Err()
}

// CustomerList is a page of customers.
func (v View) CustomerList(page adapter.Page[adapter.Customer]) List { return list(page, v.customer) }

func (v View) customer(c adapter.Customer) Customer {
	return Customer{
		ID: number(c.ID), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone,
		Status: c.Status, IsGuest: digit(c.IsGuest), Notes: c.Notes, AdminNotes: c.AdminNotes, CMSUserID: c.WordPressUserID,
		CreatedAt: v.timestamp(c.CreatedAt), UpdatedAt: v.timestamp(c.UpdatedAt),
		Stats: CustomerStats{
			TotalBookings: number(c.Stats.Total), CompletedBookings: c.Stats.Completed, CancelledBookings: c.Stats.Cancelled,
			FutureBookings: number(c.Stats.Future), TotalSpent: c.Stats.Spent.StringFixed(2),
			LastBookingDate: optionalDate(c.Stats.Last), NextBookingDate: optionalDate(c.Stats.Next),
		},
		CustomFields: c.CustomFields,
	}
}

// digit prints a boolean as PHP's database layer does.
func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func optionalDate(d adapter.Date) *string {
	if d == "" {
		return nil
	}
	return new(string(d))
}

// CustomerIncludes are the bookings that a single customer is read with.
type CustomerIncludes struct {
	Bookings, Upcoming, Past bool
	Limit                    int64
	Status                   *string
}

// CustomerIncludes reads the parameters of a single customer. Words for what
// is always there are accepted and change nothing.
func (v View) CustomerIncludes(ctx context.Context, q *Query, known KnownStatus) (CustomerIncludes, error) {
	status, err := q.bookingStatus(ctx, "bookings_status", known)
	if err != nil {
		return CustomerIncludes{}, err
	}
	words := q.words("include", "bookings", "upcoming_bookings", "past_bookings", "stats", "custom_fields", "notes", "avatar", "preferences")
	includes := CustomerIncludes{
		Bookings: words["bookings"], Upcoming: words["upcoming_bookings"], Past: words["past_bookings"],
		Limit: valueOr(q.Integer("bookings_limit", 1, 100), 10), Status: status,
	}
	return includes, q.Err()
}

// CustomerBookings are the bookings a customer is shown with; nil where they
// were not asked for.
type CustomerBookings struct {
	All, Upcoming, Past []adapter.Booking
}

// CustomerDetail is one customer.
func (v View) CustomerDetail(c adapter.Customer, asked CustomerIncludes, b CustomerBookings) StatusSingle {
	record := v.customerDetail(c)
	if asked.Bookings {
		record.Bookings = each(b.All, v.booking)
	}
	if asked.Upcoming {
		record.UpcomingBookings = each(b.Upcoming, v.booking)
	}
	if asked.Past {
		record.PastBookings = each(b.Past, v.booking)
	}
	return statusSingle(record)
}

func (v View) customerDetail(c adapter.Customer) CustomerDetail {
	return CustomerDetail{
		Customer: v.customer(c),
		Address:  c.Profile["address"], City: c.Profile["city"], State: c.Profile["state"],
		Zipcode: c.Profile["zipcode"], Country: c.Profile["country"],
		AvatarImageID: c.AvatarImageID, DateOfBirth: c.Profile["date_of_birth"], Gender: c.Profile["gender"],
	}
}
