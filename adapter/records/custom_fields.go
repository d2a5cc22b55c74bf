package records

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/session"
)

// CustomField is a custom field of customers or bookings, as defined by the add-on Pro Features.
type CustomField struct {
	ID, Label  string
	Required   bool
	kind       string
	hidden     bool // from the forms of customers and of staff
	conditions []fieldCondition
}

// fieldCondition is a condition under which a booking has a field.
type fieldCondition struct {
	property string // of the booking: service, agent or location
	not      bool
	ids      []int64 // the booking has, or may not have, one of them
}

// CustomFields reads the fields that a setting defines, in the order of the forms
// (OsCustomFieldsHelper::get_custom_fields_arr, Pro Features 1.6).
func CustomFields(setting string) (fields []CustomField) {
	definitions, err := ObjectMembers(setting)
	if err != nil {
		return nil
	}
	for _, m := range definitions {
		var d struct {
			Label, Type, Required, Visibility, Conditional any
			Conditions                                     json.RawMessage
		}
		if json.Unmarshal(m.Value, &d) != nil {
			continue
		}
		f := CustomField{ID: m.Key, Required: d.Required == session.On}
		f.Label, _ = d.Label.(string)
		f.kind, _ = d.Type.(string)
		f.hidden = d.Visibility != nil && d.Visibility != "public" && d.Visibility != "admin_agent"
		if d.Conditional != nil && d.Conditional != "off" {
			f.conditions = fieldConditions(d.Conditions)
		}
		fields = append(fields, f)
	}
	return fields
}

func fieldConditions(stored json.RawMessage) (conditions []fieldCondition) {
	var byID map[string]struct{ Property, Operator, Value any }
	if json.Unmarshal(stored, &byID) != nil {
		return nil
	}
	for _, c := range byID {
		read := fieldCondition{not: c.Operator == "not_equal"}
		read.property, _ = c.Property.(string)
		value, _ := c.Value.(string)
		for text := range strings.SplitSeq(value, ",") {
			if id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
				read.ids = append(read.ids, id)
			}
		}
		conditions = append(conditions, read)
	}
	return conditions
}

// OfBooking reports whether a booking of a resource has the field: staff see it, and all of its
// conditions hold.
func (f CustomField) OfBooking(r availability.Resource) bool {
	return !f.hidden && !slices.ContainsFunc(f.conditions, func(c fieldCondition) bool {
		id := map[string]int64{"service": r.Service, "agent": r.Agent, "location": r.Location}[c.property]
		return slices.Contains(c.ids, id) == c.not
	})
}

// IsFile reports whether its value is the address of an uploaded file.
func (f CustomField) IsFile() bool { return f.kind == "file_upload" }

// Blank reports whether the add-on treats a value of the field as missing
// (OsCustomFieldsHelper::validate_fields, Pro Features 1.6).
func (f CustomField) Blank(value string) bool {
	return value == "" || value == "0" || f.kind == "checkbox" && value == "off"
}
