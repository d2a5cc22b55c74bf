package compat

import (
	"strings"
	"time"

	"bookside/adapter"
	"bookside/adapter/domain"
)

// newCustomerStatuses knows one more word than changes do.
var newCustomerStatuses = map[string]string{
	"active": "active", "inactive": "inactive", "blocked": "blocked", "pending_verification": "pending_verification", "pending": "pending_verification",
}

// NewCustomer reads the body of POST /customers. What is wrong with it is in the
// values' Validation.
func NewCustomer(b *Body) adapter.CustomerValues {
	v := b.customerValues()
	v.Status = Word(b, "status", newCustomerStatuses, customerStatusWords)
	for _, v.UserField = range []string{"cms_user_id", "wordpress_user_id"} {
		if id := b.IDOrNone(v.UserField, maxInt); id != nil && *id != 0 {
			v.WordPressUserID = id
			break
		}
	}
	v.Validation = *b.problems
	return v
}

// CustomerPatch reads the body of PUT /customers/{id}. What is wrong with it is
// in the values' Validation.
func CustomerPatch(b *Body) adapter.CustomerValues {
	v := b.customerValues()
	v.Status = Word(b, "status", customerStatuses, customerStatusWords)
	v.Validation = *b.problems
	return v
}

func (b *Body) customerValues() adapter.CustomerValues {
	return adapter.CustomerValues{
		CustomerFields: b.customerFields(),
		Notes:          b.Text("notes"),
		AdminNotes:     b.Text("admin_notes"),
		IsGuest:        b.Boolean("is_guest"),
		AvatarImageID:  b.IDOrNone("avatar_image_id", maxInt),
		Profile:        b.profile(),
		CustomFields:   b.customFields(),
	}
}

var genders = sameWords("male", "female", "other", "prefer_not_to_say")

// profile reads what the platform has no column for. An empty text removes.
func (b *Body) profile() map[string]string {
	profile := map[string]string{}
	for _, name := range []string{"address", "city", "state", "zipcode"} {
		if text := b.Text(name); text != nil {
			profile[name] = *text
		}
	}
	b.described.pattern("country", "^[A-Za-z]{2}$")
	for _, name := range []string{"country", "date_of_birth", "gender"} {
		if _, sent := b.sent(name); sent && !b.given(name) {
			profile[name] = ""
		}
	}
	if country, given := b.text("country"); given {
		profile["country"] = strings.ToUpper(country)
		if !isCountry(profile["country"]) {
			b.note("country", refused("Must be a country code of two letters"))
		}
	}
	if date := b.Date("date_of_birth"); date != nil {
		profile["date_of_birth"] = string(*date)
	}
	if gender := Word(b, "gender", genders, "Must be male, female, other or prefer_not_to_say"); gender != nil {
		profile["gender"] = *gender
	}
	return profile
}

// isCountry tells what has the form of a code of ISO 3166-1.
func isCountry(code string) bool {
	return len(code) == 2 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// customFields reads values by name. As in PHP's texts, true is 1; unlike there,
// false is 0, for only null and an empty text remove.
func (b *Body) customFields() map[string]string {
	b.described.values("custom_fields")
	object := b.Object("custom_fields")
	if object == nil {
		return nil
	}
	fields := make(map[string]string, len(object.fields))
	for name, value := range object.fields {
		text, isText, single := value.scalar()
		switch {
		case value.null():
			text = ""
		case !single:
			object.note(name, malformed(notAList))
			continue
		case len(text) > maxLongText:
			object.note(name, refused("Too long"))
			continue
		case !isText && text == "true":
			text = "1"
		case !isText && text == "false":
			text = "0"
		}
		fields[name] = text
	}
	return fields
}

// createdCustomer is the record of a single read with a number for its id.
type createdCustomer struct {
	ID int64 `json:"id"`
	CustomerDetail
}

// CustomerCreated is the answer to POST /customers.
func (v View) CustomerCreated(c adapter.Customer) BothMessage {
	return bothMessage("Customer created successfully", createdCustomer{ID: c.ID, CustomerDetail: v.customerDetail(c)})
}

// UpdatedCustomer is a customer as the answer to a change shows it.
type UpdatedCustomer struct {
	ID        int64  `json:"id"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
	Status    string `json:"status"`
	UpdatedAt string `json:"updated_at"`
}

// CustomerUpdated is the answer to PUT /customers/{id}.
func (v View) CustomerUpdated(c adapter.Customer) SuccessMessage {
	return successMessage("Customer updated successfully", UpdatedCustomer{
		ID: c.ID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone, Status: c.Status, UpdatedAt: v.timestamp(c.UpdatedAt),
	})
}

// DeletedCustomer is what is told of a customer who is no more.
type DeletedCustomer struct {
	ID        int64  `json:"deleted_customer_id"`
	DeletedAt string `json:"deleted_at"`
}

// CustomerDeleted is the answer to DELETE /customers/{id}.
func (v View) CustomerDeleted(id int64, at time.Time) SuccessMessage {
	stored := domain.Timestamp(at.UTC().Format(time.DateTime))
	return successMessage("Customer deleted successfully", DeletedCustomer{ID: id, DeletedAt: v.timestamp(stored)})
}
