package compat

import (
	"maps"

	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/jsontext"
)

// Unknown returns the fields of a document that the schema of a body does not have, at any depth, each with the one that is
// likely meant, or "". A member of an object is named customer.emial, however it was sent. known are other names.
func (d Document) Unknown(body *jsonschema.Schema, known func(name string) bool) map[string]string {
	fields := d.members(body)
	maps.DeleteFunc(fields, func(name string, _ jsontext.Value) bool { return known(name) })
	return body.Unknown(fields)
}

// members returns the members of the document, even of the bare list of a bulk request.
func (d Document) members(body *jsonschema.Schema) map[string]jsontext.Value {
	fields, ok := d.fields()
	if !ok {
		fields = map[string]jsontext.Value{}
		if body.Property(bulkList) != nil {
			fields[bulkList] = d.root
		}
		d.complete(fields)
	}
	return fields
}
