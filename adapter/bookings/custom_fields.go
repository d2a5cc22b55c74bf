package bookings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// SentFields are the custom fields in a request for a booking. A site without the add-on Pro Features
// ignores them.
type SentFields struct {
	Values   map[string]FieldValue // by id
	NoObject bool                  // they are not an object
}

// FieldValue is a custom field's value in a request.
type FieldValue struct {
	Text  string   // "" removes it
	List  []string // used instead of Text if not nil
	Wrong string   // why it is not a value; "" if it is one
}

// stored returns a value as the add-on stores it (OsFeatureCustomFieldsHelper::set_custom_fields_data, Pro Features 1.6).
func (v FieldValue) stored() (string, error) {
	if v.List == nil {
		return text.TextareaField(v.Text), nil
	}
	chosen := []string{}
	for _, option := range v.List {
		if option = text.TextareaField(option); option != "" {
			chosen = append(chosen, option)
		}
	}
	return text.EncodePHP(chosen)
}

// customFields are the custom fields of a booking on a site with Pro Features; none on other sites.
type customFields struct {
	defined []records.CustomField
	present map[string]string // stored values, by id
	changes map[string]string // values to store that differ from those
}

const (
	customFieldsField = "custom_fields"
	maxCustomFields   = 200     // in a request
	itemRoom          = 4 << 10 // maximum size of an order item's data besides custom fields, in bytes
)

// readCustomFields checks the custom fields in a request for a booking with the stored values present. item
// is the data of its order item.
func readCustomFields(s *session.Session, w session.WriteSettings, sent *SentFields, present map[string]string, item string, p *domain.Validation) (c customFields, err error) {
	if !s.Extension(extensions.ProFeatures, w.Settings) {
		return c, nil
	}
	c = customFields{defined: records.CustomFields(w.Settings[session.SettingBookingFields]), present: present, changes: map[string]string{}}
	switch {
	case sent == nil:
		return c, nil
	case sent.NoObject:
		p.Invalid(customFieldsField, "Must be an object with the values of custom fields by their ids")
		return c, nil
	case len(sent.Values) > maxCustomFields:
		p.Reject(customFieldsField, fmt.Sprintf("At most %d at a time", maxCustomFields))
		return c, nil
	}
	for id, value := range sent.Values {
		if err := c.change(s, id, value, p); err != nil {
			return c, err
		}
	}
	members, err := c.members()
	if err == nil && len(members) > 0 {
		item, err = records.WithCustomFields(item, members)
		s.CheckText(p, customFieldsField, wpdb.OrderItems, "item_data", item+strings.Repeat(" ", itemRoom))
	}
	return c, err
}

// change enters the sent value of a field. Files can only be uploaded in the site's forms.
func (c customFields) change(s *session.Session, id string, sent FieldValue, p *domain.Validation) error {
	name := customField(id)
	at := slices.IndexFunc(c.defined, func(f records.CustomField) bool { return f.ID == id })
	switch {
	case at < 0:
		p.Reject(name, "This site's bookings have no such field")
		return nil
	case sent.Wrong != "":
		p.Invalid(name, sent.Wrong)
		return nil
	}
	value, err := sent.stored()
	if err != nil || value == c.present[id] {
		return err
	}
	if c.defined[at].IsFile() {
		p.Reject(name, "Pro Features takes files in the site's forms; none can be sent or removed here")
		return nil
	}
	s.CheckText(p, name, wpdb.BookingMeta, "meta_value", value)
	c.changes[id] = value
	return nil
}

// value returns the value that the booking will have in a field.
func (c customFields) value(f records.CustomField) string {
	if value, changes := c.changes[f.ID]; changes {
		return value
	}
	return c.present[f.ID]
}

func customField(id string) string { return customFieldsField + "." + id }

// require rejects a booking without a field that the site requires for all of the possible resources
// (OsFeatureCustomFieldsHelper::validate_custom_fields, Pro Features 1.6).
func (c customFields) require(p *domain.Validation, resources ...availability.Resource) {
	if p.Has(customFieldsField) { // the sent values are unknown
		return
	}
	for _, f := range c.defined {
		value := c.value(f)
		lacksIt := func(r availability.Resource) bool { return !f.OfBooking(r) }
		if !f.Required || !f.Blank(value) || len(resources) == 0 || slices.ContainsFunc(resources, lacksIt) {
			continue
		}
		if f.IsFile() {
			p.Reject(customField(f.ID), "Pro Features requires a file here, which can only be uploaded in the site's forms: "+f.Label)
		} else {
			p.Reject(customField(f.ID), "This site requires it: "+f.Label)
		}
	}
}

// check returns a CodeValidationFailed that names the missing required fields of a booking of the resource.
func (c customFields) check(r availability.Resource) error {
	var p domain.Validation
	c.require(&p, r)
	return p.Err()
}

// members returns the changed values for the data of an order item, in the order of the forms.
func (c customFields) members() (members []records.Member, err error) {
	for _, f := range c.defined {
		value, changes := c.changes[f.ID]
		if !changes {
			continue
		}
		encoded, err := text.EncodePHP(value)
		if err != nil {
			return nil, err
		}
		members = append(members, records.Member{Key: f.ID, Value: json.RawMessage(encoded)})
	}
	return members, nil
}

// encoded returns the values that the booking will have as JSON, "" for none.
func (c customFields) encoded() (string, error) {
	values := map[string]string{}
	for _, f := range c.defined {
		if value := c.value(f); value != "" {
			values[f.ID] = value
		}
	}
	if len(values) == 0 {
		return "", nil
	}
	text, err := json.Marshal(values)
	return string(text), err
}

// metas returns the changed values that a booking of the resource keeps in its meta, "" for what has no row there
// (OsFeatureCustomFieldsHelper::save_custom_fields, Pro Features 1.6, and OsMetaModel::save_by_key, which takes "0"
// for nothing).
func (c customFields) metas(r availability.Resource) map[string]string {
	metas := map[string]string{}
	for _, f := range c.defined {
		value, changes := c.changes[f.ID]
		if value == "0" {
			value = ""
		}
		if changes && f.OfBooking(r) {
			metas[f.ID] = value
		}
	}
	return metas
}

// newMeta returns the meta of a new booking of the resource, in the order of the forms, and as shown.
func (c customFields) newMeta(s *session.Session, booking int64, r availability.Resource) (rows []session.Row, shown map[string]string) {
	metas, shown := c.metas(r), map[string]string{}
	for _, f := range c.defined {
		if value := metas[f.ID]; value != "" {
			shown[f.ID] = value
			rows = append(rows, s.NewMeta(booking, f.ID, value))
		}
	}
	return rows, shown
}
