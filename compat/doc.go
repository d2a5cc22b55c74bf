// Package compat is the wire format: every quirk of the API's input and output, its records, envelopes and
// error shapes, exactly as clients of the PHP extension know them.
//
// It turns query parameters and bodies into the adapter's filters and patches, and the adapter's records
// into values for encoding/json. A parameter or a field of a body is declared once, as a [Field] in its
// resource's file: the declaration both reads it and describes it in the OpenAPI document. Records are
// described by their types and their field texts.
//
// It imports adapter for its types and knows neither SQL nor the HTTP framework.
package compat
