package compat

import (
	"context"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat/iso3166"
	"github.com/bookside/bookside/compat/jsonschema"
)

// Customer is a customer as lists return it.
type Customer struct {
	ID           string            `json:"id"`
	FirstName    string            `json:"first_name"`
	LastName     string            `json:"last_name"`
	Email        string            `json:"email" mask:"email"`
	Phone        string            `json:"phone" mask:"phone"`
	Status       string            `json:"status"`
	IsGuest      string            `json:"is_guest"`
	Notes        string            `json:"notes" mask:"text"`
	AdminNotes   string            `json:"admin_notes" mask:"text"`
	CMSUserID    *int64            `json:"cms_user_id"`
	CreatedAt    string            `json:"created_at"`
	UpdatedAt    string            `json:"updated_at"`
	Stats        CustomerStats     `json:"stats"`
	CustomFields map[string]string `json:"custom_fields" mask:"text"`
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
// there only if requested.
type CustomerDetail struct {
	Customer
	Address          string    `json:"address" mask:"text"`
	City             string    `json:"city" mask:"text"`
	State            string    `json:"state" mask:"text"`
	Zipcode          string    `json:"zipcode" mask:"text"`
	Country          string    `json:"country" mask:"text"`
	AvatarImageID    *int64    `json:"avatar_image_id"`
	DateOfBirth      string    `json:"date_of_birth" mask:"date"`
	Gender           string    `json:"gender" mask:"text"`
	Bookings         []Booking `json:"bookings,omitzero" needs:"read_bookings,included"`
	UpcomingBookings []Booking `json:"upcoming_bookings,omitzero" needs:"read_bookings,included"`
	PastBookings     []Booking `json:"past_bookings,omitzero" needs:"read_bookings,included"`
}

var customerStatuses = sameWords("active", "inactive", "blocked", "pending_verification")

const customerStatusWords = "Must be active, inactive, blocked or pending_verification"

// CustomerParameters are the parameters of the customer list.
var CustomerParameters = parameters("GET /customers", domain.InvalidParameters, func(f *customers.Filter) Fields {
	return Fields{
		page(&f.Page),
		perPage(20, &f.PerPage),
		optional("status", word(customerStatuses, customerStatusWords), &f.Status),
		optional("created_after", beginning, &f.CreatedFrom),
		optional("created_before", end, &f.CreatedBefore),
		optional("created_at", span, &f.CreatedWithin),
		optional("updated_at", span, &f.UpdatedWithin),
		optional("updated_from", beginning, &f.UpdatedFrom),
		optional("updated_to", end, &f.UpdatedBefore),
		optional("has_bookings", boolean, &f.HasBookings),
		optional("first_name", plainText, &f.FirstName),
		optional("last_name", plainText, &f.LastName),
		optional("email", text, &f.Email),
		optional("phone", text, &f.Phone),
		optional("is_guest", boolean, &f.IsGuest),
		optional("cms_user_id", id(maxInt), &f.WordPressUserID),
		optional("search", text, &f.Search),
		optional("wordpress_user_id", id(maxInt), &f.WordPressUserID).ignoredIf(func(input) bool { return f.WordPressUserID != nil }),
	}
})

// CustomerList returns a page of customers.
func (v View) CustomerList(page records.Page[records.Customer]) List[Customer] {
	return list(page, v.customer)
}

func (v View) customer(c records.Customer) Customer {
	return Customer{
		ID: domain.IDText(c.ID), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone,
		Status: c.Status, IsGuest: digit(c.IsGuest), Notes: c.Notes, AdminNotes: c.AdminNotes, CMSUserID: c.WordPressUserID,
		CreatedAt: v.timestamp(c.CreatedAt), UpdatedAt: v.timestamp(c.UpdatedAt),
		Stats: CustomerStats{
			TotalBookings: domain.IDText(c.Stats.Total), CompletedBookings: c.Stats.Completed, CancelledBookings: c.Stats.Cancelled,
			FutureBookings: domain.IDText(c.Stats.Future), TotalSpent: c.Stats.Spent.StringFixed(2),
			LastBookingDate: orNil(string(c.Stats.Last)), NextBookingDate: orNil(string(c.Stats.Next)),
		},
		CustomFields: c.CustomFields,
	}
}

// digit formats a boolean as PHP's database layer does.
func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// CustomerIncludes are the bookings to include with a single customer.
type CustomerIncludes struct {
	Bookings, Upcoming, Past bool
	Limit                    int64
	Status                   *string
}

// CustomerIncludeParameters are those of a single customer. Words for what is
// always included are accepted without effect.
var CustomerIncludeParameters = parameters("GET /customers/{id}", domain.InvalidParameters, func(c *CustomerIncludes) Fields {
	included := words("bookings", "upcoming_bookings", "past_bookings", "stats", "custom_fields", "notes", "avatar", "preferences")
	return Fields{
		optional("bookings_status", bookingStatus, &c.Status),
		custom(IncludeParameter, included, func(words map[string]bool) {
			c.Bookings, c.Upcoming, c.Past = words["bookings"], words["upcoming_bookings"], words["past_bookings"]
		}),
		defaulted("bookings_limit", integer(1, 100), 10, &c.Limit),
	}
})

// CustomerIncludes reads the parameters of a single customer.
func (v View) CustomerIncludes(ctx context.Context, q *Query, known KnownStatus) (CustomerIncludes, error) {
	var includes CustomerIncludes
	CustomerIncludeParameters.read(v, q, &includes)
	if err := q.checkStatus(ctx, "bookings_status", includes.Status, known); err != nil {
		return CustomerIncludes{}, err
	}
	return includes, CustomerIncludeParameters.err(q)
}

// CustomerBookings are the bookings that a customer is shown with; nil if not
// requested.
type CustomerBookings struct {
	All, Upcoming, Past []records.Booking
}

// CustomerDetail returns one customer.
func (v View) CustomerDetail(c records.Customer, asked CustomerIncludes, b CustomerBookings) StatusSingle[CustomerDetail] {
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

func (v View) customerDetail(c records.Customer) CustomerDetail {
	return CustomerDetail{
		Customer: v.customer(c),
		Address:  c.Profile["address"], City: c.Profile["city"], State: c.Profile["state"],
		Zipcode: c.Profile["zipcode"], Country: c.Profile["country"],
		AvatarImageID: c.AvatarImageID, DateOfBirth: c.Profile["date_of_birth"], Gender: c.Profile["gender"],
	}
}

// newCustomerStatuses has one word more than changes accept.
var newCustomerStatuses = map[string]string{
	"active": "active", "inactive": "inactive", "blocked": "blocked", "pending_verification": "pending_verification", "pending": "pending_verification",
}

// customerValueFields are the fields of a customer, new or existing.
func customerValueFields(c *customers.Patch) Fields {
	return append(customerFields(&c.CustomerFields),
		optional("notes", anyText, &c.Notes),
		optional("admin_notes", anyText, &c.AdminNotes),
		optional("is_guest", boolean, &c.IsGuest),
		clearable("avatar_image_id", idOrNone, &c.AvatarImageID),
		profile("address", anyText, c),
		profile("city", anyText, c),
		profile("state", anyText, c),
		profile("zipcode", anyText, c),
		profile("country", country, c),
		profile("date_of_birth", dateText, c),
		profile("gender", word(genders, "Must be male, female, other or prefer_not_to_say"), c),
		value("custom_fields", customFields, &c.CustomFields),
	)
}

// NewCustomerFields are those of POST /customers. A WordPress user has two
// field names; the first one sent counts.
var NewCustomerFields = declare("POST /customers", func(c *customers.Patch) Fields {
	return append(customerValueFields(c),
		optional("status", word(newCustomerStatuses, customerStatusWords), &c.Status),
		wordpressUser("cms_user_id", c),
		wordpressUser("wordpress_user_id", c).ignoredIf(func(input) bool { return c.WordPressUserID != nil }),
	).requiring("first_name", "last_name")
})

// CustomerPatchFields are the fields of PUT /customers/{id}.
var CustomerPatchFields = declare("PUT /customers/{id}", func(c *customers.Patch) Fields {
	return append(customerValueFields(c), optional("status", word(customerStatuses, customerStatusWords), &c.Status)).changing()
})

func wordpressUser(name string, c *customers.Patch) Field {
	return custom(name, userID, func(id int64) { c.WordPressUserID, c.UserField = &id, name })
}

var genders = sameWords("male", "female", "other", "prefer_not_to_say")

const notACountry = "Must be a country code of ISO 3166-1, two letters"

// country is an ISO 3166-1 code, in any letter case.
var country = fromText(plain(jsonschema.Schema{Type: jsonschema.String, Pattern: "^[A-Za-z]{2}$"}), func(text string) (string, *problem) {
	code := strings.ToUpper(text)
	switch {
	case code == "UK":
		return "", new(rejected(notACountry + "; did you mean GB?"))
	case !iso3166.Assigned(code):
		return "", new(rejected(notACountry))
	default:
		return code, nil
	}
})

// profile declares a field without a column in the plugin. null and an empty text
// remove it.
func profile(name string, t valueType[string], c *customers.Patch) Field {
	set := func(text string) {
		if c.Profile == nil {
			c.Profile = map[string]string{}
		}
		c.Profile[name] = text
	}
	return custom(name, t, set).orNull(func() { set("") })
}

// dateText is a calendar day as a text.
var dateText = parsed(dateSchema, notADate, func(text string) (string, bool) {
	date, ok := parseDate(text)
	return string(date), ok
})

// customFields are values by name. As in PHP's texts, true is 1; unlike there,
// false is 0, because only null and an empty text remove a value.
var customFields = valueType[map[string]string]{
	description: description{blank: isValue, members: true, schema: func() *jsonschema.Schema {
		scalar := jsonschema.AnyOf(&jsonschema.Schema{Type: []string{jsonschema.String, jsonschema.Null}}, &jsonschema.Schema{Type: jsonschema.Number}, &jsonschema.Schema{Type: jsonschema.Boolean})
		scalar.Shared = fieldName
		return &jsonschema.Schema{Type: jsonschema.Object, AdditionalProperties: scalar}
	}},
	read: func(in input, name string) (map[string]string, bool) {
		object := in.(*Body).object(name)
		if object == nil {
			return nil, false
		}
		return object.texts(), true
	},
}

// texts returns the values of an object.
func (b *Body) texts() map[string]string {
	texts := make(map[string]string, len(b.fields))
	for name, value := range b.fields {
		text, isText, single := value.Scalar()
		switch {
		case value.Null():
			text = ""
		case !single:
			b.addProblem(name, invalid(notSingle))
			continue
		case len(text) > maxLongText:
			b.addProblem(name, rejected("Too long"))
			continue
		case !isText && text == "true":
			text = "1"
		case !isText && text == "false":
			text = "0"
		}
		texts[name] = text
	}
	return texts
}

// createdCustomer is the record of a single read, with a number as its id.
type createdCustomer struct {
	ID int64 `json:"id"`
	CustomerDetail
}

// CustomerCreated is the response to POST /customers, without its record.
var CustomerCreated = bothMessage[createdCustomer]("Customer created successfully")

// CustomerCreated returns the response to POST /customers.
func (v View) CustomerCreated(c records.Customer) BothMessage[createdCustomer] {
	return CustomerCreated.about(createdCustomer{ID: c.ID, CustomerDetail: v.customerDetail(c)})
}

// UpdatedCustomer is a customer as the response to a change shows it.
type UpdatedCustomer struct {
	ID        int64  `json:"id"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email" mask:"email"`
	Phone     string `json:"phone" mask:"phone"`
	Status    string `json:"status"`
	UpdatedAt string `json:"updated_at"`
}

// CustomerUpdated is the response to PUT /customers/{id}, without its record.
var CustomerUpdated = successMessage[UpdatedCustomer]("Customer updated successfully")

// CustomerUpdated returns the response to PUT /customers/{id}.
func (v View) CustomerUpdated(c records.Customer) SuccessMessage[UpdatedCustomer] {
	return CustomerUpdated.about(UpdatedCustomer{
		ID: c.ID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone, Status: c.Status, UpdatedAt: v.timestamp(c.UpdatedAt),
	})
}

// DeletedCustomer is what remains known of a deleted customer.
type DeletedCustomer struct {
	ID        int64  `json:"deleted_customer_id"`
	DeletedAt string `json:"deleted_at"`
}

// CustomerDeleted is the response to DELETE /customers/{id}, without its record.
var CustomerDeleted = successMessage[DeletedCustomer]("Customer deleted successfully")

// CustomerDeleted returns the response to DELETE /customers/{id}.
func (v View) CustomerDeleted(id int64, at time.Time) SuccessMessage[DeletedCustomer] {
	stored := domain.Timestamp(domain.Stamp(at))
	return CustomerDeleted.about(DeletedCustomer{ID: id, DeletedAt: v.timestamp(stored)})
}
