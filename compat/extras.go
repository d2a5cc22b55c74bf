package compat

import (
	"encoding/json"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/jsontext"
	"github.com/bookside/bookside/compat/numbers"
	"github.com/bookside/bookside/compat/phpform"
)

// BookingExtra is an extra of a booking, which requires Pro Features.
type BookingExtra struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Quantity int64  `json:"quantity"`
	Duration int64  `json:"duration"`
	Price    string `json:"price"`
}

func bookingExtra(e records.BookingExtra) BookingExtra {
	return BookingExtra{e.ID, e.Name, e.Quantity, e.Duration, domain.AmountText(e.Price)}
}

// ServiceExtra is an extra that can be booked with a service, which requires Pro Features.
type ServiceExtra struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Price       string `json:"price"`
	PerAttendee bool   `json:"per_attendee"`
	Duration    int64  `json:"duration"`
	MaxQuantity int64  `json:"max_quantity"`
}

func serviceExtra(e slots.OfferedExtra) ServiceExtra {
	return ServiceExtra{e.ID, e.Name, domain.AmountText(e.Amount), e.PerAttendee, e.Duration, e.Most}
}

// maxExtras is how many different extras a booking may have.
const maxExtras = 50

// extras declares the extras of a booking: a list of objects, or its JSON. The site decides whether it
// knows the field, and what counts as none. Null and an empty text are an empty list.
func extras(schema func() *jsonschema.Schema, to **slots.Extras) Field {
	return Field{name: "extras", description: bySite(schema), set: func(in input) {
		var sent jsontext.Value
		switch in := in.(type) {
		case *Body:
			sent = in.fields["extras"]
		case *Query:
			if form, err := phpform.Parse([]byte(in.raw)); err == nil {
				fields, _ := form.Object()
				sent = fields["extras"]
			}
		}
		if sent != nil {
			*to = readExtras(sent)
		}
	}}
}

func extrasSchema() *jsonschema.Schema {
	whole := func(about, example string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: jsonschema.Integer, Description: about, Minimum: jsonschema.Bound("1"), Example: json.Number(example)}
	}
	return &jsonschema.Schema{Type: jsonschema.Array, MaxItems: maxExtras, Items: &jsonschema.Schema{Type: jsonschema.Object, Required: []string{"id"}, Properties: jsonschema.Members{
		{"id", whole("Id of an extra of the service", "4")}, {"quantity", whole("How many; 1 unless sent", "2")},
	}}}
}

func readExtras(sent jsontext.Value) *slots.Extras {
	text, _, _ := sent.Scalar()
	if sent.Null() || sent[0] == '"' && text == "" {
		return &slots.Extras{}
	}
	list, ok := sent.Decoded().List()
	read := &slots.Extras{Unreadable: !ok || len(list) > maxExtras}
	for _, element := range list {
		fields, isObject := element.Object()
		id, quantity := whole(fields["id"]), int64(1)
		if sent, ok := fields["quantity"]; ok && !sent.Null() {
			quantity = whole(sent)
		}
		twice := slices.ContainsFunc(read.Chosen, func(e slots.ChosenExtra) bool { return e.ID == id })
		read.Unreadable = read.Unreadable || !isObject || id == 0 || quantity == 0 || twice
		read.Chosen = append(read.Chosen, slots.ChosenExtra{ID: id, Quantity: quantity})
	}
	return read
}

// whole returns a positive whole number, given as a number or a text, or 0 for anything else.
func whole(value jsontext.Value) int64 {
	if value == nil {
		return 0
	}
	text, _, _ := value.Scalar()
	n, ok := numbers.Integer(text)
	if !ok || !n.IsPositive() || n.GreaterThan(decimal.NewFromInt(maxMediumInt)) {
		return 0
	}
	return n.IntPart()
}

// couponCode declares the coupon code of a booking. The site decides whether it knows the field; anything
// but a text is an unknown code.
func couponCode(to *string) Field {
	const name = "coupon_code"
	return Field{name: name, description: bySite(anyText.schema), set: func(in input) {
		if sent, ok := in.(*Body).sent(name); ok {
			text, _, single := sent.Scalar()
			if !single {
				text = string(sent)
			}
			*to = text
		}
	}}
}
