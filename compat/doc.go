// Package compat is the wire: every quirk of the API's input and output, its
// records, envelopes and error shapes, exactly as clients of the PHP extension
// know them.
//
// It turns query parameters into the adapter's filters and the adapter's
// records into values for encoding/json. It imports adapter for its types and
// knows neither SQL nor the HTTP framework.
package compat
