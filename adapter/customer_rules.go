package adapter

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
)

// The contacts that may identify a customer, by their columns.
const (
	contactEmail = "email"
	contactPhone = "phone"
)

// customerRules are what the site demands of customers whenever one is saved
// (OsCustomerModel::properties_to_validate, LatePoint 5.6.5).
type customerRules struct {
	// contact is the column that tells customers apart, contactEmail or contactPhone. It is empty
	// where the site takes nobody for a customer that it knows.
	contact string
	columns []string // that may not be empty
	// fields are the custom fields that may not be empty, by key; the value tells the checkboxes.
	fields map[string]bool
}

// customerRuleSettings are the settings that customer rules are made of.
var customerRuleSettings = []string{
	settingCustomerLogin, settingNoCustomerLogin, settingCustomerMerge, settingDefaultFields, settingCustomerFields, settingAddOns,
}

// customerRules reads the rules for a customer who changes.
func (s *Site) customerRules(ctx context.Context) (customerRules, error) {
	settings, err := s.db.SettingValues(ctx, customerRuleSettings...)
	if err != nil {
		return customerRules{}, err
	}
	return s.customerRulesOf(ctx, settings)
}

// customerRulesOf returns the rules that are among the settings. Custom fields are required by
// the add-on that shows them.
func (s *Site) customerRulesOf(ctx context.Context, settings map[string]string) (customerRules, error) {
	rules := customerRules{contact: identifyingContact(settings), columns: requiredColumns(settings[settingDefaultFields])}
	required := requiredFields(settings[settingCustomerFields])
	if len(required) == 0 {
		return rules, nil
	}
	active, err := s.addOnActive(ctx, settings[settingAddOns])
	if active {
		rules.fields = required
	}
	return rules, err
}

// identifyingContact returns the column by which the site tells customers apart: that of their
// login, or, where they have none, the one by which it finds them again
// (OsAuthHelper::get_selected_customer_authentication_field_type, which also reads the setting
// that came before).
func identifyingContact(settings map[string]string) string {
	login := settings[settingCustomerLogin]
	if (login == "" || login == "0") && settings[settingNoCustomerLogin] == on {
		login = "disabled"
	}
	switch login {
	case contactPhone:
		return contactPhone
	case "disabled":
	default:
		return contactEmail
	}
	merge, set := settings[settingCustomerMerge]
	switch {
	case !set || merge == contactEmail:
		return contactEmail
	case merge == contactPhone:
		return contactPhone
	default:
		return ""
	}
}

// requiredColumns returns the columns that the site's form of a customer requires
// (OsSettingsHelper::get_default_fields_for_customer). Where nobody has set the form up, there are
// only the requirements of the API.
func requiredColumns(setting string) []string {
	var form map[string]json.RawMessage
	if json.Unmarshal([]byte(setting), &form) != nil || len(form) == 0 {
		return nil
	}
	var columns []string
	for _, name := range []string{"first_name", "last_name", contactEmail, contactPhone, "notes"} {
		definition, stored := form[name]
		var field struct{ Required, Active any }
		switch {
		case !stored && name != contactPhone && name != "notes": // required where nobody says otherwise
			columns = append(columns, name)
		case json.Unmarshal(definition, &field) == nil && truthy(field.Required) && truthy(field.Active):
			columns = append(columns, name)
		}
	}
	return columns
}

// requiredFields returns the custom fields that a setting requires.
func requiredFields(setting string) map[string]bool {
	definitions := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(setting), &definitions) != nil {
		return nil
	}
	required := map[string]bool{}
	for key, definition := range definitions {
		var field struct{ Type, Required any }
		if json.Unmarshal(definition, &field) == nil && field.Required == on {
			required[key] = field.Type == "checkbox"
		}
	}
	return required
}

// truthy reports whether PHP takes a decoded value of JSON for true.
func truthy(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return !blank(v)
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return false
	}
}

// blank reports whether PHP takes a text for empty.
func blank(text string) bool { return text == "" || text == "0" }

// identifying returns the contact of a customer that identifies them, empty for none.
func (r customerRules) identifying(c BookingCustomer) string {
	switch r.contact {
	case contactEmail:
		return c.Email
	case contactPhone:
		return c.Phone
	default:
		return ""
	}
}

// customerIdentifiedBy finds the customer, other than the given one, who has the same identifying
// contact. Uses the index on email; the plugin has none on phone.
func (s *Site) customerIdentifiedBy(ctx context.Context, rules customerRules, c BookingCustomer) (bookableCustomer, bool, error) {
	contact := rules.identifying(c)
	if contact == "" {
		return bookableCustomer{}, false, nil
	}
	which := sq.And{sq.Eq{rules.contact: contact}}
	if c.ID != 0 {
		which = append(which, sq.NotEq{"id": c.ID})
	}
	return s.customerRow(ctx, which)
}

// checkUnique rejects an identifying contact that another customer has. The locks of the contacts
// are held already. prefix precedes the name of the field.
func (s *Site) checkUnique(ctx context.Context, rules customerRules, c BookingCustomer, prefix string, p *domain.Validation) error {
	field := prefix + rules.contact
	if p.Has(field) {
		return nil
	}
	_, exists, err := s.customerIdentifiedBy(ctx, rules, c)
	if exists {
		p.Reject(field, takenContacts[rules.contact])
	}
	return err
}

var takenContacts = map[string]string{
	contactEmail: "This email belongs to another customer",
	contactPhone: "This phone number belongs to another customer",
}

// requireOfNew rejects a new customer without what the site requires. fields are the custom fields.
func (r customerRules) requireOfNew(c BookingCustomer, notes string, fields map[string]string, p *domain.Validation) {
	r.requireContacts(c, "", p)
	if slices.Contains(r.columns, "notes") && blank(notes) {
		p.Reject("notes", requiredBySite)
	}
	for key, checkbox := range r.fields {
		if blankField(fields[key], checkbox) {
			p.Reject(customField(key), requiredBySite)
		}
	}
}

// requireOfDescribed does the same for a customer whom a booking describes, which has only names and
// contacts.
func (r customerRules) requireOfDescribed(c BookingCustomer, p *domain.Validation) {
	const message = requiredBySite + "; create the customer first"
	r.requireContacts(c, customerPrefix, p)
	if slices.Contains(r.columns, "notes") {
		p.Reject(customerPrefix+"notes", message)
	}
	for key := range r.fields {
		p.Reject(customerPrefix+customField(key), message)
	}
}

func (r customerRules) requireContacts(c BookingCustomer, prefix string, p *domain.Validation) {
	for column, text := range map[string]string{"first_name": c.FirstName, "last_name": c.LastName, contactEmail: c.Email, contactPhone: c.Phone} {
		if blank(text) && slices.Contains(r.columns, column) {
			p.Reject(prefix+column, requiredBySite)
		}
	}
}

// keepRequired rejects a change that empties notes or custom fields that the site requires.
func (r customerRules) keepRequired(v CustomerPatch, p *domain.Validation) {
	if v.Notes != nil && blank(*v.Notes) && slices.Contains(r.columns, "notes") {
		p.Reject("notes", requiredBySite)
	}
	for name, value := range v.CustomFields {
		for key, checkbox := range r.fields {
			if strings.EqualFold(key, name) && blankField(value, checkbox) {
				p.Reject(customField(name), requiredBySite)
			}
		}
	}
}

// blankField reports whether the add-on takes the value of a custom field for missing.
func blankField(value string, checkbox bool) bool { return blank(value) || checkbox && value == "off" }

const requiredBySite = "This site requires it"
