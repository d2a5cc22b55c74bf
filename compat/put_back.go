package compat

import (
	"bytes"
	"encoding/json"

	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/jsontext"
)

// What GET shows may be put back: a field of an update that equals the record as it is shown counts as not sent, before any
// rule looks at it. So a client that sends a whole record with one changed field changes that field alone.

// Changing returns the body of an update without the fields that equal those of a record. dropped reports whether there
// were any.
func (d Document) Changing(record json.RawMessage, body *jsonschema.Schema) (changing Document, dropped bool) {
	sent, ok := d.fields()
	shown, isObject := jsontext.Value(record).Object()
	if !ok || !isObject {
		return d, false
	}
	all := jsontext.Object(sent)
	left := jsontext.Object(body.Changing(sent, shown))
	return Document{root: left}, !bytes.Equal(all, left)
}
