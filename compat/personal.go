package compat

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/jsontext"
)

// personal are the names of fields with personal data of customers, agents and orders: keys that mask it see
// only its form, by the tags of records, and can neither search nor write it. People's names are not masked: a
// booking is about somebody.
var personal = []string{
	"email", "phone", "notes", "note", "admin_notes", "customer_comment", "ip_address", "source_url", "address", "city", "state", "zipcode", "country",
	"date_of_birth", "gender", "custom_fields", "meta", "data", "item_data", "cancellation_reason", "reschedule_reason", records.MoveReason,
}

// Personal returns the names of parameters that search personal data.
func (p Parameters[T]) Personal() (names []string) {
	for _, f := range p.fields(new(T)) {
		if f.personal {
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

// Personal returns a member with personal data of what a body reads of the document, at any depth and even under a dotted
// name or in the query, or "".
func (d Document) Personal(body *jsonschema.Schema) string {
	read := d.members(body)
	maps.DeleteFunc(read, func(name string, _ jsontext.Value) bool {
		return body.Property(strings.Split(name, ".")[0]) == nil
	})
	return personalIn(jsontext.Object(read))
}

func personalIn(v jsontext.Value) (found string) {
	v.Decoded().Each(func(name string, inner jsontext.Value) jsontext.Value {
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
	return slices.ContainsFunc(partsOfName(strings.ToLower(name)), func(part string) bool { return slices.Contains(personal, part) })
}

// partsOfName returns the names of the members on the way to a field, such as customer and email for
// customer.email or customer[email].
func partsOfName(name string) []string {
	return strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
}
