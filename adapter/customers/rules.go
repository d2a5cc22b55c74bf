package customers

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// The contacts that may identify a customer, by their columns.
const (
	contactEmail = "email"
	contactPhone = "phone"
)

// Rules are the site's requirements for customers whenever one is saved
// (OsCustomerModel::properties_to_validate, LatePoint 5.6.5).
type Rules struct {
	// Contact is the column that identifies customers, contactEmail or contactPhone, or empty if the site
	// treats every customer as new.
	Contact string
	columns []string              // that may not be empty
	fields  []records.CustomField // that may not be empty
}

// customerRules reads the rules for changing a customer.
func customerRules(ctx context.Context, s *session.Session) (Rules, error) {
	settings, err := s.DB.SettingValues(ctx, session.CustomerRuleSettings...)
	if err != nil {
		return Rules{}, err
	}
	return RulesOf(s, settings), nil
}

// RulesOf returns the rules in the settings. Required custom fields come from the add-on that shows them.
func RulesOf(s *session.Session, settings map[string]string) Rules {
	rules := Rules{Contact: identifyingContact(settings), columns: requiredColumns(settings[session.SettingDefaultFields])}
	if s.Extension(extensions.ProFeatures, settings) {
		rules.fields = slices.DeleteFunc(records.CustomFields(settings[session.SettingCustomerFields]), func(f records.CustomField) bool { return !f.Required })
	}
	return rules
}

// identifyingContact returns the column that identifies customers on the site: that of their login or, if
// they have none, the one by which the site finds them again
// (OsAuthHelper::get_selected_customer_authentication_field_type, which also reads the older setting).
func identifyingContact(settings map[string]string) string {
	login := settings[session.SettingCustomerLogin]
	if (login == "" || login == "0") && settings[session.SettingNoCustomerLogin] == session.On {
		login = "disabled"
	}
	switch login {
	case contactPhone:
		return contactPhone
	case "disabled":
	default:
		return contactEmail
	}
	merge, set := settings[session.SettingCustomerMerge]
	switch {
	case !set || merge == contactEmail:
		return contactEmail
	case merge == contactPhone:
		return contactPhone
	default:
		return ""
	}
}

// requiredColumns returns the columns that the site's customer form requires
// (OsSettingsHelper::get_default_fields_for_customer). If the form was never set up, only the API's own
// requirements apply.
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
		case !stored && name != contactPhone && name != "notes": // required by default
			columns = append(columns, name)
		case json.Unmarshal(definition, &field) == nil && truthy(field.Required) && truthy(field.Active):
			columns = append(columns, name)
		}
	}
	return columns
}

// truthy reports whether PHP treats a decoded JSON value as true.
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

// blank reports whether PHP treats a text as empty.
func blank(text string) bool { return text == "" || text == "0" }

// identifying returns the contact that identifies a customer, or "" for none.
func (r Rules) identifying(c records.BookingCustomer) string {
	switch r.Contact {
	case contactEmail:
		return c.Email
	case contactPhone:
		return c.Phone
	default:
		return ""
	}
}

// IdentifiedBy finds the customer, other than the given one, who has the same identifying
// contact. Uses the index on email; the plugin has none on phone.
func IdentifiedBy(ctx context.Context, s *session.Session, rules Rules, c records.BookingCustomer) (records.BookableCustomer, bool, error) {
	contact := rules.identifying(c)
	if contact == "" {
		return records.BookableCustomer{}, false, nil
	}
	which := sq.And{sq.Eq{rules.Contact: contact}}
	if c.ID != 0 {
		which = append(which, sq.NotEq{"id": c.ID})
	}
	return records.CustomerRow(ctx, s, which)
}

// checkUnique rejects an identifying contact that another customer has. The locks of the contacts are
// already held. prefix precedes the name of the field.
func checkUnique(ctx context.Context, s *session.Session, rules Rules, c records.BookingCustomer, prefix string, p *domain.Validation) error {
	field := prefix + rules.Contact
	if p.Has(field) {
		return nil
	}
	_, exists, err := IdentifiedBy(ctx, s, rules, c)
	if exists {
		p.Reject(field, takenContacts[rules.Contact])
	}
	return err
}

var takenContacts = map[string]string{
	contactEmail: "This email belongs to another customer",
	contactPhone: "This phone number belongs to another customer",
}

// requireOfNew rejects a new customer without what the site requires. fields are the custom fields.
func (r Rules) requireOfNew(c records.BookingCustomer, notes string, fields map[string]string, p *domain.Validation) {
	r.requireContacts(c, "", p)
	if slices.Contains(r.columns, "notes") && blank(notes) {
		p.Reject("notes", requiredBySite)
	}
	for _, f := range r.fields {
		if f.Blank(fields[f.ID]) {
			p.Reject(customField(f.ID), requiredBySite)
		}
	}
}

// RequireOfDescribed does the same for a customer described in a booking, who has only names and contacts.
func (r Rules) RequireOfDescribed(c records.BookingCustomer, p *domain.Validation) {
	const message = requiredBySite + "; create the customer first"
	r.requireContacts(c, Prefix, p)
	if slices.Contains(r.columns, "notes") {
		p.Reject(Prefix+"notes", message)
	}
	for _, f := range r.fields {
		p.Reject(Prefix+customField(f.ID), message)
	}
}

func (r Rules) requireContacts(c records.BookingCustomer, prefix string, p *domain.Validation) {
	for column, text := range map[string]string{"first_name": c.FirstName, "last_name": c.LastName, contactEmail: c.Email, contactPhone: c.Phone} {
		if blank(text) && slices.Contains(r.columns, column) {
			p.Reject(prefix+column, requiredBySite)
		}
	}
}

// keepRequired rejects a change that empties notes or custom fields that the site requires.
func (r Rules) keepRequired(v Patch, p *domain.Validation) {
	if v.Notes != nil && blank(*v.Notes) && slices.Contains(r.columns, "notes") {
		p.Reject("notes", requiredBySite)
	}
	for name, value := range v.CustomFields {
		for _, f := range r.fields {
			if strings.EqualFold(f.ID, name) && f.Blank(value) {
				p.Reject(customField(name), requiredBySite)
			}
		}
	}
}

const requiredBySite = "This site requires it"
