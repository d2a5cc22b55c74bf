// Package jsonschema is the JSON Schema of the values on the wire. A [Schema] describes one value and compares what was sent
// with it: which members nothing reads, and which equal those of a record. [Schemas] derives schemas from Go types and their
// tags, with the texts of compat/texts, and names them for the OpenAPI document.
//
// It imports no adapter but domain, and knows no resource and no route.
package jsonschema
