package records

import (
	"testing"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestCustomFields: definitions are read in order, even incomplete ones.
func TestCustomFields(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string][]string{
		``: nil, `[]`: nil, `null`: nil, `{`: nil,
		`{"cf_b":{"label":"B","required":"on"},"cf_a":{"label":7,"required":"off"},"cf_c":[],"cf_d":{"required":true}}`: {"cf_b B true", "cf_a  false", "cf_d  false"},
	} {
		var got []string
		for _, f := range CustomFields(setting) {
			required := "false"
			if f.Required {
				required = "true"
			}
			got = append(got, f.ID+" "+f.Label+" "+required)
		}
		expect.Equal(t, want, got, setting)
	}
}

// TestCustomFieldsOfBookings: staff see public and staff fields, if all conditions of a conditional field
// hold.
func TestCustomFieldsOfBookings(t *testing.T) {
	t.Parallel()
	booking := availability.Resource{Agent: 5, Service: 4, Location: 1}
	const service4, agents56 = `"cfc_a":{"property":"service","operator":"equal","value":"4"}`, `"cfc_b":{"property":"agent","operator":"equal","value":"6, 5"}`
	for definition, want := range map[string]bool{
		`{}`: true, `{"visibility":"public"}`: true, `{"visibility":"admin_agent"}`: true, `{"visibility":null}`: true,
		`{"visibility":"hidden"}`: false, `{"visibility":""}`: false,
		`{"conditional":"on"}`: true, `{"conditional":"on","conditions":[]}`: true,
		`{"conditional":"on","conditions":{` + service4 + `}}`:                                                                  true,
		`{"conditional":"on","conditions":{` + service4 + `,` + agents56 + `}}`:                                                 true,
		`{"conditional":"on","conditions":{` + service4 + `},"visibility":"hidden"}`:                                            false,
		`{"conditional":"on","conditions":{` + service4 + `,"c":{"property":"agent","operator":"equal","value":"55"}}}`:         false,
		`{"conditional":"on","conditions":{` + service4 + `,"c":{"property":"location","operator":"not_equal","value":"1,2"}}}`: false,
		`{"conditional":"on","conditions":{"c":{"property":"location","operator":"not_equal","value":"2"}}}`:                    true,
		`{"conditional":"on","conditions":{"c":{"property":"location","operator":"","value":"1"}}}`:                             true,
		`{"conditional":"on","conditions":{"c":{"property":"service","operator":"equal","value":""}}}`:                          false,
		`{"conditional":"on","conditions":{"c":{"property":"service","operator":"not_equal","value":false}}}`:                   true,
		`{"conditional":"on","conditions":{"c":{"property":"weather","operator":"equal","value":"4"}}}`:                         false,
		`{"conditional":"off","conditions":{"c":{"property":"service","operator":"equal","value":"5"}}}`:                        true,
		`{"conditions":{"c":{"property":"service","operator":"equal","value":"5"}}}`:                                            true,
	} {
		expect.Equal(t, want, CustomFields(`{"cf_a":` + definition + `}`)[0].OfBooking(booking), definition)
	}
}

// TestBlankCustomFields: values that are empty in PHP are missing, and so is an unchecked checkbox.
func TestBlankCustomFields(t *testing.T) {
	t.Parallel()
	for kind, blank := range map[string][]string{"text": {"", "0"}, "number": {"", "0"}, "checkbox": {"", "0", "off"}, "multiselect": {"", "0"}} {
		f := CustomFields(`{"cf_a":{"type":"` + kind + `"}}`)[0]
		var got []string
		for _, value := range []string{"", "0", "off", "on", "0.0", " ", "[]"} {
			if f.Blank(value) {
				got = append(got, value)
			}
		}
		expect.Equal(t, blank, got, kind)
	}
}
