package compat

import (
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/jsontext"
)

// bookingCustomFields declares the custom fields of a booking: an object, or its JSON. Whether such a field is known, and
// what is none, the site decides.
func bookingCustomFields(to **bookings.SentFields) Field {
	const name = "custom_fields"
	schema := func() *jsonschema.Schema {
		option := jsonschema.AnyOf(&jsonschema.Schema{Type: jsonschema.String}, &jsonschema.Schema{Type: jsonschema.Number}, &jsonschema.Schema{Type: jsonschema.Boolean})
		list := &jsonschema.Schema{Type: jsonschema.Array, Items: option}
		values := jsonschema.AnyOf(&jsonschema.Schema{Type: []string{jsonschema.String, jsonschema.Null}}, &jsonschema.Schema{Type: jsonschema.Number}, &jsonschema.Schema{Type: jsonschema.Boolean}, list)
		values.Shared = fieldName
		return &jsonschema.Schema{Type: jsonschema.Object, AdditionalProperties: values}
	}
	return Field{name: name, description: bySite(schema), set: func(in input) {
		b := in.(*Body)
		var problems domain.Validation // which only sites with such fields have
		object := newBody("", b.fields, &problems).object(name)
		switch {
		case b.blank(name):
		case problems.Has(name):
			*to = &bookings.SentFields{NoObject: true}
		case object != nil:
			sent := &bookings.SentFields{Values: map[string]bookings.FieldValue{}}
			for id, value := range object.fields {
				sent.Values[id] = fieldValue(value)
			}
			*to = sent
		}
	}}
}

// fieldValue reads the value of a custom field. A boolean is that of a checkbox.
func fieldValue(sent jsontext.Value) bookings.FieldValue {
	if sent.Null() {
		return bookings.FieldValue{}
	}
	elements, isList := sent.List()
	if !isList {
		text, wrong := customFieldText(sent)
		return bookings.FieldValue{Text: text, Wrong: wrong}
	}
	value := bookings.FieldValue{List: []string{}}
	for _, element := range elements {
		text, wrong := customFieldText(element)
		if wrong != "" {
			return bookings.FieldValue{Wrong: wrong}
		}
		value.List = append(value.List, text)
	}
	return value
}

func customFieldText(sent jsontext.Value) (text, wrong string) {
	text, isText, single := sent.Scalar()
	switch {
	case !single:
		return "", "Must be a single value or a list of such"
	case len(text) > maxLongText:
		return "", "Too long"
	case !isText && text == "true":
		return "on", ""
	case !isText && text == "false":
		return "off", ""
	default:
		return text, ""
	}
}
