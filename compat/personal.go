package compat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat/jsontext"
	"github.com/bookside/bookside/compat/masks"
)

// Personal data of customers, agents and orders, by the names of members: keys that mask it see only its
// form, and can neither search nor write it. People's names are not masked: a booking is about somebody.
//
// Masks work on responses as they are sent, whatever the record, so that no route and no record can forget
// them.

// masking is how a member is masked.
type masking struct {
	text func(string) string // nil for no masking
	deep bool                // also masks the texts in a list or an object
}

// personal are the members of records with personal data.
var personal = map[string]masking{
	"email":            {text: masks.Email},
	"phone":            {text: masks.Phone},
	"notes":            {text: masks.Text},
	"note":             {text: masks.Text}, // of time off
	"admin_notes":      {text: masks.Text},
	"customer_comment": {text: masks.Text},
	"ip_address":       {text: masks.Text},
	"source_url":       {text: masks.URL},
	"address":          {text: masks.Text, deep: true},
	"date_of_birth":    {text: masks.Date},
	"gender":           {text: masks.Text},
	"custom_fields":    {text: masks.Text, deep: true},
	"meta":             {text: masks.Text, deep: true},
	"data":             {text: masks.Text}, // of an invoice, where it is a text; elsewhere it is the envelope
	"item_data":        {text: masks.Text},

	"cancellation_reason": {text: masks.Text},
	"reschedule_reason":   {text: masks.Text},
}

// addressParts are the members that complete the address of a record with a member address. Elsewhere such
// a member, for example state, means something else.
var addressParts = []string{"city", "state", "zipcode", "country"}

// Personal returns the names of parameters that search personal data.
func (p Parameters[T]) Personal() (names []string) {
	for _, f := range p.Fields {
		if f.valueType.anyText && !f.declaration.impersonal {
			names = append(names, f.name)
		}
	}
	return names
}

// PersonalParameter returns a sent parameter that searches, or sorts by, personal data, or "".
func (q *Query) PersonalParameter(parameters QueryInput) string {
	for _, name := range parameters.Personal() {
		if q.sent[name] != "" {
			return name
		}
	}
	for _, name := range []string{"sort", "order_by"} {
		if isPersonal(strings.TrimSpace(q.sent[name])) {
			return name
		}
	}
	return ""
}

// writtenPersonal are the members of bodies with personal data: a key that sees them masked may not
// overwrite them either.
var writtenPersonal = append(append(slices.Sorted(maps.Keys(personal)), addressParts...), records.MoveReason)

// WritesPersonal returns a field of a body with personal data, at any depth; ok is false if it
// has none.
func WritesPersonal(fields []FieldDescription) (name string, ok bool) {
	return SchemaOf(fields).personal()
}

func (s *Schema) personal() (name string, ok bool) {
	if s.Items != nil {
		return s.Items.personal()
	}
	for _, m := range s.Properties {
		if slices.Contains(writtenPersonal, m.Name()) {
			return m.Name(), true
		}
	}
	for _, m := range s.Properties {
		if name, ok := m.Value().(*Schema).personal(); ok {
			return name, true
		}
	}
	return "", false
}

// Personal returns a member of the document that has personal data, at any depth and even under a dotted
// name or in the query, or "".
func (d Document) Personal() string {
	for name, value := range d.query {
		if isPersonal(name) {
			return name
		}
		if found := personalIn(value); found != "" {
			return found
		}
	}
	return personalIn(d.root)
}

func personalIn(v jsontext.Value) (found string) {
	decodeText(v).Each(func(name string, inner jsontext.Value) jsontext.Value {
		if found == "" && isPersonal(name) {
			found = name
		}
		found = cmp.Or(found, personalIn(inner))
		return nil
	})
	return found
}

// isPersonal reports whether a name, possibly a dotted one such as customer.email or customer[email], is
// that of a member with personal data.
func isPersonal(name string) bool {
	return slices.ContainsFunc(partsOfName(strings.ToLower(name)), func(part string) bool { return slices.Contains(writtenPersonal, part) })
}

// partsOfName returns the names of the members on the way to a field, such as customer and email for
// customer.email or customer[email].
func partsOfName(name string) []string {
	return strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
}

// Mask masks the personal data in a response as it is sent.
func Mask(answer []byte) ([]byte, error) {
	root, err := jsontext.Parse(answer)
	if err != nil {
		return nil, fmt.Errorf("mask personal data: %w", err)
	}
	return masking{}.mask(root), nil
}

// mask returns a value with its texts masked.
func (m masking) mask(value jsontext.Value) jsontext.Value {
	text, isText, single := value.Scalar()
	switch {
	case isText && m.text != nil:
		return jsontext.Quote(m.text(text))
	case !single && !m.deep:
		m = masking{}
	}
	addressed := false
	return value.Each(func(name string, inner jsontext.Value) jsontext.Value {
		by := m
		if known, ok := personal[name]; ok {
			by = known
		} else if addressed && slices.Contains(addressParts, name) {
			by = personal["address"]
		}
		addressed = addressed || name == "address"
		return by.mask(inner)
	})
}
